// Note [Layouts]
// An image [n, c, h, w] stands in memory with its planes apart (channels first, as it is told) or with the channels of
// a place side by side (channels last, [n, h, w, c]). Convolutions are faster in the one or in the other, by shape;
// what lies between them takes either. This pass gives each result of three to five dimensions one of the two, so that
// the bytes that are read across memory, and what convolutions pay (LayoutWish), are least: a minimum cut (min_cut.h),
// in which a result is a variable, and
// - a convolution pays by its layout, and for an image that stands in the other one, which must be copied;
// - an elementwise operator, a cat or a padding pays for each operand along which it does not go by the dimension that
// lies side by side. Whether that is so is asked through views, and
//   of operands that are repeated there it is not;
// - what counts elements in their order (view), a product, a reduction, and what the user is given pay for channels
// last; lookups take both. Reading across memory takes the time of copying kAcross times the bytes (four to five were
// measured of float32 [768, 32, 32]), reductions lose half of a copy. Inputs stand as they stand. Sizes count by their
// hints; results are right whatever these are. Ties are channels first.
//
// In the graph nothing is new: memory is row by row. An operator of which the result stands channels last becomes the
// same over operands with their dimensions in that order, whose result is [n, h, w, c], and what reads it reads a view,
// [n, c, h, w]. Of a convolution that is another operator (LayoutWish::channels_last). Sums of a convolution come in
// another order there, so that what is compiled and eager calls agree as far as rounding does.
#include "passes/layouts.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "device/backend.h"
#include "graph/view_column.h"
#include "passes/freeze.h"
#include "passes/min_cut.h"
#include "passes/registered.h"
#include "passes/rewrite.h"

