#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace reprise::passes {

/// Where a registered pass runs, and on which form of the graph.
struct Place {
  enum class Point : std::uint8_t {
    /// Traced: calls as the program made them. Its last outputs are the arguments' own views, and no results
    BeforeFunctionalization,
    /// Functional, before all other passes: composites and needless views are still there (where derivatives follow,
    /// parts of composites: Note [Joint graphs])
    AfterFunctionalization,
    Before,
    After,             ///< Functional, by a pass of pipeline() whose name is `pass`
    AfterReinplacing,  ///< InPlace: nothing else changes the graph any more
    /// Of calls that want gradients alone: a joint graph in normal form, before it is cut (Note [Joint graphs] in
    /// partition.h). Its marks must stay: each tangent and each gradient once. The other points see the two parts.
    BeforePartition,
  } point = Point::AfterFunctionalization;
  std::string pass = {};
};

/// What a pass leaves as it was. The signature (inputs, outputs, their dtypes and sizes) every pass must, and is
/// refused where it does not.
struct Preserves {
  /// There is no composite, no needless view and no equal pair of nodes where there was none. Where a pass cannot say
  /// so, the passes that see to it run once more behind it.
  bool normal_form = false;
};

/// A user's pass: changes the graph and says whether it did. It runs in each compilation of a user's function, on any
/// thread, maybe on several at once. What it throws, and what the verifier says of the graph that it leaves, is logged
/// under its name, and the call that was to be compiled is served eagerly (reason `pass_failed`).
struct RegisteredPass {
  std::string name;
  Place place;
  std::function<bool(graph::Graph&)> run;
  Preserves preserves = {};
};

/// What is sought in graphs and what takes its place.
struct RegisteredPattern {
  std::string name;
  /// higher ones first; then patterns of more nodes, then the order of registration
  int priority = 0;
  std::vector<PatternGraphs> graphs;  ///< by dtypes and ranks
  PatternCondition may_match = {};
  std::vector<PatternGraphs> pairs = {};  ///< with its derivative, sought in joint graphs; by dtypes and ranks
};

/// Everything that is registered at a time, in the order in which it is done. Never changes.
struct Registered {
  std::vector<std::shared_ptr<const RegisteredPass>> passes;
  std::vector<std::shared_ptr<const RegisteredPattern>> patterns;
  /// The library's own that this graph may have (runtime/build/shipped_patterns.h), in the order in which they are
  /// sought: before composites are taken apart, so that what they make is one more spelling for those above. Not in
  /// registered().
  std::vector<std::shared_ptr<const RegisteredPattern>> shipped;
};

/// For compilations from now on; what is compiled stays as it is (CompiledFunction::reset() forgets it). Any thread.
/// Throw InvalidArgument, and nothing is registered, for a name that is taken, an empty one, one of pipeline(), and a
/// place that is none.
void register_pass(RegisteredPass);
void add_pattern(RegisteredPattern);
/// False: there is none of this name.
bool unregister_pass(std::string_view name);
bool remove_pattern(std::string_view name);
/// Null: nothing is registered.
std::shared_ptr<const Registered> registered();

/// One of the library's own patterns that is a pass of its own.
inline constexpr std::string_view kQuantizedWeights = "quantized_weights";
/// Is the library's own pattern of this name sought (REPRISE_PATTERNS)?
bool is_wanted(std::string_view name);

/// A joint graph in normal form before it is cut: registered passes (BeforePartition), then patterns that are pairs.
/// `is_mark`: tangents and gradients. Throws Bailed (pass_failed) as run_pipeline() does.
std::vector<PassRecord> open_joint_graph(graph::Graph&, const Registered&, bool (*is_mark)(graph::OpId));

/// Makes the normal form in which a graph is searched for patterns, and in which patterns are kept: all passes before
/// `match_patterns`. `shipped`: what `compose` seeks.
void normalize(graph::Graph&, const Registered* shipped = nullptr);
/// The form in which the library's own are sought: all passes before `compose`.
void normalize_for_compose(graph::Graph&);
/// Throws InvalidArgument, saying what, where these graphs can be no pattern: nothing to seek, results that differ in
/// number, dtype or sizes, arguments given back, random numbers, a replacement that reads what the pattern does not
/// bind. Both are normal forms, and each of their outputs has a value: a result or the new one of an input.
void check_pattern(std::string_view name, const PatternGraphs&);

}  // namespace reprise::passes
