// Machine code on disk: a kernel that was made before is found and does the same; not on another machine, and not where
// each is to be checked.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/knobs.h"
#include "support.h"

namespace reprise::testing {
namespace {

namespace fs = std::filesystem;
using kernels::BodyBuilder;
using kernels::LoopKernel;
using kernels::ScalarOp;

struct CodeOnDisk : ::testing::Test {
  const fs::path dir = fs::temp_directory_path() / ("reprise_code_" + std::to_string(getpid()));
  Scoped<std::string> knob{knobs().cache_dir, dir.string()};
  Scoped<std::int64_t> unchecked{knobs().verify, 0};
  ~CodeOnDisk() override {
    jit::drop_unused_code();
    fs::remove_all(dir);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    if (fs::exists(dir))
      for (const auto& f : fs::directory_iterator(dir)) out.push_back(f.path());
    return out;
  }
};

/// y = exp(x) * by: with a call out of the kernel where there is no vector form.
LoopKernel kernel(double by) {
  LoopKernel k;
  k.extents = {8}, k.n_kept = 1;
  BodyBuilder b(k);
  auto x = b.load({b.buffer(DType::Float64), {1}, 0, {}});
  b.store({b.buffer(DType::Float64, true), {1}, 0, {}},
          b.op(ScalarOp::Mul, b.op(ScalarOp::Lgamma, x), b.constant(by, DType::Float64)));
  return k;
}
double run(const jit::CodePtr& code, const LoopKernel& k) {
  std::vector<double> x(8, 4.0), y(8, 0.0);
  void* buffers[] = {x.data(), y.data()};
  code->loop()(buffers, numbers(k).data(), 0, kernels::task_count(k).hint());
  return y[7];
}

TEST_F(CodeOnDisk, IsFoundAgain) {
  const LoopKernel k = kernel(2.5);
  const auto before = jit::cache_stats();
  const double want = run(jit::compile(k), k);
  EXPECT_NEAR(want, 2.5 * std::lgamma(4.0), 1e-12);
  EXPECT_EQ(jit::cache_stats().compiled, before.compiled + 1);
  ASSERT_EQ(files().size(), 1u);
  jit::drop_unused_code();  // as in another process
  const auto between = jit::cache_stats();
  EXPECT_EQ(run(jit::compile(k), k), want);
  EXPECT_EQ(jit::cache_stats().compiled, between.compiled);
  EXPECT_EQ(jit::cache_stats().hits, between.hits + 1);
  // While the code of before is still held, too: both are linked.
  const jit::CodePtr held = jit::compile(k);
  EXPECT_EQ(run(held, k), want);
  EXPECT_EQ(jit::cache_stats().live, between.live + 1);
}

TEST_F(CodeOnDisk, IsMadeAnewWhereItIsDamagedOrForeign) {
  const LoopKernel k = kernel(3.5);
  const double want = run(jit::compile(k), k);
  const fs::path path = files().at(0);
  jit::drop_unused_code();
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(fs::file_size(path) / 2));
    file.put('\x55');
  }
  auto made = [&] {
    const auto before = jit::cache_stats().compiled;
    EXPECT_EQ(run(jit::compile(k), k), want);
    jit::drop_unused_code();
    return jit::cache_stats().compiled - before;
  };
  EXPECT_EQ(made(), 1);
  EXPECT_EQ(made(), 0) << "and is whole again";
  fs::permissions(dir, fs::perms::all);
  EXPECT_EQ(made(), 1) << "anybody could have written it";
  fs::permissions(dir, fs::perms::owner_all);
  {
    Scoped narrower(knobs().vector_bits, std::int64_t{128});
    EXPECT_EQ(made(), 1) << "code of another width is other code";
  }
  {
    Scoped checked(knobs().verify, std::int64_t{1});
    EXPECT_EQ(made(), 1) << "each kernel is to be checked";
  }
  EXPECT_EQ(made(), 0);
  Scoped<std::string> off(knobs().cache_dir, "off");
  EXPECT_EQ(made(), 1);
}

TEST_F(CodeOnDisk, ThreadsShareIt) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 8; ++i) {
        const LoopKernel k = kernel(10 + (t + i) % 5);
        EXPECT_NEAR(run(jit::compile(k), k), (10 + (t + i) % 5) * std::lgamma(4.0), 1e-9);
        if (i % 3 == 0) jit::drop_unused_code();
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(files().size(), 5u);
}

}  // namespace
}  // namespace reprise::testing
