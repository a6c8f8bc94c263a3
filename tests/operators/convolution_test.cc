// Convolutions against their sums in double: dtypes, layouts, sizes of 0 and 1, sizes that change from call to call.
#include "reprise/convolution.h"

#include <gtest/gtest.h>

#include <numeric>

#include "graph/op.h"
#include "tests/operators/operators_test.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

struct Form {
  std::int64_t channels, results;
  // one of each for each spatial dimension; output_padding: transposed
  std::vector<std::int64_t> kernel, stride, padding, dilation, output_padding;
  std::int64_t groups = 1;
  bool bias = true;
  bool transposed() const { return !output_padding.empty(); }
  std::size_t n() const { return kernel.size(); }
  Ints weight_sizes() const {
    Ints s = transposed() ? Ints{channels, results / groups} : Ints{results, channels / groups};
    for (std::int64_t k : kernel) s.push_back(k);
    return s;
  }
  std::int64_t out(std::size_t i, std::int64_t in) const {
    const std::int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
    return transposed() ? (in - 1) * stride[i] - 2 * padding[i] + reach + output_padding[i]
                        : (in + 2 * padding[i] - reach) / stride[i] + 1;
  }
};

Tensor call(const Form& f, const Tensor& x, const Tensor& w, const Tensor& bias) {
  const Ints none(f.n(), Int(0));
  return convolution(x, w, f.bias ? bias : Tensor(), f.stride, f.padding, f.dilation, f.transposed(),
                     f.transposed() ? IntArrayRef(f.output_padding) : IntArrayRef(none), f.groups);
}

/// By the definition.
Tensor by_loops(const Form& f, const Tensor& x, const Tensor& w, const Tensor& bias) {
  const std::vector<double> xs = x.to_vector<double>(), ws = w.to_vector<double>(), bs = bias.to_vector<double>();
  const std::int64_t batch = x.size(0).value(), per_in = f.channels / f.groups, per_out = f.results / f.groups;
  std::vector<std::int64_t> in, out;
  for (std::size_t i = 0; i < f.n(); ++i)
    in.push_back(x.size(static_cast<int>(i) + 2).value()), out.push_back(f.out(i, in.back()));
  auto product = [](const std::vector<std::int64_t>& v) {
    return std::accumulate(v.begin(), v.end(), std::int64_t{1}, std::multiplies<>());
  };
  auto index_of = [](std::int64_t flat, const std::vector<std::int64_t>& sizes) {
    std::vector<std::int64_t> index(sizes.size());
    for (std::size_t d = sizes.size(); d-- > 0; flat /= sizes[d]) index[d] = flat % sizes[d];
    return index;
  };
  const std::int64_t pixels_in = product(in), pixels_out = product(out), places = product(f.kernel);
  std::vector<double> y(static_cast<std::size_t>(batch * f.results * pixels_out));
  auto at = [](auto& v, std::int64_t i) -> auto& { return v[static_cast<std::size_t>(i)]; };
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t o = 0; o < f.results; ++o) {
      for (std::int64_t p = 0; p < pixels_out && f.bias; ++p) at(y, (n * f.results + o) * pixels_out + p) = at(bs, o);
      for (std::int64_t c = 0; c < per_in; ++c)
        for (std::int64_t k = 0; k < places; ++k) {
          const std::vector<std::int64_t> place = index_of(k, f.kernel);
          const std::int64_t channel = o / per_out * per_in + c;
          const double weight = f.transposed() ? at(ws, (channel * per_out + o % per_out) * places + k)
                                               : at(ws, (o * per_in + c) * places + k);
          // One loop over the side that is stepped over: the results, or of a transposed one the inputs.
          const std::vector<std::int64_t>&near = f.transposed() ? in : out, &far = f.transposed() ? out : in;
          for (std::int64_t p = 0; p < product(near); ++p) {
            const std::vector<std::int64_t> index = index_of(p, near);
            std::int64_t flat = 0;
            bool inside = true;
            for (std::size_t i = 0; i < f.n(); ++i) {
              const std::int64_t to = index[i] * f.stride[i] - f.padding[i] + place[i] * f.dilation[i];
              inside = inside && to >= 0 && to < far[i];
              flat = flat * far[i] + to;
            }
            if (!inside) continue;
            const std::int64_t from_x = (n * f.channels + channel) * pixels_in + (f.transposed() ? p : flat),
                               to_y = (n * f.results + o) * pixels_out + (f.transposed() ? flat : p);
            at(y, to_y) += at(xs, from_x) * weight;
          }
        }
    }
  Ints sizes{batch, f.results};
  for (std::int64_t s : out) sizes.push_back(s);
  return tensor_of(y, sizes).to(x.dtype());
}

