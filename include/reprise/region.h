#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "reprise/flatten.h"
#include "reprise/int.h"
#include "reprise/source_location.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// How a region is called in logs: a text, at the line that names it.
struct RegionName {
  template <std::convertible_to<std::string_view> T>
  RegionName(const T& text, SourceLoc where = SourceLoc::current()) : name(text), loc(where) {}
  std::string_view name;
  SourceLoc loc;
};

namespace detail {

/// A call of region on its way: eagerly, and where it becomes no graph of its own, its function runs in its place; else
/// it is traced into one (runtime/trace/region.cc). Walked over the tensors that it gives.
class RegionCall {
 public:
  explicit RegionCall(const RegionName&);
  ~RegionCall();
  RegionCall(const RegionCall&) = delete;
  RegionCall& operator=(const RegionCall&) = delete;

  /// Runs it. `body` walks this over what it gives; where that is to be walked over once more, behind it, says true.
  bool run(void (*body)(void*), void* ctx);

  // ---- what is given: tensors alone are looked at
  void tensor(Tensor&);
  void integer(Int&) {}
  void number(Scalar&) {}
  void constant(std::uint64_t, ConstantKind = {}) {}
  void text(std::string_view) {}

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace detail

/// Runs `f(operands...)` and gives what that gives: a tensor, or tuples, vectors and aggregates of tensors as compiled
/// functions take them, or nothing. Inside a compiled function what `f` does is a graph of its own, and equal ones are
/// compiled once, whatever tensors they are called with: so are the layers of a model,
///
///   for (const Layer& l : layers) x = rp::region("layer", [&](const rp::Tensor& x) { return l(x); }, x);
///
/// if they compute the same of operands of the same dtypes, sizes and layouts, at the same lines. `f` may use other
/// tensors than the operands, and write into them; each tensor that it gives is a row-major one of its own: of what it
/// was given, or sees elsewhere, it gives a copy. Its derivative is compiled once, too. `name` is a NameScope around
/// it.
///
/// Nothing is fused across the border of a region. One that stands alone, that computes elementwise only, or that
/// writes into its operands is compiled as a part of the function around it. So is, with the reason in the log
/// (`region_inlined`), one whose function does what a graph of its own cannot say: it branches on values, assigns to
/// variables outside, or writes to tensors that want gradients.
template <class F, class... Operands>
auto region(RegionName name, F&& f, const Operands&... operands)
    -> std::remove_cvref_t<std::invoke_result_t<F&, const Operands&...>> {
  using R = std::remove_cvref_t<std::invoke_result_t<F&, const Operands&...>>;
  detail::RegionCall call(name);
  auto run = [&](auto body) { return call.run([](void* b) { (*static_cast<decltype(body)*>(b))(); }, &body); };
  if constexpr (std::is_void_v<R>) {
    run([&] { std::invoke(f, operands...); });
  } else {
    std::optional<R> made;
    if (run([&] { detail::walk(made.emplace(std::invoke(f, operands...)), call); })) detail::walk(*made, call);
    return *std::move(made);
  }
}

}  // namespace REPRISE_VISIBLE
