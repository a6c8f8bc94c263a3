// The end of a trace: its results, and what the caller must know of the arguments.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "base/errors.h"
#include "base/log.h"
#include "base/phases.h"
#include "passes/functionalize.h"
#include "passes/pass.h"
#include "runtime/call/declared.h"
#include "runtime/trace/joint.h"
#include "runtime/trace/tracer.h"
#include "runtime/trace/written_memory.h"
#include "tensor/impl.h"

namespace reprise::detail {

using graph::OutputSpec;

// A traced tensor that somebody outside still holds has been assigned to a captured variable, a member or a global. A
// replay does the same where it can find the variable; otherwise what that held before is lost, so the call must go on:
// its new value becomes a result, with which the tensor is filled.
void Tracer::add_outliving() {
  std::vector<Tensor> kept;
  std::unordered_map<const TensorImpl*, std::int32_t> ours;
  for (const Input& i : inputs_) ++ours[i.tensor.impl()];
  for (const Tensor& t : results_) ++ours[t.impl()];
  // Handles of wrappers hold their inner tensors: those of arguments let go of them, outer ones first.
  for (const Input& i : inputs_) {
    TensorImpl& t = *i.tensor.impl();
    if (!(t.keys & kWrappedKey) || t.refs.load(std::memory_order_relaxed) > ours[&t]) continue;
    t.notes->wrapper.reset();
    t.keys &= static_cast<std::uint8_t>(~kWrappedKey);
  }
  for (TracedRef* r : live_)
    if (r->impl->keys & kWrappedKey)
      bail(Bail::wrapped, "compile", {}, "a wrapper is left in a variable of the surroundings: return it");
  for (TracedRef* r : live_) {
    auto held = ours.find(r->impl);
    if (r->impl->refs.load(std::memory_order_relaxed) > (held == ours.end() ? 0 : held->second))
      kept.push_back(Tensor::share(r->impl));
  }
  // the tracer is on the stack below who called the function, and above the function
  VariableLog::Before before{this, {}};
  for (const FunctionSeen& f : out_.functions) before.objects.push_back(f.object);
  if (std::optional<Bail> why = out_.variables->unrepeatable(before)) out_.unrepeatable = why;
  if (out_.unrepeatable == Bail::assigns_variable) out_.met = out_.variables->unknown(before);
  const std::vector<const Tensor*> assigned = out_.variables->assigned();
  for (const Tensor& t : kept) {
    const auto found = ours.find(t.impl());
    const std::int64_t others =
        t.impl()->refs.load(std::memory_order_relaxed) - 1 - (found == ours.end() ? 0 : found->second);
    const std::int64_t variables =
        std::count_if(assigned.begin(), assigned.end(), [&](const Tensor* at) { return at->impl() == t.impl(); });
    if (!out_.unrepeatable && others != variables) out_.unrepeatable = Bail::leaves_tensor;
  }
  if (!out_.unrepeatable) {
    if (out_.assigned.empty()) give_assigned();
    return;
  }
  out_.assigned.clear();  // they are among these
  for (Tensor& t : kept) {
    result(t);
    out_.kept.push_back(std::move(t));
  }
}

void Tracer::capture_assigned() {
  Work work(*this);
  for (const Tensor* at : out_.variables->decisive()) found(*at, {});
}

void Tracer::give_left() {
  for (const Tensor* at : out_.variables->left()) {
    const TensorImpl* t = at->impl();
    const auto is_known = [&](const auto& all, auto&& of) {
      return std::any_of(all.begin(), all.end(), [&](const auto& one) { return of(one).impl() == t; });
    };
    if (!t || !t->trace || (t->keys & kWrappedKey) || !wants_or_shows(*t)) continue;
    if (is_known(inputs_, [](const Input& i) -> const Tensor& { return i.tensor; })) continue;
    if (is_known(results_, [](const Tensor& r) -> const Tensor& { return r; })) continue;
    result(Tensor::share(const_cast<TensorImpl*>(t)));
  }
}

void Tracer::give_assigned() {
  for (const Tensor* at : out_.variables->assigned()) {
    const Tensor value = *at;
    result(value);
    out_.assigned.push_back(watch(*at));
  }
}

std::optional<Bail> Tracer::runs_once(std::vector<FunctionSeen>& changed) noexcept {
  drop_places();
  if (out_.variables->destroys()) return Bail::destroys_variable;
  try {
    Work work(*this);
    for (const FunctionSeen& f : out_.functions) {
      const auto alive = f.owner.lock();
      if (!alive) continue;
      check_bytes(f.object, f.bytes);
      if (!std::exchange(out_.unrepeatable, std::nullopt)) continue;
      if (!f.object.are_all) return Bail::changes_itself;
      changed.push_back(f);
    }
    if (std::any_of(live_.begin(), live_.end(), [](const TracedRef* r) { return r->impl->keys & kWrappedKey; }))
      return std::nullopt;  // they hold others
    std::unordered_map<const TensorImpl*, std::int32_t> known;
    for (const Tensor& t : results_) ++known[t.impl()];
    for (const Tensor* at : out_.variables->assigned()) ++known[at->impl()];
    for (const auto& [ref, held] : held_by_function())
      if (const auto at = known.find(ref->impl); held > (at == known.end() ? 0 : at->second))
        return Bail::leaves_tensor;
  } catch (const std::bad_alloc&) {  // who looks again has no memory either
  }
  return std::nullopt;
}

bool Tracer::assigns_on_tape() const {
  const std::vector<const Tensor*> assigned = out_.variables->assigned();
  return std::any_of(assigned.begin(), assigned.end(), [&](const Tensor* at) {
    if (!at->defined()) return false;
    if (wants_or_shows(*at->impl()) || !at->impl()->trace) return wants_or_shows(*at->impl());
    const std::int32_t i = static_cast<const TracedRef&>(*at->impl()->trace).storage->outermost().input;
    return i >= 0 && wants_or_shows(*as_seen(inputs_[static_cast<std::size_t>(i)].tensor).impl());
  });
}

// A written input must be alone in its memory: with what may be another one at the next call, nobody knows whose
// elements these are.
void Tracer::find_overlaps(std::uint32_t i, const WrittenMemory& memory) {
  const graph::Graph& g = out_.graph;
  auto name = [&](std::size_t of) -> const std::string& { return g.values[g.inputs[of].value.v].name; };
  const TensorImpl& t = *inputs_[i].concrete;
  if (overlaps_itself(t)) {
    depends_on(TensorFact::Kind::Overlap, i, i);
    wanted_.overlapping.emplace_back(&t, &t);
    want_whole(t, Bail::overlap, "compile", {}, name(i) + " is written and overlaps itself");
  }
  memory.any_near(t, [&](std::uint32_t j) -> bool {
    const TensorImpl& other = *inputs_[j].concrete;
    if (j == i || inputs_[j].storage == inputs_[i].storage || !overlaps(t, other)) return false;
    const std::string why = name(i) + " is written and overlaps " + name(j);
    depends_on(TensorFact::Kind::Overlap, i, j);
    if (&t == &other && plan_.may_grow && !plan_.by_identity) {
      wanted_.by_identity = true;
      bail(Bail::overlap, "compile", {}, why);
    }
    if (t.storage == other.storage) {
      wanted_.overlapping.emplace_back(&t, &other);
      want_whole(t, Bail::overlap, "compile", {}, why);
    }
    bail(Bail::overlap, "compile", {}, why);
  });
}

// The traced graph's outputs. An input's own handle comes back as that; a tensor that is returned twice is one result
// under two names.
void Tracer::add_results() {
  graph::Graph& g = out_.graph;
  std::unordered_map<const TracedRef*, std::int32_t> leaf_of;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    leaf_of.emplace(static_cast<TracedRef*>(inputs_[i].tensor.impl()->trace), input_itself(i));
  auto output = [&](OutputSpec::Kind kind, TracedRef& ref, std::size_t source) {
    OutputSpec o;
    o.kind = kind;
    o.value = value_of(ref);
    o.source = static_cast<std::uint32_t>(source);
    g.outputs.push_back(std::move(o));
  };
  for (const Tensor& t : results_) {
    if (!t.defined()) {
      out_.tensor_results.push_back(-1);
      continue;
    }
    TracedRef& ref = ref_of(t, {});
    settle_if_open(*ref.storage);
    auto [leaf, is_new] = leaf_of.try_emplace(&ref, static_cast<std::int32_t>(g.outputs.size()));
    if (is_new) {
      output(OutputSpec::Kind::User, ref, 0);
      OutputSpec& o = g.outputs.back();
      o.role = ref.role;
      o.of = ref.role == OutputSpec::Role::Gradient ? ref.gradient_of : -1;
    }
    out_.tensor_results.push_back(leaf->second);
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    auto& ref = static_cast<TracedRef&>(*inputs_[i].tensor.impl()->trace);
    if (inputs_[i].again || ref.value == inputs_[i].value) continue;
    output(OutputSpec::Kind::HandleOfInput, ref, i);
    g.outputs.back().grows = ref.storage->grown_of >= 0 && ref.storage->grown_of == inputs_[i].storage->input;
  }
}

// A pass may number values anew. The values that arguments' handles have before the call are kept as outputs meanwhile.
void Tracer::run_registered_passes() {
  graph::Graph& g = out_.graph;
  const std::size_t outputs = g.outputs.size();
  for (const Input& i : inputs_) {
    if (!i.value) continue;
    OutputSpec kept;
    kept.value = i.value;
    g.outputs.push_back(std::move(kept));
  }
  passes::run_before_functionalization(g, *registered);
  std::size_t next = outputs;
  for (Input& i : inputs_)
    if (i.value) i.value = g.outputs[next++].value;
  g.outputs.resize(outputs);
}

std::vector<passes::TracedInput> Tracer::input_facts() {
  std::vector<passes::TracedInput> facts(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    facts[i].covers_storage = covers_its_storage(*inputs_[i].concrete);
    facts[i].strides_from_sizes = strides_from_sizes(static_cast<std::uint32_t>(i));
    facts[i].layout = inputs_[i].layout;
    if (facts[i].strides_from_sizes && runtime::layout_class(out_.input_words[i]) == runtime::LayoutClass::Dense) {
      facts[i].layout->strides = made_strides(static_cast<std::uint32_t>(i), inputs_[i].layout.sizes);
      facts[i].strides_from_sizes = false;  // that is, row-major from them
    }
    facts[i].handle = inputs_[i].value;
  }
  for (const Traced::Whole& w : out_.wholes) {
    facts[w.input].is_storage = true;
    for (std::uint32_t i : w.members) facts[i].storage = static_cast<std::int32_t>(w.input);
  }
  return facts;
}

void Tracer::functionalize() {
  if (registered) run_registered_passes();
  out_.operators = out_.graph.nodes.size();
  if (logs::on(logs::Channel::Trace)) out_.traced_text = graph::print(out_.graph);
  out_.sizes = runtime::made_sizes(out_.graph);  // of views, too, that nobody writes through
  if (!out_.data.empty()) note_named(out_.graph, out_.named);
  const std::vector<passes::TracedInput> facts = input_facts();
  passes::Functionalized made = [&] {
    const InPhase phase(Phase::Functionalize);
    return passes::functionalize(std::move(out_.graph), facts);
  }();
  out_.graph = std::move(made.graph);
  if (const auto& w = made.wanted) want_covering(w->input, w->op, w->loc, w->why);
  for (std::int32_t& leaf : out_.tensor_results)
    if (leaf >= 0) leaf = made.outputs[static_cast<std::size_t>(leaf)];
  for (std::uint32_t i : made.strides_read) need_exact_strides(i, {});
  out_.bases = std::move(made.bases);
  out_.whole_storage = std::move(made.cover_storage);
  out_.written_anew = std::move(made.written_anew);
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    const TracedStorage* on = static_cast<TracedRef&>(*inputs_[i].tensor.impl()->trace).storage.get();
    if (on && on->has_grown && on->grown_of < 0 && !inputs_[i].again) out_.written_anew.push_back(i);
  }
}

