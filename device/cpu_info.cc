#include "device/cpu_info.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "base/errors.h"
#include "base/fork.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/nearest.h"
#include "base/shown.h"
#include "device/cpu_level.h"
#include "device/host_accounts.h"

namespace reprise::device {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// "32K", "1024K", "32M" as sysfs writes them.
std::int64_t parse_size(const std::string& text) {
  if (text.empty()) return 0;
  std::int64_t n = std::strtoll(text.c_str(), nullptr, 10);
  return text.back() == 'K' ? n << 10 : text.back() == 'M' ? n << 20 : text.back() == 'G' ? n << 30 : n;
}

void read_caches(CpuInfo& c) {
  for (int i = 0; i < 8; ++i) {
    std::string dir = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    std::string level = first_line(dir + "level"), type = first_line(dir + "type");
    if (level.empty()) break;
    if (type == "Instruction") continue;
    std::int64_t bytes = parse_size(first_line(dir + "size"));
    (level == "1" ? c.l1d_bytes : level == "2" ? c.l2_bytes : c.l3_bytes) = bytes;
  }
  // Some virtual machines and containers hide them: the smallest of common processors.
  if (!c.l1d_bytes) c.l1d_bytes = 32 << 10;
  if (!c.l2_bytes) c.l2_bytes = 512 << 10;
}

std::string model_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name"))
      if (std::size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown";
}

#if defined(__x86_64__)
/// The registers that the operating system saves, by bit.
std::uint64_t saved_registers() {
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<std::uint64_t>(high) << 32 | low;
}

/// Linux saves tiles for processes that have asked for them. It refuses where a signal's own stack is too small for
/// them.
bool may_use_tiles() {
  constexpr long kAsk = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  if (syscall(SYS_arch_prctl, kAsk, kTileData) == 0) return true;
  logs::warn(std::string("the system refuses AMX tiles: ") + std::strerror(errno));
  return false;
}

void ask_processor(CpuInfo& c) {
  unsigned a = 0, b = 0, cx = 0, d = 0;
  auto bit = [](unsigned word, int n) { return (word >> n & 1) != 0; };
  constexpr unsigned kGenu = 0x756e6547;  // "GenuineIntel" begins so
  c.quick_bf16_dots = !__get_cpuid(0, &a, &b, &cx, &d) || b != kGenu;
  if (!__get_cpuid(1, &a, &b, &cx, &d) || !bit(cx, 27)) return;  // OSXSAVE
  const std::uint64_t saved = saved_registers();
  const bool ymm = (saved & 0x6) == 0x6, zmm = (saved & 0xe6) == 0xe6, tiles = (saved & 0x60000) == 0x60000;
  const bool avx = ymm && bit(cx, 28), fma = bit(cx, 12), f16c = bit(cx, 29);
  if (!avx || !__get_cpuid_count(7, 0, &a, &b, &cx, &d)) return;
  c.avx2 = bit(b, 5) && fma;
  c.f16c = c.avx2 && f16c;
  c.avx512 = c.avx2 && zmm && bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31);
  c.avx512_vbmi = c.avx512 && bit(cx, 1);
  c.avx512_vnni = c.avx512 && bit(cx, 11);
  c.avx512_fp16 = c.avx512 && bit(d, 23);
  const bool tile = c.avx512 && tiles && bit(d, 24), tile_bf16 = tile && bit(d, 22), tile_int8 = tile && bit(d, 25);
  if (__get_cpuid_count(7, 1, &a, &b, &cx, &d)) {
    c.avx_vnni = c.avx2 && bit(a, 4);
    c.avx512_bf16 = c.avx512 && bit(a, 5);
  }
  if ((tile_bf16 || tile_int8) && may_use_tiles()) c.amx_bf16 = tile_bf16, c.amx_int8 = tile_int8;
}
#else
void ask_processor(CpuInfo&) {}  // vectors of 128 bits everywhere else, whose instructions LLVM knows
#endif

CpuInfo query() {
  CpuInfo c;
  c.model = model_name();
  cpu_set_t set;
  if (sched_getaffinity(getpid(), sizeof set, &set) == 0) c.cores = CPU_COUNT(&set);
  ask_processor(c);
  read_caches(c);
  return c;
}

