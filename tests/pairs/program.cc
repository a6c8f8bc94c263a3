#include "tests/pairs/program.h"

#include <algorithm>

#include "reprise/wrapper.h"
#include "tests/support/device.h"

namespace reprise::pairs {

namespace {

std::vector<float> values(std::size_t count, std::mt19937& rng) {
  std::vector<float> v(count);
  for (float& f : v) f = static_cast<float>(static_cast<int>(rng() % 33) - 16) / 8.0f;
  return v;
}
Tensor floats(const Ints& sizes, std::mt19937& rng) {
  std::int64_t count = 1;
  for (const Int& s : sizes) count *= s.value();
  return tensor_of(values(static_cast<std::size_t>(count), rng), sizes).to(test::test_device());
}

template <class Rows>
unsigned draw(std::mt19937& rng, const Rows& rows) {
  int total = 0;
  for (const auto& r : rows) total += r.weight;
  int at = static_cast<int>(rng() % static_cast<unsigned>(total));
  for (unsigned i = 0; i < rows.size(); ++i)
    if ((at -= rows[i].weight) < 0) return i;
  return 0;
}

Tensor run_step(const Step& s, Frame& f, const Tensor& a, const Tensor& b) {
  const double c = static_cast<double>(s.number) / 32.0 - 1.0;
  const Inner inner = [&](const Tensor& p, const Tensor& q) {
    return s.row == Step::kNone ? p : features()[s.feature].rows[s.row].run(f, p, q, c, static_cast<int>(s.dim));
  };
  if (s.wrap == Step::kNone) return inner(a, b);
  return features()[s.wrap_feature].wraps[s.wrap].run(f, a, b, inner);
}

bool uses_variables(const Step& s) {
  auto names = [](const char* text) { return std::string(text).find("var.") != std::string::npos; };
  return names(features()[s.feature].rows[s.row].text) ||
         (s.wrap != Step::kNone && names(features()[s.wrap_feature].wraps[s.wrap].text));
}

unsigned flags_of(const Step& s) {
  return (s.row == Step::kNone ? 0 : features()[s.feature].rows[s.row].flags) |
         (s.wrap == Step::kNone ? 0 : features()[s.wrap_feature].wraps[s.wrap].flags);
}

}  // namespace

Tensor fit(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dim() != b.dim()) return b.to(a.dtype()).sum();
  for (int d = 0; d < a.dim(); ++d)
    if (a.size(d) != b.size(d)) return b.sum();
  return b;
}
Tensor flat(const Tensor& a) { return a.dim() == 2 ? a : a.dim() < 2 ? a.reshape({1, -1}) : a.flatten(1); }
int dim_of(const Tensor& a, int d) { return a.dim() ? d % a.dim() : 0; }

bool Program::has(unsigned flags) const {
  for (const Step& s : steps)
    if (flags_of(s) & flags) return true;
  for (const Chosen& c : settings)
    if (pairs::features()[c.feature].settings[c.setting].flags & flags) return true;
  return false;
}
bool Program::derives() const {
  return std::any_of(features.begin(), features.end(), [](unsigned f) { return pairs::features()[f].derives; });
}

bool Program::beside() const {
  return std::any_of(settings.begin(), settings.end(),
                     [](const Chosen& c) { return pairs::features()[c.feature].settings[c.setting].beside; });
}

std::vector<Tensor> State::tensors() const {
  std::vector<Tensor> all = {in.x,     in.y,     in.row, in.wide, in.padded, in.index,    in.mask,    in.bytes,
                             in.flags, in.count, in.yes, var.a,   var.b,     var.list[0], var.list[1]};
  for (Tensor& t : all) t = plain(t);
  return all;
}
std::vector<std::string> State::names(const State&) {
  return {"x",     "y",     "row", "wide",  "padded", "index",  "mask",  "bytes",
          "flags", "count", "yes", "var.a", "var.b",  "list 0", "list 1"};
}

