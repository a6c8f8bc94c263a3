// Reshapes that copy or do not.
//
// Note [Copies that nobody sees]
// Whether reshape gives a view or a copy depends on sizes and strides, on every one that is 1, say. Its elements do
// not. So a trace leaves it open where it cannot be known: it makes a copy, and remembers that the copy's storage may
// be that of what was copied. What tells the two apart is few things: a write to the one and a later use of the other,
// what is asked of storages and strides, views that strides do not always allow (view, as_strided), and whoever is
// given the copy as a result. Where the function does one of them, the trace gives up, and the next one asks: then the
// answer is a guard. Where the traced call makes no copy, it is asked in any case, because a copy costs something. Only
// a function that has met calls of both kinds leaves that open, too (Note [General traces]).
#include <algorithm>

#include "base/errors.h"
#include "guards/general.h"
#include "runtime/trace/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

bool Tracer::is_open(const TracedStorage& s) const {
  return std::any_of(open_copies_.begin(), open_copies_.end(),
                     [&](const OpenCopy& c) { return c.made == &s.outermost(); });
}

// Those that it was copied from or to, through any number of copies, and itself.
std::vector<const TracedStorage*> Tracer::perhaps_one_with(const TracedStorage& s) const {
  std::vector<const TracedStorage*> all{&s.outermost()};
  auto has = [&](const TracedStorage* t) { return std::find(all.begin(), all.end(), t) != all.end(); };
  for (bool more = true; more;) {
    more = false;
    for (const OpenCopy& c : open_copies_)
      if (has(c.of) != has(c.made)) all.push_back(has(c.of) ? c.made : c.of), more = true;
  }
  return all;
}

void Tracer::settle(const TracedStorage& s) {
  if (open_copies_.empty()) return;
  const std::vector<const TracedStorage*> all = perhaps_one_with(s);
  if (all.size() == 1) return;
  for (const OpenCopy& c : open_copies_)
    if (std::find(all.begin(), all.end(), c.made) != all.end()) wanted_.decided.push_back(c.reshape);
  ++wanted_.times_decided;
  bail(Bail::asks_state, "reshape", {});
}

void Tracer::note_write(const TracedStorage& s) {
  if (open_copies_.empty()) return;
  for (const TracedStorage* other : perhaps_one_with(s))
    if (other != &s.outermost()) const_cast<TracedStorage*>(other)->perhaps_written = true;
}

void Tracer::strides_decide(const Tensor& t) {
  Work work(*this);
  settle_if_open(*found(t, {}).storage);
}

bool Tracer::leaves_copy_open(const Tensor& self, bool asked, bool copies) {
  constexpr int kOften = 3;  // then it is asked of all
  const std::int32_t number = reshapes_met_++;
  if (depth_ || !plan_.may_grow || plan_.times_decided >= kOften ||
      std::find(plan_.decided.begin(), plan_.decided.end(), number) != plan_.decided.end())
    return false;
  Work work(*this);
  return is_open(*found(self, {}).storage) || (asked && (copies || guards::generality().reshapes));
}

void Tracer::copied_perhaps(const Tensor& self, const Tensor& made) {
  if (!made.impl() || !made.impl()->trace) return;  // an interpreter above the trace made something else of it
  Work work(*this);
  const TracedStorage &of = found(self, {}).storage->outermost(), &copy = found(made, {}).storage->outermost();
  if (&of != &copy) open_copies_.push_back({reshapes_met_ - 1, &of, &copy});
}

}  // namespace reprise::detail
