#include "reprise/shape_only.h"

#include "base/errors.h"
#include "graph/thread_state.h"
#include "tensor/impl.h"

namespace reprise {

using graph::bits_of;
using graph::one_of;
using graph::Setting;
using graph::thread_state;

ShapeOnlyScope::ShapeOnlyScope() noexcept : word_before_(thread_state.word), own_before_(thread_state.own) {
  thread_state.word |= one_of(Setting::ShapeOnly);
  thread_state.own |= bits_of(Setting::ShapeOnly);
}
ShapeOnlyScope::~ShapeOnlyScope() {
  const std::uint64_t bits = bits_of(Setting::ShapeOnly);
  thread_state.word = (thread_state.word & ~bits) | (word_before_ & bits);
  thread_state.own = (thread_state.own & ~bits) | (own_before_ & bits);
}

bool is_shape_only(const Tensor& t) {
  const TensorImpl& impl = defined_impl(t, "is_shape_only");
  return is_shape_only(impl.device);
}

}  // namespace reprise
