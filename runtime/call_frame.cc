#include "runtime/call_frame.h"

#include "base/bail.h"
#include "base/errors.h"

namespace reprise::runtime {

void add_tensor(CallFrame& f, const TensorImpl* t) {
  if (!t) [[unlikely]] {
    f.constant(0);
    return;
  }
  if (t->trace) [[unlikely]] {
    if (t->trace->is_live()) bail(Bail::other_thread, "compile", {});
    fail(ErrorCode::InvalidArgument, "compile", {}, "a tensor of a finished trace is used: it never had data (a function whose trace was given up has left it somewhere)");
  }
  if (t->storage->released) [[unlikely]]
    check_not_released(*t, "an argument");
  // Kept in the tensor: its layout hardly ever changes. Racing threads compute the same word.
  std::uint64_t w = t->structure_word.load(std::memory_order_relaxed);
  if (w == 0) [[unlikely]]
    t->structure_word.store(w = structure_word(*t), std::memory_order_relaxed);
  f.structure.push_back(w);
  f.tensors.push_back(const_cast<TensorImpl*>(t));
  std::size_t rank = t->rank;
  if (is_row_major_word(w)) {
    std::int64_t* at = f.values.extend(rank);
    for (std::size_t d = 0; d < rank; ++d) at[d] = t->sizes[d];
  } else {
    std::int64_t* at = f.values.extend(2 * rank);
    for (std::size_t d = 0; d < rank; ++d) at[d] = t->sizes[d], at[rank + d] = t->strides[d];
  }
}

}  // namespace reprise::runtime

namespace reprise::detail {

void CallFrame::tensor(const Tensor& t) { runtime::add_tensor(*this, t.impl()); }

std::uint64_t CallFrame::hash() const {
  // Four chains, so that the multiplications overlap.
  std::uint64_t h[4] = {structure.size(), 0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full, 0x165667b19e3779f9ull};
  std::size_t i = 0;
  for (; i + 4 <= structure.size(); i += 4)
    for (std::size_t k = 0; k < 4; ++k) h[k] = (h[k] ^ structure[i + k]) * 0xff51afd7ed558ccdull, h[k] ^= h[k] >> 32;
  for (; i < structure.size(); ++i) h[0] = (h[0] ^ structure[i]) * 0xff51afd7ed558ccdull, h[0] ^= h[0] >> 32;
  for (std::size_t k = 1; k < 4; ++k) h[0] = (h[0] ^ h[k]) * 0xc4ceb9fe1a85ec53ull, h[0] ^= h[0] >> 29;
  return h[0];
}

}  // namespace reprise::detail
