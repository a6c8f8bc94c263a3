// Sizes and strides of `view`: inferring -1, matching element counts, and ATen's rule for which strides join up.
#include <algorithm>
#include <numeric>

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "guards/shape_env.h"

namespace reprise::graph {
namespace {

/// A product of sizes as a number and symbolic factors, so that equal factors of two products cancel by identity.
struct Product {
  std::int64_t number = 1;
  std::vector<Int> factors;

  void multiply(Int v) {
    if (!v.is_symbolic()) {
      // product_now has been asked
      number = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) * static_cast<std::uint64_t>(v.hint()));
    } else if (v.expr()->kind() == guards::ExprKind::Mul && has_no_negative(v.expr())) {
      for (const guards::Expr* f : v.expr()->args()) multiply(Int(f));
    } else {
      factors.push_back(v);
    }
  }
  /// (-2) * (-3) is a size, -2 is none: of such a product no factor may stand alone.
  static bool has_no_negative(const guards::Expr* product) {
    return std::all_of(product->args().begin(), product->args().end(),
                       [](const guards::Expr* f) { return f->env().range_of(f).lo >= 0; });
  }
  Int value() const {
    Int p = number;
    for (Int f : factors) p = p * f;
    return p;
  }
};

void cancel(Product& a, Product& b) {
  for (std::size_t i = 0; i < a.factors.size();) {
    std::size_t j = 0;
    while (j < b.factors.size() && !identical(a.factors[i], b.factors[j])) ++j;
    if (j == b.factors.size()) {
      ++i;
      continue;
    }
    a.factors.erase(a.factors.begin() + static_cast<std::ptrdiff_t>(i));
    b.factors.erase(b.factors.begin() + static_cast<std::ptrdiff_t>(j));
  }
  if (std::int64_t g = std::gcd(a.number, b.number); g > 1) {
    a.number /= g;
    b.number /= g;
  }
}

Int product(const Ints& sizes) {
  Int p = 1;
  for (Int s : sizes) p = p * s;
  return p;
}

bool is_plain_list(const Ints& list) {
  return std::none_of(list.begin(), list.end(), [](Int i) { return i.is_symbolic(); });
}

std::uint64_t bits(Int number) { return static_cast<std::uint64_t>(detail::plain_value(number)); }

/// infer_size of plain numbers, as every eager view has them. Nothing: there is a symbol among them, or they are wrong.
std::optional<Ints> infer_from_numbers(const Ints& in, const Ints& sizes) {
  std::int64_t have = 1, want = 1;
  std::size_t hole = sizes.size();
  for (Int s : in)
    if (s.is_symbolic() || __builtin_mul_overflow(have, detail::plain_value(s), &have)) return std::nullopt;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].is_symbolic()) return std::nullopt;
    const std::int64_t s = detail::plain_value(sizes[i]);
    if (s == -1 && hole == sizes.size()) hole = i;
    else if (s < 0 || __builtin_mul_overflow(want, s, &want)) return std::nullopt;
  }
  std::optional<Ints> out(sizes);
  if (hole == sizes.size()) return have == want ? out : std::nullopt;
  if (want == 0 || have % want != 0) return std::nullopt;
  (*out)[hole] = have / want;
  return out;
}

bool numbers_are_made_strides(const Layout& l) {
  std::uint64_t expected = 1;
  for (std::size_t d = l.sizes.size(); d-- > 0;) {
    if (bits(l.strides[d]) != expected) return false;
    if (bits(l.sizes[d]) != 0) expected *= bits(l.sizes[d]);
  }
  return true;
}