namespace reprise::passes {

using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::OpClass;
using graph::OpId;
using graph::ValueId;

namespace {

constinit graph::OpColumn<LayoutWish> g_wishes("wish for a layout");

constexpr int kLeastDims = 3, kMostDims = 5;
constexpr std::int64_t kAcross = 4;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 46;  // that count: thousands of them are a number

/// Where dimension d of [n, c, h, w] is in [n, h, w, c].
int last_of(int d, int rank) { return d == 0 ? 0 : d == 1 ? rank - 1 : d - 1; }
Ints to_last(int rank) {
  Ints dims{0};
  for (int d = 2; d < rank; ++d) dims.push_back(d);
  dims.push_back(1);
  return dims;
}
Ints to_first(int rank) {
  Ints dims{0, rank - 1};
  for (int d = 1; d + 1 < rank; ++d) dims.push_back(d);
  return dims;
}

std::int64_t bytes_of(const TensorMeta& m) {
  std::int64_t n = item_size(m.dtype);
  for (Int s : m.layout.sizes)
    if (__builtin_mul_overflow(n, s.hint(), &n)) return kMostBytes;
  return std::clamp<std::int64_t>(n, 0, kMostBytes);
}
bool is_wide(const TensorMeta& m, int d) { return m.layout.sizes[static_cast<std::size_t>(d)].hint() > 1; }

// ---- operators with dimensions among their arguments: the same of an operand [n, h, w, c]

using Turn = void (*)(const Node&, int rank, std::vector<NodeArg>& args);
template <std::size_t I>
void turn_dim(const Node& n, int rank, std::vector<NodeArg>& args) {
  args[I] = Int(
      last_of(wrap_dim(std::get<Int>(args[I]).hint(), rank, graph::op(n.op).schema.name.c_str(), n.info.loc), rank));
}
void turn_sizes(const Node&, int rank, std::vector<NodeArg>& args) {
  const Ints sizes = std::get<Ints>(args[0]);
  Ints& turned = std::get<Ints>(args[0]);
  for (int d = 0; d < rank; ++d)
    turned[static_cast<std::size_t>(last_of(d, rank))] = sizes[static_cast<std::size_t>(d)];
}
constinit const graph::OpColumn<Turn> kTurns("the same in another order of dimensions",
                                             {
                                                 {OpId::full, turn_sizes},
                                                 {OpId::cat, turn_dim<1>},
                                                 {OpId::slice_scatter, turn_dim<2>},
                                                 {OpId::slice, turn_dim<1>},
                                             });

// ---- views: which dimension of it is dimension d of what it is of; -1: none

using Follow = int (*)(const Node&, const TensorMeta& in, int d);
int wrapped(const Node& n, std::size_t arg, int rank) {
  return wrap_dim(std::get<Int>(n.args[arg]).hint(), rank, "view", n.info.loc);
}
int follow_permute(const Node& n, const TensorMeta& in, int d) {
  const Ints& dims = std::get<Ints>(n.args[1]);
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (wrap_dim(dims[i].hint(), in.dim(), "view", n.info.loc) == d) return static_cast<int>(i);
  return -1;
}
int follow_select(const Node& n, const TensorMeta& in, int d) {
  const int at = wrapped(n, 1, in.dim());
  return d == at ? -1 : d - (d > at);
}
int follow_squeeze(const Node& n, const TensorMeta& in, int d) {
  const Ints* dims = std::get_if<Ints>(&n.args[1]);
  auto goes = [&](int i) {
    return !is_wide(in, i) && (!dims || std::any_of(dims->begin(), dims->end(), [&](Int s) {
      return wrap_dim(s.hint(), in.dim(), "view", n.info.loc) == i;
    }));
  };
  if (goes(d)) return -1;
  int before = 0;
  for (int i = 0; i < d; ++i) before += goes(i);
  return d - before;
}
int follow_unsqueeze(const Node& n, const TensorMeta& in, int d) { return d + (d >= wrapped(n, 1, in.dim() + 1)); }
int follow_expand(const Node& n, const TensorMeta& in, int d) {
  return d + static_cast<int>(std::get<Ints>(n.args[1]).size()) - in.dim();
}
constinit const graph::OpColumn<Follow> kFollows("where a dimension is in a view",
                                                 {
                                                     {OpId::permute, follow_permute},
                                                     {OpId::select, follow_select},
                                                     {OpId::squeeze, follow_squeeze},
                                                     {OpId::unsqueeze, follow_unsqueeze},
                                                     {OpId::expand, follow_expand},
                                                 });

// ---- what is chosen

/// How a value's memory lies. Of what a variable decides: for both of its layouts.
struct Lies {
  std::int32_t of = -1;        ///< the variable; -1: it is as it is
  int beside[2] = {-1, -1};    ///< the dimension along which elements lie side by side; -1: none is known
  bool costs_nothing = false;  ///< it is one number
};

int beside_by_strides(const Layout& l) {
  int best = -1;
  for (int d = l.dim(); d-- > 0;) {
    const auto i = static_cast<std::size_t>(d);
    if (l.sizes[i].hint() > 1 && l.strides[i].hint() > 0 &&
        (best < 0 || l.strides[i].hint() < l.strides[static_cast<std::size_t>(best)].hint()))
      best = d;
  }
  return best;
}

class Choice {
 public:
  /// `constant`: by value, is it computed once? Empty: none is.
  Choice(const Graph& g, LayoutCosts cost, std::vector<bool> constant)
      : g_(g), cost_(cost), constant_(std::move(constant)), variable_(g.nodes.size(), -1), lies_(g.values.size()) {}

  /// By node: does its result stand channels last?
  std::vector<bool> run() {
    find_variables();
    given_.resize(count_);
    MinCut cut(count_);
    cut_ = &cut;
    for (const graph::InputSpec& in : g_.inputs) settle(in.value);
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) see(i);
    for (const graph::OutputSpec& o : g_.outputs)
      if (o.value) give(o.value);
    std::vector<bool> last(g_.nodes.size());
    std::optional<std::vector<bool>> labels = cut.solve();
    for (const auto& [number, reader] : follow_)
      if (labels && (*labels)[reader] && !given_[number]) (*labels)[number] = true;
    for (std::size_t i = 0; i < last.size() && labels; ++i)
      last[i] = variable_[i] >= 0 && (*labels)[static_cast<std::size_t>(variable_[i])];
    return last;
  }

