#include <algorithm>
#include <cstring>

#include "tests/cuda_sim/capture.h"
#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/race.h"
#include "tests/cuda_sim/stream.h"

/// Work of stand-ins for libraries: control.h.
using namespace sim;
#define SIM_CONTROL extern "C" __attribute__((visibility("default")))

namespace sim {

namespace {

// As the kernels of cuBLASLt on sm_90: whoever starts it again must ask for the same.
constexpr Dim kCluster{2, 1, 1};

KernelWork stand_in_work(void (*run)(void*), const void* data, std::size_t bytes) {
  auto f = stand_in_kernel(run, bytes);
  KernelWork w{f, kCluster, {1, 1, 1}, 0, std::vector<char>(f->param_bytes), {.cluster = kCluster}};
  std::memcpy(w.params.data(), data, bytes);
  return w;
}

CUresult submit_stand_in(const char* entry, void* stream, void (*run)(void*), const void* data, std::size_t bytes,
                         bool early) {
  return api(entry, kContext, [&] {
    auto s = stream_of(static_cast<CUstream>(stream));
    submit(s, stand_in_work(run, data, bytes));
    if (early) start_last_early(*s);
  });
}

}  // namespace

std::shared_ptr<LoadedKernel> stand_in_kernel(void (*run)(void* data), std::size_t bytes) {
  static auto* made = new std::map<std::pair<void (*)(void*), std::size_t>, std::shared_ptr<LoadedKernel>>;
  std::shared_ptr<LoadedKernel>& f = (*made)[{run, bytes}];
  if (f) return f;
  f = std::make_shared<LoadedKernel>();
  f->name = "of a library";
  f->stand_in = run;
  for (std::uint32_t at = 0; at < bytes; at += 8) f->params.push_back({at, 8});
  f->param_bytes = static_cast<std::uint32_t>((bytes + 7) / 8 * 8);
  add_handle(f);
  auto h = std::make_shared<KernelHandle>();
  h->function = f;
  add_handle(h);
  f->kernel_handle = h->handle;
  return f;
}

void run_stand_in(const KernelWork& w) {
  const Dim c = w.attributes.cluster;
  if (c.x != kCluster.x || c.y != kCluster.y || c.z != kCluster.z)
    return report_error(CUDA_ERROR_LAUNCH_FAILED, cat("kernel ", w.function->name, " in clusters of ", c.x, " x ", c.y,
                                                      " x ", c.z, " blocks: it was launched in others"));
  std::vector<std::uint64_t> data(w.params.size() / 8);  // a launch leaves its parameters as they are
  std::memcpy(data.data(), w.params.data(), w.params.size());
  w.function->stand_in(data.data());
}

}  // namespace sim

SIM_CONTROL int reprise_simulator_submit(void* stream, void (*run)(void*), const void* data, size_t bytes) {
  return submit_stand_in(__func__, stream, run, data, bytes, false);
}
SIM_CONTROL int reprise_simulator_submit_early(void* stream, void (*run)(void*), const void* data, size_t bytes) {
  return submit_stand_in(__func__, stream, run, data, bytes, true);
}

SIM_CONTROL void* reprise_simulator_reach(uint64_t p, size_t bytes, int write, const char* what) {
  std::lock_guard hold(lock());
  std::string why;
  if (bytes == 0) return g_arena.data(p);
  if (!g_arena.holds(p) || !g_arena.holds(p + bytes - 1)) why = "no device address";
  if (why.empty()) why = memory().why_not(p, bytes);
  if (why.empty()) {
    std::uint8_t* known = g_arena.shadow(p);
    if (std::memchr(known, kBlocked, bytes)) why = "given back to the allocator";
    else if (write) std::memset(known, kWritten, bytes);
    else if (const auto missing = bytes - static_cast<std::size_t>(std::count(known, known + bytes, kWritten)))
      why = cat("nobody wrote ", missing, " of them");
  }
  if (why.empty()) {
    race_access(p, bytes, write ? Touch::Write : Touch::Read, 0);
    return g_arena.data(p);
  }
  report_error(CUDA_ERROR_ILLEGAL_ADDRESS, cat(what, ": ", write ? "writes " : "reads ", bytes, " bytes at ", hex(p),
                                               ": ", why, ": ", memory().describe(p, bytes)));
  return nullptr;
}
