// Products whose weights are stored quantized, and are made floats before the product: linear(x, q.to(float32)) *
// scale.
//
// Note [Quantized weights]
// As it is written the weights are widened in memory, which costs several times what they are, and read again.
// scaled_mm reads them as they are stored. So the way from a product's weights back to what is quantized is followed:
// over casts, transpositions and factors that are one for a row of weights, for a block of them or for all; and from
// the product on over factors of columns and a bias. These become scaled_mm's scales and bias.
//
// It sums the same products in float32, multiplies the sum once, and rounds once, to what the program has last: where
// that rounds to a half type in between, less is rounded, as in all of fusion. (Integers of eight bits and float8 are
// exact in every type that they are widened to.) What makes the widened weights needed all the same, because somebody
// else reads them, keeps the product as it is.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/op_column.h"
#include "passes/pass.h"
#include "passes/registered.h"
#include "passes/rewrite.h"

namespace reprise::passes {

using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {

/// What an operator can be on the way.
enum class Part : std::uint8_t { None, ByRows, ByColumns, Turned, Times, Plus, Seen, Cast, Copy };
constinit const graph::OpColumn<Part> kParts("part of a product of quantized weights",
                                             {
                                                 {OpId::linear, Part::ByRows},
                                                 {OpId::mm, Part::ByColumns},
                                                 {OpId::permute, Part::Turned},
                                                 {OpId::mul, Part::Times},
                                                 {OpId::add, Part::Plus},
                                                 {OpId::view, Part::Seen},
                                                 {OpId::to, Part::Cast},
                                                 {OpId::clone, Part::Copy},
                                             });
Part part_of(const Node& n) {
  const Part* part = kParts.find(n.op);
  return part ? *part : Part::None;
}

bool is_quantized(DType t) { return t == DType::Int8 || is_storage_only(t); }
bool is_activation(DType t) { return t == DType::Float32 || t == DType::BFloat16 || t == DType::Float16; }
bool is_one(Int n) { return !n.is_symbolic() && n.hint() == 1; }
bool same(Int a, Int b) { return identical(a, b) || detail::compare_eq(a, b, {}).known_true(); }
bool same(const Ints& a, const Ints& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](Int x, Int y) { return same(x, y); });
}

/// What products are multiplied by.
struct Factor {
  enum class Of : std::uint8_t {
    All,     ///< one element
    Lines,   ///< one for each of the n columns of the product: a vector but for dims of size 1
    Blocks,  ///< by dims: [n or 1, k / block] or the other way round, when the dims of size 1 are gone
  } of = Of::All;
  ValueId value = {};
  int line_dim = 0;  ///< Blocks: where n is
  Ints gone = {};    ///< Blocks: dims of size 1 within blocks
};

/// A product and what becomes part of it.
struct Found {
  std::uint32_t product = 0, last = 0;  ///< nodes: `last` is what is replaced
  ValueId x, q;
  int q_k_dim = 0;  ///< of q, which has two dims
  Ints q_sizes;     ///< as which q is seen; empty: as it is
  std::vector<Factor> factors;
  double number = 1;
  Ints block;  ///< along k and n; empty: scales are of all of k
  ValueId bias;
  std::vector<ValueId> widened;  ///< between q and the product: nobody else may want them
};

class Search {
 public:
  explicit Search(const Graph& g) : g_(g), users_(g.values.size()), returned_(g.values.size()) {
    for (std::uint32_t n = 0; n < g.nodes.size(); ++n)
      graph::for_each_value(g.nodes[n], [&](ValueId v) { users_[v.v].push_back(n); });
    for (const graph::OutputSpec& o : g.outputs)
      if (o.value) returned_[o.value.v] = true;
  }

