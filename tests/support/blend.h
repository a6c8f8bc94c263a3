#pragma once
#include <atomic>
#include <cstring>

#include "base/errors.h"
#include "graph/interpreter.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/plan/columns.h"
#include "reprise/reprise.h"

namespace reprise::test {

/// An operator that another library computes: out = self * (1 - t) + other * t, of dense Float32, in two steps with a
/// workspace between them. It has no kernel of ours at all.
struct Blend {
  /// Both steps' data, as the library would take them along.
  struct Work {
    char *self, *other, *out, *workspace;
    std::int64_t n;
    float t;
  };
  /// How a step is queued in a stream. Null: there are no streams, it is done at once.
  using Submit = int (*)(void* stream, void (*run)(void*), const void* data, std::size_t bytes);
  /// Where a step finds memory; null: at the address.
  using Reach = void* (*)(std::uint64_t address, std::size_t bytes, int write, const char* what);
  static inline Submit submit = nullptr;
  static inline Reach reach = nullptr;
  static inline std::atomic<int> queued{0};

  static graph::OpId op() {
    static const std::function<Int(const std::vector<kernels::Operand>&)> workspace =
        [](const std::vector<kernels::Operand>& o) { return numel(o[0].layout.sizes) * 4; };
    static const graph::OpId id = graph::register_op(
        {.schema = "test::blend(Tensor self, Tensor other, Scalar t=0.5) -> Tensor", .shape = graph::rules::unary},
        {kernels::captured_kernels().fact({queue, &workspace})});
    return id;
  }
  static Tensor of(const Tensor& self, const Tensor& other, Scalar t = 0.5) {
    return graph::call1(op(), {&self, &other, t}, SourceLoc::current());
  }

 private:
  static bool dense(const kernels::TensorView& v) {
    std::int64_t step = 1;
    for (int d = v.rank; d-- > 0; step *= v.sizes[d])
      if (v.sizes[d] > 1 && v.strides[d] != step) return false;
    return v.dtype == DType::Float32;
  }
  static void queue(const kernels::NativeArgs& a) {
    if (!dense(a.tensor(0)) || !dense(a.tensor(1)) || !dense(a.result())) {
      *a.fault = {true, ErrorCode::InvalidArgument, "wants dense tensors of float32"};
      return;
    }
    ++queued;
    const kernels::Number& t = a.number(2);
    Work w{a.tensor(0).data,   a.tensor(1).data,
           a.result().data,    static_cast<char*>(a.workspace()),
           a.result().numel(), static_cast<float>(t.is_float ? t.f : static_cast<double>(t.i))};
    if (!a.stream) return scale(&w), add(&w);
    if (submit(a.stream, scale, &w, sizeof w) || submit(a.stream, add, &w, sizeof w))
      *a.fault = {true, ErrorCode::DeviceFailed, "cannot be queued"};
  }
  static float* at(char* p, std::int64_t n, bool write) {
    return static_cast<float*>(
        reach ? reach(reinterpret_cast<std::uint64_t>(p), static_cast<std::size_t>(4 * n), write, "blend") : p);
  }
  static void scale(void* data) {
    const Work& w = *static_cast<const Work*>(data);
    const float* from = at(w.self, w.n, false);
    float* to = at(w.workspace, w.n, true);
    for (std::int64_t i = 0; from && to && i < w.n; ++i) to[i] = from[i] * (1 - w.t);
  }
  static void add(void* data) {
    const Work& w = *static_cast<const Work*>(data);
    const float *part = at(w.workspace, w.n, false), *from = at(w.other, w.n, false);
    float* to = at(w.out, w.n, true);
    for (std::int64_t i = 0; part && from && to && i < w.n; ++i) to[i] = part[i] + from[i] * w.t;
  }
};

}  // namespace reprise::test
