// Every derivative against finite differences in float64, of first and second order; and each way to it against the
// plain one: layouts, half types, sizes 0 and 1, in place, compiled.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "autograd/derivative.h"
#include "base/knobs.h"
#include "graph/register_op.h"
#include "reprise/autograd.h"
#include "tests/autograd/derivative_cases.h"
#include "tests/support/op_symbols.h"

namespace reprise::test {
namespace {

const autograd::Derivative* derivative_of(graph::OpId op) { return autograd::derivatives().find(op); }

/// Rows that have no derivative, and why.
const std::map<std::string, std::string> kWithout = {
    {"cond", "the tape follows the branch that ran; in a graph it is the joint graph's matter"},
    {"scan", "the tape follows the loop that ran; in a graph its node has one (region_derivative.h)"},
    {"nextafter", "a step of rounding is no function of numbers that has one; nor has ATen's"},
    {"windows", "stands in what decompositions make, where derivatives are taken already"},
    {"index_within", "stands in what decompositions make, where derivatives are taken already"},
};

std::vector<RowCase> made_cases() {
  std::vector<RowCase> all = built_in_derivative_cases();
  for (const std::vector<RowCase>& more : {spatial_cases(), row_by_row_cases(), matrix_cases()})
    for (const RowCase& c : more) {
      const graph::OpDef* op = graph::find_op(c.row);
      if (!op) throw std::runtime_error("no row " + c.row);
      if (const autograd::Derivative* d = derivative_of(op->id); d && d->rule) all.push_back(c);
    }
  return all;
}
const std::vector<RowCase>& cases() {
  static const std::vector<RowCase> all = made_cases();
  return all;
}

/// Which of a call's tensors are differentiated.
std::vector<bool> followed(const OpCase& c) {
  std::vector<bool> all;
  const autograd::Args args = derivative_of(c.op)->differentiable;
  auto add = [&](const Tensor& t, std::size_t arg) {
    if (t.defined()) all.push_back((args >> arg & 1) && is_floating(t.dtype()));
  };
  for (std::size_t i = 0; i < c.args.size(); ++i) {
    if (auto* one = std::get_if<Tensor>(&c.args[i])) add(*one, i);
    if (auto* list = std::get_if<std::vector<Tensor>>(&c.args[i]))
      for (const Tensor& t : *list) add(t, i);
  }
  if (graph::op(c.op).name() == "special_zeta") all[0] = false;  // an error that tests/operators has
  return all;
}

/// Numbers of [-1, 1] without an order, all different, whatever the size.
Tensor scattered(const Tensor& like, double phase) {
  const Tensor at = arange(Scalar(like.numel()), {kFloat64, like.device()});
  return reshape(sin(at * 2.399963 + phase), like.sizes()).to(like.dtype());
}

/// A call, its numbers moved off the corners of functions.
struct Sample {
  OpCase call;
  std::vector<Tensor> tensors;
  std::vector<bool> follows;
};
Sample sample(const RowCase& c, std::int64_t n, DType t = kFloat64) {
  Sample s;
  s.call = {graph::find_op(c.row)->id, c.args({n, t})};
  s.tensors = tensors_of(s.call);
  s.follows = followed(s.call);
  // Off the corners of functions of quarters; a grid's lie elsewhere.
  const bool grid = c.row == "grid_sampler";
  for (std::size_t i = 0; i < s.tensors.size(); ++i) {
    if (!s.follows[i]) continue;
    Tensor x = s.tensors[i].to(kFloat64);
    if (c.row == "erfinv") x = x * 0.25;
    s.tensors[i] = (x + scattered(x, static_cast<double>(i)) * (grid ? 0.004 : 0.02) + (grid ? 0.02 : 0.03))
                       .to(s.tensors[i].dtype());
  }
  return s;
}

/// Rows that read one triangle of what is symmetric, and those whose vectors have signs that an algorithm chose, or
/// that no derivative has.
std::vector<Tensor> function_of(const OpCase& c, std::vector<Tensor> t, bool inplace = false) {
  const std::string_view name = graph::op(c.op).name();
  if (name == "cholesky" || name == "linalg_eigh") t[0] = (t[0] + mT(t[0])) * 0.5;
  std::vector<Tensor> r = call(c, t, inplace);
  if (name == "linalg_svd" && std::get<bool>(c.args[1])) r = {r[1]};
  if (name == "linalg_qr") {
    const std::string mode = std::get<std::string>(c.args[1]);
    if (mode != "reduced") return {};
  }
  if (name == "cholesky") return {c.args.size() > 1 && std::get<bool>(c.args[1]) ? triu(r[0]) : tril(r[0])};
  std::vector<Tensor> floats;
  for (const Tensor& x : r)
    if (is_floating(x.dtype())) floats.push_back(x);
  return floats;
}

std::vector<Tensor> leaves(const std::vector<Tensor>& tensors, const std::vector<bool>& follows) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    all.push_back(follows[i] ? tensors[i].detach().requires_grad_() : tensors[i]);
  return all;
}
std::vector<Tensor> chosen(const std::vector<Tensor>& tensors, const std::vector<bool>& follows) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (follows[i]) all.push_back(tensors[i]);
  return all;
}
std::vector<Tensor> weights_of(const std::vector<Tensor>& made, double phase = 1) {
  std::vector<Tensor> all;
  for (const Tensor& t : made) all.push_back(scattered(t, phase + static_cast<double>(all.size())));
  return all;
}
/// Zeros where there is none.
std::vector<Tensor> defined(std::vector<Tensor> grads, const std::vector<Tensor>& of) {
  for (std::size_t i = 0; i < grads.size(); ++i)
    if (!grads[i].defined()) grads[i] = zeros_like(of[i]);
  return grads;
}

