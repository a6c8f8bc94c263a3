#pragma once
#include <random>
#include <string>
#include <vector>

#include "tests/pairs/feature.h"

namespace reprise::pairs {

struct Step {
  static constexpr unsigned kNone = ~0u;
  unsigned feature = 0, row = kNone;  ///< no row: gives its first operand
  unsigned wrap_feature = 0, wrap = kNone;
  unsigned a = 0, b = 0, number = 0, dim = 0;  ///< operands in the pool
};
struct Chosen {
  unsigned feature, setting;
};

/// Pool: x, y, var.a, var.b, then one tensor for each step.
struct Program {
  static constexpr unsigned kPool = 4;
  std::vector<unsigned> features;
  std::vector<Step> steps;
  std::vector<Chosen> settings;
  std::vector<unsigned> results;
  std::string mode = "full";  ///< CompileOptions::mode
  bool has(unsigned flags) const;
  bool derives() const;
  bool beside() const;  ///< two threads call it at once
};

enum class Sharing {
  None,
  Same,
  Transposed,
  Overlapping,
  VariableIsX,
  VariablesAreOne,
  ListHasVariable,
  YIsOfVariable
};
enum class Layout { Plain, Transposed, Stepped };
enum class Tape { None, Leaf, Computed, View, ViewOfLeaf };

/// One call's state, described: it can be made again.
struct Call {
  int n, m, k;
  bool yes;
  Sharing sharing;
  Layout layout;
  Tape tape;
  unsigned data;  ///< seed of the values
  bool again;     ///< on what the call before has left
  std::string str() const;
};

/// What a call runs on.
struct State {
  Arguments in;
  Variables var;
  std::vector<Tensor> leaves;
  /// All that a caller holds, with names.
  std::vector<Tensor> tensors() const;
  static std::vector<std::string> names(const State&);
};
void make_state(const Call&, State&);

Program random_program(std::mt19937&, const std::vector<unsigned>& features, int length);
std::vector<Call> random_calls(std::mt19937&, const Program&);
/// The same C++ function for eager and compiled calls.
std::vector<Tensor> run(const Program&, const Arguments&, Variables&);

/// As text that reads like C++.
std::string print(const Program&, const std::vector<Call>&);
std::string json(const Program&, const std::vector<Call>&, std::uint64_t seed);

}  // namespace reprise::pairs
