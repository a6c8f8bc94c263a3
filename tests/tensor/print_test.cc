#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <sstream>

#include "reprise/tensor.h"

namespace reprise {
namespace {

TEST(Print, Floats) {
  EXPECT_EQ(tensor_of(std::vector<float>{1, 2, 3, 4}, {2, 2}).str(),
            "tensor([[1.0000, 2.0000],\n        [3.0000, 4.0000]], dtype=float32)");
  EXPECT_EQ(tensor_of(std::vector<float>{-1, 20.5}).str(), "tensor([-1.0000, 20.5000], dtype=float32)");
  EXPECT_EQ(tensor_of(std::vector<double>{1e-6, 1}).str(), "tensor([1.0000e-06, 1.0000e+00], dtype=float64)");
  EXPECT_EQ(tensor_of(std::vector<float>{NAN, INFINITY, -INFINITY, 0}).str(),
            "tensor([   nan,    inf,   -inf, 0.0000], dtype=float32)");
  EXPECT_EQ(tensor_of(std::vector<Half>{Half(0.5f)}).str(), "tensor([0.5000], dtype=float16)");
}

TEST(Print, OtherKinds) {
  EXPECT_EQ(tensor_of(std::vector<std::int64_t>{1, -20, 3}).str(), "tensor([  1, -20,   3], dtype=int64)");
  EXPECT_EQ(tensor_of(std::vector<bool>{true, false}).str(), "tensor([ true, false], dtype=bool)");
  EXPECT_EQ(tensor_of(std::vector<float>{2.5}, IntArrayRef{}).str(), "tensor(2.5000, dtype=float32)");
  EXPECT_EQ(tensor_of(std::vector<float>{}, {0, 3}).str(), "tensor([], size=(0, 3), dtype=float32)");
  EXPECT_EQ(Tensor().str(), "tensor(undefined)");
  Tensor gone = tensor_of(std::vector<float>{1});
  gone.release_storage();
  EXPECT_EQ(gone.str(), "tensor(released, size=(1,), dtype=float32)");
  std::ostringstream s;
  s << tensor_of(std::vector<std::int32_t>{7});
  EXPECT_EQ(s.str(), "tensor([7], dtype=int32)");
}

TEST(Print, StridesAreFollowed) {
  float x[4] = {1, 2, 3, 4};
  EXPECT_EQ(from_blob(x, {2, 2}, kFloat32, {}, {1, 2}).str(),
            "tensor([[1.0000, 3.0000],\n        [2.0000, 4.0000]], dtype=float32)");
}

TEST(Print, ThreeDimensionsAreSetApart) {
  EXPECT_EQ(tensor_of(std::vector<std::int32_t>{1, 2, 3, 4}, {2, 1, 2}).str(),
            "tensor([[[1, 2]],\n\n        [[3, 4]]], dtype=int32)");
}

TEST(Print, LargeTensorsAreSummarised) {
  std::vector<std::int64_t> v(1001);
  std::iota(v.begin(), v.end(), 0);
  EXPECT_EQ(tensor_of(v).str(), "tensor([   0,    1,    2, ...,  998,  999, 1000], dtype=int64)");
  v.resize(1000);
  EXPECT_EQ(tensor_of(v).str().find("..."), std::string::npos);
  std::vector<std::int64_t> m(2000, 5);
  EXPECT_EQ(tensor_of(m, {500, 4}).str(),
            "tensor([[5, 5, 5, 5],\n        [5, 5, 5, 5],\n        [5, 5, 5, 5],\n        ...,\n        [5, 5, 5, 5],\n"
            "        [5, 5, 5, 5],\n        [5, 5, 5, 5]], dtype=int64)");
}

TEST(Print, StridesOfSingleRowsMayBeAnything) {
  EXPECT_EQ(tensor_of(std::vector<std::int64_t>{1, 2, 3}).as_strided({1, 3}, {INT64_MAX, 1}).str(),
            "tensor([[1, 2, 3]], dtype=int64)");
}

TEST(Print, LongRowsAreWrapped) {
  std::string s = tensor_of(std::vector<std::int64_t>(60, 1)).str();
  std::istringstream lines(s);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_NE(s.find(",\n        1"), std::string::npos) << s;
}

}  // namespace
}  // namespace reprise