using C = CpuInfo;
constexpr CpuFeature kFeatures[] = {{"avx2", &C::avx2, "avx2 fma", nullptr},
                                    {"f16c", &C::f16c, "f16c", &C::avx2},
                                    {"avx_vnni", &C::avx_vnni, "avxvnni", &C::avx2},
                                    {"avx512", &C::avx512, "avx512f evex512", &C::avx2},
                                    {"avx512_vbmi", &C::avx512_vbmi, "avx512vbmi", &C::avx512},
                                    {"avx512_vnni", &C::avx512_vnni, "avx512vnni", &C::avx512},
                                    {"avx512_bf16", &C::avx512_bf16, "avx512bf16", &C::avx512},
                                    {"avx512_fp16", &C::avx512_fp16, "avx512fp16", &C::avx512},
                                    {"amx_bf16", &C::amx_bf16, "amx-bf16", &C::avx512},
                                    {"amx_int8", &C::amx_int8, "amx-int8", &C::avx512}};

/// What a name in REPRISE_CPU stands for: a level of x86-64 and more features than it has.
struct Level {
  std::string_view name, llvm;
  std::vector<bool C::*> has;
};
const std::vector<Level>& levels() {
  static const auto& all = *new std::vector<Level>{
      {"x86_64_v2", "x86-64-v2", {}},
      {"avx2", "x86-64-v3", {&C::avx2, &C::f16c}},
      {"avx512", "x86-64-v4", {&C::avx2, &C::f16c, &C::avx512}},
      {"avx512_vnni", "x86-64-v4", {&C::avx2, &C::f16c, &C::avx512, &C::avx512_vbmi, &C::avx512_vnni}},
      {"avx512_bf16", "x86-64-v4", {&C::avx2, &C::f16c, &C::avx512, &C::avx512_vbmi, &C::avx512_vnni, &C::avx512_bf16}},
      {"amx",
       "x86-64-v4",
       {&C::avx2, &C::f16c, &C::avx512, &C::avx512_vbmi, &C::avx512_vnni, &C::avx512_bf16, &C::avx512_fp16,
        &C::amx_bf16, &C::amx_int8}}};
  return all;
}

/// Every processor of 64-bit Arm has this one's instructions, vectors of 128 bits among them.
constexpr std::string_view kArmLevel = "aarch64";

std::string features_text(const CpuInfo& c) {
  std::string s;
  for (const CpuFeature& f : kFeatures)
    if (c.*f.has) s.append(s.empty() ? "" : " ").append(f.name);
  return !s.empty() ? s : std::string(c.family == C::Family::X86_64 ? "x86_64_v2" : kArmLevel);
}

/// The processor as the knob cpu wants it: "LEVEL", "-FEATURE" (any number), "emulated", with commas between.
CpuInfo chosen(const CpuInfo& host, const std::string& knob) {
  CpuInfo c = host;
  bool emulated = false;
  std::vector<bool C::*> gone;  // whatever level is named behind them
  auto refuse = [&](const std::string& why) {
    CpuInfo refused = host;
    refused.refusal = why;
    return refused;
  };
  if (!knob.empty() && host.family != C::Family::X86_64)
    return refuse("it chooses among processors of x86-64, and this is none");
  auto listed_names = [] {
    std::vector<std::string_view> names;
    for (const Level& l : levels()) names.push_back(l.name);
    names.push_back("emulated");
    return listed(names);
  };
  std::istringstream in(knob);
  for (std::string word; std::getline(in, word, ',');) {
    const bool less = word.starts_with('-');
    std::string name = word.substr(less);
    std::replace(name.begin(), name.end(), '-', '_');
    if (name == "emulated" && !less) {
      emulated = true;
      continue;
    }
    if (less) {
      const auto is_it = [&](const CpuFeature& f) {
        return name == f.name || (name == "amx" && std::string_view(f.name).starts_with("amx"));
      };
      if (std::none_of(std::begin(kFeatures), std::end(kFeatures), is_it)) {
        std::vector<std::string_view> names;
        for (const CpuFeature& f : kFeatures) names.push_back(f.name);
        return refuse("no feature is called " + shown(name) + "; there are " + listed(names));
      }
      for (const CpuFeature& f : kFeatures)
        if (is_it(f)) gone.push_back(f.has);
      continue;
    }
    const auto level = std::find_if(levels().begin(), levels().end(), [&](const Level& l) { return l.name == name; });
    if (level == levels().end()) return refuse("no level is called " + shown(name) + "; there are " + listed_names());
    if (!c.level.empty()) return refuse("one level at most");
    for (const CpuFeature& f : kFeatures)
      c.*f.has = std::find(level->has.begin(), level->has.end(), f.has) != level->has.end();
    c.level = level->llvm;
    c.quick_bf16_dots = true;
  }
  for (bool C::*f : gone) c.*f = false;
  for (const CpuFeature& f : kFeatures)  // a row comes after what it needs
    if (f.needs && !(c.*f.needs)) c.*f.has = false;
  for (const CpuFeature& f : kFeatures) {
    if (!(c.*f.has) || host.*f.has) continue;
    const bool amx = f.has == &C::amx_bf16 || f.has == &C::amx_int8;
    if (f.has == &C::avx512_fp16) {  // nothing is made of it
      c.*f.has = false;
    } else if (emulated && (amx || f.has == &C::avx512_bf16)) {
      c.*f.has = false;
      (amx ? c.emulates_amx : c.emulates_bf16) = true;
    } else {
      return refuse("this processor has no " + std::string(f.name) + "; it has " + features_text(host));
    }
  }
  return c;
}

}  // namespace

