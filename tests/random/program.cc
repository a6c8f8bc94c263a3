#include "tests/random/program.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "tests/support/device.h"

namespace reprise::fuzz {

std::span<const Row> all_rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (std::span<const Row> some : {math_rows(), view_rows(), write_rows(), family_rows(), data_rows()})
      all.insert(all.end(), some.begin(), some.end());
    return all;
  }();
  return rows;
}

bool Program::has(unsigned flags) const {
  return std::any_of(steps.begin(), steps.end(),
                     [&](const Step& s) { return s.row != Step::kDropped && all_rows()[s.row].flags & flags; });
}

bool Program::of_data() const {
  return std::any_of(steps.begin(), steps.end(), [](const Step& s) {
    return s.row != Step::kDropped && s.row >= all_rows().size() - data_rows().size();
  });
}

bool Program::may_be_part(unsigned i) const {
  while (i >= kPool) {
    const Step& s = steps[i - kPool];
    i = s.a;
    if (s.row == Step::kDropped) continue;
    const std::string_view text = all_rows()[s.row].text;
    for (const char* cut : {"slice(", "select(", "narrow(", "chunk(", "split(", "unbind(", "diagonal(", "unfold(",
                            "as_strided(", "resize_(", "[0]", "expand", "median(", "kthvalue("})
      if (text.find(cut) != std::string_view::npos) return true;
  }
  return false;
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

Tensor with_layout(std::mt19937& rng, int n, int m, XLayout layout) {
  switch (layout) {
    case XLayout::Plain: break;
    case XLayout::Transposed: return random_tensor(rng, {m, n}).t();
    case XLayout::Part: return random_tensor(rng, {n + 2, m + 1}).slice(0, 1, n + 1).slice(1, 1, m + 1);
    case XLayout::Stepped: return random_tensor(rng, {n, 2 * m + 1}).slice(1, 1, 2 * m + 1, 2);
    case XLayout::Expanded: return random_tensor(rng, {m}).expand({n, m});
    case XLayout::TransposedPart: return random_tensor(rng, {m, n + 2}).slice(1, 1, n + 1).t();
  }
  return random_tensor(rng, {n, m});
}

}  // namespace

std::vector<Tensor> Given::all() const {
  std::vector<Tensor> all = arguments.pool();
  all.push_back(captured);
  all.push_back(arguments.ids);
  return all;
}

Given make_arguments(const Call& call) {
  std::mt19937 rng(call.data);
  const int n = call.n, m = call.m;
  Given given;
  Arguments& a = given.arguments;
  Tensor base = random_tensor(rng, {n + 1, 2 * m});
  given.captured = random_tensor(rng, {n, m});
  switch (call.sharing) {
    case Sharing::None: a.x = with_layout(rng, n, m, call.layout), a.w = random_tensor(rng, {n, m}); break;
    case Sharing::Same: a.x = a.w = with_layout(rng, n, m, call.layout); break;
    case Sharing::Overlapping:
      a.x = base.slice(1, 0, m).slice(0, 0, n), a.w = base.slice(1, 0, m).slice(0, 1, n + 1);
      break;
    case Sharing::Disjoint:
      a.x = base.slice(1, 0, m).slice(0, 0, n), a.w = base.slice(1, m, 2 * m).slice(0, 0, n);
      break;
    case Sharing::Captured:
      a.x = given.captured = with_layout(rng, n, m, call.layout), a.w = random_tensor(rng, {n, m});
      break;
    case Sharing::CapturedPart:
      a.x = base.slice(1, 0, m).slice(0, 0, n), given.captured = base.slice(1, m, 2 * m).slice(0, 1, n + 1),
      a.w = random_tensor(rng, {n, m});
      break;
  }
  a.y = random_tensor(rng, {m, call.k});
  a.z = random_tensor(rng, {m, n}).transpose(0, 1);
  a.v = random_tensor(rng, {2 * m}).slice(0, 0, 2 * m, 2);
  switch (call.layout) {
    case XLayout::Plain:
    case XLayout::Part: a.c = random_tensor(rng, {2, n, m}); break;
    case XLayout::Transposed:
    case XLayout::TransposedPart: a.c = random_tensor(rng, {2, m, n}).transpose(1, 2); break;
    case XLayout::Stepped: a.c = random_tensor(rng, {n, 2, m}).transpose(0, 1); break;
    case XLayout::Expanded: a.c = random_tensor(rng, {n, m, 2}).permute({2, 0, 1}); break;
  }
  a.i = (random_tensor(rng, {n, m}) * 8.0).to(kInt64);
  a.m = random_tensor(rng, {n, m}) > 0.3;
  a.ids = (abs(random_tensor(rng, {n})) * 8.0).to(kInt64);
  a.n = static_cast<std::int64_t>(rng() % 5);
  if (test::test_device() != Device::cpu()) {
    const bool same = a.x.is_same(a.w), captured = a.x.is_same(given.captured);
    test::Mover move;  // some share storage
    for (Tensor* t : {&a.x, &a.y, &a.z, &a.v, &a.c, &a.i, &a.m, &a.w, &a.ids, &given.captured}) *t = move(*t);
    if (same) a.w = a.x;
    if (captured) given.captured = a.x;
  }
  return given;
}

