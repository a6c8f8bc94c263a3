#include "runtime/trace/tape_views.h"

#include <algorithm>
#include <deque>

#include "autograd/state.h"
#include "autograd/tape.h"
#include "autograd/trace_tape.h"
#include "autograd/views.h"
#include "base/bail.h"
#include "graph/interpreter.h"
#include "graph/tape_seam.h"
#include "graph/thread_state.h"
#include "reprise/autograd.h"
#include "runtime/trace/graph_call.h"
#include "tensor/impl.h"

namespace reprise::detail {

using graph::OutputSpec;
using graph::ViewMade;
using graph::ViewStep;

void TapeViews::need(const std::vector<ViewStep>& steps) {
  for (const ViewStep& step : steps)
    for (const graph::NodeArg& a : step.args) {
      if (auto* i = std::get_if<Int>(&a); i && i->is_symbolic()) exprs_.add(*i);
      if (auto* l = std::get_if<Ints>(&a))
        for (Int i : *l)
          if (i.is_symbolic()) exprs_.add(i);
    }
}

std::unique_ptr<const TapeViews> TapeViews::of(const graph::Graph& g, const std::vector<std::int32_t>& tensor_results,
                                               const std::vector<graph::TapeBase>& bases,
                                               const std::vector<ViewMade>& how) {
  auto made = std::make_unique<TapeViews>();
  std::vector<bool> seen(g.outputs.size());
  for (std::uint32_t leaf = 0; leaf < tensor_results.size(); ++leaf) {
    const std::int32_t at = tensor_results[leaf];
    if (at < 0 || seen[static_cast<std::size_t>(at)]) continue;
    seen[static_cast<std::size_t>(at)] = true;
    const OutputSpec& o = g.outputs[static_cast<std::size_t>(at)];
    const bool of_input = o.kind == OutputSpec::Kind::AliasOfInput,
               alias = of_input || o.kind == OutputSpec::Kind::AliasOfOutput;
    const ViewMade its = leaf < how.size() ? how[leaf] : ViewMade::Followed;
    if (!alias && its == ViewMade::Followed) continue;
    const TensorMeta& source = g.meta(!alias     ? o.value
                                      : of_input ? g.inputs[o.source].value
                                                 : g.outputs[o.source].value);
    if (!autograd::is_differentiable(source.dtype)) continue;
    View v;
    v.leaf = leaf, v.made = its;
    if (its == ViewMade::GradientsOffPlaced) v.made = ViewMade::GradientsOff, v.placed = true;
    if (alias && its != ViewMade::InFunction) {
      const graph::TapeBase& on = bases[static_cast<std::size_t>(at)];
      const auto base = o.recipe.begin() + on.steps;
      v.steps.assign(base, o.recipe.end());
      v.written_since = on.written_since;
      const bool moved = of_input && std::any_of(g.metadata_mutations.begin(), g.metadata_mutations.end(),
                                                 [&](const auto& m) { return m.input == o.source; });
      if (on.input >= 0) {
        v.place = Place::OfBase, v.input = on.input;
      } else if (of_input && (moved || on.number == 0)) {
        v.place = Place::Unknown;
      } else {
        auto is_it = [&](const Base& b) { return b.kind == o.kind && b.source == o.source && b.number == on.number; };
        auto known = std::find_if(made->bases_.begin(), made->bases_.end(), is_it);
        if (known == made->bases_.end())
          known = made->bases_.insert(known, {o.kind,
                                              o.source,
                                              on.number,
                                              {o.recipe.begin(), base},
                                              -1,
                                              leaf,
                                              0,
                                              of_input ? Ints{} : source.layout.sizes});
        v.base = static_cast<std::int32_t>(known - made->bases_.begin());
        ++known->views;
        if (v.steps.empty()) known->leaf = static_cast<std::int32_t>(leaf);
      }
    }
    made->views_.push_back(std::move(v));
  }
  if (made->views_.empty()) return nullptr;
  made->outputs_ = tensor_results;
  for (View& v : made->views_) {
    if (v.base >= 0) {
      Base& b = made->bases_[static_cast<std::size_t>(v.base)];
      if (b.views > 1 && b.leaf != static_cast<std::int32_t>(v.leaf)) v.place = Place::OfBase;
    }
    if (v.place == Place::OfBase) made->need(v.steps);
  }
  for (const Base& b : made->bases_) {
    if (b.leaf >= 0) continue;
    made->need(b.steps);
    for (Int s : b.sizes)
      if (s.is_symbolic()) made->exprs_.add(s);
  }
  return made;
}

const TapeViews::View* TapeViews::view(std::uint32_t leaf) const {
  const auto first =
      static_cast<std::uint32_t>(std::find(outputs_.begin(), outputs_.end(), outputs_[leaf]) - outputs_.begin());
  const auto v = std::find_if(views_.begin(), views_.end(), [&](const View& x) { return x.leaf == first; });
  return v == views_.end() ? nullptr : &*v;
}
TapeViews::Place TapeViews::place(std::uint32_t leaf) const {
  const View* v = view(leaf);
  return v ? v->place : Place::Own;
}
std::int32_t TapeViews::base_of(std::uint32_t leaf) const {
  const View* v = view(leaf);
  return v && v->base >= 0 && bases_[static_cast<std::size_t>(v->base)].views > 1 ? v->base : -1;
}

std::int32_t TapeViews::base_on(std::uint32_t output) const {
  const auto is_it = [&](const Base& b) {
    return b.kind == OutputSpec::Kind::AliasOfOutput && b.source == output && b.number == 0;
  };
  const auto b = std::find_if(bases_.begin(), bases_.end(), is_it);
  return b == bases_.end() ? -1 : static_cast<std::int32_t>(b - bases_.begin());
}

ViewMade TapeViews::made(std::uint32_t leaf) const {
  const View* v = view(leaf);
  return v ? v->made : ViewMade::Followed;
}

bool TapeViews::is_followed() {
  return graph::tape.load(std::memory_order_relaxed) && !(graph::thread_state.answered & bit(graph::Key::Autograd));
}

std::vector<std::int64_t> TapeViews::numbers(const std::int64_t* words) const {
  std::vector<std::int64_t> slots(exprs_.size());
  if (!slots.empty()) exprs_.evaluate(words, slots.data());
  return slots;
}
std::int64_t TapeViews::value(Int i, const std::vector<std::int64_t>& numbers) const {
  return i.is_symbolic() ? numbers[exprs_.find(i.expr()).value()] : i.hint();
}

Tensor TapeViews::replay(Tensor of, const std::vector<ViewStep>& steps, const std::vector<std::int64_t>& numbers,
                         bool follow, bool gradients) const {
  for (const ViewStep& step : steps) {
    std::deque<Ints> lists;
    std::vector<graph::CallArg> args{&of};
    for (const graph::NodeArg& a : step.args)
      args.push_back(without_tensors(
          a, [&](Int i) { return Int(value(i, numbers)); }, lists));
    Tensor made;
    {
      const graph::PlainScope plain;
      made = graph::calln(step.op, args, {})[0];
    }
    if (follow) autograd::follow_view({graph::op(step.op), args, false, {}}, of, made, gradients);
    of = std::move(made);
  }
  return of;
}

std::vector<Tensor> TapeViews::bases(const CallFrame& f, const Outputs& outputs,
                                     const std::vector<std::int64_t>& numbers) const {
  const autograd::Aside aside;
  std::vector<Tensor> made(bases_.size());
  for (std::size_t i = 0; i < bases_.size(); ++i) {
    const Base& b = bases_[i];
    if (b.views < 2 && b.kind == OutputSpec::Kind::AliasOfInput) continue;
    if (b.leaf >= 0) {
      made[i] = Tensor::share(outputs.tensors[static_cast<std::size_t>(b.leaf)]);
    } else {
      Tensor source;
      if (b.kind == OutputSpec::Kind::AliasOfInput) {
        source = Tensor::share(f.tensors[b.source]);
      } else {
        const TensorImpl& on = *outputs.tensors[b.first];
        const int rank = static_cast<int>(b.sizes.size());
        std::int64_t sizes[kMaxRank], strides[kMaxRank], step = 1;
        for (int d = rank; d-- > 0; step *= std::max<std::int64_t>(sizes[d], 1))
          sizes[d] = value(b.sizes[static_cast<std::size_t>(d)], numbers), strides[d] = step;
        retain(on.storage);
        source = Tensor::adopt(new_impl(on.dtype, on.device, sizes, strides, rank, 0, on.storage));
      }
      made[i] = replay(std::move(source), b.steps, numbers, false, false);
    }
    autograd::make_state(made[i]).unfollowed = false;
  }
  return made;
}

void TapeViews::follow(const CallFrame& f, Outputs& outputs, const std::vector<Tensor>& bases,
                       const std::vector<std::int64_t>& numbers) const {
  const autograd::Aside aside;
  const bool gradients = autograd::gradients_are_on();
  for (const View& v : views_) {
    TensorImpl* const given = outputs.tensors[v.leaf];
    switch (v.place) {
      case Place::Unknown: break;
      case Place::Own:
        if (v.made == ViewMade::Followed) {
          autograd::make_state(Tensor::share(given)).unfollowed = false;
        } else {
          const graph::PlainScope plain;
          autograd::note_view(Tensor::share(given), v.made);
          if (v.placed) autograd::state_of(*given)->view->version = autograd::kStale;
        }
        break;
      case Place::OfBase:
        const Tensor of = v.input >= 0 ? Tensor::share(f.tensors[static_cast<std::size_t>(v.input)])
                                       : bases[static_cast<std::size_t>(v.base)];
        const Tensor made = replay(of, v.steps, numbers, true, gradients && v.made == ViewMade::Followed);
        if (v.placed || v.written_since) autograd::state_of(made)->view->version = autograd::kStale;
        for (std::size_t leaf = v.leaf; leaf < outputs.tensors.size(); ++leaf) {
          if (outputs.tensors[leaf] != given) continue;
          retain(made.impl());
          release(std::exchange(outputs.tensors[leaf], made.impl()));
        }
    }
  }
}

void check_reshaped(const std::vector<graph::MetadataMutation>& all, const CallFrame& f, const std::string& function) {
  for (const graph::MetadataMutation& m : all)
    if (const autograd::State* s = autograd::state_of(*f.tensors[m.input]);
        s && s->view && requires_grad(*s->view->base.impl()))
      bail(Bail::changes_tape, function.c_str(), {}, "sizes, strides or memory of a view on the tape change");
}
void note_reshaped(const std::vector<graph::MetadataMutation>& all, const CallFrame& f) {
  const autograd::Aside aside;
  for (const graph::MetadataMutation& m : all) {
    const TensorImpl& t = *f.tensors[m.input];
    autograd::State* s = autograd::state_of(t);
    if (!s || !s->view) continue;
    if (m.from_output >= 0) {
      s->view = nullptr;
      s->unfollowed = m.grows;
      continue;
    }
    const Ints sizes(t.sizes, t.sizes + t.rank), strides(t.strides, t.strides + t.rank);
    const graph::CallArg args[] = {&s->view->base, IntArrayRef(sizes), IntArrayRef(strides), Int(t.offset)};
    s->view->steps = {
        std::make_shared<const autograd::Call>(graph::OpCall{graph::op(graph::OpId::as_strided), args, false, {}})};
    s->view->version = autograd::version_of(t);
  }
}

}  // namespace reprise::detail
