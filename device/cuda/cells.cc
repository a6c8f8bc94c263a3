#include "device/cuda/cells.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/mutex.h"
#include "device/cuda/stream.h"

namespace reprise::device::cuda {

namespace {

constexpr std::int64_t kSlab = 64 << 10, kLeast = 256;

std::int64_t class_bytes(std::uint32_t cells) {
  return static_cast<std::int64_t>(std::bit_ceil(std::max<std::uint64_t>(std::uint64_t{8} * cells, kLeast)));
}

}  // namespace

void* CellBlocks::take(std::uint32_t cells) {
  const std::int64_t bytes = class_bytes(cells);
  context_.enter();
  const MutexLock lock(mu_);
  std::vector<Free>& free = free_[bytes];
  for (auto it = free.begin(); it != free.end(); ++it) {
    if (it->over && cu().cuEventQuery(it->over) == CUDA_ERROR_NOT_READY) continue;
    if (it->over) warn(cu().cuEventDestroy(it->over), "destroying an event");
    void* block = it->block;
    free.erase(it);
    return block;
  }
  return cut(bytes);
}

void* CellBlocks::cut(std::int64_t bytes) {
  if (slab_left_ < bytes) {
    CUdeviceptr fresh = 0;
    const std::int64_t all = std::max(bytes, kSlab);
    check(cu().cuMemAlloc(&fresh, static_cast<std::size_t>(all)), "allocating memory for addresses");
    slab_ = reinterpret_cast<char*>(fresh);
    slab_left_ = all;
  }
  slab_left_ -= bytes;
  return std::exchange(slab_, slab_ + bytes);
}

void CellBlocks::give_back(void* block, std::uint32_t cells, std::uint64_t last) noexcept {
  context_.enter_quietly();
  CUevent over = nullptr;
  if (last) {
    bool marked = false;
    if (cu().cuEventCreate(&over, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS)
      with_stream(last, [&](CudaStream& s) { marked = cu().cuEventRecord(over, s.handle()) == CUDA_SUCCESS; });
    if (!marked) {  // the stream is gone; what it held may still run
      if (over) warn(cu().cuEventDestroy(std::exchange(over, nullptr)), "destroying an event");
      warn(context_.synchronize(), "waiting for the device");
    }
  }
  const MutexLock lock(mu_);
  free_[class_bytes(cells)].push_back({block, over});
}

}  // namespace reprise::device::cuda