  static const LayoutWish* wish_of(const Graph& g, const Node& n) {
    const LayoutWish* w = g_wishes.find(n.op);
    return w && w->applies(g, n) ? w : nullptr;
  }

 private:
  void find_variables() {
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      const Node& n = g_.nodes[i];
      if (n.results.size() != 1 || n.inplace || graph::effects_of(n).any()) continue;
      const TensorMeta& m = g_.meta(n.results[0]);
      if (m.dim() < kLeastDims || m.dim() > kMostDims || !device::runs_host_code(m.device)) continue;
      if (wish_of(g_, n) || takes_any_order(n)) variable_[i] = static_cast<std::int32_t>(count_++);
    }
  }
  static bool takes_any_order(const Node& n) {
    switch (graph::op(n.op).cls) {
      case OpClass::Pointwise:
        return std::none_of(n.args.begin(), n.args.end(), [](const NodeArg& a) {
          return std::holds_alternative<Ints>(a) || std::holds_alternative<std::vector<ValueId>>(a) ||
                 std::holds_alternative<graph::ViewArg>(a) || std::holds_alternative<graph::Region>(a);
        });
      case OpClass::Join:
      case OpClass::Creation: return kTurns.find(n.op) && !n.keeps_self;
      default: return false;
    }
  }

  bool is_frozen(const Node& n) const {
    bool all = !constant_.empty();
    for (std::size_t a = 1; a < n.args.size(); ++a)
      graph::for_each_value(n.args[a], [&](ValueId v) { all = all && constant_[v.v]; });
    return all;
  }

  void settle(ValueId v) {
    const int d = beside_by_strides(g_.meta(v).layout);
    lies_[v.v] = {-1, {d, d}, false};
  }

  void see(std::size_t i) {
    const Node& n = g_.nodes[i];
    const OpClass cls = graph::op(n.op).cls;
    if (cls == OpClass::View) return see_view(n);
    for (ValueId r : n.results) settle(r);
    if (variable_[i] < 0) {
      const std::int64_t times = cls == OpClass::Reduction                             ? 1
                                 : cls == OpClass::Matmul || cls == OpClass::Attention ? kAcross
                                                                                       : 0;
      if (times)
        graph::for_each_value(n, [&](ValueId v) {
          pay(v, times, [&](int beside) { return beside >= 0 && beside != g_.meta(v).dim() - 1; });
        });
      return;
    }
    const TensorMeta& m = g_.meta(n.results[0]);
    const int rank = m.dim();
    const auto self = static_cast<std::size_t>(variable_[i]);
    Lies& made = lies_[n.results[0].v];
    made.of = variable_[i];
    for (int d = 0; d < rank; ++d)
      if (is_wide(m, d)) made.beside[0] = d;
    for (int d : {0, 2, 3, 4, 1})
      if (d < rank && is_wide(m, d)) made.beside[1] = d;
    if (const LayoutWish* wish = wish_of(g_, n)) {
      const LayoutCost cost = (cost_ ? cost_ : wish->cost)(g_, n, is_frozen(n));
      cut_->add(self, std::min(cost.channels_first, kMostBytes), std::min(cost.channels_last, kMostBytes));
      // By its own dimensions: the result may be one place.
      const ValueId image = std::get<ValueId>(n.args[0]);
      int wanted[2] = {-1, -1};
      for (int d = 0; d < rank; ++d)
        if (is_wide(g_.meta(image), d)) wanted[0] = d;
      for (int d : {0, 2, 3, 4, 1})
        if (d < rank && is_wide(g_.meta(image), d)) wanted[1] = d;
      return meet(image, self, wanted);
    }
    made.costs_nothing = cls == OpClass::Creation;
    graph::for_each_value(n, [&](ValueId v) {
      int wanted[2];
      for (int l = 0; l < 2; ++l) {
        const int d = made.beside[l] < 0 ? -1 : made.beside[l] - (rank - g_.meta(v).dim());
        wanted[l] = d >= 0 && is_wide(g_.meta(v), d) ? d : -1;
      }
      meet(v, self, wanted);
    });
  }

