// The layouts that view operators make. Formulas over symbolic sizes and strides; see shape_rules.h for how they ask.
#include <algorithm>

#include "base/checked_math.h"
#include "base/errors.h"
#include "graph/any_slice.h"
#include "graph/shape_rules.h"
#include "graph/view_column.h"
#include "guards/expr.h"
#include "guards/general.h"

namespace reprise::graph {

bool clamps_any(Int start, Int end, Int size) {
  return guards::generality().slices && (start.is_symbolic() || end.is_symbolic() || size.is_symbolic());
}

Int any_bound(Int i, Int n) {
  guards::LibraryScope exact;
  if (identical(i, n)) return n;
  if (i.is_symbolic() ? !detail::compare_le(0, i, {}).known_true() : i.hint() < 0) {
    const bool negative = !i.is_symbolic() || detail::compare_lt(i, 0, {}).known_true();
    i = Int::max(i + (negative ? n : Int::min(Int::max(0 - i, 0), 1) * n), 0);
  }
  return Int::min(i, n);
}

namespace {
/// Less than 0 where its symbols are greater.
bool is_negated(const guards::Expr* e) {
  const auto is_negative = [](const guards::Expr* a) { return a->is_const() && a->value() < 0; };
  switch (e->kind()) {
    case guards::ExprKind::Wrap: return is_negated(e->args()[0]);
    case guards::ExprKind::Mul: return std::any_of(e->args().begin(), e->args().end(), is_negative);
    case guards::ExprKind::Add:
      return std::all_of(e->args().begin(), e->args().end(),
                         [&](const guards::Expr* a) { return is_negative(a) || is_negated(a); });
    default: return false;
  }
}
}  // namespace

std::optional<Int> bound_from_end(Int i, Int n) {
  if (!depends_on_data(i) || !is_negated(i.expr()) || identical(i, n)) return std::nullopt;
  if (detail::compare_le(0, i, {}).known_true() || detail::compare_lt(i, 0, {}).known_true()) return std::nullopt;
  return any_bound(i, n);
}

namespace views {
namespace {

Layout view(const ViewCtx& v) {
  Layout out;
  out.sizes = infer_size(v.in.sizes, v.c.ints(1), v.c.loc);
  std::optional<Ints> strides = view_strides(v.in, out.sizes, v.c.loc, v.wanted);
  if (!strides) {
    fail(ErrorCode::ShapeMismatch, "view", v.c.loc, "sizes ", sizes_text(out.sizes),
         " are not a view of a tensor of sizes ", sizes_text(v.in.sizes), " and strides ", sizes_text(v.in.strides),
         " (some dimension spans memory that does not join up); use reshape");
  }
  out.strides = *strides;
  out.offset = v.in.offset;
  return out;
}

Layout permute(const ViewCtx& v) {
  const Ints& dims = v.c.ints(1);
  if (static_cast<int>(dims.size()) != v.in.dim()) {
    fail(ErrorCode::InvalidArgument, "permute", v.c.loc, "got ", dims.size(), " dimensions for a tensor of ",
         v.in.dim());
  }
  Layout out;
  out.offset = v.in.offset;
  unsigned seen = 0;
  for (Int dim : dims) {
    int d = v.wrap(dim.value(v.c.loc), v.in.dim());
    if (seen >> d & 1)
      fail(ErrorCode::InvalidArgument, "permute", v.c.loc, "dimension ", d, " appears twice in ", sizes_text(dims));
    seen |= 1u << d;
    out.sizes.push_back(v.in.sizes[d]);
    out.strides.push_back(v.in.strides[d]);
  }
  return out;
}

void need_dims(const ViewCtx& v) {
  if (v.in.dim() == 0) fail(ErrorCode::IndexOutOfRange, v.name(), v.c.loc, "cannot be applied to a 0-dim tensor");
}

/// Whichever bounds: nothing is asked, but that the step is positive.
Layout any_slice(const ViewCtx& v, int d, Int start, Int end, Int step) {
  start = any_bound(start, v.in.sizes[d]);
  const Int length = Int::max(any_bound(end, v.in.sizes[d]) - start, 0);
  Layout out = v.in;
  out.sizes[d] = is_plain(step, 1) ? length : count_steps(length, step);
  if (!is_plain(start, 0)) out.offset = out.offset + start * v.in.strides[d];
  if (!is_plain(step, 1)) out.strides[d] = v.in.strides[d] * step;
  return out;
}

/// Order matters for what is asked: with 0 <= start known, an `end` of start + t needs only end <= size; that start is
/// in range too then follows and is not asked.
Layout slice(const ViewCtx& v) {
  need_dims(v);
  int d = v.wrap(v.c.constant_int(1), v.in.dim());
  Int n = v.in.sizes[d], start = v.c.has(2) ? v.c.integer(2) : Int(0), end = v.c.has(3) ? v.c.integer(3) : n,
      step = v.c.integer(4);
  if (!require(v.lt(0, step), "slice: positive step")) {
    fail(ErrorCode::InvalidArgument, "slice", v.c.loc, "step must be positive, got ", step);
  }
  if (is_plain(end, INT64_MAX)) end = n;
  if (clamps_any(start, end, n)) return any_slice(v, d, start, end, step);
  // What only data decide is not asked: a bound is clamped by what it comes to be.
  const guards::LibraryScope exact;
  auto from_front = [&](Int i) {
    if (const std::optional<Int> bound = bound_from_end(i, n)) return *bound;
    if (identical(i, n) || ask(v.le(0, i), "slice: bound counts from the front")) return i;
    const Bool within = v.le(0, i + n);
    if (data_decides(within)) return Int::max(i + n, 0);
    return ask(within, "slice: bound within the size") ? i + n : Int(0);
  };
  start = from_front(start);
  end = from_front(end);
  if (const Bool within = v.le(end, n); !identical(end, n)) {
    if (data_decides(within)) end = Int::min(end, n);
    else if (!ask(within, "slice: end within the size")) end = n;
  }
  Int length = 0;
  if (!identical(start, Int(0)) && data_decides(v.le(start, end))) {
    start = Int::min(start, n);
    length = Int::max(end - start, 0);
    if (!is_plain(step, 1)) length = count_steps(length, step);
  } else if (identical(start, Int(0)) || ask(v.le(start, end), "slice: start before end")) {
    length = is_plain(step, 1) ? end - start : count_steps(end - start, step);
  } else if (const Bool within = v.le(start, n); data_decides(within)) {
    start = Int::min(start, n);
  } else if (!ask(within, "slice: start within the size")) {
    start = n;
  }
  Layout out = v.in;
  out.sizes[d] = length;
  if (!is_plain(start, 0)) out.offset = out.offset + start * v.in.strides[d];
  if (!is_plain(step, 1)) out.strides[d] = v.in.strides[d] * step;
  return out;
}

Layout select(const ViewCtx& v) {
  need_dims(v);
  int d = v.wrap(v.c.constant_int(1), v.in.dim());
  Int n = v.in.sizes[d], i = v.c.integer(2);
  bool front = ask(v.le(0, i), "select: index counts from the front");
  if (front ? !require(v.lt(i, n), "select: index within the size")
            : !require(v.le(0, i + n), "select: index within the size")) {
    fail(ErrorCode::IndexOutOfRange, "select", v.c.loc, "index ", i, " is out of range for dimension ", d, " of size ",
         n);
  }
  if (!front) i = i + n;
  Layout out = v.in;
  out.offset = out.offset + i * v.in.strides[d];
  out.sizes.erase(out.sizes.begin() + d);
  out.strides.erase(out.strides.begin() + d);
  return out;
}

Layout squeeze(const ViewCtx& v) {
  unsigned drop = 0;
  if (v.c.has(1)) {
    for (Int dim : v.c.ints(1)) {
      const unsigned one = 1u << v.wrap(dim.value(v.c.loc), v.in.dim());
      if (drop & one)
        fail(ErrorCode::InvalidArgument, "squeeze", v.c.loc, "a dimension appears twice in ", sizes_text(v.c.ints(1)));
      drop |= one;
    }
  } else {
    drop = ~0u;
  }
  Layout out;
  out.offset = v.in.offset;
  for (int d = 0; d < v.in.dim(); ++d) {
    if (drop >> d & 1 && ask(v.eq(v.in.sizes[d], 1), "squeeze: size 1")) continue;
    out.sizes.push_back(v.in.sizes[d]);
    out.strides.push_back(v.in.strides[d]);
  }
  return out;
}

Layout alias(const ViewCtx& v) { return v.in; }
Layout detach(const ViewCtx& v) { return v.in; }

Layout unsqueeze(const ViewCtx& v) {
  int d = v.wrap(v.c.constant_int(1), v.in.dim() + 1);
  Layout out = v.in;
  Int stride = d < v.in.dim() ? v.in.sizes[d] * v.in.strides[d] : Int(1);
  out.sizes.insert(out.sizes.begin() + d, Int(1));
  out.strides.insert(out.strides.begin() + d, stride);
  return out;
}

Layout expand(const ViewCtx& v) {
  const Ints& target = v.c.ints(1);
  auto mismatch = [&] {
    fail(ErrorCode::ShapeMismatch, "expand", v.c.loc, "sizes ", sizes_text(v.in.sizes), " do not expand to ",
         sizes_text(target));
  };
  if (target.size() < v.in.sizes.size()) mismatch();
  Layout out;
  out.offset = v.in.offset;
  std::size_t lead = target.size() - v.in.sizes.size();
  for (std::size_t i = 0; i < target.size(); ++i) {
    Int t = target[i];
    if (i < lead) {
      if (!require(v.le(0, t), "expand: size not negative")) mismatch();
      out.sizes.push_back(t);
      out.strides.push_back(0);
      continue;
    }
    Int s = v.in.sizes[i - lead], stride = v.in.strides[i - lead];
    if (identical(s, t) || (!depends_on_data(t) && is_to_infer(t, v.c.loc))) {
      out.sizes.push_back(s);
      out.strides.push_back(stride);
    } else if (is_plain(s, 1) ||
               (depends_on_data(t) && !depends_on_data(s) && s.hint() == 1 && require(v.eq(s, 1), "expand: size 1"))) {
      if (!require(v.le(0, t), "expand: size not negative")) mismatch();
      const bool stays = v.wanted == Strides::All && ask(v.eq(t, 1), "expand: to size 1");
      out.sizes.push_back(t);
      out.strides.push_back(stays ? stride : Int(0));
    } else if (require(v.eq(s, t), "expand: equal sizes")) {
      out.sizes.push_back(t.is_symbolic() ? s : t);
      out.strides.push_back(stride);
    } else {
      if (!require(v.eq(s, 1), "expand: size 1") || !require(v.le(0, t), "expand: size not negative")) mismatch();
      out.sizes.push_back(t);
      out.strides.push_back(0);
    }
  }
  return out;
}

Layout as_strided(const ViewCtx& v) {
  Layout out;
  out.sizes = v.c.ints(1);
  out.strides = v.c.ints(2);
  out.offset = v.c.has(3) ? v.c.integer(3) : v.in.offset;
  if (out.sizes.size() != out.strides.size()) {
    fail(ErrorCode::InvalidArgument, "as_strided", v.c.loc, "sizes ", sizes_text(out.sizes), " and strides ",
         sizes_text(out.strides), " differ in length");
  }
  bool negative = !require(v.le(0, out.offset), "as_strided: offset not negative");
  for (Int s : out.sizes) negative = negative || !require(v.le(0, s), "as_strided: size not negative");
  for (Int s : out.strides) negative = negative || !require(v.le(0, s), "as_strided: stride not negative");
  if (negative) {
    fail(ErrorCode::InvalidArgument, "as_strided", v.c.loc, "sizes ", sizes_text(out.sizes), ", strides ",
         sizes_text(out.strides), " and offset ", out.offset, " must not be negative");
  }
  return out;
}

Layout diagonal(const ViewCtx& v) {
  std::int64_t offset = v.c.constant_int(1);
  int rank = v.in.dim(), d1 = v.wrap(v.c.constant_int(2), rank), d2 = v.wrap(v.c.constant_int(3), rank);
  if (rank < 2 || d1 == d2)
    fail(ErrorCode::InvalidArgument, "diagonal", v.c.loc, "needs two different dimensions, got ", d1, " and ", d2);
  Int n1 = v.in.sizes[d1], n2 = v.in.sizes[d2];
  Int a = offset < 0 ? n1 + offset : n1, b = offset > 0 ? n2 - offset : n2;
  Int length = identical(a, b) ? a : Int::min(a, b);
  if (offset != 0) length = Int::max(length, 0);
  Layout out;
  // An empty diagonal keeps the offset within the tensor, as ATen does; a symbolic one has no element to tell, unless
  // all is asked.
  bool empty = is_plain(length, 0);
  if (offset != 0 && !ask(offset > 0 ? v.lt(offset, n2) : v.lt(-n1, offset), "diagonal: within the tensor"))
    empty = true, length = 0;
  if (v.wanted == Strides::All && !empty) empty = ask(v.eq(length, 0), "diagonal: has no element");
  out.offset = empty         ? v.in.offset
               : offset >= 0 ? v.in.offset + Int(offset) * v.in.strides[d2]
                             : v.in.offset + Int(-offset) * v.in.strides[d1];
  for (int d = 0; d < rank; ++d) {
    if (d == d1 || d == d2) continue;
    out.sizes.push_back(v.in.sizes[d]);
    out.strides.push_back(v.in.strides[d]);
  }
  out.sizes.push_back(length);
  out.strides.push_back(v.in.strides[d1] + v.in.strides[d2]);
  return out;
}

using Row = OpColumn<ViewFacts>::Row;
constexpr Row kRows[] = {
    {OpId::alias, {alias, PutBack::Same}},
    {OpId::detach, {detach, PutBack::Same}},
    {OpId::view, {view, PutBack::Reshape, ViewOf::JoinedDims}},
    {OpId::permute, {permute, PutBack::Permute}},
    {OpId::slice, {slice, PutBack::Scatter, ViewOf::Operand, OpId::slice_scatter}},
    {OpId::select, {select, PutBack::Scatter, ViewOf::Operand, OpId::select_scatter}},
    {OpId::squeeze, {squeeze, PutBack::Reshape}},
    {OpId::unsqueeze, {unsqueeze, PutBack::Reshape}},
    {OpId::expand, {expand, PutBack::Repeats}},
    {OpId::as_strided, {as_strided, PutBack::Places, ViewOf::Storage, OpId::as_strided_scatter}},
    {OpId::diagonal, {diagonal, PutBack::Scatter, ViewOf::Operand, OpId::diagonal_scatter}},
    {OpId::set, {nullptr, PutBack::Nowhere, ViewOf::Source}},
};
constinit OpColumn<ViewFacts> g_column("rule for layouts", kRows, is_of<OpClass::View>);

// The views of the scatters, out of the same rows.
constexpr std::size_t kScatters = [] {
  std::size_t n = 0;
  for (const Row& r : kRows) n += r.fact.scatter.has_value();
  return n;
}();
struct Scatters {
  OpColumn<OpId>::Row rows[kScatters] = {};
  constexpr Scatters() {
    std::size_t n = 0;
    for (const Row& r : kRows)
      if (r.fact.scatter) rows[n++] = {*r.fact.scatter, r.op};
  }
};
constinit const OpColumn<OpId> kViewOfScatter("view of its part", Scatters().rows);

}  // namespace
}  // namespace views

OpColumn<ViewFacts>& view_facts() { return views::g_column; }

std::optional<OpId> view_of_scatter(OpId scatter) {
  const OpId* view = views::kViewOfScatter.find(scatter);
  return view ? std::optional(*view) : std::nullopt;
}
std::optional<OpId> scatter_of_view(OpId view) {
  const ViewFacts* facts = views::g_column.find(view);
  return facts ? facts->scatter : std::nullopt;
}
bool is_view_of_storage(OpId op) {
  const ViewFacts* facts = views::g_column.find(op);
  return facts && facts->of == ViewOf::Storage;
}
bool is_scatter_in_storage(OpId op) {
  const OpId* view = views::kViewOfScatter.find(op);
  return view && is_view_of_storage(*view);
}

Layout apply_view(const OpDef& op, std::span<const RuleArg> args, const Layout& in, SourceLoc loc, Strides wanted) {
  const ViewFacts& facts = views::g_column.at(op.id);
  if (!facts.layout) fail(ErrorCode::Internal, op.schema.name.c_str(), loc, "makes no layout of its operand's");
  Layout made = facts.layout({{op, args, loc, {}}, in, wanted});
  check_sizes(made.sizes, 1, op.schema.name.c_str(), loc);
  return made;
}

namespace rules {
void view_rule(RuleCtx& c) {
  const Layout& in = c.tensor(0).layout;
  Layout made = apply_view(c.op, c.args, in, c.loc);
  if (c.shows_storage && is_view_of_storage(c.op.id)) check_within_storage(made, in, c.op.schema.name.c_str(), c.loc);
  check_within_operand(c.op, c.args, in, made, c.loc);
  c.view(made);
}
void set_source(RuleCtx& c) { c.results.push_back(c.tensor(1)); }
}  // namespace rules

}  // namespace reprise::graph
