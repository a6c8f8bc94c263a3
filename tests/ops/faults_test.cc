// What only the elements can tell: index values out of range, weights that are no distribution. Eager and compiled
// calls throw, name operator, value and bound, and have written nothing.
#include <gtest/gtest.h>

#include <functional>

#include "reprise/compile.h"
#include "reprise/ops.h"

namespace reprise::test {
namespace {

struct Fault {
  std::string op;
  std::function<Tensor(const Tensor& table, const Tensor& index)> call;
  bool counts_from_the_end;  // ATen: only index and index_put take negative values
};

std::vector<Fault> faults() {
  Tensor ones = reprise::ones({2, 3}), row = reprise::ones({2});
  auto pair = [](const Tensor& i) { return i.unsqueeze(1).expand({2, 3}); };
  return {
      {"embedding", [](const Tensor& x, const Tensor& i) { return embedding(x, i); }, false},
      {"index_select", [](const Tensor& x, const Tensor& i) { return index_select(x, 0, i); }, false},
      {"gather", [pair](const Tensor& x, const Tensor& i) { return gather(x, 0, pair(i)); }, false},
      {"scatter", [pair, ones](const Tensor& x, const Tensor& i) { return scatter(x, 0, pair(i), ones); }, false},
      {"scatter_add", [pair, ones](const Tensor& x, const Tensor& i) { return scatter_add(x, 0, pair(i), ones); },
       false},
      {"scatter_reduce",
       [pair, ones](const Tensor& x, const Tensor& i) { return scatter_reduce(x, 0, pair(i), ones, "amax"); }, false},
      {"index", [](const Tensor& x, const Tensor& i) { return index(x, {i}); }, true},
      {"index_put", [ones](const Tensor& x, const Tensor& i) { return index_put(x, {i}, ones); }, true},
  };
}

Tensor ids(std::vector<std::int64_t> v) { return tensor_of(v); }

void expect_fault(const std::function<void()>& f, ErrorCode code, const std::string& op, const std::string& part) {
  try {
    f();
    ADD_FAILURE() << op << " threw nothing";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_EQ(e.op(), op) << e.what();
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Faults, IndexValuesOutOfRange) {
  Tensor x = arange(12, {.dtype = kFloat32}).view({4, 3}).clone();
  for (const Fault& f : faults()) {
    SCOPED_TRACE(f.op);
    auto step = compile(f.call, {.name = f.op});
    step(x, ids({0, 3}));
    for (std::int64_t bad : {std::int64_t{4}, f.counts_from_the_end ? std::int64_t{-5} : std::int64_t{-1}}) {
      Tensor i = ids({0, bad});
      expect_fault([&] { f.call(x, i); }, ErrorCode::IndexOutOfRange, f.op, "index " + std::to_string(bad));
      expect_fault([&] { step(x, i); }, ErrorCode::IndexOutOfRange, f.op, "index " + std::to_string(bad));
    }
    if (f.counts_from_the_end) {
      Tensor last = ids({0, -1}), same = ids({0, 3});
      EXPECT_EQ(f.call(x, last).to_vector<double>(), f.call(x, same).to_vector<double>());
      EXPECT_EQ(step(x, last).to_vector<double>(), step(x, same).to_vector<double>());
    }
    // After a fault the compiled function still serves.
    EXPECT_EQ(step(x, ids({1, 2})).to_vector<double>(), f.call(x, ids({1, 2})).to_vector<double>());
  }
}

TEST(Faults, NothingIsWrittenBefore) {
  Tensor x = zeros({4, 3}), i = ids({0, 9});
  auto put = [](Tensor t, const Tensor& at) {
    t.add_(1);
    t.index_put_({at}, ones({2, 3}));
  };
  auto step = compile(put);
  step(x, ids({0, 1}));
  std::vector<double> before = x.to_vector<double>();
  EXPECT_THROW(step(x, i), Error);
  EXPECT_EQ(x.to_vector<double>(), before);
}

TEST(Faults, MultinomialWeights) {
  auto draw = [](const Tensor& w) { return multinomial(w, 1); };
  auto step = compile(draw);
  step(ones({3}));
  for (const std::function<Tensor(const Tensor&)>& f :
       {std::function<Tensor(const Tensor&)>(draw), std::function<Tensor(const Tensor&)>(step)}) {
    expect_fault([&] { f(zeros({3})); }, ErrorCode::InvalidArgument, "multinomial", "all zero");
    expect_fault([&] { f(full({3}, -1.0)); }, ErrorCode::InvalidArgument, "multinomial", "negative");
  }
}

}  // namespace
}  // namespace reprise::test
