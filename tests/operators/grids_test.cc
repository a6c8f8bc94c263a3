#include "reprise/grids.h"

#include <gtest/gtest.h>

#include "tests/operators/operators_test.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

TEST(Grids, MeshgridsAreViewsThatVaryAlongOneDimension) {
  auto f = [](const std::vector<Tensor>& a) {
    std::vector<Tensor> all = meshgrid({a[0], a[1], a[2]});
    for (const Tensor& t : meshgrid({a[0], a[1]}, "xy")) all.push_back(t);
    all.push_back(cartesian_prod({a[0], a[1]}));
    all.push_back(cartesian_prod({a[0]}));
    return all;
  };
  expect_compiled(f,
                  [](std::int64_t n) {
                    return std::vector<Tensor>{numbers({n}), numbers({4}, kFloat32, 2), numbers({}, kFloat32, 5)};
                  },
                  {3, 5, 1, 0});
  Tensor x = tensor_of(std::vector<float>{1, 2}), y = tensor_of(std::vector<float>{3, 4, 5});
  EXPECT_EQ(meshgrid({x, y})[0].to_vector<float>(), (std::vector<float>{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(meshgrid({x, y})[1].to_vector<float>(), (std::vector<float>{3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(meshgrid({x, y}, "xy")[0].to_vector<float>(), (std::vector<float>{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(meshgrid({x, y}, "xy")[0].size(0), 3);
  EXPECT_TRUE(meshgrid({x, y})[0].shares_storage_with(x));
  EXPECT_EQ(cartesian_prod({x, y}).to_vector<float>(), (std::vector<float>{1, 3, 1, 4, 1, 5, 2, 3, 2, 4, 2, 5}));
}

TEST(Grids, TrianglesAreListedRowByRow) {
  for (std::int64_t rows : {0, 1, 3, 5})
    for (std::int64_t columns : {0, 1, 4})
      for (std::int64_t offset : {-9, -2, -1, 0, 1, 2, 9})
        for (bool lower : {true, false}) {
          std::vector<std::int64_t> want, second;
          for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < columns; ++c)
              if (lower ? c - r <= offset : c - r >= offset) want.push_back(r), second.push_back(c);
          const auto n = static_cast<std::int64_t>(want.size());
          want.insert(want.end(), second.begin(), second.end());
          const Tensor got = lower ? tril_indices(rows, columns, offset) : triu_indices(rows, columns, offset);
          ASSERT_EQ(got.size(0), 2);
          ASSERT_EQ(got.size(1), n);
          EXPECT_EQ(got.to_vector<std::int64_t>(), want) << rows << "x" << columns << " " << offset << " " << lower;
        }
  EXPECT_EQ(tril_indices(3, 3, 0, {.dtype = kInt32}).dtype(), kInt32);
  // As DLRM takes the products of its features.
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        Tensor at = tril_indices(4, 4, -1, {.device = a[0].device()});
        return std::vector<Tensor>{a[0].index({Tensor(), at.select(0, 0), at.select(0, 1)})};
      },
      [](std::int64_t n) {
        return std::vector<Tensor>{numbers({n, 4, 4})};
      },
      {2, 3, 1, 0});
}

TEST(Grids, RefuseWhatIsNone) {
  Tensor x = zeros({2}), m = zeros({2, 2});
  EXPECT_EQ(error_of([&] { meshgrid({x, m}); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { meshgrid({x, x.to(kInt64)}); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { meshgrid({x, x}, "yx"); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { meshgrid({}); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { tril_indices(-1, 2); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { triu_indices(2, 2, 0, {.dtype = kFloat32}); }).code(), ErrorCode::DTypeMismatch);
}

}  // namespace
}  // namespace reprise::test
