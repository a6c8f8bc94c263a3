#include "kernels/cpu/micro_kernels.h"

#include "device/cpu_info.h"

namespace reprise::kernels {

int micro_vector_bits() {
  static const int host = device::cpu_info().vector_bits();
  return device::wanted_vector_bits(host);
}

}  // namespace reprise::kernels
