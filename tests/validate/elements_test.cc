// Would the validator notice that an operand is read at another element than the program's?
#include "kernels/launch/elements.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/knobs.h"
#include "reprise/reprise.h"

namespace reprise::validate {
namespace {

std::optional<Int> step_by_hints(Int size, Int to) {
  const bool one = !size.is_symbolic() && size.hint() == 1;
  return identical(size, to) || (!one && size.hint() == to.hint()) ? std::optional<Int>(1) : std::nullopt;
}

/// Sizes of data meet others: where the made-up numbers of the trace decide a stride, the proof must find it. As it is,
/// it is proved.
TEST(Proofs, OfWhichElementIsRead) {
  Scoped<std::int64_t> on(knobs().validate, 1);
  const Tensor x = randn({1, 1}), o = randn({3}), z = full({}, 1, {kInt64});
  using T = const Tensor&;
  auto n = [](T z) { return 2 * check_size(z.item().to_int(), 0, 9) + 1; };  // o has as many elements
  const std::vector<std::function<Tensor(T, T, T)>> programs = {
      [](T x, T z, T o) {
        return pad(x, {z.item().to_int(), z.item().to_int()}) + o;
      },
      [&](T x, T z, T o) { return arange(n(z)) + o + x.sum(); },
      [&](T, T z, T o) { return where(arange(n(z)) > 1, o, o * 2.0); },
      [&](T, T z, T o) { return arange(n(z)).to(kFloat32).expand_as(o) * o; },
      [&](T, T z, T o) { return o.clone().add_(arange(n(z))) * 2.0; },
      [&](T, T z, T o) { return maximum(arange(n(z)).to(kFloat32), o).sum(); },
  };
  for (std::size_t i = 0; i < programs.size(); ++i)
    for (bool planted : {false, true}) {
      auto f = compile([&](Tensor x, Tensor z, Tensor o) { return programs[i](x, z, o); }, {.name = "elements"});
      kernels::planted_broadcast_step = planted ? step_by_hints : nullptr;
      std::string error;
      try {
        EXPECT_EQ(f(x, z, o).contiguous().to_vector<float>(), programs[i](x, z, o).contiguous().to_vector<float>())
            << i;
      } catch (const Error& e) {
        error = e.what();
      }
      kernels::planted_broadcast_step = nullptr;
      const std::string said = error + f.stats().last_fallback_reason;
      EXPECT_EQ(planted, said.find("its element") != std::string::npos) << i << ": " << said;
      EXPECT_EQ(planted, !said.empty()) << i << ": " << said;
    }
}

}  // namespace
}  // namespace reprise::validate