/// view_strides of plain numbers: they say everything themselves, and nothing is asked.
std::optional<Ints> strides_from_numbers(const Layout& in, const Ints& sizes, Strides wanted) {
  if (wanted == Strides::All ? numbers_are_made_strides(in) : known_contiguous(in)) return contiguous_strides(sizes);
  std::uint64_t elements = 1;
  for (Int s : in.sizes) elements *= bits(s);
  if (elements == 0) {
    bool unchanged = in.sizes.size() == sizes.size();
    for (std::size_t i = 0; unchanged && i < sizes.size(); ++i) unchanged = identical(in.sizes[i], sizes[i]);
    return unchanged ? in.strides : contiguous_strides(sizes);
  }
  std::optional<Ints> out(std::in_place, sizes.size(), Int(1));
  std::size_t at = sizes.size();  // those before it are still to be placed
  for (int d = in.dim(); d > 0;) {
    const std::uint64_t base = bits(in.strides[--d]);
    std::uint64_t chunk = bits(in.sizes[d]), filled = 1;
    for (; d > 0 && (bits(in.sizes[d - 1]) == 1 || bits(in.strides[d - 1]) == chunk * base); --d)
      chunk *= bits(in.sizes[d - 1]);
    for (; at > 0 && (filled < chunk || (filled == chunk && bits(sizes[at - 1]) == 1)); filled *= bits(sizes[--at]))
      (*out)[at - 1] = static_cast<std::int64_t>(filled * base);
    if (filled != chunk) return std::nullopt;
  }
  return at == 0 || in.dim() == 0 ? out : std::nullopt;
}

bool has_made_strides(const Layout& l) {
  Int expected = 1;
  for (std::size_t d = l.sizes.size(); d-- > 0;) {
    if (!identical(l.strides[d], expected)) return false;
    if (d > 0) expected = expected * Int::max(l.sizes[d], 1);
  }
  return true;
}

}  // namespace

Ints made_strides(const Ints& sizes) {
  if (is_plain_list(sizes)) return contiguous_strides(sizes);
  Ints strides(sizes.size(), Int(1));
  for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * Int::max(sizes[d], 1);
  return strides;
}

Ints infer_size(const Ints& in, const Ints& sizes, SourceLoc loc, const char* op) {
  if (std::optional<Ints> found = infer_from_numbers(in, sizes)) return *std::move(found);
  int hole = -1;
  Product have, want;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Int s = sizes[i];
    if (!depends_on_data(s) && is_to_infer(s, loc)) {
      if (hole >= 0) fail(ErrorCode::InvalidArgument, op, loc, "only one size may be -1 in ", sizes_text(sizes));
      hole = static_cast<int>(i);
      continue;
    }
    if (!require(detail::compare_le(0, s, loc), "view: size not negative")) {
      fail(ErrorCode::InvalidArgument, op, loc, "negative size in ", sizes_text(sizes));
    }
    want.multiply(s);
  }
  if (Ints asked = sizes; true) {
    if (hole >= 0) asked[hole] = 1;
    if (!product_now(asked))
      fail(ErrorCode::InvalidArgument, op, loc, "sizes ", sizes_text(sizes),
           " hold more elements than 63 bits can count");
  }
  for (Int s : in) have.multiply(s);
  auto mismatch = [&] {
    fail(ErrorCode::ShapeMismatch, op, loc, "sizes ", sizes_text(sizes), " do not hold the ", product(in),
         " elements of sizes ", sizes_text(in));
  };
  bool zero = want.number == 0;
  if (hole >= 0) {
    // Even of a size that cancels: what stands for -1 is not decided by 0 elements.
    for (Int f : want.factors)
      zero = !require(detail::compare_lt(0, f, loc), "view: -1 beside a size of at least 1") || zero;
  }
  cancel(have, want);
  Ints out = sizes;
  if (hole < 0) {
    if (!same(have.value(), want.value(), loc, "view: equal number of elements") &&
        !same(product(in), product(sizes), loc, "view: equal number of elements")) {
      mismatch();
    }
    return out;
  }
  if (zero)
    fail(ErrorCode::InvalidArgument, op, loc, "-1 is ambiguous in ", sizes_text(sizes), " because another size is 0");
  Int total = have.value(), known = want.value();
  if (is_plain(known, 1)) {
    out[hole] = total;
    return out;
  }
  if (!require(detail::compare_lt(0, known, loc), "view: -1 needs other sizes of at least 1") ||
      !require(detail::compare_eq(total % known, 0, loc), "view: -1 divides evenly")) {
    mismatch();
  }
  out[hole] = total / known;
  return out;
}

