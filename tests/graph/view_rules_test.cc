// View rules against brute force: the element that each index of a view reaches, computed from the definition.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

#include "graph/shape_rules.h"
#include "tests/graph/rule_test_util.h"

namespace reprise::graph {
namespace {

using Index = std::vector<std::int64_t>;

std::int64_t address(const Layout& l, const Index& i) {
  std::int64_t a = l.offset.value();
  for (std::size_t d = 0; d < i.size(); ++d) a += i[d] * l.strides[d].value();
  return a;
}

void for_each_index(const Ints& sizes, const std::function<void(const Index&)>& f) {
  for (Int s : sizes)
    if (s.value() == 0) return;
  Index i(sizes.size(), 0);
  for (;;) {
    f(i);
    std::size_t d = i.size();
    while (d > 0 && ++i[d - 1] == sizes[d - 1].value()) i[--d] = 0;
    if (d == 0) return;
  }
}

struct Random {
  std::mt19937 rng{20240607};
  std::int64_t operator()(std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(rng);
  }

  /// Any strided layout: permuted, stepped, expanded, with gaps.
  Layout layout(int rank) {
    Layout l;
    for (int d = 0; d < rank; ++d) l.sizes.push_back((*this)(0, 9) == 0 ? 0 : (*this)(1, 4));
    l.strides.resize(static_cast<std::size_t>(rank));
    std::vector<int> order(static_cast<std::size_t>(rank));
    for (int d = 0; d < rank; ++d) order[static_cast<std::size_t>(d)] = d;
    if ((*this)(0, 1)) std::shuffle(order.begin(), order.end(), rng);
    std::int64_t stride = (*this)(0, 3) ? 1 : 2;
    for (int k = rank - 1; k >= 0; --k) {
      int d = order[static_cast<std::size_t>(k)];
      l.strides[static_cast<std::size_t>(d)] = (*this)(0, 7) ? stride : 0;
      stride *= std::max<std::int64_t>(1, l.sizes[static_cast<std::size_t>(d)].value()) + ((*this)(0, 4) == 0);
    }
    l.offset = (*this)(0, 5);
    return l;
  }
};

Layout apply(OpId id, std::vector<RuleArg> args, const Layout& in) {
  args.insert(args.begin(), RuleArg{});
  return apply_view(op(id), args, in, {});
}

std::string text(const Layout& l) { return graph::text(l.sizes) + graph::text(l.strides) + "+" + l.offset.str(); }

/// Every index of `out` reaches what `source(index)` of `in` does.
void expect_maps(const Layout& in, const Layout& out, const std::function<Index(const Index&)>& source,
                 const std::string& what) {
  for_each_index(out.sizes, [&](const Index& i) {
    ASSERT_EQ(address(out, i), address(in, source(i))) << what << " of " << text(in) << " is " << text(out);
  });
}

TEST(ViewRules, SliceReachesTheElementsPythonWould) {
  Random r;
  for (int n = 0; n < 4000; ++n) {
    Layout in = r.layout(static_cast<int>(r(1, 4)));
    int rank = in.dim(), d = static_cast<int>(r(0, rank - 1));
    std::int64_t size = in.sizes[d].value(), start = r(-6, 6), end = r(-6, 6), step = r(1, 3);
    std::vector<std::int64_t> kept;  // by definition
    auto bound = [&](std::int64_t b) { return std::clamp<std::int64_t>(b < 0 ? b + size : b, 0, size); };
    for (std::int64_t i = bound(start); i < bound(end); i += step) kept.push_back(i);
    Layout out = apply(OpId::slice, {Int(d - (n % 2) * rank), Int(start), Int(end), Int(step)}, in);
    ASSERT_EQ(out.sizes[d].value(), static_cast<std::int64_t>(kept.size()))
        << text(in) << " " << d << " " << start << ":" << end << ":" << step;
    expect_maps(
        in, out,
        [&](Index i) {
          i[d] = kept[static_cast<std::size_t>(i[d])];
          return i;
        },
        "slice");
  }
}

TEST(ViewRules, SelectPermuteUnsqueezeExpandDiagonal) {
  Random r;
  for (int n = 0; n < 2000; ++n) {
    Layout in = r.layout(static_cast<int>(r(2, 4)));
    int rank = in.dim(), d = static_cast<int>(r(0, rank - 1));
    if (std::int64_t size = in.sizes[d].value()) {
      std::int64_t at = r(-size, size - 1);
      Layout out = apply(OpId::select, {Int(d), Int(at)}, in);
      expect_maps(
          in, out,
          [&](Index i) {
            i.insert(i.begin() + d, at < 0 ? at + size : at);
            return i;
          },
          "select");
    } else {
      EXPECT_THROW(apply(OpId::select, {Int(d), Int(0)}, in), Error);
    }
    std::vector<int> order;
    for (int k = 0; k < rank; ++k) order.push_back(k);
    std::shuffle(order.begin(), order.end(), r.rng);
    Ints dims;
    for (int k : order) dims.push_back(r(0, 1) ? k : k - rank);
    expect_maps(
        in, apply(OpId::permute, {dims}, in),
        [&](const Index& i) {
          Index s(i.size());
          for (std::size_t k = 0; k < i.size(); ++k) s[static_cast<std::size_t>(order[k])] = i[k];
          return s;
        },
        "permute");
    int at = static_cast<int>(r(0, rank));
    Layout wide = apply(OpId::unsqueeze, {Int(at)}, in);
    ASSERT_EQ(wide.sizes[at].value(), 1);
    expect_maps(
        in, wide,
        [&](Index i) {
          i.erase(i.begin() + at);
          return i;
        },
        "unsqueeze");
    Layout narrow = apply(OpId::squeeze, {Ints{at}}, wide);
    ASSERT_EQ(text(narrow), text(in));
    Ints target = in.sizes;
    for (Int& t : target)
      if (t.value() == 1) t = r(0, 3);
      else if (r(0, 1)) t = -1;
    target.insert(target.begin(), Int(2));
    expect_maps(
        in, apply(OpId::expand, {target}, in),
        [&](Index i) {
          i.erase(i.begin());
          for (std::size_t k = 0; k < i.size(); ++k)
            if (in.sizes[k].value() == 1) i[k] = 0;
          return i;
        },
        "expand");
    std::int64_t offset = r(-3, 3);
    int d1 = static_cast<int>(r(0, rank - 1)), d2 = (d1 + 1) % rank;
    Layout diagonal = apply(OpId::diagonal, {Int(offset), Int(d1), Int(d2)}, in);
    std::int64_t length = 0;
    for (std::int64_t a = 0; a < in.sizes[d1].value(); ++a)
      length += a + offset >= 0 && a + offset < in.sizes[d2].value();
    ASSERT_EQ(diagonal.sizes.back().value(), length);
    expect_maps(
        in, diagonal,
        [&](const Index& i) {
          Index s(static_cast<std::size_t>(rank));
          std::size_t next = 0;
          for (int k = 0; k < rank; ++k)
            if (k != d1 && k != d2) s[static_cast<std::size_t>(k)] = i[next++];
          s[static_cast<std::size_t>(d1)] = i.back() + std::max<std::int64_t>(0, -offset);
          s[static_cast<std::size_t>(d2)] = i.back() + std::max<std::int64_t>(0, offset);
          return s;
        },
        "diagonal");
  }
}

/// Row-major list of addresses.
std::vector<std::int64_t> addresses(const Layout& l) {
  std::vector<std::int64_t> out;
  for_each_index(l.sizes, [&](const Index& i) { out.push_back(address(l, i)); });
  return out;
}

/// Do any strides make `sizes` read this list? By definition: each dimension's stride is read off its second element.
bool viewable(const std::vector<std::int64_t>& list, const Ints& sizes) {
  Layout l;
  l.sizes = sizes;
  l.strides.resize(sizes.size(), Int(0));
  if (list.empty()) return true;
  l.offset = list[0];
  std::int64_t inner = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d].value() > 1) l.strides[d] = list[static_cast<std::size_t>(inner)] - list[0];
    inner *= sizes[d].value();
  }
  return addresses(l) == list;
}

