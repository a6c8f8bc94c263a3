#include "runtime/build/freeze.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstring>
#include <list>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/counters.h"
#include "base/errors.h"
#include "base/fork.h"
#include "base/knobs.h"
#include "base/mutex.h"
#include "device/backend.h"
#include "graph/shape_rules.h"
#include "kernels/cpu/packed.h"
#include "operators/packed.h"
#include "operators/packed_windows.h"
#include "passes/freeze.h"
#include "passes/pass.h"
#include "reprise/parameter.h"
#include "runtime/build/folding.h"
#include "runtime/replay/recording.h"
#include "tensor/frozen.h"
#include "tensor/impl.h"

namespace reprise {

void detail::freeze(const Tensor& t) {
  if (TensorImpl* impl = t.impl(); impl && impl->storage) freeze_storage(*impl->storage);
}
bool is_frozen(const Tensor& t) {
  return t.impl() && t.impl()->storage && t.impl()->storage->frozen.load(std::memory_order_relaxed) != 0;
}
void changed(const Tensor& t, SourceLoc loc) { count_write(checked_storage(t, "changed", loc)); }

}  // namespace reprise

namespace reprise::runtime {

namespace {

/// What a value was made of: a place in a storage, with what was there.
struct Source {
  std::uint64_t storage = 0, version = 0;  // storage: Storage::frozen
  std::int64_t offset = 0;
  friend bool operator==(const Source&, const Source&) = default;
};
Source source_of(const TensorImpl& t) {
  return {t.storage->frozen.load(std::memory_order_relaxed), t.storage->version.load(std::memory_order_relaxed),
          t.offset};
}

/// 0: it is not frozen, or undefined.
std::uint64_t frozen_number(const TensorImpl* t) {
  return t && t->storage ? t->storage->frozen.load(std::memory_order_relaxed) : 0;
}

/// What a part gives.
struct Values {
  std::vector<Tensor> all;             // empty once an input's storage has died
  std::atomic<std::int64_t> bytes{0};  // of them
};

/// The process's values.
class Table {
  struct Entry {
    std::set<std::uint64_t> storages;
    Mutex mu;
    std::vector<Source> sources REPRISE_GUARDED_BY(mu);  // as are the values until the storage dies
    std::shared_ptr<Values> values;
  };

 public:
  /// The values under this key, whose inputs are `sources`; of another version, or not there, they are made: by one
  /// thread, while others wait for it.
  template <class F>
  std::shared_ptr<const Values> get(const std::string& key, const std::vector<Source>& sources, F&& make) {
    std::shared_ptr<Entry> entry;
    std::vector<std::shared_ptr<Entry>> gone;  // destroyed without the lock
    {
      const MutexLock lock(mu_);
      if (const auto found = entries_.find(key); found != entries_.end()) {
        entry = found->second;
      } else {
        if (entries_.size() >= most_) drop_unused(gone);
        entry = std::make_shared<Entry>();
        for (const Source& s : sources) entry->storages.insert(s.storage);
        for (std::uint64_t s : entry->storages) of_storage_[s].insert(key);  // a key without an entry does no harm
        entries_.emplace(key, entry);
      }
    }
    const MutexLock lock(entry->mu);
    if (entry->values && entry->sources == sources) return entry->values;
    std::shared_ptr<Values> made = make();
    entry->sources = sources;
    return entry->values = std::move(made);
  }
  /// What was made of a storage is all that is left of it.
  void keep(std::uint64_t storage) {
    const MutexLock lock(mu_);
    kept_.insert(storage);
  }
  /// A storage that calls read as it stands, where no set tells it.
  void stand(std::uint64_t storage) {
    const MutexLock lock(mu_);
    stood_.insert(storage);
  }
  bool stands(std::uint64_t storage) const {
    const MutexLock lock(mu_);
    return stood_.count(storage) != 0;
  }
  /// What was made of a storage goes: nobody who could ask for it holds that any more.
  void forget(std::uint64_t storage) noexcept {
    std::vector<std::shared_ptr<Entry>> gone;  // destroyed without the lock
    {
      const MutexLock lock(mu_);
      kept_.erase(storage);
      stood_.erase(storage);
      const auto keys = of_storage_.find(storage);
      if (keys == of_storage_.end()) return;
      try {
        gone.reserve(keys->second.size());
      } catch (const std::bad_alloc&) {  // then they go with the lock held
      }
      for (const std::string& key : keys->second)
        if (const auto e = entries_.find(key); e != entries_.end()) {
          for (std::uint64_t other : e->second->storages)
            if (const auto of = of_storage_.find(other); other != storage && of != of_storage_.end())
              of->second.erase(key);
          if (gone.size() < gone.capacity()) gone.push_back(std::move(e->second));
          entries_.erase(e);
        }
      of_storage_.erase(storage);
    }
    // Sets may still name the values, which no call can ask for any more: their bytes go now.
    for (const std::shared_ptr<Entry>& e : gone)
      if (e && e->values) e->values->bytes = 0, e->values->all.clear();
  }

