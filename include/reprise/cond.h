#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "reprise/flatten.h"
#include "reprise/int.h"
#include "reprise/source_location.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// What decides in cond: a tensor of one bool, or a bool that is known when it is asked.
class Predicate {
 public:
  /// Borrows the tensor.
  Predicate(const Tensor& t, SourceLoc loc = SourceLoc::current()) : tensor_(&t), loc_(loc) {}
  Predicate(const Bool& b, SourceLoc loc = SourceLoc::current()) : known_(static_cast<bool>(b)), loc_(loc) {}
  template <std::same_as<bool> B>
  Predicate(B b, SourceLoc loc = SourceLoc::current()) : known_(b), loc_(loc) {}

  const Tensor* tensor() const { return tensor_; }
  bool known() const { return known_; }
  SourceLoc loc() const { return loc_; }

 private:
  const Tensor* tensor_ = nullptr;
  bool known_ = false;
  SourceLoc loc_;
};

namespace detail {

class Tracer;

/// The two branches of a cond on their way: eagerly the one that is taken; in a trace both, one after the other, into
/// graphs of their own (runtime/trace/cond.cc).
class Branches {
 public:
  /// Eagerly reads what decides.
  explicit Branches(const Predicate&);
  ~Branches();
  Branches(const Branches&) = delete;
  Branches& operator=(const Branches&) = delete;
  bool traced() const { return tracer_ != nullptr; }
  bool taken() const { return taken_; }

  /// Traces the next one, then the other: `body` runs it and walks this over what it gives.
  void trace(void (*body)(void*, Branches&), void* ctx);
  /// Both have been: the call becomes one of the trace around them. Walk it over the first one's results then.
  void finish();

  // ---- what a branch gives: tensors are taken out, and put in when it is known which they are; all else must be equal
  void tensor(Tensor&);
  void integer(Int&);
  void number(Scalar&);
  void constant(std::uint64_t word, ConstantKind = {});
  void text(std::string_view);

 private:
  struct State;
  Tracer* tracer_ = nullptr;
  bool taken_ = false;
  std::unique_ptr<State> state_;
};

/// Eagerly: each result is a tensor of its own.
class OwnResults {
 public:
  explicit OwnResults(SourceLoc loc) : loc_(loc) {}
  void tensor(Tensor&);
  void integer(Int&) {}
  void number(Scalar&) {}
  void constant(std::uint64_t, ConstantKind = {}) {}
  void text(std::string_view) {}

 private:
  SourceLoc loc_;
};

}  // namespace detail

/// Runs `then(operands...)` where `pred` is true, `otherwise(operands...)` where it is not, and gives what that gives:
/// a tensor, or tuples, vectors and aggregates of tensors as compiled functions take them, or nothing. Only the branch
/// that is taken runs, computes, writes and raises. Inside a compiled function the choice is made at every call from
/// the tensor's value, without a trace or a compilation of its own: both branches are traced, and must give tensors of
/// the same dtypes and sizes (calls whose branches do not are served eagerly, with the reason). They may use other
/// tensors than the operands, and write into them. Each result is a row-major tensor of its own: of what a branch was
/// given, or sees elsewhere, it gives a copy. Gradients are those of the branch that is taken; compiled, what only the
/// other one uses has a gradient of zeros. Calls whose branches write and want gradients, and calls
/// where only one branch wants gradients, are served eagerly, with the reason. `pred` is a tensor of one element of
/// dtype bool (throws DTypeMismatch, ShapeMismatch), or a bool, which decides at once.
template <class Then, class Otherwise, class... Operands>
auto cond(Predicate pred, Then&& then, Otherwise&& otherwise, const Operands&... operands)
    -> std::remove_cvref_t<std::invoke_result_t<Then&, const Operands&...>> {
  using R = std::remove_cvref_t<std::invoke_result_t<Then&, const Operands&...>>;
  static_assert(std::is_same_v<R, std::remove_cvref_t<std::invoke_result_t<Otherwise&, const Operands&...>>>,
                "both branches of cond give the same type");
  detail::Branches branches(pred);
  auto trace = [&](auto body) {
    branches.trace([](void* b, detail::Branches&) { (*static_cast<decltype(body)*>(b))(); }, &body);
  };
  if constexpr (std::is_void_v<R>) {
    if (!branches.traced()) {
      if (branches.taken()) std::invoke(then, operands...);
      else std::invoke(otherwise, operands...);
      return;
    }
    trace([&] { std::invoke(then, operands...); });
    trace([&] { std::invoke(otherwise, operands...); });
    branches.finish();
  } else {
    if (!branches.traced()) {
      R made = branches.taken() ? R(std::invoke(then, operands...)) : R(std::invoke(otherwise, operands...));
      detail::OwnResults own(pred.loc());
      detail::walk(made, own);
      return made;
    }
    std::optional<R> made, other;
    trace([&] { detail::walk(made.emplace(std::invoke(then, operands...)), branches); });
    trace([&] { detail::walk(other.emplace(std::invoke(otherwise, operands...)), branches); });
    branches.finish();
    detail::walk(*made, branches);
    return *std::move(made);
  }
}

}  // namespace REPRISE_VISIBLE
