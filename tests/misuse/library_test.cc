// Wrong calls of the library beside operators, and what they are told: library.txt. After each everything else goes on
// working.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <sstream>

#include "reprise/library.h"
#include "reprise/patterns.h"
#include "reprise/reprise.h"
#include "tensor/dlpack_abi.h"
#include "tests/golden/golden.h"
#include "tests/misuse/message.h"

namespace reprise::misuse {
namespace {

struct Misuse {
  const char* source;
  std::function<void()> run;
};
#define MISUSE(...)                   \
  Misuse {                            \
#__VA_ARGS__, [] { __VA_ARGS__; } \
  }

/// A folder of the process's own, "/tmp/reprise_misuse" in the table.
std::string folder() {
  static const std::string path =
      (std::filesystem::path(::testing::TempDir()) / ("reprise_misuse_" + std::to_string(getpid()))).string();
  return path;
}
std::string file(const std::string& name) { return folder() + "/" + name; }

Tensor twice(Tensor x) { return x * 2; }
Tensor sum_of(Tensor x, Int n) { return x.narrow(0, 0, n).sum(); }

struct Weights {
  Tensor wq;
  std::vector<Tensor> layers;
};
Weights weights_of(std::vector<std::int64_t> sizes, DType dtype = kFloat32) {
  return {zeros(sizes, {.dtype = dtype}), {}};
}

const Misuse kTensors[] = {
    MISUSE(ones({2, 3}).item<float>()),
    MISUSE(ones({2}).data<std::int64_t>()),
    MISUSE(Tensor().sizes()),
    MISUSE(if (ones({2})){}),
    MISUSE(from_blob(nullptr, {4}, kFloat32)),
    MISUSE(float p[4] = {}; from_blob(p, {-4}, kFloat32)),
    MISUSE(float p[4] = {}; from_blob(p, {2, 2}, kFloat32, {}, {1})),
    MISUSE(float p[4] = {}; from_blob(p, {2}, kFloat32, {}, {-1})),
    MISUSE(float p[4] = {}; from_blob(p, {std::int64_t{1} << 40, 2}, kFloat32, {}, {std::int64_t{1} << 40, 1})),
    MISUSE(float p[4] = {}; from_blob(p, {4}, kFloat32, {}, {}, Device::cuda(0))),
    MISUSE(tensor_of(std::vector<float>{1, 2, 3}, {2, 2})),
    MISUSE(tensor({{1, 2}, {3}})),
    MISUSE(Tensor t = ones({2}); t.release_storage(); t + 1),
    MISUSE(dtype_from_name("flaot32")),
    MISUSE(manual_seed(1); rand({2}, {.dtype = kFloat8E4M3FN})),
};
const Misuse kCompiledFunctions[] = {
    MISUSE(compile(twice, {.max_specializations = 0})),
    MISUSE(compile(twice, {.recordings_max = -1})),
    MISUSE(compile(twice, {.mode = "fast"})),
    MISUSE(auto f = compile(twice); f(Tensor())),
    MISUSE(auto f = compile(twice); f(ones({2})); f.seal(); f(ones({2, 2}))),
    MISUSE(auto f = compile(sum_of, {.name = "sum_of", .arguments = {"x", "n"}}); f(ones({4}), 5)),
    MISUSE(auto f = compile([](Tensor x) {
             assume(x.size(0) % 8 == 0);
             return x + 1;
           });
           f(ones({12}))),
    MISUSE(auto f = compile(
               [](Tensor x) {
                 static_cast<void>(x.item<float>());
                 return x;
               },
               {.name = "reads"});
           f.seal(); f(ones({1}))),
    MISUSE(auto f = compile(
               [](Tensor x) {
                 static_cast<void>(x.item<float>());
                 return x;
               },
               {.name = "reads"});
           f.warm_up(ones({1}))),
    MISUSE(auto f = compile(twice, {.name = "twice", .mode = "off"}); f.warm_up(ones({1}))),
    MISUSE(auto f = compile(twice, {.name = "twice"}); f.warm_up(ones({1})); f.seal(); f.warm_up(ones({3}))),
    MISUSE(auto f = compile(twice, {.name = "twice", .max_specializations = 1}); f.warm_up(ones({1}));
           f.warm_up(ones({3, 3}))),
    MISUSE(int n = 1; auto f = compile([&](Tensor x) { return x * n; }, {.name = "scaled", .check = 1}); f(ones({1}));
           n = 2; f(ones({1}))),
    MISUSE(Int left; auto f = compile([&](Tensor x) {
                       left = x.size(0);
                       return x;
                     });
           f(ones({3})); zeros({left})),
    MISUSE(mark_dynamic(ones({4}), 0, {.min = 8})),
    MISUSE(mark_dynamic(ones({4}), 0, {.min = 4, .max = 3})),
    MISUSE(mark_dynamic(ones({4}), 0, {.multiple_of = 0})),
    MISUSE(mark_dynamic(ones({4}), 1)),
    MISUSE(const Tensor x = ones({4}); mark_static(x, 0); mark_dynamic(x, 0)),
    MISUSE(const Tensor x = ones({4}); mark_dynamic(x, 0); mark_static(x, 0)),
    MISUSE(const Tensor x = ones({4}); mark_dynamic(x, 0);
           compile([](Tensor t) { return t.size(0) == 4 ? t : t + 1; })(x)),
    MISUSE(const Tensor x = ones({4}); mark_dynamic(x, 0, {.max = 8});
           auto f = compile(twice, {.name = "twice", .arguments = {"x"}}); f(x); f(ones({9}))),
};
const Misuse kDevices[] = {
    MISUSE(Device::cuda(300)),
    MISUSE(Device::cuda(-1)),
    MISUSE(ones({2}).to(Device::cuda(7))),
    MISUSE(ones({2}) + ones({2}).to(Device::null())),
    MISUSE(compile([](Tensor x, Tensor y) { return x + y; })(ones({2}), ones({2}).to(Device::null()))),
    MISUSE(Stream::create(Device::cuda(0))),
    MISUSE(set_memory_limit(Device::cpu(), -1)),
};
const Misuse kSettings[] = {
    MISUSE(set_num_threads(0)),
    MISUSE(set_default_dtype(kInt32)),
    MISUSE(set_default_dtype(kFloat8E5M2)),
    MISUSE(AutocastScope scope(kFloat32)),
    MISUSE(set_log("gaurds")),
    MISUSE(set_log("guards,recompile", "x.jsonl")),
    MISUSE(set_log_callback([](const LogEvent&) {}, "recompile")),
};
const Misuse kFiles[] = {
    MISUSE(load_safetensors("/no/such/file")),
    MISUSE(load_safetensors("/")),
    MISUSE(load_safetensors(file("short"))),
    MISUSE(load_safetensors(file("cut"))),
    MISUSE(load_safetensors(file("json"))),
    MISUSE(load_safetensors(file("good")).at("wp")),
    MISUSE(SafeTensors().at("wq")),
    MISUSE(save_safetensors("/no/such/folder/file", {{"x", ones({2})}})),
    MISUSE(save_safetensors(file("new"), {{"x", Tensor()}})),
    MISUSE(save_safetensors(file("new"), {{"__metadata__", ones({2})}})),
    MISUSE(Weights w = weights_of({2}); load_safetensors(file("good"), w)),
    MISUSE(Weights w = weights_of({3}); load_safetensors(file("good"), w, {.strict = false})),
    MISUSE(Weights w = weights_of({2}, kInt8); load_safetensors(file("good"), w, {.strict = false})),
    MISUSE(Weights w; load_safetensors(file("good"), w, {.prefix = "model."})),
    MISUSE(Weights w; load_safetensors(file("good"), w, {.strict = false, .dtype = kInt64})),
    MISUSE(Weights w; load_safetensors(file("cut"), w)),
    MISUSE(Weights w; save_safetensors(file("new"), w)),
};

Tensor own(Tensor x) { return x; }
const Misuse kExtensions[] = {
    MISUSE(Library("my op")),
    MISUSE(Library("aten")),
    MISUSE(Library("misuse").define({.schema = "misuse::a(Tensor x -> Tensor", .cpu = [](const KernelCall&) {}})),
    MISUSE(Library("misuse").define({.schema = "other::a(Tensor x) -> Tensor", .cpu = [](const KernelCall&) {}})),
    MISUSE(Library("misuse").define({.schema = "misuse::none(Tensor x) -> Tensor"})),
    MISUSE(Library("misuse").find("nothing")),
    MISUSE(const Operator op =
               Library("misuse").define({.schema = "misuse::id(Tensor x) -> Tensor", .cpu = [](const KernelCall&) {}});
           op(ones({2}), ones({2}))),
    MISUSE(Library("misuse").define({.schema = "misuse::id(Tensor x) -> Tensor", .cpu = [](const KernelCall&) {}})),
    MISUSE(Library("misuse").find("id")(3)),
    MISUSE(register_pattern("p", own, own, std::tuple(ones({2})))),
    MISUSE(register_pattern(
        "p", [](Tensor x) { return exp(x); }, [](Tensor x) { return exp(x).to(kFloat64); }, std::tuple(ones({2})))),
    MISUSE(register_pattern(
        "p", [](Tensor x) { return exp(x); }, [](Tensor x) { return exp(x) * x.item(); }, std::tuple(ones({2})))),
    MISUSE(from_dlpack(nullptr)),
    MISUSE(std::int64_t sizes[1] = {2}; float data[2] = {}; dlpack::Managed m{};
           m.view = {data, {dlpack::kCpu, 0}, 1, {dlpack::kFloat, 32, 4}, sizes, nullptr, 0};
           from_dlpack(reinterpret_cast<DLManagedTensor*>(&m))),
    MISUSE(std::int64_t sizes[1] = {-2}; float data[2] = {}; dlpack::Managed m{};
           m.view = {data, {dlpack::kCpu, 0}, 1, {dlpack::kFloat, 32, 1}, sizes, nullptr, 0};
           from_dlpack(reinterpret_cast<DLManagedTensor*>(&m))),
    MISUSE(to_dlpack(Tensor())),
};

std::vector<std::pair<const char*, std::span<const Misuse>>> groups() {
  return {{"tensors", kTensors}, {"compiled functions", kCompiledFunctions},
          {"devices", kDevices}, {"settings", kSettings},
          {"files", kFiles},     {"operators, patterns and tensors of others", kExtensions}};
}

struct Files {
  Files() {
    std::filesystem::create_directories(folder());
    save_safetensors(file("good"), {{"wq", ones({2})}, {"layer.0", ones({2})}});
    std::ofstream(file("short")) << "abc";
    std::ofstream(file("json"), std::ios::binary) << std::string("\x05\0\0\0\0\0\0\0[1,2]", 13);
    std::filesystem::copy_file(file("good"), file("cut"));
    std::filesystem::resize_file(file("cut"), std::filesystem::file_size(file("cut")) - 4);
  }
  ~Files() { std::filesystem::remove_all(folder()); }
};

TEST(Misuse, TheLibraryIsToldAsCommitted) {
  const Files files;
  std::ostringstream now;
  auto witness = compile([](Tensor x, Tensor y) { return softmax(x + y, -1); });
  const Tensor x = arange(6).to(kFloat32).view({2, 3}), y = ones({3});
  const Tensor right = witness(x, y);
  std::size_t cases = 0;
  bool first = true;
  for (const auto& [title, all] : groups()) {
    now << (std::exchange(first, false) ? "" : "\n\n") << title << "\n";
    for (const Misuse& m : all) {
      ++cases;
      std::string text = message(m.run);
      for (std::size_t at; (at = text.find(folder())) != std::string::npos;)
        text.replace(at, folder().size(), "/tmp/reprise_misuse");
      now << "\n" << m.source << "\n    " << text << "\n";
      EXPECT_TRUE(equal(witness(x, y), right)) << m.source;
      EXPECT_TRUE(equal(softmax(x + y, -1), right)) << m.source;
      EXPECT_EQ(get_default_dtype(), kFloat32) << m.source;
      EXPECT_FALSE(autocast_dtype()) << m.source;
    }
  }
  EXPECT_EQ(witness.stats().compilations, 1);
  EXPECT_EQ(witness.stats().eager_fallbacks, 0);
  EXPECT_FALSE(std::filesystem::exists(file("new"))) << "a file that could not be written is not there";
  EXPECT_GE(cases, 40u);
  EXPECT_EQ(now.str().find("NOTHING IS THROWN"), std::string::npos);
  EXPECT_EQ(now.str().find("NOT AN ERROR"), std::string::npos);
  golden::expect_golden("../misuse/library.txt", now.str());
}

}  // namespace
}  // namespace reprise::misuse
