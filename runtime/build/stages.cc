// Programs with numbers that depend on data: cut into stages, built, run (Note [Sizes that depend on data] in
// guards/data_symbols.cc).
#include "runtime/build/stages.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/bail.h"
#include "base/counters.h"
#include "base/errors.h"
#include "base/knobs.h"
#include "base/log.h"
#include "device/backend.h"
#include "device/late_faults.h"
#include "graph/map_values.h"
#include "graph/shape_rules.h"
#include "graph/text.h"
#include "operators/read_back.h"
#include "passes/pass.h"
#include "tensor/impl.h"
#include "tensor/transfer.h"

#include <nlohmann/json.hpp>

namespace reprise::runtime {

using detail::DataNumber;
using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::OpClass;
using graph::ValueId;

namespace {

constexpr std::uint32_t kUnread = UINT32_MAX;  // of a number: no stage gives it

/// Which stage the numbers in an expression are known after, by number of symbol; 0: there are none.
class Needs {
 public:
  Needs(const guards::ShapeEnv& env, const std::vector<DataNumber>& data, const std::vector<std::uint32_t>& known_after)
      : env_(env), known_after_(known_after) {
    for (std::size_t i = 0; i < data.size(); ++i)
      if (const guards::Expr* e = data[i].symbol.expr()) of_.emplace(e->symbol(), i);
  }
  /// The first stage that may compute it.
  std::uint32_t of(const guards::Expr* e) const {
    if (!env_.of_data(e)) return 0;
    if (e->kind() == guards::ExprKind::Symbol) return known_after_[of_.at(e->symbol())] + 1;
    std::uint32_t stage = 0;
    for (const guards::Expr* a : e->args()) stage = std::max(stage, of(a));
    return stage;
  }
  std::uint32_t of(Int i) const { return i.is_symbolic() ? of(i.expr()) : 0; }
  /// The same of all; none if there is a number among them that nobody reads.
  std::optional<std::uint32_t> of_read(const Ints& all) const {
    std::uint32_t stage = 0;
    for (Int i : all) {
      if (i.is_symbolic() && mentions_unread(i.expr())) return std::nullopt;
      stage = std::max(stage, of(i));
    }
    return stage;
  }
  std::uint32_t of(const Layout& l) const {
    std::uint32_t stage = of(l.offset);
    for (Int i : l.sizes) stage = std::max(stage, of(i));
    for (Int i : l.strides) stage = std::max(stage, of(i));
    return stage;
  }
  std::uint32_t of(const std::vector<NodeArg>& args) const {
    std::uint32_t stage = 0;
    for (const NodeArg& a : args) {
      if (auto* i = std::get_if<Int>(&a)) stage = std::max(stage, of(*i));
      if (auto* s = std::get_if<Scalar>(&a)) stage = std::max(stage, of(s->word()));
      if (auto* l = std::get_if<Ints>(&a))
        for (Int i : *l) stage = std::max(stage, of(i));
      if (auto* w = std::get_if<graph::ViewArg>(&a))
        for (const graph::ViewStep& step : w->steps) stage = std::max(stage, of(step.args));
      if (auto* r = std::get_if<graph::Region>(&a))
        for (const Node& n : (*r)->nodes) stage = std::max(stage, of(n.args));
    }
    return stage;
  }

 private:
  bool mentions_unread(const guards::Expr* e) const {
    if (!env_.of_data(e)) return false;
    if (e->kind() == guards::ExprKind::Symbol) return known_after_[of_.at(e->symbol())] == kUnread;
    return std::any_of(e->args().begin(), e->args().end(), [&](const guards::Expr* a) { return mentions_unread(a); });
  }
  const guards::ShapeEnv& env_;
  const std::vector<std::uint32_t>& known_after_;
  std::unordered_map<std::uint32_t, std::size_t> of_;
};

class Cut {
 public:
  Cut(Graph g, const std::vector<DataNumber>& data, const Assumed& assumed, const Named& named,
      const std::vector<detail::Decision>& decisions)
      : g_(std::move(g)), data_(data), assumed_(assumed), named_(named), known_after_(data.size(), kUnread),
        read_back_(operators::read_back_op()) {
    for (const detail::Decision& d : decisions) decided_.insert(d.assumed);
  }