Program random_program(std::mt19937& rng, int length, bool data) {
  Program p;
  const std::size_t others = all_rows().size() - data_rows().size();
  const std::span<const Row> rows = data ? all_rows() : all_rows().first(others);
  // Half of the programs are compared bit for bit, most others add up floats, a few compute in half precision. Every
  // other program is mostly views and writes.
  const unsigned flavour = rng() % 8;
  const bool aliasing = rng() % 2;
  std::vector<double> weights;
  // Where there are rows of data, every third step is one.
  static const bool families = std::getenv("FUZZ_FAMILIES") != nullptr;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool of_data = i >= others, of_a_family = !of_data && i >= others - family_rows().size();
    const double by_kind = families                                           ? (of_a_family ? 1 : 0.2)
                           : aliasing && !(rows[i].flags & (kView | kWrites)) ? 0.1
                                                                              : 1;
    weights.push_back(rows[i].weight * by_kind * (of_data ? 4 : 1));
  }
  std::discrete_distribution<unsigned> kinds(weights.begin(), weights.end());
  static const bool open = std::getenv("FUZZ_OPEN") != nullptr;
  auto fits = [&](const Row& r) {
    if (r.flags & kOpen && !open) return false;
    if (flavour < 4) return !(r.flags & (kSums | kHalf));
    if (flavour < 7) return !(r.flags & (kHalf | kOrders));
    return !(r.flags & (kSums | kJumps | kOrders));
  };
  // Each step is tried on one set of sizes: most programs then work on most sizes, and a few must be refused by both.
  p.square = rng() % 6 == 0;
  const bool may_fail = rng() % 16 == 0;
  const Given trial =
      make_arguments({p.square ? 5 : 3, 5, 8, Sharing::None, XLayout::Plain, static_cast<unsigned>(rng()), false});
  std::vector<Tensor> pool = trial.arguments.pool();
  pool.push_back(trial.captured);
  for (int i = 0; i < length; ++i) {
    for (int attempt = 0;; ++attempt) {
      const unsigned n = static_cast<unsigned>(pool.size());
      // Newer tensors twice as often: programs get deep. Aliasing ones stay with x and what was made of it.
      auto pick = [&]() -> unsigned {
        if (aliasing && rng() % 4 == 0) return 0;
        return rng() % 2 ? static_cast<unsigned>(rng() % n) : n - 1 - static_cast<unsigned>(rng() % std::min(n, 3u));
      };
      Step s{kinds(rng), pick(), pick(), static_cast<unsigned>(rng() % 64), static_cast<unsigned>(rng() % 64)};
      if (p.square && i == 0) {
        while (rows[s.row].text != std::string("return a + b") &&
               rows[s.row].text != std::string("return maximum(a, b)"))
          s.row = (s.row + 1) % static_cast<unsigned>(rows.size());
        s.a = 0, s.b = 2;
      }
      if (!fits(rows[s.row])) {
        --attempt;
        continue;
      }
      try {
        const Tensor a = pool[s.a], b = pool[s.b];
        Tensor made = rows[s.row].run(a, b, dim_of(a, s.q), s.number(), trial.arguments.n, trial.arguments);
        if (made.dim() > 4 || made.numel().value() > 800) continue;
        pool.push_back(made);
      } catch (const Error&) {
        if (attempt < 40 && !(may_fail && rng() % 4 == 0)) continue;
        if (attempt >= 40) s.row = Step::kDropped;
        pool.push_back(pool[s.a]);
      }
      p.steps.push_back(s);
      break;
    }
  }
  const int n = 1 + static_cast<int>(rng() % 4);
  for (int i = 0; i < n; ++i)
    p.results.push_back(static_cast<unsigned>(i == 0 ? pool.size() - 1 : rng() % pool.size()));
  return p;
}

