#include "device/cpu_info.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sched.h>

#include <fstream>
#include <sstream>

#include "base/knobs.h"
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
void read_features(CpuInfo& c) {
  __builtin_cpu_init();
  c.avx2 = __builtin_cpu_supports("avx2");
  c.fma = __builtin_cpu_supports("fma");
  unsigned a = 0, b = 0, cx = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &cx, &d)) c.f16c = c.avx2 && (cx & bit_F16C);
  c.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  c.avx512_vbmi = c.avx512 && __builtin_cpu_supports("avx512vbmi");
  c.avx512_vnni = c.avx512 && __builtin_cpu_supports("avx512vnni");
  c.avx512_bf16 = c.avx512 && __builtin_cpu_supports("avx512bf16");
  if (__get_cpuid_count(7, 0, &a, &b, &cx, &d)) {
    c.avx512_fp16 = c.avx512 && (d >> 23 & 1);
    c.amx_bf16 = c.avx512 && (d >> 22 & 1) && (d >> 24 & 1);
  }
  if (__get_cpuid_count(7, 1, &a, &b, &cx, &d)) c.avx_vnni = c.avx2 && (a >> 4 & 1);
}
#else
void read_features(CpuInfo&) {}  // vectors of 128 bits everywhere else, whose instructions LLVM knows
#endif

CpuInfo query() {
  CpuInfo c;
  c.model = model_name();
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) c.cores = CPU_COUNT(&set);
  read_features(c);
  read_caches(c);
  return c;
}

}  // namespace

std::string CpuInfo::str() const {
  std::ostringstream s;
  s << model << ", " << cores << (cores == 1 ? " core" : " cores");
  const std::pair<bool, const char*> features[] = {{avx2, "avx2"},
                                                   {fma, "fma"},
                                                   {f16c, "f16c"},
                                                   {avx_vnni, "avx_vnni"},
                                                   {avx512, "avx512"},
                                                   {avx512_vbmi, "avx512_vbmi"},
                                                   {avx512_vnni, "avx512_vnni"},
                                                   {avx512_bf16, "avx512_bf16"},
                                                   {avx512_fp16, "avx512_fp16"},
                                                   {amx_bf16, "amx_bf16"}};
  for (auto [has, name] : features)
    if (has) s << ' ' << name;
  s << ", L1d " << bytes_text(l1d_bytes) << ", L2 " << bytes_text(l2_bytes) << ", L3 " << bytes_text(l3_bytes);
  return s.str();
}

const CpuInfo& cpu_info() {
  static const CpuInfo& c = *new CpuInfo(query());
  return c;
}

int wanted_vector_bits(int host) {
  const std::int64_t wanted = knobs().vector_bits;
  return wanted == 0 || wanted >= host ? host : wanted >= 256 ? 256 : 128;
}

}  // namespace reprise::device
