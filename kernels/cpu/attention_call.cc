#include "kernels/cpu/attention_call.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "kernels/cpu/matmul_product.h"

namespace reprise::kernels {
namespace {

constexpr std::int64_t kKeys = 128;  // keys of a block: a multiple of every strip's width
constexpr std::int64_t kRows = 48;   // rows whose scores stand at once: of every tile's rows a multiple
// query rows of a task, about: keys and values are packed again for the next ones
constexpr std::int64_t kTaskRows = 1024;
constexpr std::int64_t kStreamedRows = 8;    // up to here keys and values are streamed, not packed
constexpr std::int64_t kStreamedKeys = 512;  // of a task
constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

}  // namespace

std::vector<KernelCode> attention_specs(int bits, DType t, const DType* mask) {
  constexpr DType f = DType::Float32;
  const bool masked = mask;
  const DType mask_dtype = masked ? *mask : f;
  return {micro::Strip{bits, strip_vectors(bits)},
          micro::Strip{bits, strip_vectors(bits) / 2},
          micro::Strip{bits, std::max(1, strip_vectors(bits) / 4)},
          micro::GemvDot{bits, t, f, 1},
          micro::GemvDot{bits, t, f, 2},
          micro::GemvDot{bits, t, f, 4},
          micro::GemvSum{bits, t, 1},
          micro::GemvSum{bits, t, 2},
          micro::GemvSum{bits, t, 4},
          micro::Transpose{bits, t},
          micro::Convert{bits, t, f},
          micro::Softmax{bits, 4, masked, mask_dtype},
          micro::Softmax{bits, 1, masked, mask_dtype},
          micro::Scale{bits, t, f},
          micro::Scale{bits, f, t}};
}

/// Arrays for the time of a scope, of one piece of memory: small ones on the stack.
class AttentionCall::Room {
 public:
  template <class T>
  struct Place {
    std::int64_t at;
  };
  template <class T>
  Place<T> plan(std::int64_t n) {
    return {std::exchange(bytes_, bytes_ + round_up(n * static_cast<std::int64_t>(sizeof(T)), 64))};
  }
  void open() {
    if (bytes_ > static_cast<std::int64_t>(sizeof small_)) large_.emplace(bytes_);
  }
  template <class T>
  T* operator[](Place<T> p) {
    return reinterpret_cast<T*>((large_ ? large_->get() : small_) + p.at);
  }

