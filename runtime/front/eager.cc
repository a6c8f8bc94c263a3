// Eager execution: a view is metadata; anything that computes is a compiled function of one operator, found by operator
// and structure. There is no second implementation of anything.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <iterator>

#include "base/bail.h"
#include "base/checked_math.h"
#include "base/counters.h"
#include "base/epochs.h"
#include "base/errors.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/thread_object.h"
#include "base/timeline.h"
#include "device/backend.h"
#include "device/late_faults.h"
#include "graph/interpreter.h"
#include "graph/view_column.h"
#include "graph/writers.h"
#include "jit/engine/code.h"
#include "kernels/reference/reference.h"
#include "runtime/front/compiled.h"
#include "runtime/front/eager_forms.h"
#include "runtime/front/little_work.h"
#include "runtime/front/shape_only_call.h"
#include "runtime/trace/written_memory.h"
#include "tensor/frozen.h"
#include "tensor/impl.h"
#include "tensor/transfer.h"

namespace reprise::detail {

namespace {

using graph::CallArg;
using graph::OpCall;
using graph::OpDef;
using graph::OpId;

// Eager keeps few recordings of each operator and structure: making one is cheap, and sizes that alternate are few.
constexpr std::int64_t kEagerRecordings = 16;

/// What operators' specializations are kept in: lists by structure that readers walk without a lock. It is bounded:
/// past REPRISE_EAGER_MAX those go that have served no call since the table was last looked through. Threads: what
/// find() and make() give stays while the caller reads (epochs::Reading). Under `mu_` entries are taken out of the
/// lists, and freed when no call reads that began before that (Note [Who frees what] in runtime/front/compiled.h).
class EagerTable {
 public:
  /// Of one structure, beside the first: values that code was made for (a norm's p, what a float range begins with).
  /// Past it, further ones are served by reference kernels.
  static constexpr int kMaxOfOneStructure = 64;

  static EagerTable& get() {
    static EagerTable* t = new EagerTable;  // never destroyed: tensors may be used by other static objects' destructors
    return *t;
  }

  /// Null: none admits the call. `full` then tells whether there may be no further one.
  const Specialization* find(CallFrame& f, bool* full) const {
    const std::uint64_t h = f.hash();
    int of_structure = 0;
    for (const Entry* e = bucket(h).load(std::memory_order_acquire); e; e = e->next.load(std::memory_order_acquire)) {
      if (e->made->hash != h) continue;
      if (admits(*e->made, f)) return e->made.get();
      of_structure += e->made->structure == f.structure;
    }
    *full = of_structure >= kMaxOfOneStructure;
    return nullptr;
  }

  const Specialization* make(const OpCall& call, CallFrame& f, void (*body)(void*, Tracer&), void* ctx) {
    const MutexLock lock(mu_);
    bool full = false;
    if (const Specialization* s = find(f, &full)) return s;
    const kernels::Mode mode = kernels::mode_named(knobs().mode).value_or(kernels::Mode::Full);
    std::unique_ptr<Specialization> made = specialize(std::string(call.op.name()), mode, f, body, ctx,
                                                      {.may_retrace = !call.inplace && call.op.writes.empty()});
    made->keep_within(std::make_shared<runtime::RecordingBudget>(kEagerRecordings, INT64_MAX));
    if (!admits(*made, f))
      fail(ErrorCode::Internal, call.op.schema.name.c_str(), call.loc,
           "the operator's own guards refuse the call they were made for");
    make_room();
    std::atomic<Entry*>& first = bucket(made->hash);
    auto entry = std::make_unique<Entry>(std::move(made), first.load(std::memory_order_relaxed));
    Entry& e = *entry;
    entries_.push_back(std::move(entry));
    first.store(&e, std::memory_order_release);
    return e.made.get();
  }

