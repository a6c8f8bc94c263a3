#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/front/candidates.h"
#include "runtime/front/layout_canonicalization.h"

namespace reprise::detail {

/// The specializations of a function as calls of other structures than theirs find them (Recast). Which of them may
/// serve calls of a structure, and how, is worked out once and remembered by each thread; then such a call is found as
/// fast as others. Immutable; any thread.
class OtherStructures {
 public:
  OtherStructures() = default;
  /// `all` stay, and in this order.
  explicit OtherStructures(const std::vector<const Specialization*>& all);
  OtherStructures(const OtherStructures&) = delete;
  OtherStructures& operator=(const OtherStructures&) = delete;

  /// Who admits the call as one of its own structure, code for any strides last; or null. `hash`: of the call's
  /// structure. On a hit the frame is one of that.
  const Specialization* first(CallFrame&, std::uint64_t hash) const;
  /// Is it known that first() is null for each call of this structure?
  bool are_alone(const FrameArray<std::uint64_t>& structure) const;

 private:
  /// Those of one structure that the same calls fit: which, is decided by any of them.
  struct Group {
    std::vector<std::uint32_t> unused;  ///< unused_words()
    std::vector<const Specialization*> all;
    Candidates candidates;
  };
  struct Way {
    const Group* to;
    Recast how;
  };
  struct Known;
  struct Memory;
  std::vector<Way> ways(const FrameArray<std::uint64_t>& structure) const;
  /// pointed into; those for any strides last, before them those that use more first
  std::vector<Group> groups_;
  std::vector<std::vector<std::uint32_t>> unused_;  ///< the different ones
  /// runtime::hash_beside_layouts of their structures without what they do not use
  std::unordered_multimap<std::uint64_t, const Group*> by_hash_;
  std::uint64_t serial_ = 0;  ///< unique in the process: keys what threads remember
};

}  // namespace reprise::detail
