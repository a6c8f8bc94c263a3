// Random programs of sizes that depend on data (docs/data_sizes.md), eagerly and compiled over several calls: numbers
// out of tensors as pads, bounds, lengths, repeats, and what is made of tensors that have them as sizes. Arguments have
// the sizes that make broadcasts fit, and in some calls 1 or another one. A replay may find that what was assumed does
// not hold; it must not throw where eager does not.
//
// FUZZ_PROGRAMS (2,000; an eighth of them), FUZZ_SEED (0): run more, or one again. FUZZ_DATA_REASONS=1 says why calls
// are served eagerly.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <random>

#include "base/bail.h"
#include "reprise/reprise.h"

namespace reprise::fuzz {
namespace {

struct In {
  Tensor x, z, k, ids, mask;  ///< float [a, b], int64 numbers, int64 [a] within b, bool [a]
  Tensor o;                   ///< float, of one of the sizes that a number makes
  Tensor q;                   ///< float [a]
};
/// What a step may use: a tensor and another, a number of data, a small number of the program's.
struct Row {
  const char* text;
  Tensor (*run)(const Tensor& a, const Tensor& b, Int m, int c, const In& in);
};
#define DATA_ROW(...)                                                                                        \
  Row {                                                                                                      \
#__VA_ARGS__, [](const Tensor& a, const Tensor& b, Int m, int c, const In& in) -> Tensor {                 \
        static_cast<void>(a), static_cast<void>(b), static_cast<void>(m), static_cast<void>(c), static_cast<void>(in); \
        __VA_ARGS__;                                                                                             \
      } \
  }
Tensor last(const Tensor& a) { return a.dim() ? a : a.unsqueeze(0); }
Tensor mat(const Tensor& a) { return a.dim() >= 2 ? a : last(a).unsqueeze(0); }

const Row kRows[] = {
    // What has a number of data as a size.
    DATA_ROW(return pad(last(a), {m, m})),
    DATA_ROW(return pad(last(a), {0, m}, 0.5)),
    DATA_ROW(return pad(mat(a), {c % 2, 0, m, 1})),
    DATA_ROW(return pad(last(a), {-m, m})),
    DATA_ROW(return arange(m).to(kFloat32)),
    DATA_ROW(return arange(2 * m + 1).to(kFloat32) * 0.5),
    DATA_ROW(return arange(m, m + 3).to(kFloat32)),
    DATA_ROW(return full({m, 3}, 0.25 * c)),
    DATA_ROW(return zeros({1, m}) + 1.0),
    DATA_ROW(return last(a).slice(-1, 0, m)),
    DATA_ROW(return last(a).slice(0, m)),
    DATA_ROW(return last(a).slice(-1, 0, -1)),
    DATA_ROW(return last(a).slice(0, 0, 2)),
    DATA_ROW(return last(a).narrow(-1, 0, check_size(m, 0, last(a).size(-1)))),
    DATA_ROW(return last(a).narrow(0, 1, check_size(m, 0, last(a).size(0) - 1))),
    DATA_ROW(return last(a).narrow(0, m, last(a).size(0) - m)),
    DATA_ROW(return masked_select(a, a > 0.1 * c)),
    DATA_ROW(return last(a).index({last(a).select(-1, 0) > 0.1 * c})),
    DATA_ROW(return in.x.index({in.mask})),
    DATA_ROW(return in.q.index({in.mask})),
    DATA_ROW(return in.q.index({in.q > 0.1 * c})),
    DATA_ROW(return nonzero(a > 0.1 * c).to(kFloat32)),
    DATA_ROW(return nonzero(in.mask).select(1, 0).to(kFloat32)),
    DATA_ROW(return unique((a * 4.0).to(kInt64)).values.to(kFloat32)),
    DATA_ROW(return unique(in.ids).values.to(kFloat32)),
    DATA_ROW(return repeat_interleave(last(a), clamp((last(a).select(-1, 0) * 2.0).to(kInt64), 0, 3), 0)),
    DATA_ROW(return repeat_interleave(in.x, clamp(in.ids, 0, 2), 0)),
    DATA_ROW(return repeat_interleave(in.q, in.ids, 0)),
    DATA_ROW(return last(a).unsqueeze(-1).expand({last(a).size(0), m}).mean(0)),
    DATA_ROW(return a.unsqueeze(0).expand({m, -1, -1})),
    DATA_ROW(return last(a).unsqueeze(0).repeat({m, 1})),
    // Two sizes that meet.
    DATA_ROW(return a + in.o),
    DATA_ROW(return a * b),
    DATA_ROW(return a - b.unsqueeze(0)),
    DATA_ROW(return last(a).unsqueeze(-1) + last(b).unsqueeze(0)),
    DATA_ROW(return last(a).unsqueeze(0) * in.o.unsqueeze(-1)),
    DATA_ROW(return where(a > 0.0, a, in.o)),
    DATA_ROW(return where(a > b, a, b)),
    DATA_ROW(return cat({last(a), last(b)}, 0)),
    DATA_ROW(return cat({last(a), in.o}, 0)),
    DATA_ROW(return cat({mat(a), mat(b)}, -1)),
    DATA_ROW(return maximum(a, in.o.expand_as(a))),
    DATA_ROW(return mat(a).mm(mat(b).t())),
    DATA_ROW(return matmul(mat(a), last(in.o))),
    DATA_ROW(return matmul(mat(a), mat(b))),
    DATA_ROW(return outer(last(a).reshape({-1}), in.o)),
    DATA_ROW(Tensor t = mat(a).clone(); t.select(0, 0).add_(1.0); return t),
    DATA_ROW(Tensor t = last(a).clone(); t.slice(0, 0, 1).mul_(in.o.slice(0, 0, 1)); return t),
    DATA_ROW(Tensor t = last(a).clone(); t.add_(in.o); return t),
    // What is looked up.
    DATA_ROW(return index_select(last(a), 0, clamp(in.ids, 0, last(a).size(0) - 1))),
    DATA_ROW(return last(a).index({clamp(in.ids, 0, last(a).size(0) - 1)})),
    DATA_ROW(return in.x.index_select(0, nonzero(in.mask).select(1, 0))),
    DATA_ROW(return in.q.index({nonzero(in.mask).select(1, 0)})),
    DATA_ROW(return in.x.index_select(1, in.ids.index({in.mask}))),
    DATA_ROW(return embedding(in.x, clamp(in.ids.index({in.mask}), 0, in.x.size(0) - 1))),
    DATA_ROW(return in.q.index({in.ids.index({in.mask}) - in.ids.index({in.mask})})),
    DATA_ROW(return in.x.t().index({in.ids.index({in.q > 0.1 * c})}) + 1.0),
    DATA_ROW(return last(a).gather(0, zeros({m}, {kInt64}))),
    DATA_ROW(return gather(in.x, 1, in.ids.unsqueeze(1)).index({in.mask})),
    DATA_ROW(return in.q.index({in.mask}).cumsum(0)),
    DATA_ROW(return in.x.t().index_select(0, arange(check_size(m, 0, in.x.size(1))))),
    DATA_ROW(return last(a).index({arange(last(a).size(0)) % 2 == c % 2})),
    DATA_ROW(Tensor t = in.q.clone(); t.index_put_({in.mask}, in.q.index({in.mask}) * 0.5); return t),
    DATA_ROW(Tensor t = in.x.clone(); t.index_put_({in.ids.index({in.mask}) * 0}, in.x.index({in.mask})); return t),
    DATA_ROW(Tensor t = zeros({in.x.size(0) + 1});
             t.scatter_add_(0, nonzero(in.mask).select(1, 0), in.q.index({in.mask})); return t),
    DATA_ROW(Tensor t = zeros({m + 3}); t.index_add_(0, clamp(in.ids, 0, m + 2), in.q); return t),
    DATA_ROW(return one_hot(clamp(in.ids, 0, m), m + 1).to(kFloat32)),
    // What is made of such tensors.
    DATA_ROW(return a.sum(0)),
    DATA_ROW(return a.sum()),
    DATA_ROW(return a.sum(-1, true) + a),
    DATA_ROW(return a - amax(last(a), -1, true)),
    DATA_ROW(return a.mean(-1)),
    DATA_ROW(return last(a).cumsum(0)),
    DATA_ROW(return softmax(last(a), -1)),
    DATA_ROW(return sort(last(a), -1).first),
    DATA_ROW(return mat(a).t()),
    DATA_ROW(return mat(a).transpose(0, -1).reshape({-1})),
    DATA_ROW(return a.reshape({-1})),
    DATA_ROW(return last(a).view({last(a).size(0), -1})),
    DATA_ROW(return mat(a).flatten(0, 1)),
    DATA_ROW(return last(a).flip(0)),
    DATA_ROW(return last(a).roll(m, 0)),
    DATA_ROW(return last(a).select(0, 0)),
    DATA_ROW(return last(a).select(0, m)),
    DATA_ROW(return last(a).select(-1, -1)),
    DATA_ROW(return a.squeeze()),
    DATA_ROW(return last(a).squeeze(0)),
    DATA_ROW(return last(a).unsqueeze(1)),
    DATA_ROW(return mat(a).tril()),
    DATA_ROW(return mat(a).diagonal()),
    DATA_ROW(return stack({a, a * 2.0}, 0)),
    DATA_ROW(return last(a).slice(0, 0, std::nullopt, 2)),
    DATA_ROW(return last(a).split(2, 0)[0]),
    DATA_ROW(return last(a).chunk(2, -1)[0]),
    DATA_ROW(return tanh(a) * 2.0),
    DATA_ROW(return a * m),
    DATA_ROW(return a + last(a).size(-1)),
    DATA_ROW(return a / (m + 1)),
};

/// Numbers of data.
Int number(int which, const Tensor& a, const In& in) {
  switch (which % 8) {
    case 0: return in.z.item().to_int();
    case 1: return in.k.item().to_int();
    case 2: return in.z.item().to_int() + in.k.item().to_int();
    case 3: return in.z.item().to_int() * 2 + 1;
    case 4: return in.mask.sum().item().to_int();
    case 5: return last(a).size(-1);
    case 6: return check_size(in.z.item().to_int(), 0, 4);
    default: return last(a).size(0) - 1;
  }
}

struct Step {
  unsigned row, a, b, m, c;
};
struct Program {
  std::vector<Step> steps;
  std::string text() const {
    std::string s;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& t = steps[i];
      s += "t" + std::to_string(i + 3) + ": a=t" + std::to_string(t.a) + " b=t" + std::to_string(t.b) +
           " m=" + std::to_string(t.m) + " c=" + std::to_string(t.c) + ": " + kRows[t.row].text + "\n";
    }
    return s;
  }
};
std::vector<Tensor> run(const Program& p, const In& in) {
  std::vector<Tensor> pool{in.x, in.o, in.q};
  for (const Step& s : p.steps)
    pool.push_back(kRows[s.row].run(pool[s.a], pool[s.b], number(static_cast<int>(s.m), pool[s.a], in),
                                    static_cast<int>(s.c), in));
  return {pool.back(), pool[pool.size() > 4 ? pool.size() - 2 : pool.size() - 1]};
}

