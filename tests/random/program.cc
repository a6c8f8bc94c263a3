#include "tests/random/program.h"

namespace reprise::fuzz {

std::string Step::str() const {
  static const char* const names[] = {"unary", "binary", "number", "where", "reduce", "softmax", "norm", "product", "transpose", "slice", "select", "unsqueeze", "flatten",
                                      "expand", "cat", "stack", "add_", "mul_", "copy_", "fill_", "masked_fill_", "gather", "cast", "cumsum", "sort", "?"};
  return std::string(names[kind]) + "(%" + std::to_string(a) + ", %" + std::to_string(b) + ", " + std::to_string(p) + ", " + std::to_string(q) + ")";
}

std::string Program::str() const {
  std::string s = "  %0 = x [N, M], %1 = y [M, K], %2 = z [N, M] transposed, %3 = v [M] strided\n";
  for (std::size_t i = 0; i < steps.size(); ++i) s += "  %" + std::to_string(i + 4) + " = " + steps[i].str() + "\n";
  s += "  return";
  for (unsigned r : results) s += " %" + std::to_string(r);
  return s + "\n";
}

namespace {
Tensor random_tensor(std::mt19937& rng, std::vector<Int> sizes) {
  std::int64_t n = 1;
  for (Int s : sizes) n *= s.value();
  std::vector<float> values(static_cast<std::size_t>(n));
  // Few distinct values: ties happen, and sums are exact more often than not.
  for (float& f : values) f = static_cast<float>(static_cast<int>(rng() % 33) - 16) / 8.0f;
  return tensor_of(values, sizes);
}
}  // namespace

Arguments make_arguments(std::mt19937& rng, int n, int m, int k) {
  Arguments a;
  a.x = random_tensor(rng, {n, m});
  a.y = random_tensor(rng, {m, k});
  a.z = random_tensor(rng, {m, n}).transpose(0, 1);
  a.v = random_tensor(rng, {2 * m}).slice(0, 0, 2 * m, 2);
  a.ids = zeros({n}, {.dtype = kInt64});
  a.n = static_cast<std::int64_t>(rng() % 5);
  return a;
}

namespace {

Tensor unary(const Tensor& a, unsigned p) {
  switch (p % 8) {
    case 0: return -a;
    case 1: return tanh(a);
    case 2: return relu(a);
    case 3: return abs(a);
    case 4: return sigmoid(a);
    case 5: return exp(clamp(a, -4.0, 4.0));
    case 6: return sqrt(abs(a) + 1.0);
    default: return silu(a);
  }
}

Tensor binary(const Tensor& a, const Tensor& b, unsigned p) {
  switch (p % 5) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return tanh(a) * b;
    case 3: return maximum(a, b);
    default: return minimum(a, b);
  }
}

Tensor reduce(const Tensor& a, unsigned p, unsigned q) {
  if (a.dim() == 0) return a + 1.0;
  Int d = static_cast<std::int64_t>(q % static_cast<unsigned>(a.dim()));
  bool keep = q & 32;
  switch (p % 4) {
    case 0: return sum(a, {d}, keep);
    case 1: return mean(a, {d}, keep);
    case 2: return amax(a, {d}, keep);
    default: return amin(a, {d}, keep);
  }
}

Tensor slice(const Tensor& a, unsigned p, unsigned q, Int n) {
  if (a.dim() == 0) return a.unsqueeze(0);
  int d = static_cast<int>(q % static_cast<unsigned>(a.dim()));
  Int size = a.size(d);
  switch (p % 5) {
    case 0: return a.slice(d, 0, (size + 1) / 2);
    case 1: return a.slice(d, size / 2, size);
    case 2: return a.slice(d, 0, size, 2);
    case 3: return a.slice(d, Int::min(n, size - 1), size);
    default: return a.slice(d, 0, size);
  }
}

// One step; in-place steps give the tensor they wrote.
Tensor step(const Step& s, const std::vector<Tensor>& pool, const Arguments& args) {
  Tensor a = pool[s.a], b = pool[s.b];
  double c = static_cast<double>(s.p) / 32.0 - 1.0;
  int d = a.dim() ? static_cast<int>(s.q % static_cast<unsigned>(a.dim())) : 0;
  switch (s.kind) {
    case Step::Unary: return unary(a, s.p);
    case Step::Binary: return binary(a, b, s.p);
    case Step::Number: return s.q % 2 ? a * c : args.n + a * 0.5;
    case Step::Where: return where(a > b, a, b * 0.5);
    case Step::Reduce: return reduce(a, s.p, s.q);
    case Step::Softmax: return a.dim() ? softmax(a, d) : sigmoid(a);
    case Step::Norm: return a.dim() ? rms_norm(a, {a.size(-1)}, Tensor(), 1e-3) : tanh(a);
    case Step::Product: return a.dim() == 2 && b.dim() == 2 ? (s.p % 2 ? mm(tanh(a), tanh(b)) : mm(tanh(a), tanh(b).transpose(0, 1))) : tanh(a) * 2.0;
    case Step::Transpose: return a.dim() >= 2 ? a.transpose(0, a.dim() - 1) : a.unsqueeze(0);
    case Step::Slice: return slice(a, s.p, s.q, args.n);
    case Step::Select: return a.dim() >= 2 ? a.select(d, 0) : a;
    case Step::Unsqueeze: return a.dim() < 4 ? a.unsqueeze(d) : a;
    case Step::Flatten: return s.p % 2 ? a.reshape({-1}) : a.contiguous().view({-1, 1});
    case Step::Expand: return a.dim() < 4 ? a.unsqueeze(0).expand({2, -1}).clone() : a;
    case Step::Cat: return a.dim() ? cat({a, s.p % 2 ? a : a * 2.0}, d) : a;
    case Step::Stack: return a.dim() < 4 ? stack({a, a + 1.0}, d) : a;
    case Step::AddInplace: return a.add_(s.p % 3 ? (s.p % 3 == 1 ? tanh(b) : b) : Tensor(a * 0.5));
    case Step::MulInplace: return a.mul_(c);
    case Step::CopyInplace: return a.copy_(s.p % 2 ? b : b + 1.0);
    case Step::FillInplace: return a.fill_(c);
    case Step::MaskedFillInplace: return a.masked_fill_(a > c, 0.5);
    case Step::Gather: return a.dim() ? index_select(a, d, args.ids) : a;
    // Off the values that sums of eighths hit: the last bit of a sum in another order must not decide.
    case Step::Cast: return s.p % 2 ? (a * 4.0 + 0.3).to(kInt32).to(kFloat32) : (a > 0.013).to(kFloat32);
    case Step::Cumsum: return a.dim() ? cumsum(a, d) : a;
    case Step::Sort: return a.dim() ? std::get<0>(sort(a, d, s.p % 2)) : a;
    case Step::kinds: break;
  }
  return a;
}

}  // namespace

