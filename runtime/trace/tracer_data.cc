// Numbers that depend on data, in a trace (Note [Sizes that depend on data] in guards/data_symbols.cc).
#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "operators/read_back.h"
#include "passes/functionalize.h"
#include "runtime/trace/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {

/// What a value is computed of, as a text: the same for two that are the same calls of the same values, between the
/// same writes. Values are places in memory, and a node that writes may change any: what was made before the last write
/// before it is read is named by itself, and so is what is far back.
class Origin {
 public:
  /// Of a value that is read behind all nodes. `writes_before`: by node, and behind the last.
  Origin(const graph::Graph& g, const std::vector<std::uint32_t>& writes_before, ValueId v)
      : g_(g), writes_before_(writes_before), at_(writes_before.size() - 1) {
    value(v);
  }
  std::string text;

 private:
  void value(ValueId v) {
    const std::int32_t n = g_.values[v.v].node;
    const std::uint32_t writes = writes_before_[at_];
    if (n < 0 || left_ == 0 || writes_before_[static_cast<std::size_t>(n)] != writes ||
        !graph::effects_of(g_.nodes[static_cast<std::size_t>(n)]).repeatable()) {
      text += "%" + std::to_string(v.v) + "@" + std::to_string(writes);
      return;
    }
    --left_;
    const std::size_t reader = std::exchange(at_, static_cast<std::size_t>(n));
    const graph::Node& node = g_.nodes[at_];
    text += "#" + std::to_string(static_cast<int>(node.op)) + "." + std::to_string(g_.values[v.v].result) + "(";
    for (const NodeArg& a : node.args) {
      text += std::to_string(a.index()) + ":";
      std::visit([&](const auto& x) { argument(x); }, a);
      text += ",";
    }
    text += ")";
    at_ = reader;
  }
  void argument(std::monostate) {}
  void argument(ValueId v) { value(v); }
  void argument(const std::vector<ValueId>& list) {
    for (ValueId v : list)
      if (v) value(v);
      else text += "-";
  }
  void argument(Int i) {
    text += (i.is_symbolic() ? "e" + std::to_string(i.expr()->id()) : std::to_string(i.hint())) + " ";
  }
  void argument(const Ints& list) {
    for (Int i : list) argument(i);
  }
  void argument(const Scalar& s) {
    text += std::to_string(static_cast<int>(s.kind())) + "=";
    argument(s.word());
  }
  void argument(bool b) { text += b ? "1" : "0"; }
  void argument(DType t) { text += std::to_string(static_cast<int>(t)); }
  void argument(const std::string& s) { text += std::to_string(s.size()) + s; }
  void argument(const graph::ViewArg& w) { text += "view of " + std::to_string(reinterpret_cast<std::uintptr_t>(&w)); }
  void argument(const graph::Region& r) {
    text += "region " + std::to_string(reinterpret_cast<std::uintptr_t>(r.get()));
  }

  const graph::Graph& g_;
  const std::vector<std::uint32_t>& writes_before_;
  std::size_t at_;  ///< the node that reads
  int left_ = 64;
};

struct Range {
  std::int64_t lo, hi;
};
template <class T>
constexpr Range all_of() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}
Range range_of(DType t) {
  switch (t) {
    case DType::Bool: return {0, 1};
    case DType::UInt8: return all_of<std::uint8_t>();
    case DType::Int8: return all_of<std::int8_t>();
    case DType::Int32: return all_of<std::int32_t>();
    default: return all_of<std::int64_t>();
  }
}

}  // namespace

