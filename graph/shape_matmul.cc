#include "base/errors.h"
#include "graph/shape_rules.h"

namespace reprise::graph {
namespace {

const char* name(const RuleCtx& c) { return c.op.schema.name.c_str(); }

void same_dtype(const RuleCtx& c, int a, int b) {
  if (c.tensor(a).dtype != c.tensor(b).dtype) {
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "'", c.op.schema.args[a].name, "' is ",
         dtype_name(c.tensor(a).dtype), " and '", c.op.schema.args[b].name, "' is ", dtype_name(c.tensor(b).dtype),
         "; cast one with to()");
  }
  if (c.tensor(a).dtype == DType::Bool) fail(ErrorCode::DTypeMismatch, name(c), c.loc, "not defined for bool");
}

void need_dim(const RuleCtx& c, int arg, int dim) {
  if (c.tensor(arg).dim() != dim) {
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, "'", c.op.schema.args[arg].name, "' must have ", dim,
         " dimensions, got sizes ", sizes_text(c.tensor(arg).layout.sizes));
  }
}

[[noreturn]] void mismatch(const RuleCtx& c, int a, int b, const char* what) {
  fail(ErrorCode::ShapeMismatch, name(c), c.loc, "sizes ", sizes_text(c.tensor(a).layout.sizes), " and ",
       sizes_text(c.tensor(b).layout.sizes), ": ", what);
}

void inner(const RuleCtx& c, int a, Int ka, int b, Int kb) {
  if (!same(ka, kb, c.loc, "matrix product: equal inner sizes")) mismatch(c, a, b, "the inner sizes differ");
}

Ints product_sizes(const RuleCtx& c, int a, int b) {
  need_dim(c, a, 2);
  need_dim(c, b, 2);
  same_dtype(c, a, b);
  inner(c, a, c.tensor(a).size(1), b, c.tensor(b).size(0));
  return {c.tensor(a).size(0), c.tensor(b).size(1)};
}

}  // namespace