  std::vector<Found> run() {
    std::vector<Found> found;
    for (std::uint32_t n = 0; n < g_.nodes.size(); ++n) {
      const Node& node = g_.nodes[n];
      const bool rows = part_of(node) == Part::ByRows;
      if (!rows && part_of(node) != Part::ByColumns) continue;
      Found f;
      f.product = f.last = n;
      const ValueId w = std::get<ValueId>(node.args[1]);
      f.x = std::get<ValueId>(node.args[0]);
      if (!is_activation(dtype(f.x)) || !follow(w, rows ? 1 : 0, f)) continue;
      auto has = [&](Factor::Of of) {
        return std::any_of(f.factors.begin(), f.factors.end(), [&](const Factor& s) { return s.of == of; });
      };
      if (has(Factor::Of::Lines) && has(Factor::Of::Blocks)) continue;
      if (node.args.size() > 2)
        if (const ValueId* bias = std::get_if<ValueId>(&node.args[2]); bias && !take_bias(*bias, node.results[0], f))
          continue;
      found.push_back(std::move(f));
    }
    // What somebody else reads is widened anyway. One product less may be such a somebody for another one's weights.
    for (std::size_t before = found.size() + 1; found.size() < before;) {
      before = found.size();
      absorbed_.assign(g_.nodes.size(), false);
      for (const Found& f : found) {
        absorbed_[f.product] = true;
        for (ValueId v : f.widened) absorbed_[static_cast<std::size_t>(g_.values[v.v].node)] = true;
      }
      std::erase_if(found, [&](const Found& f) {
        return std::any_of(f.widened.begin(), f.widened.end(), [&](ValueId v) {
          return returned_[v.v] ||
                 std::any_of(users_[v.v].begin(), users_[v.v].end(), [&](std::uint32_t u) { return !absorbed_[u]; });
        });
      });
    }
    for (Found& f : found) take_what_follows(f);
    return found;
  }

 private:
  const Node* maker(ValueId v) const {
    const std::int32_t n = g_.values[v.v].node;
    return n < 0 ? nullptr : &g_.nodes[static_cast<std::size_t>(n)];
  }
  const Ints& sizes(ValueId v) const { return g_.meta(v).layout.sizes; }
  DType dtype(ValueId v) const { return g_.meta(v).dtype; }

  /// From the weights, of which k is dim `k_dim`, back to what is quantized.
  bool follow(ValueId v, int k_dim, Found& f) const {
    for (;;) {
      const Node* node = maker(v);
      if (!node || g_.meta(v).dim() != 2) return false;
      f.widened.push_back(v);
      const Part part = part_of(*node);
      if (part == Part::Turned) {  // of two dims, and not for nothing
        k_dim = 1 - k_dim;
        v = std::get<ValueId>(node->args[0]);
      } else if (part == Part::Times) {
        if (!take_factor(*node, v, k_dim, f)) return false;
      } else if (part == Part::Seen) {
        return follow_blocks(v, std::get<ValueId>(node->args[0]), k_dim, f);
      } else if (!take_cast(*node, v)) {
        return false;
      } else if (is_quantized(dtype(v))) {
        f.q = v, f.q_k_dim = k_dim;
        return true;
      }
    }
  }
  /// A cast from or among floats, or a copy.
  bool take_cast(const Node& node, ValueId& v) const {
    const Part part = part_of(node);
    if ((part != Part::Cast && part != Part::Copy) || !is_activation(dtype(v))) return false;
    const ValueId of = std::get<ValueId>(node.args[0]);
    if (!is_activation(dtype(of)) && !(part == Part::Cast && is_quantized(dtype(of)))) return false;
    v = of;
    return true;
  }
  /// The operand of a product that is as large as its result, and the other one.
  std::optional<std::pair<ValueId, NodeArg>> factors_of(const Node& node, ValueId result) const {
    for (int k : {0, 1}) {
      const ValueId* large = std::get_if<ValueId>(&node.args[static_cast<std::size_t>(k)]);
      const NodeArg& other = node.args[static_cast<std::size_t>(1 - k)];
      if (!large || !is_activation(dtype(*large)) || !same(sizes(*large), sizes(result))) continue;
      const ValueId* s = std::get_if<ValueId>(&other);
      if (s && same(sizes(*s), sizes(result)) && !std::all_of(sizes(*s).begin(), sizes(*s).end(), is_one)) continue;
      return std::pair(*large, other);
    }
    return std::nullopt;
  }
  bool take_number(const NodeArg& arg, Found& f) const {
    const Scalar* s = std::get_if<Scalar>(&arg);
    if (!s || s->is_symbolic()) return false;
    f.number *= s->to_double();
    return true;
  }
  /// Along every dim of `of` but `line_dim` one for all.
  bool take_lines(ValueId s, const Ints& of, std::size_t line_dim, Found& f) const {
    if (!is_activation(dtype(s)) || g_.meta(s).device != g_.meta(f.x).device || sizes(s).size() > of.size())
      return false;
    bool lines = false;
    for (std::size_t d = 0, lead = of.size() - sizes(s).size(); d < sizes(s).size(); ++d) {
      if (is_one(sizes(s)[d])) continue;
      if (d + lead != line_dim || !same(sizes(s)[d], of[line_dim])) return false;
      lines = true;
    }
    f.factors.push_back({lines ? Factor::Of::Lines : Factor::Of::All, s});
    return true;
  }
  bool take_factor(const Node& node, ValueId& v, int k_dim, Found& f) const {
    const auto factors = factors_of(node, v);
    if (!factors) return take_repeated(node, v, k_dim, f);
    if (!take_number(factors->second, f)) {
      const ValueId* s = std::get_if<ValueId>(&factors->second);
      if (!s || !take_lines(*s, sizes(v), static_cast<std::size_t>(1 - k_dim), f)) return false;
    }
    v = factors->first;
    return true;
  }

