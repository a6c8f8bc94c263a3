// Every row of the families of operators through the front door, as tests/ops/conformance_test.cc asks it of the rows
// of ops.def: dtypes, layouts, sizes 0 and 1, modes, symbolic sizes, given results, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "graph/register_op.h"
#include "tests/operators/row_cases.h"
#include "tests/support/error_of.h"
#include "tests/support/op_symbols.h"
#include "tests/support/share.h"

namespace reprise::test {
namespace {

const std::vector<RowCase>& cases() {
  static const std::vector<RowCase> all = [] {
    std::vector<RowCase> all = spatial_cases();
    for (const std::vector<RowCase>& more : {row_by_row_cases(), matrix_cases()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return all;
}

OpCase made(const RowCase& c, const RowArgs& args, const Asked& asked) {
  const graph::OpDef* row = graph::find_op(c.row);
  if (!row) throw std::runtime_error("no row " + c.row);
  return {row->id, args(asked)};
}

/// Results, or the text of the error.
struct Answer {
  std::vector<Tensor> results;
  std::string error;
};
template <class F>
Answer answer_of(F&& f) {
  try {
    return {f(), ""};
  } catch (const Error& e) {
    return {{}, std::string(error_code_name(e.code())) + " " + e.op() + ": " + e.message()};
  }
}

void expect_close(const Answer& got, const Answer& want, double tolerance, bool same_dtypes = true) {
  ASSERT_EQ(got.error, want.error);
  ASSERT_EQ(got.results.size(), want.results.size());
  for (std::size_t i = 0; i < want.results.size(); ++i) {
    const Tensor g = got.results[i].to(Device::cpu()), w = want.results[i].to(Device::cpu());
    ASSERT_TRUE(!same_dtypes || g.dtype() == w.dtype())
        << "result " << i << " is " << dtype_name(g.dtype()) << ", not " << dtype_name(w.dtype());
    ASSERT_EQ(graph::sizes_text(g.sizes()), graph::sizes_text(w.sizes())) << "result " << i;
    const double by = is_floating(g.dtype()) ? tolerance : 0;
    const std::vector<double> a = g.to(kFloat64).to_vector<double>(),
                              b = (is_floating(g.dtype()) ? w : w.to(g.dtype())).to(kFloat64).to_vector<double>();
    for (std::size_t k = 0; k < b.size(); ++k)
      ASSERT_TRUE(a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k])) ||
                  std::abs(a[k] - b[k]) <= by * (1 + std::abs(b[k])))
          << "result " << i << ", element " << k << " is " << a[k] << ", not " << b[k];
  }
}

double tolerance(const RowCase& c, DType t) {
  return t == kFloat64 ? 1e-9 : t == kFloat16 ? 1e-2 : t == kBFloat16 ? 6e-2 : c.tolerance;
}

Tensor from_an_offset(const Tensor& t) {
  return t.dim() == 0 ? t : cat({zeros_like(t.slice(0, 0, 1)), t}, 0).slice(0, t.size(0) > 0 ? 1 : 0);
}
Tensor expanded(const Tensor& t) { return t.dim() == 0 || t.size(0) == 0 ? t : t.slice(0, 0, 1).expand(t.sizes()); }
struct NamedLayout {
  const char* name;
  Tensor (*make)(const Tensor&);
};
const NamedLayout kLayouts[] = {{"transposed memory", transposed_memory},
                                {"gaps", with_gaps},
                                {"an offset", from_an_offset},
                                {"expanded", expanded}};

class FamilyRows : public testing::TestWithParam<std::size_t> {
 protected:
  const RowCase& c() const { return cases()[GetParam()]; }
  /// The call as a function to compile: its tensors and its symbols are arguments.
  auto compiled(const OpCase& call_, const std::string& mode) const {
    return compile(
        [call_](const std::vector<Tensor>& t, const std::vector<Int>& n) { return call(with_symbols(call_, n), t); },
        {.name = c().row, .mode = mode});
  }
};

TEST_P(FamilyRows, DTypes) {
  int taken = 0;
  const DType widest =
      std::find(c().dtypes.begin(), c().dtypes.end(), kFloat64) != c().dtypes.end() ? kFloat64 : kInt64;
  for (DType t : kAllDTypes) {
    SCOPED_TRACE(dtype_name(t));
    const OpCase asked = made(c(), c().args, {5, t});
    const std::vector<Tensor> tensors = tensors_of(asked);
    if (std::find(c().dtypes.begin(), c().dtypes.end(), t) == c().dtypes.end()) {
      const Error e = error_of([&] { call(asked, tensors); });
      EXPECT_EQ(e.code(), ErrorCode::DTypeMismatch) << e.what();
      EXPECT_FALSE(e.op().empty());
      continue;
    }
    if (++taken > 1 && !in_case_share(c().row + std::string(dtype_name(t)))) continue;
    const Answer eager = answer_of([&] { return call(asked, tensors); });
    EXPECT_EQ(eager.error, "");
    const OpCase wide = made(c(), c().args, {5, t, widest});
    expect_close(eager, answer_of([&] { return call(wide, tensors_of(wide)); }), tolerance(c(), t), false);
    auto f = compiled(asked, "full");
    expect_close(answer_of([&] { return f(tensors, symbols_of(asked)); }), eager, tolerance(c(), t));
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(taken, static_cast<int>(c().dtypes.size()));
}

TEST_P(FamilyRows, Layouts) {
  const DType t = c().dtypes[0];
  const OpCase asked = made(c(), c().args, {6, t});
  auto f = compiled(asked, "full");
  for (const NamedLayout& layout : kLayouts) {
    if (&layout != kLayouts && !in_case_share(c().row + layout.name)) continue;
    SCOPED_TRACE(layout.name);
    std::vector<Tensor> given, dense;
    for (const Tensor& x : tensors_of(asked))
      given.push_back(layout.make(x)), dense.push_back(given.back().clone().contiguous());
    const Answer want = answer_of([&] { return call(asked, dense); });
    {
      SCOPED_TRACE("eager");
      expect_close(answer_of([&] { return call(asked, given); }), want, tolerance(c(), t));
    }
    expect_close(answer_of([&] { return f(given, symbols_of(asked)); }), want, tolerance(c(), t));
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

// One compilation serves all sizes of 2 and more; sizes 1 and 0 give, or refuse, what eager does.
TEST_P(FamilyRows, Sizes) {
  const DType t = c().dtypes[0];
  const OpCase first = made(c(), c().args, {5, t});
  for (std::string mode : {"full", "no-fuse", "interpret"}) {
    if (mode != "full" && !in_case_share(c().row + mode)) continue;
    SCOPED_TRACE(mode);
    auto f = compiled(first, mode);
    for (std::int64_t n : {5, 9, 18, 6, 1, 0, 7}) {
      SCOPED_TRACE(n);
      const OpCase asked = made(c(), c().args, {n, t});
      const std::vector<Tensor> tensors = tensors_of(asked);
      const Answer want = answer_of([&] { return call(asked, tensors); });
      EXPECT_TRUE(n < 2 || want.error.empty()) << want.error;
      expect_close(answer_of([&] { return f(tensors, symbols_of(asked)); }), want, tolerance(c(), t));
      if (HasFatalFailure()) return;
      EXPECT_TRUE(n != 6 || f.stats().compilations <= c().compilations) << f.stats().compilations << " compilations";
      EXPECT_TRUE(n < 2 || f.stats().eager_fallbacks == 0) << f.stats().last_fallback_reason;
    }
  }
}

// Between others, into memory that is given and stands in another order, and in place where the row has a twin.
TEST_P(FamilyRows, AmongOthersAndInto) {
  const DType t = c().dtypes[0];
  const OpCase asked = made(c(), c().args, {6, t});
  const std::vector<Tensor> tensors = tensors_of(asked);
  std::vector<Tensor> want = call(asked, tensors);
  const Tensor out = transposed_memory(zeros_like(want[0]));
  auto f = compile([&](std::vector<Tensor> x, const std::vector<Int>& n, Tensor out) {
    for (Tensor& one : x)
      if (is_floating(one.dtype())) one = one * 2 * 0.5;
    std::vector<Tensor> r = call(with_symbols(asked, n), x);
    into(out, r[0]);
    for (Tensor& one : r)
      if (is_floating(one.dtype())) one = one + one;
    return r;
  });
  std::vector<Tensor> got = f(tensors, symbols_of(asked), out);
  expect_close({{out}, ""}, {{want[0]}, ""}, tolerance(c(), t));
  for (Tensor& one : want)
    if (is_floating(one.dtype())) one = one + one;
  expect_close({got, ""}, {want, ""}, tolerance(c(), t));
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  // What has other sizes gets the result's.
  const Tensor other = empty({0}, {.dtype = want[0].dtype(), .device = test_device()});
  into(other, call(asked, tensors)[0]);
  EXPECT_EQ(graph::sizes_text(other.sizes()), graph::sizes_text(call(asked, tensors)[0].sizes()));
  if (!graph::op(asked.op).has_inplace) return;
  auto twin = compile([&](const std::vector<Tensor>& x) { call(asked, x, true); });
  for (bool eager : {true, false}) {
    std::vector<Tensor> self = tensors_of(asked);
    self[0] = with_gaps(self[0]);
    eager ? static_cast<void>(call(asked, self, true)) : twin(self);
    expect_close({{self[0]}, ""}, {call(asked, tensors), ""}, tolerance(c(), t));
  }
}

TEST_P(FamilyRows, Refused) {
  if (!c().refused) return;  // all sizes fit
  const OpCase wrong = made(c(), c().refused, {5, c().dtypes[0]});
  const std::vector<Tensor> tensors = tensors_of(wrong);
  const Error e = error_of([&] { call(wrong, tensors); });
  EXPECT_EQ(e.op() + ": " + e.message(), c().says);
  auto f = compiled(wrong, "full");
  const Error again = error_of([&] { f(tensors, symbols_of(wrong)); });
  EXPECT_EQ(again.op() + ": " + again.message(), c().says);
  const OpCase right = made(c(), c().args, {5, c().dtypes[0]});
  call(right, tensors_of(right));
}

std::string case_name(const testing::TestParamInfo<std::size_t>& i) {
  std::string name;
  for (char ch : cases()[i.param].row) name += std::isalnum(static_cast<unsigned char>(ch)) ? ch : '_';
  return name + "_" + std::to_string(i.param);
}
INSTANTIATE_TEST_SUITE_P(All, FamilyRows, testing::Range<std::size_t>(0, cases().size()), case_name);

TEST(Families, EveryRowHasACase) {
  graph::register_families();
  std::set<std::string> have;
  for (const RowCase& c : cases()) have.insert(c.row);
  for (const graph::OpDef& d : graph::all_ops()) {
    const std::string name(d.name());
    // What reads numbers back for the stages of a program gives no result (tests/runtime has it).
    const bool of_a_family =
        static_cast<std::size_t>(d.id) >= graph::kBuiltinOps && (name.find("::") == std::string::npos);
    if (of_a_family) {
      EXPECT_TRUE(have.contains(name)) << name << " has no case: add one to row_cases_*.cc";
    }
  }
}

}  // namespace
}  // namespace reprise::test
