// Programs with machine code, run by the C interface of the runtime (reprise/rt.h) in this process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/hash.h"
#include "device/cpu_level.h"
#include "reprise/generator.h"
#include "reprise/library.h"
#include "reprise/nn.h"
#include "runtime/export/code_file.h"
#include "tests/export/programs.h"
#include "tests/support/rt_call.h"

#if defined(__x86_64__)  // which code is made for

namespace reprise::exported {

namespace {

std::string file(const std::string& name) {
  static const std::string at = [] {
    std::string folder = (std::filesystem::temp_directory_path() / "reprise_rt_XXXXXX").string();
    return std::string(mkdtemp(folder.data())) + "/";
  }();
  static struct Cleanup {
    ~Cleanup() { std::filesystem::remove_all(at_); }
    std::string at_;
  } cleanup{at};
  return at + name;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string best_level() {
  for (const char* level : {"avx512", "avx2"})
    if (device::has_cpu_level(level)) return level;
  return "x86_64_v2";
}

/// What a call does, as the caller sees it: results, gradients, arguments.
std::vector<Tensor> here(const LoadedProgram& f, const Case& c, const std::vector<Tensor>& in) {
  ProgramResults r = in.size() == 1                      ? f.call(in[0])
                     : in.size() == 3                    ? f.call(in[0], in[1], in[2])
                     : std::string(c.name) == "kv_cache" ? f.call(in[0], in[1], 5)
                                                         : f.call(in[0], in[1]);
  std::vector<Tensor> all = r.tensors;
  for (auto& [name, g] : r.gradients) all.push_back(g);
  all.insert(all.end(), in.begin(), in.end());
  return all;
}
std::vector<Tensor> there(const RtProgram& p, const std::vector<Tensor>& in) {
  std::vector<rprt_value> values;
  for (const Tensor& t : in) values.push_back(RtProgram::value(t));
  if (rprt_argument_count(p.get()) > values.size()) values.push_back(RtProgram::value(std::int64_t{5}));
  std::vector<Tensor> all = p.call(values, in);
  // gradients stand behind the results in the order of their inputs; by name, as a map has them
  std::vector<std::pair<std::string, Tensor>> gradients;
  std::vector<Tensor> results;
  for (std::size_t i = 0, t = 0; i < rprt_result_count(p.get()); ++i) {
    rprt_info info;
    rprt_result(p.get(), i, &info);
    if (info.kind == RPRT_INTEGER || info.kind == RPRT_NUMBER) continue;
    if (std::string(info.name).starts_with("gradient of ")) gradients.emplace_back(info.name, all[t++]);
    else results.push_back(all[t++]);
  }
  std::sort(gradients.begin(), gradients.end(), [](auto& a, auto& b) { return a.first < b.first; });
  for (auto& [name, g] : gradients) results.push_back(g);
  results.insert(results.end(), in.begin(), in.end());
  return results;
}

std::string difference(const std::vector<Tensor>& want, const std::vector<Tensor>& got, bool bits) {
  if (want.size() != got.size()) return std::to_string(want.size()) + " tensors, and " + std::to_string(got.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::string at = "tensor " + std::to_string(i);
    if (bits ? !same_bits(want[i], got[i])
             : want[i].dtype() != got[i].dtype() || !want[i].defined() ||
                   (want[i].numel() > 0 &&
                    !((want[i].to(kFloat64) - got[i].to(kFloat64)).abs().max().item<double>() <= 1e-4)))
      return at + " differs";
    for (std::size_t j = 0; j < i; ++j)
      if (want[i].shares_storage_with(want[j]) != got[i].shares_storage_with(got[j]))
        return at + " shares memory with another one";
  }
  return "";
}

Tensor image() { return drawn(5, {4, 8}); }
ExportedProgram small_net() {
  static const Tensor w = drawn(1, {8, 3});
  return export_program([](const Tensor& x) { return relu(x.matmul(w)) + 1.0; }, std::tuple(zeros({4, 8})),
                        {.name = "net", .arguments = {"x"}, .sizes = {{"x", 0, {"batch", 1, 64}}}});
}
const std::string& small_file() {
  static const std::string path = [] {
    small_net().compile({.levels = {best_level()}}).save(file("small.rpx"));
    return file("small.rpx");
  }();
  return path;
}

}  // namespace

TEST(Runtime, TwelveProgramsGiveTheSameBits) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const ExportedProgram p = c.make();
    std::vector<std::string> levels = {best_level()};
    if (&c - cases().data() < 4) levels.push_back("x86_64_v2");  // vectors of another width: not the same bits
    p.compile({.levels = levels}).save(file("case.rpx"));
    for (const std::string& level : levels) {
      SCOPED_TRACE(level);
      const LoadedProgram f = load_program(file("case.rpx"));
      const RtProgram rt(file("case.rpx"), level.c_str());
      EXPECT_EQ(rprt_level(rt.get()), level);
      for (int call = 0; call < 3; ++call) {  // state of buffers goes on in both
        std::vector<Tensor> a = c.arguments(call), b = c.arguments(call);
        Generator one(3), two(3);
        std::vector<Tensor> want, got;
        {
          const GeneratorScope scope{one};
          want = here(f, c, a);
        }
        {
          const GeneratorScope scope{two};
          got = there(rt, b);
        }
        EXPECT_EQ(difference(want, got, level == best_level()), "") << "call " << call;
        EXPECT_EQ(one.offset(), two.offset());
      }
    }
  }
}

