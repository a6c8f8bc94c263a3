// The public functions form the right operator calls: a recording interpreter infers metadata and writes calls down.
#include <gtest/gtest.h>

#include <deque>

#include "graph/graph.h"
#include "graph/interpreter.h"
#include "reprise/ops.h"
#include "tensor/impl.h"

namespace reprise::graph {
namespace {

class Recorder : public Interpreter {
 public:
  void call(const OpCall& c, std::vector<Tensor>& results) override {
    last_loc = c.loc;
    calls.push_back(std::string(c.op.name()) + (c.inplace ? "_" : "") + describe(c));
    std::vector<TensorMeta> metas = infer(c);
    if (c.inplace) {
      check_inplace(c.op, meta_of(**std::get_if<const Tensor*>(&c.args[0])), metas[0], c.loc);
      results.push_back(**std::get_if<const Tensor*>(&c.args[0]));
      return;
    }
    for (const TensorMeta& m : metas)
      results.push_back(c.op.cls == OpClass::View ? view_of(**std::get_if<const Tensor*>(&c.args[0]), m) : make(m));
  }
  void mutate_metadata(const OpCall& c) override {
    calls.push_back("metadata " + std::string(c.op.name()) + describe(c));
  }
  std::pair<Int, Int> next_random(Int count) override {
    auto [seed, offset] = take_random(count.value());
    return {seed, offset};
  }

  std::vector<std::string> calls;
  SourceLoc last_loc;

 private:
  static std::string shape(const Tensor& t) {
    if (!t.defined()) return "None";
    std::string s(dtype_short_name(t.dtype()));
    s += "[";
    for (int d = 0; d < t.dim(); ++d) s += (d ? ", " : "") + t.size(d).str();
    return s + "]";
  }
  static std::string describe(const OpCall& c) {
    std::string s = "(";
    EXPECT_EQ(c.args.size(), c.op.schema.args.size());
    for (std::size_t i = 0; i < c.args.size(); ++i) {
      s += i ? ", " : "";
      std::visit(
          [&](const auto& v) {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, std::monostate>) s += "None";
            else if constexpr (std::is_same_v<T, const Tensor*>) s += shape(*v);
            else if constexpr (std::is_same_v<T, TensorArrayRef>)
              for (const Tensor& t : v) s += "<" + shape(t) + ">";
            else if constexpr (std::is_same_v<T, IntArrayRef>)
              for (Int x : v) s += "." + x.str();
            else if constexpr (std::is_same_v<T, bool>) s += v ? "true" : "false";
            else if constexpr (std::is_same_v<T, DType>) s += dtype_short_name(v);
            else if constexpr (std::is_same_v<T, std::string_view>) s += "'" + std::string(v) + "'";
            else s += v.str();
          },
          c.args[i]);
    }
    return s + ")";
  }
  static std::vector<TensorMeta> infer(const OpCall& c) {
    std::deque<TensorMeta> metas;
    std::deque<std::vector<const TensorMeta*>> lists;
    std::vector<RuleArg> args;
    for (const CallArg& a : c.args) {
      args.push_back(std::visit(
          [&](const auto& v) -> RuleArg {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, const Tensor*>) return &metas.emplace_back(meta_of(*v));
            else if constexpr (std::is_same_v<T, TensorArrayRef>) {
              auto& list = lists.emplace_back();
              for (const Tensor& t : v) list.push_back(t.defined() ? &metas.emplace_back(meta_of(t)) : nullptr);
              return std::span<const TensorMeta* const>(list);
            } else if constexpr (std::is_same_v<T, IntArrayRef>) return v.vec();
            else return v;
          },
          a));
    }
    RuleCtx r{c.op, args, c.loc, {}};
    graph::infer(r);
    return r.results;
  }
  static Tensor make(const TensorMeta& m) {
    std::int64_t sizes[kMaxRank];
    for (int d = 0; d < m.dim(); ++d) sizes[d] = m.size(d).value();
    return empty_concrete(sizes, m.dim(), m.dtype, m.device);
  }
  static Tensor view_of(const Tensor& base, const TensorMeta& m) {
    std::int64_t sizes[kMaxRank], strides[kMaxRank];
    for (int d = 0; d < m.dim(); ++d) sizes[d] = m.size(d).value(), strides[d] = m.layout.strides[d].value();
    Storage* s = base.impl()->storage;
    retain(s);
    return Tensor::adopt(new_impl(m.dtype, m.device, sizes, strides, m.dim(), m.layout.offset.value(), s));
  }
};

