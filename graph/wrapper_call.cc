// Calls of operators with wrapper tensors among their arguments.
#include <algorithm>
#include <deque>
#include <sstream>

#include "base/bail.h"
#include "base/errors.h"
#include "graph/region_gradients.h"
#include "graph/rule_args.h"
#include "graph/shape_rules.h"
#include "graph/wrapper.h"
#include "graph/writers.h"
#include "reprise/ops.h"
#include "tensor/frozen.h"
#include "tensor/wrapped.h"

namespace reprise {

using graph::CallArg;
using graph::OpCall;
using graph::WrapperState;

/// One class is asked for its rules, or for its default.
struct WrapperCall::State {
  const OpCall& call;
  const detail::WrapperType& type;
  const std::vector<Looks>& expected;
  bool defaults;
  bool answered = false;
  std::vector<Tensor> results;

  std::string name() const { return call.op.schema.name + (call.inplace ? "_" : ""); }
  template <class... P>
  [[noreturn]] void refuse(ErrorCode code, const P&... why) const {
    fail(code, name().c_str(), call.loc, "wrapper ", type.name, ": ", why...);
  }
  const CallArg& arg(std::size_t i) const {
    if (i >= call.args.size())
      refuse(ErrorCode::InvalidArgument, "a rule asks for argument ", i, ", and there are ", call.args.size());
    return call.args[i];
  }
  template <class T>
  const T& get(std::size_t i, const char* what) const {
    const T* v = std::get_if<T>(&arg(i));
    if (!v) refuse(ErrorCode::InvalidArgument, "a rule takes '", call.op.schema.args[i].name, "' for ", what);
    return *v;
  }
};

namespace {

constexpr int kMostDepth = 64;
thread_local int t_depth = 0;

template <class F>
void for_each_tensor(const OpCall& c, F&& f) {
  for (const CallArg& a : c.args) {
    if (auto* t = std::get_if<const Tensor*>(&a); t && *t) f(**t);
    if (auto* list = std::get_if<TensorArrayRef>(&a))
      for (const Tensor& t : *list) f(t);
  }
}

/// While rules run: operators that they call with wrappers are dispatched again.
class InRule {
 public:
  explicit InRule(const OpCall& c, const WrapperState& s)
      : answered_(static_cast<graph::Keys>(graph::thread_state.answered & asked_again(c))) {
    if (t_depth >= kMostDepth)
      fail(ErrorCode::InvalidArgument, c.op.schema.name.c_str(), c.loc, "wrapper ", s.type.name,
           ": its rules call operators with wrappers in ", kMostDepth,
           " calls inside each other: a rule that calls its own operator takes inner tensors");
    ++t_depth;
    graph::thread_state.answered &= static_cast<graph::Keys>(~answered_);
  }
  ~InRule() {
    --t_depth;
    graph::thread_state.answered |= answered_;
  }
  InRule(const InRule&) = delete;

 private:
  /// Also the tape, where it follows no tensor of the call: inner tensors may want gradients, and be shown by views.
  static graph::Keys asked_again(const OpCall& c) {
    bool followed = false;
    for_each_tensor(c, [&](const Tensor& t) { followed |= t.impl() && requires_grad(*t.impl()); });
    return static_cast<graph::Keys>(bit(graph::Key::Wrapper) | (followed ? 0 : bit(graph::Key::Autograd)));
  }

