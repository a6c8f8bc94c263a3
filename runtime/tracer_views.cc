// Functionalization on the fly: views are chains, writes go back through them.
//
// Note [Writes through views]
// A storage has one current value, `base`. A tensor on it is a chain of view operators. To write `v` into the view
// c1(c2(...)), the inverses are applied from the inside out: what the innermost operator cut out is put back with its
// scatter (slice -> slice_scatter), giving a new value of what it was cut from, and so on up to a new base. Later reads of
// any other view of the storage replay their chain on the new base. Nothing in the graph is ever overwritten, and a pass
// that merges equal nodes removes what was replayed for nothing.
#include <algorithm>
#include <numeric>

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "runtime/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {
bool same_sizes(const Ints& a, const Ints& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](Int x, Int y) { return identical(x, y); });
}
}  // namespace

ValueId Tracer::contiguous(ValueId v, SourceLoc loc) {
  return known_contiguous(out_.graph.meta(v).layout) ? v : out_.graph.add(OpId::clone, {v}, loc);
}

ValueId Tracer::add_view(ValueId on, const ViewStep& step, SourceLoc loc) {
  // `view` was possible on the strides that the user's tensor had; a value made by a write is laid out otherwise.
  if (step.op == OpId::view || step.op == OpId::as_strided) on = contiguous(on, loc);
  std::vector<NodeArg> args = step.args;
  args[0] = on;
  return out_.graph.add(step.op, std::move(args), loc);
}

void TracedRef::take(const TracedRef& other) {
  user_meta = other.user_meta;
  chain = other.chain;
  origin = other.origin;
  at_origin = other.at_origin;
  cached = other.cached;
  cached_generation = other.cached_generation;
  exact = nullptr;
}

ValueId Tracer::value_of(TracedRef& ref) {
  if (ref.cached_generation == ref.storage->generation && ref.cached) return ref.cached;
  ValueId v = ref.storage->base;
  for (const ViewStep& step : ref.chain) v = add_view(v, step, {});
  ref.cached = v;
  ref.cached_generation = ref.storage->generation;
  return v;
}

Layout Tracer::user_layout(const graph::OpDef& def, TracedRef& self, const std::vector<NodeArg>& args, SourceLoc loc) {
  graph::NodeRuleArgs rest(out_.graph, args);
  std::vector<graph::RuleArg> with_self(rest.args().begin(), rest.args().end());
  with_self[0] = &self.user_meta;
  return graph::apply_view(def, with_self, self.user_meta.layout, loc);
}

Tensor Tracer::make_view(const graph::OpCall& c) {
  TracedRef& self = ref_of(*std::get<const Tensor*>(c.args[0]), c.loc);
  std::vector<NodeArg> args = node_args(c);
  if (c.op.id == OpId::as_strided) {
    storage_value(*self.storage, c.loc);  // it counts from the start of the storage, of which an input may show only a part
    if (std::holds_alternative<std::monostate>(args[3])) args[3] = exact_meta(self, c.loc).layout.offset;
  }
  auto ref = std::make_unique<TracedRef>(live_);
  ref->user_meta = self.user_meta;
  ref->user_meta.layout = user_layout(c.op, self, args, c.loc);
  ref->storage = self.storage;
  if (c.op.id != OpId::as_strided) {  // which is of the storage, not of the view
    ref->chain = self.chain;
    ref->origin = self.origin;
    ref->at_origin = self.at_origin;
  }
  ViewStep step{c.op.id, args};
  step.args[0] = std::monostate{};
  ValueId on = c.op.id == OpId::as_strided ? storage_value(*self.storage, c.loc) : std::get<ValueId>(args[0]);
  ref->chain.push_back(step);
  ref->cached = add_view(on, step, c.loc);
  ref->cached_generation = self.storage->generation;
  TracedRef* made = ref.release();
  return Tensor::adopt(made->impl = new_traced_impl(made));
}

