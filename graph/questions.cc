#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/errors.h"
#include "graph/data_answers.h"
#include "graph/shape_rules.h"
#include "guards/shape_env.h"

namespace reprise::graph {

bool ask(const Bool& b, const char* why) {
  if (!b.is_symbolic()) return static_cast<bool>(b);
  guards::LibraryScope operators;
  return b.living()->env().decide(b.expr(), b.where(), why);
}

bool require(const Bool& b, const char* why) {
  if (!b.is_symbolic()) return static_cast<bool>(b);
  return b.living()->env().require(b.expr(), b.where(), why);
}

bool data_decides(const Bool& b) { return b.is_symbolic() && b.living()->env().leaves_open(b.expr()); }

bool same(Int a, Int b, SourceLoc loc, const char* why) {
  return identical(a, b) || require(detail::compare_eq(a, b, loc), why);
}

std::optional<std::vector<Bool>> apart_conditions(const Ints& sizes, const Ints& strides, SourceLoc loc) {
  guards::LibraryScope exact;
  std::vector<Bool> out;
  for (Int s : sizes)
    if (s.hint() == 0) {
      if (s.is_symbolic()) out.push_back(detail::compare_eq(s, 0, loc));
      return out;
    }
  std::vector<std::size_t> dims(sizes.size());
  std::iota(dims.begin(), dims.end(), std::size_t{0});
  std::stable_sort(dims.begin(), dims.end(),
                   [&](std::size_t a, std::size_t b) { return strides[a].hint() < strides[b].hint(); });
  Int below = 0;  // where the last element of the dimensions so far stands
  for (std::size_t d : dims) {
    if (is_plain(sizes[d], 1)) continue;
    Bool over = detail::compare_lt(below, strides[d], loc);
    if (over.hint()) {
      if (over.is_symbolic()) out.push_back(over);
      below = below + (sizes[d] - 1) * strides[d];
    } else if (sizes[d].hint() == 1) {
      out.push_back(detail::compare_eq(sizes[d], 1, loc));
    } else {
      return std::nullopt;
    }
  }
  return out;
}

namespace {
/// Each stride is known to be a multiple of the next smaller one, by at least that dimension's size, as in a part of
/// what stands row by row. Sums of products, which the conditions are about, are proved more rarely.
bool strides_nest(const Ints& sizes, const Ints& strides) {
  guards::LibraryScope exact;
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (!is_plain(sizes[d], 1)) dims.push_back(d);
  std::stable_sort(dims.begin(), dims.end(),
                   [&](std::size_t a, std::size_t b) { return strides[a].hint() < strides[b].hint(); });
  if (dims.empty() || !detail::compare_le(1, strides[dims[0]], {}).known_true()) return dims.empty();
  for (std::size_t i = 1; i < dims.size(); ++i) {
    const Int inner = strides[dims[i - 1]], outer = strides[dims[i]];
    const Int steps = identical(inner, Int(1)) ? outer : inner.hint() == 0 ? Int(0) : outer / inner;
    if (!identical(steps * inner, outer) || !detail::compare_le(sizes[dims[i - 1]], steps, {}).known_true())
      return false;
  }
  return true;
}
}  // namespace

bool known_apart(const Ints& sizes, const Ints& strides) {
  auto conditions = apart_conditions(sizes, strides, {});
  if (conditions && std::all_of(conditions->begin(), conditions->end(), [](const Bool& b) { return b.known_true(); }))
    return true;
  return strides_nest(sizes, strides);
}

Int count_steps(Int n, Int step) {
  // A step that leads out of any tensor: x.slice(0, 0, n, INT64_MAX).
  if (!step.is_symbolic() && n.is_symbolic() && step.hint() >= std::int64_t{1} << 62 &&
      detail::compare_le(n, step, {}).known_true())
    return Int::min(n, 1);
  return Int::ceil_div(n, step);
}

namespace {
bool fits(Int result, const char* why) {
  guards::ShapeEnv& env = result.living()->env();
  const guards::Expr* args[] = {result.expr()};
  return env.decide(env.make(guards::ExprKind::Fits, args), {}, why);
}
}  // namespace

bool product_fits(Int a, Int b, const char* why) {
  if (std::int64_t ignored; !a.is_symbolic() && !b.is_symbolic())
    return !__builtin_mul_overflow(a.hint(), b.hint(), &ignored);
  guards::LibraryScope exact;
  Int product = a * b;
  std::int64_t ignored;
  return product.is_symbolic() ? fits(product, why) : !__builtin_mul_overflow(a.hint(), b.hint(), &ignored);
}

bool difference_fits(Int a, Int b, const char* why) {
  if (std::int64_t ignored; !a.is_symbolic() && !b.is_symbolic())
    return !__builtin_sub_overflow(a.hint(), b.hint(), &ignored);
  if (is_plain(b, INT64_MIN)) return ask(detail::compare_lt(a, 0, {}), why);
  guards::LibraryScope exact;
  Int difference = a - b;
  std::int64_t ignored;
  return difference.is_symbolic() ? fits(difference, why) : !__builtin_sub_overflow(a.hint(), b.hint(), &ignored);
}

std::optional<std::int64_t> product_now(const Ints& sizes) {
  std::int64_t n = 1;
  bool fits = true;
  for (Int s : sizes) {
    if (depends_on_data(s)) continue;
    if (s.hint() == 0) return 0;
    fits = !__builtin_mul_overflow(n, s.hint(), &n) && fits;
  }
  return fits ? std::optional(n) : std::nullopt;
}

bool depends_on_data(const Int& i) { return i.is_symbolic() && i.living()->env().of_data(i.expr()); }
bool answered(const Bool& b) { return answer_of(b).value_or(false); }

std::optional<bool> answer_of(const Bool& b) {
  if (b.is_symbolic() && b.living()->env().of_data(b.expr())) return b.living()->env().prove(b.expr());
  return b.hint();
}

std::string sizes_text(const Ints& sizes) {
  std::string s = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) s += (i ? ", " : "") + sizes[i].str();
  return s + "]";
}

