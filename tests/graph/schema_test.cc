#include "graph/schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "graph/op.h"
#include "reprise/error.h"

namespace reprise::graph {
namespace {

TEST(Schema, EveryRowParsesAndNamesItself) {
  ASSERT_EQ(all_ops().size(), static_cast<std::size_t>(OpId::count_));
  std::set<std::string_view> names;
  for (const OpDef& o : all_ops()) {
    EXPECT_TRUE(names.insert(o.name()).second) << o.name();
    EXPECT_EQ(find_op(o.name()), &o);
    EXPECT_EQ(&op(o.id), &o);
    EXPECT_NE(o.shape, nullptr) << o.name();
    EXPECT_FALSE(o.schema.args.empty()) << o.name();
    // Once a default appears, the positional arguments behind it have one too (keyword-only ones need not).
    bool defaulted = false;
    for (const ArgDef& a : o.schema.args) {
      if (!a.keyword_only) {
        EXPECT_TRUE(!defaulted || !a.default_text.empty()) << o.name() << " " << a.name;
      }
      defaulted = defaulted || !a.default_text.empty();
    }
    if (o.cls == OpClass::Random) {
      EXPECT_EQ(o.schema.args[o.schema.args.size() - 2].name, "seed");
      EXPECT_EQ(o.schema.args.back().name, "offset");
    }
    if (o.has_inplace) {
      ArgType first = o.schema.args[0].type;
      EXPECT_TRUE(first == ArgType::Tensor || first == ArgType::TensorOrScalar) << o.name();
    }
  }
  EXPECT_EQ(find_op("add_"), nullptr);
  EXPECT_EQ(find_op("no_such"), nullptr);
}

TEST(Schema, ReadsTypesDefaultsAndAnnotations) {
  Schema s = parse_schema(
      "f(Tensor(a!) self, Any? other=None, *, SymInt[] size, float eps=1e-05, str mode='x') -> (Tensor v, Tensor i)");
  EXPECT_EQ(s.name, "f");
  ASSERT_EQ(s.args.size(), 5u);
  EXPECT_EQ(s.args[0].type, ArgType::Tensor);
  EXPECT_TRUE(s.args[0].written);
  EXPECT_FALSE(s.args[0].keyword_only);
  EXPECT_EQ(s.args[1].type, ArgType::OptionalTensorOrScalar);
  EXPECT_EQ(s.args[1].default_text, "None");
  EXPECT_EQ(s.args[2].type, ArgType::Ints);
  EXPECT_TRUE(s.args[2].keyword_only);
  EXPECT_EQ(s.args[3].default_text, "1e-05");
  EXPECT_EQ(s.n_results, 2);
  EXPECT_EQ(s.find("eps"), 3);
  EXPECT_EQ(s.find("nothing"), -1);
  EXPECT_EQ(parse_schema("g(Tensor[] xs) -> Tensor[]").n_results, -1);
}

TEST(Schema, RefusesWhatItCannotRead) {
  for (const char* bad : {"f", "f(Tensor self)", "f(Tensr self) -> Tensor", "f(Tensor) -> Tensor",
                          "f(Tensor(a self) -> Tensor", "f(int x) -> int"}) {
    EXPECT_THROW(parse_schema(bad), Error) << bad;
  }
}

/// Every operator is reachable by users: by a function or method of its name, or by one this table names.
TEST(Schema, EveryOperatorHasAPublicFunction) {
  std::stringstream text;
  for (const char* file : {"/include/reprise/ops.h", "/include/reprise/tensor_methods.inc"}) {
    std::ifstream in(std::string(REPRISE_SOURCE_DIR) + file);
    ASSERT_TRUE(in.good()) << file;
    text << in.rdbuf();
  }
  std::string all = text.str();
  for (const OpDef& o : all_ops()) {
    std::string name(o.name());
    bool has = all.find(" " + name + "(") != std::string::npos;
    if (o.has_inplace || name == "set")
      has = (has || name == "copy" || name == "fill" || name == "set") &&
            all.find(" " + name + "_(") != std::string::npos;
    EXPECT_TRUE(has) << name;
  }
}

}  // namespace
}  // namespace reprise::graph
