#include <gtest/gtest.h>

#include <filesystem>

#include "base/errors.h"
#include "reprise/ops.h"
#include "tests/gguf/made.h"

using namespace reprise;
using made::Gguf, made::Temporary, made::raw, made::text;

namespace {

std::string told(const std::string& bytes, ErrorCode code = ErrorCode::FileFormat) {
  const Temporary file(bytes);
  try {
    gguf::File::open(file.path);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    std::string m = e.message();
    if (const auto at = m.find(file.path); at != std::string::npos) m.replace(at, file.path.size(), "F");
    else ADD_FAILURE() << "the file is not named: " << m;
    return m;
  }
  return "nothing";
}
template <class F>
std::string told_by(F f, ErrorCode code) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.message().substr(e.message().find(": ") + 2);
  }
  return "nothing";
}

TEST(GgufFile, MetadataOfAllTypes) {
  const Temporary file(made::everything().all());
  const gguf::File f = gguf::File::open(file.path);
  EXPECT_EQ(f.version(), 3);
  EXPECT_EQ(f.keys().front(), "general.architecture");
  EXPECT_EQ(f.keys().size(), 17u);
  EXPECT_EQ(f.text("general.architecture"), "llama");
  EXPECT_EQ(f.integer("a.u8"), 200);
  EXPECT_EQ(f.integer("a.i8"), -5);
  EXPECT_EQ(f.integer("a.u16"), 60000);
  EXPECT_EQ(f.integer("a.i16"), -300);
  EXPECT_EQ(f.integer("a.u32"), 4000000000);
  EXPECT_EQ(f.integer("a.i32"), -70000);
  EXPECT_EQ(f.integer("a.i64"), -(std::int64_t{1} << 40));
  EXPECT_EQ(f.number("a.f32"), 1.5);
  EXPECT_EQ(f.number("a.f64"), 0.1);
  EXPECT_TRUE(f.flag("a.bool"));
  EXPECT_EQ(f.texts("tokenizer.ggml.tokens"), (std::vector<std::string>{"<s>", "", "\xe2\x96\x81the"}));
  EXPECT_EQ(f.numbers("tokenizer.ggml.scores"), (std::vector<double>{0, -1, -2.5}));
  EXPECT_EQ(f.integers("tokenizer.ggml.token_type"), (std::vector<std::int64_t>{3, 1, 1}));
  EXPECT_EQ(f.flags("a.bools"), (std::vector<bool>{false, true}));
  EXPECT_EQ(f.integers("a.none"), std::vector<std::int64_t>{});
  EXPECT_EQ(f.type("a.none"), gguf::ValueType::Array);
  EXPECT_EQ(f.element_type("a.none"), gguf::ValueType::U32);
  EXPECT_EQ(f.length("tokenizer.ggml.tokens"), 3);
  EXPECT_FALSE(f.has("llama.block_count"));
  EXPECT_EQ(f.integer("llama.block_count", 7), 7);
  EXPECT_EQ(f.text("general.name", "none"), "none");
  EXPECT_EQ(told_by([&] { f.integer("a.u64"); }, ErrorCode::DTypeMismatch),
            "'a.u64' is 9223372036854775808, which is beyond 63 bits");
  EXPECT_EQ(told_by([&] { f.integer("a.f32"); }, ErrorCode::DTypeMismatch), "'a.f32' is float32, not an integer");
  EXPECT_EQ(told_by([&] { f.texts("a.bools"); }, ErrorCode::DTypeMismatch),
            "'a.bools' is an array of bool, not an array of texts");
  EXPECT_NE(told_by([&] { f.number("a.f23"); }, ErrorCode::InvalidArgument).find("did you mean 'a.f32'?"),
            std::string::npos);
}

