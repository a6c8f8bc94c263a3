// The heart of the tests of lowering: random functional graphs over symbolic sizes, run for several concrete sizes in
// each mode. All values are small integers, so every mode must give exactly the same elements.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "executor.h"
#include "guards/shape_env.h"
#include "kernels/plan/lower.h"
#include "passes/pass.h"

namespace reprise::kernels {
namespace {

using graph::Graph;
using graph::NodeArg;
using graph::OpId;
using graph::OutputSpec;
using graph::ValueId;

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : rng_(seed) {
    g_.name = "random";
    g_.env = std::make_shared<guards::ShapeEnv>();
    hints_ = {3, 4, 2, 5};
    for (std::size_t i = 0; i < hints_.size(); ++i) {
      sizes_.push_back(g_.env->new_symbol({static_cast<std::uint32_t>(i), "s" + std::to_string(i)}, hints_[i], 0));
    }
  }

  Graph make() {
    int inputs = pick(1, 4);
    for (int i = 0; i < inputs; ++i) input();
    int nodes = pick(2, 22);
    for (int i = 0; i < nodes; ++i) step();
    outputs();
    return g_;
  }
  const Numbers& hints() const { return hints_; }

 private:
  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  const Layout& layout(ValueId v) const { return g_.meta(v).layout; }
  ValueId any() {
    return pool_[static_cast<std::size_t>(
        chance(50) ? pick(std::max(0, static_cast<int>(pool_.size()) - 4), static_cast<int>(pool_.size()) - 1)
                   : pick(0, static_cast<int>(pool_.size()) - 1))];
  }
  Int size() {
    return chance(80) ? sizes_[static_cast<std::size_t>(pick(0, 3))] : chance(50) ? Int(1) : Int(pick(2, 4));
  }

  void input() {
    Ints sizes;
    int rank = pick(chance(10) ? 0 : 1, 3);
    for (int d = 0; d < rank; ++d) sizes.push_back(size());
    TensorMeta m;
    m.dtype = chance(85) ? DType::Float32 : DType::Float64;
    m.layout = {sizes, contiguous_strides(sizes), 0};
    if (rank >= 2 && chance(25))
      std::swap(m.layout.sizes[0], m.layout.sizes[1]), std::swap(m.layout.strides[0], m.layout.strides[1]);
    if (rank >= 1 && chance(15)) {
      for (Int& s : m.layout.strides) s = s * 2;  // a strided slice of something larger
    }
    pool_.push_back(g_.add_input(m, "in" + std::to_string(g_.inputs.size())));
  }

  ValueId add(OpId op, std::vector<NodeArg> args) { return g_.add(op, std::move(args)); }
  ValueId keep(ValueId v) {
    // Clamped, so that sums and products stay small integers.
    pool_.push_back(v);
    return v;
  }
  ValueId clamped(ValueId v) { return add(OpId::clamp, {v, Scalar(-6), Scalar(6)}); }

  void step() {
    ValueId x = any();
    try {
      switch (pick(0, 15)) {
        case 0:
        case 1:
        case 2: binary(x); break;
        case 3: unary(x); break;
        case 4: reduce(x); break;
        case 5: normalise(x); break;
        case 6:
        case 7:
        case 8: view(x); break;
        case 9: flatten(x); break;
        case 10: cat(x); break;
        case 11:
        case 12: scatter(x); break;
        case 13: gather(x); break;
        case 14: native(x); break;
        default: create(); break;
      }
    } catch (const Error&) {
      // These operands do not fit this operator; the graph has not changed but for values nobody uses.
    }
  }

