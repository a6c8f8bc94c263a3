#pragma once

namespace reprise::device {

/// HostMemoryStats::peak_bytes counts from what is held now. (For measurements and tests.)
void host_reset_peak();

}  // namespace reprise::device
