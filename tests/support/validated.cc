// In every test executable of a build that has the validator: under REPRISE_VALIDATE=1 what is not proved is a failure
// of the whole, whatever the test that met it made of the error.
#include <gtest/gtest.h>

#include <cstdio>

#include "base/knobs.h"
#include "runtime/build/validation.h"

namespace reprise {
namespace {

class Validated : public testing::Environment {
  void TearDown() override {
    if (!knobs().validate) return;
    const runtime::ValidationReport r = runtime::validation_report();
    std::printf(
        "validated: %lld specializations, of which %lld were the same as others; %lld conditions, %lld by bounds, %lld "
        "by Z3; %.1f s\n",
        static_cast<long long>(r.specializations), static_cast<long long>(r.repeated), static_cast<long long>(r.claims),
        static_cast<long long>(r.quick), static_cast<long long>(r.by_z3), static_cast<double>(r.ns) * 1e-9);
    for (const std::string& f : r.failures) ADD_FAILURE() << f;
  }
};
const auto* const kThere = testing::AddGlobalTestEnvironment(new Validated);

}  // namespace
}  // namespace reprise
