// Does a specialization serve a call? What is asked beside its guards.
#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/thread_object.h"
#include "graph/tape_seam.h"
#include "graph/wrapper.h"
#include "runtime/build/specialization.h"
#include "runtime/trace/joint.h"
#include "runtime/trace/written_memory.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {

constexpr std::uint32_t kOtherMiss = ~0u;

// What this thread last saw fit: addresses and values of the inputs of one specialization. The overlap test is exact
// and not free; a tensor that is where it was and shaped as it was is not tested again against others that are too.
struct OverlapMemory {
  std::uint64_t serial = 0;
  std::vector<const void*> data;
  std::vector<std::int64_t> values;
  std::vector<char> moved;
  WrittenMemory written;
};

// Of the specialization that the memory is about.
bool has_moved(const OverlapMemory& memory, const Specialization& s, const CallFrame& f, std::size_t i) {
  if (memory.data[i] != f.tensors[i]->data()) return true;
  const auto [first, count] = s.input_values[i];
  for (std::uint32_t k = first; k < first + count; ++k)
    if (f.values[k] != memory.values[k]) return true;
  return false;
}

bool written_inputs_are_alone(const Specialization& s, const CallFrame& f) {
  OverlapMemory& memory = thread_object<OverlapMemory>();
  const std::size_t n = f.tensors.size();
  if (memory.serial == s.serial) {
    std::size_t i = 0;
    while (i < n && !has_moved(memory, s, f, i)) ++i;
    if (i == n) return true;
  } else {
    memory.serial = 0;
    memory.data.assign(n, nullptr);
    memory.values.assign(f.values.begin(), f.values.end());
  }
  auto moved = [&](std::size_t i) { return memory.serial != s.serial || has_moved(memory, s, f, i); };
  auto is_written = [&](std::size_t i) {
    return std::binary_search(s.written_inputs.begin(), s.written_inputs.end(), i);
  };
  memory.moved.assign(n, 0);
  std::size_t tests = 0;
  bool alone = true;
  for (std::size_t i = 0; i < n && alone; ++i) {
    if (!moved(i)) continue;
    memory.moved[i] = 1;
    const bool written = is_written(i);
    tests += written ? n : s.written_inputs.size();
    if (written && overlaps_itself(*f.tensors[i])) alone = false;
  }
  auto meet = [&](std::size_t i, std::size_t w) {
    return i != w && (memory.moved[i] || memory.moved[w]) && !s.are_one_input(i, w) &&
           overlaps(*f.tensors[i], *f.tensors[w]);
  };
  if (alone && tests > 16 * n + 64) {  // to sort them is less
    memory.written.assign(f.tensors, s.written_inputs);
    for (std::size_t i = 0; i < n && alone; ++i)
      alone = !memory.written.any_near(*f.tensors[i], [&](std::uint32_t w) { return meet(i, w); });
  } else if (tests) {
    for (std::size_t i = 0; i < n && alone; ++i) {
      if (!memory.moved[i]) continue;
      if (is_written(i))
        for (std::size_t j = 0; j < n && alone; ++j) alone = !meet(i, j);
      else
        for (std::uint32_t w : s.written_inputs) alone = alone && !meet(i, w);
    }
  }
  memory.serial = alone ? s.serial : 0;
  if (alone) {
    for (std::size_t i = 0; i < n; ++i) memory.data[i] = f.tensors[i]->data();
    std::copy(f.values.begin(), f.values.end(), memory.values.begin());
  }
  return alone;
}

// Two handles on one storage are none: what changes the sizes of the one leaves the other's.
bool is_passed_once(const Specialization& s, const CallFrame& f, std::uint32_t i) {
  for (std::size_t j = 0; j < f.tensors.size(); ++j)
    if (j != i && f.tensors[j] == f.tensors[i] && (s.same_as.empty() || s.same_as[i] != s.same_as[j])) return false;
  return true;
}

bool are_passed_once(const Specialization& s, const CallFrame& f, const std::vector<std::uint32_t>& some) {
  constexpr std::size_t kFew = 8;
  if (some.size() <= kFew || !s.same_as.empty())
    return std::all_of(some.begin(), some.end(), [&](std::uint32_t i) { return is_passed_once(s, f, i); });
  std::unordered_map<const TensorImpl*, int> times;
  for (const TensorImpl* t : f.tensors) ++times[t];
  return std::all_of(some.begin(), some.end(), [&](std::uint32_t i) { return times[f.tensors[i]] == 1; });
}

