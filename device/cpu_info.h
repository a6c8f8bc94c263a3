#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace reprise::device {

/// What the host's processor is and can do. Features count only if the operating system saves their registers.
struct CpuInfo {
  /// Which instructions it has.
  enum class Family : std::uint8_t { X86_64, AArch64, Other } family = kHostFamily;
#if defined(__x86_64__)
  static constexpr Family kHostFamily = Family::X86_64;
#elif defined(__aarch64__)
  static constexpr Family kHostFamily = Family::AArch64;
#else
  static constexpr Family kHostFamily = Family::Other;
#endif
  std::string model;  ///< "AMD EPYC 9654 96-Core Processor"; "unknown" if nobody tells
  int cores = 1;      ///< that this process may run on
  bool avx2 = false;  ///< with FMA: what kernels mean by vectors of 256 bits
  bool f16c = false;
  bool avx512 = false;    ///< F, BW, VL and DQ together: what kernels mean by AVX-512
  bool avx_vnni = false;  ///< of 256 bits, without AVX-512
  bool avx512_vbmi = false, avx512_vnni = false, avx512_bf16 = false, avx512_fp16 = false;
  /// Does VDPBF16PS do more in its time than multiply-add of floats? Of Intel's processors, which have tiles for such
  /// products, it takes as long as four of those (measured). Of a level it is taken to, so that its code is one on all
  /// processors.
  bool quick_bf16_dots = true;
  bool amx_bf16 = false, amx_int8 = false;  ///< with tiles, which Linux was asked for
  /// Products that the processor lacks and REPRISE_CPU asked to emulate: functions take the instructions' place.
  bool emulates_bf16 = false, emulates_amx = false;
  /// LLVM's name of the level that REPRISE_CPU chose, to make code for instead of for this model; else empty
  std::string level;
  std::string refusal;  ///< why what REPRISE_CPU asks for cannot be; no code is made then
  std::int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  ///< of core 0; l3 0: there is none
  int most_bits = 512;
  int vector_bits() const { return std::min(most_bits, avx512 ? 512 : avx2 ? 256 : 128); }
  std::string str() const;  ///< one line, for logs and benchmarks
};

/// The one answer for kernels and for generated code: what was detected, less what the knobs cpu and vector_bits take
/// away. Any thread; what is returned stays.
const CpuInfo& cpu_info();

/// A feature: Linux's name, where CpuInfo has it, LLVM's names (several: with blanks between), the one that it needs.
struct CpuFeature {
  const char* name;
  bool CpuInfo::*has;
  const char* llvm;
  bool CpuInfo::*needs;
};
std::span<const CpuFeature> cpu_features();

}  // namespace reprise::device