  const graph::Keys answered_;
};

/// Is this tensor of the call written?
bool writes_argument(const OpCall& c, std::size_t arg) {
  return (c.inplace && arg == 0) || std::find(c.op.writes.begin(), c.op.writes.end(), arg) != c.op.writes.end();
}

std::vector<Looks> expected_of(const OpCall& c) {
  if (c.op.cls == graph::OpClass::Transfer) return {};
  const graph::RuleArgs args(c.args);
  graph::RuleCtx rule{c.op, args.all(), c.loc, {}};
  graph::infer(rule);
  if (c.inplace && rule.results.size() == 1)
    graph::check_inplace(c.op, meta_of(*std::get<const Tensor*>(c.args[0])), rule.results[0], c.loc);
  std::vector<Looks> all;
  for (const TensorMeta& m : rule.results) all.push_back({m.layout.sizes, m.dtype});
  return all;
}

std::string text_of(const Looks& l) { return graph::sizes_text(l.sizes) + " of " + std::string(dtype_name(l.dtype)); }

/// What a rule has given is what it says.
void check_results(const WrapperCall::State& s) {
  if (s.call.op.cls == graph::OpClass::Transfer) return;
  if (s.results.size() != s.expected.size())
    s.refuse(ErrorCode::InvalidArgument, "its rule gives ", s.results.size(), " tensors, and the operator ",
             s.expected.size());
  for (std::size_t i = 0; i < s.results.size(); ++i) {
    const Looks& want = s.expected[i];
    if (!s.results[i].impl()) s.refuse(ErrorCode::InvalidArgument, "its rule gives an undefined tensor");
    const TensorMeta m = meta_of(s.results[i]);
    const Looks got{m.layout.sizes, m.dtype};
    const bool same = std::equal(got.sizes.begin(), got.sizes.end(), want.sizes.begin(), want.sizes.end(),
                                 [](const Int& a, const Int& b) { return a.hint() == b.hint(); });
    if (!same || got.dtype != want.dtype)
      s.refuse(same ? ErrorCode::DTypeMismatch : ErrorCode::ShapeMismatch, "its rule gives ", text_of(got),
               ", and the operator's result is ", text_of(want));
  }
}

void store_in(const Tensor& wrapper, const Tensor& value, SourceLoc loc) {
  const WrapperState* s = graph::state_of_wrapper(wrapper);
  if (!s->type.store)
    fail(ErrorCode::InvalidArgument, s->type.name.c_str(), loc, "is not written in place (", s->type.name, "::store)");
  s->type.store(s->value.get(), value, loc);
}

/// The same value behind another handle.
void same_value(const OpCall& c, std::vector<Tensor>& results) {
  const Tensor& t = *std::get<const Tensor*>(c.args[0]);
  TensorImpl& of = *t.impl();
  auto state = std::static_pointer_cast<WrapperState>(of.notes->wrapper);
  if (of.trace || current_trace) {
    graph::forward(c, results);
  } else {
    retain(of.storage);
    results.push_back(Tensor::adopt(new_impl(of.dtype, of.device, of.sizes, of.strides, of.rank, 0, of.storage)));
    results.back().impl()->is_view = true;
  }
  graph::make_handle(*results.back().impl(), std::move(state));
}

}  // namespace

namespace graph {

bool keeps_value(const OpDef& op) { return op.id == OpId::alias || op.id == OpId::detach; }

void WrapperState::mutate_metadata(const OpCall& c) {
  fail(ErrorCode::InvalidArgument, c.op.schema.name.c_str(), c.loc, "wrapper ", type.name,
       ": sizes and strides of its handle are not changed in place");
}

void WrapperState::call(const OpCall& c, std::vector<Tensor>& results) {
  // Captured ones: the trace depends on the variable that holds it.
  if (current_trace)
    for_each_tensor(c, [](const Tensor& t) {
      if (t.impl() && !t.impl()->trace && graph::state_of_wrapper(t)) current_trace->traced_of_captured(t);
    });
  if (current_trace)
    for_each_tensor(c, [&](const Tensor& t) {
      if (t.impl() && is_in_region_that_wants_gradients(*t.impl()))
        bail(Bail::wrapped, c.op.schema.name.c_str(), c.loc,
             "computes with a wrapper in a region that wants gradients");
    });
  if (keeps_value(c.op)) return same_value(c, results);
  if (current_trace && (c.inplace || !c.op.writes.empty()))
    for_each_tensor(c, [&](const Tensor& t) {
      if (t.impl() && (t.impl()->keys & kAutogradKey) && graph::state_of_wrapper(t))
        bail(Bail::wrapped, c.op.schema.name.c_str(), c.loc, "writes in place, and wants gradients of a wrapper");
    });
  const std::vector<Looks> expected = expected_of(c);
  const InRule inside(c, *this);
  std::vector<const reprise::detail::WrapperType*> types;
  for_each_tensor(c, [&](const Tensor& t) {
    const WrapperState* s = graph::state_of_wrapper(t);
    if (s && std::find(types.begin(), types.end(), &s->type) == types.end()) types.push_back(&s->type);
  });
  for (const bool defaults : {false, true})
    for (const auto* of : types) {
      WrapperCall::State state{c, *of, expected, defaults, false, {}};
      WrapperCall asked(state);
      of->dispatch(asked);
      if (!state.answered) continue;
      const bool writes = c.inplace || !c.op.writes.empty();
      if (writes) {
        if (c.inplace) {
          const Tensor& self = *std::get<const Tensor*>(c.args[0]);
          if (state.results.size() == 1 && !state.results[0].is_same(self)) {
            const Tensor value = plain(state.results[0], c.loc);
            if (graph::state_of_wrapper(self)) store_in(self, value, c.loc);
            else self.copy_(value, c.loc);
          }
          state.results = {self};
        }
        for (std::size_t i = 0; i < c.args.size(); ++i)
          if (auto* t = std::get_if<const Tensor*>(&c.args[i]); t && *t && writes_argument(c, i))
            if ((*t)->impl() && has_no_bytes(*(*t)->impl())) count_write(*(*t)->impl()->storage);
      } else {
        check_results(state);
        if (c.op.id == graph::OpId::item) state.results[0] = plain(state.results[0], c.loc);
      }
      results.insert(results.end(), state.results.begin(), state.results.end());
      return;
    }
  std::string names;
  for (const auto* of : types) names += (names.empty() ? "" : ", ") + of->name;
  fail(ErrorCode::InvalidArgument, (c.op.schema.name + (c.inplace ? "_" : "")).c_str(), c.loc, "wrapper ", names,
       " has no rule for this operator, and no default (dispatch: on, otherwise)");
}

}  // namespace graph

// ---- what rules are given

std::string_view WrapperCall::op() const { return state_.call.op.name(); }
bool WrapperCall::inplace() const { return state_.call.inplace; }
bool WrapperCall::is_view() const { return state_.call.op.cls == graph::OpClass::View; }
bool WrapperCall::is_pointwise() const { return state_.call.op.cls == graph::OpClass::Pointwise; }
SourceLoc WrapperCall::loc() const { return state_.call.loc; }
std::size_t WrapperCall::size() const { return state_.call.args.size(); }
bool WrapperCall::has(std::size_t i) const {
  return i < size() && !std::holds_alternative<std::monostate>(state_.call.args[i]);
}
bool WrapperCall::is_tensor(std::size_t i) const {
  return i < size() && std::holds_alternative<const Tensor*>(state_.call.args[i]);
}
const Tensor& WrapperCall::tensor(std::size_t i) const {
  static const Tensor none;
  auto* t = i < size() ? std::get_if<const Tensor*>(&state_.call.args[i]) : nullptr;
  return t && *t ? **t : none;
}
std::vector<Tensor> WrapperCall::tensors(std::size_t i) const {
  const auto& list = state_.get<TensorArrayRef>(i, "a list of tensors");
  return {list.begin(), list.end()};
}
Scalar WrapperCall::number(std::size_t i) const {
  if (auto* n = std::get_if<Int>(&state_.arg(i))) return Scalar(*n);
  return state_.get<Scalar>(i, "a number");
}
Int WrapperCall::integer(std::size_t i) const { return state_.get<Int>(i, "an integer"); }
Ints WrapperCall::ints(std::size_t i) const { return state_.get<IntArrayRef>(i, "a list of integers").vec(); }
bool WrapperCall::flag(std::size_t i) const { return state_.get<bool>(i, "a bool"); }
DType WrapperCall::dtype(std::size_t i) const { return state_.get<DType>(i, "a dtype"); }
std::string WrapperCall::text(std::size_t i) const { return std::string(state_.get<std::string_view>(i, "a string")); }
const Looks& WrapperCall::expected(std::size_t result) const {
  if (result >= state_.expected.size())
    state_.refuse(ErrorCode::InvalidArgument, "a rule asks for result ", result, " of ", state_.expected.size());
  return state_.expected[result];
}

bool WrapperCall::is_written(std::size_t i) const { return writes_argument(state_.call, i); }
TensorArrayRef WrapperCall::list(std::size_t i) const {
  auto* l = std::get_if<TensorArrayRef>(&state_.call.args[i]);
  return l ? *l : TensorArrayRef();
}

bool WrapperCall::wants(std::string_view op) const {
  return !state_.answered && !state_.defaults && op == state_.call.op.name();
}
bool WrapperCall::wants_default() const { return !state_.answered && state_.defaults; }
void WrapperCall::answer(Tensor result) {
  if (!result.impl()) return;  // it does not know this call
  state_.results.assign(1, std::move(result));
  state_.answered = true;
}
void WrapperCall::answer(std::vector<Tensor> results) {
  state_.results = std::move(results);
  state_.answered = true;
}

std::vector<Tensor> WrapperCall::call(const std::function<Tensor(const Tensor&)>& each) {
  const OpCall& c = state_.call;
  std::deque<Tensor> tensors;
  std::deque<std::vector<Tensor>> lists;
  std::vector<CallArg> args(c.args.begin(), c.args.end());
  for (CallArg& a : args) {
    if (auto* t = std::get_if<const Tensor*>(&a); t && *t && (*t)->impl()) {
      *t = &tensors.emplace_back(each(**t));
    } else if (auto* list = std::get_if<TensorArrayRef>(&a)) {
      std::vector<Tensor>& made = lists.emplace_back();
      for (const Tensor& e : *list) made.push_back(e.impl() ? each(e) : e);
      *list = TensorArrayRef(made);
    }
  }
  std::vector<Tensor> results;
  graph::forward({c.op, args, c.inplace, c.loc}, results);
  return results;
}

void unwrap(WrapperCall& c) {
  struct Written {
    const Tensor* wrapper;
    Tensor value;
  };
  std::vector<Written> written;
  auto write = [&](const Tensor& t) {
    if (!graph::state_of_wrapper(t)) return;
    const WrapperState* s = graph::state_of_wrapper(t);
    if (!s->type.store)
      fail(ErrorCode::InvalidArgument, (std::string(c.op()) + (c.inplace() ? "_" : "")).c_str(), c.loc(), "wrapper ",
           s->type.name, " is not written in place (", s->type.name, "::store)");
    written.push_back({&t, plain(t, c.loc())});
  };
  for (std::size_t i = 0; i < c.size(); ++i)
    if (c.is_written(i)) {
      if (c.is_tensor(i)) write(c.tensor(i));
      else
        for (const Tensor& t : c.list(i)) write(t);
    }
  std::vector<Tensor> results = c.call([&](const Tensor& t) {
    for (const Written& w : written)
      if (w.wrapper->impl() == t.impl()) return w.value;
    return plain(t, c.loc());
  });
  for (const Written& w : written) {
    store_in(*w.wrapper, w.value, c.loc());
    for (Tensor& r : results)
      if (r.impl() == w.value.impl()) r = *w.wrapper;
  }
  c.answer(std::move(results));
}

}  // namespace reprise
