// CompileOptions::check: what a replay did against what the function does.
#include "runtime/front/check.h"

#include <algorithm>

#include "autograd/tape_undo.h"
#include "base/errors.h"
#include "base/line_text.h"
#include "device/backend.h"
#include "device/late_faults.h"
#include "graph/wrapper.h"
#include "runtime/build/compare.h"

namespace reprise::detail {

void Leaves::add(Leaf::Kind kind, std::uint64_t word) { all.push_back({kind, path_.text(), Tensor(), word, ""}); }
void Leaves::tensor(const Tensor& t) {
  if (const graph::WrapperState* const s = graph::state_of_wrapper(t)) return s->type.read(s->value.get(), *this);
  add(Leaf::Kind::Tensor, 0);
  all.back().tensor = t;
}
void Leaves::integer(const Int& i) { add(Leaf::Kind::Number, static_cast<std::uint64_t>(i.hint())); }
void Leaves::number(const Scalar& s) {
  add(Leaf::Kind::Number, static_cast<std::uint64_t>(s.word().hint()));
  all.back().text = s.str();
}
void Leaves::constant(std::uint64_t v, ConstantKind) { add(Leaf::Kind::Constant, v); }
void Leaves::text(std::string_view s) {
  add(Leaf::Kind::Text, s.size());
  all.back().text = s;
}

struct CheckedCall::State {
  Compiled& c;
  const Specialization& s;
  CallFrame frame;
  std::vector<Tensor> inputs;  // of the frame: whoever else holds them may let go meanwhile
  CheckInterpreter run;
  Leaves results, before, after;  // of the function
  /// What a result has in common with the inputs (below 0: -1 - i) or with a result before it, or else its own number.
  struct Common {
    int storage, handle;
    friend bool operator==(const Common&, const Common&) = default;
  };
  /// Of each result: what is lost when its memory is as before the call.
  struct Made {
    Common common;
    std::int64_t strides[kMaxRank];
    CheckInterpreter::Maker maker;
  };
  std::vector<Made> made;
  /// A variable that the function assigns.
  struct Assigned {
    std::shared_ptr<Variable> variable;
    Tensor before, after;  // after: as the function left it
  };
  std::vector<Assigned> assigned;
  void put_back() {
    for (Assigned& a : assigned)
      if (Tensor* at = a.variable->handle()) *at = a.before;
  }
  bool threw = false, caught = false;  // caught: an error that it did not let out
  bool assumed = false;                // what the replay takes for granted of data does not hold
  std::optional<ErrorCode> code;       // of what it threw, if that is an Error
  std::string thrown;

  State(Compiled& c, const Specialization& s, const CallFrame& f)
      : c(c), s(s), frame(f), before(Path::of_arguments(c.options.arguments)),
        after(Path::of_arguments(c.options.arguments)) {
    for (TensorImpl* t : frame.tensors) inputs.push_back(Tensor::share(t));
    for (const auto& v : s.assigned)
      if (const Tensor* at = v->handle()) assigned.push_back({v, *at, Tensor()});
  }

  [[noreturn]] void differs(const std::string& what, SourceLoc loc = {}) {
    run.restore();
    put_back();
    const auto& nodes = s.program.graph.nodes;
    const auto loop = std::find_if(nodes.begin(), nodes.end(), [](const graph::Node& n) { return graph::turns_of(n); });
    if (loop != nodes.end())
      fail(ErrorCode::CheckFailed, c.options.name.c_str(), loc ? loc : loop->info.loc,
           "the replay is not what the function does: ", what, ". Likely cause: the body of ",
           graph::op(loop->op).name(), " (", line_text(loop->info.loc, "an unknown line"),
           ") counts in a number of C++, or reads one that changes from turn to turn: compiled, the body runs once, "
           "while it is traced. Make it a tensor of the loop's state. Where no number changes, within the loop or "
           "outside it, it is a defect of Reprise (docs/troubleshooting.md, The result looks wrong)");
    fail(ErrorCode::CheckFailed, c.options.name.c_str(), loc, "the replay is not what the function does: ", what,
         ". Likely cause: a number or flag that the function captures by reference, a global, a container's length or "
         "a pointer that it reads has changed since it was "
         "compiled (or the function itself changes one). Pass it as an argument, a number as reprise::Int or "
         "reprise::Scalar, or call reset() after a change. If nothing of the "
         "kind changes, it is a defect of Reprise (docs/troubleshooting.md, The result looks wrong)");
  }

