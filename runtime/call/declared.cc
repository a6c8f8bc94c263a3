#include "runtime/call/declared.h"

#include <algorithm>

#include "reprise/compile.h"
#include "runtime/call/structure_names.h"

namespace reprise::detail {

namespace {

const DimMark* mark_of(const TensorImpl& t, int d) {
  return d < t.rank && t.notes && (t.notes->marks.set >> d & 1) ? &t.notes->marks.dims[d] : nullptr;
}

bool is_within(std::int64_t n, const DimMark& m) { return n >= m.min && n <= m.max && n % m.multiple_of == 0; }

[[noreturn]] void fail_outside(const std::string& function, const std::string& name, int d, std::int64_t n,
                               const DimMark& m) {
  std::string range = std::to_string(m.min) + (m.max == INT64_MAX ? " or more" : " to " + std::to_string(m.max));
  if (m.multiple_of != 1) range += ", a multiple of " + std::to_string(m.multiple_of);
  fail(ErrorCode::InvalidArgument, function.c_str(), m.where, name, " .size(", d, ") is ", n,
       ", and mark_dynamic declared it to be ", range,
       ": pass such sizes, declare more, or have others compiled for (Outside::Recompiles)");
}

// Of those that are defined.
std::vector<std::string> paths_of(const CallFrame& f, const StructureNames& names) {
  std::vector<std::string> paths;
  std::size_t at = 0;
  const std::vector<std::uint32_t> words = tensor_words_of(names);
  for (const StructureNames::Leaf& l : names.leaves)
    if (l.kind == StructureNames::Kind::Tensor && f.structure[words[at++]]) paths.push_back(l.path);
  return paths;
}

}  // namespace

bool has_marks(const CallFrame& f) {
  return std::any_of(f.tensors.begin(), f.tensors.end(),
                     [](const TensorImpl* t) { return t->notes && t->notes->marks.set; });
}

void Declared::note(const CallFrame& f, const StructureNames& names) {
  if (!has_marks(f)) return;
  const std::uint64_t calls = runtime::hash_beside_layouts(f.structure);
  const std::vector<std::string> paths = paths_of(f, names);
  for (std::uint32_t i = 0; i < std::min(f.tensors.size(), paths.size()); ++i)
    for (int d = 0; d < f.tensors[i]->rank; ++d) {
      const DimMark* mark = mark_of(*f.tensors[i], d);
      if (!mark || mark->is_static) continue;
      auto same = std::find_if(all_.begin(), all_.end(),
                               [&](const Range& r) { return r.calls == calls && r.tensor == i && r.dim == d; });
      if (same != all_.end()) {
        same->mark = *mark;  // the latest counts
        continue;
      }
      if (all_.size() >= kMost) all_.erase(all_.begin());
      all_.push_back({calls, i, d, *mark, paths[i]});
    }
}

void Declared::check(const CallFrame& f, const std::string& function,
                     const std::function<const StructureNames&()>& names) const {
  if (has_marks(f))
    for (std::size_t i = 0; i < f.tensors.size(); ++i)
      for (int d = 0; d < f.tensors[i]->rank; ++d)
        if (const DimMark* own = mark_of(*f.tensors[i], d);
            own && !own->is_static && !is_within(f.tensors[i]->sizes[d], *own))
          fail_outside(function, paths_of(f, names())[i], d, f.tensors[i]->sizes[d], *own);
  if (all_.empty()) return;
  const std::uint64_t calls = runtime::hash_beside_layouts(f.structure);
  for (const Range& r : all_) {
    if (r.calls != calls || r.mark.recompiles || r.tensor >= f.tensors.size()) continue;
    const TensorImpl& t = *f.tensors[r.tensor];
    if (!mark_of(t, r.dim) && !is_within(t.sizes[r.dim], r.mark))
      fail_outside(function, r.name, r.dim, t.sizes[r.dim], r.mark);
  }
}

}  // namespace reprise::detail
