// Products of more than two factors: bilinear, a node of graphs, and functions over rows of ops.def.
#include "reprise/products.h"

#include <limits>
#include <vector>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "passes/decompose_builder.h"
#include "reprise/linalg.h"
#include "reprise/ops.h"

namespace reprise {

using graph::OpId;
using graph::sizes_text;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;

namespace {

void bilinear_shape(graph::RuleCtx& c) {
  const char* name = c.op.schema.name.c_str();
  const TensorMeta &x = c.tensor(0), &y = c.tensor(1), &w = c.tensor(2);
  const TensorMeta* bias = c.optional_tensor(3);
  for (const TensorMeta* m : {&y, &w, bias})
    if (m && m->dtype != x.dtype)
      fail(ErrorCode::DTypeMismatch, name, c.loc, "dtypes ", dtype_name(x.dtype), " and ", dtype_name(m->dtype),
           " differ; cast with to()");
  if (x.dtype == DType::Bool) fail(ErrorCode::DTypeMismatch, name, c.loc, "not defined for bool");
  auto misfit = [&](const char* why) {
    fail(ErrorCode::ShapeMismatch, name, c.loc, "inputs of sizes ", sizes_text(x.layout.sizes), " and ",
         sizes_text(y.layout.sizes), " and a weight of sizes ", sizes_text(w.layout.sizes), ": ", why);
  };
  if (w.dim() != 3) misfit("the weight must have 3 dimensions");
  if (x.dim() == 0 || x.dim() != y.dim()) misfit("the inputs must have the same number of dimensions, one at least");
  for (int d = 0; d + 1 < x.dim(); ++d)
    if (!graph::same(x.size(d), y.size(d), c.loc, "bilinear: equal sizes before the last"))
      misfit("the inputs differ before their last dimension");
  if (!graph::same(x.size(x.dim() - 1), w.size(1), c.loc, "bilinear: features of input1") ||
      !graph::same(y.size(y.dim() - 1), w.size(2), c.loc, "bilinear: features of input2"))
    misfit("the weight must be [out, features of input1, features of input2]");
  if (bias && (bias->dim() != 1 || !graph::same(bias->size(0), w.size(0), c.loc, "bilinear: size of bias")))
    fail(ErrorCode::ShapeMismatch, name, c.loc,
         "the bias must have one dimension of the weight's first size, got sizes ", sizes_text(bias->layout.sizes));
  Ints sizes = x.layout.sizes;
  sizes.back() = w.size(0);
  c.result(x.dtype, sizes);
}

/// One product [rows, n] x [n, o * m], and for each row one of [o, m] with its second input.
graph::ValueId take_apart(passes::Build& b, DType) {
  const Ints sizes = b.sizes(b.tensor(0)), w = b.sizes(b.tensor(2));
  Int rows = 1;
  for (std::size_t d = 0; d + 1 < sizes.size(); ++d) rows = rows * sizes[d];
  const auto flat = b.reshape(b.tensor(0), {rows, w[1]});
  const auto weight = b.reshape(b.emit(OpId::permute, {b.tensor(2), Ints{1, 0, 2}}), {w[1], w[0] * w[2]});
  const auto by_row = b.emit(OpId::view, {b.emit(OpId::mm, {flat, weight}), Ints{rows, w[0], w[2]}});
  const auto other = b.reshape(b.tensor(1), {rows, w[2], 1});
  Ints out = sizes;
  out.back() = w[0];
  const auto product = b.emit(OpId::view, {b.emit(OpId::bmm, {by_row, other}), out});
  return b.has(3) ? b.add(product, b.tensor(3)) : product;
}

OpId bilinear_op() {
  static const OpId id = graph::register_op(
      {.schema = "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
       .cls = graph::OpClass::Composite,
       .shape = bilinear_shape},
      {passes::decompositions().fact({take_apart}),
       operators::derivative(operators::derivatives::bilinear, autograd::in(0, autograd::of(1, 2)) +
                                                                   autograd::in(1, autograd::of(0, 2)) +
                                                                   autograd::in(2, autograd::of(0, 1)))});
  return id;
}

/// The cheapest order of multiplications: cost and where to split, for each range of factors [i, j]. T. H. Cormen et
/// al., "Introduction to Algorithms", matrix-chain multiplication. `dims`: of the factors' boundaries, as they are in
/// the call being traced.
struct Chain {
  explicit Chain(const std::vector<double>& dims) : n(dims.size() - 1), split(n * n) {
    std::vector<double> cost(n * n);
    for (std::size_t length = 2; length <= n; ++length)
      for (std::size_t i = 0; i + length <= n; ++i) {
        const std::size_t j = i + length - 1;
        double& best = cost[i * n + j] = std::numeric_limits<double>::infinity();
        for (std::size_t k = i; k < j; ++k)
          if (const double c = cost[i * n + k] + cost[(k + 1) * n + j] + dims[i] * dims[k + 1] * dims[j + 1]; c < best)
            best = c, split[i * n + j] = k;
      }
  }
  Tensor product(std::span<const Tensor> factors, std::size_t i, std::size_t j, SourceLoc loc) const {
    if (i == j) return factors[i];
    const std::size_t k = split[i * n + j];
    return mm(product(factors, i, k, loc), product(factors, k + 1, j, loc), loc);
  }
  std::size_t n;
  std::vector<std::size_t> split;
};

}  // namespace

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias, SourceLoc loc) {
  return graph::call1(bilinear_op(),
                      {arg(input1), arg(input2), arg(weight), bias.defined() ? arg(bias) : graph::CallArg{}}, loc);
}

