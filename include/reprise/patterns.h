#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "reprise/compile.h"
#include "reprise/pattern_match.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

struct PatternOptions {
  /// higher ones are sought first; then patterns of more operators, then those registered first
  int priority = 0;
  PatternCondition may_match = {};  ///< asked of each match; see PatternMatch
  /// Sought in joint graphs, too, before they are cut: the function together with its derivative, as one pair, where a
  /// call wants gradients. Both are functions of one result, which is differentiable.
  bool with_derivative = false;
};

namespace detail {

/// A function with arguments, whose types are forgotten.
struct PatternFunction {
  std::shared_ptr<void> held;
  void (*flatten)(void*, CallFrame&);
  void (*trace)(void*, Tracer&, CallFrame&);
};
struct PatternExample {
  PatternFunction pattern, replacement;
  bool is_pair = false;  ///< functions with their derivatives (PatternOptions::with_derivative)
};
void register_pattern(std::string name, const std::vector<PatternExample>&, PatternOptions);

/// Runs the function in a trace; what it gives becomes the trace's results.
void trace_pattern(Tracer&, CallFrame&, const Call&);

template <class F, class... A>
PatternFunction pattern_function(const F& f, const std::tuple<A...>& example) {
  struct Held {
    FunctionObject function;
    std::tuple<A...> arguments;
  };
  auto flatten = [](void* p, CallFrame& frame) {
    std::apply([&](const A&... a) { flatten_arguments(frame, a...); }, static_cast<const Held*>(p)->arguments);
  };
  auto trace = [](void* p, Tracer& tracer, CallFrame& frame) {
    const Held& held = *static_cast<const Held*>(p);
    auto at_addresses = [&](const A&... a) {
      void* const at[] = {address_of(a)..., nullptr};
      trace_pattern(tracer, frame, {call_form<F, result_of<F&, A&...>, A&...>, held.function, at});
    };
    std::apply(at_addresses, held.arguments);
  };
  return {std::make_shared<Held>(Held{function_object(f), example}), flatten, trace};
}

/// A leaf of the pattern's own in place of an argument that may want a gradient; notes it.
Tensor pattern_leaf(const Tensor&, std::vector<Tensor>& leaves);
template <class T>
T pattern_leaf(T other, std::vector<Tensor>&) {
  return other;
}
/// The result, then the gradients of the leaves by which it has come about.
std::vector<Tensor> pattern_results(const Tensor& result, const std::vector<Tensor>& leaves, const Tensor& tangent);
/// A tangent of what the function gives for the example.
Tensor pattern_tangent(const Tensor& result);

/// A function together with its derivative, as a function of the tangent and its arguments.
template <class F>
struct WithDerivative {
  F function;
  template <class... A>
  std::vector<Tensor> operator()(const Tensor& tangent, const A&... arguments) const {
    std::vector<Tensor> leaves;
    const std::tuple<A...> own{pattern_leaf(arguments, leaves)...};  // in order
    return pattern_results(std::apply(function, own), leaves, tangent);
  }
};
template <class P, class R, class... A>
PatternExample pattern_pair(const P& pattern, const R& replacement, const std::tuple<A...>& e) {
  static_assert(std::is_same_v<result_of<const P&, const A&...>, Tensor>,
                "reprise: a pattern with its derivative gives one tensor");
  const auto arguments = std::tuple_cat(std::tuple(pattern_tangent(std::apply(pattern, e))), e);
  return {pattern_function(WithDerivative<P>{pattern}, arguments),
          pattern_function(WithDerivative<R>{replacement}, arguments), true};
}

}  // namespace detail

/// Wherever a function that is compiled from now on does what `pattern` does, `replacement` is compiled in its place.
///
/// Both are ordinary functions of tensors, Ints and Scalars, with the same parameters and results: operators, in-place
/// ones and custom ones, too, also structs of tensors as compiled functions take them. They are traced on the
/// `examples`, tuples of arguments, whose dtypes and numbers of dimensions say for which the pattern is (an undefined
/// Tensor: an optional operand that is not there); their sizes may be any that work, with a 1 where a 1 is meant. Then
/// they are brought into the form that graphs have when they are searched: composites taken apart, writes and views
/// become values, casts and copies that do nothing gone. So it does not matter which of several ways to write the same
/// was taken. A Scalar or Int parameter matches any number; a literal matches itself.
///
/// What matches: the same operators on operands that are known to have the sizes that the pattern relies on (nothing is
/// guarded for it), with no intermediate value read elsewhere. Matches never overlap, the first in the program counts,
/// and it is the same at every run. The results of the replacement must have the dtypes and sizes of the pattern's;
/// they may be rounded differently.
///
/// With `with_derivative` the two are also sought as pairs in calls that want gradients, before it is chosen what is
/// kept for backward: where the function stands together with its derivative, the replacement stands with its own, and
/// keeps what that reads. A gradient must be wanted of each argument of a floating dtype that the function derives.
///
/// `stats().matches`, `explain()` and REPRISE_LOG=passes tell what matched, and what nearly did and why it did not.
/// Throws InvalidArgument, and registers nothing, for a name that is taken, functions that cannot be traced or capture
/// tensors, results that differ, a replacement that reads what the pattern does not. Any thread. Functions that are
/// compiled already stay as they are.
///
///     register_pattern("silu_mul", [](Tensor a, Tensor b) { return silu(a) * b; }, [](Tensor a, Tensor b) { return
///     my_silu_mul(a, b); },
///                      std::tuple(randn({2, 8}), randn({2, 8})));
template <class P, class R, class... A>
void register_pattern(std::string name, P pattern, R replacement, const std::vector<std::tuple<A...>>& examples,
                      PatternOptions options = {}) {
  std::vector<detail::PatternExample> all;
  for (const std::tuple<A...>& e : examples) {
    all.push_back({detail::pattern_function(pattern, e), detail::pattern_function(replacement, e)});
    if constexpr (std::is_same_v<detail::result_of<const P&, const A&...>, Tensor>)
      if (options.with_derivative) all.push_back(detail::pattern_pair(pattern, replacement, e));
  }
  detail::register_pattern(std::move(name), all, std::move(options));
}
template <class P, class R, class... A>
void register_pattern(std::string name, P pattern, R replacement, std::tuple<A...> example,
                      PatternOptions options = {}) {
  register_pattern(std::move(name), std::move(pattern), std::move(replacement),
                   std::vector<std::tuple<A...>>{std::move(example)}, std::move(options));
}
/// False: there is none of this name.
bool unregister_pattern(std::string_view name);

struct PatternInfo {
  std::string name;
  int priority;
  std::vector<std::string> graphs;  ///< what is sought, by example, as text (docs/graph_text.md)
};
/// In the order in which they are sought.
std::vector<PatternInfo> registered_patterns();

}  // namespace REPRISE_VISIBLE
