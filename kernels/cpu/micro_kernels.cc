#include "kernels/cpu/micro_kernels.h"

#include <bit>

#include "device/cpu_info.h"

namespace reprise::kernels {

int micro_vector_bits() { return device::cpu_info().vector_bits(); }

bool has_half_products(int bits) {
  const device::CpuInfo& cpu = device::cpu_info();
  return bits == 512 && (cpu.avx512_bf16 || cpu.emulates_bf16) && cpu.avx512_vbmi;
}

std::uint16_t half_of_float8(DType t, std::uint8_t bits) {
  const float x = t == DType::Float8E4M3FN ? static_cast<float>(std::bit_cast<Float8E4M3FN>(bits))
                                           : static_cast<float>(std::bit_cast<Float8E5M2>(bits));
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
}

bool has_byte_products(int bits) {
  const device::CpuInfo& cpu = device::cpu_info();
  return bits == 512 ? cpu.avx512_vnni : bits == 256 && cpu.avx_vnni;
}

LowForm low_form(int bits, DType t) {
  const device::CpuInfo& cpu = device::cpu_info();
  if (bits != 512) return LowForm::None;
  if (t == DType::Int8) return cpu.amx_int8 || cpu.emulates_amx ? LowForm::Amx : LowForm::None;
  if (t != DType::BFloat16) return LowForm::None;
  return cpu.amx_bf16 || cpu.emulates_amx                                ? LowForm::Amx
         : (cpu.avx512_bf16 && cpu.quick_bf16_dots) || cpu.emulates_bf16 ? LowForm::Pairs
                                                                         : LowForm::None;
}

}  // namespace reprise::kernels
