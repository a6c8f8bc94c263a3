// Functions that cannot run again: their trace is given up behind what cannot be taken back.
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "reprise/reprise.h"

namespace reprise {
namespace {

/// What ends a trace, behind the steps that cannot be taken back.
Tensor end_trace(const Tensor& t) { return t.view(kInt32).view(kFloat32); }

/// The first call throws, having run once; all others are right.
template <class Reset, class Function, class State>
void runs_once(const char* what, const char* reason, Reset reset, Function function, State state) {
  const Tensor x = ones({2});
  reset();
  std::vector<float> want;
  for (int i = 0; i < 5; ++i) want.push_back(function(x)[0].template item<float>());
  const std::size_t want_state = state();

  reset();
  auto f = compile(function);
  try {
    f(x);
    ADD_FAILURE() << what << ": no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::NotTraceable) << what;
    EXPECT_NE(std::string(e.what()).find("cannot run again: it " + std::string(reason)), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("sees float32 as int32"), std::string::npos) << e.what();
  }
  for (int i = 1; i < 5; ++i) EXPECT_EQ(f(x)[0].template item<float>(), want[static_cast<std::size_t>(i)]) << what;
  EXPECT_EQ(state(), want_state) << what;
  EXPECT_EQ(f.stats().eager_fallbacks, 4) << what;
}

TEST(RunsOnce, TakesOutOfAContainer) {
  std::deque<Tensor> queue;
  auto fill = [&] {
    queue.clear();
    for (int i = 0; i < 9; ++i) queue.push_back(full({2}, i));
  };
  auto size = [&] { return queue.size(); };
  runs_once(
      "front", "destroys a tensor's variable", fill,
      [&](const Tensor& x) {
        const Tensor t = queue.front();
        queue.pop_front();
        return end_trace(t * x);
      },
      size);
  runs_once(
      "back, and in front again", "destroys a tensor's variable", fill,
      [&](const Tensor& x) {
        const Tensor t = queue.back();
        queue.pop_back();
        queue.push_front(t + x);
        return end_trace(t * x);
      },
      size);
  std::optional<Tensor> last;
  runs_once(
      "an optional", "destroys a tensor's variable", [&] { last = full({2}, 7.0); },
      [&](const Tensor& x) {
        const Tensor t = last ? *last * 0.5 : x;
        last.reset();
        return end_trace(t);
      },
      [&] { return std::size_t{last.has_value()}; });
}

TEST(RunsOnce, ChangesWhatItHolds) {
  struct Listing {
    std::vector<int> calls;
    Tensor operator()(const Tensor& x) {
      calls.push_back(1);
      return end_trace(x * static_cast<float>(calls.size()));
    }
  };
  const Tensor x = ones({2});
  auto f = compile(Listing());
  EXPECT_THROW(f(x), Error);
  for (int i = 2; i < 5; ++i) EXPECT_EQ(f(x)[0].item<float>(), static_cast<float>(i));
}

// An object that is its bytes is put back as it was.
TEST(RunsOnce, CountersArePutBack) {
  auto counting = [n = 0](const Tensor& x) mutable {
    ++n;
    return end_trace(x * static_cast<float>(n));
  };
  const Tensor x = ones({2});
  auto f = compile(counting);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(f(x)[0].item<float>(), static_cast<float>(i));
  EXPECT_EQ(f.stats().eager_fallbacks, 4);
  // The program's own error is none of the library's: what was counted stays counted.
  auto throwing = compile([n = 0](const Tensor& x) mutable {
    if (++n == 1) throw std::runtime_error("once");
    return end_trace(x * static_cast<float>(n));
  });
  EXPECT_THROW(throwing(x), std::runtime_error);
  EXPECT_EQ(throwing(x)[0].item<float>(), 2.0f);
}

// A tensor of the trace would stay in the container, which nobody can use.
TEST(RunsOnce, LeavesATensor) {
  std::vector<Tensor> history;
  auto f = compile([&](const Tensor& x) {
    history.push_back(x * 2.0);
    return end_trace(x);
  });
  try {
    f(ones({2}));
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("cannot run again"), std::string::npos) << e.what();
  }
  history.clear();
  f(ones({2}));
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0][0].item<float>(), 2.0f);
}

// What can be taken back is, and the function runs again.
TEST(RunsOnce, VariablesArePutBack) {
  Tensor state = zeros({2}), other = ones({2});
  auto step = [&](const Tensor& x) {
    std::swap(state, other);
    state = state + x;
    return end_trace(state * 2.0);
  };
  auto f = compile(step);
  std::vector<float> got, want;
  for (int i = 0; i < 3; ++i) got.push_back(f(ones({2}))[0].item<float>());
  state = zeros({2}), other = ones({2});
  for (int i = 0; i < 3; ++i) want.push_back(step(ones({2}))[0].item<float>());
  EXPECT_EQ(got, want);
}

// The program's own error comes as it is, once.
TEST(RunsOnce, ItsOwnErrors) {
  std::deque<Tensor> queue(4, ones({2}));
  auto f = compile([&](const Tensor& x) {
    const Tensor t = queue.front();
    queue.pop_front();
    return (t * x).view({3});
  });
  for (std::size_t left : {3u, 2u}) {
    try {
      f(ones({2}));
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::ShapeMismatch) << e.what();
    }
    EXPECT_EQ(queue.size(), left);
  }
}

}  // namespace
}  // namespace reprise
