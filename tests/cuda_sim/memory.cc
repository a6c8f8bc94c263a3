#include "tests/cuda_sim/memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/cuda_sim/race.h"

namespace sim {

namespace {

constexpr std::uint64_t kPage = 4096;
/// Between two allocations. An access that misses its allocation by less than this is found.
constexpr std::uint64_t kGap = 64 << 10;
constexpr std::size_t kFreedKept = 512;

std::uint64_t round_up(std::uint64_t v, std::uint64_t to) { return (v + to - 1) / to * to; }

void* map_range(std::uint64_t bytes, int protection) {
  // Past the sanitizers, whose mmap would note every page of it.
  void* p = reinterpret_cast<void*>(
      syscall(SYS_mmap, nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (p == MAP_FAILED) {
    std::fprintf(stderr, "cuda simulator: cannot reserve %llu GiB of addresses\n", (unsigned long long)(bytes >> 30));
    std::_Exit(3);
  }
  madvise(p, bytes, MADV_DONTDUMP);
  return p;
}

int memory_file(std::uint64_t bytes) {
  int f = memfd_create("reprise_cuda_sim", MFD_CLOEXEC);
  if (f < 0 || ftruncate(f, static_cast<off_t>(bytes)) != 0) {
    if (f >= 0) close(f);
    fail(CUDA_ERROR_OUT_OF_MEMORY, "the host gives no memory file of ", bytes, " bytes");
  }
  return f;
}

void map_file(void* at, std::uint64_t bytes, int file) {
  if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
    fail(CUDA_ERROR_OUT_OF_MEMORY, "the host maps no ", bytes, " bytes");
}

void map_nothing(void* at, std::uint64_t bytes, int protection) {
  mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

std::string tell(const Allocation& a) {
  const char* what[] = {"allocation ", "pinned allocation ", "address range ", "variable "};
  return cat(what[static_cast<int>(a.what)], a.number, " (", a.bytes, " bytes at ", hex(a.base), ", ", a.from, ")");
}

}  // namespace

Arena g_arena = [] {
  Arena a;
  // Aligned, that descriptors of shared memory, which hold an address's lowest bits, tell it.
  a.base = (reinterpret_cast<std::uint64_t>(map_range(kArenaBytes + kSharedWindow, PROT_NONE)) + kSharedWindow - 1) /
           kSharedWindow * kSharedWindow;
  a.data_delta = reinterpret_cast<std::uint64_t>(map_range(kArenaBytes, PROT_READ | PROT_WRITE)) - a.base;
  a.shadow_delta = reinterpret_cast<std::uint64_t>(map_range(kArenaBytes, PROT_READ | PROT_WRITE)) - a.base;
  return a;
}();

Memory& memory() {
  static Memory* m = new Memory;
  return *m;
}

Memory::Memory() : next_(g_arena.base + 2 * kSharedWindow) {}

Physical::Physical(std::uint64_t n) : Object(kKind), bytes(n) {
  data_file = memory_file(n);
  shadow_file = memory_file(n);
}
Physical::~Physical() {
  if (data_file >= 0) close(data_file);
  if (shadow_file >= 0) close(shadow_file);
  memory().charge(-static_cast<std::int64_t>(bytes));
}

std::uint64_t Memory::take(std::uint64_t bytes, std::uint64_t align) {
  require(bytes <= kArenaBytes, CUDA_ERROR_OUT_OF_MEMORY, bytes, " bytes of addresses asked of the simulator's ",
          kArenaBytes);
  const std::uint64_t span = round_up(bytes, kPage);
  auto again = [&](bool exact) -> std::uint64_t {
    for (auto r = recycled_.begin(); r != recycled_.end(); ++r) {
      if (r->base % std::max(align, kPage) || (exact ? r->bytes != span : r->bytes < span)) continue;
      const std::uint64_t base = r->base;
      recycled_.erase(r);
      return base;
    }
    return 0;
  };
  // Addresses are taken again as late as possible, so that the use of freed memory is noticed; large ranges at once.
  if (std::uint64_t at = span >= std::uint64_t{1} << 30 ? again(true) : 0) return at;
  const std::uint64_t at = round_up(next_, std::max(align, kPage));
  if (at + span + kGap <= g_arena.base + kArenaBytes) {
    next_ = at + span + kGap;
    return at;
  }
  const std::uint64_t old = again(false);
  require(old, CUDA_ERROR_OUT_OF_MEMORY, "the simulator's ", kArenaBytes >> 30, " GiB of addresses are used up");
  return old;
}

void Memory::charge(std::int64_t bytes) {
  require(bytes <= 0 || used_ + static_cast<std::uint64_t>(bytes) <= settings().memory, CUDA_ERROR_OUT_OF_MEMORY, bytes,
          " bytes asked, ", used_, " of ", settings().memory, " in use");
  used_ += static_cast<std::uint64_t>(bytes);
}

std::uint64_t Memory::allocate(std::uint64_t bytes, const char* from) {
  require(bytes > 0, CUDA_ERROR_INVALID_VALUE, "0 bytes asked");
  require(bytes <= settings().memory, CUDA_ERROR_OUT_OF_MEMORY, bytes, " bytes asked of a device with ",
          settings().memory);
  Allocation a{.base = take(bytes, 512), .bytes = bytes, .from = from, .number = ++numbers_};
  try {
    charge(static_cast<std::int64_t>(round_up(bytes, 512)));
  } catch (...) {
    recycled_.push_front({a.base, round_up(bytes, kPage)});
    throw;
  }
  ++live_;
  ++counters().allocations;
  return table_.emplace(a.base, a).first->first;
}

std::uint64_t Memory::allocate_host(std::uint64_t bytes, unsigned flags, const char* from) {
  require(bytes > 0, CUDA_ERROR_INVALID_VALUE, "0 bytes asked");
  Allocation a{.base = take(bytes, kPage),
               .bytes = bytes,
               .what = Allocation::What::Host,
               .from = from,
               .number = ++numbers_,
               .host_flags = flags};
  const std::uint64_t whole = round_up(bytes, kPage);
  const int file = memory_file(whole);
  map_file(reinterpret_cast<void*>(a.base), whole, file);
  map_file(g_arena.data(a.base), whole, file);
  close(file);
  table_.emplace(a.base, a);
  mark(a.base, bytes, kWritten);
  return a.base;
}

std::uint64_t Memory::allocate_global(std::uint64_t bytes, std::uint64_t align, const std::string& name) {
  bytes = std::max<std::uint64_t>(bytes, 1);
  Allocation a{
      .base = take(bytes, align), .bytes = bytes, .what = Allocation::What::Global, .from = name, .number = ++numbers_};
  table_.emplace(a.base, a);
  mark(a.base, bytes, kWritten);
  return a.base;
}

Allocation& Memory::at(std::uint64_t base, Allocation::What what, const char* doing) {
  auto it = table_.find(base);
  require(it != table_.end() && it->second.what == what, CUDA_ERROR_INVALID_VALUE, doing, " of ", hex(base), ": ",
          describe(base, 1));
  return it->second;
}

void Memory::erase(std::uint64_t p, std::uint64_t bytes) {
  race_forget(p, bytes);
  madvise(g_arena.data(p), round_up(bytes, kPage), MADV_DONTNEED);
  madvise(g_arena.shadow(p), round_up(bytes, kPage), MADV_DONTNEED);
}

void Memory::release(std::uint64_t base, Allocation::What what, const char* doing) {
  const Allocation a = at(base, what, doing);
  if (what == Allocation::What::Host) {
    const std::uint64_t whole = round_up(a.bytes, kPage);
    map_nothing(reinterpret_cast<void*>(base), whole, PROT_NONE);
    map_nothing(g_arena.data(base), whole, PROT_READ | PROT_WRITE);
  }
  erase(base, a.bytes);
  if (what == Allocation::What::Device) used_ -= round_up(a.bytes, 512), --live_;
  last_ = nullptr;
  table_.erase(base);
  if (freed_.size() >= kFreedKept) freed_.erase(freed_.begin(), freed_.begin() + kFreedKept / 2);
  freed_.push_back({a.base, a.bytes, a});
  recycled_.push_back({a.base, round_up(a.bytes, kPage)});
}

std::uint64_t Memory::reserve(std::uint64_t bytes, std::uint64_t align, std::uint64_t fixed) {
  require(bytes > 0 && bytes % settings().granularity == 0, CUDA_ERROR_INVALID_VALUE, "reserving ", bytes,
          " bytes: no multiple of ", settings().granularity);
  (void)fixed;  // a wish, as with the driver
  Allocation a{.base = take(bytes, std::max(align, settings().granularity)),
               .bytes = bytes,
               .what = Allocation::What::Reserved,
               .from = "cuMemAddressReserve",
               .number = ++numbers_};
  table_.emplace(a.base, a);
  return a.base;
}

void Memory::unreserve(std::uint64_t base, std::uint64_t bytes) {
  const Allocation& a = at(base, Allocation::What::Reserved, "cuMemAddressFree");
  require(a.bytes == bytes, CUDA_ERROR_INVALID_VALUE, "cuMemAddressFree of ", bytes, " bytes of ", tell(a));
  auto m = mappings_.lower_bound(base);
  require(m == mappings_.end() || m->first >= base + bytes, CUDA_ERROR_INVALID_VALUE, "cuMemAddressFree of ", tell(a),
          " with memory mapped at ", hex(m == mappings_.end() ? 0 : m->first));
  release(base, Allocation::What::Reserved, "cuMemAddressFree");
}

std::shared_ptr<Physical> Memory::create(std::uint64_t bytes) {
  require(bytes > 0 && bytes % settings().granularity == 0, CUDA_ERROR_INVALID_VALUE, "cuMemCreate of ", bytes,
          " bytes: no multiple of ", settings().granularity);
  charge(static_cast<std::int64_t>(bytes));
  ++counters().allocations;
  return std::make_shared<Physical>(bytes);
}

void Memory::map(std::uint64_t base, std::uint64_t bytes, std::shared_ptr<Physical> memory) {
  const Allocation* a = find(base);
  require(a && a->what == Allocation::What::Reserved && base + bytes <= a->base + a->bytes, CUDA_ERROR_INVALID_VALUE,
          "cuMemMap of ", bytes, " bytes at ", hex(base), ", not within a reserved range: ", describe(base, bytes));
  require(bytes == memory->bytes && base % settings().granularity == 0, CUDA_ERROR_INVALID_VALUE, "cuMemMap of ", bytes,
          " bytes of physical memory of ", memory->bytes, " at ", hex(base));
  auto after = mappings_.lower_bound(base);
  const bool taken = (after != mappings_.end() && after->first < base + bytes) ||
                     (after != mappings_.begin() && std::prev(after)->first + std::prev(after)->second.bytes > base);
  require(!taken, CUDA_ERROR_INVALID_VALUE, "cuMemMap at ", hex(base), ": memory is mapped there");
  mappings_[base] = {base, bytes, std::move(memory)};
}

void Memory::unmap(std::uint64_t base, std::uint64_t bytes) {
  const std::uint64_t end = base + bytes;
  for (std::uint64_t at = base; at < end;) {
    auto it = mappings_.find(at);
    require(it != mappings_.end() && at + it->second.bytes <= end, CUDA_ERROR_INVALID_VALUE, "cuMemUnmap of ", bytes,
            " bytes at ", hex(base), ": whole mappings only, none starts at ", hex(at));
    at += it->second.bytes;
  }
  for (std::uint64_t at = base; at < end;) {
    auto it = mappings_.find(at);
    at += it->second.bytes;
    mappings_.erase(it);
  }
  race_forget(base, bytes);
  map_nothing(g_arena.data(base), bytes, PROT_READ | PROT_WRITE);
  map_nothing(g_arena.shadow(base), bytes, PROT_READ | PROT_WRITE);
}

void Memory::set_access(std::uint64_t base, std::uint64_t bytes, bool on) {
  for (std::uint64_t at = base; at < base + bytes;) {
    auto it = mappings_.find(at);
    require(it != mappings_.end() && at + it->second.bytes <= base + bytes, CUDA_ERROR_INVALID_VALUE,
            "cuMemSetAccess of ", bytes, " bytes at ", hex(base), ": no mapping starts at ", hex(at));
    Mapping& m = it->second;
    if (on && !m.accessible) {
      map_file(g_arena.data(at), m.bytes, m.memory->data_file);
      map_file(g_arena.shadow(at), m.bytes, m.memory->shadow_file);
    } else if (!on) {
      map_nothing(g_arena.data(at), m.bytes, PROT_READ | PROT_WRITE);
      map_nothing(g_arena.shadow(at), m.bytes, PROT_READ | PROT_WRITE);
    }
    m.accessible = on;
    at += m.bytes;
  }
}

const Mapping* Memory::mapping(std::uint64_t p) const {
  auto it = mappings_.upper_bound(p);
  if (it == mappings_.begin()) return nullptr;
  --it;
  return p < it->first + it->second.bytes ? &it->second : nullptr;
}

const Allocation* Memory::find(std::uint64_t p) const {
  if (last_ && p - last_->base < last_->bytes) return last_;
  auto it = table_.upper_bound(p);
  if (it == table_.begin()) return nullptr;
  --it;
  if (p - it->first >= it->second.bytes) return nullptr;
  return last_ = &it->second;
}

std::string Memory::why_not(std::uint64_t p, std::uint64_t bytes) const {
  const Allocation* a = find(p);
  if (!a || bytes > a->base + a->bytes - p) return "out of bounds";
  if (a->what != Allocation::What::Reserved) return {};
  for (std::uint64_t at = p; at < p + bytes;) {
    const Mapping* m = mapping(at);
    if (!m) return "no memory is mapped there";
    if (!m->accessible) return "cuMemSetAccess gave no access";
    at = m->base + m->bytes;
  }
  return {};
}

std::string Memory::describe(std::uint64_t p, std::uint64_t bytes) const {
  if (p - g_arena.base >= kArenaBytes) return cat(hex(p), " is no device address");
  if (const Allocation* a = find(p)) {
    if (p + bytes <= a->base + a->bytes) return cat(hex(p), " is byte ", p - a->base, " of ", tell(*a));
    return cat("its end is ", p + bytes - a->base - a->bytes, " bytes past the end of ", tell(*a));
  }
  for (auto f = freed_.rbegin(); f != freed_.rend(); ++f)
    if (p - f->base < f->bytes) return cat(hex(p), " is byte ", p - f->base, " of freed ", tell(f->was));
  auto after = table_.upper_bound(p);
  const bool has_before = after != table_.begin();
  const std::uint64_t to_after = after == table_.end() ? ~std::uint64_t{0} : after->first - p;
  const Allocation* before = has_before ? &std::prev(after)->second : nullptr;
  const std::uint64_t to_before = before ? p - (before->base + before->bytes) : ~std::uint64_t{0};
  if (!before && after == table_.end()) return cat(hex(p), ", nothing is allocated");
  if (to_before <= to_after) return cat(hex(p), " is ", to_before, " bytes after the end of ", tell(*before));
  return cat(hex(p), " is ", to_after, " bytes before ", tell(after->second));
}

void Memory::require_range(std::uint64_t p, std::uint64_t bytes, const char* doing) const {
  if (std::string why = why_not(p, bytes); !why.empty())
    fail(CUDA_ERROR_INVALID_VALUE, doing, " of ", bytes, " bytes: ", why, ": ", describe(p, bytes));
}

bool Memory::is_pinned(const void* host) const {
  const Allocation* a = find(reinterpret_cast<std::uint64_t>(host));
  return a && a->what == Allocation::What::Host;
}

void Memory::mark(std::uint64_t p, std::uint64_t bytes, std::uint8_t state) {
  std::memset(g_arena.shadow(p), state, bytes);
}

}  // namespace sim
