// Captured variables: a compiled function sees at every call what the function would see in them.
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reprise/reprise.h"
#include "tensor/variable.h"
#include "tests/support/element.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

TEST(Variable, FollowsItsHandle) {
  Tensor a = ones({1}), b = zeros({1});
  auto handle = std::make_unique<Tensor>(a);
  std::shared_ptr<Variable> v = watch(*handle);
  EXPECT_EQ(watch(*handle), v);
  EXPECT_NE(watch(a), v);
  *handle = b;
  EXPECT_EQ(v->value(), b.impl());
  std::swap(*handle, a);
  EXPECT_TRUE(handle->is_same(Tensor::share(v->value())));
  EXPECT_TRUE(a.is_same(b));
  Tensor taken = std::move(*handle);
  EXPECT_EQ(v->value(), nullptr);
  EXPECT_FALSE(v->is_gone());
  *handle = taken;
  EXPECT_EQ(v->value(), taken.impl());
  auto elsewhere = std::make_unique<Tensor>(std::move(*handle));
  EXPECT_EQ(v->value(), nullptr);
  handle.reset();  // while it holds nothing
  EXPECT_TRUE(v->is_gone());
  v = watch(*elsewhere);
  elsewhere.reset();
  EXPECT_TRUE(v->is_gone());
  EXPECT_EQ(v->value(), nullptr);
}

TEST(Variable, IsForgottenWithItsLastWatcher) {
  Tensor a = ones({1});
  EXPECT_EQ(a.impl()->variables.load(), nullptr);
  std::shared_ptr<Variable> v = watch(a), w = watch(Tensor(a));
  EXPECT_TRUE(w->is_gone());
  EXPECT_EQ(a.impl()->variables.load(), v.get());
  v.reset();
  EXPECT_EQ(a.impl()->variables.load(), nullptr);
}

TEST(CapturedVariable, BuffersThatChangePlaces) {
  Tensor now = tensor({1.0, 2.0}), next = zeros({2});
  auto step = compile([&](Tensor x) {
    next.copy_(now * 2.0 + x);
    return next.sum();
  });
  float a = 1, b = 2;
  for (int i = 0; i < 6; ++i) {
    a = 2 * a + 1, b = 2 * b + 1;
    EXPECT_EQ(step(ones({2})).item<float>(), a + b) << i;
    std::swap(now, next);
  }
  EXPECT_EQ(step.stats().compilations, 1);
  EXPECT_EQ(step.stats().eager_fallbacks, 0);
  EXPECT_EQ(step.stats().copied_bytes, 0);
}

struct Layer {
  Tensor w;
  std::optional<Tensor> bias;
};
struct Net {
  std::vector<Layer> layers;
  std::unordered_map<std::string, Tensor> extra;
  Tensor operator()(Tensor x) const {
    for (const Layer& l : layers) {
      Tensor w = l.w;  // a copy: what counts is where it came from
      x = x * w;
      if (l.bias) x = x + *l.bias;
    }
    return cat({x, extra.at("tail")});
  }
};

