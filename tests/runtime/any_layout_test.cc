// Layouts that nobody looks at are no reason to compile again (Note [Layout classes] in runtime/call/layout_class.h).
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "reprise/reprise.h"

namespace reprise {
namespace {

Tensor numbered(const Ints& sizes) {
  Int n = 1;
  for (Int s : sizes) n = n * s;
  return (arange(n, {.dtype = kFloat32}) * 0.5).view(sizes);
}

/// One tensor of sizes {a, b, c} in many layouts, each with memory of its own.
struct Way {
  const char* name;
  Tensor (*make)(std::int64_t a, std::int64_t b, std::int64_t c);
};
const Way kWays[] = {
    {"row-major",
     [](std::int64_t a, std::int64_t b, std::int64_t c) {
       return numbered({a, b, c});
     }},
    {"transposed",
     [](std::int64_t a, std::int64_t b, std::int64_t c) {
       return numbered({a, c, b}).transpose(1, 2);
     }},
    {"permuted",
     [](std::int64_t a, std::int64_t b, std::int64_t c) {
       return numbered({b, c, a}).permute({2, 0, 1});
     }},
    {"column block",
     [](std::int64_t a, std::int64_t b, std::int64_t c) {
       return numbered({a, b, c + 3}).slice(2, 1, c + 1);
     }},
    {"block of the middle",
     [](std::int64_t a, std::int64_t b, std::int64_t c) {
       return numbered({a, b + 2, c}).slice(1, 1, b + 1);
     }},
    {"stepped",
     [](std::int64_t a, std::int64_t b, std::int64_t c) {
       return numbered({a, b, 2 * c}).slice(2, 0, 2 * c, 2);
     }},
    {"all stepped",
     [](std::int64_t a, std::int64_t b, std::int64_t c) {
       return numbered({2 * a, 3 * b, 2 * c}).slice(2, 0, 2 * c, 2).slice(1, 0, 3 * b, 3).slice(0, 1, 2 * a, 2);
     }},
    {"transposed block",
     [](std::int64_t a, std::int64_t b, std::int64_t c) {
       return numbered({c + 1, b, a}).slice(0, 1, c + 1).permute({2, 1, 0});
     }},
};
const Way kExpanded{"expanded", [](std::int64_t a, std::int64_t b, std::int64_t c) {
                      return numbered({a, 1, c}).expand({a, b, c});
                    }};

using Body = std::function<std::vector<Tensor>(Tensor, Tensor)>;

void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.dim(), want.dim()) << what;
  for (int d = 0; d < got.dim(); ++d) {
    ASSERT_EQ(got.size(d).value(), want.size(d).value()) << what;
    ASSERT_EQ(got.stride(d).value(), want.stride(d).value()) << what << ", dimension " << d;
  }
  ASSERT_EQ(got.storage_offset().value(), want.storage_offset().value()) << what;
  ASSERT_TRUE(allclose(got, want)) << what;
}

std::string text(const char* body, const Way& x, const Way& y, std::int64_t a, std::int64_t b, std::int64_t c) {
  return std::string(body) + " of " + x.name + " and " + y.name + ", " + std::to_string(a) + ", " + std::to_string(b) +
         ", " + std::to_string(c);
}

/// Results, and arguments after the call; what shares storage with what.
template <class F>
void call_both(F& f, const Body& body, const Way& x_way, const Way& y_way, std::int64_t a, std::int64_t b,
               std::int64_t c, const std::string& what) {
  const Tensor x = x_way.make(a, b, c), y = y_way.make(a, b, c), x2 = x_way.make(a, b, c), y2 = y_way.make(a, b, c);
  const std::vector<Tensor> got = f(x, y), want = body(x2, y2);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    expect_same(got[i], want[i], what + ", result " + std::to_string(i));
    ASSERT_EQ(got[i].shares_storage_with(x), want[i].shares_storage_with(x2)) << what;
    ASSERT_EQ(got[i].shares_storage_with(y), want[i].shares_storage_with(y2)) << what;
  }
  expect_same(x, x2, what + ", x");
  expect_same(y, y2, what + ", y");
}