  /// Factors as large as the weights, which repeat those of blocks: repeat_interleave.
  bool take_repeated(const Node& node, ValueId& v, int k_dim, Found& f) const {
    const Ints whole = sizes(v);
    for (std::size_t k : {1u, 0u}) {
      const ValueId* s = std::get_if<ValueId>(&node.args[k]);
      const ValueId* other = std::get_if<ValueId>(&node.args[1 - k]);
      if (!s || !other || !f.block.empty() || !is_activation(dtype(*s)) || !is_activation(dtype(*other)) ||
          g_.meta(*s).device != g_.meta(f.x).device)
        return false;
      ValueId base = *s;
      Int block[2] = {1, 1};
      while (const std::optional<Repeated> r = repeated(base)) block[r->dim] = block[r->dim] * r->times, base = r->of;
      const Int along_k = block[k_dim], along_n = block[1 - k_dim];
      if (is_one(along_k) || along_k.is_symbolic() || along_n.is_symbolic() || g_.meta(base).dim() != 2) continue;
      if (!same(sizes(base)[0] * block[0], whole[0]) || !same(sizes(base)[1] * block[1], whole[1])) continue;
      f.factors.push_back({.of = Factor::Of::Blocks, .value = base, .line_dim = 1 - k_dim});
      f.block = {along_k, is_one(along_n) ? Int(kAnyBlock) : along_n};
      v = *other;
      return true;
    }
    return false;
  }
  struct Repeated {
    ValueId of;
    std::size_t dim;
    Int times;
  };
  /// v = of.repeat_interleave(times, dim), of two dims.
  std::optional<Repeated> repeated(ValueId v) const {
    auto is = [&](ValueId of, OpId op) {
      const Node* n = maker(of);
      return n && n->op == op ? n : nullptr;
    };
    const Node* view = g_.meta(v).dim() == 2 ? is(v, OpId::view) : nullptr;
    if (!view) return std::nullopt;
    ValueId of = std::get<ValueId>(view->args[0]);
    if (const Node* copy = is(of, OpId::clone)) of = std::get<ValueId>(copy->args[0]);
    const Node* expand = g_.meta(of).dim() == 3 ? is(of, OpId::expand) : nullptr;
    const Node* more = expand ? is(std::get<ValueId>(expand->args[0]), OpId::unsqueeze) : nullptr;
    if (!more) return std::nullopt;
    const ValueId base = std::get<ValueId>(more->args[0]);
    for (std::size_t d = 0; d < 2; ++d) {
      Ints apart = sizes(base);
      apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(d) + 1, sizes(of)[d + 1]);
      const std::int64_t at = std::get<Int>(more->args[1]).hint();
      if ((at < 0 ? at + 3 : at) == static_cast<std::int64_t>(d) + 1 && same(apart, sizes(of)))
        return Repeated{base, d, sizes(of)[d + 1]};
    }
    return std::nullopt;
  }

  /// `w`, [n, k] or [k, n], is a view of `v`, in which k, or k and n, are two dims: blocks and what is in one.
  bool follow_blocks(ValueId w, ValueId v, int k_dim, Found& f) const {
    const Ints whole = sizes(w), parts = sizes(v);
    if (parts.size() != 3 && parts.size() != 4) return false;
    const bool both = parts.size() == 4;
    const std::size_t k_at = k_dim == 0 ? 0 : both ? 2 : 1, n_at = k_dim == 0 ? 2 : 0;
    const Int k = whole[static_cast<std::size_t>(k_dim)], n = whole[static_cast<std::size_t>(1 - k_dim)];
    const Int block_k = parts[k_at + 1], block_n = both ? parts[n_at + 1] : Int(1);
    if (block_k.is_symbolic() || block_n.is_symbolic() || block_k.hint() < 1 || block_n.hint() < 1) return false;
    // The view says that there are as many elements. Where neither dim can have more, rounded down as they are, neither
    // has less (and where there are no elements it does not matter).
    auto no_more = [](Int blocks, Int block, Int of) {
      return same(blocks * block, of) || (identical(blocks, of / block) && (blocks * block).hint() == of.hint());
    };
    if (!no_more(parts[k_at], block_k, k) || !no_more(parts[n_at], block_n, n)) return false;
    bool scaled = false, whole_is_known = true;
    for (;;) {
      const Node* node = maker(v);
      const Part part = node ? part_of(*node) : Part::None;
      if (!node || (part != Part::Cast && part != Part::Copy && !whole_is_known)) return false;
      f.widened.push_back(v);
      if (part == Part::Times) {
        const auto factors = factors_of(*node, v);
        if (!factors) return false;
        if (!take_number(factors->second, f)) {
          const ValueId* s = std::get_if<ValueId>(&factors->second);
          if (!s || scaled || !take_blocks(*s, parts, k_at, n_at, both, f)) return false;
          scaled = true;
        }
        v = factors->first;
      } else if (part == Part::Seen) {  // widened before it is seen in blocks
        v = std::get<ValueId>(node->args[0]);
        if (same(sizes(v), whole)) return follow(v, k_dim, f);
        whole_is_known = false;
      } else if (!take_cast(*node, v)) {
        return false;
      } else if (is_quantized(dtype(v))) {
        break;
      }
    }
    // Seen in blocks before it is widened, or stored so.
    f.q_k_dim = k_dim;
    if (const Node* node = maker(v);
        node && part_of(*node) == Part::Seen && same(sizes(std::get<ValueId>(node->args[0])), whole)) {
      f.q = std::get<ValueId>(node->args[0]);
      return true;
    }
    if (!known_contiguous(g_.meta(v).layout)) return false;
    f.q = v, f.q_sizes = whole;
    return true;
  }
  bool take_blocks(ValueId s, const Ints& parts, std::size_t k_at, std::size_t n_at, bool both, Found& f) const {
    if (!is_activation(dtype(s)) || g_.meta(s).device != g_.meta(f.x).device || sizes(s).size() != parts.size())
      return false;
    Factor factor{Factor::Of::Blocks, s};
    for (std::size_t d = 0; d < parts.size(); ++d) {
      const bool inside = d == k_at + 1 || (both && d == n_at + 1);
      if (inside) factor.gone.push_back(static_cast<std::int64_t>(d));
      if (!is_one(sizes(s)[d]) && (inside || !same(sizes(s)[d], parts[d]))) return false;
    }
    factor.line_dim = n_at < k_at ? 0 : 1;
    f.block = {parts[k_at + 1], both ? parts[n_at + 1] : Int(kAnyBlock)};
    f.factors.push_back(std::move(factor));
    return true;
  }

  /// Factors of columns, casts and a bias, as long as each has one reader.
  void take_what_follows(Found& f) const {
    ValueId y = g_.nodes[f.product].results[0];
    if (f.bias) return;
    while (!returned_[y.v] && users_[y.v].size() == 1) {
      const std::uint32_t n = users_[y.v][0];
      const Node& node = g_.nodes[n];
      if (node.results.size() != 1) return;
      const ValueId result = node.results[0];
      if (!is_activation(dtype(result)) || sizes(result).empty() || !same(sizes(result).back(), sizes(y).back()))
        return;
      const Part part = part_of(node);
      if (part == Part::Times) {
        const auto factors = factors_of(node, result);
        if (!factors || factors->first != y) return;
        if (!take_number(factors->second, f)) {
          const ValueId* s = std::get_if<ValueId>(&factors->second);
          if (!s || !f.block.empty() || !take_lines(*s, sizes(result), sizes(result).size() - 1, f)) return;
        }
      } else if (part == Part::Plus) {
        const ValueId *a = std::get_if<ValueId>(&node.args[0]), *b = std::get_if<ValueId>(&node.args[1]);
        const Scalar* alpha = std::get_if<Scalar>(&node.args[2]);
        if (!a || !b || !alpha || alpha->is_symbolic() || alpha->to_double() != 1 || !same(sizes(result), sizes(y)))
          return;
        if (!take_bias(*a == y ? *b : *a, result, f)) return;
        f.last = n;
        return;
      } else if (part != Part::Cast && part != Part::Seen) {
        return;
      }
      y = result;
      f.last = n;
    }
  }
  bool take_bias(ValueId bias, ValueId result, Found& f) const {
    if (g_.meta(bias).dim() != 1 || !is_activation(dtype(bias)) || !same(sizes(bias)[0], sizes(result).back()) ||
        g_.meta(bias).device != g_.meta(f.x).device)
      return false;
    f.bias = bias;
    return true;
  }

  static constexpr std::int64_t kAnyBlock = 128;  // of n, where there are none
  const Graph& g_;
  std::vector<std::vector<std::uint32_t>> users_;  // by value: nodes, one for each operand
  std::vector<bool> returned_, absorbed_;
};

