// What is found by itself (docs/custom_operators.md): operators that a program has written with primitives.
//
// Note [Shipped patterns]
// A pattern is of one dtype and number of dimensions, and there are several spellings of each function: all of them
// would be some hundreds, which nearly no program needs. So a family of spellings names the operators without which it
// cannot be there, and its patterns are traced for a dtype and a rank when the first graph comes that has these
// operators of them. A graph that has not, and that is nearly every one, costs a look at its operators.
//
// What stands for a match must not change results by more than compiled functions may: the replacements compute the
// same function, and round less often where the program rounds to a half type in between, as fusion does.
#include "runtime/build/shipped_patterns.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/float_state.h"
#include "base/knobs.h"
#include "base/list.h"
#include "base/mutex.h"
#include "graph/api_args.h"
#include "passes/layouts.h"
#include "reprise/ops.h"

namespace reprise::detail {

namespace {

using graph::OpId;
using graph::api::arg;
using passes::RegisteredPattern;
using Made = std::vector<std::shared_ptr<const RegisteredPattern>>;
using Ops = std::unordered_set<OpId>;

/// A pattern, the operators without which a graph cannot have it, and how it is made when the first graph has them all.
struct Row {
  std::vector<OpId> needs;
  std::function<RegisteredPattern()> make;
  std::shared_ptr<const RegisteredPattern> pattern = {};
  bool made = false;
};

class Rows {
 public:
  Rows(const char* name, DType dtype, int rank) : dtype(dtype), rank(rank), name_(name) {}
  /// `example`: makes the arguments.
  template <class P, class R, class E>
  void add(std::vector<OpId> needs, P pattern, R replacement, E example, PatternCondition may_match = {}) {
    all.push_back({std::move(needs), [=, name = name_] {
                     const auto arguments = example();
                     return shipped_pattern(
                         name, {pattern_function(pattern, arguments), pattern_function(replacement, arguments)},
                         may_match);
                   }});
  }
  /// Makes one argument of other sizes in each dimension, with more behind it.
  template <class... More>
  auto tensor(More... more) const {
    return [rank = rank, dtype = dtype, more...] {
      Ints sizes;
      for (int d = 0; d < rank; ++d) sizes.push_back(2 + d);
      return std::tuple(empty(sizes, {.dtype = dtype}), more...);
    };
  }
  const DType dtype;
  const int rank;
  std::vector<Row> all;

