#include "graph/schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "graph/op.h"
#include "reprise/error.h"

namespace reprise::graph {
namespace {

TEST(Schema, EveryRowParsesAndNamesItself) {
  ASSERT_GE(all_ops().size(), kBuiltinOps);  // other tests register operators
  std::set<std::string_view> names;
  for (const OpDef& o : all_ops()) {
    EXPECT_TRUE(names.insert(o.name()).second) << o.name();
    EXPECT_EQ(find_op(o.name()), &o);
    EXPECT_EQ(&op(o.id), &o);
    EXPECT_NE(o.shape, nullptr) << o.name();
    EXPECT_FALSE(o.schema.args.empty()) << o.name();
    if (static_cast<std::size_t>(o.id) >= kBuiltinOps) continue;
    // Once a default appears, the positional arguments behind it have one too (keyword-only ones need not).
    bool defaulted = false;
    for (const ArgDef& a : o.schema.args) {
      if (!a.keyword_only) {
        EXPECT_TRUE(!defaulted || a.otherwise) << o.name() << " " << a.name;
      }
      defaulted = defaulted || a.otherwise;
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
  ASSERT_TRUE(s.args[0].alias);
  EXPECT_TRUE(s.args[0].alias->written);
  EXPECT_FALSE(s.args[0].keyword_only);
  EXPECT_EQ(s.args[1].type, ArgType::OptionalTensorOrScalar);
  ASSERT_TRUE(s.args[1].otherwise);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*s.args[1].otherwise));
  EXPECT_FALSE(s.args[2].otherwise);
  EXPECT_EQ(s.args[2].type, ArgType::Ints);
  EXPECT_TRUE(s.args[2].keyword_only);
  EXPECT_EQ(std::get<Scalar>(s.args[3].otherwise.value()).to_double(), 1e-05);
  EXPECT_EQ(std::get<std::string>(s.args[4].otherwise.value()), "x");
  EXPECT_EQ(s.n_results, 2);
  EXPECT_EQ(s.find("eps"), 3);
  EXPECT_EQ(s.find("nothing"), -1);
  EXPECT_EQ(parse_schema("g(Tensor[] xs) -> Tensor[]").n_results, -1);
}

using Names = std::vector<std::string>;

TEST(Schema, ReadsAliasSetsOfArgumentsAndResults) {
  Schema s = parse_schema(
      "aten::f.out(Tensor(a) x, Tensor(a!) y, Tensor(b -> *) z, Tensor(c|d)? u, Tensor(e! -> a|e)[] v, Tensor() w, "
      "Generator? g=None) -> (Tensor(a), Tensor(*) rest, Tensor)");
  EXPECT_EQ(s.name, "aten::f");
  EXPECT_EQ(s.overload, "out");
  ASSERT_EQ(s.args.size(), 7u);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(s.args[static_cast<std::size_t>(i)].alias) << i;
  EXPECT_EQ(s.args[0].alias->before, Names{"a"});
  EXPECT_FALSE(s.args[0].alias->written);
  EXPECT_TRUE(s.args[1].alias->written);
  EXPECT_EQ(s.args[2].alias->before, Names{"b"});
  EXPECT_EQ(s.args[2].alias->after, Names{"*"});
  EXPECT_EQ(s.args[3].type, ArgType::OptionalTensor);
  EXPECT_EQ(s.args[3].alias->before, (Names{"c", "d"}));
  EXPECT_EQ(s.args[4].type, ArgType::TensorList);
  EXPECT_TRUE(s.args[4].alias->written);
  EXPECT_EQ(s.args[4].alias->after, (Names{"a", "e"}));
  EXPECT_TRUE(s.args[5].alias->before.empty());
  EXPECT_EQ(s.args[6].type, ArgType::OptionalGenerator);
  EXPECT_FALSE(s.args[6].alias);
  ASSERT_EQ(s.results.size(), 3u);
  EXPECT_EQ(s.results[0].alias->before, Names{"a"});
  EXPECT_EQ(s.results[1].alias->before, Names{"*"});
  EXPECT_EQ(s.results[1].name, "rest");
  EXPECT_FALSE(s.results[2].alias);
  EXPECT_EQ(s.n_results, 3);
  EXPECT_EQ(parse_schema("f(Tensor(a!) x) -> ()").n_results, 0);
  EXPECT_EQ(parse_schema("split(Tensor(a -> *) x) -> Tensor(a)[]").n_results, -1);
}

TEST(Schema, DefaultsAreValues) {
  Schema s = parse_schema(
      "f(Tensor x, int[2] stride=1, int[] dims=[0, -2], SymInt[] none=[], Scalar p=2, float q=-1.5, bool b=True, str "
      "m=\"a b\", int? n=None, int? k=-7) -> Tensor");
  auto of = [&](const char* name) { return default_value(s.args[static_cast<std::size_t>(s.find(name))]); };
  EXPECT_EQ(std::get<IntArrayRef>(of("stride")).vec(), (Ints{1, 1}));
  EXPECT_EQ(std::get<IntArrayRef>(of("dims")).vec(), (Ints{0, -2}));
  EXPECT_TRUE(std::get<IntArrayRef>(of("none")).empty());
  EXPECT_FALSE(std::get<Scalar>(of("p")).is_float());
  EXPECT_EQ(std::get<Scalar>(of("q")).to_double(), -1.5);
  EXPECT_TRUE(std::get<bool>(of("b")));
  EXPECT_EQ(std::get<std::string_view>(of("m")), "a b");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(of("n")));
  EXPECT_EQ(std::get<Int>(of("k")).value(), -7);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(of("x")));
}

