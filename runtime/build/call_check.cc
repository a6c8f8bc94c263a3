#include "runtime/build/call_check.h"

#include <cstring>
#include <map>
#include <optional>

#include "base/errors.h"
#include "device/backend.h"
#include "operators/read_back.h"
#include "runtime/build/compare.h"
#include "runtime/build/specialization.h"
#include "runtime/replay/recording.h"
#include "runtime/replay/recording_budget.h"
#include "tensor/impl.h"
#include "tensor/wrapped.h"

namespace reprise::detail {

namespace {

/// Copies of tensors that share their storages as those do; a tensor that comes twice is one.
class Copies {
 public:
  TensorImpl* of(const TensorImpl& t) {
    if (has_no_bytes(t)) return const_cast<TensorImpl*>(&t);  // a wrapper's handle: its inner tensors are others
    auto [it, is_new] = tensors_.try_emplace(&t);
    if (!is_new) return it->second.impl();
    auto [storage, fresh] = storages_.try_emplace(t.storage);
    if (fresh) {
      Storage* copy = new_storage(t.device, t.storage->bytes);
      if (t.storage->bytes) std::memcpy(copy->data, t.storage->data, static_cast<std::size_t>(t.storage->bytes));
      const std::int64_t none = 0, one = 1;
      storage->second = Tensor::adopt(new_impl(DType::UInt8, t.device, &none, &one, 1, 0, copy));
    }
    Storage* s = storage->second.impl()->storage;
    retain(s);
    it->second = Tensor::adopt(new_impl(t.dtype, t.device, t.sizes, t.strides, t.rank, t.offset, s));
    return it->second.impl();
  }

