#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "base/counters.h"
#include "base/knobs.h"
#include "jit/engine/engine.h"
#include "reprise/error.h"
#include "support.h"

namespace reprise::testing {
namespace {

using kernels::BodyBuilder;
using kernels::LoopKernel;
using kernels::ReduceOp;
using kernels::ScalarOp;

/// z = x * factor + 1, a kernel of its own for every factor.
LoopKernel scaled(std::int64_t n, double factor) {
  LoopKernel k;
  k.name = "scaled", k.extents = {n}, k.n_kept = 1;
  BodyBuilder b(k);
  auto x = b.load({b.buffer(DType::Float32), {1}, 0, {}});
  auto v =
      b.op(ScalarOp::Add, b.op(ScalarOp::Mul, x, b.constant(factor, DType::Float32)), b.constant(1.0, DType::Float32));
  b.store({b.buffer(DType::Float32, true), {1}, 0, {}}, v);
  return k;
}

LoopKernel softmax(std::int64_t rows, std::int64_t cols) {
  LoopKernel k;
  k.extents = {rows, cols}, k.n_kept = 1;
  BodyBuilder b(k);
  auto x = b.load({b.buffer(DType::Float32), {cols, 1}, 0, {}});
  auto e = b.op(ScalarOp::Exp, b.op(ScalarOp::Sub, x, b.reduce(ReduceOp::Max, x)));
  b.store({b.buffer(DType::Float32, true), {cols, 1}, 0, {}}, b.op(ScalarOp::Div, e, b.reduce(ReduceOp::Sum, e)));
  return k;
}

void run(const LoopKernel& k, std::vector<void*> buffers) {
  jit::compile(k)->loop()(buffers.data(), numbers(k).data(), 0, kernels::task_count(k).hint());
}

TEST(Engine, OneCompilationServesAllSizes) {
  const auto before = jit::cache_stats();
  const CounterSnapshot counted = counter_snapshot();
  for (std::int64_t n : {5, 100, 9000}) {
    std::vector<float> x(static_cast<std::size_t>(n), 2.0f), z(x.size());
    run(scaled(n, 77.25), {x.data(), z.data()});
    EXPECT_EQ(z.front(), 155.5f);
    EXPECT_EQ(z.back(), 155.5f);
  }
  const auto after = jit::cache_stats();
  EXPECT_EQ(after.compiled - before.compiled, 1);
  EXPECT_EQ(after.hits - before.hits, 2);
  EXPECT_EQ((counter_snapshot() - counted).str(), "kernel_compiles 1, kernel_cache_hits 2");
}

TEST(Engine, ThreadsAskingForTheSameKernelCompileItOnce) {
  const auto before = jit::cache_stats();
  std::vector<jit::CodePtr> codes(8);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] { codes[static_cast<std::size_t>(t)] = jit::compile(softmax(3 + t, 100)); });
  for (std::thread& t : threads) t.join();
  for (const auto& c : codes) EXPECT_EQ(c, codes[0]);
  EXPECT_LE(jit::cache_stats().compiled - before.compiled, 1);
}

TEST(Engine, ThreadsCompileDifferentKernelsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 6; ++i) {
        const double factor = 1000 + t * 10 + i;
        std::vector<float> x(37, 3.0f), z(37);
        run(scaled(37, factor), {x.data(), z.data()});
        for (float v : z) wrong += v != static_cast<float>(3 * factor + 1);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Engine, RunsInPlace) {
  std::mt19937 rng(1);
  for (std::int64_t cols : {1, 7, 64, 300}) {
    const std::size_t n = static_cast<std::size_t>(5 * cols);
    std::vector<float> x(n), z(n);
    for (float& v : x) v = std::uniform_real_distribution<float>(-3, 3)(rng);
    run(softmax(5, cols), {x.data(), z.data()});
    run(softmax(5, cols), {x.data(), x.data()});
    EXPECT_EQ(x, z);
  }
}

TEST(Engine, PointwiseResultsDoNotDependOnFusionOrPosition) {
  // exp in a long kernel, alone, in a tail and as a row-level scalar: the same bits.
  const std::int64_t n = 67;
  std::vector<float> x(static_cast<std::size_t>(n)), alone(x.size()), fused(x.size()), zero(x.size(), 0.0f);
  std::mt19937 rng(2);
  for (float& v : x) v = std::uniform_real_distribution<float>(-0.9f, 3)(rng);
  for (ScalarOp op :
       {ScalarOp::Exp, ScalarOp::Tanh, ScalarOp::Sigmoid, ScalarOp::Log1p, ScalarOp::Erf, ScalarOp::Sin}) {
    auto build = [&](bool more) {
      LoopKernel k;
      k.extents = {n}, k.n_kept = 1;
      BodyBuilder b(k);
      auto v = b.op(op, b.load({b.buffer(DType::Float32), {1}, 0, {}}));
      if (more)
        v = b.op(ScalarOp::Add, v,
                 b.op(ScalarOp::Mul, b.load({b.buffer(DType::Float32), {1}, 0, {}}), b.op(ScalarOp::Cosh, v)));
      b.store({b.buffer(DType::Float32, true), {1}, 0, {}}, v);
      return k;
    };
    run(build(false), {x.data(), alone.data()});
    run(build(true), {x.data(), zero.data(), fused.data()});
    EXPECT_EQ(alone, fused) << kernels::scalar_op_name(op);
    LoopKernel one;
    BodyBuilder b(one);
    auto v = b.op(op, b.load({b.buffer(DType::Float32), {}, 0, {}}));
    b.store({b.buffer(DType::Float32, true), {}, 0, {}}, v);
    for (std::size_t i = 0; i < x.size(); ++i) {
      float z = 0;
      run(one, {&x[i], &z});
      EXPECT_EQ(z, alone[i]) << kernels::scalar_op_name(op) << " at " << i;
    }
  }
}

