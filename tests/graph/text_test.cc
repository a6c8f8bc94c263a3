#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <iterator>
#include <thread>

#include "graph/name_scopes.h"
#include "graph/text.h"
#include "reprise/name_scope.h"
#include "tests/graph/rule_test_util.h"

namespace reprise::graph {
namespace {

constexpr std::string_view kStep =
    R"(graph step(%0 "x": f32[s0, 8] mutates_metadata, %1 "layers[0].w": f32[s0, 8]{1, 8}+16 captured mutates_metadata, %2 "kv": f32[4, 8]{1, s1}+(s0 + 3) mutates_data, s2 "at": size, s5 "scale": float, s3 "rng \"seed\"": seed, s4 "": offset) where s0 = 4, s1 = 9, s2 = 7, s3 = 0, s4 = -3, s5 = 0.25 {
  %3 = add(%0, %1, 1) : f32[s0, 8]  ; #0 loop.cpp:41
  %4 = mul(2.5, %3) : f32[s0, 8]  ; #2 of #0 loop.cpp:42
  %5, %6 = topk(%4, 2, -1, true, true) : f32[s0, 2], i64[s0, 2]
  %7 = slice(%4, 0, None, s0, 1) : f32[s0, 8]
  %8 = cat([%7, %3], 0) : f32[2*s0, 8]
  %9 = index(%8, [None, %6]) : f32[2*s0, s0, 2]
  %10 = full([s0, 1], -1e-05, f16, 'cpu') : f16[s0, 1]
  %11 = gelu(%3, 'tanh') : f32[s0, 8]
  %12 = add(%3, s0, 1) : f32[s0, 8]
  %13 = copy(%2, %11) : f32[4, 8]
  return user %9, new_value_of 2 %13, alias_of_input 0 [8] [1] (8*s0), intermediate %12, alias_of_output 3 [2] [1] 0
  metadata_of 1 [8, s0] [1, 8] 16
  metadata_of 0 [s0] [1] 0 from_output 0
}
)";

TEST(GraphText, ParseOfPrintPrintsTheSame) {
  Graph g = parse(kStep);
  EXPECT_EQ(print(g), kStep);
  EXPECT_EQ(print(parse(print(g))), print(g));
  // (without hints [s0, 8] does not fit [4, 8])
  EXPECT_EQ(print(parse_unverified(print(g, false)), false), print(g, false));
  EXPECT_EQ(print(g, false).find("loop.cpp"), std::string::npos);
  EXPECT_EQ(g.nodes[0].info.loc.line, 41u);
  EXPECT_EQ(g.nodes[0].info.sequence, 0);
  EXPECT_EQ(g.nodes[0].info.forward_of, -1);
  EXPECT_EQ(g.nodes[1].info.sequence, 2);
  EXPECT_EQ(g.nodes[1].info.forward_of, 0);
  EXPECT_EQ(g.nodes[2].info.sequence, -1);
  ASSERT_EQ(g.numbers.size(), 4u);
  EXPECT_EQ(g.numbers[1].name, "scale");
  EXPECT_EQ(g.numbers[1].kind, NumberInput::Kind::Float);
  EXPECT_EQ(g.env->symbols()[0].hint, 4);
  EXPECT_TRUE(g.inputs[1].captured);
  EXPECT_TRUE(g.inputs[2].mutates_data);
}

TEST(GraphText, RecipesOfAliases) {
  constexpr std::string_view text = R"(graph f(%0 "x": f32[s0, 8]) where s0 = 4, s1 = 1 {
  %1 = add(%0, %0, 1) : f32[s0, 8]
  return intermediate %1, alias_of_output 0 [s0] [8] s1 by permute([1, 0]).select(0, s1), alias_of_input 0 [s0, 8] [8, 1] 0 by detach(), user_view %1
}
)";
  Graph g = parse(std::string(text).replace(text.find("s1 by"), 2, "(s1)"));
  EXPECT_EQ(print(parse(print(g))), print(g));
  ASSERT_EQ(g.outputs[1].recipe.size(), 2u);
  EXPECT_EQ(g.outputs[1].recipe[1].op, OpId::select);
  auto with = [&](std::string_view was, std::string_view is) {
    std::string other = print(g);
    other.replace(other.find(was), was.size(), is);
    try {
      parse(other);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("parses");
  };
  EXPECT_NE(with("select(0, s1)", "relu()").find("'relu' is no view operator"), std::string::npos);
  EXPECT_NE(with("select(0, s1)", "slice(0, 0, 2, 1)").find("its recipe gives sizes [2, s0], not [s0]"),
            std::string::npos)
      << with("select(0, s1)", "slice(0, 0, 2, 1)");
  EXPECT_NE(with("permute([1, 0])", "permute([0, 0])").find("its recipe's permute refuses"), std::string::npos);
}

