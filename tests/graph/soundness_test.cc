// The promise of guards, rule by rule: a rule runs on symbols with the sizes of one call; whatever other sizes satisfy
// the guards it took must give, run on plain numbers, the sizes (and for views the addresses) its expressions evaluate
// to.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "graph/shape_rules.h"
#include "tests/graph/rule_test_util.h"

namespace reprise::graph {
namespace {

/// One operator call as a function of numbers: it makes the same arguments from plain and from symbolic Ints.
struct Case {
  OpId id;
  int n_numbers;
  std::int64_t lo, hi;  ///< of every number; below 0: not a size
  std::function<std::vector<RuleArg>(Metas&, const std::vector<Int>&)> make;
};

Ints all(const std::vector<Int>& v, std::size_t from, std::size_t n) {
  return Ints(v.begin() + static_cast<std::ptrdiff_t>(from), v.begin() + static_cast<std::ptrdiff_t>(from + n));
}

const std::vector<Case>& cases() {
  using V = std::vector<Int>;
  using R = std::vector<RuleArg>;
  static const std::monostate none;
  static const std::vector<Case> list = {
      {OpId::add, 5, 0, 3,
       [](Metas& m, const V& v) {
         return R{m(all(v, 0, 3)), m(all(v, 3, 2)), Scalar(1)};
       }},
      {OpId::where, 4, 0, 3,
       [](Metas& m, const V& v) {
         return R{m({v[0]}, kBool), m({v[1], v[2]}), m({v[3], 2})};
       }},
      {OpId::copy, 3, 0, 3,
       [](Metas& m, const V& v) {
         return R{m({v[0], v[1]}), m({v[2]})};
       }},
      {OpId::slice, 3, -4, 6,
       [](Metas& m, const V& v) {
         return R{m({2, Int::max(v[0], 0)}), Int(1), v[1], v[2], Int(1)};
       }},
      {OpId::slice, 3, -4, 6,
       [](Metas& m, const V& v) {
         return R{m({Int::max(v[0], 0), 3}), Int(0), v[1], v[1] + v[2], Int(2)};
       }},
      {OpId::select, 2, -4, 5,
       [](Metas& m, const V& v) {
         return R{m({Int::max(v[0], 0), 2}), Int(0), v[1]};
       }},
      {OpId::squeeze, 3, 0, 2,
       [](Metas& m, const V& v) {
         return R{m(all(v, 0, 3)), none};
       }},
      {OpId::expand, 5, 0, 3,
       [](Metas& m, const V& v) {
         return R{m({v[0], v[1]}), all(v, 2, 3)};
       }},
      {OpId::view, 5, 0, 4,
       [](Metas& m, const V& v) {
         return R{m(all(v, 0, 3)), all(v, 3, 2)};
       }},
      {OpId::view, 4, 1, 6,
       [](Metas& m, const V& v) {
         return R{m({v[0], v[1], v[2]}), Ints{v[3], -1}};
       }},
      {OpId::view, 4, 1, 4,
       [](Metas& m, const V& v) {
         return R{m({v[0], v[1]}, kFloat32, {v[2], v[3]}), Ints{v[0] * v[1]}};
       }},
      {OpId::view, 5, 1, 4,
       [](Metas& m, const V& v) {
         return R{m({v[0], 4, v[1]}, kFloat32, {v[2], v[3], v[4]}), Ints{v[0], 2, 2, v[1]}};
       }},
      {OpId::diagonal, 2, 0, 4,
       [](Metas& m, const V& v) {
         return R{m({v[0], v[1]}), Int(1), Int(0), Int(1)};
       }},
      {OpId::cat, 4, 0, 3,
       [](Metas& m, const V& v) {
         static thread_local std::vector<const TensorMeta*> parts;
         parts = {m({v[0], v[1]}), m({v[2], v[3]})};
         return R{std::span<const TensorMeta* const>(parts), Int(0)};
       }},
      {OpId::matmul, 5, 0, 3,
       [](Metas& m, const V& v) {
         return R{m({v[0], v[1], v[2]}), m({v[3], v[4]})};
       }},
      {OpId::amax, 2, 0, 3,
       [](Metas& m, const V& v) {
         return R{m({v[0], v[1]}), Ints{1}, false};
       }},
      {OpId::slice_scatter, 4, 0, 5,
       [](Metas& m, const V& v) { return R{m({v[0]}), m({v[1]}), Int(0), v[2], v[3], Int(1)}; }},
      {OpId::arange, 3, -3, 5,
       [](Metas&, const V& v) {
         return R{Scalar(v[0]), Scalar(v[1]), Scalar(v[2]), kInt64, std::string_view("cpu")};
       }},
      {OpId::topk, 2, 0, 4,
       [](Metas& m, const V& v) {
         return R{m({v[0]}), v[1], Int(0), true, true};
       }},
  };
  return list;
}

std::optional<std::vector<TensorMeta>> run(const Case& c, Metas& m, const std::vector<Int>& numbers) {
  std::vector<RuleArg> args = c.make(m, numbers);
  RuleCtx ctx{op(c.id), args, {}, {}};
  try {
    infer(ctx);
  } catch (const Error&) {
    return std::nullopt;
  }
  return ctx.results;
}

std::int64_t evaluate(Int i, const std::vector<std::int64_t>& words) {
  guards::ExprProgram p;
  std::uint32_t slot = p.add(i);
  std::vector<std::int64_t> slots(p.size());
  p.evaluate(words.data(), slots.data());
  return slots[slot];
}

bool holds(const guards::Expr* condition, const std::vector<std::int64_t>& words) {
  guards::ExprProgram p;
  std::uint32_t slot = p.add(condition);
  std::vector<std::int64_t> slots(p.size());
  p.evaluate(words.data(), slots.data());
  return slots[slot] != 0;
}

std::string numbers_text(const std::vector<std::int64_t>& v) { return testing::PrintToString(v); }

TEST(GuardSoundness, WhatTheGuardsAdmitTheExpressionsDescribe) {
  std::mt19937 rng(77);
  for (const Case& c : cases()) {
    int traced = 0, reused = 0;
    for (int round = 0; round < 150; ++round) {
      auto draw = [&] {
        std::vector<std::int64_t> v;
        for (int i = 0; i < c.n_numbers; ++i) v.push_back(std::uniform_int_distribution<std::int64_t>(c.lo, c.hi)(rng));
        return v;
      };
      std::vector<std::int64_t> hints = draw();
      guards::ShapeEnv env;
      std::vector<Int> symbols;
      for (std::size_t i = 0; i < hints.size(); ++i) {
        symbols.push_back(env.new_symbol({static_cast<std::uint32_t>(i), "n" + std::to_string(i)}, hints[i],
                                         c.lo >= 0 ? 0 : INT64_MIN));
      }
      Metas m;
      auto symbolic = run(c, m, symbols);
      std::vector<Int> plain(hints.begin(), hints.end());
      ASSERT_EQ(symbolic.has_value(), run(c, m, plain).has_value()) << op(c.id).name() << " " << numbers_text(hints);
      if (!symbolic) continue;
      ++traced;
      for (int other = 0; other < 60; ++other) {
        std::vector<std::int64_t> words = other == 0 ? hints : draw();
        bool admitted = true;
        for (const guards::Guard& g : env.guards()) admitted = admitted && holds(g.condition, words);
        if (!admitted) continue;
        ++reused;
        std::string what = std::string(op(c.id).name()) + " traced with " + numbers_text(hints) + ", called with " +
                           numbers_text(words);
        for (const std::string& g : guards_of(env)) what += "\n  guard " + g;
        auto concrete = run(c, m, std::vector<Int>(words.begin(), words.end()));
        ASSERT_TRUE(concrete.has_value()) << what;
        for (std::size_t r = 0; r < concrete->size(); ++r) {
          const Layout &want = (*concrete)[r].layout, &have = (*symbolic)[r].layout;
          ASSERT_EQ(want.dim(), have.dim()) << what;
          bool empty = false;
          for (int d = 0; d < want.dim(); ++d) {
            ASSERT_EQ(want.sizes[d].value(), evaluate(have.sizes[d], words))
                << what << "\n  size " << d << " = " << have.sizes[d];
            empty = empty || want.sizes[d].value() == 0;
          }
          if (empty || op(c.id).cls != OpClass::View) continue;
          ASSERT_EQ(want.offset.value(), evaluate(have.offset, words)) << what;
          for (int d = 0; d < want.dim(); ++d) {
            if (want.sizes[d].value() == 1) continue;
            ASSERT_EQ(want.strides[d].value(), evaluate(have.strides[d], words))
                << what << "\n  stride " << d << " = " << have.strides[d];
          }
        }
      }
    }
    EXPECT_GT(traced, 5) << op(c.id).name();
    EXPECT_GT(reused, traced) << op(c.id).name();  // other sizes are served, too
  }
}

}  // namespace
}  // namespace reprise::graph