TEST(Engine, SumsAreTheSameForEveryVectorWidthAndBody) {
  const std::int64_t n = 1003;
  std::vector<float> x(static_cast<std::size_t>(n));
  std::mt19937 rng(3);
  for (float& v : x) v = std::uniform_real_distribution<float>(0, 1)(rng);
  auto sum = [&](bool long_body) {
    LoopKernel k;
    k.extents = {n}, k.n_kept = 0;
    BodyBuilder b(k);
    auto v = b.load({b.buffer(DType::Float32), {1}, 0, {}});
    auto s = b.reduce(ReduceOp::Sum, v);
    b.store({b.buffer(DType::Float32, true), {0}, 0, {}}, s);
    // A second sum that makes the loop's body long, and so changes its unrolling.
    if (long_body)
      b.store({b.buffer(DType::Float32, true), {0}, 0, {}},
              b.reduce(ReduceOp::Sum, b.op(ScalarOp::Exp, b.op(ScalarOp::Tanh, v))));
    float out[2] = {0, 0};
    run(k, {x.data(), &out[0], &out[1]});
    return out[0];
  };
  const float want = sum(false);
  for (std::int64_t bits : {512, 256, 128}) {
    Scoped narrowed(knobs().vector_bits, bits);
    EXPECT_EQ(sum(false), want) << bits;
    EXPECT_EQ(sum(true), want) << bits;
  }
}

TEST(Engine, NoCodeIsMadeForAProcessorThatIsNotThere) {
  const LoopKernel k = scaled(8, 4321.5);
  {
    Scoped<std::string> cpu(knobs().cpu, "avx9");
    try {
      jit::compile(k);
      FAIL() << "accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
      EXPECT_EQ(std::string(e.what()).substr(0, 62), "REPRISE_CPU: no level is called avx9; there are x86_64_v2, avx")
          << e.what();
    }
  }
  const auto before = jit::cache_stats().compiled;
  EXPECT_NE(jit::compile(k)->entry, nullptr);
  {
    Scoped<std::string> cpu(knobs().cpu, "x86-64-v2");
    EXPECT_NE(jit::compile(k)->entry, nullptr);
    EXPECT_EQ(jit::host().vector_bits, 128);
  }
  EXPECT_EQ(jit::cache_stats().compiled, before + 2) << "code of another processor is other code";
}

TEST(Engine, CodeIsFreedWithItsLastOwner) {
  jit::drop_unused_code();
  const auto before = jit::cache_stats().live;
  jit::CodePtr code = jit::compile(scaled(8, 123456.5));
  EXPECT_EQ(jit::cache_stats().live, before + 1);
  jit::drop_unused_code();
  EXPECT_EQ(jit::cache_stats().live, before + 1);
  EXPECT_EQ(jit::compile(scaled(8, 123456.5)), code);
  code.reset();
  jit::drop_unused_code();
  EXPECT_EQ(jit::cache_stats().live, before);
}

TEST(Engine, ARefusedKernelNamesTheNodeAndLeavesNothingBehind) {
  LoopKernel k = scaled(8, 2);
  k.body[1].kind = kernels::BodyNode::Kind::Op;
  k.body[1].op = ScalarOp::BitAnd, k.body[1].a = 0, k.body[1].b = 0;
  for (int i = 0; i < 2; ++i) {
    try {
      jit::compile(k);
      FAIL() << "accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::Internal);
      EXPECT_NE(e.message().find("at node %1"), std::string::npos) << e.message();
    }
  }
}

TEST(Engine, DumpsKernelIrAndAssembly) {
  const std::filesystem::path dir =
      std::filesystem::temp_directory_path() / ("reprise_dump_" + std::to_string(getpid()));
  {
    Scoped dump(knobs().dump, dir.string());
    jit::compile(scaled(8, 9876.5));
  }
  int ll = 0, s = 0;
  for (const auto& f : std::filesystem::directory_iterator(dir)) {
    ll += f.path().extension() == ".ll", s += f.path().extension() == ".s";
    EXPECT_EQ(f.path().filename().string().find(scaled(8, 9876.5).name + "-"), 0u) << f.path();
  }
  std::filesystem::remove_all(dir);
  EXPECT_EQ(ll, 1);
  EXPECT_EQ(s, 1);
}

