#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <unordered_map>

#include "tests/cuda_sim/handles.h"
#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/race.h"
#include "tests/cuda_sim/stream.h"

namespace sim {

namespace {

struct Injection {
  unsigned skip = 0;
  CUresult result = CUDA_SUCCESS;
};

struct Core {
  std::recursive_mutex lock;
  std::mt19937_64 random{1};
  reprise_simulator_counters counters{};
  std::map<std::string, std::uint64_t> calls;
  std::map<std::string, Injection> injections;
  CUresult sticky = CUDA_SUCCESS;
  std::string last_error;
  bool initialized = false;
  std::unordered_map<std::uint64_t, std::shared_ptr<Object>> objects;
  std::uint64_t next_handle = 0;
};
Core& core() {
  static Core* c = new Core;
  return *c;
}

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* v = std::getenv(name);
  return v && *v ? std::strtoull(v, nullptr, 0) : otherwise;
}

Order order_of(const std::string& s) {
  return s == "reverse" ? Order::Reverse : s == "random" ? Order::Random : Order::Forward;
}

Races races_of(const std::string& s) {
  return s == "tell" ? Races::Tell : s.empty() || s == "0" ? Races::Off : Races::Fail;
}

Settings from_environment() {
  Settings s;
  auto text = [](const char* n) {
    const char* v = std::getenv(n);
    return std::string(v ? v : "");
  };
  s.order = order_of(text("REPRISE_SIM_ORDER"));
  s.seed = number("REPRISE_SIM_SEED", s.seed);
  s.async = number("REPRISE_SIM_ASYNC", 0) != 0;
  s.checks = text("REPRISE_SIM_CHECKS") != "off";
  s.trace = number("REPRISE_SIM_TRACE", 0) != 0;
  g_race.what = races_of(text("REPRISE_SIM_RACES"));
  s.memory = number("REPRISE_SIM_MEMORY", s.memory);
  s.devices = static_cast<int>(number("REPRISE_SIM_DEVICES", 1));
  s.arch = static_cast<int>(number("REPRISE_SIM_ARCH", 90));
  s.granularity = number("REPRISE_SIM_GRANULARITY", s.granularity);
  s.has_pools = text("REPRISE_SIM_LACKS").find("pools") == std::string::npos;
  s.has_mapping = text("REPRISE_SIM_LACKS").find("mapping") == std::string::npos;
  s.has_swizzle = text("REPRISE_SIM_LACKS").find("swizzle") == std::string::npos;
  s.driver_version = static_cast<int>(number("REPRISE_SIM_DRIVER_VERSION", 13000));
  core().random.seed(s.seed);
  std::istringstream fails(text("REPRISE_SIM_FAIL"));  // "cuInit=100,cuMemAlloc=2"
  for (std::string one; std::getline(fails, one, ',');)
    if (auto eq = one.find('='); eq != std::string::npos)
      core().injections[one.substr(0, eq)] = {0, static_cast<CUresult>(std::atoi(one.c_str() + eq + 1))};
  return s;
}

/// "cuMemAlloc" of "cuMemAlloc_v2".
std::string plain_name(const std::string& entry) {
  auto at = entry.rfind("_v");
  return at != std::string::npos && at + 3 >= entry.size() ? entry.substr(0, at) : entry;
}

}  // namespace

std::string hex(std::uint64_t v) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

Settings& settings() {
  static Settings s = from_environment();
  return s;
}
std::uint64_t random_number() { return core().random(); }
std::recursive_mutex& lock() { return core().lock; }
reprise_simulator_counters& counters() { return core().counters; }

void report_error(CUresult sticky, const std::string& line) {
  std::fprintf(stderr, "cuda simulator: %s\n", line.c_str());
  core().last_error = line;
  if (core().sticky == CUDA_SUCCESS) core().sticky = sticky;
}
CUresult sticky_error() { return core().sticky; }

namespace detail {

CUresult enter(const char* entry, unsigned flags) {
  Core& c = core();
  ++c.counters.calls;
  ++c.calls[entry];
  const bool trace = settings().trace;
  if (trace) std::fprintf(stderr, "cuda simulator: %s\n", entry);
  if (!c.injections.empty()) {
    for (const std::string& name : {std::string(entry), plain_name(entry)}) {
      auto it = c.injections.find(name);
      if (it == c.injections.end()) continue;
      if (it->second.skip-- > 0) break;
      const CUresult r = it->second.result;
      c.injections.erase(it);
      return r;
    }
  }
  if (std::strcmp(entry, "cuInit") == 0) c.initialized = settings().devices > 0;
  if (flags & kNoInit) return CUDA_SUCCESS;
  if (!c.initialized) return CUDA_ERROR_NOT_INITIALIZED;
  if (!(flags & kNoContext) && !has_current_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!(flags & kAfterFailure)) {
    if (settings().async) make_some_progress();
    if (c.sticky != CUDA_SUCCESS) return c.sticky;
  }
  return CUDA_SUCCESS;
}

CUresult leave(const char* entry, CUresult r, const std::string& what) {
  if (r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_READY &&
      (settings().trace || (!what.empty() && r != CUDA_ERROR_OUT_OF_MEMORY))) {
    // What the driver only says as a number: printed, since the caller's message cannot hold it.
    std::fprintf(stderr, "cuda simulator: %s: %s%s%s\n", entry, result_name(r), what.empty() ? "" : ": ", what.c_str());
  }
  return r;
}

}  // namespace detail

