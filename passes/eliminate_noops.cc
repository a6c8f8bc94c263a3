#include <algorithm>

#include "graph/shape_rules.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace reprise::passes {

using graph::Node;
using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {

bool same(const Ints& a, const Ints& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](Int x, Int y) { return identical(x, y); });
}
bool same_layout(const Layout& a, const Layout& b) {
  return same(a.sizes, b.sizes) && same(a.strides, b.strides) && identical(a.offset, b.offset);
}
bool is_int(const NodeArg& a, std::int64_t v) {
  const Int* i = std::get_if<Int>(&a);
  return i && !i->is_symbolic() && i->hint() == v;
}
bool same_int(const NodeArg& a, const NodeArg& b) {
  const Int *x = std::get_if<Int>(&a), *y = std::get_if<Int>(&b);
  if (!x || !y) return std::holds_alternative<std::monostate>(a) && std::holds_alternative<std::monostate>(b);
  return identical(*x, *y);
}

bool same_argument(const NodeArg& a, const NodeArg& b) {
  const Ints *x = std::get_if<Ints>(&a), *y = std::get_if<Ints>(&b);
  return x && y ? same(*x, *y) : !x && !y && same_int(a, b);
}

using Result = std::optional<std::vector<ValueId>>;

// Does a view give back its operand, element for element, at the same indices? Asked of what the operator does to indices:
// strides cannot tell. Operands have been rewritten by then, and a permuted value may stand where a contiguous one stood;
// what is known to be square has the same sizes after every permutation.
bool is_identity(const Rewriter& rw, const Rewriter::Site& s) {
  const Layout& of = rw.meta(std::get<ValueId>(s.args[0])).layout;
  if (!same(of.sizes, s.result.layout.sizes)) return false;
  switch (s.node.op) {
    // Row-major order and the number of dimensions are kept; a slice as long as its dimension starts at 0.
    case OpId::alias: case OpId::detach: case OpId::view: case OpId::squeeze: case OpId::expand: case OpId::slice: return true;
    case OpId::permute: {
      // In order, but for dimensions of size 1.
      std::int64_t last = -1;
      for (Int d : std::get<Ints>(s.args[1])) {
        std::int64_t at = d.hint() < 0 ? d.hint() + of.dim() : d.hint();
        const Int size = of.sizes[static_cast<std::size_t>(at)];
        if (!size.is_symbolic() && size.hint() == 1) continue;
        if (at < last) return false;
        last = at;
      }
      return true;
    }
    case OpId::as_strided: return known_contiguous(of) && same_layout(of, s.result.layout);
    default: return false;  // select, unsqueeze, diagonal: another number of dimensions
  }
}

// A view that gives back its operand, or two views that are one.
Result view(Rewriter& rw, Rewriter::Site& s) {
  ValueId in = std::get<ValueId>(s.args[0]);
  const Node* before = rw.maker(in);
  if (is_identity(rw, s)) return {{in}};
  if (!before) return std::nullopt;
  if (s.node.op == OpId::view && before->op == OpId::view) {
    ValueId base = std::get<ValueId>(before->args[0]);
    // Through a contiguous base any sizes will do; otherwise the middle view may be what makes the last one possible.
    if (known_contiguous(rw.meta(base).layout)) {
      if (same(rw.meta(base).layout.sizes, s.result.layout.sizes)) return {{base}};
      return {{rw.emit(OpId::view, {base, s.args[1]})}};
    }
  }
  if (s.node.op == OpId::permute && before->op == OpId::permute) {
    const Ints &outer = std::get<Ints>(s.args[1]), &inner = std::get<Ints>(before->args[1]);
    int rank = static_cast<int>(inner.size());
    Ints both;
    for (Int d : outer) {
      std::int64_t at = d.hint() < 0 ? d.hint() + rank : d.hint();
      std::int64_t to = inner[static_cast<std::size_t>(at)].hint();
      both.push_back(to < 0 ? to + rank : to);
    }
    ValueId base = std::get<ValueId>(before->args[0]);
    bool identity = true;
    for (int d = 0; d < rank; ++d) identity = identity && both[static_cast<std::size_t>(d)].hint() == d;
    return {{identity ? base : rw.emit(OpId::permute, {base, both})}};
  }
  if (s.node.op == OpId::squeeze && before->op == OpId::unsqueeze) {
    ValueId base = std::get<ValueId>(before->args[0]);  // both keep the row-major order
    if (same(rw.meta(base).layout.sizes, s.result.layout.sizes)) return {{base}};
  }
  // Reading back exactly the part that was just written.
  if ((s.node.op == OpId::slice && before->op == OpId::slice_scatter) ||
      (s.node.op == OpId::select && before->op == OpId::select_scatter) ||
      (s.node.op == OpId::as_strided && before->op == OpId::as_strided_scatter && graph::known_apart(std::get<Ints>(s.args[1]), std::get<Ints>(s.args[2])))) {
    bool equal = true;
    for (std::size_t i = 1; i < s.args.size(); ++i) equal = equal && same_argument(s.args[i], before->args[i + 1]);
    ValueId src = std::get<ValueId>(before->args[1]);
    if (equal && same(rw.meta(src).layout.sizes, s.result.layout.sizes) && rw.meta(src).dtype == s.result.dtype) return {{src}};
  }
  return std::nullopt;
}

