// What the assembler makes of the kernels that ship, as tests/gpu/kernels.txt says: of programs as lowering makes them,
// and by kind.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/knobs.h"
#include "graph/graph.h"
#include "jit/gpu/kernels/compile.h"
#include "jit/gpu/loop/compile.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/product_joined.h"
#include "kernels/plan/lower.h"
#include "tests/golden/golden.h"
#include "tests/golden/stages.h"
#include "tests/gpu/machine_code.h"
#include "tests/gpu_loop/assembler.h"

namespace reprise::golden {
namespace {

namespace gpu = kernels::gpu;
using kernels::KernelCode;

constexpr const char* kArch = "sm_90";

constexpr const char* kAbout =
    "# What the assembler makes of kernels that ship, for sm_90: written and compared by test_gpu (GOLDEN_WRITE=1 "
    "writes), read by scripts/gpu_model.py.\n"
    "# Addresses are parameters here; those in cells (docs/cuda.md) are a load of 8 bytes each before the rest.\n"
    "# From `ptxas -v`: regs, a thread's registers; spill, bytes of spills and of stack; shared, bytes of static "
    "shared memory.\n"
    "# From the machine code: threads, of a block; load and store, bytes of the widest access to global memory; "
    "flight, the most loads of it under way before the\n"
    "# first is waited for; tensor, products of the tensor cores (16 rows, 8 columns); mufu, of the special-function "
    "unit; async, copies to shared memory past the\n"
    "# registers; instr, all instructions. turns: instructions / bytes read + bytes written @ the widest access, by a "
    "thread in each innermost loop that touches global memory, and,\n"
    "# where no loop makes the widest loads, between the first and the last of those; with = before it what stands "
    "beside such loops in none: rows that stay in registers. With *: instructions * products of the tensor cores ^ "
    "instructions of the special-function unit,\n"
    "# in each innermost loop with tensor cores, without the loops in it; w in place of *: products of warpgroups.\n";

class Table {
 public:
  void add(const std::string& name, const device::Image& image) {
    const test::Assembled a = test::assemble(image.code, kArch, true);
    ASSERT_TRUE(a.ok) << name << "\n" << a.log;
    EXPECT_EQ(a.spilled_bytes + a.stack_bytes, 0) << name << "\n" << a.log;
    const auto code = test::read_machine_code(a.cubin, image.entry);
    ASSERT_TRUE(code) << name;
    EXPECT_EQ(code->local, 0) << name << ": accesses to local memory";
    // of a warpgroup's products each would wait for the one before
    EXPECT_EQ(a.log.find("serialized"), std::string::npos) << name << "\n" << a.log;
    char line[256];
    std::snprintf(line, sizeof line, "%4d %5d %6d %7lld %4d %5d %6d %6d %4d %5d %5d  ", a.registers,
                  a.spilled_bytes + a.stack_bytes, a.shared_bytes, static_cast<long long>(image.block.count()),
                  code->load_bytes, code->store_bytes, code->in_flight, code->tensor, code->special, code->copies,
                  code->instructions);
    out_ << line;
    if (code->straight)
      out_ << '=' << code->straight->instructions << '/' << code->straight->loaded << '+' << code->straight->stored
           << '@' << code->straight->widest << ' ';
    for (const auto& t : code->turns)
      out_ << t.instructions << '/' << t.loaded << '+' << t.stored << '@' << t.widest << ' ';
    for (const auto& t : code->tensor_turns)
      out_ << t.instructions << (t.by_warpgroups ? 'w' : '*') << t.tensor << '^' << t.special << ' ';
    if (code->turns.empty() && code->tensor_turns.empty()) out_ << "- ";
    out_ << " " << name << "\n";
  }
  void add(const KernelCode& code) { add(code.text(), *jit::compile_gpu(code, target())); }
  /// What a compiled program launches on a device.
  void add(const Program& p) {
    const graph::Graph g = graph::parse(stages_of(p)["optimized"]);  // while it is there, sizes are those at hand
    const kernels::Lowered lowered = kernels::lower(g, kernels::Mode::Full, kernels::LaunchStyle::Gpu);
    for (const kernels::Launch& l : lowered.launches) {
      const std::string name = p.name + ": " + l.name;
      if (const auto* loop = std::get_if<kernels::LoopLaunch>(&l.what)) {
        const jit::GpuKernelPtr kernel = jit::compile_gpu(loop->kernel, target());
        ASSERT_TRUE(kernel) << name;
        add(name, *kernel->image);
      } else if (const auto* by_kind = std::get_if<kernels::GpuLaunch>(&l.what)) {
        const bool joined = by_kind->code.as<gpu::ProductJoined>();  // its text is long
        add(joined ? std::string(by_kind->code.kind()) + ": " + name : p.name + ": " + by_kind->code.text(),
            *jit::compile_gpu(by_kind->code, target()));
      } else {
        ADD_FAILURE() << name << " is left to the host";
      }
    }
  }
  void title(const char* words) {
    out_ << "\n# " << words
         << "\n#regs spill shared threads load store flight tensor mufu async instr  turns  kernel\n";
  }
  std::string text() const { return kAbout + ("# ptxas " + test::ptxas_version()) + "\n" + out_.str(); }

