// A warm call allocates nothing but its result. This executable counts every operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "reprise/reprise.h"

namespace {
std::atomic<long> g_news{0};
}

// gcc sees the free() of the replaced delete beside a new that it still takes for the library's.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(std::size_t n) {
  g_news.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(n ? n : 1)) return p;
  throw std::bad_alloc();
}
void* operator new[](std::size_t n) { return operator new(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace reprise {
namespace {

template <class F>
double per_call(F&& f) {
  for (int i = 0; i < 200; ++i) f();
  long before = g_news.load();
  for (int i = 0; i < 1000; ++i) f();
  return static_cast<double>(g_news.load() - before) / 1000;
}

TEST(Allocations, AWarmCallMakesItsResultAndNothingElse) {
  Tensor x = ones({16});
  double result = per_call([&] { Tensor t = x.slice(0, 0, 4); });  // a handle's impl, its storage shared
  auto f = compile([](Tensor t) { return t + 1; }, {.name = "x_plus_1"});
  double call = per_call([&] { f(x); });
  // A result is an impl and a storage (its bytes come from the caching allocator).
  EXPECT_LE(call, 2.0) << "a view alone takes " << result;
}

TEST(Allocations, AnEagerCallMakesItsResultAndLittleElse) {
  Tensor x = ones({16}), y = ones({16}), flat = ones({4, 6, 8}), turned = flat.transpose(0, 1);
  EXPECT_LE(per_call([&] { x + y; }), 2.0);
  // the handle's impl, and the list of the rule's arguments
  EXPECT_LE(per_call([&] { flat.reshape({24, 8}); }), 2.0);
  EXPECT_LE(per_call([&] { turned.reshape({6, 32}); }), 4.0);  // a copy, and a view of it
}

TEST(Allocations, AWriteInPlaceAllocatesNothing) {
  auto f = compile([](Tensor t, Tensor u) { t.add_(u); }, {.name = "in_place"});
  Tensor t = zeros({16}), u = ones({16});
  EXPECT_EQ(per_call([&] { f(t, u); }), 0.0);
}

TEST(Allocations, ANewSizeAllocatesNothingForEachKernel) {
  auto f = compile(
      [](Tensor x, Tensor w) {
        for (int i = 0; i < 20; ++i) x = relu(mm(x, w));
        return x;
      },
      {.name = "new_size", .recordings_max = 4});
  Tensor w = zeros({8, 8});
  std::vector<Tensor> all;
  for (int i = 0; i < 64; ++i) all.push_back(ones({2 + i, 8}));
  std::size_t next = 0;
  EXPECT_LE(per_call([&] { f(all[next++ % all.size()], w); }), 16.0);  // forty kernels and as many temporaries
}

TEST(Allocations, ManyArgumentsAllocateNoMore) {
  auto f =
      compile([](const std::vector<Tensor>& t, Int n) { return t.front() * Scalar(n) + t.back(); }, {.name = "many"});
  std::vector<Tensor> args;
  for (int i = 0; i < 32; ++i) args.push_back(ones({4, 4}));
  EXPECT_LE(per_call([&] { f(args, 3); }), 2.0);
}

}  // namespace
}  // namespace reprise