 private:
  struct Entry {
    Entry(std::unique_ptr<const Specialization> m, Entry* n) : made(std::move(m)), next(n) {}
    const std::unique_ptr<const Specialization> made;
    std::atomic<Entry*> next;
    std::int64_t replays = 0;  // when the table was last looked through; of the table's mutex
  };
  using Entries = std::vector<std::unique_ptr<Entry>>;
  std::atomic<Entry*>& bucket(std::uint64_t hash) { return buckets_[hash >> 52]; }
  const std::atomic<Entry*>& bucket(std::uint64_t hash) const { return buckets_[hash >> 52]; }

  // A part of the table at once, so that the search costs little for each.
  void make_room() REPRISE_REQUIRES(mu_) {
    const std::size_t most = static_cast<std::size_t>(std::max<std::int64_t>(knobs().eager_max, 1));
    if (entries_.size() < most) return;
    const std::size_t keep = most - most / 16 - 1;
    Entries kept, gone;
    kept.reserve(entries_.capacity()), gone.reserve(entries_.size());
    retired_.reserve(retired_.size() + 1);
    // since the last look, and which: of equal ones the oldest goes
    std::vector<std::pair<std::int64_t, std::size_t>> served;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& e = *entries_[i];
      const std::int64_t before = std::exchange(e.replays, e.made->replays.load(std::memory_order_relaxed));
      served.emplace_back(e.replays - before, i);
    }
    const auto first_kept = served.end() - static_cast<std::ptrdiff_t>(keep);
    std::nth_element(served.begin(), first_kept, served.end());
    for (auto s = served.begin(); s != first_kept; ++s) gone.push_back(std::move(entries_[s->second]));
    std::copy_if(std::make_move_iterator(entries_.begin()), std::make_move_iterator(entries_.end()),
                 std::back_inserter(kept), [](const auto& e) { return e != nullptr; });
    entries_ = std::move(kept);
    for (const std::unique_ptr<Entry>& e : gone) unlink(*e);
    retired_.push_back({epochs::advance(), std::move(gone)});
    const std::uint64_t oldest = epochs::oldest();
    std::erase_if(retired_, [&](const Retired& r) { return r.epoch < oldest; });
  }
  // A reader that is in it goes on to those behind it.
  void unlink(Entry& e) {
    std::atomic<Entry*>* at = &bucket(e.made->hash);
    while (Entry* there = at->load(std::memory_order_relaxed)) {
      if (there == &e) break;
      at = &there->next;
    }
    at->store(e.next.load(std::memory_order_relaxed), std::memory_order_release);
  }

  Mutex mu_;                                 // held to add
  Entries entries_ REPRISE_GUARDED_BY(mu_);  // oldest first
  struct Retired {
    std::uint64_t epoch;
    Entries entries;
  };
  std::vector<Retired> retired_ REPRISE_GUARDED_BY(mu_);
  std::array<std::atomic<Entry*>, 4096> buckets_{};
};

// Arguments of one call, walked twice in the same order: into the frame, and into traced arguments.
struct EagerArgs {
  const OpCall& call;
  std::vector<Tensor> made;  // 0-dim tensors that stand for float numbers
  std::vector<CallArg> own;  // with those; empty where there are none
  std::span<const CallArg> args;

  explicit EagerArgs(const OpCall& c) : call(c), args(c.args) {
    // A float where a tensor could stand becomes a 0-dim tensor: it promotes as the number does (a floating operand
    // keeps its dtype), and a new value needs no new code and, on a device, no new graph. Elsewhere it is a parameter
    // of the kernel.
    bool floating = false;
    for (const CallArg& a : args)
      if (auto* t = std::get_if<const Tensor*>(&a);
          t && (*t)->defined() && is_floating((*t)->impl()->dtype) && (*t)->impl()->rank > 0)
        floating = true;
    if (!floating) return;
    std::size_t n = 0;
    for (std::size_t i = 0; i < args.size(); ++i) n += is_number(i);
    if (n == 0) return;
    made.reserve(n);
    own.assign(c.args.begin(), c.args.end());
    args = own;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (!is_number(i)) continue;
      Tensor t = empty_concrete(nullptr, 0, DType::Float64, Device::cpu());
      double v = std::get<Scalar>(args[i]).to_double();
      std::memcpy(t.impl()->data(), &v, sizeof v);
      made.push_back(std::move(t));
      own[i] = &made.back();
    }
  }