 private:
  const char* name_;
};

/// Is it this number, as people round it?
bool is_about(const Scalar& s, double v) {
  return !s.is_symbolic() && std::abs(s.to_double() - v) <= 1e-5 * std::abs(v);
}
PatternCondition numbers(std::vector<double> wanted) {
  return [wanted](const PatternMatch& m) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (!is_about(m.number(i), wanted[i]))
        return "the number " + std::to_string(i) + " is not " + std::to_string(wanted[i]);
    return std::string();
  };
}

// ---- activations

constexpr double kCubic = 0.044715;

void silu_of_sigmoid(Rows& r) {
  r.add(
      {OpId::mul}, [](Tensor x) { return x * sigmoid(x); }, [](Tensor x) { return silu(x); }, r.tensor());
}
void silu_of_exp(Rows& r) {
  r.add(
      {OpId::div}, [](Tensor x) { return x / (exp(-x) + 1); }, [](Tensor x) { return silu(x); }, r.tensor());
  r.add(
      {OpId::div, OpId::mul}, [](Tensor x) { return x * (1 / (exp(-x) + 1)); }, [](Tensor x) { return silu(x); },
      r.tensor());
  r.add(
      {OpId::reciprocal, OpId::mul}, [](Tensor x) { return x * reciprocal(exp(-x) + 1); },
      [](Tensor x) { return silu(x); }, r.tensor());
}

/// x * half * (1 + e), in the orders of its three factors.
template <class E, class... C>
void gelu_of(Rows& r, std::vector<OpId> needs, const char* approximate, E e, const PatternCondition& condition,
             C... c) {
  const auto example = r.tensor(Scalar(0.5), c...);
  auto gelu_ = [approximate](Tensor x, Scalar, auto...) { return gelu(x, approximate); };
  r.add(
      needs, [e](Tensor x, Scalar half, auto... c) { return x * half * (e(x, c...) + 1); }, gelu_, example, condition);
  r.add(
      needs, [e](Tensor x, Scalar half, auto... c) { return x * ((e(x, c...) + 1) * half); }, gelu_, example,
      condition);
  r.add(
      needs, [e](Tensor x, Scalar half, auto... c) { return x * (e(x, c...) + 1) * half; }, gelu_, example, condition);
}
void gelu_of_erf(Rows& r) {
  gelu_of(
      r, {OpId::div}, "none", [](Tensor x, Scalar c) { return erf(x / c); }, numbers({0.5, std::sqrt(2.0)}),
      Scalar(1.5));
  gelu_of(
      r, {}, "none", [](Tensor x, Scalar c) { return erf(x * c); }, numbers({0.5, std::sqrt(0.5)}), Scalar(1.5));
}
void gelu_of_tanh(Rows& r) {
  const double root = std::sqrt(2 / std::acos(-1.0));
  gelu_of(
      r, {}, "tanh", [](Tensor x, Scalar c, Scalar k) { return tanh((x + x * x * x * k) * c); },
      numbers({0.5, root, kCubic}), Scalar(1.5), Scalar(2.5));
  gelu_of(
      r, {}, "tanh", [](Tensor x, Scalar c, Scalar k) { return tanh((x + x * k * x * x) * c); },
      numbers({0.5, root, kCubic}), Scalar(1.5), Scalar(2.5));
  gelu_of(
      r, {OpId::pow}, "tanh", [](Tensor x, Scalar c, Scalar k) { return tanh((x + pow(x, 3) * k) * c); },
      numbers({0.5, root, kCubic}), Scalar(1.5), Scalar(2.5));
  gelu_of(
      r, {}, "tanh", [](Tensor x, Scalar c, Scalar k) { return tanh(x * c * (x * x * k + 1)); },
      numbers({0.5, root, kCubic}), Scalar(1.5), Scalar(2.5));
  gelu_of(
      r, {}, "tanh", [](Tensor x, Scalar c, Scalar k) { return tanh(x * c * (x * k * x + 1)); },
      numbers({0.5, root, kCubic}), Scalar(1.5), Scalar(2.5));
}

// ---- norms

// As models write it that keep their activations in a half type: normalized in float32, and rounded before the weight.
// (The other spellings are the one that composites are taken apart into, or become it in passes/spell_alike.cc.)
void rms_norm_of_halves(Rows& r) {
  const DType t = r.dtype;
  const int last = 1 + r.rank;
  r.add(
      {OpId::rsqrt, OpId::mean, OpId::mul},
      [t](Tensor x, Tensor w, Scalar eps) {
        const Tensor f = x.to(kFloat32);
        return (f * rsqrt((f * f).mean({-1}, true) + eps)).to(t) * w;
      },
      [](Tensor x, Tensor w, Scalar eps) {
        const Ints row{x.size(-1)};
        return graph::call1(OpId::rms_norm, {arg(x), arg(IntArrayRef(row)), arg(w), arg(eps)}, {});
      },
      [x = r.tensor(), last, t] { return std::tuple_cat(x(), std::tuple(empty({last}, {.dtype = t}), Scalar(1e-5))); });
}

// ---- attention

enum class Scaled { Not, Times, By };
enum class Masked { Not, Rows, All, Heads, One, FilledAbove, FilledBelow, Where };

/// softmax(query key^T, scaled and masked) value. The key comes as its factor of the product stands: a view of it in
/// the replacement costs nothing.
void attention_of(Rows& r, bool batches, Scaled scaled, Masked masked, bool in_float32) {
  const int rank = r.rank;
  const DType t = r.dtype;
  Ints q, k, v, mask{5, 6};
  for (int d = 0; d + 2 < rank; ++d) q.push_back(2 + d), k.push_back(2 + d), v.push_back(2 + d);
  for (int n : {5, 7}) q.push_back(n);
  for (int n : {7, 6}) k.push_back(n);
  for (int n : {6, 8}) v.push_back(n);
  if (masked == Masked::All || masked == Masked::Heads || masked == Masked::One)
    for (int d = rank - 2; d-- > 0;)
      mask.insert(mask.begin(), masked == Masked::All || (masked == Masked::Heads && d == 0) ? Int(2 + d) : Int(1));
  auto times = [batches](const Tensor& a, const Tensor& b) { return batches ? bmm(a, b) : matmul(a, b); };
  auto pattern = [=](Tensor q, Tensor k, Tensor v, Tensor mask, Scalar c, Scalar fill) {
    Tensor s = times(q, k);
    if (scaled == Scaled::Times) s = s * c;
    if (scaled == Scaled::By) s = s / c;
    const Ints square{s.size(-2), s.size(-1)};
    switch (masked) {
      case Masked::Not: break;
      case Masked::Rows:
      case Masked::All:
      case Masked::Heads:
      case Masked::One: s = s + mask; break;
      case Masked::FilledAbove: s = s.masked_fill(ones(square, {.dtype = kBool}).triu(1), fill); break;
      case Masked::FilledBelow: s = s.masked_fill(ones(square, {.dtype = kFloat32}).tril() == 0, fill); break;
      case Masked::Where: s = where(ones(square, {.dtype = kBool}).tril(), s, fill); break;
    }
    const Tensor p = in_float32 ? softmax(s, -1, kFloat32).to(t) : softmax(s, -1);
    return times(p, v);
  };
  const bool added =
      masked == Masked::Rows || masked == Masked::All || masked == Masked::Heads || masked == Masked::One;
  const bool causal = masked != Masked::Not && !added;
  auto replacement = [=](Tensor q, Tensor k, Tensor v, Tensor mask, Scalar c, Scalar) {
    const Tensor none;
    // By 1 / c only the query can be scaled here, which is less than the scores are.
    if (scaled == Scaled::By) q = q / c;
    const Scalar by = scaled == Scaled::Times ? c : Scalar(1.0);
    const Tensor rows = k.transpose(-2, -1);
    const Tensor y = graph::call1(
        OpId::scaled_dot_product_attention,
        {arg(q), arg(rows), arg(v), arg(added ? mask : none), arg(0.0), arg(causal), arg(by), arg(false)}, {});
    if (!added) return y;
    // Of a row of which all is masked, and there is something, softmax makes NaN, and attention zeros.
    const Tensor seen = (mask != -std::numeric_limits<double>::infinity()).sum({-1}, true);
    return y.masked_fill(seen < Scalar(Int::min(k.size(-1), 1)), std::numeric_limits<double>::quiet_NaN());
  };
  std::vector<OpId> needs;
  if (scaled == Scaled::Times) needs.push_back(OpId::mul);
  if (scaled == Scaled::By) needs.push_back(OpId::div);
  if (added) needs.push_back(OpId::add);
  if (causal) needs.push_back(OpId::arange);
  if (causal) needs.push_back(masked == Masked::Where ? OpId::where : OpId::masked_fill);
  auto may_match = [scaled, causal](const PatternMatch& m) -> std::string {
    if (scaled == Scaled::Times && m.number(0).is_symbolic()) return "the scale is not known";
    // What is left of it by the exponential must be nothing; each row has its diagonal.
    if (causal && (m.number(1).is_symbolic() || !(m.number(1).to_double() <= -1e9))) return "what is masked takes part";
    return "";
  };
  r.add(
      std::move(needs), pattern, replacement,
      [=] {
        auto of = [t](const Ints& sizes) { return empty(sizes, {.dtype = t}); };
        return std::tuple(of(q), of(k), of(v), of(mask), Scalar(0.5), Scalar(-0.25));
      },
      may_match);
}
/// `batches`: its products are bmm.
void attention_of(Rows& r, bool batches) {
  for (bool in_float32 : {false, true}) {
    if (in_float32 && !is_low_precision(r.dtype)) continue;
    for (Scaled s : {Scaled::Times, Scaled::By, Scaled::Not})
      for (Masked m : {Masked::FilledAbove, Masked::FilledBelow, Masked::Where, Masked::Rows, Masked::All,
                       Masked::Heads, Masked::One, Masked::Not}) {
        if (r.rank == 2 && (m == Masked::All || m == Masked::Heads || m == Masked::One)) continue;
        if (r.rank == 3 && m == Masked::Heads) continue;
        attention_of(r, batches, s, m, in_float32);
      }
  }
}
void attention_of_matmul(Rows& r) { attention_of(r, false); }
void attention_of_bmm(Rows& r) { attention_of(r, true); }

// ---- families

struct Family {
  const char* name;
  OpId anchor;              ///< whose results say for which dtypes and ranks it is wanted
  std::vector<OpId> needs;  ///< beside it
  bool halves;              ///< of half types only
  double number;            ///< that it cannot be without; 0: there is none
  int least_rank, most_rank;
  void (*make)(Rows&);
};
const std::vector<Family>& families() {
  static const auto& all = *new std::vector<Family>{
      {"attention", OpId::matmul, {OpId::softmax}, false, 0, 2, 4, attention_of_matmul},
      {"attention", OpId::bmm, {OpId::softmax}, false, 0, 3, 3, attention_of_bmm},
      {"rms_norm", OpId::to, {OpId::rsqrt, OpId::mean}, true, 0, 2, 4, rms_norm_of_halves},
      {"gelu", OpId::erf, {OpId::mul, OpId::add}, false, 0.5, 1, 4, gelu_of_erf},
      {"gelu", OpId::tanh, {OpId::mul, OpId::add}, false, kCubic, 1, 4, gelu_of_tanh},
      {"silu", OpId::exp, {OpId::neg, OpId::add}, false, 0, 1, 4, silu_of_exp},
      {"silu", OpId::sigmoid, {OpId::mul}, false, 0, 1, 4, silu_of_sigmoid},
  };
  return all;
}

/// Of the setting as it is when it is first read: a name that is no pattern's is told once.
void check_names(const std::string& knob) {
  // the last two are passes
  std::set<std::string_view> there{"none", "shipped", passes::kQuantizedWeights, passes::kChannelsLast};
  for (const Family& f : families()) there.insert(f.name);
  const std::vector<std::string_view> names(there.begin(), there.end());
  for_each_listed(knob, [&](std::string_view name) {
    if (!name.empty() && !there.contains(name)) warn_unknown_pattern(name, names);
  });
}

bool has_number(const graph::Graph& g, double v) {
  return std::any_of(g.nodes.begin(), g.nodes.end(), [&](const graph::Node& n) {
    return std::any_of(n.args.begin(), n.args.end(), [&](const graph::NodeArg& a) {
      if (auto* region = std::get_if<graph::Region>(&a)) return has_number(**region, v);
      const Scalar* s = std::get_if<Scalar>(&a);
      return s && is_about(*s, v);
    });
  });
}

/// Those of some families, dtypes and ranks that a graph may have, which are made where they are not there yet.
class Table {
 public:
  struct Wanted {
    std::size_t family;
    DType dtype;
    int rank;
    auto operator<=>(const Wanted&) const = default;
  };
  template <class F>
  Made find(const std::vector<Wanted>& wanted, F&& has_all) {
    const MutexLock lock(mutex_);
    std::vector<Row*> rows;
    for (const Wanted& w : wanted) {
      auto [at, first] = all_.try_emplace(w);
      const Family& f = families()[w.family];
      if (first) {
        Rows r(f.name, w.dtype, w.rank);
        f.make(r);
        at->second = std::move(r.all);
      }
      for (Row& row : at->second)
        if (has_all(row.needs)) rows.push_back(&row);
    }
    if (std::any_of(rows.begin(), rows.end(), [](const Row* r) { return !r->made; })) make(rows);
    Made found;
    for (const Row* r : rows)
      if (r->pattern) found.push_back(r->pattern);
    return found;
  }