// The names of scopes stand between a call's number and its line.
TEST(GraphText, NamesOfScopes) {
  constexpr std::string_view text = R"(graph f(%0 "x": f32[s0]) where s0 = 4 {
  %1 = exp(%0) : f32[s0]  ; #0 layers[3].attention loop.cpp:41
  %2 = exp(%1) : f32[s0]  ; #2 of #0 layers[3].mlp
  %3 = exp(%2) : f32[s0]  ; "a layer: \"x\"" loop.cpp:42
  %4 = exp(%3) : f32[s0]  ; #3 "my loop.cpp":43
  %5 = exp(%4) : f32[s0]  ; head "my loop.cpp":44
  return user %5
}
)";
  const Graph g = parse(text);
  EXPECT_EQ(print(g), text);
  EXPECT_EQ(print(g, false).find("attention"), std::string::npos);
  ASSERT_TRUE(g.nodes[0].info.scope);
  EXPECT_EQ(*g.nodes[0].info.scope, "layers[3].attention");
  EXPECT_EQ(g.nodes[0].info.loc.line, 41u);
  EXPECT_EQ(g.nodes[1].info.forward_of, 0);
  EXPECT_EQ(*g.nodes[1].info.scope, "layers[3].mlp");
  EXPECT_FALSE(g.nodes[1].info.loc);
  EXPECT_EQ(*g.nodes[2].info.scope, "a layer: \"x\"");
  EXPECT_EQ(g.nodes[3].info.scope, nullptr);
  EXPECT_STREQ(g.nodes[3].info.loc.file, "my loop.cpp");
  EXPECT_EQ(*g.nodes[4].info.scope, "head");
  EXPECT_EQ(parse(text).nodes[0].info.scope, g.nodes[0].info.scope) << "one address for each text";
}

TEST(GraphText, NameScopesNestAndShareWhatTheyHaveInCommon) {
  EXPECT_EQ(NameScopes::current(), nullptr);
  {
    NameScope layer("layers", 3);
    std::string mine = "atten";
    NameScope part(mine + "tion");
    EXPECT_EQ(NameScope::path(), "layers[3].attention");
    EXPECT_EQ(NameScopes::current(), NameScopes::kept("layers[3].attention"));
    {
      NameScope nameless("");
      EXPECT_EQ(NameScope::path(), "layers[3].attention");
      NameScope lines("two\nlines");
      EXPECT_EQ(NameScope::path(), "layers[3].attention.two lines");
    }
    std::thread([] { EXPECT_EQ(NameScope::path(), ""); }).join();
    EXPECT_EQ(NameScope::path(), "layers[3].attention");
  }
  EXPECT_EQ(NameScope::path(), "");
  auto common = [](std::string_view a, std::string_view b) {
    const std::string* c = NameScopes::common(NameScopes::kept(a), NameScopes::kept(b));
    return c ? *c : std::string();
  };
  EXPECT_EQ(common("layers[3].attention", "layers[3].mlp.up"), "layers[3]");
  EXPECT_EQ(common("layers[3]", "layers[3].mlp.up"), "layers[3]");
  EXPECT_EQ(common("layers[3]", "layers[30]"), "");
  EXPECT_EQ(common("a.bc", "a.bd"), "a");
  EXPECT_EQ(common("a", ""), "");
}