const std::vector<Form> kForms = {
    {3, 4, {3}, {1}, {1}, {1}, {}},
    {3, 4, {3}, {2}, {0}, {2}, {}},
    {4, 6, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {}},
    {4, 6, {3, 2}, {2, 1}, {1, 0}, {1, 2}, {}, 2},
    {4, 6, {1, 1}, {1, 1}, {0, 0}, {1, 1}, {}},
    {4, 6, {1, 1}, {1, 1}, {0, 0}, {1, 1}, {}, 2, false},
    {4, 6, {1, 1}, {2, 2}, {0, 0}, {1, 1}, {}, 1, false},
    {4, 4, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {}, 4},
    {4, 8, {3, 3}, {2, 1}, {1, 1}, {1, 1}, {}, 4},
    {2, 2, {9, 9}, {1, 1}, {4, 4}, {1, 1}, {}, 2},
    {2, 4, {9, 9}, {1, 1}, {4, 4}, {1, 1}, {}, 2},
    {2, 3, {2, 3, 2}, {1, 2, 1}, {1, 1, 0}, {1, 1, 2}, {}},
    {4, 4, {2, 3, 2}, {1, 2, 1}, {1, 1, 0}, {1, 1, 1}, {}, 2},
    {2, 4, {2, 2, 2}, {1, 1, 1}, {1, 1, 0}, {1, 1, 1}, {}, 2},
    {3, 4, {4}, {2}, {1}, {1}, {0}},
    {3, 4, {3}, {3}, {0}, {1}, {1}, 1, false},
    {4, 6, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 0}},
    {4, 6, {3, 2}, {1, 2}, {0, 1}, {2, 1}, {0, 0}, 2},
    {4, 4, {2, 2}, {2, 2}, {0, 0}, {1, 1}, {0, 0}},
    {2, 3, {2, 2, 3}, {2, 1, 2}, {0, 1, 1}, {1, 1, 1}, {0, 0, 1}},
    {4, 2, {2, 2, 3}, {2, 1, 2}, {0, 1, 1}, {1, 1, 1}, {0, 0, 1}, 2},
    // Transposed with steps of 1: the kernel turned around; and such that cannot be.
    {3, 4, {3}, {1}, {1}, {2}, {0}},
    {4, 6, {3, 2}, {1, 1}, {1, 0}, {1, 2}, {0, 0}},
    {4, 6, {3, 3}, {1, 1}, {2, 1}, {1, 1}, {0, 0}, 2},
    {4, 4, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 4},
    {4, 8, {3, 1}, {1, 1}, {0, 0}, {1, 1}, {0, 0}, 4},
    {4, 6, {1, 1}, {1, 1}, {0, 0}, {1, 1}, {0, 0}, 2, false},
    {2, 3, {2, 3, 2}, {1, 1, 1}, {1, 0, 1}, {1, 1, 2}, {0, 0, 0}},
    {2, 3, {2, 2}, {1, 1}, {2, 0}, {1, 1}, {0, 0}},
    {2, 3, {3, 2}, {1, 1}, {1, 0}, {2, 1}, {1, 0}},
};

std::vector<Tensor> arguments(const Form& f, std::int64_t batch, std::int64_t size, DType t) {
  Ints image{batch, f.channels};
  for (std::size_t i = 0; i < f.n(); ++i) image.push_back(size + static_cast<std::int64_t>(i));
  return {numbers(image, t), numbers(f.weight_sizes(), t, 1), numbers({f.results}, t, 2)};
}

TEST(Convolution, IsItsSum) {
  for (std::size_t i = 0; i < kForms.size(); ++i) {
    SCOPED_TRACE("form " + std::to_string(i));
    const Form& f = kForms[i];
    for (DType t : {kFloat32, kFloat64, kBFloat16, kFloat16, kInt64, kInt32}) {
      if (f.transposed() && t == kInt32) continue;
      for (std::int64_t batch : {2, 1, 0}) {
        const std::vector<Tensor> a = arguments(f, batch, 7, t);
        const std::vector<Tensor> wide = {a[0].to(Device::cpu()).to(kFloat64), a[1].to(Device::cpu()).to(kFloat64),
                                          a[2].to(Device::cpu()).to(kFloat64)};
        SCOPED_TRACE(std::string(dtype_name(t)) + ", batch " + std::to_string(batch));
        expect_same({call(f, a[0], a[1], a[2])}, {by_loops(f, wide[0], wide[1], wide[2]).to(t)}, 1e-5, 1e-4);
      }
    }
  }
}