// A dimension that was declared to vary must not be a constant of what was traced.
void Tracer::check_marks() const {
  const guards::ShapeEnv& env = *env_;
  std::function<bool(const guards::Expr*, std::uint32_t)> names = [&](const guards::Expr* e, std::uint32_t symbol) {
    return e->kind() == guards::ExprKind::Symbol ? e->symbol() == symbol
                                                 : std::any_of(e->args().begin(), e->args().end(),
                                                               [&](const guards::Expr* a) { return names(a, symbol); });
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const TensorImpl& t = *inputs_[i].concrete;
    for (int d = 0; t.notes && d < t.rank; ++d) {
      const DimMark& mark = t.notes->marks.dims[d];
      const Int size = inputs_[i].layout.sizes[static_cast<std::size_t>(d)];
      if (!(t.notes->marks.set >> d & 1) || mark.is_static || !size.is_symbolic()) continue;
      const std::uint32_t symbol = size.expr()->symbol();
      const guards::Symbol& s = env.symbols()[symbol];
      if (s.lo != s.hi && !env_->simplify(size.expr())->is_const()) continue;
      const guards::Guard* by = nullptr;  // the latest that says something of it; an equality with a number says all
      for (const guards::Guard& g : env.guards()) {
        if (!names(g.condition, symbol)) continue;
        by = &g;
        if (g.condition->kind() == guards::ExprKind::Eq &&
            (g.condition->args()[0]->is_const() || g.condition->args()[1]->is_const()))
          break;
      }
      throw MarkPinned(ErrorCode::InvalidArgument, "mark_dynamic",
                       s.source.name + " is declared to vary (" + std::to_string(mark.min) + " to " +
                           (mark.max == INT64_MAX ? "any size" : std::to_string(mark.max)) +
                           "), and the function makes a constant of it, " + std::to_string(s.hint) +
                           (by ? std::string(" (") + by->why + ")" : std::string()) +
                           ": keep it a size, or do not declare that it varies",
                       by ? by->where : SourceLoc{});
    }
  }
}