  void see_view(const Node& n) {
    const ValueId from = std::get<ValueId>(n.args[0]), v = n.results[0];
    const graph::ViewOf of = graph::view_facts_of(n.op).of;
    const Lies& is = lies_[from.v];
    if (of != graph::ViewOf::Operand || is.of < 0) {
      if (of != graph::ViewOf::Operand)
        pay(from, kAcross, [&, first = is.beside[0]](int beside) { return beside != first; });
      return settle(v);
    }
    lies_[v.v] = is;
    const Follow* follow = kFollows.find(n.op);
    for (int& d : lies_[v.v].beside) {
      if (d >= 0 && follow) d = (*follow)(n, g_.meta(from), d);
      if (d >= g_.meta(v).dim()) d = -1;
    }
  }

  /// What the variable of a value pays where it is read across memory.
  template <class F>
  void pay(ValueId v, std::int64_t times, F&& is_across) {
    const Lies& l = lies_[v.v];
    if (l.of < 0) return;
    const std::int64_t bytes = times * bytes_of(g_.meta(v));
    cut_->add(static_cast<std::size_t>(l.of), is_across(l.beside[0]) ? bytes : 0, is_across(l.beside[1]) ? bytes : 0);
  }

  /// An operand, of which the variable `self` goes along dimension wanted[layout].
  void meet(ValueId v, std::size_t self, const int (&wanted)[2]) {
    const Lies& l = lies_[v.v];
    if (l.costs_nothing) return follow_.push_back({static_cast<std::size_t>(l.of), self});
    const std::int64_t bytes = kAcross * bytes_of(g_.meta(v));
    auto cost = [&](int theirs, int mine) {
      return l.beside[theirs] >= 0 && wanted[mine] >= 0 && l.beside[theirs] != wanted[mine] ? bytes : 0;
    };
    if (l.of < 0) return cut_->add(self, cost(0, 0), cost(0, 1));
    const std::int64_t both[2][2] = {{cost(0, 0), cost(0, 1)}, {cost(1, 0), cost(1, 1)}};
    // Dimensions have changed places between them: then the order of this one is left as it is told.
    if (!cut_->add(static_cast<std::size_t>(l.of), self, both)) {
      cut_->add(static_cast<std::size_t>(l.of), both[0][0], both[1][0]);
      cut_->add(self, 0, kMostBytes);
    }
  }

  /// The user sees strides: a result that stands row by row is copied, one that does not must stay as it is.
  void give(ValueId v) {
    const Lies& l = lies_[v.v];
    if (l.of < 0) return;
    given_[static_cast<std::size_t>(l.of)] = true;
    const bool row_by_row = known_contiguous(g_.meta(v).layout);
    cut_->add(static_cast<std::size_t>(l.of), 0,
              !row_by_row                  ? kMostBytes
              : l.beside[0] != l.beside[1] ? kAcross * bytes_of(g_.meta(v))
                                           : 0);
  }

  const Graph& g_;
  LayoutCosts cost_;
  std::vector<bool> constant_;  // by value
  MinCut* cut_ = nullptr;
  std::size_t count_ = 0;
  std::vector<std::int32_t> variable_;                       // by node
  std::vector<Lies> lies_;                                   // by value
  std::vector<bool> given_;                                  // by variable: to the user
  std::vector<std::pair<std::size_t, std::size_t>> follow_;  // variables: one number in all places, and what reads it
};

// ---- and written down

class Writing {
 public:
  Writing(Rewriter& rw, std::unordered_map<std::uint32_t, ValueId>& last) : rw_(rw), last_(last) {}

  std::vector<ValueId> run(Rewriter::Site& s) {
    const int rank = s.result.dim();
    std::vector<NodeArg> args = s.args;
    OpId op = s.node.op;
    if (const LayoutWish* wish = g_wishes.find(op)) {
      op = wish->channels_last();
      args[0] = rw_.emit(OpId::permute, {beside(std::get<ValueId>(args[0])), to_first(rank)});
    } else {
      if (const Turn* turn = kTurns.find(op)) (*turn)(s.node, rank, args);
      for (NodeArg& a : args) {
        if (ValueId* v = std::get_if<ValueId>(&a); v && *v) *v = operand(*v, rank);
        if (auto* list = std::get_if<std::vector<ValueId>>(&a))
          for (ValueId& v : *list) v = operand(v, rank);
      }
    }
    const ValueId made = rw_.emit(op, std::move(args));
    const ValueId seen = rw_.emit(OpId::permute, {made, to_first(rank)});
    last_[seen.v] = made;
    return {seen};
  }

