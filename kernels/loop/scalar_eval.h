#pragma once
#include <cstdint>

#include "kernels/loop/ir.h"

/// What the nodes of a loop kernel mean, one element at a time. Generated code is compared with this, so nothing is
/// computed as it is there, but for the functions of libm: generated code calls them, too, where it has no code of its
/// own (Float64, lgamma, sines of very large numbers), and there both are what libm makes of them.
namespace reprise::kernels::scalar {

/// A value of one node: integers and Bool in `i` (wrapped to their dtype), floats in the member of their width.
union Val {
  std::int64_t i;
  double d;
  float f;
};
inline Val of_int(std::int64_t v) {
  Val r;
  r.i = v;
  return r;
}
inline Val of_float(float v) {
  Val r;
  r.i = 0, r.f = v;
  return r;
}
inline Val of_double(double v) {
  Val r;
  r.d = v;
  return r;
}

/// Float to integer saturates, NaN becomes 0; to Bool: is it not 0?
Val cast(DType to, DType from, Val);
/// Of an Op node; `operand`: the dtype of a, where n's own does not say how to read it (comparisons, truth values).
Val apply(const BodyNode& n, DType operand, Val a, Val b, Val c);

Val load(DType, const char*);
void store(DType, char*, Val);

/// Of a Reduce node: what an empty reduction gives, and `acc` with one more element.
Val identity(const BodyNode&);
Val fold(const BodyNode&, Val acc, Val x);

}  // namespace reprise::kernels::scalar
