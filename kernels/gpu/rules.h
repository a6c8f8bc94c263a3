#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/launches.h"
#include "kernels/launch/layout.h"

namespace reprise::kernels {

// What rows of the column in launches.cc name (GpuRule, launches.h).
using GpuLaunches = std::optional<std::vector<GpuLaunch>>;
GpuLaunches gpu_matmul(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_scaled(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_attention(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_argmax(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_argmin(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_cumsum(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_topk(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_sort(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_rand(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_randn(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_scatter(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_scatter_add(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_index_put(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_multinomial(const GpuContext&, std::vector<Launch>& before);

// Launches that several of them are made of.
/// Running sums of x along `dim`. `where`: 1, or 0 where there is nothing to do.
GpuLaunch cumsum_launch(const Operand& x, const Operand& out, int dim, Int where = 1);
/// The first k along `dim` in order; k = 0: nothing to do.
GpuLaunch order_launch(const GpuContext&, const Operand& x, const Operand& values, const Operand& places, int dim,
                       Int k, bool descending);

/// What a launch's arguments are told with. Each must be told.
struct InLaunch {
  struct Number {
    Number() = default;
    Number(Int v) : value(v), told(true) {}  // NOLINT: numbers are meant to convert
    template <IntegralNumber T>
    Number(T v) : Number(Int(v)) {}  // NOLINT
    Int value;
    bool told = false;
  };
  struct Buffer {
    Buffer() = default;
    Buffer(std::uint32_t b) : index(b) {}          // NOLINT: and so are buffers
    Buffer(const Operand& o) : index(o.buffer) {}  // NOLINT
    DType dtype = DType::Float32;                  ///< as the code has it
    std::uint32_t index = ~0u;
  };
  struct Source : Buffer {
    using Buffer::Buffer;
    static constexpr bool kWritten = false;
  };
  struct Target : Buffer {
    using Buffer::Buffer;
    static constexpr bool kWritten = true;
  };
};
using Numbers = std::vector<InLaunch::Number>;

/// Makes the launch of some code: its arguments are told by name.
template <KernelKind K>
class LaunchOf {
 public:
  explicit LaunchOf(K code) : code_(std::move(code)), args_(gpu::shaped<InLaunch>(code_)) {}
  typename K::template Args<InLaunch>* operator->() { return &args_; }

  /// blocks: 0 where there is nothing to do. most: see GpuLaunch.
  GpuLaunch in(Int blocks, Int most = 0) {
    std::vector<std::string> numbers;
    std::size_t wanted = 0;
    GpuLaunch l{code_, {}, {}, {}, {}, blocks, most};
    for_each_leaf("", args_, [&](const std::string& name, const auto& leaf) {
      if constexpr (requires { leaf.index; }) {
        REPRISE_CHECK(leaf.index != ~0u, " ", K::kKind, " was not told its buffer ", name);
        l.buffers.push_back(leaf.index), l.written.push_back(leaf.kWritten), l.names.push_back(name);
      } else {
        REPRISE_CHECK(leaf.told, " ", K::kKind, " was not told ", name);
        l.ints.push_back(leaf.value), numbers.push_back(name);
      }
    });
    const auto as_code_has_them = gpu::shaped<InLaunch>(code_);
    for_each_leaf("", as_code_has_them, [&](const std::string&, const auto&) { ++wanted; });
    REPRISE_CHECK(l.buffers.size() + l.ints.size() == wanted, " ", K::kKind, " has ", wanted,
                  " arguments, and was told ", l.buffers.size() + l.ints.size());
    l.names.insert(l.names.end(), numbers.begin(), numbers.end());
    return l;
  }

 private:
  K code_;
  typename K::template Args<InLaunch> args_;
};

/// Some dims that tensors share, without those of size 1, neighbours joined where all strides provably allow it; at
/// least one.
struct GpuWalkDims {
  GpuWalkDims(const Ints& sizes, const std::vector<Ints>& strides, std::uint32_t dims);
  Ints sizes;
  std::vector<Ints> strides;  ///< by tensor
  int dims() const { return static_cast<int>(sizes.size()); }
  Int count() const;
  /// As arguments.
  Numbers sizes_told() const { return {sizes.begin(), sizes.end()}; }
  Numbers strides_told(std::size_t tensor) const { return {strides[tensor].begin(), strides[tensor].end()}; }
};

// How many blocks, as an expression.
/// 1 where a > b, else 0.
inline Int where_more(Int a, Int b) { return Int::max(0, Int::min(1, a - b)); }
inline Int where_at_most(Int a, Int b) { return 1 - where_more(a, b); }
/// 1 where a is the number k, else 0.
inline Int where_is(Int a, std::int64_t k) { return where_more(a, k - 1) * where_at_most(a, k); }
/// `where`: 1 or 0.
inline Int choose(Int where, Int yes, Int no) {
  return same_number(where, 1) ? yes : same_number(where, 0) ? no : where * yes + (1 - where) * no;
}
/// Blocks that have `each` of n.
inline Int blocks_for(Int n, std::int64_t each) { return Int::ceil_div(n, each); }

/// Is v this number in every call that the guards admit?
inline bool known_as(Int v, std::int64_t k) { return same_number(v, k); }
inline bool known_above(Int v, std::int64_t k) { return !v.is_symbolic() && v.hint() > k; }
inline bool known_at_most(Int v, std::int64_t k) { return !v.is_symbolic() && v.hint() <= k; }

}  // namespace reprise::kernels
