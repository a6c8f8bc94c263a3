#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "guards/guard_set.h"
#include "guards/shape_env.h"
#include "jit/engine/code.h"
#include "jit/gpu/loop/compile.h"
#include "kernels/launch/launch.h"
#include "kernels/launch/work.h"
#include "kernels/plan/lower.h"
#include "kernels/plan/temp_plan.h"
#include "runtime/replay/launch_code.h"
#include "runtime/trace/made_sizes.h"

namespace reprise::runtime {

class Profile;

/// Index into the numbers that a program computes for a call (Program::exprs).
enum class Slot : std::uint32_t {};
/// Those numbers.
class SlotValues {
 public:
  explicit SlotValues(const std::int64_t* values) : values_(values) {}
  std::int64_t operator[](Slot s) const { return values_[static_cast<std::uint32_t>(s)]; }

 private:
  const std::int64_t* values_;
};

/// A layout whose numbers are slots.
struct SlotLayout {
  std::vector<Slot> sizes, strides;
  Slot offset{};
};

/// The recipe: launches with code, and the expressions of everything in them that depends on sizes. Immutable after
/// build_program: any thread, any number of recordings.
struct Program {
  graph::Graph graph;  ///< after all passes: for explain()
  kernels::Lowered lowered;
  guards::ExprProgram exprs;
  /// the call's values that a recording depends on (random numbers and floats left out)
  std::vector<std::uint32_t> key_words;
  /// On devices, the other values: what they decide stands in words (Note [Words of a recording] in
  /// runtime/replay/recording.h).
  std::vector<std::uint32_t> moving_words;
  /// A value of the call that is a float's bits, on the host: put where it is read at every replay, so that recordings
  /// do not depend on it.
  struct FloatWord {
    std::uint32_t word;
    std::optional<std::uint32_t> computed;       ///< or it is computed of such values: where it stands in float_exprs
    std::vector<std::uint32_t> params, numbers;  ///< indices into a recording's params, and into HostSteps' numbers
    std::vector<std::uint32_t> results;          ///< and into int_results
  };
  std::vector<FloatWord> floats;
  guards::ExprProgram float_exprs;  ///< evaluated at every replay, where there are any
  /// On devices: what kernels read from a cell of their graph, as they read addresses, so that another number is what a
  /// moved argument is.
  struct WordCell {
    std::optional<std::uint32_t> word;  ///< of the call: a float's bits
    Slot slot{};                        ///< of what is no word of the call
    std::int32_t grid = -1;             ///< or how many blocks of this of gpu_steps have something to do
    friend bool operator==(const WordCell&, const WordCell&) = default;
  };
  std::vector<WordCell> word_cells;  ///< behind the buffers and the workspace
  bool uses_random = false;
  /// Of the call's values, those that say where the generator stands: they move from call to call, and no recording
  /// depends on them. Its own, or (backwards) the forward's.
  std::vector<std::uint32_t> random_words;
  Slot copied_bytes{};  ///< kernels::copied_beyond_eager
  Slot random_count{};  ///< numbers taken from the generator by one call

  Device device;  ///< where its tensors are and its launches run

  /// Steps that are functions of the host. On a device with memory of its own they stand between two parts of the
  /// recording and work on copies (runtime/replay/device_replay.h).
  struct LoopStep {
    jit::LoopFn fn;
    /// its buffers in pointer_buffers, and their addresses in HostSteps'
    std::uint32_t first_pointer, n_pointers;
    std::uint32_t first_param;  ///< where its part of a recording's params begins
    Slot tasks, work;           ///< task count, and work of one task (kernels/loop/ir.h)
    std::uint32_t launch;
  };
  struct NativeStep {
    std::uint32_t launch;
    struct View {
      std::uint32_t buffer;
      SlotLayout layout;
    };
    kernels::NativeFn fn;
    kernels::NativeArgs call;  ///< all but what HostSteps holds, and the fault
    /// the operator that it must not write more for than this says (UndeclaredWrites)
    const graph::OpDef* watched = nullptr;
    std::uint32_t first_view, n_views, first_int, first_number;
    std::vector<View> views;
    std::vector<Slot> ints;
    std::vector<Slot> numbers;  ///< Scalar::word
    std::vector<void*> micro;
  };
  /// A kernel that is loaded when a recording first needs it: of alternatives for other sizes many never are.
  class LazyKernel {
   public:
    const device::KernelPtr& get(device::Backend& d, const device::ImagePtr& image) {
      std::lock_guard lock(mu_);
      if (!kernel_) kernel_ = d.load(image);
      return kernel_;
    }

