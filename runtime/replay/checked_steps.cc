#include "runtime/replay/checked_steps.h"

#include "base/errors.h"
#include "graph/name_scopes.h"
#include "kernels/reference/native_launches.h"

namespace reprise::runtime {

CheckedSteps::CheckedSteps(const Program& p, SlotValues slots)
    : function_(p.graph.name.substr(0, p.graph.name.rfind('/'))) {
  for (const Program::GpuStep& s : p.gpu_steps) {
    if (!s.check) continue;
    const kernels::Launch& launch = p.lowered.launches[s.launch];
    // of an eager call: where it is made
    const std::string* scope = launch.scope ? launch.scope : NameScopes::current();
    Step step{static_cast<std::int64_t>(s.launch) + 1,
              launch.op.empty() ? launch.name : launch.op,
              scope ? *scope : "",
              launch.loc,
              launch.check->of,
              launch.check->dim,
              slots[s.check->extent],
              {}};
    for (Slot size : s.check->sizes) step.sizes.push_back(slots[size]);
    steps_.push_back(std::move(step));
  }
}

const CheckedSteps::Step& CheckedSteps::step_of(const std::int64_t* record) const {
  for (const Step& s : steps_)
    if (s.number == record[0]) return s;
  fail(ErrorCode::Internal, "replay", {}, "the record of faults names check ", record[0], ", which there is not");
}

std::string CheckedSteps::message(const Step& s, const std::int64_t* record) {
  const kernels::KernelFault fault = kernels::check_fault(s.of, record[1], record[2], s.sizes, s.extent, s.dim);
  return fault.message + (s.scope.empty() ? "" : " (in " + s.scope + ")");
}

void CheckedSteps::throw_noted(const std::int64_t* record) const {
  const Step& s = step_of(record);
  throw Error(kernels::check_fault(s.of, record[1], record[2], s.sizes, s.extent, s.dim).code, s.op, message(s, record),
              s.loc);
}

void CheckedSteps::tell(const std::int64_t* record) const {
  const Step& s = step_of(record);
  throw device::LateFault(
      kernels::check_fault(s.of, record[1], record[2], s.sizes, s.extent, s.dim).code, s.op,
      message(s, record) + "; told late (CompileOptions::late_faults): the call of " + function_ +
          " had returned, has written nothing that was to be guarded, and its results are of no use",
      s.loc);
}

}  // namespace reprise::runtime
