#include "tests/gpu_loop/random_loop.h"

#include <algorithm>
#include <random>

#include "kernels/loop/analysis.h"
#include "tests/gpu_loop/kernels.h"

namespace reprise::test {

using kernels::BodyNode;
using kernels::LoopKernel;
using kernels::ReduceOp;
using kernels::ScalarOp;

namespace {

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : rng_(seed), b_(extents(), 0) {
    const int rank = static_cast<int>(b_.k.extents.size());
    b_.k.n_kept = chance(45) ? rank : pick(0, rank);
    if (rank - b_.k.n_kept >= 2 && chance(60)) b_.k.n_parts = pick(1, rank - b_.k.n_kept - 1);
  }

  LoopKernel make() {
    for (int i = pick(1, 4); i > 0; --i) input();
    for (int i = pick(1, 14); i > 0; --i) step();
    for (int i = pick(1, 3); i > 0; --i) output(i == 1 ? values_.back() : any());
    return b_.k;
  }

 private:
  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  template <class T>
  const T& one_of(const std::vector<T>& v) {
    return v[static_cast<std::size_t>(pick(0, static_cast<int>(v.size()) - 1))];
  }
  std::uint32_t any() { return one_of(values_); }
  DType dtype(std::uint32_t v) const { return kernels::register_dtype(b_.k.body[v].dtype); }

  Ints extents() {
    Ints e;
    const int rank = pick(chance(8) ? 0 : 1, 4);
    for (int d = 0; d < rank; ++d) e.push_back(chance(8) ? 1 : chance(5) ? 0 : pick(2, rank > 2 ? 6 : 40));
    if (rank > 0 && chance(40)) e[static_cast<std::size_t>(pick(0, rank - 1))] = chance(50) ? 64 : 48;
    return e;
  }

  /// Strides of different addresses for all indices of the dims in `mask`; 0 for the others.
  Ints distinct(std::uint32_t mask) {
    const int rank = static_cast<int>(b_.k.extents.size());
    std::vector<int> order;
    for (int d = 0; d < rank; ++d) order.push_back(d);
    if (chance(30)) std::shuffle(order.begin(), order.end(), rng_);
    Ints s(static_cast<std::size_t>(rank), Int(0));
    std::int64_t next = chance(10) ? 2 : 1;
    for (int j = rank; j-- > 0;) {
      const auto d = static_cast<std::size_t>(order[static_cast<std::size_t>(j)]);
      if (!(mask >> d & 1)) continue;
      s[d] = next;
      next *= std::max<std::int64_t>(b_.k.extents[d].hint(), 1);
      if (chance(10)) next += pick(1, 8);
    }
    return s;
  }
  std::uint32_t all_dims() const { return (1u << b_.k.extents.size()) - 1; }
  std::uint32_t some_dims() { return chance(60) ? all_dims() : static_cast<std::uint32_t>(rng_()) & all_dims(); }

  std::uint32_t input() {
    const DType t = chance(50) ? DType::Float32 : kLoopDTypes[pick(0, 8)];
    std::uint32_t v = b_.input(t, distinct(some_dims()));
    if (chance(15)) b_.k.accesses.back().offset = pick(1, 5);
    if (chance(20)) gather();
    values_.push_back(v);
    return v;
  }
  void gather() {
    const std::uint32_t index = b_.input(chance(50) ? DType::Int64 : DType::Int32, distinct(some_dims()));
    const std::int64_t extent = pick(1, 9);
    const std::uint32_t v = b_.input(chance(60) ? DType::Float32 : DType::BFloat16, distinct(some_dims()));
    kernels::Access& a = b_.k.accesses.back();
    std::int64_t row = 1;
    for (std::size_t d = 0; d < a.strides.size(); ++d)
      row += std::max<std::int64_t>(b_.k.extents[d].hint() - 1, 0) * a.strides[d].hint();
    a.gathers.push_back({index, chance(15) ? Int(1) : Int(row), Int(extent)});
    values_.push_back(v);
  }

