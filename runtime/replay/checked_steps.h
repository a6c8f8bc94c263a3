#pragma once
#include <string>
#include <vector>

#include "device/late_faults.h"
#include "kernels/launch/launch.h"
#include "runtime/replay/program.h"

namespace reprise::runtime {

/// What the records of faults of a program mean, for some sizes; the program may be gone when it is asked. (The sizes
/// of what is checked are a recording's, Note [Words of a recording].)
class CheckedSteps final : public device::FaultTeller {
 public:
  CheckedSteps(const Program&, SlotValues);
  /// Throws the error of the call that has noted it.
  [[noreturn]] void throw_noted(const std::int64_t* record) const;
  /// The same, late: a LateFault.
  [[noreturn]] void tell(const std::int64_t* record) const override;

 private:
  struct Step {
    std::int64_t number;  ///< as records have it: of the launch, from 1
    std::string op, scope;
    SourceLoc loc;
    kernels::ValueCheck::Of of;
    std::int64_t dim, extent;
    std::vector<std::int64_t> sizes;
  };
  const Step& step_of(const std::int64_t* record) const;
  static std::string message(const Step&, const std::int64_t* record);
  std::string function_;
  std::vector<Step> steps_;
};

}  // namespace reprise::runtime
