// Programs that leave the process: each call is exported, and made by what was saved and loaded.
#include "reprise/autograd.h"
#include "tests/pairs/feature.h"

namespace reprise::pairs {

namespace {

const Row rows[] = {
    PAIRS_ROW(2, 0, return a.narrow(0, 0, 1) * in.n),
    PAIRS_ROW(1, 0, in.y.mul_(0.5); return in.y.t()),
};

// A loaded program gives no gradients, and neither does eager execution here.
const Setting settings[] = {
    {.text = "export, save, load, call, without gradients",
     .scope = [](int) -> std::shared_ptr<void> { return std::make_shared<NoGradScope>(); },
     .exported = true},
};

}  // namespace

const Feature kExport{"export", rows, {}, settings};

}  // namespace reprise::pairs
