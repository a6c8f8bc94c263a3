/// Views on the tape: custom functions that return them, and kinds of arguments.
#pragma once
#include <vector>

#include "reprise/reprise.h"

namespace reprise::test {

using List = std::vector<Tensor>;

struct Turned : reprise::Function<Turned> {
  static Tensor forward(FunctionContext&, Tensor x) { return x.t(); }
  static List backward(FunctionContext&, List g) { return {g[0].t() * 10}; }
};
struct Same : reprise::Function<Same> {
  static Tensor forward(FunctionContext&, Tensor x) { return x; }
  static List backward(FunctionContext&, List g) { return {g[0] * 10}; }
};
struct Inner : reprise::Function<Inner> {
  static Tensor forward(FunctionContext&, Tensor x) { return (x * 3).t(); }
  static List backward(FunctionContext&, List g) { return {g[0].t() * 30}; }
};

inline Tensor flat(const Tensor& t) { return t.view({-1}); }

/// A view that is made while gradients are off.
inline List off(Tensor (*view)(const Tensor&), const Tensor& t) {
  const NoGradScope scope;
  return {view(t)};
}

/// What an argument is before the call. `leaf` wants the gradient that is compared.
struct Argument {
  const char* name;
  Tensor (*make)(const Tensor& leaf);
};
inline const Argument kArguments[] = {
    {"leaf", [](const Tensor& leaf) { return leaf; }},
    {"made", [](const Tensor& leaf) { return leaf * 1; }},
    {"plain", [](const Tensor& leaf) { return leaf.detach().clone(); }},
    {"view",
     [](const Tensor& leaf) {
       return cat({leaf, leaf}, 0).slice(0, 1, leaf.size(0) + 1);
     }},
    {"view of a leaf", [](const Tensor& leaf) { return leaf.view({-1}).view(leaf.sizes()); }},
    {"view made off", [](const Tensor& leaf) { return off(&flat, leaf * 1)[0].view(leaf.sizes()); }},
    {"written view made off",
     [](const Tensor& leaf) {
       const Tensor v = off(&flat, leaf * 1)[0].view(leaf.sizes());
       const NoGradScope scope;
       return v.mul_(2);
     }},
};

}  // namespace reprise::test
