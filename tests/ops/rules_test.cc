// The promise of guards for every row of the operator table: a shape rule runs on symbols with the sizes of one call;
// whatever other sizes the compiled guards admit must give, run on plain numbers, the dtypes, sizes and (of views)
// addresses that its expressions evaluate to.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "graph/op.h"
#include "graph/view_column.h"
#include "guards/guard_set.h"
#include "reprise/error.h"
#include "tensor/impl.h"
#include "tests/ops/cases.h"

namespace reprise::test {
namespace {

using graph::RuleArg;
using Words = std::vector<std::int64_t>;

/// The call's arguments as the rule sees them, its numbers taken one after the other from `next`.
class Arguments {
 public:
  template <class Next>
  Arguments(const OpCase& c, Next&& next) {
    auto number = [&](std::int64_t v, bool is_size) { return next(v, is_size); };
    auto tensor = [&](const Tensor& t) -> const TensorMeta* {
      if (!t.defined()) return nullptr;
      TensorMeta m;
      m.dtype = t.dtype();
      const TensorImpl& impl = *t.impl();
      bool contiguous = true;
      for (std::int64_t d = impl.rank, step = 1; d-- > 0; step *= std::max<std::int64_t>(impl.sizes[d], 1))
        contiguous = contiguous && impl.strides[d] == step;
      for (int d = 0; d < impl.rank; ++d) m.layout.sizes.push_back(number(impl.sizes[d], true));
      if (contiguous) m.layout.strides = contiguous_strides(m.layout.sizes);
      else
        for (int d = 0; d < impl.rank; ++d)
          m.layout.strides.push_back(impl.strides[d] <= 1 ? Int(impl.strides[d]) : number(impl.strides[d], true));
      metas_.push_back(std::move(m));
      return &metas_.back();
    };
    for (const OpArg& a : c.args) {
      if (auto* t = std::get_if<Tensor>(&a)) {
        if (const TensorMeta* m = tensor(*t)) args.push_back(m);
        else args.push_back(std::monostate{});
      } else if (auto* l = std::get_if<std::vector<Tensor>>(&a)) {
        lists_.emplace_back();
        for (const Tensor& t : *l) lists_.back().push_back(tensor(t));
        args.push_back(std::span<const TensorMeta* const>(lists_.back()));
      } else if (auto* i = std::get_if<Int>(&a)) {
        args.push_back(number(i->value(), false));
      } else if (auto* v = std::get_if<std::vector<Int>>(&a)) {
        Ints made;
        for (Int i : *v) made.push_back(number(i.value(), false));
        args.push_back(std::move(made));
      } else if (auto* n = std::get_if<Scalar>(&a)) {
        if (n->is_float() || n->str() == "true" || n->str() == "false") args.push_back(*n);
        else args.push_back(Scalar(number(n->word().value(), false)));
      } else if (auto* b = std::get_if<bool>(&a)) {
        args.push_back(*b);
      } else if (auto* d = std::get_if<DType>(&a)) {
        args.push_back(*d);
      } else if (auto* s = std::get_if<std::string>(&a)) {
        args.push_back(std::string_view(*s));
      } else {
        args.push_back(std::monostate{});
      }
    }
  }
  std::vector<RuleArg> args;