 private:
  static constexpr std::size_t kMost = 4096;
  /// Of all that no function's latest calls take and nobody makes, moves what there is to `gone`.
  void drop_unused(std::vector<std::shared_ptr<Entry>>& gone) REPRISE_REQUIRES(mu_) {
    for (auto it = entries_.begin(); it != entries_.end();) {
      bool unused = it->second.use_count() == 1;
      if (unused && !kept_.empty())
        for (std::uint64_t s : it->second->storages) unused = unused && !kept_.count(s);
      if (unused) {
        const MutexLock lock(it->second->mu);
        unused = !it->second->values || it->second->values.use_count() == 1;
      }
      if (!unused) {
        ++it;
        continue;
      }
      gone.push_back(it->second);
      for (std::uint64_t s : it->second->storages)
        if (const auto of = of_storage_.find(s); of != of_storage_.end()) of->second.erase(it->first);
      it = entries_.erase(it);
    }
    most_ = std::max(kMost, 2 * entries_.size());
  }

  mutable ForkMutex mu_;
  std::unordered_set<std::uint64_t> kept_ REPRISE_GUARDED_BY(mu_), stood_ REPRISE_GUARDED_BY(mu_);
  std::size_t most_ REPRISE_GUARDED_BY(mu_) = kMost;  // with so many entries the unused are dropped
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_ REPRISE_GUARDED_BY(mu_);
  std::unordered_map<std::uint64_t, std::unordered_set<std::string>> of_storage_ REPRISE_GUARDED_BY(mu_);  // keys
};

// Never destroyed: tensors of static variables die after it would.
Table& table() {
  static Table& t = *[] {
    auto* made = new Table;
    frozen_storage_dies.store([](std::uint64_t storage) noexcept { table().forget(storage); },
                              std::memory_order_release);
    return made;
  }();
  return t;
}

/// A part's text in which symbols are numbered as they come, and which call's values they are.
struct Naming {
  std::string text;
  std::vector<std::uint32_t> words;
};
Naming naming_of(graph::Graph g, std::int32_t mode) {
  g.name = "part";
  for (graph::Value& v : g.values) v.name.clear();
  const std::string text = graph::print(g, false);
  Naming out;
  out.text = std::to_string(mode) + ' ' + kernels::panel_forms_text();
  std::unordered_map<std::uint32_t, std::size_t> number;
  auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  bool quoted = false;
  for (std::size_t i = 0; i < text.size();) {
    quoted ^= text[i] == '"';
    std::size_t end = i + 1;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    const bool symbol = !quoted && text[i] == 's' && end > i + 1 && (i == 0 || !in_name(text[i - 1])) &&
                        (end == text.size() || !in_name(text[end]));
    if (!symbol) {
      out.text += text[i++];
      continue;
    }
    const auto id = static_cast<std::uint32_t>(std::stoul(text.substr(i + 1, end - i - 1)));
    const auto [at, is_new] = number.try_emplace(id, number.size());
    if (is_new) out.words.push_back(g.env->symbols()[id].source.word);
    out.text += 's' + std::to_string(at->second);
    i = end;
  }
  return out;
}

template <class T>
void append(std::string& to, const T& v) {
  to.append(reinterpret_cast<const char*>(&v), sizeof v);
}

constexpr std::size_t kMostSets = 256;  // of inputs that a specialization remembers: the layers of a model, say

}  // namespace

struct Folding::State {
  struct Part {
    Program program;
    Naming naming;
    std::vector<std::uint32_t> inputs;  // of the call's
    std::vector<std::int32_t> results;  // all, as a replay wants them
    std::uint32_t rows = 0;             // slot
    std::int64_t unread_up_to = -1;
    bool is_read(const std::int64_t* slots) const { return unread_up_to < 0 || slots[rows] > unread_up_to; }
  };
  /// What calls with these inputs take.
  struct Set {
    std::vector<Source> sources;                        // by `read`
    std::vector<std::int64_t> words;                    // by `words`
    std::vector<std::shared_ptr<const Values>> values;  // by part; null: nobody has read it yet
    std::vector<TensorImpl*> tensors;  // the same in a row, for calls to copy; null of what nobody has read
    bool whole = true;                 // all has been read
    // storages of frozen inputs that no part reads, when it was made, ascending (of later calls: Table::stand)
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
    std::uint64_t number = 0;      // of the first call's storage (of others: Table::stand)
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
      if (number && !std::binary_search(s.others.begin(), s.others.end(), number)) table().stand(number);
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
    for (std::uint64_t number : s.others) table().stand(number);
    for (std::size_t i = 0; i < read.size(); ++i)
      if (!is_spared(read[i], false)) table().stand(s.sources[i].storage);
  }
  bool has_all(const Set& s, const std::int64_t* slots) const {
    for (std::size_t p = 0; p < parts.size(); ++p)
      if (!s.values[p] && parts[p].is_read(slots)) return false;
    return true;
  }
  std::shared_ptr<Values> compute(const Part& p, const std::int64_t* values, TensorImpl* const* inputs) const;
  std::shared_ptr<const Values> values_of(const Part& p, const std::int64_t* values, TensorImpl* const* inputs) const;
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

Folding::Folding(FoldedParts made, Makers makers) : folds(!made.parts.empty()), state_(std::make_unique<State>()) {
  State& s = *state_;
  s.frozen = std::move(made.frozen), s.stands = std::move(made.stands), s.written = std::move(made.written),
  s.declares = std::move(made.declares), s.packed = made.packed;
  for (const SparedInput& i : made.spared) {
    if (i.input >= s.reads.size()) s.reads.resize(i.input + 1);
    s.reads[i.input].always = false;
    if (i.read_up_to >= 0) s.reads[i.input].few.emplace_back(s.rows.add(i.rows), i.read_up_to);
  }
  for (FoldedPart& f : made.parts) {
    State::Part p;
    p.naming = naming_of(f.graph, made.mode);
    p.inputs = std::move(f.inputs);
    p.unread_up_to = f.unread_up_to;
    p.rows = s.rows.add(f.rows);
    p.program = build_program(std::move(f.graph), std::move(f.lowered), {}, {}, false, 0, makers);
    for (std::size_t i = 0; i < p.program.graph.outputs.size(); ++i) p.results.push_back(static_cast<std::int32_t>(i));
    s.n_values += p.results.size();
    s.read.insert(s.read.end(), p.inputs.begin(), p.inputs.end());
    for (const std::vector<std::uint32_t>* l : {&p.program.key_words, &p.program.moving_words})
      s.words.insert(s.words.end(), l->begin(), l->end());
    s.words.insert(s.words.end(), p.naming.words.begin(), p.naming.words.end());
    s.parts.push_back(std::move(p));
  }
  for (std::vector<std::uint32_t>* l : {&s.read, &s.words}) {
    std::sort(l->begin(), l->end());
    l->erase(std::unique(l->begin(), l->end()), l->end());
  }
  std::vector<std::uint32_t> seen;
  std::merge(s.read.begin(), s.read.end(), s.stands.begin(), s.stands.end(), std::back_inserter(seen));
  for (std::uint32_t i : seen)
    if (s.runs.empty() || s.runs.back().at + s.runs.back().count != i) s.runs.push_back({i, 1});
    else ++s.runs.back().count;
  table();
  if (!folds && s.stands.empty()) return;
  const MutexLock lock(All::get().mu);
  All::get().foldings.insert(this);
}
Folding::~Folding() {
  if (!folds && state_->stands.empty()) return;
  const MutexLock lock(All::get().mu);
  All::get().foldings.erase(this);
}

void Folding::refuse_discarded_inputs(const Folding* f, std::string_view function, const detail::CallFrame& frame) {
  for (std::uint32_t i = 0; i < frame.tensors.size(); ++i) {
    const TensorImpl* t = frame.tensors.data()[i];
    if (t && t->storage && is_discarded(*t->storage) && (!f || f->state_->reads_itself(i, frame.values.data())))
      refuse_discarded(*t, function);
  }
}

void Folding::note_what_stands(const detail::CallFrame& frame) const {
  State& s = *state_;
  if (s.stands.empty()) return;
  TensorImpl* const* inputs = frame.tensors.data();
  const std::uint64_t changes = frozen_changes.load(std::memory_order_acquire);
  const MutexLock lock(s.mu);
  const bool first = s.stood.empty();
  if (!first && s.stood_at == changes &&
      std::equal(s.stands.begin(), s.stands.end(), s.stood.begin(),
                 [&](std::uint32_t i, const State::Stood& t) { return inputs[i] == t.tensor; }))
    return;
  s.stood.resize(s.stands.size());
  for (std::size_t i = 0; i < s.stands.size(); ++i) {
    State::Stood& t = s.stood[i];
    t.tensor = inputs[s.stands[i]];
    const std::uint64_t number = frozen_number(t.tensor);
    if (first) t.number = number;
    else if (number && number != t.number) table().stand(number);
  }
  s.stood_at = changes;
}

Folding::Needs Folding::needs(const Storage& storage, bool few_rows, std::string& name) {
  const std::uint64_t number = storage.frozen.load(std::memory_order_relaxed),
                      version = storage.version.load(std::memory_order_relaxed);
  Needs needs = Needs::Nothing;
  if (table().stands(number)) return Needs::Elements;
  const MutexLock all(All::get().mu);
  for (const Folding* f : All::get().foldings) {
    const State& s = *f->state_;
    const MutexLock lock(s.mu);
    if (std::any_of(s.stood.begin(), s.stood.end(), [&](const State::Stood& t) { return t.number == number; }))
      return Needs::Elements;
    for (const auto& set : s.sets) {
      if (std::binary_search(set->others.begin(), set->others.end(), number)) return Needs::Elements;
      for (std::size_t i = 0; i < s.read.size(); ++i) {
        if (set->sources[i].storage != number) continue;
        const std::uint32_t input = s.read[i];
        if (!s.is_spared(input, few_rows) || set->sources[i].version != version) return Needs::Elements;
        for (std::size_t p = 0; p < s.parts.size(); ++p)
          if (!set->values[p] &&
              std::find(s.parts[p].inputs.begin(), s.parts[p].inputs.end(), input) != s.parts[p].inputs.end())
            return Needs::Elements;
        needs = Needs::Folded, name = s.frozen[i];
      }
    }
  }
  return needs;
}

void Folding::keep_folded(const Storage& storage) { table().keep(storage.frozen.load(std::memory_order_relaxed)); }

std::shared_ptr<Values> Folding::State::compute(const Part& p, const std::int64_t* values,
                                                TensorImpl* const* inputs) const {
  std::vector<TensorImpl*> own;
  for (std::uint32_t i : p.inputs) {
    if (is_discarded(*inputs[i]->storage)) refuse_discarded(*inputs[i], "what is computed once of frozen tensors");
    own.push_back(inputs[i]);
  }
  PlanMemory memory;
  detail::Outputs out;
  std::int64_t copied = 0;
  Recording::make(p.program, values, memory)->replay(values, own.data(), out, p.results, &copied);
  auto made = std::make_shared<Values>();
  for (TensorImpl*& t : out.tensors) {
    made->all.push_back(Tensor::adopt(std::exchange(t, nullptr)));
    made->bytes += made->all.back().impl()->storage->bytes;
  }
  // Calls on other streams may take it, too.
  if (!device::runs_host_code(p.program.device)) device::backend(p.program.device).current_stream().synchronize();
  counters().values_folded.add(made->all.size());
  return made;
}

std::shared_ptr<const Values> Folding::State::values_of(const Part& p, const std::int64_t* values,
                                                        TensorImpl* const* inputs) const {
  std::vector<Source> sources;
  std::string key = p.naming.text;
  for (std::uint32_t w : p.naming.words) append(key, values[w]);
  for (std::uint32_t i : p.inputs) {
    sources.push_back(source_of(*inputs[i]));
    if (!sources.back().storage) return compute(p, values, inputs);
    append(key, sources.back().storage), append(key, sources.back().offset);
  }
  return table().get(key, sources, [&] { return compute(p, values, inputs); });
}

// `old`: for the same inputs, without all that this call reads; or null. `keep`: others may take it.
std::shared_ptr<const Folding::State::Set> Folding::State::make_set(const Set* old, const detail::CallFrame& frame,
                                                                    const std::int64_t* slots, bool& keep) const {
  const std::int64_t* values = frame.values.data();
  TensorImpl* const* inputs = frame.tensors.data();
  for (std::uint32_t i : declares) freeze_storage(*inputs[i]->storage);
  auto set = std::make_shared<Set>();
  for (std::uint32_t i : read) {
    set->sources.push_back(source_of(*inputs[i]));
    keep = keep && set->sources.back().storage;
  }
  for (std::uint32_t i = 0; i < frame.tensors.size(); ++i)
    if (!std::binary_search(read.begin(), read.end(), i) && (i >= reads.size() || reads[i].always))
      if (const std::uint64_t number = frozen_number(inputs[i])) set->others.push_back(number);
  std::sort(set->others.begin(), set->others.end());
  for (std::uint32_t w : words) set->words.push_back(values[w]);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    std::shared_ptr<const Values> has = old ? old->values[p] : nullptr;
    set->values.push_back(has || !parts[p].is_read(slots) ? std::move(has) : values_of(parts[p], values, inputs));
    const Values* made = set->values.back().get();
    set->whole = set->whole && made;
    for (std::size_t r = 0; r < parts[p].results.size(); ++r)
      set->tensors.push_back(made ? made->all[r].impl() : nullptr);
  }
  return set;
}

Folding::Added::Added(const Folding& f, detail::CallFrame& frame)
    : frame_(frame), inputs_(frame.tensors.size()), held_(f.add_values(frame)) {}

std::shared_ptr<const void> Folding::add_values(detail::CallFrame& frame) const {
  const State& s = *state_;
  const std::int64_t* values = frame.values.data();
  TensorImpl* const* inputs = frame.tensors.data();
  std::vector<std::int64_t> rows;
  auto slots = [&] {  // asked for only while there is something that nobody has read
    if (rows.empty()) rows.resize(s.rows.size()), s.rows.evaluate(values, rows.data());
    return rows.data();
  };
  std::shared_ptr<const State::Set> set, old;
  const std::uint64_t changes = frozen_changes.load(std::memory_order_acquire);
  {
    const MutexLock lock(s.mu);
    for (auto it = s.sets.begin(); it != s.sets.end(); ++it) {
      if (!s.is_for(**it, values, inputs, changes)) continue;
      if (it != s.sets.begin()) s.sets.splice(s.sets.begin(), s.sets, it);
      ((*it)->whole || s.has_all(**it, slots()) ? set : old) = *it;
      break;
    }
  }
  if (!set) [[unlikely]] {
    bool keep = true;
    set = s.make_set(old.get(), frame, slots(), keep);
    if (keep) {
      std::list<std::shared_ptr<const State::Set>> gone;  // goes behind the lock
      const MutexLock lock(s.mu);
      // What was made of the same memory before is of no use any more.
      for (auto it = s.sets.begin(); it != s.sets.end();) {
        const auto next = std::next(it);
        bool stale = (*it)->words == set->words;
        for (std::size_t i = 0; stale && i < s.read.size(); ++i)
          stale = (*it)->sources[i].storage == set->sources[i].storage &&
                  (*it)->sources[i].offset == set->sources[i].offset;
        if (stale) gone.splice(gone.end(), s.sets, it);
        it = next;
      }
      s.sets.push_front(set);
      if (s.sets.size() > kMostSets) {
        s.remember(*s.sets.back());
        gone.splice(gone.end(), s.sets, std::prev(s.sets.end()));
      }
    }
  }
  auto& all = frame.tensors;
  std::size_t at = all.size();
  std::copy(set->tensors.begin(), set->tensors.end(), all.extend(set->tensors.size()));
  if (set->whole) [[likely]]
    return set;
  for (const State::Part& p : s.parts)
    for (std::size_t r = 0; r < p.results.size(); ++r, ++at)
      if (!all[at]) all[at] = all[p.inputs[0]];  // what is not read need only have an address
  return set;
}

Folding::Size Folding::kept() const {
  Size size;
  const MutexLock lock(state_->mu);
  std::unordered_set<const Values*> seen;
  for (const auto& set : state_->sets)
    for (std::size_t p = 0; p < set->values.size(); ++p) {
      const Values* v = set->values[p].get();
      const std::int64_t bytes = v && seen.insert(v).second ? v->bytes.load() : 0;
      if (bytes) size.values += static_cast<std::int64_t>(state_->parts[p].results.size()), size.bytes += bytes;
    }
  return size;
}

std::string Folding::text(bool graphs) const {
  std::ostringstream out;
  const Size size = kept();
  auto list = [&](const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 4;
    for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) out << (i ? ", " : "") << names[i];
    if (names.size() > kShown) out << ", ...";
  };
  if (state_->n_values) {
    out << "  folded: " << state_->n_values << (state_->n_values == 1 ? " value" : " values") << " of "
        << state_->frozen.size() << (state_->frozen.size() == 1 ? " frozen tensor (" : " frozen tensors (");
    list(state_->frozen);
    out << ")";
    if (state_->packed) out << ", " << state_->packed << " of them weights in panels";
    out << "; the latest calls have taken " << size.values << ", " << size.bytes << " bytes\n";
  }
  if (!state_->written.empty()) {
    out << "  frozen, but not folded since the function writes it: ";
    list(state_->written);
    out << "\n";
  }
  for (std::size_t p = 0; graphs && p < state_->parts.size(); ++p)
    out << "  computed once:\n" << graph::print(state_->parts[p].program.graph);
  return out.str();
}

