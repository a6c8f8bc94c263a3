#include "reprise/stream.h"

#include "base/errors.h"
#include "device/backend.h"
#include "device/cpu_info.h"
#include "device/device_memory.h"
#include "device/host_memory.h"
#include "device/late_faults.h"
#include "runtime/replay/pool.h"

namespace reprise {

namespace detail {

/// `own`: made by create(). Otherwise the default stream, or one that a guard further out keeps alive. Null on the
/// host.
struct StreamState {
  Device device;
  std::unique_ptr<device::Stream> own;
  device::Stream* stream = nullptr;

  ~StreamState() {
    if (own) runtime::release_lane(device, *own);
  }
};

}  // namespace detail

namespace {

device::Backend* backend_of(Device d, const char* op, SourceLoc loc) {
  device::require_available(d, op, loc);
  return device::runs_host_code(d) ? nullptr : &device::backend(d, op, loc);
}

}  // namespace

Stream Stream::create(Device d, int priority, SourceLoc loc) {
  auto s = std::make_shared<detail::StreamState>();
  s->device = d;
  if (device::Backend* b = backend_of(d, "Stream", loc)) {
    s->own = b->new_stream(priority);
    s->stream = s->own.get();
  }
  return Stream(std::move(s));
}

Stream Stream::current(Device d, SourceLoc loc) {
  auto s = std::make_shared<detail::StreamState>();
  s->device = d;
  if (device::Backend* b = backend_of(d, "Stream", loc)) s->stream = &b->current_stream();
  return Stream(std::move(s));
}

Device Stream::device() const { return state_->device; }
void Stream::synchronize() const {
  if (!state_->stream) return;
  state_->stream->synchronize();
  device::throw_late(*state_->stream);
}
bool Stream::idle() const { return !state_->stream || state_->stream->idle(); }
void* Stream::native_handle() const { return state_->stream ? state_->stream->native() : nullptr; }

StreamGuard::StreamGuard(const Stream& s) : stream_(s), before_(Stream::current(s.device())) {
  if (stream_.state_->stream) device::backend(s.device()).set_current_stream(stream_.state_->stream);
}
StreamGuard::~StreamGuard() {
  if (before_.state_->stream) device::backend(before_.device()).set_current_stream(before_.state_->stream);
}

void synchronize(Device d, SourceLoc loc) {
  device::Backend* b = backend_of(d, "synchronize", loc);
  if (!b) return;
  b->synchronize();
  device::throw_late(*b);
}

int cuda_device_count() {
  int n = 0;
  while (n < 256 && device::why_unavailable(Device::cuda(n)).empty()) ++n;
  return n;
}

std::string describe(Device d, SourceLoc loc) {
  device::Backend* b = backend_of(d, "describe", loc);
  return b ? b->description() : device::cpu_info().str();
}

DeviceMemory device_memory(Device d, SourceLoc loc) {
  DeviceMemory m;
  if (device::Backend* b = backend_of(d, "device_memory", loc)) {
    device::MemoryStats s = b->memory();
    m = {s.live_bytes, s.cached_bytes, s.peak_bytes, 0, s.graph_bytes, s.free_bytes, s.total_bytes};
  } else {
    device::HostMemoryStats s = device::host_memory_stats();
    m = {s.live_bytes, s.cached_bytes, s.peak_bytes, 0, 0, 0, 0};
  }
  m.pool = runtime::pool_bytes(d);
  return m;
}

void empty_cache(Device d, SourceLoc loc) {
  if (device::Backend* b = backend_of(d, "empty_cache", loc)) b->trim();
  else device::host_trim();
}

void set_memory_limit(Device d, std::int64_t bytes, SourceLoc loc) {
  if (bytes < 0)
    fail(ErrorCode::InvalidArgument, "set_memory_limit", loc, "wants at least 0 bytes (0: no limit), got ", bytes);
  if (device::Backend* b = backend_of(d, "set_memory_limit", loc)) b->set_limit(bytes);
  else device::set_host_memory_limit(bytes);
}

}  // namespace reprise
