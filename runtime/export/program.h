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
#include "runtime/trace/tracer.h"

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

/// A leaf of the arguments or the results, as they were walked.
struct SpecLeaf {
  enum class Kind : std::uint8_t {
    Tensor,
    Undefined,  ///< a tensor that holds nothing
    Int,
    Float,    ///< a Scalar or Float of this kind
    Integer,  ///< a Scalar of this kind
    Number,   ///< constants, from here on
    Flag,
    Whole,
    Enum,
    Length,
    Presence,
    Text,
  } kind = Kind::Tensor;
  std::string path;
  bool bound = false;     ///< of an argument: a module's, which no call gives
  std::int64_t word = 0;  ///< of a constant, and of a number that is bound
  std::string text;       ///< of a Text
  std::uint32_t at = 0;   ///< of tensors and numbers: which input, number, tensor result, number result
  bool is_constant() const { return kind >= Kind::Number; }
  bool is_number() const { return kind >= Kind::Int && kind <= Kind::Integer; }
};
std::string_view spec_kind_name(SpecLeaf::Kind);

/// What a tensor must be to be this input.
struct InputContract {
  std::string name;
  bool weight = false;         ///< no call gives it
  bool any = false;            ///< the program does not look at it
  std::uint64_t word = 0;      ///< Note [Layout classes]
  bool exact_strides = false;  ///< they must follow from the sizes
  bool whole_storage = false;  ///< it must begin and end with its storage
  bool shown_strides = false;  ///< somebody sees them
  std::int32_t tied_to = -1;   ///< a weight that is this earlier one
};

/// What a symbol is, and what is known of it before any guard.
struct SymbolFact {
  enum class Of : std::uint8_t { Size, Stride, Number, Seed, Offset, Data } of = Of::Size;
  std::uint32_t at = 0;  ///< the input; the number, of the graph's or of data
  std::uint32_t dim = 0;
  std::string name;      ///< "x.size(0)"
  std::string declared;  ///< Dim::name
  std::int64_t hint = 0, lo = INT64_MIN, hi = INT64_MAX, multiple_of = 1, at_most = INT64_MAX;
  std::uint32_t group = 0;
};

/// What is known of a number of data from this call of the traced program on.
struct Assumed {
  std::int32_t sequence;
  const guards::Expr* condition;
};

struct Program {
  std::string name;
  graph::Graph graph;
  std::vector<SymbolFact> symbols;  ///< by number
  std::vector<InputContract> inputs;
  std::vector<SpecLeaf> arguments, results;
  std::vector<std::int32_t> tensor_results;  ///< leaves: outputs, -1, or input_itself
  Ints number_results;
  std::vector<Relation> relations;
  std::vector<std::uint32_t> same_as;
  Int random_count = 0;
  std::vector<Assumed> assumed;
  std::int32_t loss = -1;                ///< of a joint program: which tensor result
  std::vector<std::uint32_t> gradients;  ///< of which inputs: the last tensor results
  std::vector<std::uint32_t> detached;   ///< tensor results
  std::vector<std::string> operators;    ///< schemas of those that are not built in
  GraphSignature signature;
  guards::GuardSet guards;  ///< of words by symbol
  std::map<std::string, Tensor> weights;
  Sections sections;

  std::size_t user_results() const { return tensor_results.size() - gradients.size(); }
};

struct ProgramAccess {
  static ExportedProgram exported(std::shared_ptr<const Program> p) { return ExportedProgram(std::move(p)); }
  static LoadedProgram loaded(std::shared_ptr<const LoadedFunction> f) { return LoadedProgram(std::move(f)); }
};

/// Reads sections; `from` begins the messages: the file. Throws FileFormat for what is wrong in them, InvalidArgument
/// for an operator that is not registered or has another schema. The weights are empty.
std::shared_ptr<Program> read_program(Sections, const std::string& from, const char* op, SourceLoc);

/// What stands in the signature of a program whose other members are read (signature.cc).
GraphSignature signature_of(const Program&);
/// "%3", or "%0.permute([1, 0])" of an alias.
std::string output_name(const graph::Graph&, std::size_t output);
/// A guard with the names of what its symbols are: "x.size(0) <= 64  ; mark_dynamic, net.cpp:7".
std::string named_text(const Program&, std::string_view with_symbols);
std::vector<std::string> guard_texts(const Program&);
void print_readable(const Program&, std::ostream&);
void print_tabular(const Program&, std::ostream&);
void print_sequence_table(const Program&, std::ostream&);

void save_program(const Program&, const std::string& path, const std::string& beside, SourceLoc);
/// The file as it stands, weights and all.
std::shared_ptr<Program> open_program(const std::string& path, Reading, SourceLoc);

}  // namespace reprise::detail
