#pragma once
// For programs that were written for libtorch: the names torch::, at:: and c10:: for what there is of them here, so
// that such a program includes this header in place of <torch/torch.h>. docs/from_libtorch.md says what then differs;
// above all: a size is an Int (`auto n = x.size(0)`). Not to be included beside libtorch's own headers.
#include <cstdint>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reprise/accessor.h"
#include "reprise/nn.h"
#include "reprise/reprise.h"

/// Throws reprise::Error where the condition does not hold, with all that follows it as text. (A condition on sizes is
/// a guard of a compiled function.)
#define TORCH_CHECK(condition, ...)                                                            \
  do {                                                                                         \
    if (!(condition)) [[unlikely]]                                                             \
      throw ::reprise::Error(::reprise::ErrorCode::InvalidArgument, "TORCH_CHECK",             \
                             ::torch::detail::message(#condition __VA_OPT__(, ) __VA_ARGS__)); \
  } while (false)
#define TORCH_INTERNAL_ASSERT(...) TORCH_CHECK(__VA_ARGS__)

namespace torch {

using namespace reprise;

namespace detail {
template <class... T>
std::string message([[maybe_unused]] const char* condition, const T&... parts) {
  if constexpr (sizeof...(T) == 0) {
    return std::string("'") + condition + "' does not hold";
  } else {
    std::ostringstream all;
    (all << ... << parts);
    return all.str();
  }
}
}  // namespace detail

// ---- types
using ScalarType = DType;
using Dtype = DType;
using SymInt = Int;
using TensorList = TensorArrayRef;
using Error = reprise::Error;
template <class T>
using optional = std::optional<T>;
inline constexpr std::nullopt_t nullopt = std::nullopt;
namespace indexing {
using namespace reprise::indexing;
using reprise::TensorIndex;
}  // namespace indexing

inline constexpr reprise::Device kCPU = reprise::Device::cpu(), kCUDA = reprise::Device::cuda();
struct DeviceType {
  static constexpr reprise::Device CPU = reprise::Device::cpu(), CUDA = reprise::Device::cuda();
};
struct Device : reprise::Device {
  Device(reprise::Device d) : reprise::Device(d) {}
  Device(reprise::Device d, int at)
      : reprise::Device(d.type == reprise::DeviceType::Cuda ? reprise::Device::cuda(at < 0 ? 0 : at) : d) {}
  /// "cpu", "cuda", "cuda:1".
  Device(const char* text) : Device(std::string(text)) {}
  Device(const std::string& text) : reprise::Device(parsed(text)) {}
  bool is_cpu() const { return type == reprise::DeviceType::Cpu; }
  bool is_cuda() const { return type == reprise::DeviceType::Cuda; }

 private:
  static reprise::Device parsed(const std::string& text) {
    if (text == "cpu") return reprise::Device::cpu();
    if (text == "cuda") return reprise::Device::cuda();
    if (text.size() > 5 && text.size() < 9 && text.starts_with("cuda:") &&
        text.find_first_not_of("0123456789", 5) == std::string::npos)
      return reprise::Device::cuda(std::stoi(text.substr(5)));
    throw reprise::Error(ErrorCode::InvalidArgument, "Device",
                         "'" + text.substr(0, 40) + "' is no device; \"cpu\", \"cuda\" and \"cuda:1\" are");
  }
};

/// Options that are made step by step; functions of this library take them, too.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(DType t) { o_.dtype = t; }
  TensorOptions(reprise::Device d) { o_.device = d; }
  TensorOptions(const reprise::TensorOptions& o) : o_(o) {}
  /// For functions that make no leaves: with requires_grad(true) this throws InvalidArgument.
  operator reprise::TensorOptions() const {
    if (requires_grad_)
      throw reprise::Error(ErrorCode::InvalidArgument, "TensorOptions",
                           "requires_grad: this function makes no leaves; call requires_grad_() on the result");
    return o_;
  }
  [[nodiscard]] TensorOptions dtype(DType t) const {
    return with([&](TensorOptions& o) { o.o_.dtype = t; });
  }
  [[nodiscard]] TensorOptions device(Device d) const {
    return with([&](TensorOptions& o) { o.o_.device = d; });
  }
  [[nodiscard]] TensorOptions device(reprise::Device d, int at) const { return device(Device(d, at)); }
  /// Creations give leaves that want a gradient, as Tensor::requires_grad_ does: DTypeMismatch where they are not
  /// floats.
  [[nodiscard]] TensorOptions requires_grad(bool wanted) const {
    return with([&](TensorOptions& o) { o.requires_grad_ = wanted; });
  }
  DType dtype() const { return o_.dtype.value_or(get_default_dtype()); }
  Device device() const { return o_.device.value_or(reprise::Device::cpu()); }
  bool requires_grad() const { return requires_grad_; }
  /// What `make` gives for these options, a leaf that wants a gradient if they ask for one.
  template <class F>
  Tensor made(SourceLoc loc, F&& make) const {
    Tensor t = make(o_);
    return requires_grad_ ? t.requires_grad_(true, loc) : t;
  }

 private:
  template <class F>
  TensorOptions with(F&& change) const {
    TensorOptions o = *this;
    change(o);
    return o;
  }
  reprise::TensorOptions o_;
  bool requires_grad_ = false;
};
inline TensorOptions dtype(DType t) { return t; }
inline TensorOptions device(Device d) { return static_cast<reprise::Device>(d); }
inline TensorOptions requires_grad(bool wanted = true) { return TensorOptions().requires_grad(wanted); }

// ---- functions that take these options: a dtype or a device alone (`zeros({2}, kInt64)`), and requires_grad
#define REPRISE_COMPAT_SIZES(name)                                                                     \
  using reprise::name;                                                                                 \
  inline Tensor name(IntArrayRef size, const TensorOptions& o, SourceLoc loc = SourceLoc::current()) { \
    return o.made(loc, [&](const auto& all) { return reprise::name(size, all, loc); });                \
  }
#define REPRISE_COMPAT_LIKE(name)                                                                        \
  using reprise::name;                                                                                   \
  inline Tensor name(const Tensor& self, const TensorOptions& o, SourceLoc loc = SourceLoc::current()) { \
    return o.made(loc, [&](const auto& all) { return reprise::name(self, all, loc); });                  \
  }
REPRISE_COMPAT_SIZES(zeros)
REPRISE_COMPAT_SIZES(ones)
REPRISE_COMPAT_SIZES(empty)
REPRISE_COMPAT_SIZES(rand)
REPRISE_COMPAT_SIZES(randn)
REPRISE_COMPAT_LIKE(zeros_like)
REPRISE_COMPAT_LIKE(ones_like)
REPRISE_COMPAT_LIKE(empty_like)
REPRISE_COMPAT_LIKE(rand_like)
REPRISE_COMPAT_LIKE(randn_like)
#undef REPRISE_COMPAT_SIZES
#undef REPRISE_COMPAT_LIKE
using reprise::arange, reprise::eye, reprise::from_blob, reprise::full, reprise::full_like, reprise::linspace,
    reprise::randint, reprise::scalar_tensor, reprise::tensor;
inline Tensor full(IntArrayRef size, Scalar value, const TensorOptions& o, SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::full(size, value, all, loc); });
}
inline Tensor full_like(const Tensor& self, Scalar value, const TensorOptions& o,
                        SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::full_like(self, value, all, loc); });
}
inline Tensor randint(Int low, Int high, IntArrayRef size, const TensorOptions& o,
                      SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::randint(low, high, size, all, loc); });
}
inline Tensor randint(Int high, IntArrayRef size, const TensorOptions& o = {}, SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::randint(0, high, size, all, loc); });
}
inline Tensor arange(Scalar end, const TensorOptions& o, SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::arange(end, all, loc); });
}
inline Tensor arange(Scalar start, Scalar end, const TensorOptions& o, SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::arange(start, end, all, loc); });
}
inline Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions& o,
                     SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::arange(start, end, step, all, loc); });
}
inline Tensor linspace(Scalar start, Scalar end, Int steps, const TensorOptions& o,
                       SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::linspace(start, end, steps, all, loc); });
}
inline Tensor eye(Int n, const TensorOptions& o, SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::eye(n, std::nullopt, all, loc); });
}
inline Tensor eye(Int n, Int m, const TensorOptions& o, SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::eye(n, m, all, loc); });
}
inline Tensor scalar_tensor(Scalar value, const TensorOptions& o, SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::scalar_tensor(value, all, loc); });
}
template <class T>
requires(std::is_arithmetic_v<T>) Tensor tensor(T value, const TensorOptions& o, SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::tensor(value, all, loc); });
}
template <class T>
Tensor tensor(std::initializer_list<T> values, const TensorOptions& o, SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::tensor(values, all, loc); });
}
template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, const TensorOptions& o,
              SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::tensor(rows, all, loc); });
}
template <class T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& o = {}, SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto& all) { return reprise::tensor_of(values).to(all); });
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& o = {},
                        SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto&) { return reprise::from_blob(data, sizes, o.dtype(), {}, {}, o.device()); });
}
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& o = {},
                        SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto&) { return reprise::from_blob(data, sizes, o.dtype(), {}, strides, o.device()); });
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const std::function<void(void*)>& deleter,
                        const TensorOptions& o = {}, SourceLoc loc = SourceLoc::current()) {
  return o.made(loc, [&](const auto&) { return reprise::from_blob(data, sizes, o.dtype(), deleter, {}, o.device()); });
}