/// The gradients of a call's results, weighted, of all tensors that it follows.
std::vector<Tensor> gradients(const OpCase& c, const std::vector<Tensor>& tensors, const std::vector<bool>& follows,
                              bool create_graph = false, const std::vector<Tensor>* own = nullptr) {
  const std::vector<Tensor> x = own ? *own : leaves(tensors, follows), wanted = chosen(x, follows);
  std::vector<Tensor> made;
  for (const Tensor& t : function_of(c, x))
    if (t.requires_grad()) made.push_back(t);
  if (made.empty()) return defined(std::vector<Tensor>(wanted.size()), wanted);
  return defined(grad(made, wanted, weights_of(made), {.create_graph = create_graph, .allow_unused = true}), wanted);
}
double value_of(const OpCase& c, const std::vector<Tensor>& tensors, const std::vector<bool>& follows) {
  double sum_ = 0;
  // As gradients() weights them: those that are followed.
  const std::vector<Tensor> x = leaves(tensors, follows);
  std::vector<Tensor> made;
  for (const Tensor& t : function_of(c, x))
    if (t.requires_grad()) made.push_back(t.detach());
  const std::vector<Tensor> w = weights_of(made);
  for (std::size_t i = 0; i < made.size(); ++i) sum_ += sum(made[i].to(kFloat64) * w[i].to(kFloat64)).item<double>();
  return sum_;
}
double dot(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) s += sum(a[i].to(kFloat64) * b[i].to(kFloat64)).item<double>();
  return s;
}
/// f's change along a direction, by central differences of two steps, extrapolated.
template <class F>
double slope(const Sample& s, const std::vector<Tensor>& direction, double h, F&& f) {
  auto at = [&](double by) {
    std::vector<Tensor> moved = s.tensors;
    for (std::size_t i = 0, k = 0; i < moved.size(); ++i)
      if (s.follows[i]) moved[i] = moved[i] + direction[k++] * by;
    return f(moved);
  };
  const double near = (at(h) - at(-h)) / (2 * h), far = (at(2 * h) - at(-2 * h)) / (4 * h);
  return (4 * near - far) / 3;
}
bool is_double(const Sample& s) {
  for (std::size_t i = 0; i < s.tensors.size(); ++i)
    if (s.follows[i] && s.tensors[i].dtype() != kFloat64) return false;
  return true;
}

