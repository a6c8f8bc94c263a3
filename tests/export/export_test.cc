#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "base/errors.h"
#include "reprise/autograd.h"
#include "reprise/generator.h"
#include "reprise/library.h"
#include "reprise/map.h"
#include "reprise/nn.h"
#include "reprise/reprise.h"
#include "reprise/shape_only.h"
#include "runtime/export/sections.h"
#include "tests/export/programs.h"
#include "tests/support/kept_call.h"

extern char** environ;

namespace reprise::exported {

namespace {

std::string folder() {
  static const std::string at = [] {
    std::string name = (std::filesystem::temp_directory_path() / "reprise_export_XXXXXX").string();
    return std::string(mkdtemp(name.data())) + "/";
  }();
  return at;
}
struct Cleanup : testing::Environment {
  void TearDown() override { std::filesystem::remove_all(folder()); }
};
const auto* const g_cleanup = testing::AddGlobalTestEnvironment(new Cleanup);

/// Empty: equal, memory shared alike.
std::string difference(const std::vector<Tensor>& want, const std::vector<Tensor>& got) {
  if (want.size() != got.size()) return std::to_string(want.size()) + " tensors, and " + std::to_string(got.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::string at = "tensor " + std::to_string(i) + ": ";
    if (want[i].dtype() != got[i].dtype()) return at + "another dtype";
    std::ostringstream w, g;
    w << want[i].sizes().vec() << want[i].strides().vec(), g << got[i].sizes().vec() << got[i].strides().vec();
    if (w.str() != g.str()) return at + w.str() + " and " + g.str();
    if (want[i].numel() == 0) continue;
    const double far = (want[i].to(kFloat64) - got[i].to(kFloat64)).abs().max().item<double>();
    if (!(far <= 1e-5)) return at + "differs by " + std::to_string(far);
    for (std::size_t j = 0; j < i; ++j)
      if (want[i].shares_storage_with(want[j]) != got[i].shares_storage_with(got[j]))
        return at + "shares memory with another one than eagerly";
  }
  return "";
}

/// What a call does, as the caller sees it: results, gradients, arguments.
std::vector<Tensor> seen_of(const LoadedProgram& f, const Case& c, const std::vector<Tensor>& in) {
  ProgramResults r = in.size() == 1                      ? f.call(in[0])
                     : in.size() == 3                    ? f.call(in[0], in[1], in[2])
                     : std::string(c.name) == "kv_cache" ? f.call(in[0], in[1], 5)
                                                         : f.call(in[0], in[1]);
  std::vector<Tensor> all = r.tensors;
  for (auto& [name, g] : r.gradients) all.push_back(g);
  all.insert(all.end(), in.begin(), in.end());
  return all;
}

std::string compare_calls(const LoadedProgram& f, const Case& c) {
  for (int call = 0; call < 3; ++call) {
    std::vector<Tensor> want_in = c.arguments(call), got_in = c.arguments(call);
    Generator a(3), b(3);
    std::vector<Tensor> want, got;
    {
      const GeneratorScope scope{a};
      want = c.eager(want_in);
    }
    // state is a program's own: each call begins with the file's
    const LoadedProgram fresh = call == 0 ? f : f.bind([&] {
      std::map<std::string, Tensor> copies;
      return copies;
    }());
    {
      const GeneratorScope scope{b};
      got = seen_of(fresh, c, got_in);
    }
    want.insert(want.end(), want_in.begin(), want_in.end());
    if (std::string d = difference(want, got); !d.empty()) return "call " + std::to_string(call) + ": " + d;
    if (a.offset() != b.offset()) return "the generator stands elsewhere";
  }
  if (f.stats().eager_fallbacks) return "served eagerly: " + f.stats().last_fallback_reason;
  return "";
}

ErrorCode code_of(const std::function<void()>& f, std::string* what = nullptr) {
  try {
    f();
  } catch (const Error& e) {
    if (what) *what = e.what();
    return e.code();
  }
  if (what) *what = "no error";
  return ErrorCode::Internal;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(Export, TwelveProgramsHere) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(compare_calls(c.make().program(), c), "");
  }
}

/// A second process: loads what the first has saved, and compares it with its own source.
TEST(Export, TwelveProgramsInAnotherProcess) {
  if (const char* from = std::getenv("EXPORT_TEST_FOLDER")) {
    for (const Case& c : cases()) {
      SCOPED_TRACE(c.name);
      EXPECT_EQ(compare_calls(load_program(std::string(from) + c.name + ".rpx"), c), "");
    }
    return;
  }
  for (const Case& c : cases()) c.make().save(folder() + c.name + ".rpx");
  std::string self(4096, '\0');
  self.resize(static_cast<std::size_t>(std::max<ssize_t>(readlink("/proc/self/exe", self.data(), self.size()), 0)));
  std::string filter = "--gtest_filter=Export.TwelveProgramsInAnotherProcess";
  std::string variable = "EXPORT_TEST_FOLDER=" + folder();
  char* argv[] = {self.data(), filter.data(), nullptr};
  std::vector<char*> env;
  for (char** e = environ; *e; ++e) env.push_back(*e);
  env.push_back(variable.data()), env.push_back(nullptr);
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, self.c_str(), nullptr, nullptr, argv, env.data()), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Calls that another process has made of programs that it has saved (PAIRS_KEEP=FOLDER test_pairs): here they give the
// same bits. KEPT_CALLS names the folder.
TEST(Export, CallsOfAnotherProcess) {
  const char* from = std::getenv("KEPT_CALLS");
  if (!from) GTEST_SKIP() << "no calls are there";
  int calls = 0, by_runtime = 0, wrong = 0;
  for (const auto& entry : std::filesystem::directory_iterator(from)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() != ".call") continue;
    std::filesystem::path program = path;
    const bool rt = std::filesystem::exists(program.replace_extension(".rt"));
    if (!rt) program.replace_extension(".rpx");
    std::string d;
    try {
      d = KeptCall::replay(program, path, rt);
    } catch (const std::exception& e) {
      d = e.what();
    }
    if (!d.empty() && ++wrong <= 10) ADD_FAILURE() << path << (rt ? " (runtime): " : ": ") << d;
    ++calls, by_runtime += rt;
  }
  std::printf("%d calls, %d of them by the runtime, %d differ\n", calls, by_runtime, wrong);
  EXPECT_EQ(wrong, 0);
}

