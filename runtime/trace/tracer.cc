// A trace: arguments, captured tensors, operator calls. Views and changed metadata are in tracer_views.cc, results in
// tracer_finish.cc.
#include "runtime/trace/tracer.h"

#include <algorithm>
#include <new>

#include "autograd/off_tape.h"
#include "base/epochs.h"
#include "base/errors.h"
#include "base/knobs.h"
#include "device/backend.h"
#include "graph/region_gradients.h"
#include "graph/shape_rules.h"
#include "graph/view_column.h"
#include "graph/wrapper.h"
#include "graph/writers.h"
#include "operators/draws.h"
#include "runtime/trace/captured_names.h"
#include "runtime/trace/left_trace.h"
#include "tensor/frozen.h"
#include "tensor/impl.h"

namespace reprise::detail {

using graph::NodeArg;
using graph::ValueId;

void TracedRef::reads_value(const char* what, SourceLoc loc) const { bail(Bail::reads_value, what, loc); }

void Tracer::not_traceable(Bail reason, const char* what, SourceLoc loc) { bail(reason, what, loc); }

template <class F>
void Tracer::note(bool now, F&& what) noexcept {
  if (!now) return;
  const bool in_function = std::exchange(in_function_, false), noting = std::exchange(noting_, true);
  try {
    if (!noting) what(*out_.variables, in_function && !has_left_trace());
  } catch (const std::bad_alloc&) {
    lost_track_ = true;
  }
  in_function_ = in_function, noting_ = noting;
}
void Tracer::handle_read(const Tensor& from) noexcept {
  note(in_function_, [&](VariableLog& log, bool inside) {
    if (inside) log.read(from);
  });
}
void Tracer::handle_made(const Tensor& at, const Tensor& from) noexcept {
  const bool traced = (from.impl() ? from : at).impl()->trace;  // a copy's own is not set yet, what is moved is gone
  note(in_function_, [&](VariableLog& log, bool inside) {
    if (!inside) return;
    if (traced) log.made_of_traced(at);
    else log.made(at, from);
  });
}
void Tracer::handle_asked(const Tensor& at) noexcept {
  const bool own = at.impl() && at.impl()->trace;
  note(in_function_ && !own, [&](VariableLog& log, bool inside) {
    if (inside) log.asked(at);
  });
}
void Tracer::handle_assigned(const Tensor& to, TensorImpl* before) noexcept {
  if (in_function_ && !regions_.empty() && !has_left_trace()) [[unlikely]]
    try {
      regions_.back()->assigned.insert(&to);
    } catch (const std::bad_alloc&) {
      lost_track_ = true;
    }
  note(in_function_, [&](VariableLog& log, bool inside) {
    if (inside) log.assigned(to, before);
  });
}
// Also after the function: its arguments go then, and a handle that is no more must not be touched.
void Tracer::handle_destroyed(const Tensor& at) noexcept {
  for (const auto& region : regions_) region->assigned.erase(&at);
  note(out_.variables != nullptr, [&](VariableLog& log, bool inside) { log.destroyed(at, inside); });
}

void Tracer::function_seen(const std::weak_ptr<const void>& owner, ObjectBytes object, const std::vector<char>& bytes) {
  if (!object.size) return;
  for (const FunctionSeen& f : out_.functions)
    if (f.object.at == object.at && f.object.size == object.size) return;
  out_.functions.push_back({owner, object, bytes});
}

void Tracer::function_ended(ObjectBytes object) noexcept {
  if (!handles_ || !object.size) return;
  note(true, [&](VariableLog& log, bool) {
    const char* first = static_cast<const char*>(object.at);
    log.for_each_handle([&](const Tensor* at) {
      const char* handle = reinterpret_cast<const char*>(at);
      if (handle >= first && handle + sizeof(Tensor) <= first + object.size) handles_->insert(at);
    });
  });
}

void Tracer::check_bytes(ObjectBytes object, const std::vector<char>& before) {
  const char* const now = static_cast<const char*>(object.at);
  if (std::equal(before.begin(), before.end(), now)) return;
  std::vector<char> was = before, is(now, now + object.size);
  out_.variables->for_each_handle([&](const Tensor* at) {
    const char* handle = reinterpret_cast<const char*>(at);
    if (handle < now || handle + sizeof(Tensor) > now + object.size) return;
    for (std::vector<char>* bytes : {&was, &is}) std::fill_n(bytes->begin() + (handle - now), sizeof(Tensor), '\0');
  });
  if (was != is) out_.unrepeatable = Bail::changes_itself;
}

void Tracer::check_unchanged(bool same) const {
  if (!same) bail(Bail::assigns_argument, "compile", {});
}

Tracer::Tracer(std::string name, const CallFrame& frame, FunctionBytes::Handles* handles, InputPlan plan)
    : Interpreter(graph::Key::Trace), frame_(frame), handles_(handles), plan_(std::move(plan)), wanted_(plan_),
      errors_before_(errors_made()), env_(std::make_shared<guards::ShapeEnv>()),
      caller_off_(graph::setting(graph::Setting::NoGrad)), captured_values_(frame.values.size()) {
  auto take = [&](std::size_t n) {
    return static_cast<std::uint32_t>(std::exchange(captured_values_, captured_values_ + n));
  };
  for (const TensorImpl* t : frame.tensors)
    extra_at_.push_back(take((plan_.whole_of(*t) >= 0) + (plan_.is_strided(*t) ? t->rank : 0u)));
  for (std::size_t i = 0; i < plan_.whole.size(); ++i) whole_at_.push_back(take(1));
  graph::place_asked.store(&Tracer::place_asked, std::memory_order_release);
  env_->function = name;
  out_.graph.form = graph::Form::Traced;
  out_.graph.name = std::move(name);
  out_.graph.env = env_;
  if (knobs().validate) env_->keep_claims();
  out_.variables = std::make_unique<VariableLog>();
}

Tracer::~Tracer() {
  drop_places();  // a function that has thrown leaves them: an argument and its place hold each other
  // The user may have kept a traced tensor (in a captured variable): it is then dead, and says so when used.
  for (auto& s : storages_) s->tracer = nullptr;
  for (TracedRef* r : live_) r->forget_trace();
}

std::shared_ptr<TracedStorage> Tracer::new_storage_of(ValueId whole) {
  auto storage = std::make_shared<TracedStorage>();
  storage->tracer = this;
  storage->whole = whole;
  storage->depth = depth_;
  storages_.push_back(storage);
  return storage;
}

Tensor Tracer::fresh(ValueId v) {
  auto ref = std::make_unique<TracedRef>(live_);
  ref->user_meta = out_.graph.meta(v);
  ref->storage = new_storage_of(v);
  ref->value = v;
  TracedRef* made = ref.release();
  return Tensor::adopt(made->impl = new_traced_impl(made));
}

Tensor Tracer::add_input(const TensorImpl* concrete, std::uint64_t word, std::size_t first, const std::string& name,
                         graph::InputSpec::Kind kind, bool captured, std::uint32_t extra_at) {
  guards::LibraryScope operators;
  guards::ShapeEnv& env = *out_.graph.env;
  int rank = runtime::rank_of_word(word);
  const bool large = runtime::is_large_word(word);
  const std::int64_t at_most = large ? INT64_MAX : runtime::kModestElements;
  const std::uint32_t group = large ? 0 : static_cast<std::uint32_t>(inputs_.size() + 1);
  TensorMeta meta;
  meta.dtype = concrete->dtype;
  meta.device = concrete->device;
  for (int d = 0; d < rank; ++d) {
    std::uint32_t at = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(d);
    std::string source = name + " .size(" + std::to_string(d) + ")";
    std::int64_t size = concrete->sizes[d];
    const DimMark* mark =
        concrete->notes && (concrete->notes->marks.set >> d & 1) ? &concrete->notes->marks.dims[d] : nullptr;
    if (mark && !mark->is_static) {
      meta.layout.sizes.push_back(env.new_symbol({at, source, at_most, group}, size,
                                                 std::max<std::int64_t>(mark->min, 0), mark->max, mark->multiple_of));
    } else {
      Int s = env.new_symbol({at, source, at_most, group}, size, 0);
      if (mark || static_sizes) s = Int(env.pin(s.expr(), {}, mark ? "mark_static" : "static_sizes"));
      meta.layout.sizes.push_back(s);
    }
  }
  const ExtraValues extra{plan_.whole_of(*concrete) >= 0, plan_.is_strided(*concrete)};
  if (extra.strides) {
    for (int d = 0; d < rank; ++d) {
      std::uint32_t at = extra_at + extra.offset + static_cast<std::uint32_t>(d);
      meta.layout.strides.push_back(
          env.new_symbol({at, name + " .stride(" + std::to_string(d) + ")"}, concrete->strides[d]));
    }
  } else if (!runtime::has_strides(word)) {
    meta.layout.strides = runtime::strides_in(runtime::order_of(word), meta.layout.sizes, contiguous_strides);
  } else {
    for (int d = 0; d < rank; ++d) {
      runtime::StrideClass c = runtime::stride_class(word, d);
      if (c != runtime::StrideClass::Other) {
        meta.layout.strides.push_back(c == runtime::StrideClass::One ? 1 : 0);
        continue;
      }
      std::uint32_t at = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(rank + d);
      meta.layout.strides.push_back(
          env.new_symbol({at, name + " .stride(" + std::to_string(d) + ")", at_most}, concrete->strides[d], 0));
    }
  }
  ValueId v = out_.graph.add_input(meta, name, kind, captured);
  Tensor t = fresh(v);
  auto& ref = static_cast<TracedRef&>(*t.impl()->trace);
  ref.input = ref.origin = ref.storage->input = static_cast<std::int32_t>(inputs_.size());
  // What is marked is asked. (That the tape knows a view of what wants no gradient is nobody's question.)
  const TensorNotes* const notes = concrete->notes;
  ref.looked_at = notes && (notes->marks.set || notes->wrapper || requires_grad(*concrete));
  inputs_.push_back({t, concrete, meta.layout, ref.storage, v});
  out_.extra_values.push_back(extra);
  out_.input_words.push_back(word);
  out_.input_values.push_back(
      {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(runtime::value_count(word))});
  return t;
}

// What a module says of its field counts; of others, whether the memory is declared to be weights.
static graph::InputSpec::Kind kind_of(FieldKind field, const TensorImpl& t) {
  using Kind = graph::InputSpec::Kind;
  if (field == FieldKind::Buffer) return Kind::Buffer;
  return field == FieldKind::Parameter || t.storage->frozen.load(std::memory_order_relaxed) ? Kind::Parameter
                                                                                            : Kind::User;
}

Tensor Tracer::argument(const TensorImpl* concrete, std::uint64_t word, std::size_t first, const std::string& name,
                        FieldKind field) {
  // The same tensor passed twice is two inputs unless that matters: a write through either is found in finish().
  const std::size_t i = inputs_.size();
  const std::uint32_t extra_at = i < extra_at_.size() ? extra_at_[i] : 0;
  Tensor made = add_input(concrete, word, first, name,
                          handles_ ? kind_of(field, *concrete) : graph::InputSpec::Kind::User, false, extra_at);
  return as_first(i) ? inputs_[i].tensor : made;
}

Int Tracer::number_input(graph::NumberInput::Kind kind, std::uint32_t value, const std::string& name,
                         const std::string& symbol) {
  const Int i = out_.graph.env->new_symbol({value, symbol}, frame_.values[value]);
  out_.graph.numbers.push_back({kind, i.expr()->symbol(), name});
  return i;
}

Int Tracer::integer_argument(std::size_t value, const std::string& name) {
  return number_input(graph::NumberInput::Kind::Size, static_cast<std::uint32_t>(value), name, name);
}

Scalar Tracer::number_argument(Scalar given, std::size_t value, const std::string& name) {
  Int word = number_input(given.is_float() ? graph::NumberInput::Kind::Float : graph::NumberInput::Kind::Integer,
                          static_cast<std::uint32_t>(value), name, given.is_float() ? name + " .bits" : name);
  if (given.is_float()) out_.floats.emplace_back(static_cast<std::uint32_t>(value), word);
  return given.with_word(word);
}

[[noreturn]] static void refuse_shape_only(SourceLoc loc) {
  bail(Bail::several_devices, "compile", loc,
       "the function makes or captures a shape-only tensor: such calls are not compiled");
}

// A real tensor met inside the trace (captured by a lambda, a global): an implicit input, never a constant. Which
// tensor it is and its metadata are read again at every call, from the variable that the function read it from.
TracedRef& Tracer::found(const Tensor& t, SourceLoc loc) {
  if (!t.defined()) fail(ErrorCode::InvalidArgument, "trace", loc, "an undefined tensor is used");
  const graph::WrapperState* const wrapper = t.impl()->trace ? nullptr : graph::state_of_wrapper(*t.impl());
  if ((t.impl()->keys & kWrappedKey) && !t.impl()->trace && !wrapper) bail(Bail::wrapped, "compile", loc);
  bind_wholes();
  if (TracedTensor* traced = t.impl()->trace) {
    auto& ref = static_cast<TracedRef&>(*traced);
    if (ref.storage->tracer != this)
      fail(ErrorCode::InvalidArgument, "trace", loc, "a tensor of a finished trace is used: it never had data");
    ref.looked_at = true;
    if (ref.storage->outermost().perhaps_written) settle(*ref.storage);
    return ref;
  }
  AtDepth outermost(*this, 0);
  note(asked_, [&](VariableLog& log, bool) { log.read(t); });
  if (auto known = captured_inputs_.find(t.impl()); known != captured_inputs_.end())
    return static_cast<TracedRef&>(*inputs_[known->second].tensor.impl()->trace);
  if (is_shape_only(t.impl()->device)) refuse_shape_only(loc);
  if (!is_discarded(*t.impl()->storage)) check_not_released(*t.impl(), "a captured tensor", loc);
  std::uint64_t word = runtime::structure_word(*t.impl()) | (wrapper ? runtime::kCapturedHandle : 0);
  const CapturedNames::Name known = handles_ ? CapturedNames::of(*t.impl()) : CapturedNames::Name();
  std::string name = "captured " + std::to_string(out_.captured.size());
  if (!known.path.empty()) {
    const bool taken = std::any_of(out_.graph.inputs.begin(), out_.graph.inputs.end(), [&](const graph::InputSpec& in) {
      return out_.graph.values[in.value.v].name == known.path;
    });
    name = taken ? name + "." + known.path : known.path;
  }
  // Of what no module has listed, find_kinds() says in the end whether it is state.
  const auto kind =
      known.kind == FieldKind::Buffer ? graph::InputSpec::Kind::Buffer : graph::InputSpec::Kind::Parameter;
  if (known.kind != FieldKind::None) listed_.push_back(static_cast<std::uint32_t>(inputs_.size()));
  out_.captured.push_back({t, {}, wrapper ? wrapper->serial() : 0});
  const std::size_t i = inputs_.size(), own = runtime::value_count(word);
  add_input(t.impl(), word, captured_values_, name, kind, true, static_cast<std::uint32_t>(captured_values_ + own));
  captured_inputs_.emplace(t.impl(), i);
  const int whole = plan_.whole_of(*t.impl());
  captured_values_ += own + (whole >= 0) + (plan_.is_strided(*t.impl()) ? t.impl()->rank : 0u);
  if (!as_first(i)) {
    if (whole >= 0) bind(i, whole);
    check_not_reshaped(i, loc);
    follow_growth(i, loc);
  }
  return static_cast<TracedRef&>(*inputs_[i].tensor.impl()->trace);
}

std::vector<NodeArg> Tracer::node_args(const graph::OpCall& c) {
  std::vector<NodeArg> args;
  args.reserve(c.args.size());
  for (const graph::CallArg& a : c.args) {
    args.push_back(std::visit(
        [&](const auto& v) -> NodeArg {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, const Tensor*>) {
            return value_of(ref_of(*v, c.loc));
          } else if constexpr (std::is_same_v<T, TensorArrayRef>) {
            std::vector<ValueId> list;
            for (const Tensor& t : v) list.push_back(t.defined() ? value_of(ref_of(t, c.loc)) : ValueId{});
            return list;
          } else if constexpr (std::is_same_v<T, IntArrayRef>) {
            return v.vec();
          } else if constexpr (std::is_same_v<T, std::string_view>) {
            return std::string(v);
          } else {
            return v;
          }
        },
        a));
  }
  return args;
}

