#include "device/cuda/range.h"

#include <algorithm>

#include "base/errors.h"
#include "device/host_accounts.h"

namespace reprise::device::cuda {

Range::Range(const Context& c, std::int64_t reserve_bytes, std::atomic<std::int64_t>& total)
    : context_(c), total_(total) {
  c.enter();
  kind_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind_.location = {CU_MEM_LOCATION_TYPE_DEVICE, c.device};
  std::size_t step = 0;
  check(cu().cuMemGetAllocationGranularity(&step, &kind_, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "asking for the granularity of memory");
  granularity_ = static_cast<std::int64_t>(step);
  // No more addresses than the device has memory are of use; fewer will do when the system has none.
  reserved_ = std::min(reserve_bytes, c.total_bytes);
  for (;; reserved_ /= 2) {
    reserved_ = std::max((reserved_ + granularity_ - 1) / granularity_ * granularity_, granularity_);
    CUresult r = cu().cuMemAddressReserve(&base_, static_cast<std::size_t>(reserved_), 0, 0, 0);
    if (r == CUDA_SUCCESS) break;
    if (reserved_ <= granularity_) check(r, "reserving addresses for the pool");
  }
}

Range::~Range() {
  context_.enter_quietly();
  for (const Piece& p : pieces_) {
    warn(cu().cuMemUnmap(base_ + static_cast<CUdeviceptr>(p.at), static_cast<std::size_t>(p.bytes)),
         "unmapping the pool");
    warn(cu().cuMemRelease(p.memory), "releasing the pool");
  }
  warn(cu().cuMemAddressFree(base_, static_cast<std::size_t>(reserved_)), "freeing the pool's addresses");
  total_ -= backed_;
}

void Range::ensure(std::int64_t bytes) {
  if (bytes <= backed_) return;
  context_.enter();
  std::int64_t more = (bytes - backed_ + granularity_ - 1) / granularity_ * granularity_;
  if (backed_ + more > reserved_)
    fail(ErrorCode::OutOfMemory, "pool", {}, "a recording needs ", bytes_text(bytes), " on cuda:", context_.index,
         ", the pool's addresses hold ", bytes_text(reserved_));
  Piece piece{0, backed_, more};
  CUresult r = cu().cuMemCreate(&piece.memory, static_cast<std::size_t>(more), &kind_, 0);
  if (r == CUDA_ERROR_OUT_OF_MEMORY) {
    std::size_t free_bytes = 0, total = 0;
    cu().cuMemGetInfo(&free_bytes, &total);
    fail(ErrorCode::OutOfMemory, "pool", {}, "a recording needs ", bytes_text(bytes), " on cuda:", context_.index,
         ": the pool has ", bytes_text(backed_), ", the driver ", bytes_text(static_cast<std::int64_t>(free_bytes)),
         " of ", bytes_text(static_cast<std::int64_t>(total)), " left");
  }
  check(r, "backing the pool");
  const CUdeviceptr at = base_ + static_cast<CUdeviceptr>(piece.at);
  r = cu().cuMemMap(at, static_cast<std::size_t>(more), 0, piece.memory, 0);
  if (r == CUDA_SUCCESS) {
    CUmemAccessDesc access{kind_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    r = cu().cuMemSetAccess(at, static_cast<std::size_t>(more), &access, 1);
    if (r != CUDA_SUCCESS) warn(cu().cuMemUnmap(at, static_cast<std::size_t>(more)), "unmapping the pool");
  }
  if (r != CUDA_SUCCESS) {
    warn(cu().cuMemRelease(piece.memory), "releasing the pool");
    check(r, "mapping the pool");
  }
  pieces_.push_back(piece);
  backed_ += more;
  total_ += more;
}

}  // namespace reprise::device::cuda
