#pragma once
#include <cstdint>
#include <string>

namespace reprise::device {

/// "1.5 GiB", "640 B": how messages write sizes.
std::string bytes_text(std::int64_t bytes);
/// Bytes backed in all AddressRanges of the process.
std::int64_t backed_range_bytes();
/// Blocks that came back with bytes written behind their end. Counted in debug builds only.
std::int64_t host_memory_overruns();

}  // namespace reprise::device
