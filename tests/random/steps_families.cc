// Steps of the families of operators (operators/): their results between loop kernels, through views, and written into
// parts.
#include "tests/random/steps.h"

namespace reprise::fuzz {

std::span<const Row> family_rows() {
  static const Row rows[] = {
    // Scans and searching.
    REPRISE_ROW(12, 0, return cumprod(clamp(a, -1.25, 1.25), d)),
    REPRISE_ROW(12, 0, return cummax(a, d).first),
    REPRISE_ROW(8, kJumps, return cummin(round(a * 2.0 + 0.013), d).second),
    REPRISE_ROW(12, kSums, return logcumsumexp(a.to(kFloat32), d)),
    REPRISE_ROW(10, 0, return diff(a, 1, d)),
    REPRISE_ROW(8, kJumps, return searchsorted(std::get<0>(sort(tanh(b).reshape({-1}), 0)), tanh(a) + 0.013, c > 0)),
    REPRISE_ROW(6, kJumps, return bucketize(a, arange(n, {.device = a.device()}).to(kFloat32) + 0.013)),
    REPRISE_ROW(6, kJumps, return histc(a.to(kFloat32) + 0.013, n + 1, -2, 2)),
    REPRISE_ROW(6, 0, return bincount_within(rows_of(a, d, in.ids), a.size(d))),
    REPRISE_ROW(8, 0, return kthvalue(a, 1, d, c > 0).first),
    REPRISE_ROW(8, kJumps, return mode(round(a * 2.0 + 0.013), d, c > 0).first),
    REPRISE_ROW(8, 0, return median(a, d, c > 0).first),
    REPRISE_ROW(8, kSums, return quantile(a.to(kFloat32), 0.375, d, c > 0)),
    REPRISE_ROW(6, 0, return aminmax(a, d, c > 0).second),
    REPRISE_ROW(6, kJumps, return count_nonzero(truth(a), d)),
    // Functions.
    REPRISE_ROW(8, kSums, return digamma(abs(a) + 1.0)),
    REPRISE_ROW(8, kSums, return erfinv(tanh(a) * 0.5)),
    REPRISE_ROW(6, kSums, return i0e(a)),
    REPRISE_ROW(6, kJumps, return gcd(integers(a), integers(b))),
    REPRISE_ROW(6, 0, return entr(sigmoid(a))),
    // Images.
    REPRISE_ROW(12, 0, return max_pool1d(a, 2, 1, 0)),
    REPRISE_ROW(8, 0, return max_pool1d(a, 3, 2, 1, 1, c > 0)),
    REPRISE_ROW(8, 0, return max_pool2d(a.unsqueeze(0), {2, 3}, {1, 2}, {1, 1})),
    REPRISE_ROW(6, kJumps, return max_pool1d_with_indices(round(a * 2.0 + 0.013), 2).second),
    REPRISE_ROW(10, kSums, return avg_pool1d(a.to(kFloat32), 3, 1, 1, false, c > 0)),
    REPRISE_ROW(8, kSums, return avg_pool2d(a.unsqueeze(0).to(kFloat32), 2, 1)),
    REPRISE_ROW(8, kSums, return adaptive_avg_pool1d(a.to(kFloat32), n + 1)),
    REPRISE_ROW(8, 0, return adaptive_max_pool1d(a, 2).first),
    REPRISE_ROW(8, kSums,
                const Tensor w = arange(36, {.device = a.device()}).to(kFloat32).reshape({3, 3, 2, 2}) * 0.02 - 0.3;
                Tensor y = relu(conv2d(stack({a, b, a * 0.5}, 0).to(kFloat32).unsqueeze(0), w, {}, 1, 1));
                return conv2d(max_pool2d(y + 0.25, 2, 1), w, {}, 1, 1).select(0, 0)),
    REPRISE_ROW(8, kSums,
                const Tensor w = arange(18, {.device = a.device()}).to(kFloat32).reshape({2, 1, 3, 3}) * 0.03 - 0.25;
                const Tensor x = stack({a, b}, 0).to(kFloat32).unsqueeze(0), y = conv2d(x, w, {}, 1, 1, 1, 2) + x;
                return conv2d(cat({y, x}, 1).slice(1, 1, 3), w, {}, 1, 1, 1, 2).select(1, 0)),
    REPRISE_ROW(8, kSums, return group_norm(a.to(kFloat32), 1, {}, {}, 0.125)),
    REPRISE_ROW(6, kSums, return group_norm(stack({a, b}, 1).to(kFloat32), 2, {}, {}, 0.125)),
    REPRISE_ROW(8, kSums, return batch_norm(a.to(kFloat32), {}, {}, {}, {}, true, 0.1, 0.125)),
    REPRISE_ROW(6, kSums, return local_response_norm(a.unsqueeze(0).to(kFloat32), 3)),
    REPRISE_ROW(10, 0, return pad(a, {1, 1}, "reflect")),
    REPRISE_ROW(10, 0, return pad(a, {n, 1}, "replicate")),
    REPRISE_ROW(10, 0, return pad(a, {1, 2}, "circular")),
    REPRISE_ROW(8, 0, return pad(a.unsqueeze(0), {-1, 1, 1, 0}, "replicate")),
    REPRISE_ROW(6, kSums, return col2im(im2col(a.unsqueeze(0), {2, 2}, 1, 1), {a.size(-2), a.size(-1)}, {2, 2}, 1, 1)),
    REPRISE_ROW(8, 0, return im2col(a.unsqueeze(0), {2, 3}, 1, 1)),
    REPRISE_ROW(8, 0, return upsample_nearest1d(a.unsqueeze(0), a.size(-1) + n)),
    REPRISE_ROW(8, kSums, return upsample_linear1d(a.to(kFloat32).unsqueeze(0), a.size(-1) * 2 + 1, c > 0)),
    REPRISE_ROW(6, kSums,
                return upsample_bilinear2d(a.to(kFloat32).unsqueeze(0).unsqueeze(0), {n + 1, a.size(-1) + 1}, c > 0)),
    REPRISE_ROW(6, kSums,
                return grid_sample(in.c.to(kFloat32).unsqueeze(0),
                                   stack({tanh(a), tanh(a) * 0.5}, -1).to(kFloat32).unsqueeze(0), "bilinear",
                                   c > 0 ? "zeros" : "border")),
    REPRISE_ROW(6, 0, return channel_shuffle(stack({a, b, a, b}, 1), 2)),
    // Selecting and scattering.
    REPRISE_ROW(10, 0,
                return scatter_reduce(a, d, remainder(in.i, Scalar(a.size(d))), storable(a, b).to(a.dtype()), "amax")),
    REPRISE_ROW(
        8, kSums,
        return scatter_reduce(a, d, remainder(in.i, Scalar(a.size(d))), storable(a, b).to(a.dtype()), "sum", c > 0)),
    REPRISE_ROW(
        8, kSums,
        return scatter_reduce(a.to(kFloat32), d, remainder(in.i, Scalar(a.size(d))), b.to(kFloat32), "mean", c > 0)),
    REPRISE_ROW(8, 0, const Tensor at = rows_of(a, d, in.ids);
                return index_reduce(a, d, at, index_select(a, d, at), "amin", c > 0)),
    REPRISE_ROW(10, 0, return take_along_dim(a, remainder(in.i, Scalar(a.size(d))), d)),
    REPRISE_ROW(8, 0, return take(a, remainder(in.i, Scalar(a.numel())))),
    REPRISE_ROW(
        8, kOrders,
        return put(a, argsort(a.reshape({-1}), 0), storable(a, b).to(a.dtype()).reshape({-1}).slice(0, 0, a.numel()))),
    REPRISE_ROW(8, 0, return masked_scatter(a, in.m, storable(a, b).to(a.dtype()))),
    REPRISE_ROW(8, kSums, const Tensor at = rows_of(a, 0, in.ids);
                return embedding_bag(tanh(a).to(kFloat32), at, zeros_like(at.slice(0, 0, 1)), c > 0 ? "sum" : "max")),
    // Matrices.
    REPRISE_ROW(8, kSums, const Tensor t = tanh(a).to(kFloat32); const Tensor s = matmul(t, t.transpose(-1, -2));
                return cholesky(s + eye(s.size(-1), std::nullopt, {.device = s.device()}) * 2.0)),
    REPRISE_ROW(8, kSums, const Tensor t = tanh(in.x).to(kFloat32);
                return solve(matmul(t, t.t()) + eye(t.size(0), std::nullopt, {.device = t.device()}) * 2.0,
                             tanh(a).to(kFloat32))),
    REPRISE_ROW(8, kSums, return cdist(tanh(a).to(kFloat32), tanh(b).to(kFloat32), 1)),
    REPRISE_ROW(6, kSums, return matrix_power(matmul(tanh(a), tanh(a).transpose(-1, -2)).to(kFloat32) * 0.125, 3)),
    REPRISE_ROW(6, 0, return kron(a, b.slice(0, 0, 2))),
    REPRISE_ROW(8, kSums, return rfft(a.to(kFloat32), std::nullopt, d)),
    REPRISE_ROW(6, kSums, return irfft(rfft(a.to(kFloat32), std::nullopt, d), a.size(d), d)),
    REPRISE_ROW(8, kSums,
                return cross_entropy(tanh(a).to(kFloat32), rows_of(a, 1, in.ids), {}, c > 0 ? "none" : "mean")),
    REPRISE_ROW(8, 0, return huber_loss(a.to(kFloat32), b.to(kFloat32), "none")),
    REPRISE_ROW(4, kSums, return abs(qr(tanh(a).to(kFloat32), "r").second)),
    REPRISE_ROW(4, kSums, const Tensor t = tanh(a).to(kFloat32); return eigvalsh(matmul(t, t.transpose(-1, -2)))),
    REPRISE_ROW(4, kSums, return svdvals(tanh(a).to(kFloat32))),
    REPRISE_ROW(4, kSums, return cov(tanh(a).to(kFloat32))),
    REPRISE_ROW(4, kSums, return renorm(a.to(kFloat32), 2, d, 1.0)),
    REPRISE_ROW(4, kSums, return trapezoid(a.to(kFloat32), 0.5, d)),
    REPRISE_ROW(4, kSums, return polygamma(1, abs(a) + 1.0)),
    REPRISE_ROW(6, 0, return diag_embed(a, n, 0, -1)),
    REPRISE_ROW(6, 0, return block_diag({a, b.slice(0, 0, 1)})),
    REPRISE_ROW(6, 0, return tile(a, {2, 1})),
    REPRISE_ROW(6, 0, return rot90(a, c > 0 ? 1 : -1, {0, -1})),
    REPRISE_ROW(4, kJumps, return isin(integers(a), integers(b))),
    REPRISE_ROW(4, 0, return msort(a)),
    // Written: into what was read, into parts, through views that are older, into what is given.
    REPRISE_ROW(4, kWrites, a.copy_(storable(a, cummax(a, d).first)); return a),
    REPRISE_ROW(4, kWrites, into(a, cumprod(clamp(a, -1.0, 1.0), d)); return a),
    REPRISE_ROW(4, kWrites, Tensor t = a + 0.25; t.select(0, 0).copy_(cumprod(clamp(t, -1.0, 1.0), 0).select(0, -1));
                return t),
    REPRISE_ROW(4, kWrites, const Tensor p = max_pool1d(a, 2, 1); a.slice(-1, 0, p.size(-1)).add_(storable(a, p));
                return a),
    REPRISE_ROW(4, kWrites, const Tensor t = a * 0.5; Tensor old = t.select(0, 0);
                t.transpose(0, -1).copy_(cummin(t.transpose(0, -1), 0).first); return old + t),
    REPRISE_ROW(4, kWrites, a.copy_(storable(a, pad(a.slice(-1, 1), {1, 0}, "replicate"))); return a),
    REPRISE_ROW(4, kWrites,
                a.slice(d, 0, n).scatter_reduce_(0, rows_of(a, 0, in.i.slice(0, 0, 1)) * 0,
                                                 storable(a, b).to(a.dtype()), "amax");
                return a),
    REPRISE_ROW(4, kWrites, const Tensor at = rows_of(a, 0, in.ids);
                a.t().index_reduce_(1, at, index_select(a, 0, at).t(), "amax"); return a),
    REPRISE_ROW(4, kWrites | kOrders, a.t().put_(argsort(a.reshape({-1}), 0), a.t().reshape({-1}) * 1); return a),
    REPRISE_ROW(4, kWrites, a.slice(d, 0).masked_scatter_(in.m, storable(a, b).to(a.dtype())); return a),
    REPRISE_ROW(3, kWrites, a.select(d, 0).copy_(median(a, d).first); return a),
    REPRISE_ROW(3, kWrites, Tensor t = zeros({a.size(0), a.size(-1)}, {.dtype = a.dtype(), .device = a.device()});
                t.diagonal().copy_(storable(t, kthvalue(a, 1, -1).first.slice(0, 0, Int::min(a.size(0), a.size(-1)))));
                return t),
    REPRISE_ROW(4, kWrites, Tensor t = diag_embed(a, 1); t.select(-1, 0).copy_(storable(t, a));
                t.slice(-2, 0, n).mul_(c); return t),
    REPRISE_ROW(3, kWrites, a.copy_(storable(a, rot90(a, 2, {0, -1}))); return a),
    REPRISE_ROW(
        3, kWrites,
        into(a.t(), upsample_nearest1d(a.unsqueeze(0), a.size(-1) + n).select(0, 0).slice(-1, 0, a.size(-1)).t());
        return a),
  };
  return rows;
}

}  // namespace reprise::fuzz
