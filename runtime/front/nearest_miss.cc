#include "runtime/front/nearest_miss.h"

#include <algorithm>
#include <tuple>

#include "graph/wrapper.h"
#include "runtime/call/structure_names.h"
#include "runtime/front/layout_canonicalization.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {

/// What is known of one specialization that does not admit the call.
struct Reason {
  std::string failed, remedy;
  std::string argument{}, seen{}, expected{}, line{};  // Miss
};

std::string name_of(const Specialization& s, std::size_t input) {
  return s.program.graph.values[s.program.graph.inputs[input].value.v].name;
}

/// Of a tensor that the function captures.
std::optional<Reason> of_captured(const Specialization& s) {
  const std::size_t arguments = s.input_words.size() - s.captured.size() - s.wholes.size();
  for (std::size_t k = 0; k < s.captured.size(); ++k) {
    const Captured& c = s.captured[k];
    const std::string name = name_of(s, arguments + k);
    if (c.is_gone())
      return Reason{name + ": a variable that the function captured is gone",
                    "keep captured variables alive, or pass what they hold as an argument"};
    const TensorImpl* now = c.now();
    if (!now)
      return Reason{name + ": captured variables that held one tensor hold several, or none",
                    "keep them as they are, or pass what they hold as arguments"};
    const std::uint64_t was = s.input_words[arguments + k], is = runtime::structure_word(*now);
    if (was & runtime::kCapturedHandle) {
      const graph::WrapperState* const wrapper = graph::state_of_wrapper(*now);
      if (wrapper && wrapper->serial() == c.wrapper) continue;
      return Reason{name + (wrapper ? ": another wrapper was captured" : ": a wrapper was captured, and is none now"),
                    "pass wrappers that change as arguments"};
    }
    if (is == was ||
        (!((is ^ was) & ~runtime::kLayoutBits) && runtime::fits(*now, was, s.shows_strides_of(arguments + k))))
      continue;
    StructureDifference d = difference_of_tensors(is, was);
    return Reason{name + " " + d.failed, std::move(d.remedy), name, std::move(d.seen), std::move(d.expected)};
  }
  return std::nullopt;
}

/// How the sentence about two inputs goes on of which that is no longer true.
const char* broken(Relation::Kind kind) {
  switch (kind) {
    case Relation::Kind::NotSame: return " are one tensor, and were two";
    case Relation::Kind::SameStorage: return " are on two storages, and were on one";
    case Relation::Kind::OtherStorage: return " are on one storage, and were on two";
    case Relation::Kind::Overlap: return " do not overlap, and did";
  }
  return "";
}

