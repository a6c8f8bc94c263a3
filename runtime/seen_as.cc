#include "runtime/seen_as.h"

#include <algorithm>
#include <cstring>

#include "base/thread_object.h"

namespace reprise::detail {

namespace {

bool fit(const Specialization& s, const CallFrame& f, bool others) {
  const FrameArray<std::uint64_t>&made = s.structure, &own = f.structure;
  if (made.size() != own.size()) return false;
  auto same = [&](std::size_t from, std::size_t to) { return from == to || std::memcmp(made.begin() + from, own.begin() + from, (to - from) * sizeof(std::uint64_t)) == 0; };
  std::size_t from = 0, tensor = 0;
  bool differ = false;
  for (std::uint32_t at : s.tensor_words) {
    if (!same(from, at)) return false;
    from = at + 1;
    if (made[at] == own[at]) {
      tensor += own[at] != 0;
      continue;
    }
    if (!made[at] || !own[at]) return false;
    if ((!others || s.uses(tensor)) && (((made[at] ^ own[at]) & ~runtime::kLayoutBits) || !runtime::fits(*f.tensors[tensor], made[at], s.shows_strides_of(tensor), s.generality.layouts))) return false;
    differ = true;
    ++tensor;
  }
  return differ && same(from, own.size());
}

// The frame's own words and values, while it is seen as another's.
struct Own {
  FrameArray<std::uint64_t> structure;
  FrameArray<std::int64_t> values;
};

}  // namespace

bool has_small_dims(const CallFrame& f) {
  return std::any_of(f.tensors.begin(), f.tensors.end(), [](const TensorImpl* t) { return std::any_of(t->sizes, t->sizes + t->rank, [](std::int64_t n) { return n <= 1; }); });
}

SeenAs::SeenAs(const Specialization& s, CallFrame& f, bool others) : frame_(f) {
  if (!fit(s, f, others)) return;
  Own& own = thread_object<Own>();
  own.structure = f.structure;
  own.values = f.values;
  seen_ = true;
  f.structure = s.structure;
  f.values.clear();
  const std::int64_t* from = own.values.begin();
  auto take = [&](std::size_t n) {
    if (n) std::memcpy(f.values.extend(n), from, n * sizeof *from);
    from += n;
  };
  std::size_t tensor = 0;
  for (std::uint32_t at : s.tensor_words) {
    if (!s.structure[at]) continue;
    const TensorImpl& t = *f.tensors[tensor];
    take(s.input_values[tensor].first - f.values.size());
    if (const bool unused = !s.uses(tensor++); others && unused) {  // nobody looks at its values
      f.values.resize(f.values.size() + runtime::value_count(s.structure[at]));
      from += runtime::value_count(own.structure[at]);
      continue;
    }
    take(t.rank);
    const bool strides = runtime::has_strides(s.structure[at]);
    if (runtime::has_strides(own.structure[at])) {
      if (strides) take(t.rank);
      else from += t.rank;
    } else if (strides) {
      std::copy(t.strides, t.strides + t.rank, f.values.extend(t.rank));
    }
  }
  take(static_cast<std::size_t>(own.values.end() - from));
}

AnyStrides::AnyStrides(CallFrame& f, const StridesAside& how) : frame_(f), structure_(f.structure), values_(f.values) {
  for (const StridesAside::Word& w : how.any) f.structure[w.at] = runtime::of_any_strides(f.structure[w.at], w.ones);
  f.values.clear();
  const std::int64_t* from = values_.begin();
  auto take = [&](std::size_t n) {
    if (n) std::memcpy(f.values.extend(n), from, n * sizeof *from);
    from += n;
  };
  std::size_t tensor = 0;
  for (std::uint32_t at : how.tensor_words) {
    if (!structure_[at]) continue;
    const TensorImpl& t = *f.tensors[tensor];
    take(how.between[tensor++]);
    words_.push_back(f.structure[at]);
    take(runtime::value_count(structure_[at]));
    if (runtime::has_strides(f.structure[at]) && !runtime::has_strides(structure_[at])) std::copy(t.strides, t.strides + t.rank, f.values.extend(t.rank));
  }
  take(static_cast<std::size_t>(values_.end() - from));
}

AnyStrides::~AnyStrides() {
  if (kept_) return;
  frame_.structure = structure_;
  frame_.values = values_;
}

SeenAs::~SeenAs() {
  if (!seen_) return;
  const Own& own = thread_object<Own>();
  frame_.structure = own.structure;
  frame_.values = own.values;
}

}  // namespace reprise::detail
