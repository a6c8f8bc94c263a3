// What users pass and write: shapes, conditions, classes of their own.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <sstream>
#include <unordered_map>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

class Projection {
 public:
  explicit Projection(Tensor w, int heads = 1) : w_(std::move(w)), heads_(heads) {}
  virtual ~Projection() = default;
  Tensor forward(Tensor x) const { return matmul(x, w_) * heads_; }
  Tensor grow(Tensor by) { return w_ = w_ + by; }
  const Tensor& weight() const { return w_; }
  REPRISE_FIELDS(Projection, w_, heads_)

 private:
  Tensor w_;
  int heads_;
};

class Gated : public Projection {
 public:
  Gated(Tensor w, Tensor gate) : Projection(std::move(w)), gate_(std::move(gate)) {}
  Tensor both(Tensor x) const { return forward(x) * gate_; }
  REPRISE_FIELDS(Gated, REPRISE_BASE(Projection), gate_)

 private:
  Tensor gate_;
};

TEST(Types, ClassesThatListTheirFields) {
  auto f = compile([](const Projection& p, Tensor x) { return p.forward(x); },
                   {.name = "listed", .arguments = {"layer", "x"}});
  const Projection a(full({2, 2}, 1.0), 3), b(full({2, 2}, 2.0), 3), other(full({2, 2}, 2.0), 5);
  EXPECT_EQ(f(a, ones({1, 2})).to_vector<float>()[0], 6);
  EXPECT_EQ(f(b, ones({1, 2})).to_vector<float>()[0], 12);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f(other, ones({1, 2})).to_vector<float>()[0], 20);
  EXPECT_EQ(f.stats().compilations, 2);
  EXPECT_NE(f.explain(Detail::Graph).find("layer.w_"), std::string::npos) << f.explain(Detail::Graph);

  auto g = compile([](const Gated& p, Tensor x) { return p.both(x); }, {.arguments = {"gated", "x"}});
  EXPECT_EQ(g(Gated(full({2, 2}, 1.0), full({2}, 7.0)), ones({1, 2})).to_vector<float>()[1], 14);
  EXPECT_EQ(g(Gated(full({2, 2}, 2.0), full({2}, 7.0)), ones({1, 2})).to_vector<float>()[1], 28);
  EXPECT_EQ(g.stats().compilations, 1);
  EXPECT_NE(g.explain().find("gated.Projection.w_"), std::string::npos) << g.explain();
}

TEST(Types, MemberFunctions) {
  auto forward = compile(&Projection::forward, {.name = "forward"});
  Projection p(full({2, 2}, 1.0));
  EXPECT_EQ(forward(p, ones({3, 2})).to_vector<float>()[0], 2);
  EXPECT_EQ(forward(Projection(full({2, 2}, 4.0)), ones({5, 2})).to_vector<float>()[0], 8);
  EXPECT_EQ(forward.stats().compilations, 1);
  EXPECT_EQ(forward.stats().eager_fallbacks, 0);
  // One that assigns its members does so compiled or not.
  auto grow = compile(&Projection::grow);
  for (int i = 0; i < 3; ++i) grow(p, full({2, 2}, 1.0));
  EXPECT_EQ(p.weight().to_vector<float>()[0], 4);
}

TEST(Types, SharedPointers) {
  auto f = compile([](const std::shared_ptr<Projection>& p, const std::shared_ptr<Projection>& none, Tensor x) {
    return none ? none->forward(x) : p->forward(x);
  });
  const auto p = std::make_shared<Projection>(full({2, 2}, 1.0));
  EXPECT_EQ(f(p, nullptr, ones({1, 2})).to_vector<float>()[0], 2);
  *p = Projection(full({2, 2}, 3.0));
  EXPECT_EQ(f(p, nullptr, ones({1, 2})).to_vector<float>()[0], 6);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f(nullptr, p, ones({1, 2})).to_vector<float>()[0], 6);
  EXPECT_EQ(f.stats().compilations, 2);
  EXPECT_EQ(p->weight().to_vector<float>()[0], 3) << "what it points to is left alone";
  // What is given back is each call's own.
  auto pair = compile([](Tensor x) { return std::make_shared<std::pair<Tensor, Tensor>>(x + 1, x * 2); });
  const auto first = pair(ones({1})), second = pair(full({1}, 5.0));
  EXPECT_EQ(first->first.item<float>(), 2);
  EXPECT_EQ(second->first.item<float>(), 6);
  EXPECT_EQ(pair.stats().compilations, 1);
}

TEST(Types, UnorderedMapsHaveTheOrderOfTheirKeys) {
  auto f = compile(
      [](const std::unordered_map<std::string, Tensor>& w, Tensor x) { return x * w.at("scale") + w.at("shift"); });
  std::unordered_map<std::string, Tensor> a{{"scale", full({1}, 2.0)}, {"shift", full({1}, 1.0)}}, b;
  b.rehash(500);
  b["shift"] = full({1}, 10.0), b["scale"] = full({1}, 3.0);
  EXPECT_EQ(f(a, ones({1})).item<float>(), 3);
  EXPECT_EQ(f(b, ones({1})).item<float>(), 13);
  EXPECT_EQ(f.stats().compilations, 1);
}