  /// `also`: what else depends on numbers than the graph.
  CutGraphs run(const std::vector<Int>& also) {
    drop_unused(also);
    find_stages();
    std::vector<std::vector<std::size_t>> nodes;  // by stage
    for (std::uint32_t s = 0; s <= last_; ++s) nodes.push_back(choose(s));
    CutGraphs out;
    for (std::uint32_t s = 0; s <= last_; ++s) out.parts.push_back(part(s, nodes[s]));
    out.known_after = known_after_;
    return out;
  }

 private:
  bool is_read(const Node& n) const { return n.op == read_back_; }
  static std::size_t number_of(const Node& n) { return static_cast<std::size_t>(std::get<Int>(n.args[1]).hint()); }
  /// Made again where it is read: nothing is computed.
  static bool is_made_again(const Node& n) {
    const OpClass cls = graph::op(n.op).cls;
    return cls == OpClass::View || cls == OpClass::Creation;
  }

  /// Nobody waits for a number that nothing depends on.
  void drop_unused(const std::vector<Int>& also) {
    std::set<std::uint32_t> used = graph::symbols_of(g_).all;
    auto see = [&](const guards::Expr* e, auto& see) -> void {
      if (!g_.env->of_data(e)) return;
      if (e->kind() == guards::ExprKind::Symbol) used.insert(e->symbol());
      for (const guards::Expr* a : e->args()) see(a, see);
    };
    for (Int i : also)
      if (i.is_symbolic()) see(i.expr(), see);
    for (const guards::ShapeEnv::Assumption& a : g_.env->assumed())
      if (!a.always) see(a.condition, see);
    std::vector<bool> keep(g_.nodes.size(), true);
    for (std::size_t i = 0; i < g_.nodes.size(); ++i)
      if (is_read(g_.nodes[i])) keep[i] = used.count(data_[number_of(g_.nodes[i])].symbol.expr()->symbol()) > 0;
    if (std::find(keep.begin(), keep.end(), false) == keep.end()) return;
    g_.erase_nodes(keep);
    passes::remove_dead(g_);
  }

  /// The first stage that may run each node; of a number the stage that gives it. What was traced after an assumption
  /// may rely on it, and runs behind the stage that asks it; not so what has no numbers in it and cannot fail: if the
  /// assumption turns out wrong, nobody sees its results.
  void find_stages() {
    std::size_t rounds = 0;  // each settles one number at least
    for (std::vector<std::uint32_t> before; before.empty() || before != known_after_; ++rounds) {
      REPRISE_CHECK(rounds <= data_.size() + 1, "a number of data is computed of itself");
      before = known_after_;
      find_stages_once();
    }
  }
  void find_stages_once() {
    const Needs needs(*g_.env, data_, known_after_);
    // calls, and the first stage for those from there on; both ascending
    std::vector<std::pair<std::int32_t, std::uint32_t>> from, decided_from;
    for (const auto& [call, condition] : assumed_) {
      const std::uint32_t stage = needs.of(condition);
      if (from.empty() || from.back().second < stage) from.emplace_back(call, stage);
      if (decided_.count(condition) && (decided_from.empty() || decided_from.back().second < stage))
        decided_from.emplace_back(call, stage);
    }
    earliest_.clear(), last_ = 0;
    std::vector<std::uint32_t> of_value(g_.values.size());
    for (const Node& n : g_.nodes) {
      const std::uint32_t of_args = needs.of(n.args);
      std::uint32_t stage = of_args;
      auto behind = [&](const auto& those) {
        return std::partition_point(those.begin(), those.end(),
                                    [&](const auto& f) { return f.first <= n.info.sequence; });
      };
      const auto after = behind(from);
      if (after != from.begin() && std::prev(after)->second > stage && (of_args > 0 || relies_on_numbers(n)))
        stage = std::prev(after)->second;
      // A number that an assumption has put another one in the place of: where that is wrong, rows are taken for places
      // that hold none.
      if (const auto its = named_.find(n.info.sequence); its != named_.end() && can_fail(n))
        for (Int i : its->second) stage = std::max(stage, needs.of(i));
      for_each_value(n, [&](ValueId v) { stage = std::max(stage, of_value[v.v]); });
      for (ValueId r : n.results) of_value[r.v] = stage;
      earliest_.push_back(stage);
      if (!is_read(n)) continue;
      // Decisions are asked in the order of the program.
      if (const auto decided = behind(decided_from); decided != decided_from.begin())
        stage = std::max(stage, std::prev(decided)->second), earliest_.back() = stage;
      known_after_[number_of(n)] = stage, last_ = std::max(last_, stage + 1);
    }
  }