 private:
  /// [n, h, w, c] of [n, c, h, w].
  ValueId turned(ValueId v) {
    if (auto known = last_.find(v.v); known != last_.end()) return known->second;
    ValueId made;
    const Node* maker = rw_.maker(v);
    // A part of what stands so is a part of it in its own order.
    if (const Turn* turn = maker && graph::op(maker->op).cls == OpClass::View ? kTurns.find(maker->op) : nullptr;
        turn && last_.contains(std::get<ValueId>(maker->args[0]).v)) {
      const OpId op = maker->op;
      std::vector<NodeArg> args = maker->args;  // emitting moves the nodes
      (*turn)(*maker, rw_.meta(v).dim(), args);
      args[0] = last_.at(std::get<ValueId>(args[0]).v);
      made = rw_.emit(op, std::move(args));
    } else {
      made = rw_.emit(OpId::permute, {v, to_last(rw_.meta(v).dim())});
    }
    last_[v.v] = made;
    return made;
  }
  ValueId operand(ValueId v, int rank) {
    if (rw_.meta(v).dim() == 0) return v;
    while (rw_.meta(v).dim() < rank) v = rw_.emit(OpId::unsqueeze, {v, Int(0)});
    return turned(v);
  }
  /// The same with channels side by side.
  ValueId beside(ValueId image) {
    const ValueId v = turned(image);
    const Layout& l = rw_.meta(v).layout;
    if (identical(l.strides.back(), Int(1)) || known_contiguous(l)) return v;
    const ValueId copy = rw_.emit(OpId::clone, {v});
    last_[image.v] = copy;
    return copy;
  }

  Rewriter& rw_;
  std::unordered_map<std::uint32_t, ValueId>& last_;  // by value [n, c, h, w] of the new graph
};

}  // namespace

graph::OpColumn<LayoutWish>& layout_wishes() { return g_wishes; }

namespace {
thread_local const FrozenInputs* t_frozen = nullptr;
}

FrozenInputs::FrozenInputs(const Graph& of, const std::vector<std::uint32_t>& inputs)
    : of_(&of), inputs_(inputs), before_(t_frozen) {
  t_frozen = this;
}
FrozenInputs::~FrozenInputs() { t_frozen = before_; }

bool layouts(Graph& g, PassRecord& record, LayoutCosts cost) {
  if (std::none_of(g.nodes.begin(), g.nodes.end(),
                   [&](const Node& n) { return g_wishes.find(n.op) && Choice::wish_of(g, n); }))
    return false;
  std::vector<bool> constant;
  // no region has inputs of its own that are
  if (t_frozen && t_frozen->of_ == &g && !t_frozen->inputs_.empty()) constant = of_frozen_alone(g, t_frozen->inputs_);
  const std::vector<bool> last = Choice(g, cost, std::move(constant)).run();
  const auto count = std::count(last.begin(), last.end(), true);
  if (count == 0) return false;
  std::unordered_map<std::uint32_t, ValueId> turned;
  const bool changed = rewrite(g, [&](Rewriter& rw, Rewriter::Site& s) -> std::optional<std::vector<ValueId>> {
    if (!last[static_cast<std::size_t>(&s.node - g.nodes.data())]) return std::nullopt;
    return Writing(rw, turned).run(s);
  });
  eliminate_noops(g);  // what was a copy in that order
  remove_dead(g);
  record.patterns.push_back({std::string(kChannelsLast), count, {}, {}});
  return changed;
}

bool layouts(Graph& g, PassRecord& record) { return is_wanted(kChannelsLast) && layouts(g, record, nullptr); }

}  // namespace reprise::passes
