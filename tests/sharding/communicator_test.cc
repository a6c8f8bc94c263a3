// Communicators by themselves: threads, and processes that talk through shared memory.
#include <csignal>
#include <cstring>
#include <numeric>
#include <thread>

#include "tests/sharding/ranks.h"
#include "tests/support/sanitized.h"

namespace reprise::test {

namespace {

/// All collectives of n elements of a rank, of ints and so exactly. Says what is wrong.
std::string wrong(Communicator& c, std::int64_t n) {
  const std::int64_t k = c.size(), r = c.rank();
  const auto count = static_cast<std::size_t>(n), rows = static_cast<std::size_t>(n * k);
  std::vector<std::int64_t> x(count), y(count), all(rows), back(rows);
  for (std::int64_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = i * 10 + r;
  c.all_reduce(x.data(), y.data(), n, kInt64);
  for (std::int64_t i = 0; i < n; ++i)
    if (y[static_cast<std::size_t>(i)] != k * i * 10 + k * (k - 1) / 2) return "all_reduce";
  c.all_gather(x.data(), all.data(), n, kInt64);
  for (std::int64_t i = 0; i < n * k; ++i)
    if (all[static_cast<std::size_t>(i)] != i % n * 10 + i / n) return "all_gather";
  for (std::int64_t i = 0; i < n * k; ++i) all[static_cast<std::size_t>(i)] = i / n * 1000000 + r * 100000 + i % n;
  c.all_to_all(all.data(), back.data(), n, kInt64);
  for (std::int64_t i = 0; i < n * k; ++i)
    if (back[static_cast<std::size_t>(i)] != r * 1000000 + i / n * 100000 + i % n) return "all_to_all";
  c.all_to_all(all.data(), all.data(), n, kInt64);
  if (all != back) return "all_to_all in place";
  c.reduce_scatter(back.data(), y.data(), n, kInt64, ReduceOp::Max);
  for (std::int64_t i = 0; i < n; ++i)
    if (y[static_cast<std::size_t>(i)] != (k - 1) * 1000000 + r * 100000 + i) return "reduce_scatter";
  c.broadcast(x.data(), x.data(), n, kInt64, static_cast<int>(k) - 1);
  for (std::int64_t i = 0; i < n; ++i)
    if (x[static_cast<std::size_t>(i)] != i * 10 + k - 1) return "broadcast";
  if (k > 1) {
    std::iota(x.begin(), x.end(), r * 1000);
    c.send_recv(x.data(), static_cast<int>((r + 1) % k), y.data(), static_cast<int>((r + k - 1) % k), n, kInt64);
    for (std::int64_t i = 0; i < n; ++i)
      if (y[static_cast<std::size_t>(i)] != (r + k - 1) % k * 1000 + i) return "send_recv";
  }
  c.barrier();
  return "";
}

void all_sizes(Communicator& c) {
  // More ranks than this machine has cores sleep much.
  for (std::int64_t n :
       c.size() > 4 ? std::vector<std::int64_t>{7, 3000} : std::vector<std::int64_t>{0, 1, 7, 3000, 40000})
    if (const std::string what = wrong(c, n); !what.empty())
      throw std::runtime_error(what + " of " + std::to_string(n) + " elements");
  if (c.size() == 4) {
    const int pair = c.rank() / 2 * 2;
    if (const std::string what = wrong(*c.group({pair, pair + 1}), 100); !what.empty()) throw std::runtime_error(what);
    if (const std::string what = wrong(*c.group({c.rank() % 2, c.rank() % 2 + 2}), 100); !what.empty())
      throw std::runtime_error(what);
  }
}

using Launch = void (*)(int, const std::function<void(Communicator&)>&, const comm::Options&);
/// Ranks as threads; as processes where nothing instruments this one.
std::vector<Launch> launches() {
  if (kSanitized) return {comm::threads};
  return {comm::threads, comm::processes};
}
std::string error_of_run(Launch launch, int n, const std::function<void(Communicator&)>& f, double timeout_s = 30) {
  try {
    launch(n, f, {.timeout_s = timeout_s});
  } catch (const Error& e) {
    return e.message();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST(Communicators, AllCollectives) {
  for (const Launch launch : launches())
    for (int n : {1, 2, 3, 4, 8}) EXPECT_EQ(error_of_run(launch, n, all_sizes), "") << n;
}

TEST(Communicators, Reductions) {
  on_ranks(3, [](Communicator& c) {
    const float nan = std::nanf(""), r = static_cast<float>(c.rank());
    const std::vector<float> x{r, -r, c.rank() == 1 ? nan : r};
    std::vector<float> y(3);
    c.all_reduce(x.data(), y.data(), 3, kFloat32, ReduceOp::Mean);
    EXPECT_EQ(y[0], 1);
    c.all_reduce(x.data(), y.data(), 3, kFloat32, ReduceOp::Max);
    EXPECT_EQ(y[0], 2);
    EXPECT_EQ(y[1], 0);
    EXPECT_TRUE(std::isnan(y[2]));
    // Half types are rounded once: 1 + 2^-11 + 2^-11 in float16.
    const Half h(c.rank() == 0 ? 1.0f : 0x1p-11f);
    Half sum;
    c.all_reduce(&h, &sum, 1, kFloat16);
    EXPECT_EQ(static_cast<float>(sum), 1 + 0x1p-10f);
    const bool b = c.rank() == 2;
    bool any = false;
    c.all_reduce(&b, &any, 1, kBool, ReduceOp::Max);
    EXPECT_TRUE(any);
  });
}

// Whatever goes wrong on a rank, none of the others hangs, and each is told.
TEST(Communicators, EndsOfRanks) {
  const auto sum = [](Communicator& c, std::int64_t n = 1) {
    std::vector<float> x(static_cast<std::size_t>(n));
    c.all_reduce(x.data(), x.data(), n, kFloat32);
  };
  struct Case {
    const char* says;
    std::function<void(Communicator&)> f;
    double timeout_s = 30;
  };
  const Case all[] = {
      {"planted",
       [&](Communicator& c) {
         if (c.rank() == 1) throw std::runtime_error("planted");
         try {
           sum(c);
         } catch (const Error& e) {
           if (e.message() != "rank 1 has ended the run: planted")
             throw std::runtime_error("another error: " + e.message());
           throw;
         }
       }},
      {"rank 1 has returned without that call", [&](Communicator& c) { c.rank() == 1 ? void() : sum(c); }},
      {"rank 1 has not come to that call in 0.2 s",
       [&](Communicator& c) {
         if (c.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(600));
         sum(c);
       },
       0.2},
      {"ranks call different collectives: rank 0 calls all_reduce of 1 float32, sum (",
       [&](Communicator& c) { sum(c, c.rank() == 2 ? 2 : 1); }},
      {"rank 2 calls barrier (", [&](Communicator& c) { c.rank() == 2 ? c.barrier() : sum(c); }},
      {"ranks differ in what is sent: rank 1 calls send_recv of 2 float32",
       [&](Communicator& c) {
         float x[3] = {};
         if (c.rank() == 1) c.send(x, 2, kFloat32, 0);
         if (c.rank() == 0) c.recv(x, 3, kFloat32, 1);
         c.barrier();
       }},
      {"said so", [&](Communicator& c) { c.rank() == 1 ? c.abort("said so") : sum(c); }},
  };
  for (const Launch launch : launches())
    for (const Case& k : all) {
      const std::string what = error_of_run(launch, 3, k.f, k.timeout_s);
      EXPECT_NE(what.find(k.says), std::string::npos) << what;
    }
  if (kSanitized) return;
  const std::string killed = error_of_run(comm::processes, 3, [&](Communicator& c) {
    if (c.rank() == 1) std::raise(SIGKILL);
    sum(c);
  });
  EXPECT_NE(killed.find("rank 1"), std::string::npos) << killed;
}

// A different call is an error of that call alone: the ranks may go on together.
TEST(Communicators, GoOnAfterDifferentCalls) {
  on_ranks(3, [](Communicator& c) {
    std::vector<float> x(8, 1.0f);
    std::string what;
    try {
      c.all_reduce(x.data(), x.data(), 1 + c.rank(), kFloat32);
    } catch (const Error& e) {
      what = e.message();
    }
    EXPECT_NE(what.find("rank 1 calls all_reduce of 2 float32, sum"), std::string::npos) << what;
    EXPECT_EQ(wrong(c, 100), "");
  });
}

TEST(Communicators, BadCalls) {
  const char* const says[] = {"root 5 in a group of 2 ranks", "sends to itself",
                              "no mean of int32 elements",    "a null address for 3 elements",
                              "ranks 1 and 0 do not ascend",  "-1 elements"};
  on_ranks(2, [&](Communicator& c) {
    float x[4] = {};
    const std::function<void()> calls[] = {[&] { c.broadcast(x, x, 1, kFloat32, 5); },
                                           [&] { c.send(x, 1, kFloat32, c.rank()); },
                                           [&] { c.all_reduce(x, x, 1, kInt32, ReduceOp::Mean); },
                                           [&] { c.all_reduce(nullptr, x, 3, kFloat32); },
                                           [&] {
                                             c.group({1, 0});
                                           },
                                           [&] { c.all_reduce(x, x, -1, kFloat32); }};
    for (std::size_t i = 0; i < std::size(calls); ++i) {
      std::string what;
      try {
        calls[i]();
      } catch (const Error& e) {
        what = e.message();
      }
      EXPECT_NE(what.find(says[i]), std::string::npos) << what;
    }
  });
  EXPECT_EQ(comm::world()->size(), 1);
  EXPECT_STREQ(comm::world()->backend(), "alone");
  EXPECT_EQ(wrong(*comm::world(), 10), "");
}

}  // namespace reprise::test