  bool is_number(std::size_t i) const {
    graph::ArgType t = call.op.schema.args[i].type;
    const Scalar* s = std::get_if<Scalar>(&args[i]);
    return s && s->is_float() && !stays(i) &&
           (t == graph::ArgType::TensorOrScalar || t == graph::ArgType::OptionalTensorOrScalar);
  }
  bool stays(std::size_t i) const {
    const runtime::EagerForm* form = runtime::eager_forms().find(call.op.id);
    return form && form->numbers >> i & 1;
  }

  void flatten(CallFrame& f) const {
    f.constant(static_cast<std::uint64_t>(call.op.id) << 1 | call.inplace);
    for (std::size_t i = 0; i < args.size(); ++i) {
      f.constant(args[i].index());
      std::visit([&](const auto& v) { flatten_one(f, v); }, args[i]);
    }
  }

  // The traced twin of flatten: same order, tensors and numbers replaced by inputs.
  std::vector<CallArg> traced(Tracer& tracer, const CallFrame& f, std::vector<std::vector<Tensor>>& tensors,
                              std::vector<Ints>& ints) const {
    std::vector<CallArg> out;
    std::size_t tensor = 0, value = 2, number = 0;
    auto one = [&](const Tensor& t) {
      if (!t.defined()) return Tensor();
      std::uint64_t word = runtime::structure_word(*f.tensors[tensor]);
      Tensor made = tracer.argument(f.tensors[tensor], word, value, "arg " + std::to_string(tensor));
      ++tensor;
      value += runtime::value_count(word);
      return made;
    };
    auto integer = [&] { return tracer.integer_argument(value++, "number " + std::to_string(number++)); };
    for (const CallArg& a : args) {
      if (auto* t = std::get_if<const Tensor*>(&a)) {
        tensors.push_back({one(**t)});
        out.push_back(&tensors.back()[0]);
      } else if (auto* list = std::get_if<TensorArrayRef>(&a)) {
        std::vector<Tensor> all;
        for (const Tensor& x : *list) all.push_back(one(x));
        tensors.push_back(std::move(all));
        out.push_back(TensorArrayRef(tensors.back()));
      } else if (std::holds_alternative<Int>(a)) {
        out.push_back(integer());
      } else if (auto* l = std::get_if<IntArrayRef>(&a)) {
        ints.emplace_back();
        for (std::size_t i = 0; i < l->size(); ++i) ints.back().push_back(integer());
        out.push_back(IntArrayRef(ints.back()));
      } else if (auto* s = std::get_if<Scalar>(&a); s && s->kind() != Scalar::Kind::Bool) {
        out.push_back(tracer.number_argument(*s, value++, "number " + std::to_string(number++)));
      } else {
        out.push_back(a);
      }
    }
    return out;
  }

 private:
  void flatten_one(CallFrame& f, std::monostate) const { f.constant(0); }
  void flatten_one(CallFrame& f, const Tensor* t) const { f.tensor(*t); }
  void flatten_one(CallFrame& f, const TensorArrayRef& l) const {
    f.constant(l.size());
    for (const Tensor& t : l) f.tensor(t);
  }
  void flatten_one(CallFrame& f, Int i) const { f.integer(i); }
  void flatten_one(CallFrame& f, const IntArrayRef& l) const {
    f.constant(l.size());
    for (Int i : l) f.integer(i);
  }
  void flatten_one(CallFrame& f, const Scalar& s) const { f.number(s); }
  void flatten_one(CallFrame& f, bool b) const { f.constant(b); }
  void flatten_one(CallFrame& f, DType t) const { f.constant(static_cast<std::uint64_t>(t)); }
  void flatten_one(CallFrame& f, std::string_view s) const { f.text(s); }
};

