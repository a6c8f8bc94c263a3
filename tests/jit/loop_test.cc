#include "base/knobs.h"
#include "kernels/loop/analysis.h"
#include "support.h"

namespace reprise::testing {
namespace {

using kernels::Access;
using kernels::BodyBuilder;
using kernels::LoopKernel;
using kernels::ReduceOp;
using kernels::ScalarOp;

Ints row_major(const Ints& extents, int dims) {
  Ints s(extents.size(), 0);
  Int n = 1;
  for (int d = dims; d-- > 0;) s[static_cast<std::size_t>(d)] = n, n *= extents[static_cast<std::size_t>(d)];
  return s;
}

LoopKernel kernel(Ints extents, int kept) {
  LoopKernel k;
  k.extents = std::move(extents), k.n_kept = kept;
  return k;
}

TEST(Loop, AddOfTwoVectorsAtEverySize) {
  for (std::int64_t n : {0, 1, 2, 15, 16, 17, 63, 64, 65, 100, 4095, 4096, 4097, 10000}) {
    LoopKernel k = kernel({n}, 1);
    BodyBuilder b(k);
    auto x = b.buffer(DType::Float32), y = b.buffer(DType::Float32), z = b.buffer(DType::Float32, true);
    b.store({z, {1}, 0, {}}, b.op(ScalarOp::Add, b.load({x, {1}, 0, {}}), b.load({y, {1}, 0, {}})));
    expect_same(k, static_cast<unsigned>(n), {});
  }
}

TEST(Loop, RankZero) {
  LoopKernel k = kernel({}, 0);
  BodyBuilder b(k);
  auto x = b.buffer(DType::Float32), z = b.buffer(DType::Float32, true);
  b.store({z, {}, 0, {}}, b.op(ScalarOp::Mul, b.load({x, {}, 0, {}}), b.constant(2.5, DType::Float32)));
  expect_same(k, 1, {});
}

/// Softmax over the last dim, rms_norm over it, and the same over the first dim (columns).
LoopKernel softmax(std::int64_t kept, std::int64_t reduced, Ints strides, DType t = DType::Float32) {
  LoopKernel k = kernel({kept, reduced}, 1);
  BodyBuilder b(k);
  auto x = b.buffer(t), z = b.buffer(t, true);
  auto v = b.load({x, strides, 0, {}});
  auto e = b.op(ScalarOp::Exp, b.op(ScalarOp::Sub, v, b.reduce(ReduceOp::Max, v)));
  b.store({z, strides, 0, {}}, b.op(ScalarOp::Div, e, b.reduce(ReduceOp::Sum, e)));
  return k;
}
LoopKernel rms_norm(std::int64_t kept, std::int64_t reduced, Ints strides) {
  LoopKernel k = kernel({kept, reduced}, 1);
  BodyBuilder b(k);
  auto x = b.buffer(DType::Float32), w = b.buffer(DType::Float32), z = b.buffer(DType::Float32, true);
  auto v = b.load({x, strides, 0, {}});
  auto sum = b.reduce(ReduceOp::Sum, b.op(ScalarOp::Mul, v, v));
  auto mean = b.op(ScalarOp::Div, sum, b.param(reduced, DType::Float32));
  auto scale = b.op(ScalarOp::Rsqrt, b.op(ScalarOp::Add, mean, b.constant(1e-5, DType::Float32)));
  b.store({z, strides, 0, {}}, b.op(ScalarOp::Mul, b.op(ScalarOp::Mul, v, scale), b.load({w, {0, 1}, 0, {}})));
  return k;
}

TEST(Loop, SoftmaxAndRmsNormByRowAndColumn) {
  for (std::int64_t rows : {1, 3, 17, 40})
    for (std::int64_t cols : {1, 5, 16, 33, 64, 257}) {
      expect_same(softmax(rows, cols, {cols, 1}), 3, {64, 1e-6});
      expect_same(softmax(cols, rows, {1, cols}), 4, {64, 1e-6});
      expect_same(rms_norm(rows, cols, {cols, 1}), 5, {64, 1e-6});
      expect_same(rms_norm(cols, rows, {1, cols}), 6, {64, 1e-6});
    }
  expect_same(softmax(4, 50, {50, 1}, DType::Float16), 3, {2, 0});
  expect_same(softmax(4, 50, {50, 1}, DType::BFloat16), 3, {2, 0});
}

/// What `k` leaves in its buffers, which begin on a page.
std::vector<std::vector<char>> results(const LoopKernel& k, unsigned seed) {
  std::vector<FencedBuffer> buffers;
  std::vector<char*> p;
  std::mt19937 rng(seed);
  for (std::size_t bytes : buffer_bytes(k)) {
    buffers.emplace_back(bytes, false);
    p.push_back(buffers.back().data());
    fill(k.buffers[p.size() - 1].dtype, p.back(), bytes, rng);
  }
  jit::compile(k)->loop()(reinterpret_cast<void* const*>(p.data()), numbers(k).data(), 0,
                          kernels::task_count(k).hint());
  std::vector<std::vector<char>> out;
  for (FencedBuffer& b : buffers) out.emplace_back(b.data(), b.data() + b.size());
  return out;
}

/// Stores past the caches, and a stash beside the result, give the same bits: where every row is aligned, where only
/// some are (then nothing streams), where a row is longer than the room for a stash, and in each dtype.
TEST(Loop, RowsStoredPastTheCachesAreTheSame) {
  EXPECT_NE(jit::llvm_ir(softmax(5, 64, {64, 1})).find("!nontemporal"), std::string::npos);
  for (std::int64_t bits : {0, 256, 128}) {
    Scoped width(knobs().vector_bits, bits);
    for (std::int64_t cols : {16, 64, 100, 160, 1024, 1040, 4096, 5000, 8192})
      for (std::int64_t row : {cols, (cols + 31) / 32 * 32, cols + 64}) {
        for (DType t : {DType::Float32, DType::BFloat16, DType::Float64}) {
          const LoopKernel soft = softmax(5, cols, {row, 1}, t);
          const std::vector<std::vector<char>> usual = results(soft, 8);
          Scoped always(knobs().stream_bytes, 1);
          EXPECT_EQ(results(soft, 8), usual) << cols << " of " << row;
          if (cols > 1100) expect_same(soft, 8, t == DType::BFloat16 ? Tolerance{2, 0} : Tolerance{64, 1e-6});
        }
        const LoopKernel norm = rms_norm(5, cols, {row, 1});
        const std::vector<std::vector<char>> usual = results(norm, 9);
        Scoped always(knobs().stream_bytes, 1);
        EXPECT_EQ(results(norm, 9), usual) << cols << " of " << row;
      }
  }
}

/// [batch, rows, columns] of which one operand stands with its rows contiguous: z = x transposed (+ y by element, w by
/// row, v by column, its index).
LoopKernel transposed(std::int64_t batch, std::int64_t rows, std::int64_t columns, DType t, bool longer) {
  LoopKernel k = kernel({batch, rows, columns}, 3);
  BodyBuilder b(k);
  auto x = b.buffer(t), z = b.buffer(t, true);
  const Ints across = {rows * columns, 1, rows}, along = {rows * columns, columns, 1};
  auto value = b.load({x, across, 0, {}});
  if (longer && t == DType::Float32) {
    auto y = b.buffer(t), w = b.buffer(t), v = b.buffer(t), u = b.buffer(t);
    value = b.op(ScalarOp::Add, value, b.op(ScalarOp::Mul, b.load({y, along, 0, {}}), b.load({w, {0, 1, 0}, 0, {}})));
    value = b.op(ScalarOp::Sub, value, b.op(ScalarOp::Mul, b.load({v, {0, 0, 1}, 0, {}}), b.load({u, across, 0, {}})));
    value = b.op(ScalarOp::Add, value, b.cast(b.op(ScalarOp::Sub, b.index(1), b.index(2)), t));
  }
  b.store({z, along, 0, {}}, value);
  return k;
}

TEST(Loop, TransposedOperandsComeByTiles) {
  EXPECT_EQ(kernels::tiling(transposed(2, 40, 40, DType::Float32, false)).dim, 1);
  EXPECT_EQ(kernels::tiling(softmax(40, 40, {1, 40})).dim, -1);
  for (std::int64_t bits : {0, 256, 128}) {
    Scoped width(knobs().vector_bits, bits);
    for (std::int64_t stream : {0, 1})
      for (DType t : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Float8E4M3FN, DType::Int8,
                      DType::Int32, DType::Int64, DType::Bool})
        for (auto [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 70},
                                     {70, 1},
                                     {3, 100},
                                     {100, 3},
                                     {16, 16},
                                     {32, 64},
                                     {33, 65},
                                     {64, 512},
                                     {130, 530},
                                     {0, 5},
                                     {5, 0}}) {
          Scoped streams(knobs().stream_bytes, stream);
          expect_same(transposed(2, rows, columns, t, false), 5, {});
          if (t == DType::Float32) expect_same(transposed(2, rows, columns, t, true), 6, {2, 1e-6});
        }
  }
}

