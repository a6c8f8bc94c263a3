#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "guards/env_archive.h"
#include "guards/general.h"
#include "kernels/launch/launch.h"
#include "kernels/plan/lower.h"
#include "passes/pass.h"
#include "runtime/build/folding.h"

namespace reprise::runtime {

// Note [Recipes]
// What passes and lowering make of a trace's graph is a function of what they read, and all of that has a text: the
// graph, the environment with everything that was asked in it, the mode, the generality of the trace, the knobs, the
// processor and the build of this library. So it is kept in the folder of kernels (jit/engine/disk_cache.h) under a
// digest of that text, and a later process that traces the same reads it: no pass and no lowering runs, and with its
// kernels, which lie beside it, nothing is compiled. The trace itself runs always: what a function does, only running
// it tells. Nothing is kept of what other processes may not have: users' passes, patterns and operators.
//
// That the text says all that they read is what REPRISE_RECIPES=verify proves: everything is made all the same, and
// must come out byte by byte as it was kept; and what runs is what was read back.

/// All of a program but its code, and the guards that passes and lowering added to the environment.
struct Recipe {
  graph::Graph graph;                           ///< behind all passes
  std::vector<passes::PatternRecord> patterns;  ///< that were replaced in it, or came near
  kernels::Lowered lowered;
  FoldedParts folded{};  ///< of frozen tensors, for the program of `graph`
  /// guards::GuardSet::kept() of all its guards; none: nobody has found that out
  std::optional<std::vector<std::uint32_t>> kept{};
};

/// Where the recipe of one compilation is kept: made before passes see the graph. One thread.
class RecipePlace {
 public:
  /// `why_not`: why a recipe of this call would be of no use to others; empty: it would be.
  RecipePlace(const std::string& name, const detail::Traced&, kernels::Mode, guards::Generality, std::string why_not);
  /// As an earlier process has kept it; the environment has learned what comes with it. None: it is to be made.
  std::optional<Recipe> find();
  /// It was made, and passes and lowering are through with the environment.
  void made(Recipe&);
  /// Keeps what was made. `kept`: Recipe::kept.
  void keep(const std::vector<std::uint32_t>& kept);

 private:
  void tell(const char* outcome, const std::string& why, std::size_t bytes = 0);
  Recipe parse(std::string_view bytes, bool learns) const;

  const std::string name_;
  const std::shared_ptr<guards::ShapeEnv> env_;
  const guards::EnvMark begin_;  // where passes begin
  const bool verifies_;
  std::string key_;           // empty: nothing is kept
  std::string made_, there_;  // archives: what was made, and what the folder has
  const std::chrono::steady_clock::time_point start_;
};

}  // namespace reprise::runtime