// ---- gradients: the library's own scopes
using NoGradGuard = reprise::NoGradScope;
using AutoGradMode = reprise::GradModeScope;
struct GradMode {
  static bool is_enabled() { return is_grad_enabled(); }
};
/// With false gradients are on, as libtorch has it. (Views that an outer InferenceMode makes are not followed then
/// either.)
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true) {
    if (enabled) off_.emplace();
    else on_.emplace();
  }

 private:
  std::optional<reprise::InferenceScope> off_;
  std::optional<reprise::EnableGradScope> on_;
};

namespace cuda {
inline int device_count() { return cuda_device_count(); }
inline bool is_available() { return device_count() > 0; }
inline void synchronize(int device = 0) { reprise::synchronize(reprise::Device::cuda(device)); }
}  // namespace cuda

namespace nn {
using namespace reprise::nn;

#define REPRISE_COMPAT_OPTION(Class, Type, name) \
  [[nodiscard]] Class& name(const Type& v) {     \
    name##_ = v;                                 \
    return *this;                                \
  }                                              \
  Type name##_
struct LinearOptions {
  LinearOptions(std::int64_t in, std::int64_t out) : in_(in), out_(out) {}
  REPRISE_COMPAT_OPTION(LinearOptions, bool, bias) = true;
  operator Linear() const { return {in_, out_, bias_}; }
  std::int64_t in_, out_;
};
struct EmbeddingOptions {
  EmbeddingOptions(std::int64_t count, std::int64_t size) : count_(count), size_(size) {}
  REPRISE_COMPAT_OPTION(EmbeddingOptions, std::optional<std::int64_t>, padding_idx);
  operator Embedding() const { return {count_, size_, padding_idx_}; }
  std::int64_t count_, size_;
};
struct LayerNormOptions {
  LayerNormOptions(std::vector<std::int64_t> shape) : shape_(std::move(shape)) {}
  REPRISE_COMPAT_OPTION(LayerNormOptions, double, eps) = 1e-5;
  REPRISE_COMPAT_OPTION(LayerNormOptions, bool, elementwise_affine) = true;
  operator LayerNorm() const { return {shape_, eps_, elementwise_affine_}; }
  std::vector<std::int64_t> shape_;
};
struct GroupNormOptions {
  GroupNormOptions(std::int64_t groups, std::int64_t channels) : groups_(groups), channels_(channels) {}
  REPRISE_COMPAT_OPTION(GroupNormOptions, double, eps) = 1e-5;
  REPRISE_COMPAT_OPTION(GroupNormOptions, bool, affine) = true;
  operator GroupNorm() const { return {groups_, channels_, eps_, affine_}; }
  std::int64_t groups_, channels_;
};
struct BatchNormOptions {
  BatchNormOptions(std::int64_t channels) : channels_(channels) {}
  REPRISE_COMPAT_OPTION(BatchNormOptions, double, eps) = 1e-5;
  REPRISE_COMPAT_OPTION(BatchNormOptions, double, momentum) = 0.1;
  REPRISE_COMPAT_OPTION(BatchNormOptions, bool, affine) = true;
  template <int D>
  operator BatchNorm<D>() const {
    return BatchNorm<D>(channels_, eps_, momentum_, affine_);
  }
  std::int64_t channels_;
};
struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  REPRISE_COMPAT_OPTION(DropoutOptions, double, p);
  operator Dropout() const { return Dropout(p_); }
};
/// One number, or one for each dimension.
struct Numbers {
  Numbers(std::int64_t n) : all{n} {}
  Numbers(std::initializer_list<std::int64_t> l) : all(l) {}
  Numbers(std::vector<std::int64_t> l) : all(std::move(l)) {}
  std::vector<std::int64_t> all;
};
template <int D>
struct ConvNdOptions {
  ConvNdOptions(std::int64_t in, std::int64_t out, const Numbers& kernel) : in_(in), out_(out), kernel_(kernel.all) {}
  REPRISE_COMPAT_OPTION(ConvNdOptions, Numbers, stride) = 1;
  REPRISE_COMPAT_OPTION(ConvNdOptions, Numbers, padding) = 0;
  REPRISE_COMPAT_OPTION(ConvNdOptions, Numbers, dilation) = 1;
  REPRISE_COMPAT_OPTION(ConvNdOptions, std::int64_t, groups) = 1;
  REPRISE_COMPAT_OPTION(ConvNdOptions, bool, bias) = true;
  operator Conv<D>() const {
    return Conv<D>(in_, out_, kernel_, ConvOptions{stride_.all, padding_.all, dilation_.all, groups_, bias_});
  }
  std::int64_t in_, out_;
  std::vector<std::int64_t> kernel_;
};
using Conv1dOptions = ConvNdOptions<1>;
using Conv2dOptions = ConvNdOptions<2>;
using Conv3dOptions = ConvNdOptions<3>;

