#include "kernels/cpu/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>

#include "base/errors.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/reference/reference.h"

namespace reprise::kernels {
namespace {

constexpr std::int64_t kKeys = 384;   // keys of a block: a multiple of every tile's width
constexpr std::int64_t kRows = 256;   // query rows of a task at most
constexpr std::int64_t kStreamedRows = 8;  // up to here keys and values are streamed, not packed
constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

/// Micro-kernels in the order attention_launch asks for them.
struct Code {
  micro::GemmFn gemm_full, gemm_one;
  micro::GemvDotFn dot[3];  ///< of 1, 2 and 4 rows
  micro::GemvSumFn sum[3];
  micro::TransposeFn transpose;
  micro::ConvertFn convert;
  micro::SoftmaxFn softmax, softmax_masked;
  micro::ScaleFn scale, round;
};
std::vector<KernelCode> code_specs(int bits, DType t) {
  constexpr DType f = DType::Float32;
  return {micro::Gemm{bits, f, f, gemm_vectors(bits)},
          micro::Gemm{bits, f, f, 1},
          micro::GemvDot{bits, t, f, 1},
          micro::GemvDot{bits, t, f, 2},
          micro::GemvDot{bits, t, f, 4},
          micro::GemvSum{bits, t, 1},
          micro::GemvSum{bits, t, 2},
          micro::GemvSum{bits, t, 4},
          micro::Transpose{bits, t},
          micro::Convert{bits, t, f},
          micro::Softmax{bits, false},
          micro::Softmax{bits, true},
          micro::Scale{bits, f},
          micro::Scale{bits, t}};
}
Code code_of(void* const* p) {
  return {reinterpret_cast<micro::GemmFn>(p[0]),
          reinterpret_cast<micro::GemmFn>(p[1]),
          {reinterpret_cast<micro::GemvDotFn>(p[2]), reinterpret_cast<micro::GemvDotFn>(p[3]), reinterpret_cast<micro::GemvDotFn>(p[4])},
          {reinterpret_cast<micro::GemvSumFn>(p[5]), reinterpret_cast<micro::GemvSumFn>(p[6]), reinterpret_cast<micro::GemvSumFn>(p[7])},
          reinterpret_cast<micro::TransposeFn>(p[8]),
          reinterpret_cast<micro::ConvertFn>(p[9]),
          reinterpret_cast<micro::SoftmaxFn>(p[10]),
          reinterpret_cast<micro::SoftmaxFn>(p[11]),
          reinterpret_cast<micro::ScaleFn>(p[12]),
          reinterpret_cast<micro::ScaleFn>(p[13])};
}

/// One operator call with a result of at least one element. A *unit* is what shares keys and values: one batch index and one head of theirs, with the
/// `group_` query heads that read it. Its query rows stand in the order (position, head), so neighbours see similar
/// causal ranges.
class AttentionCall {
 public:
  AttentionCall(const NativeArgs& args, const TensorView& q, const TensorView& k, const TensorView& v,
            const TensorView* mask, const TensorView& out)
      : code_(code_of(args.micro)),
        q_(q),
        k_(k),
        v_(v),
        mask_(mask),
        out_(out),
        bits_(static_cast<int>(args.ints[0])),
        causal_(args.ints[1] != 0) {
    int r = out.rank;
    size_ = item_size(q.dtype);
    queries_ = out.sizes[r - 2], keys_ = k.sizes[k.rank - 2], depth_ = q.sizes[q.rank - 1], width_ = out.sizes[r - 1];
    scale_ = args.ints[3] ? static_cast<float>(args.numbers[0].is_float ? args.numbers[0].f
                                                                        : static_cast<double>(args.numbers[0].i))
                          : 1.0f / std::sqrt(static_cast<float>(std::max<std::int64_t>(depth_, 1)));
    lanes_ = micro_lanes(bits_, DType::Float32), tile_rows_ = gemm_rows(bits_),
    tile_width_ = lanes_ * gemm_vectors(bits_);
    bool grouped = args.ints[2] != 0;
    heads_ = r > 2 ? out.sizes[r - 3] : 1;
    if (grouped) {
      k_group_ = heads_ / k.sizes[k.rank - 3], v_group_ = heads_ / v.sizes[v.rank - 3];
      group_ = k_group_ == v_group_ ? k_group_ : 1;
    } else if (r > 2 && repeats(k) && repeats(v)) {
      group_ = heads_;
    }
    units_ = heads_ / group_;
    for (int d = 0; d < r - 3; ++d) units_ *= out.sizes[d];
    rows_ = group_ * queries_;
    depth_room_ = round_up(depth_, lanes_), width_room_ = round_up(width_, lanes_);
  }

