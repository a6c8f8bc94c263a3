#include "autograd/saved.h"

#include "autograd/off_tape.h"
#include "autograd/saved_hooks.h"
#include "autograd/state.h"
#include "autograd/tape.h"
#include "autograd/trace_tape.h"
#include "base/errors.h"
#include "reprise/ops.h"

namespace reprise::autograd {

const char kReadsOwnResult[] = "autograd/saved.cc";

namespace {
constinit thread_local const SavedHooks* t_hooks = nullptr;

Tensor without_place(const Tensor& t) {
  const NoGradScope off;
  return detach(t, {kReadsOwnResult, 1});
}
}  // namespace

const SavedHooks* saved_hooks() { return t_hooks; }
const SavedHooks* exchange_saved_hooks(const SavedHooks* h) { return std::exchange(t_hooks, h); }

Saved::Saved(const Tensor& t) : there_(true) {
  if (!t.impl()) {
    undefined_ = true;
    return;
  }
  version_ = version_of(*t.impl());
  if (!t_hooks) return;
  const SavedHooks* hooks = std::exchange(t_hooks, nullptr);  // what a hook calls is its own affair
  struct Back {
    const SavedHooks* h;
    ~Back() { t_hooks = h; }
  } back{hooks};
  packed_ = hooks->pack(without_place(t), t);
  unpack_ = hooks->unpack;
}

Saved Saved::input(const Tensor& t) {
  Saved s(t);
  if (!s.unpack_) s.tensor_ = t;
  else s.place_ = edge_of(t);
  return s;
}

Saved Saved::own_result(const Tensor& t, std::uint32_t result) {
  Saved s(t);
  s.own_ = result;
  if (!s.unpack_) s.tensor_ = without_place(t);
  return s;
}

void Saved::reset() {
  if (!there_) return;
  tensor_ = Tensor();
  packed_.reset(), unpack_.reset();
  if (place_.node) let_go(std::move(place_.node));
  there_ = false;
}

Tensor Saved::unpack(Node& of) const {
  if (!there_)
    fail(ErrorCode::InvalidArgument, "backward", of.loc, "the tape was walked before, and what '", of.name(),
         "' kept for its derivative is gone: walk it once, or with retain_graph");
  if (undefined_) return {};
  if (unpack_) {
    Tensor t = without_place((*unpack_)(packed_));
    if (own_) set_made_by(t, of.shared_from_this(), *own_);
    else if (place_) set_made_by(t, place_.node, place_.result);
    return t;
  }
  if (const std::uint64_t now = version_of(*tensor_.impl()); now != version_)
    fail(ErrorCode::InvalidArgument, "backward", of.loc, "a tensor that '", of.name(),
         "' needs for its derivative was written since, in place", last_write_text(tensor_), ": its version is ", now,
         ", and was ", version_, "; write to a copy (clone()), or later");
  if (!own_) return tensor_;
  Tensor t = without_place(tensor_);
  set_made_by(t, of.shared_from_this(), *own_);
  return t;
}

}  // namespace reprise::autograd