namespace functional {
using namespace reprise;
using reprise::dropout, reprise::gelu, reprise::layer_norm, reprise::log_softmax, reprise::pad, reprise::softmax;

/// The order of libtorch's functional: indices first.
inline Tensor embedding(const Tensor& indices, const Tensor& weight, SourceLoc loc = SourceLoc::current()) {
  return reprise::embedding(weight, indices, loc);
}

struct SoftmaxFuncOptions {
  explicit SoftmaxFuncOptions(std::int64_t dim) : dim_(dim) {}
  REPRISE_COMPAT_OPTION(SoftmaxFuncOptions, std::optional<DType>, dtype);
  std::int64_t dim_;
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
inline Tensor softmax(const Tensor& x, const SoftmaxFuncOptions& o, SourceLoc loc = SourceLoc::current()) {
  return reprise::softmax(x, o.dim_, o.dtype_, loc);
}
inline Tensor log_softmax(const Tensor& x, const SoftmaxFuncOptions& o, SourceLoc loc = SourceLoc::current()) {
  return reprise::log_softmax(x, o.dim_, o.dtype_, loc);
}

struct GELUFuncOptions {
  REPRISE_COMPAT_OPTION(GELUFuncOptions, std::string, approximate) = "none";
};
inline Tensor gelu(const Tensor& x, const GELUFuncOptions& o, SourceLoc loc = SourceLoc::current()) {
  return reprise::gelu(x, o.approximate_, loc);
}

struct DropoutFuncOptions {
  REPRISE_COMPAT_OPTION(DropoutFuncOptions, double, p) = 0.5;
  REPRISE_COMPAT_OPTION(DropoutFuncOptions, bool, training) = false;
};
inline Tensor dropout(const Tensor& x, const DropoutFuncOptions& o, SourceLoc loc = SourceLoc::current()) {
  return reprise::dropout(x, o.p_, o.training_, loc);
}

struct LayerNormFuncOptions {
  explicit LayerNormFuncOptions(std::vector<std::int64_t> shape) : shape_(std::move(shape)) {}
  REPRISE_COMPAT_OPTION(LayerNormFuncOptions, Tensor, weight);
  REPRISE_COMPAT_OPTION(LayerNormFuncOptions, Tensor, bias);
  REPRISE_COMPAT_OPTION(LayerNormFuncOptions, double, eps) = 1e-5;
  std::vector<std::int64_t> shape_;
};
inline Tensor layer_norm(const Tensor& x, const LayerNormFuncOptions& o, SourceLoc loc = SourceLoc::current()) {
  return reprise::layer_norm(x, o.shape_, o.weight_, o.bias_, o.eps_, loc);
}

struct PadFuncOptions {
  explicit PadFuncOptions(std::vector<std::int64_t> pad) : pad_(std::move(pad)) {}
  REPRISE_COMPAT_OPTION(PadFuncOptions, double, value) = 0;
  std::vector<std::int64_t> pad_;
};
inline Tensor pad(const Tensor& x, const PadFuncOptions& o, SourceLoc loc = SourceLoc::current()) {
  return reprise::pad(x, o.pad_, o.value_, loc);
}
}  // namespace functional
#undef REPRISE_COMPAT_OPTION
}  // namespace nn

}  // namespace torch

namespace at = torch;
namespace c10 = torch;
