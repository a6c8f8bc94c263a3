#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>

namespace reprise {

enum class DeviceType : std::uint8_t { Cpu, Cuda, Null };

/// Where a tensor's bytes are. `Device::null()` records what it is told and computes nothing (tests use it).
struct Device {
  DeviceType type = DeviceType::Cpu;
  std::uint8_t index = 0;
  static constexpr Device cpu() { return {DeviceType::Cpu, 0}; }
  static constexpr Device cuda(int i = 0) { return {DeviceType::Cuda, static_cast<std::uint8_t>(i)}; }
  static constexpr Device null() { return {DeviceType::Null, 0}; }
  friend constexpr bool operator==(Device, Device) = default;
  std::string str() const;  ///< "cpu", "cuda:0"
};
std::ostream& operator<<(std::ostream&, Device);

}  // namespace reprise
