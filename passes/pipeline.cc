#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>

#include "base/bail.h"
#include "base/errors.h"
#include "base/knobs.h"
#include "base/list.h"
#include "base/log.h"
#include "base/timeline.h"
#include "graph/text.h"
#include "passes/difference.h"
#include "passes/layouts.h"
#include "passes/pass.h"
#include "passes/regions.h"
#include "passes/registered.h"

#include <nlohmann/json.hpp>

namespace reprise::passes {

const std::vector<Pass>& pipeline() {
  static const auto& kPipeline = *new std::vector<Pass>{
      // What was traced before a guard was taken does not know of it: a `1` decides which views and which code are
      // possible.
      {"use_known_sizes", use_known_sizes},
      // Replaying views after writes leaves many equal slices: merge first, so that later rules see through them.
      {"merge_equal", merge_equal},
      {"eliminate_noops", eliminate_noops},
      // Before composites are gone: they are parts of what is sought, and what is found may be one.
      {"spell_alike", spell_alike},
      {"compose", nullptr, compose},
      {"decompose", decompose},
      // After decompose: composites bring constants (1/sqrt(d), eps) and casts of their own.
      {"fold_constants", fold_constants},
      {"eliminate_noops", eliminate_noops},
      // What is sought was brought into the form that the graph has now.
      {"match_patterns", nullptr, match_patterns},
      // After it: what users seek is there as they know it. Composites are gone, and casts are where they are needed.
      {"quantized_weights", nullptr, nullptr, quantized_weights},
      // Zeros and scatters are as plain as they will be, and what becomes a cat is one for the next.
      {"padded_sums", padded_sums},
      // After the casts that do nothing are gone: what is left is worth doing before the parts are stored.
      {"cat_last", cat_last},
      // After the last pass that moves operators: what stands between convolutions is known. What it copies twice is
      // merged behind it.
      {"layouts", nullptr, nullptr, layouts},
      {"merge_equal", merge_equal},
      // After the last pass that takes copies away.
      {"part_reads", part_reads},
      {"remove_dead", remove_dead},
      // Must be last: it records in-place decisions per value, and later rewrites would invalidate them.
      {"reinplace", reinplace},
  };
  return kPipeline;
}

namespace {

/// What became of regions, which several nodes may share: by what they were, which is kept alive.
struct Done {
  graph::Region before, after;
};
using RegionsDone = std::unordered_map<const graph::Graph*, Done>;

template <class F>
bool with_regions(graph::Graph& g, const F& run, RegionsDone& done) {
  bool changed = false;
  for (graph::Node& n : g.nodes)
    for (graph::NodeArg& a : n.args) {
      auto* region = std::get_if<graph::Region>(&a);
      if (!region) continue;
      auto it = done.find(region->get());
      if (it == done.end()) {
        graph::Graph copy = **region;
        const bool other = with_regions(copy, run, done);
        it = done.try_emplace(region->get(), Done{*region, *region}).first;
        if (other) it->second.after = std::make_shared<const graph::Graph>(std::move(copy));
      }
      changed = changed || it->second.after != *region;
      *region = it->second.after;
    }
  return run(g) || changed;
}
/// Regions first: what stands in them is a graph like any other, of the form that the one around it has.
template <class F>
bool with_regions(graph::Graph& g, const F& run) {
  RegionsDone done;
  return with_regions(g, run, done);
}

bool has_regions(const graph::Graph& g) {
  return std::any_of(g.nodes.begin(), g.nodes.end(),
                     [](const graph::Node& n) { return graph::op(n.op).cls == graph::OpClass::Control; });
}

/// What the rest of a compilation relies on, and no registered pass may change.
std::string signature_of(const graph::Graph& g) {
  std::ostringstream s;
  auto type = [&](graph::ValueId v) {
    if (!v) return;
    const TensorMeta& m = g.meta(v);
    s << ' ' << dtype_name(m.dtype) << " [";
    for (Int size : m.layout.sizes) s << ' ' << (g.env ? Int(g.env->simplify(g.env->of(size))) : size);
    s << " ]@" << m.device.str();
  };
  s << "form " << static_cast<int>(g.form) << ", " << g.numbers.size() << " numbers";
  for (const graph::InputSpec& in : g.inputs) {
    s << "\ninput '" << g.values[in.value.v].name << "'";
    type(in.value);
    s << (in.mutates_data ? " mutates_data" : "") << (in.mutates_metadata ? " mutates_metadata" : "");
  }
  for (const graph::OutputSpec& o : g.outputs) {
    s << "\noutput of kind " << static_cast<int>(o.kind) << " of " << o.source;
    type(o.value);
  }
  return s.str();
}

/// Tells what a pass did, from the graph's text before and after.
class Told {
 public:
  explicit Told(const graph::Graph& g) : g_(g), before_(logs::on(logs::Channel::Passes) ? graph::print(g) : "") {}
  void done(const PassRecord& r) const {
    if (!logs::on(logs::Channel::Passes)) return;
    const std::string lines = r.changed ? difference(before_, graph::print(g_)) : "";
    const double us = static_cast<double>(r.ns) / 1000;
    std::ostringstream text;
    text << r.name << ": " << us << " us, "
         << (r.changed ? std::to_string(r.nodes_before) + " -> " + std::to_string(r.nodes_after) + " nodes\n" + lines
                       : "nothing to do");
    logs::event(logs::Event::pass, g_.name, text.str(),
                {{"pass", r.name},
                 {"changed", r.changed},
                 {"ns", r.ns},
                 {"nodes_before", r.nodes_before},
                 {"nodes_after", r.nodes_after},
                 {"difference", lines}});
    for (const PatternRecord& p : r.patterns)
      if (p.matches)
        logs::event(logs::Event::matched, g_.name,
                    "pattern " + p.name + ": " + std::to_string(p.matches) + (p.matches == 1 ? " match" : " matches"),
                    {{"pattern", p.name}, {"matches", p.matches}});
      else
        logs::event(
            logs::Event::nearly_matched, g_.name,
            "pattern " + p.name + " is nearly there: " + p.why +
                (p.loc ? " (at " + std::string(p.loc.file) + ":" + std::to_string(p.loc.line) + ")" : ""),
            {{"pattern", p.name}, {"why", p.why}, {"file", p.loc ? p.loc.file : ""}, {"line", p.loc ? p.loc.line : 0}});
  }

