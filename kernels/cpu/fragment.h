#pragma once
#include <bit>
#include <cstdint>
#include <string>

#include "kernels/launch/launch.h"
#include "kernels/loop/ir.h"

namespace reprise::kernels {

/// Note [Fragments]
/// What is computed of a product's elements, each by itself (bias, activation, gating, scale, residual, cast), runs in
/// the product's launch: over each block of the result while it is in the caches, so that the product itself is nowhere
/// in memory but in such blocks. Its code is a loop kernel like any other, a fragment: over rows and columns of a
/// block, with an access of strides alone for each of its operands and for each product that it reads (several, of one
/// A: gates). What stands around a block (rows of several dimensions, offsets) the driver knows: it gives addresses,
/// extents and strides.
///
/// Values are what they would be in launches apart: a product is rounded to its dtype, then read. Where a result has
/// the product's dtype and its rows a single stride, and nothing else reads its memory, blocks are made there, and
/// changed in place; else in memory of the thread's own.
///
/// kernels/plan/fragments.cc decides which loops become fragments.

inline std::string name_of(const LoopKernel& k) { return canonical_text(k); }

namespace micro {

/// Runs tasks [begin, end) of a loop kernel over (rows, columns): jit::LoopFn.
using FragmentFn = void (*)(void* const* buffers, const std::int64_t* params, std::int64_t begin, std::int64_t end);
struct Fragment {
  static constexpr std::string_view kKind = "fragment";
  using Fn = FragmentFn;
  LoopKernel kernel;
  REPRISE_DESCRIBE(kernel)
};

}  // namespace micro

/// The elements of a product that a fragment reads: `data` is the first of the block, rows are so many elements apart.
struct Block {
  char* data = nullptr;
  std::int64_t row = 0;
};

/// A launch's fragment, at run time. Threads: any number may run blocks.
class Fragment {
 public:
  static constexpr std::uint32_t kMostProducts = 8, kMostAccesses = 24, kMostParams = 96;

  /// Where in a launch's integers what it is stands: how many products it reads (0: there is none), then what `join`
  /// has written.
  static constexpr std::size_t kInts = 4;
  /// Of a launch that has one: what it is stands among the integers from `ints` on, its code is micro-kernel `code`.
  Fragment(const NativeArgs&, std::size_t ints, std::size_t code);
  /// Of a product of matrices.
  explicit Fragment(const NativeArgs& args)
      : Fragment(args, kInts, static_cast<std::size_t>(std::popcount(static_cast<std::uint64_t>(args.ints[1])))) {}

  std::int64_t products() const { return products_; }
  /// Where product i may be made as a whole; `data` null: in memory of one's own.
  Block place(std::int64_t i) const;
  /// The same of one of so many matrices of so many rows, `step` elements apart.
  Block place(std::int64_t i, std::int64_t matrices, std::int64_t rows, std::int64_t& step) const;
  /// An element takes about the time of so many multiplications.
  std::int64_t cost() const { return cost_; }
  /// Rows [row, row + rows) and columns [col, col + cols) of all rows: blocks[i] is product i there.
  void run(std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols, const Block* blocks) const;
  /// Whole rows from `first_row` on, on several threads.
  void run_all(std::int64_t first_row, std::int64_t rows, std::int64_t cols, const Block* blocks) const;

 private:
  struct Access {
    char* data;
    const std::int64_t* strides;           ///< by dims of rows, then of columns
    std::int64_t item, product, row_slot;  ///< product: below 0 where it is none
  };
  micro::FragmentFn fn_;
  std::int64_t products_, item_, cost_;
  std::uint32_t accesses_, params_;
  int row_dims_ = 0;
  const std::int64_t* sizes_ = nullptr;
  const TensorView* tensors_;
  const std::int64_t* targets_;
  Access access_[kMostAccesses];
  std::int64_t param_[kMostParams];
};

/// May a launch take a fragment: a product of matrices, or a convolution by rows, without one, to which nothing is
/// added (matmul.cc)?
bool takes_fragment(const Launch&);
/// A loop that reads what `product` makes, all of it and nobody else does, becomes its fragment: the launch has the
/// operands of both, but for the products. False, and nothing is done, where the loop reduces, gathers, asks for
/// indices or for part of a product, or writes where a condition holds. Whether the order of launches allows it is the
/// caller's question.
bool join_fragment(Launch& product, const Launch& loop);

}  // namespace reprise::kernels