void make_state(const Call& c, State& s) {
  std::mt19937 rng(c.data);
  const Device device = test::test_device();
  auto make = [&](int n, int m) { return floats({n, m}, rng); };
  s.leaves.clear();
  auto leaf = [&](Tensor t) {
    if (c.tape != Tape::None) t.requires_grad_(), s.leaves.push_back(t);
    return t;
  };
  Tensor x;
  switch (c.layout) {
    case Layout::Plain: x = make(c.n, c.m); break;
    case Layout::Transposed: x = make(c.m, c.n); break;
    case Layout::Stepped: x = make(c.n, 2 * c.m); break;
  }
  x = leaf(x);
  if (c.tape == Tape::Computed || c.tape == Tape::View) x = x * 1.5;
  if (c.tape == Tape::View || c.tape == Tape::ViewOfLeaf) x = x.view(x.sizes());
  if (c.layout == Layout::Transposed) x = x.t();
  if (c.layout == Layout::Stepped) x = x.slice(1, 0, 2 * c.m, 2);
  s.in.x = x;
  s.in.y = make(c.n, c.m);
  s.in.row = leaf(floats({c.m}, rng));
  s.in.wide = floats({2 * c.k + 1}, rng);
  s.in.padded = make(c.n, c.m + 2 * c.k);
  std::vector<std::int64_t> index(static_cast<std::size_t>(c.n));
  for (std::int64_t& i : index) i = static_cast<std::int64_t>(rng() % static_cast<unsigned>(c.n));
  s.in.index = tensor_of(index).to(device);
  s.in.mask = make(c.n, c.m) > 0.3;
  s.in.bytes = (make(c.n, c.m).abs() * 8.0).to(kUInt8);
  s.in.flags = arange(9, {.device = device}) < 2 * c.k + 1;
  if (rng() % 2) s.in.flags = s.in.flags.flip({0});
  s.in.count = full({}, c.k, {.dtype = kInt64, .device = device});
  s.in.yes = full({}, c.yes, {.dtype = kBool, .device = device});
  s.in.n = 1 + static_cast<int>(rng() % 3);
  s.var.a = make(c.n, c.m);
  s.var.b = make(c.n, c.m);
  if (c.tape == Tape::Computed) s.var.b = leaf(s.var.b) * 0.5;
  s.var.list.resize(2);
  s.var.list[0] = make(c.n, c.m), s.var.list[1] = make(c.n, c.m);
  switch (c.sharing) {
    case Sharing::None: break;
    case Sharing::Same: s.in.y = s.in.x; break;
    case Sharing::Transposed: s.in.y = c.n == c.m ? s.in.x.t() : s.in.x.view(s.in.x.sizes()); break;
    case Sharing::Overlapping: {
      const Tensor base = make(c.n + 1, c.m);
      s.in.y = base.slice(0, 0, c.n);
      s.var.a = base.slice(0, 1, c.n + 1);
      break;
    }
    case Sharing::VariableIsX: s.var.a = s.in.x; break;
    case Sharing::VariablesAreOne: s.var.b = s.var.a; break;
    case Sharing::ListHasVariable: s.var.list[0] = s.var.a; break;
    case Sharing::YIsOfVariable: s.in.y = s.var.b.view(s.var.b.sizes()); break;
  }
}

std::vector<Tensor> run(const Program& p, const Arguments& in, Variables& var) {
  Frame frame{in, var};
  std::vector<Tensor> pool = {in.x, in.y, var.a, var.b};
  for (const Step& s : p.steps) pool.push_back(run_step(s, frame, pool[s.a], pool[s.b]));
  std::vector<Tensor> results;
  for (unsigned r : p.results) results.push_back(pool[r]);
  return results;
}