namespace rules {

void mm(RuleCtx& c) { c.result(c.tensor(0).dtype, product_sizes(c, 0, 1)); }

void bmm(RuleCtx& c) {
  need_dim(c, 0, 3);
  need_dim(c, 1, 3);
  same_dtype(c, 0, 1);
  const TensorMeta &a = c.tensor(0), &b = c.tensor(1);
  if (!same(a.size(0), b.size(0), c.loc, "bmm: equal batch sizes")) mismatch(c, 0, 1, "the batch sizes differ");
  inner(c, 0, a.size(2), 1, b.size(1));
  c.result(a.dtype, {a.size(0), a.size(1), b.size(2)});
}

void linear(RuleCtx& c) {
  const TensorMeta &in = c.tensor(0), &w = c.tensor(1);
  need_dim(c, 1, 2);
  same_dtype(c, 0, 1);
  if (in.dim() == 0) mismatch(c, 0, 1, "input needs at least one dimension");
  inner(c, 0, in.size(in.dim() - 1), 1, w.size(1));
  if (const TensorMeta* bias = c.optional_tensor(2)) {
    same_dtype(c, 0, 2);
    if (bias->dim() != 1 || !same(bias->size(0), w.size(0), c.loc, "linear: size of bias")) {
      mismatch(c, 1, 2, "bias must have one dimension of weight's first size");
    }
  }
  Ints sizes = in.layout.sizes;
  sizes.back() = w.size(0);
  c.result(in.dtype, sizes);
}

void matmul(RuleCtx& c) {
  same_dtype(c, 0, 1);
  const Ints &a = c.tensor(0).layout.sizes, &b = c.tensor(1).layout.sizes;
  if (a.empty() || b.empty()) mismatch(c, 0, 1, "both operands need at least one dimension");
  std::size_t na = a.size(), nb = b.size();
  inner(c, 0, a[na - 1], 1, nb == 1 ? b[0] : b[nb - 2]);
  Ints batch_a(a.begin(), a.begin() + (na > 2 ? na - 2 : 0)), batch_b(b.begin(), b.begin() + (nb > 2 ? nb - 2 : 0));
  Ints sizes = broadcast(batch_a, batch_b, "matmul", c.loc);
  if (na > 1) sizes.push_back(a[na - 2]);
  if (nb > 1) sizes.push_back(b[nb - 1]);
  c.result(c.tensor(0).dtype, sizes);
}

void addmm(RuleCtx& c) {
  Ints sizes = product_sizes(c, 1, 2);
  same_dtype(c, 0, 1);
  for (int i : {3, 4}) {
    if (c.scalar(i).is_float() && !is_floating(c.tensor(0).dtype)) {
      fail(ErrorCode::DTypeMismatch, "addmm", c.loc, "for ", dtype_name(c.tensor(0).dtype), " operands '",
           c.op.schema.args[i].name, "' must not be a float, got ", c.scalar(i).str());
    }
  }
  // With beta 0 (of either kind the word is 0) self is not read.
  if (c.scalar(3).is_symbolic()) static_cast<void>(static_cast<bool>(detail::compare_eq(c.scalar(3).word(), 0, c.loc)));
  check_expandable(c.tensor(0).layout.sizes, sizes, "addmm", c.loc);
  c.result(c.tensor(0).dtype, sizes);
}

/// query [..., L, E], key [..., S, E], value [..., S, Ev] -> [..., L, Ev]; with enable_gqa the heads (dimension -3) of
/// key and value may be fewer, dividing query's.
void attention(RuleCtx& c) {
  const TensorMeta &q = c.tensor(0), &k = c.tensor(1), &v = c.tensor(2);
  same_dtype(c, 0, 1);
  same_dtype(c, 0, 2);
  if (!is_floating(q.dtype)) fail(ErrorCode::DTypeMismatch, name(c), c.loc, "not defined for ", dtype_name(q.dtype));
  if (c.scalar(4).to_double(c.loc) != 0)
    fail(ErrorCode::InvalidArgument, name(c), c.loc, "dropout_p must be 0, got ", c.scalar(4).str());
  int r = q.dim();
  if (r < 2 || k.dim() < 2) mismatch(c, 0, 1, "query, key and value need at least 2 dimensions");
  if (v.dim() < 2) mismatch(c, 0, 2, "query, key and value need at least 2 dimensions");
  inner(c, 0, q.size(r - 1), 1, k.size(k.dim() - 1));
  if (!same(k.size(k.dim() - 2), v.size(v.dim() - 2), c.loc, "attention: equal lengths of key and value")) {
    mismatch(c, 1, 2, "key and value differ in length (dimension -2)");
  }
  bool gqa = c.flag(7);
  auto batch = [&](const TensorMeta& t) {
    return Ints(t.layout.sizes.begin(), t.layout.sizes.begin() + (t.dim() - 2));
  };
  Ints sizes = batch(q), kb = batch(k), vb = batch(v);
  if (gqa) {
    if (r < 3 || kb.size() != sizes.size() || vb.size() != sizes.size())
      mismatch(c, 0, 1, "enable_gqa needs a dimension of heads (-3) in all three");
    for (auto [other, arg] : {std::pair{&kb, 1}, std::pair{&vb, 2}}) {
      Int heads = sizes.back(), fewer = other->back();
      if (!identical(heads, fewer) &&
          (!require(detail::compare_lt(0, fewer, c.loc), "attention: heads") ||
           !require(detail::compare_eq(heads % fewer, 0, c.loc), "attention: heads divide evenly"))) {
        mismatch(c, 0, arg, "the number of heads of key and value must divide query's");
      }
      other->back() = heads;
    }
  }
  sizes = broadcast(broadcast(sizes, kb, name(c), c.loc), vb, name(c), c.loc);
  if (const TensorMeta* mask = c.optional_tensor(3)) {
    if (c.flag(5)) fail(ErrorCode::InvalidArgument, name(c), c.loc, "attn_mask and is_causal exclude each other");
    if (mask->dtype != DType::Bool && mask->dtype != q.dtype) {
      fail(ErrorCode::DTypeMismatch, name(c), c.loc, "attn_mask is ", dtype_name(mask->dtype),
           ", wanted bool or query's ", dtype_name(q.dtype));
    }
    Ints scores = sizes;
    scores.push_back(q.size(r - 2));
    scores.push_back(k.size(k.dim() - 2));
    check_expandable(mask->layout.sizes, scores, name(c), c.loc);
  }
  sizes.push_back(q.size(r - 2));
  sizes.push_back(v.size(v.dim() - 1));
  c.result(q.dtype, sizes);
}

}  // namespace rules
}  // namespace reprise::graph
