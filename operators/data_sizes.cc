// Results whose sizes depend on elements (Note [Sizes that depend on data] in guards/data_symbols.cc). How many there
// are is counted by operators that fuse with what comes before, and read as a number (item); the operators here take
// that number as a size like any other.
#include "reprise/data_sizes.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/api_index.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "guards/shape_env.h"
#include "kernels/launch/named.h"
#include "kernels/reference/reference.h"
#include "operators/checks.h"
#include "operators/data_sizes.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/read_back.h"
#include "reprise/ops.h"
#include "tensor/trace_questions.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;
using graph::api::wrapped;
using kernels::NativeArgs;

namespace {

/// No tensor has more elements.
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

Tensor is_set(const Tensor& self, SourceLoc loc) { return self.dtype() == kBool ? self : ne(self, 0, loc); }

}  // namespace

Int operators::counted(Scalar number, std::optional<Int> most, SourceLoc loc) {
  const Int n = number.to_int(loc);
  auto holds = [&](const Bool& b) {
    if (!b.is_symbolic()) return;
    guards::ShapeEnv& env = b.living()->env();
    if (most && env.of_data(b.expr())) env.assume(b.expr(), true);
    else graph::require(b, "count of elements");
  };
  if (!n.is_symbolic()) return n;
  holds(detail::compare_le(0, n, loc));
  holds(detail::compare_le(n, kMostElements, loc));
  if (most) holds(detail::compare_le(n, *most, loc));
  return n;
}
using operators::counted;

Int operators::count_of(const Tensor& set, SourceLoc loc) {
  guards::LibraryScope operators;
  return counted(sum(set, {}, false, kInt64, loc).item(loc), set.numel(), loc);
}
using operators::count_of;

namespace {

/// Places in row-major order of a bool tensor of one dimension: int64 [n].
Tensor places(const Tensor& set, SourceLoc loc) {
  return select(nonzero_static(set, count_of(set, loc), -1, loc), 1, 0, loc);
}

bool has_sizes(const Tensor& t, const Ints& sizes) {
  const Ints own = checked_meta(t, "masked_select", {}).layout.sizes;
  return std::equal(own.begin(), own.end(), sizes.begin(), sizes.end(), [](Int a, Int b) { return identical(a, b); });
}

// ---- nonzero_static

void nonzero_shape(graph::RuleCtx& c) {
  const TensorMeta& self = c.tensor(0);
  const Int n = c.integer(1);
  if (!graph::require(detail::compare_le(0, n, c.loc), "nonzero_static: size not negative"))
    fail(ErrorCode::InvalidArgument, "nonzero_static", c.loc, "the size must not be negative, got ", n);
  c.result(kInt64, {n, Int(self.dim())});
}

}  // namespace

OpId operators::nonzero_static_op() {
  static const OpId id = graph::register_op(
      {.schema = "nonzero_static(Tensor self, *, SymInt size, SymInt fill_value=-1) -> Tensor", .shape = nonzero_shape},
      {kernels::reference_kernels().fact({kernels::named::nonzero()}), operators::constant()});
  return id;
}

using operators::nonzero_static_op;

namespace {

// ---- repeat_interleave

void repeated_shape(graph::RuleCtx& c) {
  const TensorMeta& repeats = c.tensor(0);
  operators::need_index("repeat_interleave", c.loc, repeats.dtype, "repeats");
  c.result(kInt64, {c.integer(1)});
}

/// Which slices repeat_interleave takes: `size` is the sum of the repeats.
OpId repeated_indices_op() {
  static const OpId id =
      graph::register_op({.schema = "repeated_indices(Tensor repeats, SymInt size) -> Tensor",
                          .shape = repeated_shape,
                          .effects = {.may_fail = true}},
                         {kernels::reference_kernels().fact({kernels::named::repeated()}), operators::constant()});
  return id;
}

}  // namespace

