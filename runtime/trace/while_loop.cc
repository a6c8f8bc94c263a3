#include "reprise/while_loop.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/hash.h"
#include "graph/while_loop.h"
#include "reprise/compile.h"
#include "reprise/ops.h"
#include "runtime/trace/loop_body.h"
#include "runtime/trace/region_derivative.h"
#include "runtime/trace/tracer.h"

namespace reprise::detail {

struct While::State {
  SourceLoc loc;
  Int most;
  Tracer* tracer = nullptr;
  Part part = Part::Init;
  std::size_t next = 0;  ///< leaf of the part
  std::int64_t turn = 0;
  StateWords words;
  OwnResults own{{}};
  bool holds = false;  ///< eagerly: the condition
  /// Copies of what was given; in a trace traced ones, and first among them what decides, from run() on.
  std::vector<Tensor> init;

  // ---- in a trace
  /// `made`: first what decides
  std::vector<Tensor> inside, made, results;
};

While::While(const Int& max_steps, SourceLoc loc) : state_(std::make_unique<State>()) {
  state_->loc = loc, state_->most = max_steps;
  state_->tracer = around().tracer;
  state_->own = OwnResults(loc);
  if (max_steps < 0)
    fail(ErrorCode::InvalidArgument, "while_loop", loc, "max_steps is ", max_steps, ", a number of turns");
}
// Captured tensors are still in its handles, which are none of the function's.
While::~While() {
  std::optional<NotTheFunction> aside;
  if (state_->tracer) aside.emplace(*state_->tracer);
  state_.reset();
}

While& While::at(Part part) {
  state_->part = part, state_->next = 0;
  state_->words.rewind();
  return *this;
}

void While::decide(const Predicate& p) {
  State& s = *state_;
  std::optional<NotTheFunction> aside;
  if (s.tracer) aside.emplace(*s.tracer);
  if (!p.tensor()) {
    if (!s.tracer) return static_cast<void>(s.holds = p.known());
    const Device device = s.init.empty() ? Device::cpu() : s.init.back().device();
    s.made.insert(s.made.begin(), full({}, p.known(), {.dtype = kBool, .device = device}, s.loc));
    return;
  }
  const Tensor& t = *p.tensor();
  if (!t.defined()) fail(ErrorCode::InvalidArgument, "while_loop", s.loc, "the condition gives an undefined tensor");
  if (t.dtype() != kBool)
    fail(ErrorCode::DTypeMismatch, "while_loop", s.loc, "the condition gives a bool, not ", dtype_name(t.dtype()),
         ": compare it with something");
  if (t.numel() != 1)
    fail(ErrorCode::ShapeMismatch, "while_loop", s.loc, "the condition gives one element, and this has ", t.numel(),
         ": use any() or all()");
  if (s.tracer) s.made.insert(s.made.begin(), t.dim() ? t.view({}, s.loc) : t);
  else s.holds = t.item<bool>(s.loc);
}

bool While::turn() {
  State& s = *state_;
  if (s.tracer) return s.turn++ == 0;
  if (s.holds && s.turn == s.most.value(s.loc)) graph::fail_unending(s.turn, s.loc);
  return s.holds && ++s.turn;
}

void While::run(void (*body)(void*), void* ctx) {
  State& s = *state_;
  if (!s.tracer) return body(ctx);
  {
    const NotTheFunction aside(*s.tracer);
    s.init.insert(s.init.begin(), std::move(s.made[0]));
    s.made.clear();
  }
  const std::size_t around = s.tracer->begin_body(s.init, {}, s.loc, s.inside, kBodyOfWhile);
  TracedBranch traced = traced_body(*s.tracer, around, "while_loop", s.loc, s.inside, s.made, body, ctx);
  s.results = add_while_on_tape(*s.tracer, std::move(traced), s.init.size(), s.most, s.loc);
}

void While::tensor(Tensor& t) {
  State& s = *state_;
  if ((s.part == Part::Init || s.part == Part::Made) && !t.defined())
    fail(ErrorCode::InvalidArgument, "while_loop", s.loc, "tensor ", s.next,
         s.part == Part::Init ? " of the state that it begins with" : " of the state that the body makes",
         " is undefined");
  switch (s.part) {
    case Part::Init:
      if (s.tracer) {
        s.tracer->take_leaf(t, s.init);
        const NotTheFunction aside(*s.tracer);
        s.init.back() = s.init.back().clone(s.loc).contiguous(s.loc);
      } else {
        s.init.push_back(t.clone(s.loc).contiguous(s.loc));
        t = Tensor();
      }
      break;
    case Part::First:
      if (s.tracer) s.tracer->fill_leaf(t, s.init[s.next]);
      else t = s.init[s.next];
      break;
    case Part::Begun: {
      std::vector<Tensor> gone;
      if (s.tracer) s.tracer->take_leaf(t, gone);
      break;
    }
    case Part::Inside:
      if (s.tracer) s.tracer->fill_leaf(t, s.inside[s.next + 1]);
      break;
    case Part::Made:
      if (s.tracer) break;
      check_carried("while_loop", s.loc, s.next, t, s.init[s.next]);
      s.own.tensor(t);
      break;
    case Part::Turned:
      if (s.tracer) s.tracer->take_leaf(t, s.made);
      break;
    case Part::Last:
      if (s.tracer) s.tracer->fill_leaf(t, s.results[s.next]);
      break;
  }
  ++s.next;
}

void While::constant(std::uint64_t word, ConstantKind) {
  State& s = *state_;
  if (s.part == Part::Init) s.words.add(word);
  if (s.part == Part::Made) s.words.compare("while_loop", s.loc, word);
}
void While::integer(Int& i) { constant(StateWords::word_of(i)); }
void While::number(Scalar& n) {
  Int word = n.word();
  integer(word);
}
void While::text(std::string_view s) { constant(hash_text(s)); }

}  // namespace reprise::detail