/// A random kernel: random ranks, extents, strides (0, 1, -1, others), dtypes, reductions, predicates and gathers.
class RandomKernel {
 public:
  explicit RandomKernel(unsigned seed) : rng(seed) {
    const int rank = pick(0, 5), kept = pick(0, rank);
    constexpr std::int64_t sizes[] = {1, 2, 3, 5, 7, 16, 17, 33};
    std::int64_t points = 1;
    Ints extents;
    for (int d = 0; d < rank; ++d) {
      std::int64_t e = pick(0, 60) == 0 ? 0 : sizes[pick(0, 7)];
      if (points * e > 3000) e = 2;
      points *= std::max<std::int64_t>(e, 1);
      extents.push_back(e);
    }
    if (rank > 0 && pick(0, 3) == 0 && points < 200)
      extents[static_cast<std::size_t>(pick(0, rank - 1))] = pick(50, 600);
    k = kernel(extents, kept);
    if (rank - kept >= 2 && pick(0, 1)) k.n_parts = pick(1, rank - kept - 1);
    k.in_line = k.n_parts == 1 && rank == kept + 2 && pick(0, 1);
    BodyBuilder b(k);
    std::vector<std::uint32_t> nodes;
    for (int i = pick(1, 3); i-- > 0;) nodes.push_back(b.load(access(b.buffer(dtype()), false)));
    if (rank > 0 && pick(0, 3) == 0) nodes.push_back(b.index(pick(0, rank - 1)));
    if (pick(0, 3) == 0) nodes.push_back(b.param(pick(-5, 9), DType::Float32));
    if (rank > 0 && pick(0, 2) == 0) nodes.push_back(gathered(b));
    for (int i = pick(1, 5); i-- > 0;) nodes.push_back(combine(b, nodes));
    for (int stages = rank > kept ? pick(0, k.n_parts ? 4 : 2) : 0; stages-- > 0;) {
      constexpr ReduceOp ops[] = {ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min,
                                  ReduceOp::Any, ReduceOp::All, ReduceOp::Sum};
      nodes.push_back(b.reduce(ops[pick(0, 5)],
                               nodes[static_cast<std::size_t>(pick(0, static_cast<int>(nodes.size()) - 1))],
                               k.n_parts > 0 && pick(0, 2) > 0));
      for (int i = pick(0, 2); i-- > 0;) nodes.push_back(combine(b, nodes));
    }
    const kernels::LoopAnalysis info = kernels::analyse(k);
    for (int i = pick(1, k.n_parts ? 3 : 2); i-- > 0;) {
      const std::uint32_t value =
          i == 0 ? nodes.back() : nodes[static_cast<std::size_t>(pick(0, static_cast<int>(nodes.size()) - 1))];
      const int over = info.dims[value] & info.inside_mask  ? rank
                       : info.dims[value] & info.parts_mask ? kept + k.n_parts
                                                            : kept;
      Access a;
      a.buffer = b.buffer(dtype(), true);
      a.strides = row_major(k.extents, over);
      if (!k.in_line) permute(a.strides, over);
      std::uint32_t predicate = ~0u;
      if (pick(0, 3) == 0) {
        std::uint32_t of = nodes[static_cast<std::size_t>(pick(0, static_cast<int>(nodes.size()) - 1))];
        if ((kernels::analyse(k).dims[of] & info.reduced_mask & ~((1u << over) - 1)) == 0)
          predicate = b.cast(of, DType::Bool);
      }
      b.store(a, value, predicate);
    }
  }
  LoopKernel k;
  std::vector<std::pair<std::uint32_t, std::int64_t>>
      index_buffers;  ///< (buffer, extent): values must be in [-extent, extent)

