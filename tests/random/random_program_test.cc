// Random programs run eagerly and compiled, on sizes that change between calls: results, written arguments, errors and
// aliasing must be the same. FUZZ_PROGRAMS, FUZZ_SEED and FUZZ_MODE run more, or one again.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>

#include "tests/random/program.h"

namespace reprise::fuzz {
namespace {

std::vector<Tensor> everything(const Outcome& o, const Arguments& a) {
  std::vector<Tensor> all = o.tensors;
  for (const Tensor& t : a.pool()) all.push_back(t);
  return all;
}

// How far a float may be off, relative to the largest of its tensor. Fused reductions may be added up in another order;
// everything else is equal bit for bit, but for half precision, where a fused chain keeps float32 between its operators,
// and the reference interpreter, which takes tanh and the like from the C library.
double tolerance(const Program& p, const std::string& mode) {
  return p.sums() ? 2e-5 : p.has(Step::k_half) ? 2e-2 : mode == "interpret" ? 2e-6 : 0;
}

std::string difference(const std::vector<Tensor>& want, const std::vector<Tensor>& got, double tolerance) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    std::string at = "tensor " + std::to_string(i);
    if (want[i].dtype() != got[i].dtype()) return at + ": eager " + std::string(dtype_name(want[i].dtype())) + ", compiled " + std::string(dtype_name(got[i].dtype()));
    if (want[i].dim() != got[i].dim()) return at + ": ranks differ";
    for (int d = 0; d < want[i].dim(); ++d)
      if (want[i].size(d).value() != got[i].size(d).value()) return at + ": sizes differ";
    std::vector<double> w = want[i].to_vector<double>(), g = got[i].to_vector<double>();
    double scale = 1;
    for (double v : w)
      if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    double allowed = is_floating(want[i].dtype()) ? tolerance * scale : tolerance >= 1e-2 ? 1 : 0;  // rounded to an integer beside the halfway point
    for (std::size_t j = 0; j < w.size(); ++j) {
      bool same = w[j] == g[j] || (std::isnan(w[j]) && std::isnan(g[j])) || std::abs(w[j] - g[j]) <= allowed;
      if (!same) return at + " element " + std::to_string(j) + ": eager " + std::to_string(w[j]) + ", compiled " + std::to_string(g[j]) + ", apart by " + std::to_string(std::abs(w[j] - g[j]) / scale);
    }
  }
  return "";
}

void change(const Tensor& t) {
  if (t.dtype() == kBool) t.logical_not_();
  else t.add_(1);
}

struct Tally { std::int64_t fallbacks = 0, compared = 0, refused = 0, compilations = 0; };

/// One call, eager and compiled, on equal arguments. Empty when they agree; otherwise what differs.
template <class F>
std::string check_call(const Program& p, F& f, double allowed, unsigned data, int n, int m, int k, Sharing sharing, Tally& tally) {
  auto arguments = [&] {
    std::mt19937 rng(data);
    return make_arguments(rng, n, m, k, sharing);
  };
  Arguments a = arguments(), b = arguments();
  Outcome want, got;
  std::optional<ErrorCode> want_error, got_error;
  try {
    want = run(p, a);
  } catch (const Error& e) {
    want_error = e.code();
  }
  std::int64_t fallbacks = f.stats().eager_fallbacks;
  try {
    got = f(b);
  } catch (const Error& e) {
    got_error = e.code();
    if (!want_error) return std::string("only compiled throws: ") + e.what();
  }
  if (want_error && !got_error) return "only eager throws";
  if (want_error) {
    ++tally.refused;
    // An index out of range shows only when the program runs; compiled, a later mistake in shapes comes first.
    // Of one operator's two mistakes eager reports the write to an expanded tensor first, compiled the sizes.
    if (*want_error != *got_error && *want_error != ErrorCode::IndexOutOfRange && *want_error != ErrorCode::AliasConflict) return "eager throws " + std::string(error_code_name(*want_error)) + ", compiled " + std::string(error_code_name(*got_error));
    // A program that fails half-way has written some arguments eagerly; compiled, none of them.
    std::string d = f.stats().eager_fallbacks == fallbacks ? difference(everything({}, arguments()), everything({}, b), 0) : "";
    return d.empty() ? d : "after an error, argument " + d;
  }
  if (std::string d = difference(everything(want, a), everything(got, b), allowed); !d.empty()) return d;
  if (want.number.value() != got.number.value()) return "number: eager " + want.number.str() + ", compiled " + got.number.str();
  ++tally.compared;
  // Who shares memory with whom must agree too: a write to a result shows in the same places.
  for (std::size_t i = 0; i < want.tensors.size(); ++i) {
    try {
      change(want.tensors[i]);
    } catch (const Error&) {  // an expanded result cannot be written, then neither can the other
      try {
        change(got.tensors[i]);
      } catch (const Error&) {
        continue;
      }
      return "result " + std::to_string(i) + " can be written only compiled";
    }
    change(got.tensors[i]);
    if (std::string d = difference(everything(want, a), everything(got, b), allowed); !d.empty()) return "after a write to result " + std::to_string(i) + ": " + d;
  }
  return "";
}

