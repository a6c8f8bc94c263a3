// Functionalization on the fly: views are chains, writes go back through them.
//
// Note [Writes through views]
// A storage has one current value, `base`. A tensor on it is a chain of view operators. To write `v` into the view
// c1(c2(...)), the inverses are applied from the inside out: what the innermost operator cut out is put back with its
// scatter (slice -> slice_scatter), giving a new value of what it was cut from, and so on up to a new base. Later reads of
// any other view of the storage replay their chain on the new base. Nothing in the graph is ever overwritten, and a pass
// that merges equal nodes removes what was replayed for nothing.
#include <numeric>

#include "base/errors.h"
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
  if (c.op.id == OpId::as_strided && self.storage->input >= 0) {
    // It counts from the start of the storage, of which a traced input shows only a part: all of it when the input is
    // row-major and covers it, as it must at every call then.
    const Input& input = inputs_[static_cast<std::size_t>(self.storage->input)];
    if (known_contiguous(input.layout) && !covers_its_storage(*input.concrete))
      tensor_facts_.push_back({TensorFact::Kind::PartOfStorage, static_cast<std::uint32_t>(self.storage->input)});
    if (!known_contiguous(input.layout) || !covers_its_storage(*input.concrete))
      fail(ErrorCode::NotTraceable, "as_strided", c.loc, "as_strided of an argument that does not cover its storage row-major");
    out_.whole_storage.push_back(static_cast<std::uint32_t>(self.storage->input));
  }
  auto ref = std::make_unique<TracedRef>(live_);
  ref->user_meta = self.user_meta;
  ref->user_meta.layout = user_layout(c.op, self, args, c.loc);
  ref->storage = self.storage;
  ref->chain = self.chain;
  if (c.op.id == OpId::as_strided) ref->chain.clear();  // of the storage, not of the view
  ViewStep step{c.op.id, args};
  step.args[0] = std::monostate{};
  ValueId on = c.op.id == OpId::as_strided ? self.storage->base : std::get<ValueId>(args[0]);
  ref->chain.push_back(step);
  ref->cached = add_view(on, step, c.loc);
  ref->cached_generation = self.storage->generation;
  TracedRef* made = ref.release();
  return Tensor::adopt(made->impl = new_traced_impl(made));
}

void Tracer::write(TracedRef& ref, ValueId value, SourceLoc loc) {
  graph::Graph& g = out_.graph;
  // Several elements at one address: ATen refuses such writes too.
  for (std::size_t d = 0; d < ref.user_meta.layout.strides.size(); ++d) {
    Int stride = ref.user_meta.layout.strides[d], size = ref.user_meta.layout.sizes[d];
    if (!stride.is_symbolic() && stride.hint() == 0 && size > 1 && numel(ref.user_meta.layout.sizes) > 0)
      fail(ErrorCode::AliasConflict, "write", loc, "dimension ", d, " of the written tensor is expanded: ", size,
           " elements share one address; clone() it first");
  }
  // Whether windows over each other are written, and what a write to a part of them leaves, is decided on numbers.
  for (const ViewStep& step : ref.chain)
    if (step.op == OpId::as_strided && !known_contiguous({std::get<Ints>(step.args[1]), std::get<Ints>(step.args[2]), 0}))
      fail(ErrorCode::NotTraceable, "write", loc, "a write through as_strided");
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
      case OpId::as_strided: now = scatter(OpId::as_strided_scatter); break;
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
      case OpId::expand: {
        // A part of an expanded view can be written (one row of it is every row), but its inverse is no scatter.
        if (numel(g.meta(now).layout.sizes) != numel(sizes)) fail(ErrorCode::NotTraceable, "write", loc, "a write to a part of an expanded tensor");
        if (!same_sizes(g.meta(now).layout.sizes, sizes)) now = g.add(OpId::view, {contiguous(now, loc), sizes}, loc);
        break;
      }
      default: now = g.add(OpId::view, {contiguous(now, loc), sizes}, loc);  // view, squeeze, unsqueeze
    }
  }
  ref.storage->base = now;
  ++ref.storage->generation;
  ref.cached = value;
  ref.cached_generation = ref.storage->generation;
  if (ref.chain.empty()) ref.cached = now;
}

void Tracer::mutate_metadata(const graph::OpCall& c) {
  Work work(*this);
  const Tensor& self = *std::get<const Tensor*>(c.args[0]);
  TracedRef& ref = ref_of(self, c.loc);
  if (c.op.id == OpId::set) fail(ErrorCode::NotTraceable, "set_", c.loc, "set_ while traced");
  if (c.op.id == OpId::as_strided) {
    Int want = numel(std::get<IntArrayRef>(c.args[1]).vec()), have = numel(out_.graph.meta(ref.storage->base).layout.sizes);
    if (!(want <= have)) fail(ErrorCode::NotTraceable, "resize_", c.loc, "resize_ beyond the storage while traced");
  }
  // The handle now is the view: same impl, new chain. On an input finish() sees that its layout has changed.
  Tensor view = make_view(c);
  auto& made = static_cast<TracedRef&>(*view.impl()->trace);
  ref.user_meta = made.user_meta;
  ref.chain = made.chain;
  ref.cached = made.cached;
  ref.cached_generation = made.cached_generation;
}

}  // namespace reprise::detail
