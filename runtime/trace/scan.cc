#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bail.h"
#include "base/errors.h"
#include "base/hash.h"
#include "graph/interpreter.h"
#include "graph/shape_rules.h"
#include "graph/thread_state.h"
#include "reprise/autograd.h"
#include "reprise/compile.h"
#include "reprise/regions.h"
#include "reprise/shape_only.h"
#include "runtime/trace/loop_body.h"
#include "runtime/trace/region_derivative.h"
#include "runtime/trace/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {

/// Without elements, or without any but shapes. Sizes of eager tensors are numbers.
Tensor empty_of(const Ints& sizes, DType dtype, Device device) {
  std::vector<std::int64_t> numbers;
  for (Int n : sizes) numbers.push_back(n.hint());
  return empty_concrete(numbers.data(), static_cast<int>(numbers.size()), dtype, device);
}

Tensor slice_shape(const Tensor& all) {
  Ints sizes = all.sizes();
  sizes.erase(sizes.begin());
  return empty_of(sizes, all.dtype(), Device::shape_only());
}

/// Along a new dimension 0.
Tensor stacked_tensors(const std::vector<Tensor>& all, SourceLoc loc) {
  std::vector<Tensor> parts;
  for (const Tensor& t : all) parts.push_back(t.unsqueeze(0, loc));
  return graph::call1(graph::OpId::cat, {TensorArrayRef(parts), Int(0)}, loc);
}

/// What a body gives where there is no turn, by shapes: tensors from outside are seen without their elements, and
/// nothing is written.
class NoTurn final : public graph::Interpreter {
 public:
  void call(const graph::OpCall& c, std::vector<Tensor>& results) override {
    // What decides in a branch of cond: either gives the same shapes.
    if (c.op.cls == graph::OpClass::Transfer && c.args.size() == 1 &&
        std::get<const Tensor*>(c.args[0])->dtype() == kBool) {
      results.push_back(empty_concrete(nullptr, 0, kBool, Device::cpu()));
      *static_cast<bool*>(results.back().data_ptr()) = false;
      return;
    }
    std::deque<std::vector<Tensor>> lists;
    std::vector<graph::CallArg> args(c.args.begin(), c.args.end());
    for (graph::CallArg& a : args) {
      if (auto* t = std::get_if<const Tensor*>(&a); t && *t) a = &shape_of(**t);
      if (auto* list = std::get_if<TensorArrayRef>(&a)) {
        std::vector<Tensor>& seen = lists.emplace_back();
        for (const Tensor& t : *list) seen.push_back(shape_of(t));
        a = TensorArrayRef(seen);
      }
    }
    const std::size_t before = results.size();
    graph::forward({c.op, args, c.inplace, c.loc}, results);
    if (c.inplace && results.size() > before) results[before] = *std::get<const Tensor*>(c.args[0]);
  }
  void mutate_metadata(const graph::OpCall& c) override {
    if (is_shape_only(*std::get<const Tensor*>(c.args[0]))) graph::forward_metadata(c);
  }
  std::pair<Int, Int> next_random(Int) override { return {0, 0}; }

 private:
  const Tensor& shape_of(const Tensor& t) {
    if (!t.defined() || is_shape_only(t)) return t;
    const auto [it, is_new] = seen_.try_emplace(t.impl());
    if (is_new) it->second = {t, t.to(Device::shape_only())};
    return it->second.shape;
  }
  struct Seen {
    Tensor real, shape;
  };
  std::unordered_map<const TensorImpl*, Seen> seen_;
};

}  // namespace

struct Scan::State {
  SourceLoc loc;
  Tracer* tracer = nullptr;
  Part part = Part::Init;
  std::vector<Tensor> init, stacked;  ///< in a trace: traced; eagerly copies of the first and handles of the second
  Int turns = 0;
  std::int64_t turn = -1;
  bool counted = false;
  std::size_t next = 0;  ///< leaf of the part

