#pragma once
#include "base/knobs.h"

namespace reprise::test {

/// The simulator becomes the CUDA driver where the build has it and no other driver is named. Before the device is
/// first asked for.
inline void take_simulator() {
#ifdef REPRISE_CUDA_SIM
  if (knobs().cuda_driver.empty()) knobs().cuda_driver = REPRISE_CUDA_SIM;
#endif
}

}  // namespace reprise::test
