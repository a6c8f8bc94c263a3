#include "runtime/nearest_miss.h"

#include <algorithm>

#include "runtime/seen_as.h"
#include "runtime/structure_names.h"

namespace reprise::detail {

NearestMiss nearest_miss(const Compiled& c, CallFrame& f, const StructureNames& names) {
  NearestMiss n;
  std::size_t differ = ~std::size_t{0};
  for (auto it = c.owned.rbegin(); it != c.owned.rend(); ++it) {
    const Specialization& s = **it;
    const SeenAs seen(s, f);
    if (!seen && !(s.structure == f.structure)) {
      if (differ == 0) continue;
      FrameArray<std::uint64_t> call = f.structure;
      if (call.size() == s.structure.size())
        for (std::uint32_t at : unused_words(s))  // what it does not use is no cause
          if (call[at]) call[at] = s.structure[at];
      StructureDifference d = difference_of(*s.names, s.structure, names, call);
      if (d.arguments < differ) differ = d.arguments, n = {s.name, std::move(d.failed), std::move(d.remedy)};
      continue;
    }
    std::uint32_t miss = ~0u;
    if (admits(s, f, &miss)) continue;
    if (!s.settings.hold()) {
      if (differ != 0) n = {s.name, s.settings.difference(), "call it under one setting, or set inside it what it needs"};
      differ = 0;
      continue;
    }
    if (s.function && !s.function->same())
      return {s.name, "a value that the function object holds has changed (a member, or what a lambda captured by value)", "take it as an argument, reprise::Int or reprise::Scalar"};
    if (std::any_of(s.asked.begin(), s.asked.end(), [](const Asked& a) { return !a.holds(); }))
      return {s.name, "a variable that was asked whether it is defined has become defined, undefined, or is gone", "keep such variables alive, and as they are"};
    if (miss != ~0u) return {s.name, s.guards.explain(miss, f.values.data()), s.guards.remedy(miss)};
    if (differ == 0) continue;
    differ = 0;
    n = {s.name, "a captured variable is gone or holds a tensor of another dtype, rank or layout, or a written argument overlaps another",
         "keep captured variables alive, and pass tensors that do not overlap"};
  }
  return n;
}

}  // namespace reprise::detail
