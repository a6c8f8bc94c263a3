// scaled_mm. int8 products as they are defined: exact sums in integers, each scaled in float32. Others in double.
#include "kernels/launch/scales.h"
#include "kernels/reference/elements.h"

namespace reprise::kernels::reference {

void scaled_mm(const NativeArgs& args) {
  const ScaledCall s = scaled_call(args);
  const std::int64_t rows = s.a.sizes[0], inner = s.a.sizes[1], columns = s.b.sizes[1];
  const bool integers = s.a.dtype == DType::Int8;
  for (std::int64_t m = 0; m < rows; ++m)
    for (std::int64_t n = 0; n < columns; ++n) {
      float sum = 0;
      double wide = 0;
      for (std::int64_t k = 0; k < inner;) {
        const std::int64_t end = s.end_of_sum(k);
        const float by_a = s.scale_a.at(m, k), by_b = s.scale_b.at(n, k);
        std::int64_t whole = 0;
        double part = 0;
        for (; k < end; ++k) {
          const Value x = load(s.a, m * s.a.strides[0] + k * s.a.strides[1]),
                      y = load(s.b, k * s.b.strides[0] + n * s.b.strides[1]);
          if (integers) whole += x.i * y.i;
          else part += x.number() * y.number();
        }
        sum += static_cast<float>(whole) * by_a * by_b;
        wide += part * by_a * by_b;
      }
      const double bias = s.bias ? load_number(*s.bias, n * s.bias->strides[0]) : 0;
      if (integers) wide = s.bias ? sum + static_cast<float>(bias) : sum;
      else wide += bias;
      store(s.c, m * s.c.strides[0] + n * s.c.strides[1], Value::of(wide));
    }
}

}  // namespace reprise::kernels::reference
