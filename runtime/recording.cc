#include "runtime/recording.h"

#include <algorithm>
#include <cstring>

#include "base/counters.h"
#include "base/errors.h"
#include "base/log.h"
#include "device/parallel.h"
#include "graph/interpreter.h"
#include "kernels/temp_plan.h"
#include "runtime/epilogue.h"
#include "runtime/pool.h"
#include "runtime/tracer.h"

#include <nlohmann/json.hpp>

namespace reprise::runtime {

using graph::OutputSpec;

Recording::Recording(const Program& p, const std::int64_t* values, PlanMemory& memory) : program_(p), slots_(p.exprs.size()) {
  p.exprs.evaluate(values, slots_.data());
  std::size_t n = 0;
  for (const Program::LoopStep& s : p.loops) n += s.params.size();
  params_.reserve(n);
  for (const Program::LoopStep& s : p.loops)
    for (Slot slot : s.params) params_.push_back(slots_[slot]);
  temp_offset_.assign(p.buffer_bytes.size(), -1);
  if (!p.lives.empty()) {
    std::vector<std::int64_t> bytes;
    for (const kernels::TempLife& life : p.lives) bytes.push_back(slots_[p.buffer_bytes[life.buffer]]);
    if (!memory.known || memory.bytes != bytes) {
      memory.plan = kernels::plan_offsets(p.lives, bytes);
      memory.bytes = std::move(bytes);
      memory.known = true;
    }
    const kernels::TempPlan& plan = memory.plan;
    for (std::size_t i = 0; i < p.lives.size(); ++i) temp_offset_[p.lives[i].buffer] = plan.offsets[i];
    temp_bytes_ = plan.total;
  }
  free_.store(make_instance().release());
  const Instance& i = *free_.load();
  bytes_ = static_cast<std::int64_t>(sizeof *this + 8 * (slots_.size() + params_.size() + temp_offset_.size()) + sizeof i +
                                     8 * (i.base.size() + i.pointers.size() + i.ints.size() + i.slots.size() + i.results.size()) +
                                     sizeof(kernels::TensorView) * i.views.size() + sizeof(kernels::Number) * i.numbers.size());
}

std::unique_ptr<Recording::Instance> Recording::make_instance() const {
  auto i = std::make_unique<Instance>();
  const Program& p = program_;
  i->base.assign(p.buffer_bytes.size(), nullptr);
  std::size_t pointers = 0, views = 0, ints = 0, numbers = 0;
  for (const Program::LoopStep& s : p.loops) pointers += s.buffers.size();
  for (const Program::NativeStep& s : p.natives) views += s.views.size(), ints += s.ints.size(), numbers += s.numbers.size();
  i->pointers.resize(pointers);
  i->views.resize(views);
  i->ints.resize(ints);
  i->numbers.resize(numbers);
  if (p.uses_random) i->slots = slots_;
  i->results.assign(p.outputs.size(), nullptr);
  resolve_natives(*i);
  return i;
}

void Recording::resolve_natives(Instance& i) const {
  const Program& p = program_;
  const std::int64_t* slots = p.uses_random ? i.slots.data() : slots_.data();
  std::size_t view = 0, integer = 0, number = 0;
  for (const Program::NativeStep& s : p.natives) {
    const auto& launch = std::get<kernels::NativeLaunch>(p.lowered.launches[s.launch].what);
    for (std::size_t k = 0; k < s.views.size(); ++k) {
      kernels::TensorView& v = i.views[view++];
      v.dtype = launch.operands[k].dtype;
      v.rank = static_cast<int>(s.views[k].layout.sizes.size());
      for (int d = 0; d < v.rank; ++d) {
        v.sizes[d] = slots[s.views[k].layout.sizes[static_cast<std::size_t>(d)]];
        v.strides[d] = slots[s.views[k].layout.strides[static_cast<std::size_t>(d)]];
      }
    }
    for (Slot slot : s.ints) i.ints[integer++] = slots[slot];
    for (std::size_t k = 0; k < s.numbers.size(); ++k) {
      const Scalar& scalar = launch.numbers[k];
      i.numbers[number++] = scalar.is_float() ? kernels::Number{true, scalar.to_double(), 0} : kernels::Number{false, 0, slots[s.numbers[k]]};
    }
  }
}

namespace {

struct LoopRange {
  jit::LoopFn fn;
  void* const* pointers;
  const std::int64_t* params;
};

// About 10 microseconds of work for one thread, in the unit of work_per_task (body nodes times elements).
constexpr std::int64_t kGrainWork = 80000;

}  // namespace

void Recording::run_steps(Instance& inst) const {
  const Program& p = program_;
  std::size_t pointer = 0, param = 0, view = 0, integer = 0, number = 0;
  bool threads = device::num_threads() > 1;
  for (const Program::Step& step : p.steps) {
    if (step.is_loop) {
      const Program::LoopStep& s = p.loops[step.index];
      void** pointers = &inst.pointers[pointer];
      for (std::size_t k = 0; k < s.buffers.size(); ++k) pointers[k] = inst.base[s.buffers[k]];
      const std::int64_t* params = params_.data() + param;
      pointer += s.buffers.size();
      param += s.params.size();
      std::int64_t tasks = slots_[s.tasks];
      if (tasks <= 0) continue;
      std::int64_t work = std::max<std::int64_t>(slots_[s.work], 1);
      if (!threads || tasks == 1 || tasks * work < 2 * kGrainWork) {
        s.fn(pointers, params, 0, tasks);
      } else {
        LoopRange range{s.fn, pointers, params};
        device::parallel_for(tasks, std::max<std::int64_t>(kGrainWork / work, 1),
                             [](void* ctx, std::int64_t begin, std::int64_t end) {
                               auto& r = *static_cast<LoopRange*>(ctx);
                               r.fn(r.pointers, r.params, begin, end);
                             },
                             &range);
      }
      continue;
    }
    const Program::NativeStep& s = p.natives[step.index];
    const kernels::Launch& launch = p.lowered.launches[s.launch];
    const auto& native = std::get<kernels::NativeLaunch>(launch.what);
    const std::int64_t* slots = p.uses_random ? inst.slots.data() : slots_.data();
    for (std::size_t k = 0; k < s.views.size(); ++k) {
      kernels::TensorView& v = inst.views[view + k];
      v.data = static_cast<char*>(inst.base[s.views[k].buffer]) + slots[s.views[k].layout.offset] * item_size(v.dtype);
    }
    kernels::KernelFault fault;
    kernels::NativeArgs args{inst.views.data() + view, native.args.data(), inst.ints.data() + integer, inst.numbers.data() + number, native.strings.data(),
                             static_cast<std::uint32_t>(native.args.size()), native.first_result, native.n_results, s.micro.data(), &fault};
    native.fn(args);
    if (fault.failed) [[unlikely]]
      throw Error(fault.code, launch.op.empty() ? launch.name : launch.op, fault.message, launch.loc);
    view += s.views.size();
    integer += s.ints.size();
    number += s.numbers.size();
  }
}

// Puts the instance back for the next replay, and drops results that nobody has taken when a kernel threw.
struct Recording::Returner {
  Recording& recording;
  Instance* instance;
  ~Returner() {
    for (Storage*& s : instance->results)
      if (s) release(std::exchange(s, nullptr));
    Instance* expected = nullptr;
    if (!recording.free_.compare_exchange_strong(expected, instance, std::memory_order_acq_rel)) delete instance;
  }
};

void Recording::replay(const std::int64_t* values, TensorImpl* const* inputs, detail::Outputs& outputs,
                       const std::vector<std::int32_t>& tensor_results, std::int64_t* copied_bytes) {
  const Program& p = program_;
  Instance* inst = free_.exchange(nullptr, std::memory_order_acq_rel);
  if (!inst) inst = make_instance().release();
  Returner returner{*this, inst};
  if (p.uses_random) {
    p.exprs.evaluate(values, inst->slots.data());
    resolve_natives(*inst);
  }
  Lane lane(temp_bytes_);
  for (std::size_t b = 0; b < p.lowered.buffers.size(); ++b) {
    const kernels::Buffer& buffer = p.lowered.buffers[b];
    switch (buffer.kind) {
      case kernels::Buffer::Kind::Input: inst->base[b] = inputs[buffer.index]->data(); break;
      case kernels::Buffer::Kind::Output: {
        Storage* s = new_storage(p.graph.meta(p.graph.outputs[buffer.index].value).device, slots_[p.buffer_bytes[b]]);
        inst->results[buffer.index] = s;
        inst->base[b] = s->data;
        break;
      }
      case kernels::Buffer::Kind::Temp: inst->base[b] = lane.base() + temp_offset_[b]; break;
    }
  }
  run_steps(*inst);
  counters().replays.add();
  apply_epilogue(p, slots_.data(), inst->base.data(), inputs, inst->results.data(), tensor_results, outputs, copied_bytes);
}

std::shared_ptr<Recording> RecordingCache::get(const std::int64_t* values, const std::string& name, std::int64_t max_count, std::int64_t max_bytes) {
  const std::vector<std::uint32_t>& words = program_.key_words;
  std::uint64_t h = 0x9e3779b97f4a7c15ull;
  for (std::uint32_t w : words) {
    h = (h ^ static_cast<std::uint64_t>(values[w])) * 0xff51afd7ed558ccdull;
    h ^= h >> 32;
  }
  auto same = [&](const Entry& e) {
    if (e.hash != h) return false;
    for (std::size_t i = 0; i < words.size(); ++i)
      if (e.key[i] != values[words[i]]) return false;
    return true;
  };
  std::lock_guard lock(mu_);
  if (!entries_.empty() && same(entries_.front())) return entries_.front().recording;
  auto [it, end] = by_hash_.equal_range(h);
  for (; it != end; ++it) {
    if (!same(*it->second)) continue;
    entries_.splice(entries_.begin(), entries_, it->second);
    return entries_.front().recording;
  }
  Entry e;
  e.hash = h;
  for (std::uint32_t w : words) e.key.push_back(values[w]);
  e.recording = std::make_shared<Recording>(program_, values, plan_);
  counters().recordings_made.add();
  ++made_;
  bytes_ += e.recording->bytes();
  entries_.push_front(std::move(e));
  by_hash_.emplace(h, entries_.begin());
  if (log::on(log::Channel::Recordings)) {
    const Recording& r = *entries_.front().recording;
    log::event(log::Channel::Recordings, "recording_made", name,
               "recording " + std::to_string(entries_.size()) + ": " + std::to_string(program_.steps.size()) + " launches, " + std::to_string(r.temp_bytes()) +
                   " bytes of the pool, " + std::to_string(r.bytes()) + " bytes of its own",
               {{"live", entries_.size()}, {"launches", program_.steps.size()}, {"pool_bytes", r.temp_bytes()}, {"bytes", r.bytes()}, {"values", entries_.front().key}});
  }
  while (entries_.size() > 1 && (static_cast<std::int64_t>(entries_.size()) > max_count || bytes_ > max_bytes)) {
    auto last = std::prev(entries_.end());
    bytes_ -= last->recording->bytes();
    ++evicted_;
    counters().recordings_evicted.add();
    if (log::on(log::Channel::Recordings))
      log::event(log::Channel::Recordings, "recording_evicted", name,
                 "the least recently used recording is dropped: " + std::to_string(entries_.size()) + " of at most " + std::to_string(max_count) + ", " +
                     std::to_string(bytes_) + " bytes of at most " + std::to_string(max_bytes),
                 {{"live", entries_.size() - 1}, {"bytes", bytes_}, {"values", last->key}});
    auto [b, e2] = by_hash_.equal_range(last->hash);
    for (; b != e2; ++b)
      if (b->second == last) {
        by_hash_.erase(b);
        break;
      }
    entries_.erase(last);
  }
  return entries_.front().recording;
}

RecordingCache::Counts RecordingCache::counts() const {
  std::lock_guard lock(mu_);
  return {static_cast<std::int64_t>(entries_.size()), made_, evicted_, bytes_};
}

}  // namespace reprise::runtime
