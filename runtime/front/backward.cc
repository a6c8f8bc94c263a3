#include "runtime/front/backward.h"

#include "base/bail.h"
#include "base/errors.h"
#include "base/log.h"
#include "guards/substitution.h"
#include "tensor/impl.h"

#include <nlohmann/json.hpp>

namespace reprise::detail {

void own_backward(Compiled& of, const Gradients& g) {
  for (Compiled* const b : {backward_of(g), again_of(g)}) {
    if (!b) continue;
    const std::string name = std::move(b->options.name);
    const std::vector<std::string> arguments = std::move(b->options.arguments);
    b->options = of.options;
    b->options.name = name, b->options.arguments = arguments;
    b->mode = of.mode, b->check = of.check;
    b->recordings = of.recordings, b->callback = of.callback, b->code_of_all = of.code_of_all;
    b->is_backward = true;
  }
}

std::vector<std::shared_ptr<Compiled>> backwards_of(const Compiled& c) {
  std::vector<std::shared_ptr<Compiled>> all;
  for (const auto& s : c.owned)
    for (Compiled* b :
         {s->gradients ? backward_of(*s->gradients) : nullptr, s->gradients ? again_of(*s->gradients) : nullptr})
      if (b) all.push_back(b->shared_from_this());
  return all;
}

bool is_sealed(const Compiled& c) { return c.is_sealed(); }
void count_copied_tangent(Compiled& c) { c.copied_tangents.fetch_add(1, std::memory_order_relaxed); }

namespace {

/// By input: those on frozen memory, whose values a compilation may take from there.
std::vector<Tensor> frozen_of(std::span<TensorImpl* const> inputs) {
  std::vector<Tensor> frozen(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]->storage && inputs[i]->storage->frozen.load(std::memory_order_relaxed))
      frozen[i] = Tensor::share(inputs[i]);
  return frozen;
}

/// What the backward's trace asks of its arguments, of what these are in the forward.
void take_guards(const Gradients& g, const Compiled& backward, guards::ShapeEnv& forward) {
  const LockedCompiled lock(backward);
  const BackwardTerms terms = backward_terms(g);
  for (const auto& s : backward.owned) {
    const guards::ShapeEnv& own = *s->program.graph.env;
    std::vector<std::optional<Int>> by_word;
    auto set = [&](std::size_t word, Int i) {
      if (by_word.size() <= word) by_word.resize(word + 1);
      by_word[word] = i;
    };
    std::size_t behind = 0;
    for (std::size_t i = 0; i < terms.tensors.size() && i < s->input_values.size(); ++i) {
      const Layout& l = terms.tensors[i].layout;
      const auto [first, count] = s->input_values[i];
      behind = first + count;
      for (std::size_t d = 0; d < l.sizes.size() && d < count; ++d) set(first + d, l.sizes[d]);
      for (std::size_t d = 0; d < l.strides.size() && d + l.sizes.size() < count; ++d)
        set(first + l.sizes.size() + d, l.strides[d]);
    }
    for (std::size_t i = 0; i < terms.numbers.size(); ++i) set(behind + i, Int(terms.numbers[i]));
    guards::Substitution to(own, forward);
    for (std::uint32_t i = 0; i < own.symbols().size(); ++i)
      if (const std::uint32_t word = own.symbols()[i].source.word; word < by_word.size() && by_word[word])
        to.bind(i, *by_word[word]);
    // Behind these stand what passes and lowering have asked: which kernels suit the sizes is no reason to compile the
    // forward again.
    const std::size_t traced = std::min<std::size_t>(backward.traced_guards, own.guards().size());
    for (std::size_t i = 0; i < traced; ++i) {
      const guards::Guard& asked = own.guards()[i];
      to.require(asked.condition, asked.where, asked.why);
    }
  }
}

}  // namespace

std::optional<BackwardAhead> BackwardAhead::of(const CompileOptions& o, const TracedCall& call, const CallFrame& f) {
  const Traced& t = call.traced;
  if (!t.gradients || t.unrepeatable || !t.data.empty() || !backward_of(*t.gradients)) return std::nullopt;
  if (o.backward == BackwardCompile::Lazy) return std::nullopt;
  if (o.backward == BackwardCompile::Auto && o.on_miss != OnMiss::ServeMeanwhile && !takes_sizes(*t.gradients))
    return std::nullopt;
  std::vector<Tensor> frozen = frozen_of({f.tensors.data(), f.tensors.size()});
  frozen.resize(t.graph.inputs.size());
  for (std::size_t i = 0; i < t.captured.size(); ++i) {
    TensorImpl* now = t.captured[i].now();
    if (now && now->storage->frozen.load(std::memory_order_relaxed))
      frozen[frozen.size() - t.captured.size() + i] = Tensor::share(now);
  }
  BackwardAhead made;
  made.arguments_ = expected_arguments(*t.gradients, traced_values(*t.graph.env), frozen);
  return made;
}

void BackwardAhead::make(TracedCall& call) const {
  const Gradients& g = *call.traced.gradients;
  try {
    warm_up_backward(g, arguments_);
    take_guards(g, *backward_of(g), *call.traced.graph.env);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::OutOfMemory) throw;
    if (logs::on(logs::Channel::Recompiles))
      logs::event(logs::Event::not_traceable, call.name,
                  std::string("its backward was not compiled ahead: ") + e.what(),
                  {{"kind", bail_name(e.code() == ErrorCode::NotTraceable ? bail_of(e) : Bail::compile_failed)},
                   {"reason", e.what()}});
  }
}

void warm_up_backward(const Specialization& s, const CallFrame& f, WarmedUp& made) {
  if (!s.gradients || !backward_of(*s.gradients)) return;
  const std::vector<Tensor> frozen = frozen_of({f.tensors.data(), f.tensors.size()});
  const WarmedUp backward =
      warm_up_backward(*s.gradients, expected_arguments(*s.gradients, {f.values.data(), f.values.size()}, frozen));
  made.compiled = made.compiled || backward.compiled, made.recorded = made.recorded || backward.recorded;
}

}  // namespace reprise::detail
