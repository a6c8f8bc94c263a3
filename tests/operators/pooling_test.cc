// Pooling against its definition: kinds, dtypes, layouts, NaN and infinities, sizes that change from call to call.
#include "reprise/pooling.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>

#include "tests/operators/operators_test.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using List = std::vector<std::int64_t>;

std::int64_t product(const List& v) {
  return std::accumulate(v.begin(), v.end(), std::int64_t{1}, std::multiplies<>());
}
List index_of(std::int64_t flat, const List& sizes) {
  List index(sizes.size());
  for (std::size_t d = sizes.size(); d-- > 0; flat /= sizes[d]) index[d] = flat % sizes[d];
  return index;
}

/// Where the windows along one dimension begin, and after which element they end; places are `step` apart.
struct Along {
  List begin, end;
  std::int64_t step = 1;
};
Along pooled(std::int64_t size, std::int64_t k, std::int64_t stride, std::int64_t padding, std::int64_t dilation,
             bool ceil) {
  Along a{{}, {}, dilation};
  const std::int64_t reach = dilation * (k - 1) + 1, room = size + 2 * padding - reach;
  std::int64_t count = (ceil ? (room + stride - 1) / stride : room / stride) + 1;
  if (ceil && (count - 1) * stride >= size + padding) --count;
  for (std::int64_t i = 0; i < count; ++i)
    a.begin.push_back(i * stride - padding), a.end.push_back(i * stride - padding + reach);
  return a;
}
Along adaptive(std::int64_t size, std::int64_t out) {
  Along a;
  for (std::int64_t i = 0; i < out; ++i)
    a.begin.push_back(i * size / out), a.end.push_back(((i + 1) * size + out - 1) / out);
  return a;
}

/// What a window gives: f(elements that lie in the image, their places in the plane, places of the window in all, in
/// the image and its padding).
struct Seen {
  std::vector<double> values;
  List places;
  std::int64_t with_padding = 1;
};
Tensor each_window(const Tensor& x, const std::vector<Along>& windows, const List& padding, DType result,
                   const std::function<double(const Seen&)>& f) {
  const std::vector<double> xs = x.to(Device::cpu()).to(kFloat64).to_vector<double>();
  List in, out;
  for (std::size_t i = 0; i < windows.size(); ++i)
    in.push_back(x.size(static_cast<int>(i) + 2).value()),
        out.push_back(static_cast<std::int64_t>(windows[i].begin.size()));
  const std::int64_t planes = x.size(0).value() * x.size(1).value();
  std::vector<double> made;
  for (std::int64_t p = 0; p < planes; ++p)
    for (std::int64_t o = 0; o < product(out); ++o) {
      Seen s;
      const List at = index_of(o, out);
      List lengths;
      for (std::size_t i = 0; i < windows.size(); ++i) {
        const Along& w = windows[i];
        const std::int64_t b = w.begin[static_cast<std::size_t>(at[i])], e = w.end[static_cast<std::size_t>(at[i])];
        lengths.push_back((e - b + w.step - 1) / w.step);
        s.with_padding *= std::min(e, in[i] + (padding.empty() ? 0 : padding[i])) - b;
      }
      for (std::int64_t k = 0; k < product(lengths); ++k) {
        const List place = index_of(k, lengths);
        std::int64_t flat = 0;
        bool inside = true;
        for (std::size_t i = 0; i < windows.size(); ++i) {
          const std::int64_t from = windows[i].begin[static_cast<std::size_t>(at[i])] + place[i] * windows[i].step;
          inside = inside && from >= 0 && from < in[i];
          flat = flat * in[i] + from;
        }
        if (inside) s.values.push_back(xs[static_cast<std::size_t>(p * product(in) + flat)]), s.places.push_back(flat);
      }
      made.push_back(f(s));
    }
  Ints sizes{x.size(0), x.size(1)};
  for (std::int64_t s : out) sizes.push_back(s);
  return tensor_of(made, sizes).to(result);
}