TEST(AnyLayout, WhatLooksAtNoneIsCompiledThreeTimes) {
  const std::vector<std::pair<const char*, Body>> bodies{
      {"pointwise",
       [](Tensor x, Tensor y) {
         return std::vector{x * 2 + y, relu(x - y)};
       }},
      {"sums",
       [](Tensor x, Tensor y) {
         return std::vector{x.sum(1) + y.amax(1), softmax(x, 2), (x * y).sum()};
       }},
      {"written",
       [](Tensor x, Tensor y) {
         x += y * 2;
         y.select(0, 0).fill_(3);
         return std::vector{x + 1};
       }},
      {"views of them",
       [](Tensor x, Tensor y) {
         x.slice(1, 1).mul_(2);
         return std::vector{x, x.transpose(0, 2), y.select(2, 0), y.slice(0, 0, 2) + x.slice(0, 0, 2),
                            y.permute({2, 0, 1}).slice(0, 0, 1)};
       }},
      {"products",
       [](Tensor x, Tensor y) {
         return std::vector{matmul(x, y.transpose(1, 2)), matmul(x.transpose(1, 2), y).sum(0)};
       }},
      {"copies",
       [](Tensor x, Tensor y) {
         return std::vector{x.transpose(0, 1).reshape({x.size(1), -1}) * 2, y.contiguous() + 1, cat({x, y}, 2),
                            y.clone()};
       }},
      {"gathered",
       [](Tensor x, Tensor y) {
         return std::vector{x.index_select(1, arange(x.size(1))), y.flip({0, 2}), x.cumsum(1)};
       }},
  };
  for (const auto& [name, body] : bodies) {
    auto f = compile([&body](Tensor x, Tensor y) { return body(x, y); }, {.name = name});
    for (int turn = 0; turn < 2; ++turn)
      for (const Way& way : kWays)
        for (std::int64_t a : {3, 5}) call_both(f, body, way, way, a, 4, 6, text(name, way, way, a, 4, 6));
    EXPECT_LE(f.stats().compilations, 3) << name;
    // Each in a layout of its own.
    for (std::size_t i = 0; i < std::size(kWays); ++i)
      for (std::size_t j : {i, (i + 1) % std::size(kWays), (i + 3) % std::size(kWays)})
        call_both(f, body, kWays[i], kWays[j], 2, 7, 3, text(name, kWays[i], kWays[j], 2, 7, 3));
    EXPECT_LE(f.stats().compilations, 3) << name << "\n" << f.explain();
    // What is read may be expanded, too, and sizes may be 0 or 1: these may be asked for.
    const std::int64_t before = f.stats().compilations;
    if (std::string(name) != "written" && std::string(name) != "views of them")
      call_both(f, body, kExpanded, kExpanded, 4, 5, 3, text(name, kExpanded, kExpanded, 4, 5, 3));
    EXPECT_EQ(f.stats().compilations, before) << name;
    for (const Way& way : kWays)
      for (std::int64_t b : {2, 1})
        call_both(f, body, way, kWays[0], 2, b, 1 + b, text(name, way, kWays[0], 2, b, 1 + b));
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << name << ": " << f.stats().last_fallback_reason;
  }
}

