// What is put around images, and their elements rearranged, element by element.
#include <gtest/gtest.h>

#include <functional>

#include "reprise/vision.h"
#include "tests/operators/operators_test.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using List = std::vector<std::int64_t>;

/// A result of these sizes, whose element at an index is the one of x at f(index), or 0 where that is empty.
Tensor picked(const Tensor& x, const List& sizes, const std::function<List(const List&)>& f) {
  const std::vector<double> xs = x.to(Device::cpu()).to(kFloat64).to_vector<double>();
  std::int64_t n = 1;
  for (std::int64_t s : sizes) n *= s;
  std::vector<double> made;
  for (std::int64_t flat = 0; flat < n; ++flat) {
    List index(sizes.size());
    std::int64_t rest = flat;
    for (std::size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) index[d] = rest % sizes[d];
    const List from = f(index);
    std::int64_t at = 0;
    for (std::size_t d = 0; d < from.size(); ++d) at = at * x.size(static_cast<int>(d)).value() + from[d];
    made.push_back(from.empty() ? 0 : xs[static_cast<std::size_t>(at)]);
  }
  return tensor_of(made, Ints(sizes.begin(), sizes.end())).to(x.dtype());
}

/// Where what counts on beyond n elements comes from; what is cropped in front or behind does not go round.
std::int64_t place(std::string_view mode, std::int64_t i, std::int64_t n, std::int64_t front, std::int64_t back) {
  if (mode == "replicate") return std::min(std::max<std::int64_t>(i, 0), n - 1);
  if (mode == "circular") {
    const std::int64_t cropped = -std::min<std::int64_t>(front, 0),
                       left = n - cropped + std::min<std::int64_t>(back, 0), at = i - cropped;
    return (at % left + left) % left + cropped;
  }
  if (i < 0) i = -i;
  return i < n ? i : 2 * (n - 1) - i;
}

TEST(Pad, ByModes) {
  for (const char* mode : {"reflect", "replicate", "circular"})
    for (const List& pad_by : {List{2, 3}, List{1, 0, 0, 3}, List{2, 1, -1, 3}, List{1, 2, 3, 0, 2, 1}})
      for (DType t : {kFloat32, kBFloat16, kInt64, kBool}) {
        SCOPED_TRACE(std::string(mode) + " by " + graph::sizes_text(Ints(pad_by.begin(), pad_by.end())) + " of " +
                     std::string(dtype_name(t)));
        const Tensor x = numbers({2, 3, 4, 5, 6}, t);
        List sizes{2, 3, 4, 5, 6};
        for (std::size_t i = 0; i < pad_by.size() / 2; ++i) sizes[4 - i] += pad_by[2 * i] + pad_by[2 * i + 1];
        const Tensor want = picked(x, sizes, [&](const List& index) {
          List from = index;
          for (std::size_t i = 0; i < pad_by.size() / 2; ++i)
            from[4 - i] = place(mode, index[4 - i] - pad_by[2 * i], x.size(static_cast<int>(4 - i)).value(),
                                pad_by[2 * i], pad_by[2 * i + 1]);
          return from;
        });
        expect_same({pad(x, pad_by, mode)}, {want}, 0, 0);
      }
  const Tensor x = numbers({2, 3, 4});
  expect_same({pad(x, {1, 2}, "constant", 5), pad(x, {1, 2}, "constant")}, {pad(x, {1, 2}, 5), pad(x, {1, 2})}, 0, 0);
  expect_same({reflection_pad1d(x, 2), replication_pad1d(x[0], {1, 3})},
              {pad(x, {2, 2}, "reflect"), pad(x[0], {1, 3}, "replicate")}, 0, 0);
}

TEST(Pad, OneCompilationServesManySizes) {
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{pad(a[0] * 2, {1, 2, 3, 0}, "reflect"), pad(a[0], {1, 2}, "replicate") + 1,
                                   pad(a[0], {3, 1}, "circular")};
      },
      [](std::int64_t n) {
        return std::vector<Tensor>{numbers({2, n, n + 3})};
      },
      {4, 5, 9}, {.compilations = 3});
}

