#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "reprise/dtype.h"
#include "reprise/error.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// A tensor as a kernel sees it: strides in elements, any. In dimensions of size 0 and 1 they lead nowhere.
struct TensorView {
  /// of the first element; an address of the device in work that is queued there
  char* data = nullptr;
  DType dtype = DType::Float32;
  int rank = 0;
  std::int64_t sizes[kMaxRank], strides[kMaxRank];

  std::int64_t numel() const {
    std::uint64_t n = 1;  // beside a size of 0 others may be anything
    for (int d = 0; d < rank; ++d) n *= static_cast<std::uint64_t>(sizes[d]);
    return static_cast<std::int64_t>(n);
  }
  /// Row by row, without gaps.
  bool contiguous() const {
    std::int64_t step = 1;
    bool rows = true;
    for (int d = rank; d-- > 0; step *= sizes[d]) {
      if (sizes[d] == 0) return true;
      rows = rows && (sizes[d] == 1 || strides[d] == step);
    }
    return rows;
  }
  /// Its elements as a T, which the caller knows them to be.
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

/// What went wrong inside a kernel: becomes an Error with the operator's name and the line of the call.
struct KernelFault {
  bool failed = false;
  ErrorCode code = ErrorCode::IndexOutOfRange;
  std::string message;
};

/// One argument of a kernel, in schema order: a kind and a range of the array that holds it.
struct NativeArg {
  enum class Kind : std::uint8_t { None, Tensor, TensorList, Int, IntList, Number, Bool, DType, Str } kind = Kind::None;
  /// into tensors (Tensor*), ints (Int, IntList, Bool, DType) or strings (Str); Number: see `NumberValue`
  std::uint32_t first = 0, count = 0;
};
/// A Scalar at run time. `is_float` tells which of the two holds it.
struct NumberValue {
  bool is_float = false;
  double f = 0;
  std::int64_t i = 0;
  double to_double() const { return is_float ? f : static_cast<double>(i); }
};

/// Floating-point state: a kernel finds exceptions masked, rounding to nearest and denormals kept, whatever the calling
/// thread has set (docs/deployment.md), and leaves it so.
///
/// What a kernel is called with. Arguments are counted as the schema does. All arrays live for the call only. A kernel
/// must not throw: it reports through `fail` and returns, before it has written anything; an operator whose kernel may
/// do so is declared `may_fail`.
struct KernelCall {
  const TensorView* tensors;  ///< inputs in schema order (lists flattened), then results
  const NativeArg* args;      ///< one for each schema argument
  const std::int64_t* ints;
  const NumberValue* numbers;
  const std::string* strings;
  std::uint32_t n_args, first_result, n_results;
  void* const* micro;  ///< entry points of the launch's micro-kernels, in order
  KernelFault* fault;
  bool has_workspace = false;  ///< behind the results there is memory that it works in
  /// of captured work: where to queue it (the driver's handle); null on the host: it is done on return
  void* stream = nullptr;

  bool has(int i) const { return args[i].kind != NativeArg::Kind::None; }
  const TensorView& tensor(int i) const { return tensors[args[i].first]; }
  /// Of a list of tensors: how many, and each.
  std::uint32_t count(int i) const { return args[i].count; }
  const TensorView& tensor(int i, std::uint32_t of_list) const { return tensors[args[i].first + of_list]; }
  std::int64_t integer(int i) const { return ints[args[i].first]; }
  /// Of a list of integers, whose length is count(i).
  std::int64_t integer(int i, std::uint32_t of_list) const { return ints[args[i].first + of_list]; }
  bool flag(int i) const { return ints[args[i].first] != 0; }
  DType dtype(int i) const { return static_cast<DType>(ints[args[i].first]); }
  const NumberValue& number(int i) const { return numbers[args[i].first]; }
  std::string_view text(int i) const { return strings[args[i].first]; }
  /// What the operator makes: beside the arguments that it writes. Contiguous.
  const TensorView& result(int i = 0) const { return tensors[first_result + static_cast<std::uint32_t>(i)]; }
  /// As many bytes as the operator said that it needs, aligned to 64; null where it needs none.
  void* workspace() const { return has_workspace ? tensors[first_result + n_results].data : nullptr; }
  void fail(ErrorCode code, std::string message) const { *fault = {true, code, static_cast<std::string&&>(message)}; }
};
/// A function without captures (a lambda converts).
using Kernel = void (*)(const KernelCall&);

}  // namespace REPRISE_VISIBLE