TEST(AnyLayout, TheFirstLayoutsKeepTheirCode) {
  auto f = compile([](Tensor x) { return x * 2; }, {.name = "own"});
  auto call = [&](const Way& way) { EXPECT_TRUE(equal(f(way.make(3, 4, 5)), way.make(3, 4, 5) * 2)) << way.name; };
  for (const Way& way : kWays) call(way);
  ASSERT_EQ(f.stats().compilations, 3);
  // Which of them serves is told by the calls that they have served.
  auto replays = [&] {
    std::vector<std::int64_t> n;
    const std::string text = f.explain();
    for (std::size_t at = text.find(" replays"); at != std::string::npos; at = text.find(" replays", at + 1)) {
      const std::size_t from = text.find_last_not_of("0123456789", at - 1) + 1;
      n.push_back(std::stoll(text.substr(from, at - from)));
    }
    return n;
  };
  const std::vector<std::int64_t> before = replays();
  ASSERT_GE(before.size(), 3u) << f.explain();
  for (int turn = 0; turn < 5; ++turn) call(kWays[0]), call(kWays[1]);
  const std::vector<std::int64_t> after = replays();
  EXPECT_EQ(after[2], before[2]) << "code for any strides serves what has code of its own";
  for (int turn = 0; turn < 5; ++turn) call(kWays[5]);
  EXPECT_EQ(replays()[2], before[2] + 5);
  // A batch of one fits the class of the others.
  EXPECT_TRUE(equal(f(kWays[0].make(1, 4, 5)), kWays[0].make(1, 4, 5) * 2));
  EXPECT_TRUE(equal(f(kWays[1].make(1, 4, 1)), kWays[1].make(1, 4, 1) * 2));
  EXPECT_EQ(replays()[2], before[2] + 5);
}

// A stride of 1 that all layouts have had stays one; it is given up when another layout comes.
TEST(AnyLayout, RowsThatStandTogetherStayTogether) {
  auto f = compile([](Tensor x) { return std::pair(x.sum(1), x.transpose(0, 1)); });
  auto call = [&](Tensor x, const char* what) {
    const auto [sum, turned] = f(x);
    expect_same(sum, x.sum(1), what);
    expect_same(turned, x.transpose(0, 1), what);
  };
  call(numbered({5, 4}), "row-major");
  call(numbered({5, 4}).t(), "transposed");
  auto g = compile([](Tensor x) { return std::pair(x.sum(1), x.transpose(0, 1)); });
  auto call_g = [&](Tensor x, const char* what) {
    const auto [sum, turned] = g(x);
    expect_same(sum, x.sum(1), what);
    expect_same(turned, x.transpose(0, 1), what);
  };
  for (int turn = 0; turn < 2; ++turn) {
    call_g(numbered({5, 4, 3}), "row-major");
    call_g(numbered({5, 7, 3}).slice(1, 1, 5), "rows");
    call_g(numbered({5, 4, 6}).slice(2, 0, 3), "columns");
    call_g(numbered({4, 5, 3}).transpose(0, 1), "turned");
    call_g(numbered({8, 10, 6}).slice(0, 0, 8, 2).transpose(0, 1).slice(2, 1, 4), "turned, a part");
  }
  EXPECT_EQ(g.stats().compilations, 3);
  // One element a row, at any distance: its stride is 1 where nobody sees another.
  for (std::int64_t step : {1, 2, 5}) {
    call_g(numbered({5, 4, 6}).as_strided({5, 4, 1}, {24, 6, step}), "one element");
    call(numbered({5, 6}).as_strided({5, 1}, {6, step}), "one element");
    call(numbered({5, 6}).as_strided({5, 1}, {1, step}), "one element");
  }
  for (int turn = 0; turn < 2; ++turn) {
    call_g(numbered({5, 4, 6}).slice(2, 0, 6, 2), "stepped");
    call_g(numbered({5, 3, 4}).transpose(1, 2), "transposed");
    call_g(numbered({5, 1, 3}).expand({5, 4, 3}), "expanded");
  }
  EXPECT_LE(g.stats().compilations, 5) << g.explain();
  EXPECT_EQ(f.stats().eager_fallbacks + g.stats().eager_fallbacks, 0);
}

