#include "runtime/call_frame.h"

#include "base/errors.h"

namespace reprise::runtime {

void add_tensor(CallFrame& f, const TensorImpl* t) {
  if (!t) {
    f.constant(0);
    return;
  }
  if (t->trace) fail(ErrorCode::InvalidArgument, "compile", {}, "a tensor of a finished trace is used: it never had data");
  if (t->storage->released) check_not_released(*t, "an argument of a compiled function");
  std::uint64_t w = structure_word(*t);
  f.constant(w);
  f.tensors.push_back(const_cast<TensorImpl*>(t));
  std::size_t at = f.values.size();
  std::size_t rank = t->rank;
  f.values.resize(at + value_count(w));
  for (std::size_t d = 0; d < rank; ++d) f.values[at + d] = t->sizes[d];
  if (!is_row_major_word(w))
    for (std::size_t d = 0; d < rank; ++d) f.values[at + rank + d] = t->strides[d];
}

}  // namespace reprise::runtime

namespace reprise::detail {
void CallFrame::tensor(const Tensor& t) { runtime::add_tensor(*this, t.impl()); }
}  // namespace reprise::detail
