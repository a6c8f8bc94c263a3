// Products of one row, with what makes the row and what is computed of them, are one kernel (Note [Joined products] in
// kernels/gpu/product_joined.h).
#include <functional>
#include <sstream>

#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

struct Operands {
  Tensor x, norm, w, v, u, residual, bias, cos, sin, cache;
};
/// What it gives, and what it has written.
using Form = std::function<std::vector<Tensor>(Operands, Int, Scalar)>;

struct Case {
  const char* name;
  Form form;
  int launches;
};

Tensor rotated(Tensor x, Tensor cos, Tensor sin) {
  const Int half = x.size(-1) / 2;
  const Tensor a = x.slice(-1, 0, half), b = x.slice(-1, half, half * 2);
  return cat({a * cos - b * sin, b * cos + a * sin}, -1).to(x.dtype());
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"residual", [](Operands o, Int, Scalar) { return std::vector{o.residual + linear(o.x, o.w)}; }, 1},
      {"a bias, a function, a number",
       [](Operands o, Int, Scalar c) { return std::vector{gelu(linear(o.x, o.w, o.bias)) * c}; }, 1},
      {"gate", [](Operands o, Int, Scalar) { return std::vector{silu(linear(o.x, o.w)) * linear(o.x, o.v)}; }, 1},
      {"norm and gate",
       [](Operands o, Int, Scalar) {
         const Tensor h = rms_norm(o.x, o.norm, 1e-5);
         return std::vector{silu(linear(h, o.w)) * linear(h, o.v)};
       },
       1},
      {"layer norm",
       [](Operands o, Int, Scalar) {
         return std::vector{linear(layer_norm(o.x, {o.x.size(1)}, o.norm, o.norm), o.w, o.bias)};
       },
       1},
      {"three matrices",
       [](Operands o, Int, Scalar) {
         return std::vector{linear(o.x, o.w, o.bias), relu(linear(o.x, o.v)), linear(o.x, o.u)};
       },
       1},
      {"one that others read, too",
       [](Operands o, Int, Scalar) {
         Tensor y = linear(o.x, o.w);
         return std::vector{y, y.sum(-1), o.residual + y};
       },
       -1},
      {"residual, which is normalized",
       [](Operands o, Int, Scalar) {
         Tensor r = o.residual + linear(o.x, o.w);
         return std::vector{r, rms_norm(r, o.bias, 1e-5)};
       },
       2},
      {"halves and caches",
       [](Operands o, Int at, Scalar) {
         const Int heads = o.w.size(0) / 8;
         const Tensor h = rms_norm(o.x, o.norm, 1e-5), cos = o.cos.slice(0, at, at + 1),
                      sin = o.sin.slice(0, at, at + 1);
         o.cache.slice(1, at, at + 1).copy_(rotated(linear(h, o.v).view({1, heads, 8}).transpose(0, 1), cos, sin));
         return std::vector{rotated(linear(h, o.w).view({1, heads, 8}).transpose(0, 1), cos, sin), linear(h, o.u)};
       },
       1},
  };
  return all;
}

class CudaJoined : public Cuda {
 protected:
  static Tensor numbers(const Ints& sizes, double step, DType t) {
    Int n = 1;
    for (Int s : sizes) n *= s;
    return (arange(n).to(kFloat32) * step).sin().reshape(sizes).to(t);
  }
  /// n columns, of which there are heads of 8; others, that no block has whole, of `u`.
  static Operands operands(std::int64_t n, std::int64_t k, DType t) {
    const double small = 2 / std::sqrt(static_cast<double>(k));
    return {numbers({1, k}, 0.37, t),
            (numbers({k}, 0.13, kFloat32) + 1.5).to(t),
            (numbers({n, k}, 0.71, kFloat32) * small).to(t),
            (numbers({n, k}, 0.53, kFloat32) * small).to(t),
            (numbers({n / 2 + 3, k}, 0.29, kFloat32) * small).to(t),
            numbers({1, n}, 0.41, t),
            numbers({n}, 0.23, t),
            numbers({9, 4}, 0.2, kFloat32),
            numbers({9, 4}, 0.3, kFloat32),
            numbers({n / 8, 9, 8}, 0.17, t)};
  }
  Operands moved(const Operands& o) const {
    return {o.x.to(d),        o.norm.to(d), o.w.to(d),   o.v.to(d),   o.u.to(d),
            o.residual.to(d), o.bias.to(d), o.cos.to(d), o.sin.to(d), o.cache.to(d)};
  }
  static std::vector<Tensor> run(const Form& f, const Operands& o, Int at, Scalar c) {
    std::vector<Tensor> r = f(o, at, c);
    r.push_back(o.cache);
    return r;
  }
  static int launches(const std::string& explained) {
    std::istringstream lines(explained.substr(explained.find("  launches:\n") + 12));
    int n = 0;
    for (std::string line; std::getline(lines, line) && line.find("output ") != 0;)
      n += line.starts_with("loop ") || line.starts_with("gpu ") || line.starts_with("native ");
    return n;
  }
};