  std::uint32_t number(DType t, int v) {
    BodyNode n{BodyNode::Kind::Const, t};
    n.fimm = v, n.iimm = v;
    return b_.add(n);
  }
  std::uint32_t as(DType t, std::uint32_t v) { return dtype(v) == t ? v : b_.cast(t, v); }
  std::uint32_t clamped(std::uint32_t v) {
    const DType t = dtype(v);
    if (t == DType::Bool) return v;
    v = b_.op(ScalarOp::Min, t, v, number(t, 6));
    return t == DType::UInt8 ? v : b_.op(ScalarOp::Max, t, v, number(t, -6));
  }
  void keep(std::uint32_t v) { values_.push_back(v); }

  void step() {
    std::uint32_t x = any();
    DType t = dtype(x);
    if (t == DType::Bool && chance(70)) x = as(t = chance(70) ? DType::Float32 : DType::Int32, x);
    const std::vector<ScalarOp> binary{ScalarOp::Add, ScalarOp::Sub, ScalarOp::Mul, ScalarOp::Max, ScalarOp::Min};
    switch (pick(0, 9)) {
      case 0:
      case 1:
      case 2: return keep(clamped(b_.op(one_of(binary), t, x, as(t, any()))));
      case 3: return keep(b_.op(chance(50) ? ScalarOp::Lt : ScalarOp::Eq, DType::Bool, x, as(t, any())));
      case 4: return keep(b_.op(ScalarOp::Where, t, as(DType::Bool, any()), x, as(t, any())));
      case 5: return keep(b_.cast(kLoopDTypes[pick(0, 8)], clamped(x)));
      case 6: {
        if (b_.k.extents.empty()) return;
        BodyNode n{BodyNode::Kind::Index, chance(50) ? DType::Int64 : DType::Int32};
        n.iimm = pick(0, static_cast<int>(b_.k.extents.size()) - 1);
        return keep(clamped(b_.add(n)));
      }
      case 7: {
        BodyNode n{BodyNode::Kind::Param, chance(50) ? DType::Float32 : DType::Int32};
        n.param = pick(-5, 5);
        return keep(b_.add(n));
      }
      default: {
        if (b_.k.n_kept == static_cast<int>(b_.k.extents.size())) return keep(b_.op(ScalarOp::Not, DType::Bool, x));
        const ReduceOp o = t == DType::Bool
                               ? (chance(50) ? ReduceOp::Any : ReduceOp::All)
                               : one_of(std::vector<ReduceOp>{ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min});
        const DType r = o == ReduceOp::Sum && !is_floating(t) ? DType::Int64 : t;
        const std::uint32_t v = b_.reduce(o, r, x, b_.k.n_parts > 0 && chance(60));
        return keep(r == DType::Bool || o != ReduceOp::Sum ? v : clamped(v));
      }
    }
  }

  void output(std::uint32_t v) {
    const kernels::LoopAnalysis info = kernels::analyse(b_.k);
    const std::uint32_t predicate = chance(15) ? as(DType::Bool, any()) : ~0u;
    const kernels::LoopAnalysis with_cast = kernels::analyse(b_.k);
    std::uint32_t dims = info.dims[v] | info.kept_mask;
    if (predicate != ~0u) dims |= with_cast.dims[predicate];
    if (dims & info.inside_mask) dims = all_dims();
    else if (dims & info.parts_mask) dims |= info.parts_mask;
    const DType r = dtype(v);
    const DType t = r == DType::Float32 && chance(30) ? (chance(50) ? DType::Float16 : DType::BFloat16) : r;
    b_.output(t, v, distinct(dims), predicate);
  }

  std::mt19937 rng_;
  KernelBuilder b_;
  std::vector<std::uint32_t> values_;
};

}  // namespace

LoopKernel random_loop(std::uint32_t seed) { return Generator(seed).make(); }

}  // namespace reprise::test