/// `most_of`: what is larger is not compared (it may be beyond a half type).
void expect_close(const std::vector<Tensor>& got, const std::vector<Tensor>& want, double tolerance,
                  double most_of = HUGE_VAL) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(graph::sizes_text(got[i].sizes()), graph::sizes_text(want[i].sizes())) << "gradient " << i;
    const std::vector<double> a = got[i].to(kFloat64).to_vector<double>(), b = want[i].to(kFloat64).to_vector<double>();
    double most = 0;
    for (double v : b)
      if (std::abs(v) <= most_of) most = std::max(most, std::abs(v));
    for (std::size_t k = 0; k < b.size(); ++k)
      ASSERT_TRUE(a[k] == b[k] || std::abs(b[k]) > most_of || (std::isnan(a[k]) && std::isnan(b[k])) ||
                  std::abs(a[k] - b[k]) <= tolerance * (1 + most))
          << "gradient " << i << ", element " << k << " is " << a[k] << ", not " << b[k];
  }
}

/// Rows that compute in float32 whatever they are given, or whose kernels take no float64.
DType widest(const RowCase& c) { return c.row == "scaled_mm" || c.row == "block_linear" ? kFloat32 : kFloat64; }

class Derivatives : public testing::TestWithParam<std::size_t> {
 protected:
  const RowCase& c() const { return cases()[GetParam()]; }
};
/// Mathematics alone is asked of: nothing is compiled for each operator and layout.
class DerivativeValues : public Derivatives {
  const Scoped<std::string> mode_{knobs().mode, "interpret"};
};

TEST_P(DerivativeValues, FiniteDifferences) {
  for (std::int64_t n : {4, 1}) {
    SCOPED_TRACE(n);
    Sample s;
    try {
      s = sample(c(), n, widest(c()));
      call(s.call, s.tensors);
    } catch (const Error& e) {
      ASSERT_EQ(n, 1) << e.what();
      continue;
    }
    const std::vector<Tensor> got = gradients(s.call, s.tensors, s.follows), d = weights_of(got, 7);
    const bool exact = is_double(s);
    const double want =
        slope(s, d, exact ? 2e-4 : 2e-2, [&](const std::vector<Tensor>& t) { return value_of(s.call, t, s.follows); });
    const double have = dot(got, d);
    EXPECT_NEAR(have, want, (exact ? 2e-7 : 5e-3) * (1 + std::abs(want))) << describe(s.call);
  }
}

// Derivatives of gradients: by create_graph, and by differences of first gradients.
TEST_P(DerivativeValues, SecondOrder) {
  if (c().row == "ctc_loss") return;  // one derivative, as ATen's
  const Sample s = sample(c(), 4, widest(c()));
  if (!is_double(s)) return;
  const std::vector<Tensor> x = leaves(s.tensors, s.follows), first = gradients(s.call, s.tensors, s.follows, true, &x),
                            u = weights_of(first, 5), wanted = chosen(x, s.follows);
  Tensor h;
  for (std::size_t i = 0; i < first.size(); ++i)
    if (first[i].requires_grad()) h = h.defined() ? h + sum(first[i] * u[i]) : sum(first[i] * u[i]);
  const std::vector<Tensor> got = h.defined() ? defined(grad({h}, wanted, {}, {.allow_unused = true}), wanted)
                                              : defined(std::vector<Tensor>(wanted.size()), wanted);
  const std::vector<Tensor> d = weights_of(got, 7);
  const double want =
      slope(s, d, 2e-4, [&](const std::vector<Tensor>& t) { return dot(gradients(s.call, t, s.follows), u); });
  EXPECT_NEAR(dot(got, d), want, 2e-6 * (1 + std::abs(want))) << describe(s.call);
}

