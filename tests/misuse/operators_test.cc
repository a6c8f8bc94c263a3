// Wrong calls of operators, and what they are told: operators.txt is read in review as a user would read it. Each fails
// eagerly and compiled, with the same words, leaves its arguments as they were, and the next right call of the same
// function works.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "reprise/cond.h"
#include "reprise/reprise.h"
#include "tests/golden/golden.h"
#include "tests/misuse/message.h"

namespace reprise::misuse {
namespace {

struct Arguments {
  Tensor x, y, i, b, d, q, n;
};
struct Misuse {
  const char* source;  ///< the program, as it stands in the file
  std::function<void(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)> run;
};
#define MISUSE(...)                                                                                                    \
  Misuse {                                                                                                             \
#__VA_ARGS__,                                                                                                      \
        []([[maybe_unused]] Tensor x, [[maybe_unused]] Tensor y, [[maybe_unused]] Tensor i, [[maybe_unused]] Tensor b, \
           [[maybe_unused]] Tensor d, [[maybe_unused]] Tensor q, [[maybe_unused]] Tensor n) { __VA_ARGS__; }           \
  }

const Misuse kShapes[] = {
    MISUSE(x + y),
    MISUSE(x.add_(y)),
    MISUSE(x.copy_(y)),
    MISUSE(where(b, x, y)),
    MISUSE(x.masked_fill(y > 0, 1)),
    MISUSE(addcmul(x, x, y)),
    MISUSE(lerp(x, y, 0.5)),
    MISUSE(x.matmul(y)),
    MISUSE(mm(x, x)),
    MISUSE(mm(x, y)),
    MISUSE(bmm(x, x)),
    MISUSE(mv(x, y)),
    MISUSE(dot(y, ones({4}))),
    MISUSE(outer(x, y)),
    MISUSE(addmm(y, x, x.t())),
    MISUSE(linear(x, y, ones({2}))),
    MISUSE(linear(x, ones({2, 5}))),
    MISUSE(einsum("ij,jk->ik", {x, y})),
    MISUSE(einsum("ij,kj", {x})),
    MISUSE(einsum("ij->k", {x})),
    MISUSE(scaled_dot_product_attention(x, x, y)),
    MISUSE(layer_norm(x, {5})),
    MISUSE(layer_norm(x, {4}, y)),
    MISUSE(rms_norm(x, y)),
    MISUSE(x.view({5, -1})),
    MISUSE(x.view({-1, -1})),
    MISUSE(x.t().view({12})),
    MISUSE(x.reshape({2, 5})),
    MISUSE(x.unflatten(1, {3, 2})),
    MISUSE(x.expand({3, 8})),
    MISUSE(x.repeat({2})),
    MISUSE(x.split_with_sizes({1, 1})),
    MISUSE(x.as_strided({4, 4}, {4, 1})),
    MISUSE(cat({x, y}, 0)),
    MISUSE(cat({}, 0)),
    MISUSE(stack({x, y}, 0)),
    MISUSE(slice_scatter(x, y, 0, 0, 1)),
    MISUSE(index_add(x, 0, i, y)),
    MISUSE(scatter_add(x, 0, x.to(kInt64), y)),
    MISUSE(x.index_put_({i}, ones({2, 2}))),
    MISUSE(zeros({-1})),
    MISUSE(zeros({1, 1, 1, 1, 1, 1, 1, 1, 1})),
    MISUSE(zeros({std::int64_t{1} << 40, std::int64_t{1} << 40})),
    MISUSE(x.expand({std::int64_t{1} << 62, 3, 4})),
    MISUSE(pad(x, {1, 1, 1})),
    MISUSE(prelu(x, y)),
    MISUSE(glu(y)),
    MISUSE(int_mm(q, q)),
};
const Misuse kDimensions[] = {
    MISUSE(x.select(0, 3)),
    MISUSE(x.select(2, 0)),
    MISUSE(x[7]),
    MISUSE(x.narrow(1, 3, 2)),
    MISUSE(x.slice(0, 0, 3, 0)),
    MISUSE(x.permute({0, 0})),
    MISUSE(x.permute({0})),
    MISUSE(x.transpose(0, 3)),
    MISUSE(x.flatten(1, 0)),
    MISUSE(x.unsqueeze(4)),
    MISUSE(x.squeeze({5})),
    MISUSE(x.movedim(0, 2)),
    MISUSE(x.split(0)),
    MISUSE(x.chunk(0)),
    MISUSE(x.unfold(1, 5, 1)),
    MISUSE(x.diagonal(0, 1, 1)),
    MISUSE(x.sum(2)),
    MISUSE(x.sum({0, 0})),
    MISUSE(x.argmax(-3)),
    MISUSE(softmax(x, 2)),
    MISUSE(x.cumsum(2)),
    MISUSE(x.sort(2)),
    MISUSE(x.topk(5)),
    MISUSE(x.flip({0, 0})),
    MISUSE(x.roll({1, 1}, {0})),
    MISUSE(x.size(2)),
    MISUSE(x.slice(0, 0, 0).max()),
    MISUSE(x.slice(0, 0, 0).argmax(0)),
    MISUSE(x.index_select(0, arange(4))),
    MISUSE(x.gather(0, full({1, 1}, 9, {.dtype = kInt64}))),
    MISUSE(embedding(x, full({2}, -1, {.dtype = kInt64}))),
    MISUSE(x.scatter(0, full({1, 1}, 3, {.dtype = kInt64}), 1.0)),
    MISUSE(one_hot(arange(3), 2)),
};
const Misuse kDTypes[] = {
    MISUSE(x & x),
    MISUSE(x | x),
    MISUSE(x.to(kInt32).sqrt_()),
    MISUSE(n.add_(0.5)),
    MISUSE(n.div_(2)),
    MISUSE(add_out(n, x, x)),
    MISUSE(b.sub(b)),
    MISUSE(-b),
    MISUSE(where(x, x, x)),
    MISUSE(x.masked_fill(i, 1)),
    MISUSE(q + 1),
    MISUSE(q + x),
    MISUSE(mm(x, d.t())),
    MISUSE(matmul(b, b.t())),
    MISUSE(rms_norm(n, n)),
    MISUSE(mean(n)),
    MISUSE(softmax(b, 0)),
    MISUSE(x.gather(0, y)),
    MISUSE(x.index_select(0, y)),
    MISUSE(embedding(x, y)),
    MISUSE(x.index_put_({x}, y)),
    MISUSE(y.view(kFloat64)),
    MISUSE(bernoulli(n)),
    MISUSE(multinomial(n, 1)),
    MISUSE(cat({q, x}, 0)),
    MISUSE(one_hot(x, 3)),
    MISUSE(x.data<double>()),
    MISUSE(scaled_mm(x, x, y, y)),
    MISUSE(int_mm(x, x)),
    MISUSE(rand({2}, {.dtype = kInt64})),
};
const Misuse kValues[] = {
    MISUSE(x.clamp(std::nullopt, std::nullopt)),
    MISUSE(arange(0, 5, -1)),
    MISUSE(arange(0, 5, 0)),
    MISUSE(linspace(0, 1, -2)),
    MISUSE(randint(3, 3, {2})),
    MISUSE(dropout(x, 1.5)),
    MISUSE(gelu(x, "tan")),
    MISUSE(div(x, x, "round")),
    MISUSE(x.scatter_reduce(0, i.unsqueeze(1), x, "median")),
    MISUSE(multinomial(x, 9)),
    MISUSE(repeat_interleave(x, -1, 0)),
    MISUSE(eye(-1)),
    MISUSE(Tensor() + x),
    MISUSE(cat({x, Tensor()}, 0)),
    MISUSE(linear(x, Tensor())),
    MISUSE(x.add_(Tensor())),
    MISUSE(cond(
        x, [&] { return x; }, [&] { return x + 1; })),
    MISUSE(cond(
        x.sum(), [&] { return x; }, [&] { return x + 1; })),
    MISUSE(x.size(0) / (x.size(1) - 4)),
};
const Misuse kMemory[] = {
    MISUSE(x.expand({2, 3, 4}).add_(1)),
    MISUSE(x.unfold(1, 2, 1).add_(1)),
    MISUSE(x.as_strided({2}, {-1})),
    MISUSE(x.as_strided({2}, {1, 1})),
    MISUSE(x.as_strided({2}, {1}, 11)),
    MISUSE(x.as_strided({3, 3}, {1, 1}).mul_(2)),
    MISUSE(x.resize_({-1})),
    MISUSE(x.expand({2, 3, 4}).copy_(x)),
};

std::vector<std::pair<const char*, std::span<const Misuse>>> groups() {
  return {{"shapes", kShapes},
          {"dimensions and indices", kDimensions},
          {"dtypes", kDTypes},
          {"values", kValues},
          {"memory", kMemory}};
}

Arguments arguments() {
  const Tensor x = arange(12).to(kFloat32).view({3, 4});
  return {x, arange(5).to(kFloat32), arange(3), x > 3, x.to(kFloat64), x.to(kFloat8E4M3FN), x.to(kInt32)};
}

/// All of it that a call could change.
std::string state_of(const Arguments& a) {
  std::ostringstream s;
  for (const Tensor* t : {&a.x, &a.y, &a.i, &a.b, &a.d, &a.q, &a.n}) {
    s << t->dtype() << t->sizes() << t->strides() << t->storage_offset().value() << " " << t->data_ptr() << ":";
    const auto* bytes = static_cast<const unsigned char*>(t->data_ptr());
    for (std::int64_t k = 0; k < t->numel().value() * item_size(t->dtype()); ++k) s << int{bytes[k]} << ",";
  }
  return s.str();
}

TEST(Misuse, OperatorsAreToldAsCommitted) {
  std::ostringstream now;
  now << "x: f32[3, 4], y: f32[5], i: i64[3], b: bool[3, 4], d: f64[3, 4], q: float8[3, 4], n: i32[3, 4]; eagerly and "
         "compiled\n";
  std::size_t cases = 0;
  for (const auto& [title, all] : groups()) {
    now << "\n\n" << title << "\n";
    for (const Misuse& m : all) {
      ++cases;
      const Arguments a = arguments();
      const std::string before = state_of(a);
      const std::string eager = message([&] { m.run(a.x, a.y, a.i, a.b, a.d, a.q, a.n); });
      EXPECT_EQ(state_of(a), before) << m.source;
      auto f = compile([&](const Arguments& t, bool wrong) {
        if (wrong) m.run(t.x, t.y, t.i, t.b, t.d, t.q, t.n);
        return t.x + 1;
      });
      for (int turn = 0; turn < 2; ++turn) {
        EXPECT_EQ(message([&] { f(a, true); }), eager) << m.source;
        EXPECT_EQ(state_of(a), before) << m.source;
        EXPECT_TRUE(equal(f(a, false), a.x + 1)) << m.source;
      }
      EXPECT_EQ(f.stats().replays, 2) << m.source << ": " << f.stats().last_fallback_reason;
      now << "\n" << m.source << "\n    " << eager << "\n";
    }
  }
  EXPECT_GE(cases, 40u);
  EXPECT_EQ(now.str().find("NOTHING IS THROWN"), std::string::npos);
  golden::expect_golden("../misuse/operators.txt", now.str());
}

}  // namespace
}  // namespace reprise::misuse
