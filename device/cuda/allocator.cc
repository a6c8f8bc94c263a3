#include "device/cuda/allocator.h"

#include <algorithm>
#include <bit>

#include "base/errors.h"
#include "base/log.h"
#include "base/mutex.h"
#include "device/host_accounts.h"

namespace reprise::device::cuda {

namespace {

/// Tells the simulator of the driver which bytes are anybody's now, so that it finds what strays within the driver's
/// allocation. Nothing on a real driver.
void handed_out(void* p, std::int64_t used, std::int64_t whole, const CudaStream* stream) {
  if (cu().suballocate)
    cu().suballocate(reinterpret_cast<std::uint64_t>(p), static_cast<std::size_t>(used),
                     static_cast<std::size_t>(whole), stream ? stream->handle() : nullptr);
}

/// Multiples of 512 B up to 4 KiB, then eight steps to each power of two.
std::int64_t class_bytes(std::int64_t bytes) {
  if (bytes <= 4096) return std::max<std::int64_t>((bytes + 511) / 512 * 512, 512);
  std::int64_t step = std::int64_t{1} << (std::bit_width(static_cast<std::uint64_t>(bytes - 1)) - 4);
  return (bytes + step - 1) / step * step;
}

}  // namespace

void* Allocator::take_cached(std::int64_t bytes, std::uint64_t stream) {
  auto it = cached_.find({stream, bytes});
  if (it == cached_.end() || it->second.empty()) return nullptr;
  void* p = it->second.back();
  it->second.pop_back();
  cached_bytes_ -= bytes;
  return p;
}

void Allocator::collect() {
  std::erase_if(waiting_, [&](Waiting& w) REPRISE_REQUIRES(mu_) {
    CUresult r = cu().cuEventQuery(w.event);
    if (r == CUDA_ERROR_NOT_READY) return false;
    warn(cu().cuEventDestroy(w.event), "destroying an event");
    cached_[{w.block.stream, w.block.bytes}].push_back(w.p);
    return true;
  });
}

void* Allocator::allocate(std::int64_t wanted, CudaStream& stream, std::int64_t held) {
  check_usable();
  const std::int64_t bytes = class_bytes(wanted);
  const MutexLock lock(mu_);
  if (!waiting_.empty()) context_.enter(), collect();
  void* p = take_cached(bytes, stream.id());
  if (!p) {
    context_.enter();
    bool over = limit_ > 0 && live_bytes_ + cached_bytes_ + bytes > limit_;
    if (over) trim_locked();
    CUdeviceptr fresh = 0;
    CUresult r = limit_ > 0 && live_bytes_ + bytes > limit_ ? CUDA_ERROR_OUT_OF_MEMORY
                                                            : cu().cuMemAlloc(&fresh, static_cast<std::size_t>(bytes));
    if (r == CUDA_ERROR_OUT_OF_MEMORY && cached_bytes_ > 0) {
      trim_locked();
      r = cu().cuMemAlloc(&fresh, static_cast<std::size_t>(bytes));
    }
    if (r == CUDA_ERROR_OUT_OF_MEMORY) {
      std::size_t free_bytes = 0, total = 0;
      cu().cuMemGetInfo(&free_bytes, &total);
      fail(ErrorCode::OutOfMemory, "allocate", {}, bytes_text(wanted), " on cuda:", context_.index, ": results hold ",
           bytes_text(live_bytes_), " in ", live_.size(), " blocks, the pool and executable graphs ", bytes_text(held),
           ", the driver has ", bytes_text(static_cast<std::int64_t>(free_bytes)), " of ",
           bytes_text(static_cast<std::int64_t>(total)), " left",
           limit_ > 0 ? ", the limit is " + bytes_text(limit_) : std::string());
    }
    check(r, "allocating memory");
    p = reinterpret_cast<void*>(fresh);
  }
  handed_out(p, wanted, bytes, &stream);
  live_.emplace(p, Block{bytes, stream.id()});
  live_bytes_ += bytes;
  peak_ = std::max(peak_, live_bytes_);
  return p;
}

void Allocator::free(void* p, CudaStream* under) noexcept {
  const MutexLock lock(mu_);
  auto it = live_.find(p);
  if (it == live_.end()) return;
  Block block = it->second;
  live_.erase(it);
  live_bytes_ -= block.bytes;
  cached_bytes_ += block.bytes;
  if (under) handed_out(p, 0, block.bytes, under);
  if (under && under->id() == block.stream) {
    cached_[{block.stream, block.bytes}].push_back(p);
    return;
  }
  context_.enter_quietly();
  CUevent event = nullptr;
  if (under && cu().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
      cu().cuEventRecord(event, under->handle()) == CUDA_SUCCESS) {
    waiting_.push_back({p, block, event});
    return;
  }
  if (event) warn(cu().cuEventDestroy(event), "destroying an event");
  warn(context_.synchronize(), "waiting for the device");
  if (!under) handed_out(p, 0, block.bytes, nullptr);
  cached_[{block.stream, block.bytes}].push_back(p);
}

void Allocator::trim_locked() {
  check(context_.synchronize(), "waiting for the device");
  collect();
  for (auto& [key, blocks] : cached_) {
    for (void* p : blocks) {
      warn(cu().cuMemFree(reinterpret_cast<CUdeviceptr>(p)), "freeing memory");
      cached_bytes_ -= key.second;
    }
  }
  cached_.clear();
}

void Allocator::trim() {
  context_.enter();
  const MutexLock lock(mu_);
  trim_locked();
}

void Allocator::set_limit(std::int64_t bytes) {
  const MutexLock lock(mu_);
  limit_ = bytes;
}

Allocator::Stats Allocator::stats() {
  const MutexLock lock(mu_);
  return {live_bytes_, cached_bytes_, peak_};
}

}  // namespace reprise::device::cuda