constexpr std::string_view kRegions = R"(graph f(%0 "x": f32[s0, 8], %1 "p": bool[]) where s0 = 4, s1 = 3 {
  %2 = exp(%0) : f32[s0, 8]  ; #0 a.cpp:1
  %3, %4 = cond(%1, region(%0 "": f32[s0, 8], %1 "": f32[s0, 8]) {
    %2 = add(%0, %1, s1) : f32[s0, 8]  ; #1 a.cpp:2
    %3 = sum(%2, [0], false, None) : f32[8]  ; #2 a.cpp:3
    return user %2, user %3
  }, region(%0 "": f32[s0, 8], %1 "": f32[s0, 8]) {
    %2 = full([8], 0.0, f32, 'cpu') : f32[8]
    return user %1, user %2
  }, [%0, %2]) : f32[s0, 8], f32[8]  ; #3 a.cpp:1
  return user %3, user %4
}
)";

TEST(GraphText, Regions) {
  Graph g = parse(kRegions);
  EXPECT_EQ(print(g), kRegions);
  EXPECT_EQ(print(parse(print(g))), print(g));
  EXPECT_EQ(print(parse_unverified(print(g, false)), false), print(g, false));
  const Region& then = std::get<Region>(g.nodes[1].args[1]);
  ASSERT_TRUE(then);
  EXPECT_EQ(then->env, g.env);
  EXPECT_EQ(then->nodes.size(), 2u);
  EXPECT_EQ(then->nodes[1].info.loc.line, 3u);
  EXPECT_EQ(symbols_of(g).all, (std::set<std::uint32_t>{0, 1})) << "those that only a region speaks of, too";
  g.compact();
  EXPECT_EQ(print(g), kRegions);
  auto with = [&](std::string_view was, std::string_view is) {
    std::string other(kRegions);
    const std::size_t at = other.find(was);
    if (at == std::string::npos) return std::string("not there");
    other.replace(at, was.size(), is);
    try {
      parse(other);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("parses");
  };
  auto says = [&](std::string_view was, std::string_view is, const char* what) {
    const std::string said = with(was, is);
    EXPECT_NE(said.find(what), std::string::npos) << said;
  };
  says("%3 = sum(%2, [0], false, None)", "%3 = sum(%2, [1], false, None)",
       "node 1 (cond), region then, node 1 (sum): result 0 has sizes [8], its shape rule gives [s0]");
  says("return user %1, user %2", "return user %1", "one branch gives 2 tensors, the other one 1");
  says("return user %1, user %2", "return user %2, user %1",
       "tensor 0 is float32 [s0, 8] of the one branch and float32 [8] of the other");
  says("add(%0, %1, s1)", "add(%0, %4, s1)", "%4 is used before it is defined");
  says("region(%0 \"\": f32[s0, 8], %1 \"\": f32[s0, 8]) {\n    %2 = full",
       "region(%0 \"\": f32[8, 8], %1 \"\": f32[s0, 8]) {\n    %2 = full",
       "input 0 of region otherwise is float32 [8, 8], the operand is float32 [s0, 8]");
  says("[%0, %2])", "[%0])", "region then has 2 inputs, and there are 1 operands");
  says("\"p\": bool[]", "\"p\": f32[]", "what decides must be a bool, not float32");
  says("\"p\": bool[]", "\"p\": bool[2]", "one element must decide, and this has 2");
  says("return user %2, user %3", "return new_value_of 0 %2, user %3", "node 1 (cond)");
  says("region(%0 \"\"", "regio(%0 \"\"", "wanted a region");
  std::string deep = "graph f(%0 \"p\": bool[]) {\n", end;
  for (int i = 0; i < 100; ++i) deep += "cond(%0, region() {\n";
  try {
    parse(deep);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
  }
}

TEST(GraphText, FloatsThatAreArguments) {
  constexpr std::string_view text = R"(graph f(%0 "x": f32[s0]) where s0 = 4, s1 = -0.5 {
  %1 = mul(%0, float(s1)) : f32[s0]
  %2 = add(%1, s0, float(s1)) : f32[s0]
  return user %2
}
)";
  Graph g = parse(text);
  EXPECT_EQ(print(g), text);
  EXPECT_NO_THROW(verify(g, "parse"));
  const Scalar& s = std::get<Scalar>(g.nodes[0].args[1]);
  EXPECT_TRUE(s.is_float() && s.is_symbolic());
  EXPECT_EQ(s.word().hint(), std::bit_cast<std::int64_t>(-0.5));
  for (const char* v : {"nan", "-inf", "1e-300", "0.1"}) {
    std::string other(text);
    other.replace(other.find("-0.5"), 4, v);
    EXPECT_EQ(print(parse(other)), other);
  }
}