Tensor eager_view(const OpCall& c) {
  const Tensor& self = *std::get<const Tensor*>(c.args[0]);
  TensorImpl& impl = defined_impl(self, c.op.schema.name.c_str(), c.loc);
  check_not_released(impl, c.op.schema.name.c_str(), c.loc);
  TensorMeta meta = meta_of(self);
  std::vector<graph::RuleArg> args;
  args.reserve(c.args.size());
  args.push_back(&meta);
  for (std::size_t i = 1; i < c.args.size(); ++i) {
    args.push_back(std::visit(
        [](const auto& v) -> graph::RuleArg {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, IntArrayRef>) return v.vec();
          else if constexpr (std::is_same_v<T, const Tensor*> || std::is_same_v<T, TensorArrayRef>)
            return std::monostate{};
          else return v;
        },
        c.args[i]));
  }
  Layout l = graph::apply_view(c.op, args, meta.layout, c.loc, graph::Strides::All);
  graph::check_within_operand(c.op, args, meta.layout, l, c.loc);
  std::int64_t sizes[kMaxRank], strides[kMaxRank];
  for (int d = 0; d < l.dim(); ++d)
    sizes[d] = l.sizes[static_cast<std::size_t>(d)].hint(), strides[d] = l.strides[static_cast<std::size_t>(d)].hint();
  if (graph::is_view_of_storage(c.op.id)) {
    // It counts from the start of the storage and may name any element of it, but none outside.
    const bool none = std::find(sizes, sizes + l.dim(), 0) != sizes + l.dim();
    const auto last = last_element(
        l.dim(), l.offset.hint(), [&](int d) { return sizes[d]; }, [&](int d) { return strides[d]; });
    const std::int64_t have = impl.storage->bytes / item_size(impl.dtype);
    if (!none && (!last || *last >= have || l.offset.hint() < 0))
      fail(ErrorCode::IndexOutOfRange, c.op.schema.name.c_str(), c.loc, "the view reaches element ", element_text(last),
           " of a storage of ", have);
  }
  retain(impl.storage);
  TensorImpl* made = new_impl(impl.dtype, impl.device, sizes, strides, l.dim(), l.offset.hint(), impl.storage);
  made->is_view = true;
  return Tensor::adopt(made);
}

class EagerInterpreter final : public graph::Interpreter {
 public:
  EagerInterpreter() : Interpreter(graph::Key::Trace) {}  // below whom all others stand: no mode
  void call(const OpCall& c, std::vector<Tensor>& results) override {
    if (c.op.cls == graph::OpClass::View && !c.inplace) {
      results.push_back(eager_view(c));
      return;
    }
    if (any_shape_only.load(std::memory_order_relaxed) && is_shape_only_call(c)) [[unlikely]] {
      if (c.inplace || !c.op.writes.empty()) check_writable(c);
      call_shape_only(c, results);
      return;
    }
    if (call_in_own_form(c, results)) return;
    reprise::counters().eager_calls.add();
    const timeline::Slice slice("eager", c.op.schema.name);
    EagerArgs args(c);
    CallFrame& f = thread_object<CallFrame, EagerInterpreter>();
    f.clear();
    try {
      args.flatten(f);
    } catch (const Error& e) {  // a released tensor, say: the line is this operator's
      throw_as(e, std::string(c.op.name()), c.loc);
    }
    const bool writes = c.inplace || !c.op.writes.empty();
    if (writes) check_writable(c);
    EagerTable& table = EagerTable::get();
    epochs::Reading reading;
    bool full = false;
    const Specialization* s = table.find(f, &full);
    const bool meanwhile = !s && !full && is_served_meanwhile() && runtime::is_little_by_reference(c) &&
                           !(comes_often(f) && may_wait_for_code());
    if ((full || meanwhile) && by_reference(c, results)) return;
    if (!s) {
      auto body = [&](Tracer& tracer) {
        std::vector<std::vector<Tensor>> tensors;
        std::vector<Ints> ints;
        tensors.reserve(args.args.size());
        ints.reserve(args.args.size());
        std::vector<CallArg> traced = args.traced(tracer, f, tensors, ints);
        std::vector<Tensor> made;
        tracer.call({c.op, traced, c.inplace, c.loc}, made);
        if (!c.inplace)
          for (std::size_t i = 0; i < made.size(); ++i)
            if (c.op.writes.empty() || c.op.returns[i] < 0) tracer.result(made[i]);
      };
      try {
        s = table.make(
            c, f, [](void* b, Tracer& t) { (*static_cast<decltype(body)*>(b))(t); }, &body);
      } catch (const Error& e) {
        if (jit::ended() && by_reference(c, results)) return;  // in the destructor of a static object
        if (e.code() != ErrorCode::NotTraceable || !writes) throw;
        if (!on_copies(c, results)) throw;  // what is written overlaps an operand
        return;
      }
    }
    Outputs outputs;
    // nothing fails once it has run
    results.reserve(results.size() + std::max({s->tensor_results.size(), c.op.returns.size(), std::size_t{1}}));
    std::vector<Tensor> own;  // of an operator that writes
    if (writes) own.reserve(s->tensor_results.size());
    run_with_location(*s, f, outputs, c);
    if (c.inplace) return results.push_back(*std::get<const Tensor*>(c.args[0]));
    for (TensorImpl*& t : outputs.tensors) (writes ? own : results).push_back(Tensor::adopt(std::exchange(t, nullptr)));
    if (writes) graph::append_returned(c, std::move(own), results);
  }