// The same programs for 64-bit Arm, in the same files: code is made here that runs there. With WRITE_PROGRAMS
// the files go to that folder, for scripts/aarch64_rt.sh, with a line for each call: the file, then its arguments.
TEST(Runtime, FilesHoldCodeForOtherProcessors) {
  const char* to = std::getenv("WRITE_PROGRAMS");
  std::ofstream calls;
  if (to) calls.open(std::string(to) + "/calls");
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const std::string path = to ? std::string(to) + "/" + c.name + ".rpx" : file("arm.rpx");
    c.make().compile({.levels = {"x86_64_v2", "aarch64"}}).save(path);
    rprt_program* p = nullptr;
    const rprt_options arm{"aarch64", 0};
    EXPECT_EQ(rprt_load(path.c_str(), &arm, &p), RPRT_NO_CODE);
    EXPECT_TRUE(has(rprt_last_error(), "for aarch64, x86_64_v2")) << rprt_last_error();
    // Its data are those of any level, and its instructions are no x86's.
    const Tensor t = load_safetensors(path).at("reprise.code.aarch64");
    const std::string bytes(t.impl()->data(), static_cast<std::size_t>(t.numel().value()));
    EXPECT_EQ(detail::read_code(bytes)->level, "aarch64");
    const RtProgram here(path, "x86_64_v2");
    for (int call = 0; to && call < 2; ++call) {
      const std::vector<Tensor> in = c.arguments(call);
      calls << c.name << ".rpx";
      for (std::size_t i = 0, tensor = 0; i < rprt_argument_count(here.get()); ++i) {
        rprt_info info;
        ASSERT_EQ(rprt_argument(here.get(), i, &info), RPRT_OK);
        calls << "\t" << info.name << "=";
        if (info.kind != RPRT_TENSOR) {
          calls << 5;
          continue;
        }
        const Tensor& x = in.at(tensor++);
        for (int d = 0; d < x.dim(); ++d) calls << (d ? "x" : "") << x.size(d);
      }
      calls << "\n";
    }
  }
}

TEST(Runtime, DescribesAProgram) {
  const RtProgram p(small_file());
  EXPECT_STREQ(rprt_name(p.get()), "net");
  EXPECT_STREQ(rprt_signature(p.get()), "(x: f32[batch, s1]) -> (f32[batch, s3])");
  ASSERT_EQ(rprt_argument_count(p.get()), 1u);
  rprt_info i;
  ASSERT_EQ(rprt_argument(p.get(), 0, &i), RPRT_OK);
  EXPECT_STREQ(i.name, "x");
  EXPECT_EQ(i.kind, RPRT_TENSOR);
  EXPECT_EQ(i.dtype, RPRT_FLOAT32);
  EXPECT_EQ(i.ndim, 2);
  EXPECT_EQ(i.written, 0);
  ASSERT_EQ(rprt_weight_count(p.get()), 1u);
  ASSERT_EQ(rprt_weight(p.get(), 0, &i), RPRT_OK);
  rprt_tensor w;
  ASSERT_EQ(rprt_weight_tensor(p.get(), 0, &w), RPRT_OK);
  EXPECT_EQ(w.sizes[0], 8);
  EXPECT_EQ(w.sizes[1], 3);
  std::string guards;
  for (std::size_t g = 0; g < rprt_guard_count(p.get()); ++g) guards += std::string(rprt_guard(p.get(), g)) + "\n";
  EXPECT_TRUE(has(guards, "batch <= 64")) << guards;
  EXPECT_EQ(rprt_argument(p.get(), 1, &i), RPRT_INVALID_ARGUMENT);
  EXPECT_EQ(rprt_guard(p.get(), 100), nullptr);
  EXPECT_STREQ(rprt_dtype_name(RPRT_BFLOAT16), "bfloat16");
  EXPECT_EQ(rprt_dtype_size(RPRT_INT64), 8u);
  EXPECT_EQ(rprt_dtype_name(11), nullptr);
}

