#include <cmath>

#include "base/knobs.h"
#include "node_run.h"

namespace reprise::kernels::testing {
namespace {

using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

struct Case {
  std::vector<std::int64_t> batch;
  std::int64_t queries, keys, depth, width;
  bool causal = false;
  int mask = 0;                ///< 1: bool, 2: added
  std::int64_t key_heads = 0;  ///< > 0: enable_gqa
};

double unit(DType t) { return t == DType::Float32 ? 4e-6 : t == DType::Float16 ? 1.1e-3 : 8e-3; }

NodeResults attend(const Case& c, DType t, std::mt19937& rng, Known known) {
  auto sizes = [&](std::int64_t rows, std::int64_t columns, bool key) {
    std::vector<std::int64_t> s = c.batch;
    if (key && c.key_heads) s.back() = c.key_heads;
    s.push_back(rows), s.push_back(columns);
    return s;
  };
  std::vector<Strided> inputs{any_strides(rng, t, sizes(c.queries, c.depth, false)),
                              any_strides(rng, t, sizes(c.keys, c.depth, true)),
                              any_strides(rng, t, sizes(c.keys, c.width, true))};
  for (Strided& x : inputs) x.fill(rng, -2, 2);
  std::vector<NodeArg> args{ValueId{}, ValueId{}, ValueId{}, {}, Scalar(0.0), c.causal, {}, c.key_heads != 0};
  if (c.mask) {
    args[3] = ValueId{};
    std::vector<std::int64_t> s{c.queries, c.keys};
    if (rng() % 2) s.insert(s.begin(), {c.batch.empty() ? 1 : c.batch[0], 1});
    if (c.batch.size() < 2 && s.size() > 2) s.erase(s.begin() + 1);
    if (c.batch.empty() && s.size() > 2) s.erase(s.begin());
    inputs.push_back(Strided(c.mask == 1 ? DType::Bool : t, s));
    Strided& m = inputs.back();
    if (c.mask == 1)
      for (std::int64_t i = 0; i < m.numel(); ++i)
        m.set(i, i / c.keys % c.queries != 1 && rng() % 3);  // row 1 sees nothing
    else m.fill(rng);
  }
  if (rng() % 2) args[6] = Scalar(0.3);
  return run_node(OpId::scaled_dot_product_attention, args, inputs, known,
                  [&](DType dtype, std::vector<std::int64_t> s) { return any_strides(rng, dtype, s); });
}

class GpuAttention : public ::testing::Test {
  void SetUp() override {
    if (!device_here()) GTEST_SKIP() << "no device here";
  }
};

void run_cases(const std::vector<Case>& cases, unsigned seed) {
  std::mt19937 rng(seed);
  for (DType t : {DType::Float32, DType::BFloat16, DType::Float16})
    for (const Case& c : cases)
      for (Known known : {Known::All, Known::OnesAndLast}) {
        NodeResults r = attend(c, t, rng, known);
        expect_close(r, unit(t), 2 * unit(t),
                     std::string(dtype_name(t)) + " " + std::to_string(c.queries) + " queries, " +
                         std::to_string(c.keys) + " keys, depth " + std::to_string(c.depth) + ", width " +
                         std::to_string(c.width) + (c.causal ? ", causal" : "") + ", mask " + std::to_string(c.mask));
        if (::testing::Test::HasFatalFailure()) return;
      }
}

TEST_F(GpuAttention, ManyQueries) {
  run_cases({{{2, 2}, 40, 50, 16, 16},
             {{1, 2}, 33, 70, 8, 20, true},
             {{3}, 20, 33, 128, 100},
             {{}, 70, 40, 64, 64, true},
             {{1, 2}, 20, 20, 130, 256},
             {{2, 1}, 30, 17, 7, 5, false, 1},
             {{2, 3}, 20, 40, 32, 32, false, 2},
             {{2}, 130, 200, 72, 40},
             {{1, 2}, 100, 260, 128, 128, true},
             {{1, 3}, 65, 64, 96, 120, false, 2},
             {{2, 1}, 64, 129, 24, 128, false, 1}},
            1);
}
TEST_F(GpuAttention, ManyQueriesWithoutWarpgroups) {
  const Scoped<std::string> off(knobs().cuda_warpgroups, "off");
  run_cases({{{1, 2}, 33, 70, 8, 20, true},
             {{2, 3}, 20, 40, 32, 32, false, 2},
             {{2}, 130, 200, 72, 40},
             {{1, 2}, 100, 260, 128, 128, true}},
            1);
}
TEST_F(GpuAttention, FewQueries) {
  run_cases({{{2, 3}, 1, 300, 64, 64},
             {{1, 2}, 3, 700, 16, 24, true},
             {{2}, 2, 65, 128, 128, false, 1},
             {{}, 5, 40, 7, 5, false, 2},
             {{1, 1}, 4, 10, 256, 130}},
            2);
}
TEST_F(GpuAttention, GroupedHeads) {
  run_cases({{{2, 4}, 1, 200, 32, 32, false, 0, 2},
             {{1, 6}, 2, 100, 16, 16, true, 0, 2},
             {{1, 4}, 40, 40, 16, 16, true, 0, 1},
             {{1, 6}, 70, 150, 64, 64, true, 0, 3},
             {{1, 8}, 1, 250, 64, 64, false, 0, 2},
             {{1, 4}, 1, 1300, 128, 64, true, 0, 1},
             {{2, 4}, 1, 90, 32, 32, false, 1, 4}},
            3);
}
TEST_F(GpuAttention, NothingToSee) {
  run_cases({{{1, 2}, 3, 0, 16, 16}, {{1, 2}, 30, 0, 16, 16}, {{0, 2}, 3, 5, 16, 16}, {{1, 1}, 0, 5, 16, 16}}, 4);
}

TEST_F(GpuAttention, InfinityAndNan) {
  std::mt19937 rng(5);
  for (auto [t, queries] : {std::pair<DType, std::int64_t>{DType::Float32, 1},
                            {DType::Float32, 40},
                            {DType::BFloat16, 40},
                            {DType::Float16, 40}})
    for (double special : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
      Strided q(t, {queries, 16}), k(t, {50, 16}), v(t, {50, 16});
      q.fill(rng), k.fill(rng), v.fill(rng);
      v.set(49 * 16 + 3, special);
      k.set(5, special);
      NodeResults r =
          run_node(OpId::scaled_dot_product_attention,
                   {ValueId{}, ValueId{}, ValueId{}, {}, Scalar(0.0), false, {}, false}, {q, k, v}, Known::All);
      expect_close(r, unit(t), unit(t), "special values");
    }
}

}  // namespace
}  // namespace reprise::kernels::testing
