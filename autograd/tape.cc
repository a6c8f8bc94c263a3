// The interpreter of Key::Autograd: answers calls by those below it, and writes down what is differentiable.
#include "autograd/tape.h"

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "autograd/op_node.h"
#include "autograd/state.h"
#include "autograd/tape_undo.h"
#include "autograd/trace_tape.h"
#include "autograd/views.h"
#include "base/bail.h"
#include "base/errors.h"
#include "base/mutex.h"
#include "graph/call_numbers.h"
#include "graph/tape_seam.h"
#include "graph/view_column.h"
#include "graph/wrapper.h"
#include "graph/writers.h"
#include "reprise/ops.h"
#include "tensor/frozen.h"

namespace reprise::autograd {

using graph::CallArg;
using graph::OpCall;
using graph::OpId;

namespace {

/// An operator without a rule of its own, through which no gradients come: of one that writes arguments, say.
struct NoDerivative final : Node {
  NoDerivative(std::string name, SourceLoc loc) : Node(loc), op(std::move(name)) {}
  std::string name() const override { return op; }
  std::vector<Tensor> apply(std::vector<Tensor>, Needed) override {
    fail(ErrorCode::InvalidArgument, op.c_str(), loc,
         "the operator has no derivative: detach() what it is given, or call it where gradients are off (NoGradScope)");
  }
  const std::string op;
};

bool is_followed(const Tensor& t) {
  return t.impl() && is_differentiable(t.impl()->dtype) && state_of(t) && state_of(t)->requires_grad();
}

/// A call that wants gradients, on its way through those below.
struct Recording {
  const OpCall& c;
  std::shared_ptr<Node> node;
  OpNode* op_node = nullptr;
  std::vector<Tensor> copies;  // of what an in-place call's rule reads of the memory that it writes

  explicit Recording(const OpCall& call, const Derivative* d) : c(call) {
    auto kept = std::make_shared<const Call>(c);
    std::vector<Edge> edges(kept->tensors);
    std::vector<const Tensor*> tensors(kept->tensors);
    for_each_tensor(c, [&](const Tensor& t, int arg, std::uint32_t n) {
      tensors[n] = &t;
      if (t.impl() && is_differentiable(t.impl()->dtype) && (!d || (d->differentiable >> arg & 1)))
        edges[n] = edge_of(t);
    });
    if (!d && !c.op.writes.empty()) {
      node = std::make_shared<NoDerivative>(kept->name(), c.loc);
      node->next = std::move(edges);
      return;
    }
    auto made = std::make_shared<OpNode>(kept);
    op_node = made.get();
    node = made;
    made->next = std::move(edges);
    if (!c.inplace) {
      made->save_inputs(tensors);
      return;
    }
    // What is read of the tensor that is written, or of its memory, is read of a copy.
    const Tensor& self = *tensors[0];
    copies.reserve(tensors.size());
    auto on_self = [&](const Tensor& t) { return t.impl() && self.shares_storage_with(t); };
    if (d)
      for (std::size_t i = 0; i < d->saves.n; ++i) {
        const Save& s = d->saves.all[i];
        bool wanted = false;
        for (int arg = 0; arg < static_cast<int>(kept->args.size()); ++arg)
          wanted = wanted || ((s.wanted_by >> arg & 1) && made->has_edge(arg));
        if (s.result || !wanted) continue;
        const std::size_t at = kept->first[static_cast<std::size_t>(s.index)], count = kept->count(s.index);
        for (std::size_t n = at; n < at + count; ++n) {
          if (!on_self(*tensors[n])) continue;
          copies.push_back(copy_with_place(*tensors[n], made->next[n]));
          tensors[n] = &copies.back();
        }
      }
    made->save_inputs(tensors);
  }

  static Tensor copy_with_place(const Tensor& t, const Edge& place) {
    Tensor copy = t.clone();  // below the tape: without a place
    if (place) set_made_by(copy, place.node, place.result);
    return copy;
  }
};

class Tape final : public graph::Interpreter {
 public:
  Tape() : Interpreter(graph::Key::Autograd) {}

  void call(const OpCall& c, std::vector<Tensor>& results) override {
    if (c.op.cls == graph::OpClass::View && !c.inplace) return call_view(c, results);
    const Derivative* d = derivatives().find(c.op.id);
    bool wants = false;
    for_each_tensor(c, [&](const Tensor& t, int arg, std::uint32_t) {
      wants = wants || ((!d || (d->differentiable >> arg & 1)) && is_followed(t));
    });
    const bool on = wants && gradients_are_on();
    const bool writes = c.inplace || !c.op.writes.empty();
    if (writes) check_writes(c, on);
    if (!on || (d && !d->rule && !writes)) {
      graph::forward(c, results);
      if (writes) note_writes(c);
      return;
    }
    const std::size_t first = results.size();
    std::optional<Recording> recording;
    {
      const Aside aside;
      recording.emplace(c, d);
    }
    graph::forward(c, results);
    const Aside aside;
    record(*recording, std::span(results).subspan(first));
    if (writes) note_writes(c);
  }