struct Block {
  Tensor w;
  Tensor gates[3];
  Int at[2][2];
  char name[8] = "block";
  std::optional<Tensor> bias = {};
  float scale[2] = {1, 1};
};

TEST(Types, ArraysInStructs) {
  static_assert(detail::field_count<Block>() == 6 && detail::field_name<Block, 1>() == "gates" &&
                detail::field_name<Block, 4>() == "bias");
  auto f = compile(
      [](const Block& b, Tensor x) {
        Block out = b;
        out.gates[1] = x * b.gates[2] * b.scale[1] + b.at[1][0];
        return out;
      },
      {.name = "arrays", .arguments = {"block", "x"}});
  Block b{full({2}, 1.0), {full({2}, 2.0), full({2}, 3.0), full({2}, 4.0)}, {{1, 2}, {3, 4}}};
  EXPECT_EQ(f(b, ones({2})).gates[1].to_vector<float>()[0], 7);
  b.at[1][0] = 30, b.gates[2] = full({2}, 5.0);
  const Block out = f(b, ones({2}));
  EXPECT_EQ(out.gates[1].to_vector<float>()[0], 35);
  EXPECT_EQ(out.gates[0].to_vector<float>()[0], 2);
  EXPECT_EQ(out.at[1][1], 4);
  EXPECT_STREQ(out.name, "block");
  EXPECT_EQ(f.stats().compilations, 1);
  b.scale[1] = 2;
  std::string told;
  f.set_miss_callback([&](const Miss& m) { told = m.reason; });
  f(b, ones({2}));
  EXPECT_EQ(told, "block.scale[1] (arg 0) is 2, was 1");
  EXPECT_NE(f.explain(Detail::Graph).find("block.gates[2]"), std::string::npos) << f.explain(Detail::Graph);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Types, Shapes) {
  const std::vector<std::int64_t> shape{2, 3};
  const std::vector<int> turned{3, 2};
  const std::array<long, 3> three{1, 2, 3};
  const Tensor x = zeros(shape);
  std::ostringstream text;
  text << x.sizes() << x.view(turned).sizes() << x.reshape(three).sizes() << x.view(std::span(turned)).strides()
       << zeros(std::vector<std::int64_t>{}).sizes();
  EXPECT_EQ(text.str(), "[2, 3][3, 2][1, 2, 3][2, 1][]");
  EXPECT_EQ(x.sum(std::vector<int>{0, 1}).dim(), 0);
  IntArrayRef borrowed = shape, copy = borrowed;
  borrowed = turned;
  EXPECT_EQ(copy[1].value(), 3);
  EXPECT_EQ(borrowed[1].value(), 2);
  const IntArrayRef& itself = borrowed;
  borrowed = itself;
  EXPECT_EQ(borrowed[0].value(), 3);
}

TEST(Types, ConditionsAreBools) {
  auto f = compile([](Tensor x) {
    const bool long_one = x.size(0) > 4;
    return long_one ? x * 2.0 : x + 1.0;
  });
  for (std::int64_t n : {2, 3, 9, 8, 4}) EXPECT_EQ(f(ones({n})).to_vector<float>()[0], 2);
  EXPECT_EQ(f(full({2}, 5.0)).to_vector<float>()[0], 6);
  EXPECT_EQ(f(full({5}, 5.0)).to_vector<float>()[0], 10);
  EXPECT_EQ(f.stats().compilations, 2);
  static_assert(!std::is_convertible_v<Bool, int> && !std::is_convertible_v<Bool, double> &&
                std::is_convertible_v<Bool, bool>);
}

TEST(Types, OptionsAndStacks) {
  const Tensor x = ones({3}, {.dtype = kInt64});
  EXPECT_EQ(zeros({2}, x.options()).dtype(), kInt64);
  EXPECT_EQ(hstack({x, x}).size(0), 6);
  EXPECT_EQ(hstack({ones({2, 1}), ones({2, 4})}).size(1), 5);
  EXPECT_EQ(vstack({x, x, x}).size(0), 3);
  EXPECT_EQ(vstack({ones({2, 3}), ones({3})}).size(0), 3);
  EXPECT_EQ(hstack({x.sum(), x.sum()}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, 3}));
  EXPECT_THROW(vstack({ones({2}), ones({3})}), Error);
}

TEST(Types, EventsForAFunctionOfTheProgram) {
  std::vector<std::string> seen;
  set_log_callback(
      [&](const LogEvent& e) {
        seen.push_back(std::string(e.event) + " " + std::string(e.function));
        EXPECT_NE(e.json.find("\"event\":\"" + std::string(e.event) + "\""), std::string::npos);
        throw 1;  // nobody minds
      },
      "recompiles");
  auto f = compile([](Tensor x, int k) { return x * k; }, {.name = "told"});
  f(ones({2}), 1);
  f(ones({2}), 2);
  set_log_callback({});
  f(ones({2}), 3);
  ASSERT_FALSE(seen.empty());
  for (const std::string& s : seen) EXPECT_EQ(s.find("told/1"), s.size() - 6) << s;
  try {
    set_log_callback([](const LogEvent&) {}, "recompile");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(std::string(e.what()).find("did you mean 'recompiles'?"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("guards, recompiles"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace reprise::test
