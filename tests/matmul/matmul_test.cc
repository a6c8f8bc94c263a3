#include "base/knobs.h"
#include "launch_run.h"

namespace reprise::kernels::testing {
namespace {

using graph::OpId;
using graph::ValueId;

/// The sum of k products in `t`'s accumulator: error at most about k units of the sum of magnitudes (far less in
/// practice), then one rounding to `t`. Smallest Float16 numbers are 6e-8 apart.
void expect_product(Strided& a, Strided& b, Strided& c, bool transposed, std::int64_t a_first, std::int64_t b_first,
                    std::int64_t c_first, std::int64_t m, std::int64_t n, std::int64_t k) {
  double unit = a.dtype == DType::Float64 ? 1.2e-16 : 6e-8;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        double p = a.get(a_first + i * k + l) * b.get(b_first + (transposed ? j * k + l : l * n + j));
        sum += p, size += std::abs(p);
      }
      double got = c.get(c_first + i * n + j);
      double tolerance = size * unit * (2 + std::sqrt(static_cast<double>(k)) * 4) +
                         std::abs(sum) * rounding(c.dtype) * 1.01 + 4e-8 * (c.dtype == DType::Float16);
      ASSERT_LE(std::abs(got - sum), tolerance) << dtype_name(c.dtype) << " " << m << "x" << k << "x" << n << " at "
                                                << i << "," << j << ": " << got << " for " << sum;
    }
}

const std::vector<DType> kFloats{DType::Float32, DType::Float64, DType::Float16, DType::BFloat16};

std::vector<std::int64_t> matrix_strides(std::mt19937& rng, std::int64_t rows, std::int64_t cols) {
  switch (rng() % 5) {
    case 0: return {1, std::max<std::int64_t>(1, rows)};                  // transposed
    case 1: return {cols + 3 + static_cast<std::int64_t>(rng() % 9), 1};  // sliced
    case 2: return {2 * cols + 5, 2};                                     // every second column
    default: return {};
  }
}

