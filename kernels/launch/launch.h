#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked_math.h"
#include "device/backend.h"
#include "graph/graph.h"
#include "kernels/launch/code.h"
#include "kernels/loop/ir.h"
#include "reprise/error.h"
#include "reprise/kernel.h"

namespace reprise::kernels {

/// Bytes a program touches. Temps and outputs are sized per recording.
struct Buffer {
  /// Window: a part of another buffer, which moves on with the turns of a loop (Repeat).
  enum class Kind : std::uint8_t { Input, Output, Temp, Window } kind;
  std::uint32_t index = 0;  ///< Input: graph input; Output: graph output whose storage this is
  DType dtype = DType::Float32;
  Int bytes = 0;  ///< Temp, Output, Window
};

/// A view of a buffer as a launch uses it. Layout offset is in elements from the buffer's first byte
/// (for an Input: from the tensor's first element, i.e. the tensor's own storage offset is not included).
struct Operand {
  std::uint32_t buffer = 0;
  DType dtype = DType::Float32;
  Layout layout;
  bool written = false;
  bool kept = false;  ///< written, and what is not written stays: it is read, too
};

/// What native kernels are called with (reprise/kernel.h). They may use device::parallel_for.
using reprise::KernelFault;
using reprise::NativeArg;
using Number = reprise::NumberValue;
using reprise::TensorView;
using NativeArgs = reprise::KernelCall;
using NativeFn = reprise::Kernel;

/// A loop kernel with the buffers it runs on (kernel.buffers[i] is program buffer `buffers[i]`; accesses hold the
/// layouts).
struct LoopLaunch {
  LoopKernel kernel;
  std::vector<std::uint32_t> buffers;
};
/// A C++ kernel with resolved views.
struct NativeLaunch {
  NativeFn fn = nullptr;
  std::vector<Operand> operands;  ///< tensors, then results, then the workspace where there is one
  std::vector<NativeArg> args;
  std::vector<Int> ints;
  std::vector<Scalar> numbers;
  std::vector<std::string> strings;
  std::uint32_t first_result = 0, n_results = 0;
  bool has_workspace = false;
  /// `fn` queues work of another library: on a device a node of its graphs, not a step of the host
  bool captured = false;
  std::vector<KernelCode> micro;  ///< machine code that it asks the JIT for (kernels/cpu/micro_kernels.h)
};
/// A kernel written for a device's blocks of threads (kernels/gpu/kernels.h says what each does). Its arguments are the
/// buffers, then `ints`; offsets and strides, in elements, are among these. LaunchOf in kernels/gpu/rules.h makes it.
struct GpuLaunch {
  KernelCode code;
  std::vector<std::uint32_t> buffers;
  std::vector<bool> written;  ///< by buffers
  std::vector<Int> ints;
  std::vector<std::string> names;  ///< of the buffers, then of `ints`: for people
  Int blocks;                      ///< along x; 0: nothing to do
  Int most = 0;                    ///< blocks of calls that are to share a recording; 0: any (Program::bounds)
  /// What this launch and the alternatives after it compute, if it is a matrix product: a device's library may do that
  /// in their place. Its buffers are this launch's: a, b, [bias], c.
  std::optional<device::ProductOf<Int>> product{};
  bool alternative = false;  ///< computes what the launch before does, for other sizes
  /// what the operator was given and gives, each at the first of its launches that has the buffer: subject of proofs
  std::vector<Operand> operands{};
};
/// A check of values on a device, as far as its message needs it (check_fault).
struct ValueCheck {
  enum class Of : std::uint8_t {
    Indices,  ///< they must be within [0, extent), the size of `dim`
    Weights,  ///< [n] or [rows, n]: `extent` categories must be there to draw in each row
  } of = Of::Indices;
  int dim = 0;
  Int extent = 0;
  Ints sizes;  ///< of the tensor of values
};
/// Bytes that a launch copies, beside or in place of computing: lowering's choice.
struct Copy {
  enum class Of : std::uint8_t {
    EagerToo,  ///< the program says so: cat, copy_, clone, a scatter
    Ours,      ///< eager writes in place, or returns a view
  } of = Of::EagerToo;
  const char* why = "";  ///< static
  Int bytes = 0;
};
/// Where a launch runs only if a value says so: a Bool of one element that is, or is not, true.
struct Condition {
  std::uint32_t buffer = 0;
  Int offset = 0;  ///< in elements
  bool wanted = true;
};
/// Launches in a row that the host runs `count` times, with no call in between: a region of scan or of while_loop. What
/// differs from turn to turn are addresses alone.
struct Repeat {
  /// In turn k the buffer begins `offset + k * stride` elements behind the beginning of `of`.
  struct Window {
    std::uint32_t buffer = 0, of = 0;
    Int offset = 0, stride = 0;
  };
  /// Temporaries of equal size that change places behind each turn: what one turn has made, the next one reads.
  struct Swap {
    std::uint32_t read = 0, made = 0;
  };
  Int count = 0;
  std::vector<Window> windows;  ///< what is `of` another one stands behind it
  std::vector<Swap> swaps;
  /// There is a turn while the first of `swaps`, a Bool, is true; behind `count` turns that is an error.
  bool decided = false;
  SourceLoc loc{};
};
struct Launch {
  std::variant<LoopLaunch, NativeLaunch, GpuLaunch> what;
  std::string name;  ///< "rms_norm_mul", "linear", "topk"
  SourceLoc loc;     ///< line of the (first) operator in it
  bool may_fail = false;
  std::vector<std::uint32_t> nodes;      ///< graph nodes it computes, for explain()
  std::string op{};                      ///< the operator that a fault's Error names; empty: `name`
  std::optional<ValueCheck> check{};     ///< it is such a check on a device (check_on_device)
  std::optional<std::uint32_t> guard{};  ///< the buffer of the record of faults: on a device, nothing is done after one
  std::vector<Copy> copies{};
  std::vector<Condition> when{};       ///< of a region of cond: all must hold. On the host alone
  const std::string* scope = nullptr;  ///< the names that its operators have in common (NodeInfo::scope); null: none
  /// of the traced program that it is made of, and of a derivative those that it belongs to: "#3-5 #8", "#4 of #1"
  std::string calls{};
  std::vector<std::uint32_t> repeats{};  ///< the loops that it stands in, of Lowered::repeats, the outermost first
  /// The windows that it uses, by what they show: a use of `window` is one of `of`. From the inside to the outside.
  struct Seen {
    std::uint32_t window = 0, of = 0;
  };
  std::vector<Seen> seen{};

