// CompileOptions::late_faults: calls that check values return at once, and what a check has found is told by what comes
// next in their stream.
#include <thread>

#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

class CudaLateFaults : public Cuda {
 protected:
  void TearDown() override {
    if (IsSkipped()) return;
    synchronize(d);  // no test leaves a fault to the next
  }
  Tensor ids(std::vector<std::int64_t> v) { return tensor_of(v).to(d); }
  Error late(const std::function<void()>& f, int bad) {
    const Error e = error_of(f);
    EXPECT_EQ(e.code(), ErrorCode::IndexOutOfRange);
    EXPECT_EQ(e.op(), "embedding");
    EXPECT_NE(
        e.message().find("index " + std::to_string(bad) + " at position [1] is out of range for dimension 0 of size 8"),
        std::string::npos)
        << e.message();
    EXPECT_NE(e.message().find("told late"), std::string::npos) << e.message();
    EXPECT_NE(e.message().find("late had returned"), std::string::npos) << e.message();
    EXPECT_GT(e.where().line, 0);
    return e;
  }

  const Tensor table_ = rand({8, 4});
};

Tensor step(Tensor table, Tensor i, Tensor seen) {
  Tensor x = embedding(table, i);
  seen.add_(1.0);
  return x * 2.0;
}

TEST_F(CudaLateFaults, GoodCallsWaitForNothing) {
  auto f = compile(step, {.name = "late", .late_faults = true});
  const Tensor table = table_.to(d), seen = zeros({3}, {.device = d}), i = ids({3, 1});
  f(table, i, seen);
  synchronize(d);
  const auto waits = Simulator::library() ? Simulator::calls("cuStreamSynchronize") : 0;
  Tensor y;
  for (int n = 0; n < 200; ++n) y = f(table, i, seen);  // more than a block of pinned memory has records
  if (Simulator::library()) {
    EXPECT_EQ(Simulator::calls("cuStreamSynchronize"), waits);
  }
  EXPECT_TRUE(allclose(y.cpu(), embedding(table_, tensor_of(std::vector<std::int64_t>{3, 1})) * 2.0));
  EXPECT_EQ(seen.to_vector<float>(), std::vector<float>(3, 201));
}

// By the next call, of whatever function, before it does anything; by each of the ways to wait.
TEST_F(CudaLateFaults, IsToldByWhateverComesNextInItsStream) {
  auto f = compile(step, {.name = "late", .late_faults = true});
  auto other = compile([](Tensor x) { x.mul_(2.0); }, {.name = "other"});
  const Tensor table = table_.to(d), good = ids({3, 1}), bad = ids({3, 11});
  Tensor seen = zeros({3}, {.device = d}), x = ones({2}, {.device = d});
  f(table, good, seen);
  const std::vector<std::function<void()>> waits = {[&] { Stream::current(d).synchronize(); }, [&] { synchronize(d); },
                                                    [&] { x.to_vector<float>(); }, [&] { x.select(0, 0).item(); },
                                                    [&] { x.cpu(); }};
  for (const auto& wait : waits) {
    f(table, bad, seen);
    late(wait, 11);
    wait();  // once
  }
  EXPECT_EQ(seen.to_vector<float>(), std::vector<float>(3, 1)) << "what was to be guarded is as it was";
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(2, 1));
  // The device says when it has got that far; until then calls go on.
  f(table, bad, seen);
  bool told = false;
  for (int n = 0; n < 20000 && !told; ++n) {
    try {
      other(x);
    } catch (const Error& e) {
      told = true;
      EXPECT_EQ(e.code(), ErrorCode::IndexOutOfRange) << e.message();
    }
  }
  EXPECT_TRUE(told);
  f(table, good, seen);
  EXPECT_EQ(seen.to_vector<float>(), std::vector<float>(3, 2));
}

