#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "guards/guard_set.h"
#include "reprise/tensor.h"
#include "runtime/trace/tracer.h"

namespace reprise::detail {

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
  bool written = false;        ///< the program writes its elements
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

/// What a call of an exported program must keep. Whoever calls one asks this: the library that compiles it
/// (runtime/export/loaded.h), and a runtime that has its code alone (rt/).
struct Contract {
  std::string name;
  std::vector<SymbolFact> symbols;  ///< by number
  std::vector<InputContract> inputs;
  std::vector<SpecLeaf> arguments, results;
  std::vector<Relation> relations;
  std::vector<std::uint32_t> same_as;
  std::vector<std::uint32_t> gradients;  ///< of a joint program, of which inputs: the last tensor results
  guards::GuardSet guards;               ///< of words by symbol
};

/// Throws what a call does for a tensor that cannot be this input.
void check_input(const Contract&, std::size_t input, const TensorImpl&, const char* op, SourceLoc);
/// Throws InvalidArgument, ShapeMismatch, DTypeMismatch, DeviceMismatch or AliasConflict for a call that is outside of
/// the contract. `inputs`: by input, null for what nobody has given; `numbers`: the words of the call's numbers.
/// `weights_known`: an earlier call has been accepted with these weights.
void check_call(const Contract&, const std::vector<const TensorImpl*>& inputs, const std::vector<std::int64_t>& numbers,
                bool weights_known = false);
/// The words of the call's symbols: sizes, strides and numbers. Others are 0.
std::vector<std::int64_t> symbol_words(const Contract&, const std::vector<const TensorImpl*>& inputs,
                                       const std::vector<std::int64_t>& numbers);

/// The text with f(number) in the place of each s<number>.
std::string with_symbols(std::string_view text, const std::function<std::string(std::uint32_t)>& f);
/// A guard with the names of what its symbols are: "x.size(0) <= 64  ; mark_dynamic, net.cpp:7".
std::string named_text(const Contract&, std::string_view with_symbols);
std::vector<std::string> guard_texts(const Contract&);

}  // namespace reprise::detail
