// The tape, from outside and inside of the function; walks that are compiled.
#include "runtime/replay/boxed.h"
#include "tests/pairs/feature.h"

namespace reprise::pairs {

namespace {

/// A gradient, zeros where the result does not depend on the tensor.
Tensor or_zeros(const Tensor& gradient, const Tensor& of) { return gradient.defined() ? gradient : zeros_like(of); }

struct Doubled : reprise::Function<Doubled> {
  static Tensor forward(FunctionContext& c, Tensor x) {
    c.save_for_backward({x});
    return x * x;
  }
  static std::vector<Tensor> backward(FunctionContext& c, std::vector<Tensor> g) {
    return {g[0] * c.saved_tensors()[0] * 3.0};
  }
};
struct Viewed : reprise::Function<Viewed> {
  static Tensor forward(FunctionContext&, Tensor x) { return x.view({-1}); }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> g) { return {g[0] * 2.0}; }
};
struct Written : reprise::Function<Written> {
  static Tensor forward(FunctionContext& c, Tensor x) {
    c.mark_dirty({x});
    return x.mul_(2.0);
  }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> g) { return {g[0] * 5.0}; }
};

const Row tape[] = {
    PAIRS_ROW(2, 0, const NoGradScope off; return a * 2.0),
    PAIRS_ROW(2, 0,
              {
                const NoGradScope off;
                a.mul_(0.5);
              } return a),
    PAIRS_ROW(2, 0, return a.detach() * fit(a, b)),
    PAIRS_ROW(2, 0, Tensor v = a.detach(); v.mul_(2.0); return a * 2.0),
    PAIRS_ROW(2, 0, return Doubled::apply(a)),
    PAIRS_ROW(1, kFails, Tensor v = Viewed::apply(a.view({-1})); return v),
    PAIRS_ROW(1, kFails, Tensor t = a * 1.0; return Written::apply(t)),
    PAIRS_ROW(2, 0, return checkpoint([](const Tensor& t) { return tanh(t * 2.0); }, a)),
    PAIRS_ROW(2, 0, return a * in.row.sum() + in.row.mean()),
    PAIRS_ROW(1, 0, const InferenceScope off; return a * 2.0),
};
const Row inside[] = {
    PAIRS_ROW(3, 0, const EnableGradScope on; Tensor p = a.detach().requires_grad_();
              return grad({(p * p * fit(p, b).detach()).sum()}, {p})[0]),
    PAIRS_ROW(2, 0, const EnableGradScope on; Tensor p = a.detach().clone().requires_grad_();
              Tensor v = p.view({-1}) * 2.0; v.mul_(v.detach() + 1.0); return grad({v.sum()}, {p})[0]),
    PAIRS_ROW(2, 0, const EnableGradScope on; Tensor p = a.detach().requires_grad_();
              Tensor g = grad({(p * p * p).sum()}, {p}, {}, {.create_graph = true})[0]; return grad({g.sum()}, {p})[0]),
    PAIRS_ROW(2, 0, const EnableGradScope on; Tensor p = a.detach().requires_grad_(); (tanh(p) * 2.0).sum().backward();
              return p.grad() + 0.0),
    PAIRS_ROW(2, 0, const EnableGradScope on; Tensor p = a.detach().requires_grad_(); Tensor q = p * 2.0;
              q.register_hook([](const Tensor& g) { return g * 3.0; }); return grad({(q * q).sum()}, {p})[0]),
    PAIRS_ROW(2, 0, const EnableGradScope on; Tensor p = a.detach().requires_grad_(); Tensor q = p * 2.0;
              q.retain_grad(); (q * 3.0).sum().backward(); return q.grad() + p.grad()),
};
const Wrap tape_wraps[] = {
    PAIRS_WRAP(2, 0, const NoGradScope off; return inner(a, b)),
    PAIRS_WRAP(
        1, 0, const NoGradScope off; {
          const EnableGradScope on;
          return inner(a, b);
        }),
    PAIRS_WRAP(2, 0, Tensor t = inner(a, b); const NoGradScope off; return t.view(t.sizes())),
    PAIRS_WRAP(2, 0, return checkpoint([](const Tensor& p) { return tanh(p) * 2.0; }, inner(a, b))),
    PAIRS_WRAP(2, 0, return Doubled::apply(inner(a, b))),
    PAIRS_WRAP(1, 0, return inner(a, b).detach()),
};
const Wrap inside_wraps[] = {
    PAIRS_WRAP(3, 0, const EnableGradScope on; Tensor p = a.detach().requires_grad_();
               return or_zeros(grad({inner(p * 1.0, b.detach()).sum()}, {p}, {}, {.allow_unused = true})[0], p)),
    PAIRS_WRAP(2, 0, const EnableGradScope on; Tensor p = a.detach().requires_grad_();
               Tensor g = inner(p * p, b.detach());
               return g.requires_grad() ? or_zeros(grad({g.sum()}, {p}, {}, {.allow_unused = true})[0], p) : g),
};

const Setting hooks[] = {
    {.text = "nothing"},
    {.text = "x.register_hook(g * 2)",
     .arguments =
         [](Arguments& in, Variables&, int) {
           if (in.x.requires_grad()) in.x.register_hook([](const Tensor& g) { return g * 2.0; });
         }},
    {.text = "x.retain_grad()",
     .arguments =
         [](Arguments& in, Variables&, int) {
           if (in.x.requires_grad() && !in.x.is_leaf()) in.x.retain_grad();
         }},
    {.text = "var.b.retain_grad()",
     .arguments =
         [](Arguments&, Variables& v, int) {
           if (v.b.requires_grad() && !v.b.is_leaf()) v.b.retain_grad();
         }},
    {.text = "each tape is walked once, and gives up what it keeps",
     .before = [](Function&, int) { runtime::boxed_worth = 0; },  // from the first byte on
     .walks_once = true},
    {.text = "gradients of gradients", .options = [](CompileOptions& o) { o.second_order = true; }, .twice = true},
    {.text = "NoGradScope around every other call",
     .scope = [](int call) -> std::shared_ptr<void> { return call % 2 ? std::make_shared<NoGradScope>() : nullptr; }},
    {.text = "InferenceScope around every other call",
     .scope = [](int call) -> std::shared_ptr<void> {
       return call % 2 ? std::make_shared<InferenceScope>() : nullptr;
     }},
    {.text = "only some of what the call makes is derived", .walks_part = true},
};
const Setting walks[] = {
    {.text = "CompiledAutograd", .compiled_walk = true},
    {.text = "CompiledAutograd, once", .compiled_walk = true, .walks_once = true},
    {.text = "CompiledAutograd, x.register_hook",
     .arguments =
         [](Arguments& in, Variables&, int) {
           if (in.x.requires_grad()) in.x.register_hook([](const Tensor& g) { return g * 2.0; });
         },
     .compiled_walk = true},
};

}  // namespace

const Feature kTape{"tape", tape, tape_wraps, hooks, true};
const Feature kTapeInside{"tape inside", inside, inside_wraps, {}};
const Feature kCompiledWalks{"compiled walks", {}, {}, walks, true};

}  // namespace reprise::pairs