  /// Part of a region: it runs where a value says so, or several times.
  bool in_region() const { return !when.empty() || !repeats.empty(); }
};

/// f(buffer) for every buffer reference of a launch, as a reference that may be changed.
template <class L, class F>
void for_each_buffer(L& launch, F&& f) {
  if (auto* loop = std::get_if<LoopLaunch>(&launch.what)) {
    for (auto& b : loop->buffers) f(b);
  } else if (auto* gpu = std::get_if<GpuLaunch>(&launch.what)) {
    for (auto& b : gpu->buffers) f(b);
    for (auto& o : gpu->operands) f(o.buffer);
  } else {
    for (auto& o : std::get<NativeLaunch>(launch.what).operands) f(o.buffer);
  }
  if (launch.guard) f(*launch.guard);
  for (auto& c : launch.when) f(c.buffer);
  for (auto& s : launch.seen) f(s.window), f(s.of);
}

template <class F>
void for_each_buffer(Repeat& r, F&& f) {
  for (auto& w : r.windows) f(w.buffer), f(w.of);
  for (auto& s : r.swaps) f(s.read), f(s.made);
}

/// f(buffer, read, written) for every use that a launch makes of a buffer.
void for_each_use(const Launch&, const std::function<void(std::uint32_t buffer, bool read, bool written)>& f);

/// A graph made into launches over buffers: the recipe for every size the guards admit. Launch order is a valid order.
struct Lowered {
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  /// For graph output i: where its bytes are. User/Intermediate/AliasOf*: an Output buffer, or an Input buffer when the
  /// output is an unmodified input value; NewValueOfInput: `in_place` when the write happens inside the recording
  /// (re-inplaced).
  struct Out {
    std::int32_t buffer = -1;
    Layout layout;
    bool in_place = false;  ///< NewValueOfInput written inside the recording
    /// NewValueOfInput, not in place, and only a slice changed: the epilogue copies just this part: `layout` of the new
    /// value's buffer into `target` (relative to the input's first element). Otherwise target is the whole input.
    Layout target;
    std::string why;  ///< for the log: why in place, or why not
    Int copied = 0;   ///< bytes that the runtime's epilogue copies: all of them ours
  };
  std::vector<Out> outputs;
  /// The last launches, as many as there are here, run only if one fails, the last first, and each only if the launch
  /// of this number has run (Note [Kept parts] in kernels/plan/undo.h).
  std::vector<std::uint32_t> undo{};
  /// buffer that checks of index values note faults in; see check_on_device
  std::optional<std::uint32_t> fault_record{};
  std::vector<Repeat> repeats{};  ///< each of launches in a row (Launch::repeats)
};

/// The launches of each of Lowered::repeats: the first, and one more than the last. Both 0: it has none.
std::vector<std::pair<std::uint32_t, std::uint32_t>> repeat_ranges(const Lowered&);

/// For people (print.cc).
/// `calls`: with the calls that launches are made of, which launches of derivatives have anyway.
std::string print(const Lowered&, bool calls = false);

/// Bytes that a call copies and eager would not: Copy::Of::Ours of all launches, and the epilogue's (copies.cc).
Int copied_beyond_eager(const Lowered&);
/// Notes what the host's epilogue copies.
void note_epilogue_copies(const graph::Graph&, Lowered&);

}  // namespace reprise::kernels
