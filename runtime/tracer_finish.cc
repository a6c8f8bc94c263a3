// The end of a trace: what the graph's values mean to the caller.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/errors.h"
#include "runtime/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

using graph::OutputSpec;
using graph::ValueId;

namespace {

bool same_ints(const Ints& a, const Ints& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](Int x, Int y) { return identical(x, y); });
}
bool same_layout(const Layout& a, const Layout& b) {
  return same_ints(a.sizes, b.sizes) && same_ints(a.strides, b.strides) && identical(a.offset, b.offset);
}

// May one element stand at several indices? Such a result stays a view: written out it would take more memory, and a
// write to it must be refused as eager refuses it.
bool may_overlap_itself(const TracedRef& r) {
  const Layout& l = r.user_meta.layout;
  for (std::size_t d = 0; d < l.strides.size(); ++d)
    if (!l.strides[d].is_symbolic() && l.strides[d].hint() == 0 && (l.sizes[d].is_symbolic() || l.sizes[d].hint() > 1)) return true;
  return std::any_of(r.chain.begin(), r.chain.end(), [](const ViewStep& s) { return s.op == graph::OpId::as_strided; });
}

// Does it show only a part of its storage, as far as the operators tell that made it?
bool is_part(const TracedRef& r) {
  return std::any_of(r.chain.begin(), r.chain.end(), [](const ViewStep& s) {
    return s.op != graph::OpId::view && s.op != graph::OpId::permute && s.op != graph::OpId::squeeze && s.op != graph::OpId::unsqueeze;
  });
}

}  // namespace

// A traced tensor that somebody outside still holds has been assigned to a captured variable, a member or a global. What it
// held before is lost, so the call must go on: its new value becomes a result, with which the tensor is filled.
void Tracer::add_kept() {
  std::vector<Tensor> kept;
  std::unordered_map<const TensorImpl*, std::int32_t> ours;
  for (const Input& i : inputs_) ++ours[i.tensor.impl()];
  for (const Tensor& t : results_) ++ours[t.impl()];
  for (TracedRef* r : live_) {
    auto held = ours.find(r->impl);
    if (r->impl->refs.load(std::memory_order_relaxed) > (held == ours.end() ? 0 : held->second)) kept.push_back(Tensor::share(r->impl));
  }
  for (Tensor& t : kept) {
    result(t);
    out_.kept.push_back(std::move(t));
  }
}

