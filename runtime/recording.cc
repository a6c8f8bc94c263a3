#include "runtime/recording.h"

#include <algorithm>

#include "base/counters.h"
#include "base/log.h"
#include "graph/interpreter.h"
#include "kernels/temp_plan.h"
#include "runtime/epilogue.h"
#include "runtime/pool.h"
#include "runtime/tracer.h"

#include <nlohmann/json.hpp>

namespace reprise::runtime {

using graph::OutputSpec;

Recording::Recording(const Program& p, const std::int64_t* values, PlanMemory& memory, Recording* retired) : program_(p) {
  std::unique_ptr<Instance> old;
  if (retired) {
    slots_ = std::move(retired->slots_), params_ = std::move(retired->params_), temp_offset_ = std::move(retired->temp_offset_);
    old.reset(retired->free_.exchange(nullptr));
  }
  slots_.resize(p.exprs.size());
  p.exprs.evaluate(values, slots_.data());
  params_.clear();
  params_.reserve(p.n_loop_params);
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
  free_.store(make_instance(std::move(old)).release());
  const Instance& i = *free_.load();
  if (i.device) graph_bytes_ = i.device->graph_bytes();
  bytes_ = static_cast<std::int64_t>(sizeof *this + 8 * (slots_.size() + params_.size() + temp_offset_.size()) + sizeof i +
                                     8 * (i.base.size() + i.slots.size() + i.results.size())) +
           i.host.bytes() + graph_bytes_;
}

std::unique_ptr<Recording::Instance> Recording::make_instance(std::unique_ptr<Instance> retired) const {
  const Program& p = program_;
  std::unique_ptr<Instance> i = retired ? std::move(retired) : std::make_unique<Instance>(p);
  i->base.assign(p.buffer_bytes.size() + 1, nullptr);  // the last: the workspace
  if (p.uses_random) i->slots = slots_;
  i->results.assign(p.outputs.size(), nullptr);
  i->host.resolve(slots_.data());
  if (!device::runs_host_code(p.device)) i->device = std::make_unique<DeviceReplay>(p, slots_.data(), temp_offset_, std::move(i->device));
  return i;
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
  if (!inst) inst = make_instance(nullptr).release();
  Returner returner{*this, inst};
  if (p.uses_random) {
    p.exprs.evaluate(values, inst->slots.data());
    inst->host.resolve(inst->slots.data());
  }
  const std::int64_t workspace = inst->device ? inst->device->workspace_bytes() : 0;
  const std::int64_t workspace_at = (temp_bytes_ + DeviceReplay::kWorkspaceAlignment - 1) / DeviceReplay::kWorkspaceAlignment * DeviceReplay::kWorkspaceAlignment;
  Lane lane(p.device, workspace ? workspace_at + workspace : temp_bytes_);
  inst->base.back() = workspace ? lane.base() + workspace_at : nullptr;
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
  const std::int64_t* slots = p.uses_random ? inst->slots.data() : slots_.data();
  if (inst->device) inst->device->run(inst->base.data(), inputs, inst->host, params_.data(), slots);
  else inst->host.run_all(inst->base.data(), params_.data(), slots);
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
  // The one that would have to go gives its executable graphs to the new one, if no replay holds it any more.
  Recording* retired = nullptr;
  if (static_cast<std::int64_t>(entries_.size()) >= max_count && entries_.size() > 1 && entries_.back().recording.use_count() == 1)
    retired = entries_.back().recording.get();
  Entry e;
  e.hash = h;
  for (std::uint32_t w : words) e.key.push_back(values[w]);
  try {
    e.recording = std::make_shared<Recording>(program_, values, plan_, retired);
  } catch (...) {
    if (retired) drop_last();  // what it was made of is gone
    throw;
  }
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
    if (log::on(log::Channel::Recordings))
      log::event(log::Channel::Recordings, "recording_evicted", name,
                 "the least recently used recording is dropped: " + std::to_string(entries_.size()) + " of at most " + std::to_string(max_count) + ", " +
                     std::to_string(bytes_ - entries_.back().recording->bytes()) + " bytes of at most " + std::to_string(max_bytes),
                 {{"live", entries_.size() - 1}, {"bytes", bytes_ - entries_.back().recording->bytes()}, {"values", entries_.back().key}});
    drop_last();
  }
  return entries_.front().recording;
}

void RecordingCache::drop_last() {
  auto last = std::prev(entries_.end());
  bytes_ -= last->recording->bytes();
  ++evicted_;
  counters().recordings_evicted.add();
  auto [b, end] = by_hash_.equal_range(last->hash);
  while (b != end && b->second != last) ++b;
  if (b != end) by_hash_.erase(b);
  entries_.erase(last);
}

RecordingCache::Counts RecordingCache::counts() const {
  std::lock_guard lock(mu_);
  return {static_cast<std::int64_t>(entries_.size()), made_, evicted_, bytes_};
}

}  // namespace reprise::runtime
