#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "graph/graph.h"
#include "guards/shape_env.h"
#include "jit/jit.h"
#include "kernels/launch.h"

namespace reprise::runtime {

/// Index into the numbers that a program computes for a call (Program::exprs).
using Slot = std::uint32_t;

/// A layout whose numbers are slots.
struct SlotLayout {
  std::vector<Slot> sizes, strides;
  Slot offset = 0;
};

/// The recipe: launches with code, and the expressions of everything in them that depends on sizes. Immutable after
/// build_program: any thread, any number of recordings.
struct Program {
  graph::Graph graph;                              ///< after all passes: for explain()
  kernels::Lowered lowered;
  guards::ExprProgram exprs;
  std::vector<std::uint32_t> key_words;            ///< the call's values that a recording depends on (random numbers left out)
  bool uses_random = false;
  Slot random_count = 0;                           ///< numbers taken from the generator by one call

  struct LoopStep {
    jit::LoopFn fn;
    std::uint32_t launch;
    std::vector<std::uint32_t> buffers;
    std::vector<Slot> params;
    Slot tasks, work;                              ///< task count, and work of one task (kernels/loop_ir.h)
  };
  struct NativeStep {
    std::uint32_t launch;
    struct View {
      std::uint32_t buffer;
      SlotLayout layout;
    };
    std::vector<View> views;
    std::vector<Slot> ints;
    std::vector<Slot> numbers;                     ///< of the integer ones; unused for floats
    std::vector<void*> micro;
  };
  struct Step {
    bool is_loop;
    std::uint32_t index;                           ///< into loops or natives
  };
  std::vector<LoopStep> loops;
  std::vector<NativeStep> natives;
  std::vector<Step> steps;                         ///< in launch order
  std::vector<jit::CodePtr> code;                  ///< keeps the machine code alive

  std::vector<Slot> buffer_bytes;                  ///< by buffer; 0 for inputs
  std::vector<kernels::TempLife> lives;
  struct Out {
    SlotLayout layout, target;                     ///< see kernels::Lowered::Out; target: of what the epilogue copies
  };
  std::vector<Out> outputs;                        ///< by graph output
  std::vector<SlotLayout> metadata;                ///< by graph.metadata_mutations
  std::vector<Slot> int_results;
  std::uint32_t n_inputs = 0;
};

/// Passes have run, guards may still be added by nobody: lowers, compiles every kernel, flattens every expression.
/// Throws what lowering or the JIT throws; nothing is kept then.
Program build_program(graph::Graph graph, std::string_view mode, const std::vector<Int>& int_results, bool uses_random, Int random_count);

}  // namespace reprise::runtime
