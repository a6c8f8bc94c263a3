#include "runtime/replay/recording.h"

#include <algorithm>
#include <bit>

#include "base/counters.h"
#include "base/float_state.h"
#include "base/log.h"
#include "base/timeline.h"
#include "device/backend.h"
#include "graph/interpreter.h"
#include "kernels/plan/temp_plan.h"
#include "runtime/replay/epilogue.h"
#include "runtime/replay/pool.h"
#include "runtime/trace/tracer.h"

#include <nlohmann/json.hpp>

namespace reprise::runtime {

std::shared_ptr<Recording> Recording::make(const Program& p, const std::int64_t* values, PlanMemory& memory,
                                           std::shared_ptr<const RecordingBudget> budget) {
  std::shared_ptr<Recording> made(new Recording(p, std::move(budget)));
  made->bind(values, memory);
  return made;
}

void Recording::bind(const std::int64_t* values, PlanMemory& memory) {
  const Program& p = program_;
  std::unique_ptr<Instance> old(take_instance());
  while (Instance* other = take_instance()) delete other;
  std::swap(slots_, old_slots_);
  slots_.resize(p.exprs.size());
  p.exprs.evaluate(values, slots_.data());
  bounds_ = p.bounds(slots());
  changed_.clear();
  for (std::size_t s = 0; old && s < slots_.size(); ++s)
    if (slots_[s] != old_slots_[s]) changed_.push_back(static_cast<Slot>(s));
  params_.resize(p.param_slots.size());
  for (std::size_t i = 0; i < params_.size(); ++i) params_[i] = slots()[p.param_slots[i]];
  plan_temps(memory);
  free_[0].store(make_instance(std::move(old), changed_).release());
  const Instance& i = *free_[0].load();
  graph_bytes_ = i.device ? i.device->graph_bytes() : 0;
  bytes_ =
      static_cast<std::int64_t>(sizeof *this + 8 * (2 * slots_.size() + params_.size() + temp_offset_.size()) +
                                sizeof i + 8 * (i.base.size() + i.slots.size() + i.params.size() + i.results.size())) +
      i.host.bytes() + graph_bytes_;
}

void Recording::plan_temps(PlanMemory& memory) {
  const Program& p = program_;
  auto bytes_of = [&](std::size_t i) { return p.room_for(p.lives[i].buffer, slots(), bounds_); };
  bool as_known = memory.version != 0;
  for (std::size_t i = 0; as_known && i < p.lives.size(); ++i) as_known = memory.bytes[i] == bytes_of(i);
  if (!as_known) {
    memory.version = 0;  // until the new plan is whole
    memory.bytes.clear();
    for (std::size_t i = 0; i < p.lives.size(); ++i) memory.bytes.push_back(bytes_of(i));
    memory.plan = kernels::plan_offsets(p.lives, memory.bytes);
    memory.version = ++memory.plans;
  }
  if (plan_version_ == memory.version) return;
  temp_offset_.assign(p.buffer_bytes.size(), -1);
  for (std::size_t i = 0; i < p.lives.size(); ++i) temp_offset_[p.lives[i].buffer] = memory.plan.offsets[i];
  temp_bytes_ = memory.plan.total;
  plan_version_ = memory.version;
}

std::unique_ptr<Recording::Instance> Recording::make_instance(std::unique_ptr<Instance> old,
                                                              const std::vector<Slot>& changed) const {
  const Program& p = program_;
  const bool fresh = !old || !p.random_words.empty();  // what is random has moved on in an instance since it was made
  std::unique_ptr<Instance> i = old ? std::move(old) : std::make_unique<Instance>(p);
  i->base.assign(p.cells(), nullptr);
  i->resolved = false;
  i->float_cells.clear();
  for (std::size_t c = 0; c < p.word_cells.size(); ++c)
    if (p.word_cells[c].word) i->float_cells.push_back(static_cast<std::uint32_t>(c));
  if (!p.random_words.empty() || !p.moving_words.empty()) i->slots = slots_;
  if (!p.floats.empty()) i->params = params_;
  i->floats.resize(p.float_exprs.size());
  i->results.assign(p.outputs.size(), nullptr);
  i->moved.reserve(p.metadata.size());
  if (fresh) i->host.resolve(slots());
  else i->host.resolve(slots(), changed);
  if (!device::runs_host_code(p.device))
    i->device = DeviceReplay::make(p, slots(), bounds_, temp_offset_, std::move(i->device), is_sealed());
  return i;
}

Recording::Instance* Recording::take_instance() {
  for (std::atomic<Instance*>& f : free_)
    if (Instance* i = f.exchange(nullptr, std::memory_order_acq_rel)) return i;
  return nullptr;
}

// Puts the instance back for the next replay, and drops results that nobody has taken when a kernel threw.
struct Recording::Returner {
  Recording& recording;
  Instance* instance;
  ~Returner() {
    for (Storage*& s : instance->results)
      if (s) release(std::exchange(s, nullptr));
    for (std::atomic<Instance*>& f : recording.free_) {
      Instance* expected = nullptr;
      if (f.compare_exchange_strong(expected, instance, std::memory_order_acq_rel)) return;
    }
    delete instance;
  }
};

std::int64_t Recording::lane_bytes(const Instance& i) const {
  const std::int64_t workspace = i.device ? i.device->workspace_bytes() : 0;
  return workspace ? (temp_bytes_ + DeviceReplay::kWorkspaceAlignment - 1) / DeviceReplay::kWorkspaceAlignment *
                             DeviceReplay::kWorkspaceAlignment +
                         workspace
                   : temp_bytes_;
}

void Recording::reserve() {
  Instance* inst = take_instance();
  if (!inst) return;  // it is being replayed
  const Returner returner{*this, inst};
  const Lane lane(program_.device, lane_bytes(*inst));
  if (inst->device) inst->device->upload();
}

namespace {

/// Of a call: the values of some of its words, as a call before has left them.
bool are_there(const std::vector<std::uint32_t>& words, const std::int64_t* values,
               const std::vector<std::int64_t>& there) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (there[i] != values[words[i]]) return false;
  return true;
}
void keep(const std::vector<std::uint32_t>& words, const std::int64_t* values, std::vector<std::int64_t>& there) {
  there.resize(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) there[i] = values[words[i]];
}

}  // namespace

