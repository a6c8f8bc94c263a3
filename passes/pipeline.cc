#include <algorithm>
#include <chrono>
#include <string>

#include "base/errors.h"
#include "base/knobs.h"
#include "graph/text.h"
#include "passes/pass.h"

namespace reprise::passes {

const std::vector<Pass>& pipeline() {
  static const auto& kPipeline = *new std::vector<Pass>{
      // What was traced before a guard was taken does not know of it: a `1` decides which views and which code are possible.
      {"use_known_sizes", use_known_sizes},
      // Replaying views after writes leaves many equal slices: merge first, so that later rules see through them.
      {"merge_equal", merge_equal},
      {"eliminate_noops", eliminate_noops},
      {"decompose", decompose},
      // After decompose: composites bring constants (1/sqrt(d), eps) and casts of their own.
      {"fold_constants", fold_constants},
      {"eliminate_noops", eliminate_noops},
      // After the casts that do nothing are gone: what is left is worth doing before the parts are stored.
      {"cat_last", cat_last},
      {"merge_equal", merge_equal},
      {"remove_dead", remove_dead},
      // Nothing changes the graph any more: what is asked of memory is asked of these values.
      {"reinplace", reinplace},
  };
  return kPipeline;
}

namespace {

/// Regions first: what stands in them is a graph like any other, of the form that the one around it has.
bool run_with_regions(const Pass& pass, graph::Graph& g) {
  bool changed = false;
  for (graph::Node& n : g.nodes)
    changed |= graph::replace_regions(n, [&](const graph::Graph& region) -> graph::Region {
      graph::Graph copy = region;
      if (!run_with_regions(pass, copy)) return nullptr;
      return std::make_shared<const graph::Graph>(std::move(copy));
    });
  return pass.run(g) || changed;
}

PassRecord run_one(const Pass& pass, graph::Graph& g, std::int64_t level) {
  PassRecord record{pass.name, false, 0, g.nodes.size(), 0};
  auto start = std::chrono::steady_clock::now();
  record.changed = run_with_regions(pass, g);
  record.ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  record.nodes_after = g.nodes.size();
  if (level >= 1) graph::verify(g, pass.name);
  if (level >= 3) {
    std::string text = graph::print(g, false);
    std::string again = graph::print(graph::parse_unverified(text), false);
    if (text != again)
      fail(ErrorCode::Internal, "", {}, "after pass ", std::string(pass.name), " the graph's text does not parse back:\n", text,
           "\nagainst\n", again);
  }
  return record;
}

}  // namespace

std::vector<PassRecord> run_pipeline(graph::Graph& g) {
  std::int64_t level = knobs().verify;
  REPRISE_CHECK(g.form == graph::Form::Functional);
  if (level >= 1) graph::verify(g, "functionalize");
  std::vector<PassRecord> records;
  for (const Pass& pass : pipeline()) records.push_back(run_one(pass, g, level));
  return records;
}

std::vector<PassRecord> run_passes(std::string_view names, graph::Graph& g) {
  std::vector<PassRecord> records;
  while (!names.empty()) {
    std::size_t comma = names.find(',');
    std::string_view name = names.substr(0, comma);
    auto it = std::find_if(pipeline().begin(), pipeline().end(), [&](const Pass& p) { return p.name == name; });
    if (it == pipeline().end()) fail(ErrorCode::InvalidArgument, "run_passes", {}, "no pass is named '", std::string(name), "'");
    records.push_back(run_one(*it, g, 3));
    names = comma == std::string_view::npos ? std::string_view{} : names.substr(comma + 1);
  }
  return records;
}

}  // namespace reprise::passes