/// Emits what stands for one.
class Writing {
 public:
  Writing(Rewriter& rw, const Found& f, const TensorMeta& result) : rw_(rw), f_(f), result_(result) {}

  ValueId run() {
    ValueId x = rw_.now(f_.x), q = rw_.now(f_.q);
    if (!f_.q_sizes.empty()) q = rw_.emit(OpId::view, {q, f_.q_sizes});
    if (f_.q_k_dim == 1) q = rw_.emit(OpId::permute, {q, Ints{1, 0}});
    const Ints in = rw_.meta(x).layout.sizes;
    if (in.size() != 2) {
      Int rows = 1;
      for (std::size_t d = 0; d + 1 < in.size(); ++d) rows = rows * in[d];
      if (!known_contiguous(rw_.meta(x).layout)) x = rw_.emit(OpId::clone, {x});
      x = rw_.emit(OpId::view, {x, Ints{rows, in.back()}});
    }
    NodeArg block = std::monostate{}, bias = std::monostate{};
    if (!f_.block.empty()) block = f_.block;
    if (f_.bias) bias = rw_.now(f_.bias);
    ValueId y = rw_.emit(OpId::scaled_mm, {x, q, one(1), scale(), bias, result_.dtype, block});
    if (const Ints& is = rw_.meta(y).layout.sizes; !same(is, result_.layout.sizes))
      y = rw_.emit(OpId::view, {y, result_.layout.sizes});
    return y;
  }