  void mutate_metadata(const OpCall& c) override {
    const Tensor& self = *std::get<const Tensor*>(c.args[0]);
    const State* s = state_of(self);
    const bool on = s && s->requires_grad() && gradients_are_on();
    if (!s || (!on && !s->view)) return graph::forward_metadata(c);
    // A view is followed whether or not something wants a gradient; what nobody wants one of may change as it likes.
    const bool wanted = on || requires_grad(*s->view->base.impl());
    const std::string name = std::string(c.op.name()) + "_";
    const bool takes_memory = graph::view_facts_of(c.op.id).of == graph::ViewOf::Source;
    if (!on && takes_memory && shows_its_base(c, self)) return show_otherwise(c, self, wanted);
    if (!wanted && (takes_memory || graph::is_view_of_storage(c.op.id))) {
      TapeUndo::note(self);
      graph::forward_metadata(c);
      if (TraceTape* trace = TraceTape::current()) trace->note(self);
      State& now = *state_of(self);
      now.view = nullptr;
      now.unfollowed = !takes_memory;
      return;
    }
    if (takes_memory || graph::is_view_of_storage(c.op.id))
      fail(ErrorCode::InvalidArgument, name.c_str(), c.loc,
           "of a tensor on the tape: its memory would be another's; detach() it, or call it where gradients are off "
           "(NoGradScope) on one that is no view");
    if (on && is_leaf(self))
      fail(ErrorCode::InvalidArgument, name.c_str(), c.loc,
           "of a leaf that wants a gradient, which would have other sizes then");
    // A replay would have to do so to the caller's tape.
    if (wanted && is_of_caller(self)) bail(Bail::changes_tape, name.c_str(), c.loc);
    std::shared_ptr<const Call> call;
    Edge before;
    {
      const Aside aside;
      call = std::make_shared<const Call>(OpCall{c.op, c.args, false, c.loc});
      before = edge_of(self);
      TapeUndo::note(self);
    }
    graph::forward_metadata(c);
    const Aside aside;
    State& now = *state_of(self);
    if (TraceTape* trace = TraceTape::current()) trace->note(self);
    if (now.view) now.view->steps.push_back(call);
    if (wanted) count_changed(self);
    if (now.view) now.view->version = version_of(*self.impl());
    if (!before) return;
    auto node = std::make_shared<OpNode>(call);
    node->next = {std::move(before)};
    node->results = {meta_of_result(self)};
    set_made_by(self, node, 0);
  }

 private:
  /// Is the memory that a view takes its own, as another view of its base shows it (as_strided_)?
  static bool shows_its_base(const OpCall& c, const Tensor& self) {
    const State *s = state_of(self), *source = state_of(*std::get<const Tensor*>(c.args[1]));
    return s && s->view && source && source->view && source->view->base.impl() == s->view->base.impl();
  }
  /// In a trace: does the caller have the handle, too?
  static bool is_of_caller(const Tensor& t) {
    return t.impl()->trace ? t.impl()->trace->is_input() : TraceTape::current() != nullptr;
  }
  /// Who kept the handle kept other sizes.
  static void count_changed(const Tensor& t) {
    if (t.impl()->trace) t.impl()->trace->count_write();
    else count_write(*t.impl()->storage);
  }
  static void show_otherwise(const OpCall& c, const Tensor& self, bool wanted) {
    if (wanted && (self.impl()->trace || TraceTape::current())) bail(Bail::changes_tape, "as_strided_", c.loc);
    TapeUndo::note(self);
    graph::forward_metadata(c);
    const Aside aside;
    if (TraceTape* trace = TraceTape::current()) trace->note(self);
    ViewOf& view = *state_of(self)->view;
    view.steps = state_of(*std::get<const Tensor*>(c.args[1]))->view->steps;
    if (wanted) count_changed(self);
    view.version = wanted ? kStale : version_of(*self.impl());
  }

  static void call_view(const OpCall& c, std::vector<Tensor>& results) {
    graph::forward(c, results);
    const Tensor& self = *std::get<const Tensor*>(c.args[0]);
    const Tensor made = results.back();
    if (!is_differentiable(made.impl()->dtype)) return;
    const Aside aside;
    if (graph::leaves_tape(c.op.id)) {
      make_state(made).unfollowed = false;  // it is known, and a view of nothing
      return;
    }
    if (made.impl() == self.impl()) return;
    // What shows a wrapper's inner tensor has been followed as a view of that; the handle counts where it wants one.
    if (graph::state_of_wrapper(self) && !graph::state_of_wrapper(made) && !is_followed(self)) return;
    follow_view(c, self, made, gradients_are_on());
  }

