#include <cmath>

#include "node_run.h"

namespace reprise::kernels::testing {
namespace {

using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

const std::vector<DType> kTypes{DType::Float32, DType::BFloat16, DType::Float16, DType::Float64, DType::Int64,
                                DType::Int32,   DType::Int8,     DType::UInt8,   DType::Bool};

class GpuRows : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device_here()) GTEST_SKIP() << "no device here";
  }
  /// Many equal values; floats have NaN, infinities and both zeros among them.
  Strided values(DType t, const std::vector<std::int64_t>& sizes) {
    Strided x = any_strides(rng, t, sizes);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      unsigned kind = rng() % 40;
      double v = static_cast<double>(rng() % 50) - (t == DType::UInt8 ? 0 : 25);
      if (is_floating(t) && kind == 0 && special) v = NAN;
      if (is_floating(t) && kind == 1 && special) v = rng() % 2 ? INFINITY : -INFINITY;
      if (is_floating(t) && kind == 2) v = -0.0;
      x.set(i, t == DType::Bool ? rng() % 2 : v);
    }
    return x;
  }
  NodeResults run(OpId op, std::vector<NodeArg> args, const Strided& x) {
    args.insert(args.begin(), ValueId{});
    return run_node(op, args, {x}, rng() % 2 ? Known::All : Known::Ones,
                    [&](DType t, std::vector<std::int64_t> s) { return any_strides(rng, t, s); });
  }
  std::mt19937 rng{7};
  bool special = true;
};

std::string text(DType t, const std::vector<std::int64_t>& sizes) {
  std::string s(dtype_name(t));
  for (std::int64_t n : sizes) s += " " + std::to_string(n);
  return s;
}

TEST_F(GpuRows, ArgReductions) {
  using Shapes = std::vector<std::vector<std::int64_t>>;
  const Shapes shapes{{7}, {3, 40}, {2, 5, 3}, {2, 1500}, {1, 1}, {0, 4}}, few{{40}, {1100}};
  for (DType t : kTypes) {
    if (t == DType::Bool) continue;
    for (const auto& sizes : t == DType::Float32 || t == DType::Int64 ? shapes : few)
      for (OpId op : {OpId::argmax, OpId::argmin}) {
        for (std::int64_t dim = 0; dim < static_cast<std::int64_t>(sizes.size()); ++dim) {
          if (sizes[static_cast<std::size_t>(dim)] == 0) continue;
          NodeResults one = run(op, {NodeArg(Int(dim)), rng() % 2 == 0}, values(t, sizes));
          expect_close(one, 0, 0, text(t, sizes));
        }
        if (sizes[0] == 0) continue;
        NodeResults all = run(op, {NodeArg(), false}, values(t, sizes));
        expect_close(all, 0, 0, text(t, sizes) + " all");
        if (HasFatalFailure()) return;
      }
  }
}

// Few long rows are searched in chunks. Most values are equal, so that the first of equals is in another chunk.
TEST_F(GpuRows, ArgReductionsOfLongRows) {
  for (DType t : {DType::Float32, DType::BFloat16, DType::Float64, DType::Int64, DType::Int8})
    for (std::int64_t length : {8192, 10001, 30000})
      for (OpId op : {OpId::argmax, OpId::argmin})
        for (int nan = 0; nan <= (is_floating(t) ? 1 : 0); ++nan) {
          Strided x = any_strides(rng, t, {3, length});
          for (std::int64_t i = 0; i < x.numel(); ++i) x.set(i, static_cast<double>(i % 3));
          for (std::int64_t row = 0; row < 3; ++row)
            for (int k = 0; k < 3; ++k) {
              const std::int64_t at = row * length + static_cast<std::int64_t>(rng() % static_cast<unsigned>(length));
              x.set(at, nan && k ? NAN : op == OpId::argmax ? 5 : -5);
            }
          NodeResults r = run(op, {NodeArg(Int(1)), false}, x);
          EXPECT_EQ(r.launched.size(), 2u);
          expect_close(r, 0, 0, text(t, {3, length}));
          if (nan) continue;
          NodeResults all = run(op, {NodeArg(), false}, x);
          expect_close(all, 0, 0, text(t, {3, length}) + " all");
          if (HasFatalFailure()) return;
        }
}

TEST_F(GpuRows, Cumsum) {
  using Shapes = std::vector<std::vector<std::int64_t>>;
  const Shapes shapes{{9}, {2, 1030}, {3, 4, 5}, {0, 3}, {3, 0}, {}}, few{{9}, {3, 50}};
  for (DType t : kTypes)
    for (const auto& sizes : t == DType::Float32 || t == DType::Bool ? shapes : few)
      for (std::int64_t dim = 0; dim < std::max<std::int64_t>(1, static_cast<std::int64_t>(sizes.size())); ++dim) {
        special = sizes.size() == 1;
        NodeResults r = run(OpId::cumsum, {NodeArg(Int(dim)), NodeArg()}, values(t, sizes));
        expect_close(r,
                     t == DType::BFloat16  ? 4e-3
                     : t == DType::Float16 ? 5e-4
                     : is_floating(t)      ? 1e-7
                                           : 0,
                     1e-9, text(t, sizes));
        if (HasFatalFailure()) return;
      }
}

