#include "reprise/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/errors.h"
#include "tensor/impl.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class SafeTensorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(::testing::TempDir()) / ("reprise_safetensors_" + std::to_string(getpid()));
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string path(const std::string& name = "x.safetensors") const { return (dir_ / name).string(); }

  /// A file made by hand: the length of the header, the header, the data.
  std::string hand_made(const std::string& header, const std::string& data, std::int64_t claimed = -1) const {
    std::uint64_t n = static_cast<std::uint64_t>(claimed < 0 ? static_cast<std::int64_t>(header.size()) : claimed);
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(n >> (8 * i));
    write(bytes + header + data);
    return path();
  }
  void write(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }

  /// Loading fails as FileFormat with all these words (the file's name is always one).
  void expect_bad(const std::vector<std::string>& words) const {
    try {
      load_safetensors(path());
      ADD_FAILURE() << "loaded, though it should say: " << words.front();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::FileFormat) << e.what();
      EXPECT_NE(e.message().find(path()), std::string::npos) << e.what();
      for (const std::string& w : words)
        EXPECT_NE(e.message().find(w), std::string::npos) << e.what() << "\nwanted: " << w;
    }
  }
  fs::path dir_;
};

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

TEST_F(SafeTensorsTest, RoundTripOfEveryDType) {
  std::map<std::string, Tensor> all;
  alignas(8) unsigned char bytes[64];
  for (int i = 0; i < 64; ++i) bytes[i] = static_cast<unsigned char>(i % 2);
  for (int i = 0; i < kDTypeCount; ++i) {
    DType t = static_cast<DType>(i);
    all[std::string("t_") + std::string(dtype_name(t))] = from_blob(bytes, {2, 3}, t);
  }
  all["empty"] = from_blob(nullptr, {0, 5}, kInt64);
  all["scalar"] = tensor_of(std::vector<double>{2.5}, IntArrayRef{});
  save_safetensors(path(), all, {{"format", "pt"}, {"who", "r\xc3\xa9prise"}});
  SafeTensors st = load_safetensors(path());
  EXPECT_EQ(st.names().size(), all.size());
  EXPECT_EQ(st.metadata().at("format"), "pt");
  EXPECT_EQ(st.metadata().at("who"), "r\xc3\xa9prise");
  for (auto& [name, t] : all) {
    Tensor u = st.at(name);
    EXPECT_EQ(u.dtype(), t.dtype());
    ASSERT_EQ(u.dim(), t.dim()) << name;
    for (int d = 0; d < t.dim(); ++d) EXPECT_EQ(u.size(d).value(), t.size(d).value());
    EXPECT_EQ(u.to_vector<double>(), t.to_vector<double>()) << name;
  }
  EXPECT_TRUE(st.contains("empty"));
  EXPECT_FALSE(st.contains("emptier"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1);  // no temporary file stays
}

TEST_F(SafeTensorsTest, TensorsKeepTheMappingAndWritesStayPrivate) {
  save_safetensors(path(), {{"a", tensor_of(std::vector<float>{1, 2, 3})}});
  Tensor a;
  {
    SafeTensors st = load_safetensors(path());
    a = st.at("a");
    EXPECT_TRUE(a.shares_storage_with(st.at("a")));
  }
  a.data<float>()[1] = 20;
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{1, 20, 3}));
  EXPECT_EQ(load_safetensors(path()).at("a").to_vector<float>(), (std::vector<float>{1, 2, 3}));
  fs::remove(path());
  EXPECT_EQ(a.to_vector<float>()[2], 3);
}

TEST_F(SafeTensorsTest, StridedTensorsAreWrittenRowMajor) {
  std::vector<float> big(700 * 600);
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<float>(i);
  Tensor t = from_blob(big.data(), {600, 700}, kFloat32, {}, {1, 600});
  unsigned char odd[4] = {0, 1, 7, 255};
  save_safetensors(path(), {{"t", t}, {"b", from_blob(odd, {4}, kBool)}});
  SafeTensors st = load_safetensors(path());
  EXPECT_TRUE(st.at("t").is_contiguous());
  EXPECT_EQ(st.at("t").to_vector<float>(), t.to_vector<float>());
  EXPECT_EQ(st.at("b").to_vector<float>(), (std::vector<float>{0, 1, 1, 1}));
}

