#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The CUDA driver, opened while the program runs. Nothing links a CUDA library: cuda.h gives the types, and the entry
/// points are found by name.
namespace reprise::device::cuda {

struct Driver {
#define REPRISE_CUDA_NEED(name) decltype(&::name) name = nullptr;
#define REPRISE_CUDA_MAY(name) decltype(&::name) name = nullptr;
#include "device/cuda/driver.def"
#undef REPRISE_CUDA_NEED
#undef REPRISE_CUDA_MAY
  int version = 0;  ///< 12030: CUDA 12.3
  int devices = 0;
  bool simulated = false;  ///< it runs kernels on the host, from the bitcode that images carry
  /// The simulator's: of `whole` bytes, `used` are handed out now (0: taken back), in the order of a stream. Null on a
  /// real driver.
  void (*suballocate)(std::uint64_t address, std::size_t used, std::size_t whole, void* stream) = nullptr;
};

/// The driver, or null; then driver_problem() says why: no library, a library without a driver behind it, one that is
/// too old (naming the first missing entry point), no device. Opened once. REPRISE_CUDA_DRIVER names another library.
const Driver* driver();
const std::string& driver_problem();
/// Why a device that the driver counts cannot be used: it is too old, or lacks something; empty when it can.
const std::string& device_problem(int index);
/// The same table, for who puts other functions into it (driver_times.h).
Driver& driver_table();
/// The driver that is known to be there.
inline const Driver& cu() { return *driver(); }

/// "CUDA_ERROR_INVALID_VALUE", or the number where the driver has no name for it.
std::string name_of(CUresult);
/// Throws Error(DeviceFailed) unless `r` is success: what was being done, to which kernel, and the driver's name and
/// words for the failure. A failure that leaves the context unusable is told in full once; every later call says that
/// it is.
void check(CUresult r, const char* doing, std::string_view kernel = {});
/// Throws when the context has failed for good.
void check_usable();
/// For destructors: a failure is a warning in the log, and none after the context has failed.
void warn(CUresult r, const char* doing) noexcept;

}  // namespace reprise::device::cuda
