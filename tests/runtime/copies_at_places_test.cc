// Copies of kernels that write at computed places: they lie over what they change.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tests/runtime/copies.h"

namespace reprise::test {
namespace {

// Kernels that write at computed places lie over what they change: an argument, a part of one, an intermediate.
TEST(Copies, AtComputedPlaces) {
  auto make = [](std::int64_t n) { return std::vector{random_of({3, n, 4}), (arange(2) + 3), random_of({2, 4})}; };
  Program argument = [](std::vector<Tensor> a, Int) {
    a[0].index_copy_(1, a[1], a[2].unsqueeze(0).expand({3, 2, 4}));
    return std::vector{a[0].sum(0)};
  };
  Program part = [](std::vector<Tensor> a, Int) {
    a[0][1].index_copy_(0, a[1], a[2]);
    return std::vector{a[0].sum(0)};
  };
  Program intermediate = [](std::vector<Tensor> a, Int) {
    Tensor t = a[0][0].matmul(a[0][1].t());
    t.index_copy_(0, a[1], t.slice(0, 0, 2) * 2.0);
    return std::vector{t};
  };
  Program part_of_an_intermediate = [](std::vector<Tensor> a, Int) {
    Tensor t = a[0] * 2.0;
    t[1].index_copy_(0, a[1], a[2]);
    t[2].index_add_(0, a[1], a[2]);
    return std::vector{t, t.sum(-1)};
  };
  // Of one part twice, of another one, and of all of it: what one lookup finds wrong, another has not written.
  Program several = [](std::vector<Tensor> a, Int) {
    Tensor x = a[0];
    x[0].index_copy_(0, a[1], a[2]);
    x[0].index_add_(0, a[1] - 1, a[2] * 3.0);
    x[2].scatter_(0, a[1].unsqueeze(1).expand({2, 4}), a[2] + 1.0);
    x.index_add_(1, a[1], (a[2] * 0.5).unsqueeze(0).expand({3, 2, 4}));
    x.index_copy_(1, a[1] - 2, a[2].unsqueeze(0).expand({3, 2, 4}));
    return std::vector{x.sum(-1)};
  };
  // What decays, or is scaled, around the update.
  Program scaled = [](std::vector<Tensor> a, Int) {
    Tensor x = a[0];
    x.mul_(0.5);
    x.index_add_(1, a[1], a[2].unsqueeze(0).expand({3, 2, 4}));
    x.add_(1.0);
    x.index_add_(1, a[1] - 1, a[2].unsqueeze(0).expand({3, 2, 4}));
    return std::vector{x.sum(-1)};
  };
  Program scaled_part = [](std::vector<Tensor> a, Int) {
    Tensor x = a[0][1], y = a[0] * 3.0;
    x.mul_(0.5);
    x.index_add_(0, a[1], a[2]);
    x.add_(1.0);
    y[1].index_add_(0, a[1], a[2]);
    y[1].mul_(2.0);
    return std::vector{a[0].sum(-1), y};
  };
  // From beside the part: what is read there would have to be known to be apart from it.
  Program beside = [](std::vector<Tensor> a, Int) {
    a[0][1].index_add_(0, a[1], a[0][0].slice(0, 0, 2));
    return std::vector{a[0].sum(-1)};
  };
  Program beside_twice = [](std::vector<Tensor> a, Int) {
    a[0][1].index_add_(0, a[1], a[2]);
    a[0][2].index_add_(0, a[1], a[0][1].slice(0, 0, 2));
    return std::vector{a[0].sum(-1)};
  };
  expect_copied("beside", beside, make, {0}, 2 * 6 * 4 * 4);
  expect_copied("beside_twice", beside_twice, make, {0}, 2 * 6 * 4 * 4);
  expect_copied("scaled", scaled, make, {0});
  expect_copied("scaled_part", scaled_part, make, {0});
  expect_copied("at_places", argument, make, {0});
  expect_copied("at_places_of_a_part", part, make, {0});
  expect_copied("at_places_of_an_intermediate", intermediate, make, {0});
  expect_copied("at_places_of_a_part_of_an_intermediate", part_of_an_intermediate, make, {0});
  expect_copied("at_several_places", several, make, {0});
}

// What reads the old values, of the part and of all around it, before and after; and a lookup that fails leaves
// everything as it was.
TEST(Copies, WritesAtComputedPlacesKeepTheirOrder) {
  using Body = std::function<std::vector<Tensor>(std::vector<Tensor>)>;
  const std::pair<const char*, Body> bodies[] = {
      {"reads around",
       [](std::vector<Tensor> a) {
         Tensor x = a[0], before = x.sum(0), part = x[1] * 2.0;
         x[1].index_add_(0, a[1], x[0].slice(0, 0, 2));
         Tensor between = x[1] + part;
         x[0].index_copy_(0, a[2], x[1].slice(0, 1, 3) + x[0].slice(0, 0, 2));
         return std::vector{before, between, x.mean(0)};
       }},
      {"rows of itself",
       [](std::vector<Tensor> a) {
         a[0][1].index_copy_(0, a[1], a[0][1].slice(0, 0, 2));
         a[0][1].index_add_(0, a[2], a[0][1].slice(0, 1, 3));
         return std::vector{a[0] + 0.0};
       }},
      {"the old part lives on",
       [](std::vector<Tensor> a) {
         Tensor y = a[0] * 3.0, z = y[1].index_copy(0, a[1], a[3]);
         y[1].index_copy_(0, a[2], a[3] * 2.0);
         return std::vector{y, z, y[1] - z};
       }},
      {"two values of one",
       [](std::vector<Tensor> a) {
         Tensor y = a[0][0].matmul(a[0][1].t()).matmul(a[0][2]), z = y.index_add(0, a[1], a[3]),
                w = y.index_copy(0, a[2], a[3]);
         return std::vector{z, w, y};
       }},
      {"through a transposed view",
       [](std::vector<Tensor> a) {
         a[0].transpose(0, 1).select(1, 1).index_copy_(0, a[1], a[3]);
         a[0].select(2, 1).index_copy_(
             1, a[2],
             a[3].slice(1, 0, 2).t().slice(0, 0, 2).slice(1, 0, 2).expand({2, 2}).sum(0).unsqueeze(0).expand({3, 2}));
         return std::vector{a[0].sum(1)};
       }},
      {"the indices are written, too",
       [](std::vector<Tensor> a) {
         a[0][0].index_copy_(0, a[1], a[3]);
         a[1].add_(1);
         a[0][0].index_add_(0, a[1], a[3]);
         a[1].index_copy_(0, a[1] * 0, a[2].slice(0, 0, 1).expand({2}));
         a[0][2].index_copy_(0, a[1], a[3]);
         return std::vector{a[0].sum(2)};
       }},
      {"scaled between",
       [](std::vector<Tensor> a) {
         Tensor x = a[0], p = x[1], old = x * 2.0;
         p.mul_(0.5);
         Tensor halved = x[1].t() + 0.0, first = x.select(1, 0) * 1.0;
         p.index_add_(0, a[1], a[3]);
         Tensor added = p * 1.0;
         p.mul_(p.slice(0, 0, 1)), p.add_(x[0]);
         p.index_copy_(0, a[2], p.slice(0, 1, 3));
         x.mul_(0.25);
         x.index_add_(1, a[1], x.slice(1, 0, 2) * 2.0);
         x.sub_(x[2]);
         return std::vector{old, halved, first, added, x.sum(1), p + 0.0};
       }},
      {"scaled by what it was",
       [](std::vector<Tensor> a) {
         Tensor x = a[0], y = x + 0.5;
         x.mul_(x.sum());
         x.index_add_(1, a[1], a[3].unsqueeze(0).expand({3, 2, 4}));
         x.mul_(x.transpose(1, 2).sum(1).unsqueeze(2)).clamp_(-5.0, 5.0);
         y.mul_(2.0);
         Tensor z = y * 1.5;
         y.index_add_(1, a[2], a[3].unsqueeze(0).expand({3, 2, 4}));
         y.sub_(z).mul_(y);
         return std::vector{y, z, x.mean(0)};
       }},
      {"a view of it stays",
       [](std::vector<Tensor> a) {
         Tensor y = a[0] + 1.0, p = y[1], q = p.t();
         p.index_copy_(0, a[1], a[3]);
         q.mul_(2.0);
         p.index_add_(0, a[2], a[3]);
         return std::vector{y, p, q, q.sum(0)};
       }},
  };
  auto indices = [](std::int64_t i, std::int64_t j) { return arange(2) * (j - i) + i; };
  for (const auto& [name, body] : bodies) {
    SCOPED_TRACE(name);
    auto f = compile(body, {.name = name});
    for (std::int64_t n : {5, 7, 5}) {
      for (auto [i, j] : {std::pair<std::int64_t, std::int64_t>{0, 2}, {3, 1}, {1, n - 2}, {2, n}, {n + 3, 0}}) {
        for (bool first : {true, false}) {  // which lookup it is
          std::vector<Tensor> a{(arange(0, 12 * n, 1, {.dtype = kFloat32}) * 0.25).view({3, n, 4}),
                                first ? indices(i, j) : indices(1, 3), first ? indices(0, 2) : indices(i, j),
                                randn({2, 4})};
          std::vector<Tensor> b, old;
          for (const Tensor& t : a) b.push_back(t.clone()), old.push_back(t.clone());
          std::optional<ErrorCode> got_error, want_error;
          std::vector<Tensor> got, want;
          try {
            want = body(b);
          } catch (const Error& e) {
            want_error = e.code();
          }
          try {
            got = f(a);
          } catch (const Error& e) {
            got_error = e.code();
          }
          ASSERT_EQ(got_error, want_error) << n << " " << i << " " << j;
          for (std::size_t k = 0; k < a.size(); ++k)
            EXPECT_TRUE(want_error ? equal(a[k], old[k]) : allclose(a[k], b[k], 1e-5, 1e-5))
                << "argument " << k << ", n " << n << ": " << i << ", " << j;
          for (std::size_t k = 0; k < want.size() && !want_error; ++k)
            EXPECT_TRUE(allclose(got[k], want[k], 1e-5, 1e-5))
                << "result " << k << ", n " << n << ": " << i << ", " << j;
          // what is written later shows where it does eagerly
          for (std::size_t k = 0; k < want.size() && !want_error; ++k) {
            got[k].add_(1.0), want[k].add_(1.0);
            for (std::size_t l = 0; l < want.size(); ++l)
              EXPECT_TRUE(allclose(got[l], want[l], 1e-5, 1e-5)) << "result " << l << " after a write to " << k;
            for (std::size_t l = 0; l < a.size(); ++l)
              EXPECT_TRUE(allclose(a[l], b[l], 1e-5, 1e-5)) << "argument " << l << " after a write to " << k;
          }
        }
      }
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  }
}

}  // namespace
}  // namespace reprise::test
