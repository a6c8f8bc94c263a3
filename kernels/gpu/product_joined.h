#pragma once
#include <optional>
#include <string>
#include <vector>

#include "kernels/gpu/kernels.h"
#include "kernels/loop/ir.h"

namespace reprise::kernels::gpu {

/// Note [Joined products]
/// Decoding a token is products of one row and, between them, loops that take no time but that of a launch. One kernel
/// does what stands around such products, too:
///
///   row      a loop kernel that reduces (a norm): each block makes its row, which the products multiply, for itself,
///   in shared memory. The row's first
///            weights are on their way meanwhile.
///   columns  the elements of the products, of several matrices, which have lines of `depth` neighbours. A warp has
///   `columns` of them, and reads each once. parts    pointwise loop kernels, each of points of its own. A point reads
///   some elements of products (two for a gate, or where halves are rotated
///            against each other), rounded to their dtype as if they had been in memory, and the warp that has them
///            computes it. Blocks are numbered part after part.
///
/// Every point of a part reads equally many elements, a divisor of `columns`: a warp has so many points that it has
/// `columns` elements. Small parts that read none (what a later launch wants to find at zero) go along. The kernels are
/// as they were in launches of their own, but that each access has a buffer of its own. kernels/plan/join_products.cc
/// decides what is joined.

/// A loop kernel inside: for each access the product that it reads, or -1 where it is memory. Of a row: 0 for what it
/// stores, which is the row.
struct InnerLoop {
  LoopKernel kernel;
  std::vector<int> product;
  REPRISE_DESCRIBE(kernel, product)

  template <class As>
  struct Args {
    std::vector<typename As::Source> sources;  ///< by access that loads from memory, then
    std::vector<typename As::Target> targets;  ///< by access that stores to it
    std::vector<typename As::Number> params;   ///< runtime_params
    REPRISE_DESCRIBE(sources, targets, params)
    void shape(const InnerLoop&);
  };
};
std::string name_of(const InnerLoop&);

struct ProductJoined {
  static constexpr std::string_view kKind = "product_joined";
  DType dtype;
  int depth, columns;
  /// no launch writes the matrices: they may be read before earlier launches are over (Note [Early launches] in
  /// jit/gpu/module.h)
  bool early;
  std::vector<int> biased;     ///< by product: 1 where it has one
  std::vector<InnerLoop> row;  ///< one, or none: the row lies in memory
  std::vector<InnerLoop> parts;
  REPRISE_DESCRIBE(dtype, depth, columns, early, biased, row, parts)

  /// Elements of products that a point of this part reads.
  static int reads(const InnerLoop& part);
  /// Points of a warp.
  int points(const InnerLoop& part) const { return reads(part) ? columns / reads(part) : columns; }

  template <class As>
  struct Matrix {
    typename As::Source buffer;
    typename As::Number offset, step;  ///< step: from line to line
    std::optional<typename As::Source> bias;
    std::optional<typename As::Number> bias_offset, bias_step;
    REPRISE_DESCRIBE(buffer, offset, step, bias, bias_offset, bias_step)
  };
  template <class As>
  struct Args {
    std::optional<typename As::Source> a;
    std::optional<typename As::Number> a_offset;
    std::vector<InnerLoop::Args<As>> row;
    std::vector<Matrix<As>> products;
    std::vector<InnerLoop::Args<As>> parts;
    REPRISE_DESCRIBE(a, a_offset, row, products, parts)
    void shape(const ProductJoined& code) {
      if (code.row.empty()) a.emplace().dtype = code.dtype, a_offset.emplace();
      for (const InnerLoop& l : code.row) row.emplace_back().shape(l);
      for (int has_bias : code.biased) {
        Matrix<As>& m = products.emplace_back();
        m.buffer.dtype = code.dtype;
        if (has_bias) m.bias.emplace().dtype = code.dtype, m.bias_offset.emplace(), m.bias_step.emplace();
      }
      for (const InnerLoop& l : code.parts) parts.emplace_back().shape(l);
    }
  };
};
inline constexpr int kProductJoinedThreads = 128, kProductJoinedColumns = 4;  ///< of a block; the most of a warp
/// bytes of a row in shared memory, at most
inline constexpr std::int64_t kProductJoinedRow = 32 << 10;

/// The accesses of an inner kernel that are memory: those that load, then those that store.
struct InnerAccesses {
  explicit InnerAccesses(const InnerLoop&);
  std::vector<std::uint32_t> loads, stores;
};

template <class As>
void InnerLoop::Args<As>::shape(const InnerLoop& code) {
  const InnerAccesses of(code);
  for (std::uint32_t a : of.loads)
    sources.emplace_back().dtype = code.kernel.buffers[code.kernel.accesses[a].buffer].dtype;
  for (std::uint32_t a : of.stores)
    targets.emplace_back().dtype = code.kernel.buffers[code.kernel.accesses[a].buffer].dtype;
  params.resize(runtime_params(code.kernel).size());
}

}  // namespace reprise::kernels::gpu
