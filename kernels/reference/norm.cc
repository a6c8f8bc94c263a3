// Softmax and the normalisations over trailing dims.
#include <cmath>
#include <limits>

#include "kernels/reference/elements.h"

namespace reprise::kernels::reference {

namespace {

// result(shifted by the greatest, sum of the exponentials of what is shifted)
template <class F>
void softmax_by(const NativeArgs& a, F&& result) {
  TensorView x = at_least_1d(a.tensor(0)), out = at_least_1d(a.result());
  int dim = static_cast<int>(wrap(a.integer(1), x.rank));
  std::int64_t n = x.sizes[dim], step = x.strides[dim], out_step = out.strides[dim];
  std::uint32_t others = ~(1u << dim) & ((1u << x.rank) - 1);
  std::vector<double> row(static_cast<std::size_t>(n));
  for_each(keep(x, others), keep(out, others), [&](std::int64_t from, std::int64_t to) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      double v = convert(load(x, from + i * step), out.dtype).f;
      row[static_cast<std::size_t>(i)] = v;
      if (v > top || std::isnan(v)) top = v;
      if (std::isnan(top)) break;
    }
    for (double v : row) sum += std::exp(v - top);
    for (std::int64_t i = 0; i < n; ++i) {
      double shifted = row[static_cast<std::size_t>(i)] - top;
      store(out, to + i * out_step, Value::of(result(shifted, sum)));
    }
  });
}

/// f(elements of one group as doubles) -> the same, normalised; then weight and bias, which have the group's sizes.
template <class F>
void normalise(const NativeArgs& a, const TensorView* weight, const TensorView* bias, F&& f) {
  const TensorView &x = a.tensor(0), &out = a.result();
  std::uint32_t all = (1u << x.rank) - 1, trailing = all & ~((1u << (x.rank - static_cast<int>(a.args[1].count))) - 1);
  TensorView group = keep(x, trailing), out_group = keep(out, trailing);
  std::vector<double> v(static_cast<std::size_t>(group.numel()));
  auto each = [&](const TensorView& t, std::int64_t from, auto&& g) {
    std::size_t i = 0;
    for_each(t, [&](std::int64_t at) { g(v[i++], from + at); });
  };
  for_each(keep(x, all & ~trailing), keep(out, all & ~trailing), [&](std::int64_t from, std::int64_t to) {
    each(group, from, [&](double& d, std::int64_t at) { d = load_number(x, at); });
    f(v);
    if (weight) each(*weight, 0, [&](double& d, std::int64_t at) { d *= load_number(*weight, at); });
    if (bias) each(*bias, 0, [&](double& d, std::int64_t at) { d += load_number(*bias, at); });
    each(out_group, to, [&](double d, std::int64_t at) { store(out, at, Value::of(d)); });
  });
}

double epsilon_of(DType t) {
  switch (t) {
    case DType::Float64: return std::numeric_limits<double>::epsilon();
    case DType::Float16: return 0x1p-10;
    case DType::BFloat16: return 0x1p-7;
    default: return std::numeric_limits<float>::epsilon();
  }
}

}  // namespace

void softmax(const NativeArgs& a) {
  softmax_by(a, [](double shifted, double sum) { return std::exp(shifted) / sum; });
}
void log_softmax(const NativeArgs& a) {
  softmax_by(a, [](double shifted, double sum) { return shifted - std::log(sum); });
}

void layer_norm(const NativeArgs& a) {
  double eps = number(a, 4).number();
  normalise(a, a.has(2) ? &a.tensor(2) : nullptr, a.has(3) ? &a.tensor(3) : nullptr, [&](std::vector<double>& v) {
    double n = static_cast<double>(v.size()), mean = 0, var = 0;
    for (double d : v) mean += d / n;
    for (double d : v) var += (d - mean) * (d - mean) / n;
    for (double& d : v) d = (d - mean) / std::sqrt(var + eps);
  });
}

void rms_norm(const NativeArgs& a) {
  double eps = a.has(3) ? number(a, 3).number() : epsilon_of(a.tensor(0).dtype);
  normalise(a, a.has(2) ? &a.tensor(2) : nullptr, nullptr, [&](std::vector<double>& v) {
    double squares = 0;
    for (double d : v) squares += d * d / static_cast<double>(v.size());
    for (double& d : v) d /= std::sqrt(squares + eps);
  });
}

}  // namespace reprise::kernels::reference
