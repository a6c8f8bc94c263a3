// Functions with their derivatives as two programs (reprise/export_joint.h).
#include "reprise/export_joint.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "reprise/nn.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

using List = std::vector<Tensor>;

Tensor filled(std::vector<std::int64_t> sizes, double from) {
  std::int64_t n = 1;
  for (const std::int64_t s : sizes) n *= s;
  return (arange(n, {.dtype = kFloat32}) * 0.1 + from).sin().reshape(Ints(sizes.begin(), sizes.end()));
}

/// Gradients of the results, with a tangent of each, eagerly.
List eagerly(const std::function<List(const List&)>& f, const List& args, const List& tangents) {
  List leaves;
  for (const Tensor& t : args) leaves.push_back(t.detach().clone().requires_grad_());
  const List results = f(leaves);
  return grad(results, leaves, tangents, {.allow_unused = true});
}

TEST(ExportJoint, ForwardsAndBackwardsAreCalledAsTheFunctionIs) {
  const std::function<List(const List&)> functions[] = {
      [](const List& a) {
        return List{(a[0].mm(a[1]).tanh() * 2.0).softmax(-1), a[0].sum()};
      },
      [](const List& a) {
        return List{a[0] * a[0].size(0), (a[1].exp() + 1.0).log()};
      },
      [](const List& a) { return List{rms_norm(a[0], a[0].size(1)).mm(a[1])}; },
      [](const List& a) {
        return List{gelu(gelu(a[0])).mm(a[1]), a[1] * 3.0};
      },
  };
  for (std::size_t k = 0; k < std::size(functions); ++k) {
    const auto f = [&](const Tensor& x, const Tensor& w) { return functions[k]({x, w}); };
    const JointFunction joint = export_joint(f, std::tuple(filled({3, 4}, 0), filled({4, 5}, 1)), {.name = "f"});
    EXPECT_NE(joint.graph().find("tangent("), std::string::npos) << joint.graph();
    EXPECT_NE(joint.graph().find("gradient("), std::string::npos) << joint.graph();
    for (const BackwardKeeps keeps : {BackwardKeeps::MinimumCut, BackwardKeeps::All, BackwardKeeps::Nothing}) {
      const auto [forward, backward] = joint.partition(keeps);
      EXPECT_LE(forward.bytes_saved(), forward.bytes_of_all());
      EXPECT_EQ(backward.gradients(), (std::vector<std::string>{"arg 0", "arg 1"}));
      for (const int n : {3, 6}) {  // also at sizes that were not traced
        const List args{filled({n, 4}, 2), filled({4, 5}, 3)};
        const auto [results, saved] = forward(args[0], args[1]);
        const List want = functions[k](args);
        ASSERT_EQ(results.size(), want.size());
        List tangents;
        for (std::size_t i = 0; i < want.size(); ++i) {
          EXPECT_TRUE(allclose(results[i], want[i], 1e-5, 1e-6)) << k << i;
          tangents.push_back(want[i].cos());
        }
        const List got = backward(saved, tangents), expected = eagerly(functions[k], args, tangents);
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i)
          EXPECT_TRUE(allclose(got[i], expected[i], 1e-4, 1e-5)) << k << i << n;
      }
    }
  }
}

TEST(ExportJoint, PartsKeepWhatTheyAreToldTo) {
  const JointFunction joint =
      export_joint([](const Tensor& x) { return x.exp().sin().tanh().sigmoid(); }, std::tuple(ones({64, 64})));
  const auto least = joint.partition(BackwardKeeps::MinimumCut).first, all = joint.partition(BackwardKeeps::All).first;
  EXPECT_EQ(least.bytes_saved(), 0);  // the argument is enough
  EXPECT_GE(all.bytes_saved(), 3 * 64 * 64 * 4);
}

