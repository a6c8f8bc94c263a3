#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device/backend.h"
#include "kernels/loop/ir.h"

namespace reprise::test {

/// Why kernels cannot be run on the CUDA device here; empty when they can. Where tests are built with the simulator of
/// the driver, that is the driver, unless REPRISE_CUDA_DRIVER names one.
std::string why_no_device();
/// The order in which the simulator runs threads: "forward", "reverse", "random". Nothing on a real device.
void set_thread_order(const char* order, std::uint64_t seed);

/// The contents of a kernel's buffers.
using Arrays = std::vector<std::vector<char>>;

/// Plain: floats of a normal distribution, small integers. Specials: among them zeros, infinities, NaN and extremes.
/// Integers: small ones in every dtype, so that sums are exact in any order.
enum class Values : std::uint8_t { Plain, Specials, Integers };
/// Buffers large enough for every access; indices that gathers read from are in range.
Arrays make_arrays(const kernels::LoopKernel&, std::mt19937& rng, Values);
/// The values of a kernel's runtime_params.
using Numbers = std::vector<std::int64_t>;
/// Those of the hints.
Numbers numbers_of(const kernels::LoopKernel&);
/// What the kernel makes of them, on the host.
Arrays interpreted(const kernels::LoopKernel&, Arrays, const Numbers&);
inline Arrays interpreted(const kernels::LoopKernel& k, Arrays a) {
  return interpreted(k, std::move(a), numbers_of(k));
}
/// The same on the device. `shift`: elements by which every buffer is moved from the device's alignment.
Arrays run_on_device(const kernels::LoopKernel&, const Arrays&, int shift, const Numbers&);
inline Arrays run_on_device(const kernels::LoopKernel& k, const Arrays& a, int shift = 0) {
  return run_on_device(k, a, shift, numbers_of(k));
}
/// The first difference in words; empty when there is none. Floats may differ by `tolerance`, relative to the greater
/// of the two and to `scale`.
std::string difference(const kernels::LoopKernel&, const Arrays& expected, const Arrays& got, double tolerance,
                       double scale);

}  // namespace reprise::test