TEST(Convolution, OneCompilationServesManySizes) {
  for (std::size_t i = 0; i < kForms.size(); ++i) {
    SCOPED_TRACE("form " + std::to_string(i));
    const Form& f = kForms[i];
    expect_compiled(
        [&](const std::vector<Tensor>& a) { return std::vector<Tensor>{relu(call(f, a[0] + 1, a[1], a[2]))}; },
        [&](std::int64_t n) { return arguments(f, n % 3 + 2, 5 + n, kFloat32); }, {2, 3, 4, 9},
        // a device's kernels compute with products of all sizes of five dimensions: these get too long
        {.compilations = f.n() == 3 && test_device() != Device::cpu() ? -1 : 3});
  }
}

TEST(Convolution, OfChannelsLast) {
  const Form& f = kForms[2];
  const std::vector<Tensor> a = arguments(f, 2, 7, kFloat32);
  auto last = [](const Tensor& t) { return t.permute({0, 2, 3, 1}).contiguous().permute({0, 3, 1, 2}); };
  const Tensor want = call(f, a[0], a[1], a[2]);
  expect_same({call(f, last(a[0]), last(a[1]), a[2])}, {want}, 1e-6, 1e-6);
  auto compiled = compile([&](Tensor x, Tensor w, Tensor b) { return call(f, x, w, b); });
  expect_same({compiled(last(a[0]), last(a[1]), a[2])}, {want}, 1e-6, 1e-6);
}

// Every layout of image, weight and result, by the definition: channels last, transposed, with gaps, parts of larger
// images.
TEST(Convolution, OfAnyLayout) {
  std::uint32_t state = 1;
  auto any = [&](std::int64_t lo, std::int64_t hi) {
    return state = state * 1664525 + 1013904223, lo + static_cast<std::int64_t>(state >> 8) % (hi - lo + 1);
  };
  const std::vector<Tensor (*)(const Tensor&)> layouts = {
      +[](const Tensor& t) { return t; }, +[](const Tensor& t) { return transposed_memory(t); },
      +[](const Tensor& t) { return with_gaps(t); },
      +[](const Tensor& t) { return t.movedim(1, -1).contiguous().movedim(-1, 1); },
      +[](const Tensor& t) {
        return cat({t, t, t}, -1).slice(-1, t.size(-1), t.size(-1) * 2);
      }};
  for (int i = 0; i < (simulated() ? 12 : 120); ++i) {
    Form f{};
    const std::int64_t n = any(1, 3), groups = any(0, 3) ? 1 : any(2, 3);
    f.groups = groups, f.channels = groups * any(1, 9), f.results = groups * any(1, 20), f.bias = any(0, 1);
    Ints image{any(1, 3), f.channels};
    for (std::int64_t d = 0; d < n; ++d) {
      f.kernel.push_back(any(1, 4)), f.stride.push_back(any(1, 3)), f.padding.push_back(any(0, 3)),
          f.dilation.push_back(any(1, 2));
      image.push_back(
          std::max(any(1, n == 1 ? 90 : 15), f.dilation.back() * (f.kernel.back() - 1) + 1 - 2 * f.padding.back()));
    }
    SCOPED_TRACE("form " + std::to_string(i) + ", image " + graph::sizes_text(image) + ", weight " +
                 graph::sizes_text(f.weight_sizes()));
    const DType t =
        std::vector<DType>{kFloat32, kFloat32, kFloat64, kBFloat16, kFloat16}[static_cast<std::size_t>(any(0, 4))];
    auto laid = [&](const Tensor& t) {
      return layouts[static_cast<std::size_t>(any(0, static_cast<std::int64_t>(layouts.size()) - 1))](t);
    };
    const Tensor x = numbers(image, t), w = numbers(f.weight_sizes(), t, 1), bias = numbers({f.results}, t, 2);
    auto wide = [](const Tensor& v) { return v.to(Device::cpu()).to(kFloat64); };
    const Tensor want = by_loops(f, wide(x), wide(w), wide(bias)).to(t);
    const Tensor given = laid(x), weight = laid(w);
    auto compiled = compile([&](Tensor x, Tensor w, Tensor b) { return call(f, x, w, b); });
    // the result has gaps
    auto beside = compile([&](Tensor x, Tensor w, Tensor b) {
      Tensor y = call(f, x, w, b);
      return cat({zeros_like(y), y}, -1);
    });
    expect_same({call(f, given, weight, bias), compiled(given, weight, bias), beside(given, weight, bias)},
                {want, want, cat({zeros_like(want), want}, -1)}, 1e-5, 1e-4);
    EXPECT_EQ(compiled.stats().eager_fallbacks + beside.stats().eager_fallbacks, 0);
  }
}