/// ATen's rule: from the last dimension on, input dimensions that join up in memory form a chunk; each chunk must be
/// filled exactly by some of the new dimensions, which then take its strides. Which dimensions to try is read off the
/// hints; only the equalities that make the answer right are asked. A "no" asks that what did not join up really does
/// not, and that the new dimensions miss the chunk that they missed, because `reshape` then copies where another call
/// would alias.
std::optional<Ints> view_strides(const Layout& in, const Ints& sizes, SourceLoc loc, Strides wanted) {
  if (is_plain_list(in.sizes) && is_plain_list(in.strides) && is_plain_list(sizes))
    return strides_from_numbers(in, sizes, wanted);
  const bool all = wanted == Strides::All, asks = all;
  if (!all && known_contiguous(in)) return contiguous_strides(sizes);
  if (all && has_made_strides(in)) return made_strides(sizes);
  std::vector<Bool> apart;
  // An assumption of data would be true of the rarest calls: what is not known does not hold.
  auto holds = [&](Int a, Int b, const char* why) {
    const bool data = depends_on_data(a) || depends_on_data(b);
    if (data ? detail::compare_eq(a, b, loc).known_true() : same(a, b, loc, why)) return true;
    apart.push_back(detail::compare_eq(a, b, loc));
    return asks && ask(apart.back(), why);
  };
  auto no = [&] {
    for (const Bool& b : apart) ask(b, "reshape: copies, dimensions do not join up");
    // A dimension of size 1 joins with anything: that none became one (or ceased to be) is part of the answer.
    for (Int size : in.sizes) ask(detail::compare_eq(size, 1, loc), "reshape: copies, which dimensions are of size 1");
    ask(detail::compare_eq(product(in.sizes), 0, loc), "reshape: copies, there are elements");
    return std::nullopt;
  };
  Int elements = product(in.sizes);
  if (elements.hint() == 0 && !depends_on_data(elements) &&
      require(detail::compare_eq(elements, 0, loc), "view: no elements")) {
    bool unchanged = in.sizes.size() == sizes.size();
    for (std::size_t i = 0; unchanged && i < sizes.size(); ++i)
      unchanged = identical(in.sizes[i], sizes[i]) || (asks && ask(detail::compare_eq(in.sizes[i], sizes[i], loc),
                                                                   "view: no elements, sizes as they were"));
    return unchanged ? in.strides : all ? made_strides(sizes) : contiguous_strides(sizes);
  }
  if (asks) ask(detail::compare_eq(elements, 0, loc), "view: strides of a tensor that has elements");
  Ints out(sizes.size(), Int(1));
  if (in.dim() == 0) return out;
  int at = static_cast<int>(sizes.size()) - 1;
  Int base = in.strides.back(), chunk = 1, filled = 1;
  for (int d = in.dim() - 1; d >= 0; --d) {
    chunk = chunk * in.sizes[d];
    bool joins =
        d > 0 && (is_plain(in.sizes[d - 1], 1) || holds(in.strides[d - 1], chunk * base, "view: dimensions join up") ||
                  holds(in.sizes[d - 1], 1, "view: size 1"));
    if (joins) continue;
    std::vector<Bool> short_of;  // where the new dimensions stood when another one was taken
    auto takes_next = [&] {
      if (asks && (depends_on_data(filled) || depends_on_data(chunk)))  // the numbers seen say nothing
        return ask(detail::compare_lt(filled, chunk, loc), "view: a dimension is filled") ||
               ask(detail::compare_eq(sizes[at], 1, loc), "view: size 1");
      const bool takes = filled.hint() < chunk.hint() || (filled.hint() == chunk.hint() && sizes[at].hint() == 1);
      if (asks && !ask(detail::compare_lt(filled, chunk, loc), "view: a dimension is filled"))
        ask(detail::compare_eq(sizes[at], 1, loc), "view: size 1");
      return takes;
    };
    while (at >= 0 && takes_next()) {
      if (filled.hint() < chunk.hint()) short_of.push_back(detail::compare_lt(filled, chunk, loc));
      out[at] = filled * base;
      filled = filled * sizes[at];
      --at;
    }
    if (!holds(filled, chunk, "view: sizes fill the dimension")) {
      // They passed it in one step, or there are no more: with every step but the last short of it, no other call fills
      // it.
      apart.insert(apart.end(), short_of.begin(), short_of.end());
      apart.push_back(detail::compare_lt(filled, chunk, loc));
      return no();
    }
    if (d > 0) {
      base = in.strides[d - 1];
      chunk = 1;
      filled = 1;
    }
  }
  if (at >= 0) return no();
  return out;
}

}  // namespace reprise::graph
