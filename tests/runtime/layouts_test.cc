// Classes of layouts: what is known of a call's strides, and calls whose dimensions of size 0 and 1 fit several of
// them.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/knobs.h"
#include "device/cpu_info.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

std::vector<double> values(const Tensor& t) {
  std::vector<double> out;
  Tensor flat = t.reshape({-1});
  for (std::int64_t i = 0; i < flat.numel(); ++i) out.push_back(flat.select(0, i).item().to_double());
  return out;
}
std::vector<std::int64_t> numbers(const Ints& l) {
  std::vector<std::int64_t> out;
  for (Int i : l) out.push_back(i.value());
  return out;
}
std::vector<std::int64_t> strides(const Tensor& t) {
  std::vector<std::int64_t> out;
  for (int d = 0; d < t.dim(); ++d) out.push_back(t.stride(d).value());
  return out;
}
void expect_same(const Tensor& made, const Tensor& eagerly, const std::string& what) {
  EXPECT_EQ(numbers(made.sizes()), numbers(eagerly.sizes())) << what;
  EXPECT_EQ(strides(made), strides(eagerly)) << what;
  EXPECT_EQ(values(made), values(eagerly)) << what;
}

Tensor numbered(std::vector<Int> sizes) {
  Int n = 1;
  for (Int s : sizes) n = n * s;
  return arange(n).to(kFloat32).reshape(Ints(sizes.begin(), sizes.end()));
}

/// How a batch may be laid out, and with how many dimensions it arrives.
struct Way {
  const char* name;
  Tensor (*make)(std::int64_t batch);
};
const Way kWays[] = {
    {"row-major",
     [](std::int64_t b) {
       return numbered({b, 5});
     }},
    {"transposed",
     [](std::int64_t b) {
       return numbered({b, 5}).t();
     }},
    {"transposed of one",
     [](std::int64_t b) {
       return numbered({b, 1, 5}).transpose(0, 2);
     }},
    {"heads",
     [](std::int64_t b) {
       return numbered({b, 3, 2, 4}).permute({0, 2, 1, 3});
     }},
    {"time of one",
     [](std::int64_t b) {
       return numbered({3, b, 2, 4}).permute({0, 2, 1, 3});
     }},
    {"channels last",
     [](std::int64_t b) {
       return numbered({b, 3, 2, 4}).permute({0, 3, 1, 2});
     }},
    {"batch within",
     [](std::int64_t b) {
       return numbered({3, b, 2}).permute({2, 0, 1});
     }},
    {"slice",
     [](std::int64_t b) {
       return numbered({b, 8}).slice(1, 1, 6);
     }},
    {"every second",
     [](std::int64_t b) {
       return numbered({b, 8}).slice(1, 0, 8, 2);
     }},
    {"slice, transposed",
     [](std::int64_t b) {
       return numbered({b, 8}).slice(1, 1, 6).t();
     }},
    {"slice of heads",
     [](std::int64_t b) {
       return numbered({b, 6, 2, 4}).slice(1, 1, 4).transpose(1, 2);
     }},
    {"slice of the batch",
     [](std::int64_t b) {
       return numbered({9, 2, 3}).slice(0, 1, b + 1).slice(2, 0, 2);
     }},
};

using Program = std::function<std::vector<Tensor>(Tensor)>;
struct Named {
  const char* name;
  Program run;
};
std::vector<Named> programs() {
  return {
      {"pointwise", [](Tensor x) { return std::vector<Tensor>{x * 2 + 1}; }},
      {"views",
       [](Tensor x) {
         return std::vector<Tensor>{x.transpose(0, -1), x.unsqueeze(-1), x};
       }},
      {"reduced",
       [](Tensor x) {
         return std::vector<Tensor>{x.sum(0), x.sum(-1, true) + x};
       }},
      {"copies", [](Tensor x) { return std::vector<Tensor>{x.transpose(0, -1).clone() + 1}; }},
      {"written",
       [](Tensor x) {
         x.add_(1);
         return std::vector<Tensor>{x * x};
       }},
  };
}

