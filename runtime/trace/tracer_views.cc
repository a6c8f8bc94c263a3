// Views, and handles that become other views. The traced graph has every view with the strides that the user's program
// sees: its rules are asked with these.
#include <algorithm>

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "graph/text.h"
#include "graph/view_column.h"
#include "runtime/trace/tracer.h"
#include "runtime/trace/written_memory.h"
#include "tensor/impl.h"

namespace reprise::detail {

using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

ValueId Tracer::value_of(TracedRef& ref) {
  if (!ref.value) {  // an argument on a storage that is an input
    const Layout& l = ref.user_meta.layout;
    ref.value = out_.graph.add(OpId::as_strided, {ref.storage->whole, l.sizes, l.strides, l.offset});
    inputs_[static_cast<std::size_t>(ref.input)].value = ref.value;
  }
  return ref.value;
}

void TracedRef::take(const TracedRef& other) {
  user_meta = other.user_meta;
  storage = other.storage;
  value = other.value;
  by_place = other.by_place;
  one_way = other.one_way;
  origin = other.origin;
  exact = nullptr;
}

Tensor Tracer::make_view(const graph::OpCall& c) {
  TracedRef& self = ref_of(*std::get<const Tensor*>(c.args[0]), c.loc);
  std::vector<NodeArg> args = node_args(c);
  const graph::ViewFacts& view = graph::view_facts_of(c.op.id);
  const bool of_storage = view.of == graph::ViewOf::Storage;
  if (view.of != graph::ViewOf::Operand) settle_if_open(*self.storage);
  if (of_storage) {
    // It counts from the start of the storage, of which an input may show only a part.
    const Int have = storage_elements(*self.storage, c.loc);
    if (std::holds_alternative<std::monostate>(args[3])) args[3] = exact_meta(self, c.loc).layout.offset;
    graph::NodeRuleArgs rule_args(out_.graph, args);
    graph::check_within_storage(graph::apply_view(c.op, rule_args.args(), self.user_meta.layout, c.loc),
                                Layout{Ints{have}, Ints{1}}, c.op.schema.name.c_str(), c.loc);
  }
  auto ref = std::make_unique<TracedRef>(live_);
  ref->value = out_.graph.add(c.op.id, std::move(args), info(c.loc));
  ref->user_meta = out_.graph.meta(ref->value);
  ref->storage = self.storage;
  ref->by_place = self.by_place || view.back == graph::PutBack::Places;
  ref->one_way = of_storage ? nullptr : view.back == graph::PutBack::Nowhere ? &c.op : self.one_way;
  if (!of_storage) ref->origin = self.origin;  // which is of the storage, not of the view
  TracedRef* made = ref.release();
  made->impl = new_traced_impl(made);
  made->impl->is_view = true;
  return Tensor::adopt(made->impl);
}

// ATen refuses to write several elements at one address. Only expand and views that are put back by places make such
// views of what has none; arguments are looked at call by call.
void Tracer::check_writable(TracedRef& ref, const std::string& op, SourceLoc loc) {
  if (ref.one_way)
    bail(Bail::no_inverse, op.c_str(), loc, "writes through a view that ", ref.one_way->name(),
         " made, which was not told how a write is put back");
  settle_if_open(*ref.storage);
  note_write(*ref.storage);
  const Layout& l = ref.user_meta.layout;
  for (std::size_t d = 0; d < l.strides.size(); ++d) {
    Int stride = l.strides[d], size = l.sizes[d];
    if (!stride.is_symbolic() && stride.hint() == 0 && size > 1 && numel(l.sizes) > 0)
      refuse_expanded(op, loc, static_cast<int>(d), size);
  }
  if (!ref.by_place || known_contiguous(l)) return;
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
  if (overlaps_itself(numbers)) refuse_shared_places(op, loc);
}

// How many elements it has. A traced input shows only its own: they are the storage when it is row-major and covers it,
// as it then must at every call.
Int Tracer::storage_elements(TracedStorage& s, SourceLoc loc) {
  if (s.outer && !shows_storage(s))
    want_covering_in_branch(s, "as_strided", loc, "names places in the storage of a tensor from outside");
  if (s.input < 0) return numel(out_.graph.meta(s.whole).layout.sizes);
  const Input& input = inputs_[static_cast<std::size_t>(s.input)];
  if (!known_contiguous(input.layout) || !covers_its_storage(*input.concrete))
    want_covering(static_cast<std::uint32_t>(s.input), "as_strided", loc,
                  "as_strided of an argument that does not cover its storage row-major");
  return numel(input.layout.sizes);
}

// It names places in self's storage, of which a copy with the part in its place is seen as self is. Of an expanded self
// ATen copies the elements instead, and names places in that copy.
void Tracer::prepare_scatter(const graph::OpCall& c, std::vector<NodeArg>& args) {
  TracedRef& self = ref_of(*std::get<const Tensor*>(c.args[0]), c.loc);
  const Layout seen = exact_meta(self, c.loc).layout;
  bool expanded = false;
  for (std::size_t d = 0; d < seen.sizes.size(); ++d) {
    const bool may = seen.strides[d].hint() == 0 && seen.sizes[d].hint() > 1;
    expanded =
        expanded || (may && graph::ask(detail::compare_eq(seen.strides[d], 0, c.loc), "as_strided_scatter: expanded") &&
                     graph::ask(detail::compare_lt(1, seen.sizes[d], c.loc), "as_strided_scatter: expanded"));
  }
  const bool no_offset = std::holds_alternative<std::monostate>(args[4]);
  Int have = numel(seen.sizes);
  if (expanded) {
    if (no_offset) args[4] = Int(0);
    args[0] = out_.graph.add(OpId::clone, {args[0]}, info(c.loc));
  } else {
    for (std::size_t d = 0; d < seen.sizes.size(); ++d)  // that it is none is part of the answer
      if (seen.strides[d].hint() == 0 || seen.strides[d].is_symbolic()) {
        if (!graph::ask(!detail::compare_eq(seen.strides[d], 0, c.loc), "as_strided_scatter: not expanded"))
          graph::ask(detail::compare_le(seen.sizes[d], 1, c.loc), "as_strided_scatter: not expanded");
      }
    if (no_offset) args[4] = seen.offset;
    have = storage_elements(*self.storage, c.loc);
  }
  graph::result_metas(out_.graph, c.op, args, c.loc);  // for what it throws
  graph::check_within_storage({std::get<Ints>(args[2]), std::get<Ints>(args[3]), std::get<Int>(args[4])},
                              Layout{Ints{have}, Ints{1}}, c.op.schema.name.c_str(), c.loc);
}

// Note [Storages that grow]
// resize_ to more than the storage holds makes another one of it, with the old elements first and zeros after them, as
// eager does. All traced tensors on the old one become views of the new, by their places; inputs among them then are
// other views after the call, which the signature calls grown: the caller's storage itself gets the new bytes
// (runtime/replay/epilogue.cc), so that tensors on it of which the function knows nothing see them, too.
void Tracer::grow(TracedRef& ref, Int have, Int want, SourceLoc loc) {
  const std::shared_ptr<TracedStorage> old = ref.storage;
  settle(*old);
  if (old->input >= 0) {
    // Inputs that are on the storage without being known to be would keep the old one.
    const TensorImpl& at = *inputs_[static_cast<std::size_t>(old->input)].concrete;
    for (const Input& i : inputs_)
      if (i.concrete->storage == at.storage && i.storage != old)
        want_whole(at, Bail::part_of_storage, "resize_", loc,
                   "more elements than the storage of several arguments holds");
  }
  graph::Graph& g = out_.graph;
  ValueId flat = g.add(OpId::as_strided, {value_of(ref), Ints{have}, Ints{1}, Int(0)}, info(loc));
  ValueId more =
      g.add(OpId::full, {Ints{want - have}, Scalar(0), ref.user_meta.dtype, ref.user_meta.device.str()}, info(loc));
  auto grown = new_storage_of(g.add(OpId::cat, {std::vector<ValueId>{flat, more}, Int(0)}, info(loc)));
  grown->has_grown = true;
  grown->grown_of = old->input >= 0 ? old->input : old->grown_of;
  std::vector<TracedRef*> on_it;
  for (TracedRef* r : live_)
    if (r->storage == old && !(r->input >= 0 && r->value == old->whole && is_whole(r->input))) on_it.push_back(r);
  for (TracedRef* r : on_it) move_onto(grown, *r, loc);
  old->grown = std::move(grown);
  reshapes_ = reshapes_ || old->input >= 0;
}

void Tracer::move_onto(const std::shared_ptr<TracedStorage>& grown, TracedRef& r, SourceLoc loc) {
  const Layout at = exact_meta(r, loc).layout;
  r.value = out_.graph.add(OpId::as_strided, {grown->whole, at.sizes, at.strides, at.offset}, info(loc));
  r.storage = grown;
  r.origin = -1;
  r.by_place = true;
}

void Tracer::follow_growth(std::size_t i, SourceLoc loc) {
  auto& ref = static_cast<TracedRef&>(*inputs_[i].tensor.impl()->trace);
  while (ref.storage->grown) move_onto(std::shared_ptr(ref.storage->grown), ref, loc);
  for (const auto& s : storages_)
    if (s->grown && s->input >= 0 && inputs_[i].storage != s &&
        inputs_[i].concrete->storage == inputs_[static_cast<std::size_t>(s->input)].concrete->storage)
      want_whole(*inputs_[i].concrete, Bail::part_of_storage, "resize_", loc,
                 "more elements than the storage of several tensors holds");
}

// In the end an input must be on each that was an input's, and no other input may be on that at any call.
void Tracer::check_grown() {
  for (const auto& s : storages_) {
    if (s->grown_of < 0 || s->grown) continue;
    const auto root = static_cast<std::size_t>(s->grown_of);
    bool seen = false;
    for (std::size_t j = 0; j < inputs_.size(); ++j) {
      const bool on_it = inputs_[j].storage && inputs_[j].storage->input == s->grown_of;
      seen = seen ||
             (on_it && !inputs_[j].again && static_cast<TracedRef&>(*inputs_[j].tensor.impl()->trace).storage == s);
      if (!on_it && j != root && !is_whole(s->grown_of))
        out_.relations.push_back(
            {Relation::Kind::OtherStorage, static_cast<std::uint32_t>(root), static_cast<std::uint32_t>(j)});
    }
    if (!seen) bail(Bail::part_of_storage, "resize_", {}, "a storage grows that no argument is on in the end");
  }
}

void Tracer::mutate_metadata(const graph::OpCall& c) {
  check_own(c);
  Work work(*this);
  const Tensor& self = *std::get<const Tensor*>(c.args[0]);
  if (depth_ && found(self, c.loc).storage->depth != depth_)
    bail(Bail::branch_changes, c.op.schema.name.c_str(), c.loc,
         "a branch of cond changes sizes or strides of a tensor from outside");
  TracedRef& ref = ref_of(self, c.loc);
  settle(*ref.storage);
  // What is passed twice changes under both names: known before the function goes on with the other.
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    for (std::size_t j = 0; inputs_[i].tensor.impl() == ref.impl && j < inputs_.size(); ++j) {
      if (j == i || inputs_[j].concrete != inputs_[i].concrete || inputs_[j].again || inputs_[i].again) continue;
      want_identity(i, j, c.loc);
    }
  reshapes_ = reshapes_ || input_of(ref) >= 0;
  const graph::ViewOf of = graph::view_facts_of(c.op.id).of;
  if (of == graph::ViewOf::Source) {
    TracedRef& from = ref_of(*std::get<const Tensor*>(c.args[1]), c.loc);
    if (from.user_meta.dtype != ref.user_meta.dtype)
      fail(ErrorCode::DTypeMismatch, "set_", c.loc, "self is ", ref.user_meta.dtype, ", the source is ",
           from.user_meta.dtype);
    if (from.user_meta.device != ref.user_meta.device)
      bail(Bail::several_devices, "set_", c.loc, "set_ to a tensor of another device while traced");
    value_of(from);
    settle(*from.storage);
    ref.take(from);
    ref.value = out_.graph.add(OpId::alias, {ref.value}, info(c.loc));  // another handle on the same memory
    ++calls_;
    return;
  }
  if (of == graph::ViewOf::Storage) {
    const Int elements = numel(std::get<IntArrayRef>(c.args[1]).vec()),
              want = elements + exact_meta(ref, c.loc).layout.offset;
    const Int have = storage_elements(*ref.storage, c.loc);
    // Nothing fits anywhere, wherever the view begins.
    if (!(want <= have) && elements > 0) grow(ref, have, want, c.loc);
  }
  // The handle now is the view: same impl, another value.
  Tensor view = make_view(c);
  ++calls_;
  auto& made = static_cast<TracedRef&>(*view.impl()->trace);
  ref.take(made);
}

}  // namespace reprise::detail