const TracedTensor& Tracer::traced_of_captured(const Tensor& t) {
  Work work(*this);
  return found(t, {});
}

void Tracer::call(const graph::OpCall& c, std::vector<Tensor>& results) {
  if (has_left_trace()) [[unlikely]]
    refuse_left_trace(std::string(c.op.name()).c_str(), c.loc);
  check_own(c);
  if (caller_off_ && !graph::setting(graph::Setting::NoGrad)) [[unlikely]]
    note_turned_on(c);
  const bool stays = c.op.cls == graph::OpClass::Transfer;
  const bool writes = !c.op.writes.empty();
  std::vector<Tensor> made;  // of an operator that writes
  {
    epochs::Working working;
    Work work(*this);
    if (out_.graph.nodes.size() >= kMostOperators)
      bail(Bail::too_many_operators, std::string(c.op.name()).c_str(), c.loc, "the function has run ", kMostOperators,
           " operators, and more are not compiled as one: compile what its loop repeats");
    if (depth_) [[unlikely]]
      note_gradients_in_regions();
    if (graph::setting(graph::Setting::NoGrad) && c.loc.file != autograd::kReadsOwnResult)
      autograd::off_tape.gradients_off = true;
    if (stays) check_stays(c);
    else record(c, writes ? made : results);
    graph::call_numbers.latest = calls_++;
  }
  // These are the function's own handles.
  if (writes) graph::append_returned(c, std::move(made), results);
  if (c.inplace || stays) results.push_back(*std::get<const Tensor*>(c.args[0]));
}

