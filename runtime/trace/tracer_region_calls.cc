// Calls of regions: cond and region as nodes of the graph around them (Note [Branches] in tracer_regions.cc).
#include <algorithm>
#include <optional>
#include <span>

#include "base/bail.h"
#include "base/errors.h"
#include "base/line_text.h"
#include "base/log.h"
#include "graph/parts.h"
#include "graph/region_call.h"
#include "graph/shape_rules.h"
#include "graph/text.h"
#include "graph/view_column.h"
#include "runtime/trace/region_operands.h"
#include "runtime/trace/tracer.h"
#include "tensor/impl.h"

#include <nlohmann/json.hpp>

namespace reprise::detail {

using graph::NodeArg;
using graph::OpId;
using graph::OutputSpec;
using graph::ValueId;

namespace {

/// A part of an operand that a branch writes: the view that shows it, and its new value in the branch.
struct PartOfOperand {
  graph::ViewStep view;
  ValueId value;
};

bool same_step(const graph::ViewStep& a, const graph::ViewStep& b) {
  return a.op == b.op && a.args.size() == b.args.size() &&
         std::equal(a.args.begin(), a.args.end(), b.args.begin(), [](const NodeArg& x, const NodeArg& y) {
           if (auto* i = std::get_if<Int>(&x), *j = std::get_if<Int>(&y); i && j) return identical(*i, *j);
           return std::holds_alternative<std::monostate>(x) && std::holds_alternative<std::monostate>(y);
         });
}

/// What leads from an input to its new value, in order, if that is one scatter after another; else nothing.
std::optional<std::vector<PartOfOperand>> parts_written(const graph::Graph& g, ValueId input, ValueId now) {
  constexpr std::size_t kMost = 16;
  std::vector<PartOfOperand> parts;
  while (now != input) {
    const std::int32_t n = g.values[now.v].node;
    if (n < 0 || parts.size() == kMost) return std::nullopt;
    const graph::Node& node = g.nodes[static_cast<std::size_t>(n)];
    const std::optional<OpId> view = graph::view_of_scatter(node.op);
    if (!view || graph::is_scatter_in_storage(node.op)) return std::nullopt;
    parts.push_back({{*view, {node.args.begin() + 2, node.args.end()}}, std::get<ValueId>(node.args[1])});
    now = std::get<ValueId>(node.args[0]);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

ValueId seen_through(graph::Graph& g, ValueId v, const graph::ViewStep& view, const graph::NodeInfo& info) {
  std::vector<NodeArg> args{v};
  args.insert(args.end(), view.args.begin(), view.args.end());
  return g.add(view.op, std::move(args), info);
}

/// Gives it the inputs that the node has, in their order. `at`: by its own inputs, which of these they are.
void take_operands(graph::Graph& g, const std::vector<std::size_t>& at, const std::vector<TensorMeta>& metas,
                   const std::vector<std::string>& names) {
  std::vector<graph::InputSpec> inputs(metas.size());
  for (std::size_t i = 0; i < at.size(); ++i) inputs[at[i]] = g.inputs[i];
  for (std::size_t k = 0; k < metas.size(); ++k)
    if (!inputs[k].value) {
      g.add_input(metas[k], names[k]);
      inputs[k] = g.inputs.back();
    }
  g.inputs = std::move(inputs);
  number_inputs(g);
}

}  // namespace

std::vector<Tensor> Tracer::add_cond(const Tensor& pred, TracedBranch then, TracedBranch otherwise, SourceLoc loc) {
  Work work(*this);
  // Both take what either uses.
  std::vector<Tensor> operands = then.operands;
  std::vector<std::size_t> of_then, of_otherwise;
  for (std::size_t i = 0; i < then.operands.size(); ++i) of_then.push_back(i);
  for (const Tensor& t : otherwise.operands) {
    auto is_free = [&](const Tensor& o) {
      const auto k = static_cast<std::size_t>(&o - operands.data());
      return std::find(of_otherwise.begin(), of_otherwise.end(), k) == of_otherwise.end();
    };
    const auto it = std::find_if(operands.begin(), operands.end(),
                                 [&](const Tensor& o) { return is_same_value(o, t) && is_free(o); });
    of_otherwise.push_back(static_cast<std::size_t>(it - operands.begin()));
    if (it == operands.end()) operands.push_back(t);
  }
  std::vector<TensorMeta> metas;
  for (const Tensor& t : operands) {
    metas.push_back(ref_of_traced(t).user_meta);
    metas.back().layout.offset = 0;
  }
  std::vector<std::string> names(operands.size());
  auto name = [&](const TracedBranch& b, const std::vector<std::size_t>& at) {
    for (std::size_t i = 0; i < at.size(); ++i) names[at[i]] = b.graph.values[b.graph.inputs[i].value.v].name;
  };
  name(then, of_then), name(otherwise, of_otherwise);
  // What either writes is a result of both.
  std::vector<std::size_t> written;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    auto writes = [&](const TracedBranch& b, const std::vector<std::size_t>& at) {
      for (std::size_t i = 0; i < at.size(); ++i)
        if (at[i] == k && b.written[i]) return true;
      return false;
    };
    if (!(writes(then, of_then) || writes(otherwise, of_otherwise))) continue;
    for (std::size_t other : written)  // each would put back the old elements of what the other has written
      if (may_meet(operands[other], operands[k])) want_bases(loc, "the branches write to one memory under two names");
    written.push_back(k);
  }
  auto differ = [&](const auto&... what) { bail(Bail::branches_differ, "cond", loc, what...); };
  if (then.defined != otherwise.defined)
    differ("the branches give different tensors: undefined ones, or other numbers of them");
  for (std::size_t i = 0; i < then.graph.outputs.size(); ++i) {
    const TensorMeta &a = then.graph.meta(then.graph.outputs[i].value),
                     &b = otherwise.graph.meta(otherwise.graph.outputs[i].value);
    bool same = a.dtype == b.dtype && a.device == b.device && a.dim() == b.dim();
    for (int d = 0; same && d < a.dim(); ++d)
      same = identical(a.size(d), b.size(d)) || graph::ask(detail::compare_eq(a.size(d), b.size(d), loc),
                                                           "cond: what the branches give is of equal sizes");
    if (!same) differ("result ", i, " is ", shown(a), " where it is true, and ", shown(b), " where it is not");
  }
  auto new_values = [&](TracedBranch& b, const std::vector<std::size_t>& at) {
    std::vector<ValueId> now(operands.size());
    for (std::size_t i = 0; i < at.size(); ++i) now[at[i]] = b.written[i];
    take_operands(b.graph, at, metas, names);
    for (std::size_t k = 0; k < now.size(); ++k)
      if (!now[k]) now[k] = b.graph.inputs[k].value;
    return now;
  };
  const std::vector<ValueId> after_then = new_values(then, of_then),
                             after_otherwise = new_values(otherwise, of_otherwise);
  auto give = [](TracedBranch& b, ValueId v) {
    OutputSpec o;
    o.value = v;
    b.graph.outputs.push_back(std::move(o));
  };
  // Where both write parts, these must be the same ones, or have nothing in common: each branch gives the old elements
  // of what it does not write.
  std::vector<std::vector<graph::ViewStep>> parts(written.size());  // empty: the whole is a result
  for (std::size_t w = 0; w < written.size(); ++w) {
    const std::size_t k = written[w];
    struct Side {
      TracedBranch& b;
      ValueId old, now;
      std::optional<std::vector<PartOfOperand>> parts = {};
      std::vector<Layout> at = {};
    } sides[2] = {{then, then.graph.inputs[k].value, after_then[k]},
                  {otherwise, otherwise.graph.inputs[k].value, after_otherwise[k]}};
    for (Side& s : sides) {
      s.parts = parts_written(s.b.graph, s.old, s.now);
      if (!s.parts) break;
      for (const PartOfOperand& p : *s.parts)
        s.at.push_back(s.b.graph.meta(seen_through(s.b.graph, s.old, p.view, info(loc))).layout);
    }
    bool in_parts = sides[0].parts && sides[1].parts;
    if (in_parts && !sides[0].parts->empty() && !sides[1].parts->empty()) {
      const auto &a = *sides[0].parts, &b = *sides[1].parts;
      const bool same = a.size() == b.size() &&
                        std::equal(a.begin(), a.end(), b.begin(), [](const PartOfOperand& x, const PartOfOperand& y) {
                          return same_step(x.view, y.view);
                        });
      if (same) {
        for (std::size_t i = 0; i < a.size(); ++i)
          parts[w].push_back(a[i].view), give(then, a[i].value), give(otherwise, b[i].value);
        continue;
      }
      for (const Layout& x : sides[0].at)
        for (const Layout& y : sides[1].at) in_parts = in_parts && graph::known_disjoint(x, y);
    }
    if (!in_parts) {
      for (Side& s : sides) give(s.b, s.now);
      continue;
    }
    for (Side& writer : sides)
      for (const PartOfOperand& p : *writer.parts) {
        parts[w].push_back(p.view);
        for (Side& s : sides) give(s.b, &s == &writer ? p.value : seen_through(s.b.graph, s.old, p.view, info(loc)));
      }
  }
  auto finish = [&](TracedBranch& b) {
    b.graph.compact();
    return std::make_shared<const graph::Graph>(std::move(b.graph));
  };
  const std::vector<bool> defined = then.defined;
  std::vector<ValueId> values;
  for (const Tensor& t : operands) values.push_back(value_of(ref_of(t, loc)));
  graph::Region yes = finish(then), no = finish(otherwise);
  graph::Node asked{
      OpId::cond, {value_of(ref_of(pred, loc)), std::move(yes), std::move(no), std::move(values)}, {}, {}};
  std::vector<Tensor> results(defined.size());
  if (defined.empty() && written.empty() && !graph::effects_of(asked).any()) {
    graph::result_metas(out_.graph, graph::op(asked.op), asked.args, loc);  // for what it throws
    return results;
  }
  out_.graph.add(asked.op, std::move(asked.args), info(loc));
  const std::vector<ValueId> made = out_.graph.nodes.back().results;
  std::size_t next = 0;
  for (std::size_t i = 0; i < defined.size(); ++i)
    if (defined[i]) results[i] = fresh(made[next++]);
  for (std::size_t w = 0; w < written.size(); ++w) {
    const std::size_t n = std::max<std::size_t>(parts[w].size(), 1);
    write_back(operands[written[w]], parts[w], std::span(made).subspan(next, n), kBranchOfCond, loc);
    next += n;
  }
  ++calls_;
  return results;
}

std::vector<Tensor> Tracer::add_region(TracedBranch body, const std::string& name, SourceLoc loc) {
  Work work(*this);
  graph::Graph& g = body.graph;
  const std::vector<bool> defined = body.defined;
  const std::vector<Tensor> operands = std::move(body.operands);
  struct Written {
    std::size_t operand;
    std::vector<graph::ViewStep> parts;  ///< empty: the whole
  };
  std::vector<Written> written;
  auto give = [&](ValueId v) {
    OutputSpec o;
    o.value = v;
    g.outputs.push_back(std::move(o));
  };
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!body.written[i]) continue;
    Written w{i, {}};
    const auto parts = parts_written(g, g.inputs[i].value, body.written[i]);
    if (parts && parts->empty()) continue;  // it is what it was
    if (!parts) give(body.written[i]);
    else
      for (const PartOfOperand& p : *parts) w.parts.push_back(p.view), give(p.value);
    written.push_back(std::move(w));
  }
  for (const graph::InputSpec& in : g.inputs) g.values[in.value.v].name.clear();  // equal bodies say the same
  g.compact();
  const std::vector<Tensor> made = add_region(std::make_shared<const graph::Graph>(std::move(g)), operands, name, loc);
  std::vector<Tensor> results(defined.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < defined.size(); ++i)
    if (defined[i]) results[i] = made[next++];
  for (const Written& w : written) {
    std::vector<ValueId> values;
    for (std::size_t i = 0; i < std::max<std::size_t>(w.parts.size(), 1); ++i)
      values.push_back(ref_of_traced(made[next++]).value);
    write_back(operands[w.operand], w.parts, values, kBodyOfRegion, loc);
  }
  return results;
}

