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
  UseFn through = f;
  // Of what a window shows other parts stay as they are: whoever writes there reads it, too.
  if (!launch.seen.empty())
    through = [&](std::uint32_t b, bool read, bool written) {
      f(b, read, written);
      for (const Launch::Seen& s : launch.seen)
        if (s.window == b) f(b = s.of, read = true, written);
    };
  std::visit([&](const auto& what) { uses(what, through); }, launch.what);
  if (launch.guard) f(*launch.guard, true, false);
  for (const Condition& c : launch.when) through(c.buffer, true, false);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> repeat_ranges(const Lowered& l) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges(l.repeats.size(), {0, 0});
  for (std::uint32_t i = 0; i < l.launches.size(); ++i)
    for (std::uint32_t r : l.launches[i].repeats) {
      auto& [first, end] = ranges[r];
      if (end == 0) first = i;
      end = i + 1;
    }
  return ranges;
}

}  // namespace reprise::kernels