// What stands for whole storages in a frame. They borrow the storages: the call's tensors hold these.
using Wholes = std::deque<TensorImpl>;

// Arguments have more values than their words tell, and storages are inputs: which, is known when the captured tensors
// are.
void add_arguments_extras(const Specialization& s, CallFrame& f) {
  const std::size_t arguments = f.tensors.size();
  for (std::size_t i = 0; i < arguments; ++i) add_extra_values(f, *f.tensors[i], s.extra_values[i]);
  if (s.wholes.empty()) return;
  std::shared_ptr<Wholes> wholes = std::static_pointer_cast<Wholes>(f.wholes);
  if (!wholes) f.wholes = wholes = std::make_shared<Wholes>();
  while (wholes->size() < s.wholes.size()) wholes->emplace_back();
  for (std::size_t k = 0; k < s.wholes.size(); ++k) {
    f.tensors.push_back(&(*wholes)[k]);
    f.values.push_back(0);
  }
}

// False: the tensors are not on one storage, as they were when this was traced.
bool fill_wholes(const Specialization& s, CallFrame& f) {
  for (const Traced::Whole& w : s.wholes) {
    TensorImpl& flat = *f.tensors[w.input];
    const TensorImpl& first = *f.tensors[w.members.front()];
    for (std::uint32_t i : w.members)
      if (f.tensors[i]->storage != first.storage) return false;
    flat.dtype = first.dtype;
    flat.device = first.storage->device;
    flat.rank = 1;
    flat.sizes[0] = first.storage->bytes / item_size(first.dtype);
    flat.strides[0] = 1;
    flat.storage = first.storage;
    f.values[s.input_values[w.input].first] = flat.sizes[0];
  }
  return true;
}

bool are_the_same(const Specialization& s, const CallFrame& f) {
  for (std::size_t i = 0; i < s.same_as.size(); ++i)
    if (f.tensors[i] != f.tensors[s.same_as[i]]) return false;
  return true;
}

}  // namespace

bool Specialization::are_one_input(std::size_t i, std::size_t j) const {
  if (!same_as.empty() && same_as[i] == same_as[j]) return true;
  return std::any_of(wholes.begin(), wholes.end(), [&](const Traced::Whole& w) {
    auto on = [&](std::size_t k) {
      return k == w.input || std::find(w.members.begin(), w.members.end(), k) != w.members.end();
    };
    return on(i) && on(j);
  });
}

bool Specialization::shows_strides_of(std::size_t i) const {
  return std::find(shown_strides.begin(), shown_strides.end(), i) != shown_strides.end();
}

std::vector<std::uint32_t> unused_words(const Specialization& s) {
  std::vector<std::uint32_t> words;
  std::size_t tensor = 0;
  for (std::uint32_t at : s.tensor_words)
    if (s.structure[at] && !s.uses(tensor++)) words.push_back(at);
  return words;
}

bool is_gone(const Specialization& s) {
  return std::any_of(s.captured.begin(), s.captured.end(), [](const Captured& c) { return c.is_gone(); }) ||
         std::any_of(s.asked.begin(), s.asked.end(), [](const Asked& a) { return a.variable->is_gone(); }) ||
         (s.function && s.function->is_gone());
}