std::vector<Tensor> Tracer::add_region(graph::Region body, const std::vector<Tensor>& operands, const std::string& name,
                                       SourceLoc loc) {
  Work work(*this);
  std::vector<ValueId> values;
  for (const Tensor& t : operands) values.push_back(value_of(ref_of(t, loc)));
  const bool is_nothing = body->outputs.empty();
  graph::Node asked{graph::region_op(), {std::move(body), std::move(values), name}, {}, {}};
  std::vector<Tensor> results;
  if (is_nothing && !graph::effects_of(asked).any()) {
    graph::result_metas(out_.graph, graph::op(asked.op), asked.args, loc);  // for what it throws
    return results;
  }
  out_.graph.add(asked.op, std::move(asked.args), info(loc));
  const std::vector<ValueId> made = out_.graph.nodes.back().results;
  for (ValueId v : made) results.push_back(fresh(v));
  ++calls_;
  return results;
}

bool Tracer::inlines_region(SourceLoc loc) const {
  if (second_order) return true;
  const std::vector<SourceLoc>& those = plan_.inlined_regions;
  return loc && std::any_of(those.begin(), those.end(),
                            [&](SourceLoc l) { return l.line == loc.line && std::string_view(l.file) == loc.file; });
}

bool Tracer::inline_region(SourceLoc loc, const std::string& name, const Error& why) {
  // What is to be seen in another way may be all that it lacks.
  if (!plan_.may_grow || wanted_.size() != plan_.size() || !loc) return false;
  wanted_.inlined_regions.push_back(loc);
  if (logs::on(logs::Channel::Trace))
    logs::event(logs::Event::region_inlined, out_.graph.name,
                "region " + name + " (" + line_text(loc, "an unknown line") +
                    ") is a part of the function around it: " + why.message(),
                {{"region", name},
                 {"kind", bail_name(bail_of(why))},
                 {"reason", why.message()},
                 {"file", loc.file},
                 {"line", loc.line}});
  return true;
}

void Tracer::write_back(const Tensor& t, std::span<const graph::ViewStep> parts, std::span<const ValueId> made,
                        RegionKind kind, SourceLoc loc) {
  TracedRef& ref = ref_of(t, loc);
  try {
    check_writable(ref, kind.op, loc);
  } catch (const Error& e) {  // a part of it that the region has written was
    if (e.code() == ErrorCode::NotTraceable) throw;
    want_bases(loc, "a region writes to a part of a tensor of which several elements share one address");
  }
  ++ref.storage->writes;
  if (parts.empty()) out_.graph.add_inplace(OpId::copy, {value_of(ref), made[0]}, info(loc));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const ValueId part = seen_through(out_.graph, value_of(ref), parts[i], info(loc));
    out_.graph.add_inplace(OpId::copy, {part, made[i]}, info(loc));
  }
}

}  // namespace reprise::detail