struct Net : nn::Callable<Net> {
  nn::Conv2d conv1{2, 4, 3, {.bias = false}};
  nn::BatchNorm2d bn1{4};
  nn::Linear fc1{144, 5};
  Net() { bn1.training = true; }
  Tensor forward(const Tensor& x, const Tensor& t) { return (fc1(relu(bn1(conv1(x))).flatten(1)) - t).abs().mean(); }
  REPRISE_FIELDS(Net, conv1, bn1, fc1)
};

using Strings = std::vector<std::string>;
Strings values_of(const std::map<std::string, std::string>& m) {
  Strings all;
  for (auto& [key, v] : m) all.push_back(v);
  std::sort(all.begin(), all.end());
  return all;
}

// The sets that PyTorch's aot_export_module gives for the same module (scripts/compare_export.py).
TEST(Export, SignatureIsPyTorchs) {
  const ExportedProgram p = export_module(Net(), std::tuple(zeros({2, 2, 8, 8}), zeros({2, 5})),
                                          {.name = "net", .arguments = {"x", "t"}, .trace_joint = true});
  const GraphSignature& s = p.signature();
  EXPECT_EQ(values_of(s.inputs_to_parameters),
            (Strings{"bn1.bias", "bn1.weight", "conv1.weight", "fc1.bias", "fc1.weight"}));
  EXPECT_EQ(s.user_inputs.size(), 2u);
  EXPECT_EQ(s.user_outputs.size(), 1u);
  ASSERT_TRUE(s.backward_signature);
  EXPECT_EQ(s.backward_signature->loss_output, s.user_outputs[0]);
  EXPECT_EQ(values_of(s.backward_signature->gradients_to_parameters),
            (Strings{"bn1.bias", "bn1.weight", "conv1.weight", "fc1.bias", "fc1.weight"}));
  EXPECT_TRUE(s.backward_signature->gradients_to_user_inputs.empty());
  const Strings written = values_of(s.buffers_to_mutate);
  EXPECT_TRUE(std::find(written.begin(), written.end(), "bn1.running_mean") != written.end());
  EXPECT_TRUE(std::find(written.begin(), written.end(), "bn1.running_var") != written.end());
  std::ostringstream readable, table, sequence;
  p.print_readable(readable), p.print_tabular(table), p.print_sequence_table(sequence);
  EXPECT_TRUE(has(readable.str(), "parameter conv1.weight")) << readable.str();
  EXPECT_TRUE(has(table.str(), "call_function")) << table.str();
  EXPECT_TRUE(has(sequence.str(), "forward")) << sequence.str();
}

