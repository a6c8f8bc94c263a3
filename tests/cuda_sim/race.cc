#include "tests/cuda_sim/race.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <unordered_map>

#include "tests/cuda_sim/execution.h"
#include "tests/cuda_sim/memory.h"

namespace sim {

RaceState g_race;

void join(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

namespace {

/// Who touched a byte. 8 bytes, since there are four for each.
struct Who {
  std::uint32_t epoch = 0;  ///< 0: nobody
  std::uint16_t thread : 11 = 0;
  std::uint16_t atomic : 1 = 0;
  // Of readers: other threads of the same epoch, in other warps; other blocks of the same launch.
  std::uint16_t many : 1 = 0, warps : 1 = 0, blocks : 1 = 0;
  std::uint8_t phase = 0;
};
static_assert(sizeof(Who) == 8);
struct Cell {
  Who writer, readers[3];  ///< readers since then; those that another comes after need no place
};

constexpr std::uint64_t kPage = 4096;
/// Of cells, 128 KiB each. When there are more, all is forgotten: races may be missed then.
constexpr std::size_t kPagesKept = 8192;

struct Task {
  std::uint32_t begin;  ///< epoch
  std::uint32_t line, run, step;
  std::uint64_t number;
  const std::string* name;
};

struct Found {
  const char* between = nullptr;  ///< null: no race
  const char* missing = nullptr;
};

struct Detector {
  std::unordered_map<std::uint64_t, std::unique_ptr<Cell[]>> pages;
  std::uint64_t last_number = ~std::uint64_t{0};
  Cell* last_page = nullptr;
  std::set<std::string> names;
  std::vector<Task> tasks;  ///< by `begin`
  Clock host;
  std::shared_ptr<const Clock> clock;  ///< of the operation that runs
  std::uint32_t line = 0, run = 0, step = 0, runs = 0;
  std::uint64_t number = 0;
  std::vector<std::vector<bool>> ancestors;  ///< of the running graph, by step
  std::vector<std::vector<bool>> before;     ///< the same of threads that have not waited
  std::vector<bool> early;                   ///< by step: threads have something to wait for
  bool asked_waited = false;
  std::uint32_t asked = 0;  ///< ordered(): the latest answer, for epochs of one task
  std::uint32_t asked_end = 0, asked_in = 0;
  bool answer = false;
  std::set<std::string> told;
  /// Epochs of other blocks of this launch, from the first one up to but not with the second.
  using Epochs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  /// by place of an atomic operation: what lies before it and a fence
  std::unordered_map<std::uint64_t, Epochs> released;
  Epochs acquired, pending;  ///< by this block; what is as soon as there is a fence
  /// a thread of this block has had a fence, behind its last barrier
  bool fenced = false;
  std::uint32_t fence_epoch = 0;
  /// A store where another one was made, before it is known whether it changes anything.
  struct Store {
    Found found;
    Who other;
    std::uint64_t p = 0, bytes = 0;
    std::uint32_t site = 0, thread = 0, block[3] = {};
    char before[16];
  } store;  ///< bytes = 0: none

  void forget_all() { pages.clear(), last_number = ~std::uint64_t{0}, last_page = nullptr; }
  Cell* page(std::uint64_t at) {
    if (at == last_number) return last_page;
    auto it = pages.find(at);
    if (it == pages.end()) {
      if (pages.size() >= kPagesKept) forget_all();
      it = pages.emplace(at, std::make_unique<Cell[]>(kPage)).first;
    }
    last_number = at;
    return last_page = it->second.get();
  }
};
Detector& detector() {
  static auto* d = new Detector;
  return *d;
}

/// The task of an epoch before this one's.
const Task& task_of(std::uint32_t epoch) {
  auto& all = detector().tasks;
  return *std::prev(
      std::upper_bound(all.begin(), all.end(), epoch, [](std::uint32_t e, const Task& t) { return e < t.begin; }));
}

std::uint32_t thread_now() { return g_ids.warp * 32 + g_ids.lane; }
/// Has the running thread nothing left to wait for?
bool has_waited() {
  return !g_race.early || !g_race.kernel || g_race.waited[thread_now() / 64 & 31] >> thread_now() % 64 & 1;
}

/// Does the task of that epoch come before the running one in every order?
bool ordered(std::uint32_t epoch) {
  Detector& d = detector();
  const bool waited = has_waited();
  if (epoch >= d.asked && epoch < d.asked_end && d.asked_in == g_race.task_begin && d.asked_waited == waited)
    return d.answer;
  const Task& t = task_of(epoch);
  d.asked = t.begin;
  d.asked_end = &t == &d.tasks.back() ? ~0u : (&t)[1].begin;
  d.asked_in = g_race.task_begin, d.asked_waited = waited;
  if (d.run && t.run == d.run) return d.answer = t.step == d.step || (waited ? d.ancestors : d.before)[d.step][t.step];
  return d.answer = d.clock && t.line < d.clock->size() && (*d.clock)[t.line] >= t.number;
}

bool has_acquired(std::uint32_t epoch) {
  for (const auto& [from, to] : detector().acquired)
    if (epoch >= from && epoch < to) return true;
  return false;
}

/// An atomic operation takes over what earlier ones at its place have let go, and lets go what its block did before its
/// fence.
void note_atomic(std::uint64_t p) {
  Detector& d = detector();
  Detector::Epochs& here = d.released[p];
  d.pending.insert(d.pending.end(), here.begin(), here.end());
  if (d.fenced) here.emplace_back(g_race.block_begin, d.fence_epoch + 1);
}

/// `many`, `blocks` only of readers.
Found race_with(const Who& o, bool shared, std::uint32_t thread, bool atomic) {
  if (o.epoch == 0) return {};
  if (o.epoch >= g_race.block_begin && o.epoch >= g_race.task_begin) {
    if (o.blocks && !shared && !(atomic && o.atomic)) return {"blocks of a launch", "nothing orders both"};
    if (o.epoch != g_race.epoch || (atomic && o.atomic)) return {};
    if (o.thread == thread && !o.many) return {};
    if (o.thread / 32u == thread / 32 && !o.warps && o.phase != g_race.phase[thread / 32 & 31]) return {};
    return {"threads of a block", "no barrier is between"};
  }
  if (shared || (atomic && o.atomic)) return {};
  if (o.epoch >= g_race.task_begin && has_acquired(o.epoch)) return {};
  if (o.epoch >= g_race.task_begin) return {"blocks of a launch", "nothing orders both"};
  if (ordered(o.epoch)) return {};
  const Detector& d = detector();
  if (d.run && task_of(o.epoch).run == d.run && !has_waited() && d.ancestors[d.step][task_of(o.epoch).step])
    return {"nodes of a graph", "this thread has not waited for it (griddepcontrol.wait)"};
  if (d.run && task_of(o.epoch).run == d.run) return {"nodes of a graph", "no path connects both"};
  return {"streams", "no event orders both"};
}

[[gnu::noinline]] void report(const Found& f, const Who& o, bool other_wrote, std::uint64_t p, std::uint64_t bytes,
                              bool write, std::uint32_t site, bool shared, const char* by = "") {
  static std::string line;  // outlives kernel_error
  Detector& d = detector();
  const Task& other = o.epoch >= g_race.task_begin ? d.tasks.back() : task_of(o.epoch);
  {
    const std::string key = cat(f.between, *d.tasks.back().name, site, write, *other.name, other_wrote);
    if (g_race.what == Races::Tell && !d.told.insert(key).second) return;
    line = cat(write ? "writes " : "reads ", bytes, " bytes at ", hex(p), by,
               d.run ? cat(" in node ", d.step, " of a graph") : std::string(), ": a race between ", f.between, ": ",
               *other.name, ", thread ", o.thread, other.run ? cat(", node ", other.step) : std::string(), ", ",
               other_wrote ? "wrote" : "read", " them, and ", f.missing, ": ",
               shared ? std::string("shared memory") : memory().describe(p, bytes));
  }
  if (g_race.what == Races::Tell)
    std::fprintf(stderr, "cuda simulator: %s: %s%s\n", d.tasks.back().name->c_str(), line.c_str(),
                 g_race.kernel ? site_text(site).c_str() : "");
  else if (g_race.kernel) kernel_error(CUDA_ERROR_LAUNCH_FAILED, line.c_str(), site);
  else report_error(CUDA_ERROR_LAUNCH_FAILED, cat(*d.tasks.back().name, ": ", line));
}

/// Stores of what is there are none: threads that all write one number need no order.
void settle_store() {
  Detector::Store& s = detector().store;
  if (s.bytes == 0) return;
  const std::uint64_t bytes = s.bytes;
  s.bytes = 0;
  if (std::memcmp(g_arena.data(s.p), s.before, bytes) == 0) return;
  static std::string by;  // outlives kernel_error
  by = cat(" (by thread ", s.thread, " of block (", s.block[0], ",", s.block[1], ",", s.block[2], "))");
  report(s.found, s.other, true, s.p, bytes, true, s.site, s.p - g_arena.base < kSharedWindow, by.c_str());
}

/// The running thread reads: what of earlier readers need no longer be known gives its place.
void note_reader(Cell& c, std::uint32_t thread) {
  const std::uint8_t phase = g_race.phase[thread / 32 & 31];
  Who now;
  now.epoch = g_race.epoch, now.thread = static_cast<std::uint16_t>(thread & 0x7ff), now.phase = phase;
  Who* place = nullptr;
  for (Who& r : c.readers)
    if (r.epoch >= g_race.task_begin) place = &r;
  if (place) {
    if (place->epoch == now.epoch) {
      now.many = place->many || place->thread != now.thread;
      now.warps = place->warps || place->thread / 32 != now.thread / 32;
      now.blocks = place->blocks;
    } else {
      now.blocks = place->blocks || place->epoch < g_race.block_begin;
    }
    *place = now;
    return;
  }
  for (Who& r : c.readers)
    if (!place && (r.epoch == 0 || ordered(r.epoch))) place = &r;
  *(place ? place : &c.readers[2]) = now;
}

}  // namespace

void host_waited_for(const Clock& c) { join(detector().host, c); }
const Clock& host_clock() { return detector().host; }

void race_operation(std::shared_ptr<const Clock> clock, std::uint32_t line, std::uint64_t number) {
  Detector& d = detector();
  d.clock = std::move(clock);
  d.line = line, d.number = number;
  d.run = d.step = 0;
}

void race_graph(const std::vector<const std::vector<std::uint32_t>*>& after,
                const std::vector<const std::vector<std::uint32_t>*>& early) {
  if (!races()) return;
  Detector& d = detector();
  d.run = ++d.runs;
  const std::size_t n = after.size();
  d.ancestors.assign(n, std::vector<bool>(n));
  d.before.assign(n, std::vector<bool>(n));
  d.early.assign(n, false);
  auto add = [](std::vector<bool>& to, const std::vector<bool>& from) {
    for (std::size_t j = 0; j < from.size(); ++j)
      if (from[j]) to[j] = true;
  };
  for (std::size_t i = 0; i < n; ++i)
    for (std::uint32_t b : *after[i]) {
      d.ancestors[i][b] = true;
      add(d.ancestors[i], d.ancestors[b]);
      if (std::find(early[i]->begin(), early[i]->end(), b) != early[i]->end()) {
        d.early[i] = true;
        add(d.before[i], d.before[b]);
      } else {
        d.before[i][b] = true;
        add(d.before[i], d.ancestors[b]);
      }
    }
}
void race_step(std::uint32_t step) {
  Detector& d = detector();
  d.step = step;
  g_race.early = races() && d.run && step < d.early.size() && d.early[step];
}
void race_graph_end() {
  detector().run = detector().step = 0;
  g_race.early = false;
}

void race_wait() {
  if (g_race.early) g_race.waited[thread_now() / 64 & 31] |= std::uint64_t{1} << thread_now() % 64;
}
void race_thread_end() {
  // the first block answers for all
  if (!g_race.early || has_waited() || g_ids.ctaid[0] + g_ids.ctaid[1] + g_ids.ctaid[2] > 0) return;
  static const char* const kText =
      "ends without having waited for what comes before its kernel (griddepcontrol.wait): who waits for this kernel "
      "would not wait for that";
  report_kernel_error(CUDA_ERROR_LAUNCH_FAILED, kText, kNoSite);
}

void race_block_begins() {
  Detector& d = detector();
  d.acquired.clear(), d.pending.clear();
  d.fenced = false;
}
void race_fence() {
  if (!races()) return;
  Detector& d = detector();
  d.acquired.insert(d.acquired.end(), d.pending.begin(), d.pending.end());
  d.pending.clear();
  d.fenced = true, d.fence_epoch = g_race.epoch;
}

void race_kernel_end() {
  g_race.kernel = false;
  settle_store();
}

void race_task(const std::string& name, bool kernel) {
  g_race.kernel = kernel;
  if (!races()) return;
  Detector& d = detector();
  if (g_race.epoch > 0xf0000000u) {
    d.forget_all();
    d.tasks.clear();
    g_race.epoch = 0, d.asked = d.asked_end = 0;
  }
  g_race.task_begin = g_race.block_begin = ++g_race.epoch;
  d.released.clear();
  race_block_begins();
  d.tasks.push_back({g_race.epoch, d.line, d.run, d.step, d.number, &*d.names.insert(name).first});
}

void race_touch(std::uint64_t p, std::uint64_t bytes, Touch t, std::uint32_t site) {
  Detector& d = detector();
  if (d.tasks.empty()) return;  // they were switched on while it runs
  settle_store();
  const bool shared = p - g_arena.base < kSharedWindow;
  const std::uint32_t thread = g_race.kernel ? g_ids.warp * 32 + g_ids.lane : 0;
  const bool atomic = t == Touch::Atomic, write = t != Touch::Read;
  if (atomic && g_race.kernel && !shared) note_atomic(p);
  for (std::uint64_t at = p; at < p + bytes; ++at) {
    Cell& c = d.page(at / kPage)[at % kPage];
    if (const Found f = race_with(c.writer, shared, thread, atomic); f.between) {
      if (t != Touch::Write || !g_race.kernel || bytes > sizeof d.store.before)
        return report(f, c.writer, true, p, bytes, write, site, shared);
      if (d.store.bytes == 0) {
        d.store = {f, c.writer, p, bytes, site, thread, {g_ids.ctaid[0], g_ids.ctaid[1], g_ids.ctaid[2]}, {}};
        std::memcpy(d.store.before, g_arena.data(p), bytes);
      }
    }
    if (write)
      for (const Who& r : c.readers)
        if (const Found f = race_with(r, shared, thread, atomic); f.between)
          return report(f, r, false, p, bytes, write, site, shared);
    if (!write) {
      note_reader(c, thread);
      continue;
    }
    c = {};
    c.writer.epoch = g_race.epoch;
    c.writer.thread = static_cast<std::uint16_t>(thread & 0x7ff);
    c.writer.atomic = atomic;
    c.writer.phase = g_race.phase[thread / 32 & 31];
  }
}

void race_forget(std::uint64_t p, std::uint64_t bytes) {
  if (!races() || bytes == 0) return;
  Detector& d = detector();
  const std::uint64_t first = p / kPage, last = (p + bytes - 1) / kPage;
  if (last - first < d.pages.size()) {
    for (std::uint64_t at = first; at <= last; ++at) d.pages.erase(at);
  } else {
    std::erase_if(d.pages, [&](const auto& page) { return page.first >= first && page.first <= last; });
  }
  d.last_number = ~std::uint64_t{0}, d.last_page = nullptr;
}

}  // namespace sim
