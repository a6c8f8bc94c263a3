// Bounds of slices, of tensors and of numbers, against loops in plain C++: clamped as ONNX Runtime does.
#include <gtest/gtest.h>

#include <algorithm>

#include "reprise/compile.h"
#include "reprise/onnx.h"
#include "reprise/ops.h"
#include "tests/onnx/model_file.h"

namespace reprise::test {
namespace {

namespace file = onnx_file;
using file::node;
using file::value;
using Ints64 = std::vector<std::int64_t>;

/// Backwards a start is clamped to an element, and an end to the one before the first.
Ints64 cut(const Ints64& x, std::int64_t start, std::int64_t end, std::int64_t step) {
  const std::int64_t n = static_cast<std::int64_t>(x.size());
  const auto bound = [&](std::int64_t v, std::int64_t least, std::int64_t most) {
    return std::clamp(v < 0 ? v + n : v, least, most);
  };
  Ints64 made;
  if (n == 0) return made;
  const std::int64_t from = step > 0 ? bound(start, 0, n) : bound(start, 0, n - 1),
                     to = step > 0 ? bound(end, 0, n) : bound(end, -1, n - 1);
  for (std::int64_t i = from; step > 0 ? i < to : i > to; i += step) made.push_back(x[static_cast<std::size_t>(i)]);
  return made;
}

TEST(OnnxSlice, BoundsAreClampedAsTheRuntimeDoes) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  for (std::int64_t step : {-1, -2, 1, 3})
    for (std::int64_t start : {-kFar, std::int64_t{-5}, std::int64_t{-2}, std::int64_t{0}, std::int64_t{2}, kFar})
      for (std::int64_t end : {-kFar, std::int64_t{-4}, std::int64_t{-1}, std::int64_t{1}, kFar}) {
        // Of x's elements, and of its sizes, which are numbers.
        const file::Graph g{
            .inputs = {value("x", file::kFloat, {"a", "b", "c"})},
            .outputs = {file::Message().text(1, "y"), file::Message().text(1, "z")},
            .initializers = {file::ints("start", {start}), file::ints("end", {end}), file::ints("axis", {0}),
                             file::ints("step", {step})},
            .nodes = {node("Slice", {"x", "start", "end", "axis", "step"}, {"y"}), node("Shape", {"x"}, {"sizes"}),
                      node("Slice", {"sizes", "start", "end", "axis", "step"}, {"z"})}};
        const onnx::Model m = onnx::load_bytes(file::model(g));
        auto compiled = compile(m);
        for (std::int64_t n : {3, 1, 0}) {
          const Tensor x = arange(n * 2, {.dtype = kFloat32}).view({n, 1, 2});
          Ints64 rows;
          for (std::int64_t i = 0; i < n; ++i) rows.push_back(i);
          const Ints64 kept = cut(rows, start, end, step), sizes = cut({n, 1, 2}, start, end, step);
          const Tensor y = index_select(x, 0, tensor_of<std::int64_t>(kept)), z = tensor_of<std::int64_t>(sizes);
          for (const std::vector<Tensor>& made : {m(x), compiled(x)}) {
            EXPECT_TRUE(equal(made[0], y)) << n << ": " << start << " " << end << " " << step;
            EXPECT_TRUE(equal(made[1], z)) << n << ": " << start << " " << end << " " << step;
          }
        }
        EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
      }
}

}  // namespace
}  // namespace reprise::test