TEST(Export, NamedSizesAreContracts) {
  const Dim batch{"batch", 2, 64};
  const ExportedProgram p = export_program(
      [](const Tensor& x, const Tensor& y) { return x.sum(1) + y.sum(1); }, std::tuple(zeros({4, 3}), zeros({4, 5})),
      {.name = "sums", .arguments = {"x", "y"}, .sizes = {{"x", 0, batch}, {"y", 0, batch}}});
  EXPECT_TRUE(has(p.signature().in_spec, "x: f32[batch, ")) << p.signature().in_spec;
  p.save(folder() + "sums.rpx");
  const LoadedProgram f = load_program(folder() + "sums.rpx");
  EXPECT_EQ(f(ones({64, 1}), ones({64, 2}))[0].sum().item<float>(), 192);
  std::string what;
  EXPECT_EQ(code_of([&] { f(ones({65, 1}), ones({65, 2})); }, &what), ErrorCode::InvalidArgument);
  EXPECT_TRUE(has(what, "65") && has(what, "batch")) << what;
  EXPECT_EQ(code_of([&] { f(ones({5, 1}), ones({6, 2})); }, &what), ErrorCode::InvalidArgument);
  EXPECT_TRUE(has(what, "batch is")) << what;
  EXPECT_EQ(code_of([&] { f(ones({4, 1}).to(kFloat64), ones({4, 2})); }, &what), ErrorCode::DTypeMismatch);
  EXPECT_EQ(code_of([&] { f(ones({4}), ones({4, 2})); }, &what), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code_of([&] { f(ones({3, 4}).t(), ones({4, 2})); }, &what), ErrorCode::InvalidArgument);
  EXPECT_TRUE(has(what, "row-major")) << what;
  EXPECT_EQ(code_of([&] { f(ones({4, 1})); }, &what), ErrorCode::InvalidArgument);
  EXPECT_TRUE(has(what, "called as (x:")) << what;
}

TEST(Export, FunctionsAreToldThatTheyAreExported) {
  std::vector<std::pair<bool, bool>> seen;
  const auto doubled = [&](const Tensor& x) {
    seen.emplace_back(is_compiling(), is_exporting());
    return x * 2.0;
  };
  using Told = std::vector<std::pair<bool, bool>>;
  const Tensor x = ones({3});
  doubled(x), compile(doubled)(x);
  EXPECT_EQ(seen, (Told{{false, false}, {true, false}}));
  seen.clear();
  const ExportedProgram p = export_program(doubled, std::tuple(x));
  EXPECT_EQ(seen, (Told{{true, true}}));
  EXPECT_THROW(export_program([&](const Tensor& t) { return doubled(t), t.t_(), t + 1.0; }, std::tuple(ones({2, 3}))),
               Error);
  EXPECT_FALSE(is_exporting());
  seen.clear();
  std::thread([&] { doubled(x); }).join();
  doubled(x);
  EXPECT_EQ(seen, (Told{{false, false}, {false, false}}));
}

