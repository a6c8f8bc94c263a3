#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "reprise/reprise.h"

namespace reprise::fuzz {

/// Every kind of step, with how often it is drawn: structure-changing steps are rarer than arithmetic, and writes come
/// often, because they are what is hard.
#define REPRISE_FUZZ_STEPS(STEP)                                                                                        \
  STEP(unary, 6) STEP(binary, 8) STEP(number, 4) STEP(compare, 2) STEP(logical, 2) STEP(where, 2) STEP(clamp, 1)        \
  STEP(integer, 2) STEP(cast, 3) STEP(half, 2) STEP(rounded, 1) STEP(truncate, 1)                                                       \
  STEP(reduce, 4) STEP(extreme, 3) STEP(argmax, 1) STEP(softmax, 2) STEP(norm, 2) STEP(product, 3) STEP(batched, 1)     \
  STEP(attention, 1) STEP(cumsum, 1) STEP(sort, 1) STEP(topk, 1)                                                        \
  STEP(transpose, 3) STEP(permute, 1) STEP(slice, 5) STEP(select, 2) STEP(unsqueeze, 2) STEP(squeeze, 1)                \
  STEP(flatten, 2) STEP(expand, 2) STEP(chunk, 1) STEP(diagonal, 1) STEP(unfold, 1) STEP(cat, 3) STEP(stack, 1)         \
  STEP(pad, 1) STEP(roll, 1) STEP(tril, 1) STEP(index_select, 2) STEP(embedding, 1) STEP(gather, 1) STEP(fresh, 1)      \
  STEP(add_, 5) STEP(mul_, 4) STEP(copy_, 4) STEP(fill_, 2) STEP(masked_fill_, 2) STEP(unary_, 2) STEP(scatter_, 1)     \
  STEP(index_put_, 1) STEP(through_slice, 3) STEP(through_select, 2) STEP(through_transpose, 1) STEP(through_view, 1)   \
  STEP(metadata_, 1) STEP(symmetric, 1) STEP(transpose_copy_, 1) STEP(t_, 1)

/// One operation of a random program: what to do, on which tensors of the pool, with which small numbers.
struct Step {
  enum Kind {
#define REPRISE_STEP(name, weight) k_##name,
    REPRISE_FUZZ_STEPS(REPRISE_STEP)
#undef REPRISE_STEP
    dropped  ///< gives its first operand
  } kind;
  unsigned a, b, p, q;
  std::string str() const;
};

/// A program over a pool: the arguments, then one tensor for each step. Its results are some members of the pool.
struct Program {
  std::vector<Step> steps;
  std::vector<unsigned> results;
  bool square = false;  ///< begins with x + x.t() or the like, and is called with N = M: sizes are known to be equal
  std::string str() const;
  /// Does anything in it add up floats (reductions, products)? Otherwise compiled results are equal bit for bit.
  bool sums() const;
  bool has(Step::Kind) const;
};

/// What a program is run on. Sizes are N, M, K in several places, so that symbols have to be found equal.
struct Arguments {
  Tensor x;      ///< [N, M]
  Tensor y;      ///< [M, K]
  Tensor z;      ///< [N, M], transposed storage
  Tensor v;      ///< [M], every second element of a longer buffer
  Tensor c;      ///< [2, N, M]
  Tensor i;      ///< int64 [N, M], some negative
  Tensor m;      ///< bool [N, M]
  Tensor w;      ///< [N, M]; may share memory with x
  Tensor ids;    ///< int64 [N], not negative
  Int n;         ///< a number of the call
  static constexpr unsigned kPool = 8;  ///< x to w stand at the start of the pool
  std::vector<Tensor> pool() const { return {x, y, z, v, c, i, m, w}; }
};
enum class Sharing { None, Same, Overlapping, Disjoint };  ///< of w with x
Arguments make_arguments(std::mt19937& rng, int n, int m, int k, Sharing);

struct Outcome {
  std::vector<Tensor> tensors;
  Int number;    ///< made from sizes that the program has computed
};

Program random_program(std::mt19937& rng, int length);
/// The same C++ function for eager and compiled runs. Throws what an operator throws.
Outcome run(const Program&, Arguments);

}  // namespace reprise::fuzz
