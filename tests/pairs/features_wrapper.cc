// Wrapper tensors: among arguments, made and taken apart inside, with rules and defaults, nested, in float8.
#include "reprise/float8.h"
#include "reprise/semi_sparse.h"
#include "reprise/wrapper.h"
#include "tests/pairs/feature.h"

namespace reprise::pairs {

namespace {

/// Computes as what is in it, twice as much where it adds. Views are those of what is in it.
struct Boxed : Wrapper<Boxed> {
  Tensor inner;
  std::int64_t tag = 0;
  REPRISE_FIELDS(Boxed, inner, tag)
  Tensor plain(SourceLoc) const { return inner; }
  void store(const Tensor& t, SourceLoc) const {
    if (!t.is_same(inner)) inner.copy_(t);
  }
  static void dispatch(WrapperCall& c) {
    c.on("mul", [](WrapperCall& c) -> Tensor {
      std::int64_t tag = 1;
      if (c.inplace()) return Tensor();
      for (std::size_t i = 0; i < 2; ++i)
        if (c.as<Boxed>(i)) tag += c.as<Boxed>(i)->tag;
      Boxed b;
      b.inner = c.call([&](const Tensor& t) { return reprise::plain(t, c.loc()); })[0], b.tag = tag;
      return b.tensor();
    });
    c.otherwise(unwrap);
  }
};
/// What another class holds.
struct Outer : Wrapper<Outer> {
  Tensor inner;
  REPRISE_FIELDS(Outer, inner)
  Tensor plain(SourceLoc) const { return inner; }
  void store(const Tensor& t, SourceLoc) const { inner.copy_(t); }
  static void dispatch(WrapperCall& c) { c.otherwise(unwrap); }
};
Tensor boxed(const Tensor& t, std::int64_t tag = 0) {
  Boxed b;
  b.inner = t, b.tag = tag;
  return b.tensor();
}
Tensor twice(const Tensor& t) {
  Outer o;
  o.inner = boxed(t);
  return o.tensor();
}
double tag_of(const Tensor& t) { return Boxed::of(t) ? static_cast<double>(Boxed::of(t)->tag) : -1.0; }
/// [rows, 8] of a's elements.
Tensor eights(const Tensor& a) {
  const Tensor m = flat(a).detach().to(kFloat32);
  return cat({m, zeros({m.size(0), 8}, m.options())}, 1).narrow(1, 0, 8);
}

const Row rows[] = {
    PAIRS_ROW(3, 0, return boxed(a) + c),
    PAIRS_ROW(3, 0, return plain(boxed(a, d) * boxed(fit(a, b), 1))),
    PAIRS_ROW(2, 0, Tensor t = boxed(a, d) * c; return plain(t) + tag_of(t)),
    PAIRS_ROW(2, 0, return twice(a).sum(0) + twice(a) * c),
    PAIRS_ROW(2, 0, Tensor t = a.detach().clone(); boxed(t).mul_(c); return t),
    PAIRS_ROW(2, 0, Tensor t = a.detach().clone(); twice(t).add_(c); return t + 0.0),
    PAIRS_ROW(2, 0, Tensor t = a.detach() + 0.0; boxed(t).select(0, 0).fill_(c); return t),
    PAIRS_ROW(2, 0, return where(boxed(a) > 0.0, boxed(a), c)),
    PAIRS_ROW(2, 0, return cat({boxed(flat(a)), flat(a) * c}, d)),
    PAIRS_ROW(2, 0, return in.y * c + 0.0),
    PAIRS_ROW(2, 0, return plain(in.wide * c)),
    PAIRS_ROW(2, 0, in.wide.mul_(c); return in.wide.sum() + a),
    PAIRS_ROW(1, kVariables, var.b.add_(boxed(var.b)); return var.b + 0.0),
    PAIRS_ROW(2, kSteps, return plain(Float8::quantize(eights(a) * 0.875, {.power_of_two = true}))),
    PAIRS_ROW(2, kSteps, Tensor w = Float8::quantize(eights(a), {.scaling = Float8Scaling::PerRow});
              return linear(eights(b), w) * 0.01),
    PAIRS_ROW(2, kSteps,  // which of four stay is the same, however a is rounded
              const Tensor w = eights(a).clamp(-1.0, 1.0) * 0.25 + arange(8, {.dtype = kFloat32});
              return linear(eights(b), SemiSparse24::prune(w)) * 0.01),
};
const Wrap wraps[] = {
    PAIRS_WRAP(2, 0, return plain(inner(boxed(a), b))),
    PAIRS_WRAP(2, 0, return inner(plain(boxed(a) * 0.5), b)),
    PAIRS_WRAP(1, 0, return plain(twice(inner(a, b)))),
};
const Setting settings[] = {
    {.text = "nothing"},
    {.text = "wide and y are wrappers",
     .arguments =
         [](Arguments& in, Variables&, int call) {
           for (Tensor* t : {&in.wide, &in.y})
             if (!is_wrapper(*t)) *t = boxed(*t, call % 2);
         }},
    {.text = "wide is one inside of another, every other call",
     .arguments =
         [](Arguments& in, Variables&, int call) {
           if (call % 2 && !is_wrapper(in.wide)) in.wide = twice(in.wide);
         }},
};

}  // namespace

const Feature kWrapper{"wrapper", rows, wraps, settings};

}  // namespace reprise::pairs