  std::vector<Common> common_of(const Leaves& l) const {
    std::unordered_map<const void*, int> first;
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      first.emplace(inputs[j].impl(), -1 - static_cast<int>(j));
      first.emplace(inputs[j].impl()->storage, -1 - static_cast<int>(j));
    }
    std::vector<Common> all;
    for (std::size_t i = 0; i < l.all.size(); ++i) {
      const int own = static_cast<int>(i);
      const TensorImpl* t = l.all[i].tensor.impl();
      all.push_back(t ? Common{first.emplace(t->storage, own).first->second, first.emplace(t, own).first->second}
                      : Common{own, own});
    }
    return all;
  }

  const std::string& name(std::size_t input) const {
    return s.program.graph.values[s.program.graph.inputs[input].value.v].name;
  }

  static std::string from(const CheckInterpreter::Maker& m, const char* how) {
    return m.op ? std::string("; ") + how + " by " + std::string(m.op->name()) : "";
  }

  void compare_results(const Leaves& found, const CallCloseness&);
  void compare_effects(const CallCloseness&);
};

CheckedCall::CheckedCall(Compiled& c, const Specialization& s, const CallFrame& f)
    : state_(std::make_unique<State>(c, s, f)) {
  // What an earlier call is late to tell must not look like what the function does.
  if (const Device d = s.program.device; !device::runs_host_code(d))
    device::throw_late(device::backend(d).current_stream());
}
CheckedCall::~CheckedCall() = default;

void CheckedCall::eagerly(void (*body)(void*, Leaves&, Leaves&, Leaves&), void* ctx) {
  State& st = *state_;
  for (std::uint32_t i : st.s.written_inputs) st.run.keep_bytes(st.inputs[i]);
  for (const Tensor& t : st.inputs) st.run.keep_metadata(t);
  const autograd::TapeUndo tape;  // the replay's places are what counts
  const std::uint64_t errors = errors_made();
  try {
    graph::ModeScope scope(st.run);
    body(ctx, st.results, st.before, st.after);
    st.caught = errors_made() != errors;
  } catch (const Error& e) {
    st.threw = true, st.code = e.code(), st.thrown = e.what();
    // one before it; or the same under another name, where the replay may as well be asked again
    st.caught = errors_made() - errors > 1;
  } catch (const std::exception& e) {
    st.threw = true, st.thrown = e.what();
  } catch (...) {
    st.threw = true, st.thrown = "an exception";
  }
  graph::PlainScope plain;
  const std::vector<State::Common> common = st.common_of(st.results);
  for (std::size_t i = 0; i < common.size(); ++i) {
    State::Made m{common[i], {}, {}};
    if (Tensor& t = st.results.all[i].tensor; t.impl() && !t.impl()->trace) {
      std::copy(std::begin(t.impl()->strides), std::end(t.impl()->strides), m.strides);
      m.maker = st.run.maker(t.impl()->storage);
      // it shows memory that is about to be as before
      if (!st.run.is_own(t) && !t.impl()->storage->released) t = t.clone();
    }
    st.made.push_back(m);
  }
  for (State::Assigned& a : st.assigned) {
    if (const Tensor* at = a.variable->handle()) a.after = *at;
    const bool bytes = a.after.defined() && !(a.after.impl()->keys & kWrappedKey);
    if (bytes && !st.run.is_own(a.after) && !a.after.impl()->storage->released) a.after = a.after.clone();
  }
  st.put_back();
  st.run.undo();
}

