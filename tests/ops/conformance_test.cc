// Every row of the operator table through the front door: eager and compiled results against the reference kernels,
// over dtypes and over the layouts that operands can have. One case is an operator with arguments; cases.cc lists them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/reference/reference.h"
#include "reprise/compile.h"
#include "reprise/ops.h"
#include "tensor/impl.h"
#include "tests/ops/cases.h"
#include "tests/support/device.h"
#include "tests/support/share.h"

namespace reprise::test {
namespace {

using graph::CallArg;

/// The numbers among a case's arguments (truth values left out), and the case with others in their place.
std::vector<Scalar> numbers_of(const OpCase& c) {
  std::vector<Scalar> n;
  for (const OpArg& a : c.args)
    if (auto* s = std::get_if<Scalar>(&a); s && s->kind() != Scalar::Kind::Bool) n.push_back(*s);
  return n;
}
OpCase with_numbers(OpCase c, const std::vector<Scalar>& numbers) {
  std::size_t next = 0;
  for (OpArg& a : c.args)
    if (auto* s = std::get_if<Scalar>(&a); s && s->kind() != Scalar::Kind::Bool) a = numbers[next++];
  return c;
}

double tolerance(DType t) {
  switch (t) {
    case DType::Float64: return 1e-11;
    case DType::Float16: return 4e-3;
    case DType::BFloat16: return 3e-2;
    default: return 2e-5;
  }
}

void expect_equal(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.dim(), want.dim()) << what;
  for (int d = 0; d < want.dim(); ++d) ASSERT_EQ(got.size(d).value(), want.size(d).value()) << what << " size " << d;
  if (!is_floating(want.dtype())) {
    EXPECT_EQ(got.to_vector<std::int64_t>(), want.to_vector<std::int64_t>()) << what;
    return;
  }
  std::vector<double> g = got.to_vector<double>(), w = want.to_vector<double>();
  double tol = tolerance(want.dtype());
  for (std::size_t i = 0; i < w.size(); ++i) {
    bool same =
        std::isnan(w[i]) ? std::isnan(g[i]) : g[i] == w[i] || std::abs(g[i] - w[i]) <= tol * (1 + std::abs(w[i]));
    ASSERT_TRUE(same) << what << ": element " << i << " is " << g[i] << ", the reference says " << w[i];
  }
}

void expect_equal(const std::vector<Tensor>& got, const std::vector<Tensor>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) expect_equal(got[i], want[i], what + " result " + std::to_string(i));
}

/// What is promised of pointwise results in float32, between eager and compiled code.
void expect_same_bits(const Tensor& a, const Tensor& b, const std::string& what) {
  if (a.dtype() != DType::Float32) return;
  std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_TRUE(std::bit_cast<std::uint32_t>(x[i]) == std::bit_cast<std::uint32_t>(y[i]) ||
                (std::isnan(x[i]) && std::isnan(y[i])))
        << what << ": compiled and eager differ at element " << i << ": " << x[i] << " and " << y[i];
}

/// The reference result; for a view, its elements copied out by the eager view itself, which computes nothing.
std::vector<Tensor> reference(const OpCase& c, const std::vector<Tensor>& tensors) {
  if (graph::op(c.op).cls == graph::OpClass::View) return call(c, tensors);
  std::vector<std::vector<Tensor>> lists;
  return kernels::reference_call(c.op, call_args(c, tensors, lists));
}

class Conformance : public testing::TestWithParam<graph::OpId> {};

