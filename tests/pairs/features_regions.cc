// Loops of launches: scan.
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

}  // namespace

const Feature kScan{"scan", scans, scan_wraps, {}};

}  // namespace reprise::pairs
