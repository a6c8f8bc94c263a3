// A struct's tensors from a file, by the names of its fields.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "reprise/reprise.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

struct Layer {
  Tensor wq, norm;
  std::optional<Tensor> bias;
  int heads = 3;
};
class Embedding {
 public:
  REPRISE_FIELDS(Embedding, weight_)
  const Tensor& weight() const { return weight_; }

 private:
  Tensor weight_;
};
class Head : public Embedding {
 public:
  REPRISE_FIELDS(Head, REPRISE_BASE(Embedding), scale_, tied)
  const Tensor& scale() const { return scale_; }
  std::shared_ptr<Layer> tied;

 private:
  Tensor scale_;
};
struct Model {
  Tensor embed;
  std::vector<Layer> layers;
  Head head;
  std::map<std::string, Tensor> extra;
  std::array<Tensor, 2> pair;
  Tensor three[3];
  std::string name = "model";
};

class Weights : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::path(::testing::TempDir()) / ("reprise_weights_" + std::to_string(getpid()));
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string path() const { return (dir_ / "w.safetensors").string(); }
  static std::map<std::string, Tensor> tensors(const std::string& prefix = "") {
    std::map<std::string, Tensor> all;
    for (const char* name :
         {"embed", "layers.0.norm", "layers.1.norm", "layers.1.bias", "head.scale", "head.weight", "head.tied.norm",
          "head.tied.wq", "extra.a", "extra.b.c", "pair.0", "pair.1", "three.0", "three.1", "three.2"})
      all[prefix + name] = full({2}, static_cast<double>(all.size()));
    all[prefix + "layers.0.wq"] = full({2, 2}, 40.0), all[prefix + "layers.1.wq"] = full({2, 2}, 41.0);
    return all;
  }
  std::string refused(const auto& load, ErrorCode code) const {
    const Error e = error_of(load);
    EXPECT_EQ(error_code_name(e.code()), error_code_name(code)) << e.what();
    std::string text = e.message();
    if (const std::size_t at = text.find(path()); at != std::string::npos) text.replace(at, path().size(), "F");
    return text;
  }
  std::filesystem::path dir_;
};

TEST_F(Weights, AllFieldsByTheirNames) {
  save_safetensors(path(), tensors());
  Model m;
  load_safetensors(path(), m);
  EXPECT_EQ(m.layers.size(), 2u);
  EXPECT_EQ(m.layers[1].wq.to_vector<float>()[3], 41);
  EXPECT_TRUE(!m.layers[0].bias && m.layers[1].bias);
  EXPECT_EQ(m.layers[0].heads, 3);
  EXPECT_TRUE(m.head.weight().defined() && m.head.scale().defined() && m.head.tied);
  EXPECT_EQ(m.extra.size(), 2u);
  EXPECT_TRUE(m.extra.contains("b.c"));
  EXPECT_TRUE(m.three[2].defined() && m.pair[1].defined());
  // And back, under the same names.
  const std::string second = (dir_ / "again.safetensors").string();
  save_safetensors(second, m, {.prefix = "model."}, {{"format", "x"}});
  const SafeTensors file = load_safetensors(second);
  std::vector<std::string> names;
  for (auto& [name, t] : tensors("model.")) names.push_back(name);
  EXPECT_EQ(file.names(), names);
  for (auto& [name, t] : tensors("model.")) EXPECT_TRUE(equal(file.at(name), t)) << name;
  EXPECT_EQ(file.metadata().at("format"), "x");
  EXPECT_EQ(file.path(), second);
  Model other;
  load_safetensors(file, other, {.prefix = "model."});
  EXPECT_TRUE(equal(other.layers[1].wq, m.layers[1].wq));
}

