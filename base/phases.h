#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/timeline.h"

/// Where the time of a compilation goes.
namespace reprise {

enum class Phase : std::uint8_t {
  Trace,          ///< the user's function runs once, and what it does is written down
  Functionalize,  ///< writes and views become values
  Passes,
  Lower,        ///< launches, placement, expressions of sizes, guards
  MachineCode,  ///< LLVM
  Load,         ///< code from the disk, and code into the process
};
inline constexpr int kPhases = 6;
std::string_view phase_name(Phase);

/// Of one compilation; a phase inside another counts as itself alone.
struct PhaseTimes {
  std::array<std::int64_t, kPhases> ns{};
  std::int64_t us(Phase p) const { return ns[static_cast<std::size_t>(p)] / 1000; }
};

/// While it lives, this thread's phases are counted there. A thread that goes on with another one's compilation has its
/// own on the same times.
class PhaseClock {
 public:
  explicit PhaseClock(PhaseTimes&);
  ~PhaseClock();
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

 private:
  PhaseTimes* const times_before_;
  class InPhase* const phase_before_;
};

/// A phase, to the end of the scope: counted by the thread's PhaseClock, and a slice of the timeline.
class InPhase {
 public:
  explicit InPhase(Phase, std::string_view what = {});
  ~InPhase();
  InPhase(const InPhase&) = delete;
  InPhase& operator=(const InPhase&) = delete;

 private:
  const Phase phase_;
  const timeline::Time begin_;
  std::int64_t inside_ = 0;  // nanoseconds of phases inside this one
  InPhase* const around_;
  std::string what_;  // where the timeline is on
};

}  // namespace reprise