// The same of compiled functions, whose joint graph is derived again: by create_graph through it, and by differences of
// eager first gradients.
TEST_P(DerivativeValues, SecondOrderThroughACompiledFunction) {
  if (c().row == "ctc_loss") return;
  const Sample s = sample(c(), 4, widest(c()));
  if (!is_double(s)) return;
  auto f = compile([&](const std::vector<Tensor>& t) { return function_of(s.call, t); },
                   {.name = c().row, .second_order = true});
  const std::vector<Tensor> x = leaves(s.tensors, s.follows), wanted = chosen(x, s.follows);
  std::vector<Tensor> made;
  for (const Tensor& t : f(x))
    if (t.requires_grad()) made.push_back(t);
  if (made.empty() || f.stats().eager_fallbacks) return;
  std::vector<Tensor> first;
  try {
    first = defined(grad(made, wanted, weights_of(made), {.create_graph = true, .allow_unused = true}), wanted);
  } catch (const Error& e) {
    ASSERT_NE(std::string(e.what()).find("derivative of the derivative"), std::string::npos) << e.what();
    return;
  }
  expect_close(first, gradients(s.call, s.tensors, s.follows), 1e-9);
  const std::vector<Tensor> u = weights_of(first, 5);
  Tensor h;
  for (std::size_t i = 0; i < first.size(); ++i)
    if (first[i].requires_grad()) h = h.defined() ? h + sum(first[i] * u[i]) : sum(first[i] * u[i]);
  const std::vector<Tensor> got = h.defined() ? defined(grad({h}, wanted, {}, {.allow_unused = true}), wanted)
                                              : defined(std::vector<Tensor>(wanted.size()), wanted);
  const std::vector<Tensor> d = weights_of(got, 7);
  const double want =
      slope(s, d, 2e-4, [&](const std::vector<Tensor>& t) { return dot(gradients(s.call, t, s.follows), u); });
  EXPECT_NEAR(dot(got, d), want, 2e-6 * (1 + std::abs(want))) << describe(s.call);
}

TEST_P(DerivativeValues, Layouts) {
  const Sample s = sample(c(), 5, widest(c()));
  // what they give is a matter of the layout
  if (c().row == "view" || c().row == "as_strided" || c().row == "as_strided_scatter") return;
  auto with_an_offset = [](const Tensor& t) {
    return t.dim() == 0 ? t : cat({zeros_like(t.slice(0, 0, 1)), t}, 0).slice(0, t.size(0) > 0 ? 1 : 0);
  };
  auto expanded = [](const Tensor& t) {
    return t.dim() == 0 || t.size(0) == 0 ? t : t.slice(0, 0, 1).expand(t.sizes());
  };
  for (const std::function<Tensor(const Tensor&)>& layout :
       {std::function<Tensor(const Tensor&)>(transposed_memory), std::function<Tensor(const Tensor&)>(with_gaps),
        std::function<Tensor(const Tensor&)>(with_an_offset), std::function<Tensor(const Tensor&)>(expanded)}) {
    std::vector<Tensor> given, dense;
    for (std::size_t i = 0; i < s.tensors.size(); ++i)
      given.push_back(s.follows[i] ? layout(s.tensors[i]) : s.tensors[i]),
          dense.push_back(given.back().clone().contiguous());
    try {
      call(s.call, dense);
    } catch (const Error&) {
      continue;  // an expanded matrix is singular
    }
    const std::vector<Tensor> want = gradients(s.call, dense, s.follows);
    expect_close(gradients(s.call, given, s.follows), want, 1e-9);
    if (HasFatalFailure()) return;
  }
}

TEST_P(DerivativeValues, Halves) {
  if (std::find(c().dtypes.begin(), c().dtypes.end(), kBFloat16) == c().dtypes.end() || widest(c()) != kFloat64) return;
  for (DType t : {kFloat32, kFloat16, kBFloat16}) {
    SCOPED_TRACE(dtype_name(t));
    const Sample s = sample(c(), 5, t);
    std::vector<Tensor> wide;
    for (const Tensor& x : s.tensors) wide.push_back(is_floating(x.dtype()) ? x.to(kFloat64) : x);
    const std::vector<Tensor> got = gradients(s.call, s.tensors, s.follows);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].dtype(), chosen(s.tensors, s.follows)[i].dtype());
    expect_close(got, gradients(s.call, wide, s.follows),
                 t == kFloat32   ? 1e-4
                 : t == kFloat16 ? 1e-2
                                 : 8e-2,
                 t == kFloat16 ? 3e4 : HUGE_VAL);
    if (HasFatalFailure()) return;
  }
}