  // ---- what is no tensor
  StateWords words;
  std::vector<std::uint64_t> given_words;  ///< of what turns give
  std::size_t next_word = 0;
  bool first_given = true;

  // ---- eagerly
  bool no_turn = false;  ///< there is none: shapes alone
  std::vector<std::vector<Tensor>> given;
  OwnResults own{{}};

  // ---- in a trace
  std::vector<Tensor> inside, made, results;
};

Scan::Scan(SourceLoc loc) : state_(std::make_unique<State>()) {
  state_->loc = loc;
  state_->tracer = around().tracer;
  state_->own = OwnResults(loc);
}
// Captured tensors among what it was given are still in its handles, which are none of the function's.
Scan::~Scan() {
  std::optional<NotTheFunction> aside;
  if (state_->tracer) aside.emplace(*state_->tracer);
  state_.reset();
}

Scan& Scan::at(Part part) {
  state_->part = part, state_->next = 0, state_->next_word = 0;
  state_->words.rewind();
  return *this;
}

bool Scan::turn() {
  State& s = *state_;
  if (!s.counted) {
    if (s.stacked.empty())
      fail(ErrorCode::InvalidArgument, "scan", s.loc,
           "there is no tensor to slice: its dimension 0 says how many turns there are");
    for (std::size_t i = 0; i < s.stacked.size(); ++i) {
      const Tensor& t = s.stacked[i];
      if (t.dim() == 0)
        fail(ErrorCode::ShapeMismatch, "scan", s.loc, "tensor ", i, " of xs has no dimension to slice along");
      if (i == 0) s.turns = t.size(0);
      else if (t.size(0) != s.turns)
        fail(ErrorCode::ShapeMismatch, "scan", s.loc, "tensor ", i, " of xs is ", shown_in_loop(t), ", of ", t.size(0),
             " slices, and tensor 0 is ", shown_in_loop(s.stacked[0]), ", of ", s.turns);
    }
    s.counted = true;
    s.no_turn = !s.tracer && s.turns == 0;
  }
  ++s.turn;
  return s.tracer || s.no_turn ? s.turn == 0 : s.turn < s.turns.value(s.loc);
}

void Scan::run(void (*body)(void*), void* ctx) {
  State& s = *state_;
  if (s.no_turn) {
    NoTurn shapes;
    const NoGradScope off;
    const graph::ModeScope mode(shapes);
    const ShapeOnlyScope made;
    return body(ctx);
  }
  if (!s.tracer) return body(ctx);
  const std::size_t around = s.tracer->begin_body(s.init, s.stacked, s.loc, s.inside);
  TracedBranch traced = traced_body(*s.tracer, around, "scan", s.loc, s.inside, s.made, body, ctx);
  const bool draws = traced.draws >= 0;
  if (draws) traced = with_draws(*s.tracer, std::move(traced), s.init.size() + s.stacked.size(), s.turns, s.loc);
  s.results = add_scan_on_tape(*s.tracer, std::move(traced), s.init.size(), s.stacked.size() + draws, s.turns, s.loc);
}

void Scan::take_eagerly(Tensor& t) {
  State& s = *state_;
  check_carried("scan", s.loc, s.next, t, s.init[s.next], !s.no_turn);
  if (!s.no_turn) s.own.tensor(t);
}

void Scan::give_eagerly(Tensor& t) {
  State& s = *state_;
  if (!s.no_turn) s.own.tensor(t);
  if (s.next >= s.given.size()) s.given.emplace_back();
  std::vector<Tensor>& all = s.given[s.next];
  if (!all.empty() && (t.dtype() != all[0].dtype() || t.device() != all[0].device() || !same_sizes(t, all[0])))
    fail(ErrorCode::ShapeMismatch, "scan", s.loc, "turn ", s.turn, " gives result ", s.next, " as ", shown_in_loop(t),
         ", and turn 0 gave ", shown_in_loop(all[0]));
  all.push_back(std::move(t));
}

