#pragma once
#include <cstdint>
#include <shared_mutex>
#include <string>

#include "device/cuda/driver.h"

namespace reprise::device::cuda {

/// One device's primary context, retained for the life of the process: memory and code of other libraries in the
/// process (which share the primary context) can be used, and static objects may still free memory at exit.
class Context {
 public:
  explicit Context(int index);
  /// Makes it the calling thread's, and throws when it has failed for good. Cheap when it is already.
  void enter() const;
  void enter_quietly() const noexcept;  ///< for destructors
  /// Waits for everything on the device.
  CUresult synchronize() const;

  /// Held while a stream captures, in which time the driver refuses to wait for the whole device, to any thread.
  mutable std::shared_mutex capturing;

  int index = 0;
  CUdevice device = 0;
  CUcontext handle = nullptr;
  std::string name;
  int major = 0, minor = 0, processors = 0;
  std::int64_t total_bytes = 0;
};

}  // namespace reprise::device::cuda
