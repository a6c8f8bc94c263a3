#include "runtime/candidates.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "runtime/specialization.h"

namespace reprise::detail {

namespace {

constexpr std::size_t kFew = 4;            // not worth sorting
constexpr std::size_t kMostWords = 1024;   // of one specialization's that are looked at

using WordRange = guards::GuardSet::WordRange;

struct Asks {
  std::int64_t lo, hi;
  std::size_t who;   // an index into those that are sorted
};

/// The ranges that overlap no other, equal ones beside each other.
std::vector<Asks> apart(std::vector<Asks> all) {
  std::sort(all.begin(), all.end(), [](const Asks& a, const Asks& b) { return std::tuple(a.lo, a.hi, a.who) < std::tuple(b.lo, b.hi, b.who); });
  std::vector<Asks> out;
  for (const Asks& a : all)
    if (out.empty() || a.lo > out.back().hi || (a.lo == out.back().lo && a.hi == out.back().hi)) out.push_back(a);
  return out;
}

std::size_t different(const std::vector<Asks>& sorted) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) n += i == 0 || sorted[i].lo != sorted[i - 1].lo;
  return n;
}

}  // namespace

Candidates::Candidates(std::vector<const Specialization*> all) {
  std::unordered_map<std::uint32_t, std::vector<Asks>> by_word;
  if (all.size() > kFew)
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::vector<WordRange> asked = all[i]->guards.word_ranges(kMostWords);
      for (const WordRange& r : asked) by_word[r.word].push_back({r.lo, r.hi, i});
    }
  // The word that leaves the fewest together; of several, the first one.
  std::uint32_t best = 0;
  std::vector<Asks> ranges;
  std::size_t most = 1;
  for (auto& [word, asks] : by_word) {
    if (asks.size() < 2) continue;
    std::vector<Asks> sorted = apart(std::move(asks));
    const std::size_t n = different(sorted);
    if (n > most || (n == most && n > 1 && word < best)) best = word, most = n, ranges = std::move(sorted);
  }
  if (most < 2) {
    some_ = std::move(all);
    return;
  }
  auto made = std::make_shared<Ranges>();
  made->word = best;
  std::vector<bool> taken(all.size());
  for (std::size_t i = 0; i < ranges.size();) {
    std::vector<const Specialization*> in;
    std::size_t end = i;
    for (; end < ranges.size() && ranges[end].lo == ranges[i].lo; ++end) in.push_back(all[ranges[end].who]), taken[ranges[end].who] = true;
    made->sorted.push_back({ranges[i].lo, ranges[i].hi, {}});
    made->sorted.back().in = Candidates(std::move(in));  // fewer than all: there are two ranges at least
    i = end;
  }
  std::vector<const Specialization*> others;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!taken[i]) others.push_back(all[i]);
  made->others = Candidates(std::move(others));
  ranges_ = std::move(made);
}

}  // namespace reprise::detail