 private:
  /// On a thread of their own: this one may have modes, settings and a trace around it.
  static void make(const std::vector<Row*>& rows) {
    std::thread([&] {
      FloatState::set();
      for (Row* r : rows) {
        if (std::exchange(r->made, true)) continue;
        try {
          r->pattern = std::make_shared<const RegisteredPattern>(r->make());
        } catch (const std::exception& e) {
          warn_unmade(e.what());
        }
      }
    }).join();
  }
  Mutex mutex_;
  std::map<Wanted, std::vector<Row>> all_;
};

void note_operators(const graph::Graph& g, Ops& ops) {
  for (const graph::Node& n : g.nodes) {
    ops.insert(n.op);
    for (const graph::NodeArg& a : n.args)
      if (auto* region = std::get_if<graph::Region>(&a)) note_operators(**region, ops);
  }
}
void note_results(const graph::Graph& g, OpId op, std::set<std::pair<DType, int>>& seen) {
  for (const graph::Node& n : g.nodes) {
    if (n.op == op && !n.results.empty()) seen.emplace(g.meta(n.results[0]).dtype, g.meta(n.results[0]).dim());
    for (const graph::NodeArg& a : n.args)
      if (auto* region = std::get_if<graph::Region>(&a)) note_results(**region, op, seen);
  }
}

}  // namespace

