// Random programs run eagerly and compiled, on sizes that change between calls: results, written arguments and aliasing
// must be the same. FUZZ_PROGRAMS, FUZZ_SEED and FUZZ_MODE run more, or one again.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>

#include "tests/random/program.h"

namespace reprise::fuzz {
namespace {

struct Sizes { int n, m, k; };

std::vector<Tensor> everything(const std::vector<Tensor>& results, const Arguments& a) {
  std::vector<Tensor> all = results;
  for (const Tensor& t : {a.x, a.y, a.z, a.v}) all.push_back(t);
  return all;
}

// Float32 pointwise results are equal bit for bit; reductions in fused kernels may be added up in another order.
std::string difference(const std::vector<Tensor>& want, const std::vector<Tensor>& got) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (want[i].dim() != got[i].dim()) return "tensor " + std::to_string(i) + ": ranks differ";
    for (int d = 0; d < want[i].dim(); ++d)
      if (want[i].size(d).value() != got[i].size(d).value()) return "tensor " + std::to_string(i) + ": sizes differ";
    std::vector<double> w = want[i].to_vector<double>(), g = got[i].to_vector<double>();
    double scale = 1;
    for (double v : w)
      if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    for (std::size_t j = 0; j < w.size(); ++j) {
      bool same = w[j] == g[j] || (std::isnan(w[j]) && std::isnan(g[j])) || std::abs(w[j] - g[j]) <= 2e-5 * scale;
      if (!same) return "tensor " + std::to_string(i) + " element " + std::to_string(j) + ": eager " + std::to_string(w[j]) + ", compiled " + std::to_string(g[j]);
    }
  }
  return "";
}

/// Empty when eager and compiled agree; otherwise what differs.
struct Tally { std::int64_t fallbacks = 0, compared = 0, refused = 0; };
std::string check(const Program& p, std::uint64_t seed, const std::string& mode, Tally* tally = nullptr) {
  static constexpr int kDims[] = {1, 2, 3, 5, 8, 17};
  std::mt19937 rng(static_cast<unsigned>(seed * 2654435761u + 1));
  auto f = compile([&p](Arguments a) { return run(p, a); }, {.name = "random", .mode = mode});
  auto dim = [&] { return kDims[rng() % 6]; };
  for (int round = 0; round < 3; ++round) {
    Sizes s{dim(), dim(), dim()};
    for (int again = 0; again < 2; ++again) {
      unsigned data = static_cast<unsigned>(rng());
      std::mt19937 one(data), two(data);
      Arguments a = make_arguments(one, s.n, s.m, s.k), b = make_arguments(two, s.n, s.m, s.k);
      std::vector<Tensor> want, got;
      std::optional<ErrorCode> want_error, got_error;
      std::string at = "N=" + std::to_string(s.n) + " M=" + std::to_string(s.m) + " K=" + std::to_string(s.k) + " call " + std::to_string(again) + ": ";
      try {
        want = run(p, a);
      } catch (const Error& e) {
        want_error = e.code();
      }
      try {
        got = f(b);
      } catch (const Error& e) {
        got_error = e.code();
        if (!want_error) return at + "only compiled throws: " + e.what();
      }
      if (want_error && !got_error) return at + "only eager throws";
      if (want_error) {
        // A program that fails half-way has written some arguments eagerly; compiled, none of them. Nothing more to compare.
        if (tally) ++tally->refused;
        continue;
      }
      if (std::string d = difference(everything(want, a), everything(got, b)); !d.empty()) return at + d;
      if (tally) ++tally->compared;
      // Who shares memory with whom must agree too: a write to a result shows in the same places.
      for (std::size_t i = 0; i < want.size(); ++i) {
        try {
          want[i].add_(1.0);
        } catch (const Error&) {  // an expanded result cannot be written, then neither can the other
          EXPECT_THROW(got[i].add_(1.0), Error);
          continue;
        }
        got[i].add_(1.0);
        if (std::string d = difference(everything(want, a), everything(got, b)); !d.empty()) return at + "after a write to result " + std::to_string(i) + ": " + d;
      }
    }
  }
  if (tally) tally->fallbacks += f.stats().eager_fallbacks;
  return "";
}

/// Drops steps (a dropped one gives its operand) while the program still fails.
Program shrink(Program p, std::uint64_t seed, const std::string& mode) {
  for (std::size_t i = p.steps.size(); i-- > 0;) {
    Program smaller = p;
    smaller.steps[i].kind = Step::kinds;
    try {
      if (!check(smaller, seed, mode).empty()) p = smaller;
    } catch (const std::exception&) {
      p = smaller;
    }
  }
  return p;
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* v = std::getenv(name);
  return v ? std::strtoull(v, nullptr, 10) : otherwise;
}

TEST(RandomPrograms, EagerAndCompiledAgree) {
  std::uint64_t first = from_environment("FUZZ_SEED", 0), count = from_environment("FUZZ_PROGRAMS", 2000);
  // Every fourth program through machine code, the others through the cheaper ladders that share tracing, guards, lowering
  // and epilogues with it.
  static const char* const modes[] = {"full", "interpret", "no-fuse", "interpret"};
  Tally tally;
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 3; ++seed) {
    std::mt19937 rng(static_cast<unsigned>(seed));
    Program p = random_program(rng, 3 + static_cast<int>(seed % 9));
    const char* forced = std::getenv("FUZZ_MODE");
    std::string mode = forced ? forced : modes[seed % 4];
    std::string d = check(p, seed, mode, &tally);
    if (d.empty()) continue;
    ++failures;
    Program small = shrink(p, seed, mode);
    ADD_FAILURE() << "seed " << seed << " mode " << mode << ": " << d << "\n" << p.str() << "shrunk (dropped steps are '?'): " << check(small, seed, mode) << "\n" << small.str();
  }
  std::printf("%lld calls compared, %lld refused by both, %lld served eagerly\n", static_cast<long long>(tally.compared), static_cast<long long>(tally.refused),
              static_cast<long long>(tally.fallbacks));
  // A generator that writes nonsense, or a compiler that gives up, would make this test pass for nothing.
  EXPECT_GT(tally.compared, 3 * tally.refused);
  EXPECT_LT(10 * tally.fallbacks, tally.compared);
}

}  // namespace
}  // namespace reprise::fuzz
