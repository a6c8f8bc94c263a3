#pragma once
#include <atomic>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "reprise/arguments.h"
#include "reprise/device.h"
#include "reprise/dtype.h"
#include "reprise/error.h"
#include "reprise/int.h"
#include "reprise/scalar.h"
#include "reprise/source_location.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

inline constexpr int kMaxRank = 8;  ///< tensors have at most 8 dimensions

class Tensor;
class TensorIndex;     // reprise/indexing.h
struct TensorOptions;  // reprise/arguments.h
template <class T, std::size_t N>
class TensorAccessor;       // reprise/accessor.h
DType get_default_dtype();  // reprise/settings.h
struct TensorImpl;          // tensor/impl.h
class GradNode;             // reprise/autograd.h
class GradHook;
struct BackwardOptions;
namespace detail {
void retain(TensorImpl*) noexcept;
void release(TensorImpl*) noexcept;
// What becomes of a handle: compiled functions follow the variables that they have read (tensor/variable.h).
/// followed handles that hold nothing, and running traces: not 0 if the end of an empty handle matters
extern std::atomic<int> empty_variables;
extern std::atomic<int> traces;                                     ///< running now, in any thread
void asked(const Tensor&) noexcept;                                 ///< a trace depends on whether it is defined
TensorImpl* copied(const Tensor& from, const Tensor& to) noexcept;  ///< with one reference more; `to` holds nothing yet
void moved(const Tensor& from, const Tensor& to) noexcept;          ///< has happened
/// has happened; gives back the reference to what it held
void assigned(const Tensor& to, TensorImpl* before) noexcept;
void destroyed(const Tensor&) noexcept;                 ///< gives its reference back
Tensor view_as_dtype(const Tensor&, DType, SourceLoc);  ///< graph/api_views.cc
}  // namespace detail

/// A borrowed list of tensors: what `cat` and `stack` take.
class TensorArrayRef {
 public:
  TensorArrayRef() = default;
  TensorArrayRef(const Tensor* p, std::size_t n) : p_(p), n_(n) {}
  // lives as long as the full expression
  TensorArrayRef(std::initializer_list<Tensor> l) { p_ = l.begin(), n_ = l.size(); }
  TensorArrayRef(const std::vector<Tensor>& v);
  const Tensor* begin() const { return p_; }
  inline const Tensor* end() const;
  std::size_t size() const { return n_; }
  inline const Tensor& operator[](std::size_t i) const;

 private:
  const Tensor* p_ = nullptr;
  std::size_t n_ = 0;
};

/// An n-dimensional strided view of counted storage. Copying a Tensor copies a handle; `clone()` copies elements.
/// Inside a trace a Tensor may have metadata but no data: reading an element then ends the trace with a reason.
///
/// Names and meanings are ATen's. Differences: at most 8 dimensions; results of operators that compute are always
/// row-major contiguous. All dimensions may be negative (counted from the end) unless said otherwise.
/// Thread-safety is that of shared_ptr: distinct handles may be used from any thread; elements are not locked.
class Tensor {
 public:
  Tensor() noexcept = default;  ///< undefined: `defined()` is false, anything else throws InvalidArgument
  /// Takes over one reference. (Internal; users call factories.)
  static Tensor adopt(TensorImpl* p) noexcept {
    Tensor t;
    t.impl_ = p;
    return t;
  }
  static Tensor share(TensorImpl* p) noexcept {
    detail::retain(p);
    return adopt(p);
  }
  Tensor(const Tensor& o) noexcept {
    if (o.impl_) impl_ = detail::copied(o, *this);
    else if (detail::traces.load(std::memory_order_relaxed)) [[unlikely]] detail::asked(o);
  }
  Tensor(Tensor&& o) noexcept : impl_(std::exchange(o.impl_, nullptr)) {
    if (impl_) detail::moved(o, *this);
    else if (detail::traces.load(std::memory_order_relaxed)) [[unlikely]] detail::asked(o);
  }
  /// `t = u` makes a variable another handle. `x[i] = u`, `x.slice(0, 1, 2) = 3.0` write elements (copy_, fill_), as in
  /// ATen: the left side is a view that nobody else holds.
  Tensor& operator=(Tensor o) & noexcept {
    detail::assigned(*this, std::exchange(impl_, std::exchange(o.impl_, nullptr)));
    return *this;
  }
  Tensor& operator=(const Operand& o) && {
    o.tensor() ? copy_(*o.tensor(), o.loc()) : fill_(o, o.loc());
    return *this;
  }
  ~Tensor() {
    if (impl_ || detail::empty_variables.load(std::memory_order_relaxed)) detail::destroyed(*this);
  }

  bool defined() const noexcept {
    if (detail::traces.load(std::memory_order_relaxed)) [[unlikely]]
      detail::asked(*this);
    return impl_ != nullptr;
  }
  TensorImpl* impl() const noexcept { return impl_; }
  bool is_same(const Tensor& o) const;  ///< handles of one tensor? Inside a trace a guard

