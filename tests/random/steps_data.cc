// Steps with sizes and numbers that depend on data (docs/data_sizes.md). Elements are in eighths: no comparison is
// decided by the last bit.
#include "tests/random/steps.h"

namespace reprise::fuzz {

std::span<const Row> data_rows() {
  static const Row rows[] = {
    REPRISE_ROW(10, kJumps, return a.index({a > c + 0.0013})),
    REPRISE_ROW(8, kJumps, return a.index({a.select(-1, 0) > c + 0.0013})),
    REPRISE_ROW(5, kJumps, return a.index({Tensor(), b.select(0, 0) > 0.0013})),
    REPRISE_ROW(6, kJumps, return masked_select(a, b > c + 0.0013)),
    REPRISE_ROW(5, kJumps, return masked_select(a, in.m)),
    REPRISE_ROW(5, kJumps, return nonzero(a > c + 0.0013).to(kFloat32)),
    REPRISE_ROW(4, kJumps, return nonzero_static(a > c + 0.0013, 3).to(kFloat32)),
    REPRISE_ROW(5, kJumps, return unique(integers(a)).values.to(kFloat32)),
    REPRISE_ROW(4, kJumps, return unique(integers(a), true, true).counts.to(kFloat32)),
    REPRISE_ROW(4, kJumps, return unique(integers(a), true, true).inverse.to(kFloat32)),
    REPRISE_ROW(3, kJumps, return unique_consecutive(integers(b), true, true).inverse.to(kFloat32)),
    REPRISE_ROW(4, kJumps, return repeat_interleave(a, clamp(integers(a.select(-1, 0)), 0, 3), 0)),
    // Numbers.
    REPRISE_ROW(8, kJumps, return a * (b > c + 0.0013).sum().item()),
    REPRISE_ROW(6, kJumps, return clamp(a + amax(b).item(), -4.0, 4.0)),
    REPRISE_ROW(5, kJumps, return a * 0.5 - in.ids.amax().item()),
    REPRISE_ROW(5, kJumps, return where(a > amin(b).item(), a, b.select(0, 0).amax().item())),
    REPRISE_ROW(6, kJumps, return a / (a.index({a > c + 0.0013}).numel() + 1)),
    REPRISE_ROW(5, kJumps, return a.slice(d, 0, (b > c + 0.0013).sum().item().to_int())),
    REPRISE_ROW(5, kJumps, return a.narrow(d, 0, check_size((b > c + 0.0013).sum().item().to_int(), 0, a.size(d)))),
    REPRISE_ROW(4, kJumps, return zeros({(b > c + 0.0013).sum().item().to_int(), 3}, {.device = a.device()}) + c),
    // What nobody needs to know.
    REPRISE_ROW(8, kJumps | kSums, return a.index({a > c + 0.0013}).sum() + b),
    REPRISE_ROW(6, kJumps | kSums, return tanh(a.index({a.select(-1, 0) > c + 0.0013})).sum(0)),
    REPRISE_ROW(5, kJumps | kSums, return a.index({b > c + 0.0013}).mean() * b),
    REPRISE_ROW(5, kJumps, return any(a.index({a > c + 0.0013}) > 1.0).to(kFloat32) + b),
    REPRISE_ROW(4, kJumps | kSums, Tensor t = a.index({a > c + 0.0013});
                return t.index({t > 0.513}).sum() + b * t.numel()),
    REPRISE_ROW(4, kJumps | kSums, return clamp(a.index({a > c + 0.0013}).cumsum(0), -9.0, 9.0).sum() + b),
    // Writes through masks, and what older handles hold then.
    REPRISE_ROW(8, kWrites | kJumps,
                return a.index_put_({a > c + 0.0013}, storable(a, a.index({a > c + 0.0013}) * 0.5))),
    REPRISE_ROW(6, kWrites | kJumps,
                return a.index_put_({b > c + 0.0013}, storable(a, abs(b.index({b > c + 0.0013}))))),
    REPRISE_ROW(6, kWrites | kJumps,
                return a.index_put_({a.select(-1, 0) > c + 0.0013},
                                    storable(a, clamp(a.index({a.select(-1, 0) > c + 0.0013}) + 0.25, -1.0, 1.0)))),
    REPRISE_ROW(6, kWrites | kJumps, return a.index_put_({in.m}, storable(a, a.index({in.m}) * 0.5), true)),
    REPRISE_ROW(6, kWrites | kJumps, Tensor t = a.index({a > c + 0.0013}); a.mul_(0.5); return t + 1.0),
    REPRISE_ROW(6, kWrites | kJumps, Tensor t = a.index({a > c + 0.0013}); t.add_(c); return t),
    REPRISE_ROW(6, kWrites | kJumps, Tensor old = a.select(0, 0);
                a.index_put_({a > c + 0.0013}, storable(a, tanh(a.index({a > c + 0.0013})))); return old + 0.0),
    REPRISE_ROW(6, kWrites | kJumps, Tensor part = a.slice(d, 0, (b > c + 0.0013).sum().item().to_int());
                part.mul_(0.5); return a + 0.0),
    REPRISE_ROW(5, kWrites | kJumps,
                a.t().index_put_({a.t() > c + 0.0013}, storable(a, a.t().index({a.t() > c + 0.0013}) * 0.5));
                return a),
    REPRISE_ROW(5, kWrites | kJumps, a.mul_(0.5); Scalar s = amax(a).item(); a.slice(0, 0, 1).fill_(s); return a + s),
    REPRISE_ROW(5, kWrites | kJumps, Scalar s = amax(a).item(); a.fill_(0.5); return a * s),
    REPRISE_ROW(5, kWrites | kJumps, return a.masked_fill_(a > c + 0.0013, amin(b).item())),
  };
  return rows;
}

}  // namespace reprise::fuzz