SlotValues Recording::resolve(Instance& i, const std::int64_t* values, const Lane& lane) const {
  const Program& p = program_;
  const std::vector<std::uint32_t>& words = p.moving_words;
  const bool random = !p.random_words.empty(), moves = random || !words.empty();
  const bool as_before = i.resolved && !random && are_there(words, values, i.words);
  if (!as_before) {
    i.resolved = false;
    if (moves) p.exprs.evaluate(values, i.slots.data());
    if (random) i.host.resolve(SlotValues(i.slots.data()));
  }
  const SlotValues now = moves ? SlotValues(i.slots.data()) : slots();
  void** const cells = i.base.data() + p.workspace_cell() + 1;
  for (std::uint32_t c : i.float_cells) cells[c] = reinterpret_cast<void*>(values[*p.word_cells[c].word]);
  for (std::size_t c = 0; c < p.word_cells.size() && !as_before; ++c) {
    const Program::WordCell& w = p.word_cells[c];
    if (!w.word)
      cells[c] = reinterpret_cast<void*>(w.grid >= 0 ? p.blocks_of(p.gpu_steps[static_cast<std::size_t>(w.grid)], now)
                                                     : now[w.slot]);
  }
  if (!i.resolved || i.lane != lane.base()) {
    for (std::uint32_t b : p.temps) i.base[b] = lane.base() + temp_offset_[b];
    i.lane = lane.base();
  }
  if (!as_before) {
    keep(words, values, i.words);
    i.resolved = true;
  }
  return now;
}

const BoxedPlan* Recording::boxed_plan(Instance& i, const detail::Given& given, TensorImpl* const* inputs) const {
  if (!BoxedReplay::is_worth_it(given, inputs, program_.graph.inputs.size())) return nullptr;
  if (!i.boxed) i.boxed = std::make_unique<BoxedPlan>(program_);
  return i.boxed->is_possible ? i.boxed.get() : nullptr;
}