/// The examples of docs/graph_text.md are graphs.
TEST(GraphText, DocumentedExampleReadsPrintsAndVerifies) {
  std::ifstream in(std::string(REPRISE_SOURCE_DIR) + "/docs/graph_text.md");
  std::string page((std::istreambuf_iterator<char>(in)), {});
  int examples = 0;
  for (std::size_t begin = 0; (begin = page.find("\ngraph step(", begin)) != std::string::npos; ++examples) {
    std::size_t end = page.find("```", ++begin);
    ASSERT_NE(end, std::string::npos);
    std::string example = page.substr(begin, end - begin);
    Graph g = parse(example);
    EXPECT_EQ(print(g), example);
    EXPECT_NO_THROW(verify(g, "parse"));
  }
  EXPECT_EQ(examples, 2);
}

TEST(GraphText, ParsedGraphVerifies) {
  Graph g = parse(kStep);
  EXPECT_NO_THROW(verify(g, "parse"));
}

/// What the parser says of a text, or "accepted".
std::string error(std::string_view s) {
  try {
    parse(s);
    return "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
    return e.message();
  }
}

TEST(GraphText, ErrorsNameLineAndColumn) {
  EXPECT_EQ(error("graph f(%0 \"x\": f32[2]) {\n  %1 = nope(%0) : f32[2]\n  return user %1\n}"),
            "line 2, column 12: unknown operator 'nope'");
  EXPECT_EQ(error("graph f(%0 \"x\": f32[2]) {\n  %1 = exp(%3) : f32[2]\n  return user %1\n}"),
            "line 2, column 14: %3 is used before it is defined");
  EXPECT_NE(error("graph f(%0 \"x\": f32[1]) {\n  %1 = item(%0) : f32[]\n  return user %1\n}").find("is in no graph"),
            std::string::npos);
  EXPECT_EQ(error("graph f(%0 \"x\": q32[2]) {\n  return user %0\n}"), "line 1, column 20: unknown dtype 'q32'");
  EXPECT_EQ(error("graph f(%0 \"x\": f32[2]) {\n  %2 = exp(%0) : f32[2]\n  return user %2\n}"),
            "line 2, column 5: values are numbered in order: wanted %1");
  EXPECT_TRUE(error("graph f(%0 \"x\": f32[2 +]) {\n  return user %0\n}").starts_with("line 1, column 24: in '2 +': "));
  EXPECT_EQ(error("graph f(%0 \"x\": f32[2]) {\n  return users %0\n}"),
            "line 2, column 15: unknown kind of output 'users'");
  EXPECT_TRUE(error("").starts_with("line 1, column 1"));
  EXPECT_TRUE(error("graph f(%0 \"x\": f32[2]").starts_with("line 1"));
  EXPECT_TRUE(error("graph f(%0 \"x").starts_with("line 1"));
}

