#include "device/late_faults.h"

#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "base/errors.h"
#include "base/fork.h"
#include "base/mutex.h"

namespace reprise::device {

std::atomic<std::int64_t> late_records{0};

namespace {

// No record: no byte of it is 0. The words of a record are written one after the other, and bytes perhaps too: a first
// word of 0 is there in full, and behind any other one the rest is waited for.
constexpr std::int64_t kUnwritten = -1;
constexpr std::int64_t kBlock = 4096, kSlot = 64;  // bytes

struct Pending {
  std::int64_t* words;
  std::shared_ptr<const FaultTeller> teller;
};
struct OfStream {
  Backend* backend;
  std::deque<Pending> pending;  // in the order of the stream
};
constinit ForkMutex mu;
// By the stream's id. A stream that is destroyed leaves what nobody has read: it is told when the device is waited for.
std::map<std::uint64_t, OfStream>& streams() {
  static auto* all = new std::map<std::uint64_t, OfStream>;  // guarded by mu
  return *all;
}
std::vector<std::int64_t*>& free_slots(Backend& b) {
  static auto* all = new std::map<Backend*, std::vector<std::int64_t*>>;  // guarded by mu
  return (*all)[&b];
}

std::int64_t first_word(const Pending& p) { return __atomic_load_n(p.words, __ATOMIC_ACQUIRE); }

Pending take_first(OfStream& s) {
  Pending p = std::move(s.pending.front());
  s.pending.pop_front();
  late_records.fetch_sub(1, std::memory_order_relaxed);
  free_slots(*s.backend).push_back(p.words);
  return p;
}

/// Takes out the records without a fault. The first one behind them, if it was written, or null.
const Pending* skip_good(OfStream& s) {
  while (!s.pending.empty() && first_word(s.pending.front()) == 0) take_first(s);
  return s.pending.empty() || first_word(s.pending.front()) == kUnwritten ? nullptr : &s.pending.front();
}

/// Throws the first fault of one stream; `wait` sees to it that what was begun is written.
template <class Wait>
void throw_first(std::uint64_t id, Wait&& wait) {
  MutexLock lock(mu);
  auto it = streams().find(id);
  if (it == streams().end() || !skip_good(it->second)) return;
  lock.unlock();
  wait();
  lock.lock();
  it = streams().find(id);
  if (it == streams().end() || !skip_good(it->second)) return;  // another thread has told it
  std::int64_t record[kLateWords];
  for (int i = 0; i < kLateWords; ++i) record[i] = it->second.pending.front().words[i];
  const Pending p = take_first(it->second);
  lock.unlock();
  p.teller->tell(record);
}

}  // namespace

bool note_late(Backend& b, Stream& s, const void* record, std::shared_ptr<const FaultTeller> teller) {
  const MutexLock lock(mu);  // to the end: records of a stream stand in its order
  std::vector<std::int64_t*>& free = free_slots(b);
  if (free.empty()) {
    void* block = nullptr;
    try {
      block = b.allocate_pinned(kBlock);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::OutOfMemory) throw;
      return false;
    }
    for (std::int64_t at = 0; at < kBlock; at += kSlot)
      free.push_back(reinterpret_cast<std::int64_t*>(static_cast<char*>(block) + at));
  }
  OfStream& of = streams()[s.id()];
  of.backend = &b;
  std::int64_t* words = free.back();
  of.pending.push_back({words, std::move(teller)});
  free.pop_back();
  late_records.fetch_add(1, std::memory_order_relaxed);
  for (int i = 0; i < kLateWords; ++i) words[i] = kUnwritten;
  // Where it cannot be queued the device has failed, and nobody gets to read it.
  b.copy_to_pinned(words, record, kLateWords * static_cast<std::int64_t>(sizeof *words), s);
  return true;
}

void throw_late_of(Stream& s) {
  throw_first(s.id(), [&] { s.synchronize(); });
}

void throw_late(Backend& b) {
  if (late_records.load(std::memory_order_relaxed) == 0) return;
  std::vector<std::uint64_t> ids;
  {
    const MutexLock lock(mu);
    for (const auto& [id, of] : streams())
      if (of.backend == &b && !of.pending.empty()) ids.push_back(id);
  }
  for (std::uint64_t id : ids) throw_first(id, [&] { b.synchronize(); });
}

}  // namespace reprise::device
