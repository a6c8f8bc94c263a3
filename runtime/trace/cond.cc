#include "reprise/cond.h"

#include <algorithm>

#include "base/bail.h"
#include "base/errors.h"
#include "base/hash.h"
#include "graph/thread_state.h"
#include "reprise/compile.h"
#include "runtime/trace/region_derivative.h"
#include "runtime/trace/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

/// Both branches as they are traced.
struct Branches::State {
  struct Side {
    std::vector<Tensor> tensors;
    std::vector<std::uint64_t> words;  ///< all that is no tensor
    std::vector<Int> integers;
    TracedBranch branch;
  } sides[2];
  int side = -1;  ///< which is traced
  std::vector<Tensor> results;
  std::size_t next = 0;  ///< of results, where they are filled in
  bool done = false;
  Tensor pred;
  SourceLoc loc;
};

Branches::Branches(const Predicate& p) {
  if (!p.tensor()) {
    taken_ = p.known();
    return;
  }
  const Tensor& pred = *p.tensor();
  const TensorImpl& impl = defined_impl(pred, "cond", p.loc());
  tracer_ = around().tracer;
  if (tracer_) {
    state_ = std::make_unique<State>();
    state_->loc = p.loc();
    state_->pred = tracer_->shared_leaf(pred);
    return;
  }
  // As the shape rule says (graph/shape_region.cc).
  if (pred.dtype() != DType::Bool)
    fail(ErrorCode::DTypeMismatch, "cond", p.loc(), "what decides must be a bool, not ", dtype_name(impl.dtype),
         ": compare it with something");
  if (const Int n = pred.numel(); n != 1)
    fail(ErrorCode::ShapeMismatch, "cond", p.loc(), "one element must decide, and this has ", n,
         ": use any() or all()");
  taken_ = pred.item<bool>(p.loc());
}

// What decides may be a captured tensor, and the handle here is none of the function's.
Branches::~Branches() {
  if (!tracer_) return;
  const NotTheFunction aside(*tracer_);
  state_.reset();
}

void Branches::trace(void (*body)(void*, Branches&), void* ctx) {
  State& s = *state_;
  State::Side& side = s.sides[++s.side];
  const std::uint64_t settings = graph::thread_state.word;
  const std::size_t around = tracer_->begin_branch();
  const OffTape off;  // the branch is a part of one node
  try {
    body(ctx, *this);
    if (graph::thread_state.word != settings) bail(Bail::sets_for_thread, "cond", s.loc);
    side.branch = tracer_->end_branch(std::move(side.tensors), s.loc);
  } catch (const Error& e) {
    tracer_->abandon_branch(around);
    if (e.code() == ErrorCode::NotTraceable || e.code() == ErrorCode::Internal || e.code() == ErrorCode::OutOfMemory)
      throw;
    bail(Bail::branch_throws, "cond", s.loc, "a branch throws while it is traced: ", e.what());
  } catch (const std::exception& e) {
    tracer_->abandon_branch(around);
    bail(Bail::branch_throws, "cond", s.loc, "a branch throws while it is traced: ", e.what());
  } catch (...) {
    tracer_->abandon_branch(around);
    bail(Bail::branch_throws, "cond", s.loc);
  }
}

void Branches::finish() {
  State& s = *state_;
  auto same = [](Int a, Int b) { return identical(a, b); };
  const auto &a = s.sides[0], &b = s.sides[1];
  if (a.words != b.words || a.integers.size() != b.integers.size() ||
      !std::equal(a.integers.begin(), a.integers.end(), b.integers.begin(), same))
    bail(Bail::branches_differ, "cond", s.loc,
         "the branches give other numbers, texts or lengths of lists: only tensors may depend on a tensor's value");
  s.results = add_cond_on_tape(*tracer_, s.pred, std::move(s.sides[0].branch), std::move(s.sides[1].branch), s.loc);
  s.done = true;
}

void Branches::tensor(Tensor& t) {
  State& s = *state_;
  if (s.done) tracer_->fill_leaf(t, s.results[s.next++]);
  else tracer_->take_leaf(t, s.sides[s.side].tensors);
}
void Branches::integer(Int& i) {
  if (!state_->done) state_->sides[state_->side].integers.push_back(i);
}
void Branches::number(Scalar& n) {
  constant(static_cast<std::uint64_t>(n.kind()));
  if (!state_->done) state_->sides[state_->side].integers.push_back(n.word());
}
void Branches::constant(std::uint64_t word, ConstantKind) {
  if (!state_->done) state_->sides[state_->side].words.push_back(word);
}
void Branches::text(std::string_view s) { constant(hash_text(s)); }

// A tensor that only this handle holds, row by row all of its storage, is the branch's own.
void OwnResults::tensor(Tensor& t) {
  if (!t.defined() || t.impl()->trace) return;
  const TensorImpl& impl = *t.impl();
  bool own = impl.refs.load(std::memory_order_relaxed) == 1 &&
             impl.storage->refs.load(std::memory_order_relaxed) == 1 && impl.offset == 0;
  std::int64_t stride = 1;
  for (int d = impl.rank; own && d-- > 0;) {
    own = impl.strides[d] == stride;
    stride *= std::max<std::int64_t>(impl.sizes[d], 1);
  }
  if (!own) t = t.clone(loc_);
}

}  // namespace reprise::detail