/// What the grammar allows and is no graph all the same: the verifier's word, at the line of the node.
TEST(GraphText, WhatIsReadVerifies) {
  const std::string begin = "graph f(%0 \"x\": f32[2, s0]) where s0 = 5 {\n  %1 = exp(%0) : f32[2, s0]\n  ";
  auto with = [&](const std::string& rest) { return error(begin + rest + "\n}\n"); };
  EXPECT_EQ(with("return user %1"), "accepted");
  EXPECT_EQ(with("%2 = exp(%1) : f32[3, s0]\n  return user %1")
                .rfind("line 3, column 3: node 1 (exp): result 0 has sizes", 0),
            0u)
      << with("%2 = exp(%1) : f32[3, s0]\n  return user %1");
  EXPECT_EQ(with("%2, %3 = exp(%1) : f32[2, s0], f32[2, s0]\n  return user %1"),
            "line 3, column 3: node 1 (exp): has 2 results");
  EXPECT_EQ(with("%2 = mm(%1, %1) : f32[2, s0]\n  return user %1")
                .rfind("line 3, column 3: node 1 (mm): its shape rule refuses: ", 0),
            0u);
  EXPECT_EQ(with("%2 = exp(%1) : f32[2, s0%0]\n  return user %1").rfind("line 3, column 3: node 1 (exp): ", 0), 0u)
      << with("%2 = exp(%1) : f32[2, s0%0]\n  return user %1");
  EXPECT_NE(with("return new_value_of 7 %1").find("line 3, column"), std::string::npos);
  EXPECT_NE(with("return new_value_of 7 %1").find("names input 7 of 1"), std::string::npos);
  EXPECT_NE(with("return user %1\n  metadata_of 3 [2] [1] 0")
                .find("line 4, column 14: metadata mutation 0: names input 3 of 1"),
            std::string::npos)
      << with("return user %1\n  metadata_of 3 [2] [1] 0");
  EXPECT_NE(with("return user %1, alias_of_output 1 [2] [1] 0").find("names output 1 of 2"), std::string::npos);
  // The grammar alone lets it through.
  EXPECT_NO_THROW(parse_unverified(begin + "%2 = exp(%1) : f32[3, s0]\n  return user %1\n}\n"));
}

/// What a program did, as it did it: in-place nodes, views over the storage, handles that become other views.
constexpr std::string_view kTraced = R"(graph step(%0 "x": f32[s0, 8], %1 "y": f32[8] captured) traced where s0 = 4 {
  %2 = select(%0, 0, 1) : f32[8]+8  ; loop.cpp:3
  add_(%2, %1, 1)  ; loop.cpp:4
  %3 = as_strided(%2, [3], [9], 2) : f32[3]{9}+2
  neg_(%3)
  %4 = permute(%0, [1, 0]) : f32[8, s0]{1, 8}
  return user %3, handle_of 0 %4
}
)";
std::string traced(std::string_view from = {}, std::string_view to = {}) {
  std::string text(kTraced);
  return text.replace(text.find(from), from.size(), to);
}

TEST(GraphText, TracedForm) {
  Graph g = parse(traced());
  EXPECT_EQ(print(g), traced());
  EXPECT_EQ(print(parse_unverified(print(g, false)), false), print(g, false));
  EXPECT_EQ(g.form, Form::Traced);
  EXPECT_TRUE(g.nodes[1].inplace && g.nodes[1].results.empty());
  EXPECT_EQ(g.nodes[1].info.loc.line, 4u);
  EXPECT_EQ(parse("graph traced(%0 \"x\": f32[2]) {\n  return user %0\n}").form, Form::Functional);
  const std::size_t nodes = g.nodes.size();
  EXPECT_THROW(g.add_inplace(OpId::add, {ValueId{1}, ValueId{0}, Scalar(1)}), Error);  // [8] holds no [s0, 8]
  EXPECT_THROW(g.add_inplace(OpId::cat, {std::vector<ValueId>{ValueId{0}}, Int(0)}), Error);
  EXPECT_EQ(g.nodes.size(), nodes);
}