// ATen refuses to write several elements at one address. Only expand and as_strided make such views of what has none; arguments
// are looked at call by call.
void Tracer::check_writable(TracedRef& ref, const std::string& op, SourceLoc loc) {
  const Layout& l = ref.user_meta.layout;
  for (std::size_t d = 0; d < l.strides.size(); ++d) {
    Int stride = l.strides[d], size = l.sizes[d];
    if (!stride.is_symbolic() && stride.hint() == 0 && size > 1 && numel(l.sizes) > 0)
      fail(ErrorCode::AliasConflict, op.c_str(), loc, "dimension ", d, " of the written tensor is expanded: ", size,
           " elements share one address; clone() it first");
  }
  const bool may_overlap = std::any_of(ref.chain.begin(), ref.chain.end(), [](const ViewStep& s) { return s.op == OpId::as_strided; });
  if (!may_overlap || known_contiguous(l)) return;
  if (auto conditions = graph::apart_conditions(l.sizes, l.strides, loc)) {
    for (const Bool& b : *conditions) graph::require(b, "write: elements stand apart");
    return;
  }
  // Windows over each other, or interleaved: decided on the numbers.
  TensorImpl numbers;
  numbers.rank = static_cast<std::uint8_t>(l.dim());
  for (int d = 0; d < l.dim(); ++d) {
    numbers.sizes[d] = l.sizes[static_cast<std::size_t>(d)].value(loc);
    numbers.strides[d] = l.strides[static_cast<std::size_t>(d)].value(loc);
  }
  if (overlaps_itself(numbers))
    fail(ErrorCode::AliasConflict, op.c_str(), loc, "several elements of the written tensor share one address: clone() it first");
}

bool Tracer::shows_storage(const TracedStorage& s) const {
  return s.input < 0 || static_cast<std::size_t>(s.input) >= inputs_.size() || known_contiguous(inputs_[static_cast<std::size_t>(s.input)].layout);
}

// The value in which places in the storage can be named. A traced input shows only its own elements: they are the storage when
// it is row-major and covers it, as it then must at every call.
ValueId Tracer::storage_value(TracedStorage& s, SourceLoc loc) {
  if (s.input >= 0) {
    const std::uint32_t i = static_cast<std::uint32_t>(s.input);
    const Input& input = inputs_[i];
    if (known_contiguous(input.layout) && !covers_its_storage(*input.concrete)) depends_on(TensorFact::Kind::PartOfStorage, i, 0);
    if (!known_contiguous(input.layout) || !covers_its_storage(*input.concrete))
      want_whole(*input.concrete, "as_strided", loc, "as_strided of an argument that does not cover its storage row-major");
    const bool flat = std::any_of(out_.wholes.begin(), out_.wholes.end(), [&](const Traced::Whole& w) { return w.input == i; });
    if (!flat && std::find(out_.whole_storage.begin(), out_.whole_storage.end(), i) == out_.whole_storage.end()) out_.whole_storage.push_back(i);
  }
  return contiguous(s.base, loc);
}

// A part of what is seen in another shape or order: the inverses would make all of the storage anew, in that order and then in its
// own, where only the part is written. Its places are few and known, where the storage stands row by row.
bool Tracer::is_part_of_another_shape(const TracedRef& ref) const {
  auto cuts = [](const ViewStep& s) { return s.op == OpId::slice || s.op == OpId::select || s.op == OpId::diagonal; };
  const auto other = std::find_if_not(ref.chain.begin(), ref.chain.end(), cuts);
  if (std::none_of(other, ref.chain.end(), cuts) || !shows_storage(*ref.storage)) return false;
  const Layout &base = out_.graph.meta(ref.storage->base).layout, &l = ref.user_meta.layout;
  return known_contiguous(base) && identical(base.offset, Int(0)) && graph::known_apart(l.sizes, l.strides);
}

