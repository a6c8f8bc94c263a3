#include "autograd/trace_tape.h"

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
  const Aside aside;
  for (std::size_t i = changed_.size(); i-- > 0;) {
    const Tensor& t = changed_[i];
    if (!before_[i].known) {
      drop_state(*t.impl());
      continue;
    }
    State& s = *state_of(t);
    s.wants = before_[i].wants;
    std::swap(s.made_by, before_[i].made_by);
    const std::optional<ViewOf>& view = before_[i].view;
    s.view = view ? std::make_unique<ViewOf>(*view) : nullptr;
    s.unfollowed = before_[i].unfollowed;
    t.impl()->structure_word.store(0, std::memory_order_relaxed);
  }
  changed_.clear(), before_.clear(), at_.clear(), inputs_.clear();
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
  const auto at = at_.find(t.impl());
  if (at == at_.end()) return edge_of(t);
  const Before& before = before_[at->second];
  if (!before.known) return {};
  return before.made_by || !before.wants ? before.made_by : edge_of(t);
}

TraceTape* TraceTape::current() { return t_current; }

void TraceTape::note(const Tensor& t) {
  if (t.impl()->trace || at_.count(t.impl())) return;
  const Aside aside;
  const State* s = state_of(t);
  // In this order, so that what fails in between leaves nothing half noted.
  const std::optional<ViewOf> view = s && s->view ? std::optional(*s->view) : std::nullopt;
  before_.push_back(s ? Before{true, s->wants, s->made_by, view, s->unfollowed} : Before{false, false, {}, {}, false});
  try {
    changed_.push_back(t);
  } catch (...) {
    before_.pop_back();
    throw;
  }
  at_.emplace(t.impl(), changed_.size() - 1);
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
