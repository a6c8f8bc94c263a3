#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "guards/shape_env.h"
#include "runtime/build/data_size_elimination.h"
#include "runtime/replay/program.h"
#include "runtime/replay/recording.h"
#include "runtime/trace/tracer.h"

namespace reprise::runtime {

/// A part of a program that runs before its last one, and gives the numbers that what follows depends on (Note [Sizes
/// that depend on data] in guards/data_symbols.cc). Its tensors are the call's, then the results of the stages before
/// it; its values the call's, with the numbers known so far. Never moves: recordings refer to it.
struct Stage {
  /// A number that it gives: the element of which tensor that it is given or makes, counted on from those that it is
  /// given; which of the call's values.
  struct Read {
    std::uint32_t tensor, word;
  };
  explicit Stage(Program p) : program(std::move(p)), recordings(program) {
    for (std::size_t i = 0; i < program.graph.outputs.size(); ++i) results.push_back(static_cast<std::int32_t>(i));
  }
  const Program program;
  std::vector<std::int32_t> results;  ///< all outputs, as Recording::replay wants them
  std::vector<Read> reads;
  std::vector<SourceLoc> lines;    ///< by read: which of the program asked for it
  std::vector<ReadFor> needed_by;  ///< and who needs it
  /// What was assumed of numbers that are known when it has run, and of no later ones: conditions, by the slots of
  /// their values.
  guards::ExprProgram assumed;
  struct Condition {
    std::uint32_t slot;
    std::string text;
    std::int32_t decision = -1;     ///< which of the trace's (Note [Branches on values] in branches.h); -1: none
    std::int32_t number_slot = -1;  ///< of a decision that is a number: where it stands
    bool of_floats = false;         ///< Decision::of_floats
    bool in_order = true;           ///< all decisions before it have been asked when it is asked
    detail::Outcome outcome;        ///< of a decision, where the condition holds
  };
  std::vector<Condition> conditions;
  /// Of a function that branches on values: the graph as a text, without what it gives; which of its values it gives.
  std::string text;
  std::vector<std::uint32_t> gives;
  guards::ExprProgram made;  ///< asked behind those: the sizes that are then known of what the function makes
  mutable RecordingCache recordings;
};
using Stages = std::vector<std::unique_ptr<Stage>>;

/// Graphs that a functional graph is cut into, in the order in which they run.
struct CutGraphs {
  struct Part {
    graph::Graph graph;
    struct Number {
      std::uint32_t number, tensor;  ///< as Stage::Read counts
    };
    std::vector<Number> numbers;  ///< that it gives; of the last none
  };
  std::vector<Part> parts;
  std::vector<std::uint32_t> known_after;  ///< by number: the part; UINT32_MAX: nobody reads it
};
/// Of a graph behind the pipeline; `data` are its numbers, `assumed` as Traced has it; `also`: what else depends on
/// numbers. Throws Bailed for what cannot be put in order.
using Assumed = std::vector<std::pair<std::int32_t, const guards::Expr*>>;
/// `named` as Traced has it: what can fail runs behind the numbers that it named when it was traced.
using Named = std::unordered_map<std::int32_t, Ints>;
CutGraphs cut_into_stages(graph::Graph, const std::vector<detail::DataNumber>& data, const Assumed& assumed,
                          const std::vector<Int>& also, const Named& named = {},
                          const std::vector<detail::Decision>& decisions = {});

/// What a trace's program is: stages before the last (none where it needs no number of data), and the last with the
/// guards of all.
struct StagedProgram {
  Stages before;
  guards::ExprProgram random_count;  ///< where there are stages: of numbers taken from the generator
  GuardedProgram last;
};
StagedProgram build_staged(detail::Traced&, kernels::Mode, Makers);
/// The same of a graph as it was traced, by reference kernels and with every number read: its stages and the last
/// program (REPRISE_VERIFY=2).
std::pair<Stages, Program> build_staged_reference(const detail::Traced&);

/// The stages that give the numbers of a part of a call (Tracer::Prefix), which has no last program.
Stages build_prefix(detail::Traced&&, const std::vector<Int>& wanted, kernels::Mode);

/// A call takes another path than its specialization.
struct PathMissed {
  std::uint32_t decision = 0;  ///< the first that is another one
  detail::Outcome outcome;
  bool known = true;  ///< false: one before it may be another one, too
};

/// What the stages of a specialization have computed for a call that leaves it. Another one's first stages that compute
/// the same and give no more need not run.
struct Handover {
  std::vector<const Stage*> stages;   ///< that have run
  std::vector<Tensor> made;           ///< by them
  std::vector<std::int64_t> numbers;  ///< likewise
  std::vector<TensorImpl*> inputs;    ///< of the call, as it was admitted there
  std::vector<std::int64_t> values;   ///< likewise
  std::size_t taken = 0;              ///< stages that did not run, by whom it was handed to last
  bool gave_more = false;             ///< than these took
};

/// Makes room for the numbers of the stages among a call's values.
void make_room(const Stages&, detail::FrameArray<std::int64_t>& values);
/// Runs the stages of a call, in whose values there is room: its numbers are there then, and the tensors for the last
/// stage in `inputs`, which begin as the call's, of which `made` owns those that stages have made. Throws what a kernel
/// reports, and Bailed where an assumption does not hold: no argument has been written.
/// `path`: decisions that are known already; a later one that does not hold is returned. Null: it bails, as any
/// assumption does. `hand`: what the paths before have computed for these inputs and values. Stages that are the
/// same take it; where this path is left, it becomes what has been computed.
std::optional<PathMissed> run_stages(const Stages&, const std::string& name, std::int64_t* values,
                                     std::vector<Tensor>& made, std::vector<TensorImpl*>& inputs,
                                     const detail::Outcomes* path = nullptr, Handover* hand = nullptr);

/// "gives 1 number that depends on data (model.cpp:41: mm has it as a size, model.cpp:42)": for explain() and logs.
std::string text_of(const Stage&);

}  // namespace reprise::runtime
