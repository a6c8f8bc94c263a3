// Files that lie: one error each that says what is wrong, and no file at all ends the process or takes memory that is
// not its own.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "reprise/onnx.h"
#include "reprise/ops.h"
#include "tests/onnx/model_file.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

namespace file = onnx_file;
namespace fs = std::filesystem;
using file::Message;
using file::node;
using file::value;

file::Graph small() {
  return {.inputs = {value("x", file::kFloat, {"n", 2})},
          .outputs = {value("y", file::kFloat, {"n", 2})},
          .initializers = {file::floats("w", {2, 2}, {1, 2, 3, 4}), file::ints("to", {-1, 2})},
          .nodes = {node("MatMul", {"x", "w"}, {"h"}, {}, "first"), node("Reshape", {"h", "to"}, {"y"}, {}, "second")}};
}

struct Lie {
  const char* told;  ///< what the message holds
  std::string bytes;
};
std::vector<Lie> lies() {
  std::vector<Lie> all;
  const auto changed = [&](const char* told, auto&& change) {
    file::Graph g = small();
    change(g);
    all.push_back({told, file::model(g)});
  };
  all.push_back({"no graph", ""});
  all.push_back({"no ONNX model", "this is text, and no model"});
  all.push_back({"no ONNX model", file::model(small()).substr(0, 50)});
  all.push_back({"names no operator set", Message().number(1, 8).in(7, small().message()).bytes});
  changed("raw_data has 8 bytes, but its sizes and float take 16", [](file::Graph& g) {
    g.initializers[0] = file::floats("w", {2, 2}, {1, 2});
  });
  changed("dimension of size -3", [](file::Graph& g) { g.initializers[0] = file::floats("w", {-3, 2}, {}); });
  changed("overflow 63 bits", [](file::Graph& g) {
    g.initializers[0] = file::floats("w", {INT64_MAX, INT64_MAX}, {});
  });
  changed("overflow 63 bits", [](file::Graph& g) {
    g.initializers[0] = file::floats("w", {INT64_MAX, INT64_MAX, 0}, {});
  });
  changed("9 dimensions", [](file::Graph& g) {
    g.initializers[0] = file::floats("w", {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1});
  });
  changed("is of string", [](file::Graph& g) { g.initializers[0] = file::tensor("w", 8, {1}, std::vector<char>{}); });
  changed("is of element type 99",
          [](file::Graph& g) { g.initializers[0] = file::tensor("w", 99, {1}, std::vector<char>{}); });
  changed("'w' is there twice", [](file::Graph& g) { g.initializers.push_back(g.initializers[0]); });
  changed("'x' is there twice", [](file::Graph& g) { g.inputs.push_back(g.inputs[0]); });
  changed("'h' is made twice", [](file::Graph& g) { g.nodes.push_back(node("Relu", {"x"}, {"h"})); });
  changed("which nothing before it makes", [](file::Graph& g) {
    g.nodes[0] = node("MatMul", {"x", "nothing"}, {"h"});
  });
  changed("a cycle", [](file::Graph& g) { g.nodes[0] = node("MatMul", {"x", "y"}, {"h"}); });
  changed("nothing makes the result 'z'", [](file::Graph& g) { g.outputs.push_back(value("z", file::kFloat, {})); });
  changed("names no operator", [](file::Graph& g) { g.nodes[0] = node("", {"x"}, {"h"}); });
  changed("attribute 'axis' twice", [](file::Graph& g) {
    g.nodes[0] = node("Softmax", {"x"}, {"h"},
                      {file::attribute("axis", std::int64_t{1}), file::attribute("axis", std::int64_t{1})});
  });
  changed("no model that is given as bytes", [](file::Graph&) {});
  all.pop_back();
  changed("has no folder", [](file::Graph& g) {
    g.initializers[0] = Message()
                            .number(1, 1)
                            .number(2, 1)
                            .text(8, "w")
                            .in(13, Message().text(1, "location").text(2, "w.bin"))
                            .number(14, 1);
  });
  changed("has a dimension of size -7", [](file::Graph& g) { g.inputs[0] = value("x", file::kFloat, {-7}); });
  {
    Message deep = small().message();
    for (int i = 0; i < 30; ++i) {
      file::Graph g = small();
      g.nodes.push_back(node("If", {"c"}, {"z"}, {file::graph_attribute("then_branch", deep)}));
      deep = g.message();
    }
    all.push_back({"", file::model(deep)});
  }
  {
    const Message endless = Message()
                                .text(1, "F")
                                .text(4, "a")
                                .text(5, "b")
                                .in(7, node("F", {"a"}, {"b"}, {}, "", "local"))
                                .text(10, "local");
    file::Graph g = small();
    g.nodes = {node("F", {"x"}, {"y"}, {}, "", "local")};
    all.push_back({"calls itself", file::model(g.message(), 17, {endless})});
  }
  return all;
}

TEST(OnnxDamaged, EachLieIsOneError) {
  for (const Lie& lie : lies()) {
    const Error e = error_of([&] { onnx::load_bytes(lie.bytes); });
    EXPECT_TRUE(e.code() == ErrorCode::FileFormat || e.code() == ErrorCode::InvalidArgument) << e.what();
    EXPECT_NE(e.message().find(lie.told), std::string::npos) << "wanted '" << lie.told << "': " << e.what();
    EXPECT_LT(e.message().size(), 4000u);
  }
}

/// A folder that goes with the test.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("onnx_test_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return (path / name).string();
  }
};
Message outside(const std::string& location, const std::string& offset, const std::string& length,
                const std::vector<std::int64_t>& dims = {2, 2}) {
  Message m;
  for (std::int64_t d : dims) m.number(1, d);
  m.number(2, file::kFloat).text(8, "w").in(13, Message().text(1, "location").text(2, location));
  if (!offset.empty()) m.in(13, Message().text(1, "offset").text(2, offset));
  if (!length.empty()) m.in(13, Message().text(1, "length").text(2, length));
  return m.number(14, 1);
}