  void mutate_metadata(const OpCall& c) override {
    const Tensor& self = *std::get<const Tensor*>(c.args[0]);
    TensorImpl& t = defined_impl(self, c.op.schema.name.c_str(), c.loc);
    const graph::ViewOf of = graph::view_facts_of(c.op.id).of;
    if (of == graph::ViewOf::Source) {
      const TensorImpl& from = defined_impl(*std::get<const Tensor*>(c.args[1]), "set_", c.loc);
      if (from.trace) fail(ErrorCode::InvalidArgument, "set_", c.loc, "the source is a tensor of a trace");
      if (is_shape_only(from.device) != is_shape_only(t.device))
        fail(ErrorCode::DeviceMismatch, "set_", c.loc, "one of the two is shape-only: it has no elements");
      if (from.dtype != t.dtype)
        fail(ErrorCode::DTypeMismatch, "set_", c.loc, "self is ", t.dtype, ", the source is ", from.dtype);
      retain(from.storage);
      frozen_may_change(*t.storage);
      release(std::exchange(t.storage, from.storage));
      take_layout(t, from);
      return;
    }
    check_not_released(t, c.op.schema.name.c_str(), c.loc);
    if (of == graph::ViewOf::Storage) grow(t, std::get<IntArrayRef>(c.args[1]));
    Tensor view = eager_view(c);
    take_layout(t, *view.impl());
  }

  std::pair<Int, Int> next_random(Int count) override {
    auto [seed, offset] = graph::take_random(count.hint());
    return {seed, offset};
  }

 private:
  static void take_layout(TensorImpl& to, const TensorImpl& from) {
    to.rank = from.rank;
    to.offset = from.offset;
    frozen_may_change(*to.storage);
    to.structure_word.store(0, std::memory_order_relaxed);
    std::memcpy(to.sizes, from.sizes, sizeof to.sizes);
    std::memcpy(to.strides, from.strides, sizeof to.strides);
  }

