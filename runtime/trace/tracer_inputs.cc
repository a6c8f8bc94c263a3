// Inputs that are seen in another way than as the tensors that they are.
//
// Note [Whole storages]
// A traced argument is a value with the argument's elements, whatever stands between and around them. That is not
// enough for a program that names places in the storage (as_strided, resize_), writes to a part of what is expanded, or
// writes to one of two arguments that share memory. Such a storage is then an input itself: flat, all of it, its length
// a symbol. The arguments on it are views, as_strided at an offset that is a symbol, too; a write names places in the
// storage (passes/functionalize.h). Which tensors are on one storage is part of what the specialization admits
// (specialization.cc). Nobody knows before the function has run that it is needed: the trace that meets it gives up and
// says so (also where functionalization does), and the next one begins with it.
#include <algorithm>

#include "base/checked_math.h"
#include "base/errors.h"
#include "graph/shape_rules.h"
#include "passes/view_chains.h"
#include "runtime/trace/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

int InputPlan::whole_of(const TensorImpl& t) const {
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (whole[i].storage == t.storage) return static_cast<int>(i);
  return -1;
}

bool InputPlan::is_strided(const TensorImpl& t) const {
  return std::find(strided.begin(), strided.end(), &t) != strided.end();
}

void add_extra_values(CallFrame& f, const TensorImpl& t, ExtraValues extra) {
  if (extra.offset) f.values.push_back(t.offset);
  if (extra.strides) std::copy(t.strides, t.strides + t.rank, f.values.extend(t.rank));
}

const TensorMeta& TracedRef::meta_with_strides(SourceLoc loc) const {
  return storage->tracer ? storage->tracer->exact_meta(const_cast<TracedRef&>(*this), loc, true) : user_meta;
}

void Tracer::want_whole(const TensorImpl& t, Bail reason, const char* what, SourceLoc loc, const std::string& why) {
  if (plan_.may_grow && plan_.whole_of(t) < 0) wanted_.whole.push_back({t.storage, t.dtype});
  bail(reason, what, loc, why);
}

void Tracer::want_covering(std::uint32_t i, const char* what, SourceLoc loc, const std::string& why) {
  const Input& input = inputs_[i];
  if (known_contiguous(input.layout) && !covers_its_storage(*input.concrete))
    depends_on(TensorFact::Kind::PartOfStorage, i, 0);
  want_whole(*input.concrete, Bail::part_of_storage, what, loc, why);
}

void Tracer::bind_wholes() {
  if (std::exchange(bound_, true)) return;
  const std::size_t arguments = inputs_.size();
  for (std::size_t k = 0; k < plan_.whole.size(); ++k) {
    const InputPlan::Whole& w = plan_.whole[k];
    const std::int64_t n = w.storage->bytes / item_size(w.dtype), step = 1;
    retain(w.storage);
    whole_tensors_.push_back(Tensor::adopt(new_impl(w.dtype, w.storage->device, &n, &step, 1, 0, w.storage)));
    std::string name = "storage " + std::to_string(k);
    TensorMeta meta;
    meta.dtype = w.dtype;
    meta.device = w.storage->device;
    meta.layout.sizes.push_back(out_.graph.env->new_symbol({whole_at_[k], name + " .size(0)"}, n, 0));
    meta.layout.strides.push_back(1);
    Tensor t = fresh(out_.graph.add_input(meta, name));
    auto& ref = static_cast<TracedRef&>(*t.impl()->trace);
    ref.input = ref.storage->input = static_cast<std::int32_t>(inputs_.size());
    whole_storages_.push_back(ref.storage);
    out_.wholes.push_back({static_cast<std::uint32_t>(inputs_.size()), {}});
    out_.input_values.push_back({whole_at_[k], 1});
    out_.extra_values.push_back({});
    out_.input_words.push_back(runtime::structure_word(*whole_tensors_.back().impl()));
    inputs_.push_back({t, whole_tensors_.back().impl(), meta.layout, ref.storage, ref.value});
  }
  for (std::size_t i = 0; i < arguments; ++i)
    if (int whole = plan_.whole_of(*inputs_[i].concrete); whole >= 0) bind(i, whole);
}

