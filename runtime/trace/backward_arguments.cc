// What a backward is called with, known before its first call; and what there is to tell of it.
#include <algorithm>
#include <numeric>

#include "autograd/state.h"
#include "autograd/tape.h"
#include "guards/expr.h"
#include "reprise/autograd.h"
#include "runtime/trace/gradients.h"
#include "tensor/impl.h"

namespace reprise::detail {

std::size_t saved_tensors(const Gradients& g) { return g.own; }

void expect_strides(const std::int64_t* sizes, std::int64_t* strides, int rank) {
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return strides[a] < strides[b] || (strides[a] == strides[b] && sizes[a] < sizes[b]);
  });
  std::int64_t next = 1;
  bool dense = true;
  for (int d : order) {
    if (sizes[d] != 1) dense = dense && strides[d] == next;
    next *= std::max<std::int64_t>(sizes[d], 1);
  }
  if (dense) return;
  next = 1;
  for (int d = rank; d-- > 0; next *= std::max<std::int64_t>(sizes[d], 1)) strides[d] = next;
}

namespace {
/// A tensor of that layout, for compilations alone: it has no bytes.
Tensor without_bytes(DType t, Device device, const std::int64_t* sizes, const std::int64_t* strides, int rank) {
  auto storage = std::make_unique<Storage>();
  storage->device = device;
  storage->bytes = item_size(t);
  for (int d = 0; d < rank; ++d) storage->bytes *= std::max<std::int64_t>(sizes[d], 1);
  return Tensor::adopt(new_impl(t, device, sizes, strides, rank, 0, storage.release()));
}
}  // namespace

void expect_arguments(Gradients& g) {
  guards::ExprProgram exprs;
  std::vector<std::uint32_t> slots;
  const guards::ShapeEnv& env = *g.graph->graph.env;
  bool of_data = false;
  auto add = [&](Int i) {
    of_data = of_data || (i.is_symbolic() && env.of_data(i.expr()));
    if (!of_data) slots.push_back(exprs.add(i));
  };
  for (const TensorMeta& m : g.expected) {
    for (Int s : m.layout.sizes) add(s);
    for (Int s : m.layout.strides) add(s);
  }
  for (const guards::Expr* e : g.graph->numbers) add(Int(e));
  if (of_data) return;
  g.exprs = std::move(exprs), g.slots = std::move(slots);
}

std::string explain_backward(const Gradients& g, Detail detail) {
  const auto inputs =
      std::count_if(g.joint.inputs.begin(), g.joint.inputs.end(), [](const auto& i) { return !i.by_base; });
  std::string s = "  differentiable: " + std::to_string(g.joint.outputs.size()) + " results, " +
                  std::to_string(inputs) + " inputs; saved for backward: " + std::to_string(g.saved.size()) +
                  " tensors (" + std::to_string(g.own) + " of their own, " + std::to_string(g.bytes_saved) +
                  " bytes at the traced sizes; all that backward reads takes " + std::to_string(g.bytes_of_all) +
                  "), " + std::to_string(g.numbers) + " sizes and numbers\n";
  if (g.backward) s += g.backward->explain(detail);
  return s;
}

Compiled* backward_of(const Gradients& g) { return g.backward ? compiled_of(*g.backward).get() : nullptr; }

Compiled* again_of(const Gradients& g) {
  return g.again && g.again->function ? compiled_of(*g.again->function).get() : nullptr;
}

bool takes_sizes(const Gradients& g) {
  return std::any_of(g.graph->described.begin(), g.graph->described.end(), [](const graph::NumberInput& n) {
    return !is_random(n) && n.kind != graph::NumberInput::Kind::Float;
  });
}

BackwardTerms backward_terms(const Gradients& g) { return {g.expected, g.graph->numbers}; }

std::vector<std::int64_t> traced_values(const guards::ShapeEnv& env) {
  std::vector<std::int64_t> values;
  for (const guards::Symbol& s : env.symbols()) {
    if (s.of_data || s.source.word == UINT32_MAX) continue;
    values.resize(std::max<std::size_t>(values.size(), s.source.word + std::size_t{1}));
    values[s.source.word] = s.hint;
  }
  return values;
}

BackwardArguments expected_arguments(const Gradients& g, std::span<const std::int64_t> values,
                                     std::span<const Tensor> frozen) {
  std::vector<std::int64_t> computed(g.exprs ? g.exprs->size() : 0);
  if (g.exprs) {
    const std::vector<std::uint32_t> words = g.exprs->words();
    REPRISE_CHECK(words.empty() || words.back() < values.size());
    g.exprs->evaluate(values.data(), computed.data());
  }
  std::size_t at = 0;
  guards::ShapeEnv& env = *g.graph->graph.env;
  const auto take = [&](Int i) -> std::int64_t {
    if (g.exprs) return computed[g.slots[at++]];
    return i.is_symbolic() ? env.evaluate_hint(i.expr()) : i.hint();
  };
  BackwardArguments a;
  for (std::size_t i = 0; i < g.expected.size(); ++i) {
    const TensorMeta& m = g.expected[i];
    std::vector<std::int64_t> sizes, strides;
    for (std::size_t d = 0; d < m.layout.sizes.size(); ++d) sizes.push_back(take(m.layout.sizes[d]));
    for (std::size_t d = 0; d < m.layout.strides.size(); ++d) strides.push_back(take(m.layout.strides[d]));
    const int rank = static_cast<int>(sizes.size());
    if (i < g.saved.size()) {
      const SavedValue& s = g.saved[i];
      if (s.where == SavedValue::Where::Input && s.index < frozen.size() && frozen[s.index].defined()) {
        a.tensors.push_back(frozen[s.index]);
        continue;
      }
    } else {
      expect_strides(sizes.data(), strides.data(), rank);
    }
    a.tensors.push_back(without_bytes(m.dtype, m.device, sizes.data(), strides.data(), rank));
  }
  for (const guards::Expr* e : g.graph->numbers) a.numbers.push_back(take(Int(e)));
  return a;
}

WarmedUp warm_up_backward(const Gradients& g, const BackwardArguments& a) {
  const autograd::Aside aside;  // as the engine calls it
  const NoGradScope off;
  return g.backward->warm_up(a.tensors, a.numbers);
}

std::string signature_of_backward(const Gradients& g) { return g.backward ? g.backward->signature() : std::string(); }

}  // namespace reprise::detail