// "slice" and its like have strides among the values; the others have none.
TEST(Layouts, BatchesOfOneAndNoneFitTheClassOfOthers) {
  for (const Way& way : kWays)
    for (Named& program : programs()) {
      auto f = compile(program.run, {.name = std::string(program.name) + " of " + way.name});
      for (std::int64_t batch : {7, 2, 1, 0, 7, 1}) {
        const std::string what = std::string(program.name) + " of " + way.name + ", " + std::to_string(batch);
        Tensor x = way.make(batch), same = way.make(batch);
        ASSERT_EQ(strides(x), strides(same));
        std::vector<Tensor> made = f(x), eagerly = program.run(same);
        ASSERT_EQ(made.size(), eagerly.size());
        for (std::size_t i = 0; i < made.size(); ++i)
          expect_same(made[i], eagerly[i], what + ", result " + std::to_string(i));
        expect_same(x, same, what + ", argument");
      }
      EXPECT_EQ(f.stats().specializations, 1) << f.explain();
      EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.explain();
    }
}

// Expanding to one element keeps the stride, to others makes it 0. Only who is shown it can tell.
TEST(Layouts, ABatchThatIsExpandedFitsWhereNobodySeesTheStride) {
  for (Named& program : programs()) {
    if (program.name == std::string("written")) continue;
    auto f = compile(program.run, {.name = program.name});
    for (std::int64_t batch : {7, 1, 2, 1, 0}) {
      const std::string what = std::string(program.name) + " of " + std::to_string(batch);
      Tensor x = numbered({3, 1, 5}).expand({3, batch, 5});
      std::vector<Tensor> made = f(x), eagerly = program.run(x);
      for (std::size_t i = 0; i < made.size(); ++i)
        expect_same(made[i], eagerly[i], what + ", result " + std::to_string(i));
    }
    EXPECT_EQ(f.stats().specializations, program.name == std::string("views") ? 2 : 1) << f.explain();
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.explain();
  }
}

TEST(Layouts, WhateverComesFirstIsRight) {
  for (const Way& way : kWays)
    for (Named& program : programs())
      for (std::int64_t first : {1, 0}) {
        auto f = compile(program.run);
        for (std::int64_t batch :
             {first, std::int64_t{7}, std::int64_t{2}, std::int64_t{1}, std::int64_t{0}, std::int64_t{7}}) {
          const std::string what = std::string(program.name) + " of " + way.name + ", " + std::to_string(batch) +
                                   " after " + std::to_string(first);
          Tensor x = way.make(batch), same = way.make(batch);
          std::vector<Tensor> made = f(x), eagerly = program.run(same);
          for (std::size_t i = 0; i < made.size(); ++i)
            expect_same(made[i], eagerly[i], what + ", result " + std::to_string(i));
          expect_same(x, same, what + ", argument");
        }
        EXPECT_LE(f.stats().specializations, 3) << f.explain();
        EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.explain();
      }
}

// One call shows tensors of several classes; another order of strides is still another structure.
TEST(Layouts, EachTensorOfACallFitsByItself) {
  auto f = compile(
      [](Tensor x, Int n, Tensor y, std::vector<Tensor> more) { return x.sum() * n + y.t() + more[0] + more[1]; });
  auto run = [&](std::int64_t b, Tensor x) {
    const std::vector<Tensor> more{numbered({b, 5}), numbered({b, 10}).slice(1, 2, 7)};
    Tensor y = numbered({5, b});
    Tensor made = f(x, Int(3), y, more);
    expect_same(made, x.sum() * 3 + y.t() + more[0] + more[1], std::to_string(b));
  };
  for (std::int64_t b : {7, 1, 0, 3}) run(b, numbered({b, 4}).t());
  EXPECT_EQ(f.stats().specializations, 1) << f.explain();
  run(1, numbered({1, 4}));
  run(3, numbered({4, 1}));
  EXPECT_EQ(f.stats().specializations, 1) << f.explain();
  run(3, numbered({4, 3}));
  EXPECT_EQ(f.stats().specializations, 2) << f.explain();
}

// What the caller sees of strides that lead nowhere are those of its own tensor.
TEST(Layouts, StridesOfSmallDimensionsAreTheCallersOwn) {
  auto f = compile([](Tensor x) { return x.t(); });
  for (const Tensor& x : {numbered({7, 5}), numbered({1, 5}), numbered({1, 8}).slice(1, 0, 5),
                          numbered({0, 8}).slice(1, 0, 5), numbered({5, 1}).t(), numbered({5, 0}).t()})
    expect_same(f(x), x.t(), "of x");
  auto g = compile([](Tensor x) { return x * x.stride(0) + x.stride(1); });
  for (const Tensor& x : {numbered({7, 5}).t(), numbered({1, 5}).t(), numbered({5, 7}), numbered({5, 1}),
                          numbered({5, 8}).slice(1, 0, 1), numbered({1, 5, 1}).select(2, 0)})
    expect_same(g(x), x * x.stride(0) + x.stride(1), "with strides");
}