class Api : public testing::Test {
 protected:
  Tensor make(std::initializer_list<std::int64_t> sizes, DType t = kFloat32) {
    return empty_concrete(sizes.begin(), static_cast<int>(sizes.size()), t, Device::cpu());
  }
  std::string last() const { return recorder.calls.empty() ? "" : recorder.calls.back(); }
  std::vector<std::string> take() { return std::exchange(recorder.calls, {}); }
  static std::string sizes(const Tensor& t) {
    std::string s;
    for (int d = 0; d < t.dim(); ++d) s += (d ? "," : "") + t.size(d).str();
    return s;
  }
  template <class F>
  std::string error(F f) {
    try {
      f();
      return "accepted";
    } catch (const Error& e) {
      return std::string(error_code_name(e.code())) + " " + e.op();
    }
  }

  Recorder recorder;
  ModeScope scope{recorder};
  Tensor x = make({2, 3}), y = make({3}), i = make({2}, kInt64);
};

TEST_F(Api, FillsDefaultsAndTakesNumbers) {
  add(x, y);
  EXPECT_EQ(last(), "add(f32[2, 3], f32[3], 1)");
  x.add_(2.5, 3);
  EXPECT_EQ(last(), "add_(f32[2, 3], 2.5, 3)");
  sub(1, x);
  EXPECT_EQ(last(), "sub(1, f32[2, 3], 1)");
  div(x, y);
  EXPECT_EQ(last(), "div(f32[2, 3], f32[3], None)");
  x.div(y, "floor");
  EXPECT_EQ(last(), "div(f32[2, 3], f32[3], 'floor')");
  x.sum();
  EXPECT_EQ(last(), "sum(f32[2, 3], None, false, None)");
  x.sum(-1, true);
  EXPECT_EQ(last(), "sum(f32[2, 3], .-1, true, None)");
  x.mean({0, 1}, false, kFloat64);
  EXPECT_EQ(last(), "mean(f32[2, 3], .0.1, false, f64)");
  x.clamp(std::nullopt, y);
  EXPECT_EQ(last(), "clamp(f32[2, 3], None, f32[3])");
  linear(x, make({4, 3}));
  EXPECT_EQ(last(), "linear(f32[2, 3], f32[4, 3], None)");
  rms_norm(x, y, 1e-5);
  EXPECT_EQ(last(), "rms_norm(f32[2, 3], .3, f32[3], 1e-05)");
  scaled_dot_product_attention(x, x, x, {}, 0.0, true);
  EXPECT_EQ(last(), "scaled_dot_product_attention(f32[2, 3], f32[2, 3], f32[2, 3], None, 0.0, true, None, false)");
  x.slice(1, 1, {}, 2);
  EXPECT_EQ(last(), "slice(f32[2, 3], 1, 1, None, 2)");
  x.index({Tensor(), i});
  EXPECT_EQ(last(), "index(f32[2, 3], <None><i64[2]>)");
  cat({x, x}, -1);
  EXPECT_EQ(last(), "cat(<f32[2, 3]><f32[2, 3]>, -1)");
  x.copy_(y);
  EXPECT_EQ(last(), "copy_(f32[2, 3], f32[3])");
  x.zero_();
  EXPECT_EQ(last(), "fill_(f32[2, 3], 0)");
}

TEST_F(Api, OperatorsCarryTheirLine) {
  Int pos = 4;
  std::uint32_t here = __LINE__ + 1;
  Tensor r = 2.0 * x;
  EXPECT_EQ(last(), "mul(2.0, f32[2, 3])");
  EXPECT_EQ(recorder.last_loc.line, here);
  EXPECT_NE(std::string(recorder.last_loc.file).find("api_test"), std::string::npos);
  here = __LINE__ + 1;
  r = x * pos;
  EXPECT_EQ(last(), "mul(f32[2, 3], 4)");
  EXPECT_EQ(recorder.last_loc.line, here);
  here = __LINE__ + 1;
  r += 1;
  EXPECT_EQ(last(), "add_(f32[2, 3], 1, 1)");
  EXPECT_EQ(recorder.last_loc.line, here);
  here = __LINE__ + 1;
  r = x < y;
  EXPECT_EQ(last(), "lt(f32[2, 3], f32[3])");
  EXPECT_EQ(recorder.last_loc.line, here);
  here = __LINE__ + 1;
  r = -x;
  EXPECT_EQ(last(), "neg(f32[2, 3])");
  EXPECT_EQ(recorder.last_loc.line, here);
  here = __LINE__ + 1;
  x.sum(1);
  EXPECT_EQ(recorder.last_loc.line, here);
  r = 2 - x;
  EXPECT_EQ(last(), "sub(2, f32[2, 3], 1)");
  r = (x == 1) | ~(y != x);
  EXPECT_EQ(last(), "bitwise_or(bool[2, 3], bool[2, 3])");
  EXPECT_EQ((pos + 1).value(), 5);  // Int's operators stay Int's
  EXPECT_TRUE(bool(pos < 5 && 3 < pos && pos == 4));
}

