#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace reprise::kernels {

/// An order of numbered nodes in which every edge leads forward, kept up while nodes and edges are added. Whether one
/// node leads to another is then asked of the nodes that stand between the two, and of no others: "no" costs nothing
/// where the order says so already. The edges themselves are the caller's: `successors(node, f)` calls f with the end
/// of each edge.
class KeptOrder {
 public:
  using Id = std::uint32_t;

  Id push_back() { return add(last_, kNone); }
  Id push_front() { return add(kNone, first_); }
  /// A new node right before `at`.
  Id insert_before(Id at) { return add(prev_[at], at); }
  bool before(Id a, Id b) const { return label_[a] < label_[b]; }

  /// Is one of `from`, or what they lead to, `wanted`? Nothing after node `limit` is looked at. True as well after
  /// `most` edges without an answer.
  template <class Wanted, class Successors>
  bool reaches(std::span<const Id> from, Id limit, Wanted&& wanted, Successors&& successors,
               std::size_t most = SIZE_MAX) {
    found_.clear();
    seen_.resize(label_.size());
    ++epoch_;
    bool met = false;
    auto see = [&](Id w) {
      if (met || label_[w] > label_[limit] || seen_[w] == epoch_) return;
      seen_[w] = epoch_;
      if (wanted(w)) met = true;
      else found_.push_back(w);
    };
    for (Id w : from) see(w);
    for (std::size_t k = 0, edges = 0; k < found_.size() && !met; ++k) {
      successors(found_[k], [&](Id w) {
        if (++edges > most) met = true;
        see(w);
      });
    }
    return met;
  }

  /// An edge from a to b is about to be there: b and what it leads to move behind a where they stand before it. False:
  /// b leads to a, and no order has both.
  template <class Successors>
  bool put_before(Id a, Id b, Successors&& successors) {
    if (before(a, b)) return true;
    const Id from[] = {b};
    if (reaches(
            from, a, [&](Id w) { return w == a; }, successors))
      return false;
    std::sort(found_.begin(), found_.end(), [&](Id x, Id y) { return label_[x] < label_[y]; });
    for (Id at = a; Id w : found_) {
      take_out(w);
      put_between(w, at, next_[at]);
      at = w;
    }
    return true;
  }

 private:
  static constexpr Id kNone = ~0u;
  static constexpr std::int64_t kStep = std::int64_t{1} << 32;

  Id add(Id after, Id before) {
    Id n = static_cast<Id>(label_.size());
    label_.push_back(0), prev_.push_back(kNone), next_.push_back(kNone);
    put_between(n, after, before);
    return n;
  }
  void take_out(Id n) {
    (prev_[n] == kNone ? first_ : next_[prev_[n]]) = next_[n];
    (next_[n] == kNone ? last_ : prev_[next_[n]]) = prev_[n];
  }
  void put_between(Id n, Id after, Id before) {
    prev_[n] = after, next_[n] = before;
    (after == kNone ? first_ : next_[after]) = n;
    (before == kNone ? last_ : prev_[before]) = n;
    if (after == kNone) label_[n] = before == kNone ? 0 : label_[before] - kStep;
    else if (before == kNone) label_[n] = label_[after] + kStep;
    else if (label_[before] - label_[after] > 1) label_[n] = label_[after] + (label_[before] - label_[after]) / 2;
    else number_again();
  }
  void number_again() {
    std::int64_t at = 0;
    for (Id n = first_; n != kNone; n = next_[n]) label_[n] = at += kStep;
  }

  Id first_ = kNone, last_ = kNone;
  std::vector<std::int64_t> label_;  // ascending along the list; with room between for new ones
  std::vector<Id> prev_, next_;
  std::vector<Id> found_;  // of the latest search: all that `from` leads to, up to the limit
  std::vector<std::uint32_t> seen_;
  std::uint32_t epoch_ = 0;
};

}  // namespace reprise::kernels
