#include "runtime/generality.h"

#include "runtime/seen_as.h"

namespace reprise::detail {

guards::Generality generality_for(const Compiled& c, CallFrame& f) {
  constexpr std::size_t kLooked = 64;  // at the newest; more would make a miss of many dear
  // Where any size may be 1 no vector is loaded of it, which costs loops in caches ten times as much. A slice that is cut costs nothing.
  constexpr int kOftenCut = 2, kOftenBroadcast = 8;
  guards::Generality g;
  bool reshapes = false;
  int slices = 0, broadcasts = 0;
  for (std::size_t i = c.owned.size(); i-- > 0 && c.owned.size() - i <= kLooked;) {
    const Specialization& s = *c.owned[i];
    const SeenAs seen(s, f);
    if (!seen && !(s.structure == f.structure)) continue;
    g.slices = g.slices || s.generality.slices;
    g.broadcasts = g.broadcasts || s.generality.broadcasts;
    g.reshapes = g.reshapes || s.generality.reshapes;
    std::uint32_t miss = ~0u;
    const std::size_t values = f.values.size(), tensors = f.tensors.size();
    if (admits(s, f, &miss)) f.values.resize(values), f.tensors.resize(tensors);  // it has appended what it captures
    if (miss == ~0u) continue;
    slices += s.guards.why(miss).starts_with("slice: ");
    reshapes = reshapes || s.guards.why(miss).starts_with("view: ");
    broadcasts += s.guards.why(miss).starts_with("broadcast");
  }
  g.slices = g.slices || slices >= kOftenCut;
  g.broadcasts = g.broadcasts || broadcasts >= kOftenBroadcast;
  g.reshapes = g.reshapes || reshapes;
  return g;
}

}  // namespace reprise::detail