const char* kind_name(Kind k) {
  static const char* const names[] = {"nothing",          "context",     "stream",          "event",  "module",
                                      "function",         "library",     "kernel",          "graph",  "graph node",
                                      "executable graph", "memory pool", "physical memory", "linking"};
  return names[static_cast<int>(k)];
}

void add_handle(const std::shared_ptr<Object>& o) {
  o->handle = (static_cast<std::uint64_t>(o->kind) << 56) | (++core().next_handle << 4);
  core().objects.emplace(o->handle, o);
}
void remove_handle(std::uint64_t h) { core().objects.erase(h); }
std::shared_ptr<Object> find_handle_or_null(std::uint64_t h) {
  auto it = core().objects.find(h);
  return it == core().objects.end() ? nullptr : it->second;
}
std::uint64_t live_handles() {
  std::uint64_t n = 0;
  for (auto& [h, o] : core().objects)
    n += o->kind != Kind::Context && o->kind != Kind::Node && o->kind != Kind::Function;
  return n;
}
std::shared_ptr<Object> find_handle(std::uint64_t h, Kind kind) {
  std::shared_ptr<Object> o = find_handle_or_null(h);
  if (!o) {
    const auto k = static_cast<Kind>(h >> 56);
    const std::uint64_t serial = (h & 0x00ffffffffffffffu) >> 4;
    const bool was = k >= Kind::Context && k <= Kind::Link && serial >= 1 && serial <= core().next_handle;
    fail(CUDA_ERROR_INVALID_HANDLE, hex(h), was ? cat(" is a destroyed ", kind_name(k)) : std::string(" is no handle"),
         ", used as a ", kind_name(kind));
  }
  require(o->kind == kind, CUDA_ERROR_INVALID_HANDLE, hex(h), " is a ", kind_name(o->kind), ", used as a ",
          kind_name(kind));
  return o;
}

}  // namespace sim

using namespace sim;
#define SIM_CONTROL extern "C" __attribute__((visibility("default")))

SIM_CONTROL const int reprise_simulator = 1;

SIM_CONTROL void reprise_simulator_get_counters(reprise_simulator_counters* out) {
  std::lock_guard hold(lock());
  *out = counters();
  out->live_allocations = memory().live();
  out->live_bytes = memory().used();
  out->live_handles = live_handles();
}
SIM_CONTROL void reprise_simulator_reset_counters() {
  std::lock_guard hold(lock());
  const std::uint64_t graph_bytes = counters().live_graph_bytes;
  counters() = {};
  counters().live_graph_bytes = graph_bytes;
  core().calls.clear();
}
SIM_CONTROL uint64_t reprise_simulator_calls(const char* entry) {
  std::lock_guard hold(lock());
  std::uint64_t n = 0;
  for (auto& [name, count] : core().calls)
    if (name == entry || plain_name(name) == entry) n += count;
  return n;
}
SIM_CONTROL const char* reprise_simulator_last_error() {
  std::lock_guard hold(lock());
  return core().last_error.c_str();
}
SIM_CONTROL void reprise_simulator_reset() {
  std::lock_guard hold(lock());
  core().last_error.clear();
  core().sticky = CUDA_SUCCESS;
}
SIM_CONTROL void reprise_simulator_fail_next(const char* entry, int result) {
  reprise_simulator_fail_after(entry, 0, result);
}
SIM_CONTROL void reprise_simulator_fail_after(const char* entry, unsigned skip, int result) {
  std::lock_guard hold(lock());
  core().injections[entry] = {skip, static_cast<CUresult>(result)};
}
SIM_CONTROL void reprise_simulator_fail_none() {
  std::lock_guard hold(lock());
  core().injections.clear();
}
SIM_CONTROL void reprise_simulator_set_order(const char* order, uint64_t seed) {
  std::lock_guard hold(lock());
  settings().order = order_of(order);
  settings().seed = seed;
  core().random.seed(seed);
}
SIM_CONTROL void reprise_simulator_set_async(int on) {
  std::lock_guard hold(lock());
  if (!on) drain_everything();
  settings().async = on != 0;
}
SIM_CONTROL void reprise_simulator_set_checks(int on) {
  std::lock_guard hold(lock());
  settings().checks = on != 0;
}
SIM_CONTROL void reprise_simulator_set_races(const char* how) {
  std::lock_guard hold(lock());
  settings();
  g_race.what = races_of(how);
}
SIM_CONTROL void reprise_simulator_set_memory(uint64_t bytes) {
  std::lock_guard hold(lock());
  settings().memory = bytes;
}
SIM_CONTROL void reprise_simulator_forget(uint64_t address, size_t bytes) {
  std::lock_guard hold(lock());
  if (memory().why_not(address, bytes).empty()) memory().mark(address, bytes, kUnknown);
}
SIM_CONTROL void reprise_simulator_block(uint64_t address, size_t bytes) {
  std::lock_guard hold(lock());
  if (memory().why_not(address, bytes).empty()) memory().mark(address, bytes, kBlocked);
}
