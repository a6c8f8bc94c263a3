#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace reprise::detail {

struct Specialization;

/// The specializations of one structure, so that a call meets few that do not admit it. Where many of them ask a word of the call
/// (a size, an integer) for ranges that do not overlap, the word says which of them may serve it: they are sorted by it, and the
/// same is done with those of one range, and with those that do not ask for the word. What is left is gone through, oldest first.
/// Nobody is told apart by what only admits() can check; it checks whoever is met in full.
/// Immutable; any thread.
class Candidates {
 public:
  Candidates() = default;
  /// `all` stay, and in this order.
  explicit Candidates(std::vector<const Specialization*> all);

  /// Calls admits(s) for each specialization that the call's own words do not rule out, until one says true; that one, or null.
  /// word(i) is the i-th of `count`; admits() may move them.
  template <class Word, class F>
  const Specialization* first(const Word& word, std::size_t count, const F& admits) const;

 private:
  struct Ranges;
  template <class F>
  const Specialization* first_of_all(const F& admits) const;
  std::vector<const Specialization*> some_;     ///< gone through; empty where there are ranges
  std::shared_ptr<const Ranges> ranges_;        ///< shared, so that tables can be copied
};

struct Candidates::Ranges {
  struct Range { std::int64_t lo, hi; Candidates in; };
  std::uint32_t word = 0;
  std::vector<Range> sorted;                    ///< apart from each other, the lowest first
  Candidates others;                            ///< do not ask for the word, or for a range that overlaps

  const Candidates* holding(std::int64_t v) const {
    std::size_t from = 0, to = sorted.size();   // the first range that begins past v
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
  for (; c->ranges_; c = &c->ranges_->others) {
    const Ranges& r = *c->ranges_;
    if (r.word >= count) return c->first_of_all(admits);  // another structure with the same hash
    if (const Candidates* in = r.holding(word(r.word)))
      if (const Specialization* s = in->first(word, count, admits)) return s;
  }
  for (const Specialization* s : c->some_)
    if (admits(*s)) return s;
  return nullptr;
}

template <class F>
const Specialization* Candidates::first_of_all(const F& admits) const {
  for (const Specialization* s : some_)
    if (admits(*s)) return s;
  if (!ranges_) return nullptr;
  for (const Ranges::Range& r : ranges_->sorted)
    if (const Specialization* s = r.in.first_of_all(admits)) return s;
  return ranges_->others.first_of_all(admits);
}

}  // namespace reprise::detail