TEST_F(Api, UndefinedTensorsAreRefusedByName) {
  Tensor none;
  EXPECT_EQ(error([&] { add(x, none); }), "InvalidArgument add");
  EXPECT_EQ(error([&] { none.exp(); }), "InvalidArgument exp");
  EXPECT_EQ(error([&] { cat({x, none}); }), "InvalidArgument cat");
  EXPECT_EQ(error([&] { reshape(none, {1}); }), "InvalidArgument reshape");
  EXPECT_EQ(error([&] { x + make({4}); }), "ShapeMismatch add");
  EXPECT_EQ(add(x, y).dim(), 2);  // and an error leaves calls working
}

TEST_F(Api, ViewsInOtherSpellings) {
  using V = std::vector<std::string>;
  EXPECT_EQ(sizes(x.t()), "3,2");
  EXPECT_EQ(sizes(x.transpose(0, -1)), "3,2");
  EXPECT_EQ(sizes(make({2, 3, 4, 5}).movedim(1, -1)), "2,4,5,3");
  EXPECT_EQ(sizes(make({2, 3, 4}).flatten(1)), "2,12");
  EXPECT_EQ(sizes(make({2, 12}).unflatten(1, {3, -1})), "2,3,4");
  EXPECT_EQ(sizes(x.narrow(1, 1, 2)), "2,2");
  take();
  EXPECT_EQ(sizes(x.reshape({-1})), "6");
  EXPECT_EQ(take(), (V{"view(f32[2, 3], .6)"}));
  EXPECT_EQ(sizes(x.t().reshape({-1})), "6");
  EXPECT_EQ(take(), (V{"permute(f32[2, 3], .1.0)", "clone(f32[3, 2])", "view(f32[3, 2], .6)"}));
  EXPECT_TRUE(x.contiguous().is_same(x));
  EXPECT_FALSE(x.t().contiguous().is_same(x));
  EXPECT_TRUE(x.to(kFloat32).is_same(x));
  EXPECT_EQ(x.to(kFloat16).dtype(), kFloat16);
  EXPECT_EQ(make({7}).split(3).size(), 3u);
  EXPECT_EQ(sizes(make({7}).split(3)[2]), "1");
  EXPECT_EQ(make({7}).chunk(3).size(), 3u);
  EXPECT_EQ(sizes(make({6}).chunk(3)[1]), "2");
  EXPECT_EQ(x.unbind(1).size(), 3u);
  EXPECT_EQ(sizes(make({10}).unfold(0, 4, 2)), "4,4");
  EXPECT_EQ(error([&] { x.narrow(1, 2, 2); }), "IndexOutOfRange narrow");
  EXPECT_EQ(error([&] { x.split_with_sizes({1, 1}, 1); }), "ShapeMismatch split");
  EXPECT_EQ(error([&] { make({2, 2, 2}).t(); }), "ShapeMismatch t");
}

