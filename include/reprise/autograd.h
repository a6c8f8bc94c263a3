#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reprise/scalar.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Derivatives by reverse mode. Operators that are called with tensors that want gradients (Tensor::requires_grad_) are
/// written down on a tape, a graph of nodes that each know the derivative of their call; backward() and grad() walk it
/// from results to leaves. docs/autograd.md explains it with examples.
///
/// Names and meanings are ATen's. The rules are written over public operators: they run eagerly, inside compiled
/// functions, and on the tape itself (create_graph). References: A. Griewank, A. Walther, Evaluating Derivatives
/// (2008), chapter 3; A. Paszke et al., Automatic differentiation in PyTorch (2017).
namespace reprise REPRISE_VISIBLE {

namespace autograd {
struct Node;  // autograd/node.h
struct FunctionNode;
struct FunctionCall;
struct HookList;
}  // namespace autograd

/// Are operators of this thread written down? On unless a scope says otherwise.
bool is_grad_enabled();
/// While it lives, gradients are on or off for this thread. Results of operators that are called with them off want
/// none. Compiled functions that depend on it are compiled for each.
class GradModeScope {
 public:
  explicit GradModeScope(bool enabled);
  ~GradModeScope();
  GradModeScope(const GradModeScope&) = delete;
  GradModeScope& operator=(const GradModeScope&) = delete;

 private:
  const std::uint64_t word_before_, own_before_;
};
struct NoGradScope : GradModeScope {
  NoGradScope() : GradModeScope(false) {}
};
struct EnableGradScope : GradModeScope {
  EnableGradScope() : GradModeScope(true) {}
};
/// For programs that want no derivative of what they compute: as NoGradScope, and views that are made meanwhile are not
/// followed, so that the tape costs nothing at all. Writing through such a view later, with gradients on, throws
/// InvalidArgument.
class InferenceScope {
 public:
  InferenceScope();
  ~InferenceScope();
  InferenceScope(const InferenceScope&) = delete;
  InferenceScope& operator=(const InferenceScope&) = delete;

 private:
  GradModeScope off_;
  const std::uint8_t before_;
};

struct BackwardOptions {
  /// What nodes keep for their derivatives stays, so that the same tape may be walked again. Nothing: as
  /// `create_graph`.
  std::optional<bool> retain_graph = std::nullopt;
  bool create_graph = false;  ///< the gradients are on the tape themselves: for derivatives of them
  /// grad(): an input that no output depends on gets an undefined gradient instead of an error
  bool allow_unused = false;
};

/// The gradients of `outputs` with respect to `inputs`, summed over the outputs, each weighted by its tensor of
/// `grad_outputs` (none, or an undefined one: 1, for an output of one element). Nothing is added to grad() of any
/// tensor. Inputs need not be leaves. Throws InvalidArgument for an output that the tape does not follow, an input that
/// no output was computed of (unless allow_unused), a tape that was walked before and not retained; ShapeMismatch for a
/// weight of other sizes.
std::vector<Tensor> grad(TensorArrayRef outputs, TensorArrayRef inputs, TensorArrayRef grad_outputs = {},
                         const BackwardOptions& options = {}, SourceLoc loc = SourceLoc::current());
/// The gradients of `tensors`, weighted likewise, are added to grad() of all leaves that they were computed of, or of
/// `inputs` alone where there are any. Leaves are added to in an order that the tape alone decides. Where something
/// throws, grad() of all is as before.
void backward(TensorArrayRef tensors, TensorArrayRef gradients = {}, const BackwardOptions& options = {},
              TensorArrayRef inputs = {}, SourceLoc loc = SourceLoc::current());

/// A node of the tape. Copies are the same one; an empty one (of a leaf) converts to false.
class GradNode {
 public:
  GradNode() = default;
  explicit GradNode(std::shared_ptr<autograd::Node> n) : node_(std::move(n)) {}
  explicit operator bool() const { return node_ != nullptr; }
  std::string name() const;  ///< "mul", "mul_", "accumulate", a Function's name
  /// the number of the call: later calls have larger ones, and go first in backward
  std::int64_t sequence() const;
  SourceLoc where() const;             ///< the line of the call
  std::vector<GradNode> next() const;  ///< by argument that is differentiated: whose results they were
  /// Called before the node, with the gradients of its results, which it may change; and behind it, with the gradients
  /// that it gives and took.
  GradHook register_prehook(std::function<void(std::vector<Tensor>&)> hook) const;
  GradHook register_hook(std::function<void(std::vector<Tensor>& given, const std::vector<Tensor>& taken)> hook) const;
  friend bool operator==(const GradNode&, const GradNode&) = default;

