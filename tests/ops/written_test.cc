// In-place forms, views, writes and results into given tensors that are made of other operators (graph/api_written.cc):
// eagerly and compiled against what they are defined as, element by element where that is no operator.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "reprise/reprise.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using Tensors = std::vector<Tensor>;
using Body = std::function<Tensors(Tensors)>;

Tensor grid(std::int64_t n, std::int64_t m, DType t = kFloat32) {
  return (remainder(arange(n * m) * 5, 13) - 6).to(t).view({n, m});
}

/// Results, then the arguments as they are left.
void expect(const char* name, const Body& body, const Body& meaning, const std::function<Tensors(std::int64_t)>& make,
            std::vector<std::int64_t> sizes = {4, 6, 1, 4}) {
  SCOPED_TRACE(name);
  auto f = compile(body, {.name = name});
  for (std::int64_t n : sizes) {
    SCOPED_TRACE(n);
    Tensors eager = make(n), compiled = make(n), want_args = make(n);
    const Tensors want = meaning(want_args), got = body(eager), by_program = f(compiled);
    ASSERT_EQ(want.size(), got.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(equal(got[i], want[i])) << "eager, result " << i << ": " << got[i].str() << " not " << want[i].str();
      EXPECT_TRUE(equal(by_program[i], want[i]))
          << "compiled, result " << i << ": " << by_program[i].str() << " not " << want[i].str();
      EXPECT_EQ(got[i].dtype(), want[i].dtype());
      EXPECT_EQ(by_program[i].strides(), got[i].strides());
    }
    for (std::size_t i = 0; i < want_args.size(); ++i) {
      EXPECT_TRUE(equal(eager[i], want_args[i]))
          << "eager, argument " << i << ": " << eager[i].str() << " not " << want_args[i].str();
      EXPECT_TRUE(equal(compiled[i], want_args[i]))
          << "compiled, argument " << i << ": " << compiled[i].str() << " not " << want_args[i].str();
    }
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

Tensors two(std::int64_t n) { return {grid(n, n + 2), grid(n, n + 2) * 2 + 1}; }
Tensors transposed(std::int64_t n) { return {grid(n + 2, n).t(), grid(n, n + 2) * 2 + 1}; }

TEST(Written, ViewsByOtherNames) {
  expect(
      "swapdims, mT",
      [](Tensors a) {
        return Tensors{a[0].swapdims(0, 1), a[0].mT(), swapdims(a[1], -1, 0), mT(a[0].unsqueeze(0))};
      },
      [](Tensors a) {
        return Tensors{a[0].t(), a[0].t(), a[1].t(), a[0].t().unsqueeze(0)};
      },
      two);
  expect(
      "swapdims_",
      [](Tensors a) {
        a[0].swapdims_(0, 1);
        return Tensors{a[0]};
      },
      [](Tensors a) {
        a[0].t_();
        return Tensors{a[0]};
      },
      two);
  expect(
      "tensor_split", [](Tensors a) { return a[0].tensor_split(3, 1); },
      [](Tensors a) {
        const std::int64_t m = a[0].size(1).value();
        Tensors parts;
        for (std::int64_t i = 0, at = 0; i < 3; ++i) {
          const std::int64_t size = m / 3 + (i < m % 3 ? 1 : 0);
          parts.push_back(a[0].slice(1, at, at + size));
          at += size;
        }
        return parts;
      },
      two);
  expect(
      "tensor_split at indices",
      [](Tensors a) {
        return tensor_split(a[0], {1, 3}, 1);
      },
      [](Tensors a) {
        return Tensors{a[0].slice(1, 0, 1), a[0].slice(1, 1, 3), a[0].slice(1, 3)};
      },
      two);
  expect(
      "hsplit, vsplit",
      [](Tensors a) {
        Tensors r = a[0].hsplit(2), v = a[0].vsplit(2);
        r.insert(r.end(), v.begin(), v.end());
        return r;
      },
      [](Tensors a) {
        Tensors r = chunk(a[0], 2, 1), v = chunk(a[0], 2, 0);
        r.insert(r.end(), v.begin(), v.end());
        return r;
      },
      two, {4, 6, 4});
  EXPECT_EQ(error_of([] { grid(3, 4).vsplit(2); }).code(), ErrorCode::ShapeMismatch);
}

TEST(Written, ElementsInPlace) {
  for (const auto& make : {two, transposed}) {
    expect(
        "clip_", [](Tensors a) { return Tensors{a[0].clip_(-2, 3)}; },
        [](Tensors a) { return Tensors{a[0].copy_(clamp(a[0], -2, 3))}; }, make);
    expect(
        "nan_to_num_",
        [](Tensors a) {
          a[0].div_(a[0]);
          return Tensors{a[0].nan_to_num_(7.0)};
        },
        [](Tensors a) { return Tensors{a[0].copy_(where(eq(a[0], 0), full({}, 7.0), ones({})))}; }, make);
    expect(
        "tril_, triu_",
        [](Tensors a) {
          a[1].triu_(-1);
          return Tensors{a[0].tril_(1)};
        },
        [](Tensors a) {
          a[1].copy_(triu(a[1], -1));
          return Tensors{a[0].copy_(tril(a[0], 1))};
        },
        make);
    expect(
        "cumsum_", [](Tensors a) { return Tensors{a[0].cumsum_(1)}; },
        [](Tensors a) { return Tensors{a[0].copy_(cumsum(a[0], 1))}; }, make);
    expect(
        "fill_diagonal_", [](Tensors a) { return Tensors{a[0].fill_diagonal_(9)}; },
        [](Tensors a) {
          a[0].diagonal().fill_(9);
          return Tensors{a[0]};
        },
        make);
    expect(
        "put_",
        [](Tensors a) {
          return Tensors{a[0].put_(arange(2) * -2 + 2, a[1].slice(0, 0, 1).slice(1, 0, 2)),
                         put(a[1], arange(1) + 1, full({1}, 5.0), true)};
        },
        [](Tensors a) {
          Tensor flat = a[0].reshape({-1}).clone(), other = a[1].reshape({-1}).clone();
          flat.slice(0, 2, 3).copy_(a[1].reshape({-1}).slice(0, 0, 1));
          flat.slice(0, 0, 1).copy_(a[1].reshape({-1}).slice(0, 1, 2));
          other.slice(0, 1, 2).add_(5.0);
          return Tensors{a[0].copy_(flat.view(a[0].sizes())), other.view(a[1].sizes())};
        },
        make);
    expect(
        "index_fill_",
        [](Tensors a) {
          return Tensors{a[0].index_fill_(1, arange(2) * 2, 4), index_fill(a[1], 0, arange(1), full({}, 3.0))};
        },
        [](Tensors a) {
          for (int i : {0, 2}) a[0].select(1, i).fill_(4);
          Tensor other = a[1].clone();
          other.select(0, 0).fill_(3);
          return Tensors{a[0], other};
        },
        make);
    expect(
        "masked_scatter_", [](Tensors a) { return Tensors{a[0].masked_scatter_(a[0] > 0, a[1])}; },
        [](Tensors a) {
          std::vector<float> x = a[0].to_vector<float>(), from = a[1].to_vector<float>();
          std::size_t next = 0;
          for (float& v : x)
            if (v > 0) v = from[next++];
          return Tensors{a[0].copy_(tensor_of(x, a[0].sizes()))};
        },
        make);
  }
  expect(
      "fill_diagonal_ of a cube", [](Tensors a) { return Tensors{a[0].fill_diagonal_(1)}; },
      [](Tensors a) {
        for (std::int64_t i = 0; i < a[0].size(0).value(); ++i) a[0][i][i][i].fill_(1);
        return Tensors{a[0]};
      },
      [](std::int64_t n) {
        return Tensors{zeros({n, n, n})};
      });
  expect(
      "bernoulli_ of certainties",
      [](Tensors a) {
        a[1].bernoulli_(1.0);
        return Tensors{a[0].bernoulli_((a[0] > 0).to(kFloat32))};
      },
      [](Tensors a) {
        a[1].fill_(1);
        return Tensors{a[0].copy_((a[0] > 0).to(kFloat32))};
      },
      two);
  EXPECT_EQ(error_of([] {
              grid(3, 4).masked_scatter_(ones({3, 4}) > 0, ones({5}));
            }).code(),
            ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([] { grid(3, 4, kInt64).tril_().bernoulli_(2.0); }).code(), ErrorCode::InvalidArgument);
}

TEST(Written, Products) {
  auto make = [](std::int64_t n) {
    return Tensors{grid(n, n),
                   grid(n, n) + 1,
                   grid(1, n).view({n}),
                   grid(1, n).view({n}) * 2,
                   grid(2 * n, n).view({2, n, n}),
                   grid(2 * n, n).view({2, n, n}) - 1};
  };
  expect(
      "baddbmm_, addmv_, addr_",
      [](Tensors a) {
        a[0].addr_(a[2], a[3], 2, 3);
        a[2].addmv_(a[1], a[3], 1, 2);
        a[4].baddbmm_(a[5], a[5], 3, 2);
        return Tensors{baddbmm(a[5], a[5], a[5], 0), addmv(a[3], a[1], a[3]), addr(a[1], a[3], a[3])};
      },
      [](Tensors a) {
        a[0].copy_(a[0] * 2 + a[2].unsqueeze(1) * a[3] * 3);
        a[2].copy_(a[2] + a[1].matmul(a[3]) * 2);
        a[4].copy_(a[4] * 3 + a[5].matmul(a[5]) * 2);
        return Tensors{a[5].matmul(a[5]), a[3] + a[1].matmul(a[3]), a[1] + a[3].unsqueeze(1) * a[3]};
      },
      make, {4, 5, 4});
}

// A beta of 0 leaves self unread, however the number is given: NaN there does not show, compiled neither.
TEST(Written, SelfIsNotReadWhereBetaIsZero) {
  const Tensor nan = full({2, 2}, std::nan("")), m = grid(2, 2) + 1, v = m.select(0, 0), batch = stack({m, m + 1});
  struct Case {
    const char* name;
    std::function<Tensor(Tensor, Scalar)> f;
    Tensor self;
  };
  const Case cases[] = {
      {"addmm", [&](Tensor s, Scalar beta) { return addmm(s, m, m, beta); }, nan},
      {"addbmm", [&](Tensor s, Scalar beta) { return addbmm(s, batch, batch, beta); }, nan},
      {"baddbmm", [&](Tensor s, Scalar beta) { return baddbmm(s, batch, batch, beta); }, nan},
      {"addmv", [&](Tensor s, Scalar beta) { return addmv(s, m, v, beta); }, nan.select(0, 0)},
      {"addr", [&](Tensor s, Scalar beta) { return addr(s, v, v, beta); }, nan},
      {"addmm_", [&](Tensor s, Scalar beta) { return s.clone().addmm_(m, m, beta); }, nan},
      {"baddbmm_",
       [&](Tensor s, Scalar beta) {
         return s.expand({2, 2, 2}).clone().baddbmm_(batch, batch, beta);
       },
       nan},
      {"addmv_", [&](Tensor s, Scalar beta) { return s.clone().addmv_(m, v, beta); }, nan.select(0, 0)},
      {"addr_", [&](Tensor s, Scalar beta) { return s.clone().addr_(v, v, beta); }, nan},
      {"addmm_out",
       [&](Tensor s, Scalar beta) {
         return addmm_out(zeros({2, 2}), s, m, m, beta);
       },
       nan},
  };
  for (const Case& c : cases) {
    auto compiled = compile(c.f);
    auto in_code = [&](Scalar beta) { return compile([&c, beta](Tensor s) { return c.f(s, beta); })(c.self); };
    const Tensor wanted = c.f(zeros(c.self.sizes()), 1);
    for (const Scalar& beta : {Scalar(0), Scalar(0.0), Scalar(-0.0)}) {
      SCOPED_TRACE(std::string(c.name) + ", beta " + beta.str());
      EXPECT_TRUE(allclose(c.f(c.self, beta), wanted));
      EXPECT_TRUE(allclose(compiled(c.self, beta), wanted));
      EXPECT_TRUE(allclose(in_code(beta), wanted));
    }
    for (const Scalar& beta : {Scalar(2), Scalar(0.5), Scalar(0), Scalar(-1.5)}) {
      const Tensor self = c.self.isnan().to(kFloat32) * 3;
      EXPECT_TRUE(allclose(compiled(self, beta), c.f(self, beta))) << c.name << ", beta " << beta.str();
      EXPECT_TRUE(isnan(compiled(c.self, 1)).all().item<bool>()) << c.name;
    }
    EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << c.name << ": " << compiled.stats().last_fallback_reason;
    EXPECT_LE(compiled.stats().compilations, 5) << c.name;  // integers and floats; 0, 1 and others
  }
}

TEST(Written, IntoAGivenTensor) {
  expect(
      "out of its size",
      [](Tensors a) {
        return Tensors{add_out(a[0], a[0], a[1], 2), mul_out(a[1], a[1], 3)};
      },
      [](Tensors a) {
        a[0].add_(a[1], 2);
        a[1].mul_(3);
        return Tensors{a[0], a[1]};
      },
      two);
  expect(
      "out of another size",
      [](Tensors a) {
        Tensor out = zeros({1});
        Tensor r = cat_out(out, {a[0], a[1]}, 1);
        return Tensors{r, out, mm_out(a[0], a[0], a[1].t())};
      },
      [](Tensors a) {
        Tensor made = cat({a[0], a[1]}, 1), p = a[0].matmul(a[1].t());
        a[0].resize_(p.sizes());
        a[0].copy_(p);
        return Tensors{made, made, a[0]};
      },
      two, {4, 6, 4});
  expect(
      "the others",
      [](Tensors a) {
        Tensor o = zeros({0});
        Tensors r;
        for (const Tensor& t :
             {sub_out(o, a[0], a[1]), div_out(zeros({2}), a[0], 2.0), where_out(zeros({2}), a[0] > 0, a[1], 0.0),
              matmul_out(zeros({0}), a[0], a[1].t()), bmm_out(zeros({0}), a[0].unsqueeze(0), a[1].t().unsqueeze(0)),
              addmm_out(zeros({0}), ones({1}), a[0], a[1].t()), index_select_out(zeros({0}), a[0], 0, arange(1))})
          r.push_back(t);
        return r;
      },
      [](Tensors a) {
        Tensor p = a[0].matmul(a[1].t());
        return Tensors{a[0] - a[1],    a[0] / 2.0, where(a[0] > 0, a[1], 0.0), p,
                       p.unsqueeze(0), p + 1.0,    a[0].slice(0, 0, 1)};
      },
      two, {4, 6, 4});
  expect(
      "rows of the tables, and anything",
      [](Tensors a) {
        Tensor o = zeros({1});
        Tensors r = {abs_out(o, a[0] - 5).clone(), maximum_out(o, a[1], o).clone(), sum_out(o, a[0], -1, true).clone(),
                     into(o, softmax(a[0], -1)).clone()};
        exp_out(a[1], a[1] / 100);
        return r;
      },
      [](Tensors a) {
        Tensors r = {(a[0] - 5).abs(), maximum(a[1], (a[0] - 5).abs()), a[0].sum(-1, true), softmax(a[0], -1)};
        a[1].copy_((a[1] / 100).exp());
        return r;
      },
      two, {4, 6, 4});
  EXPECT_EQ(error_of([] { add_out(zeros({2}, {.dtype = kInt64}), ones({2}), 1.5); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([] { exp_out(zeros({2}, {.dtype = kInt64}), ones({2})); }).op(), "exp_out");
}

TEST(Written, SizesAndPlacesOfHandles) {
  expect(
      "resize_as_, as_strided_",
      [](Tensors a) {
        a[0].resize_as_(a[1].slice(0, 0, 1));
        a[1].as_strided_({2}, {2}, 1);
        return Tensors{a[0], a[1].fill_(3)};
      },
      [](Tensors a) {
        a[0].resize_(a[1].slice(0, 0, 1).sizes());
        a[1].set_(a[1].as_strided({2}, {2}, 1));
        return Tensors{a[0], a[1].fill_(3)};
      },
      two, {4, 6, 4});
  EXPECT_EQ(error_of([] { grid(3, 4).as_strided_({100}, {1}); }).code(), ErrorCode::IndexOutOfRange);
  // To the sizes that it has nothing happens: the strides stay.
  auto same = [](Tensor x) { return x.resize_({x.size(0), x.size(1)}); };
  auto f = compile(same);
  for (int n : {3, 5}) {
    Tensor a = grid(4, n).t(), b = grid(4, n).t();
    same(a), f(b);
    EXPECT_EQ(a.stride(0).value(), 1);
    EXPECT_EQ(b.stride(0).value(), 1);
  }
}

TEST(Written, ASourceOfOtherSizesIsRefused) {
  const std::pair<const char*, std::function<void(Tensor, Tensor)>> calls[] = {
      {"index_copy_",
       [](Tensor x, Tensor from) {
         x.index_copy_(0, tensor({0, 1}), from);
       }},
      {"index_add_",
       [](Tensor x, Tensor from) {
         x.index_add_(0, tensor({0, 1}), from);
       }},
      {"index_copy",
       [](Tensor x, Tensor from) {
         x.index_copy(0, tensor({0, 1}), from);
       }},
  };
  for (const auto& [name, call] : calls) {
    auto f = compile(call, {.name = name});
    for (const Tensor& from : {ones({1, 4}), ones({4}), ones({2, 1}), ones({3, 4})}) {
      Tensor x = grid(3, 4), y = x.clone();
      EXPECT_EQ(error_of([&] { call(x, from); }).code(), ErrorCode::ShapeMismatch) << name << from.str();
      EXPECT_EQ(error_of([&] { f(y, from); }).code(), ErrorCode::ShapeMismatch) << name << from.str();
      EXPECT_TRUE(equal(x, grid(3, 4)) && equal(y, x));
    }
    Tensor x = grid(3, 4), y = x.clone();
    call(x, ones({2, 4}) * 5), f(y, ones({2, 4}) * 5);
    EXPECT_TRUE(equal(x, y)) << name;
  }
}

}  // namespace
}  // namespace reprise::test