TEST(Engine, NamesKernelsForPerf) {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  jit::CodePtr code;
  {
    const Scoped map(knobs().perf_map, 1);
    code = jit::compile(scaled(8, 9875.5));
  }
  std::ifstream file(path);
  std::string address, bytes, name;
  ASSERT_TRUE(file >> address >> bytes >> name) << path;
  EXPECT_EQ(std::stoull(address, nullptr, 16), reinterpret_cast<std::uintptr_t>(code->entry));
  EXPECT_GT(std::stoull(bytes, nullptr, 16), 16u);
  EXPECT_LT(std::stoull(bytes, nullptr, 16), static_cast<unsigned long long>(code->bytes));
  EXPECT_EQ(name.find(scaled(8, 9875.5).name + "-"), 0u) << name;
  EXPECT_EQ(file.peek(), '\n');
  std::filesystem::remove(path);
}

TEST(Engine, SaysOnceThatItCannotDump) {
  ::testing::internal::CaptureStderr();
  {
    Scoped dump(knobs().dump, std::string("/proc/none/of/these"));
    jit::compile(scaled(8, 9877.5));
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("REPRISE_DUMP: cannot write '/proc/none/of/these/"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(LoopIr, CanonicalTextTellsStructureFromNumbers) {
  EXPECT_EQ(kernels::canonical_text(scaled(8, 2)), kernels::canonical_text(scaled(9, 2)));
  EXPECT_NE(kernels::canonical_text(scaled(8, 2)), kernels::canonical_text(scaled(8, -2)));
  EXPECT_NE(kernels::canonical_text(scaled(8, 0.0)), kernels::canonical_text(scaled(8, -0.0)));
  LoopKernel named = scaled(8, 2);
  named.name = "other";
  EXPECT_EQ(kernels::canonical_text(named), kernels::canonical_text(scaled(8, 2)));
}

// What is chosen of a kernel's shape must stand in the text by which its code is found again.
TEST(LoopIr, KernelsOfOneTextAreOneCode) {
  std::map<std::string, std::string> code;
  for (const std::int64_t rows : {1, 2, 40})
    for (const std::int64_t columns : {1, 2, 40})
      for (const std::int64_t across : {0, 1, 7})
        for (const std::int64_t to : {0, 1, 40}) {
          LoopKernel k;
          k.extents = {rows, columns}, k.n_kept = 2;
          BodyBuilder b(k);
          const auto x = b.buffer(DType::Float32), z = b.buffer(DType::Float32, true);
          b.store({z, {to, 1}, 0, {}}, b.load({x, {1, across}, 0, {}}));
          const std::string text = kernels::canonical_text(k), made = jit::llvm_ir(k);
          EXPECT_EQ(code.emplace(text, made).first->second, made) << text;
        }
}

TEST(LoopIr, ParametersComeInTheDocumentedOrder) {
  LoopKernel k;
  k.extents = {6, 7}, k.n_kept = 2;
  k.buffers = {{DType::Int64, false}, {DType::Float32, false}, {DType::Float32, true}};
  k.accesses.push_back({0, {1, 0}, 0, {}});
  k.accesses.push_back({1, {0, 9}, 40, {{0, 3, 11}}});
  k.accesses.push_back({2, {7, 1}, 0, {}});
  k.body.resize(3);
  k.body[0].kind = kernels::BodyNode::Kind::Load, k.body[0].dtype = DType::Int64, k.body[0].access = 0;
  k.body[1].kind = kernels::BodyNode::Kind::Load, k.body[1].access = 1;
  k.body[2].kind = kernels::BodyNode::Kind::Store, k.body[2].a = 1, k.body[2].access = 2;
  kernels::verify(k);
  EXPECT_EQ(numbers(k), (std::vector<std::int64_t>{6, 7, 40, 9, 3, 11, 7}));
}

TEST(LoopIr, TheVectorDimFollowsTheFrequentAccesses) {
  EXPECT_EQ(kernels::vector_dim(softmax(4, 8)), 1);
  LoopKernel rows;  // z[i] = sum_j x[i, j]: along j, although z is contiguous in i
  rows.extents = {4, 8}, rows.n_kept = 1;
  {
    BodyBuilder b(rows);
    auto s = b.reduce(ReduceOp::Sum, b.load({b.buffer(DType::Float32), {8, 1}, 0, {}}));
    b.store({b.buffer(DType::Float32, true), {1, 0}, 0, {}}, s);
  }
  EXPECT_EQ(kernels::vector_dim(rows), 1);
  LoopKernel columns;  // z[j] = sum_i x[i, j]: along j, which is kept
  columns.extents = {8, 4}, columns.n_kept = 1;
  {
    BodyBuilder b(columns);
    auto s = b.reduce(ReduceOp::Sum, b.load({b.buffer(DType::Float32), {1, 8}, 0, {}}));
    b.store({b.buffer(DType::Float32, true), {1, 0}, 0, {}}, s);
  }
  EXPECT_EQ(kernels::vector_dim(columns), 0);
  EXPECT_EQ(kernels::task_count(columns).hint(), 1);
  EXPECT_EQ(kernels::task_count(rows).hint(), 4);
}

}  // namespace
}  // namespace reprise::testing