// What has the same elements where they are is that tensor; any other needs them now.
void Tracer::check_stays(const graph::OpCall& c) {
  const Tensor& self = *std::get<const Tensor*>(c.args[0]);
  const int device = c.op.schema.find("device");
  if (device < 0 && !c.inplace) {  // its element stays until it is asked for as a number (element_of)
    const TensorMeta m = found(self, c.loc).user_meta;
    const graph::RuleArg args[] = {&m};
    graph::RuleCtx rule{c.op, args, c.loc, {}};
    return graph::infer(rule);
  }
  if (device < 0) bail(Bail::reads_value, "copy_ from another device", c.loc);
  const Device wanted =
      graph::device_from_name(std::get<std::string_view>(c.args[static_cast<std::size_t>(device)]), c.loc);
  if (found(self, c.loc).user_meta.device != wanted) bail(Bail::reads_value, "to(device)", c.loc);
}

void Tracer::record(const graph::OpCall& c, std::vector<Tensor>& results) {
  if (c.op.cls == graph::OpClass::View && !c.inplace) {
    results.push_back(make_view(c));
    return;
  }
  if (!c.op.writes.empty()) return record_writes(c, results);  // what is new alone
  if (depth_) [[unlikely]]
    if (const graph::OpDef* at = operators::draws_at(c.op.id)) {
      if (!std::exchange(draws_, false))
        bail(Bail::branch_changes, regions_[depth_ - 1]->kind.op, c.loc,
             "a body draws numbers that were drawn before it");
      return record_draw(c, *at, results);
    }
  if (!c.inplace) {
    std::vector<NodeArg> args = node_args(c);
    if (c.op.cls == graph::OpClass::Join && graph::is_scatter_in_storage(c.op.id)) prepare_scatter(c, args);
    ValueId first = out_.graph.add(c.op.id, std::move(args), info(c.loc));
    std::size_t n = out_.graph.nodes.back().results.size();
    for (std::uint32_t i = 0; i < n; ++i)
      if (is_shape_only(out_.graph.meta({first.v + i}).device)) refuse_shape_only(c.loc);
    for (std::uint32_t i = 0; i < n; ++i) results.push_back(fresh({first.v + i}));
    return;
  }
  const Tensor& self = *std::get<const Tensor*>(c.args[0]);
  TracedRef& ref = ref_of(self, c.loc);
  check_writable(ref, std::string(c.op.name()) + "_", c.loc);
  out_.graph.add_inplace(c.op.id, node_args(c), info(c.loc));
  ++ref.storage->writes;
}

