#include "graph/autocast.h"

#include "base/bail.h"
#include "base/errors.h"
#include "graph/interpreter.h"
#include "graph/shape_rules.h"
#include "reprise/ops.h"
#include "reprise/settings.h"
#include "tensor/impl.h"

namespace reprise::graph {
namespace {

using enum AutocastRule;

constinit OpColumn<AutocastRule> g_column("autocast", {
                                                          {OpId::mm, Lower},
                                                          {OpId::bmm, Lower},
                                                          {OpId::matmul, Lower},
                                                          {OpId::linear, Lower},
                                                          {OpId::addmm, Lower},
                                                          {OpId::scaled_dot_product_attention, Lower},
                                                          {OpId::acos, Float32},
                                                          {OpId::asin, Float32},
                                                          {OpId::cosh, Float32},
                                                          {OpId::sinh, Float32},
                                                          {OpId::tan, Float32},
                                                          {OpId::exp, Float32},
                                                          {OpId::expm1, Float32},
                                                          {OpId::log, Float32},
                                                          {OpId::log2, Float32},
                                                          {OpId::log10, Float32},
                                                          {OpId::log1p, Float32},
                                                          {OpId::reciprocal, Float32},
                                                          {OpId::rsqrt, Float32},
                                                          {OpId::pow, Float32},
                                                          {OpId::softplus, Float32},
                                                          {OpId::layer_norm, Float32},
                                                          {OpId::rms_norm, Float32},
                                                          {OpId::logsumexp, Float32},
                                                          {OpId::norm, Float32},
                                                          {OpId::sum, Result32},
                                                          {OpId::prod, Result32},
                                                          {OpId::cumsum, Result32},
                                                          {OpId::softmax, Result32},
                                                          {OpId::log_softmax, Result32},
                                                          {OpId::addcmul, Widest},
                                                          {OpId::addcdiv, Widest},
                                                          {OpId::atan2, Widest},
                                                          {OpId::cat, Widest},
                                                          {OpId::index_put, Widest},
                                                          {OpId::scatter_add, Widest},
                                                          {OpId::scatter_reduce, Widest},
                                                      });

bool takes_part(const Tensor& t) {
  if (!t.impl()) return false;
  const DType d = t.impl()->dtype;
  return is_floating(d) && d != DType::Float64 && !is_storage_only(d);
}

template <class F>
void for_each_tensor(std::span<const CallArg> args, F&& f) {
  for (const CallArg& a : args) {
    if (auto* t = std::get_if<const Tensor*>(&a)) f(**t);
    if (auto* list = std::get_if<TensorArrayRef>(&a))
      for (const Tensor& t : *list) f(t);
  }
}

/// A call's arguments with some of the tensors cast. Lives while they are used.
class Cast {
 public:
  Cast(const OpCall& c, DType to) : args_(c.args.begin(), c.args.end()), to_(to), loc_(c.loc) {
    tensors_.reserve(args_.size()), lists_.reserve(args_.size());
    for (CallArg& a : args_) {
      if (auto* t = std::get_if<const Tensor*>(&a); t && takes_part(**t)) a = &tensors_.emplace_back(cast(**t));
      if (auto* list = std::get_if<TensorArrayRef>(&a)) {
        std::vector<Tensor>& made = lists_.emplace_back();
        for (const Tensor& t : *list) made.push_back(takes_part(t) ? cast(t) : t);
        a = TensorArrayRef(made);
      }
    }
  }
  std::span<const CallArg> args() const { return args_; }

 private:
  Tensor cast(const Tensor& t) const { return to(t, to_, loc_); }
  std::vector<CallArg> args_;
  const DType to_;
  const SourceLoc loc_;
  std::vector<Tensor> tensors_;
  std::vector<std::vector<Tensor>> lists_;
};

class Autocast final : public Interpreter {
 public:
  explicit Autocast(DType dtype) : Interpreter(Key::Autocast), dtype_(dtype) {}

