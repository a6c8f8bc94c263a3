#include "runtime/front/structure_cache.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <tuple>
#include <utility>

#include "base/thread_object.h"
#include "runtime/build/specialization.h"

namespace reprise::detail {

namespace {

std::atomic<std::uint64_t> g_serials{0};

bool fit_alike(const Specialization& a, const Specialization& b) {
  return a.structure == b.structure && a.unused == b.unused && a.shown_strides == b.shown_strides &&
         a.generality.layouts == b.generality.layouts;
}

}  // namespace

struct OtherStructures::Known {
  std::uint64_t serial = 0, hash = 0;
  FrameArray<std::uint64_t> structure;
  std::vector<Way> ways;
};

/// What a thread remembers, of all functions: each structure in one of few places, where it takes the place of the one
/// that came first.
struct OtherStructures::Memory {
  static constexpr std::size_t kSets = 128, kPlaces = 4, kMostWords = std::size_t{1} << 17;
  struct Set {
    std::array<std::unique_ptr<Known>, kPlaces> known;
    std::uint8_t next = 0;
  };
  std::array<Set, kSets> sets;
  std::size_t words = 0;

  Set& set_of(std::uint64_t serial, std::uint64_t hash) {
    return sets[((hash ^ serial * 0x9e3779b97f4a7c15ull) >> 20) % kSets];
  }
  void keep(Set& set, std::unique_ptr<Known> k) {
    words += k->structure.size();
    if (words > kMostWords) {
      for (Set& s : sets) s = Set();
      words = k->structure.size();
    }
    std::unique_ptr<Known>& place = set.known[set.next++ % kPlaces];
    if (place) words -= place->structure.size();
    place = std::move(k);
  }
};

OtherStructures::OtherStructures(const std::vector<const Specialization*>& all) : serial_(++g_serials) {
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> of_structure;
  for (const Specialization* s : all) {
    if (!s->branches.empty()) continue;  // serves the frames of its structure alone: they go on with another one
    std::vector<std::size_t>& those = of_structure[s->hash];
    auto it =
        std::find_if(those.begin(), those.end(), [&](std::size_t g) { return fit_alike(*groups_[g].all.front(), *s); });
    if (it == those.end()) {
      groups_.push_back({unused_words(*s), {}, {}});
      it = those.insert(those.end(), groups_.size() - 1);
    }
    groups_[*it].all.push_back(s);
  }
  std::stable_sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
    return std::tuple(a.all.front()->generality.layouts, a.unused.size()) <
           std::tuple(b.all.front()->generality.layouts, b.unused.size());
  });
  for (Group& g : groups_) {
    g.candidates = Candidates(g.all);
    by_hash_.emplace(runtime::hash_beside_layouts(g.all.front()->structure, g.unused), &g);
    if (std::find(unused_.begin(), unused_.end(), g.unused) == unused_.end()) unused_.push_back(g.unused);
  }
}

std::vector<OtherStructures::Way> OtherStructures::ways(const FrameArray<std::uint64_t>& structure) const {
  std::vector<const Group*> groups;
  for (const std::vector<std::uint32_t>& unused : unused_) {
    const auto [begin, end] = by_hash_.equal_range(runtime::hash_beside_layouts(structure, unused));
    for (auto it = begin; it != end; ++it)
      if (it->second->unused == unused) groups.push_back(it->second);
  }
  std::sort(groups.begin(), groups.end());  // as they stand
  std::vector<Way> out;
  for (const Group* g : groups)
    if (std::optional<Recast> how = Recast::of(*g->all.front(), structure)) out.push_back({g, std::move(*how)});
  return out;
}

// Whoever differs from it in what Recast can see past has one of these hashes.
bool OtherStructures::are_alone(const FrameArray<std::uint64_t>& structure) const {
  constexpr std::size_t kFew = 8;
  if (unused_.size() > kFew) return false;
  return std::all_of(unused_.begin(), unused_.end(), [&](const std::vector<std::uint32_t>& unused) {
    const auto [begin, end] = by_hash_.equal_range(runtime::hash_beside_layouts(structure, unused));
    return std::all_of(begin, end, [&](const auto& g) {
      return g.second->unused != unused || g.second->all.front()->structure == structure;
    });
  });
}

const Specialization* OtherStructures::first(CallFrame& f, std::uint64_t hash) const {
  if (groups_.empty()) return nullptr;
  Memory& memory = thread_object<Memory>();
  Memory::Set& set = memory.set_of(serial_, hash);
  const Known* known = nullptr;
  for (const std::unique_ptr<Known>& k : set.known)
    if (k && k->hash == hash && k->serial == serial_ && k->structure == f.structure) known = k.get();
  if (!known) {
    auto made = std::make_unique<Known>(Known{serial_, hash, f.structure, ways(f.structure)});
    known = made.get();
    memory.keep(set, std::move(made));
  }
  for (const Way& way : known->ways) {
    SeenAs seen(way.how, f);
    if (!seen) continue;
    if (const Specialization* s =
            way.to->candidates.first([&](std::uint32_t i) { return f.values[i]; }, f.values.size(),
                                     [&](const Specialization& tried) { return admits_alike(tried, f); })) {
      seen.keep();
      return s;
    }
  }
  return nullptr;
}

}  // namespace reprise::detail