// The stream goes on where the last call left it: seed and offset are the call's first two values, filled in before a
// replay, and the generator moves on by what the trace took in all.
std::pair<Int, Int> Tracer::next_random(Int count) {
  if (depth_) {
    RegionTrace& region = *regions_[depth_ - 1];
    if (std::string_view(region.kind.op) == kBranchOfCond.op)
      bail(Bail::branch_changes, "cond", {},
           "a branch draws random numbers, which only the one that is taken takes from the generator");
    if (region.kind.decides_turns)
      bail(Bail::branch_changes, region.kind.op, {},
           "a body draws random numbers, and how many depends on how often a value lets it turn");
    draws_ = true;
    guards::LibraryScope operators;
    const Int before = region.drawn;
    region.drawn += count;
    return {0, before};
  }
  if (!random_) {
    guards::ShapeEnv& env = *out_.graph.env;
    random_.emplace(env.new_symbol({kSeedValue, "rng seed"}, 0), env.new_symbol({kOffsetValue, "rng offset"}, 0));
  }
  out_.uses_random = true;
  guards::LibraryScope operators;
  Int offset = random_->second + out_.random_count;
  out_.random_count += count;
  return {random_->first, offset};
}

// In a region the place of the generator is data: bodies that run several times draw other numbers in each turn, and
// equal ones say the same wherever they are called. It is one more input, of which nobody knows yet where it comes
// from; who makes the call of the region tells (place_of_draws).
void Tracer::give_generator(RegionTrace& region, SourceLoc loc) {
  if (region.seed) return;
  Tensor outside;
  {
    AtDepth outermost(*this, 0);
    const Int seed = next_random(0).first;
    outside = fresh(out_.graph.add(operators::place_of_draws_op(), {seed}, info(loc)));
  }
  for (ValueId* v : {&region.seed, &region.draws_from}) {
    Tensor inner = fresh(*v = out_.graph.add_input({kInt64, Device::cpu(), {}}, ""));
    region.lifted.push_back({outside, std::move(inner)});
  }
}

