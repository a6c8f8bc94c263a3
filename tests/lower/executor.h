#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// Values of the symbols s0, s1, ... for one run.
using Numbers = std::vector<std::int64_t>;
std::int64_t number(Int, const Numbers&);

/// Elements of a tensor in row-major order, as doubles (int64 values in these tests are small).
using Elements = std::vector<double>;

struct Outcome {
  std::vector<Elements> outputs;  ///< by graph output (of a new value of an input: that input after the call)
  std::vector<Elements> inputs;   ///< every input after the call
  std::string fault;              ///< message, when a launch failed; then `inputs` must be as before the call
};

/// Runs a lowered program the slow way: temps share one block by plan_offsets, every buffer is poisoned before the run
/// and has guard bytes around it (a test failure is added when they change), loop kernels are verified and interpreted
/// (or, with `jit`, compiled and run in two pieces), and the epilogue's copies follow. `inputs` are row-major; they are
/// laid out as the inputs' metas say.
Outcome execute(const graph::Graph&, const Lowered&, const Numbers&, const std::vector<Elements>& inputs,
                bool jit = false);

/// Bytes of the block that the temps share in such a run.
std::int64_t pool_bytes(const Lowered&, const Numbers&);

}  // namespace reprise::kernels
