// The thread's default dtype. Shape rules know of float32 alone; where it is another one, an interpreter casts the
// integers of a call before they are asked, so that a graph says what it computes and depends on no thread.
#include "graph/floats.h"

#include "base/bail.h"
#include "base/errors.h"
#include "graph/shape_rules.h"
#include "reprise/ops.h"
#include "reprise/settings.h"
#include "tensor/impl.h"

namespace reprise::graph {
namespace {

/// Arguments (bit i: argument i) that are promoted together, and whether integers alone become floats or only beside a
/// float.
struct Promoted {
  unsigned args = 0;
  bool always = false;
};

Promoted promoted(const OpCall& c) {
  using namespace rules;
  const ShapeRule rule = c.op.shape;
  if (rule == unary_float || rule == reduce_float) return {1u << 0, true};
  if (rule == binary_float) return {3u << 0, true};
  if (rule == division) return {3u << 0, std::holds_alternative<std::monostate>(c.args[2])};
  for (ShapeRule r : {arithmetic, arithmetic_no_bool, subtraction, power, comparison, binary_float_only})
    if (rule == r) return {3u << 0};
  if (rule == where) return {3u << 1};
  if (rule == clamp) return {7u << 0};
  return {};
}

template <class F>
void for_each_operand(const OpCall& c, unsigned args, F&& f) {
  for (std::size_t i = 0; i < c.args.size(); ++i)
    if (args >> i & 1) f(i, c.args[i]);
}

class Floats final : public Interpreter {
 public:
  Floats() : Interpreter(Key::Floats) {}
  void call(const OpCall& c, std::vector<Tensor>& results) override {
    // What is written keeps its dtype: integers take no floats, whichever.
    if (c.inplace || !follows_default_dtype(c)) return forward(c, results);
    const DType wanted = default_dtype();
    std::vector<CallArg> args(c.args.begin(), c.args.end());
    std::vector<Tensor> cast;
    cast.reserve(args.size());
    for_each_operand(c, promoted(c).args, [&](std::size_t i, const CallArg& a) {
      if (auto* t = std::get_if<const Tensor*>(&a)) args[i] = &cast.emplace_back(to(**t, wanted, c.loc));
    });
    forward({c.op, args, c.inplace, c.loc}, results);
  }
};

const Mode& floats() {
  static Mode& mode = *new Mode{new Floats};  // never destroyed: it keeps nothing, and any thread may end last
  return mode;
}

void set(DType t) {
  ThreadState& s = thread_state;
  s.word = (s.word & ~bits_of(Setting::DefaultDType)) | static_cast<std::uint64_t>(t);
  const bool on = t != DType::Float32;
  s.top[static_cast<std::size_t>(Key::Floats)] = on ? &floats() : nullptr;
  s.modes = static_cast<Keys>(on ? s.modes | bit(Key::Floats) : s.modes & ~bit(Key::Floats));
}
static_assert(DType{} == DType::Float32, "a thread on which nothing is set has this default dtype");

void check(DType t, const char* what) {
  checked_dtype(t, what, {});
  if (!is_floating(t) || is_storage_only(t))
    fail(ErrorCode::InvalidArgument, what, {}, dtype_name(t), " is no floating dtype that is computed with");
}

DType current() { return static_cast<DType>(setting(Setting::DefaultDType)); }

}  // namespace

bool follows_default_dtype(const OpCall& c) {
  const Promoted p = promoted(c);
  bool floating_tensor = false, number = false;
  for_each_operand(c, p.args, [&](std::size_t, const CallArg& a) {
    if (auto* t = std::get_if<const Tensor*>(&a)) floating_tensor |= (*t)->impl() && is_floating((*t)->impl()->dtype);
    if (auto* s = std::get_if<Scalar>(&a)) number |= s->is_float();
  });
  return p.args && !floating_tensor && (p.always || number);
}

DType default_dtype() {
  note_read(Setting::DefaultDType);
  return current();
}

}  // namespace reprise::graph

namespace reprise {

void set_default_dtype(DType t) {
  graph::check(t, "set_default_dtype");
  if (current_trace) current_trace->not_traceable(Bail::sets_for_thread, "set_default_dtype", {});
  graph::set(t);
}
DType get_default_dtype() { return graph::default_dtype(); }

DefaultDTypeScope::DefaultDTypeScope(DType t) : before_(graph::current()), own_before_(graph::thread_state.own) {
  graph::check(t, "DefaultDTypeScope");
  graph::set(t);
  graph::thread_state.own |= graph::bits_of(graph::Setting::DefaultDType);
}
DefaultDTypeScope::~DefaultDTypeScope() {
  graph::set(before_);
  graph::thread_state.own = own_before_;
}

}  // namespace reprise
