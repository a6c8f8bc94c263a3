#pragma once
#include <memory>
#include <vector>

#include "runtime/export/program.h"
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

}  // namespace reprise::detail
