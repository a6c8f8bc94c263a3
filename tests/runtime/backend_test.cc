// Compilers of the program's own (CompileOptions::backend): one that writes C, and what others do.
#include "reprise/backend.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "graph/graph.h"
#include "reprise/autograd.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

/// Writes a loop in C for graphs of elementwise operators on float32 tensors of one size, and has the system's compiler
/// make it. Leaves other graphs to Reprise.
class WritesC {
 public:
  struct Counts {
    int asked = 0, taken = 0;
  };
  explicit WritesC(Counts& counts) : counts_(&counts) {
    std::string name = (std::filesystem::temp_directory_path() / "reprise-backend-XXXXXX").string();
    if (mkdtemp(name.data())) folder_ = std::make_shared<Folder>(name);
  }

  BackendFunction operator()(const BackendRequest& r) const {
    ++counts_->asked;
    std::string code;
    if (!folder_ || !write(r.graph, code)) return {};
    const std::string at = folder_->name + "/" + std::to_string(counts_->asked);
    std::ofstream(at + ".c") << code;
    if (std::system(("cc -O1 -shared -fPIC -o " + at + ".so " + at + ".c -lm").c_str()) != 0) return {};
    void* library = dlopen((at + ".so").c_str(), RTLD_NOW);
    if (!library) return {};
    auto run = reinterpret_cast<void (*)(const float* const*, float* const*, long)>(dlsym(library, "run"));
    ++counts_->taken;
    return [run](const BackendCall& c) {
      std::vector<const float*> in;
      std::vector<float*> out;
      for (const TensorView& t : c.inputs) {
        if (!t.contiguous()) throw std::runtime_error("strides");
        in.push_back(t.as<float>());
      }
      for (const TensorView& t : c.results) out.push_back(t.as<float>());
      run(in.data(), out.data(), static_cast<long>(c.results[0].numel()));
    };
  }