struct Call {
  int a, b, z, k, o;
  unsigned data;
};
In make(const Call& c) {
  std::mt19937 rng(c.data);
  auto random = [&](std::vector<Int> sizes) {
    std::int64_t n = 1;
    for (Int s : sizes) n *= s.value();
    std::vector<float> v(static_cast<std::size_t>(n));
    for (float& f : v) f = static_cast<float>(static_cast<int>(rng() % 17) - 8) / 8.0f + 0.0625f;
    return tensor_of(v, sizes);
  };
  In in;
  in.x = random({c.a, c.b}), in.q = random({c.a});
  in.z = full({}, c.z, {kInt64}), in.k = full({}, c.k, {kInt64});
  in.ids = clamp((abs(random({c.a})) * 4.0).to(kInt64), 0, std::min(c.a, c.b) - 1);
  in.mask = random({c.a}) > 0.1;
  const int sizes[] = {c.b, 2 * c.z + 1, c.b + 2 * c.z, c.b + c.z, 1, c.z, c.z + c.k, c.a + c.z, c.k, c.a, 3};
  in.o = random({sizes[c.o % 11]});
  return in;
}

std::string difference(const Tensor& want, const Tensor& got) {
  if (want.dim() != got.dim() || want.dtype() != got.dtype()) return "another rank or dtype";
  for (int d = 0; d < want.dim(); ++d)
    if (want.size(d).value() != got.size(d).value())
      return "size " + std::to_string(d) + " is " + got.size(d).str() + ", not " + want.size(d).str();
  const std::vector<float> w = want.to(kFloat32).contiguous().to_vector<float>(),
                           g = got.to(kFloat32).contiguous().to_vector<float>();
  for (std::size_t i = 0; i < w.size(); ++i)
    if (!(std::abs(w[i] - g[i]) <= 1e-4f * std::max(1.0f, std::abs(w[i]))) && !(std::isnan(w[i]) && std::isnan(g[i])) &&
        w[i] != g[i])
      return "element " + std::to_string(i) + " is " + std::to_string(g[i]) + ", not " + std::to_string(w[i]);
  return "";
}