  bool can_fail(const Node& n) const { return !is_read(n) && graph::effects_of(n).any(); }
  bool relies_on_numbers(const Node& n) const {
    if (is_read(n)) return false;
    if (can_fail(n)) return true;
    auto of_data = [](const Ints& l) { return std::any_of(l.begin(), l.end(), graph::depends_on_data); };
    bool relies =
        std::any_of(n.results.begin(), n.results.end(), [&](ValueId r) { return of_data(g_.meta(r).layout.sizes); });
    for_each_value(n, [&](ValueId v) {
      relies = relies || of_data(g_.meta(v).layout.sizes) || of_data(g_.meta(v).layout.strides);
    });
    return relies;
  }

  /// The nodes of a stage: what its numbers need and no stage before it has computed; of the last one, all that is left
  /// and wanted.
  std::vector<std::size_t> choose(std::uint32_t s) {
    const bool is_last = s == last_;
    std::vector<bool> wanted(g_.values.size());
    if (is_last) {
      for (const graph::OutputSpec& o : g_.outputs)
        if (o.value) wanted[o.value.v] = true;
    }
    std::vector<std::size_t> nodes;
    std::uint32_t lanes[256] = {};  // nodes of this stage that are in a lane
    computed_in_.resize(g_.nodes.size(), kNowhere);
    for (std::size_t i = g_.nodes.size(); i-- > 0;) {
      const Node& n = g_.nodes[i];
      if (is_read(n) ? known_after_[number_of(n)] != s : computed_in_[i] != kNowhere) {
        if (!is_read(n))
          for (ValueId r : n.results)
            if (wanted[r.v]) cross(r);
        continue;
      }
      const graph::Effects effects = graph::effects_of(n);
      const bool is_wanted = std::any_of(n.results.begin(), n.results.end(), [&](ValueId r) { return wanted[r.v]; });
      // What happens in an order happens before what comes later in it.
      if (!is_read(n) && !is_wanted && !(is_last && effects.any()) && !(effects.lane && lanes[effects.lane])) continue;
      if (effects.lane) {
        if (earliest_[i] > s)
          bail(Bail::data_decides, std::string(graph::op(n.op).name()).c_str(), n.info.loc,
               "it takes a number that depends on data, and what comes after it gives another one");
        ++lanes[effects.lane];
      }
      for_each_value(n, [&](ValueId v) { wanted[v.v] = true; });
      nodes.push_back(i);
      if (!is_read(n) && !is_made_again(n)) computed_in_[i] = s;
    }
    std::reverse(nodes.begin(), nodes.end());
    return nodes;
  }

  /// A value of an earlier stage that a later one reads.
  void cross(ValueId v) {
    if (crosses_.size() < g_.values.size()) crosses_.resize(g_.values.size());
    crosses_[v.v] = true;
  }

