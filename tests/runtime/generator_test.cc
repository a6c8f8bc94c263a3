// Streams of random numbers of a program's own (reprise/generator.h).
#include "reprise/generator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

TEST(Generator, GivesTheSameNumbersEagerlyAndCompiled) {
  auto draw = [](const Tensor& x) { return rand(x.sizes()) + x.dropout(0.5) + randn(x.sizes()); };
  auto f = compile(draw, {.name = "draw"});
  Generator a(7), b(7);
  for (int n : {3, 5, 4}) {
    Tensor x = ones({n, 4}), eager, compiled;
    {
      const GeneratorScope scope(a);
      eager = draw(x);
    }
    {
      const GeneratorScope scope(b);
      compiled = f(x);
    }
    EXPECT_EQ(eager.to_vector<float>(), compiled.to_vector<float>());
    EXPECT_EQ(a.offset(), b.offset());
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().recordings_made, 3);  // sizes, not numbers
}

TEST(Generator, LeavesTheProcessesOwnWhereItStands) {
  manual_seed(3);
  const std::vector<float> first = rand({4}).to_vector<float>(), second = rand({4}).to_vector<float>();
  manual_seed(3);
  EXPECT_EQ(rand({4}).to_vector<float>(), first);
  Generator own(11), inner(5);
  {
    const GeneratorScope scope(own);
    rand({4});
    {
      const GeneratorScope in(inner);
      rand({4});
    }
    EXPECT_EQ(inner.offset(), own.offset());
    rand({4});
    EXPECT_EQ(own.offset(), 2 * inner.offset());
  }
  EXPECT_EQ(rand({4}).to_vector<float>(), second);
}

TEST(Generator, GoesOnFromAStateThatIsSet) {
  Generator g(2);
  auto draw = [](const Generator& of) {
    const GeneratorScope scope(of);
    return rand({8}).to_vector<float>();
  };
  draw(g);
  Generator copy = g.clone();
  const std::vector<float> next = draw(g);
  EXPECT_EQ(draw(copy), next);
  Generator again(g.seed());
  again.set_offset(copy.offset());
  EXPECT_EQ(draw(again), draw(g));
  g.manual_seed(2);
  EXPECT_EQ(g.offset(), 0);
  EXPECT_THROW(g.set_offset(-1), Error);
}

TEST(Generator, AScopeInsideACompiledFunctionRunsEagerlyAndIsRight) {
  Generator g(4), h(4);
  auto f = compile([g](const Tensor& x) {
    const GeneratorScope scope(g);
    return x + rand(x.sizes());
  });
  Tensor found = f(zeros({4}));
  const GeneratorScope scope(h);
  EXPECT_EQ(found.to_vector<float>(), rand({4}).to_vector<float>());
}

// Streams come and go; what a fork waits for stays.
TEST(Generator, ThatIsGoneHindersNoFork) {
  {
    Generator g(1);
    const GeneratorScope scope(g);
    rand({4});
    g.set_offset(8);
  }
  const pid_t child = fork();
  if (child == 0) _exit(rand({4}).numel().value() == 4 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace reprise::test