struct Tally {
  int compared = 0, refused = 0;
  std::map<std::string, int> fallbacks;
};

std::string check(const Program& p, const std::vector<Call>& calls, Tally& tally) {
  auto f = compile(
      [&p](Tensor x, Tensor z, Tensor k, Tensor ids, Tensor mask, Tensor o, Tensor q) {
        In in{x, z, k, ids, mask, o, q};
        return run(p, in);
      },
      {.name = "data_program", .max_specializations = 32});
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const In in = make(calls[i]);
    const std::string at = "call " + std::to_string(i) + ": ";
    std::vector<Tensor> want, got;
    bool throws = false;
    std::string told;
    try {
      want = run(p, in);
    } catch (const Error&) {
      throws = true;
    }
    const Stats before = f.stats();
    try {
      got = f(in.x, in.z, in.k, in.ids, in.mask, in.o, in.q);
    } catch (const Error& e) {
      told = e.what();
    }
    const Stats after = f.stats();
    if (throws != !told.empty()) return at + (throws ? "only eager throws" : "only compiled throws: " + told);
    if (after.eager_fallbacks != before.eager_fallbacks && !throws) {
      std::string why = "?";
      for (const Stats::Fallback& b : after.fallbacks) {
        std::int64_t had = 0;
        for (const Stats::Fallback& a : before.fallbacks)
          if (a.reason == std::string_view(b.reason)) had = a.calls;
        if (b.calls != had) why = b.reason;
      }
      ++tally.fallbacks[why];
      if (why != bail_name(Bail::asks_of_data) && why != bail_name(Bail::reads_value) &&
          why != bail_name(Bail::data_decides))
        return at + "served eagerly: " + after.last_fallback_reason;
    }
    ++(throws ? tally.refused : tally.compared);
    for (std::size_t r = 0; r < want.size(); ++r)
      if (std::string d = difference(want[r], got[r]); !d.empty()) return at + "result " + std::to_string(r) + ": " + d;
  }
  return "";
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* v = std::getenv(name);
  return v ? std::strtoull(v, nullptr, 10) : otherwise;
}