std::vector<std::shared_ptr<const RegisteredPattern>> shipped_for(const graph::Graph& g) {
  Made found;
  [[maybe_unused]] static const bool checked = (check_names(knobs().patterns), true);
  if (knobs().patterns == "none" || g.nodes.size() < 2) return found;
  Ops ops;
  note_operators(g, ops);
  // These are what passes/spell_alike.cc makes.
  if (ops.contains(OpId::sqrt)) ops.insert(OpId::rsqrt);
  if (ops.contains(OpId::pow) || ops.contains(OpId::square)) ops.insert(OpId::mul);
  auto all_there = [&](const std::vector<OpId>& needs) {
    return std::all_of(needs.begin(), needs.end(), [&](OpId o) { return ops.contains(o); });
  };
  std::vector<Table::Wanted> wanted;
  for (std::size_t i = 0; i < families().size(); ++i) {
    const Family& f = families()[i];
    if (!ops.contains(f.anchor) || !all_there(f.needs) || !passes::is_wanted(f.name) ||
        (f.number != 0 && !has_number(g, f.number)))
      continue;
    std::set<std::pair<DType, int>> seen;
    note_results(g, f.anchor, seen);
    for (auto [dtype, rank] : seen)
      if (is_floating(dtype) && !is_storage_only(dtype) && (!f.halves || is_low_precision(dtype)) &&
          rank >= f.least_rank && rank <= f.most_rank)
        wanted.push_back({i, dtype, rank});
  }
  static Table& table = *new Table;
  return wanted.empty() ? found : table.find(wanted, all_there);
}

}  // namespace reprise::detail