std::span<const CpuFeature> cpu_features() { return kFeatures; }

std::string CpuInfo::str() const {
  std::ostringstream s;
  s << model << ", " << cores << (cores == 1 ? " core" : " cores") << ' ' << features_text(*this);
  if (emulates_bf16) s << " avx512_bf16(emulated)";
  if (emulates_amx) s << " amx(emulated)";
  s << ", L1d " << bytes_text(l1d_bytes) << ", L2 " << bytes_text(l2_bytes) << ", L3 " << bytes_text(l3_bytes);
  return s.str();
}

namespace {

constinit thread_local const CpuInfo* t_level = nullptr;  // CpuLevelScope

const CpuInfo& detected() {
  static const CpuInfo& host = *new CpuInfo(query());
  return host;
}

/// A processor of a level, with nothing that this machine has beside it. It stays.
const CpuInfo& of_level(std::string_view level) {
  static ForkMutex mu;
  static auto& made = *new std::map<std::string, CpuInfo, std::less<>>;  // guarded by mu
  const MutexLock lock(mu);
  if (const auto it = made.find(level); it != made.end()) return it->second;
  CpuInfo everything = detected();
  everything.family = C::Family::X86_64;
  for (const CpuFeature& f : kFeatures) everything.*f.has = true;
  everything.emulates_bf16 = everything.emulates_amx = false, everything.most_bits = 512;
  CpuInfo c = everything;
  if (level == kArmLevel) {
    for (const CpuFeature& f : kFeatures) c.*f.has = false;
    c.family = C::Family::AArch64, c.level = "generic";
  } else {
    c = chosen(everything, std::string(level));
    if (c.refusal.empty() && c.level.empty()) c.refusal = "no level is called " + shown(std::string(level));
    if (!c.refusal.empty()) c.refusal += ", and " + std::string(kArmLevel);
  }
  if (!c.refusal.empty()) fail(ErrorCode::InvalidArgument, "cpu level", {}, c.refusal);
  return made.emplace(level, std::move(c)).first->second;
}

}  // namespace

CpuLevelScope::CpuLevelScope(std::string_view level) : before_(t_level) { t_level = &of_level(level); }
CpuLevelScope::~CpuLevelScope() { t_level = before_; }

bool has_cpu_level(std::string_view level) {
  if (level == kArmLevel) return cpu_info().family == C::Family::AArch64;
  const CpuInfo c = chosen(cpu_info(), std::string(level));
  return c.refusal.empty() && !c.level.empty() && !c.emulates_bf16 && !c.emulates_amx;
}

const CpuInfo& cpu_info() {
  if (t_level) return *t_level;
  const CpuInfo& host = detected();
  const std::string& knob = knobs().cpu;
  const int bits = knobs().vector_bits == 0 || knobs().vector_bits >= 512 ? 512
                   : knobs().vector_bits >= 256                           ? 256
                                                                          : 128;
  if (knob.empty() && bits == 512) return host;
  static ForkMutex mu;
  using Made = std::map<std::pair<std::string, int>, CpuInfo>;
  static auto& made = *new Made;  // guarded by mu; what stands in it stays
  static std::atomic<const Made::value_type*> last{nullptr};
  if (const auto* l = last.load(std::memory_order_acquire); l && l->first.second == bits && l->first.first == knob)
    return l->second;
  const MutexLock lock(mu);
  if (const auto it = made.find({knob, bits}); it != made.end())
    return last.store(&*it, std::memory_order_release), it->second;
  CpuInfo c = chosen(host, knob);
  c.most_bits = bits;
  if (bits < 512) {
    for (const CpuFeature& f : kFeatures)
      if (f.has == &C::avx512 || f.needs == &C::avx512) c.*f.has = false;
    c.emulates_bf16 = c.emulates_amx = false;
  }
  return made.emplace(std::pair(knob, bits), std::move(c)).first->second;
}

}  // namespace reprise::device
