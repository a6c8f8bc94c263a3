// Sizes that depend on data, cond, captured variables.
#include "tests/pairs/feature.h"

namespace reprise::pairs {

namespace {

const Row data_sizes[] = {
    PAIRS_ROW(3, 0, Int k = in.count.item().to_int(); return arange(2 * k + 1, {.device = a.device()}) + in.wide),
    PAIRS_ROW(3, 0, Int k = in.count.item().to_int(); return pad(in.y, {k, k}) + in.padded),
    PAIRS_ROW(3, 0, Int k = in.count.item().to_int(); return pad(in.y, {k, k}) * in.padded + a.sum()),
    PAIRS_ROW(2, kDataSize, Int k = in.count.item().to_int(); return pad(a, {k, k})),
    PAIRS_ROW(2, 0, Int k = in.count.item().to_int(); return a * k),
    PAIRS_ROW(2, 0, return a + in.count.item()),
    PAIRS_ROW(2, 0, Int k = in.count.item().to_int(); return zeros({2 * k + 1}, a.options()) + in.wide),
    PAIRS_ROW(2, 0, return nonzero(in.flags).squeeze(1).to(kFloat32) + in.wide),
    PAIRS_ROW(2, 0, const Tensor found = nonzero(in.flags).squeeze(1).to(kFloat32);
              return found.slice(0, 0, 2).sum() + found.slice(0, -2).sum() * a + found.slice(0, 1, 3).sum()),
    PAIRS_ROW(2, 0, const Int n = nonzero(in.flags).size(0);
              return flat(a).slice(0, 0, n).sum() + flat(a).slice(0, n / 2, 2 * n).sum() * b),
    PAIRS_ROW(2, 0, return masked_select(arange(9, {.device = a.device()}).to(kFloat32), in.flags) * in.wide),
    PAIRS_ROW(2, 0, Int k = in.count.item().to_int();
              return in.wide.unsqueeze(1).expand({2 * k + 1, 2}) + in.wide.unsqueeze(1)),
    PAIRS_ROW(2, kDataSize, return masked_select(a, a > 0.513)),
    PAIRS_ROW(2, 0, return masked_select(a, a > 0.513).sum() + a),
    PAIRS_ROW(2, 0, return a / (masked_select(a, a > 0.513).numel() + 1)),
    PAIRS_ROW(2, 0, Int k = in.count.item().to_int(); in.padded.slice(1, 0, 2 * k).zero_(); return in.padded + 0.0),
    PAIRS_ROW(2, 0, Int k = in.count.item().to_int(); Tensor t = pad(in.y, {k, k}); t.add_(in.padded); return t),
    PAIRS_ROW(2, 0, Int k = in.count.item().to_int(); return in.padded.narrow(1, k, in.y.size(1)) + in.y),
    PAIRS_ROW(2, 0, Int k = in.count.item().to_int(); return cat({in.wide, ones({k}, a.options())}).sum() + a),
    PAIRS_ROW(2, 0, return in.wide.index({nonzero(in.flags).squeeze(1) * 0}) + in.wide),
    // What may fail, by places whose number is taken to be another one.
    PAIRS_ROW(2, 0, Tensor places = nonzero(in.flags).squeeze(1);
              return arange(9, {.device = a.device()}).to(kFloat32).index_select(0, places) * in.wide),
    PAIRS_ROW(2, 0, Tensor rows = in.wide.index_select(0, nonzero(in.flags).squeeze(1) * 0) - in.wide;
              return in.wide.index_select(0, nonzero(rows > c).squeeze(1)).sum() + a),
    PAIRS_ROW(2, 0, return repeat_interleave(a, in.count, 0).sum() + a),
    // Numbers that are less than what stands for them, and sizes that only numbers are made of.
    PAIRS_ROW(2, 0, Int k = in.count.item().to_int(); return arange(k - 3, 9, 2 - k, {.device = a.device()}) + a.sum()),
    PAIRS_ROW(2, 0, Int k = in.count.item().to_int(); return a * zeros({k, 2 * k}, a.options()).numel()),
    PAIRS_ROW(2, 0, Int k = in.count.item().to_int();
              return a.sum().reshape({1}).expand({2 * k + 1}).unsqueeze(1).expand({-1, 2}).sum(1) + in.wide),
};
const Wrap data_wraps[] = {
    PAIRS_WRAP(2, 0, Int k = in.count.item().to_int(); return inner(pad(a, {k, k}), b)),
    PAIRS_WRAP(2, 0, Int k = in.count.item().to_int(); return inner(pad(in.y, {k, k}), in.padded)),
    PAIRS_WRAP(2, 0, return inner(nonzero(in.flags).squeeze(1).to(kFloat32), in.wide)),
    PAIRS_WRAP(2, 0, return inner(a * in.count.item(), b)),
};

const Row conds[] = {
    PAIRS_ROW(3, 0,
              return cond(
                  in.yes, [&] { return a * 2.0; }, [&] { return a * fit(a, b); })),
    PAIRS_ROW(3, 0,
              return cond(
                  a.detach().sum() > 0.01, [&] { return tanh(a); }, [&] { return a - 0.5; })),
    PAIRS_ROW(3, 0, Tensor v = flat(a).t(); cond(
                  in.yes, [&] { a.mul_(2); }, [&] { v.mul_(3); });
              return a),
    PAIRS_ROW(3, 0, Tensor v = a.slice(0, 0, 1); cond(
                  in.yes, [&] { v.add_(1); }, [&] { a.mul_(c); });
              return a),
    PAIRS_ROW(2, 0,
              cond(
                  in.yes, [&] { a.add_(1); }, [&] { b.mul_(0.5); });
              return a + fit(a, b)),
    PAIRS_ROW(2, 0,
              cond(
                  in.yes, [&] { a.slice(0, 0, 2).mul_(2); }, [&] { a.slice(0, 1, 3).mul_(3); });
              return a),
    PAIRS_ROW(2, 0, Tensor z = a + 1.0; Tensor v = z.view({-1}); cond(
                  in.yes, [&] { z.mul_(2); }, [&] { v.mul_(3); });
              return z),
    PAIRS_ROW(2, 0,
              return cond(
                  in.yes, [&] { return a; }, [&] { return a + 0.0; })),
    PAIRS_ROW(2, 0,
              return cond(
                  in.yes, [](const Tensor& p, const Tensor& q) { return p * q; },
                  [](const Tensor& p, const Tensor& q) { return p + q; }, a, fit(a, b))),
    PAIRS_ROW(2, 0,
              cond(
                  in.yes, [&] { in.y.mul_(2); }, [&] {});
              return a),
    PAIRS_ROW(1, 0,
              return cond(
                  in.yes,
                  [&] {
                    return cond(
                        in.mask.any(), [&] { return a * 2.0; }, [&] { return a + 1.0; });
                  },
                  [&] { return a * c; })),
};
const Wrap cond_wraps[] = {
    PAIRS_WRAP(3, 0,
               return cond(
                   in.yes, [&] { return inner(a, b); }, [&] { return a + 0.0; })),
    PAIRS_WRAP(2, 0,
               return cond(
                   in.yes, [&] { return a * 0.5; }, [&] { return inner(a, b); })),
    PAIRS_WRAP(2, 0,
               cond(
                   in.yes, [&] { inner(a, b); }, [&] { a.mul_(0.5); });
               return a),
    PAIRS_WRAP(2, 0, Tensor t = a + 1.0; cond(
                   in.yes, [&] { t.copy_(fit(t, inner(t, b))); }, [&] { t.mul_(0.5); });
               return t),
};

const Row variables[] = {
    PAIRS_ROW(3, kVariables, var.a = var.b; return a + fit(a, var.a)),
    PAIRS_ROW(3, kVariables, var.a = var.b; var.b = var.b * 0.5 + fit(var.b, a); return a + 0.0),
    PAIRS_ROW(3, kVariables, std::swap(var.a, var.b); return a + fit(a, var.b)),
    PAIRS_ROW(2, kVariables, var.a = a; return a),
    PAIRS_ROW(2, kVariables, var.a = a * 0.5; return a),
    PAIRS_ROW(2, kVariables, var.list[0] = var.list[1]; var.list[1] = var.list[1] + c; return a),
    PAIRS_ROW(2, kVariables, var.list[1] = var.a; return a),
    PAIRS_ROW(2, 0, var.a.mul_(0.5); return a + fit(a, var.b)),
    PAIRS_ROW(2, 0, return a + fit(a, var.a) * fit(a, var.list[0])),
    PAIRS_ROW(2, kVariables, Tensor r = var.b - fit(var.b, var.a); var.a = var.b; var.b = var.b + c; return r),
    PAIRS_ROW(2, kVariables, std::swap(var.a, var.list[0]); var.a.add_(c); return a + fit(a, var.list[0])),
    PAIRS_ROW(2, kVariables, var.b = in.x; std::swap(var.a, var.b); return a),
    PAIRS_ROW(2, kVariables, var.a = flat(in.y).slice(0, 0, 1); return a),
    PAIRS_ROW(1, kVariables, var.a = var.a; return var.a),
    PAIRS_ROW(1, kVariables, var.b = var.a.detach(); return a + var.b.sum()),
};
const Wrap variable_wraps[] = {
    PAIRS_WRAP(2, kVariables, var.a = inner(a, b); return a),
    PAIRS_WRAP(2, kVariables, Tensor t = inner(var.a, b); var.a = t; return t),
    PAIRS_WRAP(2, 0, return inner(var.list[1], a)),
};
const Setting variable_settings[] = {
    {.text = "nothing"},
    {.text = "var.b = var.a before call 2",
     .arguments =
         [](Arguments&, Variables& v, int call) {
           if (call == 2) v.b = v.a;
         }},
    {.text = "var.b = a new tensor before every other call",
     .arguments =
         [](Arguments&, Variables& v, int call) {
           if (call % 2) v.b = v.b.detach() * 0.5;
         }},
    {.text = "var.a = y before calls 1 and 3",
     .arguments =
         [](Arguments& in, Variables& v, int call) {
           if (call % 2) v.a = in.y;
         }},
};

}  // namespace

const Feature kDataSizes{"data sizes", data_sizes, data_wraps, {}};
const Feature kCond{"cond", conds, cond_wraps, {}};
const Feature kVariableRows{"variables", variables, variable_wraps, variable_settings};

}  // namespace reprise::pairs