// What a body writes to its slice through a view names places in the slice, which stands anywhere in its storage.
TEST(Export, LoopsWriteTheirSlices) {
  using Body = Tensor (*)(const Tensor& x);
  const Body bodies[] = {[](const Tensor& x) { return x.t()[1].fill_(0.5), x * 1.0; },
                         [](const Tensor& x) { return x[1].add_(2.0), x * 2.0; },
                         [](const Tensor& x) { return x.t()[0].add_(x.t()[2]), x + 1.0; }};
  for (const Body body : bodies) {
    const auto f = [body](const Tensor& xs) { return map(body, xs); };
    const auto given = [](int n) { return arange(6 * n, {.dtype = kFloat32}).view({n, 2, 3}); };
    export_program(f, std::tuple(given(2))).save(folder() + "slices.rpx");
    const LoadedProgram loaded = load_program(folder() + "slices.rpx");
    for (const int n : {2, 3, 1}) {
      const Tensor mine = given(n), its = given(n);
      EXPECT_TRUE(equal(f(mine), loaded(its)[0])) << n;
      EXPECT_TRUE(equal(mine, its)) << n;
    }
  }
}

struct Big : nn::Callable<Big> {
  Tensor w = empty({1 << 20, 1 << 16});
  Tensor forward(const Tensor& x) const { return matmul(x, w); }
  REPRISE_FIELDS(Big, w)
};
struct Small : nn::Callable<Small> {
  Tensor w;
  Tensor forward(const Tensor& x) const { return matmul(x, w); }
  REPRISE_FIELDS(Small, w)
};

TEST(Export, ShapeOnlyModelsGetWeightsByBind) {
  const ShapeOnlyScope shapes;
  EXPECT_EQ(export_module(Big(), std::tuple(empty({2, 1 << 20}))).signature().parameters, Strings{"w"});
  Small m;
  m.w = empty({3, 2});
  export_module(m, std::tuple(empty({4, 3}))).save(folder() + "shape.rpx");
  const LoadedProgram f = load_program(folder() + "shape.rpx");
  const Tensor x = ones({5, 3}, {.device = Device::cpu()}), w = ones({3, 2}, {.device = Device::cpu()});
  std::string what;
  EXPECT_EQ(code_of([&] { f(x); }, &what), ErrorCode::InvalidArgument);
  EXPECT_TRUE(has(what, "weight w has no value")) << what;
  EXPECT_EQ(f.bind({{"w", w}})(x)[0].sum().item<float>(), 30);
  EXPECT_EQ(code_of([&] { f.bind({{"v", w}}); }, &what), ErrorCode::InvalidArgument);
  EXPECT_TRUE(has(what, "did you mean 'w'")) << what;
}

TEST(Export, RefusesWithTheReason) {
  const auto x = std::tuple(ones({3, 4}));
  Tensor kept;
  const std::pair<std::function<void()>, const char*> all[] = {
      {[&] { export_program([](const Tensor& t) { return t.sum().item<bool>() ? t : t + 1.0; }, x); },
       "export_test.cc"},
      {[&] { export_program([&](const Tensor& t) { return kept = t + 1.0, t * 2.0; }, x); }, "variable"},
      {[&] { export_program([](const Tensor& t) { return t.t_(), t * 2.0; }, x); }, "in place"},
      {[&] {
         const NoGradScope off;
         export_program([](Tensor t) { return t.requires_grad_(), t * 2.0; }, x);
       },
       "becomes a leaf"},
      {[&] {
         const NoGradScope off;
         export_program(
             [](const Tensor& t) {
               const EnableGradScope on;
               return t * 2.0;
             },
             std::tuple(ones({3, 4}).requires_grad_()));
       },
       "gradients are turned on"},
      {[&] { export_program([](const Tensor& t) { return t.sum(0); }, x, {.trace_joint = true}); }, "no scalar loss"},
      {[&] { export_program([](const Tensor& t) { return t.sum(); }, x, {.trace_joint = true}); }, "no gradient"},
      {[&] { export_program([](const Tensor& t) { return t.sum(); }, x, {.trace_joint = true, .loss = 1}); },
       "1 tensors"},
      {[&] {
         export_program([](const Tensor& t) { return t; }, x, {.sizes = {{"y", 0, {"n"}}}});
       },
       "'y'"},
  };
  for (const auto& [f, part] : all) {
    std::string what;
    const ErrorCode code = code_of(f, &what);
    EXPECT_TRUE((code == ErrorCode::NotTraceable || code == ErrorCode::InvalidArgument) && has(what, part)) << what;
  }
}

