// Places that elements name: their number depends on data.
#include <algorithm>
#include <string>

#include "kernels/launch/named.h"
#include "kernels/reference/elements.h"
#include "kernels/reference/reference.h"

namespace reprise::kernels {

namespace {

void nonzero_kernel(const NativeArgs& a) {
  const TensorView &self = a.tensor(0), &out = a.result();
  auto* to = out.as<std::int64_t>();
  const std::int64_t wanted = out.sizes[0], rank = self.rank;
  std::int64_t found = 0, index[kMaxRank] = {};
  auto next = [&] {
    for (std::int64_t d = rank; d-- > 0;) {
      if (++index[d] < self.sizes[d]) return;
      index[d] = 0;
    }
  };
  auto row = [&] {
    for (std::int64_t d = 0; d < rank; ++d) to[found * rank + d] = index[d];
    ++found;
  };
  if (self.dtype == kBool && rank == 1) {  // what masks are
    const auto* set = self.as<bool>();
    for (std::int64_t i = 0; i < self.sizes[0] && found < wanted; ++i)
      if (set[i * self.strides[0]]) to[found++] = i;
  } else {
    reference::for_each(self, [&](std::int64_t at) {
      if (found < wanted && reference::load(self, at).truth()) row();
      next();
    });
  }
  std::fill(to + found * rank, to + wanted * rank, a.integer(2));
}

void repeated_kernel(const NativeArgs& a) {
  const TensorView &repeats = a.tensor(0), &out = a.result();
  auto count = [&](std::int64_t i) { return reference::load(repeats, i * repeats.strides[0]).i; };
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < repeats.sizes[0]; ++i) {
    if (count(i) < 0)
      return a.fail(ErrorCode::InvalidArgument, "repeats must not be negative, got " + std::to_string(count(i)) +
                                                    " at [" + std::to_string(i) + "]");
    total += count(i);
  }
  if (total != out.sizes[0])
    return a.fail(ErrorCode::InvalidArgument,
                  "the repeats add up to " + std::to_string(total) + ", not to " + std::to_string(out.sizes[0]));
  auto* to = out.as<std::int64_t>();
  for (std::int64_t i = 0; i < repeats.sizes[0]; ++i) to = std::fill_n(to, count(i), i);
}

}  // namespace

NativeFn named::nonzero() { return nonzero_kernel; }
NativeFn named::repeated() { return repeated_kernel; }

}  // namespace reprise::kernels