// What was computed and read before is the same number, unless something was written in between.
Scalar Tracer::element_of(const Tensor& t, SourceLoc loc) {
  const DType dtype = [&] {
    Work work(*this);
    return found(t, loc).user_meta.dtype;
  }();
  // A bool is a branch on a value; in a branch of cond, a pattern, an operator nobody can read one.
  if (depth_ || !handles_ || (dtype == kBool && !decides)) bail(Bail::reads_value, "item", loc);
  const std::string origin = [&] {
    Work work(*this);
    const ValueId v = value_of(ref_of(t, loc));
    const std::vector<graph::Node>& nodes = out_.graph.nodes;
    for (std::size_t i = writes_before_.size() - 1; i < nodes.size(); ++i)
      writes_before_.push_back(writes_before_.back() +
                               (nodes[i].inplace || !graph::op(nodes[i].op).writes.empty() ? 1 : 0));
    return Origin(out_.graph, writes_before_, v).text;
  }();
  const bool is_float = is_floating(dtype);
  auto as_scalar = [&](const DataNumber& d) {
    if (dtype == kBool) return Scalar(static_cast<bool>(reprise::detail::compare_lt(0, d.symbol, loc)));
    return Scalar(is_float ? Scalar(0.0).with_word(d.symbol) : Scalar(d.symbol));
  };
  if (const auto known = data_of_.find(origin); known != data_of_.end()) return as_scalar(out_.data[known->second]);

  {
    auto emit = [&](OpId id, std::initializer_list<graph::CallArg> args) {
      std::vector<Tensor> made;
      call({graph::op(id), std::span(args.begin(), args.size()), false, loc}, made);
      return std::move(made[0]);
    };
    Tensor one = t;
    if (one.dim() != 0) one = emit(OpId::view, {&one, IntArrayRef()});
    if (const DType wide = is_float ? kFloat64 : kInt64; dtype != wide) one = emit(OpId::to, {&one, wide});
    Work work(*this);
    const std::string name = "number " + std::to_string(out_.data.size()) + " of data";
    const Range r = is_float ? all_of<std::int64_t>() : range_of(dtype);
    const std::int64_t hint = is_float ? std::bit_cast<std::int64_t>(1.5) : dtype == kBool ? 1 : 2;
    const Int symbol = env_->new_data_symbol(name, hint, r.lo, r.hi);
    out_.graph.add(operators::read_back_op(),
                   {value_of(ref_of(one, loc)), Int(static_cast<std::int64_t>(out_.data.size()))}, info(loc));
    ++calls_;  // what is assumed of the number comes later
    data_of_.emplace(origin, out_.data.size());
    out_.data.push_back({symbol, 0, is_float, loc});
  }
  return as_scalar(out_.data.back());
}

void Tracer::note_assumed() {
  const auto& all = env_->assumed();
  for (; assumptions_seen_ < all.size(); ++assumptions_seen_)
    if (const auto& a = all[assumptions_seen_]; !a.always) out_.assumed.emplace_back(calls_, a.condition);
}

void Tracer::note_named(const graph::Graph& g, std::unordered_map<std::int32_t, Ints>& named) {
  for (const graph::Node& n : g.nodes) {
    auto note = [&](const Int& i) {
      if (graph::depends_on_data(i)) named[n.info.sequence].push_back(i);
    };
    for (const NodeArg& a : n.args) {
      if (const auto* i = std::get_if<Int>(&a)) note(*i);
      if (const auto* s = std::get_if<Scalar>(&a)) note(s->word());
      if (const auto* l = std::get_if<Ints>(&a)) std::for_each(l->begin(), l->end(), note);
    }
    for (ValueId r : n.results) {
      const Ints& sizes = g.meta(r).layout.sizes;
      std::for_each(sizes.begin(), sizes.end(), note);
    }
  }
}

void Tracer::place_numbers() {
  for (std::size_t i = 0; i < out_.data.size(); ++i) {
    out_.data[i].word = static_cast<std::uint32_t>(captured_values_ + i);
    env_->place(out_.data[i].symbol.expr(), out_.data[i].word);
  }
}

void Tracer::place_data() {
  place_numbers();
  for (const DataNumber& d : out_.data) {
    if (d.is_float) out_.floats.emplace_back(d.word, d.symbol);
  }
  out_.draws_of_data = out_.uses_random && out_.random_count.is_symbolic() && env_->of_data(out_.random_count.expr());
}

void Tracer::decided(Decision d) { out_.decisions.push_back(std::move(d)); }

std::vector<std::int64_t> Tracer::call_values() {
  place_numbers();
  std::vector<std::int64_t> values(captured_values_ + out_.data.size());
  for (const guards::Symbol& s : env_->symbols())
    if (!s.of_data && s.source.word < values.size()) values[s.source.word] = s.hint;
  if (out_.uses_random) std::tie(values[kSeedValue], values[kOffsetValue]) = graph::take_random(0);
  return values;
}

Tracer::Prefix Tracer::prefix() {
  Work work(*this);
  note_assumed();
  Prefix p;
  p.values = call_values();
  Traced& t = p.traced;
  t.data = out_.data, t.assumed = out_.assumed, t.decisions = out_.decisions;
  t.floats = out_.floats;
  for (const DataNumber& d : t.data)
    if (d.is_float) t.floats.emplace_back(d.word, d.symbol);
  t.uses_random = out_.uses_random;
  note_named(out_.graph, t.named);
  passes::Functionalized made = passes::functionalize(out_.graph, input_facts());
  if (const auto& w = made.wanted) want_covering(w->input, w->op, w->loc, w->why);
  t.graph = std::move(made.graph);
  t.graph.outputs.clear(), t.graph.metadata_mutations.clear();
  for (graph::InputSpec& in : t.graph.inputs) in.mutates_data = in.mutates_metadata = false;
  for (const Input& in : inputs_) p.inputs.push_back(const_cast<TensorImpl*>(in.concrete));
  return p;
}

}  // namespace reprise::detail