TEST(Runtime, CallsOutsideOfTheGuardsAreErrors) {
  const RtProgram p(small_file());
  std::vector<float> memory(100 * 8, 1.0f);
  auto call = [&](std::vector<std::int64_t> sizes, std::int32_t dtype, std::int64_t column = 1) {
    rprt_value x, y;
    rprt_tensor_set(&x, memory.data(), dtype, static_cast<int>(sizes.size()), sizes.data());
    if (column != 1) x.tensor.strides[1] = column;
    const std::int32_t code = rprt_call(p.get(), &x, 1, &y, 1);
    if (code == RPRT_OK) rprt_release(&y);
    return code;
  };
  struct Row {
    std::vector<std::int64_t> sizes;
    std::int32_t dtype;
    std::int64_t column;
    std::int32_t code;
    const char* part;
  };
  const Row rows[] = {
      {{64, 8}, RPRT_FLOAT32, 1, RPRT_OK, ""},
      {{1, 8}, RPRT_FLOAT32, 1, RPRT_OK, ""},
      {{65, 8}, RPRT_FLOAT32, 1, RPRT_INVALID_ARGUMENT, "x.size(0) is 65"},
      {{0, 8}, RPRT_FLOAT32, 1, RPRT_INVALID_ARGUMENT, "x.size(0) is 0"},
      {{4, 7}, RPRT_FLOAT32, 1, RPRT_INVALID_ARGUMENT, "x.size(1)"},
      {{4, 8}, RPRT_INT32, 1, RPRT_DTYPE_MISMATCH, "int32"},
      {{4, 8, 1}, RPRT_FLOAT32, 1, RPRT_SHAPE_MISMATCH, "3 dimensions"},
      {{4, 8}, RPRT_FLOAT32, 2, RPRT_INVALID_ARGUMENT, "strided"},
      {{-4, 8}, RPRT_FLOAT32, 1, RPRT_INVALID_ARGUMENT, "size -4"},
      {{4, 8}, 99, 1, RPRT_INVALID_ARGUMENT, "dtype 99"},
      {{INT64_MAX, 8}, RPRT_FLOAT32, 1, RPRT_INVALID_ARGUMENT, "more elements"},
  };
  for (const Row& r : rows) {
    EXPECT_EQ(call(r.sizes, r.dtype, r.column), r.code) << rprt_last_error();
    EXPECT_TRUE(r.code == RPRT_OK || has(rprt_last_error(), r.part)) << rprt_last_error();
  }
  rprt_value x = RtProgram::value(std::int64_t{3}), y;
  EXPECT_EQ(rprt_call(p.get(), &x, 1, &y, 1), RPRT_INVALID_ARGUMENT);
  EXPECT_TRUE(has(rprt_last_error(), "x is no tensor")) << rprt_last_error();
  EXPECT_EQ(rprt_call(p.get(), &x, 0, &y, 1), RPRT_INVALID_ARGUMENT);
  EXPECT_EQ(rprt_call(p.get(), nullptr, 1, &y, 1), RPRT_INVALID_ARGUMENT);
  EXPECT_EQ(rprt_call(nullptr, &x, 1, &y, 1), RPRT_NOT_LOADED);
  x.kind = RPRT_TENSOR, x.tensor.data = nullptr;
  rprt_tensor_set(&x, nullptr, RPRT_FLOAT32, 2, rows[0].sizes.data());
  EXPECT_EQ(rprt_call(p.get(), &x, 1, &y, 1), RPRT_INVALID_ARGUMENT);
  EXPECT_TRUE(has(rprt_last_error(), "no data")) << rprt_last_error();
}