  // ---- metadata; symbolic inside a trace (tensor/tensor.cc)
  DType dtype() const;
  TensorOptions options() const;  ///< its dtype and device: `zeros({3}, x.options())`
  DType scalar_type() const { return dtype(); }
  Device device() const;
  int dim() const;
  Int size(int dim, SourceLoc loc = SourceLoc::current()) const;
  Ints sizes() const;
  Int stride(int dim, SourceLoc loc = SourceLoc::current()) const;
  Ints strides() const;
  Int storage_offset() const;  ///< in elements
  Int numel() const;
  bool is_contiguous() const;  ///< row-major, ATen's rule (dimensions of size 1 do not count); inside a trace may guard
  bool is_floating_point() const { return is_floating(dtype()); }
  bool is_cpu() const { return device().type == DeviceType::Cpu; }
  bool is_cuda() const { return device().type == DeviceType::Cuda; }
  int ndimension() const { return dim(); }
  int element_size() const { return item_size(dtype()); }
  int itemsize() const { return element_size(); }
  Int nbytes() const { return numel() * element_size(); }
  bool shares_storage_with(const Tensor& o) const;  ///< inside a trace a guard
  std::uint64_t version() const;  ///< counts the in-place writes to the storage; inside a trace ends the capture

  // ---- elements; inside a trace these end the capture with a reason (tensor/access.cc)
  void* data_ptr(SourceLoc loc = SourceLoc::current()) const;  ///< first element of this view
  template <class T>
  T* data(SourceLoc loc = SourceLoc::current()) const {  ///< throws DTypeMismatch unless T is the dtype
    return static_cast<T*>(checked_data(dtype_of<T>, loc));
  }
  template <class T>
  T* data_ptr(SourceLoc loc = SourceLoc::current()) const {
    return data<T>(loc);
  }
  /// `auto a = x.accessor<float, 2>(); a[i][j]`. Include reprise/accessor.h.
  template <class T, std::size_t N>
  TensorAccessor<T, N> accessor(SourceLoc loc = SourceLoc::current()) const;
  Scalar item(SourceLoc loc = SourceLoc::current()) const;  ///< of one element; throws ShapeMismatch otherwise
  template <class T>
  T item(SourceLoc loc = SourceLoc::current()) const {  ///< the same, converted as C++ does
    const Scalar s = item(loc);
    return s.is_float() ? static_cast<T>(s.to_double(loc)) : static_cast<T>(s.to_int(loc).value(loc));
  }
  /// All elements in row-major order, converted. T: the C++ type of any DType
  /// (float, double, Half, BFloat16, both float8, int8_t, uint8_t, int32_t, int64_t, bool).
  template <class T>
  std::vector<T> to_vector(SourceLoc loc = SourceLoc::current()) const;
  /// As numpy prints: large tensors are summarised.
  std::string str() const;
  explicit operator bool() const;  ///< of one element: item() != 0

  // ---- derivatives (reprise/autograd.h, docs/autograd.md; autograd/tensor_methods.cc)
  /// Does the tape follow it? True of leaves that were asked to (requires_grad_) and of what was computed of such
  /// tensors while gradients were on.
  bool requires_grad() const;
  /// Of a leaf: gradients are kept of it from here on, or no more. Gives the tensor itself. Throws DTypeMismatch for
  /// what holds no floats, InvalidArgument where an operator made it and `on` is false (detach() it).
  Tensor requires_grad_(bool on = true, SourceLoc loc = SourceLoc::current()) const;
  bool is_leaf() const;  ///< no operator on the tape made it
  /// What backward() has added up for this leaf; undefined before. Another handle of the same tensor each time.
  Tensor grad() const;
  /// undefined: none, as before the first backward()
  void set_grad(const Tensor& gradient, SourceLoc loc = SourceLoc::current()) const;
  /// of a tensor that an operator made: backward() keeps its gradient, that of its latest value, too
  void retain_grad(SourceLoc loc = SourceLoc::current()) const;
  /// Gradients of this tensor, weighted by `gradient` (which one of one element needs not), are added to grad() of the
  /// leaves that it was computed of.
  void backward(SourceLoc loc = SourceLoc::current()) const;
  void backward(const Tensor& gradient, SourceLoc loc = SourceLoc::current()) const;
  void backward(const Tensor& gradient, const BackwardOptions& options, SourceLoc loc = SourceLoc::current()) const;
  GradNode grad_fn() const;  ///< of a tensor that an operator on the tape made
  /// `hook` is called with each gradient of this tensor that backward() computes, and gives what takes its place
  /// (undefined: it stays).
  GradHook register_hook(std::function<Tensor(const Tensor&)> hook, SourceLoc loc = SourceLoc::current()) const;
  /// becomes a leaf that the tape does not follow. Throws InvalidArgument for a view
  Tensor detach_(SourceLoc loc = SourceLoc::current()) const;

  /// Gives the bytes back now (runs a from_blob deleter); every tensor on this storage then throws StorageFreed when
  /// used.
  void release_storage();

