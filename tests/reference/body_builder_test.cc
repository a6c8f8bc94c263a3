#include "kernels/loop/body_builder.h"

#include "tests/reference/harness.h"

namespace reprise::test {
namespace {

using kernels::Access;
using kernels::BodyBuilder;
using kernels::BodyNode;
using kernels::LoopKernel;
using kernels::ReduceOp;
using kernels::ScalarOp;

struct Body : testing::Test {
  LoopKernel k;
  BodyBuilder b{k};
  Body() { k.extents = {8}, k.n_kept = 1; }
  std::uint32_t load(DType t, Int stride = 1) {
    Access a;
    a.buffer = b.buffer(t);
    a.strides = {stride};
    return b.load(a);
  }
};

TEST_F(Body, EqualNodesAreMadeOnce) {
  Access a;
  a.buffer = b.buffer(DType::Float32);
  a.strides = {1};
  std::uint32_t x = b.load(a), y = b.load(a);
  EXPECT_EQ(x, y);
  a.offset = 3;
  EXPECT_NE(b.load(a), x);
  EXPECT_EQ(k.accesses.size(), 2u);
  EXPECT_EQ(b.op(ScalarOp::Add, x, x), b.op(ScalarOp::Add, x, x));
  EXPECT_NE(b.op(ScalarOp::Add, x, x), b.op(ScalarOp::Mul, x, x));
  EXPECT_EQ(b.constant(Scalar(2), DType::Float32), b.constant(Scalar(2.0), DType::Float32));
  EXPECT_NE(b.constant(Scalar(0.0), DType::Float32), b.constant(Scalar(-0.0), DType::Float32));
  EXPECT_EQ(b.constant(Scalar(kNan), DType::Float32), b.constant(Scalar(kNan), DType::Float32));
  EXPECT_NE(b.constant(Scalar(1), DType::Float32), b.constant(Scalar(1), DType::Float64));
}

TEST_F(Body, ConstantsAreHeldAsTheirDtype) {
  auto node = [&](Scalar s, DType t) { return k.body[b.constant(s, t)]; };
  EXPECT_EQ(node(0.1, DType::Float32).fimm, static_cast<double>(0.1f));
  EXPECT_EQ(node(0.1, DType::Float64).fimm, 0.1);
  EXPECT_EQ(node(0.1, DType::Float16).fimm, static_cast<double>(static_cast<float>(Half(0.1f))));
  EXPECT_EQ(node(0.1, DType::Float16).dtype, DType::Float32);
  EXPECT_EQ(node(300, DType::UInt8).iimm, 44);
  EXPECT_EQ(node(256, DType::Bool).iimm, 1);
  EXPECT_EQ(node(0.5, DType::Bool).iimm, 1);
}

TEST_F(Body, CastsThatChangeNothingAreNotWritten) {
  std::uint32_t x = load(DType::Float32), h = load(DType::Float16);
  EXPECT_EQ(b.cast(x, DType::Float32), x);
  EXPECT_EQ(b.dtype(h), DType::Float32);
  EXPECT_EQ(b.cast(h, DType::Float32), h);
  EXPECT_EQ(b.cast(h, DType::Float16), h);  // it came from there
  EXPECT_NE(b.cast(h, DType::BFloat16), h);
  std::uint32_t rounded = b.cast(x, DType::Float16);
  EXPECT_NE(rounded, x);  // the value changes
  EXPECT_EQ(b.dtype(rounded), DType::Float32);
  EXPECT_EQ(b.cast(rounded, DType::Float16), rounded);
  EXPECT_EQ(b.cast(rounded, DType::Float32), rounded);
}

TEST_F(Body, ReductionsAndStoresConvert) {
  std::uint32_t i = load(DType::Int8), f = load(DType::Float32), d = load(DType::Float64);
  EXPECT_EQ(b.dtype(b.reduce(ReduceOp::Sum, i)), DType::Int64);
  EXPECT_EQ(b.dtype(b.reduce(ReduceOp::Max, i)), DType::Int8);
  EXPECT_EQ(b.dtype(b.reduce(ReduceOp::Any, f)), DType::Bool);
  EXPECT_EQ(b.dtype(b.reduce(ReduceOp::Sum, f)), DType::Float32);
  Access out;
  out.buffer = b.buffer(DType::Float16);
  out.strides = {1};
  std::uint32_t s = b.store(out, d);
  EXPECT_TRUE(k.buffers[out.buffer].written);
  EXPECT_EQ(k.body[s].dtype, DType::Float16);
  EXPECT_NE(b.store(out, d), s);
  kernels::verify(k);
}

TEST_F(Body, RefusesWhatDoesNotFit) {
  std::uint32_t f = load(DType::Float32), d = load(DType::Float64);
  EXPECT_EQ(error_of([&] { b.op(ScalarOp::Add, f, d); }).code(), ErrorCode::Internal);
  EXPECT_EQ(error_of([&] { b.op(ScalarOp::Add, f); }).code(), ErrorCode::Internal);
  EXPECT_EQ(error_of([&] { b.op(ScalarOp::Where, f, f, f); }).code(), ErrorCode::Internal);
}

}  // namespace
}  // namespace reprise::test