TEST_F(SafeTensorsTest, MisalignedDataAreCopied) {
  // One byte, then a float32 at byte 1 of the data.
  std::string header =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
  float v[2] = {1.5f, -2};
  hand_made(header, std::string("\x07", 1) + std::string(reinterpret_cast<char*>(v), 8));
  SafeTensors st = load_safetensors(path());
  EXPECT_EQ(st.at("a").item().to_int().value(), 7);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(st.at("b").data_ptr()) % 4, 0u);
  EXPECT_EQ(st.at("b").to_vector<float>(), (std::vector<float>{1.5f, -2}));
}

TEST_F(SafeTensorsTest, UnknownNameSuggestsTheNearest) {
  save_safetensors(path(),
                   {{"layers.0.wq", tensor_of(std::vector<float>{1})}, {"norm", tensor_of(std::vector<float>{1})}});
  try {
    load_safetensors(path()).at("layer.0.wq");
    FAIL() << "did not throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(e.message().find("no tensor 'layer.0.wq'; did you mean 'layers.0.wq'?"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("safetensors_test.cc"), std::string::npos) << e.what();
  }
  EXPECT_THROW(SafeTensors().at("a"), Error);
  EXPECT_TRUE(SafeTensors().names().empty());
}

TEST_F(SafeTensorsTest, TruncatedAndOversizedHeaders) {
  write("");
  expect_bad({"has 0 bytes", "8"});
  write("1234567");
  expect_bad({"has 7 bytes", "8"});
  hand_made("{}", "", 50);
  expect_bad({"claims 50 bytes", "2 follow"});
  hand_made("{}", "", 100'000'001);
  expect_bad({"claims 100000001 bytes", "100000000"});
  write(std::string(8, '\xff') + "{}");
  expect_bad({"claims 18446744073709551615 bytes"});
  hand_made("{}", "");
  EXPECT_TRUE(load_safetensors(path()).names().empty());
  hand_made("{}      ", "");  // padding is allowed
  EXPECT_TRUE(load_safetensors(path()).names().empty());
}