// What follows a convolution becomes a part of it: a relu, a sum and a relu, into the memory of what is added, too.
TEST(Convolution, TakesWhatFollows) {
  auto block = [](const std::vector<Tensor>& a) {
    const Tensor y = relu(conv2d(a[0], a[1], a[2], 1, 1)), z = relu(conv2d(y, a[1], a[2], 1, 1) + a[0]);
    const Tensor more = relu(conv2d(z, a[3]) + conv2d(z, a[1], {}, 1, 1));
    return std::vector<Tensor>{z, more + conv2d(more, a[3], a[2])};
  };
  auto make = [](std::int64_t n) {
    return std::vector<Tensor>{numbers({n % 3 + 1, 5, n, n + 2}), numbers({5, 5, 3, 3}, kFloat32, 1) * 0.1,
                               numbers({5}, kFloat32, 2), numbers({5, 5, 1, 1}, kFloat32, 3) * 0.1};
  };
  expect_compiled(block, make, {3, 7, 20, 1, 9}, {.rtol = 1e-4, .atol = 1e-4});
  // More channels than are summed at once, and images of one element.
  expect_compiled(
      [](const std::vector<Tensor>& a) { return std::vector<Tensor>{relu(conv2d(a[0], a[1], a[2], 1, 1) + a[3])}; },
      [](std::int64_t n) {
        return std::vector<Tensor>{numbers({n, 120, 4, 5}), numbers({10, 120, 3, 3}, kFloat32, 1),
                                   numbers({10}, kFloat32, 2), numbers({n, 10, 4, 5}, kFloat32, 3)};
      },
      {2, 3}, {.rtol = 1e-4, .atol = 1e-3});
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        const Tensor y = relu(a[0].mean({2, 3}, true));
        return std::vector<Tensor>{relu(conv2d(y, a[1], a[2]) + y), relu(conv2d(y * 2, a[1])), conv2d(y, a[1], a[2])};
      },
      [](std::int64_t n) {
        return std::vector<Tensor>{numbers({n, 24, 3, 3}), numbers({24, 24, 1, 1}, kFloat32, 1),
                                   numbers({24}, kFloat32, 2)};
      },
      {2, 1, 17, 40}, {.rtol = 1e-4, .atol = 1e-4});
  if (test_device() != Device::cpu()) return;
  auto compiled = compile([&](std::vector<Tensor> a) { return block(a); });
  compiled(make(7));
  const std::string text = compiled.explain();
  for (const char* launch : {"native convolution_relu(", "native convolution_add_relu("})
    EXPECT_NE(text.find(launch), std::string::npos) << launch << " in\n" << text;
}

TEST(Convolution, PaddingByWords) {
  const Tensor x = numbers({2, 3, 9, 8}), w = numbers({4, 3, 4, 3}, kFloat32, 1);
  const Tensor same = conv2d(x, w, {}, 1, "same"), valid = conv2d(x, w, {}, 1, "valid");
  expect_same({same}, {conv2d(pad(x, {1, 1, 1, 2}), w)}, 1e-6, 1e-6);
  expect_same({valid}, {conv2d(x, w)}, 0, 0);
  expect_same({conv1d(numbers({1, 1, 9}), numbers({2, 1, 5}), {}, 1, "same", 2)},
              {conv1d(numbers({1, 1, 9}), numbers({2, 1, 5}), {}, 1, 4, 2)}, 0, 0);
}

TEST(Convolution, WithoutABatch) {
  const Tensor x = numbers({2, 4, 6, 7}), w = numbers({4, 2, 3, 3}, kFloat32, 1), bias = numbers({4}, kFloat32, 2);
  auto f = [](const std::vector<Tensor>& a) {
    return std::vector<Tensor>{conv2d(a[0], a[1], a[2], 1, {1, 0}, 1, 2),
                               conv_transpose2d(a[0], a[1], {}, {2, 1}, 0, {1, 0}, 2)};
  };
  const std::vector<Tensor> whole = f({x, w, bias}), first = f({x[0], w, bias});
  expect_same(first, {whole[0][0], whole[1][0]}, 1e-6, 1e-6);
  expect_compiled(f,
                  [&](std::int64_t n) {
                    return std::vector<Tensor>{numbers({4, n, n + 1}), w, bias};
                  },
                  {5, 6, 9}, {.compilations = 3});
}