TEST_F(Api, ComposedFunctionsHaveTheRightSizes) {
  EXPECT_EQ(sizes(stack({x, x, x}, 1)), "2,3,3");
  EXPECT_EQ(sizes(x.repeat({2, 1, 4})), "2,2,12");
  EXPECT_EQ(sizes(x.repeat_interleave(2, 0)), "4,3");
  EXPECT_EQ(sizes(x.roll({1, -1}, {0, 1})), "2,3");
  EXPECT_EQ(sizes(x.roll({1})), "2,3");
  EXPECT_EQ(sizes(make({}).roll({1}, {0})), "");
  EXPECT_EQ(sizes(make({}).roll({1})), "");
  EXPECT_EQ(sizes(x.flip({0, 1})), "2,3");
  EXPECT_EQ(sizes(x.tril()), "2,3");
  EXPECT_EQ(make({3, 3}, kBool).triu(1).dtype(), kBool);
  EXPECT_EQ(sizes(pad(x, {1, 2, -1, 0}, 7)), "1,6");
  EXPECT_EQ(sizes(one_hot(i, 5)), "2,5");
  EXPECT_EQ(sizes(x.max(1).second), "2");
  EXPECT_EQ(x.max(1).second.dtype(), kInt64);
  EXPECT_EQ(sizes(x.max()), "");
  EXPECT_EQ(sizes(x.topk(2).first), "2,2");
  EXPECT_EQ(sizes(outer(y, i)), "3,2");
  EXPECT_EQ(sizes(x.mv(y)), "2");
  EXPECT_EQ(sizes(x.glu(1 - 1)), "1,3");
  EXPECT_EQ(error([&] { x.glu(1); }), "ShapeMismatch glu");
  EXPECT_EQ(sizes(x.index_copy(0, i, x)), "2,3");
  EXPECT_EQ(sizes(einsum("ij,jk->ik", {x, make({3, 4})})), "2,4");
  EXPECT_EQ(sizes(einsum("bij,bkj->bki", {make({5, 2, 3}), make({5, 4, 3})})), "5,4,2");
  EXPECT_EQ(sizes(einsum("ij,j", {x, y})), "2");
  EXPECT_EQ(sizes(einsum("ij->j", {x})), "3");
  EXPECT_EQ(sizes(einsum("i,j,k->kji", {y, make({2}), make({5})})), "5,2,3");
  EXPECT_EQ(sizes(einsum("ii->i", {make({3, 3})})), "3");
  EXPECT_EQ(error([&] { einsum("ij,jk->ik", {x, x}); }), "ShapeMismatch einsum");
  EXPECT_EQ(error([&] { einsum("ij->k", {x}); }), "InvalidArgument einsum");
}

TEST_F(Api, FactoriesAndRandomNumbers) {
  zeros({2, 3});
  EXPECT_EQ(last(), "full(.2.3, 0, f32, 'cpu')");
  full({2}, 3);
  EXPECT_EQ(last(), "full(.2, 3, i64, 'cpu')");
  ones_like(i);
  EXPECT_EQ(last(), "full(.2, 1, i64, 'cpu')");
  arange(5);
  EXPECT_EQ(last(), "arange(0, 5, 1, i64, 'cpu')");
  arange(0, 1, 0.25);
  EXPECT_EQ(last(), "arange(0, 1, 0.25, f32, 'cpu')");
  zeros({2}, {.dtype = kFloat64});
  EXPECT_EQ(last(), "full(.2, 0, f64, 'cpu')");
  EXPECT_EQ(sizes(eye(2, 3)), "2,3");
  EXPECT_EQ(linspace(0, 1, 5).dtype(), kFloat32);
  manual_seed(7);
  rand({2, 3});
  EXPECT_EQ(last(), "rand(.2.3, f32, 'cpu', 7, 0)");
  randn({4});
  EXPECT_EQ(last(), "randn(.4, f32, 'cpu', 7, 6)");
  manual_seed(7);
  rand({1});
  EXPECT_EQ(last(), "rand(.1, f32, 'cpu', 7, 0)");
  EXPECT_EQ(randint(0, 10, {3}).dtype(), kInt64);
  EXPECT_EQ(make({3}).softmax(0).multinomial(2).dtype(), kInt64);
  EXPECT_TRUE(x.dropout(0.5, false).is_same(x));
  EXPECT_EQ(error([&] { x.dropout(1.5); }), "InvalidArgument dropout");
  EXPECT_EQ(error([&] { randint(3, 3, {2}); }), "InvalidArgument randint");
}

TEST_F(Api, MetadataMutations) {
  x.transpose_(0, 1);
  EXPECT_EQ(last(), "metadata permute(f32[2, 3], .1.0)");
  x.unsqueeze_(0);
  EXPECT_EQ(last(), "metadata unsqueeze(f32[2, 3], 0)");
  x.squeeze_();
  EXPECT_EQ(last(), "metadata squeeze(f32[2, 3], None)");
  x.resize_({4, 5});
  EXPECT_EQ(last(), "metadata as_strided(f32[2, 3], .4.5, .5.1, None)");
  x.set_(y);
  EXPECT_EQ(last(), "metadata set(f32[2, 3], f32[3])");
}

TEST_F(Api, InterpretersNest) {
  Recorder inner;
  {
    ModeScope s(inner);
    x.exp();
  }
  x.log();
  EXPECT_EQ(inner.calls.size(), 1u);
  EXPECT_EQ(recorder.calls.size(), 1u);
}

}  // namespace
}  // namespace reprise::graph
