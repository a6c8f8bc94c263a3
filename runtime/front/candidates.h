#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/call/call_frame.h"

namespace reprise::detail {

struct Specialization;

/// The specializations of one structure, so that a call meets few that do not admit it. Where many of them ask words of
/// the call (sizes, integers) for one value each, these are hashed. Where they ask a word for ranges that do not
/// overlap, they are sorted by it. The same is done with those of one value or range, and with those that do not ask.
/// What is left is gone through, oldest first. Nobody is told apart by what only admits() can check; it checks whoever
/// is met in full. Immutable; any thread.
class Candidates {
 public:
  Candidates() = default;
  /// `all` stay, and in this order.
  explicit Candidates(std::vector<const Specialization*> all) : Candidates(std::move(all), nullptr) {}
  /// The same of those of one structure.
  static Candidates of_structure(std::vector<const Specialization*> all);

  /// Are they found by values, so that the latest hit need not be tried first?
  bool are_hashed() const { return values_ != nullptr; }
  /// Are they all of the structure that the call has? Where not, admits() is to ask each of them.
  bool are_of(const FrameArray<std::uint64_t>& structure) const {
    return structure_ && runtime::same_words(*structure_, structure);
  }
  /// That of all of them; null: they have several, or nobody has asked.
  const FrameArray<std::uint64_t>* structure() const { return structure_; }
  /// Is there none beside this one?
  bool are_only(const Specialization& s) const { return some_.size() == 1 && some_.front() == &s; }
  /// Calls admits(s) for each specialization that the call's own words do not rule out, until one says true; that one,
  /// or null. word(i) is the i-th of `count`; admits() may move them.
  template <class Word, class F>
  const Specialization* first(const Word& word, std::size_t count, const F& admits) const;

 private:
  struct Values;
  struct Ranges;
  struct Asked;
  Candidates(std::vector<const Specialization*> all, const FrameArray<std::uint64_t>* structure);
  bool by_values(const std::vector<const Specialization*>&, const std::vector<Asked>&);
  bool by_ranges(const std::vector<const Specialization*>&, const std::vector<Asked>&);
  template <class F>
  const Specialization* first_of_all(const F& admits) const;
  const FrameArray<std::uint64_t>* structure_ = nullptr;  ///< one of theirs
  std::vector<const Specialization*> some_;               ///< gone through; empty where there are values or ranges
  std::shared_ptr<const Values> values_;                  ///< shared, so that tables can be copied
  std::shared_ptr<const Ranges> ranges_;
};

struct Candidates::Values {
  static constexpr std::size_t kMost = 4;
  using Key = std::array<std::int64_t, kMost>;  ///< of the words, and zeros
  struct Slot {
    Key key;
    const Specialization* only;  ///< of the group, if it has no other
    std::uint32_t group;         ///< one more than its index; 0: empty
  };
  std::array<std::uint32_t, kMost> words{};
  std::size_t used = 0;
  std::vector<Slot> slots;  ///< open addressing: twice as many as groups at least, a power of two
  std::vector<Candidates> groups;
  Candidates others;  ///< do not ask each of the words for one value

  static bool same(const Key& a, const Key& b) {
    std::int64_t bits = 0;
    for (std::size_t i = 0; i < kMost; ++i) bits |= a[i] ^ b[i];
    return bits == 0;
  }
  /// The slot of the key, or the empty one where it would be.
  std::size_t at(const Key& k) const {
    std::uint64_t h = 0;
    for (std::size_t i = 0; i < used; ++i)
      h = (h ^ static_cast<std::uint64_t>(k[i])) * 0xff51afd7ed558ccdull, h ^= h >> 32;
    std::size_t i = h & (slots.size() - 1);
    while (slots[i].group && !same(slots[i].key, k)) i = (i + 1) & (slots.size() - 1);
    return i;
  }
};

struct Candidates::Ranges {
  struct Range {
    std::int64_t lo, hi;
    Candidates in;
  };
  std::uint32_t word = 0;
  std::vector<Range> sorted;  ///< apart from each other, the lowest first
  Candidates others;          ///< do not ask for the word, or for a range that overlaps

  const Candidates* holding(std::int64_t v) const {
    std::size_t from = 0, to = sorted.size();  // the first range that begins past v
    while (from < to) {
      const std::size_t middle = (from + to) / 2;
      if (sorted[middle].lo <= v) from = middle + 1;
      else to = middle;
    }
    return from > 0 && v <= sorted[from - 1].hi ? &sorted[from - 1].in : nullptr;
  }
};

template <class Word, class F>
const Specialization* Candidates::first(const Word& word, std::size_t count, const F& admits) const {
  const Candidates* c = this;
  while (c->values_ || c->ranges_) {
    const Candidates* in = nullptr;
    if (c->values_) {
      const Values& v = *c->values_;
      Values::Key key{};
      for (std::size_t i = 0; i < v.used; ++i) {
        if (v.words[i] >= count) return c->first_of_all(admits);  // another structure with the same hash
        key[i] = word(v.words[i]);
      }
      const Values::Slot& slot = v.slots[v.at(key)];
      if (slot.only) {
        if (admits(*slot.only)) return slot.only;
      } else if (slot.group) {
        in = &v.groups[slot.group - 1];
      }
      c = &v.others;
    } else {
      const Ranges& r = *c->ranges_;
      if (r.word >= count) return c->first_of_all(admits);
      in = r.holding(word(r.word));
      c = &r.others;
    }
    if (!in) continue;
    if (in->values_ || in->ranges_) {
      if (const Specialization* s = in->first(word, count, admits)) return s;
    } else {
      for (const Specialization* s : in->some_)
        if (admits(*s)) return s;
    }
  }
  for (const Specialization* s : c->some_)
    if (admits(*s)) return s;
  return nullptr;
}

template <class F>
const Specialization* Candidates::first_of_all(const F& admits) const {
  for (const Specialization* s : some_)
    if (admits(*s)) return s;
  if (values_) {
    for (const Candidates& group : values_->groups)
      if (const Specialization* s = group.first_of_all(admits)) return s;
    return values_->others.first_of_all(admits);
  }
  if (!ranges_) return nullptr;
  for (const Ranges::Range& r : ranges_->sorted)
    if (const Specialization* s = r.in.first_of_all(admits)) return s;
  return ranges_->others.first_of_all(admits);
}

}  // namespace reprise::detail