void Tracer::record_draw(const graph::OpCall& c, const graph::OpDef& at, std::vector<Tensor>& results) {
  RegionTrace& region = *regions_[depth_ - 1];
  give_generator(region, c.loc);
  std::vector<NodeArg> args = node_args(c);
  const NodeArg plus = args.back();
  args.resize(args.size() - 2);  // seed and offset are the last
  args.insert(args.begin() + (std::holds_alternative<ValueId>(args[0]) ? 1 : 0), {region.seed, region.draws_from});
  args.push_back(plus);
  const ValueId made = out_.graph.add(at.id, std::move(args), info(c.loc));
  if (!device::runs_host_code(out_.graph.meta(made).device))
    bail(Bail::loop_on_device, region.kind.op, c.loc, "a body draws random numbers on a device");
  results.push_back(fresh(made));
}

Tensor Tracer::place_of_draws(Int count, SourceLoc loc) {
  Work work(*this);
  const Int offset = next_random(count).second;
  draws_ = false;
  if (depth_ == 0) return fresh(out_.graph.add(operators::place_of_draws_op(), {offset}, info(loc)));
  RegionTrace& region = *regions_[depth_ - 1];
  give_generator(region, loc);
  return fresh(out_.graph.add(graph::OpId::add, {region.draws_from, Scalar(offset), Scalar(1)}, info(loc)));
}