 private:
  struct Folder {
    explicit Folder(std::string n) : name(std::move(n)) {}
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(name, ignored);
    }
    const std::string name;
  };

  static bool write(const graph::Graph& g, std::string& code) {
    std::ostringstream c;
    c << "#include <math.h>\nvoid run(const float* const* in, float* const* out, long n) {\n  for (long i = 0; i < n; "
         "++i) {\n";
    const Ints& sizes = g.meta(g.outputs[0].value).layout.sizes;
    auto is_like = [&](graph::ValueId v) {
      const TensorMeta& m = g.meta(v);
      if (m.dtype != kFloat32 || m.layout.sizes.size() != sizes.size()) return false;
      for (std::size_t d = 0; d < sizes.size(); ++d)
        if (!identical(m.layout.sizes[d], sizes[d])) return false;
      return true;
    };
    for (std::size_t i = 0; i < g.inputs.size(); ++i) {
      if (!is_like(g.inputs[i].value)) return false;
      c << "    float v" << g.inputs[i].value.v << " = in[" << i << "][i];\n";
    }
    static const std::map<std::string, const char*> binary = {{"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"div", "/"}};
    static const std::map<std::string, const char*> unary = {
        {"tanh", "tanhf"}, {"exp", "expf"}, {"neg", "-"}, {"sqrt", "sqrtf"}};
    for (const graph::Node& n : g.nodes) {
      const std::string op(graph::op(n.op).name());
      if (n.results.size() != 1 || !is_like(n.results[0])) return false;
      auto term = [&](std::size_t k) -> std::string {
        if (auto* v = std::get_if<graph::ValueId>(&n.args[k])) return "v" + std::to_string(v->v);
        if (auto* s = std::get_if<Scalar>(&n.args[k]); s && !s->is_symbolic())
          return std::to_string(s->to_double()) + "f";
        return "";
      };
      const std::string a = term(0);
      if (a.empty()) return false;
      c << "    float v" << n.results[0].v << " = ";
      if (const auto f = binary.find(op); f != binary.end()) {
        const std::string b = term(1);
        const bool plain =
            n.args.size() < 3 || std::holds_alternative<std::monostate>(n.args[2]) || term(2) == "1.000000f";
        if (b.empty() || !plain) return false;
        c << a << " " << f->second << " " << b << ";\n";
      } else if (const auto u = unary.find(op); u != unary.end()) {
        c << u->second << "(" << a << ");\n";
      } else {
        return false;
      }
    }
    for (std::size_t i = 0; i < g.outputs.size(); ++i)
      if (!is_like(g.outputs[i].value)) return false;
      else c << "    out[" << i << "][i] = v" << g.outputs[i].value.v << ";\n";
    code = c.str() + "  }\n}\n";
    return true;
  }

  Counts* counts_;
  std::shared_ptr<Folder> folder_;
};

bool near(const Tensor& a, const Tensor& b) { return allclose(a, b, 1e-5, 1e-6); }

TEST(Backend, WritesCForSizesOfAllKinds) {
  WritesC::Counts counts;
  auto body = [](Tensor x, Tensor y) { return tanh(x * y + 1.0) - x / 2.0; };
  auto f = compile(body, {.name = "in_c", .backend = WritesC(counts)});
  for (const int n : {3, 8, 1, 100}) {
    const Tensor x = rand({n, 4}), y = rand({n, 4}) + 0.5;
    EXPECT_TRUE(near(f(x, y), body(x, y))) << n;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(counts.taken, f.stats().compilations);
  EXPECT_GE(counts.taken, 1);
}

// What is written and what shares memory is Reprise's business.
TEST(Backend, SeesValuesWhereArgumentsAreWritten) {
  WritesC::Counts counts;
  Tensor state = zeros({2, 3});
  auto body = [&](Tensor x, Tensor y) {
    x.mul_(2.0);
    y.add_(1.0);
    state = state + x;
    Tensor sum = x + y;
    return std::tuple(sum, sum.t(), x.view({-1}), sum * 1.0);
  };
  auto f = compile(body, {.name = "writes", .backend = WritesC(counts)});
  for (int i = 0; i < 3; ++i) {
    const Tensor x = rand({2, 3}), y = rand({2, 3}), x2 = x.clone(), y2 = y.clone();
    const Tensor before = state;
    const auto got = f(x, y);
    const Tensor after = state;
    state = before;
    const auto want = body(x2, y2);
    EXPECT_TRUE(near(x, x2) && near(y, y2) && near(after, state)) << i;
    EXPECT_TRUE(near(std::get<0>(got), std::get<0>(want)) && near(std::get<1>(got), std::get<1>(want)));
    EXPECT_TRUE(near(std::get<2>(got), std::get<2>(want)) && near(std::get<3>(got), std::get<3>(want)));
    EXPECT_TRUE(std::get<0>(got).shares_storage_with(std::get<1>(got)));
    EXPECT_TRUE(std::get<2>(got).shares_storage_with(x));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(counts.taken, f.stats().compilations);
}

TEST(Backend, CompilesDerivatives) {
  WritesC::Counts counts;
  auto body = [](Tensor x, Tensor y) { return tanh(x * y) * x; };
  auto f = compile(body, {.name = "derived", .backend = WritesC(counts)});
  const Tensor x = rand({4, 5}).requires_grad_(), y = rand({4, 5}).requires_grad_();
  const Tensor w = rand({4, 5});
  const std::vector<Tensor> got = grad({f(x, y)}, {x, y}, {w}), want = grad({body(x, y)}, {x, y}, {w});
  for (std::size_t i : {0, 1}) EXPECT_TRUE(near(got[i], want[i])) << i;
  EXPECT_EQ(counts.asked, 2);
}

TEST(Backend, IsToldOfSymbolsAndGuards) {
  std::vector<std::string> numbers, guards;
  std::string text, name;
  auto body = [](Tensor x, Scalar by, Int n) {
    if (x.size(0) > 4) return x.sum();
    return x.slice(0, 0, n) * by;
  };
  const Backend backend = [&](const BackendRequest& r) -> BackendFunction {
    text = r.text, name = r.name, guards = r.guards;
    for (const auto& n : r.numbers)
      numbers.push_back(n.name + (n.is_float ? " float " : " ") + std::to_string(n.example));
    return [order = r.numbers.size()](const BackendCall& c) {
      EXPECT_EQ(c.numbers.size(), order);
      double by = 0;
      for (const std::int64_t n : c.numbers)
        if (double d; std::memcpy(&d, &n, sizeof d), d == 0.5 || d == 3.0) by = d;
      for (std::int64_t i = 0; i < c.results[0].numel(); ++i)
        c.results[0].as<float>()[i] = c.inputs[0].as<float>()[i] * static_cast<float>(by);
    };
  };
  auto f = compile(body, {.name = "told", .arguments = {"x", "by", "n"}, .backend = backend});
  const Tensor x = rand({3, 2});
  EXPECT_TRUE(near(f(x, 0.5, 2), body(x, 0.5, 2)));
  const Tensor z = rand({4, 2});
  EXPECT_TRUE(near(f(z, 3.0, 4), body(z, 3.0, 4)));
  EXPECT_EQ(name, "told/0");
  EXPECT_NE(text.find("graph \"told/0\"(%0 \"x\": f32["), std::string::npos) << text;
  EXPECT_FALSE(numbers.empty());
  EXPECT_FALSE(guards.empty());
}

TEST(Backend, LeavesGraphsAndFails) {
  const auto body = [](Tensor x) { return x * 2.0; };
  const Tensor x = rand({3});
  auto leaves = compile(body, {.name = "leaves", .backend = [](const BackendRequest&) { return BackendFunction(); }});
  EXPECT_TRUE(near(leaves(x), body(x)));
  EXPECT_EQ(leaves.stats().eager_fallbacks, 0);

  auto throws = compile(body, {.name = "throws", .backend = [](const BackendRequest&) -> BackendFunction {
                                 throw std::runtime_error("no compiler");
                               }});
  EXPECT_TRUE(near(throws(x), body(x)));
  EXPECT_EQ(throws.stats().eager_fallbacks, 1);
  EXPECT_NE(throws.stats().last_fallback_reason.find("no compiler"), std::string::npos)
      << throws.stats().last_fallback_reason;

  // A call that fails has changed nothing, and runs eagerly.
  auto writes = [](Tensor t) { return t.mul_(2.0), t + 1.0; };
  auto fails = compile(writes, {.name = "fails", .backend = [](const BackendRequest&) -> BackendFunction {
                                  return [](const BackendCall&) { throw std::runtime_error("out of luck"); };
                                }});
  const Tensor t = ones({3});
  EXPECT_TRUE(near(fails(t), full({3}, 3.0)));
  EXPECT_TRUE(near(t, full({3}, 2.0)));
  EXPECT_EQ(fails.stats().eager_fallbacks, 1);
  EXPECT_NE(fails.stats().last_fallback_reason.find("out of luck"), std::string::npos)
      << fails.stats().last_fallback_reason;
}

}  // namespace
}  // namespace reprise