void Recording::replay(const std::int64_t* values, TensorImpl* const* inputs, detail::Outputs& outputs,
                       const std::vector<std::int32_t>& tensor_results, std::int64_t* copied_bytes) {
  const FloatState ours;
  const Program& p = program_;
  Instance* inst = take_instance();
  if (!inst) inst = make_instance(nullptr, {}).release();
  Returner returner{*this, inst};
  const std::int64_t workspace = inst->device ? inst->device->workspace_bytes() : 0, bytes = lane_bytes(*inst);
  const BoxedPlan* const plan = outputs.given ? boxed_plan(*inst, *outputs.given, inputs) : nullptr;
  const bool in_pool = !plan || pool_bytes(p.device) >= bytes;
  Lane lane(p.device, in_pool ? bytes : 0);
  const SlotValues now = resolve(*inst, values, lane);
  if (p.float_exprs.size()) p.float_exprs.evaluate(values, inst->floats.data());
  auto bits_of = [&](const Program::FloatWord& f) { return f.computed ? inst->floats[*f.computed] : values[f.word]; };
  for (const Program::FloatWord& f : p.floats) {
    const std::int64_t bits = bits_of(f);
    for (std::uint32_t at : f.params) inst->params[at] = bits;
    for (std::uint32_t at : f.numbers) inst->host.set_number(at, std::bit_cast<double>(bits));
  }
  const std::int64_t* params = p.floats.empty() ? params_.data() : inst->params.data();
  void** const base = inst->base.data();
  base[p.workspace_cell()] = workspace ? lane.base() + (bytes - workspace) : nullptr;
  for (const Program::InputPlace& i : p.inputs_read) base[i.buffer] = inputs[i.input]->data();
  std::optional<BoxedReplay> boxed;
  if (plan) boxed.emplace(p, *plan, now, base, in_pool);
  for (const Program::OutputPlace& o : p.outputs_made) {
    Storage* s = boxed
                     ? boxed->result(o.buffer)
                     : new_storage(p.graph.meta(p.graph.outputs[o.output].value).device, now[p.buffer_bytes[o.buffer]]);
    inst->results[o.output] = s;
    base[o.buffer] = s->data;
  }
  build_results(p, now, inputs, inst->results.data(), tensor_results, outputs);
  // an argument that becomes another tensor must not where a check fails
  const bool late = budget_ && budget_->late_faults && p.metadata.empty();
  if (boxed) {
    if (!in_pool) inst->resolved = false, inst->lane = nullptr;  // temporaries stand elsewhere
    boxed->give(*outputs.given, inputs, p.graph.inputs.size());
    try {
      inst->host.run_boxed(*boxed, base, params, now);
    } catch (...) {
      any_released.store(true, std::memory_order_relaxed);  // who tries again finds what has gone
      throw;
    }
  } else if (inst->device) inst->device->run(base, inputs, inst->host, params, now, temp_offset_, is_sealed(), late);
  else inst->host.run_all(base, params, now);
  counters().replays.add();
  *copied_bytes = now[p.copied_bytes];
  if (p.has_epilogue) apply_epilogue(p, now, base, inputs, inst->results.data(), outputs, inst->moved);
  for (const Program::FloatWord& f : p.floats)
    for (std::uint32_t at : f.results) outputs.ints[at] = bits_of(f);
}

RecordingCache::~RecordingCache() {
  if (!budget_) return;
  // No call is in it, but those of other specializations trim: with this lock held they drop none of these, and when it
  // has left they do not know it. Then the entries go.
  std::lock_guard lock(mu_);
  account(-static_cast<std::int64_t>(entries_.size()), -bytes_);
  budget_->leave(*this);
}

void RecordingCache::keep_within(std::shared_ptr<RecordingBudget> budget) {
  budget->join(*this);
  budget_ = std::move(budget);
}

std::vector<std::int64_t> RecordingCache::bounds_of(const std::int64_t* values) const {
  if (!program_.is_bounded()) return {};
  std::vector<std::int64_t> slots(program_.exprs.size());
  program_.exprs.evaluate(values, slots.data());
  return program_.bounds(SlotValues(slots.data()));
}

std::uint64_t RecordingCache::hash_of(const std::int64_t* values, const std::vector<std::int64_t>& bounds) const {
  std::uint64_t h = 0x9e3779b97f4a7c15ull;
  auto add = [&](std::int64_t v) {
    h = (h ^ static_cast<std::uint64_t>(v)) * 0xff51afd7ed558ccdull;
    h ^= h >> 32;
  };
  for (std::uint32_t w : program_.key_words) add(values[w]);
  for (std::int64_t b : bounds) add(b);
  return h;
}