TEST(Schema, ErrorsNameTheColumn) {
  struct Bad {
    const char *text, *message;
  };
  for (const Bad& b : {
           Bad{"", "column 1: wanted an operator's name, got the end"},
           Bad{"f", "column 2: wanted '('"},
           Bad{"f(Tensor self)", "column 15: wanted '->'"},
           Bad{"f(Tensr self) -> Tensor", "column 3: there is no type 'Tensr'"},
           Bad{"f(Tensor) -> Tensor", "column 9: wanted the argument's name"},
           Bad{"f(Tensor(a self) -> Tensor", "column 12: wanted ')' (the end of an alias set), got 'self"},
           Bad{"f(Tensor(1) self) -> Tensor", "column 10: wanted an alias set"},
           Bad{"f(Tensor(a -> ) self) -> Tensor", "column 15: wanted an alias set"},
           Bad{"f(int(a) x) -> Tensor", "column 3: only tensors have alias sets"},
           Bad{"f(int x) -> int", "column 13: results are Tensor or Tensor[]"},
           Bad{"f(Tensor x) -> Tensor(a)", "column 16: a result is in alias set 'a', and no argument is"},
           Bad{"f(Tensor x) -> (Tensor, Tensor[])", "column 16: a list of tensors is the only result"},
           Bad{"f(Tensor x) -> Tensor y z", "column 25: nothing more is expected, got 'z'"},
           Bad{"f(Tensor x) -> (Tensor", "column 23: wanted ')'"},
           Bad{"f(Tensor x, Tensor x) -> Tensor", "column 20: a second argument 'x'"},
           Bad{"f(Tensor x, int a=1, int b) -> Tensor", "column 26: 'b' needs a default"},
           Bad{"f(Tensor x, int a=1.5) -> Tensor", "column 19: the default is no SymInt"},
           Bad{"f(Tensor x, int a=99999999999999999999) -> Tensor", "column 19: the default is no SymInt"},
           Bad{"f(Tensor x, int a=None) -> Tensor", "column 19: the default is no SymInt"},
           Bad{"f(Tensor x, bool a=1) -> Tensor", "column 20: the default is no bool"},
           Bad{"f(Tensor x, str a='x) -> Tensor", "column 19: the string has no end"},
           Bad{"f(Tensor x, int[2] a=[1]) -> Tensor", "column 22: the default is no SymInt[]"},
           Bad{"f(Tensor x, int[] a=1) -> Tensor", "column 21: the default is no SymInt[]"},
           Bad{"f(Tensor x, int[0] a) -> Tensor", "column 17: a list's length is between 1 and 8"},
           Bad{"f(Tensor x, Tensor[2] a) -> Tensor", "column 13: only lists of integers have a length"},
           Bad{"f(Tensor x, int[ a) -> Tensor", "column 17: wanted ']'"},
           Bad{"f(Tensor x, *) -> Tensor", "column 14: wanted arguments after '*'"},
           Bad{"f(Tensor x, *, *, int a) -> Tensor", "column 16: '*' stands twice"},
           Bad{"f(Tensor x,) -> Tensor", "column 12: wanted a type"},
           Bad{"f(Generator g) -> Tensor", "column 3: there is no type 'Generator'"},
       }) {
    try {
      parse_schema(b.text);
      ADD_FAILURE() << b.text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::InvalidArgument) << b.text;
      EXPECT_NE(std::string(e.what()).find(b.message), std::string::npos) << b.text << "\n" << e.what();
    }
  }
}