  void unary(ValueId x) {
    switch (pick(0, 5)) {
      case 0: keep(add(OpId::neg, {x})); break;
      case 1: keep(add(OpId::relu, {x})); break;
      case 2: keep(add(OpId::sign, {add(OpId::tanh, {x})})); break;  // expensive, and exact for integers
      case 3: keep(add(OpId::abs, {x})); break;
      case 4: keep(add(OpId::add, {x, Scalar(pick(-2, 2)), Scalar(1)})); break;
      default: keep(add(OpId::sign, {add(OpId::erf, {add(OpId::to, {x, DType::Float64})})})); break;
    }
  }
  void binary(ValueId x) {
    ValueId y = any();
    switch (pick(0, 4)) {
      case 0: keep(clamped(add(OpId::add, {x, y, Scalar(1)}))); break;
      case 1: keep(clamped(add(OpId::mul, {x, y}))); break;
      case 2: keep(add(OpId::maximum, {x, y})); break;
      case 3: keep(add(OpId::where, {add(OpId::gt, {x, Scalar(0)}), x, y})); break;
      default: keep(clamped(add(OpId::sub, {x, y, Scalar(1)}))); break;
    }
  }
  NodeArg some_dims(ValueId x) {
    Ints dims;
    for (int d = 0; d < layout(x).dim(); ++d) {
      if (chance(50)) dims.push_back(chance(30) ? d - layout(x).dim() : d);
    }
    if (dims.empty()) return std::monostate{};
    return dims;
  }
  void reduce(ValueId x) {
    NodeArg dims = some_dims(x);
    bool keepdim = chance(50);
    if (chance(60)) keep(clamped(add(OpId::sum, {x, dims, keepdim, std::monostate{}})));
    else keep(add(OpId::any, {x, dims, keepdim}));
  }
  // The shape of softmax and the norms: a reduction broadcast back over what it reduced.
  void normalise(ValueId x) {
    NodeArg dims = some_dims(x);
    if (chance(70)) dims = Ints{Int(-1)};
    ValueId m = clamped(add(OpId::sum, {x, dims, true, std::monostate{}}));
    ValueId d = clamped(add(OpId::sub, {x, m, Scalar(1)}));
    ValueId e = chance(40) ? add(OpId::sign, {add(OpId::tanh, {d})}) : d;
    if (chance(60)) {
      ValueId s = clamped(add(OpId::sum, {e, dims, true, std::monostate{}}));
      e = clamped(add(OpId::add, {e, s, Scalar(1)}));
      if (chance(30)) keep(s);
    }
    if (chance(30)) keep(d);
    if (chance(20)) keep(m);
    keep(e);
  }
  void view(ValueId x) {
    int rank = layout(x).dim();
    switch (rank == 0 ? pick(3, 4) : pick(0, 6)) {
      case 0: {
        Ints order;
        for (int d = 0; d < rank; ++d) order.push_back(d);
        std::shuffle(order.begin(), order.end(), rng_);
        keep(add(OpId::permute, {x, order}));
        break;
      }
      case 1: {
        int d = pick(0, std::max(0, rank - 1));
        Int n = layout(x).sizes[static_cast<std::size_t>(d)];
        if (chance(50)) keep(add(OpId::slice, {x, Int(d), Int(pick(0, 1)), NodeArg(), Int(chance(75) ? 1 : 2)}));
        else keep(add(OpId::slice, {x, Int(d), Int(0), NodeArg(n - 1), Int(1)}));
        break;
      }
      case 2: keep(add(OpId::select, {x, Int(pick(0, std::max(0, rank - 1))), Int(chance(70) ? 0 : -1)})); break;
      case 3: keep(add(OpId::unsqueeze, {x, Int(pick(0, rank))})); break;
      case 4: {
        Ints to = layout(x).sizes;
        to.insert(to.begin(), size());
        if (to.size() <= 4) keep(add(OpId::expand, {x, to}));
        break;
      }
      case 5:
        if (rank >= 2) keep(add(OpId::diagonal, {x, Int(pick(-1, 1)), Int(0), Int(1)}));
        break;
      default:
        if (rank >= 1 && !layout(x).sizes[0].is_symbolic() && layout(x).sizes[0].hint() == 1)
          keep(add(OpId::squeeze, {x, Ints{Int(0)}}));
        break;
    }
  }
  void flatten(ValueId x) {
    const Ints s = layout(x).sizes;
    if (s.size() < 2) return;
    if (!known_contiguous(layout(x))) x = add(OpId::clone, {x});
    Ints to{s[0] * s[1]};
    for (std::size_t d = 2; d < s.size(); ++d) to.push_back(s[d]);
    ValueId f = keep(add(OpId::view, {x, to}));
    if (chance(40)) {  // and back again after some work: what attention does with its heads
      ValueId y = add(OpId::abs, {f});
      keep(add(OpId::view, {y, s}));
    }
  }
  void cat(ValueId x) {
    std::vector<ValueId> parts{x};
    int dim = pick(0, std::max(0, layout(x).dim() - 1));
    for (int i = pick(1, 2); i > 0; --i) {
      ValueId y = chance(60) ? x : any();
      if (chance(60)) y = chance(50) ? add(OpId::neg, {y}) : add(OpId::mul, {y, Scalar(-1)});
      parts.push_back(y);
    }
    keep(add(OpId::cat, {parts, Int(dim)}));
  }
  // base[region] = something of the region's sizes; often x[r] = f(x[r]), often twice in a row.
  void scatter(ValueId x) {
    int rank = layout(x).dim();
    if (rank == 0) return;
    Int d = pick(0, rank - 1), n = layout(x).sizes[static_cast<std::size_t>(d.hint())];
    int nested = chance(20) && rank >= 2;
    ValueId base = x;
    if (nested) base = add(OpId::select, {x, Int(0), Int(0)}), d = 0, n = layout(base).sizes[0];
    Int start = pick(0, 1);
    NodeArg end = chance(50) ? NodeArg() : NodeArg(n);
    std::vector<NodeArg> region{d, start, end, Int(1)};
    ValueId part = add(OpId::slice, {base, region[0], region[1], region[2], region[3]});
    ValueId src = chance(50) ? clamped(add(OpId::add, {part, Scalar(1), Scalar(1)})) : add(OpId::copy, {part, any()});
    if (chance(10)) src = part;
    ValueId y = add(OpId::slice_scatter, {base, src, region[0], region[1], region[2], region[3]});
    if (nested) y = add(OpId::select_scatter, {x, y, Int(0), Int(0)});
    keep(y);
    if (chance(30)) keep(add(OpId::neg, {x}));  // the old value is read after the write
  }
  void gather(ValueId x) {
    if (layout(x).dim() == 0) return;
    int d = pick(0, layout(x).dim() - 1);
    ValueId index;
    if (chance(60))
      index = add(OpId::full,
                  {Ints{chance(50) ? size() : Int(3)}, Scalar(chance(90) ? 0 : -1), DType::Int64, std::string("cpu")});
    else
      index = add(OpId::arange, {Scalar(0), Scalar(layout(x).sizes[static_cast<std::size_t>(d)]), Scalar(1),
                                 DType::Int64, std::string("cpu")});
    int rank = layout(x).dim();
    switch (pick(0, 3)) {
      case 0: {  // x[:, index] and x[index, :, other]: negative values count from the end
        std::vector<ValueId> indices(static_cast<std::size_t>(rank));
        indices[static_cast<std::size_t>(d)] =
            chance(50) ? add(OpId::neg, {add(OpId::add, {index, Scalar(1), Scalar(1)})}) : index;
        if (rank > 1 && chance(60)) {
          ValueId other = add(OpId::full, {chance(50) ? Ints{} : Ints{2, 1}, Scalar(chance(50) ? 0 : -1), DType::Int64,
                                           std::string("cpu")});
          indices[static_cast<std::size_t>(d == 0 ? rank - 1 : 0)] = other;
        }
        keep(add(OpId::index, {x, indices}));
        break;
      }
      case 1: {  // gather: index values that count along the dim
        Ints along(static_cast<std::size_t>(rank), Int(1));
        along[static_cast<std::size_t>(d)] = layout(index).sizes[0];
        ValueId i = add(OpId::view, {index, along});
        Ints to = layout(x).sizes;
        to[static_cast<std::size_t>(d)] = layout(index).sizes[0];
        keep(add(OpId::gather, {x, Int(d), add(OpId::expand, {i, to})}));
        break;
      }
      default: keep(add(OpId::index_select, {x, Int(d), index})); break;
    }
  }
  void native(ValueId x) {
    if (layout(x).dim() == 0) return;
    if (chance(30)) {
      ValueId index = add(OpId::full, {layout(x).sizes, Scalar(0), DType::Int64, std::string("cpu")});
      keep(clamped(keep(add(OpId::scatter_add, {x, Int(0), index, chance(30) ? x : add(OpId::neg, {x})}))));
      return;
    }
    if (layout(x).dim() == 2 && chance(60)) keep(clamped(add(OpId::mm, {x, add(OpId::permute, {x, Ints{1, 0}})})));
    else if (chance(50)) keep(clamped(add(OpId::cumsum, {x, Int(0), std::monostate{}})));
    else
      keep(g_.nodes[static_cast<std::size_t>(g_.values[add(OpId::sort, {x, Int(-1), chance(50)}).v].node)].results[0]);
  }
  void create() {
    Ints sizes;
    for (int d = pick(1, 2); d > 0; --d) sizes.push_back(size());
    if (chance(50)) keep(add(OpId::full, {sizes, Scalar(pick(-3, 3)), DType::Float32, std::string("cpu")}));
    else keep(clamped(add(OpId::arange, {Scalar(0), Scalar(sizes[0]), Scalar(1), DType::Float32, std::string("cpu")})));
  }