void Tracer::check_passed_once(std::uint32_t i) {
  for (std::size_t j = 0; j < inputs_.size(); ++j)
    if (j != i && inputs_[j].concrete == inputs_[i].concrete && !inputs_[j].again) want_identity(i, j, {});
}

// Of arguments that were written, or are another view now.
void Tracer::check_written() {
  std::optional<WrittenMemory> memory;  // of all inputs
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    const graph::InputSpec& spec = out_.graph.inputs[i];
    if (spec.mutates_data) {
      if (!memory) {
        std::vector<const TensorImpl*> tensors;
        for (const Input& of : inputs_) tensors.push_back(of.concrete);
        std::vector<std::uint32_t> all(tensors.size());
        std::iota(all.begin(), all.end(), 0u);
        memory.emplace().assign(tensors, all);
      }
      find_overlaps(i, *memory);
    }
    if (spec.mutates_metadata) check_passed_once(i);
  }
}

// What a function does to a frozen tensor itself is not for this: of that the next call would see what was before.
void Tracer::find_frozen() {
  if (freeze == Freeze::Nothing || out_.unrepeatable) return;
  out_.freezes_captured = freeze == Freeze::Captured;
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    const TensorImpl& t = *inputs_[i].concrete;
    const graph::InputSpec& spec = out_.graph.inputs[i];
    const bool written = spec.mutates_data || spec.mutates_metadata;
    if (inputs_[i].again || is_whole(static_cast<std::int32_t>(i)) || plan_.whole_of(t) >= 0) continue;
    if (out_.freezes_captured && spec.captured && !written) freeze_storage(*t.storage);
    if (t.storage->frozen.load(std::memory_order_relaxed)) (written ? out_.frozen_written : out_.frozen).push_back(i);
  }
}

