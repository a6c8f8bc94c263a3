// Of several ways to write one function with primitives the one that composites are taken apart into.
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

using Result = std::optional<std::vector<ValueId>>;

const ValueId* tensor(const NodeArg& a) { return std::get_if<ValueId>(&a); }
bool is_number(const NodeArg& a, double v) {
  const Scalar* s = std::get_if<Scalar>(&a);
  if (const Int* i = std::get_if<Int>(&a)) return !i->is_symbolic() && static_cast<double>(i->hint()) == v;
  return s && !s->is_symbolic() && s->to_double() == v;
}
/// The node that makes it, if it is one of `op` on a floating tensor.
const Node* made_by(const Rewriter& rw, const NodeArg& a, OpId op) {
  const ValueId* v = tensor(a);
  const Node* n = v ? rw.maker(*v) : nullptr;
  return n && n->op == op && is_floating(rw.meta(n->results[0]).dtype) ? n : nullptr;
}

Result squared(Rewriter& rw, Rewriter::Site& s, ValueId x) {
  if (!is_floating(s.result.dtype) || rw.meta(x).dtype != s.result.dtype) return std::nullopt;
  return {{rw.emit(OpId::mul, {x, x})}};
}
Result pow(Rewriter& rw, Rewriter::Site& s) {
  const ValueId* x = tensor(s.args[0]);
  return x && is_number(s.args[1], 2) ? squared(rw, s, *x) : std::nullopt;
}
Result square(Rewriter& rw, Rewriter::Site& s) { return squared(rw, s, *tensor(s.args[0])); }

Result reciprocal(Rewriter& rw, Rewriter::Site& s) {
  const Node* root = made_by(rw, s.args[0], OpId::sqrt);
  return root ? Result{{rw.emit(OpId::rsqrt, {*tensor(root->args[0])})}} : std::nullopt;
}

// Of a root for each row one quotient a row is enough.
Result div(Rewriter& rw, Rewriter::Site& s) {
  const Node* root = made_by(rw, s.args[1], OpId::sqrt);
  if (!root || !std::holds_alternative<std::monostate>(s.args[2]) || rw.meta(root->results[0]).dtype != s.result.dtype)
    return std::nullopt;
  const ValueId of = *tensor(root->args[0]);
  if (is_number(s.args[0], 1)) return {{rw.emit(OpId::rsqrt, {of})}};
  const ValueId* x = tensor(s.args[0]);
  const Ints& rows = rw.meta(of).layout.sizes;
  if (!x || rows.empty() || rw.meta(*x).dtype != s.result.dtype) return std::nullopt;
  const Int last = rows.back();
  if (last.is_symbolic() || last.hint() != 1) return std::nullopt;
  const NodeArg by = *x;
  return {{rw.emit(OpId::mul, {by, rw.emit(OpId::rsqrt, {of})})}};
}

/// Its second argument, dimensions counted from the front; nullopt where they are.
std::optional<NodeArg> from_the_front(const NodeArg& arg, int rank) {
  bool negative = false;
  auto wrapped = [&](Int d) {
    if (d.is_symbolic() || d.hint() >= 0 || d.hint() + rank < 0) return d;
    return negative = true, Int(d.hint() + rank);
  };
  NodeArg made;
  if (const Int* d = std::get_if<Int>(&arg)) made = wrapped(*d);
  if (const Ints* dims = std::get_if<Ints>(&arg)) {
    Ints all;
    for (Int d : *dims) all.push_back(wrapped(d));
    made = std::move(all);
  }
  return negative ? std::optional(std::move(made)) : std::nullopt;
}
/// What is known of an operator's spellings.
struct Spellings {
  Result (*rule)(Rewriter&, Rewriter::Site&) = nullptr;
  bool wakes = false;  ///< a graph without one of these has nothing for the rules
  bool dims = false;   ///< its second argument names dimensions
  bool dtype = false;  ///< its third one is the dtype it computes in, none: its operand's
};
constinit const graph::OpColumn<Spellings> kSpellings("other spellings",
                                                      {
                                                          {OpId::pow, {.rule = pow, .wakes = true}},
                                                          {OpId::square, {.rule = square, .wakes = true}},
                                                          {OpId::sqrt, {.wakes = true}},
                                                          {OpId::reciprocal, {.rule = reciprocal}},
                                                          {OpId::div, {.rule = div}},
                                                          {OpId::sum, {.dims = true}},
                                                          {OpId::prod, {.dims = true}},
                                                          {OpId::amax, {.dims = true}},
                                                          {OpId::amin, {.dims = true}},
                                                          {OpId::any, {.dims = true}},
                                                          {OpId::all, {.dims = true}},
                                                          {OpId::mean, {.dims = true}},
                                                          {OpId::var, {.dims = true}},
                                                          {OpId::std, {.dims = true}},
                                                          {OpId::softmax, {.dims = true, .dtype = true}},
                                                          {OpId::log_softmax, {.dims = true, .dtype = true}},
                                                      });

bool says_its_dtype(const graph::Graph& g, const std::vector<NodeArg>& args) {
  const DType* t = std::get_if<DType>(&args[2]);
  return t && *t == g.meta(*tensor(args[0])).dtype;
}
int rank_of(const graph::Graph& g, const std::vector<NodeArg>& args) { return g.meta(*tensor(args[0])).dim(); }

}  // namespace

bool spell_alike(graph::Graph& g) {
  // Most graphs have none of it.
  const bool any = std::any_of(g.nodes.begin(), g.nodes.end(), [&](const Node& n) {
    const Spellings* of = kSpellings.find(n.op);
    return of && (of->wakes || (of->dims && from_the_front(n.args[1], rank_of(g, n.args))) ||
                  (of->dtype && says_its_dtype(g, n.args)));
  });
  if (!any) return false;
  return rewrite(g, [](Rewriter& rw, Rewriter::Site& s) -> Result {
    const Spellings* of = kSpellings.find(s.node.op);
    if (!of) return std::nullopt;
    if (of->rule) return of->rule(rw, s);
    std::optional<NodeArg> dims = of->dims ? from_the_front(s.args[1], rank_of(rw.graph(), s.args)) : std::nullopt;
    const bool says = of->dtype && says_its_dtype(rw.graph(), s.args);
    if (!dims && !says) return std::nullopt;
    std::vector<NodeArg> args = s.args;
    if (dims) args[1] = std::move(*dims);
    if (says) args[2] = std::monostate{};
    return {{rw.emit(s.node.op, std::move(args))}};
  });
}

}  // namespace reprise::passes
