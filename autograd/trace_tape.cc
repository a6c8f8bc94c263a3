#include "autograd/trace_tape.h"

#include <algorithm>

#include "autograd/views.h"
#include "base/bail.h"

namespace reprise::autograd {

namespace {
constinit thread_local TraceTape* t_current = nullptr;
}  // namespace

TraceTape::TraceTape() : outer_(std::exchange(t_current, this)) {}
TraceTape::~TraceTape() {
  end();
  t_current = outer_;
}

void TraceTape::end() {
  for (std::size_t i = changed_.size(); i-- > 0;) {
    const Tensor& t = changed_[i];
    if (!before_[i].known) {
      drop_state(*t.impl());
      continue;
    }
    State& s = *state_of(t);
    s.wants = before_[i].wants;
    std::swap(s.made_by, before_[i].made_by);
    if (s.view) s.view->version = before_[i].version;
    t.impl()->structure_word.store(0, std::memory_order_relaxed);
  }
  changed_.clear(), before_.clear(), inputs_.clear();
}

const TraceTape::Input* TraceTape::input(std::uint32_t number) const {
  for (const Input& i : inputs_)
    if (i.input == number) return &i;
  return nullptr;
}
const TensorImpl* TraceTape::argument_on(const TensorImpl* base) const {
  for (const Input& i : inputs_)
    if (i.base.impl() == base) return i.traced.impl();
  return nullptr;
}
Edge TraceTape::edge_before(const Tensor& t) const {
  for (std::size_t i = 0; i < changed_.size(); ++i)
    if (changed_[i].impl() == t.impl() && before_[i].known) {
      if (before_[i].made_by || !before_[i].wants) return before_[i].made_by;
      break;
    } else if (changed_[i].impl() == t.impl()) {
      return {};
    }
  return edge_of(t);
}

TraceTape* TraceTape::current() { return t_current; }

void TraceTape::note(const Tensor& t) {
  if (t.impl()->trace || std::any_of(changed_.begin(), changed_.end(), [&](const Tensor& c) { return c.impl() == t.impl(); })) return;
  const State* s = state_of(t);
  changed_.push_back(t);
  before_.push_back(s ? Before{true, s->wants, s->made_by, s->view ? s->view->version : 0} : Before{false, false, {}, 0});
}

void check_hooked_in_trace(const Node& n, const char* op, SourceLoc loc) {
  if (current_trace && (n.in_trace != current_trace || dynamic_cast<const AccumulateGrad*>(&n)))
    bail(Bail::changes_tape, op, loc);
}

bool (*Aside::function_runs)(bool) noexcept = nullptr;

Aside::Aside() : handles_(exchange_handle_hook(nullptr)) {
  if (current_trace && function_runs) before_ = function_runs(false);
}
Aside::~Aside() {
  exchange_handle_hook(handles_);
  if (current_trace && function_runs) function_runs(before_);
}

}  // namespace reprise::autograd