Program random_program(std::mt19937& rng, int length) {
  Program p;
  // Structure-changing steps are rarer than arithmetic, and writes come often: they are what is hard.
  static constexpr unsigned weight[Step::kinds] = {6, 8, 4, 2, 4, 2, 2, 3, 3, 5, 2, 2, 2, 1, 3, 1, 5, 4, 4, 2, 2, 2, 1, 1, 1};
  std::discrete_distribution<int> kinds(std::begin(weight), std::end(weight));
  // Each step is tried on one set of sizes: most programs then work on most sizes, and a few must be refused by both.
  Arguments trial = make_arguments(rng, 3, 5, 8);
  std::vector<Tensor> pool{trial.x, trial.y, trial.z, trial.v};
  for (int i = 0; i < length; ++i) {
    for (int attempt = 0;; ++attempt) {
      unsigned n = static_cast<unsigned>(pool.size());
      // Newer tensors twice as often: programs get deep.
      auto pick = [&] { return rng() % 2 ? static_cast<unsigned>(rng() % n) : n - 1 - static_cast<unsigned>(rng() % std::min(n, 3u)); };
      Step s{static_cast<Step::Kind>(kinds(rng)), pick(), pick(), static_cast<unsigned>(rng() % 64), static_cast<unsigned>(rng() % 64)};
      try {
        pool.push_back(step(s, pool, trial));
      } catch (const Error&) {
        if (attempt < 20) continue;
        s.kind = Step::kinds;
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

std::vector<Tensor> run(const Program& p, Arguments args) {
  std::vector<Tensor> pool{args.x, args.y, args.z, args.v};
  for (const Step& s : p.steps) pool.push_back(step(s, pool, args));
  std::vector<Tensor> results;
  for (unsigned r : p.results) results.push_back(pool[r]);
  return results;
}

}  // namespace reprise::fuzz
