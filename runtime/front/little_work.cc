#include "runtime/front/little_work.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/launch/product.h"
#include "kernels/reference/reference.h"
#include "tensor/impl.h"

namespace reprise::runtime {

namespace {

constexpr std::int64_t kElements = std::int64_t{1} << 14, kProducts = std::int64_t{1} << 20;

/// Counts, as many as 64 bits have.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, std::max<std::int64_t>(b, 1), &product) ? INT64_MAX : product;
}

std::int64_t broadcast(const std::vector<const TensorImpl*>& operands) {
  std::array<std::int64_t, kMaxRank> sizes;
  sizes.fill(1);
  for (const TensorImpl* t : operands)
    for (int d = 0; d < t->rank; ++d) {
      std::int64_t& size = sizes[static_cast<std::size_t>(t->rank - 1 - d)];  // from the last
      size = std::max(size, t->sizes[d]);
    }
  std::int64_t n = 1;
  for (std::int64_t size : sizes) n = times(n, size);
  return n;
}

/// Of the first two operands: what each element of the result is a sum of lies along the last dimension of the first.
/// Of a convolution each weight meets about every place of the images.
std::int64_t products(const std::vector<const TensorImpl*>& operands, bool windows = false) {
  if (operands.empty()) return 0;
  if (operands.size() == 1) return operands[0]->numel();
  if (windows && operands[0]->rank > 1)
    return times(operands[0]->numel() / std::max<std::int64_t>(operands[0]->sizes[1], 1), operands[1]->numel());
  const TensorImpl& a = *operands[0];
  const std::int64_t summed = a.rank > 0 ? std::max<std::int64_t>(a.sizes[a.rank - 1], 1) : 1;
  return times(a.numel() / summed, operands[1]->numel());
}

/// Of an operator that makes a tensor of numbers: at least as many as it has.
std::int64_t of_numbers(const graph::OpCall& c) {
  std::int64_t n = 1;
  for (const graph::CallArg& a : c.args) {
    if (auto* i = std::get_if<Int>(&a)) n = times(n, i->hint());
    if (auto* list = std::get_if<IntArrayRef>(&a))
      for (Int i : *list) n = times(n, i.hint());
    if (auto* s = std::get_if<Scalar>(&a); s && s->kind() == Scalar::Kind::Int) n = times(n, s->to_int().hint());
    else if (s && s->is_float() && !(s->to_double() <= static_cast<double>(kElements))) return INT64_MAX;
  }
  return n;
}

}  // namespace

bool is_little_by_reference(const graph::OpCall& c) {
  if (c.inplace || !c.op.writes.empty() || !kernels::reference_kernel(c.op.id)) return false;
  std::vector<const TensorImpl*> operands;
  auto see = [&](const Tensor& t) {
    if (t.defined()) operands.push_back(t.impl());
  };
  for (const graph::CallArg& a : c.args) {
    if (auto* t = std::get_if<const Tensor*>(&a)) see(**t);
    if (auto* list = std::get_if<TensorArrayRef>(&a))
      for (const Tensor& t : *list) see(t);
  }
  std::int64_t elements = 0;
  for (const TensorImpl* t : operands)
    if (__builtin_add_overflow(elements, t->numel(), &elements)) return false;
  switch (c.op.cls) {
    case graph::OpClass::Pointwise: return broadcast(operands) <= kElements;
    case graph::OpClass::Reduction:
    case graph::OpClass::Join: return elements <= kElements;
    case graph::OpClass::Composite: return elements <= kElements && products(operands) <= kProducts;
    case graph::OpClass::Matmul:
      return products(operands, kernels::is_windows(kernels::product_forms().at(c.op.id))) <= kProducts;
    case graph::OpClass::Attention: return products(operands) <= kProducts;
    case graph::OpClass::Creation: return operands.empty() && of_numbers(c) <= kElements;
    default: return false;
  }
}

}  // namespace reprise::runtime