TEST_F(SafeTensorsTest, HeadersThatAreNotWhatTheyShouldBe) {
  hand_made("{\"a\":", "");
  expect_bad({"not JSON"});
  hand_made("[1, 2]", "");
  expect_bad({"array, not an object"});
  hand_made("17", "");
  expect_bad({"number, not an object"});
  hand_made("", "");
  expect_bad({"not JSON"});
  hand_made("{\"\xff\":{}}", "");
  expect_bad({"not JSON"});
  hand_made(R"({"a":3})", "");
  expect_bad({"'a'", "number, not an object"});
  hand_made(R"({"a":{"dtype":"F32","shape":[1]}})", "");
  expect_bad({"'a'", "no data_offsets"});
  hand_made(R"({"__metadata__":{"k":1}})", "");
  expect_bad({"__metadata__ 'k'", "not a string"});
  hand_made(R"({"__metadata__":[]})", "");
  expect_bad({"__metadata__ is a JSON array"});
  hand_made(R"({"a":{"dtype":{"x":{"y":1}},"shape":[],"data_offsets":[0,4]}})", "0000");
  expect_bad({"nests deeper"});
  std::string deep(100'000, '[');
  for (std::string before : {R"({"a":)", R"({"a":{"shape":)", R"({"a":{"dtype":"F32","data_offsets":[0,4],"shape":[1,)",
                             R"({"__metadata__":{"x":)"}) {
    hand_made(before + deep, "");
    expect_bad({"nests deeper"});
    hand_made(before + deep + std::string(100'000, ']') + "}}", "");
    expect_bad({"nests deeper"});
  }
  std::string ones = "1";
  while (ones.size() < 100'000) ones += ",1";
  hand_made(R"({"a":{"dtype":"U8","shape":[)" + ones + R"(],"data_offsets":[0,1]}})", "x");
  expect_bad({"'a'", "more than 1000 values"});
}

TEST_F(SafeTensorsTest, DuplicateKeys) {
  std::string entry = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  hand_made("{" + entry + "," + entry + "}", "x");
  expect_bad({"'a' occurs twice"});
  hand_made(R"({"__metadata__":{"k":"v"},"__metadata__":{}})", "");
  expect_bad({"'__metadata__' occurs twice"});
  hand_made(R"({"__metadata__":{"k":"v","k":"w"}})", "");
  expect_bad({"'k' occurs twice"});
  hand_made(R"({"a":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})", "x");
  expect_bad({"'shape' occurs twice"});
  // The same field in two tensors is no duplicate.
  hand_made(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
      "xy");
  EXPECT_EQ(load_safetensors(path()).names().size(), 2u);
}

TEST_F(SafeTensorsTest, DTypesAndShapes) {
  hand_made(one(R"("F8_E8M0")", "[4]", "[0,4]"), "0000");
  expect_bad({"'a'", "unknown dtype 'F8_E8M0'"});
  hand_made(one("4", "[4]", "[0,4]"), "0000");
  expect_bad({"'a'", "dtype is a JSON number"});
  hand_made(one(R"("U8")", "[-4]", "[0,4]"), "0000");
  expect_bad({"'a'", "-4"});
  hand_made(one(R"("U8")", "[2.0]", "[0,2]"), "00");
  expect_bad({"'a'", "2.0", "not an integer"});
  hand_made(one(R"("U8")", "\"4\"", "[0,4]"), "0000");
  expect_bad({"'a'", "shape is a JSON string"});
  hand_made(one(R"("U8")", "[18446744073709551615]", "[0,4]"), "0000");
  expect_bad({"'a'", "18446744073709551615"});
  hand_made(one(R"("F32")", "[4611686018427387904,4611686018427387904]", "[0,0]"), "");
  expect_bad({"'a'", "overflows"});
  hand_made(one(R"("U8")", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), "0");
  expect_bad({"'a'", "9 dimensions", "8"});
  hand_made(one(R"("BOOL")", "[2]", "[0,2]"), std::string("\x01\x02", 2));
  try {
    load_safetensors(path()).at("a");
    FAIL() << "did not throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::FileFormat);
    EXPECT_NE(e.message().find("byte 1 is 2"), std::string::npos) << e.what();
  }
}

TEST_F(SafeTensorsTest, Offsets) {
  hand_made(one(R"("U8")", "[4]", "[4,0]"), "0000");
  expect_bad({"'a'", "reversed, 4 to 0"});
  hand_made(one(R"("U8")", "[4]", "[0,-4]"), "0000");
  expect_bad({"'a'", "-4"});
  hand_made(one(R"("U8")", "[4]", "[0]"), "0000");
  expect_bad({"'a'", "not an array of two"});
  hand_made(one(R"("F32")", "[4]", "[0,4]"), "0000");
  expect_bad({"'a'", "span 4 bytes", "takes 16"});
  hand_made(one(R"("U8")", "[9]", "[0,9]"), "0000");
  expect_bad({"'a'", "ends at byte 9", "has 4"});
  hand_made(one(R"("U8")", "[4]", "[0,4]"), "000000");
  expect_bad({"end at byte 4", "has 6"});
  hand_made(one(R"("U8")", "[2]", "[2,4]"), "0000");
  expect_bad({"'a'", "begins at byte 2", "hole after byte 0"});
  hand_made(
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
      "000000");
  expect_bad({"'b'", "begins at byte 2", "overlaps tensor 'a'", "ends at 4"});
}

TEST_F(SafeTensorsTest, SystemErrorsAreIo) {
  auto code_of = [](auto&& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::Internal;  // did not throw
  };
  EXPECT_EQ(code_of([&] { load_safetensors(path("missing")); }), ErrorCode::Io);
  EXPECT_EQ(code_of([&] { load_safetensors(dir_.string()); }), ErrorCode::Io);
  Tensor t = tensor_of(std::vector<float>{1});
  EXPECT_EQ(code_of([&] { save_safetensors(path("no/such/folder"), {{"a", t}}); }), ErrorCode::Io);
  EXPECT_EQ(code_of([&] { save_safetensors(path(), {{"a", Tensor()}}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([&] { save_safetensors(path(), {{"__metadata__", t}}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([&] { save_safetensors(path(), {{"\xff", t}}); }), ErrorCode::InvalidArgument);
  Tensor gone = tensor_of(std::vector<float>{1});
  gone.release_storage();
  EXPECT_EQ(code_of([&] { save_safetensors(path(), {{"a", gone}}); }), ErrorCode::StorageFreed);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(SafeTensorsTest, AFailedSaveLeavesTheOldFile) {
  save_safetensors(path(), {{"a", tensor_of(std::vector<float>{1, 2})}});
  EXPECT_THROW(save_safetensors(path(), {{"a", Tensor()}}), Error);
  // The target is a folder that is not empty: the rename at the very end is what fails.
  fs::create_directories(dir_ / "target" / "inside");
  EXPECT_THROW(save_safetensors(path("target"), {{"a", tensor_of(std::vector<float>{3})}}), Error);
  EXPECT_EQ(load_safetensors(path()).at("a").to_vector<float>(), (std::vector<float>{1, 2}));
  for (auto& entry : fs::directory_iterator(dir_)) EXPECT_EQ(entry.path().string().find(".part"), std::string::npos);
}

TEST_F(SafeTensorsTest, TimeFollowsTheNumberOfTensors) {
  constexpr int kTensors = 40'000;
  std::string header = "{";
  for (int i = 0; i < kTensors; ++i)
    header += (i ? "," : "") + ("\"t" + std::to_string(i)) + R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" +
              std::to_string(i) + "," + std::to_string(i + 1) + "]}";
  hand_made(header + "}", std::string(kTensors, 'x'));
  const auto begin = std::chrono::steady_clock::now();
  SafeTensors st = load_safetensors(path());
  EXPECT_EQ(st.names().size(), static_cast<std::size_t>(kTensors));
  EXPECT_EQ(st.at("t39999").item().to_int().value(), 'x');
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8))
      << "was 30 s when each tensor looked through those before it";
}

TEST_F(SafeTensorsTest, NoFileIsWaitedFor) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  for (const std::string& name : {path("fifo"), std::string("/dev/zero"), std::string("/dev/tty"), dir_.string()}) {
    try {
      load_safetensors(name);
      FAIL() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::Io);
      EXPECT_NE(e.message().find("not a regular file"), std::string::npos) << e.what();
    }
  }
  try {
    save_safetensors(path("fifo"), {{"a", tensor_of(std::vector<float>{3})}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Io);
    EXPECT_NE(e.message().find("a FIFO, not a regular file"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(fs::is_fifo(path("fifo")));
}

/// Names out of a file stand in messages without their power over a terminal, and not at any length.
TEST_F(SafeTensorsTest, HostileNamesAreWrittenOut) {
  hand_made(R"({"\u001b[31mred":{"dtype":"F32","shape":[1],"data_offsets":[0,3]}})", "000");
  expect_bad({"tensor '\\x1b[31mred'"});
  hand_made("{\"" + std::string(1 << 20, 'n') + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,3]}})", "000");
  try {
    load_safetensors(path());
    FAIL();
  } catch (const Error& e) {
    EXPECT_LT(e.message().size(), 1000u);
  }
}

TEST_F(SafeTensorsTest, AFileThatWasCutOffIsAnError) {
  std::vector<float> v(100'000, 1.0f);
  for (Reading how : {Reading::Mapped, Reading::Copied}) {
    save_safetensors(path(), {{"a", tensor_of(v)}, {"b", tensor_of(v)}, {"c", tensor_of(std::vector<float>{1, 2})}});
    SafeTensors st = load_safetensors(path(), how);
    Tensor a = st.at("a");
    fs::resize_file(path(), 500'000);
    try {
      st.at("b");
      FAIL() << "did not throw";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::Io);
      EXPECT_NE(e.message().find("was cut off after it was loaded: tensor 'b' ends at byte "), std::string::npos)
          << e.what();
      EXPECT_NE(e.message().find("the file has 500000"), std::string::npos) << e.what();
    }
    fs::resize_file(path(), 10);
    if (how == Reading::Copied) {
      EXPECT_EQ(a.to_vector<float>(), v);
    }
  }
}

TEST_F(SafeTensorsTest, CopiedTensorsStandAlone) {
  save_safetensors(path(),
                   {{"a", tensor_of(std::vector<float>{1, 2, 3})}, {"none", from_blob(nullptr, {0, 2}, kFloat32)}});
  SafeTensors st = load_safetensors(path(), Reading::Copied);
  Tensor a = st.at("a");
  EXPECT_EQ(st.at("none").numel().value(), 0);
  std::ofstream(path(), std::ios::binary) << std::string(1000, '\xff');
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(st.at("a").data_ptr(), a.data_ptr());
}

}  // namespace
}  // namespace reprise