 private:
  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng); }
  DType dtype() { return static_cast<DType>(pick(0, 2) == 0 ? 0 : pick(0, kDTypeCount - 1)); }
  /// Another order of the dims that stays without overlap: row-major over a permutation.
  void permute(Ints& strides, int dims) {
    std::vector<int> order(static_cast<std::size_t>(dims));
    for (int d = 0; d < dims; ++d) order[static_cast<std::size_t>(d)] = d;
    if (pick(0, 1)) std::shuffle(order.begin(), order.end(), rng);
    Int n = pick(0, 5) == 0 ? 2 : 1;
    for (int j = dims; j-- > 0;) {
      const auto d = static_cast<std::size_t>(order[static_cast<std::size_t>(j)]);
      strides[d] = n, n *= std::max<std::int64_t>(1, k.extents[d].hint());
    }
  }
  Access access(std::uint32_t buffer, bool) {
    Access a;
    a.buffer = buffer;
    const int rank = static_cast<int>(k.extents.size());
    a.strides = row_major(k.extents, rank);
    if (!k.in_line) permute(a.strides, rank);
    std::int64_t lowest = 0;
    for (int d = 0; d < rank; ++d) {
      Int& s = a.strides[static_cast<std::size_t>(d)];
      switch (pick(0, 7)) {
        case 0: s = 0; break;
        case 1: s = -s.hint(); break;
        case 2: s = pick(-3, 4); break;
        default: break;
      }
      if (k.in_line && d == rank - 1 && s.hint() != 0) put_in_line(a, lowest);
      lowest += std::min<std::int64_t>(0, s.hint() * (k.extents[static_cast<std::size_t>(d)].hint() - 1));
    }
    a.offset = -lowest + (pick(0, 2) == 0 ? pick(0, 5) : 0);
    return a;
  }
  /// The stride of the dim of parts follows from the last one's.
  void put_in_line(Access& a, std::int64_t& lowest) {
    const auto parts = static_cast<std::size_t>(k.n_kept);
    const std::int64_t extent = k.extents[parts].hint() - 1, before = a.strides[parts].hint();
    a.strides[parts] = a.strides[parts + 1] * k.extents[parts + 1];
    lowest += std::min<std::int64_t>(0, a.strides[parts].hint() * extent) - std::min<std::int64_t>(0, before * extent);
  }
  std::uint32_t gathered(BodyBuilder& b) {
    const DType t = pick(0, 1) ? DType::Int64 : DType::Int32;
    const std::uint32_t of = b.buffer(t);
    const std::int64_t extent = pick(1, 30);
    const std::uint32_t index = b.load(access(of, false));
    index_buffers.push_back({of, extent});
    Access a = access(b.buffer(dtype()), false);
    a.gathers.push_back({index, pick(0, 3), extent});
    return b.load(a);
  }
  std::uint32_t combine(BodyBuilder& b, const std::vector<std::uint32_t>& nodes) {
    auto any = [&] { return nodes[static_cast<std::size_t>(pick(0, static_cast<int>(nodes.size()) - 1))]; };
    const DType t = static_cast<DType>(std::array{0, 0, 1, 4, 6, 7, 5}[static_cast<std::size_t>(pick(0, 6))]);
    auto x = b.cast(any(), t), y = b.cast(any(), t);
    constexpr ScalarOp ops[] = {ScalarOp::Add, ScalarOp::Sub, ScalarOp::Mul, ScalarOp::Max, ScalarOp::Min};
    switch (pick(0, 7)) {
      case 0: return b.op(ScalarOp::Lt, x, y);
      case 1: return b.op(ScalarOp::Where, b.cast(any(), DType::Bool), x, y);
      case 2: return b.op(ScalarOp::Abs, x);
      default: return b.op(ops[pick(0, 4)], x, y);
    }
  }
  std::mt19937 rng;
};

