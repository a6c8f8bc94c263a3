#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/mutex.h"
#include "graph/shape_rules.h"
#include "operators/checks.h"
#include "operators/rows.h"

/// What kernels over the matrices of a batch share (linalg.cc, factors.cc).
namespace reprise::operators {

/// A matrix of doubles, row by row.
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> v;
  void resize(std::int64_t r, std::int64_t c) {
    rows = r, columns = c;
    v.resize(static_cast<std::size_t>(r * c));
  }
  double* operator[](std::int64_t r) { return v.data() + r * columns; }
  void read(const TensorView& t, std::int64_t at, bool transposed = false) {
    const int row = transposed ? t.rank - 1 : t.rank - 2, column = transposed ? t.rank - 2 : t.rank - 1;
    resize(t.sizes[row], t.sizes[column]);
    for (std::int64_t r = 0; r < rows; ++r)
      read_row(t, at + r * t.strides[row], t.strides[column], columns, (*this)[r]);
  }
  void write(const TensorView& t, std::int64_t at, bool transposed = false) {
    const int row = transposed ? t.rank - 1 : t.rank - 2, column = transposed ? t.rank - 2 : t.rank - 1;
    for (std::int64_t r = 0; r < rows; ++r)
      write_row(t, at + r * t.strides[row], t.strides[column], columns, (*this)[r]);
  }
};

/// The first matrix of a batch that failed, and where.
class FirstFailure {
 public:
  void note(std::int64_t matrix, std::int64_t order) {
    const MutexLock lock(mutex_);
    if (!found_ || matrix < found_->first) found_ = {matrix, order};
  }
  /// tell(order, " of the batch" text)
  template <class F>
  void report(const NativeArgs& a, std::int64_t matrices, F&& tell) const {
    if (found_)
      kernels::reference::fault(
          a, ErrorCode::InvalidArgument,
          tell(found_->second, matrices > 1 ? " " + std::to_string(found_->first) + " of the batch" : ""));
  }

 private:
  Mutex mutex_;
  std::optional<std::pair<std::int64_t, std::int64_t>> found_;
};

/// body(offsets, number of the matrix), where the last two dimensions of the views are matrices; they have one batch.
/// `cost`: of one.
template <std::size_t K, class F>
void each_matrix(const std::array<TensorView, K>& views, std::int64_t cost, const F& body) {
  std::array<TensorView, K + 1> batches;
  TensorView count = without_last(views[0], 2);  // an offset that counts them
  std::int64_t step = 1;
  for (int d = count.rank; d-- > 0; step *= count.sizes[d]) count.strides[d] = step;
  for (std::size_t i = 0; i < K; ++i) batches[i] = without_last(views[i], 2);
  batches[K] = count;
  parallel_each<K + 1>(batches, cost, [&, own = body](const auto& at) mutable { own(at, at[K]); });
}

/// The vectors of a batch as matrices of one row.
inline TensorView as_one_row(TensorView v) {
  v.sizes[v.rank] = v.sizes[v.rank - 1], v.strides[v.rank] = v.strides[v.rank - 1];
  v.sizes[v.rank - 1] = 1, v.strides[v.rank - 1] = 0;
  ++v.rank;
  return v;
}

inline void need_matrix(const char* op, SourceLoc loc, const TensorMeta& m, bool square) {
  need_float(op, loc, m.dtype);
  if (m.dim() < 2)
    fail(ErrorCode::ShapeMismatch, op, loc, "wants matrices, got sizes ", graph::sizes_text(m.layout.sizes));
  if (square && !graph::same(m.size(m.dim() - 1), m.size(m.dim() - 2), loc, "linalg: square matrices"))
    fail(ErrorCode::ShapeMismatch, op, loc, "wants square matrices, got sizes ", graph::sizes_text(m.layout.sizes));
}

}  // namespace reprise::operators
