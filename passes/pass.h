#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace reprise::passes {

struct Registered;

/// How often a registered pattern was replaced, or (`matches` 0) how near one came.
struct PatternRecord {
  std::string name;
  std::int64_t matches = 0;
  std::string why;  ///< what was not as the pattern wants
  SourceLoc loc;    ///< and where
};

/// What one pass did.
struct PassRecord {
  std::string name;
  bool changed = false;
  std::int64_t ns = 0;
  std::size_t nodes_before = 0, nodes_after = 0;
  std::vector<PatternRecord> patterns = {};
};

/// One step of the pipeline: graph to graph, both functional (functionalize.h makes a traced one so; the last step
/// makes an in-place one of it). Returns whether anything changed; running a pass twice in a row changes nothing the
/// second time (but for patterns, whose replacements may be sought again).
struct Pass {
  std::string_view name;
  bool (*run)(graph::Graph&);
  /// In place of `run`: one that does what users registered.
  bool (*run_registered)(graph::Graph&, const Registered&, PassRecord&) = nullptr;
  /// In place of both: one that counts what it has found.
  bool (*run_counting)(graph::Graph&, PassRecord&) = nullptr;
};

/// THE list, in order (passes/pipeline.cc). Where the order of two matters, it says why beside the later one.
const std::vector<Pass>& pipeline();

/// Runs every pass; verifies the graph after each when REPRISE_VERIFY >= 1 (the default in debug builds), and at
/// level 3 also that the text parses back. Throws Error(Internal) naming the pass that broke it.
/// `registered`: what users' functions go through beside them (registered.h); null: nothing. Throws Bailed
/// (pass_failed) for one of those.
std::vector<PassRecord> run_pipeline(graph::Graph&, const Registered* registered = nullptr);
/// The registered passes before functionalization, on a traced graph, without no-ops before and behind each of them.
/// Throws as above.
void run_before_functionalization(graph::Graph&, const Registered&);
/// By names, comma separated: for tests of single passes. Throws InvalidArgument for an unknown name.
std::vector<PassRecord> run_passes(std::string_view names, graph::Graph&);

// ---- the passes
bool use_known_sizes(graph::Graph&);  ///< sizes that guards made equal to a number or to each other are written as one
bool decompose(graph::Graph&);        ///< composites into primitives (passes/decompose*.cc)
bool eliminate_noops(graph::Graph&);  ///< views, casts, copies and scatters that change nothing; views of views
/// Of a traced graph: views that show all of what they are of as it is, and what is copied to itself. No step of the
/// pipeline, whose passes find more once there are values only: for users' passes before functionalization.
bool eliminate_traced_noops(graph::Graph&);
/// what has several spellings in primitives (squares, roots of rows) gets that of the composites
bool spell_alike(graph::Graph&);
/// The library's own patterns (Registered::shipped): primitives become the operator that they make up.
bool compose(graph::Graph&, const Registered&, PassRecord&);
bool fold_constants(graph::Graph&);  ///< operators on `full` values; full operands into scalar arguments
/// Products of weights that are stored quantized and widened before: scaled_mm. One of the library's own patterns by
/// its name.
bool quantized_weights(graph::Graph&, PassRecord&);
bool padded_sums(graph::Graph&);  ///< parts in zeros that are added up become one tensor of parts
/// an elementwise operator of a cat, or a copy in another order, becomes a cat of what it makes of the parts
bool cat_last(graph::Graph&);
bool merge_equal(graph::Graph&);  ///< CSE; random nodes merge only when seed and offset are the same
/// What reads a part of a value that was written in place since reads it of the newest value, where it is known to be
/// the same there, or a copy of the part: then nothing keeps the write out of the old value's memory.
bool part_reads(graph::Graph&);
/// Functional -> InPlace, the last one: writes down which results are asked to lie in the memory of which values
/// (Node::tied): new values of inputs in the inputs, what the program writes in place in what it writes. Whether they
/// can is for kernels/plan to prove.
bool reinplace(graph::Graph&);
/// Registered patterns become what shall stand for them; those of more weight first. Equal and dead nodes are gone
/// before it is sought.
bool match_patterns(graph::Graph&, const Registered&, PassRecord&);
/// No step of the pipeline: for devices, after it. Nodes that choose between regions become both of them and `where`.
/// Throws Bailed (branch_may_fail) for what must not run unless it is chosen.
bool inline_regions(graph::Graph&);
bool remove_dead(graph::Graph&);  ///< DCE; nodes that may fail stay: their error is part of the program's meaning

}  // namespace reprise::passes
