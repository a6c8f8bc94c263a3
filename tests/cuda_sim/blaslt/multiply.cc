#include "tests/cuda_sim/blaslt/multiply.h"

#include <bit>
#include <cstring>
#include <vector>

#include "tests/cuda_sim/control.h"

/// The products themselves: in float, or in double for doubles; rounded once.
namespace sim_blaslt {

namespace {

struct Unreachable {};

float half_to_float(std::uint16_t h) {
  const std::uint32_t sign = std::uint32_t{h & 0x8000u} << 16, exponent = (h >> 10) & 31, fraction = h & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float f = static_cast<float>(fraction) * 0x1p-24f;
  return sign ? -f : f;
}
std::uint16_t round_to(std::uint32_t bits, int drop) {
  const std::uint32_t half = 1u << (drop - 1), odd = (bits >> drop) & 1;
  return static_cast<std::uint16_t>((bits + half - 1 + odd) >> drop);
}
std::uint16_t float_to_bfloat(float f) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
  if (f != f) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return round_to(bits, 16);
}
std::uint16_t float_to_half(float f) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(f), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (f != f) return static_cast<std::uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);  // 65520 and more
  if (magnitude < 0x38800000) {  // below the least normal number: the sum's last bit is a half's last bit
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000));
  }
  return static_cast<std::uint16_t>(sign | round_to(magnitude - (112u << 23), 13));
}

template <class T>
T load(Type t, const char* p) {
  std::uint16_t h;
  switch (t) {
    case Type::F32: {
      float v;
      std::memcpy(&v, p, 4);
      return static_cast<T>(v);
    }
    case Type::F64: {
      double v;
      std::memcpy(&v, p, 8);
      return static_cast<T>(v);
    }
    case Type::F16: std::memcpy(&h, p, 2); return static_cast<T>(half_to_float(h));
    case Type::BF16: std::memcpy(&h, p, 2); return static_cast<T>(std::bit_cast<float>(std::uint32_t{h} << 16));
  }
  return 0;
}
template <class T>
void store(Type t, char* p, T value) {
  const float f = static_cast<float>(value);
  const double d = static_cast<double>(value);
  std::uint16_t h;
  switch (t) {
    case Type::F32: std::memcpy(p, &f, 4); break;
    case Type::F64: std::memcpy(p, &d, 8); break;
    case Type::F16: h = float_to_half(f), std::memcpy(p, &h, 2); break;
    case Type::BF16: h = float_to_bfloat(f), std::memcpy(p, &h, 2); break;
  }
}

char* reach(std::uint64_t address, std::uint64_t bytes, bool write, const char* what) {
  void* p = reprise_simulator_reach(address, bytes, write, what);
  if (!p) throw Unreachable();
  return static_cast<char*>(p);
}

/// op(m) of one batch: `lines` lines of `depth` elements each.
template <class T>
std::vector<T> lines_of(const Work& w, const Matrix& m, std::int64_t batch, bool lines_are_rows, const char* what) {
  const std::uint64_t item = bytes_of(w.type);
  const std::int64_t lines = lines_are_rows ? w.m : w.n;
  std::vector<T> out(static_cast<std::size_t>(lines * w.k));
  for (std::int64_t j = 0; j < m.columns; ++j) {
    const char* column = reach(m.address + static_cast<std::uint64_t>(batch * m.batch + j * m.ld) * item,
                               static_cast<std::uint64_t>(m.rows) * item, false, what);
    for (std::int64_t i = 0; i < m.rows; ++i) {
      const bool i_is_line = lines_are_rows != (m.transposed != 0);
      const std::int64_t line = i_is_line ? i : j, k = i_is_line ? j : i;
      out[static_cast<std::size_t>(line * w.k + k)] = load<T>(w.type, column + static_cast<std::uint64_t>(i) * item);
    }
  }
  return out;
}

