#include "base/errors.h"
#include "graph/shape_rules.h"
#include "graph/view_column.h"

namespace reprise::graph {
namespace {

const char* name(const RuleCtx& c) { return c.op.schema.name.c_str(); }

void need_index_dtype(const RuleCtx& c, DType t, std::string_view arg) {
  if (t != DType::Int64 && t != DType::Int32) {
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "'", arg, "' must be int64 or int32, got ", dtype_name(t));
  }
}

void need_same_dtype(const RuleCtx& c, DType a, DType b, std::string_view arg) {
  if (a != b) {
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "self is ", dtype_name(a), " and '", arg, "' is ", dtype_name(b),
         "; cast with to()");
  }
}

/// Every size of `small` (but at `skip`) fits into that of `large`.
void need_within(const RuleCtx& c, const TensorMeta& small, const TensorMeta& large, int skip, const char* small_name,
                 const char* large_name) {
  bool fits = small.dim() == large.dim();
  for (int d = 0; fits && d < small.dim(); ++d) {
    fits = d == skip || identical(small.size(d), large.size(d)) ||
           require(detail::compare_le(small.size(d), large.size(d), c.loc), "index within the sizes");
  }
  if (!fits) {
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, small_name, " has sizes ", sizes_text(small.layout.sizes),
         ", which must lie within ", large_name, "'s ", sizes_text(large.layout.sizes),
         skip >= 0 ? " (but for the indexed dimension)" : "");
  }
}

/// Result sizes of self[indices]: broadcast index sizes stand where the indexed dimensions were if those are adjacent,
/// otherwise in front.
Ints indexed_sizes(const RuleCtx& c) {
  const TensorMeta& self = c.tensor(0);
  auto indices = c.tensors(1);
  if (indices.size() > self.layout.sizes.size()) {
    fail(ErrorCode::IndexOutOfRange, name(c), c.loc, indices.size(), " indices for a tensor of sizes ",
         sizes_text(self.layout.sizes));
  }
  Ints common;
  int first = -1, last = -1, count = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    need_index_dtype(c, indices[i]->dtype, "indices");
    common = count ? broadcast(common, indices[i]->layout.sizes, name(c), c.loc) : indices[i]->layout.sizes;
    if (first < 0) first = static_cast<int>(i);
    last = static_cast<int>(i);
    ++count;
  }
  if (!count) fail(ErrorCode::InvalidArgument, name(c), c.loc, "at least one index tensor is needed");
  bool adjacent = last - first + 1 == count;
  Ints out;
  if (!adjacent) out = common;
  for (int d = 0; d < self.dim(); ++d) {
    if (adjacent && d == first) out.append(common.begin(), common.end());
    if (d >= static_cast<int>(indices.size()) || !indices[d]) out.push_back(self.size(d));
  }
  return out;
}

}  // namespace