 private:
  static device::CodeTarget target() {
    device::CodeTarget t;
    t.arch = kArch, t.warpgroups = true;
    return t;
  }
  std::ostringstream out_;
};

template <class F, class... A>
Program program(const std::string& name, F f, A... a) {
  return {name, "", [f, a...](const std::string& called) {
            auto c = compile(f, {.name = called});
            c(a...);
            return c.explain();
          }};
}

Tensor filled(DType t, std::vector<std::int64_t> sizes) {
  return is_floating(t) ? full(sizes, 0.5, {.dtype = t}) : full(sizes, 1, {.dtype = t});
}

/// Row lengths and counts as language models have them.
constexpr std::int64_t kRows = 512, kWidth = 4096;

void loops_of(DType t, Table& table) {
  const std::string dtype = " " + std::string(dtype_name(t));
  const Tensor x = filled(t, {kRows, kWidth}), y = filled(t, {kRows, kWidth}), w = filled(t, {kWidth});
  table.add(program(
      "add" + dtype, [](Tensor a, Tensor b) { return a + b; }, x, y));
  table.add(program(
      "silu_mul" + dtype, [](Tensor a, Tensor b) { return silu(a) * b; }, x, y));
  table.add(program(
      "gelu_chain" + dtype, [](Tensor a, Tensor b) { return gelu(a + b) * a; }, x, w));
  table.add(program(
      "gelu_tanh" + dtype, [](Tensor a) { return gelu(a, "tanh"); }, x));
  table.add(program(
      "softmax" + dtype, [](Tensor a) { return softmax(a, -1); }, x));
  table.add(program(
      "layer_norm" + dtype, [](Tensor a, Tensor b) { return layer_norm(a, {b.size(0)}, b, b); }, x, w));
  table.add(program(
      "rms_norm" + dtype, [](Tensor a, Tensor b) { return rms_norm(a, b, 1e-6); }, x, w));
  table.add(program(
      "add_rms_norm" + dtype,
      [](Tensor a, Tensor r, Tensor b) {
        a = a + r;
        return std::pair{a, rms_norm(a, b, 1e-6)};
      },
      x, y, w));
  table.add(program(
      "row_sums" + dtype, [](Tensor a) { return a.sum(-1); }, x));
  table.add(program(
      "column_sums" + dtype, [](Tensor a) { return a.sum(0); }, x));
  table.add(program(
      "sum_of_all" + dtype, [](Tensor a) { return a.sum(); }, x));
  table.add(program(
      "rope" + dtype,
      [](Tensor a, Tensor c, Tensor s) {
        Int half = a.size(-1) / 2;
        Tensor p = a.slice(-1, 0, half), q = a.slice(-1, half, half * 2);
        return cat({p * c - q * s, q * c + p * s}, -1);
      },
      filled(t, {32, 5, 128}), filled(t, {5, 64}), filled(t, {5, 64})));
}

/// What decoding a token makes of the products of a layer of 2048 elements.
void joined_of(DType t, Table& table) {
  const std::string dtype = " " + std::string(dtype_name(t));
  const Tensor x = filled(t, {1, 2048}), w = filled(t, {2048}), square = filled(t, {2048, 2048}),
               kv = filled(t, {512, 2048}), up = filled(t, {8192, 2048}), down = filled(t, {2048, 8192}),
               wide = filled(t, {1, 8192}), head = filled(t, {16640, 2048});
  const Tensor cache = filled(t, {8, 64, 64}), angles = filled(DType::Float32, {1, 32});
  // as frozen weights are, and a token marked as one
  for (const Tensor& known : {x, w, square, kv, up, down, wide, head})
    for (int d = 0; d < known.dim(); ++d) mark_static(known, d);
  auto heads = [](Tensor y) { return y.view({1, y.size(1) / 64, 64}).transpose(0, 1); };
  auto rope = [](Tensor y, Tensor c, Tensor s) {
    Tensor p = y.slice(-1, 0, 32), q = y.slice(-1, 32, 64);
    return cat({p * c - q * s, q * c + p * s}, -1).to(y.dtype());
  };
  table.add(program(
      "qkv" + dtype,
      [=](Tensor a, Tensor n, Tensor q, Tensor k, Tensor v, Tensor to, Tensor c, Tensor s) {
        const Tensor h = rms_norm(a, n, 1e-6);
        to.slice(1, 3, 4).copy_(rope(heads(linear(h, k)), c, s));
        return std::pair{rope(heads(linear(h, q)), c, s), linear(h, v)};
      },
      x, w, square, kv, kv, cache, angles, angles));
  table.add(program(
      "out" + dtype, [](Tensor a, Tensor r, Tensor m) { return r + linear(a, m); }, x, x, square));
  table.add(program(
      "gate" + dtype,
      [](Tensor a, Tensor n, Tensor m, Tensor u) {
        const Tensor h = rms_norm(a, n, 1e-6);
        return silu(linear(h, m)) * linear(h, u);
      },
      x, w, up, up));
  table.add(program(
      "down" + dtype, [](Tensor a, Tensor r, Tensor m) { return r + linear(a, m); }, wide, x, down));
  table.add(program(
      "head" + dtype, [](Tensor a, Tensor n, Tensor m) { return linear(rms_norm(a, n, 1e-6), m); }, x, w, head));
}

TEST(Kernels, AreAsCommitted) {
#ifdef __clang__
  GTEST_SKIP() << "the committed table is of a build by g++";
#endif
  if (test::ptxas().empty()) GTEST_SKIP() << "ptxas is not in $CUDA_HOME/bin, $PATH or /usr/local/cuda/bin";
  const Scoped<std::string> no_disk(knobs().cache_dir, "off");
  Table table;
  table.title("Loops, of rows of 4096 elements");
  for (DType t : {DType::Float32, DType::BFloat16, DType::Float16}) loops_of(t, table);
  table.add(program(
      "add f64", [](Tensor a, Tensor b) { return a + b; }, filled(DType::Float64, {kRows, 64}),
      filled(DType::Float64, {kRows, 64})));
  table.add(program(
      "add i64", [](Tensor a, Tensor b) { return a + b; }, filled(DType::Int64, {kRows, 64}),
      filled(DType::Int64, {kRows, 64})));
  table.add(program(
      "i8 to bf16", [](Tensor a, Tensor b) { return a.to(kBFloat16) * b; }, filled(DType::Int8, {kRows, 64}),
      filled(DType::BFloat16, {kRows, 1})));
  table.add(program(
      "transposed f32", [](Tensor a) { return a.t().contiguous(); }, filled(DType::Float32, {kRows, 64})));

  table.title("Matrix products");
  using gpu::Lines, gpu::Mask;
  using D = DType;
  for (D t : {D::Float32, D::BFloat16, D::Float16, D::Float64}) {
    table.add(gpu::ProductTiles{t, Lines::Deep, Lines::Deep, 1, false});
    table.add(gpu::ProductTiles{t, Lines::Deep, Lines::Wide, 1, true});
    if (item_size(t) <= 4)
      for (kernels::ProductTileSize tile : kernels::kProductTilesOfCores)
        table.add(gpu::ProductTiles{t, Lines::Deep, Lines::Deep, 1, false, tile.rows, tile.columns, t == D::Float32});
    for (int m : {1, 4, 8})
      if (t != D::Float64 || m == 1) table.add(gpu::ProductDot{t, m, false}), table.add(gpu::ProductSum{t, m, false});
    if (is_low_precision(t)) table.add(gpu::ProductStrip{t, 4, false}), table.add(gpu::ProductStrip{t, 0, true});
  }
  for (auto [a, b, c] : {std::array<D, 3>{D::Int8, D::Int8, D::Int32},
                         {D::Int8, D::Int8, D::BFloat16},
                         {D::Float8E4M3FN, D::Float8E4M3FN, D::BFloat16}}) {
    table.add(gpu::ScaledTiles{a, b, c, Lines::Deep, Lines::Deep, false, D::Float32, true});
    table.add(gpu::ScaledTiles{a, b, c, Lines::Deep, Lines::Deep, false, D::Float32, true,
                               kernels::kScaledTileOfCores.rows, kernels::kScaledTileOfCores.columns});
    table.add(gpu::ScaledDot{a, b, c, 1, false, D::Float32});
  }

  table.title("Products of one row, with what stands around them");
  for (DType t : {D::Float32, D::BFloat16, D::Float16}) joined_of(t, table);

  table.title("Attention");
  for (D t : {D::Float32, D::BFloat16, D::Float16})
    for (int depth : {64, 128}) {
      table.add(gpu::AttentionTiles{t, depth, depth, Mask::None, true});
      // one token, heads known
      for (int rows : {1, 4}) table.add(gpu::AttentionPart{t, depth, depth, Mask::None, false, rows, 8, 8, rows, 1, 1});
    }
  table.add(gpu::AttentionTiles{D::BFloat16, 256, 256, Mask::Added, false});

  table.title("Rows, elements, checks");
  for (D t : {D::Float32, D::BFloat16, D::Int64}) {
    for (auto step : {gpu::ArgReduce::Step::Whole, gpu::ArgReduce::Step::Chunks, gpu::ArgReduce::Step::Join})
      table.add(gpu::ArgReduce{t, false, 1, 1, step});
    for (auto step : {gpu::Cumsum::Step::Whole, gpu::Cumsum::Step::Totals, gpu::Cumsum::Step::Rest})
      table.add(gpu::Cumsum{t, t, 1, step});
    for (auto step : {gpu::Order::Step::Whole, gpu::Order::Step::Chunks, gpu::Order::Step::Join})
      table.add(gpu::Order{t, true, 1, step});
    table.add(gpu::CopyElements{t, 2});
    if (is_floating(t)) table.add(gpu::Random{t, false, 1}), table.add(gpu::Random{t, true, 1});
    for (auto mode : {gpu::Scatter::Mode::Set, gpu::Scatter::Mode::Add}) table.add(gpu::Scatter{t, D::Int64, mode, 2});
    for (bool add : {false, true}) table.add(gpu::IndexPut{t, add, 1, 1});
  }
  table.add(gpu::Draw{D::Float32}), table.add(gpu::Arrivals{D::Float32}), table.add(gpu::CheckWeights{D::Float32});
  table.add(gpu::IndexOffsets{{D::Int64}, 1}), table.add(gpu::IndexLast{});
  for (int threads : {kernels::kCheckFewThreads, kernels::kCheckThreads})
    table.add(gpu::CheckIndex{D::Int64, true, 1, threads});

  // Another assembler chooses otherwise: then the demands above are what is tested.
  std::ostringstream kept;
  kept << std::ifstream(REPRISE_SOURCE_DIR "/tests/gpu/kernels.txt").rdbuf();
  if (!std::getenv("GOLDEN_WRITE") && kept.str().find("# ptxas " + test::ptxas_version() + "\n") == std::string::npos)
    GTEST_SKIP() << "ptxas " << test::ptxas_version() << " is not the one of tests/gpu/kernels.txt; nothing spills";
  expect_golden("../gpu/kernels.txt", table.text());
}

}  // namespace
}  // namespace reprise::golden
