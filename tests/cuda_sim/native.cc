#include <algorithm>
#include <cstring>

#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/race.h"
#include "tests/cuda_sim/stream.h"

/// Work of stand-ins for libraries: control.h.
using namespace sim;
#define SIM_CONTROL extern "C" __attribute__((visibility("default")))

SIM_CONTROL int reprise_simulator_submit(void* stream, void (*run)(void*), const void* data, size_t bytes) {
  return api(__func__, kContext, [&] {
    NativeWork w{run, std::vector<std::uint64_t>((bytes + 7) / 8)};
    std::memcpy(w.data.data(), data, bytes);
    submit(stream_of(static_cast<CUstream>(stream)), std::move(w));
  });
}

SIM_CONTROL void* reprise_simulator_reach(uint64_t p, size_t bytes, int write, const char* what) {
  std::lock_guard hold(lock());
  std::string why;
  if (bytes == 0) return g_arena.data(p);
  if (!g_arena.holds(p) || !g_arena.holds(p + bytes - 1)) why = "no device address";
  if (why.empty()) why = memory().why_not(p, bytes);
  if (why.empty()) {
    std::uint8_t* known = g_arena.shadow(p);
    if (std::memchr(known, kBlocked, bytes))
      why = "given back to the allocator";
    else if (write)
      std::memset(known, kWritten, bytes);
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
