#include "autograd/tape_undo.h"

#include <utility>

#include "autograd/trace_tape.h"

namespace reprise::autograd {

namespace {
constinit thread_local TapeUndo* t_undo = nullptr;

std::unique_ptr<State> copy_of(const State& s) {
  auto made = std::make_unique<State>(s.self);
  made->wants = s.wants, made->made_by = s.made_by, made->grad = s.grad, made->kept = s.kept;
  made->unfollowed = s.unfollowed, made->retained_by = s.retained_by, made->hooks = s.hooks;
  if (s.view) made->view = std::make_unique<ViewOf>(*s.view);
  return made;
}
}  // namespace

TapeUndo::TapeUndo() : outer_(std::exchange(t_undo, this)) {}
TapeUndo::~TapeUndo() {
  t_undo = outer_;
  const Aside aside;
  for (const Hook& h : hooks_)
    if (auto list = h.list.lock()) list->remove(h.id);
  while (!changed_.empty()) {
    put_back(changed_.back());
    changed_.pop_back();
  }
}

void TapeUndo::put_back(Changed& c) {
  TensorImpl& t = *c.tensor.impl();
  if (!c.before) return drop_state(t);
  State* s = state_of(t);
  if (!s) return;
  State& was = *c.before;
  // Hooks are numbered by their list.
  const bool retains = s->retained_by == was.retained_by && s->made_by.node == was.made_by.node;
  s->wants = was.wants, s->unfollowed = was.unfollowed;
  std::swap(s->made_by, was.made_by);
  std::swap(s->view, was.view);
  std::swap(s->grad, was.grad);
  std::swap(s->kept, was.kept);
  std::swap(s->hooks, was.hooks);
  if (s->kept) s->kept->gradient = c.retained;
  if (!retains) {
    s->retained_by = 0;
    if (was.retained_by && s->made_by) {
      if (s->made_by.node->hooks) s->made_by.node->hooks->remove(was.retained_by);
      s->retain_gradient();
    }
  }
  t.structure_word.store(0, std::memory_order_relaxed);
}

void TapeUndo::note(const Tensor& t) {
  TapeUndo* const u = t_undo;
  if (!u || t.impl()->trace) return;
  if (!u->noted_.insert(t.impl()).second) return;
  const Aside aside;
  const State* s = state_of(t);
  u->changed_.push_back({t, s ? copy_of(*s) : nullptr, s && s->kept ? s->kept->gradient : Tensor()});
}

void TapeUndo::note_hook(HookList& list, std::uint64_t id) {
  if (t_undo) t_undo->hooks_.push_back({list.weak_from_this(), id});
}

}  // namespace reprise::autograd
