#pragma once
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "jit/cpu/loop/compile.h"
#include "kernels/loop/analysis.h"
#include "kernels/loop/body_builder.h"
#include "kernels/loop/ir.h"

namespace reprise::testing {

/// Bytes between two inaccessible pages, flush against one of them: a read or write beyond that end faults at once, and
/// the slack at the other end is checked for writes.
class FencedBuffer {
 public:
  FencedBuffer(std::size_t bytes, bool flush_end) : bytes_(bytes) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    inner_ = (bytes + page - 1) / page * page;
    total_ = inner_ + 2 * page;
    base_ = static_cast<char*>(mmap(nullptr, total_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    first_ = base_ + page;
    if (inner_) mprotect(first_, inner_, PROT_READ | PROT_WRITE);
    std::memset(first_, kSlack, inner_);
    data_ = flush_end ? first_ + inner_ - bytes : first_;
  }
  FencedBuffer(FencedBuffer&& o) noexcept
      : base_(std::exchange(o.base_, nullptr)), first_(o.first_), data_(o.data_), bytes_(o.bytes_), inner_(o.inner_),
        total_(o.total_) {}
  ~FencedBuffer() {
    if (base_) munmap(base_, total_);
  }
  char* data() { return data_; }
  std::size_t size() const { return bytes_; }
  bool slack_intact() const {
    for (const char* p = first_; p < first_ + inner_; ++p)
      if ((p < data_ || p >= data_ + bytes_) && *p != kSlack) return false;
    return true;
  }

 private:
  static constexpr char kSlack = 0x5a;
  char *base_, *first_, *data_;
  std::size_t bytes_, inner_, total_;
};

/// How far apart two floats are, in units of the last place of `want`'s type; NaN equals NaN.
template <class T>
double ulps(T got, T want) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : 1e30;
  if (got == want) return 0;
  if (std::isinf(got) || std::isinf(want)) return 1e30;
  const T above = std::nextafter(std::fabs(want), std::numeric_limits<T>::infinity());
  const double unit = std::isinf(above) ? static_cast<double>(std::fabs(want)) -
                                              static_cast<double>(std::nextafter(std::fabs(want), T(0)))
                                        : static_cast<double>(above) - static_cast<double>(std::fabs(want));
  return std::fabs(static_cast<double>(got) - static_cast<double>(want)) / unit;
}

inline std::vector<std::int64_t> numbers(const kernels::LoopKernel& k) {
  std::vector<std::int64_t> p;
  for (Int v : kernels::runtime_params(k)) p.push_back(v.hint());
  return p;
}

/// The elements an access may touch: [lowest, highest], with gather values in [0, extent).
inline std::pair<std::int64_t, std::int64_t> reach(const kernels::LoopKernel& k, const kernels::Access& a) {
  std::int64_t lo = a.offset.hint(), hi = lo;
  auto span = [&](std::int64_t count, std::int64_t stride) {
    if (count <= 0) return;
    const std::int64_t far = (count - 1) * stride;
    (far < 0 ? lo : hi) += far;
  };
  for (std::size_t d = 0; d < k.extents.size(); ++d) span(k.extents[d].hint(), a.strides[d].hint());
  for (const auto& g : a.gathers) span(g.extent.hint(), g.stride.hint());
  return {lo, hi};
}

/// Buffers big enough for every access of a kernel whose accesses reach no element below 0.
inline std::vector<std::size_t> buffer_bytes(const kernels::LoopKernel& k) {
  std::vector<std::size_t> bytes(k.buffers.size(), 0);
  for (const kernels::Access& a : k.accesses) {
    const auto [lo, hi] = reach(k, a);
    EXPECT_GE(lo, 0);
    bytes[a.buffer] =
        std::max(bytes[a.buffer], static_cast<std::size_t>((hi + 1) * item_size(k.buffers[a.buffer].dtype)));
  }
  return bytes;
}

/// Plausible values: moderate floats, small integers, truth values that are any nonzero byte.
inline void fill(DType t, char* p, std::size_t bytes, std::mt19937& rng) {
  const std::size_t n = bytes / static_cast<std::size_t>(item_size(t));
  std::uniform_real_distribution<double> real(-3, 3);
  std::uniform_int_distribution<int> small(-20, 20), byte(0, 255);
  auto put = [&](std::size_t i, auto v) { std::memcpy(p + i * sizeof v, &v, sizeof v); };
  for (std::size_t i = 0; i < n; ++i) {
    switch (t) {
      case DType::Float32: put(i, static_cast<float>(real(rng))); break;
      case DType::Float64: put(i, real(rng)); break;
      case DType::Float16: put(i, Half(static_cast<float>(real(rng)))); break;
      case DType::BFloat16: put(i, BFloat16(static_cast<float>(real(rng)))); break;
      case DType::Float8E4M3FN:
      case DType::Float8E5M2:
        put(i, static_cast<std::uint8_t>(byte(rng)));  // every code is a value
        break;
      case DType::Int8: put(i, static_cast<std::int8_t>(small(rng))); break;
      case DType::UInt8: put(i, static_cast<std::uint8_t>(byte(rng))); break;
      case DType::Int32: put(i, static_cast<std::int32_t>(small(rng))); break;
      case DType::Int64: put(i, static_cast<std::int64_t>(small(rng))); break;
      case DType::Bool: put(i, static_cast<std::uint8_t>(byte(rng) & 1 ? byte(rng) | 1 : 0)); break;
    }
  }
}

inline double difference(DType t, const char* got, const char* want) {
  auto read = [](const char* p, auto v) {
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  switch (t) {
    case DType::Float32: return ulps(read(got, float{}), read(want, float{}));
    case DType::Float64: return ulps(read(got, double{}), read(want, double{}));
    case DType::Float16: {
      const Half g = read(got, Half{}), w = read(want, Half{});
      return g.bits == w.bits || (std::isnan(static_cast<float>(g)) && std::isnan(static_cast<float>(w)))
                 ? 0
                 : std::abs(g.bits - w.bits);
    }
    case DType::BFloat16: {
      const BFloat16 g = read(got, BFloat16{}), w = read(want, BFloat16{});
      return g.bits == w.bits || (std::isnan(static_cast<float>(g)) && std::isnan(static_cast<float>(w)))
                 ? 0
                 : std::abs(g.bits - w.bits);
    }
    case DType::Float8E4M3FN: {
      const Float8E4M3FN g = read(got, Float8E4M3FN{}), w = read(want, Float8E4M3FN{});
      return g.bits == w.bits || (std::isnan(static_cast<float>(g)) && std::isnan(static_cast<float>(w)))
                 ? 0
                 : std::abs(g.bits - w.bits);
    }
    case DType::Float8E5M2: {
      const Float8E5M2 g = read(got, Float8E5M2{}), w = read(want, Float8E5M2{});
      return g.bits == w.bits || (std::isnan(static_cast<float>(g)) && std::isnan(static_cast<float>(w)))
                 ? 0
                 : std::abs(g.bits - w.bits);
    }
    default: return std::memcmp(got, want, static_cast<std::size_t>(item_size(t))) == 0 ? 0 : 1e30;
  }
}

struct Tolerance {
  double ulps = 0;
  double absolute = 0;  ///< float results within this are equal too (sums of mixed signs)
};

/// Runs `k` compiled (over the given splits of its tasks) and interpreted on equal buffers; expects equal contents.
/// `prepare` may set index buffers and special values.
inline void expect_same(const kernels::LoopKernel& k, unsigned seed, Tolerance tolerance,
                        const std::function<void(std::vector<char*>&)>& prepare = {}) {
  SCOPED_TRACE(kernels::canonical_text(k));
  kernels::verify(k);
  const std::vector<std::size_t> bytes = buffer_bytes(k);
  const std::vector<std::int64_t> params = numbers(k);
  std::vector<FencedBuffer> got, want, split;
  std::vector<char*> got_p, want_p, split_p;
  std::mt19937 rng(seed);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    got.emplace_back(bytes[i], (seed + i) % 2 == 0), want.emplace_back(bytes[i], true),
        split.emplace_back(bytes[i], (seed + i) % 2 != 0);
    got_p.push_back(got.back().data()), want_p.push_back(want.back().data()), split_p.push_back(split.back().data());
    fill(k.buffers[i].dtype, got_p.back(), bytes[i], rng);
  }
  if (prepare) prepare(got_p);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i]) std::memcpy(want_p[i], got_p[i], bytes[i]), std::memcpy(split_p[i], got_p[i], bytes[i]);

  const jit::CodePtr code = jit::compile(k);
  const std::int64_t tasks = kernels::task_count(k).hint();
  kernels::interpret(k, reinterpret_cast<void* const*>(want_p.data()), params.data());
  code->loop()(reinterpret_cast<void* const*>(got_p.data()), params.data(), 0, tasks);
  for (std::int64_t t = 0, step = 1; t < tasks; t += step, step = step % 3 + 1)
    code->loop()(reinterpret_cast<void* const*>(split_p.data()), params.data(), t, std::min(tasks, t + step));

  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_TRUE(got[i].slack_intact() && split[i].slack_intact()) << "wrote outside buffer " << i;
    ASSERT_TRUE(bytes[i] == 0 || std::memcmp(got_p[i], split_p[i], bytes[i]) == 0)
        << "buffer " << i << " depends on how tasks are split";
    const DType t = k.buffers[i].dtype;
    const auto size = static_cast<std::size_t>(item_size(t));
    for (std::size_t j = 0; j * size < bytes[i]; ++j) {
      const double d = difference(t, got_p[i] + j * size, want_p[i] + j * size);
      if (d <= tolerance.ulps) continue;
      double g = 0, w = 0;
      if (t == DType::Float32) {
        float f;
        std::memcpy(&f, got_p[i] + j * size, 4), g = f;
        std::memcpy(&f, want_p[i] + j * size, 4), w = f;
      } else if (t == DType::Float64) {
        std::memcpy(&g, got_p[i] + j * size, 8), std::memcpy(&w, want_p[i] + j * size, 8);
      }
      if (is_floating(t) && std::fabs(g - w) <= tolerance.absolute && g != w) continue;
      FAIL() << "buffer " << i << " element " << j << ": compiled " << g << ", interpreted " << w << ", " << d
             << " ulps apart";
    }
  }
}

}  // namespace reprise::testing
