// A product whose sums are known, by warpgroups: what is trusted of a device before kernels are made of such.
#include "jit/gpu/kernels/compile.h"
#include "jit/gpu/kernels/kernels.h"
#include "jit/gpu/kernels/tensor_cores.h"
#include "jit/gpu/kernels/warpgroup_cores.h"

namespace reprise::jit {

namespace {

constexpr DType t = DType::BFloat16, f = DType::Float32;
// A second group of columns, and no more than registers hold.
constexpr int kRows = WarpgroupCores::kRows, kColumns = 72, kDepth = 32, kThreads = WarpgroupCores::kWarps * kWarp,
              kSums = kRows * kColumns / kThreads;
constexpr int kLine = WarpgroupCores::kLineBytes / 2, kRun = 8;  // elements
constexpr int kGroups = (kColumns + kLine - 1) / kLine;
/// Left sides in shared memory, in both ways, and in registers; right sides in both.
constexpr int kProducts = 6;

/// The arguments of the kernel, as those of kernels/gpu/kernels.h are told.
struct Trial {
  template <class As>
  struct Args {
    typename As::Target right;
    REPRISE_DESCRIBE(right)
    void shape(const Trial&) { right.dtype = DType::Int32; }
  };
};

class TrialCode {
 public:
  explicit TrialCode(GpuModule& module) : in(gpu::shaped<InCode>(Trial{})), g(module, in, kThreads), warpgroup(g, t) {
    module.shared_bytes = (kRows * kLine + kDepth * kLine + kColumns * kLine + kGroups * kDepth * kLine) * 2;
    a_deep = g.wrap(g.dynamic_shared(WarpgroupCores::kPattern));
    a_wide = g.at(t, a_deep, kRows * kLine), b_deep = g.at(t, a_wide, kDepth * kLine),
    b_wide = g.at(t, b_deep, kColumns * kLine);
  }

  void run() {
    fill();
    WarpgroupCores::publish(g);
    g.barrier();
    Var right = g.var(g.i32(0));
    using Lie = WarpgroupCores::Lie;
    bool fresh = false;
    for (Lie of_b : {Lie::Deep, Lie::Wide}) {
      const WarpgroupCores::Matrix b =
          of_b == Lie::Deep ? warpgroup.matrix(b_deep, of_b, 0) : warpgroup.matrix(b_wide, of_b, kDepth * kLine * 2);
      for (int of_a = 0; of_a < 3; ++of_a) {
        // Sums begin at 1, or are what the first product gives.
        Vars sums;
        for (int i = 0; i < kSums; ++i) sums.push_back(g.var(f, 1));
        std::vector<Vs> fragments;
        for (int k = 0; of_a == 2 && k < kDepth; k += 16) fragments.push_back(fragment(k));
        warpgroup.begin();
        for (int k = 0; k < kDepth; k += 16) {
          const auto to = fresh && k == 0 ? WarpgroupCores::To::Nothing : WarpgroupCores::To::Sums;
          const WarpgroupCores::Matrix right_side = warpgroup.beyond(b, step(of_b, k));
          if (of_a == 2) {
            warpgroup.multiply_add(fragments[static_cast<std::size_t>(k / 16)], right_side, kColumns, sums, to);
          } else {
            const Lie lie = of_a ? Lie::Wide : Lie::Deep;
            warpgroup.multiply_add(warpgroup.beyond(warpgroup.matrix(of_a ? a_wide : a_deep, lie, 0), step(lie, k)),
                                   right_side, kColumns, sums, to);
          }
        }
        warpgroup.commit();
        warpgroup.wait(0, sums);
        right = right + count(sums, fresh ? 0 : 1);
        fresh = !fresh;
      }
    }
    g.write(DType::Int32, in.right, g.tid, right);
    g.finish();
  }

 private:
  /// Each row has one element that is not zero, each place of k in two rows: so a sum is one element of b, times 1, 2
  /// or 3.
  V chosen(V row) { return (row * 5 + 3) % kDepth; }
  V factor(V row) { return row % 3 + 1; }
  V a_at(V row, V k) { return g.select(chosen(row) == k, factor(row), g.i32(0)); }
  V b_at(V k, V column) { return (k * 37 + column * 11) % 83; }  // three times that has 8 bits
  V as_float(V n) { return g.convert(DType::Int32, f, n); }

  static int step(WarpgroupCores::Lie lie, int k) {
    return lie == WarpgroupCores::Lie::Deep ? k * 2 : k * WarpgroupCores::kLineBytes;
  }
  /// Element `at` of a swizzled line; lines: of a group, 0: there is one.
  V place(V line, V at, int lines) { return WarpgroupCores::place(line, at / kRun, t, lines) + at % kRun; }

  void fill() {
    // Whatever is read is something.
    g.loop(g.tid, static_cast<int>(g.gpu.shared_bytes / 2), kThreads,
           [&](V i) { g.write(t, a_deep, i, g.constant(f, 0)); });
    g.barrier();
    g.loop(g.tid, kRows * kDepth, kThreads, [&](V i) {
      V row = i / kDepth, k = i % kDepth, x = as_float(a_at(row, k));
      g.write(t, a_deep, place(row, k, 0), x);
      g.write(t, a_wide, place(k, row, 0), x);
    });
    g.loop(g.tid, kColumns * kDepth, kThreads, [&](V i) {
      V column = i / kDepth, k = i % kDepth, x = as_float(b_at(k, column));
      g.write(t, b_deep, place(column, k, 0), x);
      g.write(t, b_wide, place(k, column, kDepth), x);
    });
  }

  V row_of(int half) { return g.warp_id * 16 + (g.lane_id >> 2) + half * 8; }
  Vs fragment(int k) {
    TensorCores cores(g, t);
    Vs r;
    for (int i = 0; i < 4; ++i) {
      V row = row_of(i % 2), first = (g.lane_id & 3) * 2 + (k + i / 2 * 8);
      r.push_back(cores.pack(as_float(a_at(row, first)), as_float(a_at(row, first + 1))));
    }
    return r;
  }
  V count(const Vars& sums, int began) {
    V n = g.i32(0);
    for (int i = 0; i < kSums; ++i) {
      V row = row_of(i / 2 % 2), column = (g.lane_id & 3) * 2 + (i / 4 * 8 + i % 2);
      V expected = as_float(b_at(chosen(row), column) * factor(row) + began);
      n = n + g.select(sums[static_cast<std::size_t>(i)] == expected, g.i32(1), g.i32(0));
    }
    return n;
  }

  Trial::Args<InCode> in;
  GpuCode g;
  WarpgroupCores warpgroup;
  V a_deep, a_wide, b_deep, b_wide;  ///< in shared memory
};

}  // namespace

WarpgroupTrial warpgroup_trial(const device::CodeTarget& target) {
  return {compile_gpu_module("trial of warpgroups", target, [](GpuModule& m) { TrialCode(m).run(); }),
          kProducts * kSums};
}

}  // namespace reprise::jit