  void outputs() {
    std::vector<ValueId> candidates(pool_.begin() + static_cast<std::ptrdiff_t>(g_.inputs.size()), pool_.end());
    int wanted = pick(1, 4);
    for (int i = 0; i < wanted && !candidates.empty(); ++i) {
      OutputSpec o;
      o.value = candidates[static_cast<std::size_t>(std::max(pick(0, static_cast<int>(candidates.size()) - 1),
                                                             pick(0, static_cast<int>(candidates.size()) - 1)))];
      g_.outputs.push_back(o);
    }
    if (chance(10)) {
      OutputSpec o;
      o.value = any();
      g_.outputs.push_back(o);
    }
    for (std::uint32_t i = 0; i < g_.inputs.size(); ++i) {
      ValueId in = g_.inputs[i].value;
      if (!chance(70)) continue;
      std::vector<ValueId> fits;
      for (ValueId v : pool_) {
        bool same = v != in && g_.meta(v).dtype == g_.meta(in).dtype && layout(v).dim() == layout(in).dim();
        for (int d = 0; same && d < layout(in).dim(); ++d) same = identical(layout(v).sizes[d], layout(in).sizes[d]);
        if (same) fits.push_back(v);
      }
      OutputSpec o;
      o.kind = OutputSpec::Kind::NewValueOfInput;
      o.source = i;
      if (fits.empty() || chance(20))
        o.value = g_.meta(in).dtype == DType::Float32 ? clamped(add(OpId::add, {in, Scalar(1), Scalar(1)}))
                                                      : add(OpId::neg, {in});
      else
        o.value =
            fits[static_cast<std::size_t>(pick(static_cast<int>(fits.size()) / 2, static_cast<int>(fits.size()) - 1))];
      g_.inputs[i].mutates_data = true;
      g_.outputs.push_back(o);
    }
  }

