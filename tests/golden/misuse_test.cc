// Programs that must fail, and what they are told: misuse.txt is read in review as a user would read it. Each fails eagerly and
// compiled, with the same words, and leaves its arguments as they were.
#include <gtest/gtest.h>

#include <functional>
#include <regex>
#include <sstream>

#include "golden.h"
#include "reprise/reprise.h"

namespace reprise::golden {
namespace {

struct Misuse {
  const char* source;  ///< the program, as it stands in the file
  std::function<void(Tensor, Tensor)> run;
};
#define MISUSE(...) \
  Misuse { #__VA_ARGS__, [](Tensor x, Tensor y) { (void)x, (void)y; __VA_ARGS__; } }

// x: f32[3, 4], y: f32[5].
const Misuse kOfTensors[] = {
    MISUSE(x + y),
    MISUSE(x.matmul(y)),
    MISUSE(linear(x, y, ones({2}))),
    MISUSE(x.view({5, -1})),
    MISUSE(x.view({-1, -1})),
    MISUSE(x.t().view({12})),
    MISUSE(x.reshape({2, 5})),
    MISUSE(x.select(0, 3)),
    MISUSE(x.select(2, 0)),
    MISUSE(x.narrow(1, 3, 2)),
    MISUSE(x.slice(0, 0, 3, 0)),
    MISUSE(x.permute({0, 0})),
    MISUSE(x.expand({3, 8})),
    MISUSE(x.split(0)),
    MISUSE(x.split_with_sizes({1, 1})),
    MISUSE(x.chunk(0)),
    MISUSE(x.unfold(1, 5, 1)),
    MISUSE(x.as_strided({4, 4}, {4, 1})),
    MISUSE(cat({x, y}, 0)),
    MISUSE(stack({x, y}, 0)),
    MISUSE(x.sum(2)),
    MISUSE(x.gather(0, y)),
    MISUSE(x.index_select(0, y)),
    MISUSE(x.index_select(0, arange(4))),
    MISUSE(x & x),
    MISUSE(x.add_(y)),
    MISUSE(x.expand({2, 3, 4}).add_(1)),
    MISUSE(x.to(kInt32).sqrt_()),
    MISUSE(where(x, x, x)),
    MISUSE(x.topk(5)),
    MISUSE(scaled_dot_product_attention(x, x, y)),
    MISUSE(x.clamp(std::nullopt, std::nullopt)),
    MISUSE(x.squeeze({5})),
    MISUSE(one_hot(arange(3), 2)),
    MISUSE(arange(0, 5, -1)),
    MISUSE(zeros({-1})),
    MISUSE(einsum("ij,jk->ik", {x, y})),
    MISUSE(einsum("ij,kj", {x})),
    MISUSE(Tensor() + x),
    MISUSE(x.copy_(y)),
};

struct Other {
  const char* source;
  std::function<void()> run;
};
#define OTHER(...) \
  Other { #__VA_ARGS__, [] { __VA_ARGS__; } }

Tensor twice(Tensor x) { return x * 2; }

const Other kOfTheLibrary[] = {
    OTHER(ones({2, 3}).item<float>()),
    OTHER(Tensor().sizes()),
    OTHER(from_blob(nullptr, {4}, kFloat32)),
    OTHER(compile(twice, {.max_specializations = 0})),
    OTHER(compile(twice, {.mode = "fast"})),
    OTHER(auto f = compile(twice); f(ones({2})); f.seal(); f(ones({2, 2}))),
    OTHER(auto f = compile(twice); f(Tensor())),
    OTHER(mark_dynamic(ones({4}), 0, {.min = 8})),
    OTHER(mark_dynamic(ones({4}), 1)),
    OTHER(ones({2}).to(Device::cuda(7))),
    OTHER(load_safetensors("/no/such/file")),
    OTHER(set_num_threads(0)),
};

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    static const std::regex location(R"( \(at [^)]*misuse_test\.cc:\d+\))");
    std::string text = std::string(error_code_name(e.code())) + ": " + e.what();
    return std::regex_replace(text, location, " (at the line)");
  }
  return "NOTHING IS THROWN";
}

TEST(Misuse, IsToldAsCommitted) {
  std::ostringstream now;
  now << "x: f32[3, 4], y: f32[5]; eagerly and compiled\n";
  for (const Misuse& m : kOfTensors) {
    const Tensor x = arange(12).to(kFloat32).view({3, 4}), y = arange(5).to(kFloat32);
    const std::string eager = message([&] { m.run(x, y); });
    auto f = compile([&](Tensor a, Tensor b) { m.run(a, b); });
    EXPECT_EQ(message([&] { f(x, y); }), eager) << m.source;
    EXPECT_EQ(x.str(), arange(12).to(kFloat32).view({3, 4}).str()) << m.source;
    now << "\n" << m.source << "\n    " << eager << "\n";
  }
  now << "\n\nof the library\n";
  for (const Other& o : kOfTheLibrary) now << "\n" << o.source << "\n    " << message(o.run) << "\n";
  EXPECT_EQ(now.str().find("NOTHING IS THROWN"), std::string::npos);
  expect_golden("misuse.txt", now.str());
}

}  // namespace
}  // namespace reprise::golden