/// Of memory that arguments share, or no longer do.
std::optional<Reason> of_memory(const Specialization& s, const CallFrame& f) {
  const char* const copy = "pass a clone() of one of them";
  const std::size_t n = std::min(f.tensors.size(), s.program.graph.inputs.size());
  for (std::size_t i = 0; i < std::min(n, s.same_as.size()); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if ((s.same_as[i] == s.same_as[j]) != (f.tensors[i] == f.tensors[j]))
        return Reason{
            name_of(s, j) + " and " + name_of(s, i) +
                (f.tensors[i] == f.tensors[j] ? " are one tensor, and were two" : " are two tensors, and were one"),
            "each is a compilation of its own, made once"};
  for (std::uint32_t w : s.written_inputs) {
    if (w >= n) continue;
    if (overlaps_itself(*f.tensors[w]))
      return Reason{name_of(s, w) + ", which is written, overlaps itself", "pass a clone() of it"};
    for (std::size_t i = 0; i < n; ++i)
      if (i != w && !s.are_one_input(i, w) && overlaps(*f.tensors[i], *f.tensors[w]))
        return Reason{name_of(s, w) + ", which is written, " +
                          (f.tensors[i] == f.tensors[w] ? "is also " : "overlaps ") + name_of(s, i) + ", and did not",
                      copy};
  }
  for (std::uint32_t r : s.reshaped_inputs)
    for (std::size_t i = 0; r < n && i < n; ++i)
      if (i != r && f.tensors[i] == f.tensors[r])
        return Reason{name_of(s, r) + ", whose sizes are changed, is also " + name_of(s, i),
                      "pass them as two tensors"};
  for (std::uint32_t i : s.whole_storage)
    if (i < n && !covers_its_storage(*f.tensors[i]))
      return Reason{name_of(s, i) + " is a part of its storage, and was all of it", "pass a clone() of it"};
  for (std::uint32_t i : s.exact_strides)
    if (i < n && !runtime::has_strides_of(*f.tensors[i], s.input_words[i]))
      return Reason{name_of(s, i) + " has other strides in dimensions of size 0 or 1, which the function reads",
                    "call contiguous() before"};
  for (const Relation& r : s.relations)
    if (r.a < n && r.b < n && !r.holds(*f.tensors[r.a], *f.tensors[r.b]))
      return Reason{name_of(s, r.a) + " and " + name_of(s, r.b) + broken(r.kind),
                    "each is a compilation of its own, made once"};
  return std::nullopt;
}

Reason reason_of(const Specialization& s, const CallFrame& f, std::uint32_t miss) {
  if (!s.settings.hold()) return {s.settings.difference(), "call it under one setting, or set inside it what it needs"};
  if (s.function && !s.function->same())
    return {"a value that the function object holds has changed (a member, or what a lambda captured by value)",
            "take it as an argument, reprise::Int or reprise::Scalar"};
  if (std::any_of(s.asked.begin(), s.asked.end(), [](const Asked& a) { return !a.holds(); }))
    return {"a variable that was asked whether it is defined has become defined, undefined, or is gone",
            "keep such variables alive, and as they are"};
  if (miss != ~0u) {
    guards::GuardSet::Told told = s.guards.told(miss, f.values.data());
    return {s.guards.explain(miss, f.values.data()),
            s.guards.remedy(miss),
            std::move(told.names),
            std::move(told.seen),
            std::move(told.wanted),
            std::move(told.line)};
  }
  if (std::optional<Reason> r = of_captured(s)) return std::move(*r);
  if (std::optional<Reason> r = of_memory(s, f)) return std::move(*r);
  return {"a captured tensor, or memory that arguments share, is not as it was",
          "keep captured variables alive, and pass tensors that do not overlap"};
}

}  // namespace

NearestMiss nearest_miss(const Compiled& c, CallFrame& f, const StructureNames& names) {
  // How far the call is: arguments of another structure, then guards that do not hold, then how far its values are from
  // the traced ones.
  using Distance = std::tuple<std::size_t, guards::GuardSet::Distance>;
  std::optional<Distance> least;
  NearestMiss n;
  for (auto it = c.owned.rbegin(); it != c.owned.rend(); ++it) {  // of equally near ones the latest
    const Specialization& s = **it;
    const SeenAs seen(s, f);
    if (!seen && !(s.structure == f.structure)) {
      if (least && std::get<0>(*least) == 0) continue;
      FrameArray<std::uint64_t> call = f.structure;
      if (call.size() == s.structure.size())
        for (std::uint32_t at : unused_words(s))  // what it does not use is no cause
          if (call[at]) call[at] = s.structure[at];
      StructureDifference d = difference_of(*s.names, s.structure, names, call);
      const Distance here{d.arguments, {}};
      if (!least || here < *least)
        least = here, n = {s.name,
                           std::move(d.failed),
                           std::move(d.remedy),
                           std::move(d.argument),
                           std::move(d.seen),
                           std::move(d.expected)};
      continue;
    }
    std::uint32_t miss = ~0u;
    if (would_admit(s, f, &miss)) continue;  // seen in another way than calls are
    const Distance here{0, miss != ~0u ? s.guards.distance(f.values.data()) : guards::GuardSet::Distance{1, 0}};
    if (least && !(here < *least)) continue;
    least = here;
    Reason r = reason_of(s, f, miss);
    n = {s.name,
         std::move(r.failed),
         std::move(r.remedy),
         std::move(r.argument),
         std::move(r.seen),
         std::move(r.expected),
         std::move(r.line)};
  }
  return n;
}

}  // namespace reprise::detail