// copy(self, src) is src in self's dtype and sizes; only self's metadata counts, so self becomes dead.
Result copy(Rewriter& rw, Rewriter::Site& s) {
  ValueId self = std::get<ValueId>(s.args[0]), src = std::get<ValueId>(s.args[1]);
  const TensorMeta& want = rw.meta(self);
  DType dtype = want.dtype;
  Ints sizes = want.layout.sizes;
  if (rw.meta(src).dtype != dtype) src = rw.emit(OpId::to, {src, dtype});
  if (!same(rw.meta(src).layout.sizes, sizes)) src = rw.emit(OpId::expand, {src, sizes});
  return {{src}};
}

// The whole of self is overwritten: the new value is src.
Result scatter(Rewriter& rw, Rewriter::Site& s) {
  ValueId self = std::get<ValueId>(s.args[0]), src = std::get<ValueId>(s.args[1]);
  if (s.node.op == OpId::slice_scatter && is_int(s.args[5], 1) && rw.meta(self).dtype == rw.meta(src).dtype &&
      same(rw.meta(self).layout.sizes, rw.meta(src).layout.sizes))
    return {{src}};
  // A write that an equal write follows at once is lost.
  const Node* before = rw.maker(self);
  if (before && before->op == s.node.op && before->args.size() == s.args.size()) {
    bool equal = true;
    for (std::size_t i = 2; i < s.args.size(); ++i) equal = equal && same_argument(s.args[i], before->args[i]);
    if (equal) {
      std::vector<NodeArg> args = s.args;
      args[0] = before->args[0];
      const bool keeps_self = s.node.keeps_self && before->keeps_self;
      const ValueId made = rw.emit(s.node.op, std::move(args));
      rw.copies_as(made, keeps_self, s.node.keeps_part);
      return {{made}};
    }
  }
  return std::nullopt;
}

bool preserves_all_values(DType from, DType to) {
  if (from == to || from == DType::Bool) return true;
  if (is_storage_only(from)) return is_floating(to) && !is_storage_only(to);
  if (from == DType::Float16 || from == DType::BFloat16) return to == DType::Float32 || to == DType::Float64;
  if (from == DType::Float32) return to == DType::Float64;
  if (from == DType::Int8 || from == DType::UInt8) return to == DType::Int32 || to == DType::Int64;
  return from == DType::Int32 && to == DType::Int64;
}

Result cast(Rewriter& rw, Rewriter::Site& s) {
  ValueId in = std::get<ValueId>(s.args[0]);
  DType to = std::get<DType>(s.args[1]);
  if (rw.meta(in).dtype == to) return {{in}};
  // to(to(x, wider), y) is to(x, y): the middle step lost nothing.
  const Node* before = rw.maker(in);
  if (before && before->op == OpId::to) {
    ValueId base = std::get<ValueId>(before->args[0]);
    if (preserves_all_values(rw.meta(base).dtype, rw.meta(in).dtype)) {
      if (rw.meta(base).dtype == to) return {{base}};
      return {{rw.emit(OpId::to, {base, to})}};
    }
  }
  return std::nullopt;
}

}  // namespace

bool eliminate_noops(graph::Graph& g) {
  return rewrite(g, [](Rewriter& rw, Rewriter::Site& s) -> Result {
    switch (s.node.op) {
      case OpId::to: return cast(rw, s);
      case OpId::copy: return copy(rw, s);
      case OpId::clone: {
        // In a functional graph a copy of a contiguous value is the value; of a strided one it is a change of layout.
        ValueId in = std::get<ValueId>(s.args[0]);
        return known_contiguous(rw.meta(in).layout) ? Result{{in}} : std::nullopt;
      }
      case OpId::slice_scatter: case OpId::select_scatter: case OpId::diagonal_scatter: case OpId::as_strided_scatter:
        return scatter(rw, s);
      default: return graph::op(s.node.op).cls == graph::OpClass::View ? view(rw, s) : std::nullopt;
    }
  });
}

}  // namespace reprise::passes
