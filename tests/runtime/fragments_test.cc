// What stands around products is computed in their launches (Note [Fragments] in kernels/cpu/fragment.h): the bits are
// those of launches apart, and there are as few launches as it says.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/knobs.h"
#include "device/parallel.h"
#include "passes/layouts.h"
#include "passes/registered.h"
#include "reprise/convolution.h"
#include "reprise/parameter.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

/// Operands of a product [m, k] x [n, k], and what is computed with its result: a bias of its columns, one of its rows,
/// a residual, a number.
struct Arguments {
  Tensor x, w, v, bias, row, residual;
};
using Form = std::function<std::vector<Tensor>(const Arguments&, Scalar)>;

/// Products that are results, too, are made as a whole: then what is computed of them is a launch of its own.
thread_local std::vector<Tensor>* kept = nullptr;
Tensor keep(Tensor product) {
  if (kept) kept->push_back(product);
  return product;
}
Tensor lin(const Tensor& x, const Tensor& w) { return keep(linear(x, w)); }
Tensor lin(const Tensor& x, const Tensor& w, const Tensor& bias) { return keep(linear(x, w)) + bias; }
Form apart(Form form) {
  return [form](const Arguments& a, Scalar c) {
    std::vector<Tensor> products;
    kept = &products;
    std::vector<Tensor> out = form(a, c);
    kept = nullptr;
    out.insert(out.end(), products.begin(), products.end());
    return out;
  };
}

struct Case {
  const char* name;
  Form form;
  int launches;  ///< of a call
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"bias", [](const Arguments& a, Scalar) { return std::vector{lin(a.x, a.w, a.bias)}; }, 1},
      {"linear's own", [](const Arguments& a, Scalar) { return std::vector{linear(a.x, a.w, a.bias)}; }, 1},
      {"bias, gelu, residual",
       [](const Arguments& a, Scalar) { return std::vector{a.residual + gelu(lin(a.x, a.w, a.bias))}; }, 1},
      {"gate", [](const Arguments& a, Scalar) { return std::vector{silu(lin(a.x, a.w)) * lin(a.x, a.v)}; }, 1},
      {"gate with biases",
       [](const Arguments& a, Scalar) {
         return std::vector{sigmoid(lin(a.x, a.w, a.bias)) * tanh(lin(a.x, a.v, a.bias)) + a.row};
       },
       1},
      {"a number", [](const Arguments& a, Scalar c) { return std::vector{relu(lin(a.x, a.w)) * c}; }, 1},
      {"several results",
       [](const Arguments& a, Scalar c) {
         Tensor y = lin(a.x, a.w, a.bias);
         return std::vector{y, y * c, y.to(DType::Float64)};
       },
       1},
      {"two with biases",
       [](const Arguments& a, Scalar) {
         return std::vector{lin(a.x, a.w, a.bias), lin(a.x, a.v, a.bias)};
       },
       2},
      {"another dtype",
       [](const Arguments& a, Scalar) {
         return std::vector{(lin(a.x, a.w).to(DType::Float32) - a.row).to(DType::BFloat16)};
       },
       1},
      {"mm", [](const Arguments& a, Scalar c) { return std::vector{exp(keep(mm(a.x, a.w.t())) * 0.125) + a.bias * c}; },
       1},
      {"truth", [](const Arguments& a, Scalar) { return std::vector{lin(a.x, a.w) > a.row}; }, 1},
      {"strided",
       [](const Arguments& a, Scalar) {
         return std::vector{cat({relu(lin(a.x, a.w)), a.residual}, 1)};
       },
       2},
  };
  return all;
}

Tensor of(Ints sizes, DType t, std::int64_t seed) {
  manual_seed(static_cast<std::uint64_t>(seed));
  return (randn(sizes) * 0.5).to(t);
}

Arguments make(std::int64_t m, std::int64_t n, std::int64_t k, DType t, int layout) {
  Arguments a{of({m, k}, t, 1), of({n, k}, t, 2), of({n, k}, t, 3), of({n}, t, 4), of({m, 1}, t, 5), of({m, n}, t, 6)};
  if (layout == 1) a.x = of({m, k + 3}, t, 1).slice(1, 1, k + 1), a.residual = of({n, m}, t, 6).t();
  if (layout == 2)
    a.w = of({k, n}, t, 2).t(), a.v = of({k, n}, t, 3).t(), a.residual = of({m, 2 * n}, t, 6).slice(1, 0, 2 * n, 2);
  return a;
}