  // resize_ to more elements than the storage holds: it gets more bytes, with the old ones first, for all tensors on
  // it.
  static void grow(TensorImpl& t, const IntArrayRef& sizes) {
    std::int64_t n = 1, bytes = 0;
    for (Int s : sizes) {
      if (s.hint() <= 0) return;  // a negative one is refused before anything has changed
      if (__builtin_mul_overflow(n, s.hint(), &n)) n = INT64_MAX;  // beside a size of 0 (resize_ has asked)
    }
    if (__builtin_add_overflow(n, t.offset, &n) || __builtin_mul_overflow(n, item_size(t.dtype), &bytes))
      fail(ErrorCode::InvalidArgument, "resize_", {}, "element ", t.offset,
           " and those after it take more bytes than 63 bits can count");
    if (bytes <= t.storage->bytes) return;
    if (is_shape_only(t.device)) {
      t.storage->bytes = bytes;
      count_write(*t.storage);
      return;
    }
    // What a program sees of memory is the same at every call, and what a compiled function makes of it (Tracer::grow).
    const bool on_host = device::runs_host_code(t.device);
    const auto more = static_cast<std::size_t>(bytes - t.storage->bytes);
    const std::vector<char> zeros(on_host ? 0 : more);
    Storage* larger = new_storage(t.device, bytes);
    char* tail = static_cast<char*>(larger->data) + t.storage->bytes;
    if (on_host) std::memset(tail, 0, more);
    else copy_bytes(tail, t.device, zeros.data(), Device::cpu(), static_cast<std::int64_t>(more));
    if (t.storage->bytes) copy_bytes(larger->data, t.device, t.storage->data, t.device, t.storage->bytes);
    swap_bytes(*t.storage, *larger);
    count_write(*t.storage);  // what is on it may be more than before
    release(larger);
  }

  static void check_writable(const OpCall& c) {
    if (c.inplace) return check_writable(c, *std::get<const Tensor*>(c.args[0]), std::string(c.op.name()) + "_");
    std::vector<TensorImpl*> written;
    graph::for_each_written(c, [&](const Tensor& self) {
      check_writable(c, self, c.op.schema.name);
      for (TensorImpl* other : written)
        if (overlaps(*self.impl(), *other)) graph::fail_shared_writes(c);
      written.push_back(self.impl());
    });
  }
  static void check_writable(const OpCall& c, const Tensor& self, const std::string& name) {
    TensorImpl& t = defined_impl(self, c.op.schema.name.c_str(), c.loc);
    if (!overlaps_itself(t)) return;
    for (int d = 0; d < t.rank; ++d)
      if (t.strides[d] == 0 && t.sizes[d] > 1) refuse_expanded(name, c.loc, d, t.sizes[d]);
    refuse_shared_places(name, c.loc);
  }

  bool call_in_own_form(const OpCall& c, std::vector<Tensor>& results) {
    const runtime::EagerForm* form = runtime::eager_forms().find(c.op.id);
    if (!form) return false;
    if (form->direct) {
      form->direct(c, results);
      return true;
    }
    return form->in_groups && call_in_groups(c, results);
  }

  // A long list of tensors, joined by groups: what is made for a list of one length is kept, and lists that grow have
  // many.
  bool call_in_groups(const OpCall& c, std::vector<Tensor>& results) {
    constexpr std::size_t kMost = 16;
    const auto& list = std::get<TensorArrayRef>(c.args[0]);
    if (list.size() <= kMost) return false;
    std::vector<Tensor> parts;
    for (std::size_t first = 0; first < list.size(); first += kMost) {
      const CallArg group[] = {TensorArrayRef(list.begin() + first, std::min(kMost, list.size() - first)), c.args[1]};
      call({c.op, group, false, c.loc}, parts);
    }
    const CallArg joined[] = {TensorArrayRef(parts), c.args[1]};
    call({c.op, joined, false, c.loc}, results);
    return true;
  }

  // What comes again and again while calls are served meanwhile is worth code; about: structures may share a count.
  static bool comes_often(const CallFrame& f) {
    constexpr std::uint8_t kOften = 4;
    static std::array<std::atomic<std::uint8_t>, 4096> times{};
    std::atomic<std::uint8_t>& n = times[f.hash() >> 52];
    const std::uint8_t before = n.load(std::memory_order_relaxed);
    if (before < kOften) n.store(static_cast<std::uint8_t>(before + 1), std::memory_order_relaxed);
    return before >= kOften;
  }