 private:
  std::int64_t bytes_ = 0;
  std::optional<Scratch> large_;
  alignas(64) char small_[32 << 10];
};

/// State of a task's rows.
struct AttentionCall::Rows {
  std::int64_t unit, row;  ///< the first one
  float *top, *sum, *factor, *shift;
  const char** mask;  ///< by row: of its first key
  // Of kRows of them at a time:
  std::int64_t* seen;
  const void** mask_now;
  char* mask_copy;  ///< null where elements of the mask lie side by side
};

struct AttentionCall::Partial {
  float *o, *top, *sum;  ///< rows * width_room_, rows, rows
};

AttentionCall::AttentionCall(const NativeArgs& args, const TensorView& q, const TensorView& k, const TensorView& v,
                             const TensorView* mask, const TensorView& out)
    : q_(q), k_(k), v_(v), mask_(mask), out_(out), bits_(static_cast<int>(args.ints[0])), causal_(args.ints[1] != 0) {
  void* const* p = args.micro;
  const auto next = [&]<class F>(F& f) { f = reinterpret_cast<F>(*p++); };
  for (auto* f : {&code_.strip[0], &code_.strip[1], &code_.strip[2]}) next(*f);
  for (auto* f : {&code_.dot[0], &code_.dot[1], &code_.dot[2]}) next(*f);
  for (auto* f : {&code_.sum[0], &code_.sum[1], &code_.sum[2]}) next(*f);
  next(code_.transpose), next(code_.convert), next(code_.softmax[0]), next(code_.softmax[1]), next(code_.scale),
      next(code_.round);

  const int r = out.rank;
  size_ = item_size(q.dtype);
  queries_ = out.sizes[r - 2], keys_ = k.sizes[k.rank - 2], depth_ = q.sizes[q.rank - 1], width_ = out.sizes[r - 1];
  scale_ = args.ints[3] ? static_cast<float>(args.numbers[0].is_float ? args.numbers[0].f
                                                                      : static_cast<double>(args.numbers[0].i))
                        : 1.0f / std::sqrt(static_cast<float>(std::max<std::int64_t>(depth_, 1)));
  lanes_ = micro_lanes(bits_, DType::Float32);
  heads_ = r > 2 ? out.sizes[r - 3] : 1;
  if (args.ints[2] != 0) {
    k_group_ = heads_ / k.sizes[k.rank - 3], v_group_ = heads_ / v.sizes[v.rank - 3];
    group_ = k_group_ == v_group_ ? k_group_ : 1;
  } else if (r > 2 && repeats(k) && repeats(v)) {
    group_ = heads_;
  }
  units_ = heads_ / group_;
  for (int d = 0; d < r - 3; ++d) units_ *= out.sizes[d];
  rows_ = group_ * queries_;
  depth_room_ = round_up(depth_, lanes_), width_room_ = round_up(width_, lanes_);
  if (mask) {
    const auto stride = [&](int from_right) {
      return mask->rank >= from_right && mask->sizes[mask->rank - from_right] != 1
                 ? mask->strides[mask->rank - from_right]
                 : 0;
    };
    mask_row_ = stride(2), mask_step_ = keys_ == 1 ? 1 : stride(1);
  }
}

void AttentionCall::run() {
  if (rows_ <= kStreamedRows) streams();
  else blocks();
}

/// f(i) for all i < n, shared out.
template <class F>
void AttentionCall::each(std::int64_t n, std::int64_t grain, F&& f) {
  parallel(n, std::max<std::int64_t>(1, grain), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

/// Is the dim of heads of this operand one matrix for all of them?
bool AttentionCall::repeats(const TensorView& t) const {
  return t.rank < 3 || t.sizes[t.rank - 3] == 1 || t.strides[t.rank - 3] == 0;
}

/// Offset of the matrix that `t` has for a unit's query head `head`: dims aligned from the right, size 1 broadcasts.
std::int64_t AttentionCall::matrix_of(const TensorView& t, std::int64_t unit, std::int64_t head,
                                      std::int64_t share) const {
  std::int64_t outer = unit / (heads_ / group_), h = unit % (heads_ / group_) * group_ + head, offset = 0;
  const int shift = out_.rank - t.rank;
  if (t.rank >= 3 && t.sizes[t.rank - 3] != 1) offset += h / share * t.strides[t.rank - 3];
  for (int d = out_.rank - 4; d >= 0; --d) {
    const std::int64_t i = outer % out_.sizes[d];
    outer /= out_.sizes[d];
    if (d - shift >= 0 && t.sizes[d - shift] != 1) offset += i * t.strides[d - shift];
  }
  return offset;
}

/// f(column, strip) for strips that cover so many columns, rounded up to lanes; f(column, width, code).
template <class F>
void AttentionCall::for_strips(std::int64_t columns, F&& f) const {
  int which = 0;
  std::int64_t width = lanes_ * strip_vectors(bits_);
  for (std::int64_t at = 0; at < columns; at += width) {
    while (width > lanes_ && columns - at <= width - lanes_) width /= 2, ++which;
    f(at, width, code_.strip[which]);
  }
}

/// Only a mask that all rows of the unit share tells before they are looked at.
AttentionCall::Range AttentionCall::seen_by(std::int64_t unit) const {
  Range seen{0, causal_ ? std::min(keys_, queries_) : keys_};
  if (!mask_ || mask_->dtype != DType::Bool || mask_step_ != 1 || (mask_row_ != 0 && queries_ > 1) ||
      (group_ > 1 && !repeats(*mask_)))
    return seen;
  const char* p = mask_->data + matrix_of(*mask_, unit, 0, 1);
  while (seen.end > 0 && !p[seen.end - 1]) --seen.end;
  while (seen.begin < seen.end && !p[seen.begin]) ++seen.begin;
  return seen;
}

/// Rows [row, row + rows) of the unit, whole positions, in Float32 and scaled.
void AttentionCall::read_queries(std::int64_t unit, std::int64_t row, std::int64_t rows, float* q) const {
  const std::int64_t q_row = q_.strides[q_.rank - 2];
  for (std::int64_t h = 0; h < group_; ++h)
    code_.scale(q_.data + (matrix_of(q_, unit, h, 1) + row / group_ * q_row) * size_, q_row, &scale_, 0,
                q + h * depth_room_, group_ * depth_room_, rows / group_, depth_);
}

void AttentionCall::write_results(std::int64_t unit, std::int64_t row, std::int64_t rows, const float* o,
                                  const float* factor) const {
  const std::int64_t out_row = out_.strides[out_.rank - 2];
  for (std::int64_t h = 0; h < group_; ++h)
    code_.round(o + h * width_room_, group_ * width_room_, factor + h, group_,
                out_.data + (matrix_of(out_, unit, h, 1) + row / group_ * out_row) * size_, out_row, rows / group_,
                width_);
}

void AttentionCall::begin_rows(Rows& r, std::int64_t unit, std::int64_t row, std::int64_t rows) const {
  r.unit = unit, r.row = row;
  std::fill_n(r.top, round_up(rows, lanes_), kMinusInf);
  std::fill_n(r.sum, round_up(rows, lanes_), 0.0f);
  if (!mask_) return;
  const std::int64_t size = item_size(mask_->dtype);
  for (std::int64_t h = 0; h < group_; ++h) {
    const char* p = mask_->data + (matrix_of(*mask_, unit, h, 1) + row / group_ * mask_row_) * size;
    for (std::int64_t i = h; i < rows; i += group_, p += mask_row_ * size) r.mask[i] = p;
  }
}

/// How many of the n keys from `key` on a row sees.
std::int64_t AttentionCall::seen_at(std::int64_t row, std::int64_t key, std::int64_t n) const {
  return causal_ ? std::clamp<std::int64_t>(row / group_ + 1 - key, 0, n) : n;
}

/// Rows [from, from + rows) of `r`, their scores of n keys from `key` on in `s`: probabilities of them.
void AttentionCall::soften(const Rows& r, std::int64_t from, std::int64_t rows, float* s, std::int64_t s_row,
                           std::int64_t key, std::int64_t n, int at_once) const {
  for (std::int64_t i = 0; i < rows; ++i) r.seen[i] = seen_at(r.row + from + i, key, n);
  if (mask_) {
    const std::int64_t size = item_size(mask_->dtype);
    for (std::int64_t i = 0; i < rows; ++i) {
      const char* p = r.mask[from + i] + key * mask_step_ * size;
      if (!r.mask_copy) {
        r.mask_now[i] = p;
      } else if (i > 0 && r.mask[from + i] == r.mask[from + i - 1]) {
        r.mask_now[i] = r.mask_now[i - 1];
      } else {
        TensorView line;
        line.data = const_cast<char*>(p), line.dtype = mask_->dtype, line.rank = 1, line.sizes[0] = n,
        line.strides[0] = mask_step_;
        char* to = r.mask_copy + i * kStreamedKeys * size;
        compact(line, to);
        r.mask_now[i] = to;
      }
    }
  }
  const micro::SoftmaxRows call{
      s, s_row, rows, r.seen, r.mask_now, r.top + from, r.sum + from, r.factor + from, r.shift + from};
  code_.softmax[at_once == 1](&call);
}

void AttentionCall::blocks() {
  // Tasks begin where tiles and positions do.
  const std::int64_t unit_rows = std::lcm(kRows, group_), threads = device::num_threads(),
                     work = rows_ * std::max<std::int64_t>(keys_, 1) * (depth_ + width_);
  std::int64_t parts = (rows_ + kTaskRows - 1) / kTaskRows;
  if (threads > 1 && units_ * parts < 4 * threads) parts = std::max(parts, (4 * threads + units_ - 1) / units_);
  const std::int64_t step = round_up((rows_ + parts - 1) / parts, unit_rows);
  parts = (rows_ + step - 1) / step;
  each(units_ * parts, (std::int64_t{1} << 19) / std::max<std::int64_t>(1, work / parts), [&](std::int64_t i) {
    const std::int64_t row = i % parts * step;
    block_rows(i / parts, row, std::min(rows_, row + step));
  });
}

void AttentionCall::block_rows(std::int64_t unit, std::int64_t row, std::int64_t row_end) const {
  const Range seen = seen_by(unit);
  const std::int64_t rows = row_end - row, limit = causal_ ? std::min(seen.end, (row_end - 1) / group_ + 1) : seen.end,
                     block = std::min(kKeys, round_up(keys_, lanes_)), s_row = block + lanes_,
                     v_row = v_.strides[v_.rank - 2], k_row = k_.strides[k_.rank - 2], room = round_up(rows, lanes_);
  // Values that stand as they would be packed are read where they are.
  const bool as_packed = v_.dtype == DType::Float32 && width_ == width_room_ && (v_row == width_ || keys_ == 1);
  Room memory;
  const auto q_at = memory.plan<float>(rows * depth_room_), o_at = memory.plan<float>(rows * width_room_),
             s_at = memory.plan<float>(kRows * s_row), k_at = memory.plan<float>(block * depth_room_),
             v_at = memory.plan<float>(as_packed ? 0 : block * width_room_), state_at = memory.plan<float>(4 * room);
  const auto seen_rows_at = memory.plan<std::int64_t>(kRows);
  const auto mask_at = memory.plan<const char*>(mask_ ? rows : 0);
  const auto mask_now_at = memory.plan<const void*>(kRows);
  const auto mask_copy_at =
      memory.plan<char>(mask_ && mask_step_ != 1 ? kRows * kStreamedKeys * item_size(mask_->dtype) : 0);
  memory.open();
  float *q = memory[q_at], *o = memory[o_at], *s = memory[s_at], *kp = memory[k_at], *vp = memory[v_at],
        *state = memory[state_at];
  Rows r{unit,
         row,
         state,
         state + room,
         state + 2 * room,
         state + 3 * room,
         memory[mask_at],
         memory[seen_rows_at],
         memory[mask_now_at],
         mask_ && mask_step_ != 1 ? memory[mask_copy_at] : nullptr};
  begin_rows(r, unit, row, rows);
  read_queries(unit, row, rows, q);
  if (width_ != width_room_ && !as_packed)
    std::memset(vp, 0, static_cast<std::size_t>(block * width_room_) * sizeof(float));
  const char* k = k_.data + matrix_of(k_, unit, 0, k_group_) * size_;
  const char* v = v_.data + matrix_of(v_, unit, 0, v_group_) * size_;

  const std::int64_t first = seen.begin / kKeys * kKeys;
  if (first >= limit) std::memset(o, 0, static_cast<std::size_t>(rows * width_room_) * sizeof(float));
  for (std::int64_t key = first; key < limit; key += kKeys) {
    const std::int64_t n = std::min(kKeys, limit - key);
    for_strips(n, [&](std::int64_t at, std::int64_t width, micro::StripFn) {
      for (std::int64_t j = at; j < std::min(at + width, n); j += lanes_)
        code_.transpose(k + (key + j) * k_row * size_, k_row, kp + at * depth_room_ + (j - at), width,
                        std::min(lanes_, n - j), depth_);
    });
    const float* values = vp;
    if (as_packed) values = reinterpret_cast<const float*>(v) + key * v_row;
    else code_.convert(v + key * v_row * size_, v_row, vp, width_room_, n, width_);
    for (std::int64_t from = 0; from < rows; from += kRows) {
      const std::int64_t count = std::min(kRows, rows - from), most = seen_at(row + from + count - 1, key, n);
      if (most == 0) continue;
      for_strips(n, [&](std::int64_t panel, std::int64_t width, micro::StripFn) {
        for_strips(std::min(width, most - panel), [&](std::int64_t at, std::int64_t, micro::StripFn strip) {
          // Rows before `hidden` see none of these keys.
          const std::int64_t hidden =
              causal_ ? std::clamp<std::int64_t>((key + panel + at) * group_ - row - from, 0, count - 1) : 0;
          const micro::StripRows call{q + (from + hidden) * depth_room_,
                                      depth_room_,
                                      kp + panel * depth_room_ + at,
                                      width,
                                      s + hidden * s_row + panel + at,
                                      s_row,
                                      count - hidden,
                                      &depth_,
                                      0,
                                      nullptr};
          strip(&call);
        });
      });
      soften(r, from, count, s, s_row, key, most, 4);
      for_strips(width_, [&](std::int64_t at, std::int64_t, micro::StripFn strip) {
        const micro::StripRows call{
            s,           s_row, values + at, width_room_, o + from * width_room_ + at,
            width_room_, count, r.seen,      1,           key == first ? nullptr : r.factor + from};
        strip(&call);
      });
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) r.factor[i] = r.sum[i] == 0 ? 0 : 1 / r.sum[i];
  write_results(unit, row, rows, o, r.factor);
}

void AttentionCall::streams() {
  const std::int64_t limit = causal_ ? std::min(keys_, queries_) : keys_,
                     chunks = std::max<std::int64_t>(1, (limit + kStreamedKeys - 1) / kStreamedKeys),
                     length = rows_ * (width_room_ + 2),
                     work = rows_ * std::min(kStreamedKeys, limit) * (depth_ + width_);
  Scratch partials(chunks > 1 ? units_ * chunks * length * static_cast<std::int64_t>(sizeof(float)) : 0);
  const auto partial = [&](std::int64_t i) {
    float* o = partials.as<float>() + i * length;
    return Partial{o, o + rows_ * width_room_, o + rows_ * (width_room_ + 1)};
  };
  each(units_ * chunks, (std::int64_t{1} << 17) / std::max<std::int64_t>(1, work), [&](std::int64_t i) {
    const std::int64_t key = i % chunks * kStreamedKeys;
    stream_keys(i / chunks, key, std::min(kStreamedKeys, limit - key), chunks > 1 ? partial(i) : Partial{});
  });
  if (chunks == 1) return;
  each(units_, (std::int64_t{1} << 16) / (chunks * length), [&](std::int64_t unit) {
    const Partial to = partial(unit * chunks);
    for (std::int64_t i = 0; i < rows_; ++i) {
      float top = to.top[i], sum = 0;
      for (std::int64_t c = 1; c < chunks; ++c) top = std::max(top, partial(unit * chunks + c).top[i]);
      float* o = to.o + i * width_room_;
      for (std::int64_t c = 0; c < chunks; ++c) {
        const Partial p = partial(unit * chunks + c);
        const float factor = top == kMinusInf ? 0 : std::exp(p.top[i] - top);
        const float* from = p.o + i * width_room_;
        sum += p.sum[i] * factor;
        for (std::int64_t e = 0; e < width_; ++e) o[e] = (c ? o[e] : 0) + from[e] * factor;
      }
      to.sum[i] = sum == 0 ? 0 : 1 / sum;
    }
    write_results(unit, 0, rows_, to.o, to.sum);
  });
}

/// Of all rows of a unit and some keys: the result, or what it is joined from.
void AttentionCall::stream_keys(std::int64_t unit, std::int64_t key, std::int64_t n, Partial to) const {
  const Range seen = seen_by(unit);
  n = std::clamp<std::int64_t>(seen.end - key, 0, n);
  if (key + n <= seen.begin) n = 0;
  const std::int64_t s_row = round_up(n, lanes_) + lanes_, room = round_up(rows_, lanes_);
  Room memory;
  const auto q_at = memory.plan<float>(rows_ * depth_room_), o_at = memory.plan<float>(to.o ? 0 : rows_ * width_room_),
             s_at = memory.plan<float>(rows_ * s_row), state_at = memory.plan<float>(4 * room);
  const auto seen_rows_at = memory.plan<std::int64_t>(rows_);
  const auto mask_at = memory.plan<const char*>(rows_);
  const auto mask_now_at = memory.plan<const void*>(rows_);
  const auto mask_copy_at =
      memory.plan<char>(mask_ && mask_step_ != 1 ? rows_ * kStreamedKeys * item_size(mask_->dtype) : 0);
  memory.open();
  float *q = memory[q_at], *o = to.o ? to.o : memory[o_at], *s = memory[s_at], *state = memory[state_at];
  Rows r{unit,
         0,
         state,
         state + room,
         state + 2 * room,
         state + 3 * room,
         memory[mask_at],
         memory[seen_rows_at],
         memory[mask_now_at],
         mask_ && mask_step_ != 1 ? memory[mask_copy_at] : nullptr};
  begin_rows(r, unit, 0, rows_);
  std::memset(o, 0, static_cast<std::size_t>(rows_ * width_room_) * sizeof(float));
  if (n > 0) {
    read_queries(unit, 0, rows_, q);
    const std::int64_t k_row = k_.strides[k_.rank - 2], v_row = v_.strides[v_.rank - 2];
    const char* k = k_.data + (matrix_of(k_, unit, 0, k_group_) + key * k_row) * size_;
    const char* v = v_.data + (matrix_of(v_, unit, 0, v_group_) + key * v_row) * size_;
    // log2 of how many rows share one reading of keys or values.
    const auto for_rows = [&](auto&& f) {
      for (std::int64_t i = 0; i < rows_;) {
        const int two_to = rows_ - i >= 4 ? 2 : rows_ - i >= 2 ? 1 : 0;
        f(i, two_to);
        i += std::int64_t{1} << two_to;
      }
    };
    for_rows([&](std::int64_t i, int two_to) {
      code_.dot[two_to](q + i * depth_room_, depth_room_, k, k_row, s + i * s_row, s_row, n, depth_);
    });
    soften(r, 0, rows_, s, s_row, key, n, rows_ < 4 ? 1 : 4);
    for_rows([&](std::int64_t i, int two_to) {
      code_.sum[two_to](s + i * s_row, s_row, v, v_row, o + i * width_room_, width_room_, width_, n);
    });
  }
  if (to.o) {
    for (std::int64_t i = 0; i < rows_; ++i) to.top[i] = r.top[i], to.sum[i] = r.sum[i];
    return;
  }
  for (std::int64_t i = 0; i < rows_; ++i) r.factor[i] = r.sum[i] == 0 ? 0 : 1 / r.sum[i];
  write_results(unit, 0, rows_, o, r.factor);
}

}  // namespace reprise::kernels
