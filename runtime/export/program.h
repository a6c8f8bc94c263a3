#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "guards/guard_set.h"
#include "reprise/export.h"
#include "runtime/export/contract.h"

namespace reprise::detail {

// Note [Exported programs]
// An exported program is what its file says: texts by name (sections), and tensors. A trace writes the texts
// (capture.cc), and they are read back at once (program.cc), so that a program that has not left the process is the one
// that another process loads. What code was chosen by in this process (structure words, addresses, numbers of
// operators) is in none of them: dtypes, layouts and schemas stand there by name.
//
// A loaded program is compiled as any function is (loaded.cc): the function calls what the graph's nodes call, writes
// what the signature says is written, and makes views of what aliases. It is traced anew, so that whatever the library
// does for a function it does for this one: specializations, recordings, derivatives, devices. Beside that the
// program's own guards are asked in each call: those of the first trace are the contract.

using Sections = std::map<std::string, std::string>;
inline constexpr std::string_view kSignatureSection = "reprise.signature", kGraphSection = "reprise.graph",
                                  kGuardsSection = "reprise.guards", kOperatorsSection = "reprise.operators",
                                  kVersionSection = "reprise.program", kHashSection = "reprise.hash";

/// What is known of a number of data from this call of the traced program on.
struct Assumed {
  std::int32_t sequence;
  const guards::Expr* condition;
};

struct Program : Contract {
  graph::Graph graph;
  std::vector<std::int32_t> tensor_results;  ///< leaves: outputs, -1, or input_itself
  Ints number_results;
  Int random_count = 0;
  std::vector<Assumed> assumed;
  std::int32_t loss = -1;               ///< of a joint program: which tensor result
  std::vector<std::uint32_t> detached;  ///< tensor results
  std::vector<std::string> operators;   ///< schemas of those that are not built in
  GraphSignature signature;
  std::map<std::string, Tensor> weights;
  std::map<std::string, std::string> code;  ///< machine code by level (runtime/export/code_file.h)
  Sections sections;

  std::size_t user_results() const { return tensor_results.size() - gradients.size(); }
};

struct ProgramAccess {
  static ExportedProgram exported(std::shared_ptr<const Program> p) { return ExportedProgram(std::move(p)); }
  static const std::shared_ptr<const Program>& program(const ExportedProgram& p) { return p.program_; }
  static LoadedProgram loaded(std::shared_ptr<const LoadedFunction> f) { return LoadedProgram(std::move(f)); }
  static ProgramResults run(const LoadedProgram& p, const GivenArguments& leaves) { return p.run(leaves); }
};

/// Reads sections; `from` begins the messages: the file. Throws FileFormat for what is wrong in them, InvalidArgument
/// for an operator that is not registered or has another schema. The weights are empty.
std::shared_ptr<Program> read_program(Sections, const std::string& from, const char* op, SourceLoc);

/// What stands in the signature of a program whose other members are read (signature.cc).
GraphSignature signature_of(const Program&);
/// "%3", or "%0.permute([1, 0])" of an alias.
std::string output_name(const graph::Graph&, std::size_t output);
void print_readable(const Program&, std::ostream&);
void print_tabular(const Program&, std::ostream&);
void print_sequence_table(const Program&, std::ostream&);

void save_program(const Program&, const std::string& path, const std::string& beside, SourceLoc);
/// The file as it stands, weights and all.
std::shared_ptr<Program> open_program(const std::string& path, Reading, SourceLoc);

}  // namespace reprise::detail
