#include "import/gguf/unpack.h"

#include <cstring>

#include "base/errors.h"
#include "reprise/ops.h"

namespace reprise::gguf {

namespace {

// ---- on the host

float half_at(const std::uint8_t* p) {
  Half h;
  std::memcpy(&h.bits, p, 2);
  return static_cast<float>(h);
}

void unpack_q8_0(const std::uint8_t* b, float* to) {
  const float d = half_at(b);
  for (int i = 0; i < 32; ++i) to[i] = static_cast<float>(static_cast<std::int8_t>(b[2 + i])) * d;
}

void unpack_q4_0(const std::uint8_t* b, float* to) {
  const float d = half_at(b);
  for (int i = 0; i < 16; ++i) {
    to[i] = static_cast<float>((b[2 + i] & 15) - 8) * d;
    to[16 + i] = static_cast<float>((b[2 + i] >> 4) - 8) * d;
  }
}

/// Of 12 bytes eight numbers of 6 bits, and eight more: four of each have bytes of their own, whose upper two bits are those of the other four.
void scales_of_q4_k(const std::uint8_t* s, int i, int& scale, int& minimum) {
  if (i < 4) scale = s[i] & 63, minimum = s[i + 4] & 63;
  else scale = (s[i + 4] & 15) | (s[i - 4] >> 6) << 4, minimum = s[i + 4] >> 4 | (s[i] >> 6) << 4;
}

void unpack_q4_k(const std::uint8_t* b, float* to) {
  const float d = half_at(b), m = half_at(b + 2);
  for (int i = 0; i < 8; ++i) {
    int s = 0, t = 0;
    scales_of_q4_k(b + 4, i, s, t);
    const float scale = d * static_cast<float>(s), minimum = m * static_cast<float>(t);
    const std::uint8_t* q = b + 16 + i / 2 * 32;
    for (int j = 0; j < 32; ++j) {
      const float product = scale * static_cast<float>(i % 2 ? q[j] >> 4 : q[j] & 15);
      to[i * 32 + j] = product - minimum;
    }
  }
}

void unpack_q6_k(const std::uint8_t* b, float* to) {
  const float d = half_at(b + 208);
  for (int i = 0; i < 16; ++i) {
    const float scale = d * static_cast<float>(static_cast<std::int8_t>(b[192 + i]));
    const int half = i / 8, e = i % 8 * 16;  // e: in the 128 elements of the half
    const std::uint8_t *low = b + half * 64 + e % 64, *high = b + 128 + half * 32 + e % 32;
    const int high_shift = e / 32 * 2;
    for (int j = 0; j < 16; ++j) {
      const int bits = (e < 64 ? low[j] & 15 : low[j] >> 4) | (high[j] >> high_shift & 3) << 4;
      to[i * 16 + j] = scale * static_cast<float>(bits - 32);
    }
  }
}

// ---- as operators

/// Several fields of each byte, lowest first, along a new dimension before the last: [..., n] gives [..., fields, n].
Tensor fields(const Tensor& bytes, int count, int bits, SourceLoc loc) {
  const Tensor shifts = arange(0, 8, bits, {kUInt8, bytes.device()}, loc).view({count, 1}, loc);
  return bitwise_and(bitwise_right_shift(bytes.unsqueeze(-2, loc), shifts, loc), (1 << bits) - 1, loc);
}

struct Parts {
  Tensor bytes, halves;  ///< [..., blocks, of a block]
  SourceLoc loc;
  Tensor some(int from, int count) const { return bytes.slice(-1, from, from + count, 1, loc); }
  Tensor half(int at) const { return halves.slice(-1, at, at + 1, 1, loc).to(kFloat32, loc); }
};

Tensor signed_of(const Tensor& bytes, SourceLoc loc) { return bytes.to(kInt8, loc).to(kFloat32, loc); }

Tensor q8_0(const Parts& p) { return mul(signed_of(p.some(2, 32), p.loc), p.half(0), p.loc); }

Tensor q4_0(const Parts& p) {
  const Tensor q = fields(p.some(2, 16), 2, 4, p.loc).to(kFloat32, p.loc);
  return mul(sub(q, 8, 1, p.loc), p.half(0).unsqueeze(-1, p.loc), p.loc);
}

Tensor q4_k(const Parts& p) {
  const SourceLoc loc = p.loc;
  const Tensor first = p.some(4, 4), second = p.some(8, 4), third = p.some(12, 4);
  auto upper = [&](const Tensor& t) { return bitwise_left_shift(bitwise_right_shift(t, 6, loc), 4, loc); };
  const Tensor s = cat({bitwise_and(first, 63, loc), bitwise_or(bitwise_and(third, 15, loc), upper(first), loc)}, -1, loc);
  const Tensor t = cat({bitwise_and(second, 63, loc), bitwise_or(bitwise_right_shift(third, 4, loc), upper(second), loc)}, -1, loc);
  const Tensor scale = mul(p.half(0), s.to(kFloat32, loc), loc), minimum = mul(p.half(1), t.to(kFloat32, loc), loc);  // [..., blocks, 8]
  const Tensor q = fields(p.some(16, 128).unflatten(-1, {4, 32}, loc), 2, 4, loc).to(kFloat32, loc);              // [..., blocks, 4, 2, 32]
  auto spread = [&](const Tensor& of_groups) { return of_groups.unflatten(-1, {4, 2}, loc).unsqueeze(-1, loc); };
  return sub(mul(spread(scale), q, loc), spread(minimum), 1, loc);
}

Tensor q6_k(const Parts& p) {
  const SourceLoc loc = p.loc;
  const Tensor low = fields(p.some(0, 128).unflatten(-1, {2, 64}, loc), 2, 4, loc).flatten(-2, -1, loc);    // [..., blocks, 2, 128]
  const Tensor high = fields(p.some(128, 64).unflatten(-1, {2, 32}, loc), 4, 2, loc).flatten(-2, -1, loc);
  const Tensor bits = bitwise_or(low, bitwise_left_shift(high, 4, loc), loc);
  const Tensor q = sub(bits.to(kFloat32, loc), 32, 1, loc).unflatten(-1, {8, 16}, loc);                       // [..., blocks, 2, 8, 16]
  const Tensor scale = mul(p.half(104), signed_of(p.some(192, 16), loc), loc).unflatten(-1, {2, 8}, loc);
  return mul(scale.unsqueeze(-1, loc), q, loc);
}

}  // namespace

void unpack(Type type, const std::uint8_t* blocks, std::int64_t n, float* to) {
  const TypeFacts& f = *facts_of(type);
  const auto each = [&](auto one) {
    for (std::int64_t i = 0; i < n; ++i) one(blocks + i * f.bytes, to + i * f.elements);
  };
  switch (type) {
    case Type::Q8_0: return each(unpack_q8_0);
    case Type::Q4_0: return each(unpack_q4_0);
    case Type::Q4_K: return each(unpack_q4_k);
    case Type::Q6_K: return each(unpack_q6_k);
    default: break;
  }
}

Tensor unpack(Type type, const Tensor& data, const Tensor& halves, SourceLoc loc) {
  const TypeFacts& f = *facts_of(type);
  const std::int64_t n = data.size(-1).value(loc) / f.bytes;
  const Parts p{data.unflatten(-1, {n, f.bytes}, loc), halves.unflatten(-1, {n, f.bytes / 2}, loc), loc};
  const Tensor made = type == Type::Q8_0 ? q8_0(p) : type == Type::Q4_0 ? q4_0(p) : type == Type::Q4_K ? q4_k(p) : q6_k(p);
  return made.flatten(data.dim() - 1, -1, loc);
}

}  // namespace reprise::gguf
