#include "operators/draws.h"

#include <utility>

#include "base/errors.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/reference/draws.h"
#include "kernels/reference/reference.h"
#include "operators/derivatives.h"

namespace reprise::operators {

namespace {

void check_place(const graph::RuleCtx& c, int first) {
  for (int i = first; i < first + 2; ++i)
    if (const TensorMeta& m = c.tensor(i); m.dtype != kInt64 || m.dim() != 0)
      fail(ErrorCode::Internal, c.op.schema.name.c_str(), c.loc, "the place of the generator is no number");
}

void random_shape(graph::RuleCtx& c) {
  check_place(c, 0);
  c.result(c.dtype(3, DType::Float32), c.ints(2));
}
void multinomial_shape(graph::RuleCtx& c) {
  check_place(c, 1);
  const TensorMeta& self = c.tensor(0);
  const Int n = c.integer(3);
  c.result(DType::Int64, self.dim() == 2 ? Ints{self.size(0), n} : Ints{n});
}

graph::OpId rand_at() {
  static const graph::OpId id = graph::register_op(
      {.schema = "reprise::rand_at(Tensor seed, Tensor offset, SymInt[] size, *, ScalarType dtype, str device='cpu', "
                 "SymInt plus) -> Tensor",
       .shape = random_shape},
      {kernels::reference_kernels().fact({kernels::reference::rand_at}), constant()});
  return id;
}
graph::OpId randn_at() {
  static const graph::OpId id = graph::register_op(
      {.schema = "reprise::randn_at(Tensor seed, Tensor offset, SymInt[] size, *, ScalarType dtype, str device='cpu', "
                 "SymInt plus) -> Tensor",
       .shape = random_shape},
      {kernels::reference_kernels().fact({kernels::reference::randn_at}), constant()});
  return id;
}
graph::OpId multinomial_at() {
  static const graph::OpId id = graph::register_op(
      {.schema = "reprise::multinomial_at(Tensor self, Tensor seed, Tensor offset, SymInt num_samples, bool "
                 "replacement, SymInt plus) -> Tensor",
       .shape = multinomial_shape,
       .effects = {.may_fail = true}},
      {kernels::reference_kernels().fact({kernels::reference::multinomial_at}), constant()});
  return id;
}

}  // namespace

graph::OpId place_of_draws_op() {
  static const graph::OpId id = graph::register_op(
      {.schema = "reprise::place_of_draws(SymInt number) -> Tensor",
       .shape =
           [](graph::RuleCtx& c) {
             static_cast<void>(c.integer(0));
             c.result(kInt64, {});
           }},
      {kernels::reference_kernels().fact(
           {[](const kernels::NativeArgs& a) { *reinterpret_cast<std::int64_t*>(a.result().data) = a.integer(0); }}),
       constant()});
  return id;
}

const graph::OpDef* draws_at(graph::OpId id) {
  constexpr std::pair<graph::OpId, graph::OpId (*)()> kTwins[] = {
      {graph::OpId::rand, rand_at}, {graph::OpId::randn, randn_at}, {graph::OpId::multinomial, multinomial_at}};
  for (const auto& [drawn, at] : kTwins)
    if (drawn == id) return &graph::op(at());
  return nullptr;
}

void register_draws() { place_of_draws_op(), rand_at(), randn_at(), multinomial_at(); }

}  // namespace reprise::operators
