#include "graph/writers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/errors.h"
#include "graph/schema.h"
#include "graph/shape_rules.h"
#include "graph/view_column.h"
#include "guards/expr.h"

namespace reprise::graph {

namespace {
template <class... What>
[[noreturn]] void bad(const Schema& s, const What&... what) {
  fail(ErrorCode::InvalidArgument, s.name.c_str(), {}, what..., ": \"", s.text, "\"");
}
}  // namespace

Writes writes_of(const Schema& s) {
  Writes w;
  for (std::uint32_t i = 0; i < s.args.size(); ++i) {
    const ArgDef& a = s.args[i];
    if (!a.alias || !a.alias->written) continue;
    if (a.type != ArgType::Tensor && a.type != ArgType::TensorList)
      bad(s, "writes '", a.name, "', which may be missing");
    if (a.alias->before.size() != 1 || a.alias->before != a.alias->after || a.alias->before[0] == "*")
      bad(s, "writes '", a.name, "', of which it must say one alias set, such as (a!)");
    for (std::uint32_t k : w.writes)
      if (s.args[k].alias->before == a.alias->before)
        bad(s, "writes '", s.args[k].name, "' and '", a.name, "' in one alias set: what is written shares no memory");
    w.writes.push_back(i);
  }
  for (const ResultDef& r : s.results) {
    std::int32_t arg = -1;
    if (r.alias && !r.alias->before.empty()) {
      for (std::uint32_t i : w.writes)
        if (s.args[i].alias->before == r.alias->before && s.args[i].type == ArgType::Tensor && r.alias->written)
          arg = static_cast<std::int32_t>(i);
      if (arg < 0 && !w.writes.empty()) bad(s, "has a result that shares memory and is no tensor that it writes");
    }
    w.returns.push_back(arg);
  }
  return w;
}

Schema functional_schema(const Schema& of, const Writes& w) {
  Schema s;
  s.name = of.name + ".functional";
  s.args = of.args;
  for (ArgDef& a : s.args) a.alias.reset();
  bool list = false;
  for (std::uint32_t i : w.writes) list = list || of.args[i].type == ArgType::TensorList;
  if (list) {
    s.results.push_back({ArgType::TensorList, "", {}});
  } else {
    const auto made = static_cast<std::size_t>(std::count(w.returns.begin(), w.returns.end(), -1));
    s.results.assign(w.writes.size() + made, ResultDef{ArgType::Tensor, "", {}});
  }
  s.n_results = list ? -1 : static_cast<int>(s.results.size());
  // The arguments as they are written, without their alias sets.
  const std::size_t arrow = of.text.rfind("->");
  std::string args = of.text.substr(0, arrow);
  args.erase(0, args.find('('));
  for (std::size_t at; (at = args.find("Tensor(")) != std::string::npos;)
    args.erase(at + 6, args.find(')', at) + 1 - (at + 6));
  s.text = s.name + args + "-> ";
  std::string results;
  for (std::size_t i = 0; i < s.results.size(); ++i)
    results += (i ? ", " : "") + std::string(list ? "Tensor[]" : "Tensor");
  s.text += s.results.size() == 1 ? results : "(" + results + ")";
  return s;
}

std::vector<ValueId> written_bases(const OpDef& twin, const std::vector<NodeArg>& args) {
  std::vector<ValueId> bases, of_views;
  for (std::uint32_t i : op(twin.twin_of.value()).writes) {
    if (auto* view = std::get_if<ViewArg>(&args[i])) {
      if (std::find(of_views.begin(), of_views.end(), view->base) != of_views.end()) continue;
      of_views.push_back(view->base);
    }
    for_each_value(args[i], [&](ValueId v) { bases.push_back(v); });
  }
  return bases;
}

std::size_t twin_results(const OpDef& twin, const std::vector<NodeArg>& args) {
  return written_bases(twin, args).size() + static_cast<std::size_t>(op(*twin.twin_of).n_made);
}

std::vector<Layout> layouts_of(const Graph& g, const ViewArg& view, SourceLoc loc) {
  guards::LibraryScope exact;
  TensorMeta at = g.meta(view.base);
  at.layout = {at.layout.sizes, contiguous_strides(at.layout.sizes), 0};
  std::vector<Layout> layouts;
  for (const ViewStep& step : view.steps) {
    const OpDef& def = op(step.op);
    NodeRuleArgs rest(g, step.args);
    std::vector<RuleArg> args{&at};
    args.insert(args.end(), rest.args().begin(), rest.args().end());
    Layout made = apply_view(def, args, at.layout, loc);
    if (is_view_of_storage(step.op)) check_within_storage(made, at.layout, def.schema.name.c_str(), loc);
    check_within_operand(def, args, at.layout, made, loc);
    at.layout = made;
    layouts.push_back(std::move(made));
  }
  return layouts;
}

void append_returned(const OpCall& c, std::vector<Tensor> made, std::vector<Tensor>& results) {
  std::size_t next = 0;
  for (std::int32_t arg : c.op.returns) {
    if (arg >= 0) results.push_back(**std::get_if<const Tensor*>(&c.args[static_cast<std::size_t>(arg)]));
    else results.push_back(std::move(made.at(next++)));
  }
  REPRISE_CHECK(next == made.size());
}

void fail_shared_writes(const OpCall& c) {
  fail(ErrorCode::AliasConflict, c.op.schema.name.c_str(), c.loc,
       "two of the tensors that it writes share elements: clone() one of them first");
}

void rules::functional_twin(RuleCtx& c) {
  const OpDef& writer = op(c.op.twin_of.value());
  RuleCtx own{writer, c.args, c.loc, {}, c.shows_storage};
  infer(own);
  auto written = [&](const TensorMeta& m) {
    c.result(m.dtype, m.layout.sizes);
    c.results.back().device = m.device;
  };
  for (std::uint32_t i : writer.writes) {
    if (writer.schema.args[i].type == ArgType::Tensor) written(c.tensor(static_cast<int>(i)));
    else
      for (const TensorMeta* m : c.tensors(static_cast<int>(i))) written(*m);
  }
  c.results.insert(c.results.end(), std::make_move_iterator(own.results.begin()),
                   std::make_move_iterator(own.results.end()));
}

}  // namespace reprise::graph