TEST(Runtime, AliasesAndWritesAreKeptApart) {
  export_program([](const Tensor& x, const Tensor& y) { return x.add_(y), x.t(); },
                 std::tuple(zeros({4, 6}), zeros({4, 6})), {.name = "add", .arguments = {"x", "y"}})
      .compile({.levels = {best_level()}})
      .save(file("alias.rpx"));
  const RtProgram p(file("alias.rpx"));
  const Tensor x = drawn(1, {3, 5}), y = drawn(2, {3, 5}), want = x + y;
  const std::vector<Tensor> made = p({x, y});
  EXPECT_TRUE(same_bits(x, want));
  EXPECT_TRUE(made.at(0).shares_storage_with(x));
  EXPECT_TRUE(same_bits(made[0], x.t()));
  const Tensor before = x.clone();
  EXPECT_THROW(p({x, x}), Error);
  EXPECT_TRUE(has(rprt_last_error(), "x is written and overlaps y")) << rprt_last_error();
  EXPECT_TRUE(same_bits(x, before));
}

TEST(Runtime, ThreadsCallWhileItIsUnloadedAndBound) {
  rprt_program* p = nullptr;
  ASSERT_EQ(rprt_load(small_file().c_str(), nullptr, &p), RPRT_OK) << rprt_last_error();
  const Tensor x = image(), w = drawn(9, {8, 3}), want = small_net().program()(x)[0], other = relu(x.matmul(w)) + 1.0;
  std::atomic<int> served{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (;;) {
        rprt_value in = RtProgram::value(x), out{};
        const std::int32_t code = rprt_call(p, &in, 1, &out, 1);
        if (code == RPRT_NOT_LOADED) return;
        const Tensor got = code == RPRT_OK ? Tensor::share(static_cast<TensorImpl*>(out.owner)) : Tensor();
        wrong += code != RPRT_OK || !(same_bits(got, want) || allclose(got, other));
        rprt_release(&out);
        ++served;
      }
    });
  while (served < 200) std::this_thread::yield();
  rprt_value v = RtProgram::value(w);
  EXPECT_EQ(rprt_bind(p, "nothing", &v.tensor), RPRT_INVALID_ARGUMENT);
  rprt_info info;
  ASSERT_EQ(rprt_weight(p, 0, &info), RPRT_OK);
  EXPECT_EQ(rprt_bind(p, info.name, &v.tensor), RPRT_OK) << rprt_last_error();
  const int now = served;
  while (served < now + 200) std::this_thread::yield();
  EXPECT_EQ(rprt_unload(p), RPRT_OK);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(rprt_unload(p), RPRT_NOT_LOADED);
  EXPECT_EQ(rprt_name(p), nullptr);
}