   private:
    std::mutex mu_;
    device::KernelPtr kernel_;  // guarded by mu_
  };
  /// A kernel of the device: a node of its graphs.
  struct GpuStep {
    std::uint32_t launch;
    device::ImagePtr image;
    std::shared_ptr<LazyKernel> kernel = std::make_shared<LazyKernel>();
    jit::GpuKernelPtr loop;              ///< null for a GpuLaunch
    Slot blocks{}, most{};               ///< of a GpuLaunch
    std::vector<std::uint32_t> buffers;  ///< of a guarded one the last is the record of faults
    std::vector<std::uint32_t> words;    ///< cells of its words, in pointers' places behind the buffers
    std::vector<Slot> params;            ///< all of its numbers
    std::vector<Slot> plain;             ///< those that are no words
    /// of its grid, in bounds(); -1: the recording's values decide about it
    std::int32_t bound = -1;
    struct Check {
      Slot n, extent;  ///< how many values there are; ValueCheck::extent
      std::vector<Slot> sizes;
    };
    std::optional<Check> check;                        ///< it checks values
    std::optional<device::ProductOf<Slot>> product{};  ///< kernels::GpuLaunch::product
    bool alternative = false;
  };
  /// Which of `natives`, of `gpu_steps`: they are large, and a replay goes through the steps in order.
  enum class NativeId : std::uint32_t {};
  enum class GpuId : std::uint32_t {};
  /// One of `natives`, too, but not a step of the host: it queues another library's work, a node of the device's
  /// graphs.
  enum class CapturedId : std::uint32_t {};
  using Step = std::variant<LoopStep, NativeId, GpuId, CapturedId>;
  /// A buffer that a step touches.
  struct Use {
    std::uint32_t buffer;
    bool read, written;
    bool first;  ///< nothing has been stored there before this step
  };
  /// Of a view of a native step: whose address it has, and how many elements further on.
  struct ViewPlace {
    std::uint32_t buffer;
    Slot offset;
    std::int64_t item;  ///< bytes of an element
  };
  /// of loop steps, in a row: small, because a replay finds it in no cache
  std::vector<std::uint32_t> pointer_buffers;
  std::vector<ViewPlace> view_places;  ///< of native steps, in a row
  std::vector<NativeStep> natives;
  std::vector<GpuStep> gpu_steps;
  std::vector<Step> steps;  ///< in launch order
  /// A step runs where all of its conditions hold (kernels::Condition).
  struct Condition {
    std::uint32_t buffer;
    Slot offset;
    bool wanted;
  };
  std::vector<Condition> conditions;           ///< of the host's steps, in a row
  std::vector<std::uint32_t> first_condition;  ///< by step, and one more at the end; empty: no step has any
  /// Steps that the host runs several times in a row (kernels::Repeat), in order; an outer loop before those in it.
  struct Repeat {
    std::uint32_t first, end;  ///< steps
    std::uint32_t next;        ///< of repeats: the first that is not in this one
    Slot count;
    struct Window {
      std::uint32_t buffer, of;
      Slot offset, stride;
      std::int64_t item;  ///< bytes of an element
    };
    std::vector<Window> windows;
    std::vector<kernels::Repeat::Swap> swaps;
    bool decided;  ///< by the first of `swaps`
    SourceLoc loc;
    /// All its steps have as many conditions first: those of the branch that it stands in, without which it has no
    /// turn.
    std::uint32_t conditions;
  };
  std::vector<Repeat> repeats;
  std::vector<std::vector<Use>> uses;             ///< by step; filled for devices other than the host
  std::vector<Slot> param_slots;                  ///< of loop steps' params, in a row
  std::vector<std::vector<NativeId>> natives_of;  ///< by slot: the native steps that it decides about
  const NativeStep& native(NativeId i) const { return natives[static_cast<std::uint32_t>(i)]; }
  const NativeStep& captured(CapturedId i) const { return natives[static_cast<std::uint32_t>(i)]; }
  const GpuStep& gpu_step(GpuId i) const { return gpu_steps[static_cast<std::uint32_t>(i)]; }
  std::uint32_t n_pointers = 0, n_views = 0, n_ints = 0, n_numbers = 0;  ///< of all host steps
  std::vector<jit::CodePtr> code;                                        ///< keeps the machine code alive