  void call(const OpCall& c, std::vector<Tensor>& results) override {
    const AutocastRule* rule = c.inplace ? nullptr : autocast_rules().find(c.op.id);
    if (!rule) return forward(c, results);
    switch (*rule) {
      case Lower: return cast(c, dtype_, results);
      case Float32: return cast(c, DType::Float32, results);
      case Result32: return result_in_float32(c, results);
      case Widest: return cast(c, widest(c), results);
    }
  }

 private:
  static void cast(const OpCall& c, DType to, std::vector<Tensor>& results) {
    bool any = false;
    for_each_tensor(c.args, [&](const Tensor& t) { any = any || (takes_part(t) && t.impl()->dtype != to); });
    if (!any) return forward(c, results);
    const Cast made(c, to);
    forward({c.op, made.args(), false, c.loc}, results);
  }
  static DType widest(const OpCall& c) {
    std::optional<DType> widest;
    for_each_tensor(c.args, [&](const Tensor& t) {
      if (takes_part(t)) widest = widest ? promote(*widest, t.impl()->dtype) : t.impl()->dtype;
    });
    return widest.value_or(DType::Float32);
  }
  static void result_in_float32(const OpCall& c, std::vector<Tensor>& results) {
    const auto at = static_cast<std::size_t>(c.op.schema.find("dtype"));
    const Tensor& self = *std::get<const Tensor*>(c.args[0]);
    if (!takes_part(self) || self.impl()->dtype == DType::Float32 ||
        !std::holds_alternative<std::monostate>(c.args[at]))
      return forward(c, results);
    std::vector<CallArg> args(c.args.begin(), c.args.end());
    args[at] = DType::Float32;
    forward({c.op, args, false, c.loc}, results);
  }

  const DType dtype_;
};

// Never destroyed: they keep nothing, and any thread may end last.
const Mode* mode_of(DType t) {
  static const Mode* half = new Mode{new Autocast(DType::Float16)};
  static const Mode* bfloat = new Mode{new Autocast(DType::BFloat16)};
  return t == DType::Float16 ? half : bfloat;
}

void set(const Mode* mode, std::uint64_t word) {
  ThreadState& s = thread_state;
  s.word = (s.word & ~bits_of(Setting::Autocast)) | (word & bits_of(Setting::Autocast));
  s.top[static_cast<std::size_t>(Key::Autocast)] = mode;
  s.modes = static_cast<Keys>(mode ? s.modes | bit(Key::Autocast) : s.modes & ~bit(Key::Autocast));
}

}  // namespace

OpColumn<AutocastRule>& autocast_rules() { return g_column; }

}  // namespace reprise::graph

namespace reprise {

using graph::bits_of;
using graph::Setting;
using graph::thread_state;

AutocastScope::AutocastScope(DType t, bool enabled)
    : before_(thread_state.top[static_cast<std::size_t>(graph::Key::Autocast)]), word_before_(thread_state.word),
      own_before_(thread_state.own) {
  graph::checked_dtype(t, "AutocastScope", {});
  if (t != DType::Float16 && t != DType::BFloat16)
    fail(ErrorCode::InvalidArgument, "AutocastScope", {}, dtype_name(t),
         " is not a dtype that autocast casts to (float16 or bfloat16)");
  graph::set(enabled ? graph::mode_of(t) : nullptr,
             enabled ? (static_cast<std::uint64_t>(t) + 1) * one_of(Setting::Autocast) : 0);
  thread_state.own |= bits_of(Setting::Autocast);
}
AutocastScope::~AutocastScope() {
  graph::set(static_cast<const graph::Mode*>(before_), word_before_);
  thread_state.own = own_before_;
}

std::optional<DType> autocast_dtype() {
  graph::note_read(Setting::Autocast);
  const std::uint64_t on = graph::setting(Setting::Autocast) / one_of(Setting::Autocast);
  return on ? std::optional(static_cast<DType>(on - 1)) : std::nullopt;
}

}  // namespace reprise
