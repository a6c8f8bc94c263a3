#pragma once
#include "kernels/reference/elements.h"

namespace reprise::kernels::reference {

// rand, randn and multinomial where the place of the generator stands in tensors (operators/draws.h).
void rand_at(const NativeArgs&);
void randn_at(const NativeArgs&);
void multinomial_at(const NativeArgs&);
/// Of the two tensors at `first`, and the number at `plus` behind that place.
struct DrawsFrom {
  std::uint64_t seed, offset;
};
DrawsFrom draws_from(const NativeArgs&, int first, int plus);

}  // namespace reprise::kernels::reference