  CutGraphs::Part part(std::uint32_t s, const std::vector<std::size_t>& nodes) {
    const bool is_last = s == last_;
    CutGraphs::Part out;
    Graph& g = out.graph;
    g.name = g_.name, g.env = g_.env, g.numbers = g_.numbers;
    std::vector<ValueId> now(g_.values.size());
    for (const graph::InputSpec& in : g_.inputs) {
      now[in.value.v] = g.add_input(g_.meta(in.value), g_.values[in.value.v].name, in.kind, in.captured);
      if (is_last)
        g.inputs.back().mutates_data = in.mutates_data, g.inputs.back().mutates_metadata = in.mutates_metadata;
    }
    for (std::size_t i = 0; i < made_.size(); ++i)
      now[made_[i].v] =
          g.add_input(g_.meta(made_[i]), "stage value " + std::to_string(i), graph::InputSpec::Kind::Parameter, true);
    std::vector<ValueId> reads;
    for (std::size_t i : nodes) {
      const Node& n = g_.nodes[i];
      if (is_read(n)) {
        const ValueId v = std::get<ValueId>(n.args[0]);
        const graph::Value& from = g.values[now[v.v].v];
        if (from.node < 0) {  // as it is given
          out.numbers.push_back({static_cast<std::uint32_t>(number_of(n)), from.result});
        } else {
          out.numbers.push_back(
              {static_cast<std::uint32_t>(number_of(n)), static_cast<std::uint32_t>(g.inputs.size() + reads.size())});
          reads.push_back(v);
        }
        continue;
      }
      graph::append_copy(g_, n, g, now);
    }
    auto copy_of = [&](ValueId v) {
      return g.append(graph::OpId::clone, {v},
                      {{g.meta(v).dtype,
                        g.meta(v).device,
                        {g.meta(v).layout.sizes, contiguous_strides(g.meta(v).layout.sizes), 0}}});
    };
    if (is_last) {
      g.outputs = g_.outputs;
      for (graph::OutputSpec& o : g.outputs) {
        if (!o.value) continue;
        o.value = now[o.value.v];
        // a result has memory of its own
        if (const graph::Value& v = g.values[o.value.v]; v.node < 0 && v.result >= g_.inputs.size())
          o.value = copy_of(o.value);
      }
      g.metadata_mutations = g_.metadata_mutations;
      return out;
    }
    auto give = [&](ValueId v) {
      graph::OutputSpec o;
      o.value = now[v.v];
      const std::int32_t by = g.values[o.value.v].node;
      if (by < 0 || graph::op(g.nodes[static_cast<std::size_t>(by)].op).cls == OpClass::View ||
          std::find(made_.begin(), made_.end(), v) != made_.end())
        o.value = copy_of(o.value);
      g.outputs.push_back(std::move(o));
      made_.push_back(v);
    };
    for (ValueId v : reads) give(v);
    for (std::size_t i : nodes)
      for (ValueId r : g_.nodes[i].results)
        if (!crosses_.empty() && crosses_[r.v] && computed_in_[i] == s &&
            std::find(reads.begin(), reads.end(), r) == reads.end())
          give(r);
    return out;
  }

