#include "runtime/front/candidates.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "runtime/build/specialization.h"

namespace reprise::detail {

namespace {

constexpr std::size_t kFew = 4;           // not worth sorting
constexpr std::size_t kMostWords = 1024;  // of one specialization's that are looked at

using WordRange = guards::GuardSet::WordRange;

struct Asks {
  std::int64_t lo, hi;
  std::size_t who;  // an index into those that are sorted
};

/// The ranges that overlap no other, equal ones beside each other.
std::vector<Asks> apart(std::vector<Asks> all) {
  std::sort(all.begin(), all.end(),
            [](const Asks& a, const Asks& b) { return std::tuple(a.lo, a.hi, a.who) < std::tuple(b.lo, b.hi, b.who); });
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

/// What one of them asks of the words of a call.
struct Candidates::Asked {
  std::vector<WordRange> ranges;
  const WordRange* of(std::uint32_t word) const {
    const auto it = std::find_if(ranges.begin(), ranges.end(), [&](const WordRange& r) { return r.word == word; });
    return it == ranges.end() ? nullptr : &*it;
  }
};

Candidates Candidates::of_structure(std::vector<const Specialization*> all) {
  const FrameArray<std::uint64_t>* structure = all.empty() ? nullptr : &all.front()->structure;
  if (!std::all_of(all.begin(), all.end(), [&](const Specialization* s) { return s->structure == *structure; }))
    structure = nullptr;
  return Candidates(std::move(all), structure);
}

Candidates::Candidates(std::vector<const Specialization*> all, const FrameArray<std::uint64_t>* structure)
    : structure_(structure) {
  if (all.size() > 1) {
    std::vector<Asked> asked;
    for (const Specialization* s : all) asked.push_back({s->guards.word_ranges(kMostWords)});
    if (by_values(all, asked) || (all.size() > kFew && by_ranges(all, asked))) return;
  }
  some_ = std::move(all);
}

// The word that has the most values comes first, of several the first one; then those that tell apart what the ones
// before leave together.
bool Candidates::by_values(const std::vector<const Specialization*>& all, const std::vector<Asked>& asked) {
  std::map<std::uint32_t, std::set<std::int64_t>> values;
  for (const Asked& a : asked)
    for (const WordRange& r : a.ranges)
      if (r.lo == r.hi) values[r.word].insert(r.lo);
  const auto first = std::max_element(values.begin(), values.end(),
                                      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (first == values.end() || first->second.size() < 2) return false;
  auto made = std::make_shared<Values>();
  std::vector<Values::Key> keys(all.size());
  std::vector<bool> in(all.size(), true);
  // Those that ask a further word for one value; how many kinds of them there would be.
  auto with = [&](std::uint32_t word) {
    std::set<Values::Key> kinds;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const WordRange* r = in[i] ? asked[i].of(word) : nullptr;
      if (!r || r->lo != r->hi) {
        if (in[i] && made->used > 0) return std::size_t{0};  // all of them are to have it
        continue;
      }
      Values::Key k = keys[i];
      k[made->used] = r->lo;
      kinds.insert(k);
    }
    return kinds.size();
  };
  auto take = [&](std::uint32_t word) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const WordRange* r = in[i] ? asked[i].of(word) : nullptr;
      in[i] = r && r->lo == r->hi;
      if (in[i]) keys[i][made->used] = r->lo;
    }
    made->words[made->used++] = word;
  };
  std::size_t kinds = with(first->first);
  take(first->first);
  constexpr int kMostLookedAt = 64;  // words, for each of those that are taken
  const auto hashed = static_cast<std::size_t>(std::count(in.begin(), in.end(), true));
  while (made->used < Values::kMost && kinds < hashed) {
    std::uint32_t best = 0;
    std::size_t most = kinds;
    int looked_at = 0;
    for (const auto& [word, of] : values) {
      if (of.size() < 2) continue;
      if (++looked_at > kMostLookedAt) break;
      if (const std::size_t n = with(word); n > most) best = word, most = n;
    }
    if (most == kinds) break;
    take(best), kinds = most;
  }
  // Few of some share a place: whether a second one is looked at, and what comes after that, is what a processor
  // foresees badly.
  constexpr std::size_t kSome = 256;
  made->slots.resize(std::bit_ceil((kinds <= kSome ? 8 : 2) * kinds));
  std::vector<std::vector<const Specialization*>> groups;
  std::vector<const Specialization*> others;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!in[i]) {
      others.push_back(all[i]);
      continue;
    }
    Values::Slot& slot = made->slots[made->at(keys[i])];
    if (!slot.group) {
      groups.emplace_back();
      slot = {keys[i], all[i], static_cast<std::uint32_t>(groups.size())};
    } else {
      slot.only = nullptr;
    }
    groups[slot.group - 1].push_back(all[i]);
  }
  for (auto& group : groups) made->groups.emplace_back(std::move(group));  // fewer than all: there are two at least
  made->others = Candidates(std::move(others));
  values_ = std::move(made);
  return true;
}

// The word that leaves the fewest together; of several, the first one.
bool Candidates::by_ranges(const std::vector<const Specialization*>& all, const std::vector<Asked>& asked) {
  std::unordered_map<std::uint32_t, std::vector<Asks>> by_word;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const WordRange& r : asked[i].ranges) by_word[r.word].push_back({r.lo, r.hi, i});
  std::uint32_t best = 0;
  std::vector<Asks> ranges;
  std::size_t most = 1;
  for (auto& [word, asks] : by_word) {
    if (asks.size() < 2) continue;
    std::vector<Asks> sorted = apart(std::move(asks));
    const std::size_t n = different(sorted);
    if (n > most || (n == most && n > 1 && word < best)) best = word, most = n, ranges = std::move(sorted);
  }
  if (most < 2) return false;
  auto made = std::make_shared<Ranges>();
  made->word = best;
  std::vector<bool> taken(all.size());
  for (std::size_t i = 0; i < ranges.size();) {
    std::vector<const Specialization*> in;
    std::size_t end = i;
    for (; end < ranges.size() && ranges[end].lo == ranges[i].lo; ++end)
      in.push_back(all[ranges[end].who]), taken[ranges[end].who] = true;
    made->sorted.push_back({ranges[i].lo, ranges[i].hi, {}});
    made->sorted.back().in = Candidates(std::move(in));  // fewer than all: there are two ranges at least
    i = end;
  }
  std::vector<const Specialization*> others;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!taken[i]) others.push_back(all[i]);
  made->others = Candidates(std::move(others));
  ranges_ = std::move(made);
  return true;
}

}  // namespace reprise::detail