// A view that as_strided made, or part of an expanded one, has no inverse but the places of its elements in the storage.
bool Tracer::write_in_storage(TracedRef& ref, ValueId value, SourceLoc loc) {
  graph::Graph& g = out_.graph;
  auto has = [&](OpId op) { return std::any_of(ref.chain.begin(), ref.chain.end(), [&](const ViewStep& s) { return s.op == op; }); };
  bool by_place = has(OpId::as_strided);
  if (!by_place && has(OpId::expand)) {
    ValueId at = ref.storage->base;
    for (const ViewStep& step : ref.chain) {
      ValueId next = add_view(at, step, loc);
      by_place = by_place || (step.op == OpId::expand && numel(g.meta(next).layout.sizes) != numel(g.meta(at).layout.sizes));
      at = next;
    }
  }
  by_place = by_place || is_part_of_another_shape(ref);
  if (!by_place) return false;
  if (!shows_storage(*ref.storage)) {
    const Input& input = inputs_[static_cast<std::size_t>(ref.storage->input)];
    want_whole(*input.concrete, "write", loc, "a write to a part of an expanded tensor");
  }
  const Layout& l = ref.user_meta.layout;
  if (!same_sizes(g.meta(value).layout.sizes, l.sizes)) value = g.add(OpId::expand, {value, l.sizes}, loc);
  ref.storage->base = g.add(OpId::as_strided_scatter, {contiguous(ref.storage->base, loc), value, l.sizes, l.strides, l.offset}, loc);
  ++ref.storage->generation;
  ref.cached = value;
  ref.cached_generation = ref.storage->generation;
  return true;
}

void Tracer::write(TracedRef& ref, ValueId value, SourceLoc loc) {
  graph::Graph& g = out_.graph;
  if (write_in_storage(ref, value, loc)) return;
  std::vector<ValueId> parents{ref.storage->base};
  for (const ViewStep& step : ref.chain) parents.push_back(add_view(parents.back(), step, loc));
  if (!same_sizes(g.meta(value).layout.sizes, g.meta(parents.back()).layout.sizes))
    value = g.add(OpId::expand, {value, g.meta(parents.back()).layout.sizes}, loc);
  ValueId now = value;
  for (std::size_t i = ref.chain.size(); i-- > 0;) {
    const ViewStep& step = ref.chain[i];
    ValueId parent = parents[i];
    const Ints sizes = g.meta(parent).layout.sizes;
    auto scatter = [&](OpId op) {
      std::vector<NodeArg> args{parent, now};
      args.insert(args.end(), step.args.begin() + 1, step.args.end());
      return g.add(op, std::move(args), loc);
    };
    switch (step.op) {
      case OpId::slice: now = scatter(OpId::slice_scatter); break;
      case OpId::select: now = scatter(OpId::select_scatter); break;
      case OpId::diagonal: now = scatter(OpId::diagonal_scatter); break;
      case OpId::permute: {
        const Ints& dims = std::get<Ints>(step.args[1]);
        Ints inverse(dims.size(), 0);
        for (std::size_t d = 0; d < dims.size(); ++d) {
          std::int64_t to = dims[d].value(loc);
          inverse[static_cast<std::size_t>(to < 0 ? to + static_cast<std::int64_t>(dims.size()) : to)] = static_cast<std::int64_t>(d);
        }
        now = g.add(OpId::permute, {now, inverse}, loc);
        break;
      }
      default: now = g.add(OpId::view, {contiguous(now, loc), sizes}, loc);  // view, squeeze, unsqueeze, expand of nothing
    }
  }
  ref.storage->base = now;
  ++ref.storage->generation;
  ref.cached = value;
  ref.cached_generation = ref.storage->generation;
  if (ref.chain.empty()) ref.cached = now;
}

// resize_ to more than the storage holds: a larger one with the old elements first and zeros after them, as eager makes it.
void Tracer::grow(TracedRef& ref, Int elements, SourceLoc loc) {
  graph::Graph& g = out_.graph;
  ValueId old = storage_value(*ref.storage, loc);
  const TensorMeta& m = g.meta(old);
  Int have = numel(m.layout.sizes);
  const DType dtype = m.dtype;
  const std::string device = m.device.str();
  ValueId flat = g.add(OpId::view, {old, Ints{have}}, loc);
  ValueId more = g.add(OpId::full, {Ints{elements - have}, Scalar(0), dtype, device}, loc);
  ref.storage = new_storage_of(g.add(OpId::cat, {std::vector<ValueId>{flat, more}, Int(0)}, loc));
  const Layout& l = exact_meta(ref, loc).layout;  // whose origin it leaves
  ref.chain = {{OpId::as_strided, {std::monostate{}, l.sizes, l.strides, l.offset}}};
  ref.origin = -1;
  ref.at_origin = 0;
  ref.cached = {};
}