Int check_size(Int n, Int lo, Int hi, SourceLoc loc) {
  auto holds = [&](Int a, Int b) {
    const Bool b_is_more = detail::compare_le(a, b, loc);
    return b_is_more.is_symbolic() ? b_is_more.living()->env().require(b_is_more.expr(), loc, "check_size")
                                   : static_cast<bool>(b_is_more);
  };
  if (!holds(lo, hi))
    fail(ErrorCode::InvalidArgument, "check_size", loc, "no number is at least ", lo, " and at most ", hi);
  if (!holds(lo, n) || !holds(n, hi))
    fail(ErrorCode::InvalidArgument, "check_size", loc, "the number is ", n, ", declared to be at least ", lo,
         " and at most ", hi);
  return n.is_symbolic() ? Int(n.living()->env().simplify(n.expr())) : n;
}

Tensor nonzero_static(const Tensor& self, Int size, Int fill_value, SourceLoc loc) {
  return graph::call1(nonzero_static_op(), {arg(self), arg(size), arg(fill_value)}, loc);
}

Tensor nonzero(const Tensor& self, SourceLoc loc) {
  return named("nonzero", [&] {
    checked_meta(self, "nonzero", loc);
    const Tensor set = is_set(self, loc);
    return nonzero_static(set, count_of(set, loc), -1, loc);
  });
}
Tensor argwhere(const Tensor& self, SourceLoc loc) { return nonzero(self, loc); }

Tensor masked_select(const Tensor& self, const Tensor& mask, SourceLoc loc) {
  return named("masked_select", [&] {
    const Ints x = checked_meta(self, "masked_select", loc).layout.sizes;
    const TensorMeta m = checked_meta(mask, "masked_select", loc);
    if (m.dtype != kBool) fail(ErrorCode::DTypeMismatch, "masked_select", loc, "the mask must be bool, got ", m.dtype);
    Ints sizes;
    {
      guards::LibraryScope operators;
      sizes = graph::broadcast(x, m.layout.sizes, "masked_select", loc);
    }
    auto flat = [&](const Tensor& t) { return reshape(has_sizes(t, sizes) ? t : expand(t, sizes, loc), {-1}, loc); };
    return index_select(flat(self), 0, places(flat(mask), loc), loc);
  });
}

Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, Int dim, SourceLoc loc) {
  return named("repeat_interleave", [&] {
    const TensorMeta m = checked_meta(self, "repeat_interleave", loc),
                     r = checked_meta(repeats, "repeat_interleave", loc);
    if (m.dim() == 0) fail(ErrorCode::ShapeMismatch, "repeat_interleave", loc, "cannot be applied to a 0-dim tensor");
    const Int n = m.size(wrapped(m, dim, "repeat_interleave", loc));
    if (r.dim() > 1)
      fail(ErrorCode::ShapeMismatch, "repeat_interleave", loc, "repeats must have one dimension, got sizes ",
           graph::sizes_text(r.layout.sizes));
    Tensor each = repeats;
    if (r.dim() == 0 || graph::is_plain(r.size(0), 1)) each = expand(repeats, {n}, loc);
    else if (!graph::same(r.size(0), n, loc, "repeat_interleave: one for each slice") &&
             graph::ask(detail::compare_eq(r.size(0), 1, loc), "repeat_interleave: one for all"))
      each = expand(repeats, {n}, loc);
    else if (!graph::same(r.size(0), n, loc, "repeat_interleave: one for each slice"))
      fail(ErrorCode::ShapeMismatch, "repeat_interleave", loc, "repeats has ", r.size(0), " elements for ", n,
           " slices");
    operators::need_index("repeat_interleave", loc, r.dtype, "repeats");
    Int total = counted(sum(each, {}, false, kInt64, loc).item(loc), std::nullopt, loc);
    if (!total.is_symbolic() && total.hint() < 0) total = 0;  // the kernel says which one is negative
    return index_select(self, dim, graph::call1(repeated_indices_op(), {arg(each), arg(total)}, loc), loc);
  });
}

// ---- masks as indices (graph/api_index.h)