 private:
  std::shared_ptr<autograd::Node> node_;
};

/// What was registered. Nothing happens when it goes; remove() ends it.
class GradHook {
 public:
  GradHook() = default;
  GradHook(std::weak_ptr<autograd::HookList> list, std::uint64_t id) : list_(std::move(list)), id_(id) {}
  void remove();

 private:
  std::weak_ptr<autograd::HookList> list_;
  std::uint64_t id_ = 0;
};

/// While it lives, what nodes of this thread would keep of tensors goes through `pack`, whose result is kept instead,
/// and through `unpack` when it is needed: onto another device, into a file, into fewer bits. Scopes nest: the
/// innermost is asked. `pack` may keep what it likes in what it gives.
class SavedTensorHooks {
 public:
  using Packed = std::shared_ptr<void>;
  SavedTensorHooks(std::function<Packed(const Tensor&)> pack, std::function<Tensor(const Packed&)> unpack);
  ~SavedTensorHooks();
  SavedTensorHooks(const SavedTensorHooks&) = delete;
  SavedTensorHooks& operator=(const SavedTensorHooks&) = delete;

 private:
  const void* before_;
};

/// RAII: an error in a derivative names the line and the operator of its forward call. With `check_nan` a NaN in a
/// gradient is an error where it arises; this reads every gradient back, so use it for debugging.
class AnomalyScope {
 public:
  explicit AnomalyScope(bool check_nan = true);
  ~AnomalyScope();
  AnomalyScope(const AnomalyScope&) = delete;
  AnomalyScope& operator=(const AnomalyScope&) = delete;

 private:
  const std::uint8_t before_;
};

// ---- functions whose derivative the program tells

/// What a Function's forward leaves for its backward.
class FunctionContext {
 public:
  /// Kept, with their version: what was written since is an error when they are read. Inputs and outputs of forward;
  /// others may be kept as members.
  void save_for_backward(std::vector<Tensor> tensors) { to_save_ = std::move(tensors); }
  std::vector<Tensor> saved_tensors() const;  ///< in backward
  /// inputs that forward has written, which it must return
  void mark_dirty(const std::vector<Tensor>& written) { dirty_ = written; }
  void mark_non_differentiable(const std::vector<Tensor>& outputs) { non_differentiable_ = outputs; }
  /// Gradients of outputs that nobody used are tensors of zeros, unless false is given: then they are undefined.
  void set_materialize_grads(bool on) { materialize_ = on; }
  /// of the tensors among forward's arguments
  bool needs_input_grad(std::size_t tensor) const { return tensor < needs_.size() && needs_[tensor]; }
  std::vector<Scalar> numbers;  ///< what else backward wants to know
  std::vector<Int> sizes;
  std::shared_ptr<void> more;