/// Of these inputs of a functional graph those that nothing reads, or only products of panels where they have few rows.
/// Views of one are it.
static std::vector<SparedInput> spared_inputs(const graph::Graph& g, const std::vector<bool>& asked) {
  constexpr std::uint32_t kNone = ~0u;
  std::vector<std::uint32_t> shown(g.values.size(), kNone);  // by value: the input that it shows
  std::vector<bool> spared = asked;
  for (std::uint32_t i = 0; i < asked.size(); ++i)
    if (asked[i]) shown[g.inputs[i].value.v] = i;
  std::vector<std::vector<std::uint32_t>> results(g.nodes.size());
  for (std::uint32_t v = 0; v < g.values.size(); ++v)
    if (g.values[v].node >= 0) results[static_cast<std::size_t>(g.values[v].node)].push_back(v);
  std::vector<SparedInput> few;
  for (std::size_t k = 0; k < g.nodes.size(); ++k) {
    const graph::Node& n = g.nodes[k];
    const bool view = graph::op(n.op).cls == graph::OpClass::View;
    graph::for_each_value(n, [&](graph::ValueId v) {
      const std::uint32_t input = shown[v.v];
      if (input == kNone) return;
      if (view) {
        for (std::uint32_t r : results[k]) shown[r] = input;
        return;
      }
      const std::optional<operators::PanelReader> reader = operators::reader_of_few_rows(g, n, v);
      if (reader && !graph::depends_on_data(reader->rows)) few.push_back({input, reader->rows, reader->unread_up_to});
      else spared[input] = false;
    });
  }
  for (const graph::OutputSpec& o : g.outputs)
    if (o.kind != graph::OutputSpec::Kind::AliasOfInput && o.kind != graph::OutputSpec::Kind::AliasOfOutput &&
        shown[o.value.v] != kNone)
      spared[shown[o.value.v]] = false;
  std::vector<SparedInput> out;
  for (std::uint32_t i = 0; i < asked.size(); ++i)
    if (asked[i] && spared[i]) out.push_back({i, 0, -1});
  for (SparedInput& f : few)
    if (spared[f.input]) out.push_back(std::move(f));
  return out;
}

