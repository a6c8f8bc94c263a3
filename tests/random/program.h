#pragma once
#include <random>
#include <string>
#include <vector>

#include "tests/random/steps.h"

namespace reprise::fuzz {

/// One operation of a random program: which row, on which tensors of the pool, with which small numbers.
struct Step {
  static constexpr unsigned kDropped = ~0u;
  unsigned row;  ///< in all_rows(); kDropped: gives its first operand
  unsigned a, b, p, q;
  double number() const { return static_cast<double>(p) / 32.0 - 1.0; }
};

/// A program over a pool: the arguments, what it captures, then one tensor for each step. Its results are some members
/// of the pool.
struct Program {
  /// x to w stand at the start of the pool, then the captured tensor
  static constexpr unsigned kCaptured = 8, kPool = 9;
  std::vector<Step> steps;
  std::vector<unsigned> results;
  /// begins with x + x.t() or the like, and is called with N = M: sizes are known to be equal
  bool square = false;
  /// Has it steps that say this of themselves?
  bool has(unsigned flags) const;
  /// Has it one of data_rows()?
  bool of_data() const;
  /// May this member of the pool be a view of only a part of what an operator made?
  bool may_be_part(unsigned in_pool) const;
};

/// How w, and what the program captures, stand to x.
enum class Sharing { None, Same, Overlapping, Disjoint, Captured, CapturedPart };
/// of x; c is dense in another order where x is not plain
enum class XLayout { Plain, Transposed, Part, Stepped, Expanded, TransposedPart };

/// One call's arguments, described: they can be made again.
struct Call {
  int n, m, k;
  Sharing sharing;
  XLayout layout;
  unsigned data;  ///< seed of the values
  bool again;     ///< on what the call before has left
  std::string str() const;
};
struct Given {
  Arguments arguments;
  Tensor captured;                  ///< [N, M]
  std::vector<Tensor> all() const;  ///< in the pool's order, then ids
};
Given make_arguments(const Call&);

/// `data`: with rows of data_rows(), too.
Program random_program(std::mt19937& rng, int length, bool data = false);
/// `layouts`: of another layout each, most of the same sharing, and sizes are mostly others than 1.
std::vector<Call> random_calls(std::mt19937& rng, const Program&, bool layouts = false);

struct Outcome {
  std::vector<Tensor> tensors;
  Int number;  ///< made from sizes that the program has computed
};
/// The same C++ function for eager and compiled runs. Throws what an operator throws.
Outcome run(const Program&, const Arguments&, const Tensor& captured);

/// A C++ program that makes these calls, eagerly and compiled, and prints what they give (print.cc).
std::string print(const Program&, const std::vector<Call>&);

}  // namespace reprise::fuzz