template <class T>
std::vector<T> sums(const Work& w, std::int64_t batch, std::int64_t from, std::int64_t to) {
  const std::vector<T> a = lines_of<T>(w, w.a, batch, true, "cublasLtMatmul, A"),
                       b = lines_of<T>(w, w.b, batch, false, "cublasLtMatmul, B");
  std::vector<T> out(static_cast<std::size_t>(w.m * w.n));
  for (std::int64_t j = 0; j < w.n; ++j)
    for (std::int64_t i = 0; i < w.m; ++i) {
      const T *x = &a[static_cast<std::size_t>(i * w.k)], *y = &b[static_cast<std::size_t>(j * w.k)];
      T s = 0;
      for (std::int64_t k = from; k < to; ++k) s += x[k] * y[k];
      out[static_cast<std::size_t>(j * w.m + i)] = s;
    }
  return out;
}

template <class T>
void finish(const Work& w, std::int64_t batch, const std::vector<T>& sum) {
  const std::uint64_t item = bytes_of(w.type), column_bytes = static_cast<std::uint64_t>(w.m) * item;
  const char* bias = w.bias ? reach(w.bias, column_bytes, false, "cublasLtMatmul, bias") : nullptr;
  for (std::int64_t j = 0; j < w.n; ++j) {
    auto column = [&](const Matrix& m, bool write, const char* what) {
      return reach(m.address + static_cast<std::uint64_t>(batch * m.batch + j * m.ld) * item, column_bytes, write,
                   what);
    };
    const char* c = w.beta != 0 ? column(w.c, false, "cublasLtMatmul, C") : nullptr;
    char* d = column(w.d, true, "cublasLtMatmul, D");
    for (std::int64_t i = 0; i < w.m; ++i) {
      const std::uint64_t at = static_cast<std::uint64_t>(i) * item;
      T v = static_cast<T>(w.alpha) * sum[static_cast<std::size_t>(j * w.m + i)];
      if (c) v += static_cast<T>(w.beta) * load<T>(w.type, c + at);
      if (bias) v += load<T>(w.type, bias + at);
      store(w.type, d + at, v);
    }
  }
}

template <class F>
void with_accumulator(void* work, F&& f) {
  const Work& w = *static_cast<const Work*>(work);
  try {
    for (std::int64_t batch = 0; batch < w.batches; ++batch)
      w.type == Type::F64 ? f(w, batch, double()) : f(w, batch, float());
  } catch (Unreachable) {  // the simulator has said what
  }
}

template <class T>
std::uint64_t part_bytes(const Work& w) {
  return static_cast<std::uint64_t>(w.m * w.n) * sizeof(T);
}

}  // namespace

void whole(void* work) {
  with_accumulator(
      work, [](const Work& w, std::int64_t batch, auto t) { finish(w, batch, sums<decltype(t)>(w, batch, 0, w.k)); });
}

void halves(void* work) {
  with_accumulator(work, [](const Work& w, std::int64_t batch, auto t) {
    using T = decltype(t);
    const std::int64_t middle = w.k / 2;
    for (std::uint64_t half = 0; half < 2; ++half) {
      const std::vector<T> s = half ? sums<T>(w, batch, middle, w.k) : sums<T>(w, batch, 0, middle);
      std::memcpy(reach(w.workspace + (2 * static_cast<std::uint64_t>(batch) + half) * part_bytes<T>(w),
                        part_bytes<T>(w), true, "cublasLtMatmul, workspace"),
                  s.data(), part_bytes<T>(w));
    }
  });
}

void join(void* work) {
  with_accumulator(work, [](const Work& w, std::int64_t batch, auto t) {
    using T = decltype(t);
    std::vector<T> sum(static_cast<std::size_t>(w.m * w.n));
    for (std::uint64_t half = 0; half < 2; ++half) {
      const char* part = reach(w.workspace + (2 * static_cast<std::uint64_t>(batch) + half) * part_bytes<T>(w),
                               part_bytes<T>(w), false, "cublasLtMatmul, workspace");
      for (std::size_t i = 0; i < sum.size(); ++i) {
        T v;
        std::memcpy(&v, part + i * sizeof v, sizeof v);
        sum[i] += v;
      }
    }
    finish(w, batch, sum);
  });
}

}  // namespace sim_blaslt
