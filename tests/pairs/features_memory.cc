// Mathematics, views, writes, metadata.
#include "tests/pairs/feature.h"

namespace reprise::pairs {

namespace {

const Row math[] = {
    PAIRS_ROW(4, 0, return a * 0.5 + fit(a, b)),
    PAIRS_ROW(3, 0, return a - fit(a, b) * c),
    PAIRS_ROW(3, 0, return tanh(a)),
    PAIRS_ROW(2, 0, return clamp(a * fit(a, b), -4.0, 4.0)),
    PAIRS_ROW(2, 0, return maximum(a, fit(a, b))),
    PAIRS_ROW(2, 0, return a + in.row.sum()),
    PAIRS_ROW(2, 0, return softmax(a, -1)),
    PAIRS_ROW(2, 0, return a - mean(a, -1, true)),
    PAIRS_ROW(2, 0, return cat({a, a* c}, dim_of(a, d)).narrow(dim_of(a, d), 0, a.size(dim_of(a, d)))),
    PAIRS_ROW(2, 0, return matmul(flat(a), flat(a).t()) * 0.125),
    PAIRS_ROW(2, 0, return where(in.mask.any(), a, a * 0.5)),
    PAIRS_ROW(2, 0, return index_select(a, 0, remainder(in.index, Scalar(a.size(0))))),
};

const Row views[] = {
    PAIRS_ROW(4, 0, return flat(a).t()),
    PAIRS_ROW(3, 0, return a.slice(dim_of(a, d), 0, (a.size(dim_of(a, d)) + 1) / 2)),
    PAIRS_ROW(3, 0, return a.slice(dim_of(a, d), a.size(dim_of(a, d)) / 2, a.size(dim_of(a, d)))),
    PAIRS_ROW(2, 0, return a.slice(dim_of(a, d), 0, a.size(dim_of(a, d)), 2)),
    PAIRS_ROW(2, 0, return flat(a).select(0, 0)),
    PAIRS_ROW(2, 0, return a.unsqueeze(0)),
    PAIRS_ROW(2, 0, return a.view(a.sizes())),
    PAIRS_ROW(2, 0, return a.alias()),
    PAIRS_ROW(2, 0, return a.detach()),
    PAIRS_ROW(2, 0, return flat(a).select(0, 0).unsqueeze(0).expand({in.n, -1})),
    PAIRS_ROW(2, 0, return a.reshape({-1})),
    PAIRS_ROW(2, 0, return flat(a).diagonal()),
    PAIRS_ROW(1, 0, return a.as_strided({a.size(0)}, {a.stride(0)})),
    PAIRS_ROW(
        1, kFails, Tensor v = a.view(a.sizes()); {
          const NoGradScope off;
          v.as_strided_({a.size(0)}, {a.stride(0)});
        } v.mul_(2.0);
        return a + v.sum()),
    PAIRS_ROW(2, 0, return chunk(a, 2, dim_of(a, d)).back()),
};
const Wrap view_wraps[] = {
    PAIRS_WRAP(3, 0, return inner(flat(a).t(), b).alias()),
    PAIRS_WRAP(2, 0, Tensor v = a.slice(0, 0, (a.size(0) + 1) / 2); Tensor t = inner(v, b); return t + v.sum()),
    PAIRS_WRAP(2, 0, Tensor t = inner(a.view({-1}), b); return t),
};

const Row writes[] = {
    PAIRS_ROW(4, 0, return a.mul_(0.5)),
    PAIRS_ROW(4, 0, return a.add_(fit(a, b))),
    PAIRS_ROW(3, 0, return a.copy_(fit(a, b))),
    PAIRS_ROW(3, 0, a.slice(dim_of(a, d), 0, (a.size(dim_of(a, d)) + 1) / 2).mul_(c); return a),
    PAIRS_ROW(3, 0, flat(a).t().add_(c); return a),
    PAIRS_ROW(3, 0, flat(a).select(0, 0).fill_(c); return a),
    PAIRS_ROW(2, 0, Tensor old = flat(a).select(0, 0); a.mul_(c); old.add_(1); return a + old.sum()),
    PAIRS_ROW(2, 0, Tensor t = a * 0.5; Tensor v = t.slice(0, 0, 1); t.mul_(fit(t, b)); v.add_(c); return t),
    PAIRS_ROW(2, 0, return a.masked_fill_(a > 0.513, c)),
    PAIRS_ROW(2, 0, return a.index_add_(0, remainder(in.index, Scalar(a.size(0))).slice(0, 0, 1), a.slice(0, 0, 1))),
    PAIRS_ROW(2, 0, return a.index_fill_(0, in.index * 0, c)),
    PAIRS_ROW(2, 0, a.index_put_({a > 0.513}, full({}, c, a.options())); return a),
    PAIRS_ROW(2, 0, return a.zero_()),
    PAIRS_ROW(2, 0, in.row.detach().mul_(0.5); return a + in.row.sum()),
    PAIRS_ROW(2, 0, Tensor was = a.clone(); a.fill_(c); return was),
};

}  // namespace

const Feature kMath{"math", math, {}, {}};
const Feature kViews{"views", views, view_wraps, {}};
const Feature kWrites{"writes", writes, {}, {}};

}  // namespace reprise::pairs