void Tracer::bind(std::size_t i, int whole) {
  Input& input = inputs_[i];
  const std::size_t k = static_cast<std::size_t>(whole);
  if (input.concrete->dtype != plan_.whole[k].dtype) bail(Bail::two_dtypes, "compile", {});
  out_.wholes[k].members.push_back(static_cast<std::uint32_t>(i));
  input.storage = whole_storages_[k];
  if (input.again) return;
  const auto [first, count] = out_.input_values[i];
  const std::uint32_t at = i < extra_at_.size() ? extra_at_[i] : first + count;
  const std::string& name = out_.graph.values[out_.graph.inputs[i].value.v].name;
  auto& ref = static_cast<TracedRef&>(*input.tensor.impl()->trace);
  Layout& l = ref.user_meta.layout;
  l.offset = out_.graph.env->new_symbol({at, name + " .storage_offset()"}, input.concrete->offset, 0);
  ref.storage = input.storage;
  ref.value = input.value = {};
  ref.by_place = true;
  ref.exact = nullptr;
  input.layout = l;
}

bool Tracer::is_whole(std::int32_t i) const {
  return std::any_of(out_.wholes.begin(), out_.wholes.end(),
                     [&](const Traced::Whole& w) { return w.input == static_cast<std::uint32_t>(i); });
}

bool Tracer::as_first(std::size_t i) {
  if (!plan_.by_identity) return false;
  for (std::size_t j = 0; j < i; ++j) {
    if (inputs_[j].concrete != inputs_[i].concrete) continue;
    inputs_[i].tensor = inputs_[j].tensor;
    inputs_[i].storage = inputs_[j].storage;
    inputs_[i].again = true;
    if (int whole = plan_.whole_of(*inputs_[i].concrete); whole >= 0 && bound_) bind(i, whole);
    return true;
  }
  return false;
}

int Tracer::input_of(const TracedRef& ref) const {
  return ref.input >= 0 && inputs_[static_cast<std::size_t>(ref.input)].tensor.impl() == ref.impl ? ref.input : -1;
}

bool Tracer::is_input(const Tensor& t) const { return input_of(static_cast<const TracedRef&>(*t.impl()->trace)) >= 0; }

bool Tracer::are_same(const Tensor& a, const Tensor& b) {
  Work work(*this);
  TracedRef &x = found(a, {}), &y = found(b, {});
  if (&x == &y) return true;
  if (x.storage != y.storage) settle_if_open(*x.storage), settle_if_open(*y.storage);
  const int i = input_of(x), j = input_of(y);
  if (i < 0 || j < 0) return false;
  if (inputs_[static_cast<std::size_t>(i)].concrete == inputs_[static_cast<std::size_t>(j)].concrete) {
    if (plan_.may_grow) wanted_.by_identity = true;
    bail(Bail::passed_twice, "is_same", {}, "asks of an argument that is passed twice");
  }
  out_.relations.push_back({Relation::Kind::NotSame, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)});
  return false;
}

bool Tracer::share_storage(const Tensor& a, const Tensor& b) {
  Work work(*this);
  TracedRef &x = found(a, {}), &y = found(b, {});
  const TracedStorage &of_x = x.storage->outermost(), &of_y = y.storage->outermost();
  if (&of_x == &of_y) return true;
  settle_if_open(of_x), settle_if_open(of_y);
  const int i = of_x.input, j = of_y.input;
  if (i < 0 || j < 0) return false;
  const bool shared =
      inputs_[static_cast<std::size_t>(i)].concrete->storage == inputs_[static_cast<std::size_t>(j)].concrete->storage;
  out_.relations.push_back({shared ? Relation::Kind::SameStorage : Relation::Kind::OtherStorage,
                            static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)});
  return shared;
}

// An argument is a value that begins with its own first element: where that stands is known of storages that are
// inputs.
Int Tracer::storage_offset_of(const Tensor& t) {
  Work work(*this);
  TracedRef& ref = found(t, {});
  if (const int i = ref.storage->input; i >= 0 && !is_whole(i))
    want_whole(*inputs_[static_cast<std::size_t>(i)].concrete, Bail::part_of_storage, "storage_offset", {},
               "is asked of an argument");
  return exact_meta(ref, {}, true).layout.offset;
}

