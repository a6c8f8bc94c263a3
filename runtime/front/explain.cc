#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "graph/signature.h"
#include "runtime/front/compiled.h"
#include "runtime/replay/profile.h"
#include "runtime/trace/joint.h"
#include "runtime/trace/tracer.h"

namespace reprise::detail {

namespace {
/// How a result that is a view was made, where the function decides that: not where gradients are off around it.
graph::ViewMade made_by_function(const Specialization& s, std::size_t leaf) {
  const graph::ViewMade made = s.views ? s.views->made(static_cast<std::uint32_t>(leaf)) : graph::ViewMade::Followed;
  const bool off_around = s.settings.word & bits_of(graph::Setting::NoGrad);
  return made == graph::ViewMade::GradientsOff && off_around ? graph::ViewMade::Followed : made;
}
}  // namespace

std::string explain(const Compiled& c, Detail detail) {
  const auto wants = [&](Detail d) { return (static_cast<unsigned>(detail) & static_cast<unsigned>(d)) != 0; };
  Stats s = stats_of(c);
  std::ostringstream out;
  out << c.options.name << ": " << s.specializations << " of at most " << c.options.max_specializations
      << " specializations, " << s.calls << " calls = " << s.replays << " replayed + " << s.eager_fallbacks << " eager";
  for (const Stats::Fallback& f : s.fallbacks)
    out << (&f == &s.fallbacks.front() ? " (" : ", ") << f.reason << " " << f.calls
        << (&f == &s.fallbacks.back() ? ")" : "");
  out << "\n";
  out << "  pool " << s.pool_bytes << " bytes; recordings " << s.recordings << " live, " << s.recordings_made
      << " made, " << s.evictions << " evicted, " << s.recording_bytes << " bytes; copied beyond eager "
      << s.copied_bytes << " bytes\n";
  out << "  machine code " << s.code_bytes << " bytes\n";
  if (s.building) out << "  " << s.building << " compiled in the background now\n";
  if (s.replaced) out << "  " << s.replaced << " specializations have made room for others\n";
  if (s.retired)
    out << "  " << s.retired << " retired specializations, until the calls in them end and the next one compiles\n";
  if (s.dispatch_ns > 0)
    out << "  a call's guards and lookup take " << static_cast<std::int64_t>(s.dispatch_ns) << " ns, on average\n";
  for (const Stats::Match& m : s.matches)
    out << (&m == &s.matches.front() ? "  patterns: " : ", ") << m.pattern << " " << m.matches
        << (&m == &s.matches.back() ? "\n" : "");
  if (!s.last_fallback_reason.empty()) out << "  latest call served eagerly: " << s.last_fallback_reason << "\n";
  if (!s.launches.empty()) {
    std::int64_t ns = 0;
    for (const Stats::Launch& l : s.launches) ns += l.ns;
    const Stats::Launch& first = s.launches.front();
    out << "  profiled: " << static_cast<double>(ns) / 1e6 << " ms in launches, "
        << 100 * first.ns / std::max<std::int64_t>(ns, 1) << " % of that in " << first.name
        << (first.line.empty() ? "" : " (" + first.line + ")") << "\n";
  }
  LockedCompiled lock(c);
  for (const auto& p : c.owned) {
    runtime::RecordingCache::Counts r = p->recordings.counts();
    out << "\n"
        << p->name << ": " << p->replays << " replays, " << r.live << " recordings; traced in " << p->trace_ns / 1000
        << " us, compiled in " << p->build_ns / 1000 << " us\n";
    out << "  guards (" << p->guards.size() << ", beside dtypes, ranks, layouts and constants)"
        << (wants(Detail::Guards) ? ":\n" : "\n");
    for (std::uint32_t i = 0; wants(Detail::Guards) && i < p->guards.size(); ++i)
      out << "    " << p->guards.text(i) << "\n";
    for (const passes::PatternRecord& of : p->patterns) {
      if (of.matches)
        out << "  pattern " << of.name << ": " << of.matches << (of.matches == 1 ? " match\n" : " matches\n");
      else
        out << "  pattern " << of.name << " is nearly there: " << of.why
            << (of.loc ? " (at " + std::string(of.loc.file) + ":" + std::to_string(of.loc.line) + ")" : "") << "\n";
    }
    if (p->folding) out << p->folding->text(wants(Detail::Graph));
    const graph::Graph& g = p->program.graph;
    for (std::size_t i = 0; i < g.outputs.size(); ++i) {
      const graph::OutputSpec& o = g.outputs[i];
      if (o.kind != graph::OutputSpec::Kind::NewValueOfInput) continue;
      out << "  " << g.values[g.inputs[o.source].value.v].name
          << (p->program.lowered.outputs[i].in_place ? " is written in place" : " is written in the epilogue") << ": "
          << p->program.lowered.outputs[i].why << "\n";
    }
    for (std::size_t i = 0; i < p->before.size(); ++i) {
      const runtime::Stage& stage = *p->before[i];
      out << "  stage " << i << ", " << stage.recordings.counts().live << " recordings: " << runtime::text_of(stage)
          << "\n";
      if (wants(Detail::Graph)) out << "  graph:\n" << graph::print(stage.program.graph);
      if (wants(Detail::Launches)) out << "  launches:\n" << kernels::print(stage.program.lowered);
    }
    for (std::uint32_t i = 0; i < p->tensor_results.size(); ++i)
      if (const graph::ViewMade made = made_by_function(*p, i); made != graph::ViewMade::Followed)
        out << "  result " << i
            << (made == graph::ViewMade::InFunction ? " is a view that a Function has returned"
                                                    : " is a view that was made while gradients were off")
            << ": nothing that has a gradient is written through it\n";
    if (!p->before.empty()) out << "  stage " << p->before.size() << ", the last: what is left\n";
    if (wants(Detail::Graph)) out << "  graph:\n" << graph::print(g);
    if (wants(Detail::Launches)) out << "  launches:\n" << kernels::print(p->program.lowered, p->gradients != nullptr);
    if (p->gradients) out << explain_backward(*p->gradients, detail);
    if (!wants(Detail::Times)) continue;
    if (std::vector<Stats::Launch> took = p->launches(""); !took.empty()) {
      constexpr std::size_t kRows = 60;
      out << "  times:\n" << runtime::print_launches(std::move(took), kRows);
    }
  }
  out << print_branches(c);
  for (const Compiled::Refusal& r : c.refusals) out << "\nserved eagerly: " << r.reason << "\n";
  return out.str();
}

std::string signature(const Compiled& c) {
  nlohmann::json all{{"function", c.options.name}, {"specializations", nlohmann::json::array()}};
  LockedCompiled lock(c);
  for (const auto& p : c.owned) {
    nlohmann::json one = graph::signature(p->program.graph);
    one["name"] = p->name;
    for (std::size_t i = 0; i < p->input_words.size(); ++i)
      one["inputs"][i]["layout"] = runtime::layout_name(p->input_words[i]);
    one["guards"] = nlohmann::json::array();
    for (std::uint32_t i = 0; i < p->guards.size(); ++i) one["guards"].push_back(p->guards.condition(i));
    for (std::size_t i = 0; i < p->program.graph.outputs.size(); ++i)
      if (p->program.graph.outputs[i].kind == graph::OutputSpec::Kind::NewValueOfInput)
        one["outputs"][i]["in_place"] = p->program.lowered.outputs[i].in_place;
    // What the function returns, in order: an output of the list, an input's own handle, or nothing.
    one["results"] = nlohmann::json::array();
    // Then what it assigns to variables.
    if (!p->assigned.empty()) one["assigns"] = nlohmann::json::array();
    const std::size_t saved = p->gradients ? saved_tensors(*p->gradients) : 0;
    if (saved) one["saved"] = nlohmann::json::array();
    if (const std::string backward = p->gradients ? signature_of_backward(*p->gradients) : ""; !backward.empty())
      one["backward"] = nlohmann::json::parse(backward);
    for (std::size_t i = 0; i < p->tensor_results.size(); ++i) {
      if (i + saved >= p->tensor_results.size()) {
        one["saved"].push_back({{"output", p->tensor_results[i]}});
        continue;
      }
      const std::int32_t r = p->tensor_results[i];
      if (const graph::ViewMade made = made_by_function(*p, i); made != graph::ViewMade::Followed)
        one["outputs"][static_cast<std::size_t>(r)]["made"] =
            made == graph::ViewMade::InFunction ? "in_function" : "gradients_off";
      one[i + p->assigned.size() < p->tensor_results.size() ? "results" : "assigns"].push_back(
          r == -1  ? nlohmann::json(nullptr)
          : r < -1 ? nlohmann::json{{"input", input_itself(static_cast<std::size_t>(r))}}
                   : nlohmann::json{{"output", r}});
    }
    all["specializations"].push_back(std::move(one));
  }
  return all.dump(2);
}

}  // namespace reprise::detail