TEST(CapturedVariable, OtherWeightsWhileSomebodyHoldsTheOldOnes) {
  Net net{{{full({2}, 2.0), full({2}, 1.0)}, {full({2}, 3.0), std::nullopt}}, {{"tail", ones({1})}}};
  const Net first = net,
            second{{{full({2}, 5.0), full({2}, 0.0)}, {full({2}, 7.0), std::nullopt}}, {{"tail", zeros({1})}}};
  auto f = compile([&](Tensor x) { return net(x); });
  for (int i = 0; i < 6; ++i) {
    net.layers[0] = (i % 2 ? second : first).layers[0];
    net.layers[1].w = (i % 3 ? second : first).layers[1].w;
    if (i == 4) net.extra["tail"] = second.extra.at("tail");
    EXPECT_TRUE(equal(f(ones({2})), net(ones({2})))) << i;
  }
  EXPECT_EQ(f.stats().compilations, 1);
  net.layers[1].w = full({2}, 7.0, {.dtype = kFloat64});  // of another structure
  EXPECT_TRUE(equal(f(ones({2})), net(ones({2}))));
  EXPECT_EQ(f.stats().compilations, 2);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(CapturedVariable, TwoThatHoldOneTensor) {
  Tensor a = ones({2}), b = a;
  auto f = compile([&](Tensor x) { return x * a + b * 10.0; });
  EXPECT_EQ(at(f(ones({2})), 0), 11);
  b = full({2}, 2.0);
  EXPECT_EQ(at(f(ones({2})), 0), 21);
  a = b;
  EXPECT_EQ(at(f(ones({2})), 0), 22);
  a = b = full({2}, 3.0);
  EXPECT_EQ(at(f(ones({2})), 0), 33);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(CapturedVariable, ThatIsReplacedByAnotherVariable) {
  auto net = std::make_unique<Layer>(Layer{full({1}, 2.0), {}});
  auto f = compile([&](Tensor x) { return x * net->w; });
  EXPECT_EQ(at(f(ones({1})), 0), 2);
  Tensor held = net->w;
  net = std::make_unique<Layer>(Layer{full({1}, 3.0), {}});
  EXPECT_EQ(at(f(ones({1})), 0), 3);
  std::vector<Tensor> all{full({1}, 2.0)};
  auto g = compile([&](Tensor x) { return x * all.back(); });
  EXPECT_EQ(at(g(ones({1})), 0), 2);
  std::vector<Tensor> kept = all;
  all.pop_back();
  all.push_back(full({1}, 5.0));
  EXPECT_EQ(at(g(ones({1})), 0), 5);
}

TEST(CapturedVariable, IsNotKeptAlive) {
  int freed = 0;
  static float bytes[2] = {1, 2};
  Tensor w = from_blob(bytes, {2}, kFloat32, [&](void*) { ++freed; });
  auto f = compile([&](Tensor x) { return x * w; });
  EXPECT_EQ(at(f(ones({2})), 1), 2);
  w = ones({2});
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(at(f(ones({2})), 1), 1);
  w = Tensor();
  EXPECT_EQ(error_of([&] { f(ones({2})); }).code(), ErrorCode::InvalidArgument);
  w = full({2}, 4.0);
  EXPECT_EQ(at(f(ones({2})), 1), 4);
}

TEST(CapturedVariable, GivenBackAsItIs) {
  Tensor w = ones({2});
  auto f = compile([&](Tensor x) {
    std::vector<Tensor> all(2);
    all[0] = w;
    all[1] = x + w;
    return all;
  });
  for (int i = 0; i < 3; ++i) {
    w = full({2}, static_cast<double>(i));
    std::vector<Tensor> got = f(ones({2}));
    EXPECT_TRUE(got[0].shares_storage_with(w));
    EXPECT_EQ(at(got[1], 0), 1.0f + static_cast<float>(i));
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(CapturedVariable, OfCopiesOfOneCompiledFunction) {
  auto make = [] { return compile([w = full({1}, 2.0)](Tensor x) { return x * w; }); };
  auto f = make();
  {
    auto first = f;
    EXPECT_EQ(at(first(ones({1})), 0), 2);
  }
  auto moved = std::move(f);
  EXPECT_EQ(at(moved(ones({1})), 0), 2);
  EXPECT_EQ(moved.stats().compilations, 1);
}

// A handle that the function has made of a traced tensor stays its own when it gets a captured one.
TEST(CapturedVariable, TakesTheTurnOfATracedTensor) {
  Tensor w = ones({2});
  std::vector<Tensor> list{ones({2}), ones({2}) * 2.0};
  const std::function<Tensor(const Tensor&)> bodies[] = {
      [&](const Tensor& x) {
        Tensor p = x;
        p = w;
        return x + p;
      },
      [&](const Tensor& x) {
        Tensor p = x * 2.0;
        for (const Tensor& t : list) p = t;
        p = p + x;
        return p;
      },
      [&](const Tensor& x) {
        std::vector<Tensor> all{x, x * 2.0};
        all[1] = w;
        return all[0] + all[1];
      },
      [&](const Tensor& x) {
        Tensor p = x, q = w;
        std::swap(p, q);
        return p * 3.0 + q;
      },
  };
  for (const auto& body : bodies) {
    auto f = compile([&](Tensor x) { return body(x); });
    for (int call = 0; call < 4; ++call) {
      w = ones({2}) * (call + 1.0), list[1] = ones({2}) * (call + 2.0);
      const Tensor x = ones({2}) * 10.0;
      EXPECT_TRUE(equal(f(x), body(x))) << call;
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
    EXPECT_EQ(f.stats().compilations, 1);
  }
}

thread_local Tensor t_scratch;

TEST(CapturedVariable, OfEachThread) {
  auto f = compile([](Tensor x) {
    t_scratch.add_(x);
    return t_scratch.sum();
  });
  t_scratch = zeros({2});
  EXPECT_EQ(f(ones({2})).item<float>(), 2);
  std::thread([&] {
    t_scratch = full({2}, 100.0);
    EXPECT_EQ(f(ones({2})).item<float>(), 202);
    EXPECT_EQ(at(t_scratch, 0), 101);
  }).join();
  EXPECT_EQ(at(t_scratch, 0), 1);
}

TEST(CapturedVariable, ReadInOtherThreads) {
  Tensor w = ones({2});
  auto captured = compile([&](Tensor x) { return x + std::async(std::launch::async, [&] { return w * 2.0; }).get(); });
  auto argument = compile([&](Tensor x) { return x + std::async(std::launch::async, [&] { return x * 2.0; }).get(); });
  for (int i = 1; i < 4; ++i) {
    w = full({2}, static_cast<double>(i));
    EXPECT_EQ(at(captured(ones({2})), 0), 1 + 2 * i);
    EXPECT_EQ(at(argument(w), 0), 3 * i);
  }
  EXPECT_NE(argument.stats().last_fallback_reason.find("another thread"), std::string::npos);
  ASSERT_EQ(argument.stats().fallbacks.size(), 1u);
  EXPECT_STREQ(argument.stats().fallbacks[0].reason, "other_thread");
}

TEST(CapturedVariable, AskedWhetherItIsAnother) {
  Tensor a = ones({2}), b = full({2}, 3.0), c = a;
  auto f = compile([&](Tensor x) { return c.is_same(a) ? x * 2.0 : x * 3.0; });
  for (int i = 0; i < 4; ++i) {
    c = i % 2 ? a : b;
    EXPECT_EQ(at(f(ones({2})), 0), i % 2 ? 2 : 3);
  }
  auto twice = compile([](Tensor x, Tensor y) { return x.is_same(y) ? x * 2.0 : x; });
  EXPECT_EQ(at(twice(a, a), 0), 2);
  EXPECT_EQ(at(twice(a, b), 0), 1);
}

TEST(CapturedVariable, ThatAnotherBranchReadsMayBeFreed) {
  static float bytes[1] = {3};
  Tensor w = from_blob(bytes, {1}, kFloat32);
  auto f = compile([&](Tensor x) { return x.size(0) > 4 ? x * w : x; });
  EXPECT_EQ(at(f(ones({8})), 0), 3);
  w.release_storage();
  EXPECT_EQ(at(f(ones({2})), 0), 1);
  EXPECT_EQ(error_of([&] { f(ones({8})); }).code(), ErrorCode::StorageFreed);
}

TEST(CapturedVariable, AVectorThatGrowsLeavesRoomForFurtherSpecializations) {
  std::vector<Tensor> all{full({1}, 2.0)};
  auto f = compile([&](Tensor x) { return x * all[0]; }, {.max_specializations = 3});
  for (int i = 0; i < 40; ++i) {
    for (int n = 0; n < 20; ++n) EXPECT_EQ(at(f(ones({1})), 0), 2);
    all.push_back(ones({1}));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_EQ(f.stats().specializations, 1);
}

TEST(CapturedVariable, MadeAnewForEveryCallIsBounded) {
  std::vector<Tensor> state{ones({1})};
  auto f = compile([&](Tensor x) { return std::vector<Tensor>{state[0] + x}; }, {.max_specializations = 5});
  for (int i = 0; i < 30; ++i) {
    state = f(ones({1}));
    EXPECT_EQ(at(state[0], 0), static_cast<float>(i + 2));
  }
  EXPECT_LE(f.stats().compilations, 5);
}

TEST(CapturedVariable, HandlesComeAndGoInOtherThreads) {
  Tensor w = full({4}, 2.0);
  auto f = compile([&](Tensor x) { return x * w; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        if (t % 2) {
          EXPECT_EQ(at(f(ones({4})), 3), 2);
        } else {
          Tensor copy = w, other = std::move(copy);
          copy = other;
          EXPECT_TRUE(copy.is_same(w));
        }
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(f.stats().compilations, 1);
}

}  // namespace
}  // namespace reprise::test
