#include <cstring>

#include "base/errors.h"
#include "base/float_state.h"
#include "device/backend.h"
#include "tensor/impl.h"
#include "tensor/strided.h"
#include "tensor/transfer.h"
#include "tensor/wrapped.h"

namespace reprise {
namespace {

const char* first_byte(const TensorImpl& t) { return t.storage->data ? t.data() : nullptr; }

}  // namespace

void* Tensor::data_ptr(SourceLoc loc) const {
  checked_storage(*this, "data_ptr", loc);
  return const_cast<char*>(first_byte(*impl_));
}

void* Tensor::checked_data(DType want, SourceLoc loc) const {
  checked_storage(*this, "data", loc);
  if (impl_->dtype != want)
    fail(ErrorCode::DTypeMismatch, "data", loc, "asked for ", want, ", but the tensor holds ", impl_->dtype);
  return const_cast<char*>(first_byte(*impl_));
}

Scalar element(const Tensor& t, SourceLoc loc) {
  checked_storage(t, "item", loc);
  const TensorImpl& impl = *t.impl();
  if (impl.numel() != 1)
    fail(ErrorCode::ShapeMismatch, "item", loc, "wants a tensor of one element, but this one has ", impl.numel());
  if (!device::runs_host_code(impl.device)) return element(on_host(t, "item", loc), loc);
  const FloatState ours;
  return dispatch(impl.dtype, [&]<class T>(T*) -> Scalar {
    T v = load_element<T>(impl.data());
    if constexpr (std::is_same_v<T, bool>) return Scalar(v);
    else if constexpr (std::is_integral_v<T>) return Scalar(static_cast<std::int64_t>(v));
    else return Scalar(convert_element<double>(v));
  });
}

template <class T>
std::vector<T> Tensor::to_vector(SourceLoc loc) const {
  if (impl_ && has_no_bytes(*impl_)) return with_bytes(*this, loc).to_vector<T>(loc);
  checked_storage(*this, "to_vector", loc);
  if (!device::runs_host_code(impl_->device)) return on_host(*this, "to_vector", loc).to_vector<T>(loc);
  const FloatState ours;
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(impl_->numel()));
  dispatch(impl_->dtype, [&]<class From>(From*) {
    const char* p = first_byte(*impl_);
    for_each_offset(*impl_, [&](std::int64_t at) {
      out.push_back(convert_element<T>(load_element<From>(p + at * static_cast<std::int64_t>(sizeof(From)))));
    });
  });
  return out;
}
template std::vector<float> Tensor::to_vector(SourceLoc) const;
template std::vector<double> Tensor::to_vector(SourceLoc) const;
template std::vector<std::int64_t> Tensor::to_vector(SourceLoc) const;
template std::vector<std::int32_t> Tensor::to_vector(SourceLoc) const;
template std::vector<std::int8_t> Tensor::to_vector(SourceLoc) const;
template std::vector<std::uint8_t> Tensor::to_vector(SourceLoc) const;
template std::vector<bool> Tensor::to_vector(SourceLoc) const;
template std::vector<Half> Tensor::to_vector(SourceLoc) const;
template std::vector<BFloat16> Tensor::to_vector(SourceLoc) const;
template std::vector<Float8E4M3FN> Tensor::to_vector(SourceLoc) const;
template std::vector<Float8E5M2> Tensor::to_vector(SourceLoc) const;

template <class T>
Tensor tensor_of(const std::vector<T>& values, IntArrayRef sizes) {
  not_while_traced("tensor_of");
  std::int64_t plain[kMaxRank];
  if (sizes.size() > kMaxRank)
    fail(ErrorCode::InvalidArgument, "tensor_of", {}, "a tensor has at most ", kMaxRank, " dimensions, not ",
         sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) plain[i] = sizes[i].value();
  Tensor t = empty_concrete(plain, static_cast<int>(sizes.size()), dtype_of<T>, Device::cpu());
  if (t.impl()->numel() != static_cast<std::int64_t>(values.size()))
    fail(ErrorCode::ShapeMismatch, "tensor_of", {}, "the sizes have ", t.impl()->numel(), " elements, but ",
         values.size(), " values are given");
  if constexpr (std::is_same_v<T, bool>) {
    bool* out = reinterpret_cast<bool*>(t.impl()->storage->data);
    for (bool v : values) *out++ = v;
  } else if (!values.empty()) {
    std::memcpy(t.impl()->data(), values.data(), values.size() * sizeof(T));
  }
  return t;
}
template Tensor tensor_of(const std::vector<float>&, IntArrayRef);
template Tensor tensor_of(const std::vector<double>&, IntArrayRef);
template Tensor tensor_of(const std::vector<Half>&, IntArrayRef);
template Tensor tensor_of(const std::vector<BFloat16>&, IntArrayRef);
template Tensor tensor_of(const std::vector<Float8E4M3FN>&, IntArrayRef);
template Tensor tensor_of(const std::vector<Float8E5M2>&, IntArrayRef);
template Tensor tensor_of(const std::vector<std::int8_t>&, IntArrayRef);
template Tensor tensor_of(const std::vector<std::uint8_t>&, IntArrayRef);
template Tensor tensor_of(const std::vector<std::int32_t>&, IntArrayRef);
template Tensor tensor_of(const std::vector<std::int64_t>&, IntArrayRef);
template Tensor tensor_of(const std::vector<bool>&, IntArrayRef);

}  // namespace reprise
