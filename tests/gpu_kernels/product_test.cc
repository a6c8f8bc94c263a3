#include <cmath>

#include "base/knobs.h"
#include "node_run.h"

namespace reprise::kernels::testing {
namespace {

using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

const std::vector<DType> kTypes{DType::Float32, DType::BFloat16, DType::Float16, DType::Float64,
                                DType::Int64,   DType::Int32,    DType::Int8,    DType::UInt8};

double unit(DType t) {
  return t == DType::Float64    ? 1e-14
         : t == DType::Float32  ? 2e-6
         : t == DType::Float16  ? 1.1e-3
         : t == DType::BFloat16 ? 8e-3
                                : 0;
}
void expect_product(NodeResults r, DType t, const std::string& what) {
  expect_close(r, unit(t), is_floating(t) ? 20 * unit(t) * (is_low_precision(t) ? 0.02 : 1) : 0, what);
}

std::string text(DType t, std::int64_t m, std::int64_t n, std::int64_t k) {
  return std::string(dtype_name(t)) + " " + std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n);
}

class GpuProduct : public ::testing::Test {
  void SetUp() override {
    if (!device_here()) GTEST_SKIP() << "no device here";
  }
};

void products(DType t, unsigned seed, const std::vector<std::array<std::int64_t, 3>>& sizes) {
  std::mt19937 rng(seed);
  for (auto [m, n, k] : sizes)
    for (bool linear : {false, true}) {
      Strided a = any_strides(rng, t, {m, k}), b = any_strides(rng, t, linear ? std::vector{n, k} : std::vector{k, n});
      a.fill(rng, -2, 2), b.fill(rng, -2, 2);
      std::vector<Strided> inputs{a, b};
      std::vector<NodeArg> args{ValueId{}, ValueId{}};
      if (linear) {
        bool biased = rng() % 2;
        args.push_back(biased ? NodeArg(ValueId{}) : NodeArg());
        if (biased) inputs.push_back(any_strides(rng, t, {n})), inputs.back().fill(rng);
      }
      expect_product(run_node(linear ? OpId::linear : OpId::mm, args, inputs, rng() % 2 ? Known::Ones : Known::All,
                              [&](DType dtype, std::vector<std::int64_t> s) { return any_strides(rng, dtype, s); }),
                     t, text(t, m, n, k) + (linear ? " linear" : " mm"));
      if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST_F(GpuProduct, TiledWithEdges) {
  for (DType t : kTypes) products(t, 1, {{64, 64, 32}, {65, 70, 33}, {9, 9, 1}, {100, 20, 47}, {17, 130, 16}});
}
TEST_F(GpuProduct, FewRowsOrColumns) {
  for (DType t : kTypes)
    products(t, 2,
             {{1, 40, 64}, {1, 7, 1000}, {3, 33, 128}, {8, 12, 35}, {5, 1, 9}, {30, 1, 64}, {20, 6, 40}, {2, 64, 600}});
}
TEST_F(GpuProduct, NothingInIt) {
  for (DType t : {DType::Float32, DType::BFloat16, DType::Int64})
    products(t, 3, {{0, 5, 5}, {5, 0, 5}, {5, 5, 0}, {40, 40, 0}, {0, 0, 0}, {1, 1, 1}});
}
TEST_F(GpuProduct, ManyColumnsFewRows) { products(DType::BFloat16, 4, {{1, 4100, 64}, {2, 4097, 16}}); }

TEST_F(GpuProduct, Batches) {
  std::mt19937 rng(5);
  for (DType t : {DType::Float32, DType::Float16, DType::Int32})
    for (auto [batch, m, n, k] : std::vector<std::array<std::int64_t, 4>>{
             {3, 5, 7, 9}, {0, 4, 4, 4}, {2, 70, 40, 20}, {4, 1, 33, 20}, {2, 31, 3, 64}}) {
      Strided a = any_strides(rng, t, {batch, m, k}), b = any_strides(rng, t, {batch, k, n});
      if (rng() % 2) b = Strided(t, {batch, k, n}, {0, n, 1});  // one matrix for all
      a.fill(rng), b.fill(rng);
      expect_product(run_node(OpId::bmm, {ValueId{}, ValueId{}}, {a, b}, rng() % 2 ? Known::Ones : Known::All), t,
                     text(t, m, n, k));
      if (HasFatalFailure()) return;
    }
}

void scaled_products(DType a, DType b, unsigned seed, const std::vector<std::array<std::int64_t, 3>>& sizes,
                     const std::vector<int>& kinds = {0, 1, 2, 3}) {
  std::mt19937 rng(seed);
  for (auto [m, n, k] : sizes)
    for (int kind : kinds) {
      const std::vector<std::int64_t> by_rows{1, k};
      Strided x = kind % 2 ? Strided(a, {m, k}) : any_strides(rng, a, {m, k}),
              w = kind ? Strided(b, {k, n}, by_rows) : any_strides(rng, b, {k, n});
      x.fill(rng, a == DType::Int8 ? -128 : -2, a == DType::Int8 ? 127 : 2),
          w.fill(rng, b == DType::Int8 ? -128 : -2, b == DType::Int8 ? 127 : 2);
      const std::int64_t block = kind == 3 ? 32 : 128, along = (k + block - 1) / block,
                         across = (n + block - 1) / block;
      Strided sx(DType::Float32,
                 kind == 0 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{m, kind == 1 ? 1 : along});
      Strided sw(DType::Float32, kind == 0   ? std::vector<std::int64_t>{1}
                                 : kind == 1 ? std::vector<std::int64_t>{1, n}
                                             : std::vector<std::int64_t>{along, kind == 2 ? across : n});
      sx.fill(rng, 0.01, 0.1), sw.fill(rng, 0.01, 0.1);
      std::vector<Strided> inputs{x, w, sx, sw};
      const DType out = kind == 1 ? DType::BFloat16 : DType::Float32;
      std::vector<NodeArg> args{ValueId{}, ValueId{}, ValueId{}, ValueId{}, NodeArg(), out, Ints{block, block}};
      if (kind % 2) args[4] = ValueId{}, inputs.push_back(any_strides(rng, out, {n})), inputs.back().fill(rng);
      NodeResults r = run_node(OpId::scaled_mm, args, inputs, rng() % 2 ? Known::Ones : Known::All);
      EXPECT_TRUE(r.has_kernels);
      const std::string what = text(a, m, n, k) + " scales " + std::to_string(kind);
      expect_close(r, out == DType::BFloat16 ? 8e-3 : 4e-6, out == DType::BFloat16 ? 2e-2 : 2e-4, what);
      if (a == DType::Int8) {
        NodeResults exact =
            run_node(OpId::int_mm, {ValueId{}, ValueId{}}, {x, w}, rng() % 2 ? Known::Ones : Known::All);
        expect_close(exact, 0, 0, what);
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST_F(GpuProduct, ScaledInTiles) {
  for (auto [a, b] : {std::pair{DType::Int8, DType::Int8},
                      {DType::Float8E4M3FN, DType::Float8E5M2},
                      {DType::Float32, DType::Float8E4M3FN}})
    scaled_products(a, b, 7, {{65, 70, 300}, {17, 30, 45}});
}
// The large tiles of tensor cores, with a scale for each row and with some along k.
TEST_F(GpuProduct, ScaledInLargeTiles) {
  scaled_products(DType::Int8, DType::Int8, 9, {{66, 14300, 200}}, {1});
  scaled_products(DType::Float8E4M3FN, DType::Float8E5M2, 10, {{70, 14336, 136}}, {2});
}
// All of their values are exact, infinite or NaN where they are.
TEST_F(GpuProduct, EveryFloat8) {
  for (DType t : {DType::Float8E4M3FN, DType::Float8E5M2}) {
    Strided x(t, {20, 64}), w(t, {64, 70}, {1, 64}), one(DType::Float32, {}), other(DType::Float32, {});
    one.set(0, 1), other.set(0, 1);
    for (std::int64_t i = 0; i < w.numel(); ++i) w.set(i, i / 70 == i % 70);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const int code = static_cast<int>(i % 256), magnitude = code & 127;
      const bool finite = t == DType::Float8E4M3FN ? magnitude < 127 : magnitude < 124;
      // the last rows have those that are not
      x.bytes[static_cast<std::size_t>(x.offset + i)] = static_cast<char>(finite || i / 64 > 15 ? code : 0);
    }
    NodeResults r = run_node(OpId::scaled_mm,
                             {ValueId{}, ValueId{}, ValueId{}, ValueId{}, NodeArg(), DType::Float32, Ints{128, 128}},
                             {x, w, one, other}, Known::All);
    EXPECT_EQ(r.launched, std::vector<std::string>{"scaled_product"});
    expect_close(r, 0, 0, std::string(dtype_name(t)));
  }
}
TEST_F(GpuProduct, ScaledFewRows) {
  for (auto [a, b] :
       {std::pair{DType::Int8, DType::Int8}, {DType::Float8E4M3FN, DType::Float8E4M3FN}, {DType::Float16, DType::Int8}})
    scaled_products(a, b, 8, {{1, 70, 700}, {8, 33, 130}, {5, 1, 9}, {0, 5, 5}, {2, 6, 0}});
}

TEST_F(GpuProduct, LinearOfHigherRanks) {
  std::mt19937 rng(6);
  for (DType t : {DType::Float32, DType::BFloat16})
    for (Known known : {Known::All, Known::Ones}) {
      Strided w(t, {33, 24});
      w.fill(rng);
      Strided x(t, {2, 3, 5, 24}, {360, 24, 72, 1}), dense(t, {2, 3, 24}), vector(t, {24});
      x.fill(rng), dense.fill(rng), vector.fill(rng);
      for (const Strided& s : {x, dense, vector})
        expect_product(run_node(OpId::linear, {ValueId{}, ValueId{}, {}}, {s, w}, known), t, "linear");
    }
}

TEST_F(GpuProduct, RowsThatMayBeFewOrMany) {
  // Launches made for any m: which kernel works is a matter of the grid.
  std::mt19937 rng(7);
  for (std::int64_t m : {1, 8, 9, 70}) {
    Strided x(DType::BFloat16, {m, 64}), w(DType::BFloat16, {48, 64});
    x.fill(rng), w.fill(rng);
    NodeResults r = run_node(OpId::linear, {ValueId{}, ValueId{}, {}}, {x, w}, Known::Ones);
    EXPECT_EQ(r.launched, std::vector<std::string>{m == 1 ? "product_dot" : m <= 8 ? "product_strip" : "product"}) << m;
    expect_product(r, DType::BFloat16, "m " + std::to_string(m));
  }
}

// Whole and partial blocks of 32 along k, strips of 16 columns, rows that are fewer than the tensor core's; what does
// not lie in runs of 16 bytes.
TEST_F(GpuProduct, Strips) {
  std::mt19937 rng(11);
  for (DType t : {DType::BFloat16, DType::Float16})
    for (auto [m, n, k] : {std::array<std::int64_t, 3>{2, 33, 40},
                           {3, 16, 8},
                           {8, 1, 256},
                           {5, 50, 2080},
                           {4, 17, 33},
                           {7, 20, 1000},
                           {2, 5, 0}})
      for (bool bias : {false, true})
        for (std::int64_t gap : {0, 8, 1}) {
          Strided x(t, {m, k}, {k + gap, 1}), w(t, {n, k}, {k + gap, 1}), b(t, {n});
          x.fill(rng), w.fill(rng), b.fill(rng);
          std::vector<Strided> in{x, w};
          std::vector<NodeArg> args{ValueId{}, ValueId{}, {}};
          if (bias) in.push_back(b), args[2] = ValueId{};
          NodeResults r = run_node(OpId::linear, args, in, gap ? Known::All : Known::Ones);
          EXPECT_EQ(r.launched, std::vector<std::string>{"product_strip"});
          expect_product(r, t,
                         std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + ", gap " +
                             std::to_string(gap));
        }
}

// Every size of tiles, operands that lie by lines, by k, otherwise, or are not aligned; edges in all directions, one
// step of k and several; more steps than have room.
void tiles_of_tensor_cores() {
  struct Case {
    const char* tile;
    std::int64_t batch, m, n, k;
    DType dtype;
    std::vector<std::pair<int, int>> operands;
  };
  std::mt19937 rng(12);
  const DType b16 = DType::BFloat16, f16 = DType::Float16, f32 = DType::Float32;
  for (const Case& c : {Case{"128x256", 28, 130, 260, 24, b16, {{0, 0}}},
                        {"128x256", 112, 66, 9, 136, f16, {{2, 2}, {1, 3}}},
                        {"128x64", 56, 70, 66, 200, f16, {{0, 0}, {2, 1}}},
                        {"128x64", 38, 130, 72, 61, b16, {{0, 2}, {3, 0}}},
                        {"64x64", 2, 70, 130, 200, b16, {{0, 0}, {0, 2}, {2, 0}, {2, 2}, {1, 3}, {3, 1}}},
                        {"64x64", 1, 66, 70, 61, f16, {{0, 0}, {0, 2}, {2, 0}, {2, 2}, {1, 3}, {3, 1}}},
                        {"64x64", 1, 65, 16, 0, b16, {{0, 0}}},
                        {"64x64", 1, 20, 30, 700, b16, {{0, 2}}},
                        {"128x256", 112, 66, 9, 68, f32, {{0, 2}}},
                        {"128x64", 56, 70, 66, 100, f32, {{0, 0}}},
                        {"64x64", 1, 66, 70, 101, f32, {{0, 0}, {0, 2}, {2, 0}, {2, 2}, {1, 3}, {3, 1}}}}) {
    const DType t = c.dtype;
    const Scoped<std::string> tf32(knobs().cuda_tf32, t == f32 ? "on" : "off");
    // By lines; not in runs of 16 bytes; by k; in steps.
    const auto operand = [&](std::int64_t lines, int how) {
      const std::int64_t deep = (c.k + 7) / 8 * 8, wide = (lines + 7) / 8 * 8;
      const std::vector<std::int64_t> strides = how == 0   ? std::vector<std::int64_t>{lines * deep, deep, 1}
                                                : how == 1 ? std::vector<std::int64_t>{lines * (deep + 1), deep + 1, 1}
                                                : how == 2 ? std::vector<std::int64_t>{wide * c.k, 1, wide}
                                                           : std::vector<std::int64_t>{2 * lines * deep, 2 * deep, 2};
      Strided s(t, {c.batch, lines, c.k}, strides);
      s.fill(rng);
      return s;
    };
    for (auto [of_a, of_b] : c.operands) {
      Strided a = operand(c.m, of_a), b = operand(c.n, of_b);
      std::swap(b.sizes[1], b.sizes[2]), std::swap(b.strides[1], b.strides[2]);
      NodeResults r = run_node(OpId::bmm, {ValueId{}, ValueId{}}, {a, b}, of_a == of_b ? Known::All : Known::Ones);
      const std::string what = std::to_string(c.batch) + " of " + text(t, c.m, c.n, c.k) + " tile " + c.tile +
                               " operands " + std::to_string(of_a) + std::to_string(of_b);
      EXPECT_EQ(r.launched, std::vector<std::string>{"product"}) << what;
      if (t == f32) expect_close(r, 2e-3, 4e-3 * std::sqrt(static_cast<double>(c.k)), what);
      else expect_product(std::move(r), t, what);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}
TEST_F(GpuProduct, TilesOfTensorCores) { tiles_of_tensor_cores(); }
TEST_F(GpuProduct, TilesOfTensorCoresWithoutWarpgroups) {
  const Scoped<std::string> off(knobs().cuda_warpgroups, "off");
  tiles_of_tensor_cores();
}

TEST_F(GpuProduct, InfinityAndNan) {
  for (std::int64_t m : {1, 4, 20}) {
    Strided a(DType::Float16, {m, 40}), b(DType::Float16, {12, 40});
    for (std::int64_t i = 0; i < a.numel(); ++i) a.set(i, 1);
    for (std::int64_t i = 0; i < b.numel(); ++i) b.set(i, i >= 80 && i < 120 ? 60000 : 1);
    b.set(7, INFINITY), b.set(45, NAN);
    expect_product(run_node(OpId::linear, {ValueId{}, ValueId{}, {}}, {a, b}, Known::All), DType::Float16,
                   "special values");
  }
}

}  // namespace
}  // namespace reprise::kernels::testing
