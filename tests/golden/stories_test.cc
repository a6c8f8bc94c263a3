// Twenty recompilations as a user meets them, and what the log says of each: stories.txt is read in review. A line of
// this file that the log names stands there as its text.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>

#include "../runtime/log_lines.h"
#include "golden.h"
#include "reprise/reprise.h"

namespace reprise::golden {
namespace {

struct Story {
  const char* name;
  std::function<void()> run;
};

struct Norm {
  Tensor weight;
};
struct Block {
  Norm norm;
  std::vector<Tensor> experts;
};
struct Model {
  Block block;
};

Tensor x34(DType d = kFloat32) { return ones({3, 4}, {.dtype = d}); }

const Story kStories[] = {
    {"a batch of 1, then of 7",
     [] {
       auto f = compile([](Tensor x, Tensor bias) { return x + bias; }, {.name = "f", .arguments = {"x", "bias"}});
       f(ones({1, 4}), ones({7, 4}));
       f(ones({7, 4}), ones({7, 4}));
     }},
    {"another dtype",
     [] {
       auto f = compile([](Tensor x) { return x * 2; }, {.name = "f", .arguments = {"x"}});
       f(x34());
       f(x34(kFloat64));
     }},
    {"another number of dimensions",
     [] {
       auto f = compile([](Tensor x) { return x * 2; }, {.name = "f", .arguments = {"x"}});
       f(x34());
       f(ones({2, 3, 4}));
     }},
    {"a transposed input",
     [] {
       auto f = compile([](Tensor x) { return x.view({-1}); }, {.name = "f", .arguments = {"x"}});
       f(x34());
       try {
         f(x34().t());
       } catch (const Error&) {
       }
       auto g = compile([](Tensor x) { return x.is_contiguous() ? x * 2 : x * 3; }, {.name = "g", .arguments = {"x"}});
       g(x34());
       g(x34().t());
     }},
    {"a plain number",
     [] {
       auto f = compile([](Tensor x, int steps) { return x * steps; }, {.name = "f", .arguments = {"x", "steps"}});
       f(x34(), 1);
       f(x34(), 2);
     }},
    {"a branch on a Scalar",
     [] {
       auto f = compile([](Tensor x, Scalar gain) { return gain.to_double() > 1.0 ? x * gain : x; },
                        {.name = "f", .arguments = {"x", "gain"}});
       f(x34(), Scalar(0.5));
       f(x34(), Scalar(2.5));
     }},
    {"a field of a struct, three levels deep",
     [] {
       auto f = compile([](Tensor x, const Model& m) { return x * m.block.norm.weight; },
                        {.name = "f", .arguments = {"x", "model"}});
       f(x34(), Model{{{ones({4})}, {}}});
       f(x34(), Model{{{ones({4}, {.dtype = kBFloat16})}, {}}});
     }},
    {"a longer vector",
     [] {
       auto f = compile(
           [](Tensor x, const Model& m) {
             for (const Tensor& e : m.block.experts) x = x + e;
             return x;
           },
           {.name = "f", .arguments = {"x", "model"}});
       f(x34(), Model{{{ones({4})}, {ones({4})}}});
       f(x34(), Model{{{ones({4})}, {ones({4}), ones({4})}}});
     }},
    {"an optional that is not there",
     [] {
       auto f = compile([](Tensor x, std::optional<Tensor> mask) { return mask ? x * *mask : x; },
                        {.name = "f", .arguments = {"x", "mask"}});
       f(x34(), std::optional<Tensor>(x34()));
       f(x34(), std::optional<Tensor>());
     }},
    {"a captured tensor is replaced",
     [] {
       Tensor weight = ones({4});
       auto f = compile([&](Tensor x) { return x * weight; }, {.name = "f", .arguments = {"x"}});
       f(x34());
       weight = ones({4}, {.dtype = kFloat64});
       f(x34());
     }},
    {"a written input overlaps another",
     [] {
       auto f = compile(
           [](Tensor cache, Tensor x) {
             cache.add_(x);
             return cache.sum();
           },
           {.name = "f", .arguments = {"cache", "x"}});
       Tensor memory = ones({8});
       f(ones({4}), ones({4}));
       f(memory.narrow(0, 0, 4), memory.narrow(0, 2, 4));
     }},
    {"two arguments become one tensor",
     [] {
       auto f = compile(
           [](Tensor a, Tensor b) {
             a.mul_(2);
             return a + b;
           },
           {.name = "f", .arguments = {"a", "b"}});
       Tensor a = ones({4});
       f(ones({4}), ones({4}));
       f(a, a);
     }},
    {"a size that 8 no longer divides",
     [] {
       auto f = compile([](Tensor x) { return x.size(0) % 8 == 0 ? x * 2 : x * 3; }, {.name = "f", .arguments = {"x"}});
       f(ones({16}));
       f(ones({12}));
     }},
    {"the bound of a slice",
     [] {
       auto f = compile([](Tensor x, Int n) { return x.slice(0, 0, n) * 2; }, {.name = "f", .arguments = {"x", "n"}});
       f(ones({16}), 4);
       f(ones({16}), 20);
     }},
    {"unbind and split: how many there are",
     [] {
       auto f = compile(
           [](Tensor x) {
             std::vector<Tensor> rows = x.unbind(0);
             return rows[0] + rows[1];
           },
           {.name = "f", .arguments = {"x"}});
       f(ones({3, 4}));
       f(ones({5, 4}));
       auto g = compile(
           [](Tensor x) {
             std::vector<Tensor> parts = x.split(2);
             return parts[0] * 2;
           },
           {.name = "g", .arguments = {"x"}});
       g(ones({4, 4}));
       g(ones({9, 4}));
     }},
    {"the nearest of many is named, not the latest",
     [] {
       auto f = compile([](Tensor x, Int n) { return x * double(n.value()); }, {.name = "f", .arguments = {"x", "n"}});
       for (std::int64_t n : {10, 50, 100}) f(x34(), n);
       f(x34(), 12);
     }},
    {"the limit of specializations is reached",
     [] {
       auto f = compile([](Tensor x, int steps) { return x * steps; },
                        {.name = "f", .max_specializations = 2, .arguments = {"x", "steps"}});
       for (int steps : {1, 2, 3}) f(x34(), steps);
     }},
    {"a marked range is left",
     [] {
       auto f = compile([](Tensor x) { return x * 2; }, {.name = "f", .arguments = {"x"}});
       Tensor x = ones({16, 4});
       mark_dynamic(x, 0, {.min = 8, .max = 64});
       f(x);
       f(ones({4, 4}));
     }},
    {"a marked range is left, and may be",
     [] {
       auto f = compile([](Tensor x) { return x * 2; }, {.name = "f", .arguments = {"x"}});
       Tensor x = ones({16, 4});
       mark_dynamic(x, 0, {.min = 8, .max = 64, .outside = Outside::Recompiles});
       f(x);
       f(ones({4, 4}));
     }},
    {"a marked dimension becomes a constant",
     [] {
       auto f = compile([](Tensor x) { return x * double(x.size(0).value()); }, {.name = "f", .arguments = {"x"}});
       Tensor x = ones({16, 4});
       mark_dynamic(x, 0);
       f(x);
     }},
    {"a branch on a value",
     [] {
       auto f =
           compile([](Tensor x) { return x.sum().item<float>() > 1 ? x * 2 : x; }, {.name = "f", .arguments = {"x"}});
       f(x34());
     }},
    {"a sealed function",
     [] {
       auto f = compile([](Tensor x) { return x.size(0) > 8 ? x * 2 : x; }, {.name = "f", .arguments = {"x"}});
       f(ones({16}));
       f.seal();
       f(ones({4}));
     }},
    {"another autocast",
     [] {
       auto f = compile([](Tensor x) { return x.matmul(x); }, {.name = "f", .arguments = {"x"}});
       f(ones({4, 4}));
       const AutocastScope half(kBFloat16);
       f(ones({4, 4}));
     }},
    {"a member of the function object has changed",
     [] {
       struct Scale {
         int by = 2;
         Tensor operator()(Tensor x) { return x * by; }
       };
       auto scale = std::make_shared<Scale>();
       auto f = compile(std::ref(*scale), {.name = "f", .arguments = {"x"}});
       f(x34());
       scale->by = 3;
       f(x34());
     }},
};

/// Lines of this file that a text names, as what stands there.
std::string with_source(std::string text) {
  static const std::vector<std::string> lines = [] {
    std::ifstream in(REPRISE_SOURCE_DIR "/tests/golden/stories_test.cc");
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);)
      out.push_back(line.substr(std::min(line.find_first_not_of(' '), line.size())));
    return out;
  }();
  static const std::regex place(R"([^ ()]*stories_test\.cc:(\d+))");
  std::string out;
  for (std::smatch m; std::regex_search(text, m, place); text = m.suffix())
    out += m.prefix().str() + "«" + lines.at(std::stoul(m[1]) - 1) + "»";
  return out + text;
}

std::string told(const Story& story) {
  std::string error;
  const testing::LogLines log;
  try {
    story.run();
  } catch (const Error& e) {
    error = "    throws " + std::string(error_code_name(e.code())) + ": " + e.what() + "\n";
  }
  std::string text;
  for (const std::string& line : log.lines()) {
    const nlohmann::json j = nlohmann::json::parse(line);
    const std::string event = j["event"];
    if (event == "recompiled" || event == "not_traceable" || event == "compile_failed" || event == "warning")
      text += "    " + event + (j["function"] == "" ? "" : " ") + j["function"].get<std::string>() + ": " +
              j["text"].get<std::string>() + "\n";
  }
  return with_source(text + error);
}

TEST(Stories, AreToldAsCommitted) {
  ASSERT_GE(std::size(kStories), 20u);
  std::ostringstream now;
  now << "What the log says of calls that were not compiled for. «A line of the program» stands for its place.\n";
  for (const Story& s : kStories) {
    const std::string text = told(s);
    EXPECT_NE(text, "") << s.name << ": nothing was told";
    now << "\n" << s.name << "\n" << text;
  }
  expect_golden("stories.txt", now.str());
}

}  // namespace
}  // namespace reprise::golden