void Tracer::result(const Tensor& t) {
  if (t.impl() && (t.impl()->keys & kWrappedKey) && !graph::state_of_wrapper(*t.impl()))
    bail(Bail::wrapped, "compile", {},
         "a result has an interpreter of its own (wrap), which a replay does not give it");
  if (t.defined()) ref_of(t, {});  // a captured tensor that is returned as it is becomes an input
  out_.variables->forget(t);
  results_.push_back(t);
}
void Tracer::result(Int i) {
  check_own(i, {});
  out_.int_results.push_back(i);
}

bool Tracer::may_fail() const {
  const auto& assumed = env_->assumed();
  if (std::any_of(assumed.begin(), assumed.end(), [](const auto& a) { return !a.always; })) return true;
  // A trace does not know what shares an argument's place on the tape: eagerly an earlier write may throw.
  auto made_leaf = [](const Input& i) {
    const autograd::State* s = autograd::state_of(i.tensor);
    return s && s->wants && !s->from_outside;
  };
  if (std::any_of(inputs_.begin(), inputs_.end(), made_leaf)) return true;
  return std::any_of(out_.graph.nodes.begin(), out_.graph.nodes.end(),
                     [](const graph::Node& n) { return graph::effects_of(n).may_end_call(); });
}

// An Int may have been left in a variable by another trace, which may be gone.
void Tracer::check_own(Int i, SourceLoc loc) const {
  if (const guards::Expr* e = i.living(); e && &e->env() != out_.graph.env.get())
    fail(ErrorCode::InvalidArgument, "Int", loc,
         "a compiled function has left it in a variable of its surroundings, and its trace is over: return it, or take "
         "its value() inside the function");
}
void Tracer::check_own(const graph::OpCall& c) const {
  for (const graph::CallArg& a : c.args) {
    if (auto* t = std::get_if<const Tensor*>(&a); t && *t && graph::state_of_wrapper(**t) && !graph::keeps_value(c.op))
      fail(ErrorCode::Internal, c.op.schema.name.c_str(), c.loc, "a wrapper's handle has come past its dispatch");
    if (auto* i = std::get_if<Int>(&a)) check_own(*i, c.loc);
    if (auto* s = std::get_if<Scalar>(&a); s && s->kind() != Scalar::Kind::Bool) check_own(s->word(), c.loc);
    if (auto* l = std::get_if<IntArrayRef>(&a))
      for (Int i : *l) check_own(i, c.loc);
  }
}

}  // namespace reprise::detail