TEST_P(DerivativeValues, NoElements) {
  Sample s;
  try {
    s = sample(c(), 0, widest(c()));
    call(s.call, s.tensors);
  } catch (const Error&) {
    return;  // there is no such call
  }
  const std::vector<Tensor> got = gradients(s.call, s.tensors, s.follows), of = chosen(s.tensors, s.follows);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(graph::sizes_text(got[i].sizes()), graph::sizes_text(of[i].sizes()));
}

TEST_P(DerivativeValues, InPlace) {
  const Sample s = sample(c(), 4, widest(c()));
  if (!graph::op(s.call.op).has_inplace || !std::holds_alternative<Tensor>(s.call.args[0])) return;
  const std::vector<Tensor> x = leaves(s.tensors, s.follows);
  try {
    std::vector<Tensor> copies = s.tensors;
    copies[0] = copies[0].clone();
    call(s.call, copies, true);
  } catch (const Error&) {
    return;  // the result does not fit its operand
  }
  const std::vector<Tensor> want = gradients(s.call, s.tensors, s.follows), wanted = chosen(x, s.follows);
  std::vector<Tensor> written = x;
  written[0] = x[0] * 1;
  call(s.call, written, true);
  if (!written[0].requires_grad()) return;
  expect_close(defined(grad({written[0]}, wanted, weights_of({written[0]}), {.allow_unused = true}), wanted), want,
               1e-9);
}

// One compilation of the gradients for all sizes of 2 and more.
TEST_P(Derivatives, Compiled) {
  const Sample first = sample(c(), 5, widest(c()));
  if (first.tensors.empty()) return;
  const bool many_steps = c().row.find("_steps") != std::string::npos;  // a compilation for each number of steps
  auto f = compile([&](const std::vector<Tensor>& t,
                       const std::vector<Int>& n) { return gradients(with_symbols(first.call, n), t, first.follows); },
                   {.name = c().row});
  for (std::int64_t n : {5, 8, 6}) {
    SCOPED_TRACE(n);
    const Sample s = sample(c(), n, widest(c()));
    expect_close(f(s.tensors, symbols_of(s.call)), gradients(s.call, s.tensors, s.follows),
                 widest(c()) == kFloat64 ? 1e-9 : 1e-4);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  if (!many_steps) {
    EXPECT_LE(f.stats().compilations, c().compilations) << f.explain(Detail::Guards);
  }
}

std::string case_name(const testing::TestParamInfo<std::size_t>& i) {
  std::string name;
  for (char ch : cases()[i.param].row) name += std::isalnum(static_cast<unsigned char>(ch)) ? ch : '_';
  return name + "_" + std::to_string(i.param);
}
INSTANTIATE_TEST_SUITE_P(All, DerivativeValues, testing::Range<std::size_t>(0, cases().size()), case_name);
INSTANTIATE_TEST_SUITE_P(All, Derivatives, testing::Range<std::size_t>(0, cases().size()), case_name);

// Each row has a derivative that is checked here, is constant, or stands in kWithout.
TEST(DerivativeTable, IsComplete) {
  graph::register_families();
  std::set<std::string> have;
  for (const RowCase& c : cases()) have.insert(c.row);
  for (const graph::OpDef& d : graph::all_ops()) {
    const std::string name(d.name());
    if (name.find("::") != std::string::npos) continue;  // parts of others, made by passes
    const autograd::Derivative* known = derivative_of(d.id);
    EXPECT_NE(known != nullptr, kWithout.contains(name)) << name << ": a derivative, constant, or a reason";
    const bool needs_a_device = d.cls == graph::OpClass::Transfer || d.id == graph::OpId::set;
    if (known && known->rule && !needs_a_device) {
      EXPECT_TRUE(have.contains(name)) << name << " has a derivative without a case";
    }
  }
}

}  // namespace
}  // namespace reprise::test