TEST(Runtime, WhatItCannotRunIsRefusedWhenItIsCompiled) {
  static const Operator twice =
      Library("rt_test").define({.schema = "twice(Tensor(a!) out, Tensor x) -> ()", .cpu = [](const KernelCall& k) {
                                   for (std::int64_t i = 0; i < k.tensor(1).sizes[0]; ++i)
                                     k.tensor(0).as<float>()[i] = 2 * k.tensor(1).as<float>()[i];
                                 }});
  auto refused = [](const ExportedProgram& p, CodeOptions o = {}) {
    try {
      p.compile(o);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const std::string kernel = refused(export_program(
      [](const Tensor& x) {
        Tensor out = zeros_like(x);
        twice(out, x);
        return out;
      },
      std::tuple(zeros({4}))));
  EXPECT_TRUE(has(kernel, "rt_test::twice (rt_test.cc:") && has(kernel, "registered operator")) << kernel;
  const std::string level = refused(small_net(), {.levels = {"avx3"}});
  EXPECT_TRUE(has(level, "no level") && has(level, "avx512")) << level;
  ExportedProgram p = small_net();
  p.save(file("none.rpx"));
  rprt_program* none = nullptr;
  EXPECT_EQ(rprt_load(file("none.rpx").c_str(), nullptr, &none), RPRT_NO_CODE);
  EXPECT_TRUE(has(rprt_last_error(), "no machine code")) << rprt_last_error();
  EXPECT_EQ(rprt_load(file("nowhere.rpx").c_str(), nullptr, &none), RPRT_IO);
  rprt_options o{"avx512_bf16", 0};
  EXPECT_EQ(rprt_load(small_file().c_str(), &o, &none), RPRT_NO_CODE);
  EXPECT_EQ(none, nullptr);
}

// Where there are no instructions for half precision, code calls functions for it.
TEST(Runtime, HalfPrecisionAtTheLowestLevel) {
  const auto made = [](const Tensor& x) {
    const Tensor h = x.to(kFloat16) * 1.7 + 0.1, wide = (x.to(kFloat64) * 1e-3).to(kFloat16);
    return std::vector<Tensor>{h, h.to(kFloat32) * 3.0, wide, (h * wide).sum()};
  };
  export_program(made, std::tuple(zeros({8, 5})), {.name = "half"})
      .compile({.levels = {"x86_64_v2", best_level()}})
      .save(file("half.rpx"));
  const RtProgram low(file("half.rpx"), "x86_64_v2"), best(file("half.rpx"), best_level().c_str());
  // Denormals, ties, what overflows, and what is no number.
  std::vector<float> v(40);
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = std::ldexp(1.0f + static_cast<float>(i) / 64, static_cast<int>(i) - 24);
  v[0] = 65520.0f, v[1] = -INFINITY, v[2] = NAN, v[3] = 6e-8f, v[4] = -0.0f, v[5] = 1.00048828125f;
  std::vector<Tensor> x{tensor_of(v).reshape({8, 5})}, same = x;
  EXPECT_EQ(difference(there(best, x), there(low, same), true), "");
}

// What data decide is not decided for arguments that hold nothing.
TEST(Runtime, SizesThatDataDecideAreNoCrash) {
  const ExportedProgram p = export_program(
      [](const Tensor& x) {
        const Tensor n = nonzero(x > 0.0).t();
        return std::get<0>(topk(n, n.size(1) / 2, 1));
      },
      std::tuple(arange(9, {.dtype = kFloat32})));
  try {
    p.compile({.levels = {best_level()}});
  } catch (const Error& e) {
    EXPECT_TRUE(has(e.what(), "cannot run without a compiler")) << e.what();
  }
}

#ifdef REPRISE_RT_TEST
// Python and C, with the shared library, in processes that have no compiler: packaging/python/test_reprise_rt.py.
TEST(Runtime, OtherLanguagesInAnotherProcess) {
  const CodeOptions code{.levels = {best_level()}};
  small_net().compile(code).save(file("net.rpx"));
  std::vector<float> x(5 * 8);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<double>(i * 37 % 101) / 101 - 0.5);
  const Tensor y = small_net().program()(from_blob(x.data(), {5, 8}, kFloat32))[0];
  std::FILE* expected = std::fopen(file("net.txt").c_str(), "w");
  ASSERT_TRUE(expected);
  for (std::int64_t i = 0; i < y.numel(); ++i)
    std::fprintf(expected, "%a\n", static_cast<double>(y.data_ptr<float>()[i]));
  std::fclose(expected);
  export_program([](const Tensor& x, const Tensor& y) { return x.add_(y), x.t(); },
                 std::tuple(zeros({4, 6}), zeros({4, 6})), {.name = "add", .arguments = {"x", "y"}})
      .compile(code)
      .save(file("add.rpx"));
  const Tensor state = zeros({1, 4});
  export_program(
      [state](const Tensor& x) {
        const Tensor y = x + state;
        state.copy_(y * 0.5);
        return y;
      },
      std::tuple(zeros({1, 4})), {.name = "filter", .arguments = {"x"}})
      .compile(code)
      .save(file("filter.rpx"));
  const std::string command = std::string("RPRT_LIBRARY=" REPRISE_RT_LIBRARY " " REPRISE_RT_TEST " ") + file("") +
                              " " REPRISE_RT_RUNNER " " REPRISE_RT_PLUGIN " " REPRISE_RT_EXAMPLES;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  const std::string wheel =
      std::string(REPRISE_RT_WHEEL_TEST " " REPRISE_RT_LIBRARY " " REPRISE_RT_VERSION " ") + file("");
  EXPECT_EQ(std::system(wheel.c_str()), 0) << wheel;
}
#endif

// Files that are cut off, and such with a byte that is another one: an error that says so, or a program whose weights
// are others.
TEST(Runtime, DamagedFilesAreOneErrorEach) {
  std::ifstream in(small_file(), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  std::mt19937 random(7);
  int errors = 0;
  auto load = [&](const std::string& bytes, const std::string& what) {
    std::ofstream(file("damaged.rpx"), std::ios::binary) << bytes;
    rprt_program* p = nullptr;
    const std::int32_t code = rprt_load(file("damaged.rpx").c_str(), nullptr, &p);
    if (code == RPRT_OK) return void(rprt_unload(p));
    ++errors;
    EXPECT_TRUE(code == RPRT_FILE_FORMAT || code == RPRT_NO_CODE || code == RPRT_IO) << what << rprt_last_error();
    EXPECT_TRUE(has(rprt_last_error(), "damaged.rpx")) << what << rprt_last_error();
  };
  for (int i = 0; i < 60; ++i) load(whole.substr(0, random() % whole.size()), "cut: ");
  EXPECT_EQ(errors, 60);
  int flipped = 0;
  for (int i = 0; i < 240; ++i) {
    std::string bytes = whole;
    const std::size_t at = random() % whole.size();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    flipped += bytes != whole;
    load(bytes, "byte " + std::to_string(at) + ": ");
  }
  EXPECT_GE(errors, 60 + flipped - 20);  // (96 bytes of weights, and blanks behind the header)
}

// Data that say other things, under a hash that fits: what does not hang together is refused before anything is made of
// it. (Instructions are taken as they are.)
TEST(Runtime, NumbersOfAProgramAreChecked) {
  const SafeTensors all = load_safetensors(small_file());
  const Tensor t = all.at("reprise.code." + best_level());
  const std::string whole(t.impl()->data(), static_cast<std::size_t>(t.numel().value()));
  std::uint64_t data = 0;
  std::memcpy(&data, whole.data() + 24, sizeof data);
  std::mt19937 random(11);
  int refused = 0;
  constexpr int kTimes = 1500;
  for (int i = 0; i < kTimes; ++i) {
    std::string bytes = whole;
    for (unsigned n = random() % 3 + 1; n > 0; --n)
      bytes[32 + random() % data] = static_cast<char>(random() % 4 ? random() % 6 : random());
    const std::uint64_t hash = hash_text(std::string_view(bytes).substr(32));
    std::memcpy(bytes.data() + 16, &hash, sizeof hash);
    try {
      detail::read_code(bytes);
    } catch (const DamagedArchive&) {
      ++refused;
    } catch (const NotArchived&) {  // a kernel or a function that is not there
      ++refused;
    }
  }
  EXPECT_GT(refused, kTimes / 4);
  EXPECT_NO_THROW(detail::read_code(whole));
}

// docs/export_format.md names the fields that files have, in their order. Where this fails, the format has changed:
// runtime::kCodeVersion says so to older runtimes.
TEST(Runtime, TheFormatIsWhatItsDocumentSays) {
  auto text_of = [](const std::string& path) {
    std::ifstream in(std::string(REPRISE_SOURCE_DIR) + "/" + path);
    return std::string((std::istreambuf_iterator<char>(in)), {});
  };
  auto in_one_line = [](std::string s) {
    s.erase(std::unique(s.begin(), s.end(), [](char a, char b) { return std::isspace(a) && std::isspace(b); }),
            s.end());
    std::replace(s.begin(), s.end(), '\n', ' ');
    return s;
  };
  const std::string document = in_one_line(text_of("docs/export_format.md"));
  EXPECT_TRUE(has(document, "version of what follows, " + std::to_string(runtime::kCodeVersion) + ":"));
  int structs = 0;
  for (const char* source :
       {"guards/program_archive.cc", "runtime/export/code_file.cc", "runtime/replay/program_archive.cc"}) {
    const std::string text = in_one_line(text_of(source)), macro = "REPRISE_ARCHIVED(";
    for (std::size_t at = text.find(macro); at != std::string::npos; at = text.find(macro, at + 1), ++structs) {
      const std::string list = text.substr(at + macro.size(), text.find(')', at) - at - macro.size());
      const std::size_t comma = list.find(", ");
      const std::string row = "| `" + list.substr(0, comma) + "` | `" + list.substr(comma + 2) + "` |";
      EXPECT_TRUE(has(document, row)) << row;
    }
    if (const std::size_t at = text.find("std::tie(p.key_words"); at != std::string::npos) {
      std::string list = text.substr(at + 9, text.find(");", at) - at - 9);
      for (std::size_t p; (p = list.find("p.")) != std::string::npos && (p == 0 || list[p - 1] == ' ');)
        list.erase(p, 2);
      EXPECT_TRUE(has(document, "`" + list + "`")) << list;
    }
  }
  EXPECT_GT(structs, 20);
}

}  // namespace reprise::exported

#endif