  std::vector<Slot> buffer_bytes;  ///< by buffer; 0 for inputs
  /// Cells of a device's graphs: one for each buffer, that of the workspace, the floats.
  std::size_t workspace_cell() const { return lowered.buffers.size(); }
  std::size_t cells() const { return workspace_cell() + 1 + word_cells.size(); }
  /// Blocks of a step that have something to do.
  std::int64_t blocks_of(const GpuStep&, SlotValues) const;
  /// What moving words decide about and recordings are made for: grids and bytes of temporaries, rounded up. Those of
  /// one class of sizes are the same numbers.
  bool is_bounded() const { return !bounded_grids.empty() || !bounded_buffers.empty(); }
  std::vector<std::int64_t> bounds(SlotValues) const;
  std::vector<GpuId> bounded_grids;
  std::vector<std::uint32_t> bounded_buffers;  ///< temps; their bounds stand behind those of grids
  std::vector<std::int32_t> buffer_bound;      ///< by buffer: its bound, or -1; empty: there is none
  /// Bytes that a recording with these bounds has for a buffer.
  std::int64_t room_for(std::uint32_t buffer, SlotValues slots, const std::vector<std::int64_t>& bounds) const {
    const std::int32_t at = buffer_bound.empty() ? -1 : buffer_bound[buffer];
    return at < 0 ? slots[buffer_bytes[buffer]] : bounds[static_cast<std::size_t>(at)];
  }
  std::vector<kernels::TempLife> lives;
  struct Out {
    SlotLayout layout, target;  ///< see kernels::Lowered::Out; target: of what the epilogue copies
  };
  std::vector<Out> outputs;                ///< by graph output
  bool copies_inside = false;              ///< the epilogue's copies are steps (devices other than the host)
  std::vector<std::int32_t> input_buffer;  ///< by graph input: its buffer, or -1
  /// What a replay fills in, by kind of buffer. Of inputs, those whose address somebody reads: a function may be given
  /// many more.
  struct InputPlace {
    std::uint32_t buffer, input;
  };
  struct OutputPlace {
    std::uint32_t buffer, output;
  };
  std::vector<InputPlace> inputs_read;
  std::vector<OutputPlace> outputs_made;
  std::vector<std::uint32_t> temps;
  /// each storage that is made is one result's, which may take it over
  bool gives_away = false;
  bool has_epilogue = false;         ///< arguments are changed behind the last launch
  std::vector<SlotLayout> metadata;  ///< by graph.metadata_mutations
  std::vector<Slot> int_results;
  std::shared_ptr<Profile> profile;  ///< what its launches take, while somebody wants to know
  /// What a launch moves and computes in a call with these values.
  kernels::Work work_of(std::uint32_t launch, SlotValues slots) const;
};

/// Lowers a graph behind its passes for the device of its tensors; may still add guards to its environment. Throws what
/// lowering throws.
kernels::Lowered lower_graph(graph::Graph&, kernels::Mode);
/// Of what is behind both: compiles every kernel, flattens every expression. Throws what the JIT throws; nothing is
/// kept then.
Program build_program(graph::Graph graph, kernels::Lowered lowered, const std::vector<Int>& int_results,
                      const std::vector<std::pair<std::uint32_t, Int>>& floats, bool uses_random, Int random_count,
                      Makers makers = Makers::All, const std::vector<MadeSizes>& made = {});

/// The two, one after the other.
Program build_program(graph::Graph graph, kernels::Mode mode, const std::vector<Int>& int_results,
                      const std::vector<std::pair<std::uint32_t, Int>>& floats, bool uses_random, Int random_count,
                      Makers makers = Makers::All);

/// A program, and the guards under which it is right.
struct GuardedProgram {
  Program program;
  guards::GuardSet guards;
};
/// build_program(), and behind it the guards of the graph's environment, which takes no further ones. `kept`:
/// guards::GuardSet::kept(); null: it is to be found out. `made`: of the traced graph.
GuardedProgram build_guarded(graph::Graph graph, kernels::Lowered lowered, const std::vector<std::uint32_t>* kept,
                             const std::vector<Int>& int_results,
                             const std::vector<std::pair<std::uint32_t, Int>>& floats, bool uses_random,
                             Int random_count, Makers makers = Makers::All, const std::vector<MadeSizes>& made = {});

}  // namespace reprise::runtime