std::string check(const Program& p, std::uint64_t seed, const std::string& mode, Tally& tally) {
  static constexpr int kDims[] = {1, 2, 3, 5, 8, 17};
  std::mt19937 rng(static_cast<unsigned>(seed * 2654435761u + 1));
  auto f = compile([&p](Arguments a) { return run(p, a); }, {.name = "random", .mode = mode});
  auto dim = [&] { return kDims[rng() % 6]; };
  for (int round = 0; round < 4; ++round) {
    int n = dim(), m = dim(), k = dim();
    if (p.square && rng() % 16) m = n;
    Sharing sharing = rng() % 2 ? Sharing::None : static_cast<Sharing>(rng() % 4);
    // One handle given twice has one shape; inside the function its two parameters are two handles.
    if (sharing == Sharing::Same && p.has(Step::k_t_)) sharing = Sharing::Overlapping;
    for (int again = 0; again < 2; ++again)
      if (std::string d = check_call(p, f, tolerance(p, mode), static_cast<unsigned>(rng()), n, m, k, sharing, tally); !d.empty())
        return "N=" + std::to_string(n) + " M=" + std::to_string(m) + " K=" + std::to_string(k) + " sharing " + std::to_string(static_cast<int>(sharing)) + " call " +
               std::to_string(again) + ": " + d;
  }
  Stats s = f.stats();
  tally.fallbacks += s.eager_fallbacks;
  tally.compilations += s.compilations;
  // The fall-backs that programs have a right to: a written argument that shares memory with another, and as_strided
  // (here in unfold) of an argument that shows a part of its storage; a write to a part of an expanded tensor.
  auto because = [&](const char* word) { return s.last_fallback_reason.find(word) != std::string::npos; };
  if (s.eager_fallbacks && !because("overlaps") && !because("as_strided") && !because("expanded")) return "served eagerly: " + s.last_fallback_reason;
  return "";
}

/// Drops steps (a dropped one gives its operand) and results while the program still fails.
Program shrink(Program p, std::uint64_t seed, const std::string& mode) {
  auto fails = [&](const Program& q) {
    Tally tally;
    try {
      return !check(q, seed, mode, tally).empty();
    } catch (const std::exception&) {
      return true;
    }
  };
  for (std::size_t i = p.steps.size(); i-- > 0;) {
    Program smaller = p;
    smaller.steps[i].kind = Step::dropped;
    if (fails(smaller)) p = smaller;
  }
  while (p.results.size() > 1) {
    Program smaller = p;
    smaller.results.pop_back();
    if (!fails(smaller)) break;
    p = smaller;
  }
  return p;
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* v = std::getenv(name);
  return v ? std::strtoull(v, nullptr, 10) : otherwise;
}

TEST(RandomPrograms, EagerAndCompiledAgree) {
  std::uint64_t first = from_environment("FUZZ_SEED", 0), count = from_environment("FUZZ_PROGRAMS", 2000);
  // Half of the programs through machine code, the others through the cheaper ladders that share tracing, guards, lowering
  // and epilogues with it.
  static const char* const modes[] = {"full", "interpret", "full", "no-fuse"};
  const char* forced = std::getenv("FUZZ_MODE");
  Tally tally;
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 3; ++seed) {
    std::mt19937 rng(static_cast<unsigned>(seed));
    Program p = random_program(rng, 3 + static_cast<int>(seed % 9));
    std::string mode = forced ? forced : modes[seed % 4];
    std::string d = check(p, seed, mode, tally);
    if (d.empty()) continue;
    ++failures;
    Program small = shrink(p, seed, mode);
    Tally again;
    ADD_FAILURE() << "seed " << seed << " mode " << mode << ": " << d << "\n" << p.str() << "shrunk (dropped steps are '?'): " << check(small, seed, mode, again) << "\n" << small.str();
  }
  std::printf("%lld calls compared, %lld refused by both, %lld served eagerly, %lld compilations\n", static_cast<long long>(tally.compared),
              static_cast<long long>(tally.refused), static_cast<long long>(tally.fallbacks), static_cast<long long>(tally.compilations));
  // A generator that writes nonsense, or a compiler that gives up, would make this test pass for nothing.
  EXPECT_GT(tally.compared, 3 * tally.refused);
  EXPECT_LT(5 * tally.fallbacks, tally.compared);
}

}  // namespace
}  // namespace reprise::fuzz