TEST_F(GpuRows, SortAndTopk) {
  using Shapes = std::vector<std::vector<std::int64_t>>;
  const Shapes shapes{{9}, {2, 33}, {3, 4, 5}, {1300}, {2, 0}, {}, {1}}, few{{2, 33}, {1100}};
  for (DType t : kTypes)
    for (const auto& sizes : t == DType::Float32 || t == DType::Float64 ? shapes : few)
      for (bool descending : {false, true}) {
        std::int64_t rank = static_cast<std::int64_t>(sizes.size()),
                     dim = rank > 1 ? static_cast<std::int64_t>(rng() % rank) : 0;
        std::int64_t n = rank ? sizes[static_cast<std::size_t>(dim)] : 1;
        NodeResults sorted = run(OpId::sort, {NodeArg(Int(dim)), descending}, values(t, sizes));
        expect_close(sorted, 0, 0, text(t, sizes) + " sort");
        for (std::int64_t k : {std::int64_t{rank ? 0 : 1}, std::min<std::int64_t>(n, 5)}) {
          NodeResults best = run(OpId::topk, {NodeArg(Int(k)), NodeArg(Int(dim)), descending, true}, values(t, sizes));
          expect_close(best, 0, 0, text(t, sizes) + " topk " + std::to_string(k));
        }
        if (HasFatalFailure()) return;
      }
}

TEST_F(GpuRows, TopkOfLongRows) {
  for (DType t : {DType::Float32, DType::BFloat16, DType::Int64})
    for (std::int64_t k : {1, 50, 1100}) {
      NodeResults r = run(OpId::topk, {NodeArg(Int(k)), NodeArg(Int(-1)), true, true}, values(t, {2, 2500}));
      expect_close(r, 0, 0, text(t, {2, 2500}) + " topk " + std::to_string(k));
    }
  Strided same(DType::Float32, {1500});
  for (std::int64_t i = 0; i < 1500; ++i) same.set(i, 3);
  NodeResults r = run(OpId::topk, {NodeArg(Int(7)), NodeArg(Int(0)), true, true}, same);
  expect_close(r, 0, 0, "equal elements");
}

// Few long rows are ordered in chunks, of which the first are. Most values are equal, so that equals of one chunk come
// before those of the next.
TEST_F(GpuRows, TopkOfVeryLongRows) {
  for (DType t : {DType::Float32, DType::BFloat16, DType::Float64})
    for (const auto& [length, k] : {std::pair<std::int64_t, std::int64_t>{8192, 1}, {10001, 50}, {12000, 700}})
      for (const bool most : {true, false}) {
        NodeResults r = run(OpId::topk, {NodeArg(Int(k)), NodeArg(Int(-1)), most, true}, values(t, {3, length}));
        EXPECT_EQ(r.launched.size(), 2u);
        expect_close(r, 0, 0, text(t, {3, length}) + " topk " + std::to_string(k));
        if (HasFatalFailure()) return;
      }
  NodeResults many =
      run(OpId::topk, {NodeArg(Int(2)), NodeArg(Int(-1)), true, true}, values(DType::Float32, {65, 8192}));
  EXPECT_EQ(many.launched.size(), 1u) << "rows enough for all blocks";
  expect_close(many, 0, 0, "many rows");
}

TEST_F(GpuRows, CumsumOfVeryLongRows) {
  special = false;
  for (DType t : {DType::Float32, DType::BFloat16, DType::Int64, DType::Bool})
    for (std::int64_t length : {16384, 20001}) {
      NodeResults r = run(OpId::cumsum, {NodeArg(Int(1)), NodeArg()}, values(t, {3, length}));
      EXPECT_EQ(r.launched.size(), 2u);
      // Of signed numbers, which cancel: as close as the host's sums are to exact ones.
      expect_close(r, t == DType::BFloat16 ? 4e-3 : is_floating(t) ? 1e-6 : 0, 1e-6, text(t, {3, length}));
      if (HasFatalFailure()) return;
    }
}

// The categories that the host draws: the sums differ in their last bits only.
TEST_F(GpuRows, DrawsByWeight) {
  for (DType t : {DType::Float32, DType::BFloat16, DType::Float16, DType::Float64})
    for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{1}, {50}, {3, 40}, {2, 1500}})
      for (const auto& [samples, replacement] :
           {std::pair<std::int64_t, bool>{1, false}, {1, true}, {400, true}, {7, false}}) {
        if (!replacement && samples > sizes.back()) continue;
        Strided w = any_strides(rng, t, sizes);
        for (std::int64_t i = 0; i < w.numel(); ++i)
          w.set(i, rng() % 3 == 0 && i != 0 && w.numel() > 20 ? 0 : static_cast<double>(rng() % 100) / 16);
        for (std::int64_t row = 0; row < w.numel(); row += sizes.back()) w.set(row, 1);
        NodeResults r =
            run(OpId::multinomial,
                {NodeArg(Int(samples)), NodeArg(replacement), NodeArg(Int(5 + samples)), NodeArg(Int(77))}, w);
        expect_close(r, 0, 0, text(t, sizes) + ", samples " + std::to_string(samples));
        if (HasFatalFailure()) return;
        for (std::int64_t i = 0; i < r.device[0].numel(); ++i) {
          const auto category = static_cast<std::int64_t>(r.device[0].get(i));
          EXPECT_GT(w.get(i / samples * sizes.back() + category), 0) << text(t, sizes);
        }
      }
}

TEST_F(GpuRows, DrawsOfNoRows) {
  NodeResults r = run(OpId::multinomial, {NodeArg(Int(2)), NodeArg(true), NodeArg(Int(1)), NodeArg(Int(0))},
                      values(DType::Float32, {0, 4}));
  expect_close(r, 0, 0, "no rows");
}

}  // namespace
}  // namespace reprise::kernels::testing
