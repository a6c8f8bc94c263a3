#include "import/gguf/unpack.h"

#include "reprise/ops.h"

namespace reprise::gguf {

namespace {

using kernels::BlockFormat;

/// Several fields of each byte, lowest first, along a new dimension before the last: [..., n] gives [..., fields, n].
Tensor fields(const Tensor& bytes, int count, int bits, SourceLoc loc) {
  const Tensor shifts = arange(0, 8, bits, {kUInt8, bytes.device()}, loc).view({count, 1}, loc);
  return bitwise_and(bitwise_right_shift(bytes.unsqueeze(-2, loc), shifts, loc), (1 << bits) - 1, loc);
}
/// The same with those of each byte together: [..., n * fields].
Tensor in_order(const Tensor& bytes, int bits, SourceLoc loc) {
  const Tensor shifts = arange(0, 8, bits, {kUInt8, bytes.device()}, loc);
  return bitwise_and(bitwise_right_shift(bytes.unsqueeze(-1, loc), shifts, loc), (1 << bits) - 1, loc)
      .flatten(-2, -1, loc);
}

struct Parts {
  Tensor bytes, halves;  ///< [..., blocks, of a block]
  SourceLoc loc;

  Tensor some(int from, int count) const { return bytes.slice(-1, from, from + count, 1, loc); }
  Tensor half(int at) const { return halves.slice(-1, at, at + 1, 1, loc).to(kFloat32, loc); }
  Tensor floats(const Tensor& t) const { return t.to(kFloat32, loc); }
  Tensor signed_floats(const Tensor& t) const { return floats(t.to(kInt8, loc)); }
  Tensor upper(const Tensor& t, int by) const { return bitwise_left_shift(t, by, loc); }
  Tensor either(const Tensor& a, const Tensor& b) const { return bitwise_or(a, b, loc); }
  /// 32 elements of each 16 bytes: the low halves, then the high ones.
  Tensor by_halves(int from, int count) const {
    return fields(some(from, count).unflatten(-1, {count / 16, 16}, loc), 2, 4, loc).flatten(-3, -1, loc);
  }
  Tensor spread(const Tensor& of_parts) const { return of_parts.unsqueeze(-1, loc); }
  /// [..., 256] in as many parts as there are scales.
  Tensor in_parts(const Tensor& q, int count) const { return q.unflatten(-1, {count, 256 / count}, loc); }
  Tensor scaled(const Tensor& q, const Tensor& scale) const {
    return mul(spread(scale), in_parts(q, static_cast<int>(scale.size(-1).value())), loc);
  }
};

/// q d, or q d + m where `more` is a place of a half.
Tensor one_scale(const Parts& p, const Tensor& q, int more = -1) {
  const Tensor product = mul(p.floats(q), p.half(0), p.loc);
  return more < 0 ? product : add(product, p.half(more), 1, p.loc);
}
Tensor less(const Parts& p, const Tensor& q, int by) { return sub(p.floats(q), by, 1, p.loc); }

Tensor looked_up(const Parts& p, const Tensor& q) {
  Tensor all = p.floats(q) * 0 + kernels::kIq4Table[0];
  for (int i = 1; i < 16; ++i)
    all = where(eq(q, i, p.loc), full({}, kernels::kIq4Table[i], {kFloat32, q.device()}, p.loc), all, p.loc);
  return all;
}

/// The six bits of eight scales and of eight minima.
struct Six {
  Tensor scale, least;
};
Six scales_of_k(const Parts& p) {
  const SourceLoc loc = p.loc;
  const Tensor first = p.some(4, 4), second = p.some(8, 4), third = p.some(12, 4);
  auto upper = [&](const Tensor& t) { return p.upper(bitwise_right_shift(t, 6, loc), 4); };
  return {cat({bitwise_and(first, 63, loc), p.either(bitwise_and(third, 15, loc), upper(first))}, -1, loc),
          cat({bitwise_and(second, 63, loc), p.either(bitwise_right_shift(third, 4, loc), upper(second))}, -1, loc)};
}
Tensor scaled_by_six(const Parts& p, const Tensor& q) {
  const Six s = scales_of_k(p);
  const Tensor scale = mul(p.half(0), p.floats(s.scale), p.loc), least = mul(p.half(1), p.floats(s.least), p.loc);
  return sub(p.scaled(p.floats(q), scale), p.spread(least), 1, p.loc);
}

Tensor q2_k(const Parts& p) {
  const Tensor s = p.some(0, 16),
               q = fields(p.some(16, 64).unflatten(-1, {2, 32}, p.loc), 4, 2, p.loc).flatten(-3, -1, p.loc);
  const Tensor scale = mul(p.half(40), p.floats(bitwise_and(s, 15, p.loc)), p.loc),
               least = mul(p.half(41), p.floats(bitwise_right_shift(s, 4, p.loc)), p.loc);
  return sub(p.scaled(p.floats(q), scale), p.spread(least), 1, p.loc);
}
Tensor q3_k(const Parts& p) {
  const SourceLoc loc = p.loc;
  const Tensor low = fields(p.some(32, 64).unflatten(-1, {2, 32}, loc), 4, 2, loc).flatten(-3, -1, loc),
               third = fields(p.some(0, 32), 8, 1, loc).flatten(-2, -1, loc);
  const Tensor s = p.either(fields(p.some(96, 8), 2, 4, loc).flatten(-2, -1, loc),
                            p.upper(fields(p.some(104, 4), 4, 2, loc).flatten(-2, -1, loc), 4));
  return p.scaled(less(p, p.either(low, p.upper(third, 2)), 4), mul(p.half(54), less(p, s, 32), loc));
}
Tensor halves_of_32(const Parts& p, int from) {
  return fields(p.some(from, 128).unflatten(-1, {4, 32}, p.loc), 2, 4, p.loc).flatten(-3, -1, p.loc);
}
Tensor q5_k(const Parts& p) {
  const Tensor fifth = fields(p.some(16, 32), 8, 1, p.loc).flatten(-2, -1, p.loc);
  return scaled_by_six(p, p.either(halves_of_32(p, 48), p.upper(fifth, 4)));
}
Tensor q6_k(const Parts& p) {
  const SourceLoc loc = p.loc;
  const Tensor low = fields(p.some(0, 128).unflatten(-1, {2, 64}, loc), 2, 4, loc).flatten(-3, -1, loc);
  const Tensor high = fields(p.some(128, 64).unflatten(-1, {2, 32}, loc), 4, 2, loc).flatten(-3, -1, loc);
  return p.scaled(less(p, p.either(low, p.upper(high, 4)), 32),
                  mul(p.half(104), p.signed_floats(p.some(192, 16)), loc));
}
Tensor iq4_xs(const Parts& p) {
  const Tensor s = p.either(in_order(p.some(4, 4), 4, p.loc), p.upper(in_order(p.some(2, 2), 2, p.loc), 4));
  return p.scaled(looked_up(p, p.by_halves(8, 128)), mul(p.half(0), less(p, s, 32), p.loc));
}
/// (q - z) s
Tensor group(const Parts& p, const Tensor& q) { return mul(sub(p.floats(q), p.half(1), 1, p.loc), p.half(0), p.loc); }

Tensor elements(BlockFormat format, const Parts& p) {
  auto fifths = [&](int from) { return p.upper(in_order(p.some(from, 4), 1, p.loc), 4); };
  const int n = kernels::facts_of(format).elements;
  switch (format) {
    case BlockFormat::Q4_0: return mul(less(p, p.by_halves(2, 16), 8), p.half(0), p.loc);
    case BlockFormat::Q4_1: return one_scale(p, p.by_halves(4, 16), 1);
    case BlockFormat::Q5_0: return mul(less(p, p.either(p.by_halves(6, 16), fifths(2)), 16), p.half(0), p.loc);
    case BlockFormat::Q5_1: return one_scale(p, p.either(p.by_halves(8, 16), fifths(4)), 1);
    case BlockFormat::Q8_0: return one_scale(p, p.some(2, 32).to(kInt8, p.loc));
    case BlockFormat::Q2_K: return q2_k(p);
    case BlockFormat::Q3_K: return q3_k(p);
    case BlockFormat::Q4_K: return scaled_by_six(p, halves_of_32(p, 16));
    case BlockFormat::Q5_K: return q5_k(p);
    case BlockFormat::Q6_K: return q6_k(p);
    case BlockFormat::IQ4_NL: return mul(looked_up(p, p.by_halves(2, 16)), p.half(0), p.loc);
    case BlockFormat::IQ4_XS: return iq4_xs(p);
    case BlockFormat::G4_32:
    case BlockFormat::G4_64:
    case BlockFormat::G4_128: return group(p, p.by_halves(4, n / 2));
    case BlockFormat::G8_32:
    case BlockFormat::G8_64:
    case BlockFormat::G8_128: return group(p, p.some(4, n));
  }
  return {};
}

}  // namespace

Tensor unpack(BlockFormat format, const Tensor& data, const Tensor& halves, SourceLoc loc) {
  const kernels::BlockFacts& f = kernels::facts_of(format);
  const std::int64_t n = data.size(-1).value(loc) / f.bytes;
  const Parts p{data.unflatten(-1, {n, f.bytes}, loc), halves.unflatten(-1, {n, f.bytes / 2}, loc), loc};
  return elements(format, p).flatten(data.dim() - 1, -1, loc);
}

}  // namespace reprise::gguf
