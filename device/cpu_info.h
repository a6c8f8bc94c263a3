#pragma once
#include <cstdint>
#include <string>

namespace reprise::device {

/// What the host's processor is and can do. Features count only if the operating system saves their registers.
struct CpuInfo {
  std::string model;  ///< "AMD EPYC 9654 96-Core Processor"; "unknown" if nobody tells
  int cores = 1;      ///< that this process may run on
  bool avx2 = false, fma = false, f16c = false;
  bool avx512 = false;  ///< F, BW, VL and DQ together: what kernels mean by AVX-512
  bool avx_vnni = false;  ///< of 256 bits, without AVX-512
  bool avx512_vbmi = false, avx512_vnni = false, avx512_bf16 = false, avx512_fp16 = false, amx_bf16 = false;
  std::int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  ///< of core 0; l3 0: there is none
  int vector_bits() const { return avx512 ? 512 : avx2 ? 256 : 128; }
  std::string str() const;  ///< one line, for logs and benchmarks
};
const CpuInfo& cpu_info();

/// How wide vectors are to be on a machine that has them up to `host` bits: 128, 256 or 512. The one reading of the knob
/// vector_bits, for loops and micro-kernels alike.
int wanted_vector_bits(int host);

}  // namespace reprise::device
