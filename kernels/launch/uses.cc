#include "kernels/launch/launch.h"

namespace reprise::kernels {

namespace {

using UseFn = std::function<void(std::uint32_t, bool, bool)>;

void uses(const LoopLaunch& l, const UseFn& f) {
  for (const BodyNode& n : l.kernel.body)
    if (n.access != ~0u)
      f(l.buffers[l.kernel.accesses[n.access].buffer], n.kind == BodyNode::Kind::Load, n.kind == BodyNode::Kind::Store);
}
void uses(const NativeLaunch& l, const UseFn& f) {
  for (const Operand& o : l.operands) f(o.buffer, !o.written || o.kept, o.written);
}
void uses(const GpuLaunch& l, const UseFn& f) {
  for (std::size_t i = 0; i < l.buffers.size(); ++i) f(l.buffers[i], !l.written[i], l.written[i]);
}

}  // namespace

void for_each_use(const Launch& launch, const UseFn& f) {
  std::visit([&](const auto& what) { uses(what, f); }, launch.what);
  if (launch.guard) f(*launch.guard, true, false);
  for (const Condition& c : launch.when) f(c.buffer, true, false);
}

}  // namespace reprise::kernels
