#pragma once
#include <atomic>
#include <vector>

#include "device/backend.h"
#include "device/cuda/context.h"

namespace reprise::device::cuda {

/// Reserved addresses backed by physical memory piece by piece (cuMemAddressReserve, cuMemMap): grows without moving.
class Range final : public MemoryRange {
 public:
  /// `total`: where backed bytes of all ranges are added up.
  Range(const Context&, std::int64_t reserve_bytes, std::atomic<std::int64_t>& total);
  ~Range() override;
  char* base() const override { return reinterpret_cast<char*>(base_); }
  std::int64_t backed() const override { return backed_; }
  void ensure(std::int64_t bytes) override;

 private:
  struct Piece {
    CUmemGenericAllocationHandle memory;
    std::int64_t at, bytes;
  };
  const Context& context_;
  std::atomic<std::int64_t>& total_;
  CUmemAllocationProp kind_{};
  std::int64_t granularity_ = 0, reserved_ = 0, backed_ = 0;
  CUdeviceptr base_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace reprise::device::cuda
