// Steps that compute.
#include "tests/random/steps.h"

namespace reprise::fuzz {

#define REPRISE_PRELUDE(...) \
  __VA_ARGS__                \
  const char* const kPrelude = #__VA_ARGS__;

// integers: off the values that sums of eighths hit, so that the last bit of a sum in another order does not decide;
// truth: a sum that is 0 but for its last bits is 0; storable: what may be stored in a, where an integer dtype would
// turn the last bit of a float into a difference of 1; rows_of: valid indices of a along d, whatever its size.
// clang-format off
REPRISE_PRELUDE(
int dim_of(const Tensor& a, unsigned q) { return a.dim() ? static_cast<int>(q % static_cast<unsigned>(a.dim())) : 0; }
Tensor integers(const Tensor& a) { return is_floating(a.dtype()) ? (clamp(a, -1000.0, 1000.0) * 4.0 + 0.3).to(kInt64) : a.to(kInt64); }
Tensor truth(const Tensor& a) { return is_floating(a.dtype()) ? trunc(a * 64.0 + 0.3) : a; }
Tensor storable(const Tensor& a, const Tensor& b) { return !is_floating(a.dtype()) && is_floating(b.dtype()) ? integers(b) : b; }
Tensor bytes_of(const Tensor& a) { return (integers(a) & 255).to(kInt8); }
Tensor row_scales(const Tensor& a) { return amax(abs(a.to(kFloat32)), {1}, true) * 0.01 + 0.01; }
Tensor by_parts(const Tensor& a) {
  const Tensor f = a.to(kFloat32);
  const Tensor n = rms_norm(f.reshape({f.numel()}), {f.numel()}, Tensor(), 0.1).view(f.sizes());
  return n / (amax(abs(n), {-1}, true) + 0.5);
}
Tensor rotated(const Tensor& a, const Tensor& c, const Tensor& s, int d) {
  const std::vector<Tensor> half = chunk(a, 2, d);
  return half.size() == 2 ? a * c + cat({-half[1], half[0]}, d) * s : a * c;
}
Tensor rows_of(const Tensor& a, int d, const Tensor& ids) { return remainder(ids, Scalar(a.size(d))); }
)
// clang-format on

std::span<const Row> math_rows() {
  static const Row rows[] = {
    REPRISE_ROW(5, 0, return -a),
    REPRISE_ROW(5, 0, return tanh(a)),
    REPRISE_ROW(5, 0, return relu(a)),
    REPRISE_ROW(5, 0, return abs(a)),
    REPRISE_ROW(5, 0, return sigmoid(a)),
    REPRISE_ROW(5, 0, return exp(clamp(a, -4.0, 4.0))),
    REPRISE_ROW(5, 0, return sqrt(abs(a) + 1.0)),
    REPRISE_ROW(5, kJumps, return floor(a + 0.013)),
    REPRISE_ROW(5, kJumps, return sign(a + 0.013)),
    REPRISE_ROW(5, 0, return sin(a)),
    REPRISE_ROW(5, 0, return square(tanh(a))),
    REPRISE_ROW(5, 0, return silu(a)),
    // What is found by itself (runtime/build/shipped_patterns.cc; rounded differently), and what is nearly that.
    REPRISE_ROW(3, kSums, return a * sigmoid(a)),
    REPRISE_ROW(2, kSums, const Tensor f = a.to(kFloat32); return f / (exp(-f) + 1.0)),
    REPRISE_ROW(2, kSums, const Tensor f = a.to(kFloat32); return f * (1.0 / (1.0 + exp(-f)))),
    REPRISE_ROW(2, kSums, const Tensor f = a.to(kFloat32); return f / (exp(-f) + 2.0)),
    REPRISE_ROW(2, kSums, const Tensor s = sigmoid(a); return s * a + s),
    REPRISE_ROW(2, kSums, Tensor t = a.to(kFloat32) * 1.0; t.mul_(sigmoid(t)); return t),
    REPRISE_ROW(2, kSums, Tensor t = a.to(kFloat32) * 1.0; const Tensor s = sigmoid(t); t.add_(1.0); return t * s),
    REPRISE_ROW(2, kSums, const Tensor f = clamp(a.to(kFloat32), -3.0, 3.0);
                return f * 0.5 * (erf(f * 0.7071067811865476) + 1.0)),
    REPRISE_ROW(2, kSums, const Tensor f = clamp(a.to(kFloat32), -3.0, 3.0);
                return f * ((erf(f / 1.4142135623730951) + 1.0) * c)),
    REPRISE_ROW(2, kSums, const Tensor f = clamp(a.to(kFloat32), -3.0, 3.0);
                return 0.5 * f * (1.0 + tanh(0.7978845608028654 * (f + 0.044715 * pow(f, 3))))),
    REPRISE_ROW(2, kSums, const Tensor f = clamp(a.to(kFloat32), -3.0, 3.0);
                return 0.5 * f * (1.0 + tanh(0.7978845608028654 * (f + c * f * f * f)))),
    REPRISE_ROW(2, kSums, const Tensor f = tanh(a.to(kFloat32)); return f / sqrt(square(f).mean({d}, true) + 0.125)),
    REPRISE_ROW(2, kSums | kHalf, const Tensor h = tanh(in.x).to(kBFloat16), f = h.to(kFloat32);
                return (f * rsqrt(f.pow(2).mean(-1, true) + 0.125)).to(kBFloat16) * tanh(in.v).to(kBFloat16)),
    REPRISE_ROW(2, kSums, const Tensor q = tanh(in.x), k = tanh(in.z);
                return matmul(softmax(matmul(q, k.transpose(0, 1)) * 0.5, -1), k)),
    REPRISE_ROW(
        2, kSums, const Tensor q = tanh(in.x), k = tanh(in.w); return matmul(
            softmax(matmul(q, k.transpose(0, 1)) / 2.0 + in.i.to(kFloat32).matmul(k.transpose(0, 1)) * 0.0, 1), q)),
    REPRISE_ROW(2, kSums, const Tensor q = tanh(in.c); Tensor s = bmm(q, q.transpose(1, 2)); s.mul_(0.25);
                return bmm(softmax(s, -1), q)),
    REPRISE_ROW(2, kSums, const Tensor q = tanh(in.c); Tensor s = matmul(q, q.transpose(1, 2)) * c; return matmul(
                    softmax(s.masked_fill(ones({s.size(-2), s.size(-1)}, {.dtype = kBool}).triu(1), -1e30), -1), q)),
    REPRISE_ROW(2, kSums, const Tensor q = tanh(in.x); const Tensor p = softmax(matmul(q, q.transpose(0, 1)) * 0.5, 0);
                return matmul(p, q) + p.sum()),
    REPRISE_ROW(12, 0, return a + b),
    REPRISE_ROW(11, 0, return a - b),
    REPRISE_ROW(11, 0, return tanh(a) * b),
    REPRISE_ROW(11, 0, return maximum(a, b)),
    REPRISE_ROW(11, 0, return minimum(a, b)),
    REPRISE_ROW(11, 0, return a / (abs(b) + 1.0)),
    REPRISE_ROW(11, 0, return add(a, b, 0.5)),
    REPRISE_ROW(13, 0, return a * c),
    REPRISE_ROW(13, 0, return n + a * 0.5),
    REPRISE_ROW(13, 0, return a * Scalar(in.x.size(0) + 1)),
    REPRISE_ROW(3, 0, return a * 0.5 + Scalar(a.size(d))),
    REPRISE_ROW(3, kJumps, return a < b + 0.013),
    REPRISE_ROW(3, kJumps, return a >= b - 0.013),
    REPRISE_ROW(3, kJumps, return a != b),
    REPRISE_ROW(3, kJumps, return isfinite(a)),
    REPRISE_ROW(3, kJumps, return a == b),
    REPRISE_ROW(3, kJumps, return a > 0.013),
    REPRISE_ROW(4, kJumps, return logical_and(truth(a), truth(b))),
    REPRISE_ROW(4, kJumps, return logical_or(truth(a), truth(b))),
    REPRISE_ROW(4, kJumps, return logical_not(truth(a))),
    REPRISE_ROW(4, kJumps, return (truth(a) > 0.013) & (truth(b) <= 0.513)),
    REPRISE_ROW(4, kJumps, return logical_xor(truth(a), truth(b) > 0.013)),
    REPRISE_ROW(10, kJumps, return where(a > b + 0.013, a, b * 0.5)),
    REPRISE_ROW(10, kJumps, return where(in.m, a, b * 0.5)),
    REPRISE_ROW(6, kJumps,
                return cond(
                    any(a > 0.513), [&] { return a * 2.0; },
                    [&] { return (b.sum() * 0.0 + a * 0.5 + 1.0).to((a * 2.0).dtype()); })),
    REPRISE_ROW(6, kJumps,
                return cond(
                    any(b > 0.513), [&] { return a; }, [&] { return a.clone(); })),
    REPRISE_ROW(6, kJumps | kSums,
                return cond(
                    any(a > 0.513),
                    [&] {
                      return cond(
                          all(b < 0.513), [&] { return sum(a.to(kFloat32), {d}); },
                          [&] { return mean(a.to(kFloat32), {d}); });
                    },
                    [&] { return sum(index_select(a, d, rows_of(a, d, in.ids)).to(kFloat32), {d}); })),
    REPRISE_ROW(4, kJumps, const Tensor t = a.transpose(0, -1); return cond(
                    any(in.m), [&] { return t.tanh() + n; },
                    [&] {
                      return cat({t, t}, 0).slice(0, 0, t.size(0)) * 2.0;
                    })),
    REPRISE_ROW(5, 0, return clamp(a, -0.5, 0.5)),
    REPRISE_ROW(5, 0, return clamp_min(a, b)),
    REPRISE_ROW(3, kJumps, return integers(a) + integers(b)),
    REPRISE_ROW(3, kJumps, return integers(a) * integers(b)),
    REPRISE_ROW(3, kJumps, return remainder(integers(a), 7)),
    REPRISE_ROW(3, kJumps, return floor_divide(integers(a), abs(integers(b)) + 1)),
    REPRISE_ROW(3, kJumps, return (integers(a) & 15) | (integers(b) & 3)),
    REPRISE_ROW(3, kJumps, return integers(a) ^ integers(b)),
    REPRISE_ROW(3, kJumps, return fmod(integers(a), 5)),
    REPRISE_ROW(3, kJumps, return bitwise_left_shift(integers(a) & 15, 2)),
    REPRISE_ROW(6, kJumps | kSame, return integers(a).to(kInt32)),
    REPRISE_ROW(6, kJumps | kSame, return a.to(kFloat32)),
    REPRISE_ROW(6, kJumps | kSame, return a.to(kFloat64)),
    REPRISE_ROW(6, kJumps, return (a > 0.013).to(kFloat32)),
    REPRISE_ROW(6, kJumps, return (integers(a) & 127).to(kInt8)),
    REPRISE_ROW(5, 0, return a.to(kFloat16).to(kFloat32)),
    REPRISE_ROW(5, 0, return a.to(kBFloat16).to(kFloat32)),
    REPRISE_ROW(10, kHalf, return a.to(kFloat16)),
    REPRISE_ROW(10, kHalf, return a.to(kBFloat16)),
    REPRISE_ROW(10, kJumps, return trunc(a * 2.0 + 0.013)),
    REPRISE_ROW(7, kSums, return sum(a, {d}, c > 0)),
    REPRISE_ROW(7, kSums, return mean(a.to(kFloat32), {d}, c > 0)),
    REPRISE_ROW(7, kSums, return sum(a)),
    REPRISE_ROW(7, kSums, return var(a.to(kFloat32), {d}, 0, c > 0)),
    REPRISE_ROW(7, kSums, return logsumexp(a.to(kFloat32), {d}, c > 0)),
    REPRISE_ROW(7, kSums, return sum(a, {Int(0), Int(-1)}, c > 0)),
    REPRISE_ROW(6, kJumps, return amax(a, {d}, c > 0)),
    REPRISE_ROW(6, kJumps, return amin(a, {d}, c > 0)),
    REPRISE_ROW(6, kJumps, return any(a, {d}, c > 0)),
    REPRISE_ROW(6, kJumps, return all(a > 0.013, {d}, c > 0)),
    REPRISE_ROW(6, kJumps, return std::get<0>(max(a, d, c > 0))),
    REPRISE_ROW(5, kJumps, return argmax(round(a * 2.0 + 0.013), d, c > 0)),
    REPRISE_ROW(5, kJumps, return argmin(floor(a * 2.0 + 0.013), d, c > 0)),
    REPRISE_ROW(10, kSums, return softmax(a.to(kFloat32), d)),
    REPRISE_ROW(10, kSums, return log_softmax(a.to(kFloat32), d)),
    REPRISE_ROW(10, kSums, return rms_norm(a.to(kFloat32), {a.size(-1)}, Tensor(), 1e-3)),
    REPRISE_ROW(10, kSums, return layer_norm(a.to(kFloat32), {a.size(-1)}, {}, {}, 1e-1)),
    REPRISE_ROW(6, kSums, return mm(tanh(a).to(kFloat32), tanh(b).to(kFloat32))),
    REPRISE_ROW(6, kSums, return mm(tanh(a).to(kFloat32), tanh(b).to(kFloat32).transpose(0, 1))),
    REPRISE_ROW(6, kSums, return mm(tanh(a).to(kFloat32).t(), tanh(b).to(kFloat32))),
    REPRISE_ROW(6, kSums, return linear(tanh(a).to(kFloat32), tanh(b).to(kFloat32))),
    // Products of int8 are exact: only what is quantized may jump.
    REPRISE_ROW(6, kJumps, return int_mm(bytes_of(a), bytes_of(b).transpose(0, 1))),
    REPRISE_ROW(6, kJumps,
                return scaled_mm(bytes_of(a), bytes_of(b).transpose(0, 1), row_scales(a), row_scales(b).transpose(0, 1),
                                 {}, kFloat32)),
    REPRISE_ROW(6, kJumps,
                return scaled_mm(bytes_of(a), bytes_of(b).transpose(0, 1), row_scales(a), row_scales(b).amax({0}, true),
                                 row_scales(b).select(1, 0), kFloat32)),
    REPRISE_ROW(6, kSums, return matmul(tanh(a).to(kFloat32), tanh(b).to(kFloat32))),
    REPRISE_ROW(10, kSums, return bmm(tanh(a).to(kFloat32), tanh(b).to(kFloat32).transpose(1, 2))),
    REPRISE_ROW(5, kSums,
                return scaled_dot_product_attention(tanh(a).to(kFloat32), tanh(b).to(kFloat32),
                                                    tanh(b).to(kFloat32) * 0.5, {}, 0.0, false)),
    REPRISE_ROW(5, kSums,
                return scaled_dot_product_attention(tanh(a).to(kFloat32), tanh(b).to(kFloat32),
                                                    tanh(b).to(kFloat32) * 0.5, {}, 0.0, true)),
    REPRISE_ROW(10, kSums, return cumsum(a, d)),
    REPRISE_ROW(10, 0, return std::get<0>(sort(a, d, c > 0))),
    REPRISE_ROW(10, 0, return std::get<0>(topk(a, Int::min(2, a.size(d)), d, c > 0))),
    REPRISE_ROW(10, 0, return cat({a, a}, d)),
    REPRISE_ROW(10, 0, return cat({a, a * 2.0}, d)),
    REPRISE_ROW(10, 0, return cat({a, b}, d)),
    // Rows and parts of them in one kernel, in orders that it can and cannot have; halves rotated by a cat.
    REPRISE_ROW(8, kSums, return by_parts(a)),
    REPRISE_ROW(6, kSums, const Tensor p = softmax(a.to(kFloat32), -1); return p / (sum(p * p) + 1.0)),
    REPRISE_ROW(6, kSums, const Tensor p = by_parts(a); return p * tanh(sum(p, {d}, true)) + amax(p)),
    REPRISE_ROW(8, 0, return rotated(a, tanh(b), tanh(a), d)),
    REPRISE_ROW(4, kWrites, a.copy_(storable(a, rotated(a, a.clone(), tanh(b), d))); return a),
    REPRISE_ROW(4, kWrites, const Tensor t = cat({a, a}, d);
                t.slice(d, 0, a.size(d)).copy_(storable(a, rotated(a, tanh(b), tanh(a), d))); return t),
    REPRISE_ROW(10, 0, return stack({a, a + 1.0}, d)),
    REPRISE_ROW(5, 0, return pad(a, {1, 0}, 0.5)),
    REPRISE_ROW(5, 0, return pad(a, {1, 1}, 0.5)),
    REPRISE_ROW(5, 0, return roll(a, {n}, {d})),
    REPRISE_ROW(5, 0, return flip(a, {d})),
    REPRISE_ROW(5, 0, return tril(a, 0)),
    REPRISE_ROW(5, 0, return triu(a, 1)),
    REPRISE_ROW(20, 0, return index_select(a, d, rows_of(a, d, in.ids))),
    // Sizes that depend on data: masks of arguments, whose values do not come of sums, and of what is computed.
    REPRISE_ROW(5, kSums, return a + (masked_select(a, any(in.m)) * 0.125).sum()),
    REPRISE_ROW(5, kJumps, return a.index_put({a > 0.513}, abs(a.index({a > 0.513})) * 0.5)),
    REPRISE_ROW(4, kJumps | kSums, const Tensor t = masked_select(a, a < 0.513) * 2.0;
                return a + t.sum() * 0.125 + t.size(0)),
    REPRISE_ROW(3, kJumps, return a * (nonzero(a > 0.513).size(0) + 1)),
    // Indices that are out of range at some calls: caught.
    REPRISE_ROW(
        3, 0, try { index_select(a, d, in.ids); } catch (const Error&) { return a * 2.0; } return a * 3.0),
    REPRISE_ROW(
        2, kWrites, try { a.select(0, 0).copy_(index_select(a, 0, in.ids).select(0, 0)); } catch (const Error&) {
          a.abs_();
        } return a),
    REPRISE_ROW(4, kSums, return index_select(sum(a), 0, zeros({1}, {.dtype = kInt64, .device = a.device()}))),
    REPRISE_ROW(4, kSums, return std::get<0>(topk(sum(a), Int::min(n, 1), 0))),
    REPRISE_ROW(4, kJumps, return clamp((integers(a) & 127).to(kUInt8), n * 90 - 300, n * 200)),
    REPRISE_ROW(4, kJumps, return clamp((integers(a) & 127).to(kInt8), -n * 100, n * 100)),
    REPRISE_ROW(4, kJumps, return bitwise_right_shift((integers(a) * 9).to(kUInt8), Scalar(n * 2))),
    REPRISE_ROW(10, 0, return embedding(a, rows_of(a, 0, in.ids))),
    REPRISE_ROW(10, kJumps, return gather(a, d, remainder(in.i, Scalar(a.size(d))))),
    REPRISE_ROW(4, 0, return arange(a.size(d), {.device = a.device()})),
    REPRISE_ROW(4, 0, return full_like(a, 0.25)),
    REPRISE_ROW(4, 0, return zeros({a.size(d), n}, {.dtype = kFloat64, .device = a.device()})),
    REPRISE_ROW(5, 0, return a.clone()),
    REPRISE_ROW(4, kJumps, return a.stride(0) == 1 ? a * 2.0 : a + 1.0),
    REPRISE_ROW(4, kJumps, return a.is_contiguous() ? a * 2.0 : a + 1.0),
    REPRISE_ROW(4, kJumps, return a.size(d) > b.size(0) ? a * 2.0 : a + 1.0),
  };
  return rows;
}

}  // namespace reprise::fuzz