// Results that are views, of results and of arguments, and arguments that are written: gradients are those of the
// function of values, and what an argument holds after the call has a tangent, too.
TEST(ExportJoint, ViewsAndWrittenArgumentsAreResultsOfTheirOwn) {
  struct Row {
    const char* name;
    std::function<List(const List&)> f;  // writes its arguments as the exported one does
    std::vector<std::string> tangents;
  };
  const std::vector<Row> rows = {
      {"view of an argument",
       [](const List& a) {
         return List{a[0] + 1.0, a[0].view({-1})};
       },
       {"result 0", "result 1"}},
      {"two views of one value",
       [](const List& a) {
         const Tensor h = a[0].mm(a[1]).tanh();
         return List{h.t(), h.select(0, 1)};
       },
       {"result 0", "result 1"}},
      {"a value and its view",
       [](const List& a) {
         const Tensor h = (a[0] * a[0]).sin();
         return List{h, h.narrow(1, 1, 2), h.sum()};
       },
       {"result 0", "result 1", "result 2"}},
      {"a written argument",
       [](const List& a) {
         a[0].mul_(2.0).add_(a[1].sum());
         return List{a[0].mm(a[1])};
       },
       {"x after the call", "result 0"}},
      {"a view of what is written",
       [](const List& a) {
         a[0].narrow(1, 1, 2).mul_(3.0);
         return List{a[0].t() * 1.0, a[0].view({-1})};
       },
       {"x after the call", "result 0", "result 1"}},
      {"the argument itself",
       [](const List& a) {
         a[0].add_(a[1].sum());
         return List{a[0], a[0].exp()};
       },
       {"x after the call", "result 1"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto f = [&](const Tensor& x, const Tensor& w) { return row.f({x, w}); };
    const JointFunction joint =
        export_joint(f, std::tuple(filled({3, 4}, 0), filled({4, 5}, 1)), {.name = "f", .arguments = {"x", "w"}});
    for (const BackwardKeeps keeps : {BackwardKeeps::MinimumCut, BackwardKeeps::All, BackwardKeeps::Nothing}) {
      const auto [forward, backward] = joint.partition(keeps);
      EXPECT_EQ(backward.tangents(), row.tangents);
      for (const int n : {3, 6}) {
        List args{filled({n, 4}, 2), filled({4, 5}, 3)};
        // The same function of leaves, whose copies are written.
        List leaves, copies;
        for (const Tensor& t : args) {
          leaves.push_back(t.clone().requires_grad_());
          copies.push_back(leaves.back() * 1.0);
        }
        const List want = row.f(copies);
        const auto [results, saved] = forward(args[0], args[1]);
        ASSERT_EQ(results.size(), want.size());
        List roots, tangents;
        for (const std::string& name : backward.tangents())
          roots.push_back(name == "x after the call" ? copies[0] : want[static_cast<std::size_t>(name.back() - '0')]);
        for (const Tensor& r : roots) tangents.push_back((r.detach() * 2.0).cos());
        for (std::size_t i = 0; i < want.size(); ++i) {
          EXPECT_TRUE(allclose(results[i], want[i].detach(), 1e-5, 1e-6)) << i;
          EXPECT_EQ(results[i].shares_storage_with(args[0]), want[i].shares_storage_with(copies[0])) << i;
        }
        EXPECT_TRUE(allclose(args[0], copies[0].detach(), 1e-5, 1e-6));
        const List got = backward(saved, tangents);
        const List expected = grad(roots, leaves, tangents, {.allow_unused = true});
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
          ASSERT_EQ(got[i].defined(), expected[i].defined()) << i;
          if (got[i].defined()) EXPECT_TRUE(allclose(got[i], expected[i], 1e-4, 1e-5)) << i << " " << n;
        }
      }
    }
  }
}

// What wants a gradient is that alone, where something does; numbers drawn are the same in both parts.
TEST(ExportJoint, FollowsThoseThatWantAndDrawsOnce) {
  const auto f = [](const Tensor& x, const Tensor& w, const Tensor& unused) {
    return dropout(x * w, 0.5, true) + unused.detach();
  };
  const Tensor x = ones({8, 8}), w = (ones({8, 8}) * 3.0).requires_grad_(), u = ones({8, 8}).requires_grad_();
  const auto [forward, backward] = export_joint(f, std::tuple(x, w, u)).partition();
  EXPECT_EQ(backward.gradients(), (std::vector<std::string>{"arg 1", "arg 2"}));
  manual_seed(3);
  const auto [results, saved] = forward(x, w, u);
  const List g = backward(saved, {ones({8, 8})});
  EXPECT_TRUE(allclose(g[0] * w.detach() + 1.0, results[0], 1e-5, 1e-5));  // kept where the result is
  EXPECT_FALSE(g[1].defined());
}

TEST(ExportJoint, PartsAreProgramsInFiles) {
  const auto f = [](const Tensor& x, const Tensor& w) { return x.mm(w).tanh(); };
  const auto [forward, backward] = export_joint(f, std::tuple(filled({3, 4}, 0), filled({4, 5}, 1))).partition();
  const auto folder = std::filesystem::temp_directory_path();
  const std::string a = (folder / ("joint_forward_" + std::to_string(getpid()))).string(), b = a + "_backward";
  forward.program().save(a), backward.program().save(b);
  const LoadedProgram fw = load_program(a), bw = load_program(b);
  std::filesystem::remove(a), std::filesystem::remove(b);
  const Tensor x = filled({7, 4}, 2), w = filled({4, 5}, 3);
  ProgramResults r = fw.call(x, w);
  List saved(r.tensors.begin() + 1, r.tensors.end());
  std::vector<Int> numbers;
  for (const Scalar& n : r.numbers) numbers.push_back(n.word());
  const List got = bw(saved, List{ones({7, 5})}, numbers);
  const List want = eagerly([&](const List& l) { return List{f(l[0], l[1])}; }, {x, w}, {ones({7, 5})});
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(allclose(got[i], want[i], 1e-4, 1e-5)) << i;
}

// Whatever is kept, the function is the one that was exported.
TEST(ExportJoint, EachCutIsOfTheSettingsOfTheExport) {
  const auto f = [](const Tensor& x, const Tensor& w) { return matmul(x, w).tanh().sum() + full({}, 0.1); };
  const auto args = std::tuple(ones({2, 3}) / 7.0, (ones({3, 2}) / 3.0).requires_grad_());
  const auto exported = [&] {
    const AutocastScope casts(kBFloat16);
    const DefaultDTypeScope floats(kFloat64);
    return export_joint(f, args);
  }();
  const auto of = [&](const auto& parts) {
    const auto [results, saved] = parts.first(std::get<0>(args), std::get<1>(args));
    return std::pair(results[0], parts.second(saved, {ones({}, results[0].options())})[0]);
  };
  const auto first = of(exported.partition());
  for (const BackwardKeeps keeps : {BackwardKeeps::All, BackwardKeeps::Nothing}) {
    const auto other = of(exported.partition(keeps));
    EXPECT_EQ(first.first.dtype(), other.first.dtype());
    EXPECT_TRUE(equal(first.first, other.first));
    EXPECT_TRUE(allclose(first.second, other.second, 1e-6));
  }
}

TEST(ExportJoint, BadInputIsOneError) {
  auto message = [](auto f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  const Tensor x = ones({2, 2});
  const auto args = std::tuple(x);
  EXPECT_NE(message([&] { export_joint([](const Tensor& t) { return t.detach(); }, args); }).find("no result"),
            std::string::npos);
  EXPECT_NE(message([&] {
              export_joint([](const Tensor& t) { return t * 2.0; }, args, {.trace_joint = true});
            }).find("trace_joint"),
            std::string::npos);
  const auto [forward, backward] = export_joint([](const Tensor& t) { return t * t; }, args).partition();
  const auto [results, saved] = forward(x);
  EXPECT_NE(message([&, &saved = saved, &backward = backward] { backward(saved, {}); }).find("0 tangents"),
            std::string::npos);
  EXPECT_NE(message([&, &saved = saved, &backward = backward] { backward(saved, {Tensor()}); }).find("result 0"),
            std::string::npos);
  EXPECT_NE(message([&, &saved = saved, &backward = backward] {
              backward(saved, {ones({3, 3})});
            }),
            "nothing was thrown");
}

}  // namespace
}  // namespace reprise