TEST_F(Weights, WhatIsThereStaysAndIsHeldTo) {
  save_safetensors(path(), tensors());
  Model m;
  m.layers.resize(2);
  m.layers[0].wq = zeros({2, 2}), m.embed = zeros({2});
  m.head.tied = std::make_shared<Layer>();
  const std::shared_ptr<Layer> same = m.head.tied;
  load_safetensors(path(), m);
  EXPECT_EQ(same, m.head.tied);
  EXPECT_TRUE(same->wq.defined()) << "what others point to, too";
  m.layers.resize(1);
  m.embed = zeros({3}), m.layers[0].wq = zeros({2, 2}, {.dtype = kInt8});
  const Tensor before = m.head.weight();
  EXPECT_EQ(refused([&] { load_safetensors(path(), m); }, ErrorCode::InvalidArgument),
            "'F' does not fit the struct: no field takes 'layers.1.bias', 'layers.1.norm', 'layers.1.wq'; 'embed' is "
            "[2], the field [3]; 'layers.0.wq' is float32, the field int8");
  EXPECT_TRUE(m.head.weight().is_same(before));
  EXPECT_EQ(m.embed.size(0), 3);
  m.layers[0].wq = zeros({2, 2}, {.dtype = kBFloat16});
  EXPECT_EQ(refused([&] { load_safetensors(path(), m, {.strict = false}); }, ErrorCode::InvalidArgument),
            "'F' does not fit the struct: 'embed' is [2], the field [3]; 'layers.0.wq' is float32, the field bfloat16");
  EXPECT_EQ(
      refused([&] { load_safetensors(path(), m, {.strict = false, .dtype = kBFloat16}); }, ErrorCode::ShapeMismatch),
      "'F' does not fit the struct: 'embed' is [2], the field [3]");
  m.embed = Tensor();
  EXPECT_EQ(refused([&] { load_safetensors(path(), m, {.strict = false}); }, ErrorCode::DTypeMismatch),
            "'F' does not fit the struct: 'layers.0.wq' is float32, the field bfloat16");
  load_safetensors(path(), m, {.strict = false, .dtype = kBFloat16});
  EXPECT_EQ(m.layers[0].wq.dtype(), kBFloat16);
  EXPECT_EQ(m.embed.dtype(), kBFloat16);
  EXPECT_EQ(m.layers.size(), 1u);
}

TEST_F(Weights, MissingAndExtraNamesAreToldTogether) {
  std::map<std::string, Tensor> all = tensors();
  all["emded"] = all["embed"];
  all.erase("embed"), all.erase("head.scale");
  save_safetensors(path(), all);
  Model m;
  EXPECT_EQ(refused([&] { load_safetensors(path(), m); }, ErrorCode::InvalidArgument),
            "'F' does not fit the struct: it has no 'embed' (did you mean 'emded'?), 'head.scale' (did you mean "
            "'head.weight'?); no field takes 'emded'");
  EXPECT_TRUE(m.layers.empty() && !m.pair[0].defined() && m.extra.empty()) << "as it was";
  EXPECT_EQ(
      refused([&] { load_safetensors(path(), m, {.prefix = "none."}); }, ErrorCode::InvalidArgument).substr(0, 51),
      "'F' does not fit the struct: it has no 'none.embed'");
  // Long lists are cut.
  std::vector<Layer> many(40);
  const std::string text =
      refused([&] { load_safetensors(path(), many, {.strict = false}); }, ErrorCode::InvalidArgument);
  EXPECT_NE(text.find("and 72 more"), std::string::npos) << text;
}

TEST_F(Weights, NamesOfOnesOwnPrefixesAndDevices) {
  save_safetensors(path(),
                   {{"net.blocks.0.q.weight", ones({2})}, {"net.blocks.0.n.weight", ones({2})}, {"other", ones({1})}});
  std::vector<Layer> layers(1);
  load_safetensors(
      path(), layers,
      {.prefix = "net.", .device = Device::null(), .how = Reading::Copied, .name = [](const std::string& field) {
         return "blocks." + field.substr(0, field.find('.')) + (field.ends_with("wq") ? ".q" : ".n") + ".weight";
       }});
  EXPECT_EQ(layers[0].wq.device(), Device::null());
  EXPECT_EQ(layers[0].norm.to_vector<float>()[1], 1);
  EXPECT_EQ(refused([&] { load_safetensors(path(), layers, {.name = [](const std::string&) { return "other"; }}); },
                    ErrorCode::InvalidArgument)
                    .find("two fields take 'other'") != std::string::npos,
            true);
  EXPECT_EQ(refused([&] { load_safetensors(path(), layers, {.dtype = kInt8}); }, ErrorCode::InvalidArgument),
            "WeightOptions::dtype is int8; floating tensors are converted to a floating dtype");
}

TEST_F(Weights, FilesThatAreWrong) {
  Model m;
  EXPECT_EQ(refused([&] { load_safetensors(path(), m); }, ErrorCode::Io), "cannot open 'F': No such file or directory");
  save_safetensors(path(), tensors());
  const auto bytes = std::filesystem::file_size(path());
  std::filesystem::resize_file(path(), bytes - 8);
  EXPECT_NE(refused([&] { load_safetensors(path(), m); }, ErrorCode::FileFormat).find("ends at byte"),
            std::string::npos);
  std::filesystem::resize_file(path(), 5);
  EXPECT_EQ(refused([&] { load_safetensors(path(), m); }, ErrorCode::FileFormat),
            "'F': the file has 5 bytes; the length of the header alone takes 8");
  EXPECT_TRUE(m.layers.empty());
  Layer undefined;
  EXPECT_EQ(error_of([&] { save_safetensors(path(), undefined); }).code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace reprise::test