TEST(Export, OperatorsTravelBySchema) {
  static const Operator twice =
      Library("exported")
          .define({.schema = "twice(Tensor(a!) out, Tensor x) -> ()",
                   .shape = [](ShapeCall& c) { c.expect_equal(c.size(0, 0), c.size(1, 0), "elements of out and x"); },
                   .cpu =
                       [](const KernelCall& k) {
                         const TensorView &out = k.tensor(0), &x = k.tensor(1);
                         for (std::int64_t i = 0; i < x.sizes[0]; ++i)
                           out.as<float>()[i * out.strides[0]] = 2 * x.as<float>()[i * x.strides[0]];
                       }});
  const ExportedProgram p = export_program(
      [](const Tensor& x) {
        const Tensor out = zeros({2, x.size(0)});
        twice(out.select(0, 1), x);
        return out + 1.0;
      },
      std::tuple(ones({3})));
  p.save(folder() + "twice.rpx");
  EXPECT_EQ(load_program(folder() + "twice.rpx")(ones({4}))[0].sum().item<float>(), 16);
  auto with_schema = [&](const std::string& from, const std::string& to) {
    const SafeTensors file = load_safetensors(folder() + "twice.rpx");
    std::map<std::string, std::string> sections = file.metadata();
    std::string& text = sections[std::string(detail::kOperatorsSection)];
    text.replace(text.find(from), from.size(), to);
    sections[std::string(detail::kHashSection)] = detail::hash_of(sections);
    save_safetensors(folder() + "other.rpx", {}, sections);
    std::string what;
    EXPECT_EQ(code_of([&] { load_program(folder() + "other.rpx"); }, &what), ErrorCode::InvalidArgument) << what;
    return what;
  };
  EXPECT_TRUE(has(with_schema("exported::twice", "exported::thrice"), "no operator of that name"));
  EXPECT_TRUE(has(with_schema("Tensor x", "Tensor y"), "is registered here as"));
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// An error of the file, or a program that differs in bytes of weights alone.
void load_damaged(const std::string& path) {
  try {
    load_program(path, {.how = Reading::Copied});
  } catch (const Error& e) {
    EXPECT_TRUE(e.code() == ErrorCode::FileFormat || e.code() == ErrorCode::InvalidArgument) << e.what();
  }
}

TEST(Export, DamagedFilesAreOneError) {
  for (const char* name : {"kv_cache", "joint", "cond"}) {
    const std::string path = folder() + name + ".damaged";
    for (const Case& c : cases())
      if (std::string(c.name) == name) c.make().save(path);
    const std::string good = read_file(path);
    ASSERT_GT(good.size(), 1000u);
    for (std::size_t n = 0; n < good.size(); n += 1 + good.size() / 100) {
      write_file(path, good.substr(0, n));
      EXPECT_EQ(code_of([&] { load_program(path, {.how = Reading::Copied}); }), ErrorCode::FileFormat) << n;
    }
    std::mt19937_64 random(1);
    for (int i = 0; i < 300; ++i) {
      std::string bad = good;
      bad[random() % bad.size()] = static_cast<char>(random());
      write_file(path, bad);
      load_damaged(path);
    }
  }
}

/// Sections that say something else, under a hash that fits.
TEST(Export, HostileSectionsAreOneError) {
  const std::string path = folder() + "hostile.rpx";
  for (const char* name : {"kv_cache", "joint", "data"}) {
    for (const Case& c : cases())
      if (std::string(c.name) == name) c.make().save(path);
    const std::map<std::string, std::string> good = load_safetensors(path, Reading::Copied).metadata();
    std::mt19937_64 random(7);
    for (int i = 0; i < 400; ++i) {
      std::map<std::string, std::string> bad = good;
      auto at = std::next(bad.begin(), static_cast<std::ptrdiff_t>(random() % bad.size()));
      std::string& text = at->second;
      if (text.empty()) continue;
      const std::size_t where = random() % text.size();
      switch (random() % 4) {
        case 0: text[where] = "0123456789-s%[]{}\",: "[random() % 21]; break;
        case 1: text.erase(where, 1 + random() % 3); break;
        case 2: text.insert(where, text.substr(random() % text.size(), random() % 20)); break;
        default: bad.erase(at);
      }
      bad[std::string(detail::kHashSection)] = detail::hash_of(bad);
      try {
        detail::read_program(bad, "hostile", "load_program", {});
      } catch (const Error& e) {
        EXPECT_TRUE(e.code() == ErrorCode::FileFormat || e.code() == ErrorCode::InvalidArgument) << e.what();
      }
    }
  }
}

TEST(Export, VersionsAreTold) {
  const ExportedProgram p = export_program([](const Tensor& x) { return x + 1.0; }, std::tuple(ones({3})));
  p.save(folder() + "version.rpx");
  std::map<std::string, std::string> sections = load_safetensors(folder() + "version.rpx").metadata();
  auto error_of = [&](const std::string& version) {
    sections[std::string(detail::kVersionSection)] = version;
    sections[std::string(detail::kHashSection)] = detail::hash_of(sections);
    save_safetensors(folder() + "versions.rpx", {}, sections);
    std::string what;
    code_of([&] { load_program(folder() + "versions.rpx"); }, &what);
    return what;
  };
  EXPECT_TRUE(has(error_of("2.0"), "newer"));
  EXPECT_TRUE(has(error_of("x"), "none"));
  EXPECT_EQ(error_of("1.7"), "no error");
  sections["reprise.code.avx2"] = "what a later minor version adds";
  EXPECT_EQ(error_of("1.7"), "no error");
  save_safetensors(folder() + "tensors.rpx", {{"w", ones({2})}});
  std::string what;
  EXPECT_EQ(code_of([&] { load_program(folder() + "tensors.rpx"); }, &what), ErrorCode::FileFormat);
  EXPECT_TRUE(has(what, "no program")) << what;
}

TEST(Export, WeightsBesideStateSealAndThreads) {
  const Case& mlp = cases()[0];
  mlp.make().save(folder() + "beside.rpx", "beside.safetensors");
  LoadedProgram f = load_program(folder() + "beside.rpx", {.freeze_weights = true});
  EXPECT_EQ(f.weights().size(), 4u);
  f.warm_up(zeros({7, 8}));
  f.seal();
  const Tensor want = mlp.eager({ones({7, 8})})[0];
  EXPECT_EQ(difference({want}, f(ones({7, 8}))), "");
  // A program that is no joint one gives no gradients, and says so to whoever asks for one.
  const Tensor leaf = ones({7, 8}).requires_grad_(true), y = f(leaf)[0];
  EXPECT_EQ(difference({want}, {y.detach()}), "");
  std::string what;
  EXPECT_EQ(code_of([&] { grad(TensorArrayRef{y.sum()}, TensorArrayRef{leaf}); }, &what), ErrorCode::InvalidArgument);
  EXPECT_TRUE(has(what, "without its derivative") && has(what, "trace_joint")) << what;
  {
    const NoGradScope off;
    EXPECT_FALSE(f(leaf)[0].requires_grad());
  }
  // A buffer is the program's own state.
  const Tensor count = zeros({1});
  const ExportedProgram p = export_program(
      [&](const Tensor& x) {
        count.add_(1.0);
        return x + count;
      },
      std::tuple(ones({3})));
  EXPECT_EQ(values_of(p.signature().buffers_to_mutate).size(), 1u);
  p.save(folder() + "count.rpx");
  const LoadedProgram g = load_program(folder() + "count.rpx");
  g(ones({4}));
  EXPECT_EQ(g(ones({5}))[0].sum().item<float>(), 15);
}

}  // namespace reprise::exported
