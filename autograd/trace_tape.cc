#include "autograd/trace_tape.h"

#include <algorithm>

#include "autograd/views.h"

namespace reprise::autograd {

namespace {
constinit thread_local TraceTape* t_current = nullptr;
}  // namespace

TraceTape::TraceTape() : outer_(std::exchange(t_current, this)) {}
TraceTape::~TraceTape() {
  for (std::size_t i = changed_.size(); i-- > 0;) {
    const Tensor& t = changed_[i];
    if (!before_[i].known) {
      drop_state(*t.impl());
      continue;
    }
    State& s = *state_of(t);
    s.wants = before_[i].wants;
    s.made_by = std::move(before_[i].made_by);
    if (s.view) s.view->version = before_[i].version;
  }
  t_current = outer_;
}

TraceTape* TraceTape::current() { return t_current; }

void TraceTape::note(const Tensor& t) {
  if (t.impl()->trace || std::any_of(changed_.begin(), changed_.end(), [&](const Tensor& c) { return c.impl() == t.impl(); })) return;
  const State* s = state_of(t);
  changed_.push_back(t);
  before_.push_back(s ? Before{true, s->wants, s->made_by, s->view ? s->view->version : 0} : Before{false, false, {}, 0});
}

bool (*Aside::function_runs)(bool) noexcept = nullptr;

Aside::Aside() {
  if (current_trace && function_runs) before_ = function_runs(false);
}
Aside::~Aside() {
  if (current_trace && function_runs) function_runs(before_);
}

}  // namespace reprise::autograd
