#pragma once
#include "import/onnx/core.h"
#include "reprise/parameter.h"

/// Classical machine learning: the domain ai.onnx.ml. What a node's attributes say becomes tables when the model is
/// loaded (Row::prepare). ONNX Runtime is followed where the specification is silent.
namespace reprise::onnx {

inline constexpr const char* kMlDomain = "ai.onnx.ml";

/// Fails the load: the attributes contradict each other.
template <class... Parts>
[[noreturn]] void damaged(const Call& c, const Parts&... parts) {
  fail(ErrorCode::FileFormat, c.op(), {}, parts...);
}

enum class Transform : std::uint8_t { None, Softmax, Logistic, SoftmaxZero, Probit };
Transform transform_of(const Call&);  ///< the attribute post_transform
/// Of each row [n, k]: scores as float32.
Tensor transformed(Transform, const Tensor& scores);
Tensor probit(const Tensor&);
/// The two scores [n, 2] of one score [n, 1] of the second class. Of None and the
/// softmaxes `complement` says 1 - s and s, otherwise -s and s.
Tensor with_first_class(Transform, const Tensor& score, bool complement);

/// float64 as it is, all else as float32.
inline Tensor real(const Tensor& x) { return x.dtype() == kFloat64 ? x : x.to(kFloat32); }
/// A vector is one row.
inline Tensor rows_of(const Call& c, const Tensor& x) {
  if (x.dim() != 1 && x.dim() != 2) c.bad("wants a matrix, not ", x.dim(), " dimensions");
  return x.dim() == 1 ? x.unsqueeze(0) : x;
}

template <class T>
Tensor frozen(const std::vector<T>& all, const Ints& sizes) {
  Tensor t = all.empty() ? empty(sizes, {.dtype = dtype_of<T>}) : tensor_of(all, sizes);
  freeze(t);
  return t;
}
template <class T>
Tensor frozen(const std::vector<T>& all) {
  return frozen(all, {static_cast<std::int64_t>(all.size())});
}
inline Tensor frozen_floats(const std::vector<double>& all, const Ints& sizes) {
  return frozen(std::vector<float>(all.begin(), all.end()), sizes);
}

/// Classes of a classifier: integers, or strings, of which the numbers are given.
struct Labels {
  std::vector<std::int64_t> values{};
  bool strings = false;
  Tensor table{};  ///< undefined: they are 0, 1, ...
  std::int64_t count() const { return static_cast<std::int64_t>(values.size()); }
};
Labels labels_of(const Call&, const char* integers);
/// Labels [n] of the numbers of classes [n].
Tensor labels_at(const Labels&, const Tensor& at);

}  // namespace reprise::onnx