TEST(ViewRules, ViewSucceedsExactlyWhenStridesExist) {
  Random r;
  int yes = 0, no = 0;
  for (int n = 0; n < 6000; ++n) {
    Layout in = r.layout(static_cast<int>(r(0, 4)));
    std::int64_t elements = numel(in.sizes).value();
    Ints sizes;
    std::int64_t left = elements;
    for (std::int64_t k = r(0, 3); k > 0; --k) {
      std::vector<std::int64_t> divisors;
      for (std::int64_t f = 1; f <= std::max<std::int64_t>(1, left); ++f)
        if (left % f == 0) divisors.push_back(f);
      std::int64_t f = divisors[static_cast<std::size_t>(r(0, static_cast<std::int64_t>(divisors.size()) - 1))];
      sizes.push_back(f);
      left = f ? left / f : 0;
    }
    sizes.push_back(left);
    std::vector<std::int64_t> list = addresses(in);
    std::optional<Ints> strides = view_strides(in, sizes, {});
    if (elements == 0) {
      ASSERT_TRUE(strides.has_value());
      continue;
    }
    ASSERT_EQ(strides.has_value(), viewable(list, sizes)) << text(in) << " as " << graph::text(sizes);
    (strides ? yes : no)++;
    if (strides) {
      Layout out{sizes, *strides, in.offset};
      ASSERT_EQ(addresses(out), list) << text(in) << " as " << text(out);
    }
  }
  EXPECT_GT(yes, 500);
  EXPECT_GT(no, 500);
}

