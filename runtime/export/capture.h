#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/export/program.h"
#include "runtime/trace/gradients.h"
#include "runtime/trace/tracer.h"

namespace reprise::detail {

/// A traced call, and what there is to tell of it.
struct CapturedCall {
  const Traced& traced;
  const CallFrame& frame;
  const ExportOptions& options;
  bool module;
  std::vector<SpecLeaf> arguments;
  std::vector<Tensor> values;  ///< by defined tensor among the arguments: the caller's own
  std::vector<SpecLeaf> results;
  std::vector<std::uint32_t> gradients, detached;
};
/// Writes its sections and reads them back (write.cc).
std::shared_ptr<const Program> write_program(CapturedCall, SourceLoc);

/// Asks for a call's forward with what its backward reads among the results (joint.cc).
struct CutRequest {
  BackwardKeeps keeps = BackwardKeeps::MinimumCut;
  PartitionFunction choose = {};
  std::string joint;                           ///< the graph before the cut
  std::shared_ptr<const Gradients> gradients;  ///< what the trace has made of it
  std::size_t results = 0, numbers = 0;        ///< how many of the results are the function's
  std::vector<std::string> inputs;             ///< by input of the graph: its path
  std::vector<std::int64_t> values;            ///< the traced call's

  /// Lets the program of `traced` give what is saved behind the function's results, and tell of it in `results`.
  void take(Traced& traced, std::vector<SpecLeaf>& results, const ExportOptions&, SourceLoc);
};
ExportedProgram export_forward(const Call&, ExportOptions, CutRequest&, SourceLoc);

}  // namespace reprise::detail
