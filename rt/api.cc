// The C interface: handles, codes and texts around rt/loaded.h.
#include <map>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "base/errors.h"
#include "device/parallel.h"
#include "graph/interpreter.h"
#include "reprise/rt.h"
#include "rt/loaded.h"
#include "tensor/impl.h"

namespace {

using namespace reprise;  // NOLINT: C functions stand outside
using rt::Loaded;

std::string& last_error() {
  thread_local std::string text;
  return text;
}

/// Programs by handles, which are numbers that are never used twice: one that is gone is known to be none.
class Handles {
 public:
  rprt_program* add(std::shared_ptr<Loaded> p) {
    const std::unique_lock lock(mu_);
    const std::uintptr_t handle = ++latest_ * 16;
    all_.emplace(handle, std::move(p));
    return reinterpret_cast<rprt_program*>(handle);
  }
  std::shared_ptr<Loaded> find(rprt_program* p) const {
    const std::shared_lock lock(mu_);
    const auto at = all_.find(reinterpret_cast<std::uintptr_t>(p));
    return at == all_.end() ? nullptr : at->second;
  }
  std::shared_ptr<Loaded> take(rprt_program* p) {
    const std::unique_lock lock(mu_);
    const auto node = all_.extract(reinterpret_cast<std::uintptr_t>(p));
    return node ? std::move(node.mapped()) : nullptr;
  }