void random_products(DType t, int count, unsigned seed, std::int64_t largest) {
  std::mt19937 rng(seed);
  for (int i = 0; i < count; ++i) {
    auto size = [&] { return static_cast<std::int64_t>(rng() % 4 == 0 ? rng() % 5 : rng() % (largest + 1)); };
    std::int64_t m = size(), n = size(), k = size();
    bool transposed = rng() % 2;
    std::int64_t b_rows = transposed ? n : k, b_cols = transposed ? k : n;
    Strided a(t, {m, k}, matrix_strides(rng, m, k)), b(t, {b_rows, b_cols}, matrix_strides(rng, b_rows, b_cols)),
        c(t, {m, n}, matrix_strides(rng, m, n));
    a.fill(rng), b.fill(rng);
    KernelFault f = run_node(transposed ? OpId::linear : OpId::mm,
                             transposed ? std::vector<graph::NodeArg>{ValueId{}, ValueId{}, {}}
                                        : std::vector<graph::NodeArg>{ValueId{}, ValueId{}},
                             {&a, &b, &c});
    ASSERT_FALSE(f.failed) << f.message;
    expect_product(a, b, c, transposed, 0, 0, 0, m, n, k);
    c.expect_sentinels();
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Matmul, RandomSizesAndStrides) {
  for (DType t : kFloats) random_products(t, 120, 1u + static_cast<unsigned>(t), 130);
}

TEST(Matmul, NarrowVectors) {
  for (int bits : {128, 256})
    for (DType t : kFloats) {
      Scoped<std::int64_t> width(knobs().vector_bits, bits);
      random_products(t, 25, 77u + static_cast<unsigned>(t), 70);
    }
}

TEST(Matmul, DeepAndOdd) {
  std::mt19937 rng(5);
  for (DType t : kFloats)
    for (auto [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
             {130, 97, 1601}, {9, 211, 769}, {1, 300, 2500}, {3, 17, 4099}, {257, 1, 900}, {140, 3, 65}}) {
      for (bool transposed : {false, true}) {
        Strided a(t, {m, k}), b(t, transposed ? std::vector{n, k} : std::vector{k, n}), c(t, {m, n});
        a.fill(rng), b.fill(rng);
        run_node(transposed ? OpId::linear : OpId::mm,
                 transposed ? std::vector<graph::NodeArg>{ValueId{}, ValueId{}, {}}
                            : std::vector<graph::NodeArg>{ValueId{}, ValueId{}},
                 {&a, &b, &c});
        expect_product(a, b, c, transposed, 0, 0, 0, m, n, k);
        c.expect_sentinels();
      }
    }
}

TEST(Matmul, Batches) {
  std::mt19937 rng(6);
  for (DType t : kFloats)
    for (auto [batch, m, n, k] : std::vector<std::array<std::int64_t, 4>>{
             {3, 5, 7, 9}, {0, 4, 4, 4}, {7, 1, 33, 20}, {2, 60, 50, 40}, {5, 31, 1, 64}}) {
      Strided a(t, {batch, m, k}),
          b(t, {batch, k, n},
            rng() % 2 ? std::vector<std::int64_t>{n * k, 1, std::max<std::int64_t>(1, k)}
                      : std::vector<std::int64_t>{}),
          c(t, {batch, m, n});
      a.fill(rng), b.fill(rng);
      run_node(OpId::bmm, {ValueId{}, ValueId{}}, {&a, &b, &c});
      for (std::int64_t i = 0; i < batch; ++i) expect_product(a, b, c, false, i * m * k, i * k * n, i * m * n, m, n, k);
      c.expect_sentinels();
    }
}

/// One A or one B for all, matrices that stand in any way, columns that fill no vector, k in several blocks; one thread
/// and several.
TEST(Matmul, BatchesAtOnce) {
  std::mt19937 rng(16);
  const int before = device::num_threads();
  for (int threads : {1, 3})
    for (DType t : kFloats)
      for (auto [batch, m, n, k] : std::vector<std::array<std::int64_t, 4>>{
               {9, 16, 16, 16}, {4, 33, 70, 24}, {3, 20, 31, 1000}, {2, 210, 49, 40}, {3, 8, 64, 770}}) {
        device::set_num_threads(threads);
        std::vector<std::int64_t> a_strides{m * k, k, 1}, b_strides{n * k, n, 1}, c_strides{m * n, n, 1};
        if (rng() % 3 == 0) a_strides = {m * k, 1, m};
        if (rng() % 3 == 0) b_strides = {n * k, 1, k};
        if (rng() % 3 == 0) b_strides = {k * (n + 5), n + 5, 1};
        if (rng() % 3 == 0) c_strides = {n + 2, batch * (n + 2), 1};  // rows of all images next to each other
        if (rng() % 3 == 0) a_strides[0] = 0;
        if (rng() % 3 == 0) b_strides[0] = 0;
        Strided a(t, {batch, m, k}, a_strides), b(t, {batch, k, n}, b_strides), c(t, {batch, m, n}, c_strides);
        a.fill(rng), b.fill(rng);
        run_node(OpId::bmm, {ValueId{}, ValueId{}}, {&a, &b, &c});
        for (std::int64_t i = 0; i < batch; ++i)
          expect_product(a, b, c, false, i * m * k, i * k * n, i * m * n, m, n, k);
        c.expect_sentinels();
      }
  device::set_num_threads(before);
}

/// A row does not depend on the rows around it, whichever way a blocked product goes: rows few or many, of one matrix
/// or of a batch.
TEST(Matmul, ARowIsTheSameAmongOthers) {
  std::mt19937 rng(17);
  for (DType t : kFloats)
    for (auto [n, k] : std::vector<std::array<std::int64_t, 2>>{{65, 64}, {130, 800}}) {
      Strided row(t, {k}), b(t, {k, n}), bs(t, {2, k, n}, {0, n, 1});
      b.fill(rng);
      row.fill(rng);
      bs.store = b.store;
      std::vector<double> first;
      for (std::int64_t m : {5, 8, 200, 700}) {
        Strided a(t, {m, k}, {0, 1}), c(t, {m, n}), as(t, {2, m, k}, {0, 0, 1}), cs(t, {2, m, n});
        a.store = as.store = row.store;
        run_node(OpId::mm, {ValueId{}, ValueId{}}, {&a, &b, &c});
        run_node(OpId::bmm, {ValueId{}, ValueId{}}, {&as, &bs, &cs});
        if (first.empty())
          for (std::int64_t j = 0; j < n; ++j) first.push_back(c.get(j));
        for (std::int64_t i = 0; i < m * n; ++i)
          ASSERT_EQ(c.get(i), first[static_cast<std::size_t>(i % n)])
              << dtype_name(t) << " " << m << "x" << k << "x" << n << " at " << i;
        for (std::int64_t i = 0; i < 2 * m * n; ++i)
          ASSERT_EQ(cs.get(i), first[static_cast<std::size_t>(i % n)])
              << dtype_name(t) << " 2x" << m << "x" << k << "x" << n << " at " << i;
      }
    }
}

TEST(Matmul, LinearOfHigherRanksAndExpandedOperands) {
  std::mt19937 rng(7);
  for (DType t : kFloats) {
    Strided w(t, {33, 20});
    w.fill(rng);
    // [2, 3, 5, 20] as it comes out of a transposition: no single stride reaches its rows.
    Strided x(t, {2, 3, 5, 20}, {300, 20, 60, 1}), y(t, {2, 3, 5, 33});
    x.fill(rng);
    run_node(OpId::linear, {ValueId{}, ValueId{}, {}}, {&x, &w, &y});
    expect_product(x, w, y, true, 0, 0, 0, 30, 33, 20);
    Strided same(t, {40, 20}, {0, 1}), out(t, {40, 33}, {50, 1});  // one row, 40 times
    same.fill(rng);
    run_node(OpId::linear, {ValueId{}, ValueId{}, {}}, {&same, &w, &out});
    expect_product(same, w, out, true, 0, 0, 0, 40, 33, 20);
    out.expect_sentinels();
    Strided vector(t, {20}), one(t, {33});
    vector.fill(rng);
    run_node(OpId::linear, {ValueId{}, ValueId{}, {}}, {&vector, &w, &one});
    expect_product(vector, w, one, true, 0, 0, 0, 1, 33, 20);
  }
}

/// Rows of weights too long to be taken in groups (jit/cpu/micro/gemv.cc), and just short enough; dense and sliced;
/// every remainder of a group of them. Equal rows of x give equal rows of y, wherever they stand.
TEST(Matmul, FewRowsTimesLongOnes) {
  std::mt19937 rng(9);
  for (int bits : {0, 256, 128}) {
    Scoped<std::int64_t> width(knobs().vector_bits, bits);
    for (DType t : kFloats) {
      const std::int64_t limit = 4096 / item_size(t);
      for (std::int64_t k : {limit - 1, limit, limit + 37, 5 * limit + 3})
        for (std::int64_t n : {1, 7, 8, 21}) {
          std::int64_t m = 1 + static_cast<std::int64_t>(rng() % 8);
          Strided x(t, {m, k}, rng() % 2 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{}),
              w(t, {n, k}, rng() % 2 ? std::vector<std::int64_t>{k + 5, 1} : std::vector<std::int64_t>{}), y(t, {m, n});
          x.fill(rng), w.fill(rng);
          run_node(OpId::linear, {ValueId{}, ValueId{}, {}}, {&x, &w, &y});
          expect_product(x, w, y, true, 0, 0, 0, m, n, k);
          y.expect_sentinels();
          for (std::int64_t i = n; i < m * n && x.strides[0] == 0; ++i)
            ASSERT_EQ(y.get(i), y.get(i % n)) << m << "x" << k << "x" << n << " row " << i / n;
        }
    }
  }
}

TEST(Matmul, EqualBitsForAnyNumberOfThreads) {
  std::mt19937 rng(8);
  int before = device::num_threads();
  for (DType t : kFloats)
    for (auto [m, n, k] :
         std::vector<std::array<std::int64_t, 3>>{{300, 500, 900}, {1, 3000, 800}, {4, 2000, 1500}, {700, 60, 333}})
      for (bool transposed : {false, true}) {
        Strided a(t, {m, k}), b(t, transposed ? std::vector{n, k} : std::vector{k, n}), one(t, {m, n}), many(t, {m, n});
        a.fill(rng), b.fill(rng);
        std::vector<graph::NodeArg> args{ValueId{}, ValueId{}};
        if (transposed) args.push_back({});
        device::set_num_threads(1);
        run_node(transposed ? OpId::linear : OpId::mm, args, {&a, &b, &one});
        device::set_num_threads(8);
        run_node(transposed ? OpId::linear : OpId::mm, args, {&a, &b, &many});
        EXPECT_TRUE(*one.store == *many.store) << dtype_name(t) << " " << m << "x" << k << "x" << n;
      }
  device::set_num_threads(before);
}

TEST(Matmul, InfinityAndNan) {
  Strided a(DType::Float16, {1, 40}), b(DType::Float16, {3, 40}), c(DType::Float16, {1, 3});
  for (int i = 0; i < 40; ++i) a.set(i, 1);
  for (int i = 0; i < 120; ++i) b.set(i, 1);
  b.set(7, INFINITY), b.set(45, NAN);
  run_node(OpId::linear, {ValueId{}, ValueId{}, {}}, {&a, &b, &c});
  EXPECT_EQ(c.get(0), INFINITY);
  EXPECT_TRUE(std::isnan(c.get(1)));
  EXPECT_EQ(c.get(2), 40);
  for (int i = 80; i < 120; ++i) b.set(i, 60000);  // the sum is beyond Float16
  run_node(OpId::linear, {ValueId{}, ValueId{}, {}}, {&a, &b, &c});
  EXPECT_EQ(c.get(2), INFINITY);
}

}  // namespace
}  // namespace reprise::kernels::testing