  static constexpr std::uint32_t kNowhere = UINT32_MAX;
  Graph g_;
  const std::vector<DataNumber>& data_;
  const Assumed& assumed_;
  const Named& named_;
  std::set<const guards::Expr*> decided_;                            // assumptions that are decisions
  std::vector<std::uint32_t> known_after_, earliest_, computed_in_;  // by number, by node, by node
  std::vector<bool> crosses_;                                        // by value
  std::vector<ValueId> made_;                                        // what stages so far give, in order
  const graph::OpId read_back_;
  std::uint32_t last_ = 0;
};

}  // namespace

CutGraphs cut_into_stages(Graph g, const std::vector<DataNumber>& data, const Assumed& assumed,
                          const std::vector<Int>& also, const Named& named,
                          const std::vector<detail::Decision>& decisions) {
  return Cut(std::move(g), data, assumed, named, decisions).run(also);
}

namespace {

/// Stage::text and gives. Neither the function's name, nor the sizes of the traced call, nor what it gives.
void describe(Stage& stage) {
  Graph g = stage.program.graph;
  for (const graph::OutputSpec& o : g.outputs) stage.gives.push_back(o.value.v);
  g.name = "stage", g.outputs.clear();
  stage.text = graph::print(g);
  const std::size_t line = stage.text.find('\n'), hints = stage.text.rfind(" where ", line);
  if (hints != std::string::npos) stage.text.erase(hints, line - hints);
}

/// `needed_by`: by number. `optimized`: what may be written in place is.
std::pair<Stages, Program> build_parts(Graph g, const detail::Traced& t, const std::vector<Int>& also,
                                       std::vector<ReadFor> needed_by, kernels::Mode mode, Makers makers,
                                       bool optimized) {
  const std::shared_ptr<guards::ShapeEnv> env = g.env;
  CutGraphs cut = cut_into_stages(std::move(g), t.data, t.assumed, also, t.named, t.decisions);
  Stages before;
  std::optional<Program> last;
  for (CutGraphs::Part& p : cut.parts) {
    if (optimized) passes::reinplace(p.graph);
    if (knobs().verify >= 1) graph::verify(p.graph, "cut into stages");
    const bool is_last = &p == &cut.parts.back();
    kernels::Lowered lowered = lower_graph(p.graph, mode);
    Program made = build_program(std::move(p.graph), std::move(lowered), is_last ? t.int_results : std::vector<Int>(),
                                 t.floats, t.uses_random, is_last ? t.random_count : Int(0), makers);
    if (is_last) {
      last = std::move(made);
      continue;
    }
    auto stage = std::make_unique<Stage>(std::move(made));
    for (const auto& [number, tensor] : p.numbers) {
      stage->reads.push_back({tensor, t.data[number].word});
      stage->lines.push_back(t.data[number].loc);
      stage->needed_by.push_back(needed_by.empty() ? ReadFor{} : needed_by[number]);
    }
    if (!t.decisions.empty()) describe(*stage);
    before.push_back(std::move(stage));
  }
  // Lowering assumes, too.
  const Needs needs(*env, t.data, cut.known_after);
  for (const MadeSizes& m : t.sizes)
    if (const std::optional<std::uint32_t> known = needs.of_read(m.sizes); known && *known > 0)
      before[*known - 1]->made.add_size_check(m.sizes, m.item_size, m.op);
  std::uint32_t asked = 0;  // behind which stage all decisions so far have been
  std::size_t next = 0;     // of them
  for (const guards::ShapeEnv::Assumption& a : env->assumed()) {
    const bool decides = next < t.decisions.size() && t.decisions[next].assumed == a.condition;
    const std::uint32_t known = needs.of(a.condition);
    if (known == 0) {  // of what nobody reads
      REPRISE_CHECK(!decides, "nobody reads the number of a decision");
      continue;
    }
    // No size follows from floats: such a decision may wait for those before it.
    const std::uint32_t stage = decides && t.decisions[next].of_floats ? std::max(known, asked) : known;
    Stage& s = *before[stage - 1];
    Stage::Condition c;
    c.slot = s.assumed.add(a.condition), c.text = to_string(a.condition);
    if (decides) {
      const detail::Decision& d = t.decisions[next];
      c.decision = static_cast<std::int32_t>(next++);
      c.outcome = {d.outcome, d.loc}, c.of_floats = d.of_floats, c.in_order = stage >= asked;
      if (d.number) c.number_slot = static_cast<std::int32_t>(s.assumed.add(d.number));
      asked = std::max(asked, stage);
    }
    s.conditions.push_back(std::move(c));
  }
  REPRISE_CHECK(next == t.decisions.size(), "a decision is no assumption");
  return {std::move(before), *std::move(last)};
}

/// What depends on numbers of data beside the graph.
std::vector<Int> beside_graph(const detail::Traced& t) {
  std::vector<Int> also = t.int_results;
  also.push_back(t.random_count);
  return also;
}

}  // namespace

StagedProgram build_staged(detail::Traced& t, kernels::Mode mode, Makers makers) {
  const std::shared_ptr<guards::ShapeEnv> env = t.graph.env;
  const std::vector<Int> also = beside_graph(t);
  std::vector<ReadFor> needed_by = leave_unread(t.graph, t.data, also);
  auto [before, last] = build_parts(std::move(t.graph), t, also, std::move(needed_by), mode, makers, true);
  StagedProgram made{std::move(before), {}, {std::move(last), guards::GuardSet(*env)}};
  if (t.uses_random) made.random_count.add(t.random_count);
  env->freeze();
  return made;
}

std::pair<Stages, Program> build_staged_reference(const detail::Traced& t) {
  return build_parts(t.graph, t, beside_graph(t), {}, kernels::Mode::Interpret, Makers::All, false);
}

Stages build_prefix(detail::Traced&& t, const std::vector<Int>& wanted, kernels::Mode mode) {
  CutGraphs cut = cut_into_stages(std::move(t.graph), t.data, {}, wanted, t.named);
  Stages stages;
  for (CutGraphs::Part& p : cut.parts) {
    if (&p == &cut.parts.back()) break;
    for (const Node& n : p.graph.nodes)
      if (!graph::effects_of(n).repeatable())
        bail(Bail::reads_value, "item", n.info.loc, "the function branches on a value that ", graph::op(n.op).name(),
             " decides, which may not run twice");
    passes::reinplace(p.graph);
    kernels::Lowered lowered = lower_graph(p.graph, mode);
    auto stage = std::make_unique<Stage>(
        build_program(std::move(p.graph), std::move(lowered), {}, t.floats, t.uses_random, Int(0), Makers::Caller));
    for (const auto& [number, tensor] : p.numbers) {
      stage->reads.push_back({tensor, t.data[number].word});
      stage->lines.push_back(t.data[number].loc);
      stage->needed_by.push_back({"a branch on its value", t.data[number].loc});
    }
    stages.push_back(std::move(stage));
  }
  return stages;
}

void make_room(const Stages& stages, detail::FrameArray<std::int64_t>& values) {
  std::size_t all = values.size();
  for (const auto& stage : stages)
    for (const Stage::Read& r : stage->reads) all = std::max<std::size_t>(all, r.word + std::size_t{1});
  values.resize(all);
}

namespace {
/// The numbers of a stage that has run. On a device they are copied side by side, and it is waited for once.
void read(const Stage& stage, const std::vector<TensorImpl*>& inputs, std::int64_t* values) {
  const bool several = stage.reads.size() > 1;
  std::vector<Tensor> there;
  std::vector<Device> from;
  for (const Stage::Read& r : stage.reads) {
    const TensorImpl& t = *inputs[r.tensor];
    const Device d = t.device;
    if (device::runs_host_code(d)) {
      std::memcpy(&values[r.word], t.data(), sizeof(std::int64_t));
      continue;
    }
    there.push_back(transfer(Tensor::share(inputs[r.tensor]), Device::cpu(), "item", {}, several));
    if (several && std::find(from.begin(), from.end(), d) == from.end()) from.push_back(d);
  }
  for (Device d : from)
    device::backend(d).current_stream().synchronize(), device::throw_late(device::backend(d).current_stream());
  std::size_t next = 0;
  if (!there.empty())
    for (const Stage::Read& r : stage.reads)
      if (!device::runs_host_code(inputs[r.tensor]->device))
        std::memcpy(&values[r.word], there[next++].impl()->data(), sizeof(std::int64_t));
  counters().numbers_read.add(stage.reads.size());
  counters().waits_for_numbers.add();
}

void run(const Stage& stage, const std::string& name, std::int64_t* values, std::vector<Tensor>& made,
         std::vector<TensorImpl*>& inputs, std::ptrdiff_t number) {
  detail::Outputs out;
  std::int64_t copied = 0;
  stage.recordings.get(values, name)->replay(values, inputs.data(), out, stage.results, &copied);
  for (TensorImpl*& t : out.tensors) {
    made.push_back(Tensor::adopt(std::exchange(t, nullptr)));
    inputs.push_back(made.back().impl());
  }
  read(stage, inputs, values);
  if (!logs::on(logs::Channel::Recordings)) return;
  std::vector<std::int64_t> numbers;
  for (const Stage::Read& r : stage.reads) numbers.push_back(values[r.word]);
  logs::event(logs::Event::numbers_read, name, "stage " + std::to_string(number) + " " + text_of(stage),
              {{"stage", number}, {"numbers", numbers}});
}

/// Stages of another specialization, one after the other, as far as this one's are the same.
class Taking {
 public:
  explicit Taking(Handover* from) : from_(from) {
    if (from) from->taken = 0, from->gave_more = false;
  }
  /// Does it stand for this one? Then what it has made and told is there.
  bool take(const Stage& stage, std::int64_t* values, std::vector<Tensor>& made, std::vector<TensorImpl*>& inputs) {
    if (!from_ || !same_ || from_->taken == from_->stages.size()) return false;
    const Stage& other = *from_->stages[from_->taken];
    std::vector<std::size_t> which;
    same_ = is_same(stage, other, which);
    if (!same_) return false;
    for (std::size_t i : which) {
      made.push_back(from_->made[made_ + i]);
      inputs.push_back(made.back().impl());
    }
    for (const Stage::Read& r : stage.reads) values[r.word] = from_->numbers[number_++];
    made_ += other.gives.size();
    ++from_->taken;
    from_->gave_more = from_->gave_more || other.gives.size() > which.size();
    return true;
  }
  /// The call leaves this specialization, too, behind its first `count` stages.
  void leave(const Stages& stages, std::size_t count, const std::int64_t* values, const std::vector<Tensor>& made) {
    if (!from_) return;
    *from_ = {};
    for (std::size_t i = 0; i < count; ++i) {
      from_->stages.push_back(stages[i].get());
      for (const Stage::Read& r : stages[i]->reads) from_->numbers.push_back(values[r.word]);
    }
    from_->made = made;
  }

