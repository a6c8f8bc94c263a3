/// Programs with branches on a tensor's value (cond), run eagerly and compiled.
#pragma once
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "reprise/reprise.h"
#include "tests/runtime/scene.h"

namespace reprise::test {

inline std::string shown(const Tensor& t) { return t.defined() ? show(t) : "undefined"; }
inline std::string shown(const std::vector<Tensor>& all) {
  std::string s;
  for (const Tensor& t : all) s += shown(t) + "\n";
  return s;
}

inline Tensor flag(bool b) { return full({}, b, {.dtype = kBool}); }

using BranchingProgram = std::vector<Tensor> (*)(std::vector<Tensor>);

/// Eager and compiled (in every mode) give the same for these arguments, one after another; then how the compiled
/// function served them.
inline void same(const char* what, BranchingProgram body, const std::vector<std::vector<Tensor>>& calls,
                 std::int64_t specializations = 1) {
  for (const char* mode : {"full", "no-fuse", "interpret"}) {
    auto f = compile(body, {.name = "f", .mode = mode});
    for (std::size_t i = 0; i < calls.size(); ++i) {
      std::vector<Tensor> mine, its;
      for (const Tensor& t : calls[i]) mine.push_back(t.clone()), its.push_back(t.clone());
      const std::vector<Tensor> want = body(mine), got = f(its);
      const std::string at = std::string(what) + ", mode " + mode + ", call " + std::to_string(i);
      EXPECT_EQ(shown(want), shown(got)) << at;
      EXPECT_EQ(shown(mine), shown(its)) << at << ": arguments";
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << what << ", mode " << mode << ": " << f.stats().last_fallback_reason;
    EXPECT_EQ(f.stats().specializations, specializations) << what << ", mode " << mode << "\n" << f.explain();
  }
}

}  // namespace reprise::test
