#include "runtime/call_check.h"

#include <cmath>
#include <map>
#include <optional>

#include "base/errors.h"
#include "device/backend.h"
#include "runtime/recording.h"
#include "runtime/specialization.h"
#include "tensor/impl.h"
#include "tensor/strided.h"

namespace reprise::detail {

namespace {

/// Copies of tensors that share their storages as those do; a tensor that comes twice is one.
class Copies {
 public:
  TensorImpl* of(const TensorImpl& t) {
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

/// How far apart floats may be, relative to the largest of the tensor.
double tolerance(DType t) {
  switch (t) {
    case DType::Float64: return 1e-9;
    case DType::Float32: return 1e-4;
    case DType::Float16: return 1e-2;
    case DType::BFloat16: return 5e-2;
    case DType::Float8E4M3FN: case DType::Float8E5M2: return 0.25;
    default: return 0;
  }
}

std::vector<double> elements(const TensorImpl& t) {
  std::vector<double> out;
  dispatch(t.dtype, [&](auto* p) {
    using T = std::remove_pointer_t<decltype(p)>;
    for_each_offset(t, [&](std::int64_t at) { out.push_back(convert_element<double>(load_element<T>(t.data() + at * item_size(t.dtype)))); });
  });
  return out;
}

void compare(const std::string& name, const std::string& what, const TensorImpl* compiled, const TensorImpl* traced) {
  auto differ = [&](const auto&... parts) { fail(ErrorCode::Internal, name.c_str(), {}, "REPRISE_VERIFY: ", what, parts...); };
  if (!compiled || !traced) {
    if (compiled != traced) differ(" is ", compiled ? "defined" : "undefined", ", by the traced program it is not so");
    return;
  }
  if (compiled->dtype != traced->dtype) differ(" is ", compiled->dtype, ", by the traced program ", traced->dtype);
  if (compiled->rank != traced->rank || !std::equal(compiled->sizes, compiled->sizes + compiled->rank, traced->sizes)) differ(": sizes differ from the traced program's");
  const std::vector<double> got = elements(*compiled), want = elements(*traced);
  double scale = 1;
  for (double v : want)
    if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
  const double allowed = tolerance(traced->dtype) * scale;
  for (std::size_t i = 0; i < want.size(); ++i)
    if (got[i] != want[i] && !(std::isnan(got[i]) && std::isnan(want[i])) && !(std::abs(got[i] - want[i]) <= allowed))
      differ(", element ", i, " is ", got[i], ", by the traced program ", want[i]);
}

}  // namespace

CallCheck::CallCheck(graph::Graph graph, const Traced& t)
    : program_(runtime::build_program(std::move(graph), "interpret", t.int_results, t.floats, t.uses_random, t.random_count)) {}

std::unique_ptr<CallCheck> CallCheck::make(const Traced& t) {
  for (const graph::Value& v : t.graph.values)
    if (!device::runs_host_code(v.meta.device)) return nullptr;
  return std::unique_ptr<CallCheck>(new CallCheck(t.graph, t));
}

void CallCheck::run(const Specialization& s, CallFrame& f, Outputs& outputs, void (*compiled)(void*), void* context) {
  Copies copies;
  std::vector<TensorImpl*> inputs;
  for (TensorImpl* t : f.tensors) inputs.push_back(copies.of(*t));
  Outputs expected;
  std::optional<Error> error;
  try {
    runtime::PlanMemory memory;
    runtime::Recording once(program_, f.values.data(), memory);
    std::int64_t copied = 0;
    once.replay(f.values.data(), inputs.data(), expected, s.tensor_results, &copied);
  } catch (const Error& e) {
    error = e;
  }
  try {
    compiled(context);
  } catch (const Error& e) {
    if (error && error->code() == e.code()) throw;
    fail(ErrorCode::Internal, s.name.c_str(), {}, "REPRISE_VERIFY: the call throws '", e.what(), "', the traced program ", error ? error->what() : "does not");
  }
  if (error) fail(ErrorCode::Internal, s.name.c_str(), {}, "REPRISE_VERIFY: only the traced program throws: ", error->what());
  for (std::size_t i = 0; i < outputs.tensors.size(); ++i) compare(s.name, "result " + std::to_string(i), outputs.tensors[i], expected.tensors[i]);
  for (std::size_t i = 0; i < outputs.ints.size(); ++i)
    if (outputs.ints[i] != expected.ints[i]) fail(ErrorCode::Internal, s.name.c_str(), {}, "REPRISE_VERIFY: number ", i, " of the results is ", outputs.ints[i], ", by the traced program ", expected.ints[i]);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    compare(s.name, "the argument " + s.program.graph.values[s.program.graph.inputs[i].value.v].name + " after the call", f.tensors[i], inputs[i]);
}

}  // namespace reprise::detail