  /// x[i]: a view of that index of the first dimension.
  Tensor operator[](LocInt index) const { return select(0, index.v, index.loc); }

#include "reprise/tensor_methods.inc"

 private:
  void* checked_data(DType want, SourceLoc loc) const;
  TensorImpl* impl_ = nullptr;
};

inline const Tensor* TensorArrayRef::end() const { return p_ + n_; }
inline const Tensor& TensorArrayRef::operator[](std::size_t i) const { return p_[i]; }
inline TensorArrayRef::TensorArrayRef(const std::vector<Tensor>& v) : p_(v.data()), n_(v.size()) {}

std::ostream& operator<<(std::ostream&, const Tensor&);

/// Wraps memory the caller owns. `strides` empty means row-major. `deleter` (may be empty) runs once, when the last
/// tensor on it is gone or `release_storage` is called. Throws InvalidArgument for a null pointer with elements, a
/// negative size, or a rank over 8. (tensor/from_blob.cc)
Tensor from_blob(void* data, IntArrayRef sizes, DType dtype, std::function<void(void*)> deleter = {},
                 IntArrayRef strides = {}, Device device = Device::cpu(), SourceLoc loc = SourceLoc::current());
/// Copies a C++ array into a new tensor of shape `sizes` (default: one dimension).
template <class T>
Tensor tensor_of(const std::vector<T>& values, IntArrayRef sizes);
template <class T>
Tensor tensor_of(const std::vector<T>& values) {
  Int n = static_cast<std::int64_t>(values.size());
  return tensor_of(values, IntArrayRef(&n, 1));
}

namespace detail {
/// As in ATen, plain ints become int64 and plain doubles the default dtype.
template <class T>
using TensorElement = std::conditional_t<std::is_same_v<T, int>, std::int64_t, T>;
/// These numbers as operators make them, where this thread traces: a literal is a constant of the compilation.
/// Undefined elsewhere. (graph/api_create.cc)
Tensor traced_constant(const std::vector<Scalar>& numbers, IntArrayRef sizes, DType dtype, std::optional<Device> device,
                       SourceLoc loc);
template <class T>
Tensor traced_literal(const std::vector<T>& values, IntArrayRef sizes, std::optional<Device> device, SourceLoc loc) {
  std::vector<Scalar> numbers;
  for (const T v : values) {
    if constexpr (std::is_arithmetic_v<T>) numbers.push_back(Scalar(v));
    else numbers.push_back(Scalar(static_cast<float>(v)));
  }
  return traced_constant(numbers, sizes, dtype_of<T>, device, loc);
}
template <class T>
Tensor tensor_from(const std::vector<T>& values, IntArrayRef sizes, TensorOptions options, SourceLoc loc) {
  if constexpr (std::is_same_v<T, double>) {
    if (!options.dtype) options.dtype = get_default_dtype();
    if (*options.dtype == kFloat32)
      return tensor_from(std::vector<float>(values.begin(), values.end()), sizes, options, loc);
  }
  Tensor t;
  if (traces.load(std::memory_order_relaxed)) [[unlikely]]
    t = traced_literal(values, sizes, options.device, loc);
  if (!t.defined()) t = tensor_of(values, sizes);
  if (options.dtype) t = t.to(*options.dtype, loc);
  return options.device ? t.to(*options.device, loc) : t;
}
}  // namespace detail

/// A tensor of these values: `tensor({1.5, 2.5})`, `tensor({{1, 2}, {3, 4}}, {.dtype = kFloat16})`, `tensor(3)`. The
/// dtype is the default dtype for doubles (settings.h), int64 for ints, otherwise the values' own, unless given. In a
/// compiled function the values are constants of the compilation, as numbers are that operators are given.
template <class T>
requires(std::is_arithmetic_v<T>) Tensor
    tensor(T value, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current()) {
  using E = detail::TensorElement<T>;
  return detail::tensor_from(std::vector<E>{static_cast<E>(value)}, IntArrayRef(), options, loc);
}
template <class T>
Tensor tensor(std::initializer_list<T> values, const TensorOptions& options = {},
              SourceLoc loc = SourceLoc::current()) {
  std::vector<detail::TensorElement<T>> all(values.begin(), values.end());
  return detail::tensor_from(all, {Int(all.size())}, options, loc);
}
/// Throws ShapeMismatch for rows of different lengths.
template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, const TensorOptions& options = {},
              SourceLoc loc = SourceLoc::current()) {
  std::vector<detail::TensorElement<T>> all;
  const std::size_t columns = rows.size() ? rows.begin()->size() : 0;
  for (const std::initializer_list<T>& row : rows) {
    if (row.size() != columns)
      throw Error(ErrorCode::ShapeMismatch, "tensor",
                  "rows of " + std::to_string(columns) + " and of " + std::to_string(row.size()) + " elements", loc);
    all.insert(all.end(), row.begin(), row.end());
  }
  return detail::tensor_from(all, {Int(rows.size()), Int(columns)}, options, loc);
}

}  // namespace REPRISE_VISIBLE

#include "reprise/indexing.h"