 private:
  const graph::Graph& g_;
  const std::string before_;
};

template <class F>
PassRecord timed(std::string name, graph::Graph& g, F&& run) {
  PassRecord record{std::move(name), false, 0, g.nodes.size(), 0};
  const Told told(g);
  const timeline::Slice slice("compile", record.name);
  auto start = std::chrono::steady_clock::now();
  record.changed = run(record);
  record.ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  record.nodes_after = g.nodes.size();
  told.done(record);
  return record;
}

PassRecord run_one(const Pass& pass, graph::Graph& g, std::int64_t level, const Registered* registered = nullptr) {
  PassRecord record = timed(std::string(pass.name), g, [&](PassRecord& r) {
    return with_regions(g, [&](graph::Graph& of) {
      if (pass.run) return pass.run(of);
      return pass.run_counting ? pass.run_counting(of, r) : registered && pass.run_registered(of, *registered, r);
    });
  });
  if (level >= 1) graph::verify(g, pass.name);
  if (level >= 3) {
    std::string text = graph::print(g, false);
    std::string again = graph::print(graph::parse_unverified(text), false);
    if (text != again)
      fail(ErrorCode::Internal, "", {}, "after pass ", std::string(pass.name),
           " the graph's text does not parse back:\n", text, "\nagainst\n", again);
  }
  return record;
}

/// Verified, whatever the level is: nothing is known of who wrote it.
PassRecord run_user(const RegisteredPass& pass, graph::Graph& g) {
  auto refuse = [&](const std::string& why) { bail(Bail::pass_failed, "compile", {}, "pass '", pass.name, "' ", why); };
  const graph::Graph before = g;
  PassRecord record;
  try {
    record = timed(pass.name, g, [&](PassRecord&) { return pass.run(g); });
  } catch (const Bailed&) {
    throw;
  } catch (const Error& e) {
    refuse("throws " + std::string(error_code_name(e.code())) + ": " + e.message());
  } catch (const std::exception& e) {
    refuse(std::string("throws: ") + e.what());
  } catch (...) {
    refuse("throws what is no std::exception");
  }
  if (std::optional<graph::Mistake> m = graph::first_mistake(g)) refuse("leaves a graph that is not right: " + m->text);
  // Both as they are known now: who looks at the graph may ask what follows from what is known, but was not told.
  const std::string was = signature_of(before), is = signature_of(g);
  if (was != is) refuse("changes the signature:\n" + difference(was, is));
  return record;
}

class Run {
 public:
  Run(graph::Graph& g, const Registered* registered) : g_(g), registered_(registered) {}