 private:
  static bool is_same(const Stage& a, const Stage& b, std::vector<std::size_t>& which) {
    if (a.text != b.text || a.reads.size() != b.reads.size()) return false;
    for (std::size_t i = 0; i < a.reads.size(); ++i)
      if (a.reads[i].tensor != b.reads[i].tensor || a.reads[i].word != b.reads[i].word) return false;
    for (std::uint32_t v : a.gives) {
      const auto at = std::find(b.gives.begin(), b.gives.end(), v);
      if (at == b.gives.end()) return false;
      which.push_back(static_cast<std::size_t>(at - b.gives.begin()));
    }
    return true;
  }
  Handover* const from_;
  bool same_ = true;
  std::size_t made_ = 0, number_ = 0;
};
}  // namespace

std::optional<PathMissed> run_stages(const Stages& stages, const std::string& name, std::int64_t* values,
                                     std::vector<Tensor>& made, std::vector<TensorImpl*>& inputs,
                                     const detail::Outcomes* path, Handover* hand) {
  if (stages.empty()) return std::nullopt;
  inputs.resize(stages.front()->program.graph.inputs.size());
  Taking others(hand);
  constexpr std::size_t kFew = 16;
  std::int64_t few[kFew];
  std::vector<std::int64_t> many;
  auto slots_of = [&](const guards::ExprProgram& p) {
    if (p.size() > kFew) many.resize(std::max(many.size(), p.size()));
    std::int64_t* const slots = p.size() > kFew ? many.data() : few;
    p.evaluate(values, slots);
    return slots;
  };
  for (const auto& stage : stages) {
    if (!others.take(*stage, values, made, inputs)) run(*stage, name, values, made, inputs, &stage - stages.data());
    const std::int64_t* const slots = slots_of(stage->assumed);
    for (const Stage::Condition& c : stage->conditions) {
      if (slots[c.slot]) continue;
      if (path && c.decision >= 0) {
        const auto decision = static_cast<std::uint32_t>(c.decision);
        // It has been made, by another program of the same function, whose sums may be rounded in another way.
        if (decision < path->size() && c.of_floats) continue;
        if (decision >= path->size()) {
          others.leave(stages, static_cast<std::size_t>(&stage - stages.data()) + 1, values, made);
          return PathMissed{
              decision, {c.number_slot >= 0 ? slots[c.number_slot] : 1 - c.outcome.value, c.outcome.loc}, c.in_order};
        }
      }
      bail(Bail::asks_of_data, "compile", c.outcome.loc, "in this call it does not hold that ", c.text,
           ", which the compiled function takes for granted of what depends on data");
    }
    slots_of(stage->made);
  }
  return std::nullopt;
}

std::string text_of(const Stage& s) {
  auto at = [](SourceLoc l) { return std::string(l.file) + ":" + std::to_string(l.line); };
  std::string text = "gives " + std::to_string(s.reads.size()) +
                     (s.reads.size() == 1 ? " number that depends on data" : " numbers that depend on data");
  for (std::size_t i = 0; i < s.lines.size(); ++i) {
    text += (i ? "; " : " (") + (s.lines[i] ? at(s.lines[i]) + ": " : std::string()) +
            (s.needed_by[i].text.empty() ? "a size" : s.needed_by[i].text);
    if (const SourceLoc by = s.needed_by[i].loc; by && at(by) != at(s.lines[i] ? s.lines[i] : by))
      text += ", " + at(by);
  }
  return s.lines.empty() ? text : text + ")";
}

}  // namespace reprise::runtime