std::size_t greatest(const Seen& s) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < s.values.size(); ++i)
    if (s.values[i] > s.values[best] || std::isnan(s.values[i])) best = i;
  return best;
}
double max_of(const Seen& s) { return s.values[greatest(s)]; }
double where_of(const Seen& s) { return static_cast<double>(s.places[greatest(s)]); }
double sum_of(const Seen& s) { return std::accumulate(s.values.begin(), s.values.end(), 0.0); }

struct Form {
  List kernel, stride, padding, dilation;
  bool ceil = false;
};
const std::vector<Form> kForms = {
    {{3}, {2}, {1}, {1}},
    {{3}, {2}, {1}, {2}, true},
    {{3, 2}, {2, 2}, {1, 0}, {1, 1}},
    {{3, 3}, {2, 2}, {1, 1}, {1, 1}, true},
    {{2, 2}, {3, 3}, {0, 0}, {1, 1}, true},
    {{3, 2}, {1, 1}, {1, 1}, {2, 3}},
    {{9, 8}, {2, 1}, {4, 4}, {1, 1}},
    {{9, 8}, {3, 1}, {4, 0}, {1, 1}, true},
    {{2, 3, 2}, {1, 2, 2}, {1, 1, 0}, {1, 1, 1}},
    {{2, 3, 2}, {2, 2, 2}, {1, 1, 0}, {1, 1, 1}, true},
    {{1}, {1}, {0}, {1}},
};

Tensor image(std::int64_t batch, std::int64_t size, std::size_t n, DType t) {
  Ints sizes{batch, 3};
  for (std::size_t i = 0; i < n; ++i) sizes.push_back(size + static_cast<std::int64_t>(i));
  return numbers(sizes, t);
}

TensorPair max_pool(const Form& f, const Tensor& x) {
  switch (f.kernel.size()) {
    case 1: return max_pool1d_with_indices(x, f.kernel, f.stride, f.padding, f.dilation, f.ceil);
    case 2: return max_pool2d_with_indices(x, f.kernel, f.stride, f.padding, f.dilation, f.ceil);
    default: return max_pool3d_with_indices(x, f.kernel, f.stride, f.padding, f.dilation, f.ceil);
  }
}
Tensor avg_pool(const Form& f, const Tensor& x, bool count_include_pad, std::optional<Int> divisor) {
  switch (f.kernel.size()) {
    case 1: return avg_pool1d(x, f.kernel, f.stride, f.padding, f.ceil, count_include_pad, divisor);
    case 2: return avg_pool2d(x, f.kernel, f.stride, f.padding, f.ceil, count_include_pad, divisor);
    default: return avg_pool3d(x, f.kernel, f.stride, f.padding, f.ceil, count_include_pad, divisor);
  }
}
std::vector<Along> windows(const Form& f, const Tensor& x, bool dilated) {
  std::vector<Along> all;
  for (std::size_t i = 0; i < f.kernel.size(); ++i)
    all.push_back(pooled(x.size(static_cast<int>(i) + 2).value(), f.kernel[i], f.stride[i], f.padding[i],
                         dilated ? f.dilation[i] : 1, f.ceil));
  return all;
}

TEST(Pooling, GreatestOfWindows) {
  for (std::size_t i = 0; i < kForms.size(); ++i)
    for (DType t : {kFloat32, kBFloat16, kFloat64, kInt64, kUInt8}) {
      SCOPED_TRACE("form " + std::to_string(i) + " of " + std::string(dtype_name(t)));
      const Form& f = kForms[i];
      Tensor x = image(2, 9, f.kernel.size(), t);
      if (is_floating(t))
        x.flatten()
            .slice(0, 3, std::nullopt, 7)
            .copy_(full({}, -std::numeric_limits<double>::infinity()).to(t).to(test_device()));
      const TensorPair got = max_pool(f, x);
      expect_same({got.first, got.second},
                  {each_window(x, windows(f, x, true), f.padding, t, max_of),
                   each_window(x, windows(f, x, true), f.padding, kInt64, where_of)},
                  0, 0);
    }
}

