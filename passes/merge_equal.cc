#include <bit>
#include <unordered_map>

#include "passes/pass.h"
#include "passes/rewrite.h"

namespace reprise::passes {

using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {

std::size_t mix(std::size_t h, std::size_t v) { return (h ^ v) * 0x9e3779b97f4a7c15ull + (h >> 29); }

std::size_t hash(Int i) {
  return i.is_symbolic() ? std::hash<const void*>()(i.expr()) : static_cast<std::size_t>(i.hint());
}

std::size_t hash(const NodeArg& a) {
  std::size_t h = a.index();
  if (auto* w = std::get_if<graph::ViewArg>(&a)) {
    h = mix(h, w->base.v);
    for (const graph::ViewStep& step : w->steps) {
      h = mix(h, static_cast<std::size_t>(step.op));
      for (const NodeArg& x : step.args) h = mix(h, hash(x));
    }
    return h;
  }
  if (auto* v = std::get_if<ValueId>(&a)) return mix(h, v->v);
  if (auto* l = std::get_if<std::vector<ValueId>>(&a)) {
    for (ValueId v : *l) h = mix(h, v.v);
    return h;
  }
  if (auto* i = std::get_if<Int>(&a)) return mix(h, hash(*i));
  if (auto* l = std::get_if<Ints>(&a)) {
    for (Int i : *l) h = mix(h, hash(i));
    return h;
  }
  if (auto* s = std::get_if<Scalar>(&a)) return mix(h, hash(s->word()));
  if (auto* b = std::get_if<bool>(&a)) return mix(h, *b);
  if (auto* t = std::get_if<DType>(&a)) return mix(h, static_cast<std::size_t>(*t));
  if (auto* s = std::get_if<std::string>(&a)) return mix(h, std::hash<std::string>()(*s));
  if (auto* r = std::get_if<graph::Region>(&a)) return mix(h, std::hash<std::string>()(graph::print(**r, false)));
  return h;
}

bool equal(const NodeArg& a, const NodeArg& b) {
  if (a.index() != b.index()) return false;
  if (auto* i = std::get_if<Int>(&a)) return identical(*i, std::get<Int>(b));
  if (auto* l = std::get_if<Ints>(&a)) {
    const Ints& m = std::get<Ints>(b);
    return l->size() == m.size() &&
           std::equal(l->begin(), l->end(), m.begin(), [](Int x, Int y) { return identical(x, y); });
  }
  // By bits: 0.0 and -0.0 are different programs, and a NaN equals itself.
  if (auto* s = std::get_if<Scalar>(&a)) {
    return identical(*s, std::get<Scalar>(b));
  }
  if (auto* v = std::get_if<ValueId>(&a)) return *v == std::get<ValueId>(b);
  if (auto* l = std::get_if<std::vector<ValueId>>(&a)) return *l == std::get<std::vector<ValueId>>(b);
  if (auto* x = std::get_if<bool>(&a)) return *x == std::get<bool>(b);
  if (auto* x = std::get_if<DType>(&a)) return *x == std::get<DType>(b);
  if (auto* x = std::get_if<std::string>(&a)) return *x == std::get<std::string>(b);
  if (auto* x = std::get_if<graph::Region>(&a)) {  // by what they say: values are numbered by themselves
    const graph::Region& y = std::get<graph::Region>(b);
    return *x == y || graph::print(**x, false) == graph::print(*y, false);
  }
  if (auto* w = std::get_if<graph::ViewArg>(&a)) {
    const auto& u = std::get<graph::ViewArg>(b);
    return w->base == u.base && std::equal(w->steps.begin(), w->steps.end(), u.steps.begin(), u.steps.end(),
                                           [](const graph::ViewStep& x, const graph::ViewStep& y) {
                                             return x.op == y.op && std::equal(x.args.begin(), x.args.end(),
                                                                               y.args.begin(), y.args.end(), equal);
                                           });
  }
  return true;
}

struct Seen {
  OpId op;
  std::vector<NodeArg> args;
  std::vector<ValueId> results;
};

}  // namespace

bool merge_equal(graph::Graph& g) {
  std::unordered_multimap<std::size_t, Seen> seen;
  return rewrite(g, [&](Rewriter& rw, Rewriter::Site& site) -> std::optional<std::vector<ValueId>> {
    if (!graph::effects_of(site.node).repeatable()) return std::nullopt;
    std::size_t h = static_cast<std::size_t>(site.node.op);
    for (const NodeArg& a : site.args) h = mix(h, hash(a));
    auto [first, last] = seen.equal_range(h);
    for (; first != last; ++first) {
      const Seen& s = first->second;
      if (s.op == site.node.op && s.args.size() == site.args.size() &&
          std::equal(s.args.begin(), s.args.end(), site.args.begin(), equal))
        return s.results;
    }
    // Not seen: copied by the driver under the ids it is about to give, which are the next ones of the new graph.
    ValueId next = rw.next_value();
    std::vector<ValueId> results;
    for (std::uint32_t i = 0; i < site.node.results.size(); ++i) results.push_back({next.v + i});
    seen.emplace(h, Seen{site.node.op, site.args, std::move(results)});
    return std::nullopt;
  });
}

}  // namespace reprise::passes
