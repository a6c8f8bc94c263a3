#include <gtest/gtest.h>

#include "tests/graph/rule_test_util.h"

namespace reprise::graph {
namespace {

constexpr std::monostate kNo{};
using G = std::vector<std::string>;

TEST(Promotion, FollowsCategories) {
  Metas m;
  const TensorMeta *f = m({2}), *h = m({2}, kFloat16), *i = m({2}, kInt32), *b = m({2}, kBool), *d0 = m({}, kFloat64),
                   *i0 = m({}, kInt64);
  auto t = [](std::vector<RuleArg> a) { return result_dtype(a); };
  EXPECT_EQ(t({f, i}), kFloat32);
  EXPECT_EQ(t({h, f}), kFloat32);
  EXPECT_EQ(t({h, m({2}, kBFloat16)}), kFloat32);
  EXPECT_EQ(t({f, d0}), kFloat32);  // a 0-dim tensor does not widen its own category
  EXPECT_EQ(t({i, d0}), kFloat64);  // but a higher category counts
  EXPECT_EQ(t({i, i0}), kInt32);
  EXPECT_EQ(t({h, Scalar(2.5)}), kFloat16);
  EXPECT_EQ(t({i, Scalar(2.5)}), kFloat32);
  EXPECT_EQ(t({i, Scalar(2)}), kInt32);
  EXPECT_EQ(t({b, Scalar(2)}), kInt64);
  EXPECT_EQ(t({b, Scalar(true)}), kBool);
  EXPECT_EQ(t({b, b}), kBool);
  EXPECT_EQ(t({i0, Scalar(1.5)}), kFloat32);
  EXPECT_EQ(t({d0, Scalar(1)}), kFloat64);
}

TEST(ShapeRules, Pointwise) {
  Metas m;
  const TensorMeta *f = m({2, 3}), *i = m({3}, kInt64), *b = m({2, 1}, kBool), *z = m({}, kFloat64);
  EXPECT_EQ(infer(OpId::add, {f, i, Scalar(1)}), "f32[2, 3]");
  EXPECT_EQ(infer(OpId::add, {i, Scalar(2), Scalar(1)}), "i64[3]");
  EXPECT_EQ(infer(OpId::add, {Scalar(2.0), i, Scalar(1)}), "f32[3]");
  EXPECT_EQ(infer(OpId::add, {i, i, Scalar(0.5)}),
            "DTypeMismatch: for int64 operands 'alpha' must not be a float, got 0.5");
  EXPECT_EQ(infer(OpId::mul, {b, i}), "i64[2, 3]");
  EXPECT_EQ(infer(OpId::sub, {b, b, Scalar(1)}),
            "DTypeMismatch: not defined for bool (wanted integers or floats; for bools use logical_xor, to invert a "
            "mask logical_not)");
  EXPECT_EQ(infer(OpId::add, {f, m({4}), Scalar(1)}),
            "ShapeMismatch: sizes [2, 3] and [4] do not broadcast: 3 and 4 at dimension 1 differ and neither is 1");
  EXPECT_EQ(infer(OpId::add, {m({2, 0}), m({1}), Scalar(1)}), "f32[2, 0]");
  EXPECT_EQ(infer(OpId::add, {Scalar(1), Scalar(2), Scalar(1)}),
            "InvalidArgument: at least one operand must be a tensor");
  EXPECT_EQ(infer(OpId::div, {i, i, kNo}), "f32[3]");
  EXPECT_EQ(infer(OpId::div, {i, i, std::string_view("floor")}), "i64[3]");
  EXPECT_EQ(infer(OpId::div, {i, i, std::string_view("up")}),
            "InvalidArgument: rounding_mode must be 'trunc', 'floor' or none, got 'up'");
  EXPECT_EQ(infer(OpId::pow, {i, Scalar(-1)}),
            "InvalidArgument: integers to negative integer powers are not allowed (exponent -1)");
  EXPECT_EQ(infer(OpId::pow, {Scalar(2), f}), "f32[2, 3]");
  EXPECT_EQ(infer(OpId::lt, {f, z}), "bool[2, 3]");
  EXPECT_EQ(infer(OpId::exp, {i}), "f32[3]");
  EXPECT_EQ(infer(OpId::exp, {z}), "f64[]");
  EXPECT_EQ(infer(OpId::floor, {i}), "i64[3]");
  EXPECT_EQ(infer(OpId::silu, {i}), "DTypeMismatch: not defined for int64 (wanted a floating dtype; cast with to())");
  EXPECT_EQ(infer(OpId::neg, {b}), "DTypeMismatch: not defined for bool (wanted integers or floats)");
  EXPECT_EQ(infer(OpId::gelu, {f, std::string_view("erf")}),
            "InvalidArgument: approximate must be 'none' or 'tanh', got 'erf'");
  EXPECT_EQ(infer(OpId::where, {b, f, Scalar(0)}), "f32[2, 3]");
  EXPECT_EQ(infer(OpId::where, {f, f, f}), "DTypeMismatch: not defined for float32 (wanted a bool condition)");
  EXPECT_EQ(infer(OpId::clamp, {i, kNo, kNo}), "InvalidArgument: at least one of min and max must be given");
  EXPECT_EQ(infer(OpId::clamp, {i, Scalar(0.5), kNo}), "f32[3]");
  EXPECT_EQ(infer(OpId::masked_fill, {f, b, Scalar(0)}), "f32[2, 3]");
  EXPECT_EQ(infer(OpId::copy, {f, i}), "f32[2, 3]");
  EXPECT_EQ(infer(OpId::copy, {i, f}), "ShapeMismatch: sizes [2, 3] do not broadcast to [3]");
  EXPECT_EQ(infer(OpId::bitwise_and, {f, f}), "DTypeMismatch: not defined for float32 (wanted integers or bool)");
  EXPECT_EQ(infer(OpId::lerp, {f, m({3}, kFloat64), Scalar(0.5)}),
            "DTypeMismatch: 'self' is float32 and 'end' is float64");
  EXPECT_EQ(infer(OpId::neg, {kNo}), "InvalidArgument: argument 'self' must be a defined tensor");
}

TEST(ShapeRules, InPlaceKeepsDtypeAndSizes) {
  Metas m;
  const TensorMeta *f = m({2, 3}), *i = m({2, 3}, kInt64);
  EXPECT_NO_THROW(check_inplace(op(OpId::add), *f, *m({2, 3}, kFloat64), {}));
  EXPECT_NO_THROW(check_inplace(op(OpId::lt), *i, *m({2, 3}, kBool), {}));
  EXPECT_THROW(check_inplace(op(OpId::div), *i, *f, {}), Error);
  EXPECT_THROW(check_inplace(op(OpId::add), *m({3}), *f, {}), Error);
  EXPECT_THROW(check_inplace(op(OpId::where), *f, *f, {}), Error);
}

TEST(ShapeRules, Reductions) {
  Metas m;
  const TensorMeta *f = m({2, 3, 4}), *i = m({2, 3}, kInt32), *e = m({0, 3});
  EXPECT_EQ(infer(OpId::sum, {f, kNo, false, kNo}), "f32[]");
  EXPECT_EQ(infer(OpId::sum, {f, Ints{}, true, kNo}), "f32[1, 1, 1]");
  EXPECT_EQ(infer(OpId::sum, {f, Ints{-1, 0}, false, kNo}), "f32[3]");
  EXPECT_EQ(infer(OpId::sum, {f, Ints{1}, true, kFloat64}), "f64[2, 1, 4]");
  EXPECT_EQ(infer(OpId::sum, {i, kNo, false, kNo}), "i64[]");
  EXPECT_EQ(infer(OpId::sum, {f, Ints{1, -2}, false, kNo}), "InvalidArgument: dimension 1 appears twice in [1, -2]");
  EXPECT_TRUE(infer(OpId::sum, {f, Ints{3}, false, kNo}).starts_with("IndexOutOfRange"));
  EXPECT_EQ(infer(OpId::mean, {i, kNo, false, kNo}),
            "DTypeMismatch: not defined for int32 (wanted a floating dtype; give dtype or cast with to())");
  EXPECT_EQ(infer(OpId::mean, {i, kNo, false, kFloat32}), "f32[]");
  EXPECT_EQ(infer(OpId::amax, {e, Ints{0}, false}),
            "ShapeMismatch: cannot reduce dimension 0 of sizes [0, 3]: it has no elements");
  EXPECT_EQ(infer(OpId::amax, {e, Ints{1}, false}), "f32[0]");
  EXPECT_EQ(infer(OpId::sum, {e, Ints{0}, false, kNo}), "f32[3]");
  EXPECT_EQ(infer(OpId::argmax, {f, Int(-1), true}), "i64[2, 3, 1]");
  EXPECT_EQ(infer(OpId::argmax, {f, kNo, false}), "i64[]");
  EXPECT_EQ(infer(OpId::var, {f, Ints{2}, Scalar(1), false}), "f32[2, 3]");
  EXPECT_EQ(infer(OpId::logsumexp, {i, Ints{1}, false}), "f32[2]");
  EXPECT_EQ(infer(OpId::cumsum, {i, Int(0), kNo}), "i64[2, 3]");
  EXPECT_EQ(infer(OpId::softmax, {f, Int(-1), kNo}), "f32[2, 3, 4]");
  EXPECT_EQ(infer(OpId::sum, {m({}), Ints{0}, false, kNo}), "f32[]");
  EXPECT_EQ(infer(OpId::topk, {f, Int(2), Int(-1), true, true}), "f32[2, 3, 2] i64[2, 3, 2]");
  EXPECT_EQ(infer(OpId::topk, {f, Int(5), Int(-1), true, true}),
            "IndexOutOfRange: k = 5 is out of range for dimension 2 of sizes [2, 3, 4]");
  EXPECT_EQ(infer(OpId::layer_norm, {f, Ints{3, 4}, m({3, 4}), kNo, Scalar(1e-5)}), "f32[2, 3, 4]");
  EXPECT_EQ(infer(OpId::layer_norm, {f, Ints{3}, kNo, kNo, Scalar(1e-5)}),
            "ShapeMismatch: normalized_shape [3] does not match the last sizes of input [2, 3, 4]");
  EXPECT_EQ(infer(OpId::rms_norm, {f, Ints{4}, m({3}), kNo}),
            "ShapeMismatch: weight has sizes [3], normalized_shape is [4]");
}

TEST(ShapeRules, MatrixProducts) {
  Metas m;
  const TensorMeta *a = m({2, 3}), *b = m({3, 4}), *x = m({5, 2, 3}), *w = m({4, 3});
  EXPECT_EQ(infer(OpId::mm, {a, b}), "f32[2, 4]");
  EXPECT_EQ(infer(OpId::mm, {a, a}), "ShapeMismatch: sizes [2, 3] and [2, 3]: the inner sizes differ");
  EXPECT_EQ(infer(OpId::mm, {x, a}), "ShapeMismatch: 'self' must have 2 dimensions, got sizes [5, 2, 3]");
  EXPECT_EQ(infer(OpId::mm, {a, m({3, 4}, kFloat64)}),
            "DTypeMismatch: 'self' is float32 and 'mat2' is float64; cast one with to()");
  EXPECT_EQ(infer(OpId::bmm, {x, m({5, 3, 7})}), "f32[5, 2, 7]");
  EXPECT_EQ(infer(OpId::linear, {x, w, kNo}), "f32[5, 2, 4]");
  EXPECT_EQ(infer(OpId::linear, {m({3}), w, m({4})}), "f32[4]");
  EXPECT_EQ(infer(OpId::linear, {x, w, m({3})}),
            "ShapeMismatch: sizes [4, 3] and [3]: bias must have one dimension of weight's first size");
  EXPECT_EQ(infer(OpId::matmul, {m({3}), m({3})}), "f32[]");
  EXPECT_EQ(infer(OpId::matmul, {m({3}), b}), "f32[4]");
  EXPECT_EQ(infer(OpId::matmul, {x, m({3})}), "f32[5, 2]");
  EXPECT_EQ(infer(OpId::matmul, {m({5, 1, 2, 3}), m({7, 3, 4})}), "f32[5, 7, 2, 4]");
  EXPECT_EQ(infer(OpId::addmm, {m({4}), a, b, Scalar(1), Scalar(1)}), "f32[2, 4]");
  auto attention = [&](const TensorMeta* q, const TensorMeta* k, RuleArg mask, bool causal, bool gqa) {
    return infer(OpId::scaled_dot_product_attention, {q, k, k, mask, Scalar(0.0), causal, kNo, gqa});
  };
  const TensorMeta *q = m({1, 8, 5, 16}), *k = m({1, 2, 9, 16});
  EXPECT_EQ(attention(q, q, kNo, true, false), "f32[1, 8, 5, 16]");
  EXPECT_EQ(attention(q, k, kNo, false, true), "f32[1, 8, 5, 16]");
  EXPECT_TRUE(attention(q, k, kNo, false, false).starts_with("ShapeMismatch"));
  EXPECT_EQ(attention(q, k, m({5, 9}, kBool), false, true), "f32[1, 8, 5, 16]");
  EXPECT_TRUE(attention(q, k, m({9, 5}, kBool), false, true)
                  .starts_with("ShapeMismatch: sizes [9, 5] do not broadcast to [1, 8, 5, 9]"));
  EXPECT_EQ(attention(q, k, m({5, 9}, kBool), true, true),
            "InvalidArgument: attn_mask and is_causal exclude each other");
}

TEST(ShapeRules, ScaledProducts) {
  Metas m;
  const TensorMeta *a = m({5, 300}, kInt8), *b = m({300, 130}, kInt8), *one = m({}), *f8 = m({300, 130}, kFloat8E4M3FN),
                   *x = m({5, 300}, kBFloat16);
  EXPECT_EQ(infer(OpId::int_mm, {a, b}), "i32[5, 130]");
  EXPECT_EQ(infer(OpId::int_mm, {x, b}), "DTypeMismatch: 'self' is bfloat16 and 'mat2' is int8; wanted int8 x int8");
  auto scaled = [&](const TensorMeta* self, const TensorMeta* mat2, const TensorMeta* sa, const TensorMeta* sb,
                    RuleArg bias = kNo, RuleArg out = kNo, RuleArg block = kNo) {
    return infer(OpId::scaled_mm, {self, mat2, sa, sb, bias, out, block});
  };
  EXPECT_EQ(scaled(a, b, one, one), "bf16[5, 130]");
  EXPECT_EQ(scaled(a, b, m({1}), m({1, 1}), m({130})), "f32[5, 130]");
  EXPECT_EQ(scaled(a, b, m({5, 1}), m({1, 130}), m({130}, kBFloat16), kFloat16), "f16[5, 130]");
  EXPECT_EQ(scaled(a, b, m({5, 3}), m({3, 2})), "bf16[5, 130]");
  EXPECT_EQ(scaled(a, b, m({1, 3}), m({3, 130})), "bf16[5, 130]");
  EXPECT_EQ(scaled(a, b, m({5, 10}), m({10, 33}), kNo, kNo, Ints{32, 4}), "bf16[5, 130]");
  EXPECT_EQ(scaled(x, b, one, one), "bf16[5, 130]");
  EXPECT_EQ(scaled(m({5, 300}), f8, one, one), "f32[5, 130]");
  EXPECT_EQ(scaled(m({5, 300}, kFloat8E5M2), f8, one, one), "bf16[5, 130]");
  EXPECT_TRUE(
      scaled(a, f8, one, one)
          .starts_with(
              "DTypeMismatch: 'self' is int8 and 'mat2' is float8_e4m3fn; wanted int8 x int8, float8 x float8, or"));
  EXPECT_TRUE(
      scaled(m({5, 300}, kFloat64), b, one, one).starts_with("DTypeMismatch: 'self' is float64 and 'mat2' is int8"));
  EXPECT_TRUE(scaled(x, m({300, 130}, kBFloat16), one, one).starts_with("DTypeMismatch"));
  EXPECT_EQ(scaled(a, m({299, 130}, kInt8), one, one),
            "ShapeMismatch: sizes [5, 300] and [299, 130]: the inner sizes differ");
  EXPECT_EQ(scaled(a, b, m({}, kBFloat16), one), "DTypeMismatch: 'scale_a' is bfloat16, wanted float32");
  EXPECT_EQ(scaled(a, b, m({4, 1}), one),
            "ShapeMismatch: 'scale_a' has sizes [4, 1] and 'self' [5, 300]: wanted one element, or [m or 1, 1 or "
            "ceil(k / 128)]");
  EXPECT_EQ(scaled(a, b, m({5, 2}), one),
            "ShapeMismatch: 'scale_a' has sizes [5, 2] and 'self' [5, 300]: wanted one element, or [m or 1, 1 or "
            "ceil(k / 128)]");
  EXPECT_EQ(scaled(a, b, one, m({130})),
            "ShapeMismatch: 'scale_b' has sizes [130] and 'mat2' [300, 130]: wanted one element, or [1 or ceil(k / "
            "128), n or 1 or ceil(n / 128)]");
  EXPECT_TRUE(scaled(a, b, one, m({3, 33})).starts_with("ShapeMismatch: 'scale_b' has sizes [3, 33]"));
  EXPECT_EQ(scaled(a, b, one, one, m({129})),
            "ShapeMismatch: 'bias' has sizes [129] and 'mat2' [300, 130]: wanted [n]");
  EXPECT_EQ(scaled(a, b, one, one, m({130}, kInt8)),
            "DTypeMismatch: 'bias' is int8, wanted float32, bfloat16 or float16");
  EXPECT_EQ(scaled(a, b, one, one, kNo, kFloat8E4M3FN),
            "DTypeMismatch: out_dtype must be float32, bfloat16 or float16, got float8_e4m3fn");
  EXPECT_EQ(scaled(a, b, one, one, kNo, kNo, Ints{0, 4}),
            "InvalidArgument: block must be two sizes above 0, along k and along n, got [0, 4]");
}

TEST(ShapeRules, IndexingAndJoining) {
  Metas m;
  const TensorMeta *x = m({4, 5, 6}), *i = m({2, 3}, kInt64), *i1 = m({3}, kInt32);
  EXPECT_EQ(infer(OpId::embedding, {m({10, 8}), i}), "f32[2, 3, 8]");
  EXPECT_EQ(infer(OpId::embedding, {m({10, 8}), m({2})}),
            "DTypeMismatch: 'indices' must be int64 or int32, got float32");
  EXPECT_EQ(infer(OpId::index_select, {x, Int(-2), i1}), "f32[4, 3, 6]");
  EXPECT_EQ(infer(OpId::gather, {x, Int(2), m({4, 5, 9}, kInt64)}), "f32[4, 5, 9]");
  EXPECT_TRUE(
      infer(OpId::gather, {x, Int(2), m({4, 6, 1}, kInt64)}).starts_with("ShapeMismatch: index has sizes [4, 6, 1]"));
  std::vector<const TensorMeta*> adjacent{nullptr, i, i1}, apart{i1, nullptr, i1}, first{i};
  auto list = [](std::vector<const TensorMeta*>& v) { return std::span<const TensorMeta* const>(v); };
  EXPECT_EQ(infer(OpId::index, {x, list(adjacent)}), "f32[4, 2, 3]");
  EXPECT_EQ(infer(OpId::index, {x, list(apart)}), "f32[3, 5]");
  EXPECT_EQ(infer(OpId::index, {x, list(first)}), "f32[2, 3, 5, 6]");
  EXPECT_EQ(infer(OpId::index_put, {x, list(first), m({5, 6}), false}), "f32[4, 5, 6]");
  EXPECT_TRUE(infer(OpId::index_put, {x, list(first), m({4, 6}), false}).starts_with("ShapeMismatch"));
  EXPECT_EQ(infer(OpId::scatter, {x, Int(0), m({2, 5, 6}, kInt64), Scalar(1)}), "f32[4, 5, 6]");
  std::vector<const TensorMeta*> parts{x, m({4, 1, 6}, kFloat64), m({0})}, wrong{x, m({4, 5, 5})};
  EXPECT_EQ(infer(OpId::cat, {list(parts), Int(1)}), "f64[4, 6, 6]");
  EXPECT_EQ(infer(OpId::cat, {list(wrong), Int(1)}),
            "ShapeMismatch: sizes [4, 5, 6] and [4, 5, 5] must agree but for dimension 1");
  EXPECT_EQ(infer(OpId::slice_scatter, {x, m({4, 2, 6}), Int(1), Int(1), Int(3), Int(1)}), "f32[4, 5, 6]");
  EXPECT_EQ(infer(OpId::slice_scatter, {x, m({4, 3, 6}), Int(1), Int(1), Int(3), Int(1)}),
            "ShapeMismatch: src has sizes [4, 3, 6], the part of self has [4, 2, 6]");
  EXPECT_EQ(infer(OpId::select_scatter, {x, m({4, 6}), Int(1), Int(-1)}), "f32[4, 5, 6]");
  EXPECT_EQ(infer(OpId::diagonal_scatter, {m({3, 4}), m({3}), Int(1), Int(0), Int(1)}), "f32[3, 4]");
}

TEST(ShapeRules, Creation) {
  std::string_view cpu = "cpu";
  EXPECT_EQ(infer(OpId::full, {Ints{2, 3}, Scalar(1.5), kFloat16, cpu}), "f16[2, 3]");
  EXPECT_EQ(infer(OpId::full, {Ints{2, -3}, Scalar(1.5), kFloat16, cpu}), "InvalidArgument: negative size in [2, -3]");
  EXPECT_EQ(infer(OpId::full, {Ints{2}, Scalar(1), kFloat16, std::string_view("tpu")}),
            "InvalidArgument: unknown device 'tpu' (wanted cpu, cuda:<n>, null or shape_only)");
  for (const char* name : {"cuda:", "cuda:256", "cuda:99999999999", "cuda:1x", "cuda:-1"}) {
    EXPECT_EQ(infer(OpId::full, {Ints{2}, Scalar(1), kFloat16, std::string_view(name)}),
              "InvalidArgument: unknown device '" + std::string(name) + "' (wanted cpu, cuda:<n>, null or shape_only)");
  }
  EXPECT_EQ(infer(OpId::arange, {Scalar(0), Scalar(10), Scalar(3), kInt64, cpu}), "i64[4]");
  EXPECT_EQ(infer(OpId::arange, {Scalar(10), Scalar(0), Scalar(-3), kInt64, cpu}), "i64[4]");
  EXPECT_EQ(infer(OpId::arange, {Scalar(0.0), Scalar(1.0), Scalar(0.25), kFloat32, cpu}), "f32[4]");
  EXPECT_EQ(infer(OpId::arange, {Scalar(0), Scalar(1), Scalar(-1), kInt64, cpu}),
            "InvalidArgument: step leads away from end: start 0, end 1, step -1");
  EXPECT_EQ(infer(OpId::rand, {Ints{2}, kInt64, cpu, Int(0), Int(0)}),
            "DTypeMismatch: not defined for int64 (wanted a floating dtype)");
  Metas m;
  EXPECT_EQ(infer(OpId::multinomial, {m({3, 7}), Int(2), false, Int(0), Int(0)}), "i64[3, 2]");
  EXPECT_EQ(infer(OpId::multinomial, {m({3}), Int(4), false, Int(0), Int(0)}),
            "InvalidArgument: cannot draw 4 samples from 3 categories without replacement");
}

TEST(ShapeRules, DevicesMustAgree) {
  Metas m;
  const TensorMeta *a = m({2}), *b = m({2}), *zero = m({});
  m.all[1].device = Device::cuda(0);
  EXPECT_EQ(infer(OpId::add, {a, b, Scalar(1)}), "DeviceMismatch: tensors on cpu and cuda:0");
  EXPECT_EQ(infer(OpId::add, {zero, b, Scalar(1)}), "f32[2]");
}

// ---- symbolic sizes: what is asked, and that nothing else is

TEST(SymbolicRules, BroadcastAsksEqualFirst) {
  guards::ShapeEnv env;
  Int a = size_symbol(env, "a", 5), b = size_symbol(env, "b", 5);
  EXPECT_EQ(text(broadcast({a, 8}, {b, 8}, "add", {})), "[s0, 8]");
  EXPECT_EQ(env.guards().size(), 1u);
  EXPECT_TRUE((a == b).known_true());
  broadcast({a}, {b}, "add", {});  // known now
  EXPECT_EQ(env.guards().size(), 1u);
}

TEST(SymbolicRules, BroadcastAgainstConstantOneAsksNothing) {
  guards::ShapeEnv env;
  Int a = size_symbol(env, "a", 5);
  EXPECT_EQ(text(broadcast({a, 1}, {1, a}, "add", {})), "[s0, s0]");
  EXPECT_EQ(text(broadcast({a}, {}, "add", {})), "[s0]");
  EXPECT_TRUE(env.guards().empty());
}

TEST(SymbolicRules, BroadcastAsksIsItOne) {
  guards::ShapeEnv env;
  Int a = size_symbol(env, "a", 1), b = size_symbol(env, "b", 6);
  EXPECT_EQ(text(broadcast({a}, {b}, "add", {})), "[s1]");
  EXPECT_EQ(env.guards().size(), 1u);
  EXPECT_TRUE((a == 1).known_true());
  EXPECT_FALSE((b != 1).known_true());  // b may become 1 and the answer stays right
}

TEST(SymbolicRules, MismatchNamesTheSymbols) {
  guards::ShapeEnv env;
  Metas m;
  Int a = size_symbol(env, "a", 5);
  EXPECT_EQ(infer(OpId::add, {m({a}), m({4}), Scalar(1)}),
            "ShapeMismatch: sizes [s0] and [4] do not broadcast: s0 and 4 at dimension 0 differ and neither is 1");
  EXPECT_TRUE(env.guards().empty());
}

TEST(SymbolicRules, CacheSliceAsksThreeQuestionsAndHasTheSizeOfTheNewPart) {
  guards::ShapeEnv env;
  Metas m;
  Int n = size_symbol(env, "cache", 16), t = size_symbol(env, "t", 3);
  Int pos = env.new_symbol({2, "pos"}, 4);  // an Int argument: may be negative, and too large to add to
  EXPECT_EQ(infer(OpId::slice, {m({2, n, 8}), Int(1), pos, pos + t, Int(1)}), "f32[2, s1, 8]");
  EXPECT_EQ(guards_of(env).size(), 3u) << testing::PrintToString(guards_of(env));
  EXPECT_TRUE((pos >= 0).known_true());
  EXPECT_TRUE((pos + t <= n).known_true());
  EXPECT_EQ(infer(OpId::slice, {m({2, n, 8}), Int(1), Int(0), pos + t, Int(1)}), "f32[2, s1 + s2, 8]");
  EXPECT_EQ(guards_of(env).size(), 3u);
}

TEST(SymbolicRules, WholeSliceAsksNothing) {
  guards::ShapeEnv env;
  Metas m;
  Int n = size_symbol(env, "n", 16);
  EXPECT_EQ(infer(OpId::slice, {m({n}), Int(0), kNo, kNo, Int(1)}), "f32[s0]");
  EXPECT_EQ(infer(OpId::slice, {m({n}), Int(0), Int(0), n, Int(1)}), "f32[s0]");
  EXPECT_EQ(infer(OpId::slice, {m({n}), Int(0), Int(0), Int(INT64_MAX), Int(1)}), "f32[s0]");
  EXPECT_TRUE(env.guards().empty());
}

TEST(SymbolicRules, ViewOfContiguousAsksNothingWhenFactorsCancel) {
  guards::ShapeEnv env;
  Metas m;
  Int b = size_symbol(env, "b", 2), t = size_symbol(env, "t", 5);
  EXPECT_EQ(infer(OpId::view, {m({b, t, 64}), Ints{b, t, 8, 8}}), "f32[s0, s1, 8, 8]");
  EXPECT_EQ(infer(OpId::view, {m({b, t, 64}), Ints{b * t, 64}}), "f32[s0*s1, 64]");
  EXPECT_EQ(infer(OpId::view, {m({b, t, 64}), Ints{-1, 64}}), "f32[s0*s1, 64]");
  EXPECT_TRUE(env.guards().empty()) << testing::PrintToString(guards_of(env));
}

// Beside a 0 the size that -1 stands for would be any: that none is 0 is asked, once.
TEST(SymbolicRules, ViewWithMinusOneGuardsThatOtherSizesAreNotZero) {
  guards::ShapeEnv env;
  Metas m;
  Int b = size_symbol(env, "b", 2), t = size_symbol(env, "t", 5), none = size_symbol(env, "none", 0);
  EXPECT_EQ(infer(OpId::view, {m({b, t, 64}), Ints{b, t, 8, -1}}), "f32[s0, s1, 8, 8]");
  EXPECT_EQ(infer(OpId::view, {m({b * t, 64}), Ints{b, t, -1}}), "f32[s0, s1, 64]");
  EXPECT_EQ(env.guards().size(), 2u) << testing::PrintToString(guards_of(env));
  EXPECT_TRUE((0 < b).known_true() && (0 < t).known_true());
  EXPECT_TRUE(infer(OpId::view, {m({none, 3}), Ints{none, -1}}).starts_with("InvalidArgument: -1 is ambiguous"));
  EXPECT_EQ(env.guards().size(), 2u);
}

TEST(SymbolicRules, ViewGuardsDivisibility) {
  guards::ShapeEnv env;
  Metas m;
  Int n = size_symbol(env, "n", 12);
  EXPECT_EQ(infer(OpId::view, {m({n}), Ints{-1, 4}}), "f32[" + (n / 4).str() + ", 4]");
  ASSERT_EQ(env.guards().size(), 1u);
  EXPECT_TRUE((n % 4 == 0).known_true());
  EXPECT_TRUE(infer(OpId::view, {m({n}), Ints{-1, 5}}).starts_with("ShapeMismatch"));
  EXPECT_EQ(env.guards().size(), 1u);
}

TEST(SymbolicRules, ViewOfSymbolicStridesGuardsThatDimensionsJoin) {
  guards::ShapeEnv env;
  Metas m;
  Int a = size_symbol(env, "a", 3), b = size_symbol(env, "b", 4), sa = size_symbol(env, "sa", 4),
      sb = size_symbol(env, "sb", 1);
  EXPECT_EQ(infer(OpId::view, {m({a, b}, kFloat32, {sa, sb}), Ints{a * b}}), "f32[s0*s1]");
  EXPECT_EQ(env.guards().size(), 1u);
  EXPECT_TRUE((sa == b * sb).known_true());
}

TEST(SymbolicRules, ReductionOfExtremesNeedsAnElement) {
  guards::ShapeEnv env;
  Metas m;
  Int n = size_symbol(env, "n", 3);
  EXPECT_EQ(infer(OpId::sum, {m({n, 2}), Ints{0}, false, kNo}), "f32[2]");
  EXPECT_TRUE(env.guards().empty());
  EXPECT_EQ(infer(OpId::amax, {m({n, 2}), Ints{0}, false}), "f32[2]");
  EXPECT_TRUE((n > 0).known_true());
}

TEST(SymbolicRules, AttentionOverAGrowingCacheAsksNothing) {
  guards::ShapeEnv env;
  Metas m;
  Int past = size_symbol(env, "past", 7), t = size_symbol(env, "t", 1);
  EXPECT_EQ(infer(OpId::scaled_dot_product_attention, {m({1, 8, t, 16}), m({1, 8, past + t, 16}),
                                                       m({1, 8, past + t, 16}), kNo, Scalar(0.0), false, kNo, false}),
            "f32[1, 8, s1, 16]");
  EXPECT_TRUE(env.guards().empty());
}

TEST(SymbolicRules, ArangeKeepsItsLength) {
  guards::ShapeEnv env;
  Int n = size_symbol(env, "n", 7);
  EXPECT_EQ(infer(OpId::arange, {Scalar(0), Scalar(n), Scalar(1), kInt64, std::string_view("cpu")}), "i64[s0]");
  EXPECT_EQ(infer(OpId::arange, {Scalar(n - 1), Scalar(-1), Scalar(-1), kInt64, std::string_view("cpu")}), "i64[s0]");
  EXPECT_TRUE(env.guards().empty()) << testing::PrintToString(guards_of(env));
}

}  // namespace
}  // namespace reprise::graph