TEST(RandomDataSizes, EagerAndCompiledAgree) {
  // A check reports what is served eagerly because an assumption does not hold.
  if (std::getenv("REPRISE_CHECK")) GTEST_SKIP();
  const std::uint64_t first = from_environment("FUZZ_SEED", 0), count = from_environment("FUZZ_PROGRAMS", 2000) / 8;
  const std::uint64_t most_failures = from_environment("FUZZ_FAILURES", 3);
  const bool told = std::getenv("FUZZ_DATA_REASONS");
  Tally tally;
  std::uint64_t failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < most_failures; ++seed) {
    std::mt19937 rng(static_cast<unsigned>(seed) * 2654435761u + 17);
    auto random_call = [&] {
      return Call{1 + static_cast<int>(rng() % 5), 1 + static_cast<int>(rng() % 5), static_cast<int>(rng() % 4),
                  static_cast<int>(rng() % 4),     static_cast<int>(rng() % 11),    static_cast<unsigned>(rng())};
    };
    Call trial{3, 4, 1, 2, static_cast<int>(rng() % 11), static_cast<unsigned>(rng())};
    Program p;
    const In in = make(trial);
    const int length = 1 + static_cast<int>(rng() % 6);
    std::vector<Tensor> pool{in.x, in.o, in.q};
    while (static_cast<int>(p.steps.size()) < length) {
      const auto n = static_cast<unsigned>(pool.size());
      auto pick = [&] {
        return rng() % 3 ? n - 1 - static_cast<unsigned>(rng() % std::min(n, 2u)) : static_cast<unsigned>(rng() % n);
      };
      Step s{static_cast<unsigned>(rng() % std::size(kRows)), pick(), pick(), static_cast<unsigned>(rng() % 8),
             static_cast<unsigned>(rng() % 3)};
      try {
        Tensor made = kRows[s.row].run(pool[s.a], pool[s.b], number(static_cast<int>(s.m), pool[s.a], in),
                                       static_cast<int>(s.c), in);
        if (made.dim() > 4 || made.numel().value() > 600) continue;
        pool.push_back(made);
        p.steps.push_back(s);
      } catch (const Error&) {
      }
    }
    // Some sizes as in the trial, so that arguments fit; what the tensors hold changes from call to call.
    std::vector<Call> calls;
    for (int i = 0; i < 6; ++i) {
      Call c = random_call();
      if (rng() % 4) c.o = trial.o;
      if (rng() % 2) c.a = trial.a, c.b = trial.b;
      calls.push_back(c);
    }
    if (rng() % 2) calls.insert(calls.begin(), trial);
    std::string d = check(p, calls, tally);
    if (d.empty()) continue;
    ++failures;
    for (std::size_t i = p.steps.size(); i-- > 0;) {  // ends that are not needed
      Program fewer = p;
      fewer.steps.pop_back();
      Tally again;
      if (fewer.steps.empty() || check(fewer, calls, again).empty()) break;
      p = fewer;
    }
    for (std::size_t i = calls.size(); i-- > 0;) {
      std::vector<Call> fewer = calls;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      Tally again;
      if (!fewer.empty() && !check(p, fewer, again).empty()) calls = fewer;
    }
    Tally again;
    std::string of;
    for (const Call& c : calls)
      of += "a=" + std::to_string(c.a) + " b=" + std::to_string(c.b) + " z=" + std::to_string(c.z) +
            " k=" + std::to_string(c.k) + " o=" + std::to_string(c.o) + " data=" + std::to_string(c.data) + "\n";
    ADD_FAILURE() << "seed " << seed << ": " << d << "\nshrunk: " << check(p, calls, again) << "\n" << p.text() << of;
  }
  int eager = 0;
  for (const auto& [why, n] : tally.fallbacks) eager += n;
  std::printf("%d calls compared, %d refused by both, %d served eagerly for what depends on data\n", tally.compared,
              tally.refused, eager);
  if (told)
    for (const auto& [why, n] : tally.fallbacks) std::printf("  %s: %d\n", why.c_str(), n);
  if (count < 100) return;
  EXPECT_GT(tally.compared, 3 * eager);
  EXPECT_GT(tally.compared, 3 * tally.refused);
}

}  // namespace
}  // namespace reprise::fuzz