  void run() {
    std::int64_t work = rows_ * std::max<std::int64_t>(keys_, 1) * (depth_ + width_);
    // Units alone keep the threads busy, or rows are split too; no split changes a bit of the result.
    std::int64_t parts = (rows_ + kRows - 1) / kRows, threads = device::num_threads();
    if (threads > 1 && units_ * parts < 2 * threads && work * units_ > std::int64_t{8} << 20)
      parts = std::max(parts, std::min((rows_ + 31) / 32, 2 * threads / units_ + 1));
    std::int64_t step = round_up((rows_ + parts - 1) / parts, tile_rows_);
    parts = (rows_ + step - 1) / step;
    std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 20) / std::max<std::int64_t>(1, work / parts));
    parallel(units_ * parts, grain, [&](std::int64_t begin, std::int64_t end) {
      try {
        for (std::int64_t i = begin; i < end; ++i) {
          std::int64_t row = i % parts * step;
          part(i / parts, row, std::min(rows_, row + step));
        }
      } catch (...) {
        if (!failed_.exchange(true)) failure_ = std::current_exception();
      }
    });
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  /// Is the dim of heads of this operand one matrix for all of them?
  bool repeats(const TensorView& t) const {
    return t.rank < 3 || t.sizes[t.rank - 3] == 1 || t.strides[t.rank - 3] == 0;
  }

  /// Offset of the matrix that `t` has for a unit's query head `head`: dims aligned from the right, size 1 broadcasts.
  std::int64_t matrix_of(const TensorView& t, std::int64_t unit, std::int64_t head, std::int64_t share) const {
    std::int64_t outer = unit / (heads_ / group_), h = unit % (heads_ / group_) * group_ + head, offset = 0;
    int shift = out_.rank - t.rank;
    if (t.rank >= 3 && t.sizes[t.rank - 3] != 1) offset += h / share * t.strides[t.rank - 3];
    for (int d = out_.rank - 4; d >= 0; --d) {
      std::int64_t i = outer % out_.sizes[d];
      outer /= out_.sizes[d];
      if (d - shift >= 0 && t.sizes[d - shift] != 1) offset += i * t.strides[d - shift];
    }
    return offset;
  }

  void part(std::int64_t unit, std::int64_t row, std::int64_t row_end) const {
    std::int64_t rows = row_end - row, s_row = std::min(kKeys, round_up(keys_, tile_width_)) + lanes_;
    bool few = rows_ <= kStreamedRows;
    std::int64_t block_keys = std::min(kKeys, keys_);
    std::int64_t floats_q = rows * depth_room_, floats_s = rows * s_row, floats_o = rows * width_room_,
                 floats_m = round_up(block_keys, lanes_), floats_k = few ? 0 : depth_room_ * tile_width_,
                 floats_v = few ? 0 : block_keys * width_room_ + tile_width_;
    std::int64_t total = floats_q + floats_s + floats_o + floats_m + floats_k + floats_v + round_up(rows * 3, lanes_);
    alignas(64) float small[8 << 10];
    Scratch large(total > static_cast<std::int64_t>(std::size(small)) ? total * 4 : 0);
    float* at = large.get() ? large.as<float>() : small;
    auto take = [&](std::int64_t n) { return std::exchange(at, at + n); };
    float *q = take(floats_q), *s = take(floats_s), *o = take(floats_o), *bias = take(floats_m), *kp = take(floats_k),
          *vp = take(floats_v), *state = take(rows * 3);

    std::int64_t last_query = (row_end - 1) / group_, limit = causal_ ? std::min(keys_, last_query + 1) : keys_;
    for (std::int64_t i = 0; i < rows; ++i) {
      state[3 * i] = kMinusInf, state[3 * i + 1] = 0, state[3 * i + 2] = 1;
      code_.convert(
          q_.data + (matrix_of(q_, unit, (row + i) % group_, 1) + (row + i) / group_ * q_.strides[q_.rank - 2]) * size_,
          0, q + i * depth_room_, 0, 1, depth_);
    }
    std::memset(o, 0, static_cast<std::size_t>(floats_o) * 4);
    const char* k = k_.data + matrix_of(k_, unit, 0, k_group_) * size_;
    const char* v = v_.data + matrix_of(v_, unit, 0, v_group_) * size_;
    std::int64_t k_row = k_.strides[k_.rank - 2], v_row = v_.strides[v_.rank - 2];
    for (std::int64_t key = 0; key < limit; key += kKeys) {
      std::int64_t n = std::min(kKeys, limit - key);
      if (few)
        stream_scores(q, k + key * k_row * size_, k_row, s, s_row, rows, n);
      else
        tile_scores(q, k + key * k_row * size_, k_row, s, s_row, kp, row, rows, key, n);
      for (std::int64_t i = 0; i < rows; ++i) {
        std::int64_t seen = causal_ ? std::clamp<std::int64_t>((row + i) / group_ + 1 - key, 0, n) : n;
        const float* b = mask_ ? mask_row(unit, row + i, key, seen, bias) : nullptr;
        (b ? code_.softmax_masked : code_.softmax)(s + i * s_row, seen, n, b, scale_, state + 3 * i);
        if (key && state[3 * i + 2] != 1)
          code_.scale(o + i * width_room_, state[3 * i + 2], o + i * width_room_, width_);
      }
      if (few)
        stream_values(s, s_row, v + key * v_row * size_, v_row, o, rows, n);
      else
        tile_values(s, s_row, v + key * v_row * size_, v_row, vp, o, row, rows, key, n);
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      float l = state[3 * i + 1];
      char* to =
          out_.data +
          (matrix_of(out_, unit, (row + i) % group_, 1) + (row + i) / group_ * out_.strides[out_.rank - 2]) * size_;
      code_.round(o + i * width_room_, l == 0 ? 0 : 1 / l, to, width_);
    }
  }

