#include "runtime/front/generality.h"

#include <algorithm>

#include "runtime/front/layout_canonicalization.h"

namespace reprise::detail {

guards::Generality generality_for(const Compiled& c, CallFrame& f) {
  constexpr std::size_t kLooked = 64;  // at the newest; more would make a miss of many dear
  // Where any size may be 1 no vector is loaded of it, which costs loops in caches ten times as much. A slice that is
  // cut costs nothing.
  constexpr int kOftenCut = 1, kOftenBroadcast = 8;
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
    if (would_admit(s, f, &miss) || miss == ~0u) continue;
    slices += s.guards.why(miss).starts_with("slice: ");
    reshapes = reshapes || s.guards.why(miss).starts_with("view: ");
    broadcasts += s.guards.why(miss).starts_with("broadcast");
  }
  g.slices = g.slices || slices >= kOftenCut;
  g.broadcasts = g.broadcasts || broadcasts >= kOftenBroadcast;
  g.reshapes = g.reshapes || reshapes;
  return g;
}

namespace {

// Are the two structures one, but for layouts of tensors?
bool differ_in_layouts_alone(const Specialization& s, const CallFrame& f) {
  if (s.structure.size() != f.structure.size()) return false;
  auto next = s.tensor_words.begin();
  for (std::uint32_t i = 0; i < f.structure.size(); ++i) {
    const bool tensor = next != s.tensor_words.end() && *next == i;
    next += tensor;
    const std::uint64_t different = s.structure[i] ^ f.structure[i];
    if (different && (!tensor || !s.structure[i] || !f.structure[i] || (different & ~runtime::kLayoutBits)))
      return false;
  }
  return true;
}

// A dimension of size 1 may have any stride, whatever the class of the tensor says.
unsigned where_one(const TensorImpl& t) {
  unsigned ones = 0;
  for (int d = 0; d < t.rank; ++d) ones |= static_cast<unsigned>(t.strides[d] == 1) << d;
  return ones;
}

}  // namespace

StridesAside strides_aside_for(const Compiled& c, CallFrame& f) {
  constexpr std::size_t kLooked = 64, kLayoutsOfTheirOwn = 2;
  if (c.strides_asked.contains(runtime::hash_beside_layouts(f.structure))) return {};
  std::vector<const Specialization*> own;  // one of each structure
  const Specialization* like = nullptr;
  std::vector<StridesAside::Word> any;
  bool general = false;
  for (std::size_t i = c.owned.size(); i-- > 0 && c.owned.size() - i <= kLooked;) {
    const Specialization& s = *c.owned[i];
    if (!differ_in_layouts_alone(s, f)) continue;
    if (!s.generality.layouts) {
      if (s.structure == f.structure || SeenAs(s, f)) return {};  // its layout is not what is new
      if (std::none_of(own.begin(), own.end(), [&](const Specialization* o) { return o->structure == s.structure; }))
        own.push_back(&s);
    }
    like = &s;
    general = general || s.generality.layouts;
    std::size_t tensor = 0;
    for (std::uint32_t at : s.tensor_words) {
      if (!s.structure[at] || !s.uses(tensor++) || s.structure[at] == f.structure[at]) continue;
      if (std::none_of(any.begin(), any.end(), [&](const StridesAside::Word& w) { return w.at == at; }))
        any.push_back({at, runtime::ones_of(f.structure[at]) & where_one(*f.tensors[tensor - 1])});
    }
  }
  if (any.empty() || !(general || own.size() >= kLayoutsOfTheirOwn)) return {};
  for (StridesAside::Word& w : any)
    for (std::size_t i = c.owned.size(); i-- > 0 && c.owned.size() - i <= kLooked;)
      if (differ_in_layouts_alone(*c.owned[i], f)) w.ones &= runtime::ones_of(c.owned[i]->structure[w.at]);
  StridesAside how{std::move(any), like->tensor_words, {}};
  std::size_t end = 0, tensor = 0;
  for (std::uint32_t at : like->tensor_words) {
    if (!like->structure[at]) continue;
    const Traced::ValueRange range = like->input_values[tensor++];
    how.between.push_back(range.first - end);
    end = range.first + runtime::value_count(like->structure[at]);
  }
  return how;
}

}  // namespace reprise::detail