void CheckedCall::replay(Outputs& outputs) {
  State& st = *state_;
  st.c.checks.fetch_add(1, std::memory_order_relaxed);
  try {
    run(st.s, st.frame, outputs);
  } catch (const Error& e) {
    st.assumed = e.code() == ErrorCode::NotTraceable;
    if (st.assumed || st.caught || (st.threw && st.code == e.code())) throw;
    if (e.code() == ErrorCode::OutOfMemory) throw;
    st.differs(std::string("it throws '") + e.what() + "' where the function " +
                   (st.threw ? "throws '" + st.thrown + "'" : "throws nothing"),
               e.where());
  }
  if (st.threw && st.code == ErrorCode::OutOfMemory) return;  // there was no room for both
  if (st.threw) st.differs("the function throws '" + st.thrown + "', the replay nothing");
}

// Likewise where a replay cannot serve the call, because an assumption of data does not hold: the function runs again.
bool CheckedCall::function_catches() const { return state_->caught || state_->assumed; }

void CheckedCall::State::compare_results(const Leaves& found, const CallCloseness& close) {
  using Kind = Leaves::Leaf::Kind;
  const std::vector<Common> common = common_of(found);
  std::size_t tensors = 0;
  for (std::size_t i = 0; i < std::max(results.all.size(), found.all.size()); ++i) {
    if (i >= results.all.size() || i >= found.all.size() || results.all[i].kind != found.all[i].kind)
      differs("the result has another structure");
    const Leaves::Leaf &want = results.all[i], &got = found.all[i];
    const std::string what = "result" + (got.path.empty() ? "" : " " + got.path);
    if (want.kind != Kind::Tensor) {
      if (want.word == got.word && want.text == got.text) continue;
      if (want.kind == Kind::Number && want.text.empty())
        differs(what + " is " + std::to_string(static_cast<std::int64_t>(got.word)) + " in the replay and " +
                std::to_string(static_cast<std::int64_t>(want.word)) + " when the function runs");
      if (want.kind != Kind::Constant)
        differs(what + " is '" + got.text + "' in the replay and '" + want.text + "' when the function runs");
      differs(what + " (a number, a length or whether something is there) is another one when the function runs");
    }
    const std::size_t at = tensors++;
    if (want.tensor.defined() != got.tensor.defined())
      differs(what + (got.tensor.defined() ? " is undefined when the function runs, but not in the replay"
                                           : " is defined when the function runs, but not in the replay"));
    if (!want.tensor.defined()) continue;
    const CheckInterpreter::Maker& maker = made[i].maker;
    const TensorImpl &w = *want.tensor.impl(), &g = *got.tensor.impl();
    if (w.dtype != g.dtype || w.device != g.device)
      differs(what + " has another dtype or device when the function runs" + from(maker, "made"), maker.loc);
    // What the function makes and shows once, a replay gives in row-major order.
    const Common& c = made[i].common;
    const bool lone = c.storage >= 0 && std::none_of(made.begin(), made.end(), [&](const Made& m) {
                        return m.common.storage == c.storage && m.common.handle != c.handle;
                      });
    if (auto d = shape_difference(w.sizes, lone ? g.strides : made[i].strides, w.rank, g.sizes, g.strides, g.rank))
      differs(what + ": " + *d + from(maker, "made"), maker.loc);
    if (c != common[i])
      differs(what + " is, or shares memory with, another tensor when the function runs than in the replay" +
                  from(maker, "made"),
              maker.loc);
    if (auto d = element_difference(want.tensor, got.tensor, close.of_result(s.tensor_results[at])))
      differs(what + ": " + *d + from(maker, "made"), maker.loc);
  }
}