  void at(Place::Point point, std::string_view pass = {}) {
    if (!registered_) return;
    for (const auto& p : registered_->passes) {
      if (p->place.point != point || p->place.pass != pass) continue;
      records.push_back(run_user(*p, g_));
      if (records.back().changed && !p->preserves.normal_form && (cleans_ || g_.form == graph::Form::Traced)) clean();
    }
  }
  void before_functionalization() {
    constexpr Place::Point kPoint = Place::Point::BeforeFunctionalization;
    if (std::none_of(registered_->passes.begin(), registered_->passes.end(),
                     [](const auto& p) { return p->place.point == kPoint; }))
      return;
    clean();
    at(kPoint);
  }
  void at_joint() {
    cleans_ = true;
    at(Place::Point::BeforePartition);
  }
  void all() {
    const std::int64_t level = knobs().verify;
    at(Place::Point::AfterFunctionalization);
    for (const Pass& pass : pipeline()) {
      at(Place::Point::Before, pass.name);
      records.push_back(run_one(pass, g_, level, registered_));
      cleans_ = g_.form == graph::Form::Functional && (cleans_ || pass.name == "decompose");
      at(Place::Point::After, pass.name);
      // Behind it bodies of equal sizes say so.
      if (pass.run == use_known_sizes && has_regions(g_))
        records.push_back(run_one({"share_regions", share_regions}, g_, level));
    }
    cleans_ = false;
    at(Place::Point::AfterReinplacing);
  }

  std::vector<PassRecord> records;