 private:
  mutable std::shared_mutex mu_;
  std::map<std::uintptr_t, std::shared_ptr<Loaded>> all_;  // guarded by mu_
  std::uintptr_t latest_ = 0;                              // guarded by mu_
};
Handles& handles() {
  static Handles& all = *new Handles;
  return all;
}

std::int32_t code_of(ErrorCode c) {
  switch (c) {
    case ErrorCode::InvalidArgument: return RPRT_INVALID_ARGUMENT;
    case ErrorCode::ShapeMismatch: return RPRT_SHAPE_MISMATCH;
    case ErrorCode::DTypeMismatch: return RPRT_DTYPE_MISMATCH;
    case ErrorCode::DeviceMismatch: return RPRT_DEVICE_MISMATCH;
    case ErrorCode::AliasConflict: return RPRT_ALIAS_CONFLICT;
    case ErrorCode::IndexOutOfRange: return RPRT_INDEX_OUT_OF_RANGE;
    case ErrorCode::FileFormat: return RPRT_FILE_FORMAT;
    case ErrorCode::Io: return RPRT_IO;
    case ErrorCode::OutOfMemory: return RPRT_OUT_OF_MEMORY;
    case ErrorCode::DeviceUnavailable: return RPRT_NO_CODE;
    default: return RPRT_INTERNAL;
  }
}

std::int32_t failed(std::int32_t code, const char* text) noexcept {
  try {
    last_error() = text;
  } catch (...) {  // no memory even for that
    last_error().clear();
  }
  return code;
}

template <class F>
std::int32_t guarded(F&& f) noexcept {
  try {
    return f();
  } catch (const Error& e) {
    return failed(code_of(e.code()), e.what());
  } catch (const std::bad_alloc&) {
    return failed(RPRT_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return failed(RPRT_INTERNAL, e.what());
  }
}

/// f(program).
template <class F>
std::int32_t with(rprt_program* handle, F&& f) noexcept {
  return guarded([&]() -> std::int32_t {
    const std::shared_ptr<Loaded> p = handles().find(handle);
    if (!p) return failed(RPRT_NOT_LOADED, "the program is not loaded");
    return f(*p);
  });
}
/// What f gives of the program, or `otherwise`.
template <class T, class F>
T of(rprt_program* handle, T otherwise, F&& f) noexcept {
  with(handle, [&](Loaded& p) {
    otherwise = f(p);
    return RPRT_OK;
  });
  return otherwise;
}

std::int32_t out_of_range(const char* what, std::size_t i, std::size_t n) {
  fail(ErrorCode::InvalidArgument, "reprise", {}, what, " ", i, " is asked for, and there are ", n);
}

rprt_info info_of(const detail::InputContract& in) {
  return {in.name.c_str(), RPRT_TENSOR, static_cast<std::int32_t>(in.word & 0xff) - 1, runtime::rank_of_word(in.word),
          in.written};
}

rprt_info info_of(const Loaded& p, const Loaded::Place& place, bool argument) {
  using Of = Loaded::Place::Of;
  if (argument && place.of == Of::Tensor) return info_of(p.code().contract.inputs[place.at]);
  const std::int32_t kind = place.of == Of::Tensor    ? RPRT_TENSOR
                            : place.of == Of::Integer ? RPRT_INTEGER
                            : place.of == Of::Number  ? RPRT_NUMBER
                                                      : RPRT_NONE;
  return {place.name.c_str(), kind, -1, -1, 0};
}

bool is_missing(const void* p, const char* what) {
  if (!p) failed(RPRT_INVALID_ARGUMENT, what);
  return !p;
}

}  // namespace

extern "C" {

std::int32_t rprt_version(void) { return RPRT_VERSION; }
const char* rprt_last_error(void) { return last_error().c_str(); }

const char* rprt_code_name(std::int32_t code) {
  constexpr const char* kNames[] = {"ok",
                                    "invalid argument",
                                    "shape mismatch",
                                    "dtype mismatch",
                                    "device mismatch",
                                    "alias conflict",
                                    "index out of range",
                                    "file format",
                                    "io",
                                    "out of memory",
                                    "no machine code for this processor",
                                    "not loaded",
                                    "internal"};
  return code < 0 || code > RPRT_INTERNAL ? "unknown" : kNames[code];
}

const char* rprt_dtype_name(std::int32_t dtype) {
  return dtype < 0 || dtype >= kDTypeCount ? nullptr : dtype_name(static_cast<DType>(dtype)).data();
}
std::size_t rprt_dtype_size(std::int32_t dtype) {
  return dtype < 0 || dtype >= kDTypeCount ? 0 : static_cast<std::size_t>(item_size(static_cast<DType>(dtype)));
}

std::int32_t rprt_load(const char* path, const rprt_options* options, rprt_program** out) {
  if (is_missing(path, "rprt_load: no path") || is_missing(out, "rprt_load: no place for the program"))
    return RPRT_INVALID_ARGUMENT;
  return guarded([&] {
    const char* level = options && options->level ? options->level : "";
    const Reading how = options && options->copy_weights ? Reading::Copied : Reading::Mapped;
    *out = handles().add(std::make_shared<Loaded>(path, level, how));
    return RPRT_OK;
  });
}

std::int32_t rprt_unload(rprt_program* p) {
  return guarded([&]() -> std::int32_t {
    if (!handles().take(p)) return failed(RPRT_NOT_LOADED, "the program is not loaded");
    return RPRT_OK;
  });
}

const char* rprt_name(rprt_program* p) {
  return of<const char*>(p, nullptr, [](Loaded& l) { return l.code().contract.name.c_str(); });
}
const char* rprt_level(rprt_program* p) {
  return of<const char*>(p, nullptr, [](Loaded& l) { return l.code().level.c_str(); });
}
const char* rprt_signature(rprt_program* p) {
  return of<const char*>(p, nullptr, [](Loaded& l) { return l.signature().c_str(); });
}
std::size_t rprt_argument_count(rprt_program* p) {
  return of<std::size_t>(p, 0, [](Loaded& l) { return l.arguments().size(); });
}
std::size_t rprt_result_count(rprt_program* p) {
  return of<std::size_t>(p, 0, [](Loaded& l) { return l.results().size(); });
}
std::size_t rprt_guard_count(rprt_program* p) {
  return of<std::size_t>(p, 0, [](Loaded& l) { return l.guards().size(); });
}
std::size_t rprt_weight_count(rprt_program* p) {
  return of<std::size_t>(p, 0, [](Loaded& l) { return l.weights().size(); });
}

std::int32_t rprt_argument(rprt_program* p, std::size_t i, rprt_info* to) {
  if (is_missing(to, "rprt_argument: no place for what it is")) return RPRT_INVALID_ARGUMENT;
  return with(p, [&](Loaded& l) -> std::int32_t {
    if (i >= l.arguments().size()) return out_of_range("argument", i, l.arguments().size());
    *to = info_of(l, l.arguments()[i], true);
    return RPRT_OK;
  });
}
std::int32_t rprt_result(rprt_program* p, std::size_t i, rprt_info* to) {
  if (is_missing(to, "rprt_result: no place for what it is")) return RPRT_INVALID_ARGUMENT;
  return with(p, [&](Loaded& l) -> std::int32_t {
    if (i >= l.results().size()) return out_of_range("result", i, l.results().size());
    *to = info_of(l, l.results()[i], false);
    return RPRT_OK;
  });
}
const char* rprt_guard(rprt_program* p, std::size_t i) {
  return of<const char*>(p, nullptr,
                         [i](Loaded& l) { return i < l.guards().size() ? l.guards()[i].c_str() : nullptr; });
}
std::int32_t rprt_weight(rprt_program* p, std::size_t i, rprt_info* to) {
  if (is_missing(to, "rprt_weight: no place for what it is")) return RPRT_INVALID_ARGUMENT;
  return with(p, [&](Loaded& l) -> std::int32_t {
    if (i >= l.weights().size()) return out_of_range("weight", i, l.weights().size());
    *to = info_of(l.code().contract.inputs[l.weights()[i]]);
    return RPRT_OK;
  });
}
std::int32_t rprt_weight_tensor(rprt_program* p, std::size_t i, rprt_tensor* to) {
  if (is_missing(to, "rprt_weight_tensor: no place for it")) return RPRT_INVALID_ARGUMENT;
  return with(p, [&](Loaded& l) -> std::int32_t {
    if (i >= l.weights().size()) return out_of_range("weight", i, l.weights().size());
    const Tensor t = l.weight(l.weights()[i]);
    if (!t.defined()) fail(ErrorCode::InvalidArgument, "rprt_weight_tensor", {}, "the weight has no value: bind one");
    rt::describe(*t.impl(), *to);
    return RPRT_OK;
  });
}
std::int32_t rprt_bind(rprt_program* p, const char* name, const rprt_tensor* t) {
  if (is_missing(name, "rprt_bind: no name") || is_missing(t, "rprt_bind: no tensor")) return RPRT_INVALID_ARGUMENT;
  return with(p, [&](Loaded& l) {
    l.bind(name, *t);
    return RPRT_OK;
  });
}

std::int32_t rprt_tensor_set(rprt_value* v, void* data, std::int32_t dtype, std::int32_t ndim,
                             const std::int64_t* sizes) {
  if (is_missing(v, "rprt_tensor_set: no value")) return RPRT_INVALID_ARGUMENT;
  if (ndim < 0 || ndim > RPRT_MAX_DIMS || (ndim > 0 && !sizes))
    return failed(RPRT_INVALID_ARGUMENT, "rprt_tensor_set: a tensor has at most 8 dimensions, and their sizes");
  *v = rprt_value{};
  v->kind = RPRT_TENSOR;
  v->tensor.data = data, v->tensor.dtype = dtype, v->tensor.ndim = ndim;
  std::int64_t step = 1;
  for (std::int32_t d = ndim; d-- > 0;) {
    v->tensor.sizes[d] = sizes[d], v->tensor.strides[d] = step;
    if (sizes[d] > 1 && __builtin_mul_overflow(step, sizes[d], &step)) step = INT64_MAX;
  }
  return RPRT_OK;
}
void rprt_integer_set(rprt_value* v, std::int64_t x) {
  if (v) *v = rprt_value{}, v->kind = RPRT_INTEGER, v->integer = x;
}
void rprt_number_set(rprt_value* v, double x) {
  if (v) *v = rprt_value{}, v->kind = RPRT_NUMBER, v->number = x;
}

std::int32_t rprt_call(rprt_program* p, const rprt_value* arguments, std::size_t n_arguments, rprt_value* results,
                       std::size_t n_results) {
  if ((n_arguments && is_missing(arguments, "rprt_call: no arguments")) ||
      (n_results && is_missing(results, "rprt_call: no room for results")))
    return RPRT_INVALID_ARGUMENT;
  return with(p, [&](Loaded& l) {
    l.call(arguments, n_arguments, results, n_results);
    return RPRT_OK;
  });
}

void rprt_release(rprt_value* v) {
  if (!v) return;
  if (v->owner) detail::release(static_cast<TensorImpl*>(v->owner));
  *v = rprt_value{};
}

std::int32_t rprt_set_threads(std::int32_t n) {
  return guarded([&]() -> std::int32_t {
    static const int usual = device::num_threads();
    if (n < 0) return failed(RPRT_INVALID_ARGUMENT, "rprt_set_threads: a negative number");
    device::set_num_threads(n == 0 ? usual : n);
    return RPRT_OK;
  });
}
std::int32_t rprt_threads(void) { return device::num_threads(); }
void rprt_seed(std::uint64_t seed) { graph::seed_generator(seed); }

}  // extern "C"
