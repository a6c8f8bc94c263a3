#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "reprise/device.h"
#include "reprise/source_location.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

namespace detail {
struct StreamState;
}

/// An ordered queue of work on a device. Operators called on a thread are queued on its current stream and run in
/// order; work on different streams may overlap and is ordered only by synchronize(). A copy of a Stream is the same
/// queue.
///
/// Memory: a tensor's bytes may be used on another stream once the work that made them has been waited for; when the
/// tensor dies under another stream than the one it was made under, its bytes wait for that stream's work before they
/// serve again. On the host everything is complete when a call returns: its streams exist, and waiting for them does
/// nothing.
class Stream {
 public:
  /// A new queue. Lower numbers run first where the device knows priorities. Throws DeviceUnavailable.
  static Stream create(Device device, int priority = 0, SourceLoc loc = SourceLoc::current());
  /// The calling thread's: the device's default stream unless a StreamGuard stands. Valid as long as its owner's is.
  static Stream current(Device device, SourceLoc loc = SourceLoc::current());

  Device device() const;
  void synchronize() const;     ///< waits for all work queued so far; throws DeviceFailed with what went wrong in it
  bool idle() const;            ///< has all work run?
  void* native_handle() const;  ///< CUstream; null on the host. For library calls of your own

 private:
  friend class StreamGuard;
  explicit Stream(std::shared_ptr<detail::StreamState> s) : state_(std::move(s)) {}
  std::shared_ptr<detail::StreamState> state_;
};

/// Makes a stream the calling thread's current one for a scope, and keeps it alive. Guards end in the reverse order.
class StreamGuard {
 public:
  explicit StreamGuard(const Stream&);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Stream stream_, before_;
};

/// Waits for everything queued on the device, on all its streams. Throws DeviceUnavailable, DeviceFailed.
void synchronize(Device device, SourceLoc loc = SourceLoc::current());

/// How many CUDA devices can be used; 0 where there is no driver (why_unavailable("cuda") says why).
int cuda_device_count();
/// "NVIDIA H200, sm_90, ..." or the processor's name. Throws DeviceUnavailable.
std::string describe(Device device, SourceLoc loc = SourceLoc::current());

/// Bytes on one device. Results: tensors' storage from the caching allocator. The pool is what all recordings share.
struct DeviceMemory {
  std::int64_t results = 0, cached = 0, results_peak = 0;  ///< cached: kept for the next results
  std::int64_t pool = 0;
  std::int64_t graphs = 0;           ///< executable graphs
  std::int64_t free = 0, total = 0;  ///< as the device's driver says; 0 on the host
};
DeviceMemory device_memory(Device device, SourceLoc loc = SourceLoc::current());
/// Gives cached bytes back to the device's driver; waits for the device.
void empty_cache(Device device, SourceLoc loc = SourceLoc::current());
/// Bytes that results and cached bytes may take together; 0: no limit. Beyond it an allocation throws OutOfMemory.
void set_memory_limit(Device device, std::int64_t bytes, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