Arguments to(const Arguments& a, DType t) {
  return {a.x.to(t), a.w.to(t), a.v.to(t), a.bias.to(t), a.row.to(t), a.residual.to(t)};
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.numel().value() == b.numel().value() && (a.numel().value() == 0 || equal(a, b));
}

TEST(Fragments, HaveTheBitsOfLaunchesApart) {
  const int before = device::num_threads();
  for (const Case& c : cases())
    for (DType t : {DType::Float32, DType::Float64, DType::BFloat16, DType::Float16}) {
      auto together = compile(c.form, {.name = "together"}), separate = compile(apart(c.form), {.name = "separate"});
      auto exact = compile(c.form, {.name = "exact", .mode = "no-fuse"});
      int i = 0;
      for (auto [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 130, 70},
                                                                     {3, 33, 17},
                                                                     {4, 64, 64},
                                                                     {20, 100, 40},
                                                                     {40, 97, 800},
                                                                     {250, 61, 30},
                                                                     {210, 400, 24},
                                                                     {7, 2, 50},
                                                                     {0, 5, 5},
                                                                     {5, 0, 5},
                                                                     {5, 9, 0},
                                                                     {1, 1, 1},
                                                                     {9, 1, 33}}) {
        device::set_num_threads(i % 2 ? 3 : 1);
        const Arguments a = make(m, n, k, t, i++ % 3);
        const std::vector<Tensor> got = together(a, 0.75), want = separate(a, 0.75),
                                  wide = exact(to(a, DType::Float64), 0.75);
        ASSERT_LE(got.size(), want.size());
        for (std::size_t r = 0; r < got.size(); ++r) {
          EXPECT_TRUE(same_bits(got[r], want[r]))
              << c.name << ", " << dtype_name(t) << ", result " << r << " of " << m << " x " << n << " x " << k << "\n"
              << together.explain();
          if (got[r].dtype() == DType::Bool) continue;
          const double tolerance = t == DType::Float64                                        ? 1e-12
                                   : t == DType::Float32 && got[r].dtype() != DType::BFloat16 ? 1e-4
                                                                                              : 6e-2;
          EXPECT_TRUE(allclose(got[r].to(DType::Float64), wide[r].to(DType::Float64), tolerance, tolerance))
              << c.name << ", " << dtype_name(t) << ", result " << r << " of " << m << " x " << n << " x " << k;
        }
        if (::testing::Test::HasFailure()) return device::set_num_threads(before);
      }
      EXPECT_EQ(together.stats().eager_fallbacks, 0) << together.stats().last_fallback_reason;
    }
  device::set_num_threads(before);
}

int launches_in(const std::string& text) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;)
    n += text.compare(++at, 7, "native ") == 0 || text.compare(at, 5, "loop ") == 0;
  return n;
}

TEST(Fragments, AreNoLaunches) {
  for (const Case& c : cases()) {
    auto f = compile(c.form, {.name = "f"});
    f(make(20, 100, 40, DType::Float32, 0), 0.5);
    const std::string text = f.explain(Detail::Launches);
    EXPECT_EQ(launches_in(text), c.launches) << c.name << "\n" << text;
    EXPECT_EQ(text.find("\nbuffer t"), std::string::npos) << c.name << ": a product in memory\n" << text;
  }
}

