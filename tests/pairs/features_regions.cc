// Loops of launches: scan, map, while_loop. Regions that are called: region.
#include "reprise/map.h"
#include "reprise/region.h"
#include "reprise/while_loop.h"
#include "tests/pairs/feature.h"

namespace reprise::pairs {

namespace {

/// What a loop over the rows of t begins with.
Tensor row_of_zeros(const Tensor& t) { return zeros({flat(t).size(1)}, t.options()); }

const Row scans[] = {
    PAIRS_ROW(3, 0,
              return scan([](const Tensor& s, const Tensor& x) { return s * 0.5 + x; }, row_of_zeros(a), flat(a))),
    PAIRS_ROW(3, 0,
              auto [s, ys] = scan(
                  [&](const Tensor& s, const Tensor& x) {
                    Tensor t = tanh(s + x);
                    return std::pair(t, t * c);
                  },
                  row_of_zeros(a), flat(a));
              return ys + s),
    PAIRS_ROW(2, 0,
              auto [s, ys] = scan([&](const Tensor& s, const Tensor& x) { return std::pair(s + x, s - x); },
                                  row_of_zeros(flat(a).t()), flat(a).t());
              return ys.t() * s.sum()),
    PAIRS_ROW(2, 0,
              return scan(
                  [](const Tensor& s, const Tensor& x) {
                    Tensor mine = s;
                    mine.mul_(0.5).add_(x);
                    return mine;
                  },
                  row_of_zeros(a) + 1.0, flat(a))),
    PAIRS_ROW(2, 0,
              return scan(
                  [&](const Tensor& s, const Tensor& x) {
                    in.y.mul_(0.5);
                    return s + in.y.sum() + x;
                  },
                  row_of_zeros(in.padded), in.padded)),
    PAIRS_ROW(2, 0,
              return scan(
                         [](const Tensor& s, const Tensor& x) {
                           Tensor mine = x;
                           mine.mul_(0.5);
                           return s + 1.0;
                         },
                         zeros({}), in.y) +
                     a.sum()),
    PAIRS_ROW(2, 0,
              auto [s, ys] = scan(
                  [&](const std::pair<Tensor, Tensor>& s, const Tensor& x) {
                    Tensor t = tanh(s.first + x);
                    return std::pair(std::pair(t, s.second * 0.5 + t.detach().sum()), std::pair(t, t.detach()));
                  },
                  std::pair(row_of_zeros(a), zeros({}, a.options())), flat(a));
              in.row.mul_(0.5).add_(s.second + ys.second.sum() * 0.25); return ys.first + s.first),
    PAIRS_ROW(
        2, 0,
        const Tensor y = scan([&](const Tensor& s, const Tensor& x) { return s * 0.5 + x * softmax(var.a, -1).mean(); },
                              row_of_zeros(a), flat(a));
        var.a.mul_(0.5); return y),
    PAIRS_ROW(1, 0, const Tensor y = map([&](const Tensor& x) { return tanh(x + in.y.sum()); }, flat(a));
              in.y.add_(0.25); return y),
    PAIRS_ROW(2, 0, Tensor z = a + 1.0; scan(
                  [&](const Tensor& s, const Tensor& x) {
                    z.slice(0, 0, 1).add_(x.sum());
                    return s;
                  },
                  zeros({}), in.row);
              return z),
    PAIRS_ROW(2, 0,
              return scan(
                  [&](const Tensor& s, const Tensor& x) {
                    return cond((x.detach().sum() > 0.01), [&] { return s + x; }, [&] { return s * 0.5; });
                  },
                  row_of_zeros(a), flat(a))),
    PAIRS_ROW(
        2, 0,
        return cond(
            in.yes,
            [&] { return scan([](const Tensor& s, const Tensor& x) { return s + x; }, row_of_zeros(a), flat(a)); },
            [&] { return row_of_zeros(a) + 1.0; })),
    PAIRS_ROW(2, 0,
              return scan([&](const Tensor& s,
                              const Tensor& i) { return s * 0.5 + in.padded.index_select(0, i.view({1})).sum(); },
                          zeros({}, in.padded.options()), in.index) +
                     a.sum()),
    PAIRS_ROW(1, 0,
              return scan(
                  [&](const Tensor& s, const Tensor& x) {
                    return scan([&](const Tensor& t, const Tensor& y) { return t * 0.5 + y * x.sum(); }, s, in.y);
                  },
                  row_of_zeros(in.y), flat(a))),
    PAIRS_ROW(
        1, 0,
        return scan([&](const Tensor& s, const Tensor& x) { return s + fit(s, var.a) * x.sum(); }, a + 0.0, in.row)),
    PAIRS_ROW(2, 0, return map([&](const Tensor& x) { return tanh(x) * c + in.y.sum(); }, flat(a))),
    PAIRS_ROW(2, 0,
              return scan([](const Tensor& s, const Tensor& x) { return s * rand(s.sizes()).to(s.dtype()) + x; },
                          row_of_zeros(a), flat(a)) +
                     rand({1}).to(a.dtype())),
};
const Wrap scan_wraps[] = {
    PAIRS_WRAP(
        2, 0,
        return scan([&](const Tensor& s, const Tensor&) { return (s * 0.5 + fit(s, inner(s, b))).to(s.dtype()); },
                    a + 0.0, in.row)),
    PAIRS_WRAP(2, 0, Tensor t = a + 1.0; scan(
                   [&](const Tensor& s, const Tensor& x) {
                     t.mul_(0.5).add_(fit(t, inner(t, b)));
                     return s + x;
                   },
                   zeros({}), in.row);
               return t),
    PAIRS_WRAP(2, 0,
               return scan([&](const Tensor& s, const Tensor& x) { return std::pair(s, inner(a, x.sum()).sum()); },
                           zeros({}), in.row)
                   .second),
};

/// Halves until little is left: no turn or several, at most 40.
template <class F>
Tensor small_while_loop(const Tensor& t, F step) {
  return while_loop([](const Tensor& s) { return s.abs().sum() > 0.5; },
                    [&](const Tensor& s) { return (s * 0.25 + step(s) * 0.0).to(s.dtype()); }, t, 40);
}

const Row whiles[] = {
    PAIRS_ROW(3, 0, return small_while_loop(a, [](const Tensor& s) { return s; })),
    PAIRS_ROW(3, 0, return small_while_loop(a + 1.0, [&](const Tensor& s) { return fit(s, var.a); }) + fit(a, b)),
    PAIRS_ROW(2, 0,
              auto [s, n] = while_loop([](const std::pair<Tensor, Tensor>& s) { return s.second < 3; },
                                       [&](const std::pair<Tensor, Tensor>& s) {
                                         return std::pair(sin(s.first) * (s.second + 1), s.second + 1);
                                       },
                                       std::pair(a * 1.0, zeros({}, {.dtype = kInt64})), 5);
              return s * n),
    PAIRS_ROW(2, 0,
              return while_loop(
                  [](const Tensor& s) {
                    Tensor mine = s;
                    mine.mul_(0.5);
                    return s.abs().max() > 0.25;
                  },
                  [](const Tensor& s) {
                    Tensor mine = s;
                    mine.sub_(s * 0.125);
                    return mine;
                  },
                  a + 0.0, 99)),
    PAIRS_ROW(2, 0,
              return small_while_loop(a,
                                      [&](const Tensor& s) {
                                        in.y.mul_(0.5);
                                        return s + in.y.sum();
                                      })),
    PAIRS_ROW(1, 0,
              return small_while_loop(
                  a, [&](const Tensor& s) { return small_while_loop(s + 0.0, [](const Tensor& t) { return t; }); })),
    PAIRS_ROW(
        2, 0,
        return cond(
            in.yes, [&] { return small_while_loop(a, [](const Tensor& s) { return s; }); }, [&] { return a + 1.0; })),
    PAIRS_ROW(1, 0,
              return while_loop([](const Tensor& s) { return s.abs().sum() > 0.5; },
                                [](const Tensor& s) { return s * 0.5; }, a, 3)),
};
const Wrap while_wraps[] = {
    PAIRS_WRAP(2, 0, return small_while_loop(a + 0.0, [&](const Tensor& s) { return fit(s, inner(s, b)); })),
    PAIRS_WRAP(2, 0, Tensor t = a + 1.0; small_while_loop(in.row,
                                                          [&](const Tensor& s) {
                                                            t.mul_(0.5).add_(fit(t, inner(t, b)));
                                                            return s;
                                                          });
               return t),
};

/// What two calls share.
template <class F>
Tensor twice_region(const Tensor& t, F f) {
  return region("pair", f, region("pair", f, t));
}

const Row regions[] = {
    PAIRS_ROW(3, 0, Tensor w = flat(b);
              return twice_region(flat(a), [&](const Tensor& t) { return matmul(matmul(t, w.t()), w) * 0.1 + t; })),
    PAIRS_ROW(2, 0,
              return region(
                  "alone", [&](const Tensor& t) { return sin(t) * c + in.y.sum(); }, a)),
    PAIRS_ROW(2, 0,
              return twice_region(a,
                                  [&](const Tensor& t) {
                                    Tensor mine = t + 0.0;
                                    mine.mul_(c).add_(fit(t, var.a));
                                    return cumsum(mine, -1);
                                  })),
    PAIRS_ROW(2, 0, Tensor z = a + 1.0; twice_region(in.y,
                                                     [&](const Tensor& t) {
                                                       z.slice(0, 0, 1).add_(cumsum(t, -1).sum());
                                                       return t;
                                                     });
              return z),
    PAIRS_ROW(2, 0,
              return twice_region(in.y,
                                  [&](const Tensor& t) {
                                    in.y.mul_(0.5);
                                    return cumsum(t, -1);
                                  })),
    PAIRS_ROW(2, 0,
              return twice_region(a, [&](const Tensor& t) { return cumsum(t * rand({1}).to(t.dtype()), -1); }) +
                     rand({1}).to(a.dtype())),
    PAIRS_ROW(
        2, 0, const Tensor w = matmul(flat(a).t(), flat(a)) * 0.1; auto layer =
                                                                       [&](const Tensor& t) {
                                                                         const Tensor y = matmul(tanh(t), w);
                                                                         return std::pair(y, y.detach().mean());
                                                                       };
        const auto [y, m] = region("mean", layer, flat(a)); const auto [z, k] = region("mean", layer, y);
        in.row.mul_(0.5).add_(m + k); return z),
    PAIRS_ROW(2, 0, const Tensor v = in.y; return twice_region(
                  flat(a),
                  [&](const Tensor& t) {
                    v.select(0, 0).add_(v.select(0, -1) * 0.25);
                    return matmul(t, matmul(v.t(), v).sum().view({1, 1}).expand({t.size(1), t.size(1)})) * 0.1;
                  })),
    PAIRS_ROW(1, 0, Tensor last; region("assigns", [&] { last = cumsum(a, -1); }); return last),
    PAIRS_ROW(1, 0,
              return region("decides",
                            [&] {
                              return cond(
                                  in.yes, [&] { return a + 1.0; }, [&] { return a * c; });
                            })),
    PAIRS_ROW(
        2, 0,
        return scan([&](const Tensor& s,
                        const Tensor& x) { return twice_region(s + x, [](const Tensor& t) { return cumsum(t, -1); }); },
                    row_of_zeros(a), flat(a))),
};
const Wrap region_wraps[] = {
    PAIRS_WRAP(3, 0, return region("inner", [&] { return inner(a, b); })),
    PAIRS_WRAP(
        2, 0,
        return twice_region(
            a + 0.0, [&](const Tensor& t) { return (cumsum(t, -1) * 0.5 + fit(t, inner(t, b))).to(t.dtype()); })),
};

}  // namespace

const Feature kRegion{"region", regions, region_wraps, {}};
const Feature kScan{"scan", scans, scan_wraps, {}};
const Feature kWhile{"while", whiles, while_wraps, {}};

}  // namespace reprise::pairs