// Captured tensors of which no module says what they are: state, if the function writes it; what wants a gradient is a
// weight that it trains.
void Tracer::find_kinds() {
  using Kind = graph::InputSpec::Kind;
  for (std::uint32_t i = 0; i < out_.graph.inputs.size(); ++i) {
    graph::InputSpec& spec = out_.graph.inputs[i];
    if (!spec.captured || std::find(listed_.begin(), listed_.end(), i) != listed_.end()) continue;
    const bool written = spec.mutates_data || spec.mutates_metadata;
    spec.kind = written && !requires_grad(*inputs_[i].concrete) ? Kind::Buffer : Kind::Parameter;
  }
}

Traced Tracer::finish() {
  guards::LibraryScope operators;
  if (lost_track_) bail(Bail::no_memory, "compile", {});
  if (errors_made() != errors_before_) bail(Bail::catches_error, "compile", {});
  add_outliving();
  add_results();
  place_data();
  check_grown();
  if (random_) {
    using Kind = graph::NumberInput::Kind;
    out_.graph.numbers.push_back({Kind::Seed, random_->first.expr()->symbol(), "rng seed"});
    out_.graph.numbers.push_back({Kind::Offset, random_->second.expr()->symbol(), "rng offset"});
  }
  for (const auto& [concrete, input] : captured_inputs_)
    if (turned_on_captured_.contains(concrete)) add_turned_on(input);
  functionalize();
  find_kinds();
  check_written();
  for (const Traced::Whole& w : out_.wholes)
    if (w.members.empty()) bail(Bail::captures_differ, "compile", {});
  for (const auto& [a, b] : plan_.overlapping) {
    auto number = [&](const TensorImpl* t) {
      return std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& i) { return i.concrete == t; }) -
             inputs_.begin();
    };
    const auto i = static_cast<std::size_t>(number(a)), j = static_cast<std::size_t>(number(b));
    if (i < inputs_.size() && j < inputs_.size())
      out_.relations.push_back({Relation::Kind::Overlap, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)});
  }
  if (plan_.by_identity)
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      out_.same_as.push_back(
          static_cast<std::uint32_t>(std::find_if(inputs_.begin(), inputs_.end(),
                                                  [&](const Input& j) { return j.concrete == inputs_[i].concrete; }) -
                                     inputs_.begin()));
  if (!out_.unrepeatable && !out_.variables->attach(out_.captured, out_.asked)) {
    if (!out_.assigned.empty()) bail(Bail::reads_unnamed, "compile", {});
    out_.unrepeatable = Bail::reads_unnamed;
  }
  if (plan_.sees_tensors() && !out_.unrepeatable)
    for (std::uint32_t i = 0; i < frame_.tensors.size(); ++i)
      if (!static_cast<const TracedRef&>(*inputs_[i].tensor.impl()->trace).looked_at) out_.unused.push_back(i);
  find_frozen();
  check_marks();
  out_.result_template = std::move(result_template);
  return std::move(out_);
}

}  // namespace reprise::detail