// Reads of many rows: blocks of them, and what an image leaves over.
TEST(Convolution, OfLargerImages) {
  const Form f{16, 24, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {}};
  Tensor x = numbers({3, 16, 33, 41}), w = numbers(f.weight_sizes(), kFloat32, 1), bias = numbers({24}, kFloat32, 2);
  const std::vector<Tensor> wide = {x.to(Device::cpu()).to(kFloat64), w.to(Device::cpu()).to(kFloat64),
                                    bias.to(Device::cpu()).to(kFloat64)};
  expect_same({call(f, x, w, bias)}, {by_loops(f, wide[0], wide[1], wide[2]).to(kFloat32)}, 1e-5, 1e-3);
}

// Windows that are copied row by row of the kernel: a part is what the part of the image gives.
TEST(Convolution, OfImagesWhoseWindowsAreMany) {
  if (simulated()) GTEST_SKIP() << "millions of threads";
  Tensor x = numbers({1, 8, 720, 720}), w = numbers({2, 8, 3, 3}, kFloat32, 1), bias = numbers({2}, kFloat32, 2);
  auto compiled = compile([](Tensor x, Tensor w, Tensor b) { return conv2d(x, w, b, {2, 1}, 1); });
  auto part = [](const Tensor& t, std::int64_t row, std::int64_t n) {
    return t.slice(2, row, row + n).slice(3, 300, 300 + n);
  };
  const Tensor y = conv2d(x, w, bias, {2, 1}, 1), again = compiled(x, w, bias);
  // Row r of the result sees rows 2r - 1 to 2r + 1, column c columns c - 1 to c + 1.
  const Tensor want = conv2d(part(x, 399, 41).slice(3, 0, 22), w, bias, {2, 1});
  expect_same({y.slice(2, 200, 220).slice(3, 301, 321), again.slice(2, 200, 220).slice(3, 301, 321)}, {want, want},
              1e-5, 1e-4);
}

TEST(Convolution, IsOneNode) {
  const graph::OpDef* o = graph::find_op("convolution");
  ASSERT_NE(o, nullptr);
  EXPECT_EQ(o->cls, graph::OpClass::Matmul);
}

TEST(Convolution, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({2, 4, 5, 6}), w = zeros({6, 4, 3, 3}), bias = zeros({6});
  auto code = [](auto&& f) { return error_of(f).code(); };
  EXPECT_EQ(code([&] { conv2d(x, zeros({6, 3, 3, 3})); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { conv2d(x, zeros({6, 4, 7, 3})); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { conv2d(x, w, zeros({4})); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { conv2d(x, zeros({6, 4, 3})); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { conv2d(zeros({4, 5}), w); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { conv2d(x, w.to(kFloat64)); }), ErrorCode::DTypeMismatch);
  EXPECT_EQ(code([&] { conv2d(x, w, bias.to(kFloat16)); }), ErrorCode::DTypeMismatch);
  EXPECT_EQ(code([&] { conv2d(x.to(kBool), w.to(kBool)); }), ErrorCode::DTypeMismatch);
  EXPECT_EQ(code([&] { conv2d(x, w, bias, 0); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { conv2d(x, w, bias, 1, -1); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { conv2d(x, w, bias, 1, 0, 0); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { conv2d(x, w, bias, {1, 1, 1}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { conv2d(x, w, bias, 1, 0, 1, 3); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { conv2d(x, w, bias, 1, 0, 1, 0); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { conv2d(x, w, bias, 2, "same"); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { conv2d(x, w, bias, 1, "full"); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { conv2d(x, zeros({6, 4, 0, 3})); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { conv2d(Tensor(), w); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { conv_transpose2d(x, w.transpose(0, 1), {}, 2, 0, 2); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { conv_transpose2d(x, w); }), ErrorCode::ShapeMismatch);
  const Error e = error_of([&] { conv2d(x, zeros({6, 4, 8, 3}), {}, 1, 1); });
  EXPECT_EQ(e.op(), "conv2d");
  EXPECT_EQ(e.message(),
            "a kernel that reaches over 8 elements is larger than dimension 2 of the image, 5 and 1 on both sides");
}

}  // namespace
}  // namespace reprise::test