TEST_F(CudaLateFaults, NoneOfSeveralIsLost) {
  auto f = compile(step, {.name = "late", .late_faults = true});
  const Tensor table = table_.to(d), good = ids({3, 1});
  Tensor seen = zeros({3}, {.device = d});
  f(table, good, seen);
  synchronize(d);
  const std::vector<std::int64_t> bad{11, -9, 8};
  std::vector<std::string> told;
  auto queue = [&](const Tensor& i) {
    for (;;) {  // one that is told of an earlier call has done nothing
      try {
        return void(f(table, i, seen));
      } catch (const Error& e) {
        told.push_back(e.message());
      }
    }
  };
  for (std::int64_t b : bad) queue(ids({3, b})), queue(good);
  for (;;) {
    try {
      Stream::current(d).synchronize();
      break;
    } catch (const Error& e) {
      told.push_back(e.message());
    }
  }
  ASSERT_EQ(told.size(), bad.size());
  for (std::size_t i = 0; i < bad.size(); ++i)
    EXPECT_NE(told[i].find("index " + std::to_string(bad[i]) + " at"), std::string::npos) << told[i];
  EXPECT_EQ(seen.to_vector<float>(), std::vector<float>(3, 4)) << "the good calls have counted";
}

TEST_F(CudaLateFaults, OutlivesItsFunction) {
  const Tensor table = table_.to(d), bad = ids({3, 11});
  Tensor seen = zeros({3}, {.device = d});
  {
    auto f = compile(step, {.name = "late", .late_faults = true});
    f(table, ids({3, 1}), seen);
    synchronize(d);
    f(table, bad, seen);
    f.reset();
  }
  late([&] { synchronize(d); }, 11);
}

TEST_F(CudaLateFaults, StreamsHaveTheirOwn) {
  auto f = compile(step, {.name = "late", .late_faults = true});
  const Tensor table = table_.to(d), bad = ids({3, 11});
  Tensor seen = zeros({3}, {.device = d}), other = ones({2}, {.device = d});
  f(table, ids({3, 1}), seen);
  synchronize(d);
  {
    const Stream s = Stream::create(d);
    const StreamGuard guard(s);
    f(table, bad, seen);
  }
  EXPECT_EQ(other.to_vector<float>(), std::vector<float>(2, 1)) << "of the default stream";
  late([&] { synchronize(d); }, 11);  // the stream is gone
  const Stream s = Stream::create(d);
  {
    const StreamGuard guard(s);
    f(table, bad, seen);
  }
  EXPECT_EQ(other.to_vector<float>(), std::vector<float>(2, 1));
  late([&] { s.synchronize(); }, 11);
}

// Not asked for, and where something stands behind the check that is not guarded: at once.
TEST_F(CudaLateFaults, OthersThrowAtOnce) {
  const Tensor table = table_.to(d), bad = ids({3, 11});
  Tensor seen = zeros({3}, {.device = d});
  auto f = compile(step, {.name = "at_once"});
  Error e = error_of([&] { f(table, bad, seen); });
  EXPECT_EQ(e.code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(e.message().find("late"), std::string::npos);
  auto host = compile(
      [](Tensor t, Tensor i, Tensor x) {
        Tensor y = embedding(t, i);
        x.copy_(lgamma(x));  // of float64, on the host
        return y;
      },
      {.name = "host", .late_faults = true});
  Tensor x = (rand({4}) + 1.0).to(kFloat64).to(d);
  const std::vector<double> before = x.to_vector<double>();
  e = error_of([&] { host(table, bad, x); });
  EXPECT_EQ(e.code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(x.to_vector<double>(), before);
  auto empty =
      compile([](Tensor t, Tensor i) { return index_select(t, 0, i) + 1.0; }, {.name = "empty", .late_faults = true});
  EXPECT_EQ(error_of([&] { empty(zeros({0, 2}, {.device = d}), ids({1})); }).code(), ErrorCode::IndexOutOfRange);
}

}  // namespace
}  // namespace reprise::test
