#include "kernels/cpu/micro_kernels.h"

#include "device/cpu_info.h"

namespace reprise::kernels {

int micro_vector_bits() {
  static const int host = device::cpu_info().vector_bits();
  return device::wanted_vector_bits(host);
}

bool has_byte_products(int bits) {
  const device::CpuInfo& cpu = device::cpu_info();
  return bits == 512 ? cpu.avx512_vnni : bits == 256 && cpu.avx_vnni;
}

}  // namespace reprise::kernels
