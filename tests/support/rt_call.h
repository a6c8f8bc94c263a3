#pragma once
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reprise/error.h"
#include "reprise/export.h"
#include "reprise/reprise.h"
#include "reprise/rt.h"
#include "tensor/impl.h"

namespace reprise {

/// A program in the runtime without a compiler, through its C interface. Errors are thrown.
class RtProgram {
 public:
  explicit RtProgram(const std::string& path, const char* level = nullptr) {
    rprt_options o{level, 0};
    ok(rprt_load(path.c_str(), &o, &p_));
  }
  ~RtProgram() { rprt_unload(p_); }
  RtProgram(const RtProgram&) = delete;
  rprt_program* get() const { return p_; }

  static rprt_value value(const Tensor& t) {
    rprt_value v{};
    const TensorImpl& i = *t.impl();
    v.kind = RPRT_TENSOR;
    v.tensor.data = i.data(), v.tensor.dtype = static_cast<int>(i.dtype), v.tensor.ndim = i.rank;
    std::copy_n(i.sizes, kMaxRank, v.tensor.sizes), std::copy_n(i.strides, kMaxRank, v.tensor.strides);
    return v;
  }
  static rprt_value value(std::int64_t n) {
    rprt_value v;
    return rprt_integer_set(&v, n), v;
  }
  static rprt_value value(double n) {
    rprt_value v;
    return rprt_number_set(&v, n), v;
  }

  void bind(const std::string& name, const Tensor& t) {
    const rprt_value v = value(t);
    ok(rprt_bind(p_, name.c_str(), &v.tensor));
    bound_[name] = t;
  }
  /// Tensors and undefined ones; numbers are left out. Each keeps its memory; `inputs`: a view of one of theirs is one
  /// here, too.
  std::vector<Tensor> call(const std::vector<rprt_value>& arguments, const std::vector<Tensor>& inputs) const {
    std::vector<rprt_value> made(rprt_result_count(p_));
    ok(rprt_call(p_, arguments.data(), arguments.size(), made.data(), made.size()));
    std::vector<Tensor> all, of_value;
    for (const rprt_value& v : made) {
      if (v.kind == RPRT_NONE) all.emplace_back();
      if (v.kind != RPRT_TENSOR) {
        of_value.emplace_back();
        continue;
      }
      const auto known =
          std::find_if<const rprt_value*>(made.data(), &v, [&](const rprt_value& w) { return w.owner == v.owner; });
      if (known != &v) {
        all.push_back(of_value[static_cast<std::size_t>(known - made.data())]);
        of_value.push_back(all.back());
        continue;
      }
      if (const Tensor same = itself(v, arguments, inputs); same.defined()) {
        all.push_back(same);
        of_value.push_back(same);
        continue;
      }
      auto* t = static_cast<TensorImpl*>(v.owner);
      Storage* storage = t->storage;
      std::int64_t offset = t->offset;
      for (const Tensor& in : inputs)
        if (in.defined() && v.tensor.data && storage->data == in.impl()->data())
          storage = in.impl()->storage, offset += in.impl()->offset;
      retain(storage);
      all.push_back(Tensor::adopt(new_impl(t->dtype, t->device, t->sizes, t->strides, t->rank, offset, storage)));
      of_value.push_back(all.back());
    }
    for (rprt_value& v : made) rprt_release(&v);
    return all;
  }
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const {
    std::vector<rprt_value> values;
    for (const Tensor& t : inputs) values.push_back(value(t));
    return call(values, inputs);
  }

 private:
  /// The caller's own tensor that a result is; else undefined.
  Tensor itself(const rprt_value& v, const std::vector<rprt_value>& arguments,
                const std::vector<Tensor>& inputs) const {
    if (v.integer < 0) {
      rprt_info info;
      ok(rprt_weight(p_, static_cast<std::size_t>(-v.integer) - 1, &info));
      const auto at = bound_.find(info.name);
      return at == bound_.end() ? Tensor() : at->second;
    }
    if (v.integer == 0) return {};
    std::size_t tensor = 0;  // inputs begin with the tensors among the arguments
    for (std::size_t a = 0; a + 1 < static_cast<std::size_t>(v.integer); ++a)
      tensor += arguments[a].kind == RPRT_TENSOR;
    return inputs.at(tensor);
  }
  static void ok(std::int32_t code) {
    constexpr std::pair<std::int32_t, ErrorCode> kCodes[] = {{RPRT_SHAPE_MISMATCH, ErrorCode::ShapeMismatch},
                                                             {RPRT_DTYPE_MISMATCH, ErrorCode::DTypeMismatch},
                                                             {RPRT_DEVICE_MISMATCH, ErrorCode::DeviceMismatch},
                                                             {RPRT_ALIAS_CONFLICT, ErrorCode::AliasConflict},
                                                             {RPRT_FILE_FORMAT, ErrorCode::FileFormat},
                                                             {RPRT_INDEX_OUT_OF_RANGE, ErrorCode::IndexOutOfRange},
                                                             {RPRT_INTERNAL, ErrorCode::Internal}};
    if (code == RPRT_OK) return;
    for (const auto& [rt, error] : kCodes)
      if (code == rt) throw Error(error, rprt_code_name(code), rprt_last_error());
    throw Error(ErrorCode::InvalidArgument, rprt_code_name(code), rprt_last_error());
  }
  rprt_program* p_ = nullptr;
  std::map<std::string, Tensor> bound_;
};

/// Bytes, dtypes, sizes, and strides of what has more than one element along a dimension.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  const TensorImpl &x = *a.impl(), &y = *b.impl();
  if (x.dtype != y.dtype || x.rank != y.rank || !std::equal(x.sizes, x.sizes + x.rank, y.sizes)) return false;
  for (int d = 0; d < x.rank; ++d)
    if (x.sizes[d] > 1 && x.numel() > 0 && x.strides[d] != y.strides[d]) return false;
  const Tensor p = a.contiguous(), q = b.contiguous();
  return x.numel() == 0 ||
         std::memcmp(p.impl()->data(), q.impl()->data(), static_cast<std::size_t>(x.numel() * item_size(x.dtype))) == 0;
}

}  // namespace reprise