void Scan::tensor(Tensor& t) {
  State& s = *state_;
  const bool taken = s.part == Part::Init || s.part == Part::Stacked || s.part == Part::Made || s.part == Part::Given;
  if (taken && !t.defined())
    fail(ErrorCode::InvalidArgument, "scan", s.loc, "tensor ", s.next,
         s.part == Part::Init      ? " of the state that it begins with"
         : s.part == Part::Stacked ? " of xs"
         : s.part == Part::Made    ? " of the state that the body makes"
                                   : " that the body gives",
         " is undefined");
  switch (s.part) {
    case Part::Init:
      if (s.tracer) return s.tracer->take_leaf(t, s.init);
      s.init.push_back(t.clone(s.loc).contiguous(s.loc));
      t = Tensor();
      return;
    case Part::Stacked:
      if (s.tracer) return s.tracer->take_leaf(t, s.stacked);
      s.stacked.push_back(std::exchange(t, Tensor()));
      return;
    case Part::State:
      if (s.tracer) s.tracer->fill_leaf(t, s.inside[s.next]);
      else if (s.no_turn) t = s.init[s.next].to(Device::shape_only());
      else if (s.turn == 0) t = s.init[s.next];
      break;
    case Part::Slice:
      if (s.tracer) s.tracer->fill_leaf(t, s.inside[s.init.size() + s.next]);
      else if (s.no_turn) t = slice_shape(s.stacked[s.next]);
      else t = s.stacked[s.next].select(0, s.turn);
      break;
    case Part::Made:
      if (s.tracer) s.tracer->take_leaf(t, s.made);
      else take_eagerly(t);
      break;
    case Part::Given:
      if (s.tracer) s.tracer->take_leaf(t, s.made);
      else give_eagerly(t);
      break;
    case Part::Done: {
      std::vector<Tensor> gone;
      if (s.tracer) s.tracer->take_leaf(t, gone);
      else t = Tensor();
      break;
    }
    case Part::Last:
      if (s.tracer) s.tracer->fill_leaf(t, s.results[s.next]);
      else if (s.no_turn) t = s.init[s.next];
      break;
    case Part::Results: {
      if (s.tracer) {
        s.tracer->fill_leaf(t, s.results[s.init.size() + s.next]);
        break;
      }
      std::vector<Tensor> all = std::move(s.given[s.next]);
      if (s.no_turn) {
        Ints sizes{0};
        for (Int n : all[0].sizes()) sizes.push_back(n);
        t = empty_of(sizes, all[0].dtype(), s.stacked[0].device());
      } else {
        t = stacked_tensors(all, s.loc);
      }
      break;
    }
  }
  ++s.next;
}

void Scan::other(std::uint64_t word) {
  State& s = *state_;
  switch (s.part) {
    case Part::Init: s.words.add(word); break;
    case Part::Made: s.words.compare("scan", s.loc, word); break;
    case Part::Given:
      if (s.turn == 0) s.given_words.push_back(word);
      else if (s.next_word >= s.given_words.size() || s.given_words[s.next_word++] != word)
        fail(ErrorCode::InvalidArgument, "scan", s.loc,
             "turns give other texts or lengths of lists: only tensors are stacked");
      break;
    default: break;
  }
}

void Scan::integer(Int& i) {
  if (state_->part == Part::Given)
    fail(ErrorCode::InvalidArgument, "scan", state_->loc,
         "the body gives a number, and only tensors are stacked: make it a tensor");
  other(StateWords::word_of(i));
}
void Scan::number(Scalar& n) {
  Int word = n.word();
  integer(word);
}
void Scan::constant(std::uint64_t word, ConstantKind) { other(word); }
void Scan::text(std::string_view s) { other(hash_text(s)); }

}  // namespace reprise::detail