  /// log2 of how many query rows share one reading of keys or values: what a head's group has in common.
  static int rows_at_once(std::int64_t left) { return left >= 4 ? 2 : left >= 2 ? 1 : 0; }

  void stream_scores(const float* q, const char* k, std::int64_t k_row, float* s, std::int64_t s_row, std::int64_t rows,
                     std::int64_t n) const {
    for (std::int64_t i = 0; i < rows;) {
      int two_to = rows_at_once(rows - i);
      code_.dot[two_to](q + i * depth_room_, depth_room_, k, k_row, s + i * s_row, s_row, n, depth_);
      i += std::int64_t{1} << two_to;
    }
  }
  void stream_values(const float* s, std::int64_t s_row, const char* v, std::int64_t v_row, float* o, std::int64_t rows,
                     std::int64_t n) const {
    for (std::int64_t i = 0; i < rows;) {
      int two_to = rows_at_once(rows - i);
      code_.sum[two_to](s + i * s_row, s_row, v, v_row, o + i * width_room_, width_room_, width_, n);
      i += std::int64_t{1} << two_to;
    }
  }

  /// C[rows, n] = (first ? 0 : C) + A * B by tiles, the tile at row i using k_of(i) columns of A; B's row holds `n`
  /// rounded up to lanes, and a tile more is readable.
  template <class F>
  void tiles(const float* a, std::int64_t a_row, F&& k_of, const float* b, std::int64_t b_row, float* c,
             std::int64_t c_row, std::int64_t rows, std::int64_t n, bool first) const {
    for (std::int64_t col = 0; col < n;) {
      bool full = n - col > tile_width_ - lanes_;
      std::int64_t step = full ? tile_width_ : lanes_;
      for (std::int64_t i = 0; i < rows; i += tile_rows_) {
        float* to = c + i * c_row + col;
        micro::GemmTile t{a + i * a_row,
                   a_row,
                   1,
                   b + col,
                   b_row,
                   to,
                   c_row,
                   to,
                   c_row,
                   std::min(tile_rows_, rows - i),
                   std::min(step, n - col),
                   k_of(i),
                   first,
                   1};
        (full ? code_.gemm_full : code_.gemm_one)(&t);
      }
      col += step;
    }
  }

  void tile_scores(const float* q, const char* k, std::int64_t k_row, float* s, std::int64_t s_row, float* packed,
                   std::int64_t row, std::int64_t rows, std::int64_t key, std::int64_t n) const {
    for (std::int64_t p = 0; p < n; p += tile_width_) {  // one panel of keys at a time
      std::int64_t cols = std::min(tile_width_, n - p);
      for (std::int64_t j = 0; j < cols; j += lanes_)
        code_.transpose(k + (p + j) * k_row * size_, k_row, packed + j, tile_width_, std::min(lanes_, cols - j),
                        depth_);
      // The first row that sees this panel; rows before it have nothing to compute here.
      std::int64_t from =
          causal_ ? std::clamp<std::int64_t>((key + p) * group_ - row, 0, rows) / tile_rows_ * tile_rows_ : 0;
      if (from < rows)
        tiles(
            q + from * depth_room_, depth_room_, [&](std::int64_t) { return depth_; }, packed, tile_width_,
            s + from * s_row + p, s_row, rows - from, cols, true);
    }
  }

  void tile_values(const float* s, std::int64_t s_row, const char* v, std::int64_t v_row, float* packed, float* o,
                   std::int64_t row, std::int64_t rows, std::int64_t key, std::int64_t n) const {
    code_.convert(v, v_row, packed, width_room_, n, width_);
    auto seen = [&](std::int64_t i) {
      return causal_ ? std::clamp<std::int64_t>((row + i + tile_rows_ - 1) / group_ + 1 - key, 0, n) : n;
    };
    tiles(s, s_row, seen, packed, width_room_, o, width_room_, rows, width_, false);
  }