bool RecordingCache::is_for(const Entry& e, std::uint64_t hash, const std::int64_t* values,
                            const std::vector<std::int64_t>& bounds) const {
  const std::vector<std::uint32_t>& words = program_.key_words;
  return e.hash == hash && are_there(words, values, e.key) &&
         std::equal(bounds.begin(), bounds.end(), e.key.begin() + static_cast<std::ptrdiff_t>(words.size()));
}

bool RecordingCache::has(const std::int64_t* values) const {
  const std::vector<std::int64_t> bounds = bounds_of(values);
  const std::uint64_t h = hash_of(values, bounds);
  std::lock_guard lock(mu_);
  const auto [it, end] = by_hash_.equal_range(h);
  return std::any_of(it, end, [&](const auto& e) { return is_for(*e.second, h, values, bounds); });
}

bool RecordingCache::has_served(const Entry& e, const std::int64_t* values) const {
  const std::vector<std::uint32_t>& moving = program_.moving_words;
  return e.moving.size() == moving.size() && are_there(moving, values, e.moving) &&
         are_there(program_.key_words, values, e.key);
}

std::shared_ptr<Recording> RecordingCache::get(const std::int64_t* values, const std::string& name, bool* made_now,
                                               bool ahead) {
  const bool bounded = program_.is_bounded();
  std::unique_lock lock(mu_);
  auto serve = [&](Entry& e) {
    e.hit = true;
    misses_ = 0;
    if (bounded) keep(program_.moving_words, values, e.moving);
    if (const std::uint64_t now = budget_->now(); e.used != now) e.used = now, publish_oldest();
    return e.recording;
  };
  if (bounded && !entries_.empty() && !entries_.front().moving.empty() && has_served(entries_.front(), values))
    return serve(entries_.front());
  lock.unlock();
  const std::vector<std::int64_t> bounds = bounds_of(values);
  const std::uint64_t h = hash_of(values, bounds);
  auto same = [&](const Entry& e) { return is_for(e, h, values, bounds); };
  lock.lock();
  if (!entries_.empty() && same(entries_.front())) return serve(entries_.front());
  auto [it, end] = by_hash_.equal_range(h);
  for (; it != end; ++it) {
    if (!same(*it->second)) continue;
    entries_.splice(entries_.begin(), entries_, it->second);
    std::shared_ptr<Recording> found = serve(entries_.front());
    publish_oldest();  // it may have been the last
    return found;
  }
  if (!ahead) ++misses_;
  if (name_.empty()) name_ = name;
  const timeline::Slice slice("recording", timeline::on() ? "make a recording of " + name : std::string());
  budget_->tick();
  if (auto old = spare(changed_.erase(h) > 0 || ahead); old != entries_.end()) {
    std::atomic_thread_fence(std::memory_order_acquire);  // the last replay's reads are over
    note_evicted(*old);
    recycle(old, h, values, bounds);
  } else {
    add(h, values, bounds);
  }
  counters().recordings_made.add();
  ++made_;
  entries_.front().hit = ahead;
  if (made_now) *made_now = true;
  std::shared_ptr<Recording> made = entries_.front().recording;
  if (logs::on(logs::Channel::Recordings)) {
    logs::event(logs::Event::recording_made, name,
                "recording " + std::to_string(entries_.size()) + ": " + std::to_string(program_.steps.size()) +
                    " launches, " + std::to_string(made->temp_bytes()) + " bytes of the pool, " +
                    std::to_string(made->bytes()) + " bytes of its own",
                {{"live", entries_.size()},
                 {"launches", program_.steps.size()},
                 {"pool_bytes", made->temp_bytes()},
                 {"bytes", made->bytes()},
                 {"values", entries_.front().key}});
  }
  lock.unlock();
  budget_->trim();
  return made;
}

bool RecordingCache::try_drop_oldest() {
  std::unique_lock lock(mu_, std::try_to_lock);
  if (!lock || entries_.empty()) return false;
  note_evicted(entries_.back());
  drop(std::prev(entries_.end()));
  return true;
}

