#pragma once
#include "reprise/autograd.h"
#include "reprise/reprise.h"

namespace reprise::test {

inline Tensor rising(Ints sizes) {
  Int n = 1;
  for (Int s : sizes) n = n * s;
  return (arange(n, {.dtype = kFloat32}) * 0.125 - 1.0).view(sizes);
}

struct Given {
  Tensor xs, w, buffer;  ///< w is a leaf that wants a gradient
};
inline Given given(int rows = 4) {
  return {rising({rows, 3}), rising({3}).clone().requires_grad_(), rising({3}) * 0.5};
}

}  // namespace reprise::test