 private:
  friend struct autograd::FunctionCall;
  friend struct autograd::FunctionNode;
  std::vector<Tensor> to_save_, dirty_, non_differentiable_;
  std::vector<bool> needs_;
  bool materialize_ = true;
  autograd::FunctionNode* node_ = nullptr;
};

namespace detail {
using FunctionForward = std::function<std::vector<Tensor>(FunctionContext&)>;
using FunctionBackward = std::vector<Tensor> (*)(FunctionContext&, std::vector<Tensor>);
std::vector<Tensor> call_function(std::string name, std::vector<Tensor> inputs, const FunctionForward&,
                                  FunctionBackward, SourceLoc);
inline void take_tensors(std::vector<Tensor>& to, const Tensor& t) { to.push_back(t); }
inline void take_tensors(std::vector<Tensor>& to, const std::vector<Tensor>& all) {
  to.insert(to.end(), all.begin(), all.end());
}
template <class T>
void take_tensors(std::vector<Tensor>&, const T&) {}
}  // namespace detail

/// A function with a derivative of its own:
///
///   struct Exp : rp::Function<Exp> {
///     static rp::Tensor forward(rp::FunctionContext& c, rp::Tensor x) { auto y = rp::exp(x); c.save_for_backward({y});
///     return y; } static std::vector<rp::Tensor> backward(rp::FunctionContext& c, std::vector<rp::Tensor> grads) {
///     return {grads[0] * c.saved_tensors()[0]}; }
///   };
///   auto y = Exp::apply(x);
///
/// forward runs with gradients off and gives a tensor or a vector of them; backward gives one gradient (or an undefined
/// tensor) for each tensor among forward's arguments, in order, lists flattened, and may itself be differentiated. A
/// view that forward returns is not to be written where that has a gradient (InvalidArgument). Throws InvalidArgument
/// for another number of gradients, ShapeMismatch for one of other sizes, each naming the function.
template <class Self>
struct Function {
  template <class... A>
  static auto apply(const A&... args) {
    using R = decltype(Self::forward(std::declval<FunctionContext&>(), args...));
    std::vector<Tensor> inputs;
    (detail::take_tensors(inputs, args), ...);
    constexpr bool one = std::is_same_v<R, Tensor>;
    auto forward = [&](FunctionContext& c) -> std::vector<Tensor> {
      if constexpr (one) return {Self::forward(c, args...)};
      else return Self::forward(c, args...);
    };
    std::string name;
    if constexpr (requires { Self::name; }) name = Self::name;
    else name = "function";
    std::vector<Tensor> made =
        detail::call_function(std::move(name), std::move(inputs), forward, &Self::backward, SourceLoc{});
    if constexpr (one) return std::move(made[0]);
    else return made;
  }
};

// ---- tapes that are compiled

/// Compiles walks over the tape, many eager and compiled pieces into one function: those of one shadow (the kinds of
/// nodes and their edges) are one compilation, whatever the sizes and the values; backwards of compiled functions are
/// inlined. Hooks are called as often, in the order and with the gradients that they would be eagerly: they divide a
/// walk into functions of their own. Walks with create_graph and under AnomalyScope run eagerly.
///
///   rp::CompiledAutograd compiled;
///   {
///     const auto on = compiled.enable();      // for this thread
///     loss.backward();
///   }
class CompiledAutograd {
 public:
  CompiledAutograd();
  ~CompiledAutograd();
  CompiledAutograd(const CompiledAutograd&) = delete;
  CompiledAutograd& operator=(const CompiledAutograd&) = delete;

  /// While it lives, backward() and grad() of this thread are compiled.
  class Scope {
   public:
    explicit Scope(const void* through);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const void* const before_;
  };
  Scope enable();

  struct Counts {
    std::int64_t walks = 0;  ///< that were compiled, or served by what was
    std::int64_t eager = 0;  ///< that ran eagerly
    /// functions: one for each kind of walk, or of a piece of one between hooks
    std::int64_t shadows = 0;
    std::int64_t compilations = 0;
  };
  Counts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// ---- memory for time

/// What becomes of a result that a derivative needs, inside checkpoint().
enum class CheckpointPolicy : std::uint8_t {
  MustSave,         ///< it is kept
  MustRecompute,    ///< the function is run again for it
  PreferSave,       ///< kept, unless that is what a compiled function's partition would not do
  PreferRecompute,  ///< the default: computed again, unless a compiled function's partition finds it cheaper to keep
};
/// Which of them, by the operator's name ("mm", "softmax").
using CheckpointRule = std::function<CheckpointPolicy(std::string_view op)>;

namespace detail {
std::vector<Tensor> checkpoint(const CheckpointRule&, std::function<std::vector<Tensor>(const std::vector<Tensor>&)>,
                               std::vector<Tensor> inputs, SourceLoc);
}
/// Calls f(tensors...) and saves only its arguments, and what `rule` chooses, for the derivative: backward runs f again
/// with the same random numbers. Tensors that f captures are kept. M. Chen et al., Training deep nets with sublinear
/// memory cost (2016).
template <class F, class... T>
requires(std::is_same_v<std::remove_cvref_t<T>, Tensor>&&...) auto checkpoint(CheckpointRule rule, F f,
                                                                              const T&... tensors) {
  using R = std::invoke_result_t<F, const T&...>;
  auto run = [f = std::move(f)](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    return [&]<std::size_t... I>(std::index_sequence<I...>)->std::vector<Tensor> {
      if constexpr (std::is_same_v<R, Tensor>) return {f(in[I]...)};
      else return f(in[I]...);
    }
    (std::index_sequence_for<T...>{});
  };
  std::vector<Tensor> made = detail::checkpoint(rule, run, {tensors...}, SourceLoc{});
  if constexpr (std::is_same_v<R, Tensor>) return std::move(made[0]);
  else return made;
}
template <class F, class... T>
requires(std::is_same_v<std::remove_cvref_t<T>, Tensor>&&...) auto checkpoint(F f, const T&... tensors) {
  return checkpoint(CheckpointRule{}, std::move(f), tensors...);
}

}  // namespace REPRISE_VISIBLE