TEST(Pooling, NothingIsGreaterThanNaN) {
  Tensor x = image(1, 9, 2, kFloat32);
  x.flatten().slice(0, 5, std::nullopt, 13).fill_(std::numeric_limits<double>::quiet_NaN());
  x[0][1].fill_(-std::numeric_limits<double>::infinity());
  for (const Form& f : {kForms[3], kForms[6]}) {
    const TensorPair got = max_pool(f, x);
    expect_same({got.first, got.second},
                {each_window(x, windows(f, x, true), f.padding, kFloat32, max_of),
                 each_window(x, windows(f, x, true), f.padding, kInt64, where_of)},
                0, 0);
  }
  const TensorPair got = adaptive_max_pool2d(x, {4, 3});
  const std::vector<Along> all{adaptive(9, 4), adaptive(10, 3)};
  expect_same({got.first, got.second},
              {each_window(x, all, {}, kFloat32, max_of), each_window(x, all, {}, kInt64, where_of)}, 0, 0);
}

TEST(Pooling, Averages) {
  for (std::size_t i = 0; i < kForms.size(); ++i)
    for (DType t : {kFloat32, kBFloat16, kFloat64, kInt64})
      for (bool with_padding : {true, false})
        for (std::optional<Int> divisor : {std::optional<Int>{}, std::optional<Int>{5}}) {
          SCOPED_TRACE("form " + std::to_string(i) + " of " + std::string(dtype_name(t)) +
                       (with_padding ? ", with padding" : ""));
          const Form& f = kForms[i];
          const Tensor x = image(2, 9, f.kernel.size(), t);
          auto average = [&](const Seen& s) {
            const double by = divisor ? static_cast<double>(divisor->value())
                                      : static_cast<double>(with_padding ? s.with_padding
                                                                         : static_cast<std::int64_t>(s.values.size()));
            return is_floating(t) ? sum_of(s) / by : std::trunc(sum_of(s) / by);
          };
          expect_same({avg_pool(f, x, with_padding, divisor)},
                      {each_window(x, windows(f, x, false), f.padding, t, average)}, 1e-6, 1e-6);
        }
}

TEST(Pooling, OneCompilationServesManySizes) {
  for (std::size_t i = 0; i < kForms.size(); ++i) {
    SCOPED_TRACE("form " + std::to_string(i));
    const Form& f = kForms[i];
    expect_compiled(
        [&](const std::vector<Tensor>& a) {
          const TensorPair most = max_pool(f, a[0] * 2);
          return std::vector<Tensor>{most.first, most.second, avg_pool(f, a[0], false, {}) + 1};
        },
        [&](std::int64_t n) { return std::vector<Tensor>{image(n % 3 + 2, 8 + n, f.kernel.size(), kFloat32)}; },
        {2, 3, 4, 9},
        // as of convolutions
        {.compilations = f.kernel.size() == 3 && test_device() != Device::cpu() ? -1 : 3});
  }
}