Program random_program(std::mt19937& rng, const std::vector<unsigned>& drawn, int length) {
  Program p;
  p.features = drawn;
  std::vector<unsigned> with_rows, with_wraps;
  for (unsigned f : drawn) {
    const Feature& feature = features()[f];
    if (!feature.rows.empty()) with_rows.push_back(f);
    if (!feature.wraps.empty()) with_wraps.push_back(f);
    if (!feature.settings.empty()) {
      const unsigned count = static_cast<unsigned>(feature.settings.size());
      p.settings.push_back({f, static_cast<unsigned>(rng() % count)});
    }
  }
  constexpr unsigned kMathFeature = 0;
  with_rows.push_back(kMathFeature);
  // A step is kept if it runs on one state; now and then one that throws.
  Call call{3, 4, 1, true, Sharing::None, Layout::Plain, p.derives() ? Tape::Computed : Tape::None, 7, false};
  State trial;
  make_state(call, trial);
  Frame frame{trial.in, trial.var};
  std::vector<Tensor> pool = {trial.in.x, trial.in.y, trial.var.a, trial.var.b};
  for (int i = 0; i < length; ++i) {
    for (int attempt = 0; attempt < 12; ++attempt) {
      auto pick = [&] {
        const unsigned count = static_cast<unsigned>(pool.size());
        return static_cast<unsigned>(rng() % 3 ? rng() % count : count - 1 - rng() % std::min(3u, count));
      };
      Step s;
      // Features take turns, so that each of them is in the program.
      s.feature = static_cast<unsigned>(i) < with_rows.size() ? with_rows[static_cast<unsigned>(i)]
                                                              : with_rows[rng() % with_rows.size()];
      s.row = draw(rng, features()[s.feature].rows);
      if (!with_wraps.empty() && (i < static_cast<int>(with_wraps.size()) || rng() % 4 == 0)) {
        s.wrap_feature = i < static_cast<int>(with_wraps.size()) ? with_wraps[static_cast<unsigned>(i)]
                                                                 : with_wraps[rng() % with_wraps.size()];
        s.wrap = draw(rng, features()[s.wrap_feature].wraps);
      }
      s.a = pick(), s.b = pick();
      if (p.beside()) {
        if (uses_variables(s)) continue;
        for (unsigned* operand : {&s.a, &s.b})
          if (*operand == 2 || *operand == 3) *operand -= 2;
      }
      s.number = static_cast<unsigned>(rng() % 64), s.dim = static_cast<unsigned>(rng() % 2);
      Tensor made;
      try {
        made = run_step(s, frame, pool[s.a], pool[s.b]);
        if (!made.is_floating_point() || made.dim() < 1 || made.dim() > 3 || made.numel().value() > 300) continue;
      } catch (const Error&) {
        if (!(flags_of(s) & kFails) && rng() % 24) continue;
        made = pool[s.a];
      }
      pool.push_back(made);
      p.steps.push_back(s);
      break;
    }
  }
  const unsigned count = static_cast<unsigned>(pool.size());
  for (unsigned i = 0, n = 1 + static_cast<unsigned>(rng() % 3); i < n; ++i) {
    unsigned r = i == 0 ? count - 1 : static_cast<unsigned>(rng() % count);
    if (p.beside() && (r == 2 || r == 3)) r -= 2;
    p.results.push_back(r);
  }
  return p;
}

std::vector<Call> random_calls(std::mt19937& rng, const Program& p) {
  static constexpr int kSizes[] = {1, 2, 3, 4, 8, 9};
  auto call = [&] {
    Call c{kSizes[rng() % 6], kSizes[rng() % 6], static_cast<int>(rng() % 3),  rng() % 2 == 0, Sharing::None,
           Layout::Plain,     Tape::None,        static_cast<unsigned>(rng()), false};
    if (rng() % 3 == 0) c.m = c.n;
    return c;
  };
  const bool derives = p.derives() || rng() % 2;
  std::vector<Call> calls;
  Call first = call();
  for (int i = 0; i < 5; ++i) {
    Call c = call();
    if (i < 3 && rng() % 2) c.n = first.n, c.m = first.m;
    if (rng() % 3 == 0) c.sharing = static_cast<Sharing>(rng() % 8);
    if (rng() % 3 == 0) c.layout = static_cast<Layout>(rng() % 3);
    if (derives) c.tape = static_cast<Tape>(1 + rng() % 4);
    if (i > 0 && rng() % 5 == 0) c = calls.back(), c.again = true;
    calls.push_back(c);
  }
  return calls;
}

}  // namespace reprise::pairs
