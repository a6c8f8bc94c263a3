#include "tests/cuda_sim/work.h"

#include <cstring>

#include "tests/cuda_sim/graph.h"
#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/race.h"

namespace sim {

namespace {

/// A byte that nobody wrote, as the host gets it: part of a NaN in every floating-point format, -1 in integers.
constexpr char kPoison = '\xff';

bool alive(std::uint64_t p, std::uint64_t bytes, bool write, const char* what) {
  std::string why = memory().why_not(p, bytes);
  if (why.empty() && std::memchr(g_arena.shadow(p), kBlocked, bytes)) why = "given back to the allocator";
  if (why.empty()) return true;
  report_error(CUDA_ERROR_ILLEGAL_ADDRESS, cat(what, ": ", write ? "writes " : "reads ", bytes, " bytes at ", hex(p),
                                               ": ", why, ": ", memory().describe(p, bytes)));
  return false;
}

void copy_row(std::uint64_t to, std::uint64_t from, std::uint64_t bytes, bool to_device, bool from_device) {
  if (bytes == 0) return;
  if (to_device && !alive(to, bytes, true, "a copy")) return;
  if (from_device && !alive(from, bytes, false, "a copy")) return;
  if (from_device) race_access(from, bytes, Touch::Read, 0);
  if (to_device) race_access(to, bytes, Touch::Write, 0);
  const Arena& a = g_arena;
  char* dst = to_device ? a.data(to) : reinterpret_cast<char*>(to);
  const char* src = from_device ? a.data(from) : reinterpret_cast<const char*>(from);
  std::memmove(dst, src, bytes);
  if (to_device && from_device) {
    std::memmove(a.shadow(to), a.shadow(from), bytes);
  } else if (to_device) {
    memory().mark(to, bytes, kWritten);
  } else if (from_device) {
    const std::uint8_t* known = a.shadow(from);
    for (std::uint64_t i = 0; i < bytes; ++i)
      if (known[i] != kWritten) dst[i] = kPoison;
  }
}

void run(const CopyWork& c) {
  race_task("a copy", false);
  const bool to_device = is_device_address(c.to), from_device = !c.staged && is_device_address(c.from);
  for (std::uint64_t z = 0; z < c.depth; ++z)
    for (std::uint64_t y = 0; y < c.height; ++y) {
      const std::uint64_t offset = z * c.from_slice + y * c.from_pitch;
      const std::uint64_t from =
          c.staged ? reinterpret_cast<std::uint64_t>(c.staged->data()) + offset : c.from + offset;
      copy_row(c.to + z * c.to_slice + y * c.to_pitch, from, c.width, to_device, from_device);
    }
  const std::uint64_t bytes = c.width * c.height * c.depth;
  auto& n = counters();
  (to_device ? from_device ? n.bytes_on_device : n.bytes_to_device : n.bytes_to_host) += bytes;
}

void run(const MemsetWork& m) {
  race_task("a memset", false);
  for (std::uint64_t y = 0; y < m.height; ++y) {
    const std::uint64_t to = m.to + y * m.pitch, bytes = m.width * m.element;
    if (bytes == 0 || !alive(to, bytes, true, "a memset")) return;
    race_access(to, bytes, Touch::Write, 0);
    char* dst = g_arena.data(to);
    for (std::uint64_t i = 0; i < m.width; ++i) std::memcpy(dst + i * m.element, &m.value, m.element);
    memory().mark(to, bytes, kWritten);
  }
}

}  // namespace

bool is_device_address(std::uint64_t p) {
  if (!g_arena.holds(p)) return false;
  const Allocation* a = memory().find(p);
  return !a || a->what != Allocation::What::Host;
}

void execute(const Work& w) {
  if (auto* k = std::get_if<KernelWork>(&w)) run_kernel(*k);
  if (auto* c = std::get_if<CopyWork>(&w)) run(*c);
  if (auto* m = std::get_if<MemsetWork>(&w)) run(*m);
  if (auto* h = std::get_if<HostWork>(&w)) h->function(h->data);
  if (auto* a = std::get_if<ActionWork>(&w)) a->run();
  if (auto* g = std::get_if<ChildWork>(&w)) run_graph(*g->graph);
}

CopyWork make_copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes, const char* entry) {
  CopyWork c{.to = to, .from = from, .width = bytes};
  if (bytes == 0) return c;
  require(to != 0 && from != 0, CUDA_ERROR_INVALID_VALUE, entry, ": a null address");
  if (is_device_address(to)) memory().require_range(to, bytes, entry);
  if (is_device_address(from)) memory().require_range(from, bytes, entry);
  return c;
}

MemsetWork make_memset(std::uint64_t to, std::uint64_t pitch, std::uint32_t value, std::uint32_t element,
                       std::uint64_t width, std::uint64_t height, const char* entry) {
  require(element == 1 || element == 2 || element == 4, CUDA_ERROR_INVALID_VALUE, entry, ": elements of ", element,
          " bytes");
  require(to % element == 0, CUDA_ERROR_INVALID_VALUE, entry, ": ", hex(to), " is not a multiple of ", element);
  require(height <= 1 || pitch >= width * element, CUDA_ERROR_INVALID_VALUE, entry, ": pitch ", pitch);
  for (std::uint64_t y = 0; y < height && width; ++y) memory().require_range(to + y * pitch, width * element, entry);
  return {to, pitch, width, height, value, element};
}

}  // namespace sim