// At the bound, the one that would have to go, if it is of this specialization. Before, where sizes are new at every
// call (a position that grows) and making an executable graph costs much more than changing one: the oldest that served
// one call alone. Sizes that return after that get recordings of their own, up to the bound. In both cases nobody may
// still replay it.
RecordingCache::Entries::iterator RecordingCache::spare(bool returns) {
  constexpr std::int64_t kNewInARow = 8;
  constexpr std::size_t kRemembered = 4096;
  auto is_free = [](const Entry& e) { return e.recording.use_count() == 1; };
  if (!entries_.empty() && budget_->is_full()) {
    auto last = std::prev(entries_.end());
    return is_free(*last) && budget_->is_oldest(*this) ? last : entries_.end();
  }
  if (device::runs_host_code(program_.device) || returns || misses_ <= kNewInARow) return entries_.end();
  for (auto e = entries_.end(); e != entries_.begin();)
    if (--e; !e->hit && is_free(*e)) {
      if (changed_.size() >= kRemembered) changed_.clear();
      changed_.insert(e->hash);
      return e;
    }
  return entries_.end();
}

void RecordingCache::add(std::uint64_t hash, const std::int64_t* values, const std::vector<std::int64_t>& bounds) {
  Entry e;
  e.hash = hash;
  e.used = budget_->now();
  for (std::uint32_t w : program_.key_words) e.key.push_back(values[w]);
  e.key.insert(e.key.end(), bounds.begin(), bounds.end());
  e.recording = Recording::make(program_, values, plan_, budget_);
  entries_.push_front(std::move(e));
  try {
    by_hash_.emplace(hash, entries_.begin());
  } catch (...) {
    entries_.pop_front();  // one that is not found by its hash could not be dropped
    throw;
  }
  account(1, entries_.front().recording->bytes());
}

void RecordingCache::recycle(Entries::iterator old, std::uint64_t hash, const std::int64_t* values,
                             const std::vector<std::int64_t>& bounds) {
  const std::int64_t before = old->recording->bytes();
  try {
    old->recording->rebind(values, plan_);
  } catch (...) {
    drop(old);
    throw;
  }
  old->hit = false;
  old->moving.clear();
  old->used = budget_->now();
  ++evicted_;
  counters().recordings_evicted.add();
  auto handle = by_hash_.extract(position(old));
  handle.key() = old->hash = hash;
  by_hash_.insert(std::move(handle));
  const std::size_t n = program_.key_words.size();
  for (std::size_t i = 0; i < n; ++i) old->key[i] = values[program_.key_words[i]];
  std::copy(bounds.begin(), bounds.end(), old->key.begin() + static_cast<std::ptrdiff_t>(n));
  entries_.splice(entries_.begin(), entries_, old);
  account(0, old->recording->bytes() - before);
}

void RecordingCache::account(std::int64_t count, std::int64_t bytes) {
  bytes_ += bytes;
  budget_->add(count, bytes);
  publish_oldest();
  const std::size_t end = name_.rfind('/');  // an operator that runs eagerly has none
  if (timeline::on() && end != std::string::npos)
    timeline::counter("recordings of " + name_.substr(0, end),
                      {{"count", budget_->count()}, {"bytes", budget_->bytes()}});
}

void RecordingCache::note_evicted(const Entry& e) const {
  if (timeline::on())
    timeline::instant("eviction", "a recording of " + name_ + " goes", {{"bytes", e.recording->bytes()}});
  if (!logs::on(logs::Channel::Recordings)) return;
  const std::int64_t live = budget_->count() - 1, bytes = budget_->bytes() - e.recording->bytes();
  const bool full = live + 1 >= budget_->max_count || budget_->bytes() > budget_->max_bytes;
  logs::event(logs::Event::recording_evicted, name_,
              full ? "the least recently used recording is dropped: " + std::to_string(live + 1) + " of at most " +
                         std::to_string(budget_->max_count) + ", " + std::to_string(bytes) + " bytes of at most " +
                         std::to_string(budget_->max_bytes)
                   : "a recording that served one call is changed to new sizes, which come at every call",
              {{"live", live}, {"bytes", bytes}, {"values", e.key}});
}

void RecordingCache::drop(Entries::iterator e) {
  const std::int64_t bytes = e->recording->bytes();
  ++evicted_;
  counters().recordings_evicted.add();
  by_hash_.erase(position(e));
  entries_.erase(e);
  account(-1, -bytes);
}

auto RecordingCache::position(Entries::iterator entry) -> ByHash::iterator {
  auto it = by_hash_.equal_range(entry->hash).first;
  while (it->second != entry) ++it;
  return it;
}

RecordingCache::Counts RecordingCache::counts() const {
  std::lock_guard lock(mu_);
  return {static_cast<std::int64_t>(entries_.size()), made_, evicted_, bytes_};
}

}  // namespace reprise::runtime
