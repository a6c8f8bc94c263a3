// Every allocation of the library may fail: that is one exception, nothing is lost or half done, and the same call
// works when there is memory again. This executable's own operator new, aligned_alloc, mmap and mprotect fail when they
// are told to. LLVM's allocations are left out: it is built without exceptions (jit/engine/in_llvm.h).
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "device/host_memory.h"
#include "jit/engine/in_llvm.h"
#include "reprise/reprise.h"
#include "reprise/safetensors.h"
#include "tests/support/sanitized.h"

namespace {

constinit thread_local long t_left = -1;  // allocations that still succeed; -1: all
constinit thread_local bool t_failed = false;
constinit std::atomic<long> g_live{0};  // blocks of operator new

bool fails() {
  if (t_left < 0 || reprise::jit::InLlvm::here()) return false;
  if (t_left-- > 0) return false;
  t_failed = true;  // one alone (t_left is -1 now)
  return true;
}

}  // namespace

#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace {
void* counted(void* p) {
  if (!p) throw std::bad_alloc();
  g_live.fetch_add(1, std::memory_order_relaxed);
  return p;
}
void uncounted(void* p) {
  if (p) g_live.fetch_sub(1, std::memory_order_relaxed);
  std::free(p);
}
}  // namespace

void* operator new(std::size_t n) { return counted(fails() ? nullptr : std::malloc(n ? n : 1)); }
void* operator new(std::size_t n, std::align_val_t a) {
  return counted(fails() ? nullptr : memalign(static_cast<std::size_t>(a), n ? n : 1));
}
void* operator new[](std::size_t n) { return operator new(n); }
void operator delete(void* p) noexcept { uncounted(p); }
void operator delete[](void* p) noexcept { uncounted(p); }
void operator delete(void* p, std::size_t) noexcept { uncounted(p); }
void operator delete[](void* p, std::size_t) noexcept { uncounted(p); }
void operator delete(void* p, std::align_val_t) noexcept { uncounted(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { uncounted(p); }

extern "C" {
void* aligned_alloc(std::size_t a, std::size_t n) noexcept { return fails() ? nullptr : memalign(a, n); }
void* mmap(void* at, std::size_t n, int protection, int flags, int file, off_t offset) noexcept {
  if (fails()) return errno = ENOMEM, MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, n, protection, flags, file, offset));
}
int mprotect(void* at, std::size_t n, int protection) noexcept {
  if (fails()) return errno = ENOMEM, -1;
  return static_cast<int>(syscall(SYS_mprotect, at, n, protection));
}
}