TEST(Loop, RandomKernelsMatchTheInterpreter) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Scoped width(knobs().vector_bits, seed % 4 == 1 ? 256 : seed % 8 == 2 ? 128 : 0);
    RandomKernel r(seed);
    bool sums = false;  // without float sums every bit must agree
    for (const auto& n : r.k.body)
      sums |= n.kind == kernels::BodyNode::Kind::Reduce && n.reduce == ReduceOp::Sum && is_floating(n.dtype);
    expect_same(r.k, seed, sums ? Tolerance{4096, 2e-3} : Tolerance{}, [&](std::vector<char*>& p) {
      std::mt19937 rng(seed);
      const std::vector<std::size_t> bytes = buffer_bytes(r.k);
      // Sums of quarters are exact in any order, so that what is decided by them (a comparison, a cast) is, too.
      for (std::size_t i = 0; sums && i < bytes.size(); ++i)
        for (std::size_t j = 0; r.k.buffers[i].dtype == DType::Float32 && j < bytes[i] / 4; ++j) {
          const float v = static_cast<float>(std::uniform_int_distribution<int>(-12, 12)(rng)) / 4;
          std::memcpy(p[i] + 4 * j, &v, 4);
        }
      for (auto [buffer, extent] : r.index_buffers) {
        const DType t = r.k.buffers[buffer].dtype;
        for (std::size_t j = 0; j < bytes[buffer] / static_cast<std::size_t>(item_size(t)); ++j) {
          const std::int64_t v = std::uniform_int_distribution<std::int64_t>(-extent, extent - 1)(rng);
          std::memcpy(p[buffer] + j * static_cast<std::size_t>(item_size(t)), &v,
                      static_cast<std::size_t>(item_size(t)));
        }
      }
    });
    if (HasFatalFailure()) return;
  }
}