  // For an operator that has code for so many values already, or is not worth any now. False: its operands are on a
  // device, where it must have code.
  bool by_reference(const OpCall& c, std::vector<Tensor>& results) {
    bool on_host = true;
    auto see = [&](const Tensor& t) { on_host = on_host && (!t.defined() || t.device() == Device::cpu()); };
    for (const CallArg& a : c.args) {
      if (auto* t = std::get_if<const Tensor*>(&a)) see(**t);
      if (auto* list = std::get_if<TensorArrayRef>(&a))
        for (const Tensor& t : *list) see(t);
    }
    if (int d = c.op.schema.find("device"); d >= 0)
      on_host = on_host && std::get<std::string_view>(c.args[static_cast<std::size_t>(d)]) == "cpu";
    if (!on_host) return false;
    std::vector<Tensor> made = kernels::reference_call(c.op.functional.value_or(c.op.id), c.args, c.loc);
    if (!c.op.writes.empty()) {
      std::size_t next = 0;
      graph::for_each_written(c, [&](const Tensor& t) {
        const CallArg copy[] = {&t, &made[next++]};
        std::vector<Tensor> ignored;
        call({graph::op(OpId::copy), copy, true, c.loc}, ignored);
      });
      made.erase(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(next));
      graph::append_returned(c, std::move(made), results);
      return true;
    }
    if (!c.inplace) {
      std::move(made.begin(), made.end(), std::back_inserter(results));
      return true;
    }
    const CallArg copy[] = {c.args[0], &made[0]};
    call({graph::op(OpId::copy), copy, true, c.loc}, results);
    return true;
  }

  // x.add_(x) and the like: exactly the same view is read and written element by element, anything else is read from a
  // copy, as if the operands had been read first. False: nothing that is read overlaps what is written.
  bool on_copies(const OpCall& c, std::vector<Tensor>& results) {
    std::vector<const TensorImpl*> written;
    graph::for_each_written(c, [&](const Tensor& t) { written.push_back(t.impl()); });
    auto shares = [&](const Tensor& t) {
      return t.defined() &&
             std::any_of(written.begin(), written.end(), [&](const TensorImpl* w) { return overlaps(*w, *t.impl()); });
    };
    bool copied = false;
    auto copy_of = [&](const Tensor& t) {
      if (!shares(t)) return t;
      CallArg one[] = {&t};
      std::vector<Tensor> copy;
      call({graph::op(OpId::clone), one, false, c.loc}, copy);
      copied = true;
      return copy[0];
    };
    std::vector<Tensor> copies;
    std::vector<std::vector<Tensor>> lists;
    copies.reserve(c.args.size()), lists.reserve(c.args.size());
    std::vector<CallArg> args(c.args.begin(), c.args.end());
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (c.inplace ? i == 0 : graph::is_written(c.op, i)) continue;
      if (auto* t = std::get_if<const Tensor*>(&args[i]); t && shares(**t)) {
        copies.push_back(copy_of(**t));
        args[i] = &copies.back();
      } else if (auto* list = std::get_if<TensorArrayRef>(&args[i]);
                 list && std::any_of(list->begin(), list->end(), shares)) {
        lists.emplace_back();
        for (const Tensor& x : *list) lists.back().push_back(copy_of(x));
        args[i] = TensorArrayRef(lists.back());
      }
    }
    if (copied) call({c.op, args, c.inplace, c.loc}, results);
    return copied;
  }

  // The code is shared by every call of this operator and structure; an error names this call's line.
  static void run_with_location(const Specialization& s, CallFrame& f, Outputs& outputs, const OpCall& c) {
    try {
      run_specialization(s, f, outputs);
    } catch (const device::LateFault&) {  // of another call
      throw;
    } catch (const Error& e) {
      throw_as(e, e.op(), c.loc);
    }
  }
};

}  // namespace

}  // namespace reprise::detail

namespace reprise::graph {

Interpreter& eager_interpreter() {
  // never destroyed: other static objects' destructors may use tensors
  static auto* eager = new detail::EagerInterpreter;
  return *eager;
}

}  // namespace reprise::graph