namespace rules {

void embedding(RuleCtx& c) {
  const TensorMeta &weight = c.tensor(0), &indices = c.tensor(1);
  if (weight.dim() != 2) {
    fail(ErrorCode::ShapeMismatch, "embedding", c.loc, "weight must have 2 dimensions, got sizes ",
         sizes_text(weight.layout.sizes));
  }
  need_index_dtype(c, indices.dtype, "indices");
  Ints sizes = indices.layout.sizes;
  sizes.push_back(weight.size(1));
  c.result(weight.dtype, sizes);
}

void index_select(RuleCtx& c) {
  const TensorMeta &self = c.tensor(0), &index = c.tensor(2);
  need_index_dtype(c, index.dtype, "index");
  if (index.dim() > 1) {
    fail(ErrorCode::ShapeMismatch, "index_select", c.loc, "index must have one dimension, got sizes ",
         sizes_text(index.layout.sizes));
  }
  int d = wrap_dim(c.constant_int(1), self.dim(), "index_select", c.loc);
  Ints sizes = self.layout.sizes;
  const Int n = index.dim() ? index.size(0) : Int(1);
  if (self.dim()) sizes[d] = n;
  else if (!require(detail::compare_eq(n, 1, c.loc), "index_select: one index for a 0-dim tensor"))
    fail(ErrorCode::ShapeMismatch, "index_select", c.loc, "a 0-dim tensor takes one index, got ", n);
  c.result(self.dtype, sizes);
}

void gather(RuleCtx& c) {
  const TensorMeta &self = c.tensor(0), &index = c.tensor(2);
  need_index_dtype(c, index.dtype, "index");
  int d = wrap_dim(c.constant_int(1), self.dim(), "gather", c.loc);
  need_within(c, index, self, d, "index", "self");
  c.result(self.dtype, index.layout.sizes);
}

void index(RuleCtx& c) { c.result(c.tensor(0).dtype, indexed_sizes(c)); }

void scatter(RuleCtx& c) {
  const TensorMeta &self = c.tensor(0), &index = c.tensor(2);
  need_index_dtype(c, index.dtype, "index");
  int d = wrap_dim(c.constant_int(1), self.dim(), name(c), c.loc);
  need_within(c, index, self, d, "index", "self");
  if (const TensorMeta* src = c.optional_tensor(3)) {
    need_same_dtype(c, self.dtype, src->dtype, "src");
    need_within(c, index, *src, -1, "index", "src");
  }
  c.result(self.dtype, self.layout.sizes);
}

void scatter_reduce(RuleCtx& c) {
  const std::string_view reduce = c.str(4);
  if (reduce != "sum" && reduce != "prod" && reduce != "amax" && reduce != "amin")
    fail(ErrorCode::InvalidArgument, name(c), c.loc, "reduce is '", reduce,
         "', expected sum, prod, mean, amax or amin");
  scatter(c);
}

void index_put(RuleCtx& c) {
  const TensorMeta &self = c.tensor(0), &values = c.tensor(2);
  need_same_dtype(c, self.dtype, values.dtype, "values");
  check_expandable(values.layout.sizes, indexed_sizes(c), name(c), c.loc);
  c.result(self.dtype, self.layout.sizes);
}

void cat(RuleCtx& c) {
  auto parts = c.tensors(0);
  if (parts.empty()) fail(ErrorCode::InvalidArgument, "cat", c.loc, "needs at least one tensor");
  const TensorMeta* first = nullptr;
  for (const TensorMeta* t : parts) {
    if (!t) fail(ErrorCode::InvalidArgument, "cat", c.loc, "an element is an undefined tensor");
    if (!first || (first->dim() == 1 && t->dim() != 1)) first = t;
  }
  // ATen's old rule: a one-dimensional tensor of no elements joins anything.
  auto skipped = [&](const TensorMeta* t) {
    return t->dim() == 1 && first->dim() != 1 &&
           require(detail::compare_eq(t->size(0), 0, c.loc), "cat: an empty tensor is skipped");
  };
  if (first->dim() == 0)
    fail(ErrorCode::ShapeMismatch, "cat", c.loc, "0-dim tensors cannot be concatenated; use stack");
  int d = wrap_dim(c.constant_int(1), first->dim(), "cat", c.loc);
  Ints sizes = first->layout.sizes;
  Int total = 0;
  std::vector<const TensorMeta*> joined;
  for (const TensorMeta* t : parts) {
    if (skipped(t)) continue;
    bool fits = t->dim() == first->dim();
    for (int i = 0; fits && i < first->dim(); ++i) {
      fits = i == d || same(first->size(i), t->size(i), c.loc, "cat: equal sizes");
      if (i != d && !t->size(i).is_symbolic()) sizes[i] = t->size(i);
    }
    if (!fits) {
      fail(ErrorCode::ShapeMismatch, "cat", c.loc, "sizes ", sizes_text(first->layout.sizes), " and ",
           sizes_text(t->layout.sizes), " must agree but for dimension ", d);
    }
    joined.push_back(t);
  }
  // After all was asked: what an answer teaches would have every sum so far looked at again.
  for (const TensorMeta* t : joined) total = total + t->size(d);
  sizes[d] = total;
  c.result(result_dtype(c.args.first(1)), sizes);
}

/// slice_scatter(self, src, <slice's arguments>): self with src in the place of that view of it.
void view_scatter(RuleCtx& c) {
  const TensorMeta &self = c.tensor(0), &src = c.tensor(1);
  need_same_dtype(c, self.dtype, src.dtype, "src");
  const std::optional<OpId> view = view_of_scatter(c.op.id);
  REPRISE_CHECK(view);
  const OpId id = *view;
  std::vector<RuleArg> args(c.args.begin(), c.args.end());
  args.erase(args.begin() + 1);
  Layout part = apply_view(op(id), args, self.layout, c.loc);
  if (is_view_of_storage(id) && c.shows_storage && known_contiguous(self.layout) &&
      identical(self.layout.offset, Int(0)))
    check_within_storage(part, self.layout, c.op.schema.name.c_str(), c.loc);
  bool fits = part.sizes.size() == src.layout.sizes.size();
  for (std::size_t d = 0; fits && d < part.sizes.size(); ++d)
    fits = same(part.sizes[d], src.layout.sizes[d], c.loc, "scatter: equal sizes");
  if (!fits) {
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, "src has sizes ", sizes_text(src.layout.sizes),
         ", the part of self has ", sizes_text(part.sizes));
  }
  c.result(self.dtype, self.layout.sizes);
}

}  // namespace rules
}  // namespace reprise::graph