 private:
  std::map<const Storage*, Tensor> storages_;
  std::map<const TensorImpl*, Tensor> tensors_;
};

/// A call may give its arguments other storages (set_, a growing resize_): those that they came with are compared, too.
class Held {
 public:
  explicit Held(const CallFrame& f) {
    storages_.reserve(f.tensors.size());
    for (const TensorImpl* t : f.tensors) retain(storages_.emplace_back(t->storage));
  }
  ~Held() {
    for (Storage* s : storages_) release(s);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  std::vector<Storage*> storages_;
};

void compare(const std::string& name, const std::string& what, TensorImpl* compiled, TensorImpl* traced,
             Closeness level) {
  auto differ = [&](const auto&... parts) {
    fail(ErrorCode::Internal, name.c_str(), {}, "REPRISE_VERIFY: ", what, parts...);
  };
  if (!compiled || !traced) {
    if (compiled != traced) differ(" is ", compiled ? "defined" : "undefined", ", by the traced program it is not so");
    return;
  }
  if (compiled->dtype != traced->dtype) differ(" is ", compiled->dtype, ", by the traced program ", traced->dtype);
  constexpr Runs kRuns{"compiled", "by the traced program"};
  auto difference = shape_difference(traced->sizes, traced->strides, traced->rank, compiled->sizes, compiled->strides,
                                     compiled->rank, kRuns);
  if (!difference) difference = element_difference(Tensor::share(traced), Tensor::share(compiled), level, kRuns);
  if (difference) differ(": ", *difference);
}

}  // namespace

CallCheck::CallCheck(runtime::Stages before, runtime::Program p, const Traced& t)
    : before_(std::move(before)), program_(std::move(p)) {
  if (t.data.empty()) return;
  const auto budget = std::make_shared<runtime::RecordingBudget>(kCalls, INT64_MAX);
  for (const auto& stage : before_) stage->recordings.keep_within(budget);
  const std::vector<Closeness> values = closeness_of_values(t.graph, t.graph.inputs.size(), true);
  for (const graph::Node& n : t.graph.nodes)
    if (n.op == operators::read_back_op()) {
      const DataNumber& d = t.data[static_cast<std::size_t>(std::get<Int>(n.args[1]).hint())];
      numbers_.push_back({d.word, d.is_float, values[std::get<graph::ValueId>(n.args[0]).v]});
    }
}

std::unique_ptr<CallCheck> CallCheck::make(const Traced& t) {
  for (const graph::Value& v : t.graph.values)
    if (!device::runs_host_code(v.meta.device)) return nullptr;
  for (const graph::Node& n : t.graph.nodes)  // what happens in an order happens once for each call
    if (!graph::effects_of(n).repeatable()) return nullptr;
  if (!t.data.empty()) {
    auto [before, last] = runtime::build_staged_reference(t);
    return std::unique_ptr<CallCheck>(new CallCheck(std::move(before), std::move(last), t));
  }
  return std::unique_ptr<CallCheck>(new CallCheck(
      {},
      runtime::build_program(t.graph, kernels::Mode::Interpret, t.int_results, t.floats, t.uses_random, t.random_count),
      t));
}

/// Of those that both have read. False: some differ that may.
bool CallCheck::same_numbers(const Specialization& s, const CallFrame& f,
                             const FrameArray<std::int64_t>& expected) const {
  std::vector<bool> read(std::max(f.values.size(), expected.size()));
  for (const auto& stage : s.before)
    for (const runtime::Stage::Read& r : stage->reads) read[r.word] = true;
  bool same = true;
  for (const Number& n : numbers_) {
    if (!read[n.word] || n.word >= expected.size() || n.is_float || f.values.data()[n.word] == expected.data()[n.word])
      continue;
    if (n.close == Closeness::Bits)
      fail(ErrorCode::Internal, s.name.c_str(), {}, "REPRISE_VERIFY: a number of data is ", f.values.data()[n.word],
           ", by the traced program ", expected.data()[n.word]);
    same = false;
  }
  return same;
}

void CallCheck::run(const Specialization& s, CallFrame& f, Outputs& outputs, void (*compiled)(void*), void* context) {
  const Held held(f);
  Copies copies;
  std::vector<TensorImpl*> inputs;
  for (TensorImpl* t : f.tensors) inputs.push_back(copies.of(*t));
  const std::size_t given = inputs.size();
  FrameArray<std::int64_t> values = f.values;
  std::vector<Tensor> made;  // by stages
  Outputs expected;
  std::optional<Error> error;
  bool decides_otherwise = false;  // of rounded numbers
  try {
    runtime::make_room(before_, values);
    const Outcomes none;
    decides_otherwise = runtime::run_stages(before_, s.name, values.data(), made, inputs, &none).has_value();
    if (!decides_otherwise) {
      runtime::PlanMemory memory;
      const std::shared_ptr<runtime::Recording> once = runtime::Recording::make(program_, values.data(), memory);
      std::int64_t copied = 0;
      once->replay(values.data(), inputs.data(), expected, s.tensor_results, &copied);
    }
  } catch (const Error& e) {
    error = e;
  }
  inputs.resize(given);
  try {
    compiled(context);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::NotTraceable) throw;  // served eagerly: an assumption of data does not hold
    if (error && error->code() == e.code()) throw;
    fail(ErrorCode::Internal, s.name.c_str(), {}, "REPRISE_VERIFY: the call throws '", e.what(),
         "', the traced program ", error ? error->what() : "does not");
  }
  if (error)
    fail(ErrorCode::Internal, s.name.c_str(), {}, "REPRISE_VERIFY: only the traced program throws: ", error->what());
  if (decides_otherwise || !same_numbers(s, f, values)) return;
  const CallCloseness close(program_.graph, s, inputs.size(), true);
  for (std::size_t i = 0; i < outputs.tensors.size(); ++i)
    compare(s.name, "result " + std::to_string(i), outputs.tensors[i], expected.tensors[i],
            close.of_result(s.tensor_results[i]));
  for (std::size_t i = 0; i < outputs.ints.size(); ++i)
    if (outputs.ints[i] != expected.ints[i])
      fail(ErrorCode::Internal, s.name.c_str(), {}, "REPRISE_VERIFY: number ", i, " of the results is ",
           outputs.ints[i], ", by the traced program ", expected.ints[i]);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] != f.tensors[i])
      compare(s.name,
              "the argument " + s.program.graph.values[s.program.graph.inputs[i].value.v].name + " after the call",
              f.tensors[i], inputs[i], close.of_input[i]);
}

}  // namespace reprise::detail
