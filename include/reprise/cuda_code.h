#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "reprise/kernel.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// Kernels for CUDA devices that are brought as text, for the `.cuda` of an operator (library.h):
///
///   static const CudaCode code(R"(
///     extern "C" __global__ void scale(float* x, long long n, float by) {
///       long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
///       if (i < n) x[i] *= by;
///     })");
///   ... .cuda = [](const KernelCall& k) {
///     const TensorView& x = k.tensor(0);
///     const std::int64_t n = x.numel();
///     code.launch(k, "scale", {.grid = {static_cast<std::uint32_t>((n + 255) / 256)}, .block = {256}}, x, n,
///     static_cast<float>(k.number(1).to_double()));
///   }
///
/// The text is CUDA C++, which NVRTC compiles for the device at the first launch (libnvrtc.so.13 or .12, or
/// REPRISE_NVRTC, opened then; Reprise does not need it), or PTX (it has .version and .target), which the driver takes
/// by itself. Loaded once a device and kept for good: copies are one object, and a static one is what is meant. Any
/// thread.
class CudaCode {
 public:
  struct Extent {
    std::uint32_t x = 1, y = 1, z = 1;
  };
  struct Launch {
    Extent grid = {}, block = {};
    std::uint32_t shared_bytes = 0;  ///< dynamic shared memory of a block
  };
  /// `options` are NVRTC's ("--use_fast_math"), beside the architecture. Nothing is compiled yet.
  explicit CudaCode(std::string text, std::vector<std::string> options = {});

  /// Queues the kernel `entry` (extern "C") in the call's stream, on these arguments: numbers, pointers and plain
  /// structs of exactly the types that the kernel's parameters have; of a TensorView its address. An empty grid queues
  /// nothing. What goes wrong is reported by call.fail: no device (DeviceUnavailable; on the host, too), no NVRTC
  /// (DeviceUnavailable, what was looked for), a text that does not compile (InvalidArgument, the compiler's words), no
  /// such kernel (InvalidArgument), and what the driver says (DeviceFailed).
  template <class... A>
  void launch(const KernelCall& call, const char* entry, const Launch& how, const A&... args) const {
    static_assert((std::is_trivially_copyable_v<A> && ...), "arguments of kernels are copied as bytes");
    void* all[] = {const_cast<void*>(address(args))..., nullptr};
    queue(call, entry, how, all);
  }

  struct State;

 private:
  template <class A>
  static const void* address(const A& a) {
    if constexpr (std::is_same_v<A, TensorView>) return &a.data;
    else return &a;
  }
  void queue(const KernelCall&, const char* entry, const Launch&, void** args) const noexcept;

  std::shared_ptr<State> state_;
};

}  // namespace REPRISE_VISIBLE
