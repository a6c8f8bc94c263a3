// Kernels of a user's own: of functions, of writes, and of what may fail.
#include "reprise/library.h"
#include "tests/pairs/feature.h"

namespace reprise::pairs {

namespace {

/// f(offsets of the element in each of the tensors) for each element.
template <std::size_t N, class F>
void for_each_element(const TensorView* const (&all)[N], F f) {
  const TensorView& first = *all[0];
  std::int64_t index[kMaxRank] = {}, at[N] = {};
  for (std::int64_t left = first.numel(); left > 0; --left) {
    f(at);
    for (int d = first.rank; d-- > 0;) {
      for (std::size_t k = 0; k < N; ++k) at[k] += all[k]->strides[d];
      if (++index[d] < first.sizes[d]) break;
      for (std::size_t k = 0; k < N; ++k) at[k] -= all[k]->strides[d] * first.sizes[d];
      index[d] = 0;
    }
  }
}
void expect_floats(ShapeCall& c, int tensors) {
  for (int i = 0; i < tensors; ++i)
    if (c.dtype(i) != kFloat32) c.fail(ErrorCode::DTypeMismatch, "wants float32");
}

Tensor weighted(const Tensor& a, const Tensor& b, double by) {
  static const Operator op =
      Library("pairs").define({.schema = "weighted(Tensor x, Tensor y, float by) -> Tensor",
                               .shape =
                                   [](ShapeCall& c) {
                                     expect_floats(c, 2);
                                     if (c.dim(0) != c.dim(1))
                                       c.fail(ErrorCode::ShapeMismatch, "numbers of dimensions differ");
                                     for (int d = 0; d < c.dim(0); ++d)
                                       c.expect_equal(c.size(0, d), c.size(1, d), "a dimension");
                                     c.result(kFloat32, c.sizes(0));
                                   },
                               .cpu =
                                   [](const KernelCall& k) {
                                     const TensorView* const all[] = {&k.tensor(0), &k.tensor(1)};
                                     const auto by = static_cast<float>(k.number(2).to_double());
                                     float* out = k.result().as<float>();  // contiguous, as promised
                                     for_each_element(all, [&](const std::int64_t* at) {
                                       *out++ = all[0]->as<float>()[at[0]] + by * all[1]->as<float>()[at[1]];
                                     });
                                   }});
  return op(a, b.to(kFloat32).expand(a.sizes()), by);
}
/// The number of elements above 0.5, and the tensor's square.
std::vector<Tensor> counted(const Tensor& a) {
  static const Operator op = Library("pairs").define({.schema = "counted(Tensor x) -> (Tensor, Tensor)",
                                                      .shape =
                                                          [](ShapeCall& c) {
                                                            expect_floats(c, 1);
                                                            c.result(kInt64, {});
                                                            c.result(kFloat32, c.sizes(0));
                                                          },
                                                      .cpu =
                                                          [](const KernelCall& k) {
                                                            std::int64_t n = 0;
                                                            const TensorView* const all[] = {&k.tensor(0)};
                                                            float* out = k.result(1).as<float>();
                                                            for_each_element(all, [&](const std::int64_t* at) {
                                                              const float x = all[0]->as<float>()[at[0]];
                                                              n += x > 0.5f, *out++ = x * x;
                                                            });
                                                            *k.result(0).as<std::int64_t>() = n;
                                                          }});
  const Operator::Results r = op(a);
  return {r[0], r[1]};
}
void shift_(const Tensor& a, const Tensor& by) {
  static const Operator op = Library("pairs").define(
      {.schema = "shift_(Tensor(a!) x, Tensor by) -> ()",
       .shape = [](ShapeCall& c) { expect_floats(c, 2); },
       .cpu =
           [](const KernelCall& k) {
             const TensorView* const all[] = {&k.tensor(0)};
             const float by = *k.tensor(1).as<float>();
             for_each_element(all, [&](const std::int64_t* at) { all[0]->as<float>()[at[0]] += by; });
           }});
  op(a, by);
}
/// Writes two tensors: each gets the other's elements. Fails above a bound.
void exchange_(const Tensor& a, const Tensor& b) {
  static const Operator op = Library("pairs").define(
      {.schema = "exchange_(Tensor(a!) x, Tensor(b!) y) -> ()",
       .shape =
           [](ShapeCall& c) {
             expect_floats(c, 2);
             if (c.dim(0) != c.dim(1)) c.fail(ErrorCode::ShapeMismatch, "numbers of dimensions differ");
             for (int d = 0; d < c.dim(0); ++d) c.expect_equal(c.size(0, d), c.size(1, d), "a dimension");
           },
       .cpu =
           [](const KernelCall& k) {
             const TensorView* const all[] = {&k.tensor(0), &k.tensor(1)};
             float most = 0;
             for_each_element(all, [&](const std::int64_t* at) { most = std::max(most, all[0]->as<float>()[at[0]]); });
             if (most > 1.7f) return k.fail(ErrorCode::IndexOutOfRange, "more than 1.7");
             for_each_element(all, [&](const std::int64_t* at) {
               std::swap(all[0]->as<float>()[at[0]], all[1]->as<float>()[at[1]]);
             });
           },
       .may_fail = true});
  op(a, b);
}

// Their derivatives are nobody's: where gradients are on they are given what wants none.
const Row kernels[] = {
    PAIRS_ROW(3, 0, return weighted(a.detach(), fit(a, b).detach(), c)),
    PAIRS_ROW(3, 0, return weighted(flat(a).t().detach(), flat(a).t().detach() * 2.0, 0.5) + 0.25),
    PAIRS_ROW(2, 0, std::vector<Tensor> r = counted(a.detach()); return a + r[1] * r[0].to(kFloat32)),
    PAIRS_ROW(2, 0, std::vector<Tensor> r = counted(a.detach()); r[1].add_(c); return r[1]),
    PAIRS_ROW(2, 0, Int k = counted(in.wide)[0].item().to_int(); return a * k),
    PAIRS_ROW(3, 0, shift_(a.detach(), in.row.detach().sum()); return a),
    PAIRS_ROW(3, 0, Tensor t = a.detach() * 0.5; shift_(flat(t).select(0, 0), t.sum()); return t),
    PAIRS_ROW(2, 0, Tensor t = flat(a).t().detach(); shift_(t.slice(0, 0, 1), t.max()); return a + 0.0),
    PAIRS_ROW(2, kFails, Tensor t = a.detach() * 1.0; exchange_(a.detach(), t); return t),
    PAIRS_ROW(2, kFails, Tensor t = a.detach(); Tensor u = t * 0.5;
              exchange_(u, fit(a, b).detach().expand(a.sizes()).clone()); return u),
    PAIRS_ROW(2, kFails, Tensor m = flat(a).detach(); exchange_(m.select(0, 0), m.select(0, -1)); return a),
};
const Wrap kernel_wraps[] = {
    PAIRS_WRAP(2, 0, return weighted(inner(a, b).detach(), in.row.detach().sum(), 0.5)),
    PAIRS_WRAP(2, 0, return inner(counted(a.detach())[1], b)),
    PAIRS_WRAP(2, 0, Tensor t = inner(a, b); shift_(t.detach(), in.row.detach().sum()); return t + 0.0),
};

}  // namespace

const Feature kKernels{"kernels", kernels, kernel_wraps, {}};

}  // namespace reprise::pairs
