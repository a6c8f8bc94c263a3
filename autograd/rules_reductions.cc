// Derivatives of reductions.
#include "autograd/rules.h"
#include "reprise/ops.h"

namespace reprise::autograd::rules {

/// What a reduction over `dims` gave, as it stands beside what it was given: with its dimensions of size 1 again.
static Tensor kept(Backward& b, const Tensor& t, int dims, int keepdim) {
  if (b.flag(keepdim) || b.dim(0) == 0) return t;
  const int rank = b.dim(0);
  std::vector<bool> reduced(static_cast<std::size_t>(rank), !b.has(dims) || b.ints(dims).empty());
  if (b.has(dims))
    for (Int d : b.ints(dims)) reduced[static_cast<std::size_t>(d.hint() < 0 ? d.hint() + rank : d.hint())] = true;
  Ints sizes = b.sizes(0);
  for (int d = 0; d < rank; ++d)
    if (reduced[static_cast<std::size_t>(d)]) sizes[static_cast<std::size_t>(d)] = 1;
  return reshape(t, sizes, b.loc());
}

void sum(Backward& b) { b.give(0, expand(kept(b, b.grad(), 1, 2), b.sizes(0), b.loc())); }

}  // namespace reprise::autograd::rules