FoldedParts fold_frozen(graph::Graph& g, const detail::Traced& t, kernels::Mode mode) {
  FoldedParts out;
  out.mode = static_cast<std::int32_t>(mode);
  auto name = [&](std::uint32_t i) { return g.values[g.inputs[i].value.v].name; };
  for (std::uint32_t i : t.frozen_written) out.written.push_back(name(i));
  graph::Graph functional = g;  // what is asked of memory is asked anew of each part
  functional.form = graph::Form::Functional;
  for (graph::Node& n : functional.nodes) n.tied.clear();
  if (mode == kernels::Mode::Full) {
    operators::pack_products(functional, passes::of_frozen_alone(functional, t.frozen));
    operators::pack_convolutions(functional, passes::of_frozen_alone(functional, t.frozen));
  }
  std::optional<passes::SplitFrozen> split = passes::split_frozen(functional, t.frozen);
  std::vector<bool> is_read(g.inputs.size());
  const auto find_spared = [&](const graph::Graph& rest) {
    std::vector<bool> asked(is_read.size()), spared(is_read.size());
    for (std::uint32_t i : t.frozen) asked[i] = true;
    out.spared = spared_inputs(rest, asked);
    for (const SparedInput& i : out.spared) spared[i.input] = true;
    std::copy_if(t.frozen.begin(), t.frozen.end(), std::back_inserter(out.stands),
                 [&](std::uint32_t i) { return !is_read[i] && !spared[i]; });
  };
  if (!split) {
    find_spared(functional);
    return out;
  }
  std::size_t input = g.inputs.size();
  const auto readers = operators::readers_of_panels(split->rest);
  for (passes::FrozenPart& p : split->parts) {
    FoldedPart f{std::move(p.graph), {}, std::move(p.inputs)};
    for (std::uint32_t i : f.inputs) is_read[i] = true;
    for (const graph::Node& n : f.graph.nodes)
      out.packed += n.op == operators::prepack_op() || n.op == operators::prepack_windows_op();
    bool panels_alone = true;
    std::optional<operators::PanelReader> reader;
    for (std::size_t o = 0; o < f.graph.outputs.size(); ++o, ++input) {
      const std::optional<operators::PanelReader>& r = readers[split->rest.inputs[input].value.v];
      panels_alone = panels_alone && r && f.graph.outputs.size() == 1;
      reader = r;
    }
    // What depends on data is not known yet when values are asked for: those panels are always made.
    if (panels_alone && !graph::depends_on_data(reader->rows))
      f.rows = reader->rows, f.unread_up_to = reader->unread_up_to;
    passes::reinplace(f.graph);
    if (knobs().verify >= 1) graph::verify(f.graph, "split_frozen");
    f.lowered = lower_graph(f.graph, mode);
    out.parts.push_back(std::move(f));
  }
  for (std::uint32_t i = 0; i < is_read.size(); ++i) {
    if (!is_read[i]) continue;
    out.frozen.push_back(name(i));
    if (t.freezes_captured && g.inputs[i].captured) out.declares.push_back(i);
  }
  find_spared(split->rest);
  g = std::move(split->rest);
  passes::reinplace(g);
  if (knobs().verify >= 1) graph::verify(g, "split_frozen");
  return out;
}

}  // namespace reprise::runtime
