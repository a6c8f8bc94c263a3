#include "reprise/stats.h"

#include <sstream>

#include "base/counters.h"
#include "base/errors.h"
#include "base/log.h"
#include "device/backend.h"
#include "device/host_memory.h"
#include "device/parallel.h"
#include "jit/jit.h"
#include "runtime/compiled.h"
#include "runtime/pool.h"
#include "tensor/impl.h"

namespace reprise {

ProcessStats stats() {
  ProcessStats s;
  jit::CacheStats code = jit::cache_stats();
  s.kernels_compiled = code.compiled;
  s.kernel_cache_hits = code.hits;
  CounterSnapshot c = counter_snapshot();
  s.traces = static_cast<std::int64_t>(c.traces);
  s.replays = static_cast<std::int64_t>(c.replays);
  s.recordings_made = static_cast<std::int64_t>(c.recordings_made);
  s.eager_calls = static_cast<std::int64_t>(c.eager_calls);
  s.library_products = static_cast<std::int64_t>(c.library_products);
  s.product_captures = static_cast<std::int64_t>(c.product_captures);
  s.product_updates = static_cast<std::int64_t>(c.product_updates);
  s.pool_bytes = runtime::pool_bytes();
  device::HostMemoryStats m = device::host_memory_stats();
  s.result_bytes_live = m.live_bytes;
  s.result_bytes_cached = m.cached_bytes;
  return s;
}

void release_pool() { runtime::release_pool_memory(); }
int num_threads() { return device::num_threads(); }
void set_num_threads(int n) { device::set_num_threads(n); }

int default_num_threads() {
  static const int n = device::num_threads();
  return n;
}
namespace {
const int at_start = default_num_threads();  // before anybody sets another number
}

std::string why_unavailable(const std::string& device) {
  if (device == "cpu") return "available";
  Device d = Device::cuda(0);
  if (device != "cuda") {
    if (device.rfind("cuda:", 0) != 0 || device.size() < 6 || device.find_first_not_of("0123456789", 5) != std::string::npos)
      return "there is no such device: cpu, cuda, cuda:0, ... are known";
    d = Device::cuda(std::stoi(device.substr(5)));
  }
  std::string why = device::why_unavailable(d);
  return why.empty() ? "available" : why;
}

const char* version() { return "0.1.0"; }

void set_log(const std::string& channels, const std::string& file) { log::configure(channels, file); }

void mark_dynamic(const Tensor& x, int dim, DynamicRange r, SourceLoc loc) {
  TensorImpl& t = defined_impl(x, "mark_dynamic", loc);
  if (t.trace) fail(ErrorCode::InvalidArgument, "mark_dynamic", loc, "a traced tensor cannot be marked: mark the argument before the call");
  int d = wrap_dim(dim, t.rank, "mark_dynamic", loc);
  if (r.min < 0 || r.max < r.min || r.multiple_of < 1)
    fail(ErrorCode::InvalidArgument, "mark_dynamic", loc, "the range [", r.min, ", ", r.max, "] in steps of ", r.multiple_of, " is empty");
  std::int64_t n = t.sizes[d];
  if (n < r.min || n > r.max || n % r.multiple_of != 0)
    fail(ErrorCode::InvalidArgument, "mark_dynamic", loc, "size ", n, " of dimension ", d, " is not in [", r.min, ", ", r.max, "] in steps of ", r.multiple_of);
  if (!t.marks) t.marks = new DimMarks;
  t.marks->dims[d] = {r.min, r.max, r.multiple_of, false};
  t.marks->set = static_cast<std::uint8_t>(t.marks->set | 1 << d);
}

void mark_static(const Tensor& x, int dim, SourceLoc loc) {
  TensorImpl& t = defined_impl(x, "mark_static", loc);
  if (t.trace) fail(ErrorCode::InvalidArgument, "mark_static", loc, "a traced tensor cannot be marked: mark the argument before the call");
  int d = wrap_dim(dim, t.rank, "mark_static", loc);
  if (!t.marks) t.marks = new DimMarks;
  t.marks->dims[d] = {t.sizes[d], t.sizes[d], 1, true};
  t.marks->set = static_cast<std::uint8_t>(t.marks->set | 1 << d);
}

namespace detail {

Stats stats_of(const Compiled& c) {
  Stats s;
  s.calls = c.calls;
  s.compilations = c.compilations;
  s.eager_fallbacks = c.fallbacks;
  auto& mu = const_cast<std::mutex&>(c.mu);
  std::lock_guard lock(mu);
  s.specializations = static_cast<std::int64_t>(c.owned.size());
  for (const auto& p : c.retired) s.replays += p->replays;
  for (const auto& p : c.owned) {
    runtime::RecordingCache::Counts r = p->recordings->counts();
    s.recordings += r.live;
    s.recordings_made += r.made;
    s.evictions += r.evicted;
    s.recording_bytes += r.bytes;
    s.replays += p->replays;
    s.copied_bytes += p->copied_bytes;
  }
  s.pool_bytes = runtime::pool_bytes();
  std::int64_t samples = c.dispatch_samples;
  s.dispatch_ns = samples ? static_cast<double>(c.dispatch_ns) / static_cast<double>(samples) : 0;
  s.last_fallback_reason = c.last_fallback_reason;
  return s;
}

std::string explain(const Compiled& c) {
  Stats s = stats_of(c);
  std::ostringstream out;
  out << c.options.name << ": " << s.specializations << " of at most " << c.options.max_specializations << " specializations, " << s.calls << " calls = " << s.replays
      << " replayed + " << s.eager_fallbacks << " eager\n";
  out << "  pool " << s.pool_bytes << " bytes; recordings " << s.recordings << " live, " << s.recordings_made << " made, " << s.evictions << " evicted, "
      << s.recording_bytes << " bytes; copied by epilogues " << s.copied_bytes << " bytes\n";
  auto& mu = const_cast<std::mutex&>(c.mu);
  std::lock_guard lock(mu);
  for (const auto& p : c.owned) {
    runtime::RecordingCache::Counts r = p->recordings->counts();
    out << "\n" << p->name << ": " << p->replays << " replays, " << r.live << " recordings; traced in " << p->trace_ns / 1000 << " us, compiled in " << p->build_ns / 1000 << " us\n";
    out << "  guards (" << p->guards.size() << ", beside dtypes, ranks, layouts and constants):\n";
    for (std::uint32_t i = 0; i < p->guards.size(); ++i) out << "    " << p->guards.text(i) << "\n";
    const graph::Graph& g = p->program.graph;
    for (std::size_t i = 0; i < g.outputs.size(); ++i) {
      const graph::OutputSpec& o = g.outputs[i];
      if (o.kind != graph::OutputSpec::Kind::NewValueOfInput) continue;
      out << "  " << g.values[g.inputs[o.source].value.v].name << (p->program.lowered.outputs[i].in_place ? " is written in place" : " is written in the epilogue") << ": "
          << p->program.lowered.outputs[i].why << "\n";
    }
    out << "  graph:\n" << graph::print(g) << "  launches:\n" << kernels::print(p->program.lowered);
  }
  for (const Compiled::Refusal& r : c.refusals) out << "\nserved eagerly: " << r.reason << "\n";
  return out.str();
}

}  // namespace detail

}  // namespace reprise
