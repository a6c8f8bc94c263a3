#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <set>

#include "tensor/impl.h"
#include "tensor/strided.h"

namespace reprise {
namespace {

/// A view of `base`'s storage with a random dtype, sizes, strides and offset, inside `bytes`.
Tensor random_view(std::mt19937& rng, char* memory, std::int64_t bytes, int max_rank = 4, std::int64_t max_size = 4) {
  constexpr DType dtypes[] = {kInt8, kFloat16, kFloat32, kFloat64};
  for (;;) {
    DType dtype = dtypes[rng() % 4];
    int rank = static_cast<int>(rng() % static_cast<unsigned>(max_rank + 1));
    Ints sizes, strides;
    std::int64_t last = 0;
    for (int i = 0; i < rank; ++i) {
      sizes.push_back(static_cast<std::int64_t>(rng() % static_cast<unsigned>(max_size + 1)));
      strides.push_back(static_cast<std::int64_t>(rng() % 9));
      last += std::max<std::int64_t>(0, sizes[i].value() - 1) * strides[i].value();
    }
    std::int64_t need = (last + 1) * item_size(dtype);
    if (need > bytes) continue;
    std::int64_t at = static_cast<std::int64_t>(rng()) % (bytes - need + 1);
    return from_blob(memory + at, sizes, dtype, {}, strides);
  }
}

std::multiset<std::int64_t> elements(const Tensor& t) {
  std::multiset<std::int64_t> s;
  for_each_offset(*t.impl(), [&](std::int64_t at) { s.insert(at); });
  return s;
}
std::set<const char*> bytes_of(const Tensor& t) {
  std::set<const char*> s;
  for_each_offset(*t.impl(), [&](std::int64_t at) {
    for (int b = 0; b < item_size(t.dtype()); ++b) s.insert(t.impl()->data() + at * item_size(t.dtype()) + b);
  });
  return s;
}
std::string describe(const Tensor& t) {
  std::string s = std::string(dtype_name(t.dtype())) + " at " +
                  std::to_string(reinterpret_cast<std::uintptr_t>(t.impl()->data()) % 4096);
  for (int i = 0; i < t.dim(); ++i) s += " " + t.size(i).str() + ":" + t.stride(i).str();
  return s;
}

TEST(Overlap, AgreesWithByteSetsOnRandomViews) {
  std::mt19937 rng(20240611);
  std::vector<char> memory(160);
  int yes = 0, no_inside = 0;
  for (int i = 0; i < 6000; ++i) {
    Tensor a = random_view(rng, memory.data(), 160), b = random_view(rng, memory.data(), 160);
    std::set<const char*> x = bytes_of(a), y = bytes_of(b);
    bool want = false;
    for (const char* p : x) want |= y.count(p) > 0;
    ASSERT_EQ(overlaps(*a.impl(), *b.impl()), want) << describe(a) << " | " << describe(b);
    ASSERT_EQ(overlaps(*b.impl(), *a.impl()), want) << describe(a) << " | " << describe(b);
    yes += want;
    no_inside += !want && !x.empty() && !y.empty() && *x.begin() < *y.rbegin() && *y.begin() < *x.rbegin();
  }
  EXPECT_GT(yes, 500);        // the interesting cases did occur
  EXPECT_GT(no_inside, 200);  // ranges that intersect, bytes that do not
}

TEST(Overlap, ItselfAgreesWithElementSets) {
  std::mt19937 rng(7);
  std::vector<char> memory(400);
  int yes = 0, no = 0;
  for (int i = 0; i < 6000; ++i) {
    Tensor a = random_view(rng, memory.data(), 400, 4, 5);
    std::multiset<std::int64_t> all = elements(a);
    bool want = std::set<std::int64_t>(all.begin(), all.end()).size() != all.size();
    ASSERT_EQ(overlaps_itself(*a.impl()), want) << describe(a);
    (want ? yes : no)++;
  }
  EXPECT_GT(yes, 500);
  EXPECT_GT(no, 500);
}

TEST(Overlap, SlicesOfOneBufferAreDisjoint) {
  std::vector<float> memory(4096 * 64);
  float* p = memory.data();
  Tensor left = from_blob(p, {4096, 32}, kFloat32, {}, {64, 1});
  Tensor right = from_blob(p + 32, {4096, 32}, kFloat32, {}, {64, 1});
  EXPECT_FALSE(overlaps(*left.impl(), *right.impl()));
  Tensor wider = from_blob(p + 31, {4096, 32}, kFloat32, {}, {64, 1});
  EXPECT_TRUE(overlaps(*left.impl(), *wider.impl()));
  Tensor even = from_blob(p, {1000}, kFloat32, {}, {2}), odd = from_blob(p + 1, {1000}, kFloat32, {}, {2});
  EXPECT_FALSE(overlaps(*even.impl(), *odd.impl()));
  Tensor third = from_blob(p + 1, {1000}, kFloat32, {}, {3});
  EXPECT_TRUE(overlaps(*even.impl(), *third.impl()));
  Tensor transposed = from_blob(p, {32, 4096}, kFloat32, {}, {1, 64});
  EXPECT_TRUE(overlaps(*left.impl(), *transposed.impl()));
  EXPECT_FALSE(overlaps(*right.impl(), *transposed.impl()));
  Tensor expanded = from_blob(p, {8, 3}, kFloat32, {}, {0, 1});
  EXPECT_TRUE(overlaps_itself(*expanded.impl()));
  EXPECT_FALSE(overlaps_itself(*transposed.impl()));
}

TEST(Overlap, WorkIsBoundedAndErrsTowardsMay) {
  // Subset sums of awkward strides: exact search would take exponential time.
  std::vector<char> memory(std::size_t{1} << 20);
  Ints sizes, odd, other;
  for (std::int64_t s : {7919, 7907, 7901, 7883, 7879, 7877, 7873, 7867}) {
    sizes.push_back(9);
    odd.push_back(s);
    other.push_back(s + 4);
  }
  Tensor a = from_blob(memory.data(), sizes, kInt8, {}, odd), b = from_blob(memory.data() + 3, sizes, kInt8, {}, other);
  auto t0 = std::chrono::steady_clock::now();
  EXPECT_TRUE(overlaps(*a.impl(), *b.impl()));
  EXPECT_TRUE(overlaps_itself(*a.impl()));
  EXPECT_LT(std::chrono::steady_clock::now() - t0, std::chrono::milliseconds(500));
}

TEST(Overlap, StridesOfSizeOneAndEmptyTensorsDoNotCount) {
  float x[8];
  Tensor a = from_blob(x, {1, 2}, kFloat32, {}, {Int(std::int64_t{1} << 61), 1}), b = from_blob(x + 1, {2}, kFloat32);
  EXPECT_TRUE(overlaps(*a.impl(), *b.impl()));
  EXPECT_FALSE(overlaps_itself(*a.impl()));
  Tensor c = from_blob(x + 2, {2}, kFloat32), none = from_blob(x, {0, 4}, kFloat32);
  EXPECT_FALSE(overlaps(*a.impl(), *c.impl()));
  EXPECT_FALSE(overlaps(*a.impl(), *none.impl()));
}

}  // namespace
}  // namespace reprise
