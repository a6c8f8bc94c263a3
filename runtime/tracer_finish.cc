// The end of a trace: what the graph's values mean to the caller.
#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "runtime/tracer.h"
#include "runtime/written_memory.h"
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

// Are its strides those of a tensor that is made with its sizes, also in dimensions of size 0 and 1?
bool is_as_made(const Layout& l) { return same_ints(l.strides, graph::made_strides(l.sizes)); }

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

// A written input must be alone in its memory: with what may be another one at the next call, nobody knows whose elements these are.
void Tracer::find_overlaps(std::uint32_t i, const WrittenMemory& memory) {
  const graph::Graph& g = out_.graph;
  auto name = [&](std::size_t of) -> const std::string& { return g.values[g.inputs[of].value.v].name; };
  const TensorImpl& t = *inputs_[i].concrete;
  if (overlaps_itself(t)) depends_on(TensorFact::Kind::Overlap, i, i), want_whole(t, "compile", {}, name(i) + " is written and overlaps itself");
  memory.any_near(t, [&](std::uint32_t j) -> bool {
    const TensorImpl& other = *inputs_[j].concrete;
    if (j == i || inputs_[j].storage == inputs_[i].storage || !overlaps(t, other)) return false;
    const std::string why = name(i) + " is written and overlaps " + name(j);
    depends_on(TensorFact::Kind::Overlap, i, j);
    if (&t == &other && plan_.may_grow && !plan_.by_identity) {
      wanted_.by_identity = true;
      fail(ErrorCode::NotTraceable, "compile", {}, why);
    }
    if (t.storage == other.storage) want_whole(t, "compile", {}, why);
    fail(ErrorCode::NotTraceable, "compile", {}, why);
  });
}

// The output of which everything that shows a storage is a view.
std::uint32_t Tracer::storage_output(TracedStorage& s) {
  auto [it, fresh] = storage_outputs_.emplace(&s, static_cast<std::uint32_t>(out_.graph.outputs.size()));
  if (fresh) {
    OutputSpec base;
    base.kind = OutputSpec::Kind::Intermediate;
    base.value = contiguous(s.base, {});
    out_.graph.outputs.push_back(base);
  }
  return it->second;
}

Traced Tracer::finish() {
  guards::LibraryScope operators;
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
  for (const Input& i : inputs_) ++shown[static_cast<TracedRef&>(*i.tensor.impl()->trace).storage.get()];
  auto alias = [&](TracedRef& r) {
    OutputSpec o;
    o.layout = exact_meta(r, {}).layout;
    o.kind = r.storage->input >= 0 ? OutputSpec::Kind::AliasOfInput : OutputSpec::Kind::AliasOfOutput;
    o.source = r.storage->input >= 0 ? static_cast<std::uint32_t>(r.storage->input) : storage_output(*r.storage);
    return o;
  };
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
    if (r->storage->input < 0 && shown[r->storage.get()] == 1 && (r->chain.empty() || is_as_made(exact_meta(*r, {}).layout))) {
      // A lone view of an intermediate needs no storage that others share. Written through a transposed view, a contiguous
      // tensor is traced as a transposed value.
      o.value = contiguous(value_of(*r), {});
    } else {
      o = alias(*r);  // adds the storage's output first
    }
    out_.tensor_results.push_back(leaf->second = static_cast<std::int32_t>(g.outputs.size()));
    g.outputs.push_back(std::move(o));
  }

  // Arguments that were written, and those that are another view now.
  std::optional<WrittenMemory> memory;  // of all inputs
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    if (input.again) continue;
    auto& ref = static_cast<TracedRef&>(*input.tensor.impl()->trace);
    graph::InputSpec& spec = g.inputs[i];
    if (input.storage->input == static_cast<std::int32_t>(i) && input.storage->base != spec.value) {
      spec.mutates_data = true;
      OutputSpec o;
      o.kind = OutputSpec::Kind::NewValueOfInput;
      o.source = i;
      o.value = input.storage->base;
      g.outputs.push_back(o);
      if (!memory) {
        std::vector<const TensorImpl*> tensors;
        for (const Input& of : inputs_) tensors.push_back(of.concrete);
        std::vector<std::uint32_t> all(tensors.size());
        std::iota(all.begin(), all.end(), 0u);
        memory.emplace().assign(tensors, all);
      }
      find_overlaps(i, *memory);
    }
    const bool moved = ref.storage != input.storage;
    if (!moved && ref.chain.size() == ref.at_origin && ref.origin == static_cast<std::int32_t>(i)) continue;
    TracedRef start(live_);
    start.origin = static_cast<std::int32_t>(i);
    start.storage = input.storage;
    start.user_meta = ref.user_meta;
    if (!moved && same_layout(exact_meta(ref, {}).layout, exact_meta(start, {}).layout)) continue;
    for (std::size_t j = 0; j < inputs_.size(); ++j) {
      if (j == i || inputs_[j].concrete != input.concrete || inputs_[j].again) continue;
      want_identity(i, j, {});
    }
    g.inputs[i].mutates_metadata = true;
    graph::MetadataMutation m{i, exact_meta(ref, {}).layout, -1};
    if (moved) {
      if (ref.storage->input < 0 && ref.storage->generation > 0) out_.written_anew.push_back(i);
      OutputSpec o = alias(ref);
      m.from_output = static_cast<std::int32_t>(g.outputs.size());
      g.outputs.push_back(std::move(o));
    } else {
      m.layout.offset = m.layout.offset - input.layout.offset;
    }
    g.metadata_mutations.push_back(std::move(m));
  }
  for (const Traced::Whole& w : out_.wholes)
    if (w.members.empty()) fail(ErrorCode::NotTraceable, "compile", {}, "the function uses other captured tensors each time it runs");
  if (plan_.by_identity)
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      out_.same_as.push_back(static_cast<std::uint32_t>(std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& j) { return j.concrete == inputs_[i].concrete; }) - inputs_.begin()));
  if (!out_.unrepeatable && !out_.variables->attach(out_.captured, out_.asked))
    out_.unrepeatable = "reads a tensor that is in no variable which every call reads (a thread_local one, say): pass it as an argument";
  out_.result_template = std::move(result_template);
  return std::move(out_);
}

}  // namespace reprise::detail
