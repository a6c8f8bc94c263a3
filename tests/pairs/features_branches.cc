// Branches of the program on values of tensors.
#include "tests/pairs/feature.h"

namespace reprise::pairs {

namespace {

const Row rows[] = {
    PAIRS_ROW(3, kSteps, if (a.sum().item() > 0.113) return a * 2.0; return a - 0.5),
    PAIRS_ROW(3, 0, if (static_cast<bool>(in.yes)) return a * 2.0; return a * fit(a, b)),
    PAIRS_ROW(3, 0, if (static_cast<bool>(in.yes)) a.mul_(2); else a.add_(1); return a),
    PAIRS_ROW(2, 0, Int k = in.count.item().to_int(); if (k > 1) return a + k; return a * k),
    PAIRS_ROW(
        2, 0,
        switch (in.count.item<std::int64_t>()) {
          case 0: return a + 0.0;
          case 1: return a * 0.5;
          default: return a - fit(a, b);
        }),
    PAIRS_ROW(2, kSteps, const Scalar s = a.sum().item(); a.mul_(0.5); return a + s * 0.25 + a.sum().item()),
    PAIRS_ROW(2, 0, const Int k = in.count.item().to_int(); in.count.add_(2); const Int m = in.count.item().to_int();
              in.count.sub_(2); return a * k + m),
    PAIRS_ROW(2, 0, const Tensor mask = a > 0.113; a.mul_(-1.0); const Tensor t = masked_select(a, a > 0.113);
              return a + t.sum() + masked_select(a, mask).sum()),
    PAIRS_ROW(2, kSteps, const Tensor before = a.sum(); a.mul_(-0.5); if (a.sum().item() > 0.113) return a * 2.0;
              if (before.item() > 0.117) return a + 1.0; return a),
    PAIRS_ROW(2, kSteps, a.mul_(0.5); if (a.max().item() > 0.317) a.add_(c); return a),
    PAIRS_ROW(2, 0, in.y.add_(1); if (in.y.sum().item() > 3.117) in.y.mul_(0.5); return a + in.y.sum()),
    PAIRS_ROW(
        2, 0,
        if (in.x.sum().item() > 0.213) {
          if (static_cast<bool>(in.yes)) return a + 1.0;
          return a * 3.0;
        } return a),
    PAIRS_ROW(
        2, kSteps, Tensor t = a; for (int i = 0; i < 3; ++i) {
          if (t.abs().max().item() < 0.417) break;
          t = t * 0.7;
        } return t),
    PAIRS_ROW(2, kSteps, Tensor some = masked_select(a, a > 0.513); if (some.size(0) > 2) return a + some.sum();
              return a),
    PAIRS_ROW(2, 0, if (static_cast<bool>(in.mask.any()) && in.count.item() < 2) return flat(a).t(); return flat(a)),
    PAIRS_ROW(2, 0, Tensor v = flat(a).slice(0, 0, 1); if (in.count.item() >= 1) v.add_(1); return a),
    PAIRS_ROW(1, 0, if (in.count.item() > 1 || in.row.sum().item() > 0.1) in.row.mul_(0.5); return a + in.row.sum()),
    PAIRS_ROW(1, kVariables, if (static_cast<bool>(in.yes)) var.a = var.b; return a + fit(a, var.a)),
    PAIRS_ROW(1, 0, if (static_cast<bool>(in.yes)) var.a.mul_(0.5); return a + fit(a, var.a)),
    PAIRS_ROW(1, 0, if (in.count.item() >= 1) return a + fit(a, var.list[0]); return a + fit(a, var.list[1])),
    PAIRS_ROW(1, 0,
              return cond(
                  in.yes, [&] { return in.row.sum().item() > 0.1 ? a * 2.0 : a + 0.0; }, [&] { return a - 0.5; })),
};
const Wrap wraps[] = {
    PAIRS_WRAP(3, 0, if (static_cast<bool>(in.yes)) return inner(a, b); return inner(a * 0.5, b)),
    PAIRS_WRAP(3, kSteps, Tensor t = inner(a, b); if (t.detach().sum().item() > 0.217) return t * 2.0; return t),
    PAIRS_WRAP(2, kSteps, if (a.max().item() > 0.617) a.mul_(0.5); return inner(a, b)),
    PAIRS_WRAP(2, 0, if (in.count.item() > 1) return a + 0.0; return inner(a, b)),
};
const Setting settings[] = {
    {.text = "nothing"},
    {.text = "yes turns before every call",
     .arguments = [](Arguments& in, Variables&, int call) { in.yes.fill_(call % 2); }},
    {.text = "branches = 2", .options = [](CompileOptions& o) { o.branches = 2; }},
};

}  // namespace

const Feature kBranches{"value branches", rows, wraps, settings};

}  // namespace reprise::pairs
