#pragma once
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "reprise/regions.h"

namespace reprise REPRISE_VISIBLE {

/// Calls a function for each slice of `xs` along dimension 0, and stacks what it gives along a new dimension 0:
/// y[i] = f(xs[i]). `xs` is a tensor, or tuples, vectors and aggregates of tensors that have the same size in dimension
/// 0; a function that does not take a tuple as it is takes its elements. Results are row-major tensors of their own.
///
/// A scan without a state (reprise/regions.h): inside a compiled function `f` is traced once for all numbers of slices,
/// it may use and write other tensors, and it has a derivative. What is computed for one slice after another is not
/// faster than an operator that takes all of them. Throws what scan throws.
template <class F, class X>
auto map(F&& f, X xs, SourceLoc loc = SourceLoc::current()) {
  const auto turn = [&](const std::tuple<>& state, const X& x) {
    if constexpr (std::is_invocable_v<F&, const X&>) return std::pair(state, std::invoke(f, x));
    else return std::pair(state, std::apply(f, x));
  };
  return scan(turn, std::tuple<>(), std::move(xs), loc).second;
}

}  // namespace REPRISE_VISIBLE
