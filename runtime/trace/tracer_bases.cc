// Operands of regions that show one memory under several names (InputPlan::bases_in_branches): the region is given all
// of the storage, once, and makes the views again.
#include <algorithm>

#include "autograd/state.h"
#include "base/bail.h"
#include "passes/view_chains.h"
#include "runtime/trace/region_operands.h"
#include "runtime/trace/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

using graph::ValueId;

TracedRef& Tracer::lift_view(RegionTrace& region, std::size_t below, TracedRef& outer) {
  std::vector<graph::Node> views;
  TracedRef*& base = region.bases[outer.storage.get()];
  Tensor all;
  {
    AtDepth outside(*this, below);
    const ValueId v = value_of(outer);
    for (ValueId view : passes::chain_of(out_.graph, v)) views.push_back(*passes::view_of(out_.graph, view));
    if (!base) all = tape ? base_on_tape(outer) : base_of(outer);
  }
  if (!base) base = &lift(region, below, std::move(all));
  AtDepth inside(*this, below + 1);
  ValueId value = base->value;
  for (graph::Node& n : views) {
    bool alone = true;
    for (std::size_t i = 1; i < n.args.size(); ++i) graph::for_each_value(n.args[i], [&](ValueId) { alone = false; });
    if (!alone) bail(Bail::branch_overlaps, "cond", n.info.loc, "a branch uses a view that another tensor decides on");
    n.args[0] = value;
    value = out_.graph.add(n.op, std::move(n.args), n.info);
  }
  auto ref = std::make_unique<TracedRef>(live_);
  ref->take(*base);
  ref->user_meta = outer.user_meta;
  ref->value = value;
  ref->by_place = outer.by_place;
  ref->one_way = outer.one_way;
  TracedRef* made = ref.release();
  Tensor inner = Tensor::adopt(made->impl = new_traced_impl(made));
  made->impl->is_view = outer.impl->is_view;
  region.views.push_back({Tensor::share(outer.impl), std::move(inner)});
  return *made;
}

// What the tape takes for its base, where that shows all of its storage: gradients and writes pass through it.
Tensor Tracer::base_on_tape(TracedRef& ref) {
  const Tensor seen = as_seen(Tensor::share(ref.impl));
  const autograd::State* s = autograd::state_of(seen);
  const TensorImpl* base = s && s->view ? s->view->base.impl() : seen.impl();
  if (!base->trace)
    if (const auto at = captured_inputs_.find(base); at != captured_inputs_.end())
      base = inputs_[at->second].tensor.impl();
  if (base->trace) {
    const auto& shown = static_cast<const TracedRef&>(*base->trace);
    if (shown.storage == ref.storage && shown.value == ref.storage->whole)
      return Tensor::share(const_cast<TensorImpl*>(base));
  }
  return base_of(ref);
}

bool Tracer::views_want_beside_bases(const RegionTrace& region) const {
  auto base_of_view = [&](const RegionTrace::Lifted& view) {
    const TensorImpl* inner = region.bases.at(ref_of_traced(view.outer).storage.get())->impl;
    const auto at = std::find_if(region.lifted.begin(), region.lifted.end(),
                                 [&](const RegionTrace::Lifted& l) { return l.inner.impl() == inner; });
    return as_seen(at->outer);
  };
  return std::any_of(region.views.begin(), region.views.end(), [&](const RegionTrace::Lifted& view) {
    const Tensor seen = as_seen(view.outer), base = base_of_view(view);
    const autograd::State* s = autograd::state_of(seen);
    const Tensor& on = s && s->view ? s->view->base : seen;
    if (on.impl() != base.impl())
      return requires_grad(*seen.impl()) || requires_grad(*on.impl()) || requires_grad(*base.impl());
    // Its hooks would not hear of what goes by the base.
    return requires_grad(*seen.impl()) != requires_grad(*base.impl()) ||
           (s && s->view && (s->view->made != graph::ViewMade::Followed || (s->made_by && s->made_by.node->hooks)));
  });
}

// A handle of the tracer's own.
Tensor Tracer::base_of(TracedRef& ref) {
  auto base = std::make_unique<TracedRef>(live_);
  base->user_meta = out_.graph.meta(ref.storage->whole);
  base->storage = ref.storage;
  base->value = ref.storage->whole;
  base->is_storage = true;
  TracedRef* made = base.release();
  return Tensor::adopt(made->impl = new_traced_impl(made));
}

bool Tracer::shows_storage(const TracedStorage& s) const {
  return plan_.bases_in_branches && (s.outermost().input < 0 || is_whole(s.outermost().input));
}

void Tracer::want_bases(SourceLoc loc, const char* why) {
  if (plan_.may_grow) wanted_.bases_in_branches = true;
  bail(Bail::branch_overlaps, "cond", loc, why);
}

void Tracer::want_covering_in_branch(const TracedStorage& s, const char* what, SourceLoc loc, const std::string& why) {
  if (plan_.may_grow) wanted_.bases_in_branches = true;
  const std::int32_t i = s.outermost().input;
  if (i >= 0 && !is_whole(i)) want_covering(static_cast<std::uint32_t>(i), what, loc, why + ", in a branch of cond");
  bail(Bail::part_of_storage, what, loc, why, ", in a branch of cond");
}

}  // namespace reprise::detail