void Tracer::want_identity(std::size_t i, std::size_t j, SourceLoc loc) {
  depends_on(TensorFact::Kind::Same, i, j);
  if (plan_.may_grow) wanted_.by_identity = true;
  const graph::Graph& g = out_.graph;
  auto name = [&](std::size_t k) { return g.values[g.inputs[k].value.v].name; };
  bail(Bail::passed_twice, "compile", loc, "sizes or strides of ", name(i), " are changed, which is ", name(j),
       ", too");
}

// A captured tensor that is an argument, too, is met under its other name after the one was changed.
void Tracer::check_not_reshaped(std::size_t i, SourceLoc loc) {
  if (!reshapes_) return;
  for (std::size_t j = 0; j < i; ++j) {
    if (inputs_[j].concrete != inputs_[i].concrete || inputs_[j].again) continue;
    if (static_cast<TracedRef&>(*inputs_[j].tensor.impl()->trace).value != inputs_[j].value) want_identity(j, i, loc);
  }
}

bool Tracer::strides_from_sizes(std::uint32_t i) const {
  return !out_.extra_values[i].strides && !runtime::has_strides(out_.input_words[i]);
}

Ints Tracer::made_strides(std::uint32_t i, const Ints& sizes) const {
  return runtime::strides_in(runtime::order_of(out_.input_words[i]), sizes, graph::made_strides);
}

// Where a chain of views begins, with all its strides. They may be `read` by the program, which then computes with
// plain products of sizes: which of these are 0 is part of what it sees. What only the caller sees costs no guard.
Layout Tracer::start_of(const TracedRef& ref, SourceLoc loc, bool read) {
  if (ref.storage->outer)
    bail(Bail::asks_state, "stride", loc, "is asked of a view that a branch of cond makes of a tensor from outside");
  auto ask_sizes = [&](const Ints& sizes, std::size_t outermost) {
    for (std::size_t d = 0; read && d < sizes.size(); ++d)
      if (d != outermost) graph::ask(detail::compare_eq(sizes[d], 0, loc), "stride: a size of 0");
  };
  if (ref.origin < 0) {
    Layout l = out_.graph.meta(ref.storage->whole).layout;
    if (!known_contiguous(l)) return l;
    ask_sizes(l.sizes, 0);
    l.strides = graph::made_strides(l.sizes);
    return l;
  }
  const std::uint32_t i = static_cast<std::uint32_t>(ref.origin);
  need_exact_strides(i, loc);
  Layout l = inputs_[i].layout;
  if (!strides_from_sizes(i)) return l;
  ask_sizes(l.sizes, runtime::order_of(out_.input_words[i]).dims[0]);
  l.strides = made_strides(i, l.sizes);
  return l;
}

// What a view's layout is eagerly: its operators' rules once more, now asking what decides the strides that lead
// nowhere.
const TensorMeta& Tracer::exact_meta(TracedRef& ref, SourceLoc loc, bool read) {
  if (ref.exact) return *ref.exact;
  settle_if_open(*ref.storage);
  guards::LibraryScope operators;
  AtDepth its_own(*this, ref.storage->depth);
  auto exact = std::make_unique<TensorMeta>(ref.user_meta);
  exact->layout = start_of(ref, loc, read);
  if (ref.value)
    exact->layout = passes::replay_layout(
        out_.graph, ref.value, ref.origin >= 0 ? inputs_[static_cast<std::size_t>(ref.origin)].value : graph::ValueId{},
        exact->layout, loc);
  ref.exact = std::move(exact);
  return *ref.exact;
}

// The strides of a row-major or dense input follow from its sizes, but not in dimensions of size 0 and 1, which do not
// make it another structure: whoever looks at them needs one whose do, or takes them as symbols.
void Tracer::need_exact_strides(std::uint32_t i, SourceLoc loc) {
  const TensorImpl& t = *inputs_[i].concrete;
  auto note = [i](std::vector<std::uint32_t>& in) {
    if (std::find(in.begin(), in.end(), i) == in.end()) in.push_back(i);
  };
  if (!strides_from_sizes(i)) return note(out_.shown_strides);
  if (!runtime::has_strides_of(t, out_.input_words[i])) {
    if (plan_.may_grow) wanted_.strided.push_back(&t);
    bail(Bail::small_strides, "stride", loc);
  }
  note(out_.exact_strides);
}

}  // namespace reprise::detail
