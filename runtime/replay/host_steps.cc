#include "runtime/replay/host_steps.h"

#include <algorithm>
#include <bit>

#include "base/errors.h"
#include "base/timeline.h"
#include "base/watch.h"
#include "device/parallel.h"
#include "graph/name_scopes.h"
#include "graph/while_loop.h"
#include "kernels/reference/undeclared_writes.h"
#include "runtime/replay/boxed.h"
#include "runtime/replay/launch_slice.h"
#include "runtime/replay/profile.h"

namespace reprise::runtime {

namespace {

struct LoopRange {
  jit::LoopFn fn;
  void* const* pointers;
  const std::int64_t* params;
};

// About 10 microseconds of work for one thread, in the unit of work_per_task (body nodes times elements).
constexpr std::int64_t kGrainWork = 80000;

}  // namespace

HostSteps::HostSteps(const Program& p)
    : program_(p), conditional_(!p.first_condition.empty()), moving_(p.repeats.empty() ? 0 : p.workspace_cell() + 1),
      pointers_(p.n_pointers), views_(p.n_views), ints_(p.n_ints), numbers_(p.n_numbers) {}

std::int64_t HostSteps::bytes() const {
  return static_cast<std::int64_t>(8 * (moving_.size() + pointers_.size() + ints_.size()) +
                                   sizeof(kernels::TensorView) * views_.size() +
                                   sizeof(kernels::Number) * numbers_.size());
}

void HostSteps::resolve(SlotValues slots) {
  work_.clear();
  for (const Program::NativeStep& s : program_.natives) resolve_native(s, slots);
}

void HostSteps::resolve(SlotValues slots, const std::vector<Slot>& changed) {
  work_.clear();
  for (Slot slot : changed)
    for (Program::NativeId i : program_.natives_of[static_cast<std::uint32_t>(slot)])
      resolve_native(program_.native(i), slots);
}

void resolve_native(const Program& p, const Program::NativeStep& s, SlotValues slots, kernels::TensorView* views,
                    std::int64_t* ints, kernels::Number* numbers) {
  const auto& launch = std::get<kernels::NativeLaunch>(p.lowered.launches[s.launch].what);
  for (std::size_t k = 0; k < s.views.size(); ++k) {
    kernels::TensorView& v = views[k];
    v.dtype = launch.operands[k].dtype;
    v.rank = static_cast<int>(s.views[k].layout.sizes.size());
    for (int d = 0; d < v.rank; ++d) {
      v.sizes[d] = slots[s.views[k].layout.sizes[static_cast<std::size_t>(d)]];
      v.strides[d] = slots[s.views[k].layout.strides[static_cast<std::size_t>(d)]];
    }
  }
  for (std::size_t k = 0; k < s.ints.size(); ++k) ints[k] = slots[s.ints[k]];
  for (std::size_t k = 0; k < s.numbers.size(); ++k) {
    const std::int64_t word = slots[s.numbers[k]];
    numbers[k] = launch.numbers[k].is_float() ? kernels::Number{true, std::bit_cast<double>(word), 0}
                                              : kernels::Number{false, 0, word};
  }
}

void throw_fault(const Program& p, std::uint32_t at, const kernels::KernelFault& fault) {
  const kernels::Launch& launch = p.lowered.launches[at];
  const std::string* scope = launch.scope ? launch.scope : NameScopes::current();  // of an eager call: where it is made
  throw Error(fault.code, launch.op.empty() ? launch.name : launch.op,
              scope ? fault.message + " (in " + *scope + ")" : fault.message, launch.loc);
}

inline void HostSteps::run_loop(const Program::LoopStep& s, void* const* base, const std::int64_t* all_params,
                                SlotValues slots) {
  void** pointers = pointers_.data() + s.first_pointer;
  const std::uint32_t* buffers = program_.pointer_buffers.data() + s.first_pointer;
  for (std::uint32_t k = 0; k < s.n_pointers; ++k) pointers[k] = base[buffers[k]];
  const std::int64_t* params = all_params + s.first_param;
  std::int64_t tasks = slots[s.tasks];
  if (tasks <= 0) return;
  std::int64_t work = std::max<std::int64_t>(slots[s.work], 1);
  if (tasks == 1 || tasks * work < 2 * kGrainWork || device::num_threads() == 1) {
    s.fn(pointers, params, 0, tasks);
    return;
  }
  LoopRange range{s.fn, pointers, params};
  device::parallel_for(
      tasks, std::max<std::int64_t>(kGrainWork / work, 1),
      [](void* ctx, std::int64_t begin, std::int64_t end) {
        auto& r = *static_cast<LoopRange*>(ctx);
        r.fn(r.pointers, r.params, begin, end);
      },
      &range);
}

inline void HostSteps::run_native(const Program::NativeStep& s, void* const* base, SlotValues slots) {
  kernels::TensorView* views = views_.data() + s.first_view;
  const Program::ViewPlace* places = program_.view_places.data() + s.first_view;
  for (std::uint32_t k = 0; k < s.n_views; ++k)
    views[k].data = static_cast<char*>(base[places[k].buffer]) + slots[places[k].offset] * places[k].item;
  kernels::KernelFault fault;
  kernels::NativeArgs args = s.call;
  args.tensors = views, args.ints = ints_.data() + s.first_int, args.numbers = numbers_.data() + s.first_number,
  args.fault = &fault;
  if (s.watched) [[unlikely]]
    run_watched(s, args);
  else s.fn(args);
  if (fault.failed) [[unlikely]]
    throw_fault(program_, s.launch, fault);
}

[[gnu::cold]] void HostSteps::run_watched(const Program::NativeStep& s, const kernels::NativeArgs& args) const {
  const auto& launch = std::get<kernels::NativeLaunch>(program_.lowered.launches[s.launch].what);
  std::vector<bool> written;
  for (const kernels::Operand& o : launch.operands) written.push_back(o.written);
  kernels::UndeclaredWrites watch(args, std::move(written));
  s.fn(args);
  if (std::string what = watch.changed(*s.watched); !what.empty() && !args.fault->failed)
    *args.fault = {true, ErrorCode::InvalidArgument, std::move(what)};
}

inline void HostSteps::run_step(const Program::Step& step, void* const* base, const std::int64_t* params,
                                SlotValues slots) {
  if (const auto* loop = std::get_if<Program::LoopStep>(&step)) run_loop(*loop, base, params, slots);
  else run_native(program_.native(*std::get_if<Program::NativeId>(&step)), base, slots);
}

bool HostSteps::holds(std::size_t step, void* const* base, SlotValues slots, std::uint32_t most) const {
  const std::uint32_t first = program_.first_condition[step],
                      n = std::min(program_.first_condition[step + 1] - first, most);
  for (std::uint32_t c = first; c < first + n; ++c) {
    const Program::Condition& when = program_.conditions[c];
    if ((static_cast<const char*>(base[when.buffer])[slots[when.offset]] != 0) != when.wanted) return false;
  }
  return true;
}

void HostSteps::run_part(std::size_t& at, std::size_t end, std::size_t repeat, const std::int64_t* params,
                         SlotValues slots) {
  void** const base = moving_.data();
  while (at < end) {
    const Program::Repeat* loop = repeat < program_.repeats.size() ? &program_.repeats[repeat] : nullptr;
    if (!loop || loop->first != at) {
      if (!conditional_ || holds(at, base, slots)) run_told(program_.steps[at], base, params, slots);
      ++at;
      continue;
    }
    const bool runs = loop->conditions == 0 || holds(at, base, slots, loop->conditions);
    const std::int64_t turns = runs ? slots[loop->count] : 0;
    for (std::int64_t turn = 0; turn < turns || (runs && loop->decided); ++turn) {
      if (loop->decided) {
        if (!*static_cast<const bool*>(base[loop->swaps[0].read])) break;
        if (turn == turns) graph::fail_unending(turns, loop->loc);
      }
      for (const Program::Repeat::Window& w : loop->windows)
        base[w.buffer] = static_cast<char*>(base[w.of]) + (slots[w.offset] + turn * slots[w.stride]) * w.item;
      at = loop->first;
      run_part(at, loop->end, repeat + 1, params, slots);
      for (const kernels::Repeat::Swap& s : loop->swaps) std::swap(base[s.read], base[s.made]);
    }
    at = loop->end;
    repeat = loop->next;
  }
}

void HostSteps::run_all(void* const* base, const std::int64_t* params, SlotValues slots) {
  const std::vector<std::uint32_t>& undo = program_.lowered.undo;
  const std::size_t n = program_.steps.size() - undo.size();
  const device::Launches awake(n > 1);
  std::size_t at = 0;
  try {
    if (!moving_.empty()) {
      std::copy_n(base, moving_.size(), moving_.begin());
      run_part(at, n, 0, params, slots);
    } else if (!(static_cast<int>(conditional_) | static_cast<int>(watchers::launches()))) [[likely]] {
      for (; at < n; ++at) run_step(program_.steps[at], base, params, slots);
    } else {
      for (; at < n; ++at)
        if (!conditional_ || holds(at, base, slots)) run_told(program_.steps[at], base, params, slots);
    }
  } catch (...) {
    for (std::size_t i = undo.size(); i-- > 0;)
      if (undo[i] < at) run_step(program_.steps[n + i], base, params, slots);
    throw;
  }
}

void HostSteps::run_boxed(BoxedReplay& memory, void* const* base, const std::int64_t* params, SlotValues slots) {
  const auto n = static_cast<std::uint32_t>(program_.steps.size());
  const device::Launches awake(n > 1);
  for (std::uint32_t at = 0; at < n; ++at) {
    memory.before(at);
    if (!conditional_ || holds(at, base, slots)) run_told(program_.steps[at], base, params, slots);
    memory.behind(at);
  }
}

const kernels::Work& HostSteps::work_of(std::uint32_t launch, SlotValues slots) {
  work_.resize(program_.lowered.launches.size());
  if (!work_[launch]) work_[launch] = program_.work_of(launch, slots);
  return *work_[launch];
}

[[gnu::cold]] void HostSteps::run_told(const Program::Step& step, void* const* base, const std::int64_t* params,
                                       SlotValues slots) {
  if (!timeline::on() && !program_.profile->on()) return run_step(step, base, params, slots);
  const timeline::Time begin = timeline::now();
  run_step(step, base, params, slots);
  const timeline::Time end = timeline::now();
  const auto* loop = std::get_if<Program::LoopStep>(&step);
  const std::uint32_t launch = loop ? loop->launch : program_.native(*std::get_if<Program::NativeId>(&step)).launch;
  const kernels::Work& work = work_of(launch, slots);
  if (timeline::on()) add_launch_slice(program_.lowered.launches[launch], begin, end, work.bytes);
  if (program_.profile->on()) program_.profile->add(launch, end - begin, work);
}

void HostSteps::run(const Program::Step& step, void* const* base, const std::int64_t* params, SlotValues slots) {
  run_step(step, base, params, slots);
}

}  // namespace reprise::runtime
