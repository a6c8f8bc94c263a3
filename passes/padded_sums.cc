// Derivatives of slices are parts in tensors of zeros, which are added up: rotated halves, products for query, key and
// value in one, chunks.
#include <algorithm>

#include "graph/op_column.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace reprise::passes {

using graph::Node;
using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {

enum class Part : std::uint8_t { Sum, Zeros, Padding };
constinit const graph::OpColumn<Part> kParts("part of a sum of padded parts", {
                                                                                  {OpId::add, Part::Sum},
                                                                                  {OpId::full, Part::Zeros},
                                                                                  {OpId::slice_scatter, Part::Padding},
                                                                              });
bool is(const Node& node, Part part) {
  const Part* p = kParts.find(node.op);
  return p && *p == part;
}

bool known_at_most(Int a, Int b) { return identical(a, b) || detail::compare_le(a, b, {}).known_true(); }

/// Parts along one dimension of a tensor that is 0 elsewhere.
struct Padded {
  struct Piece {
    ValueId value;
    Int begin, end;
  };
  ValueId zeros;
  int dim = 0;
  std::vector<Piece> parts;
};

class Sum {
 public:
  Sum(Rewriter& rw, Rewriter::Site& s) : rw_(rw), s_(s) {}

  std::optional<std::vector<ValueId>> run() {
    if (!is(s_.node, Part::Sum) || s_.node.keeps_self) return std::nullopt;
    const ValueId *x = std::get_if<ValueId>(&s_.args[0]), *y = std::get_if<ValueId>(&s_.args[1]);
    const Scalar* alpha = std::get_if<Scalar>(&s_.args[2]);
    if (!x || !y || !alpha || alpha->is_symbolic() || alpha->to_double() != 1) return std::nullopt;
    std::optional<Padded> a = padded(*x), b = a ? padded(*y) : std::nullopt;
    if (!b || a->dim != b->dim || rw_.meta(*x).dtype != rw_.meta(*y).dtype || !same_sizes(*x, *y)) return std::nullopt;
    for (const auto& p : a->parts)
      for (const auto& q : b->parts)
        if (!known_at_most(p.end, q.begin) && !known_at_most(q.end, p.begin)) return std::nullopt;
    const ValueId first = *x;
    const Int size = rw_.meta(first).layout.sizes[static_cast<std::size_t>(a->dim)];
    std::vector<Padded::Piece> all = a->parts;
    all.insert(all.end(), b->parts.begin(), b->parts.end());
    if (std::optional<std::vector<ValueId>> whole = in_order(all, size))
      return {{rw_.emit(OpId::cat, {*std::move(whole), Int(a->dim)})}};
    ValueId sum = first;
    for (const auto& p : b->parts)
      sum = rw_.emit(OpId::slice_scatter, {sum, p.value, Int(a->dim), p.begin, p.end, Int(1)});
    return {{sum}};
  }

 private:
  bool same_sizes(ValueId x, ValueId y) {
    const Ints &a = rw_.meta(x).layout.sizes, &b = rw_.meta(y).layout.sizes;
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](const Int& m, const Int& n) { return identical(m, n); });
  }

  /// Scatters into one another, the first into zeros.
  std::optional<Padded> padded(ValueId v) {
    Padded all;
    for (const Node* node = rw_.maker(v); node; node = rw_.maker(v)) {
      if (is(*node, Part::Zeros)) {
        const Scalar* value = std::get_if<Scalar>(&node->args[1]);
        all.zeros = v;
        return !all.parts.empty() && value && !value->is_symbolic() && value->to_double() == 0 ? std::optional(all)
                                                                                               : std::nullopt;
      }
      if (!is(*node, Part::Padding)) return std::nullopt;
      const ValueId part = std::get<ValueId>(node->args[1]);
      const Int *dim = std::get_if<Int>(&node->args[2]), *begin = std::get_if<Int>(&node->args[3]),
                *step = std::get_if<Int>(&node->args[5]);
      if (!dim || !begin || !step || dim->is_symbolic() || !identical(*step, 1) || !known_at_most(0, *begin))
        return std::nullopt;
      const int d = wrap_dim(dim->hint(), rw_.meta(v).dim(), "slice_scatter", node->info.loc);
      if ((!all.parts.empty() && d != all.dim) || rw_.meta(part).dtype != rw_.meta(v).dtype) return std::nullopt;
      // Where the part ends its size says; that it is all there, too.
      const Int end = *begin + rw_.meta(part).layout.sizes[static_cast<std::size_t>(d)];
      if (!known_at_most(end, rw_.meta(v).layout.sizes[static_cast<std::size_t>(d)])) return std::nullopt;
      for (const auto& p : all.parts)  // a later one would win
        if (!known_at_most(p.end, *begin) && !known_at_most(end, p.begin)) return std::nullopt;
      all.dim = d;
      all.parts.push_back({part, *begin, end});
      v = std::get<ValueId>(node->args[0]);
    }
    return std::nullopt;
  }

  /// The parts, each beginning where another ends, if they are all there is.
  std::optional<std::vector<ValueId>> in_order(const std::vector<Padded::Piece>& parts, Int size) {
    std::vector<ValueId> found;
    Int at = 0;
    for (std::size_t n = 0; n < parts.size(); ++n) {
      const auto next = std::find_if(parts.begin(), parts.end(), [&](const Padded::Piece& p) {
        return identical(p.begin, at) && std::find(found.begin(), found.end(), p.value) == found.end();
      });
      if (next == parts.end()) return std::nullopt;
      found.push_back(next->value), at = next->end;
    }
    return identical(at, size) ? std::optional(found) : std::nullopt;
  }

  Rewriter& rw_;
  Rewriter::Site& s_;
};

}  // namespace

// x + 0 is x, but for the sign of a zero.
bool padded_sums(graph::Graph& g) {
  return rewrite(g, [](Rewriter& rw, Rewriter::Site& s) { return Sum(rw, s).run(); });
}

}  // namespace reprise::passes
