#include <cmath>

#include "base/errors.h"
#include "graph/shape_rules.h"

namespace reprise::graph {
namespace {

const char* name(const RuleCtx& c) { return c.op.schema.name.c_str(); }

DType need_float(const RuleCtx& c, DType t) {
  if (!is_floating(t)) {
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "not defined for ", dtype_name(t),
         " (wanted a floating dtype; give dtype or cast with to())");
  }
  return t;
}

void reduce(RuleCtx& c, DType t, int dim_arg, bool keepdim) {
  const TensorMeta& self = c.tensor(0);
  c.result(t, reduced_sizes(self.layout.sizes, reduced_dims(c.args[dim_arg], self.dim(), name(c), c.loc), keepdim));
}

/// An extreme of nothing does not exist.
void need_elements(const RuleCtx& c, int dim_arg) {
  const TensorMeta& self = c.tensor(0);
  for (int d : reduced_dims(c.args[dim_arg], self.dim(), name(c), c.loc)) {
    if (!require(detail::compare_lt(0, self.size(d), c.loc), "reduction over at least one element")) {
      fail(ErrorCode::ShapeMismatch, name(c), c.loc, "cannot reduce dimension ", d, " of sizes ",
           sizes_text(self.layout.sizes), ": it has no elements");
    }
  }
}

int wrapped(const RuleCtx& c, int arg) { return wrap_dim(c.constant_int(arg), c.tensor(0).dim(), name(c), c.loc); }

/// normalized_shape against the input's last sizes; weight and bias against normalized_shape.
void check_normalized(const RuleCtx& c, std::initializer_list<int> parameters) {
  const Ints &in = c.tensor(0).layout.sizes, &shape = c.ints(1);
  auto equal = [&](const Ints& a, const Ints& b, std::size_t b_at) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!same(a[i], b[b_at + i], c.loc, "normalized_shape")) return false;
    }
    return true;
  };
  if (shape.empty() || shape.size() > in.size() || !equal(shape, in, in.size() - shape.size())) {
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, "normalized_shape ", sizes_text(shape),
         " does not match the last sizes of input ", sizes_text(in));
  }
  for (int p : parameters) {
    const TensorMeta* w = c.optional_tensor(p);
    if (w && (w->layout.sizes.size() != shape.size() || !equal(w->layout.sizes, shape, 0))) {
      fail(ErrorCode::ShapeMismatch, name(c), c.loc, c.op.schema.args[p].name, " has sizes ",
           sizes_text(w->layout.sizes), ", normalized_shape is ", sizes_text(shape));
    }
  }
}

}  // namespace

namespace rules {

void reduce_sum(RuleCtx& c) {
  DType t = c.tensor(0).dtype;
  reduce(c, c.dtype(3, is_floating(t) ? t : DType::Int64), 1, c.flag(2));
}

void reduce_extreme(RuleCtx& c) {
  need_elements(c, 1);
  reduce(c, c.tensor(0).dtype, 1, c.flag(2));
}

void reduce_bool(RuleCtx& c) { reduce(c, DType::Bool, 1, c.flag(2)); }
void reduce_mean(RuleCtx& c) { reduce(c, need_float(c, c.dtype(3, c.tensor(0).dtype)), 1, c.flag(2)); }
void reduce_var(RuleCtx& c) { reduce(c, need_float(c, c.tensor(0).dtype), 1, c.flag(3)); }

void reduce_float(RuleCtx& c) {
  DType t = c.tensor(0).dtype;
  reduce(c, is_floating(t) ? t : DType::Float32, 1, c.flag(2));
}

void reduce_norm(RuleCtx& c) {
  c.scalar(1).word().value(c.loc);  // which norm it is decides the operators: a constant
  // an extreme of magnitudes, or a root of a reciprocal
  if (const double p = c.scalar(1).to_double(c.loc); p < 0 || std::isinf(p)) need_elements(c, 2);
  reduce(c, need_float(c, c.tensor(0).dtype), 2, c.flag(3));
}

void reduce_arg(RuleCtx& c) {
  need_elements(c, 1);
  reduce(c, DType::Int64, 1, c.flag(2));
}

void cumsum(RuleCtx& c) {
  wrapped(c, 1);
  DType t = c.tensor(0).dtype;
  c.result(c.dtype(2, is_floating(t) ? t : DType::Int64), c.tensor(0).layout.sizes);
}

void softmax(RuleCtx& c) {
  wrapped(c, 1);
  c.result(need_float(c, c.dtype(2, c.tensor(0).dtype)), c.tensor(0).layout.sizes);
}

void layer_norm(RuleCtx& c) {
  check_normalized(c, {2, 3});
  c.result(need_float(c, c.tensor(0).dtype), c.tensor(0).layout.sizes);
}

void rms_norm(RuleCtx& c) {
  check_normalized(c, {2});
  need_float(c, c.tensor(0).dtype);
  const TensorMeta* w = c.optional_tensor(2);
  c.result(w ? promote(c.tensor(0).dtype, w->dtype) : c.tensor(0).dtype, c.tensor(0).layout.sizes);
}

void topk(RuleCtx& c) {
  const TensorMeta& self = c.tensor(0);
  int d = wrapped(c, 2);
  Int k = c.integer(1), n = self.dim() ? self.size(d) : Int(1);
  if (!require(detail::compare_le(0, k, c.loc), "topk: k not negative") ||
      !require(detail::compare_le(k, n, c.loc), "topk: k within the size")) {
    fail(ErrorCode::IndexOutOfRange, "topk", c.loc, "k = ", k, " is out of range for dimension ", d, " of sizes ",
         sizes_text(self.layout.sizes));
  }
  Ints sizes = self.layout.sizes;
  if (self.dim()) sizes[d] = k;
  c.result(self.dtype, sizes);
  c.result(DType::Int64, sizes);
}

void sort(RuleCtx& c) {
  wrapped(c, 1);
  c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
  c.result(DType::Int64, c.tensor(0).layout.sizes);
}

}  // namespace rules
}  // namespace reprise::graph
