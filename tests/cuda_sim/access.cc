#include <algorithm>
#include <cstring>

#include "tests/cuda_sim/execution.h"
#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/race.h"

/// Checks of a kernel's memory accesses. Each returns where the bytes are on the host, or ends the kernel.
namespace sim {

namespace {

std::string shared_range(std::uint64_t p, std::uint64_t bytes) {
  const Code& code = *g_exec.code;
  for (const SharedVariable& v : code.shared)
    if (p >= v.address && p < v.address + v.bytes && p + bytes <= v.address + v.bytes) return {};
  if (p >= code.dynamic_base && p + bytes <= g_exec.shared_end) return {};
  // The variable it is nearest to.
  std::string text = cat("shared memory: dynamic ",
                         g_exec.shared_end > code.dynamic_base ? g_exec.shared_end - code.dynamic_base : 0, " bytes");
  std::uint64_t best = ~std::uint64_t{0};
  if (g_exec.shared_end && p >= code.dynamic_base) text = cat("byte ", p - code.dynamic_base, " of ", text), best = 0;
  for (const SharedVariable& v : code.shared) {
    const std::uint64_t away = p < v.address ? v.address - p : p < v.address + v.bytes ? 0 : p - v.address - v.bytes;
    if (away < best && away < 4096) {
      best = away;
      text = cat("byte ", static_cast<std::int64_t>(p - v.address), " of shared variable ", v.name, " of ", v.bytes,
                 " bytes");
    }
  }
  return "out of bounds: " + text;
}

/// Composes the message in a scope of its own: kernel_error does not return, so nothing may be left to destroy.
[[noreturn, gnu::noinline]] void refuse(CUresult r, std::uint64_t p, std::uint64_t bytes, bool write,
                                        const std::string& why, std::uint32_t site) {
  static std::string line;
  line = cat(write ? "writes " : "reads ", bytes, bytes == 1 ? " byte at " : " bytes at ", hex(p), ": ", why);
  kernel_error(r, line.c_str(), site);
}

bool in_shared(std::uint64_t p) { return p - g_arena.base < kSharedWindow; }

/// Ends the kernel unless the bytes are aligned and of memory that it may touch. False: they are on its stack.
[[gnu::noinline]] bool in_memory(std::uint64_t p, std::uint64_t bytes, std::uint32_t align, std::uint32_t site,
                                 bool write) {
  static std::string why;  // outlives kernel_error
  if (p % align) {
    why = cat("misaligned: the access needs a multiple of ", align);
    refuse(CUDA_ERROR_MISALIGNED_ADDRESS, p, bytes, write, why, site);
  }
  if (!g_arena.holds(p)) {
    if (on_kernel_stack(p, bytes)) return false;
    why = p < 4096 ? "a null pointer" : "no device address (a pointer to host memory, or not a pointer)";
    refuse(CUDA_ERROR_ILLEGAL_ADDRESS, p, bytes, write, why, site);
  }
  if (in_shared(p)) {
    why = shared_range(p, bytes);
  } else {
    why = memory().why_not(p, bytes);
    if (!why.empty()) why += ": " + memory().describe(p, bytes);
  }
  if (!why.empty()) refuse(CUDA_ERROR_ILLEGAL_ADDRESS, p, bytes, write, why, site);
  if (std::memchr(g_arena.shadow(p), kBlocked, bytes)) {
    why = "given back to the allocator: " + memory().describe(p, bytes);
    refuse(CUDA_ERROR_ILLEGAL_ADDRESS, p, bytes, write, why, site);
  }
  return true;
}

[[gnu::noinline]] char* check(std::uint64_t p, std::uint64_t bytes, std::uint32_t align, std::uint32_t site, bool read,
                              bool write) {
  static std::string why;  // outlives kernel_error
  if (!in_memory(p, bytes, align, site, write)) return reinterpret_cast<char*>(p);
  std::uint8_t* known = g_arena.shadow(p);
  if (read) {
    const auto missing = bytes - static_cast<std::uint64_t>(std::count(known, known + bytes, kWritten));
    if (missing) {
      why = cat("nobody wrote ", missing,
                " of them: ", in_shared(p) ? std::string("shared memory of this block") : memory().describe(p, bytes));
      refuse(CUDA_ERROR_ILLEGAL_ADDRESS, p, bytes, false, why, site);
    }
  }
  if (write) std::memset(known, kWritten, bytes);
  race_access(p, bytes, read && write ? Touch::Atomic : write ? Touch::Write : Touch::Read, site);
  return g_arena.data(p);
}

template <int N>
struct Word;
template <>
struct Word<1> {
  using T = std::uint8_t;
  static constexpr T kAll = 0x01;
};
template <>
struct Word<2> {
  using T = std::uint16_t;
  static constexpr T kAll = 0x0101;
};
template <>
struct Word<4> {
  using T = std::uint32_t;
  static constexpr T kAll = 0x01010101;
};
template <>
struct Word<8> {
  using T = std::uint64_t;
  static constexpr T kAll = 0x0101010101010101;
};
template <>
struct Word<16> {
  using T = unsigned __int128;
  static constexpr T kAll = (T{0x0101010101010101} << 64) | 0x0101010101010101;
};

/// Aligned access of N bytes, all of which somebody wrote before: the common case for stores, too.
template <int N, bool kWrite>
char* quick(std::uint64_t p, std::uint32_t site) {
  using W = Word<N>;
  if (g_arena.holds(p) && p % N == 0) [[likely]] {
    typename W::T known;
    std::memcpy(&known, g_arena.shadow(p), N);
    if (known == W::kAll) [[likely]] {
      race_access(p, N, kWrite ? Touch::Write : Touch::Read, site);
      return g_arena.data(p);
    }
  }
  return check(p, N, N, site, !kWrite, kWrite);
}

char* read(std::uint64_t p, std::uint64_t bytes, std::uint32_t align, std::uint32_t site) {
  return check(p, bytes, align, site, true, false);
}
char* write(std::uint64_t p, std::uint64_t bytes, std::uint32_t align, std::uint32_t site) {
  return check(p, bytes, align, site, false, true);
}
char* update(std::uint64_t p, std::uint64_t bytes, std::uint32_t align, std::uint32_t site) {
  return check(p, bytes, align, site, true, true);
}

void copy_bytes(std::uint64_t to, std::uint64_t from, std::uint64_t bytes, std::uint32_t site) {
  if (bytes == 0) return;
  const char* src = check(from, bytes, 1, site, true, false);
  std::memmove(check(to, bytes, 1, site, false, true), src, bytes);
}
void set_bytes(std::uint64_t to, std::uint32_t value, std::uint64_t bytes, std::uint32_t site) {
  if (bytes) std::memset(check(to, bytes, 1, site, false, true), static_cast<int>(value), bytes);
}

/// Of whole runs of 16 bytes into the second cache: no access, as far as order goes, and of what nobody has written,
/// too.
void prefetch(std::uint64_t p, std::uint32_t bytes, std::uint32_t site) {
  if (bytes % 16)
    refuse(CUDA_ERROR_MISALIGNED_ADDRESS, p, bytes, false, "misaligned: the size needs a multiple of 16", site);
  if (bytes) in_memory(p, bytes, 16, site, false);
}

void prefetch_line(std::uint64_t p, std::uint32_t site) { in_memory(p, 1, 1, site, false); }

void async_copy(std::uint64_t to, std::uint64_t from, std::uint32_t bytes, std::uint32_t from_bytes,
                std::uint32_t site) {
  g_exec.current->open.push_back({to, from, bytes, std::min(bytes, from_bytes), site});
}
void finish(const std::vector<AsyncCopy>& group) {
  for (const AsyncCopy& c : group) {
    char* to = check(c.to, c.bytes, c.bytes, c.site, false, true);
    if (c.from_bytes) std::memcpy(to, check(c.from, c.from_bytes, c.bytes, c.site, true, false), c.from_bytes);
    std::memset(to + c.from_bytes, 0, c.bytes - c.from_bytes);
  }
}
void async_commit() {
  Thread& t = *g_exec.current;
  t.groups.push_back(std::move(t.open));
  t.open.clear();
}
/// Copies happen as late as the program allows, so that a missing wait reads what nobody wrote.
void async_wait(std::uint32_t pending, std::uint32_t all) {
  Thread& t = *g_exec.current;
  while (t.groups.size() > (all ? 0 : pending)) {
    finish(t.groups.front());
    t.groups.erase(t.groups.begin());
  }
  if (all) finish(t.open), t.open.clear();
}

void trap(std::uint32_t site) { kernel_error(CUDA_ERROR_LAUNCH_FAILED, "executes a trap", site); }

template <class F>
RuntimeFunction entry(const char* name, F* f) {
  return {name, reinterpret_cast<void*>(f)};
}

}  // namespace

const char* readable(std::uint64_t p, std::uint64_t bytes, std::uint32_t site) {
  return check(p, bytes, static_cast<std::uint32_t>(bytes), site, true, false);
}

std::span<const RuntimeFunction> access_functions() {
  static const RuntimeFunction all[] = {
      entry("sim_read_1", quick<1, false>),
      entry("sim_read_2", quick<2, false>),
      entry("sim_read_4", quick<4, false>),
      entry("sim_read_8", quick<8, false>),
      entry("sim_read_16", quick<16, false>),
      entry("sim_write_1", quick<1, true>),
      entry("sim_write_2", quick<2, true>),
      entry("sim_write_4", quick<4, true>),
      entry("sim_write_8", quick<8, true>),
      entry("sim_write_16", quick<16, true>),
      entry("sim_read", read),
      entry("sim_write", write),
      entry("sim_update", update),
      entry("sim_copy_bytes", copy_bytes),
      entry("sim_set_bytes", set_bytes),
      entry("sim_prefetch", prefetch),
      entry("sim_prefetch_line", prefetch_line),
      entry("sim_async_copy", async_copy),
      entry("sim_async_commit", async_commit),
      entry("sim_async_wait", async_wait),
      entry("sim_trap", trap),
  };
  return all;
}

}  // namespace sim