Tensor multi_dot(TensorArrayRef tensors, SourceLoc loc) {
  const std::size_t n = tensors.size();
  if (n < 2) fail(ErrorCode::InvalidArgument, "multi_dot", loc, "wants two tensors at least, got ", n);
  std::vector<Tensor> factors;
  std::vector<double> dims;
  bool row = false, column = false;
  for (std::size_t i = 0; i < n; ++i) {
    Tensor t = tensors[i];
    const TensorMeta m = checked_meta(t, "multi_dot", loc);
    const bool end = i == 0 || i + 1 == n;
    if (m.dim() != 2 && !(end && m.dim() == 1))
      fail(ErrorCode::ShapeMismatch, "multi_dot", loc, "factor ", i, " must be a matrix", end ? " or a vector" : "",
           ", got sizes ", sizes_text(m.layout.sizes));
    if (m.dim() == 1) {
      (i == 0 ? row : column) = true;
      t = unsqueeze(t, i == 0 ? 0 : 1, loc);
    }
    const TensorMeta full = checked_meta(t, "multi_dot", loc);
    if (i && !graph::same(checked_meta(factors.back(), "multi_dot", loc).size(1), full.size(0), loc,
                          "multi_dot: equal inner sizes"))
      fail(ErrorCode::ShapeMismatch, "multi_dot", loc, "factors ", i - 1, " and ", i, " of sizes ",
           sizes_text(tensors[i - 1].sizes()), " and ", sizes_text(m.layout.sizes), " do not fit");
    if (i == 0) dims.push_back(static_cast<double>(full.size(0).hint()));
    dims.push_back(static_cast<double>(full.size(1).hint()));
    factors.push_back(std::move(t));
  }
  return named("multi_dot", [&] {
    Tensor product = Chain(dims).product(factors, 0, n - 1, loc);
    if (column) product = squeeze(product, 1, loc);
    return row ? squeeze(product, 0, loc) : product;
  });
}

Tensor matrix_power(const Tensor& self, std::int64_t n, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "matrix_power", loc);
  if (m.dim() < 2 || !graph::same(m.size(m.dim() - 2), m.size(m.dim() - 1), loc, "matrix_power: square"))
    fail(ErrorCode::ShapeMismatch, "matrix_power", loc, "wants square matrices, got sizes ",
         sizes_text(m.layout.sizes));
  if (n == std::numeric_limits<std::int64_t>::min())
    fail(ErrorCode::InvalidArgument, "matrix_power", loc, "the power is out of range, got ", n);
  if (n < 0) return named("matrix_power", [&] { return matrix_power(inverse(self, loc), -n, loc); });
  if (n == 0)
    return expand(eye(m.size(m.dim() - 1), std::nullopt, {m.dtype, m.device}, loc), IntArrayRef(m.layout.sizes), loc)
        .clone(loc);
  return named("matrix_power", [&] {
    Tensor square = self, power;
    for (std::int64_t left = n;; square = matmul(square, square, loc)) {
      if (left & 1) power = power.defined() ? matmul(power, square, loc) : square;
      if ((left >>= 1) == 0) return n == 1 ? power.clone(loc) : power;
    }
  });
}

namespace operators {
void register_products() { static_cast<void>(bilinear_op()); }
}  // namespace operators

}  // namespace reprise