TEST(Fragments, OfBatchesReadWhatIsBroadcast) {
  auto of_product = [](const Tensor& p, const Tensor& mask) { return tanh(p * 0.125 + mask); };
  auto together =
      compile([=](const Tensor& a, const Tensor& b, const Tensor& mask) { return of_product(bmm(a, b), mask); },
              {.name = "together"});
  auto separate = compile([=](const Tensor& a, const Tensor& b, const Tensor& mask) {
    Tensor p = bmm(a, b);
    return std::vector<Tensor>{of_product(p, mask), p};
  });
  for (DType t : {DType::Float32, DType::BFloat16})
    for (auto [batch, m, n, k] : std::vector<std::array<std::int64_t, 4>>{{12, 64, 64, 64},
                                                                          {3, 5, 70, 9},
                                                                          {2, 1, 40, 30},
                                                                          {1, 9, 9, 9},
                                                                          {0, 4, 4, 4},
                                                                          {3, 20, 70, 30},
                                                                          {5, 230, 33, 16},
                                                                          {4, 300, 500, 130}}) {
      const Tensor b = of({batch, k, n}, t, 2);
      for (const Tensor& a : {of({batch, m, k}, t, 1), of({1, m, k}, t, 1).expand({batch, m, k})})
        for (const Tensor& mask : {of({m, n}, t, 3), of({batch, 1, n}, t, 4), of({batch, m, 1}, t, 5)})
          ASSERT_TRUE(same_bits(together(a, b, mask), separate(a, b, mask)[0]))
              << batch << " x " << m << " x " << n << " x " << k << " " << dtype_name(t) << together.explain();
    }
  EXPECT_EQ(together.explain(Detail::Launches).find("\nloop "), std::string::npos)
      << together.explain(Detail::Launches);
}

TEST(Fragments, ReadFrozenWeightsInPanels) {
  for (DType t : {DType::Float32, DType::BFloat16})
    for (std::size_t i : {2u, 3u}) {
      auto together = compile(cases()[i].form, {.name = "together"}),
           separate = compile(apart(cases()[i].form), {.name = "separate"});
      Arguments a = make(1, 100, 80, t, 0);
      freeze(a.w), freeze(a.v);
      for (std::int64_t m : {1, 3, 6, 33, 250, 400}) {
        const Arguments some = make(m, 100, 80, t, 0);
        a.x = some.x, a.row = some.row, a.residual = some.residual;
        ASSERT_TRUE(same_bits(together(a, 0.5)[0], separate(a, 0.5)[0]))
            << cases()[i].name << ", " << dtype_name(t) << ", " << m << " rows\n"
            << together.explain(Detail::Launches);
      }
      EXPECT_NE(together.explain().find("weights in panels"), std::string::npos) << together.explain();
    }
}

// The residual stream that is written in place is an argument: it stays as it was if there is no room to multiply in.
TEST(Fragments, LeaveArgumentsThatAreWrittenAlone) {
  auto form = [](Tensor stream, const Tensor& x, const Tensor& w, const Tensor& b) {
    stream.add_(gelu(linear(x, w, b)));
  };
  auto f = compile(form, {.name = "f"});
  for (std::int64_t m : {1, 6, 40}) {
    Tensor a = of({m, 24}, DType::Float32, 1), b = a.clone();
    const Tensor x = of({m, 16}, DType::Float32, 2), w = of({24, 16}, DType::Float32, 3),
                 bias = of({24}, DType::Float32, 4);
    f(a, x, w, bias), form(b, x, w, bias);
    EXPECT_TRUE(allclose(a, b, 1e-5, 1e-6));
  }
}

// A product that waits: what else its loop reads is there only later.
TEST(Fragments, WaitForWhatTheyRead) {
  auto form = [](const Tensor& x, const Tensor& w, const Tensor& y) {
    Tensor a = linear(x, w), b = softmax(y, -1);
    return sigmoid(a) * linear(b, w);
  };
  auto f = compile(form, {.name = "f"}), apart = compile(form, {.name = "apart", .mode = "no-fuse"});
  const Tensor x = of({30, 48}, DType::Float32, 1), w = of({48, 48}, DType::Float32, 2),
               y = of({30, 48}, DType::Float32, 3);
  EXPECT_TRUE(allclose(f(x, w, y), apart(x, w, y), 1e-5, 1e-6));
  EXPECT_EQ(f.explain(Detail::Launches).find("loop sigmoid"), std::string::npos) << f.explain(Detail::Launches);
}

