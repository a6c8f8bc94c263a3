// Index values are checked by the device. What the user sees is what the CPU shows: one exception at the call,
// arguments as they were.
#include <cmath>

#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

using CudaChecks = Cuda;

Tensor ids(std::vector<std::int64_t> v, Device d) { return tensor_of(v).to(d); }

TEST_F(CudaChecks, SayWhatTheCpuSays) {
  struct Case {
    const char* name;
    std::function<Tensor(Tensor, Tensor)> f;
  };
  const Case cases[] = {
      {"embedding", [](Tensor x, Tensor i) { return embedding(x, i); }},
      {"index_select", [](Tensor x, Tensor i) { return index_select(x, 0, i.flatten()); }},
      {"gather", [](Tensor x, Tensor i) { return gather(x, 0, i); }},
      {"index", [](Tensor x, Tensor i) { return index(x, {i}); }},
      {"scatter", [](Tensor x, Tensor i) { return scatter(x, 0, i, 1.0); }},
      {"index_put", [](Tensor x, Tensor i) { return index_put(x, {i}, full({}, 1.0, {.device = x.device()}), false); }},
      {"embedding", [](Tensor x, Tensor i) { return embedding(x, i.to(kInt32)).sum(); }},
  };
  for (const Case& c : cases)
    for (std::int64_t bad : {5, -6}) {
      auto message = [&](Device where, bool compiled) {
        Tensor x = rand({5, 3}).to(where), i = ids({0, 4, 2, 1, bad, 7}, where).view({2, 3});
        auto g = compile(c.f, {.name = c.name});
        Error e = error_of([&] { compiled ? g(x, i) : c.f(x, i); });
        EXPECT_EQ(e.code(), ErrorCode::IndexOutOfRange) << c.name;
        return e.op() + ": " + e.message();
      };
      const std::string want = message(Device::cpu(), false);
      EXPECT_NE(want.find("index " + std::to_string(bad)), std::string::npos) << want;
      EXPECT_EQ(message(d, false), want);
      EXPECT_EQ(message(d, true), want);
    }
}

TEST_F(CudaChecks, WeightsToDrawByToo) {
  auto weights = [](std::vector<float> v, Device on) { return tensor_of(v).view({2, -1}).to(on); };
  struct Case {
    std::vector<float> weights;
    std::int64_t samples;
    bool replacement;
    const char* says;
  };
  const Case cases[] = {{{1, 2, 0, 0, 0, 0}, 1, false, "row 1 are all zero"},
                        {{1, 2, 3, 4, -1, 2}, 2, true, "weight -1.000000 of category 1 in row 1"},
                        {{1, 2, NAN, 0, 0, 0}, 1, false, "weight nan of category 2 in row 0"},
                        {{1, 2, 3, 0, 5, 0}, 2, false, "cannot draw 2 samples without replacement from 1 categories"}};
  for (const Case& c : cases) {
    auto sample = [&](Tensor w, Tensor count) {
      count.add_(1.0);
      return multinomial(w, c.samples, c.replacement);
    };
    auto message = [&](Device where, bool compiled) {
      auto g = compile(sample, {.name = "sample"});
      Tensor w = weights(c.weights, where), count = zeros({1}).to(where);
      Error e = error_of([&] { compiled ? g(w, count) : sample(w, count); });
      EXPECT_EQ(e.code(), ErrorCode::InvalidArgument) << c.says;
      EXPECT_EQ(count.item().to_double(), compiled ? 0 : 1);
      Tensor good = weights({1, 0, 2, 0, 3, 1}, where);
      EXPECT_EQ((compiled ? g(good, count) : sample(good, count)).size(1).value(), c.samples);
      return e.op() + ": " + e.message();
    };
    const std::string want = message(Device::cpu(), false);
    EXPECT_NE(want.find(c.says), std::string::npos) << want;
    EXPECT_EQ(message(d, false), want);
    EXPECT_EQ(message(d, true), want);
  }
}

TEST_F(CudaChecks, ArgumentsAreAsBeforeAndLaterCallsAreRight) {
  auto step = compile(
      [](Tensor table, Tensor i, Tensor cache, Tensor seen, Int pos) {
        Tensor x = embedding(table, i);
        cache.slice(0, pos, pos + x.size(0)).copy_(x * 2.0);
        seen.add_(1.0);
        return index_select(x, 1, i.slice(0, 0, 1)) + cache.sum();
      },
      {.name = "step"});
  Tensor table = rand({8, 4}), cache = rand({16, 4}), seen = rand({3});
  Tensor on = table.to(d), cache_on = cache.to(d), seen_on = seen.to(d);
  step(table, ids({3, 1}, Device::cpu()), cache, seen, 2);
  step(on, ids({3, 1}, d), cache_on, seen_on, 2);
  // The first check fails, then the second alone (4 is a row, not a column).
  for (std::vector<std::int64_t> bad : {std::vector<std::int64_t>{8, 1}, {4, 1}}) {
    Error there = error_of([&] { step(on, ids(bad, d), cache_on, seen_on, 4); }),
          here = error_of([&] { step(table, ids(bad, Device::cpu()), cache, seen, 4); });
    EXPECT_EQ(there.message(), here.message());
    EXPECT_EQ(there.op(), here.op());
    EXPECT_EQ(there.where().line, here.where().line);
    EXPECT_EQ(cache_on.to_vector<float>(), cache.to_vector<float>());
    EXPECT_EQ(seen_on.to_vector<float>(), seen.to_vector<float>());
  }
  Tensor a = step(on, ids({0, 2}, d), cache_on, seen_on, 4),
         b = step(table, ids({0, 2}, Device::cpu()), cache, seen, 4);
  std::vector<float> got = a.to_vector<float>(), want = b.to_vector<float>();
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4);
  EXPECT_EQ(cache_on.to_vector<float>(), cache.to_vector<float>());
}