 private:
  ValueId one(double number) {
    return rw_.emit(OpId::full, {Ints{}, Scalar(number), DType::Float32, result_.device.str()});
  }
  ValueId scale() {
    ValueId out;
    for (const Factor& f : f_.factors) {
      ValueId s = rw_.now(f.value);
      if (rw_.meta(s).dtype != DType::Float32) s = rw_.emit(OpId::to, {s, DType::Float32});
      const Ints sizes = rw_.meta(s).layout.sizes;
      Ints ones;
      for (std::size_t d = 0; d < sizes.size(); ++d)
        if (is_one(sizes[d])) ones.push_back(static_cast<std::int64_t>(d));
      if (f.of != Factor::Of::Blocks) {
        if (!ones.empty()) s = rw_.emit(OpId::squeeze, {s, ones});
        if (f.of == Factor::Of::Lines) s = rw_.emit(OpId::unsqueeze, {s, Int(0)});
      } else {
        s = rw_.emit(OpId::squeeze, {s, f.gone});
        if (f.line_dim == 0) s = rw_.emit(OpId::permute, {s, Ints{1, 0}});
      }
      out = out ? rw_.emit(OpId::mul, {out, s}) : s;
    }
    if (!out) return one(f_.number);
    return f_.number == 1 ? out : rw_.emit(OpId::mul, {out, Scalar(f_.number)});
  }

  Rewriter& rw_;
  const Found& f_;
  const TensorMeta& result_;
};

}  // namespace

bool quantized_weights(Graph& g, PassRecord& record) {
  const bool any = std::any_of(g.nodes.begin(), g.nodes.end(), [&](const Node& n) {
    const ValueId* of = part_of(n) == Part::Cast ? std::get_if<ValueId>(&n.args[0]) : nullptr;
    return of && is_quantized(g.meta(*of).dtype);
  });
  if (!any || !is_wanted(kQuantizedWeights)) return false;
  std::vector<Found> found = Search(g).run();
  if (found.empty()) return false;
  std::vector<const Found*> at(g.nodes.size());
  for (const Found& f : found) at[f.last] = &f;
  const bool changed = rewrite(g, [&](Rewriter& rw, Rewriter::Site& s) -> std::optional<std::vector<ValueId>> {
    const Found* f = at[static_cast<std::size_t>(&s.node - g.nodes.data())];
    if (!f) return std::nullopt;
    return {{Writing(rw, *f, s.result).run()}};
  });
  remove_dead(g);
  record.patterns.push_back({std::string(kQuantizedWeights), static_cast<std::int64_t>(found.size()), {}, {}});
  return changed;
}

}  // namespace reprise::passes