TEST(GgufFile, TensorsAreViewsOfTheFile) {
  const Temporary file(made::everything().all());
  for (const Reading how : {Reading::Mapped, Reading::Copied}) {
    const gguf::File f = gguf::File::open(file.path, how);
    for (const char* name : {"f32", "f16"}) {
      const Tensor t = f.at(name);
      EXPECT_EQ(t.sizes(), (Ints{2, 3}));
      EXPECT_EQ(t.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    }
    EXPECT_EQ(f.at("bf16").dtype(), kBFloat16);
    EXPECT_EQ(f.at("bf16").to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(f.at("i32").to_vector<int>(), (std::vector<int>{7, -8}));
    EXPECT_EQ(f.blocks("f16").dequantize().to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(f.info("Q4_K").sizes, (std::vector<std::int64_t>{3, 512}));
    EXPECT_EQ(f.info("Q4_K").bytes, 6 * 144);
    EXPECT_EQ(f.info("later").bytes, -1);
    EXPECT_EQ(f.blocks("empty").sizes(), (Ints{0, 32}));
    EXPECT_EQ(told_by([&] { f.at("Q4_K"); }, ErrorCode::DTypeMismatch),
              "tensor 'Q4_K' is Q4_K: it is read with blocks()");
    EXPECT_EQ(told_by([&] { f.blocks("iq2_s"); }, ErrorCode::DTypeMismatch),
              "tensor 'iq2_s' is IQ2_S, which is not read");
    EXPECT_EQ(told_by([&] { f.blocks("later"); }, ErrorCode::DTypeMismatch),
              "tensor 'later' is type 1234, which is not read");
    EXPECT_NE(told_by([&] { f.at("F32"); }, ErrorCode::InvalidArgument).find("did you mean"), std::string::npos);
  }
  // The mapping lives as long as a tensor of it.
  Tensor kept = gguf::File::open(file.path).at("f32");
  EXPECT_EQ(kept.select(0, 1).to_vector<float>(), (std::vector<float>{3, 4, 5}));
  // Two of one file share its pages; what is written stays in this process.
  kept.fill_(9);
  EXPECT_EQ(gguf::File::open(file.path).at("f32").select(0, 0).to_vector<float>(), (std::vector<float>{0, 1, 2}));
}

TEST(GgufFile, OlderVersionAndOtherAlignments) {
  for (std::uint32_t alignment : {8u, 64u, 4096u}) {
    Gguf g;
    g.alignment = alignment, g.version = 2;
    g.value("general.alignment", 4, raw(alignment))
        .tensor("a", {1}, 0, raw(1.f))
        .tensor("b", {2}, 0, raw(2.f) + raw(3.f));
    const Temporary file(g.all());
    const gguf::File f = gguf::File::open(file.path);
    EXPECT_EQ(f.version(), 2);
    EXPECT_EQ(f.at("b").to_vector<float>(), (std::vector<float>{2, 3}));
  }
  Gguf none;
  const Temporary file(none.header());  // and nothing behind it
  EXPECT_TRUE(gguf::File::open(file.path).names().empty());
}

TEST(GgufFile, FilesThatLie) {
  const Gguf good = made::everything();
  EXPECT_EQ(told(""), "'F': the magic number of 4 bytes begins at byte 0, but the file has 0");
  EXPECT_EQ(told("GGML1234"), "'F': the file does not begin with 'GGUF'");
  auto with = [](auto change) {
    Gguf g;
    change(g);
    return told(g.all());
  };
  EXPECT_EQ(with([](Gguf& g) { g.version = 1; }), "'F': version 1; versions 2 and 3 are read");
  EXPECT_EQ(with([](Gguf& g) { g.version = 0x03000000; }), "'F': the file is big-endian, which is not read");
  EXPECT_EQ(with([](Gguf& g) { g.n_tensors = 1ull << 60; }),
            "'F': it claims 1152921504606846976 tensors; at most 0 fit into the 8 bytes that follow");
  EXPECT_EQ(with([](Gguf& g) { g.n_values = 1ull << 60; }),
            "'F': it claims 1152921504606846976 metadata values; at most 0 fit into the 8 bytes that follow");
  EXPECT_EQ(with([](Gguf& g) { g.value("k", 8, raw<std::uint64_t>(2ull << 30) + "abc"); }),
            "'F': a text at byte 37 claims 2147483648 bytes, but 19 follow");
  EXPECT_EQ(with([](Gguf& g) { g.value("k", 8, raw<std::uint64_t>(~0ull)); }),
            "'F': a text at byte 37 claims 18446744073709551615 bytes, but 19 follow");
  EXPECT_EQ(with([](Gguf& g) { g.array("k", 4, 1ull << 60, ""); }),
            "'F': it claims 1152921504606846976 elements of an array; at most 3 fit into the 15 bytes that follow");
  EXPECT_EQ(with([](Gguf& g) { g.array("k", 8, 2, text("a")); }),
            "'F': it claims 2 elements of an array; at most 1 fit into the 15 bytes that follow");
  EXPECT_EQ(with([](Gguf& g) { g.value("k", 13, ""); }), "'F': 'k' is of the unknown type 13");
  EXPECT_EQ(with([](Gguf& g) { g.array("k", 9, 1, ""); }), "'F': 'k' is an array of arrays, which is not read");
  EXPECT_EQ(with([](Gguf& g) { g.value("k", 7, "\2"); }), "'F': 'k' is bool, but its byte is 2, neither 0 nor 1");
  EXPECT_EQ(with([](Gguf& g) { g.value("k", 0, "a").value("k", 0, "b"); }), "'F': the key 'k' occurs twice");
  EXPECT_EQ(with([](Gguf& g) { g.value(std::string(70000, 'k'), 0, "a"); }),
            "'F': a key at byte 24 has 70000 bytes; at most 65535 are allowed");
  EXPECT_EQ(with([](Gguf& g) { g.value("general.alignment", 4, raw(12u)); }),
            "'F': general.alignment is 12; wanted a multiple of 8 up to 1048576");
  EXPECT_EQ(with([](Gguf& g) { g.value("general.alignment", 8, text("32")); }),
            "'F': general.alignment is a text, not uint32");
  EXPECT_EQ(with([](Gguf& g) { g.tensor("t", {2}, 0, raw(1.f) + raw(1.f)).tensor("t", {1}, 0, raw(1.f)); }),
            "'F': the tensor 't' occurs twice");
  EXPECT_EQ(with([](Gguf& g) {
              g.tensor("t", {1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, raw(1.f));
            }),
            "'F': tensor 't' has 9 dimensions; at most 8 are supported");
  EXPECT_EQ(with([](Gguf& g) {
              g.tensor("t", {1ull << 33, 1ull << 33}, 0, "");
            }),
            "'F': tensor 't': its sizes overflow 63 bits");
  EXPECT_EQ(with([](Gguf& g) { g.tensor("t", {1ull << 62}, 0, ""); }), "'F': tensor 't': its bytes overflow 63 bits");
  EXPECT_EQ(with([](Gguf& g) {
              g.tensor("t", {4, 40}, 2, std::string(90, 'x'));
            }),
            "'F': tensor 't' of Q4_0 has rows of 40 elements, which is no multiple of 32");
  EXPECT_EQ(with([](Gguf& g) { g.tensor("t", {100}, 0, raw(1.f)); }),
            "'F': tensor 't' of 400 bytes at 64 does not lie in the file, which has 68");
  auto offset = [](std::uint64_t at) {
    Gguf g;
    g.tensor("a", {8}, 0, std::string(32, 'a')).tensor("t", {1}, 0, raw(1.f));
    g.infos.replace(g.infos.size() - 8, 8, raw(at));
    return told(g.all());
  };
  EXPECT_EQ(offset(4), "'F': tensor 't' begins at byte 4 of the data, which is no multiple of the alignment 32");
  EXPECT_EQ(offset(0), "'F': tensor 't' begins at byte 96 and overlaps tensor 'a', which ends at 128");
  EXPECT_EQ(offset(64), "'F': tensor 't' of 4 bytes at 160 does not lie in the file, which has 132");
  EXPECT_NE(offset(1ull << 63).find("but the file has"), std::string::npos);
  EXPECT_NE(offset((1ull << 63) - 32).find("does not lie in the file"), std::string::npos);
  // Cut off anywhere: one error, or (in padding behind all that counts) none.
  const std::string all = good.all();
  for (std::size_t n = 0; n < all.size(); n += n < good.header().size() ? 1 : 37)
    EXPECT_NE(told(all.substr(0, n)), "nothing") << n;
  EXPECT_THROW(gguf::File::open("/tmp"), Error);
  EXPECT_THROW(gguf::File::open("/nowhere/file.gguf"), Error);
}

/// Damaged in many ways a file gives its tensors or one short error.
TEST(GgufFile, MutatedFiles) {
  const std::string good = made::everything().all();
  const std::size_t header = made::everything().header().size();
  const Temporary file(good);
  std::mt19937 random(7);
  const char* asked = std::getenv("REPRISE_TEST_MUTATIONS");
  const int n = asked ? std::atoi(asked) : 1000;
  int opened = 0;
  for (int i = 0; i < n; ++i) {
    std::string bytes = good;
    for (unsigned k = 0, changes = 1 + random() % 3; k < changes; ++k) {
      const std::size_t at = random() % header;
      switch (random() % 4) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
        case 2:
          bytes.replace(std::min(at, bytes.size() - 8), 8, raw<std::uint64_t>(std::uint64_t{1} << random() % 64));
          break;
        default: bytes.erase(at, 1 + random() % 16);
      }
    }
    std::ofstream(file.path, std::ios::binary | std::ios::trunc) << bytes;
    try {
      const gguf::File f = gguf::File::open(file.path);
      ++opened;
      for (const std::string& key : f.keys())
        if (f.type(key) == gguf::ValueType::Array && f.element_type(key) == gguf::ValueType::String) f.texts(key);
      std::int64_t total = 0;
      for (const std::string& name : f.names()) {
        const gguf::TensorInfo t = f.info(name);
        ASSERT_LE(t.offset, static_cast<std::int64_t>(bytes.size()));
        if (t.bytes < 0) continue;
        total += t.bytes;
        try {
          const gguf::Blocks b = f.blocks(name);
          ASSERT_EQ(b.bytes(), t.bytes);
          std::int64_t sum = 0;
          for (std::int64_t j = 0; j < b.bytes(); ++j) sum += static_cast<const char*>(b.data.data_ptr())[j];
          (void)sum;
        } catch (const Error& e) {
          ASSERT_TRUE(e.code() == ErrorCode::DTypeMismatch) << e.what();
        }
      }
      ASSERT_LE(total, static_cast<std::int64_t>(bytes.size()));
    } catch (const Error& e) {
      ASSERT_TRUE(e.code() == ErrorCode::FileFormat) << e.what();
      ASSERT_LT(e.message().size(), 1500u);
    }
  }
  EXPECT_GT(opened, 0);
}

}  // namespace
