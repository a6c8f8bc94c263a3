#include "runtime/build/freeze.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/counters.h"
#include "base/errors.h"
#include "device/backend.h"
#include "kernels/cpu/packed.h"
#include "reprise/parameter.h"
#include "runtime/build/folded_values.h"
#include "runtime/build/folding.h"
#include "runtime/build/folding_state.h"
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

PartNaming naming_of(graph::Graph g, std::int32_t mode) {
  g.name = "part";
  for (graph::Value& v : g.values) v.name.clear();
  const std::string text = graph::print(g, false);
  PartNaming out;
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
  folded_table();
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
    else if (number && number != t.number) folded_table().stand(number);
  }
  s.stood_at = changes;
}

Folding::Needs Folding::needs(const Storage& storage, bool few_rows, std::string& name) {
  const std::uint64_t number = storage.frozen.load(std::memory_order_relaxed),
                      version = storage.version.load(std::memory_order_relaxed);
  Needs needs = Needs::Nothing;
  if (folded_table().stands(number)) return Needs::Elements;
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

void Folding::keep_folded(const Storage& storage) {
  folded_table().keep(storage.frozen.load(std::memory_order_relaxed));
}

std::shared_ptr<FoldedValues> Folding::State::compute(const Part& p, const std::int64_t* values,
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
  auto made = std::make_shared<FoldedValues>();
  for (TensorImpl*& t : out.tensors) {
    made->all.push_back(Tensor::adopt(std::exchange(t, nullptr)));
    made->bytes += made->all.back().impl()->storage->bytes;
  }
  // Calls on other streams may take it, too.
  if (!device::runs_host_code(p.program.device)) device::backend(p.program.device).current_stream().synchronize();
  counters().values_folded.add(made->all.size());
  return made;
}

std::shared_ptr<const FoldedValues> Folding::State::values_of(const Part& p, const std::int64_t* values,
                                                              TensorImpl* const* inputs) const {
  std::vector<FrozenSource> sources;
  std::string key = p.naming.text;
  for (std::uint32_t w : p.naming.words) append(key, values[w]);
  for (std::uint32_t i : p.inputs) {
    sources.push_back(source_of(*inputs[i]));
    if (!sources.back().storage) return compute(p, values, inputs);
    append(key, sources.back().storage), append(key, sources.back().offset);
  }
  return folded_table().get(key, sources, [&] { return compute(p, values, inputs); });
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
    std::shared_ptr<const FoldedValues> has = old ? old->values[p] : nullptr;
    set->values.push_back(has || !parts[p].is_read(slots) ? std::move(has) : values_of(parts[p], values, inputs));
    const FoldedValues* made = set->values.back().get();
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
  std::unordered_set<const FoldedValues*> seen;
  for (const auto& set : state_->sets)
    for (std::size_t p = 0; p < set->values.size(); ++p) {
      const FoldedValues* v = set->values[p].get();
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

}  // namespace reprise::runtime
