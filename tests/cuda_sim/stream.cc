#include "tests/cuda_sim/stream.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>

#include "tests/cuda_sim/capture.h"
#include "tests/cuda_sim/graph.h"

namespace sim {

namespace {

struct Streams {
  std::shared_ptr<Stream> legacy = std::make_shared<Stream>();
  std::vector<std::shared_ptr<Stream>> all;  ///< destroyed ones with work left included
  std::condition_variable_any idle;
};
Streams& streams() {
  static Streams* s = [] {
    auto* n = new Streams;
    n->all.push_back(n->legacy);
    return n;
  }();
  return *s;
}

void run_host(const HostWork& h) {
  // A host function may take locks that another thread holds while it waits for ours.
  lock().unlock();
  h.function(h.data);
  lock().lock();
}

/// Runs the front op, after what it needs.
void run_front(const std::shared_ptr<Stream>& s) {
  if (s->busy) {
    streams().idle.wait(lock(), [&] { return !s->busy; });
    return;
  }
  const auto needs = s->queue.front().after;
  const std::uint64_t number = s->queue.front().number;
  for (const Stream::Need& n : needs) run_until(n.stream, n.number);
  if (s->busy || s->queue.empty() || s->queue.front().number != number) return;  // somebody ran it meanwhile
  const WorkPtr work = s->queue.front().work;
  s->busy = true;
  race_operation(s->queue.front().clock, s->line, number);
  if (sticky_error() == CUDA_SUCCESS || std::holds_alternative<ActionWork>(*work)) {
    if (auto* h = std::get_if<HostWork>(work.get())) run_host(*h);
    else execute(*work);
  }
  s->done = s->queue.front().number;
  s->queue.pop_front();
  s->busy = false;
  streams().idle.notify_all();
}

}  // namespace

std::shared_ptr<Stream> default_stream() { return streams().legacy; }

std::shared_ptr<Stream> stream_of(CUstream h) {
  if (h == nullptr || h == CU_STREAM_LEGACY) {
    require(!anything_captures() || h != nullptr || !default_stream()->capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return default_stream();
  }
  require(h != CU_STREAM_PER_THREAD, CUDA_ERROR_NOT_SUPPORTED, "the per-thread default stream is not simulated");
  return find<Stream>(h);
}

void add_stream(const std::shared_ptr<Stream>& s) {
  auto& all = streams().all;
  all.erase(
      std::remove_if(all.begin(), all.end(), [](const auto& o) { return o->queue.empty() && o.use_count() == 1; }),
      all.end());
  static std::uint32_t lines = 0;  // 0 is the default stream's
  s->line = ++lines;
  add_handle(s);
  all.push_back(s);
}

namespace {
/// Of the operation that s has been given: what it is ordered behind, by the rules for the default stream, too.
std::shared_ptr<const Clock> clock_of(Stream& s) {
  join(s.clock, host_clock());
  const bool legacy = &s == streams().legacy.get();
  for (auto& o : streams().all)
    if (o.get() != &s && (legacy ? o->blocking : s.blocking && o == streams().legacy)) join(s.clock, o->clock);
  if (s.clock.size() <= s.line) s.clock.resize(s.line + 1);
  s.clock[s.line] = s.enqueued;
  return std::make_shared<const Clock>(s.clock);
}
}  // namespace

void submit(Stream& s, const std::shared_ptr<Stream>& self, WorkPtr work) {
  if (s.capture) return capture_work(s, std::move(work));
  Stream::Op op{++s.enqueued, std::move(work), std::move(s.waits), nullptr};
  s.waits.clear();
  // The default stream and every blocking stream wait for each other.
  if (&s == streams().legacy.get()) {
    for (auto& o : streams().all) {
      if (o.get() == &s || !o->blocking || o->queue.empty()) continue;
      require(!o->capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
              "work in the default stream while a blocking stream captures");
      op.after.push_back({o, o->enqueued});
    }
  } else if (s.blocking && !streams().legacy->queue.empty()) {
    op.after.push_back({streams().legacy, streams().legacy->enqueued});
  }
  if (races()) op.clock = clock_of(s);
  s.queue.push_back(std::move(op));
  if (!settings().async) run_until(self, s.enqueued);
}

void submit_and_wait(const std::shared_ptr<Stream>& s, Work w) {
  require(!s->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a call that waits, in a capturing stream");
  submit(s, std::move(w));
  run_until(s, s->enqueued);
  host_waited_for(s->clock);
}

void run_until(const std::shared_ptr<Stream>& s, std::uint64_t number) {
  while (s->done < number && !s->queue.empty()) run_front(s);
}
void drain(const std::shared_ptr<Stream>& s) {
  run_until(s, s->enqueued);
  host_waited_for(s->clock);
}
void drain_everything() {
  for (std::size_t i = 0; i < streams().all.size(); ++i) {
    auto s = streams().all[i];
    drain(s);
  }
}

void make_some_progress() {
  auto& all = streams().all;
  for (std::uint64_t n = random_number() % 4; n > 1; --n) {
    auto s = all[random_number() % all.size()];
    if (!s->queue.empty() && !s->busy) run_front(s);
  }
}

bool anything_captures() {
  for (auto& s : streams().all)
    if (s->capture) return true;
  return false;
}

namespace {

/// The first address in the range that the work names as it stands in its parameters: 8 bytes at a multiple of 8.
std::string use_of(const Work& w, std::uint64_t base, std::uint64_t bytes) {
  auto in = [&](std::uint64_t p) { return p - base < bytes; };
  if (auto* k = std::get_if<KernelWork>(&w)) {
    for (std::size_t at = 0; at + 8 <= k->params.size(); at += 8) {
      std::uint64_t p = 0;
      std::memcpy(&p, k->params.data() + at, 8);
      if (in(p)) return cat("kernel ", k->function->name, " with ", hex(p), " at byte ", at, " of its parameters");
    }
  } else if (auto* c = std::get_if<CopyWork>(&w)) {
    if (in(c->to) || in(c->from)) return cat("a copy ", in(c->to) ? "to " : "from ", hex(in(c->to) ? c->to : c->from));
  } else if (auto* m = std::get_if<MemsetWork>(&w)) {
    if (in(m->to)) return cat("a memset at ", hex(m->to));
  } else if (auto* g = std::get_if<ChildWork>(&w)) {
    for (const auto& item : g->graph->items)
      if (std::string s = item.enabled ? use_of(*item.work, base, bytes) : ""; !s.empty()) return s + ", in a graph";
  }
  return {};
}

}  // namespace

std::string queued_use(std::uint64_t base, std::uint64_t bytes) {
  for (const auto& s : streams().all)
    for (const Stream::Op& op : s->queue)
      if (std::string use = use_of(*op.work, base, bytes); !use.empty()) return use;
  return {};
}

}  // namespace sim