namespace graph::api {

namespace {
/// A mask at dimension `at` of a tensor of these sizes.
void check_mask(const Ints& mask, std::size_t at, const Ints& have, const char* op, SourceLoc loc) {
  if (mask.empty())
    fail(ErrorCode::InvalidArgument, op, loc, "a mask of 0 dimensions is no index: use where, or unsqueeze both");
  bool fits = at + mask.size() <= have.size();
  for (std::size_t d = 0; fits && d < mask.size(); ++d)
    fits = same(mask[d], have[at + d], loc, "index: a mask of these sizes");
  if (!fits)
    fail(ErrorCode::ShapeMismatch, op, loc, "the mask has sizes ", sizes_text(mask),
         ", which are not those of dimensions ", at, " on of a tensor of sizes ", sizes_text(have));
}
}  // namespace

MaskIndices mask_indices(const Tensor& self, TensorArrayRef indices, bool by_dimension, const char* op, SourceLoc loc) {
  MaskIndices made{self, {}};
  std::size_t at = 0;  // of self's dimensions
  for (const Tensor& i : indices) {
    if (!i.defined() || i.dtype() != kBool) {
      made.list.push_back(i), ++at;
      continue;
    }
    const Ints have = checked_meta(made.self, op, loc).layout.sizes, mask = checked_meta(i, op, loc).layout.sizes;
    check_mask(mask, at, have, op, loc);
    if (!by_dimension || mask.size() == 1) {
      if (mask.size() > 1)
        made.self =
            flatten(made.self, static_cast<std::int64_t>(at), static_cast<std::int64_t>(at + mask.size()) - 1, loc);
      made.list.push_back(places(reshape(i, {-1}, loc), loc)), ++at;
    } else {
      // counted as a mask that is read is
      const Tensor rows = nonzero_static(i, count_of(reshape(i, {-1}, loc), loc), -1, loc);
      for (std::size_t d = 0; d < mask.size(); ++d, ++at)
        made.list.push_back(select(rows, 1, static_cast<std::int64_t>(d), loc));
    }
  }
  return made;
}

Tensor put_by_masks(const Tensor& self, TensorArrayRef indices, const Tensor& values, bool accumulate, bool inplace,
                    SourceLoc loc) {
  const char* op = inplace ? "index_put_" : "index_put";
  const TensorMeta m = checked_meta(self, op, loc), v = checked_meta(values, op, loc);
  if (v.dtype != m.dtype)
    fail(ErrorCode::DTypeMismatch, op, loc, "self is ", m.dtype, " and 'values' is ", v.dtype, "; cast with to()");
  const auto given = std::count_if(indices.begin(), indices.end(), [](const Tensor& t) { return t.defined(); });
  if (given > 1 || v.dim() != 0)
    return named(op, [&] {
      const MaskIndices by = mask_indices(self, indices, true, op, loc);
      return call1(OpId::index_put, {arg(self), TensorArrayRef(by.list), arg(values), accumulate}, loc, inplace);
    });
  // One value at each place: how many there are nobody needs to know.
  return named(op, [&] {
    const auto at = static_cast<std::size_t>(
        std::find_if(indices.begin(), indices.end(), [](const Tensor& t) { return t.defined(); }) - indices.begin());
    Tensor mask = indices[at];
    const Ints sizes = checked_meta(mask, op, loc).layout.sizes;
    check_mask(sizes, at, m.layout.sizes, op, loc);
    for (std::size_t d = at + sizes.size(); d < m.layout.sizes.size(); ++d) mask = unsqueeze(mask, -1, loc);
    if (!accumulate) return call1(OpId::masked_fill, {arg(self), arg(mask), arg(values)}, loc, inplace);
    const Tensor made = where(mask, add(self, values, 1, loc), self, loc);
    return inplace ? self.copy_(made, loc) : made;
  });
}

}  // namespace graph::api

namespace operators {
void register_data_sizes() {
  nonzero_static_op();
  repeated_indices_op();
  read_back_op();
}
}  // namespace operators

}  // namespace reprise