TEST(Schema, AnyTextIsASchemaOrAnError) {
  const std::string pieces[] = {"f", "(", ")", "Tensor", " ", "->", "*", ",", "[",  "]",   "?",    "!",
                                "a", "|", "=", "None",   "'", "1",  "-", ".", "::", "int", "(a!)", "[]"};
  std::mt19937 rng(7);
  for (int n = 0; n < 20000; ++n) {
    std::string text = n % 2 ? "f(Tensor x" : "";
    for (unsigned k = rng() % 12; k > 0; --k) text += pieces[rng() % std::size(pieces)];
    try {
      const Schema s = parse_schema(text);
      EXPECT_EQ(parse_schema(s.text).args.size(), s.args.size()) << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::InvalidArgument) << text;
    }
  }
}

/// Every operator is reachable by users: by a function or method of its name, or by one this table names.
TEST(Schema, EveryOperatorHasAPublicFunction) {
  std::stringstream text;
  for (const char* file :
       {"/include/reprise/ops.h", "/include/reprise/elementwise_ops.inc", "/include/reprise/reduction_ops.inc",
        "/include/reprise/tensor_methods.inc", "/include/reprise/tensor.h"}) {
    std::ifstream in(std::string(REPRISE_SOURCE_DIR) + file);
    ASSERT_TRUE(in.good()) << file;
    text << in.rdbuf();
  }
  std::string all = text.str();
  for (const OpDef& o : all_ops()) {
    if (static_cast<std::size_t>(o.id) >= kBuiltinOps) continue;
    if (o.cls == OpClass::Control) continue;  // they take functions: templates of their own
    std::string name(o.name());
    if (o.cls == OpClass::Transfer) {
      const std::string function = o.id == OpId::to_device   ? "Tensor to(const Tensor& self, Device device"
                                   : o.id == OpId::copy_from ? "Tensor copy_(const Tensor& src, bool non_blocking"
                                                             : " " + name + "(";
      EXPECT_NE(all.find(function), std::string::npos) << name;
      continue;
    }
    // A row of these declares all that there is of it.
    bool by_row = false;
    for (const char* row : {"UNARY", "BINARY", "REDUCTION", "REDUCTION_AS"})
      by_row = by_row || all.find(std::string("\nREPRISE_") + row + "(" + name + ",") != std::string::npos;
    if (by_row) continue;
    bool has = all.find(" " + name + "(") != std::string::npos;
    if (o.has_inplace || name == "set")
      has = (has || name == "copy" || name == "fill" || name == "set") &&
            all.find(" " + name + "_(") != std::string::npos;
    EXPECT_TRUE(has) << name;
  }
}

}  // namespace
}  // namespace reprise::graph
