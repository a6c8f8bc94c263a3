// Decisions of a trace (Note [Branches on values]).
#include "runtime/build/branches.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/bail.h"
#include "base/epochs.h"
#include "base/errors_aside.h"
#include "base/float_state.h"
#include "base/line_text.h"
#include "base/log.h"
#include "base/stack.h"
#include "device/backend.h"
#include "graph/thread_state.h"
#include "guards/general.h"
#include "operators/read_back.h"
#include "passes/pass.h"
#include "runtime/build/stages.h"
#include "runtime/replay/recording_budget.h"
#include "tensor/impl.h"

#include <nlohmann/json.hpp>

namespace reprise::runtime {

using detail::Decision;
using guards::Expr;
using guards::ExprKind;

namespace {

/// Of a condition: does nothing follow from it for sizes?
bool is_of_floats(const Expr* e) {
  switch (e->kind()) {
    case ExprKind::FLt:
    case ExprKind::FLe:
    case ExprKind::FEq: return true;
    case ExprKind::And:
    case ExprKind::Or:
    case ExprKind::Not: return std::all_of(e->args().begin(), e->args().end(), is_of_floats);
    default: return false;
  }
}

/// Is it less work to interpret the graph once than to make code of it?
bool is_little_work(const graph::Graph& g) {
  constexpr std::int64_t kElements = 4096;
  return std::all_of(g.values.begin(), g.values.end(), [](const graph::Value& v) {
    std::int64_t elements = 1;
    for (Int size : v.meta.layout.sizes) {
      if (size.hint() > kElements) return false;
      elements *= std::max<std::int64_t>(size.hint(), 1);
      if (elements > kElements) return false;
    }
    return device::runs_host_code(v.meta.device);
  });
}

}  // namespace

BranchTracer::BranchTracer(detail::Tracer& t, kernels::Mode mode, const detail::Outcomes& path)
    : tracer_(t), mode_(mode), path_(path) {}

std::optional<bool> BranchTracer::decide(const Expr* condition, SourceLoc loc) {
  const std::optional<std::int64_t> outcome = outcome_of(condition, loc, false);
  return outcome ? std::optional<bool>(*outcome != 0) : std::nullopt;
}

std::optional<std::int64_t> BranchTracer::value(const Expr* number, SourceLoc loc) {
  if (number->is_float()) return std::nullopt;
  if (number->kind() == ExprKind::Symbol)
    for (const detail::DataNumber& d : tracer_.data())
      if (d.is_float && d.symbol.expr() == number) return std::nullopt;
  return outcome_of(number, loc, true);
}

std::optional<std::int64_t> BranchTracer::outcome_of(const Expr* e, SourceLoc loc, bool is_number) {
  if (tracer_.in_region()) return std::nullopt;
  const guards::LibraryScope operators;
  const std::vector<Decision>& taken = tracer_.decisions();
  if (taken.size() >= detail::kMostDecisions) {
    std::map<std::uint32_t, std::size_t> by_line;
    for (const Decision& d : taken) ++by_line[d.loc.line];
    const auto most = std::max_element(by_line.begin(), by_line.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    bail(Bail::asks_of_data, "compile", loc, "the function has branched on values of tensors ", taken.size(),
         " times in one call, ", most->second, " of them at line ", most->first,
         ": a loop that ends by a value is a while_loop, compiled once for any number of turns");
  }
  const std::size_t number = taken.size();
  follows_ = follows_ && number < path_.size() && path_[number].loc.line == loc.line;
  const std::int64_t outcome = follows_ ? path_[number].value : compute(e);
  guards::ShapeEnv& env = *tracer_.env();
  Decision d;
  if (is_number) {
    const Expr* equation[] = {e, env.constant(outcome)};
    d.assumed = env.make(ExprKind::Eq, equation), d.number = e;
  } else {
    const Expr* negated[] = {e};
    d.assumed = outcome ? e : env.make(ExprKind::Not, negated);
  }
  d.outcome = outcome, d.loc = loc;
  d.of_floats = !is_number && is_of_floats(e);
  {
    const guards::ShowExpressions names;
    d.condition = guards::to_string(e);
  }
  if (logs::on(logs::Channel::Branches))
    logs::event(logs::Event::decided, tracer_.name(),
                "decision " + std::to_string(number) + " (" + line_text(loc, "an unknown line") + "): " + d.condition +
                    (is_number ? " is " + std::to_string(outcome)
                     : outcome ? " holds"
                               : " does not hold") +
                    (follows_ ? ", as the call has found" : ""),
                {{"decision", number},
                 {"condition", d.condition},
                 {"outcome", outcome},
                 {"forced", follows_},
                 {"file", loc ? loc.file : ""},
                 {"line", loc.line}});
  tracer_.decided(std::move(d));
  return outcome;
}

std::vector<std::size_t> BranchTracer::unknown_in(const Expr* e) const {
  const std::vector<detail::DataNumber>& data = tracer_.data();
  std::vector<std::size_t> found;
  auto look = [&](const Expr* part, auto& look) -> void {
    if (!tracer_.env()->of_data(part)) return;
    if (part->kind() == ExprKind::Symbol)
      for (std::size_t i = 0; i < data.size(); ++i)
        if (data[i].symbol.expr() == part && !known_.count(i) && !std::count(found.begin(), found.end(), i))
          found.push_back(i);
    for (const Expr* a : part->args()) look(a, look);
  };
  look(e, look);
  return found;
}

std::int64_t BranchTracer::compute(const Expr* e) {
  if (const std::vector<std::size_t> unknown = unknown_in(e); !unknown.empty()) read(unknown);
  std::vector<std::int64_t> values = tracer_.call_values();
  for (const auto& [number, value] : known_) values[tracer_.data()[number].word] = value;
  guards::ExprProgram program;
  const std::uint32_t slot = program.add(e);
  std::vector<std::int64_t> slots(program.size());
  program.evaluate(values.data(), slots.data());
  return slots[slot];
}

void BranchTracer::read(const std::vector<std::size_t>& numbers) {
  detail::Tracer::Prefix prefix = tracer_.prefix();
  graph::Graph& g = prefix.traced.graph;
  // What is known is given.
  std::vector<bool> keep(g.nodes.size(), true);
  for (std::size_t i = 0; i < g.nodes.size(); ++i)
    if (g.nodes[i].op == operators::read_back_op())
      keep[i] = !known_.count(static_cast<std::size_t>(std::get<Int>(g.nodes[i].args[1]).hint()));
  g.erase_nodes(keep);
  const epochs::Working working;
  const ErrorsAside errors;  // what the library catches itself is none that the function catches
  const std::vector<detail::DataNumber> data = prefix.traced.data;
  for (const auto& [number, value] : known_) prefix.values[data[number].word] = value;
  std::vector<Int> wanted;
  for (std::size_t n : numbers) wanted.push_back(data[n].symbol);
  std::vector<std::uint32_t> read;
  constexpr std::size_t kStackForCode = std::size_t{1} << 20;
  with_stack(kStackForCode, [&, rules = guards::generality(), caller = &epochs::mine()] {
    const FloatState ours;
    const graph::PlainScope plain;
    const TraceScope none(nullptr);
    const guards::LibraryScope operators;
    const guards::GeneralScope same_rules(rules);
    std::optional<epochs::Working> for_caller;
    if (&epochs::mine() != caller) for_caller.emplace(epochs::Working::ForAnother{});
    passes::run_pipeline(g);
    const kernels::Mode mode = is_little_work(g) ? kernels::Mode::Interpret : mode_;
    const Stages stages = build_prefix(std::move(prefix.traced), wanted, mode);
    const auto budget = std::make_shared<RecordingBudget>(1, INT64_MAX);
    for (const auto& stage : stages) {
      stage->recordings.keep_within(budget);
      for (const Stage::Read& r : stage->reads) read.push_back(r.word);
    }
    std::vector<Tensor> made;
    run_stages(stages, tracer_.name(), prefix.values.data(), made, prefix.inputs);
  });
  for (std::size_t i = 0; i < data.size(); ++i)
    if (std::count(read.begin(), read.end(), data[i].word)) known_[i] = prefix.values[data[i].word];
}

}  // namespace reprise::runtime