namespace reprise {
namespace {

using test::kSanitized;

/// Calls f with the n-th allocation failing. `failed`: it came to that; then f must have thrown.
struct Outcome {
  bool failed, threw;
  std::string what;
};
template <class F>
Outcome with_failure(long n, F&& f) {
  Outcome o{false, false, ""};
  t_failed = false;
  t_left = n;
  try {
    f();
  } catch (const std::bad_alloc&) {
    o.threw = true;
  } catch (const Error& e) {
    o.threw = true;
    t_left = -1;
    // Io: a file cannot be mapped
    if (e.code() != ErrorCode::OutOfMemory && e.code() != ErrorCode::Io) o.what = e.what();
  }
  t_left = -1;
  o.failed = t_failed;
  return o;
}

/// How far apart the failures stand that are tried: all of the first ones, then fewer and fewer. REPRISE_TEST_EVERY=1:
/// all.
long next_failure(long n) {
  static const bool all = std::getenv("REPRISE_TEST_EVERY");
  return all || n < 60 ? n + 1 : n + 1 + n / 29;
}

/// `call` with each of its allocations failing in turn. After each failure `check` must hold: the same call again, and
/// its result. `leaves_nothing`: calls and checks keep nothing but caches that are full after twenty of them.
template <class Call, class Check>
void every_failure(const char* what, Call&& call, Check&& check, bool leaves_nothing = true) {
  if (kSanitized) return;
  long n = 0, live = 0;
  std::int64_t bytes = 0;
  for (bool failed = true; failed; n = next_failure(n)) {
    if (n == 20) live = g_live, bytes = stats().result_bytes_live;
    const Outcome o = with_failure(n, call);
    failed = o.failed;
    ASSERT_EQ(o.what, "") << what << ", allocation " << n;
    ASSERT_NO_THROW(ASSERT_TRUE(check()) << what << ", after allocation " << n << " failed")
        << what << ", after allocation " << n << " failed";
  }
  EXPECT_GT(n, 1) << what << " allocates nothing";
  if (leaves_nothing && n > 20) {
    EXPECT_LT(g_live - live, 8) << what << ": blocks are lost";
    EXPECT_EQ(stats().result_bytes_live, bytes) << what;
  }
}

bool is(const Tensor& t, std::int64_t n, float value) {
  const std::vector<float> v = t.to_vector<float>();
  return v == std::vector<float>(static_cast<std::size_t>(n), value);
}

TEST(Exhaustion, AnEagerCallOfAKindThatIsThere) {
  Tensor x = ones({4});
  ASSERT_TRUE(is(x * 2 + 1, 4, 3));
  every_failure(
      "eager", [&] { x * 2 + 1; }, [&] { return is(x * 2 + 1, 4, 3); });
}

TEST(Exhaustion, TheFirstEagerCallOfAKind) {
  // The kinds differ in their strides; the code is known but for the first.
  int pattern = 0;
  auto view = [&] {
    Ints strides;
    for (int d = 0, p = pattern; d < 7; ++d, p /= 3) strides.push_back(p % 3 == 2 ? 3 : p % 3);
    return full({24}, 2.0).as_strided({2, 2, 2, 2, 2, 2, 2}, strides);
  };
  every_failure(
      "eager, new",
      [&] {
        ++pattern;
        view().sum();
      },
      [&] { return view().sum().item().to_double() == 256; }, false);
}

TEST(Exhaustion, TraceAndCompile) {
  Tensor w = full({4, 4}, 0.5);
  auto body = [w](Tensor x, Int n, Tensor cache) {
    Tensor y = softmax(mm(x, w) + 1, -1) * Scalar(n);
    cache.slice(0, 0, x.size(0)).copy_(y);
    return std::pair<Tensor, Tensor>(y.sum(-1, true), cache.slice(0, 0, 1));
  };
  body(ones({3, 4}), 8, zeros({9, 4}));  // its operators, which serve a call whose trace fails, are made once and kept
  auto f = compile(body, {.name = "fails"});
  auto call = [&] {
    Tensor cache = zeros({9, 4});
    auto [sum, first] = f(ones({3, 4}), 8, cache);
    return is(sum, 3, 8) && is(first, 4, 2) && is(cache.slice(0, 2, 3), 4, 2) && is(cache.slice(0, 3, 9), 24, 0);
  };
  ASSERT_TRUE(call());
  std::int64_t compiled = 0;
  every_failure(
      "compile", [&] { f.reset(), call(); },
      [&] {
        const bool right = call();
        compiled += f.stats().compilations;
        return right && f.stats().specializations == 1 && f.stats().eager_fallbacks <= 1;
      });
  EXPECT_GT(compiled, 0);
}

TEST(Exhaustion, AnEagerWrite) {
  Tensor x = zeros({2, 3});
  x.slice(1, 0, 2).add_(1);
  float through = 1;
  auto right = [&] { return is(x.slice(1, 0, 2).contiguous(), 4, through) && is(x.slice(1, 2, 3).contiguous(), 2, 0); };
  ASSERT_TRUE(right());
  every_failure(
      "eager write", [&] { x.slice(1, 0, 2).add_(1), ++through; }, right);
}

TEST(Exhaustion, AWarmCall) {
  auto f = compile(
      [](Tensor x, Tensor y) {
        y.add_(1);
        return mm(mm(x, x), x) * 2;
      },
      {.name = "warm"});
  Tensor x = full({2, 2}, 1.0), y = zeros({3});
  ASSERT_TRUE(is(f(x, y), 4, 8));
  // A call that fails has written nothing: the argument counts those that were through.
  float through = 1;
  every_failure(
      "warm", [&] { f(x, y), ++through; },
      [&] { return is(y, 3, through) && is(f(x, y), 4, 8) && is(y, 3, ++through); });
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Exhaustion, WhatAnEpilogueDoes) {
  // Sizes and strides of an argument, one that becomes shorter and longer, one that is written by place, results that
  // are views.
  auto f = compile(
      [](Tensor x, Tensor y, Tensor z) {
        x.t_();
        y.resize_({9 - y.size(0)});
        y.fill_(Scalar(y.size(0)));
        z.t().add_(1);
        z.as_strided({4}, {1}, 1).add_(0);
        return std::pair<Tensor, Tensor>(z.select(0, 1), x.slice(0, 0, 1));
      },
      {.name = "epilogue"});
  Tensor x = zeros({2, 3}), y = zeros({5}), z = zeros({2, 3});
  int through = 0;
  auto as_it_was = [&] {
    const bool odd = through % 2 == 1;
    const std::int64_t n = odd ? 4 : 5;
    return x.size(0).value() == (odd ? 3 : 2) && y.size(0).value() == n &&
           (through == 0 || is(y, n, static_cast<float>(n))) && is(z.contiguous(), 6, static_cast<float>(through));
  };
  auto call = [&] {
    auto [row, first] = f(x, y, z);
    ++through;
    return is(row, 3, static_cast<float>(through)) && first.shares_storage_with(x);
  };
  for (int k = 0; k < 4; ++k) ASSERT_TRUE(call());
  every_failure(
      "epilogue", [&] { call(); }, [&] { return as_it_was() && call() && as_it_was(); });
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Exhaustion, AnErrorThatTheFunctionCatches) {
  auto f = compile(
      [](Tensor x, Tensor i) {
        x.add_(1);
        try {
          return x.index_select(0, i) + 0;
        } catch (const Error& e) {
          if (e.code() == ErrorCode::OutOfMemory) throw;
          return x * 0;
        }
      },
      {.name = "catches"});
  Tensor x = zeros({4}), fine = zeros({2}, {.dtype = kInt64}), bad = full({2}, 7, {.dtype = kInt64});
  float through = 0;
  auto right = [&] { return is(x, 4, through); };
  f(x, fine), f(x, bad), through = 2;
  auto catching = [&](bool leaves_nothing) {
    every_failure(
        "catches", [&] { f(x, bad), ++through; }, [&] { return right() && (f(x, bad), ++through, right()); },
        leaves_nothing);
  };
  catching(false);  // kinds of eager calls that were not begun anew after a failure come to be
  catching(true);
  every_failure(
      "does not catch", [&] { f(x, fine), ++through; }, [&] { return right() && (f(x, fine), ++through, right()); });
}

TEST(Exhaustion, ANewSize) {
  auto f = compile([](Tensor x) { return mm(mm(x, x.t()), x).sum(0) + 1; }, {.name = "sizes", .recordings_max = 3});
  std::int64_t n = 2;
  auto right = [&] { return is(f(ones({n, 2})), 2, static_cast<float>(2 * n * n + 1)); };
  for (int k = 0; k < 64; ++k, ++n) ASSERT_TRUE(right());  // caches of sizes are full then
  every_failure(
      "new size", [&] { ++n, right(); }, right);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_LE(f.stats().recordings, 3);
}

TEST(Exhaustion, MemoryOfAnewPool) {
  auto f = compile([](Tensor x, Tensor w) { return mm(mm(x, w), w); }, {.name = "pool"});
  Tensor w = full({64, 64}, 0.5), x = ones({16, 64});
  auto right = [&] { return is(f(x, w), 16 * 64, 1024); };
  ASSERT_TRUE(right());
  every_failure(
      "pool", [&] { release_pool(), device::host_trim(), right(); }, right);
}

TEST(Exhaustion, LoadingAndSavingFiles) {
  const std::string path = testing::TempDir() + "exhaustion_" + std::to_string(getpid()) + ".safetensors";
  std::map<std::string, Tensor> tensors{{"a", full({3}, 2.0)}, {"b.weight", ones({2, 2})}};
  auto load = [&] { return load_safetensors(path).at("b.weight"); };
  save_safetensors(path, tensors);
  every_failure(
      "load", [&] { load(); }, [&] { return is(load(), 4, 1); });
  every_failure(
      "save", [&] { save_safetensors(path, tensors); }, [&] { return is(load(), 4, 1); });
  std::remove(path.c_str());
}

TEST(Exhaustion, PrintingAndExplaining) {
  auto f = compile([](Tensor x) { return x + 1; });
  Tensor x = ones({3});
  f(x);
  const std::string text = x.str();
  every_failure(
      "print", [&] { x.str(), f.explain(), f.stats(); }, [&] { return x.str() == text && f.explain().size() > 100; });
}

// What is made once in a process: each failure in a child of its own, forked before the library has done anything.
TEST(AaFirst, TheVeryFirstCall) {
  if (kSanitized) GTEST_SKIP();
  bool failed = true;
  long tried = 0;
  for (long n = 0; failed && n < 100'000; n += n < 30 ? 1 : n / 6, ++tried) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      auto f = compile([](Tensor x) { return x * 2 + x.sum(); }, {.name = "first"});
      const Outcome o = with_failure(n, [&] { f(ones({4})); });
      const bool right = is(f(ones({4})), 4, 6) && is(f(ones({5})), 5, 7) && f.stats().compilations == 1;
      if (!o.what.empty()) std::fprintf(stderr, "allocation %ld: %s\n", n, o.what.c_str());
      _exit(!right ? 1 : !o.what.empty() ? 2 : o.failed ? 0 : 3);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "allocation " << n << ": signal " << WTERMSIG(status);
    failed = WEXITSTATUS(status) != 3;
    EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3)
        << "allocation " << n << ": " << WEXITSTATUS(status);
  }
  EXPECT_GT(tried, 40);
}

}  // namespace
}  // namespace reprise