TEST(Loop, LongSumsKeepTheirPrecision) {
  // 0.1 added one after the other in Float32 is 1 % off after a million times.
  const std::int64_t n = 3'000'017;
  std::vector<float> x(static_cast<std::size_t>(n), 0.1f);
  for (bool column : {false, true}) {
    LoopKernel k = column ? kernel({1, n}, 1) : kernel({n}, 0);
    BodyBuilder b(k);
    auto s = b.reduce(ReduceOp::Sum, b.load({b.buffer(DType::Float32), column ? Ints{1, 1} : Ints{1}, 0, {}}));
    b.store({b.buffer(DType::Float32, true), column ? Ints{1, 0} : Ints{0}, 0, {}}, s);
    EXPECT_EQ(kernels::task_count(k).hint(), 1);
    float sum = 0;
    void* buffers[] = {x.data(), &sum};
    jit::compile(k)->loop()(buffers, numbers(k).data(), 0, 1);
    EXPECT_NEAR(sum / (static_cast<double>(0.1f) * static_cast<double>(n)), 1, 2e-6) << (column ? "column" : "row");
  }
}

TEST(Loop, SumsOfInfinitiesAreInfinite) {
  LoopKernel k = kernel({20000}, 0);
  BodyBuilder b(k);
  auto s = b.reduce(ReduceOp::Sum, b.load({b.buffer(DType::Float32), {1}, 0, {}}));
  b.store({b.buffer(DType::Float32, true), {0}, 0, {}}, s);
  std::vector<float> x(20000, 1.0f);
  float sum = 0;
  void* buffers[] = {x.data(), &sum};
  auto run = [&] {
    jit::compile(k)->loop()(buffers, numbers(k).data(), 0, 1);
    return sum;
  };
  EXPECT_EQ(run(), 20000.0f);
  x[15000] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(run(), std::numeric_limits<float>::infinity());
  x[3] = -std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(run()));
}

}  // namespace
}  // namespace reprise::testing