/// What inputs say of themselves, and outputs of them, is one account.
TEST(GraphText, ASignatureThatDoesNotFitItsGraph) {
  const auto of = [](const std::string& inputs, const std::string& rest) {
    return error("graph f(" + inputs + ") where s0 = 2, s1 = 3 {\n  %1 = neg(%0) : f32[2]\n  " + rest + "\n}\n");
  };
  const std::string x = "%0 \"x\": f32[2]";
  EXPECT_EQ(of(x + " mutates_data, s0 \"n\": size", "return new_value_of 0 %1"), "accepted");
  EXPECT_NE(
      of(x, "return new_value_of 0 %1")
          .find("line 3, column 22: output 0: is the new value of input 0, which does not say that it is written"),
      std::string::npos)
      << of(x, "return new_value_of 0 %1");
  EXPECT_NE(of(x + " mutates_data", "return user %1")
                .find("line 1, column 11: input 0: says that it is written, and no output is its new value"),
            std::string::npos)
      << of(x + " mutates_data", "return user %1");
  EXPECT_NE(of(x + " mutates_data", "return new_value_of 0 %1, new_value_of 0 %1")
                .find("output 1: says again what input 0 holds after the call"),
            std::string::npos);
  EXPECT_NE(of(x + " mutates_metadata", "return user %1")
                .find("input 0: says that its metadata change, and nothing says to what"),
            std::string::npos);
  EXPECT_NE(of(x, "return user %1\n  metadata_of 0 [2] [1] 0")
                .find("line 4, column 14: metadata mutation 0: changes input 0, which does not say"),
            std::string::npos);
  EXPECT_NE(of(x + " mutates_metadata", "return user %1\n  metadata_of 0 [2] [1] 0\n  metadata_of 0 [2] [1] 0")
                .find("metadata mutation 1: says again"),
            std::string::npos);
  EXPECT_NE(
      of(x + ", s0 \"n\": size, s0 \"m\": size", "return user %1").find("number 1 (\"m\"): says again what s0 is"),
      std::string::npos);
  EXPECT_NE(of(x + ", s0 \"seed\": seed", "return user %1").find("is the seed, and there is no offset"),
            std::string::npos);
  EXPECT_NE(
      of(x + ", s0 \"offset\": offset", "return user %1").find("is the offset: seed and offset come last, one of each"),
      std::string::npos);
  EXPECT_NE(of(x + ", s0 \"n\": shape", "return user %1")
                .find("a number is a size, an integer, a float, a seed or an offset, no 'shape'"),
            std::string::npos);
  EXPECT_NE(
      error("graph f(s0 \"n\": size, %0 \"x\": f32[s0]) {\n  return user %0\n}").find("tensors stand before numbers"),
      std::string::npos);
}

/// Each form refuses what only the other may say, at its place.
TEST(GraphText, FormsDoNotMix) {
  const std::string begin = "graph f(%0 \"x\": f32[2]) {\n  ", of_traced = "graph f(%0 \"x\": f32[2]) traced {\n  ";
  EXPECT_EQ(
      error(begin + "neg_(%0)\n  return\n}"),
      "line 2, column 3: 'neg_' writes in place, and only a traced graph may ('traced' stands behind the inputs)");
  EXPECT_EQ(error(begin + "return handle_of 0 %0\n}"),
            "line 2, column 19: only a traced graph has 'handle_of' outputs ('traced' stands behind the inputs)");
  EXPECT_EQ(error(of_traced + "%1 = neg_(%0) : f32[2]\n  return\n}"),
            "line 2, column 12: 'neg_' writes in place and has no result");
  EXPECT_EQ(error(of_traced + "neg(%0)\n  return\n}"), "line 2, column 3: 'neg' has results: wanted '%'");
  EXPECT_EQ(error(of_traced + "cat_([%0], 0)\n  return\n}"),
            "line 2, column 7: 'cat_': the operator has no in-place form");
  EXPECT_EQ(error(of_traced + "nope_(%0)\n  return\n}"), "line 2, column 8: unknown operator 'nope_'");
  for (const char* output : {"new_value_of 0 %0", "alias_of_input 0 [2] [1] 0", "intermediate %0"})
    EXPECT_EQ(error(of_traced + "return " + output + "\n}").rfind("line 2, column ", 0), 0u) << output;
  EXPECT_NE(
      error(of_traced + "return intermediate %0\n}").find("has 'user' and 'handle_of' outputs, no 'intermediate'"),
      std::string::npos);
  EXPECT_EQ(error(of_traced + "return\n  metadata_of 0 [2] [1] 0\n}"),
            "line 3, column 14: a traced graph says 'handle_of', not 'metadata_of'");
  EXPECT_EQ(error("graph f(%0 \"x\": f32[2] mutates_data) traced {\n  return\n}"),
            "line 1, column 24: a traced graph says what it writes by its nodes, not of its inputs");
}