namespace {

// Inner tensors of a wrapper that the function uses are captured, too.
[[gnu::noinline, gnu::cold]] bool is_captured_handle(const TensorImpl& t, const Captured& c) {
  const graph::WrapperState* const now = graph::state_of_wrapper(t);
  return now && now->serial() == c.wrapper;
}

// False: it has another structure than the one that was captured, and does not fit that.
bool add_captured(CallFrame& f, const TensorImpl& t, std::uint64_t word, bool shown, const Captured& c) {
  const std::size_t values = f.values.size(), words = f.structure.size(), tensors = f.tensors.size();
  runtime::add_tensor(f, &t);
  const std::uint64_t own = f.structure[words];
  if (own == word) [[likely]]
    return true;
  if (word & runtime::kCapturedHandle ? !is_captured_handle(t, c)
                                      : ((own ^ word) & ~runtime::kLayoutBits) || !runtime::fits(t, word, shown))
    return false;
  f.values.resize(values);
  f.structure.resize(words);
  f.tensors.resize(tensors);
  runtime::add_tensor_as(f, t, word);
  return true;
}

// All that a call is asked, in order; the structure is the same.
bool admits_in_full(const Specialization& s, CallFrame& f, std::uint32_t* miss) {
  if (s.function && !s.function->same()) return false;
  for (const Asked& a : s.asked)
    if (!a.holds()) return false;
  std::size_t values = f.values.size(), tensors = f.tensors.size(), words = f.structure.size();
  auto forget_captured = [&] {
    f.values.resize(values);
    f.tensors.resize(tensors);
    f.structure.resize(words);
  };
  const bool extras = !s.extra_values.empty();
  if (extras) add_arguments_extras(s, f);
  if (!s.captured.empty()) {
    auto wanted = [&](std::size_t k) { return k < s.captured_wants.size() && s.captured_wants[k]; };
    const bool same = std::all_of(s.captured.begin(), s.captured.end(), [&](const Captured& c) {
      const TensorImpl* now = c.now();
      const std::size_t i = f.tensors.size();
      if (!now || !add_captured(f, *now, s.input_words[i], s.shows_strides_of(i), c)) return false;
      if (graph::tape.load(std::memory_order_relaxed)) {
        const bool turned_on = std::binary_search(s.turned_on.begin(), s.turned_on.end(), i);
        if ((turned_on ? requires_grad(*now) : wants_gradient(*now)) !=
            wanted(static_cast<std::size_t>(&c - s.captured.data())))
          return false;
      }
      if (extras) add_extra_values(f, *now, s.extra_values[i]);
      return true;
    });
    f.structure.resize(words);
    if (!same) {
      forget_captured();
      return false;
    }
  }
  if (!are_the_same(s, f) || !fill_wholes(s, f)) {
    forget_captured();
    return false;
  }
  if (!s.guards.hold(f.values.data())) {
    if (miss) *miss = *s.guards.first_miss(f.values.data());
    forget_captured();
    return false;
  }
  bool fits = s.written_inputs.empty() || written_inputs_are_alone(s, f);
  fits = fits && are_passed_once(s, f, s.reshaped_inputs);
  for (std::uint32_t i : s.whole_storage) fits = fits && covers_its_storage(*f.tensors[i]);
  for (std::uint32_t i : s.exact_strides) fits = fits && runtime::has_strides_of(*f.tensors[i], s.input_words[i]);
  for (std::uint32_t i : s.turned_on) fits = fits && (i >= tensors || !wants_or_shows(*f.tensors[i]));
  for (const Relation& r : s.relations) fits = fits && r.holds(*f.tensors[r.a], *f.tensors[r.b]);
  if (!fits) forget_captured();
  return fits;
}

}  // namespace

bool admits_alike(const Specialization& s, CallFrame& f) {
  if (!s.settings.hold()) return false;
  if (s.at_once) [[likely]]
    return s.guards.hold(f.values.data());
  return s.plain ? s.guards.hold(f.values.data()) && written_inputs_are_alone(s, f) : admits_in_full(s, f, nullptr);
}

bool admits(const Specialization& s, CallFrame& f, std::uint32_t* miss) {
  if (!miss) return runtime::same_words(s.structure, f.structure) && admits_alike(s, f);
  *miss = kOtherMiss;
  if (!(s.structure == f.structure) || !s.settings.hold()) return false;
  if (!s.plain) return admits_in_full(s, f, miss);
  if (const std::optional<std::uint32_t> missed = s.guards.first_miss(f.values.data())) {
    *miss = *missed;
    return false;
  }
  return s.written_inputs.empty() || written_inputs_are_alone(s, f);
}

bool would_admit(const Specialization& s, CallFrame& f, std::uint32_t* miss) {
  const std::size_t values = f.values.size(), tensors = f.tensors.size();
  if (!admits(s, f, miss)) return false;
  f.values.resize(values), f.tensors.resize(tensors);
  return true;
}

bool Seen::holds_for(const CallFrame& f) const {
  if (!settings.hold() || !guards.hold(f.values.data())) return false;
  return std::all_of(tensors.begin(), tensors.end(), [&](const TensorFact& t) {
    if (t.a >= f.tensors.size() || t.b >= f.tensors.size()) return true;  // a captured one
    const TensorImpl &a = *f.tensors[t.a], &b = *f.tensors[t.b];
    switch (t.kind) {
      case TensorFact::Kind::Overlap: return t.a == t.b ? overlaps_itself(a) : overlaps(a, b);
      case TensorFact::Kind::Same: return &a == &b;
      case TensorFact::Kind::PartOfStorage: return !covers_its_storage(a);
    }
    return true;
  });
}

}  // namespace reprise::detail
