// Products of integers run on the micro-kernels, and wrap.
#include "base/knobs.h"
#include "kernels/reference/reference.h"
#include "launch_run.h"

namespace reprise::kernels::testing {
namespace {

using graph::OpId;
using graph::ValueId;

std::int64_t integer(Strided& s, std::int64_t index) {
  const char* p = s.data() + s.offset(index) * item_size(s.dtype);
  switch (s.dtype) {
    case DType::Int64: {
      std::int64_t x;
      std::memcpy(&x, p, 8);
      return x;
    }
    default: return static_cast<std::int64_t>(s.get(index));
  }
}
/// Any bits.
void fill(Strided& s, std::mt19937& rng) {
  for (std::int64_t i = 0; i < s.numel(); ++i) {
    const std::uint64_t bits = rng() | std::uint64_t{rng()} << 32;
    std::memcpy(s.data() + s.offset(i) * item_size(s.dtype), &bits, static_cast<std::size_t>(item_size(s.dtype)));
  }
}
std::int64_t wrapped(std::uint64_t x, DType t) {
  switch (t) {
    case DType::Int8: return static_cast<std::int8_t>(x);
    case DType::UInt8: return static_cast<std::uint8_t>(x);
    case DType::Int32: return static_cast<std::int32_t>(x);
    default: return static_cast<std::int64_t>(x);
  }
}

std::vector<std::int64_t> strides(std::mt19937& rng, std::int64_t rows, std::int64_t columns) {
  switch (rng() % 4) {
    case 0: return {1, std::max<std::int64_t>(1, rows)};
    case 1: return {columns + 3, 1};
    case 2: return {2 * columns + 5, 2};
    default: return {};
  }
}

TEST(IntegerProducts, AreExactWhateverTheSizesAndStrides) {
  std::mt19937 rng(31);
  for (std::int64_t bits : {0, 256, 128}) {
    Scoped<std::int64_t> width(knobs().vector_bits, bits);
    for (DType t : {DType::Int8, DType::UInt8, DType::Int32, DType::Int64})
      for (int i = 0; i < (bits ? 12 : 40); ++i) {
        auto size = [&] { return static_cast<std::int64_t>(rng() % 4 == 0 ? rng() % 6 : rng() % 70); };
        const std::int64_t m = size(), n = size(), k = i % 8 == 0 ? 800 : size();
        const bool linear = rng() % 2;
        const std::int64_t rows = linear ? n : k, columns = linear ? k : n;
        Strided a(t, {m, k}, strides(rng, m, k)), b(t, {rows, columns}, strides(rng, rows, columns)),
            c(t, {m, n}, strides(rng, m, n));
        fill(a, rng), fill(b, rng);
        std::vector<graph::NodeArg> args{ValueId{}, ValueId{}};
        if (linear) args.push_back({});
        const KernelFault f = run_node(linear ? OpId::linear : OpId::mm, args, {&a, &b, &c});
        ASSERT_FALSE(f.failed) << f.message;
        c.expect_sentinels();
        for (std::int64_t r = 0; r < m; ++r)
          for (std::int64_t j = 0; j < n; ++j) {
            std::uint64_t sum = 0;
            for (std::int64_t l = 0; l < k; ++l)
              sum += static_cast<std::uint64_t>(integer(a, r * k + l)) *
                     static_cast<std::uint64_t>(integer(b, linear ? j * k + l : l * n + j));
            ASSERT_EQ(integer(c, r * n + j), wrapped(sum, t)) << dtype_name(t) << " " << m << "x" << k << "x" << n
                                                              << (linear ? " linear" : "") << " at " << r << "," << j;
          }
      }
  }
}

TEST(IntegerProducts, HaveNoReferenceKernel) {
  std::mt19937 rng(32);
  for (DType t : {DType::Int8, DType::UInt8, DType::Int32, DType::Int64}) {
    Strided a(t, {40, 40}), b(t, {40, 40}), c(t, {40, 40});
    graph::Graph g;
    g.env = std::make_shared<guards::ShapeEnv>();
    const ValueId x = g.add_input(a.meta(), "x"), y = g.add_input(b.meta(), "y");
    g.add(OpId::mm, {x, y});
    const NativeLaunch launch = matmul_launch(g, g.nodes.back(), {a.operand(0), b.operand(1), c.operand(2)});
    EXPECT_NE(launch.fn, reference_kernels().at(OpId::mm).fn);
    EXPECT_FALSE(launch.micro.empty());
  }
}

}  // namespace
}  // namespace reprise::kernels::testing