/// While it lives, images between convolutions stand channels last, whatever that costs.
struct ChannelsLast {
  ChannelsLast() {
    passes::register_pass({"fragments_channels_last",
                           {passes::Place::Point::Before, "layouts"},
                           [](graph::Graph& g) {
                             passes::PassRecord record;
                             return passes::layouts(g, record, [](const graph::Graph&, const graph::Node&, bool) {
                               return passes::LayoutCost{std::int64_t{1} << 40, 0};
                             });
                           },
                           {.normal_form = true}});
  }
  ~ChannelsLast() { passes::unregister_pass("fragments_channels_last"); }
};

// Convolutions with frozen weights and results with channels last: what stands between two of them is computed in the
// first one's launch.
TEST(Fragments, OfConvolutionsHaveTheBitsOfLaunchesApart) {
  struct Net {
    Tensor first, second, scale, shift;
  };
  using Between = std::function<Tensor(const Tensor& made, const Net&)>;
  struct Row {
    const char* name;
    Between between;
    double tolerance = 2e-4;  // of eager results, which may be summed in another order
  };
  const std::vector<Row> rows{
      {"scale, shift, relu", [](const Tensor& y, const Net& n) { return relu(y * n.scale + n.shift); }},
      {"a function", [](const Tensor& y, const Net& n) { return tanh(y + n.shift) * 0.5; }},
      {"halves", [](const Tensor& y, const Net& n) { return (y * n.scale).to(DType::Float16).to(y.dtype()); }, 6e-2},
      {"its own residual", [](const Tensor& y, const Net& n) { return y + sigmoid(y) * n.scale; }},
  };
  const ChannelsLast scope;
  const int before = device::num_threads();
  for (const Row& row : rows)
    for (DType t : {DType::Float32, DType::Float64})
      for (auto [channels, made, places, step] : std::vector<std::array<std::int64_t, 4>>{{16, 48, 3, 1},
                                                                                          {8, 64, 1, 1},
                                                                                          {16, 130, 3, 2},
                                                                                          {32, 33, 2, 1},
                                                                                          {96, 32, 3, 1},
                                                                                          {3, 64, 4, 2},
                                                                                          {1, 24, 3, 1}}) {
        Net net{of({made, channels, places, places}, t, 1), of({16, made, 1, 1}, t, 2), of({made, 1, 1}, t, 3),
                of({made, 1, 1}, t, 4)};
        freeze(net.first), freeze(net.second), freeze(net.scale), freeze(net.shift);
        auto form = [&, step = step](const Tensor& x, bool keeps) {
          const Tensor y = conv2d(x, net.first, {}, step, 1), z = row.between(y, net);
          std::vector<Tensor> out{conv2d(z, net.second)};
          if (keeps) out.push_back(y);
          return out;
        };
        auto together = compile([&](Tensor x) { return form(x, false); }, {.name = "together"});
        auto separate = compile([&](Tensor x) { return form(x, true); }, {.name = "separate"});
        int i = 0;
        for (auto [n, h, w] : std::vector<std::array<std::int64_t, 3>>{
                 {2, 9, 14}, {1, 30, 21}, {3, 7, 7}, {1, 3, 5}, {0, 8, 8}, {5, 40, 33}}) {
          device::set_num_threads(i++ % 2 ? 3 : 1);
          const Tensor x = of({n, channels, h, w}, t, 7);
          const Tensor got = together(x)[0], want = separate(x)[0];
          EXPECT_TRUE(same_bits(got, want))
              << row.name << ", " << dtype_name(t) << ", " << channels << " to " << made << ", image " << i << "\n"
              << together.explain();
          EXPECT_TRUE(
              allclose(got.to(DType::Float64), form(x, false)[0].to(DType::Float64), row.tolerance, row.tolerance))
              << row.name << ", " << dtype_name(t) << ", image " << i;
        }
        EXPECT_EQ(together.stats().eager_fallbacks, 0) << together.stats().last_fallback_reason;
        const std::string text = together.explain(Detail::Launches);
        EXPECT_NE(text.find("native reprise::convolution_last_packed_"), std::string::npos)
            << row.name << ", " << channels << " to " << made << "\n"
            << text;
        if (::testing::Test::HasFailure()) return device::set_num_threads(before);
      }
  device::set_num_threads(before);
}

}  // namespace
}  // namespace reprise