TEST(Pooling, ToGivenSizes) {
  for (List out : {List{1}, List{3}, List{9}, List{12}, List{0}, List{1, 1}, List{3, 4}, List{9, 10}, List{7, 1},
                   List{3, 2, 4}, List{1, 1, 1}})
    for (DType t : {kFloat32, kBFloat16, kFloat64}) {
      SCOPED_TRACE("to " + graph::sizes_text(Ints(out.begin(), out.end())) + " of " + std::string(dtype_name(t)));
      const Tensor x = image(2, 9, out.size(), t);
      std::vector<Along> all;
      for (std::size_t i = 0; i < out.size(); ++i)
        all.push_back(adaptive(x.size(static_cast<int>(i) + 2).value(), out[i]));
      const Tensor average = out.size() == 1   ? adaptive_avg_pool1d(x, out)
                             : out.size() == 2 ? adaptive_avg_pool2d(x, out)
                                               : adaptive_avg_pool3d(x, out);
      const TensorPair most = out.size() == 1   ? adaptive_max_pool1d(x, out)
                              : out.size() == 2 ? adaptive_max_pool2d(x, out)
                                                : adaptive_max_pool3d(x, out);
      expect_same(
          {average},
          {each_window(x, all, {}, t, [](const Seen& s) { return sum_of(s) / static_cast<double>(s.values.size()); })},
          1e-6, 1e-6);
      expect_same({most.first, most.second},
                  {each_window(x, all, {}, t, max_of), each_window(x, all, {}, kInt64, where_of)}, 0, 0);
    }
}

TEST(Pooling, ToGivenSizesOfManySizes) {
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        const TensorPair most = adaptive_max_pool2d(a[0], {3, 5});
        return std::vector<Tensor>{adaptive_avg_pool2d(a[0], 1), adaptive_avg_pool2d(a[0] + 1, {4, 7}), most.first,
                                   most.second};
      },
      [](std::int64_t n) {
        return std::vector<Tensor>{numbers({n % 3 + 2, 3, n + 4, n + 2})};
      },
      {8, 9, 14, 30}, {.compilations = 3});
}

TEST(Pooling, RootsOfPowers) {
  const Tensor signs = numbers({2, 3, 8, 9}), x = signs.abs();
  expect_same({lp_pool2d(signs, 1, 2)}, {avg_pool2d(signs, 2) * 4}, 1e-5, 1e-5);
  const Tensor sums = avg_pool2d(x * x * x, {2, 3}, {2, 3}) * 6;
  expect_same({lp_pool2d(x, 3, {2, 3})}, {pow(sums, 1.0 / 3)}, 1e-5, 1e-5);
}

TEST(Pooling, WithoutABatch) {
  const Tensor x = numbers({2, 3, 8, 9});
  const TensorPair all = max_pool2d_with_indices(x, 3, 2, 1), one = max_pool2d_with_indices(x[1], 3, 2, 1);
  expect_same({one.first, one.second, avg_pool2d(x[1], 2), adaptive_avg_pool2d(x[1], {2, 3})},
              {all.first[1], all.second[1], avg_pool2d(x, 2)[1], adaptive_avg_pool2d(x, {2, 3})[1]}, 0, 1e-6);
  EXPECT_EQ(graph::sizes_text(max_pool2d(numbers({0, 3, 8, 8}), 2).sizes()), "[0, 3, 4, 4]");
}

TEST(Pooling, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({2, 3, 8, 9});
  auto code = [](auto&& f) { return error_of(f).code(); };
  EXPECT_EQ(code([&] { max_pool2d(x, 9); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { max_pool3d(zeros({2, 3}), 2); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { max_pool2d(x, {2, 2, 2}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { max_pool2d(x, 0); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { max_pool2d(x, 2, 0); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { max_pool2d(x, 2, 2, 2); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { max_pool2d(x, 2, 2, -1); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { max_pool2d(x.to(kBool), 2); }), ErrorCode::DTypeMismatch);
  EXPECT_EQ(code([&] { avg_pool2d(x.to(kInt32), 2); }), ErrorCode::DTypeMismatch);
  EXPECT_EQ(code([&] { avg_pool2d(x, 2, 2, 0, false, true, 0); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { adaptive_avg_pool2d(x, -1); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { adaptive_max_pool2d(zeros({2, 3, 0, 4}), 1); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(
      error_of([&] { max_pool2d(x, 10, 1, 0); }).message(),
      "a window that reaches over 10 elements does not fit dimension 2 of sizes [2, 3, 8, 9] with 0 on both sides");
}

}  // namespace
}  // namespace reprise::test