void CheckedCall::State::compare_effects(const CallCloseness& close) {
  auto input_of = [&](auto&& is) {
    return static_cast<std::size_t>(std::find_if(inputs.begin(), inputs.end(), is) - inputs.begin());
  };
  for (const CheckInterpreter::Shaped& t : run.shaped) {
    const std::size_t i = input_of([&](const Tensor& x) { return x.impl() == t.tensor.impl(); });
    const std::string what = i < inputs.size() ? name(i) : "a tensor that the replay does not know";
    const TensorImpl& now = *t.tensor.impl();
    if (auto d = shape_difference(t.after.sizes, t.after.strides, t.after.rank, now.sizes, now.strides, now.rank))
      differs(what + ": " + *d);
    if (t.after.offset != now.offset) differs(what + " begins elsewhere in its storage when the function runs");
    if (t.elements.impl())
      if (auto d = element_difference(t.elements, t.tensor, i < inputs.size() ? close.of_input[i] : Closeness::Bits))
        differs(what + ": " + *d);
  }
  for (const CheckInterpreter::Written& w : run.written) {
    const Storage* storage = w.all.impl()->storage;
    if (!w.after.impl() || storage->released) continue;
    const std::size_t i = input_of([&](const Tensor& x) { return x.impl()->storage == storage; });
    const CheckInterpreter::Maker maker = run.maker(storage);
    const std::string what = i < inputs.size() ? name(i) : "a tensor that the replay does not know";
    Closeness level = Closeness::Bits;
    for (std::size_t j = 0; j < inputs.size(); ++j)
      if (inputs[j].impl()->storage == storage) level = std::max(level, close.of_input[j]);
    if (auto d = element_difference(w.after, w.all, level))
      differs("what is written to " + what + ": " + *d + " (counted from the start of its storage)" +
                  from(maker, "written"),
              maker.loc);
  }
}

void CheckedCall::compare(const Leaves& found) {
  State& st = *state_;
  if (st.threw) return;
  const runtime::Program& p = st.s.program;
  // Another thread has taken random numbers between the two: they are other ones, and nothing can be said.
  if (p.uses_random &&
      (st.frame.values[kSeedValue] != st.run.seed || st.frame.values[kOffsetValue] != st.run.first_random))
    return;
  if (!p.uses_random && st.run.random_taken) st.differs("the function takes random numbers, the replay none");

  for (std::size_t i = 0; i < std::max(st.before.all.size(), st.after.all.size()); ++i) {
    const Leaves::Leaf* b = i < st.before.all.size() ? &st.before.all[i] : nullptr;
    const Leaves::Leaf* a = i < st.after.all.size() ? &st.after.all[i] : nullptr;
    if (!a || !b || a->kind != b->kind || a->word != b->word || a->text != b->text ||
        a->tensor.impl() != b->tensor.impl())
      st.differs("the function assigns to an argument" + (b ? " (" + b->path + ")" : ""));
  }
  // What a pattern was replaced by may be rounded differently.
  const bool replaced = std::any_of(st.s.patterns.begin(), st.s.patterns.end(),
                                    [](const passes::PatternRecord& r) { return r.matches > 0; });
  const CallCloseness close(p.graph, st.s, st.inputs.size(), replaced || st.c.mode == kernels::Mode::Interpret);
  st.compare_results(found, close);
  st.compare_effects(close);
  for (std::size_t i = 0; i < st.assigned.size(); ++i) {
    const State::Assigned& a = st.assigned[i];
    const Tensor* at = a.variable->handle();
    const std::string what = "a variable that the function assigns";
    if (!at || at->defined() != a.after.defined())
      st.differs(what + " is another one, or holds a tensor in one run only");
    if (!a.after.defined()) continue;
    const TensorImpl &w = *a.after.impl(), &g = *at->impl();
    if (w.dtype != g.dtype || w.rank != g.rank || !std::equal(w.sizes, w.sizes + w.rank, g.sizes))
      st.differs(what + " has another dtype or other sizes when the function runs");
    if ((w.keys | g.keys) & kWrappedKey) continue;  // a handle of a wrapper, without bytes
    const std::size_t leaf = st.s.tensor_results.size() - st.assigned.size() + i;
    if (auto d = element_difference(a.after, *at, close.of_result(st.s.tensor_results[leaf])))
      st.differs(what + ": " + *d);
  }
}

}  // namespace reprise::detail