TEST(Pad, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({2, 3, 4});
  auto code = [](auto&& f) { return error_of(f).code(); };
  EXPECT_EQ(code([&] { pad(x, {4, 0}, "reflect"); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { pad(x, {5, 0}, "circular"); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { pad(x, {1}, "reflect"); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { pad(x, {-3, -1}, "replicate"); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { pad(zeros({2, 3, 0}), {1, 1}, "replicate"); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { pad(x, {1, 1, 1, 1, 1, 1}, "reflect"); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { pad(x, {1, 1}, "mirror"); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { pad(x, {1, 1}, "reflect", 2); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { reflection_pad2d(zeros({3, 4}), 1); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] {
              pad(x, {4, 0}, "reflect");
            }).message(),
            "padding 4 of dimension 2 of sizes [2, 3, 4] must be less than the size");
}

TEST(Shuffle, PixelsAndChannels) {
  const Tensor x = numbers({2, 12, 3, 5});
  const Tensor up = pixel_shuffle(x, 2);
  expect_same({up},
              {picked(x, {2, 3, 6, 10},
                      [](const List& i) {
                        return List{i[0], i[1] * 4 + i[2] % 2 * 2 + i[3] % 2, i[2] / 2, i[3] / 2};
                      })},
              0, 0);
  expect_same({pixel_unshuffle(up, 2), pixel_shuffle(x[0], 2)}, {x, up[0]}, 0, 0);
  expect_same({channel_shuffle(x, 3)},
              {picked(x, {2, 12, 3, 5},
                      [](const List& i) {
                        return List{i[0], i[1] % 3 * 4 + i[1] / 3, i[2], i[3]};
                      })},
              0, 0);
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{pixel_shuffle(a[0] + 1, 2), channel_shuffle(a[0], 2),
                                   pixel_unshuffle(pixel_shuffle(a[0], 2), 2)};
      },
      [](std::int64_t n) {
        return std::vector<Tensor>{numbers({n, 8, n + 1, 3})};
      },
      {3, 4, 9}, {.compilations = 3});
  EXPECT_EQ(pixel_shuffle(zeros({0, 8, 3, 3}), 2).numel(), 0);
  EXPECT_EQ(error_of([&] { pixel_shuffle(x, 5); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { pixel_shuffle(x, 0); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { pixel_unshuffle(x, 2); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { channel_shuffle(zeros({2, 4}), 2); }).code(), ErrorCode::ShapeMismatch);
}

struct Form {
  List kernel, dilation, padding, stride;
  std::int64_t count(std::size_t i, std::int64_t size) const {
    return (size + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
  }
};
const std::vector<Form> kForms = {{{2, 3}, {1, 1}, {0, 0}, {1, 1}},
                                  {{3, 2}, {2, 1}, {1, 1}, {2, 1}},
                                  {{1, 1}, {1, 1}, {0, 0}, {2, 3}},
                                  {{3, 3}, {1, 1}, {1, 1}, {3, 2}}};

TEST(Columns, OfWindowsAndBack) {
  for (const Form& f : kForms)
    for (DType t : {kFloat32, kFloat64, kBFloat16, kInt64}) {
      const std::int64_t rows = f.count(0, 7), columns = f.count(1, 8), places = f.kernel[0] * f.kernel[1];
      auto source = [&](std::int64_t at, std::int64_t window) {
        const std::int64_t i = window / columns * f.stride[0] - f.padding[0] + at / f.kernel[1] * f.dilation[0],
                           j = window % columns * f.stride[1] - f.padding[1] + at % f.kernel[1] * f.dilation[1];
        return i < 0 || j < 0 || i >= 7 || j >= 8 ? List{} : List{i, j};
      };
      const Tensor x = numbers({2, 3, 7, 8}, t);
      const Tensor made = im2col(x, f.kernel, f.dilation, f.padding, f.stride);
      expect_same({made},
                  {picked(x, {2, 3 * places, rows * columns},
                          [&](const List& i) {
                            List from = source(i[1] % places, i[2]);
                            if (!from.empty()) from.insert(from.begin(), {i[0], i[1] / places});
                            return from;
                          })},
                  0, 0);
      // Each element as often as it is seen.
      std::vector<double> seen(56);
      for (std::int64_t p = 0; p < places; ++p)
        for (std::int64_t w = 0; w < rows * columns; ++w)
          if (const List from = source(p, w); !from.empty()) seen[static_cast<std::size_t>(from[0] * 8 + from[1])] += 1;
      expect_same({col2im(made, {7, 8}, f.kernel, f.dilation, f.padding, f.stride)},
                  {(x.to(Device::cpu()).to(kFloat64) * tensor_of(seen, {7, 8})).to(t)}, 1e-6, 1e-6);
    }
}

TEST(Columns, OneCompilationServesManySizes) {
  const Form& f = kForms[1];
  expect_compiled(
      [&](const std::vector<Tensor>& a) {
        const Tensor columns = im2col(a[0] + 1, f.kernel, f.dilation, f.padding, f.stride);
        return std::vector<Tensor>{
            columns, col2im(columns, {a[0].size(-2), a[0].size(-1)}, f.kernel, f.dilation, f.padding, f.stride)};
      },
      [](std::int64_t n) {
        return std::vector<Tensor>{numbers({n, 3, n + 2, n + 4})};
      },
      {3, 4, 9}, {.compilations = 3});
}

TEST(Columns, RefuseWhatDoesNotFit) {
  const Tensor x = zeros({2, 3, 7, 8});
  EXPECT_EQ(error_of([&] { im2col(x, 9); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { im2col(zeros({7, 8}), 2); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { im2col(x, {2, 2, 2}); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { im2col(x, 2, 1, -1); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { col2im(zeros({2, 12, 41}), {7, 8}, 2); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { col2im(zeros({2, 11, 42}), {7, 8}, 2); }).code(), ErrorCode::ShapeMismatch);
}

}  // namespace
}  // namespace reprise::test
