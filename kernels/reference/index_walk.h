#pragma once
#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/reference/elements.h"

/// Which elements computed indices name: shared by the kernels here and by those of kernels/cpu.
namespace reprise::kernels::reference {

/// False, and the fault is told, where an index is none of a dimension of size `extent`; with `wraps` negative ones
/// count from its end.
bool in_range(const NativeArgs&, const TensorView& indices, int dim, std::int64_t extent, bool wraps);

/// What scatter_reduce begins with where self is not included: of "sum", "prod", "amax" or "amin" what changes nothing.
/// Of Bool, false and true are the ends; of integers infinities saturate.
Value neutral(std::string_view reduce, DType);

/// The places that a scatter names, one for each element of its index.
struct Scatter {
  TensorView self, indices, out, src;
  Value one;  // where src is a number
  bool has_tensor;
  int dim;
  Strides rest{};  // of out, 0 in `dim`
  explicit Scatter(const NativeArgs& a)
      : self(at_least_1d(a.tensor(0))), indices(at_least_1d(a.tensor(2))), out(at_least_1d(a.result())),
        has_tensor(a.args[3].kind == NativeArg::Kind::Tensor) {
    dim = static_cast<int>(wrap(a.integer(1), self.rank));
    if (has_tensor) src = at_least_1d(a.tensor(3));
    else one = number(a, 3);
    for (int d = 0; d < out.rank; ++d) rest[static_cast<std::size_t>(d)] = d == dim ? 0 : out.strides[d];
  }
  /// False, and the fault is told, where an index is out of range. Otherwise out has self's elements.
  bool begin(const NativeArgs&) const;
  /// write(result, where, value)
  template <class F>
  void run(F&& write) const {
    for_each<3>(indices.rank, indices.sizes, {indices.strides, rest.data(), src.strides}, [&](const auto& at) {
      write(out, at[1] + load(indices, at[0]).i * out.strides[dim], has_tensor ? load(src, at[2]) : one);
    });
  }
};

/// self[indices] as a walk: over sizes in which the broadcast index dims stand where the indexed dims were (adjacent),
/// or in front. Trailing argument of the launch: which elements of the Tensor?[] are there (reference.cc).
struct IndexWalk {
  int rank = 0, count = 0;
  std::int64_t sizes[kMaxRank] = {};
  Strides self_strides{};  // 0 in the index dims
  TensorView tensors[kMaxRank];
  Strides strides[kMaxRank] = {};  // of each index tensor
  std::int64_t step[kMaxRank] = {}, extent[kMaxRank] = {};
  bool ok = true;

  IndexWalk(const NativeArgs& a, const TensorView& self) {
    const NativeArg &list = a.args[1], &there = a.args[a.n_args - 1];
    int first = -1, last = -1;
    bool indexed[kMaxRank] = {};
    for (std::uint32_t d = 0; d < there.count; ++d) {
      if (!a.ints[there.first + d]) continue;
      int dim = static_cast<int>(d);
      tensors[count] = a.tensors[list.first + static_cast<std::uint32_t>(count)];
      step[count] = self.strides[d];
      extent[count] = self.sizes[d];
      ok = ok && in_range(a, tensors[count], dim, self.sizes[d], true);
      ++count;
      indexed[d] = true;
      if (first < 0) first = dim;
      last = dim;
    }
    TensorView common;  // the index tensors' broadcast sizes
    for (int i = 0; i < count; ++i) common.rank = std::max(common.rank, tensors[i].rank);
    for (int d = 0; d < common.rank; ++d) {
      common.sizes[d] = 1;
      for (int i = 0; i < count; ++i) {
        int own = d - (common.rank - tensors[i].rank);
        if (own >= 0 && tensors[i].sizes[own] != 1) common.sizes[d] = tensors[i].sizes[own];
      }
    }
    if (self.rank - count + common.rank > kMaxRank) {
      fault(a, ErrorCode::InvalidArgument,
            "the indexed part would have more than " + std::to_string(kMaxRank) + " dimensions");
      ok = false;
      return;
    }
    int place = last - first + 1 == count ? first : 0;  // adjacent, or in front
    bool placed = false;
    auto put_common = [&] {
      for (int i = 0; i < count; ++i) {
        Strides s = broadcast_strides(tensors[i], common);
        for (int d = 0; d < common.rank; ++d)
          strides[i][static_cast<std::size_t>(rank + d)] = s[static_cast<std::size_t>(d)];
      }
      for (int d = 0; d < common.rank; ++d) sizes[rank++] = common.sizes[d];
      placed = true;
    };
    for (int d = 0; d < self.rank; ++d) {
      if (d == place) put_common();
      if (indexed[d]) continue;
      self_strides[static_cast<std::size_t>(rank)] = self.strides[d];
      sizes[rank++] = self.sizes[d];
    }
    if (!placed) put_common();
  }

  /// The last dims of the walk, in which no index moves: whole rows are read or written there.
  int row_dims() const {
    int n = 0;
    auto still = [&](std::size_t d) {
      return std::all_of(strides, strides + count, [&](const Strides& s) { return s[d] == 0; });
    };
    while (n < rank && still(static_cast<std::size_t>(rank - n - 1))) ++n;
    return n;
  }

  /// f(offset in self, offset in the other operand, whose strides over the walk are given) over all dims but the last
  /// `without`.
  template <class F>
  void run(const std::int64_t* other, int without, F&& f) const {
    std::array<const std::int64_t*, kMaxRank + 2> s{self_strides.data(), other};
    for (std::size_t i = 0; i < kMaxRank; ++i) s[i + 2] = strides[i].data();
    for_each<kMaxRank + 2>(rank - without, sizes, s, [&](const auto& at) {
      std::int64_t to = at[0];
      for (int i = 0; i < count; ++i) {
        std::int64_t v = load(tensors[i], at[static_cast<std::size_t>(i) + 2]).i;
        to += (v < 0 ? v + extent[i] : v) * step[i];
      }
      f(to, at[1]);
    });
  }
};

}  // namespace reprise::kernels::reference