  /// What is added to `n` scores of a query row from `key` on.
  const float* mask_row(std::int64_t unit, std::int64_t row, std::int64_t key, std::int64_t n, float* bias) const {
    const TensorView& m = *mask_;
    int r = m.rank;
    std::int64_t query = row / group_, size = item_size(m.dtype), offset = matrix_of(m, unit, row % group_, 1);
    if (r >= 2 && m.sizes[r - 2] != 1) offset += query * m.strides[r - 2];
    std::int64_t step = r >= 1 && m.sizes[r - 1] != 1 ? m.strides[r - 1] : 0;
    const char* p = m.data + (offset + key * step) * size;
    if (m.dtype == DType::Bool) {
      for (std::int64_t i = 0; i < n; ++i) bias[i] = p[i * step] ? 0 : kMinusInf;
      return bias;
    }
    if (step == 1 && m.dtype == DType::Float32) return reinterpret_cast<const float*>(p);
    if (step == 1) return code_.convert(p, 0, bias, 0, 1, n), bias;
    TensorView line;
    line.data = const_cast<char*>(p), line.dtype = m.dtype, line.rank = 1, line.sizes[0] = n, line.strides[0] = step;
    gather(line, DType::Float32, reinterpret_cast<char*>(bias));
    return bias;
  }

  Code code_;
  const TensorView &q_, &k_, &v_;
  const TensorView* mask_;
  const TensorView& out_;
  int bits_;
  bool causal_;
  float scale_;
  std::int64_t size_, queries_, keys_, depth_, width_, heads_, group_ = 1, k_group_ = 1, v_group_ = 1, units_, rows_;
  std::int64_t depth_room_, width_room_, lanes_, tile_rows_, tile_width_;
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
};

/// `t`, or a row-major copy of it when its last dim is strided.
struct Rows {
  explicit Rows(const TensorView& t)
      : copy(t.sizes[t.rank - 1] > 1 && t.strides[t.rank - 1] != 1 ? t.numel() * item_size(t.dtype) : 0), view(t) {
    if (!copy.get()) return;
    row_major();
    compact(t, copy.get());
  }
  /// The same for a result: filled, then copied out.
  struct Uninitialised {};
  Rows(const TensorView& t, Uninitialised)
      : copy(t.sizes[t.rank - 1] > 1 && t.strides[t.rank - 1] != 1 ? t.numel() * item_size(t.dtype) : 0), view(t) {
    if (copy.get()) row_major();
  }
  void row_major() {
    std::int64_t stride = 1;
    for (int d = view.rank - 1; d >= 0; --d) view.strides[d] = stride, stride *= view.sizes[d];
    view.data = copy.get();
  }
  Scratch copy;
  TensorView view;
};

void attention_kernel(const NativeArgs& args) {
  try {
    const TensorView* mask = args.has(3) ? &args.tensor(3) : nullptr;
    const TensorView& out = args.result();
    if (out.numel() == 0) return;
    Rows q(args.tensors[0]), k(args.tensors[1]), v(args.tensors[2]), o(out, Rows::Uninitialised{});
    AttentionCall(args, q.view, k.view, v.view, mask, o.view).run();
    if (o.copy.get()) scatter(o.copy.get(), out);
  } catch (const Error& e) {
    *args.fault = {true, e.code(), e.message()};
  } catch (const std::exception& e) {
    *args.fault = {true, ErrorCode::OutOfMemory, e.what()};
  }
}

}  // namespace

NativeLaunch attention_launch(const graph::Graph& g, const graph::Node& node, std::vector<Operand> operands) {
  DType dtype = operands.back().dtype;
  const auto* dropout = std::get_if<Scalar>(&node.args[4]);
  if (dtype == DType::Float64 || (dropout && dropout->to_double() != 0))
    return reference_launch(g, node, std::move(operands));
  NativeLaunch out;
  out.fn = attention_kernel;
  bool masked = operands.size() == 5;
  for (std::uint32_t i = 0; i < 3; ++i) out.args.push_back({NativeArg::Kind::Tensor, i, 1});
  out.args.push_back(masked ? NativeArg{NativeArg::Kind::Tensor, 3, 1} : NativeArg{});
  auto flag = [&](std::size_t i) { return std::holds_alternative<bool>(node.args[i]) && std::get<bool>(node.args[i]); };
  const auto* scale = std::get_if<Scalar>(&node.args[6]);
  int bits = micro_vector_bits();
  out.ints = {bits, flag(5) ? 1 : 0, flag(7) ? 1 : 0, scale ? 1 : 0};
  if (scale) out.numbers = {*scale};
  out.micro = code_specs(bits, dtype);
  operands.back().written = true;
  out.first_result = static_cast<std::uint32_t>(operands.size() - 1);
  out.n_results = 1;
  out.operands = std::move(operands);
  return out;
}

}  // namespace reprise::kernels
