#include "kernels/gpu/index_width.h"

#include <algorithm>

#include "graph/shape_rules.h"
#include "kernels/loop/analysis.h"

namespace reprise::kernels {

namespace {

/// Threads of the last blocks, and the last turns of loops, count a little beyond the end.
constexpr std::int64_t kMostPoints = INT32_MAX - (1 << 16);

/// All of these, or nothing is asked.
class Conditions {
 public:
  explicit Conditions(SourceLoc where) : where_(where) {}
  void at_most(Int value, std::int64_t most) { conditions_.push_back(detail::compare_le(value, most, where_)); }
  /// The sign that it has in the traced call.
  bool is_forward(Int stride) {
    const bool forward = stride.hint() >= 0;
    if (stride.is_symbolic())
      conditions_.push_back(forward ? detail::compare_le(0, stride, where_) : detail::compare_le(stride, 0, where_));
    return forward;
  }
  bool hold() const {
    return std::all_of(conditions_.begin(), conditions_.end(), [](const Bool& c) { return c.hint(); }) &&
           std::all_of(conditions_.begin(), conditions_.end(),
                       [](const Bool& c) { return graph::require(c, "indices in 32 bits"); });
  }

 private:
  SourceLoc where_;
  std::vector<Bool> conditions_;
};

void access_fits(const LoopKernel& k, const Access& a, Conditions& c) {
  Int ahead = 0, behind = 0, points = 1;  // offsets on both sides; the points that are told apart
  auto step = [&](Int stride, Int extent) {
    if (c.is_forward(stride)) ahead = ahead + stride * (extent - 1);
    else behind = behind - stride * (extent - 1);
  };
  for (std::size_t d = 0; d < a.strides.size(); ++d) {
    if (is_plain(a.strides[d], 0)) continue;
    step(a.strides[d], k.extents[d]);
    points = points * k.extents[d];
  }
  for (const Access::Gather& g : a.gathers) step(g.stride, g.extent);
  // What lies side by side in memory is no more than the points, wherever it is accessed at all.
  if (!(a.gathers.empty() && identical(ahead + 1, points))) c.at_most(ahead, INT32_MAX);
  c.at_most(behind, INT32_MAX);
}

}  // namespace

bool fits_in_32_bits(const LoopKernel& k, SourceLoc where) {
  Conditions c(where);
  Int points = 1;
  for (std::size_t d = 0; d < k.extents.size(); ++d) {
    points = points * k.extents[d];
    // The kept points by themselves, too: they are all there when nothing is reduced for them.
    if (d + 1 == static_cast<std::size_t>(k.n_kept) || d + 1 == k.extents.size()) c.at_most(points, kMostPoints);
  }
  for (const Access& a : k.accesses) access_fits(k, a, c);
  return c.hold();
}

}  // namespace reprise::kernels
