// Views stay within what they are of. Built-in rules are right (tests/graph/view_rules_test.cc); what is registered is
// checked at each call.
#include "base/checked_math.h"
#include "base/errors.h"
#include "graph/shape_rules.h"
#include "graph/view_column.h"
#include "guards/expr.h"

namespace reprise::graph {

namespace {

auto hint_of(const Ints& list) {
  return [&list](int d) { return list[static_cast<std::size_t>(d)].hint(); };
}
bool seen(Int i) { return !depends_on_data(i); }
/// Does 63 bits hold the place of the last element, as far as this call's numbers say?
bool ends_now(const Layout& l) {
  const bool numbers = seen(l.offset) && std::all_of(l.sizes.begin(), l.sizes.end(), seen) &&
                       std::all_of(l.strides.begin(), l.strides.end(), seen);
  return !numbers || last_element(l.dim(), l.offset.hint(), hint_of(l.sizes), hint_of(l.strides));
}
/// Of what depends on data the numbers seen say nothing.
bool below_now(Int a, Int b) { return seen(a) && seen(b) && a.hint() < b.hint(); }

/// A registered view of its operand, at one call.
struct Registered {
  const OpDef& op;
  std::span<const RuleArg> args;
  const Layout& made;
  SourceLoc loc;

  Layout over(const Layout& in) const { return apply_view(op, args, in, loc); }
  /// Asked only where a view reaches too far: one of no elements reaches nothing.
  bool is_empty() const {
    for (Int s : made.sizes)
      if (s.hint() == 0 && ask(detail::compare_eq(s, 0, loc), "view: no elements")) return true;
    return false;
  }
  template <class... Parts>
  void refuse(ErrorCode code, const Parts&... what) const {
    if (!is_empty()) fail(code, op.schema.name.c_str(), loc, what...);
  }

  /// Offset and strides are sums of multiples of the operand's strides. What the multiples are the rule says itself, of
  /// strides that are 0 but for one; and so a dimension's elements are counted: the view is right wherever the operand
  /// stands.
  void by_dims(const Layout& in) const {
    Layout unit{in.sizes, Ints(in.sizes.size(), 0), 0};
    const Layout none = over(unit);
    auto follows = [&](Int constant, Int size) {
      return is_plain(constant, 0) ||
             ((!seen(size) || size.hint() <= 1) && require(detail::compare_le(size, 1, loc), "view: one element"));
    };
    bool linear = is_plain(none.offset, 0);
    for (std::size_t k = 0; k < made.sizes.size(); ++k) linear = linear && follows(none.strides[k], made.sizes[k]);
    if (!linear)
      return refuse(ErrorCode::InvalidArgument, "its rule makes strides that do not follow from its operand's");
    for (std::size_t d = 0; d < in.sizes.size(); ++d) {
      unit.strides[d] = 1;
      Layout steps = over(unit);
      unit.strides[d] = 0;
      steps.sizes = made.sizes;
      steps.offset = steps.offset - none.offset;
      for (std::size_t k = 0; k < made.sizes.size(); ++k) {
        steps.strides[k] = steps.strides[k] - none.strides[k];
        if (!(!below_now(steps.strides[k], 0) &&
              require(detail::compare_le(0, steps.strides[k], loc), "view: steps ahead")))
          return refuse(ErrorCode::InvalidArgument, "its rule makes the negative stride ", steps.strides[k],
                        " along dimension ", d, " of its operand");
      }
      if (!(!below_now(steps.offset, 0) &&
            require(detail::compare_le(0, steps.offset, loc), "view: within its operand")))
        return refuse(ErrorCode::IndexOutOfRange, "the view begins at element ", steps.offset, " of dimension ", d);
      const Int last = last_of(steps);
      const bool now = ends_now(steps);
      if (!now || !require(detail::compare_lt(last, in.sizes[d], loc), "view: within its operand"))
        return refuse(ErrorCode::IndexOutOfRange, "the view reaches element ", now ? last.str() : "2^63 and more",
                      " of dimension ", d, ", which has ", in.sizes[d]);
    }
  }

  /// The operand's elements under other sizes: as many, between its first and its last.
  void all_of(const Layout& in, const Layout& view) const {
    const Int have = numel(in.sizes), want = numel(view.sizes);
    if (!same(want, have, loc, "view: as many elements as its operand"))
      return refuse(ErrorCode::ShapeMismatch, "the view has ", want, " elements, its operand ", have);
    const Int last = last_of(view), end = last_of(in);
    const bool now = ends_now(view);
    if (!(!below_now(view.offset, in.offset) &&
          require(detail::compare_le(in.offset, view.offset, loc), "view: within its operand")))
      return refuse(ErrorCode::IndexOutOfRange, "the view begins at element ", view.offset,
                    " of the storage, its operand at ", in.offset);
    if (!now || !require(detail::compare_le(last, end, loc), "view: within its operand"))
      refuse(ErrorCode::IndexOutOfRange, "the view reaches element ", now ? last.str() : "2^63 and more",
             " of the storage, its operand ", end);
  }
};

}  // namespace

Int last_of(const Layout& l) {
  Int last = l.offset;
  for (std::size_t d = 0; d < l.sizes.size(); ++d) last = last + (l.sizes[d] - 1) * l.strides[d];
  return last;
}

void check_within_storage(const Layout& made, const Layout& storage, const char* op, SourceLoc loc) {
  for (Int s : made.sizes)
    if (ask(detail::compare_eq(s, 0, loc), "view: no elements")) return;
  const Int last = last_of(made), have = numel(storage.sizes);
  const bool fits = ends_now(made);
  // The guard alone also holds where a later call's sum wraps; the program checks that (runtime/replay/program.cc).
  if (!fits || !require(detail::compare_lt(last, have, loc), "view: within the storage"))
    fail(ErrorCode::IndexOutOfRange, op, loc, "the view reaches element ", fits ? last.str() : "2^63 and more",
         " of a storage of ", have);
}

void check_within_operand(const OpDef& op, std::span<const RuleArg> args, const Layout& in, const Layout& made,
                          SourceLoc loc) {
  if (static_cast<std::size_t>(op.id) < kBuiltinOps) [[likely]]
    return;
  guards::LibraryScope exact;
  const Registered view{op, args, made, loc};
  switch (view_facts_of(op.id).of) {
    case ViewOf::Operand: return view.by_dims(in);
    case ViewOf::JoinedDims: {
      view.all_of(in, made);
      const Layout dense{in.sizes, contiguous_strides(in.sizes), 0};  // as it stands in a compiled function
      return view.all_of(dense, view.over(dense));
    }
    case ViewOf::Storage:  // check_within_storage
    case ViewOf::Source: return;
  }
}

}  // namespace reprise::graph
