#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/launch/launch.h"

namespace reprise::kernels::testing {

/// A strided tensor over its own bytes, which have room before and behind it that nobody may write.
struct Strided {
  DType dtype = DType::Float32;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;  ///< elements from the first byte
  std::vector<char> bytes;

  Strided() = default;
  /// Dense unless strides are given. `offset`: of the first element; an odd one makes 16-byte accesses impossible.
  Strided(DType, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides = {}, std::int64_t offset = 64);
  TensorView view();
  std::int64_t numel() const;
  double get(std::int64_t index);  ///< in row-major order of the sizes
  void set(std::int64_t index, double value);
  void fill(std::mt19937& rng, double low = -1, double high = 1);
  Layout layout() const;
  TensorMeta meta() const;
};

/// Dense, transposed, with gaps, in steps of two, or at an odd offset.
Strided any_strides(std::mt19937&, DType, const std::vector<std::int64_t>& sizes);

/// Is there a device with kernels here? A test that needs one skips itself otherwise.
bool device_here();

/// What the launches know of sizes and strides: everything, those of 0 and 1 (which a trace always knows), these and
/// the size of each last dim.
enum class Known { All, Ones, OnesAndLast };

struct NodeResults {
  bool has_kernels = false;           ///< false: gpu_launches gave nothing
  std::vector<std::string> launched;  ///< kinds of the launches with blocks
  std::vector<Strided> device, host;  ///< results of the GPU kernels, of the reference kernel
  KernelFault fault, check;           ///< of the reference kernel; of a step before the GPU kernels
};
/// Computes one node both ways. `args`: a ValueId stands for the next of `inputs`, also in lists. `make_result`: the
/// tensor that a result of this dtype and sizes is written to.
NodeResults run_node(graph::OpId, std::vector<graph::NodeArg> args, std::vector<Strided> inputs, Known,
                     const std::function<Strided(DType, std::vector<std::int64_t>)>& make_result = {},
                     bool in_place = false);

/// Every element within relative * |expected| + absolute; NaN where NaN is expected; nothing written beside the
/// results.
void expect_close(NodeResults&, double relative, double absolute, const std::string& what);

}  // namespace reprise::kernels::testing