TEST(OnnxDamaged, ExternalDataLieWhereTheModelSays) {
  const Folder folder;
  const float numbers[] = {0, 0, 1, 2, 3, 4};
  folder.write("w.bin", std::string(reinterpret_cast<const char*>(numbers), sizeof numbers));
  const auto with = [&](const Message& w) {
    file::Graph g = small();
    g.initializers[0] = w;
    return folder.write("model.onnx", file::model(g));
  };
  const Tensor x = ones({1, 2});
  EXPECT_EQ(onnx::load(with(outside("w.bin", "8", "16")))(x)[0].to_vector<float>(), (std::vector<float>{4, 6}));
  EXPECT_EQ(onnx::load(with(outside("w.bin", "8", "")))(x)[0].to_vector<float>(), (std::vector<float>{4, 6}));
  const auto refused = [&](const char* told, const Message& w, ErrorCode code = ErrorCode::FileFormat) {
    const Error e = error_of([&] { onnx::load(with(w)); });
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(e.message().find(told), std::string::npos) << e.what();
    EXPECT_NE(e.message().find("model.onnx"), std::string::npos) << e.what();
  };
  refused("which has 24", outside("w.bin", "16", "16"));
  refused("which has 24", outside("w.bin", "9223372036854775807", "16"));
  refused("but its sizes and dtype take 16", outside("w.bin", "0", "24"));
  refused("is no number", outside("w.bin", "-8", "16"));
  refused("is no number", outside("w.bin", "99999999999999999999", "16"));
  refused("outside of the model's folder", outside("../w.bin", "0", "16"));
  refused("outside of the model's folder", outside("/etc/passwd", "0", "16"));
  refused("outside of the model's folder", outside("a/../../w.bin", "0", "16"));
  refused("cannot open", outside("missing.bin", "0", "16"), ErrorCode::Io);
  refused("no location", outside("", "0", "16"));
  EXPECT_EQ(error_of([&] { onnx::load(folder.path.string()); }).code(), ErrorCode::Io);
  EXPECT_EQ(error_of([&] { onnx::load((folder.path / "none.onnx").string()); }).code(), ErrorCode::Io);
}

// A link is followed within the model's folder, or within the one that the model's own link leads to, as caches of
// files have them.
TEST(OnnxDamaged, ExternalDataFollowNoLinkOutOfTheFolder) {
  const Folder folder;
  for (const char* name : {"model", "elsewhere", "cache"}) fs::create_directory(folder.path / name);
  const float numbers[] = {1, 2, 3, 4};
  const std::string data(reinterpret_cast<const char*>(numbers), sizeof numbers);
  const auto model = [&](const std::string& name, const std::string& location) {
    file::Graph g = small();
    g.initializers[0] = outside(location, "0", "16");
    return folder.write(name, file::model(g));
  };
  folder.write("elsewhere/w.bin", data), folder.write("model/inside.bin", data), folder.write("cache/blob1", data);
  fs::create_symlink("inside.bin", folder.path / "model/link.bin");
  fs::create_symlink("../elsewhere/w.bin", folder.path / "model/out.bin");
  fs::create_symlink("../elsewhere", folder.path / "model/folder");
  fs::create_symlink("../cache/blob1", folder.path / "model/cached.bin");
  const Tensor x = ones({1, 2});
  EXPECT_EQ(onnx::load(model("model/a.onnx", "link.bin"))(x)[0].to_vector<float>(), (std::vector<float>{4, 6}));
  for (const char* location : {"out.bin", "folder/w.bin", "cached.bin"}) {
    const Error e = error_of([&] { onnx::load(model("model/b.onnx", location)); });
    EXPECT_EQ(e.code(), ErrorCode::FileFormat) << e.what();
    EXPECT_NE(e.message().find("outside of the model's folder"), std::string::npos) << e.what();
  }
  model("cache/blob2", "cached.bin");
  fs::create_symlink("../cache/blob2", folder.path / "model/c.onnx");
  EXPECT_EQ(onnx::load((folder.path / "model/c.onnx").string())(x)[0].to_vector<float>(), (std::vector<float>{4, 6}));
}

TEST(OnnxDamaged, NoMutationEndsTheProcess) {
  std::vector<std::string> seeds{file::model(small())};
  for (const Lie& lie : lies()) seeds.push_back(lie.bytes);
  const char* given = std::getenv("ONNX_MUTATIONS");
  const int mutations = given ? std::atoi(given) : 5000;
  std::mt19937_64 random(7);
  int loaded = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < mutations; ++i) {
    std::string bytes = seeds[static_cast<std::size_t>(i) % 3 == 0 ? random() % seeds.size() : 0];
    for (std::uint64_t n = 1 + random() % 4; n > 0 && !bytes.empty(); --n) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 5) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
        case 2: bytes.erase(at, 1 + random() % 8); break;
        case 3: bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 40)); break;
        case 4: bytes.insert(at, std::string(1 + random() % 9, '\xff')); break;
      }
    }
    try {
      const onnx::Model m = onnx::load_bytes(bytes);
      ++loaded;
      if (m.inputs().size() == 1 && m.inputs()[0].dtype == kFloat32) m(ones({3, 2}));
    } catch (const Error& e) {
      EXPECT_NE(e.code(), ErrorCode::Internal) << e.what();
      EXPECT_LT(e.message().size(), 8000u);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GT(loaded, 0);
  EXPECT_LT(seconds, 0.02 * mutations + 10) << "time follows the files' length";
}

}  // namespace
}  // namespace reprise::test
