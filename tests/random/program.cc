#include "tests/random/program.h"

#include "tests/random/steps.h"
#include "tests/support/device.h"

namespace reprise::fuzz {

std::string Step::str() const {
#define REPRISE_STEP(name, weight) #name,
  static const char* const names[] = {REPRISE_FUZZ_STEPS(REPRISE_STEP) "?"};
#undef REPRISE_STEP
  return std::string(names[kind]) + "(%" + std::to_string(a) + ", %" + std::to_string(b) + ", " + std::to_string(p) + ", " + std::to_string(q) + ")";
}

std::string Program::str() const {
  std::string s = "  %0 = x [N, M], %1 = y [M, K], %2 = z [N, M] transposed, %3 = v [M] strided, %4 = c [2, N, M], %5 = i int64 [N, M], %6 = m bool [N, M], %7 = w [N, M]\n";
  for (std::size_t i = 0; i < steps.size(); ++i) s += "  %" + std::to_string(i + Arguments::kPool) + " = " + steps[i].str() + "\n";
  s += "  return";
  for (unsigned r : results) s += " %" + std::to_string(r);
  return s + "\n";
}

bool Program::has(Step::Kind k) const {
  for (const Step& s : steps)
    if (s.kind == k) return true;
  return false;
}

namespace {
bool adds_up(Step::Kind k) {
  switch (k) {
    case Step::k_reduce: case Step::k_softmax: case Step::k_norm: case Step::k_product: case Step::k_batched: case Step::k_attention: case Step::k_cumsum: return true;
    default: return false;
  }
}

// Does a small change of an operand make a large one of the result?
bool jumps(const Step& s) {
  switch (s.kind) {
    case Step::k_compare: case Step::k_logical: case Step::k_where: case Step::k_integer: case Step::k_cast: case Step::k_truncate: case Step::k_argmax:
    case Step::k_masked_fill_: case Step::k_extreme: case Step::k_gather: return true;
    case Step::k_unary: return s.p % 12 == 7 || s.p % 12 == 8;
    default: return false;
  }
}

Tensor random_tensor(std::mt19937& rng, std::vector<Int> sizes) {
  std::int64_t n = 1;
  for (Int s : sizes) n *= s.value();
  std::vector<float> values(static_cast<std::size_t>(n));
  // Few distinct values: ties happen, and sums are exact more often than not.
  for (float& f : values) f = static_cast<float>(static_cast<int>(rng() % 33) - 16) / 8.0f;
  return tensor_of(values, sizes);
}
}  // namespace

bool Program::sums() const {
  for (const Step& s : steps)
    if (adds_up(s.kind)) return true;
  return false;
}

Arguments make_arguments(std::mt19937& rng, int n, int m, int k, Sharing sharing) {
  Arguments a;
  Tensor base = random_tensor(rng, {n + 1, 2 * m});
  switch (sharing) {
    case Sharing::None: a.x = random_tensor(rng, {n, m}), a.w = random_tensor(rng, {n, m}); break;
    case Sharing::Same: a.x = a.w = random_tensor(rng, {n, m}); break;
    case Sharing::Overlapping: a.x = base.slice(1, 0, m).slice(0, 0, n), a.w = base.slice(1, 0, m).slice(0, 1, n + 1); break;
    case Sharing::Disjoint: a.x = base.slice(1, 0, m).slice(0, 0, n), a.w = base.slice(1, m, 2 * m).slice(0, 0, n); break;
  }
  a.y = random_tensor(rng, {m, k});
  a.z = random_tensor(rng, {m, n}).transpose(0, 1);
  a.v = random_tensor(rng, {2 * m}).slice(0, 0, 2 * m, 2);
  a.c = random_tensor(rng, {2, n, m});
  a.i = (random_tensor(rng, {n, m}) * 8.0).to(kInt64);
  a.m = random_tensor(rng, {n, m}) > 0.3;
  a.ids = (abs(random_tensor(rng, {n})) * 8.0).to(kInt64);
  a.n = static_cast<std::int64_t>(rng() % 5);
  test::Mover move;  // x and w may share storage
  for (Tensor* t : {&a.x, &a.y, &a.z, &a.v, &a.c, &a.i, &a.m, &a.w, &a.ids}) *t = move(*t);
  return a;
}

Program random_program(std::mt19937& rng, int length) {
  Program p;
#define REPRISE_STEP(name, weight) weight,
  static constexpr unsigned weight[Step::dropped] = {REPRISE_FUZZ_STEPS(REPRISE_STEP)};
#undef REPRISE_STEP
  std::discrete_distribution<int> kinds(std::begin(weight), std::end(weight));
  // Half of the programs are compared bit for bit, most others add up floats, a few compute in half precision.
  unsigned flavour = rng() % 8;
  auto fits = [&](const Step& s) {
    if (flavour < 4) return !adds_up(s.kind) && s.kind != Step::k_half;
    if (flavour < 7) return s.kind != Step::k_half;
    return !adds_up(s.kind) && !jumps(s);
  };
  // Each step is tried on one set of sizes: most programs then work on most sizes, and a few must be refused by both.
  p.square = rng() % 6 == 0;
  Arguments trial = make_arguments(rng, p.square ? 5 : 3, 5, 8, Sharing::None);
  std::vector<Tensor> pool = trial.pool();
  for (int i = 0; i < length; ++i) {
    for (int attempt = 0;; ++attempt) {
      unsigned n = static_cast<unsigned>(pool.size());
      // Newer tensors twice as often: programs get deep.
      auto pick = [&] { return rng() % 2 ? static_cast<unsigned>(rng() % n) : n - 1 - static_cast<unsigned>(rng() % std::min(n, 3u)); };
      Step s{static_cast<Step::Kind>(kinds(rng)), pick(), pick(), static_cast<unsigned>(rng() % 64), static_cast<unsigned>(rng() % 64)};
      if (p.square && i == 0) s.kind = Step::k_symmetric, s.a = rng() % 2 ? 0 : 2;
      if (!fits(s)) {
        --attempt;
        continue;
      }
      try {
        pool.push_back(run_step(s, pool, trial));
      } catch (const Error&) {
        if (attempt < 40) continue;
        s.kind = Step::dropped;
        pool.push_back(pool[s.a]);
      }
      p.steps.push_back(s);
      break;
    }
  }
  int n = 1 + static_cast<int>(rng() % 3);
  for (int i = 0; i < n; ++i) p.results.push_back(static_cast<unsigned>(i == 0 ? pool.size() - 1 : rng() % pool.size()));
  return p;
}

Outcome run(const Program& p, Arguments args) {
  std::vector<Tensor> pool = args.pool();
  for (const Step& s : p.steps) pool.push_back(run_step(s, pool, args));
  Outcome o;
  for (unsigned r : p.results) o.tensors.push_back(pool[r]);
  o.number = args.n;
  for (Int s : pool.back().sizes()) o.number = o.number * 3 + s;
  return o;
}

}  // namespace reprise::fuzz