// as_strided_scatter names places in self's storage: a copy of the storage with the part in its place, seen as self is. Of an
// expanded self ATen copies the elements instead, and names places in that copy.
void Tracer::scatter_in_storage(const graph::OpCall& c, std::vector<Tensor>& results) {
  graph::Graph& g = out_.graph;
  TracedRef& self = ref_of(*std::get<const Tensor*>(c.args[0]), c.loc);
  std::vector<NodeArg> args = node_args(c);
  const Layout seen = exact_meta(self, c.loc).layout;
  bool expanded = false;
  for (std::size_t d = 0; d < seen.sizes.size(); ++d) {
    const bool may = seen.strides[d].hint() == 0 && seen.sizes[d].hint() > 1;
    expanded = expanded || (may && graph::ask(detail::compare_eq(seen.strides[d], 0, c.loc), "as_strided_scatter: expanded") &&
                            graph::ask(detail::compare_lt(1, seen.sizes[d], c.loc), "as_strided_scatter: expanded"));
  }
  const bool no_offset = std::holds_alternative<std::monostate>(args[4]);
  if (expanded) {
    args[0] = contiguous(std::get<ValueId>(args[0]), c.loc);
    if (no_offset) args[4] = Int(0);
    results.push_back(fresh(g.add(OpId::as_strided_scatter, std::move(args), c.loc)));
    return;
  }
  for (std::size_t d = 0; d < seen.sizes.size(); ++d)  // that it is none is part of the answer
    if (seen.strides[d].hint() == 0 || seen.strides[d].is_symbolic()) {
      if (!graph::ask(!detail::compare_eq(seen.strides[d], 0, c.loc), "as_strided_scatter: not expanded")) graph::ask(detail::compare_le(seen.sizes[d], 1, c.loc), "as_strided_scatter: not expanded");
    }
  if (no_offset) args[4] = seen.offset;
  args[0] = storage_value(*self.storage, c.loc);
  ValueId v = g.add(OpId::as_strided_scatter, std::move(args), c.loc);
  if (self.chain.empty()) return results.push_back(fresh(v));
  for (const ViewStep& step : self.chain) v = add_view(v, step, c.loc);
  results.push_back(fresh(g.add(OpId::clone, {v}, c.loc)));
}

void Tracer::mutate_metadata(const graph::OpCall& c) {
  check_own(c);
  Work work(*this);
  const Tensor& self = *std::get<const Tensor*>(c.args[0]);
  TracedRef& ref = ref_of(self, c.loc);
  // What is passed twice changes under both names: known before the function goes on with the other.
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    for (std::size_t j = 0; inputs_[i].tensor.impl() == ref.impl && j < inputs_.size(); ++j) {
      if (j == i || inputs_[j].concrete != inputs_[i].concrete || inputs_[j].again || inputs_[i].again) continue;
      want_identity(i, j, c.loc);
    }
  reshapes_ = reshapes_ || input_of(ref) >= 0;
  if (c.op.id == OpId::set) {
    TracedRef& from = ref_of(*std::get<const Tensor*>(c.args[1]), c.loc);
    if (from.user_meta.dtype != ref.user_meta.dtype)
      fail(ErrorCode::DTypeMismatch, "set_", c.loc, "self is ", ref.user_meta.dtype, ", the source is ", from.user_meta.dtype);
    if (from.user_meta.device != ref.user_meta.device) fail(ErrorCode::NotTraceable, "set_", c.loc, "set_ to a tensor of another device while traced");
    ref.storage = from.storage;
    ref.take(from);
    return;
  }
  if (c.op.id == OpId::as_strided) {
    const Int elements = numel(std::get<IntArrayRef>(c.args[1]).vec()), want = elements + exact_meta(ref, c.loc).layout.offset;
    // Nothing fits anywhere, wherever the view begins.
    if (!(want <= numel(out_.graph.meta(storage_value(*ref.storage, c.loc)).layout.sizes)) && elements > 0) grow(ref, want, c.loc);
  }
  // The handle now is the view: same impl, new chain. On an input finish() sees that its layout has changed.
  Tensor view = make_view(c);
  auto& made = static_cast<TracedRef&>(*view.impl()->trace);
  ref.take(made);
}

}  // namespace reprise::detail