// Places in a dim that operators have found are within it: a call that looks up the token it has chosen waits for
// nothing.
TEST_F(CudaChecks, PlacesThatWereFoundAreNotChecked) {
  auto next = [](Tensor x, Tensor table) { return embedding(table, argmax(linear(x, table), -1)); };
  auto best = [](Tensor x, Tensor table) {
    return embedding(table, topk(linear(x, table), 2).second.to(kInt64).unsqueeze(0));
  };
  auto drawn = [](Tensor x, Tensor table) {
    return index_select(table, 0, multinomial(softmax(linear(x, table), -1), 3, true).flatten());
  };
  auto other = [](Tensor x, Tensor table, Tensor rows) { return embedding(rows, argmax(linear(x, table), -1)); };
  const Tensor x = rand({2, 4}), table = rand({9, 4});
  auto expect = [&](auto body, auto... args) {
    auto f = compile(body, {.name = "found"});
    const Tensor got = f(args.to(d)...);
    EXPECT_EQ(f.explain().find("embedding_check"), std::string::npos) << f.explain();
    EXPECT_EQ(f.explain().find("index_select_check"), std::string::npos) << f.explain();
    return got;
  };
  EXPECT_TRUE(allclose(expect(next, x, table).cpu(), next(x, table)));
  EXPECT_TRUE(allclose(expect(best, x, table).cpu(), best(x, table)));
  expect(drawn, x, table);
  auto f = compile(other, {.name = "other"});
  const Tensor long_rows = rand({9, 3});
  EXPECT_TRUE(allclose(f(x.to(d), table.to(d), long_rows.to(d)).cpu(), other(x, table, long_rows)));
  EXPECT_NE(f.explain().find("embedding_check"), std::string::npos) << "of another table\n" << f.explain();
}

TEST_F(CudaChecks, WritesOverAnArgumentAtBadIndices) {
  auto put = compile([](Tensor x, Tensor i) { x.scatter_(0, i, 7.0); }, {.name = "put"});
  Tensor x = rand({4, 2}).to(d);
  const std::vector<float> before = x.to_vector<float>();
  EXPECT_EQ(error_of([&] { put(x, ids({0, 1, 2, 4}, d).view({2, 2})); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(x.to_vector<float>(), before);
  put(x, ids({0, 1, 2, 3}, d).view({2, 2}));
  EXPECT_EQ(x.select(0, 2).select(0, 0).item().to_double(), 7);
}

TEST_F(CudaChecks, StepsOfTheHostComeAfterWhatWasChecked) {
  // Lgamma of float64 has no kernel on the device; it writes over the argument.
  auto f = compile(
      [](Tensor x, Tensor i) {
        Tensor y = index_select(x, 0, i);
        x.copy_(lgamma(x));
        return y;
      },
      {.name = "host"});
  Tensor x = (rand({4}) + 1.0).to(kFloat64), there = x.to(d);
  const std::vector<double> before = x.to_vector<double>();
  EXPECT_EQ(error_of([&] { f(there, ids({1, 9}, d)); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(there.to_vector<double>(), before);
  EXPECT_EQ(f(there, ids({1, 3}, d)).to_vector<double>(), (std::vector<double>{before[1], before[3]}));
}

TEST_F(CudaChecks, OfADimensionOfSizeZero) {
  auto f = compile([](Tensor x, Tensor i) { return index_select(x, 0, i) + 1.0; }, {.name = "empty"});
  for (int n : {3, 2}) EXPECT_EQ(f(rand({n, 2}).to(d), ids({1, 0}, d)).size(0).value(), 2);
  Error e = error_of([&] { f(zeros({0, 2}, {.device = d}), ids({1, 0}, d)); });
  EXPECT_EQ(e.code(), ErrorCode::IndexOutOfRange);
  EXPECT_NE(e.message().find("of size 0"), std::string::npos) << e.message();
  EXPECT_EQ(f(zeros({0, 2}, {.device = d}), ids({}, d)).numel().value(), 0);
  EXPECT_EQ(f(rand({4, 2}).to(d), ids({3, 0}, d)).size(0).value(), 2);
}

TEST_F(CudaChecks, TheFirstOfManyIsTold) {
  std::vector<std::int64_t> many(5000, 1);
  many[4999] = 12, many[3001] = -4, many[4000] = 11;
  Tensor x = rand({10, 2}).to(d);
  Error e = error_of([&] { index_select(x, 0, ids(many, d)); });
  EXPECT_EQ(e.message(), "index -4 at position [3001] is out of range for dimension 0 of size 10");
}

// A step of a language model is one graph: no step of the host stands in it.
TEST_F(CudaChecks, AnEmbeddingSplitsNothing) {
  if (!Simulator::library()) GTEST_SKIP() << "counted by the simulator";
  auto f = compile(
      [](Tensor w, Tensor i, Tensor v) { return linear(rms_norm(embedding(w, i), {w.size(1)}, Tensor(), 1e-5), v); },
      {.name = "one"});
  Tensor w = rand({16, 8}).to(d), v = rand({4, 8}).to(d), i = ids({3}, d);
  f(w, i, v), f(w, i, v);
  const auto before = Simulator::counters();
  f(w, i, v);
  const auto after = Simulator::counters();
  EXPECT_EQ(after.graph_launches - before.graph_launches, 1u);
}

}  // namespace
}  // namespace reprise::test