TEST_P(Conformance, AgreesWithTheReference) {
  std::vector<OpCase> cases = cases_of(GetParam());
  ASSERT_FALSE(cases.empty());
  int run = 0;
  for (const OpCase& c : cases) {
    std::string what = describe(c);
    if (run > 0 && !in_case_share(what)) continue;
    SCOPED_TRACE(what);
    std::vector<Tensor> tensors = tensors_of(c), want;
    try {
      want = reference(c, tensors);
    } catch (const Error& e) {  // the operator is not defined for this dtype
      ASSERT_EQ(e.code(), ErrorCode::DTypeMismatch) << e.what();
      EXPECT_THROW(call(c, tensors), Error);
      continue;
    }
    ++run;
    tensors = Mover()(tensors);
    std::vector<Tensor> eager = call(c, tensors);
    expect_equal(eager, want, "eager: " + what);
    for (std::string mode : {"full", "no-fuse", "interpret"}) {
      auto step = compile([&c](const std::vector<Tensor>& t) { return call(c, t); },
                          {.name = std::string(graph::op(c.op).name()), .mode = mode});
      std::vector<Tensor> first = step(tensors);
      expect_equal(first, want, mode + ": " + what);
      expect_equal(step(tensors), want, mode + ", replayed: " + what);
      EXPECT_EQ(step.stats().compilations, 1) << what << " " << step.stats().last_fallback_reason;
      if (graph::op(c.op).cls == graph::OpClass::Pointwise && mode != "interpret")
        expect_same_bits(first[0], eager[0], what);
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(run, 0) << "no dtype was admitted";
}

class NumberConformance : public testing::TestWithParam<graph::OpId> {};

// Numbers that are arguments of the compiled function: the same results as with constants, and other numbers at the
// next call.
TEST_P(NumberConformance, NumbersAreArguments) {
  int run = 0;
  for (const OpCase& c : cases_of(GetParam())) {
    std::vector<Scalar> numbers = numbers_of(c), others;
    if (numbers.empty() || (run > 0 && !in_case_share(describe(c)))) continue;
    for (const Scalar& s : numbers)
      others.push_back(s.is_float() ? Scalar(s.to_double() * 0.75) : Scalar(s.to_int() + 1));
    std::vector<Tensor> tensors = tensors_of(c);
    const OpCase other = with_numbers(c, others);
    std::vector<Tensor> want, want_other;
    try {
      want = reference(c, tensors);
      want_other = reference(other, tensors);
    } catch (const Error&) {  // not defined for this dtype, or not for these numbers
      continue;
    }
    ++run;
    SCOPED_TRACE(describe(c));
    tensors = Mover()(tensors);
    for (std::string mode : {"full", "interpret"}) {
      auto step = compile(
          [&c](const std::vector<Tensor>& t, const std::vector<Scalar>& n) { return call(with_numbers(c, n), t); },
          {.mode = mode});
      std::vector<Tensor> first = step(tensors, numbers);
      expect_equal(first, want, mode);
      expect_equal(step(tensors, others), want_other, mode + ", other numbers");
      expect_equal(step(tensors, numbers), want, mode + ", the first numbers again");
      EXPECT_EQ(step.stats().eager_fallbacks, 0) << step.stats().last_fallback_reason;
      if (graph::op(c.op).cls == graph::OpClass::Pointwise && mode != "interpret")
        expect_same_bits(first[0], call(c, tensors)[0], mode);
    }
    if (HasFatalFailure()) return;
  }
}

class InPlaceConformance : public testing::TestWithParam<graph::OpId> {};

// `op_`: the result goes into the first argument, in its dtype, also where that is a strided view.
TEST_P(InPlaceConformance, WritesIntoTheFirstArgument) {
  int run = 0;
  for (const OpCase& c : cases_of(GetParam())) {
    std::string what = describe(c);
    if (run > 0 && !in_case_share(what)) continue;
    SCOPED_TRACE(what);
    std::vector<Tensor> tensors = tensors_of(c);
    if (!std::holds_alternative<Tensor>(c.args[0]) || overlaps_itself(*tensors[0].impl())) continue;
    Tensor want;
    try {
      Tensor made = reference(c, tensors)[0];
      std::vector<CallArg> to{&made, tensors[0].dtype()};
      want = kernels::reference_call(graph::OpId::to, to)[0];
      call(c, std::vector<Tensor>(tensors), false);
      std::vector<Tensor> self = tensors;
      self[0] = same_layout_copy(tensors[0]);
      self = Mover()(self);
      call(c, self, true);
      expect_equal(self[0], want, "eager: " + what);
    } catch (const Error& e) {
      ASSERT_TRUE(e.code() == ErrorCode::DTypeMismatch || e.code() == ErrorCode::ShapeMismatch) << e.what();
      continue;
    }
    ++run;
    std::vector<Tensor> self = tensors;
    self[0] = same_layout_copy(tensors[0]);
    self = Mover()(self);
    auto step = compile([&c](const std::vector<Tensor>& t) { call(c, t, true); },
                        {.name = std::string(graph::op(c.op).name()) + "_"});
    step(self);
    expect_equal(self[0], want, "compiled: " + what);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(run, 0) << "no case could run in place";
}

std::vector<graph::OpId> rows(bool inplace) {
  std::vector<graph::OpId> r;
  for (const graph::OpDef& d : graph::all_ops()) {
    // These change what a handle is, need another device, or take graphs: they cannot be called for a result that a
    // reference computes.
    if (d.id == graph::OpId::set || d.cls == graph::OpClass::Transfer || d.cls == graph::OpClass::Control) continue;
    if (!inplace || d.has_inplace) r.push_back(d.id);
  }
  return r;
}
std::vector<graph::OpId> rows_with_numbers() {
  std::vector<graph::OpId> r;
  for (graph::OpId id : rows(false)) {
    std::vector<OpCase> cases = cases_of(id);
    if (std::any_of(cases.begin(), cases.end(), [](const OpCase& c) { return !numbers_of(c).empty(); }))
      r.push_back(id);
  }
  return r;
}
std::string row_name(const testing::TestParamInfo<graph::OpId>& i) { return std::string(graph::op(i.param).name()); }
INSTANTIATE_TEST_SUITE_P(Table, Conformance, testing::ValuesIn(rows(false)), row_name);
INSTANTIATE_TEST_SUITE_P(Table, NumberConformance, testing::ValuesIn(rows_with_numbers()), row_name);
INSTANTIATE_TEST_SUITE_P(Table, InPlaceConformance, testing::ValuesIn(rows(true)), row_name);

}  // namespace
}  // namespace reprise::test