  std::mt19937 rng_;
  Graph g_;
  Numbers hints_;
  std::vector<Int> sizes_;
  std::vector<ValueId> pool_;
};

bool guards_hold(const Graph& g, const Numbers& n) {
  for (const guards::Guard& guard : g.env->guards()) {
    if (!number(Int(guard.condition), n)) return false;
  }
  return true;
}

std::string text(const Lowered& l) {
  std::string s = print(l);
  for (const Launch& launch : l.launches) {
    if (const auto* loop = std::get_if<LoopLaunch>(&launch.what)) s += print(loop->kernel);
  }
  return s;
}

struct Tally {
  int gathers = 0, in_place = 0, epilogue = 0, runs = 0, loops_full = 0, loops_apart = 0;
  std::int64_t bytes_full = 0, bytes_apart = 0;
};

void compare(std::uint32_t seed, Tally& tally, bool jit = false) {
  Generator gen(seed);
  Graph g = gen.make();
  if (g.outputs.empty()) return;
  std::string where = "seed " + std::to_string(seed);
  Lowered reference, apart, full;
  std::size_t guards = g.env->guards().size();
  try {
    passes::reinplace(g);
    reference = lower(g, Mode::Interpret);
    apart = lower(g, Mode::NoFuse);
    full = lower(g, Mode::Full);
  } catch (const Error& e) {
    FAIL() << where << ": " << e.what() << "\n" << graph::print(g, false);
  }
  ASSERT_EQ(g.env->guards().size(), guards) << where << ": lowering may not add guards, but added "
                                            << guards::to_string(g.env->guards().back().condition) << "\n"
                                            << graph::print(g, false);
  for (const Lowered::Out& o : full.outputs)
    tally.in_place += o.in_place, tally.epilogue += !o.in_place && !o.why.empty();
  for (const Launch& launch : full.launches) {
    const auto* loop = std::get_if<LoopLaunch>(&launch.what);
    if (!loop) continue;
    for (const Access& a : loop->kernel.accesses) tally.gathers += !a.gathers.empty();
  }
  tally.bytes_full += pool_bytes(full, gen.hints()), tally.bytes_apart += pool_bytes(apart, gen.hints());
  EXPECT_LE(pool_bytes(full, gen.hints()), 2 * pool_bytes(apart, gen.hints()) + 64)
      << where << graph::print(g, false) << text(full);
  tally.loops_full += static_cast<int>(full.launches.size());
  tally.loops_apart += static_cast<int>(apart.launches.size());
  std::mt19937 rng(seed ^ 0x5bd1u);
  for (Numbers n : {gen.hints(), Numbers{5, 2, 7, 3}, Numbers{1, 1, 1, 1}, Numbers{2, 3, 4, 6}, Numbers{6, 6, 6, 6}}) {
    if (!guards_hold(g, n)) continue;
    ++tally.runs;
    std::vector<Elements> inputs;
    for (const graph::InputSpec& in : g.inputs) {
      std::int64_t count = number(numel(g.meta(in.value).layout.sizes), n);
      Elements e;
      for (std::int64_t i = 0; i < count; ++i) e.push_back(std::uniform_int_distribution<int>(-3, 3)(rng));
      inputs.push_back(std::move(e));
    }
    Outcome want = execute(g, reference, n, inputs);
    for (const Lowered* l : {&apart, &full}) {
      if (jit && l == &apart) continue;
      Outcome got = execute(g, *l, n, inputs, jit);
      std::string which = where + (l == &full ? " full" : " no-fuse") + " s0=" + std::to_string(n[0]);
      ASSERT_EQ(got.fault.empty(), want.fault.empty()) << which << ": " << got.fault << want.fault;
      ASSERT_EQ(got.outputs, want.outputs) << which << "\n" << graph::print(g, false) << text(*l);
      ASSERT_EQ(got.inputs, want.fault.empty() ? want.inputs : inputs) << which << "\n"
                                                                       << graph::print(g, false) << text(*l);
    }
  }
}

TEST(RandomGraph, EveryModeGivesTheSame) {
  Tally tally;
  std::uint32_t first = 1, last = 3000;
  if (const char* range = std::getenv("LOWER_SEEDS")) {  // "17" or "1-100000": one seed again, or a longer search
    const char* dash = std::strchr(range, '-');
    first = static_cast<std::uint32_t>(std::atoi(range));
    last = dash ? static_cast<std::uint32_t>(std::atoi(dash + 1)) : first;
  }
  for (std::uint32_t seed = first; seed <= last && !HasFatalFailure(); ++seed) compare(seed, tally);
  // The generator reaches what it is meant to reach.
  if (last == first) return;
  EXPECT_GT(tally.gathers, 500);
  EXPECT_GT(tally.in_place, 500);
  EXPECT_GT(tally.epilogue, 100);
  EXPECT_GT(tally.runs, 5000);
  EXPECT_LT(tally.loops_full, tally.loops_apart);
  EXPECT_LT(tally.bytes_full, tally.bytes_apart);
  RecordProperty("gathers", tally.gathers);
  RecordProperty("in_place", tally.in_place);
  RecordProperty("epilogue", tally.epilogue);
}

// The same through machine code: what lowering makes is what the emitter is given in life.
TEST(RandomGraph, CompiledKernelsGiveTheSame) {
  Tally tally;
  for (std::uint32_t seed = 500001; seed <= 500120 && !HasFatalFailure(); ++seed) compare(seed, tally, true);
  EXPECT_GT(tally.runs, 150);
}

}  // namespace
}  // namespace reprise::kernels
