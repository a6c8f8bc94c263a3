#pragma once
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reprise/compile.h"
#include "reprise/flatten.h"
#include "reprise/scalar.h"
#include "reprise/source_location.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Models in ONNX files (docs/onnx.md): operator sets from 7 on of the default domain.
namespace reprise REPRISE_VISIBLE {
namespace onnx {

/// A dimension of an input or a result.
struct Dimension {
  std::string name;        ///< what the file calls a dynamic one; may be empty
  std::int64_t size = -1;  ///< below 0: dynamic
};

/// An input or a result of a model.
struct Port {
  std::string name;
  DType dtype = kFloat32;
  std::optional<std::vector<Dimension>> sizes;  ///< none where the file does not say
  /// Of an input: its elements decide sizes (of a Reshape, a Slice, a Range) or a mode (Dropout's training_mode), or,
  /// of one integer, which branch of an If is taken, so that a compiled model wants it as numbers; see Argument.
  bool decides_sizes = false;
};

/// What a model is called with: a tensor, or the elements of an input that decides sizes, row by row:
/// `Argument::numbers({n, -1})`. Numbers are symbolic in compiled functions, so that other ones need no compilation
/// where they stay sizes. A small tensor in their place is read before the call (CompiledModel). Inside a compiled
/// function of your own that cannot be: such calls are served eagerly.
struct Argument {
  std::optional<Tensor> tensor;
  std::optional<std::vector<Scalar>> values;
  std::vector<std::int64_t> dims;  ///< of the values: {} for a single number, {n} for a list

  Argument() = default;
  Argument(const Tensor& t) : tensor(t) {}
  static Argument numbers(std::vector<Scalar> all) {
    Argument a;
    a.dims = {static_cast<std::int64_t>(all.size())};
    a.values = std::move(all);
    return a;
  }
  static Argument number(Scalar one) {
    Argument a;
    a.values = std::vector<Scalar>{one};
    return a;
  }
  /// The elements of a small tensor, read from it.
  static Argument numbers_of(const Tensor& t);
  REPRISE_FIELDS(Argument, tensor, values, dims)
};

struct LoadOptions {
  /// Inputs that are given once and for all: by name. They are no inputs of the model then, and what is computed of
  /// them alone is computed when it is loaded.
  std::map<std::string, Tensor> constants = {};
  /// How many nodes and turns of loops one call may run: past it the call throws InvalidArgument. Without it a file
  /// could make a call that never returns.
  std::int64_t max_steps = 10'000'000;
};

namespace detail {
struct Program;
}

/// A model of a file: plain Reprise code that is run by its graph. Eagerly each node is an operator call;
/// `compile(model)` traces it like any function, and one compilation serves all sizes of its dynamic dimensions.
/// Weights are held by the model and shared with its copies; those in external data are pages of the file. Each node's
/// name is a NameScope, so that errors, logs and explain() tell it. Cheap to copy; may be called from any thread.
class Model {
 public:
  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  /// Place of the input of that name. Throws InvalidArgument, which names the nearest.
  std::size_t input(std::string_view name) const;
  std::size_t output(std::string_view name) const;

  /// Inputs in the file's order; results likewise. Throws InvalidArgument, DTypeMismatch, ShapeMismatch where an input
  /// is not what the file says, and what the operators throw.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const;
  std::vector<Tensor> operator()(const std::vector<Argument>& inputs) const;
  template <class... T>
  requires(sizeof...(T) > 0 && (std::same_as<std::remove_cvref_t<T>, Tensor> && ...)) std::vector<Tensor>
  operator()(const T&... inputs) const { return (*this)(std::vector<Tensor>{inputs...}); }

 private:
  friend Model load(const std::string&, const LoadOptions&, SourceLoc);
  friend Model load_bytes(std::string_view, const LoadOptions&, SourceLoc);
  friend class CompiledModel;
  std::shared_ptr<const detail::Program> program_;
};

/// What `compile(model)` gives. A small tensor for an input that decides sizes is read at the call, and given as
/// numbers.
class CompiledModel : public CompiledFunction<Model> {
 public:
  CompiledModel(Model model, CompileOptions options);
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const;
  std::vector<Tensor> operator()(const std::vector<Argument>& inputs) const;
  template <class... T>
  requires(sizeof...(T) > 0 && (std::same_as<std::remove_cvref_t<T>, Tensor> && ...)) std::vector<Tensor>
  operator()(const T&... inputs) const {
    if (as_they_are()) return CompiledFunction<Model>::operator()(inputs...);
    return (*this)(std::vector<Tensor>{inputs...});
  }

 private:
  bool as_they_are() const;
  template <class T>
  std::vector<Tensor> call(const std::vector<T>& inputs) const;
  std::shared_ptr<const detail::Program> program_;
};

/// Reads a model. External data are looked for beside it (and mapped: Reading::Mapped tells what that means). Throws
/// Io, FileFormat where the file contradicts itself (one error that names it, and the node or tensor), InvalidArgument
/// for operators and dtypes that are not supported: all of them at once, each with its domain, version, how many nodes,
/// and the first one's name. An operator set newer than the newest that is known loads with a warning: its operators
/// are run by the newest rules.
Model load(const std::string& path, const LoadOptions& options = {}, SourceLoc loc = SourceLoc::current());
/// The same of bytes in memory, which may go afterwards. There are no external data.
Model load_bytes(std::string_view bytes, const LoadOptions& options = {}, SourceLoc loc = SourceLoc::current());

/// One tensor by itself (a `.pb` of ONNX's test data). Throws Io, FileFormat; InvalidArgument where there is no such
/// dtype.
Tensor load_tensor(const std::string& path, SourceLoc loc = SourceLoc::current());

}  // namespace onnx

template <class F>
requires std::same_as<std::remove_cvref_t<F>, onnx::Model> onnx::CompiledModel compile(F&& model,
                                                                                       CompileOptions options = {}) {
  return {std::forward<F>(model), std::move(options)};
}
}  // namespace REPRISE_VISIBLE