TEST(Layouts, CapturedTensorsFitToo) {
  Tensor w = numbered({7, 5}).t();
  auto f = compile([&w](Tensor x) { return x + w.t(); });
  for (std::int64_t b : {7, 1, 0}) {
    w = numbered({b, 5}).t();
    expect_same(f(numbered({b, 5})), numbered({b, 5}) + w.t(), "captured");
    w = numbered({5, b});
    if (b < 2) expect_same(f(numbered({b, 5})), numbered({b, 5}) + w.t(), "captured in another way");
  }
  EXPECT_EQ(f.stats().specializations, 1) << f.explain();
}

TEST(Layouts, ATransposeOfATransposeIsKnownToBeRowMajor) {
  auto f = compile([](Tensor w) { return w.t().reshape({-1}) + 1; }, {.name = "back"});
  f(numbered({7, 5}).t());
  const std::string s = f.signature();
  EXPECT_NE(s.find("\"layout\": \"dense in order [1, 0]\""), std::string::npos) << s;
  EXPECT_EQ(s.find("stride("), std::string::npos) << s;
  EXPECT_NE(s.find("\"guards\": []"), std::string::npos) << s;
  EXPECT_EQ(f.explain().find("clone("), std::string::npos) << f.explain();
  auto g = compile([](Tensor x) { return x.permute({0, 2, 3, 1}).reshape({x.size(0), -1}) * 2; });
  g(numbered({2, 3, 4, 5}).permute({0, 3, 1, 2}));
  expect_same(g(numbered({1, 3, 1, 5}).permute({0, 3, 1, 2})), numbered({1, 15}) * 2, "channels last");
  EXPECT_EQ(g.stats().specializations, 1) << g.explain();
}

// Loops of work in place are those of the memory: one, where it is dense. Elements that are made of their index are not
// moved by that.
TEST(Layouts, WorkInPlaceWalksTheMemoryInItsOrder) {
  auto channels_last = [](std::int64_t b) { return numbered({b, 3, 2, 5}).permute({0, 3, 1, 2}); };
  auto f = compile([](Tensor x) { x.mul_(2).add_(1); }, {.name = "scale"});
  auto indexed = [](Tensor x, Tensor bias) {
    x.mul_(3).add_(arange(x.size(3)) + arange(x.size(2)).unsqueeze(1) * 10 + bias.view({-1, 1, 1}));
  };
  auto summed = [=](Tensor x, Tensor bias) {
    indexed(x, bias);
    return x.sum({1, 3});
  };
  auto g = compile(indexed, {.name = "indexed"});
  auto h = compile(summed, {.name = "summed"});
  auto both = compile([](Tensor x, Tensor y) { x.add_(y); }, {.name = "two orders"});
  for (std::int64_t b : {4, 1, 0, 2}) {
    Tensor x = channels_last(b), same = channels_last(b);
    f(x);
    expect_same(x, same.mul_(2).add_(1), "scaled");
    g(x, numbered({5})), indexed(same, numbered({5}));
    expect_same(x, same, "with indices");
    const Tensor made = h(x, numbered({5}));
    expect_same(made, summed(same, numbered({5})), "with indices, and summed");
    both(x, numbered({b, 5, 3, 2}));
    expect_same(x, same.add_(numbered({b, 5, 3, 2})), "of two orders");
  }
  EXPECT_NE(f.explain().find("over (s0*s1*s2*s3)"), std::string::npos) << f.explain();
  EXPECT_EQ(f.stats().specializations, 1);
  EXPECT_EQ(g.stats().specializations, 1) << g.explain();
  EXPECT_NE(g.explain().find("over (s0, s2, s3, s1)"), std::string::npos) << g.explain();
}