TEST(AnyLayout, WhoLooksIsAskedForEachLayout) {
  const std::vector<std::pair<const char*, Body>> bodies{
      {"contiguous?",
       [](Tensor x, Tensor y) {
         return std::vector{x.is_contiguous() ? x * 2 : x * 3, y * 1};
       }},
      {"stride",
       [](Tensor x, Tensor y) {
         return std::vector{x * x.stride(1), y * 1};
       }},
      {"view or copy, returned",
       [](Tensor x, Tensor y) {
         return std::vector{x.reshape({x.size(0), -1}), y * 1};
       }},
      {"contiguous, returned",
       [](Tensor x, Tensor y) {
         return std::vector{x.contiguous(), y * 1};
       }},
      {"branches on a stride",
       [](Tensor x, Tensor y) {
         return std::vector{x.stride(0) > y.stride(2) ? x * 2 : x * 3, y.stride(1) == 1 ? x + 1 : y};
       }},
  };
  for (const auto& [name, body] : bodies) {
    auto f = compile([&body](Tensor x, Tensor y) { return body(x, y); }, {.name = name});
    for (int turn = 0; turn < 2; ++turn)
      for (const Way& x : kWays)
        for (const Way& y : {kWays[0], kWays[3], kWays[6]})
          call_both(f, body, x, y, 3, 4 + turn, 2, text(name, x, y, 3, 4 + turn, 2));
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << name << ": " << f.stats().last_fallback_reason;
  }
}

TEST(AnyLayout, MemoryThatIsSharedIsSeen) {
  const Body body = [](Tensor x, Tensor y) {
    x += y;
    return std::vector{x * 1};
  };
  auto f = compile([&body](Tensor x, Tensor y) { return body(x, y); });
  for (const Way& way : kWays) call_both(f, body, way, way, 3, 4, 5, way.name);
  for (const Way& way : kWays) {
    const Tensor x = way.make(4, 4, 5), same = way.make(4, 4, 5);
    f(x.slice(0, 0, 3), x.slice(0, 1, 4));
    body(same.slice(0, 0, 3), same.slice(0, 1, 4));
    expect_same(x, same, way.name);
    // What is expanded is not written, by nobody.
    const Tensor wide = kExpanded.make(3, 4, 5);
    EXPECT_THROW(f(wide, way.make(3, 4, 5)), Error) << way.name;
    EXPECT_TRUE(equal(wide, kExpanded.make(3, 4, 5)));
  }
}

TEST(AnyLayout, InTheBackgroundAndWithOthersBeside) {
  struct Options {
    Tensor scale;
    std::vector<Tensor> more;
    Int n;
  };
  auto body = [](Tensor x, Options o, double by) {
    return std::pair(x * o.scale + o.more[1].sum() * o.n, o.more[0] * by);
  };
  for (OnMiss on_miss : {OnMiss::Wait, OnMiss::ServeMeanwhile}) {
    auto f = compile(body, {.on_miss = on_miss});
    for (int turn = 0; turn < 3; ++turn)
      for (std::size_t i = 0; i < std::size(kWays); ++i) {
        const Options o{numbered({5}), {kWays[(i + 2) % std::size(kWays)].make(2, 3, 2), numbered({4, 4})}, turn + 1};
        const Tensor x = kWays[i].make(3, 4 + turn, 5);
        const auto got = f(x, o, 2.0), want = body(x, o, 2.0);
        expect_same(got.first, want.first, kWays[i].name);
        expect_same(got.second, want.second, kWays[i].name);
        f.wait();
      }
    EXPECT_LE(f.stats().compilations, 3) << f.explain();
  }
}

// What tells how a call differs from what was compiled leaves the call as it is, also where something would admit it
// after all.
TEST(AnyLayout, AMissBesideACapturedTensorIsCompiled) {
  Tensor captured;
  auto body = [&](Tensor x, Int n) {
    static_cast<void>(captured.slice(1, captured.size(1) / 2, captured.size(1)));
    const Tensor twice = x.unsqueeze(0).expand({2, -1, -1});
    return twice.slice(1, 0, n).reshape({-1, twice.size(0)});
  };
  auto f = compile(body);
  struct Given {
    std::int64_t rows, row, column, offset, n;
  };
  for (const Given& g : {Given{2, 2, 1, 0, 4}, {5, 2, 1, 0, 3}, {17, 3, 2, 1, 3}, {9, 3, 2, 0, 2}}) {
    captured = ones({g.rows, 1});
    const Tensor x = arange(4 * g.rows, {.dtype = kFloat32}).as_strided({g.rows, 1}, {g.row, g.column}, g.offset);
    ASSERT_TRUE(equal(f(x, g.n), body(x, g.n))) << g.rows;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

}  // namespace
}  // namespace reprise