std::vector<Call> random_calls(std::mt19937& rng, const Program& p, bool layouts) {
  static constexpr int kDims[] = {1, 2, 3, 5, 8, 17};
  auto dim = [&] { return rng() % 24 == 0 ? 0 : kDims[rng() % 6]; };
  std::vector<Call> kinds;
  for (int i = 0; i < 4; ++i) {
    Call c{dim(), dim(), dim(), Sharing::None, XLayout::Plain, 0, false};
    if (p.square && rng() % 16) c.m = c.n;
    if (rng() % 2) c.sharing = static_cast<Sharing>(rng() % 6);
    // Often that of other sizes: which of them is 1 or 0 makes no other class of it.
    if (i > 0 && rng() % 2) c.layout = kinds[0].layout;
    else if (rng() % 2) c.layout = static_cast<XLayout>(rng() % 6);
    kinds.push_back(c);
  }
  // Sizes alternate, so that each set of guards is asked of calls that it admits and of others; some calls work on what
  // the one before has left.
  std::vector<Call> calls;
  if (layouts) {
    const Sharing sharing = rng() % 3 ? Sharing::None : static_cast<Sharing>(rng() % 6);
    for (int i = 0; i < 14; ++i) {
      auto large = [&] { return rng() % 16 == 0 ? dim() : kDims[1 + rng() % 5]; };
      Call c{large(), large(), large(), sharing, static_cast<XLayout>(rng() % 6), static_cast<unsigned>(rng()), false};
      if (p.square && rng() % 16) c.m = c.n;
      calls.push_back(c);
    }
    return calls;
  }
  for (int k : {0, 0, 1, 0, 2, 1, 3, 2}) {
    Call c = kinds[static_cast<std::size_t>(k)];
    c.data = static_cast<unsigned>(rng());
    c.again = !calls.empty() && rng() % 8 == 0;
    if (c.again) {
      const unsigned data = c.data;
      c = calls.back(), c.again = true, c.data = data;
    }
    calls.push_back(c);
  }
  return calls;
}

Outcome run(const Program& p, const Arguments& args, const Tensor& captured) {
  std::vector<Tensor> pool = args.pool();
  pool.push_back(captured);
  for (const Step& s : p.steps) {
    const Tensor a = pool[s.a];
    if (s.row == Step::kDropped) {
      pool.push_back(a);
      continue;
    }
    const Tensor b = pool[s.b];
    pool.push_back(all_rows()[s.row].run(a, b, dim_of(a, s.q), s.number(), args.n, args));
  }
  Outcome o;
  for (unsigned r : p.results) o.tensors.push_back(pool[r]);
  o.number = args.n;
  for (Int s : pool.back().sizes()) o.number = o.number * 3 + s;
  return o;
}

}  // namespace reprise::fuzz