 private:
  std::deque<TensorMeta> metas_;
  std::deque<std::vector<const TensorMeta*>> lists_;
};

std::optional<std::vector<TensorMeta>> results(graph::OpId id, const Arguments& a) {
  graph::RuleCtx ctx{graph::op(id), a.args, {}, {}};
  try {
    infer(ctx);
  } catch (const Error&) {
    return std::nullopt;
  }
  return ctx.results;
}

std::int64_t at(guards::ExprProgram& p, const std::vector<std::int64_t>& slots, Int i) { return slots[p.add(i)]; }

struct Tally {
  int traced = 0, admitted = 0;
};

void hold(const OpCase& c, std::mt19937& rng, Tally& tally) {
  Words hints;
  std::vector<bool> sizes;
  auto env = std::make_unique<guards::ShapeEnv>();
  const Arguments symbols(c, [&](std::int64_t v, bool is_size) {
    const auto word = static_cast<std::uint32_t>(hints.size());
    hints.push_back(v), sizes.push_back(is_size);
    return is_size ? env->new_symbol({word, "x .size(" + std::to_string(word) + ")", std::int64_t{1} << 44}, v, 0)
                   : env->new_symbol({word, "n" + std::to_string(word)}, v);
  });
  auto plain = [&](const Words& w) {
    std::size_t next = 0;
    return results(c.op, Arguments(c, [&](std::int64_t, bool) { return Int(w[next++]); }));
  };
  std::optional<std::vector<TensorMeta>> symbolic;
  {
    guards::LibraryScope operators;  // as in a trace
    symbolic = results(c.op, symbols);
  }
  const std::string name(graph::op(c.op).name());
  ASSERT_EQ(symbolic.has_value(), plain(hints).has_value()) << name << " " << testing::PrintToString(hints);
  if (!symbolic || hints.empty()) return;
  ++tally.traced;
  const guards::GuardSet set(*env);
  guards::ExprProgram program;
  std::vector<Int> numbers;
  for (const TensorMeta& m : *symbolic) {
    for (Int i : m.layout.sizes) program.add(i);
    for (Int i : m.layout.strides) program.add(i);
    program.add(m.layout.offset);
  }
  for (int round = 0; round < 60; ++round) {
    Words w = hints;
    // What is equal in the call stays equal in half of the others; a word or two at a time, or all.
    std::map<std::int64_t, std::int64_t> to;
    const bool together = rng() % 2, few = rng() % 2;
    for (std::size_t i = 0; i < w.size() && round; ++i) {
      const std::int64_t other =
          sizes[i] ? static_cast<std::int64_t>(rng() % 5) : hints[i] + static_cast<std::int64_t>(rng() % 5) - 2;
      if (few && rng() % 3) {
        if (together) to.emplace(hints[i], hints[i]), w[i] = to[hints[i]];
        continue;
      }
      w[i] = together ? to.emplace(hints[i], other).first->second : other;
      if (sizes[i] && w[i] < 0) w[i] = 0;
    }
    if (set.first_miss(w.data())) {
      ASSERT_TRUE(round) << name << " does not admit the call it was traced for";
      continue;
    }
    tally.admitted += w != hints;
    std::string what =
        name + " traced with " + testing::PrintToString(hints) + ", called with " + testing::PrintToString(w);
    for (const guards::Guard& g : env->guards()) what += "\n  guard " + to_string(g.condition);
    const auto concrete = plain(w);
    // whether the places are there is asked when a recording is made (add_reach_check)
    if (!concrete && graph::names_places(c.op)) continue;
    ASSERT_TRUE(concrete.has_value()) << what;
    ASSERT_EQ(concrete->size(), symbolic->size()) << what;
    std::vector<std::int64_t> slots(program.size());
    program.evaluate(w.data(), slots.data());
    for (std::size_t r = 0; r < concrete->size(); ++r) {
      const TensorMeta &want = (*concrete)[r], &have = (*symbolic)[r];
      ASSERT_EQ(want.dtype, have.dtype) << what;
      ASSERT_EQ(want.layout.dim(), have.layout.dim()) << what;
      bool empty = false;
      for (int d = 0; d < want.layout.dim(); ++d) {
        ASSERT_EQ(want.layout.sizes[d].value(), at(program, slots, have.layout.sizes[d]))
            << what << "\n  size " << d << " = " << have.layout.sizes[d];
        empty = empty || want.layout.sizes[d].value() == 0;
      }
      if (empty) continue;
      ASSERT_EQ(want.layout.offset.value(), at(program, slots, have.layout.offset)) << what;
      for (int d = 0; d < want.layout.dim(); ++d) {
        if (want.layout.sizes[d].value() == 1) continue;
        ASSERT_EQ(want.layout.strides[d].value(), at(program, slots, have.layout.strides[d]))
            << what << "\n  stride " << d << " = " << have.layout.strides[d];
      }
    }
  }
}

TEST(Rules, WhatTheGuardsAdmitTheExpressionsDescribe) {
  std::mt19937 rng(20);
  std::string never;
  int operators = 0;
  for (const graph::OpDef& def : graph::all_ops()) {
    const graph::OpId id = static_cast<graph::OpId>(operators++);
    if (static_cast<std::size_t>(id) >= graph::kBuiltinOps) break;  // tests/operators
    Tally tally;
    std::set<std::string> seen;
    for (const OpCase& c : cases_of(id)) {
      std::string key;
      for (const OpArg& a : c.args) {
        auto tensor = [&](const Tensor& t) {
          if (!t.defined()) return;
          key += (is_floating(t.dtype()) ? "f[" : "i[");  // other dtypes are no other sizes
          for (int d = 0; d < t.dim(); ++d) key += t.size(d).str() + ":" + t.stride(d).str() + " ";
        };
        if (auto* t = std::get_if<Tensor>(&a)) tensor(*t);
        else if (auto* l = std::get_if<std::vector<Tensor>>(&a)) std::for_each(l->begin(), l->end(), tensor);
        else if (auto* i = std::get_if<Int>(&a)) key += i->str() + ";";
        else if (auto* v = std::get_if<std::vector<Int>>(&a))
          for (Int i : *v) key += i.str() + ",";
        key += "|";
      }
      constexpr int kMostCases = 12;
      if (tally.traced >= kMostCases || !seen.insert(key).second) continue;
      hold(c, rng, tally);
      if (HasFatalFailure()) return;
    }
    if (tally.traced == 0 || tally.admitted == 0) never += " " + std::string(def.name());
  }
  // What moves tensors between storages or devices, or reads one, has no sizes to compute; a branch's are those of its
  // regions.
  EXPECT_EQ(never, " set to_device copy_from item cond scan") << "operators of which no other call was admitted";
}

}  // namespace
}  // namespace reprise::test