  /// Is a write to it, also of what wants no gradient, one that its base's derivative may or may not see?
  static bool is_ambiguous(const Tensor& t) {
    const State* s = state_of(t);
    return s && s->view && s->view->made == graph::ViewMade::GradientsOff && requires_grad(*s->view->base.impl()) &&
           gradients_are_on();
  }
  static void check_writes(const OpCall& c, bool on) {
    const auto check = [&](const Tensor& t, const std::string& op) {
      check_may_write(t, op, on || is_ambiguous(t), c.loc);
    };
    if (c.inplace) return check(*std::get<const Tensor*>(c.args[0]), std::string(c.op.name()) + "_");
    graph::for_each_written(c, [&](const Tensor& t) { check(t, c.op.schema.name); });
  }
  static void note_writes(const OpCall& c) {
    if (c.inplace) return note_write(*std::get<const Tensor*>(c.args[0]), c.loc);
    graph::for_each_written(c, [&](const Tensor& t) { note_write(t, c.loc); });
  }

  static void record(Recording& r, std::span<Tensor> made) {
    const OpCall& c = r.c;
    const std::shared_ptr<Node>& node = r.node;
    node->traced = graph::call_numbers.latest;
    for (const Tensor& t : made) node->results.push_back(meta_of_result(t));
    if (c.inplace) {
      if (r.op_node) r.op_node->save_results(made);
      if (is_differentiable(made[0].impl()->dtype)) written_by(made[0], node, 0);
      return;
    }
    auto is_given = [&](const Tensor& t) {
      bool same = false;
      for_each_tensor(c, [&](const Tensor& a, int, std::uint32_t) { same = same || a.impl() == t.impl(); });
      return same;
    };
    std::uint32_t n = static_cast<std::uint32_t>(made.size());
    for (std::uint32_t i = 0; i < made.size(); ++i)
      if (made[i].defined() && is_differentiable(made[i].impl()->dtype) && !is_given(made[i]))
        set_made_by(made[i], node, i);
    if (!c.op.writes.empty())
      graph::for_each_written(c, [&](const Tensor& t) {
        node->results.push_back(meta_of_result(t));
        if (is_differentiable(t.impl()->dtype)) set_made_by(t, node, n);
        ++n;
      });
    if (r.op_node) r.op_node->save_results(made);
  }
};

}  // namespace

void follow() {
  if (graph::tape.load(std::memory_order_relaxed)) return;
  static auto* tape = new Tape;  // never destroyed: static objects' destructors may use tensors
  graph::tape.store(tape, std::memory_order_release);
  graph::keys_of_views.store(bit(graph::Key::Autograd), std::memory_order_release);
}

bool gradients_are_on() {
  graph::note_read(graph::Setting::NoGrad);
  return graph::setting(graph::Setting::NoGrad) == 0;
}

namespace {
/// The latest writes that the tape has seen: for what errors say, so that losing one loses a line number.
struct Writes {
  Mutex mu;
  struct Write {
    const void* storage;
    SourceLoc loc;
  };
  std::array<Write, 64> latest REPRISE_GUARDED_BY(mu){};  // a ring
  std::size_t next = 0;
};
Writes& writes() {
  static auto* w = new Writes;  // never destroyed, as the tape
  return *w;
}
const void* storage_of(const Tensor& t) { return t.impl()->trace ? t.impl()->trace->storage_id() : t.impl()->storage; }
}  // namespace

void note_write(const Tensor& t, SourceLoc loc) {
  Writes& w = writes();
  const MutexLock lock(w.mu);
  w.latest[w.next++ % w.latest.size()] = {storage_of(t), loc};
}
std::string last_write_text(const Tensor& t) {
  Writes& w = writes();
  const MutexLock lock(w.mu);
  for (std::size_t i = 0; i < w.latest.size(); ++i) {
    const Writes::Write& at = w.latest[(w.next + w.latest.size() - 1 - i) % w.latest.size()];
    if (at.storage == storage_of(t) && at.loc)
      return " at " + std::string(at.loc.file) + ":" + std::to_string(at.loc.line);
  }
  return "";
}

EngineScope::EngineScope(bool create_graph) : before_(graph::thread_state) {
  graph::ThreadState& t = graph::thread_state;
  t.answered = static_cast<graph::Keys>(t.answered & ~bit(graph::Key::Autograd));
  t.modes = static_cast<graph::Keys>(t.modes & ~bit(graph::Key::Autocast));
  t.top[static_cast<std::size_t>(graph::Key::Autocast)] = nullptr;
  t.word &= ~(bits_of(graph::Setting::Autocast) | bits_of(graph::Setting::NoGrad));
  if (!create_graph) t.word |= one_of(graph::Setting::NoGrad);
  t.own |= bits_of(graph::Setting::Autocast) | bits_of(graph::Setting::NoGrad);
}
EngineScope::~EngineScope() {
  const std::uint64_t read = graph::thread_state.read;
  graph::thread_state = before_;
  graph::thread_state.read = read;
}

}  // namespace reprise::autograd