 private:
  /// What composites, needless views and equal nodes a user's pass has made is gone again.
  void clean() {
    if (g_.form == graph::Form::Traced) {
      records.push_back(run_one({"eliminate_noops", eliminate_traced_noops}, g_, knobs().verify));
      return;
    }
    for (const char* name : {"merge_equal", "eliminate_noops", "decompose", "fold_constants", "eliminate_noops"})
      records.push_back(
          run_one(*std::find_if(pipeline().begin(), pipeline().end(), [&](const Pass& p) { return p.name == name; }),
                  g_, knobs().verify));
  }
  graph::Graph& g_;
  const Registered* registered_;
  bool cleans_ = false;  // the passes that make the normal form have run
};

}  // namespace

std::vector<PassRecord> run_pipeline(graph::Graph& g, const Registered* registered) {
  REPRISE_CHECK(g.form == graph::Form::Functional);
  if (knobs().verify >= 1) graph::verify(g, "functionalize");
  Run run(g, registered);
  run.all();
  return std::move(run.records);
}

void run_before_functionalization(graph::Graph& g, const Registered& registered) {
  Run(g, &registered).before_functionalization();
}

namespace {

void run_until(std::string_view last, graph::Graph& g, const Registered* registered) {
  PassRecord record;
  for (const Pass& pass : pipeline()) {
    if (pass.name == last) break;
    if (pass.run) pass.run(g);
    else if (pass.run_counting) pass.run_counting(g, record);
    else if (registered) pass.run_registered(g, *registered, record);
  }
  merge_equal(g);
  remove_dead(g);
}

/// `nearly`: report what a near match lacks. `pairs`: in a joint graph.
bool seek(graph::Graph& g, const std::vector<std::shared_ptr<const RegisteredPattern>>& patterns, bool nearly,
          PassRecord& record, bool pairs = false) {
  if (patterns.empty()) return false;
  bool changed = merge_equal(g);
  changed = remove_dead(g) || changed;
  std::optional<SearchedGraph> searched;
  for (const auto& p : patterns) {
    PatternRecord now{p->name, 0, {}, {}};
    NearMatch nearest;
    std::size_t wanted = 0;
    for (const PatternGraphs& graphs : pairs ? p->pairs : p->graphs) {
      if (!searched) searched.emplace(g);
      std::vector<bool> taken(g.nodes.size());
      std::vector<Match> matches;
      try {
        matches = find_matches(*searched, graphs, p->may_match, taken, nearly ? &nearest : nullptr);
        if (matches.empty()) {
          wanted = std::max(wanted, graphs.pattern.nodes.size());
          continue;
        }
        searched.reset();
        replace(g, matches);
      } catch (const Bailed&) {
        throw;
      } catch (const std::exception& e) {
        bail(Bail::pass_failed, "compile", {}, "pattern '", p->name, "' throws: ", e.what());
      }
      remove_dead(g);
      now.matches += static_cast<std::int64_t>(matches.size());
    }
    changed = changed || now.matches;
    // Of one that is not there, a part alone says nothing: half of it must be.
    if (!now.matches && (nearest.nodes < 2 || nearest.nodes * 2 < wanted)) continue;
    if (!now.matches) now.why = std::move(nearest.why), now.loc = nearest.loc;
    record.patterns.push_back(std::move(now));
  }
  return changed;
}

}  // namespace

void normalize(graph::Graph& g, const Registered* shipped) { run_until("match_patterns", g, shipped); }
void normalize_for_compose(graph::Graph& g) { run_until("compose", g, nullptr); }

bool compose(graph::Graph& g, const Registered& registered, PassRecord& record) {
  return seek(g, registered.shipped, false, record);
}
bool match_patterns(graph::Graph& g, const Registered& registered, PassRecord& record) {
  return seek(g, registered.patterns, true, record);
}

std::vector<PassRecord> open_joint_graph(graph::Graph& g, const Registered& registered, bool (*is_mark)(graph::OpId)) {
  auto marks = [&] {
    std::vector<std::pair<graph::OpId, std::int64_t>> all;
    for (const graph::Node& n : g.nodes)
      if (is_mark(n.op)) all.emplace_back(n.op, std::get<Int>(n.args[1]).hint());
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto before = marks();
  Run run(g, &registered);
  run.at_joint();
  if (marks() != before)
    bail(Bail::pass_failed, "compile", {},
         "a pass before the cut of a joint graph drops or repeats a tangent or a gradient");
  if (std::any_of(registered.patterns.begin(), registered.patterns.end(),
                  [](const auto& p) { return !p->pairs.empty(); }) ||
      std::any_of(registered.shipped.begin(), registered.shipped.end(),
                  [](const auto& p) { return !p->pairs.empty(); }))
    run.records.push_back(timed("match_pairs", g, [&](PassRecord& r) {
      const bool users = seek(g, registered.patterns, true, r, true);
      return seek(g, registered.shipped, false, r, true) || users;
    }));
  if (knobs().verify >= 1) graph::verify(g, "match_pairs");
  return std::move(run.records);
}

std::vector<PassRecord> run_passes(std::string_view names, graph::Graph& g) {
  std::vector<PassRecord> records;
  for_each_listed(names, [&](std::string_view name) {
    auto it = std::find_if(pipeline().begin(), pipeline().end(), [&](const Pass& p) { return p.name == name; });
    if (it == pipeline().end())
      fail(ErrorCode::InvalidArgument, "run_passes", {}, "no pass is named '", std::string(name), "'");
    const std::shared_ptr<const Registered> all = registered();
    records.push_back(run_one(*it, g, 3, all.get()));
  });
  return records;
}

}  // namespace reprise::passes
