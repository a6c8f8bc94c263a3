#include "kernels/cpu/micro_kernels.h"

#include "device/cpu_info.h"

namespace reprise::kernels {

int micro_vector_bits() {
  static const int host = device::cpu_info().vector_bits();
  return device::wanted_vector_bits(host);
}

namespace {
std::int64_t num(DType t) { return static_cast<std::int64_t>(t); }
}  // namespace

MicroKernelSpec gemm_spec(int bits, DType acc, DType c, int vectors) {
  return {"gemm", {bits, num(acc), num(c), vectors}};
}
MicroKernelSpec gemv_dot_spec(int bits, DType w, DType y, int rows) {
  return {"gemv_dot", {bits, num(w), num(y), rows}};
}
MicroKernelSpec gemv_sum_spec(int bits, DType w, int rows) { return {"gemv_sum", {bits, num(w), rows}}; }
MicroKernelSpec convert_spec(int bits, DType src, DType dst) { return {"convert", {bits, num(src), num(dst)}}; }
MicroKernelSpec transpose_spec(int bits, DType src) { return {"transpose", {bits, num(src)}}; }
MicroKernelSpec softmax_spec(int bits, bool has_mask) { return {"softmax", {bits, has_mask}}; }
MicroKernelSpec scale_spec(int bits, DType dst) { return {"scale", {bits, num(dst)}}; }

}  // namespace reprise::kernels
