// What derives is freed while other threads call and derive (as tests/runtime/freed_test.cc for what does not).
#include <gtest/gtest.h>

#include <string>

#include "reprise/reprise.h"
#include "tests/support/storm.h"

namespace reprise {
namespace {

// A walk runs the backward of a specialization that may be gone.
TEST(Freed, WhatDerives) {
  auto f = compile([](Tensor x, Tensor w, int k) { return (tanh(x * 0) + x * w * (k + 1)).sum(); },
                   {.name = "walked", .recordings_max = 4, .mode = "interpret"});
  test::storm(6, [&](int id, test::Random& r) -> std::string {
    const int n = 1 + test::below(r, 10), k = test::below(r, 3);
    Tensor w = full({4}, 2.0).requires_grad_();
    Tensor y = f(ones({n, 4}), w, k);
    if (id == 0 && r() % 16 == 0) f.reset();
    y.backward();
    const double got = w.grad().sum().item().to_double();
    return got == 4.0 * n * (k + 1) ? "" : std::to_string(got);
  });
}

}  // namespace
}  // namespace reprise
