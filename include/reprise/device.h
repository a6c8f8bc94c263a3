#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>

#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

enum class DeviceType : std::uint8_t { Cpu, Cuda, Null, ShapeOnly };

namespace detail {
[[noreturn]] std::uint8_t no_such_cuda(int index);  ///< throws InvalidArgument
}

/// Where a tensor's bytes are. `Device::null()` records requests and computes nothing (for tests).
struct Device {
  DeviceType type = DeviceType::Cpu;
  std::uint8_t index = 0;
  static constexpr Device cpu() { return {DeviceType::Cpu, 0}; }
  /// 0 <= i <= 255; throws InvalidArgument otherwise. Whether there is such a device is asked when it is used.
  static constexpr Device cuda(int i = 0) {
    return {DeviceType::Cuda, i >= 0 && i <= 255 ? static_cast<std::uint8_t>(i) : detail::no_such_cuda(i)};
  }
  static constexpr Device null() { return {DeviceType::Null, 0}; }
  /// No bytes at all: sizes, strides and a dtype (reprise/shape_only.h).
  static constexpr Device shape_only() { return {DeviceType::ShapeOnly, 0}; }
  friend constexpr bool operator==(Device, Device) = default;
  std::string str() const;  ///< "cpu", "cuda:0", "shape_only"
};
std::ostream& operator<<(std::ostream&, Device);

}  // namespace REPRISE_VISIBLE