Traced Tracer::finish() {
  graph::Graph& g = out_.graph;
  if (lost_track_) fail(ErrorCode::NotTraceable, "compile", {}, "there is no memory to follow the function's variables");
  if (errors_made() != errors_before_) fail(ErrorCode::NotTraceable, "compile", {}, "the function catches an error: whether it is raised may differ at the next call");
  add_kept();
  if (const char* why = out_.variables->unrepeatable()) out_.unrepeatable = why;
  else if (!out_.kept.empty()) out_.unrepeatable = "leaves a tensor in a variable that outlives the call: return it";
  std::vector<TracedRef*> refs;
  for (const Tensor& t : results_) refs.push_back(t.defined() ? &ref_of(t, {}) : nullptr);

  // Results. An input's own handle comes back as that; a tensor that is returned twice is one result under two names. A storage
  // that several of them show is one output, of which all are views.
  std::unordered_map<const TracedRef*, std::int32_t> leaf_of;
  for (std::size_t i = 0; i < inputs_.size(); ++i) leaf_of.emplace(static_cast<TracedRef*>(inputs_[i].tensor.impl()->trace), input_itself(i));
  std::unordered_map<TracedStorage*, int> shown;
  std::unordered_set<const TracedRef*> counted;
  for (TracedRef* r : refs)
    if (r && r->storage->input < 0 && counted.insert(r).second) ++shown[r->storage.get()];
  std::unordered_map<TracedStorage*, std::uint32_t> base_output;
  for (TracedRef* r : refs) {
    if (!r) {
      out_.tensor_results.push_back(-1);
      continue;
    }
    auto [leaf, is_new] = leaf_of.try_emplace(r, 0);
    if (!is_new) {
      out_.tensor_results.push_back(leaf->second);
      continue;
    }
    OutputSpec o;
    TracedStorage* s = r->storage.get();
    if (s->input >= 0) {
      o.kind = OutputSpec::Kind::AliasOfInput;
      o.source = static_cast<std::uint32_t>(s->input);
      o.layout = r->user_meta.layout;
    } else if (const bool row_major = r->chain.empty() || known_contiguous(r->user_meta.layout);
               shown[s] == 1 && !may_overlap_itself(*r) && (row_major || is_part(*r))) {
      o.value = value_of(*r);  // a lone part of an intermediate needs no storage that others share
      // Written through a transposed view, a contiguous tensor is traced as a transposed value.
      if (row_major) o.value = contiguous(o.value, {});
    } else {
      auto [it, fresh] = base_output.emplace(s, static_cast<std::uint32_t>(g.outputs.size()));
      if (fresh) {
        OutputSpec base;
        base.kind = OutputSpec::Kind::Intermediate;
        base.value = contiguous(s->base, {});
        g.outputs.push_back(base);
      }
      o.kind = OutputSpec::Kind::AliasOfOutput;
      o.source = it->second;
      o.layout = r->user_meta.layout;
    }
    out_.tensor_results.push_back(leaf->second = static_cast<std::int32_t>(g.outputs.size()));
    g.outputs.push_back(o);
  }

  // Arguments that were written, and those whose sizes or strides were changed.
  auto depends_on = [&](TensorFact::Kind kind, std::size_t a, std::size_t b) {
    tensor_facts_.push_back({kind, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)});
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    auto& ref = static_cast<TracedRef&>(*inputs_[i].tensor.impl()->trace);
    graph::InputSpec& spec = g.inputs[i];
    if (ref.storage->base != spec.value) {
      spec.mutates_data = true;
      OutputSpec o;
      o.kind = OutputSpec::Kind::NewValueOfInput;
      o.source = static_cast<std::uint32_t>(i);
      o.value = ref.storage->base;
      g.outputs.push_back(o);
      const std::string& name = g.values[spec.value.v].name;
      if (overlaps_itself(*inputs_[i].concrete)) {
        depends_on(TensorFact::Kind::Overlap, i, i);
        fail(ErrorCode::NotTraceable, "compile", {}, name, " is written and overlaps itself");
      }
      for (std::size_t j = 0; j < inputs_.size(); ++j) {
        if (j == i || !overlaps(*inputs_[i].concrete, *inputs_[j].concrete)) continue;
        depends_on(TensorFact::Kind::Overlap, i, j);
        fail(ErrorCode::NotTraceable, "compile", {}, name, " is written and overlaps ", g.values[g.inputs[j].value.v].name);
      }
    }
    if (!same_layout(ref.user_meta.layout, inputs_[i].layout)) {
      for (std::size_t j = 0; j < inputs_.size(); ++j) {
        if (j == i || inputs_[j].concrete != inputs_[i].concrete) continue;
        depends_on(TensorFact::Kind::Same, i, j);
        fail(ErrorCode::NotTraceable, "compile", {}, "sizes or strides of ", g.values[spec.value.v].name, " are changed, which is ", g.values[g.inputs[j].value.v].name, ", too");
      }
      spec.mutates_metadata = true;
      g.metadata_mutations.push_back({static_cast<std::uint32_t>(i), ref.user_meta.layout, -1});
    }
  }
  if (!out_.unrepeatable && !out_.variables->attach(out_.captured, out_.asked))
    out_.unrepeatable = "reads a tensor that is in no variable which every call reads (a thread_local one, say): pass it as an argument";
  out_.result_template = std::move(result_template);
  return std::move(out_);
}

}  // namespace reprise::detail
