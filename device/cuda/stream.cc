#include "device/cuda/stream.h"

#include <array>
#include <unordered_map>

#include "base/errors.h"
#include "base/mutex.h"

namespace reprise::device::cuda {

namespace {

// Streams that live, by id: a thread remembers its current stream's id, never a pointer that may be gone.
Mutex mu;
std::unordered_map<std::uint64_t, CudaStream*>& live() {
  static auto* all = new std::unordered_map<std::uint64_t, CudaStream*>;  // guarded by mu
  return *all;
}
std::uint64_t next_id REPRISE_GUARDED_BY(mu) = 1;

thread_local std::array<std::uint64_t, 256> current{};  // by device; 0: the device's default stream

}  // namespace

CudaStream::CudaStream(const Context& c, int priority) : context_(c) {
  c.enter();
  check(cu().cuStreamCreateWithPriority(&handle_, CU_STREAM_NON_BLOCKING, priority), "making a stream");
  const MutexLock lock(mu);
  id_ = next_id++;
  live().emplace(id_, this);
}

CudaStream::~CudaStream() {
  {
    const MutexLock lock(mu);
    live().erase(id_);
  }
  context_.enter_quietly();
  warn(cu().cuStreamDestroy(handle_), "destroying a stream");
}

void CudaStream::synchronize() {
  context_.enter();
  check(cu().cuStreamSynchronize(handle_), "waiting for a stream");
}

bool CudaStream::idle() {
  context_.enter();
  CUresult r = cu().cuStreamQuery(handle_);
  if (r == CUDA_ERROR_NOT_READY) return false;
  check(r, "asking a stream");
  return true;
}

CudaStream& current_stream(const Context& context, CudaStream& fallback) {
  std::uint64_t id = current[static_cast<std::size_t>(context.index)];
  if (id == 0) return fallback;
  const MutexLock lock(mu);
  auto it = live().find(id);
  if (it == live().end())
    fail(ErrorCode::InvalidArgument, "cuda", {}, "this thread's current stream was destroyed: set another one");
  return *it->second;
}

bool with_stream(std::uint64_t id, const std::function<void(CudaStream&)>& f) {
  const MutexLock lock(mu);
  auto it = live().find(id);
  if (it == live().end()) return false;
  f(*it->second);
  return true;
}

void set_current_stream(const Context& context, CudaStream* s) {
  current[static_cast<std::size_t>(context.index)] = s ? s->id() : 0;
}

}  // namespace reprise::device::cuda