TEST_F(CudaJoined, AreAsTheirParts) {
  for (const Case& c : cases())
    for (DType t : {kFloat32, kBFloat16, kFloat16})
      for (const auto& [n, k] :
           {std::pair{16, 72}, {24, 256}, {8, 784}, {8, 1544}, {16, 2048}, {264, 2056}, {8, 6424}}) {
        if ((n > 100 || k > 6000) && t == kFloat16) continue;
        SCOPED_TRACE(std::string(c.name) + ", " + std::string(dtype_name(t)) + ", " + std::to_string(n) + " x " +
                     std::to_string(k));
        auto f = compile([&](Operands o, Int at, Scalar number) { return c.form(o, at, number); },
                         {.name = "joined", .static_sizes = true});
        const Operands here = operands(n, k, t);
        for (std::int64_t at : {2, 5}) {
          const Operands there = moved(here);
          std::vector<Tensor> got = f(there, at, 0.5 * static_cast<double>(at)),
                              want = run(c.form, here, at, 0.5 * static_cast<double>(at));
          got.push_back(there.cache);
          ASSERT_EQ(got.size(), want.size());
          const double tolerance = t == kFloat32 ? 2e-5 : t == kFloat16 ? 4e-3 : 3e-2;
          for (std::size_t i = 0; i < got.size(); ++i)
            EXPECT_TRUE(allclose(got[i].cpu().to(kFloat32), want[i].to(kFloat32), tolerance, tolerance))
                << "result " << i << "\n"
                << got[i].cpu() << "\nwanted\n"
                << want[i];
        }
        if (c.launches > 0) {
          EXPECT_EQ(launches(f.explain()), c.launches) << f.explain();
        }
        EXPECT_EQ(f.stats().eager_fallbacks, 0);
      }
}

// A matrix of so many columns that a warp has several.
TEST_F(CudaJoined, ManyColumns) {
  auto body = [](Tensor x, Tensor norm, Tensor w) { return linear(rms_norm(x, norm, 1e-5), w); };
  auto f = compile(body, {.name = "columns", .static_sizes = true});
  const Tensor x = numbers({1, 72}, 0.37, kFloat32), norm = numbers({72}, 0.1, kFloat32),
               w = numbers({16405, 72}, 0.71, kFloat32) * 0.1;
  const Tensor got = f(x.to(d), norm.to(d), w.to(d)), want = body(x, norm, w);
  EXPECT_TRUE(allclose(got.cpu(), want, 2e-5, 2e-5));
  EXPECT_NE(f.explain().find("columns=2"), std::string::npos) << f.explain();
}

// Rows and weights anywhere in memory: the same code, another way through it.
TEST_F(CudaJoined, NothingIsAskedOfAddresses) {
  auto body = [](Tensor x, Tensor norm, Tensor w, Tensor v) {
    const Tensor h = rms_norm(x, norm, 1e-5);
    return silu(linear(h, w)) * linear(h, v);
  };
  for (DType t : {kFloat32, kBFloat16}) {
    auto f = compile(body, {.name = "anywhere", .static_sizes = true});
    for (std::int64_t first : {0, 1, 3}) {
      auto at = [&](const Ints& sizes, double step) {
        Int n = 1;
        for (Int s : sizes) n *= s;
        return numbers({n + first}, step, t).slice(0, first, n + first).view(sizes);
      };
      auto moved_at = [&](const Tensor& x) {
        return cat({zeros({first}, {.dtype = t}), x.reshape({x.numel()})}, 0)
            .to(d)
            .slice(0, first, x.numel() + first)
            .view(x.sizes());
      };
      const Tensor x = at({1, 264}, 0.37), norm = at({264}, 0.1), w = at({20, 264}, 0.71) * 0.1,
                   v = at({20, 264}, 0.31) * 0.1;
      const Tensor got = f(moved_at(x), moved_at(norm), moved_at(w), moved_at(v)), want = body(x, norm, w, v);
      const double tolerance = t == kFloat32 ? 2e-5 : 3e-2;
      EXPECT_TRUE(allclose(got.cpu().to(kFloat32), want.to(kFloat32), tolerance, tolerance))
          << first << "\n"
          << got.cpu() << "\nwanted\n"
          << want;
    }
  }
}

}  // namespace
}  // namespace reprise::test
