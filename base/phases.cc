#include "base/phases.h"

namespace reprise {

namespace {
constexpr std::string_view kNames[kPhases] = {"trace", "functionalize", "passes", "lower", "machine code", "load"};
constinit thread_local PhaseTimes* t_times = nullptr;
constinit thread_local InPhase* t_phase = nullptr;
}  // namespace

std::string_view phase_name(Phase p) { return kNames[static_cast<int>(p)]; }

PhaseClock::PhaseClock(PhaseTimes& times) : times_before_(t_times), phase_before_(t_phase) {
  t_times = &times, t_phase = nullptr;
}
PhaseClock::~PhaseClock() { t_times = times_before_, t_phase = phase_before_; }

InPhase::InPhase(Phase phase, std::string_view what) : phase_(phase), begin_(timeline::now()), around_(t_phase) {
  t_phase = this;
  if (timeline::on()) what_ = what;
}

InPhase::~InPhase() {
  const std::int64_t ns = timeline::now() - begin_;
  t_phase = around_;
  if (around_) around_->inside_ += ns;
  if (t_times) t_times->ns[static_cast<std::size_t>(phase_)] += ns - inside_;
  if (!timeline::on()) return;
  if (what_.empty()) timeline::slice("compile", phase_name(phase_), begin_, begin_ + ns);
  else timeline::slice("compile", phase_name(phase_), begin_, begin_ + ns, {{"of", what_}});
}

}  // namespace reprise