// Which of the sizes is the 0 is not known, only that one of them is.
TEST(Layouts, AResultWithoutElementsHasTheStridesThatItWasMadeWith) {
  auto body = [](Tensor x) {
    const Tensor both = stack({x, x + 1}, 0), part = both.diagonal(-1, 1, 0);
    return std::vector<Tensor>{part.contiguous().view({-1, 1}), part};
  };
  auto f = compile(body);
  for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{2, 0, 2}, {2, 3, 2}, {2, 2, 0}}) {
    Tensor x = ones({sizes[0], sizes[1], sizes[2]});
    expect_same(f(x)[1], body(x)[1], "part");
    EXPECT_EQ(f(x)[1].strides(), body(x)[1].strides());
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Layouts, AMissNamesTheClasses) {
  auto f = compile([](Tensor x) { return x + 1; });
  f(numbered({4, 5}));
  f.seal();
  auto says = [&](const Tensor& x, const char* what) {
    try {
      f(x);
      ADD_FAILURE() << "admitted: " << what;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
    }
  };
  says(numbered({4, 5}).t(), "is dense in order [1, 0], was row-major");
  says(numbered({4, 5}).slice(1, 0, 3), "is strided [any, 1], was row-major");
  says(numbered({5}).expand({4, 5}), "is strided [0, 1], was row-major");
  EXPECT_NO_THROW(f(numbered({1, 5}).t()));
  EXPECT_NO_THROW(f(numbered({1, 8}).slice(1, 0, 3)));
}

// What is expanded is read once for a whole row. A tensor of no elements has none to be read, whatever its strides.
TEST(Layouts, RowsOfNoElementsAreNotRead) {
  const Tensor full = zeros({400000, 1}).expand({400000, 5}), none = zeros({0}).as_strided({400000, 0}, {1, 0});
  EXPECT_EQ(rms_norm(full, {5}).size(1), 5);
  EXPECT_EQ(rms_norm(none, {0}).size(1), 0);
  auto f = compile([](const Tensor& x) { return sum(exp(x), {1}); });
  f(full);
  EXPECT_EQ(sum(f(none)).item<float>(), 0);
}

// A tile of a transposed operand waits on the stack in rows of as many elements as a vector has lanes: 4 to 32 bytes
// of a one-byte dtype, no whole register.
TEST(Layouts, TransposedOperandsOfEveryDType) {
  struct Row {
    const char* name;
    std::function<Tensor(Tensor, Tensor)> body;
    bool computes = true;  ///< no dtype that is for storage alone
  };
  const std::vector<Row> rows = {
      {"copied", [](Tensor x, Tensor) { return x.t().contiguous(); }, false},
      {"tril", [](Tensor x, Tensor) { return x.t().tril(); }},
      {"where", [](Tensor x, Tensor y) { return where(arange(x.size(0)) > 3, x.t(), y.t()); }},
      {"of three dimensions",
       [](Tensor x, Tensor y) {
         return where(y.unsqueeze(0) == x.t(), y.t(), x.unsqueeze(2).permute({2, 1, 0}));
       }},
      {"written", [](Tensor x, Tensor y) { return x.clone().copy_(where(y == x, x.t().triu(1), y.t())); }},
  };
  for (const char* cpu : {"", "avx2", "x86-64-v2"}) {
    Scoped<std::string> wanted(knobs().cpu, cpu);
    if (!device::cpu_info().refusal.empty()) continue;
    for (DType t : {kUInt8, kInt8, kBool, kFloat8E4M3FN, kFloat8E5M2, kFloat16, kInt64, kFloat32, kFloat64}) {
      const bool small = item_size(t) == 1;
      for (const Row& row : rows) {
        if (row.computes && (t == kFloat8E4M3FN || t == kFloat8E5M2)) continue;
        auto compiled = compile(row.body), meant = compile(row.body, {.mode = "interpret"});
        for (std::int64_t n : small ? std::vector<std::int64_t>{64, 17, 8, 7, 33} : std::vector<std::int64_t>{33, 16}) {
          SCOPED_TRACE(row.name + (" of " + std::string(dtype_name(t))) + ", " + std::to_string(n) + ", " + cpu);
          const Tensor x = remainder(arange(n * n) * 7, 11).to(t).view({n, n});
          const Tensor y = remainder(arange(n * n) * 5, 11).to(t).view({n, n});
          const Tensor want = meant(x, y).to(kFloat64);
          EXPECT_TRUE(equal(compiled(x, y).to(kFloat64), want));
          EXPECT_TRUE(equal(row.body(x, y).to(kFloat64), want));
        }
        EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.stats().last_fallback_reason;
      }
    }
  }
}

}  // namespace
}  // namespace reprise
