#include "device/cuda/staging.h"

#include <cstring>
#include <utility>

#include "base/errors.h"
#include "base/mutex.h"

namespace reprise::device::cuda {

void* Staging::allocate(std::int64_t bytes) {
  try {
    return pinned_.allocate(bytes);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::OutOfMemory) throw;
    return nullptr;
  }
}

char* Staging::take(std::int64_t bytes) {
  constexpr std::int64_t kAlign = 16;
  if (!block_ || used_ + bytes > kBlock) {
    void* fresh = allocate(kBlock);
    if (!fresh) return nullptr;
    if (void* full = std::exchange(block_, static_cast<char*>(fresh))) pinned_.free(full);
    used_ = 0;
  }
  return block_ + std::exchange(used_, (used_ + bytes + kAlign - 1) / kAlign * kAlign);
}

bool Staging::to_device(CUdeviceptr to, const void* from, std::int64_t bytes, CudaStream& s) {
  if (bytes == 0) return true;
  context_.enter();
  const MutexLock lock(mu_);  // to the end: the block is not given back before it is said what uses it
  char* at = take(bytes);
  if (!at) return false;
  std::memcpy(at, from, static_cast<std::size_t>(bytes));
  check(cu().cuMemcpyHtoDAsync(to, at, static_cast<std::size_t>(bytes), s.handle()), "copying to the device");
  pinned_.used(at, s);
  return true;
}

bool Staging::to_host(void* to, CUdeviceptr from, std::int64_t bytes, CudaStream& s) {
  if (bytes == 0) return true;
  context_.enter();
  // Of its own: what the shared block holds is another's as soon as the copy is over. Where the device fails it is
  // given up, since nobody knows who writes it.
  void* at = allocate(bytes);
  if (!at) return false;
  check(cu().cuMemcpyDtoHAsync(at, from, static_cast<std::size_t>(bytes), s.handle()), "copying to the host");
  s.synchronize();
  std::memcpy(to, at, static_cast<std::size_t>(bytes));
  pinned_.free(at);
  return true;
}

}  // namespace reprise::device::cuda