/// Verification knows a traced graph's rules.
TEST(GraphText, TracedGraphsVerify) {
  auto of = [&](std::string_view from, std::string_view to) { return error(traced(from, to)); };
  EXPECT_EQ(
      of("f32[8, s0]{1, 8}", "f32[8, s0]").rfind("line 6, column 3: node 4 (permute): result 0 has strides [s0, 1]", 0),
      0u)
      << of("f32[8, s0]{1, 8}", "f32[8, s0]");
  EXPECT_EQ(
      of("f32[8]+8", "f32[8]")
          .rfind("line 2, column 3: node 0 (select): result 0 has strides [1] and offset 0, its rule gives [1] and 8",
                 0),
      0u);
  EXPECT_EQ(of("[3], [9], 2) : f32[3]{9}+2", "[3], [900], 2) : f32[3]{900}+2"), "accepted")
      << "any place of the storage";
  EXPECT_EQ(
      of("add_(%2, %1, 1)", "add_(%1, %0, 1)").rfind("line 3, column 3: node 1 (add): its shape rule refuses: ", 0),
      0u);
  EXPECT_EQ(of("handle_of 0 %4", "handle_of 0 %4, handle_of 0 %4").rfind("line 7, column", 0), 0u);
  EXPECT_NE(of("handle_of 0 %4", "handle_of 2 %4").find("names input 2 of 2"), std::string::npos);
  // A functional graph's as_strided counts from the first element of its operand.
  EXPECT_NE(error("graph f(%0 \"x\": f32[4]+2) {\n  %1 = as_strided(%0, [2], [1], 0) : f32[2]\n  return user %1\n}")
                .find("is not known to be row-major"),
            std::string::npos);
}

TEST(GraphText, NamesAndNumbersThatAreNone) {
  for (const char* s :
       {"graph f(%0 \"x\": f32[]) where {\n  return user %0\n}",
        "graph f(%0 \"x\": f32[]) where = 3 {\n  return user %0\n}",
        "graph f(%0 \"x\": f32[]) where s = 3 {\n  return user %0\n}",
        "graph f(%0 \"x\": f32[]@gpu) {\n  return user %0\n}",
        "graph f(%0 \"x\": f32[]@cuda:999999) {\n  return user %0\n}",
        "graph f(%0 \"x\": f32[s99999]) {\n  return user %0\n}", "graph f(%0 \"x\": f32[-]) {\n  return user %0\n}",
        "graph f(%0 \"x\": f32[9223372036854775808]) {\n  return user %0\n}"}) {
    try {
      parse(s);
      ADD_FAILURE() << "accepted:\n" << s;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::InvalidArgument) << e.what();
      EXPECT_EQ(e.message().rfind("line 1, column ", 0), 0u) << e.what();
    }
  }
  // A float argument is one however its number is written.
  for (const char* one : {"1", "1.0", "(1)", "2 - 1"}) {
    const std::string text = std::string("graph f(%0 \"x\": f32[2]) {\n  %1 = layer_norm(%0, [2], None, None, ") + one +
                             ") : f32[2]\n  return user %1\n}\n";
    EXPECT_NE(print(parse(text)).find("None, 1.0)"), std::string::npos) << print(parse(text));
  }
}

/// Every prefix and every one-character deletion either parses or says where it is wrong.
TEST(GraphText, DamagedTextNeverDoesWorseThanAnError) {
  std::string text(kStep);
  int accepted = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (std::string damaged : {text.substr(0, i), text.substr(0, i) + text.substr(i + 1)}) {
      try {
        parse(damaged);
        ++accepted;
      } catch (const Error& e) {
        ASSERT_EQ(e.code(), ErrorCode::InvalidArgument) << e.what() << "\n" << damaged;
      }
    }
  }
  EXPECT_GT(accepted, 50);
}