// Numbers are answered apart, because eager views are made of nothing else: what a trace asks and finds must be the
// same.
TEST(ViewRules, NumbersGiveTheStridesThatSymbolsGive) {
  Random r;
  int yes = 0, no = 0;
  for (int n = 0; n < 3000; ++n) {
    const Layout in = r.layout(static_cast<int>(r(0, 4)));
    Ints sizes;
    std::int64_t left = numel(in.sizes).value();
    for (std::int64_t k = r(0, 3); k > 0; --k) {
      const std::int64_t f = r(1, 4);
      sizes.push_back(left % f ? 1 : f);
      left /= left % f ? 1 : f;
    }
    const bool hole = numel(sizes).value() * left != 0 && r(0, 2) == 0;
    sizes.push_back(hole ? -1 : left);
    guards::ShapeEnv env;
    Layout symbols = in;
    for (std::size_t d = 0; d < in.sizes.size(); ++d) {
      symbols.sizes[d] = size_symbol(env, "n" + std::to_string(d), in.sizes[d].value());
      symbols.strides[d] = size_symbol(env, "t" + std::to_string(d), in.strides[d].value());
    }
    const Ints asked = infer_size(in.sizes, sizes, {}), traced = infer_size(symbols.sizes, sizes, {});
    for (std::size_t d = 0; d < asked.size(); ++d)
      ASSERT_EQ(asked[d].value(), traced[d].hint()) << text(in) << " as " << graph::text(sizes);
    const std::optional<Ints> numbers = view_strides(in, asked, {}, Strides::All),
                              found = view_strides(symbols, traced, {}, Strides::All);
    ASSERT_EQ(numbers.has_value(), found.has_value()) << text(in) << " as " << graph::text(sizes);
    (numbers ? yes : no)++;
    if (!numbers) continue;
    for (std::size_t d = 0; d < asked.size(); ++d)
      ASSERT_EQ((*numbers)[d].value(), (*found)[d].hint())
          << text(in) << " as " << graph::text(sizes) << ": " << graph::text(*numbers);
  }
  EXPECT_GT(yes, 500);
  EXPECT_GT(no, 500);
}

TEST(ViewRules, Errors) {
  Metas m;
  const TensorMeta *x = m({2, 3}), *t = m({3, 2}, kFloat32, {1, 3});
  EXPECT_EQ(infer(OpId::view, {x, Ints{4, -1}}),
            "ShapeMismatch: sizes [4, -1] do not hold the 6 elements of sizes [2, 3]");
  EXPECT_EQ(infer(OpId::view, {x, Ints{-1, -1}}), "InvalidArgument: only one size may be -1 in [-1, -1]");
  EXPECT_EQ(infer(OpId::view, {m({0, 3}), Ints{0, -1}}),
            "InvalidArgument: -1 is ambiguous in [0, -1] because another size is 0");
  EXPECT_EQ(infer(OpId::view, {m({0, 3}), Ints{5, 0}}), "f32[5, 0]");
  EXPECT_TRUE(infer(OpId::view, {t, Ints{6}}).ends_with("use reshape"));
  EXPECT_EQ(infer(OpId::permute, {x, Ints{0, 0}}), "InvalidArgument: dimension 0 appears twice in [0, 0]");
  EXPECT_EQ(infer(OpId::permute, {x, Ints{0}}), "InvalidArgument: got 1 dimensions for a tensor of 2");
  EXPECT_EQ(infer(OpId::select, {x, Int(1), Int(3)}),
            "IndexOutOfRange: index 3 is out of range for dimension 1 of size 3");
  EXPECT_EQ(infer(OpId::slice, {x, Int(0), Int(0), Int(1), Int(0)}), "InvalidArgument: step must be positive, got 0");
  EXPECT_EQ(infer(OpId::expand, {x, Ints{2, 4}}), "ShapeMismatch: sizes [2, 3] do not expand to [2, 4]");
  EXPECT_EQ(infer(OpId::expand, {x, Ints{-1, 2, 3}}), "ShapeMismatch: sizes [2, 3] do not expand to [-1, 2, 3]");
  EXPECT_TRUE(infer(OpId::as_strided, {x, Ints{2}, Ints{-1}, std::monostate{}}).starts_with("InvalidArgument"));
  EXPECT_EQ(infer(OpId::diagonal, {x, Int(0), Int(1), Int(-1)}),
            "InvalidArgument: needs two different dimensions, got 1 and 1");
  EXPECT_EQ(infer(OpId::unsqueeze, {m({1, 1, 1, 1, 1, 1, 1, 1}), Int(0)}),
            "InvalidArgument: the result would have 9 dimensions; at most 8 are supported");
}

}  // namespace
}  // namespace reprise::graph
