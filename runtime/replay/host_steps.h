#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/replay/program.h"

namespace reprise::runtime {

class BoxedReplay;

/// What sizes decide of a native step's arguments: views without their addresses.
void resolve_native(const Program&, const Program::NativeStep&, SlotValues slots, kernels::TensorView* views,
                    std::int64_t* ints, kernels::Number* numbers);
/// Throws what a native step reports.
[[noreturn]] void throw_fault(const Program&, std::uint32_t launch, const kernels::KernelFault&);

/// Runs the steps of a program that are functions of the host, on whatever addresses it is given. One replay at a time.
class HostSteps {
 public:
  explicit HostSteps(const Program&);
  /// Fills in everything that sizes decide. `slots`: of this recording (of this call when the program draws random
  /// numbers).
  void resolve(SlotValues slots);
  /// The same where only these slots have changed since the last time.
  void resolve(SlotValues slots, const std::vector<Slot>& changed);
  /// `base`: by buffer; `params`: of all loop steps in a row; `slots` as for resolve(). Throws what a kernel reports.
  void run(const Program::Step&, void* const* base, const std::int64_t* params, SlotValues slots);
  /// All steps, in order.
  void run_all(void* const* base, const std::int64_t* params, SlotValues slots);
  /// The same of a program that BoxedPlan finds possible.
  void run_boxed(BoxedReplay&, void* const* base, const std::int64_t* params, SlotValues slots);
  /// A number of native steps (Program::FloatWord) that is another one in this call.
  void set_number(std::uint32_t at, double v) { numbers_[at].f = v; }
  std::int64_t bytes() const;

 private:
  void resolve_native(const Program::NativeStep& s, SlotValues slots) {
    runtime::resolve_native(program_, s, slots, views_.data() + s.first_view, ints_.data() + s.first_int,
                            numbers_.data() + s.first_number);
  }
  const kernels::Work& work_of(std::uint32_t launch, SlotValues slots);
  void run_told(const Program::Step&, void* const* base, const std::int64_t* params, SlotValues slots);
  void run_step(const Program::Step&, void* const* base, const std::int64_t* params, SlotValues slots);
  void run_loop(const Program::LoopStep&, void* const* base, const std::int64_t* params, SlotValues slots);
  void run_native(const Program::NativeStep&, void* const* base, SlotValues slots);
  /// Steps from `at` to `end`, of which loops begin with number `repeat` of Program::repeats.
  void run_part(std::size_t& at, std::size_t end, std::size_t repeat, const std::int64_t* params, SlotValues slots);
  /// Do the conditions of a step hold, the first `most` of them?
  bool holds(std::size_t step, void* const* base, SlotValues slots, std::uint32_t most = ~0u) const;
  void run_watched(const Program::NativeStep&, const kernels::NativeArgs&) const;

  const Program& program_;
  const bool conditional_;  // there are steps that run only where a value says so
  /// Programs with loops: the addresses of the replay, those of windows, and of what changes places
  std::vector<void*> moving_;
  std::vector<void*> pointers_;             // of loop steps, in a row
  std::vector<kernels::TensorView> views_;  // of native steps, in a row
  std::vector<std::int64_t> ints_;
  std::vector<kernels::Number> numbers_;
  // by launch, once somebody has asked; of the sizes that were resolved last
  std::vector<std::optional<kernels::Work>> work_;
};

}  // namespace reprise::runtime
