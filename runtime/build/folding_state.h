/// What a Folding keeps (runtime/build/freeze.h): parts, and sets of values that its latest calls took.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/mutex.h"
#include "runtime/build/folded_values.h"
#include "runtime/build/freeze.h"
#include "runtime/replay/program.h"
#include "tensor/impl.h"

namespace reprise::runtime {

/// A part's text in which symbols are numbered as they come, and which call's values they are.
struct PartNaming {
  std::string text;
  std::vector<std::uint32_t> words;
};

struct Folding::State {
  struct Part {
    Program program;
    PartNaming naming;
    std::vector<std::uint32_t> inputs;  // of the call's
    std::vector<std::int32_t> results;  // all, as a replay wants them
    std::uint32_t rows = 0;             // slot
    std::int64_t unread_up_to = -1;
    bool is_read(const std::int64_t* slots) const { return unread_up_to < 0 || slots[rows] > unread_up_to; }
  };
  /// What calls with these inputs take.
  struct Set {
    std::vector<FrozenSource> sources;                        // by `read`
    std::vector<std::int64_t> words;                          // by `words`
    std::vector<std::shared_ptr<const FoldedValues>> values;  // by part; null: nobody has read it yet
    std::vector<TensorImpl*> tensors;  // the same in a row, for calls to copy; null of what nobody has read
    bool whole = true;                 // all has been read
    // storages of frozen inputs that no part reads, when it was made, ascending (of later calls: FoldedTable::stand)
    std::vector<std::uint64_t> others;
    // Guarded by State::mu: the call's inputs when this was last found to be for them, by `runs`, and the number of
    // changes before it was looked at.
    mutable std::vector<TensorImpl*> seen;
    mutable std::uint64_t seen_at = 0;
  };
  /// Of one of the call's inputs: is it read as it stands?
  struct Reads {
    bool always = true;
    std::vector<std::pair<std::uint32_t, std::int64_t>> few;  // where this slot is at most that
  };
  struct Run {
    std::uint32_t at, count;
  };

  std::vector<Part> parts;
  guards::ExprProgram rows;           // of all products of panels
  std::vector<std::uint32_t> read;    // the call's inputs that parts read, ascending
  std::vector<std::uint32_t> stands;  // frozen inputs that none reads, ascending
  std::vector<Run> runs;              // both as runs of neighbours
  std::vector<std::uint32_t> words;   // the call's values that parts depend on, ascending
  std::size_t n_values = 0;
  std::vector<std::uint32_t> declares;
  std::vector<Reads> reads;  // by the call's input; of those behind: always
  std::vector<std::string> frozen, written;
  std::int64_t packed = 0;
  mutable Mutex mu;
  struct Stood {
    TensorImpl* tensor = nullptr;  // in the latest call
    std::uint64_t number = 0;      // of the first call's storage (of others: FoldedTable::stand)
  };
  // Guarded by mu, by `stands`, where there are no parts: what note_what_stands() has seen, and the number of changes
  // before it looked.
  std::vector<Stood> stood;
  std::uint64_t stood_at = 0;
  mutable std::list<std::shared_ptr<const Set>> sets REPRISE_GUARDED_BY(mu);  // the latest first

  bool is_for(const Set& s, const std::int64_t* values, TensorImpl* const* inputs, std::uint64_t changes) const {
    for (std::size_t i = 0; i < words.size(); ++i)
      if (values[words[i]] != s.words[i]) return false;
    if (s.seen_at == changes && has_seen(s, inputs)) return true;
    for (std::size_t i = 0; i < read.size(); ++i)
      if (source_of(*inputs[read[i]]) != s.sources[i]) return false;
    for (std::uint32_t i : stands) {
      const std::uint64_t number = frozen_number(inputs[i]);
      if (number && !std::binary_search(s.others.begin(), s.others.end(), number)) folded_table().stand(number);
    }
    s.seen.resize(read.size() + stands.size());
    TensorImpl** to = s.seen.data();
    for (const Run& r : runs) to = std::copy_n(inputs + r.at, r.count, to);
    s.seen_at = changes;
    return true;
  }
  bool has_seen(const Set& s, TensorImpl* const* inputs) const {
    TensorImpl* const* seen = s.seen.data();
    for (const Run& r : runs) {
      if (std::memcmp(inputs + r.at, seen, r.count * sizeof *seen) != 0) return false;
      seen += r.count;
    }
    return true;
  }
  bool reads_itself(std::uint32_t input, const std::int64_t* values) const {
    if (input >= reads.size() || reads[input].always) return true;
    if (reads[input].few.empty()) return false;
    std::vector<std::int64_t> slots(rows.size());
    rows.evaluate(values, slots.data());
    return std::any_of(reads[input].few.begin(), reads[input].few.end(),
                       [&](const auto& f) { return slots[f.first] > 0 && slots[f.first] <= f.second; });
  }
  /// As needs() asks.
  bool is_spared(std::uint32_t input, bool few_rows) const {
    return input < reads.size() && !reads[input].always && (!few_rows || reads[input].few.empty());
  }
  /// What a set says of storages that are read as they stand stays when it goes.
  void remember(const Set& s) const {
    for (std::uint64_t number : s.others) folded_table().stand(number);
    for (std::size_t i = 0; i < read.size(); ++i)
      if (!is_spared(read[i], false)) folded_table().stand(s.sources[i].storage);
  }
  bool has_all(const Set& s, const std::int64_t* slots) const {
    for (std::size_t p = 0; p < parts.size(); ++p)
      if (!s.values[p] && parts[p].is_read(slots)) return false;
    return true;
  }
  std::shared_ptr<FoldedValues> compute(const Part& p, const std::int64_t* values, TensorImpl* const* inputs) const;
  std::shared_ptr<const FoldedValues> values_of(const Part& p, const std::int64_t* values,
                                                TensorImpl* const* inputs) const;
  std::shared_ptr<const Set> make_set(const Set* old, const detail::CallFrame&, const std::int64_t* slots,
                                      bool& keep) const;
};

/// All that live, for discard().
struct Folding::All {
  ForkMutex mu;  // taken before those of states
  std::unordered_set<const Folding*> foldings;
  static All& get() {
    static auto* all = new All;  // never destroyed, as the table
    return *all;
  }
};

}  // namespace reprise::runtime