TEST(Verify, FindsPlantedErrors) {
  auto error = [](void (*damage)(Graph&)) -> std::string {
    Graph g = parse(kStep);
    damage(g);
    try {
      verify(g, "planting");
      return "accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::Internal);
      return e.message();
    }
  };
  EXPECT_EQ(error([](Graph&) {}), "accepted");
  EXPECT_EQ(error([](Graph& g) { g.values[3].meta.dtype = kFloat64; }),
            "after planting: node 0 (add): result 0 is float64, its shape rule gives float32");
  EXPECT_EQ(error([](Graph& g) { g.values[3].meta.layout.sizes[1] = 9; }),
            "after planting: node 0 (add): result 0 has sizes [s0, 9], its shape rule gives [s0, 8]");
  EXPECT_EQ(error([](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }),
            "after planting: node 0 (mul): uses %3 before it is defined");
  EXPECT_EQ(error([](Graph& g) { g.nodes[0].args.pop_back(); }),
            "after planting: node 0 (add): has 2 arguments, the schema is add(Any self, Any other, *, Scalar alpha=1) "
            "-> Tensor");
  EXPECT_EQ(error([](Graph& g) { g.nodes[0].args[2] = std::string("x"); }),
            "after planting: node 0 (add): argument 'alpha' is no Scalar");
  EXPECT_EQ(error([](Graph& g) { g.nodes[7].args[0] = std::monostate{}; }),
            "after planting: node 7 (gelu): argument 'self' is no Tensor");
  EXPECT_EQ(error([](Graph& g) { g.nodes[1].results[0] = {3}; }),
            "after planting: node 1 (mul): value %3 is defined twice");
  EXPECT_EQ(error([](Graph& g) { g.outputs[1].source = 7; }), "after planting: output 1: names input 7 of 3");
  EXPECT_EQ(error([](Graph& g) {
              g.outputs[1].source = 1;
              g.outputs[1].value = {10};
            }),
            "after planting: output 1: the new value has sizes [s0, 1] (float16), input 1 has [s0, 8] (float32)");
  EXPECT_EQ(error([](Graph& g) { g.outputs[4].source = 2; }),
            "after planting: output 4: aliases output 2, which has no buffer of its own");
  EXPECT_EQ(error([](Graph& g) { g.nodes[7].args[1] = std::string("erf"); }),
            "after planting: node 7 (gelu): its shape rule refuses: approximate must be 'none' or 'tanh', got 'erf'");
  EXPECT_TRUE(error([](Graph& g) {
                static guards::ShapeEnv other;
                g.values[3].meta.layout.sizes[0] = size_symbol(other, "n", 4);
              }).ends_with("belongs to another trace"));
}

TEST(Graph, AddInfersResultsAndChecksArguments) {
  Graph g;
  g.env = std::make_shared<guards::ShapeEnv>();
  Int n = size_symbol(*g.env, "n", 4);
  Metas m;
  ValueId x = g.add_input(*m({n, 3}), "x");
  ValueId y = g.add(OpId::exp, {x}, SourceLoc{"a.cpp", 3});
  ValueId z = g.add(OpId::sum, {y, Ints{1}, false, std::monostate{}});
  EXPECT_EQ(text(g.meta(z).layout.sizes), "[s0]");
  EXPECT_THROW(g.add(OpId::add, {x, y}), Error);
  EXPECT_THROW(g.add(OpId::mm,
                     {
                         x,
                         y,
                     }),
               Error);
  EXPECT_EQ(g.nodes.size(), 2u);  // a refused node leaves nothing
  EXPECT_EQ(g.values.size(), 3u);
}

TEST(Graph, InsertEraseCompact) {
  Graph g = parse(R"(graph f(%0 "x": f32[4]) {
  %1 = exp(%0) : f32[4]
  %2 = sin(%1) : f32[4]
  %3 = cos(%2) : f32[4]
  return user %3
})");
  ValueId neg = g.insert(1, OpId::neg, {ValueId{1}});
  EXPECT_EQ(g.values[neg.v].node, 1);
  EXPECT_EQ(g.values[2].node, 2);
  EXPECT_EQ(g.values[3].node, 3);
  g.nodes[3].args[0] = neg;
  EXPECT_THROW(g.erase_nodes({true, false, true, true}), Error);
  g.erase_nodes({true, true, false, true});
  EXPECT_NO_THROW(verify(g, "erase"));
  g.compact();
  EXPECT_EQ(print(g), R"(graph f(%0 "x": f32[4]) {
  %1 = exp(%0) : f32[4]
  %2 = neg(%1) : f32[4]
  %3 = cos(%2) : f32[4]
  return user %3
}
)");
  EXPECT_NO_THROW(verify(g, "compact"));
  Graph copy = g;
  copy.nodes.pop_back();
  EXPECT_EQ(g.nodes.size(), 3u);
}

}  // namespace
}  // namespace reprise::graph
