#include "import/onnx/core.h"

namespace reprise::onnx {
namespace {

// Seeds are not the library's: the process's generator gives the numbers (manual_seed).

DType dtype_of_call(Call& c, DType otherwise) {
  if (!c.attribute("dtype")) return otherwise;
  const std::optional<DType> t = dtype_of_element(static_cast<std::int32_t>(c.i("dtype", 1)));
  if (!t) c.bad("the dtype is not supported");
  return *t;
}
Ints shape_of_call(Call& c) {
  Ints sizes;
  for (std::int64_t d : c.list("shape", std::vector<std::int64_t>())) sizes.push_back(d);
  return sizes;
}
Tensor uniform(Call& c, const Ints& sizes, DType t) {
  const double low = c.f("low", 0), high = c.f("high", 1);
  return (rand(sizes, {.dtype = kFloat32}) * (high - low) + low).to(t);
}
Tensor normal(Call& c, const Ints& sizes, DType t) {
  return (randn(sizes, {.dtype = kFloat32}) * c.f("scale", 1) + c.f("mean", 0)).to(t);
}

void bernoulli_of(Call& c) {
  const Tensor x = c.x(0);
  c.give((rand(x.sizes(), {.dtype = kFloat32}) < x.to(kFloat32)).to(dtype_of_call(c, x.dtype())));
}
void multinomial_of(Call& c) {
  const std::optional<DType> t =
      dtype_of_element(static_cast<std::int32_t>(c.i("dtype", static_cast<std::int64_t>(Element::Int32))));
  if (!t) c.bad("the dtype is not supported");
  c.give(multinomial(softmax(c.x(0), -1), c.i("sample_size", 1), true).to(*t));
}
void dropout_of(Call& c) {
  const Tensor x = c.x(0);
  double ratio = c.f("ratio", 0.5);
  bool training = false;
  if (c.version() >= 12) {
    training = c.has(2) && bool(c.scalar(2).to_int() != 0);
    if (training && c.has(1)) ratio = c.scalar(1).to_double();
  }
  if (!training || ratio == 0) {
    c.give(x, 0);
    return c.give(c.version() >= 10 ? ones_like(x, {.dtype = kBool}) : ones_like(x), 1);
  }
  const Tensor kept = rand(x.sizes(), {.dtype = kFloat32}) >= ratio;
  c.give(where(kept, x / (1 - ratio), 0), 0);
  c.give(kept, 1);
}

constexpr Row kRandomRows[] = {
    {"Bernoulli", 15, 0, bernoulli_of},
    {"Dropout", 7, 0, dropout_of, 2 | 4},
    {"Multinomial", 7, 0, multinomial_of},
    {"RandomNormal", 1, 0, [](Call& c) { c.give(normal(c, shape_of_call(c), dtype_of_call(c, kFloat32))); }},
    {"RandomNormalLike", 1, 0, [](Call& c) { c.give(normal(c, c.x(0).sizes(), dtype_of_call(c, c.x(0).dtype()))); }},
    {"RandomUniform", 1, 0, [](Call& c) { c.give(uniform(c, shape_of_call(c), dtype_of_call(c, kFloat32))); }},
    {"RandomUniformLike", 1, 0, [](Call& c) { c.give(uniform(c, c.x(0).sizes(), dtype_of_call(c, c.x(0).dtype()))); }},
};

}  // namespace

std::span<const Row> random_rows() { return kRandomRows; }

}  // namespace reprise::onnx
