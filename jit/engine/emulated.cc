#include "jit/engine/emulated.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace reprise::jit {

#if defined(__x86_64__)
namespace {

constexpr int kTiles = 8, kMostRows = 16, kMostBytes = 64;

/// What LDTILECFG reads.
struct Config {
  std::uint8_t palette, start_row, reserved[14];
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};
static_assert(sizeof(Config) == 64);

struct Tile {
  alignas(64) std::uint8_t row[kMostRows][kMostBytes];
};
struct TileState {
  int rows[kTiles] = {}, bytes[kTiles] = {};  ///< 0: not configured
  Tile tile[kTiles];

  void reset() {
    std::memset(rows, 0, sizeof rows), std::memset(bytes, 0, sizeof bytes);
    std::memset(tile, 0, sizeof tile);
  }
};
thread_local TileState t_state;

/// As these instructions round, whatever the thread's mode: to nearest even, denormals taken for zeros and flushed to
/// them.
class RoundingOfProducts {
 public:
  RoundingOfProducts() : before_(_mm_getcsr()) { _mm_setcsr(0x9fc0); }
  ~RoundingOfProducts() { _mm_setcsr(before_); }
  RoundingOfProducts(const RoundingOfProducts&) = delete;

 private:
  const unsigned before_;
};

void tile_config(const Config* c) {
  t_state.reset();
  for (int i = 0; c->palette == 1 && i < kTiles; ++i)
    if (c->rows[i] <= kMostRows && c->row_bytes[i] <= kMostBytes)
      t_state.rows[i] = c->rows[i], t_state.bytes[i] = c->row_bytes[i];
}
void tile_release() { t_state.reset(); }
void tile_zero(std::int64_t t) { std::memset(&t_state.tile[t], 0, sizeof(Tile)); }
void tile_load(std::int64_t t, const char* from, std::int64_t stride) {
  tile_zero(t);
  for (int r = 0; r < t_state.rows[t]; ++r)
    std::memcpy(t_state.tile[t].row[r], from + r * stride, static_cast<std::size_t>(t_state.bytes[t]));
}
void tile_store(std::int64_t t, char* to, std::int64_t stride) {
  for (int r = 0; r < t_state.rows[t]; ++r)
    std::memcpy(to + r * stride, t_state.tile[t].row[r], static_cast<std::size_t>(t_state.bytes[t]));
}

// The compiler must not move arithmetic out of RoundingOfProducts: what it guards are intrinsics on memory that is read
// and written inside functions of their own.

/// TDPBF16PS: of each result the even products are summed, and the odd ones, in order; the two sums are added, and that
/// to what was there.
__attribute__((target("avx512f"), noinline)) void add_halves(TileState& s, std::int64_t sums, std::int64_t a,
                                                             std::int64_t b) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  for (int m = 0; m < s.rows[sums]; ++m) {
    __m512 even = _mm512_setzero_ps(), odd = _mm512_setzero_ps();
    for (int k = 0; k < s.bytes[a] / 4; ++k) {
      std::int32_t pair;
      std::memcpy(&pair, &s.tile[a].row[m][k * 4], 4);
      const __m512i x = _mm512_set1_epi32(pair), y = _mm512_load_si512(s.tile[b].row[k]);
      even = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(x, 16)),
                             _mm512_castsi512_ps(_mm512_slli_epi32(y, 16)), even);
      odd = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_and_si512(x, high)),
                            _mm512_castsi512_ps(_mm512_and_si512(y, high)), odd);
    }
    float* to = reinterpret_cast<float*>(s.tile[sums].row[m]);
    const __mmask16 columns = static_cast<__mmask16>((1u << (s.bytes[sums] / 4)) - 1);
    _mm512_mask_store_ps(to, columns, _mm512_add_ps(_mm512_load_ps(to), _mm512_add_ps(even, odd)));
  }
}
void tile_bf16(std::int64_t sums, std::int64_t a, std::int64_t b) {
  const RoundingOfProducts mode;
  add_halves(t_state, sums, a, b);
}

/// TDPBSSD: signed bytes, sums that wrap.
void tile_int8(std::int64_t sums, std::int64_t a, std::int64_t b) {
  TileState& s = t_state;
  for (int m = 0; m < s.rows[sums]; ++m) {
    std::uint32_t row[kMostBytes / 4];
    std::memcpy(row, s.tile[sums].row[m], sizeof row);
    for (int i = 0; i < s.bytes[a]; ++i) {
      const std::int32_t x = static_cast<std::int8_t>(s.tile[a].row[m][i]);
      const std::uint8_t* y = &s.tile[b].row[i / 4][i % 4];
      for (int n = 0; n < s.bytes[sums] / 4; ++n)
        row[n] += static_cast<std::uint32_t>(x * static_cast<std::int8_t>(y[n * 4]));
    }
    std::memcpy(s.tile[sums].row[m], row, static_cast<std::size_t>(s.bytes[sums]));
  }
}

/// VDPBF16PS: the odd product first.
__attribute__((target("avx512f"), noinline)) void add_pairs(const float* sums, const float* a, const float* b,
                                                            float* out, std::int64_t n) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = n - i >= 16 ? static_cast<__mmask16>(0xffff) : static_cast<__mmask16>((1u << (n - i)) - 1);
    const __m512i x = _mm512_maskz_loadu_epi32(lanes, a + i), y = _mm512_maskz_loadu_epi32(lanes, b + i);
    __m512 t = _mm512_maskz_loadu_ps(lanes, sums + i);
    t = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_and_si512(x, high)), _mm512_castsi512_ps(_mm512_and_si512(y, high)),
                        t);
    t = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(x, 16)), _mm512_castsi512_ps(_mm512_slli_epi32(y, 16)),
                        t);
    _mm512_mask_storeu_ps(out + i, lanes, t);
  }
}
void dot_bf16(const float* sums, const float* a, const float* b, float* out, std::int64_t lanes) {
  const RoundingOfProducts mode;
  add_pairs(sums, a, b, out, lanes);
}

template <class F>
RuntimeCall call(const char* name, F* f) {
  return {name, reinterpret_cast<void*>(f)};
}

}  // namespace

const std::vector<RuntimeCall>& emulated_instructions() {
  static const auto& calls = *new std::vector<RuntimeCall>{
      call("reprise_tile_config", tile_config), call("reprise_tile_release", tile_release),
      call("reprise_tile_zero", tile_zero),     call("reprise_tile_load", tile_load),
      call("reprise_tile_store", tile_store),   call("reprise_tile_bf16", tile_bf16),
      call("reprise_tile_int8", tile_int8),     call("reprise_dot_bf16", dot_bf16)};
  return calls;
}
#else
const std::vector<RuntimeCall>& emulated_instructions() {
  static const auto& none = *new std::vector<RuntimeCall>;
  return none;
}
#endif

}  // namespace reprise::jit
