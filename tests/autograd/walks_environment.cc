// With TEST_COMPILED_WALKS=1 every walk over the tape that a test's own thread makes is compiled: the tape's tests run
// once more in another way (tests/CMakeLists.txt, compiled_walks).
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

class CompiledWalks : public testing::Environment {
  void SetUp() override {
    const char* wanted = std::getenv("TEST_COMPILED_WALKS");
    if (wanted && std::strcmp(wanted, "1") == 0) on_.emplace();
  }
  void TearDown() override {
    if (on_) EXPECT_GT(on_->compiled.counts().walks, 0) << "no walk was compiled";
    on_.reset();
  }
  struct On {
    CompiledAutograd compiled;
    CompiledAutograd::Scope scope = compiled.enable();
  };
  std::optional<On> on_;
};

[[maybe_unused]] testing::Environment* const g_walks = testing::AddGlobalTestEnvironment(new CompiledWalks);

}  // namespace
}  // namespace reprise::test
