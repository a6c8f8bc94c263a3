#pragma once
#include <optional>
#include <string>

#include "device/backend.h"

namespace reprise::kernels::testing {

/// What ptxas says of a kernel.
struct Assembled {
  bool ok = false;
  int registers = 0, spill_bytes = 0, shared_bytes = 0;
  std::string output;
};
/// Where the assembler is; empty when there is none on this machine.
const std::string& ptxas_path();
Assembled assemble(const device::Image&, const std::string& arch);

}  // namespace reprise::kernels::testing