namespace {

/// Beside a number that depends on data, of which nobody knows whether it is the other's: a size that is 1 in this call
/// stays so.
bool is_one_beside(Int i, Int other, SourceLoc loc) {
  return !depends_on_data(i) && depends_on_data(other) && i.hint() == 1 &&
         require(detail::compare_eq(i, 1, loc), "broadcast of size 1");
}

/// One dimension of a broadcast. Equal first, then "is it 1?". A plain 1 gives way without a question, and which
/// question to ask is read off the hints: the one that is asked is enough for the result to be right.
Int broadcast_dim(Int a, Int b, bool& fits, SourceLoc loc) {
  if (identical(a, b) || is_plain(b, 1)) return a;
  if (is_plain(a, 1)) return b;
  if (is_one_beside(a, b, loc)) return b;
  if (is_one_beside(b, a, loc)) return a;
  if (require(detail::compare_eq(a, b, loc), "broadcast: equal sizes")) return b.is_symbolic() ? a : b;
  if (require(detail::compare_eq(a, 1, loc), "broadcast of size 1")) return b;
  if (require(detail::compare_eq(b, 1, loc), "broadcast of size 1")) return a;
  fits = false;
  return a;
}

}  // namespace

Ints broadcast(const Ints& a, const Ints& b, const char* op, SourceLoc loc) {
  const Ints& longer = a.size() >= b.size() ? a : b;
  const Ints& shorter = a.size() >= b.size() ? b : a;
  Ints out = longer;
  std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    bool fits = true;
    out[lead + i] = broadcast_dim(a[a.size() - shorter.size() + i], b[b.size() - shorter.size() + i], fits, loc);
    if (!fits) {
      fail(ErrorCode::ShapeMismatch, op, loc, "sizes ", sizes_text(a), " and ", sizes_text(b),
           " do not broadcast: ", a[a.size() - shorter.size() + i], " and ", b[b.size() - shorter.size() + i],
           " at dimension ", lead + i, " differ and neither is 1");
    }
  }
  return out;
}

void check_expandable(const Ints& src, const Ints& target, const char* op, SourceLoc loc) {
  bool fits = src.size() <= target.size();
  for (std::size_t i = 0; fits && i < src.size(); ++i) {
    Int s = src[i], t = target[target.size() - src.size() + i];
    if (identical(s, t) || is_plain(s, 1) || is_one_beside(s, t, loc)) continue;
    fits = require(detail::compare_eq(s, t, loc), "broadcast: equal sizes") ||
           require(detail::compare_eq(s, 1, loc), "broadcast of size 1");
  }
  if (!fits)
    fail(ErrorCode::ShapeMismatch, op, loc, "sizes ", sizes_text(src), " do not broadcast to ", sizes_text(target));
}

std::vector<int> reduced_dims(const RuleArg& arg, int rank, const char* op, SourceLoc loc) {
  std::vector<int> dims;
  const Ints* given = std::get_if<Ints>(&arg);
  if (const Int* one = std::get_if<Int>(&arg)) {
    dims.push_back(wrap_dim(one->value(loc), rank, op, loc));
  } else if (given && !given->empty()) {
    for (Int d : *given) dims.push_back(wrap_dim(d.value(loc), rank, op, loc));
    std::sort(dims.begin(), dims.end());
    if (auto twice = std::adjacent_find(dims.begin(), dims.end()); twice != dims.end()) {
      fail(ErrorCode::InvalidArgument, op, loc, "dimension ", *twice, " appears twice in ", sizes_text(*given));
    }
  } else {
    for (int d = 0; d < rank; ++d) dims.push_back(d);
  }
  if (rank == 0) dims.clear();
  return dims;
}

Ints reduced_sizes(const Ints& sizes, const std::vector<int>& dims, bool keepdim) {
  Ints out;
  std::size_t next = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (next < dims.size() && dims[next] == static_cast<int>(d)) {
      ++next;
      if (keepdim) out.push_back(1);
    } else {
      out.push_back(sizes[d]);
    }
  }
  return out;
}

Device device_from_name(std::string_view name, SourceLoc loc) {
  if (name == "cpu") return Device::cpu();
  if (name == "null") return Device::null();
  if (name == "shape_only") return Device::shape_only();
  if (name == "cuda") return Device::cuda(0);
  if (name.starts_with("cuda:") && name.size() > 5) {
    std::uint8_t index = 0;
    auto [end, error] = std::from_chars(name.data() + 5, name.data() + name.size(), index);
    if (error == std::errc{} && end == name.data() + name.size()) return Device::cuda(index);
  }
  fail(ErrorCode::InvalidArgument, "device", loc, "unknown device '", name,
       "' (wanted cpu, cuda:<n>, null or shape_only)");
}

}  // namespace reprise::graph
