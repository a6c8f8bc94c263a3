#include "validate/prover.h"

#include <z3++.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

namespace reprise::validate {

using Kind = Formula::Kind;

namespace {

void flatten(const FormulaPtr& f, std::vector<FormulaPtr>& out) {
  if (f->kind == Kind::And) return flatten(f->a, out), flatten(f->b, out);
  if (f->kind != Kind::True) out.push_back(f);
}

bool has_word(const Terms& t, const Poly& p, std::uint32_t w) {
  for (const auto& [m, c] : p.terms)
    for (AtomId i : m) {
      const Atom& a = t.atom(i);
      if (a.kind == Atom::Kind::Word ? a.what == w : has_word(t, a.a, w) || has_word(t, a.b, w)) return true;
    }
  return false;
}

/// p == 0 solved for a word that stands in it once, with a coefficient of one: its number and value.
std::optional<std::pair<std::uint32_t, Poly>> solved(const Terms& t, const Poly& p) {
  std::optional<std::pair<std::uint32_t, Poly>> best;
  for (const auto& [m, c] : p.terms) {
    if (m.size() != 1 || (c != 1 && c != -1) || t.atom(m[0]).kind != Atom::Kind::Word) continue;
    const std::uint32_t w = t.atom(m[0]).what;
    Poly rest;
    for (const auto& [n, d] : p.terms)
      if (n != m) rest.add(n, c == 1 ? -d : d);
    if (!has_word(t, rest, w) && (!best || w > best->first)) best = {w, rest};
  }
  return best;
}

/// p == 0 says that a number divides c times a word: the word, and what divides it.
std::optional<std::pair<std::uint32_t, Wide>> multiple(const Terms& t, const Poly& p) {
  if (p.terms.size() != 2) return std::nullopt;
  for (const auto& [m, c] : p.terms) {
    if (m.size() != 1 || t.atom(m[0]).kind != Atom::Kind::Div) continue;
    const Atom& d = t.atom(m[0]);
    if (!d.b.is_constant() || d.a.terms.size() != 1 || d.a.terms.begin()->first.size() != 1 ||
        t.atom(d.a.terms.begin()->first[0]).kind != Atom::Kind::Word)
      continue;
    const Wide by = d.b.constant() < 0 ? -d.b.constant() : d.b.constant(),
               k = d.a.terms.begin()->second < 0 ? -d.a.terms.begin()->second : d.a.terms.begin()->second;
    Poly q;
    q.add(m, d.b.constant());
    const Poly rest = q - d.a;  // by * (a / by) - a
    if (!(is_zero(rest)->p == is_zero(p)->p)) continue;
    Wide x = k, y = by;
    while (y != 0) std::swap(x %= y, y);
    return std::pair(t.atom(d.a.terms.begin()->first[0]).what, by / x);
  }
  return std::nullopt;
}

}  // namespace

/// Formulas in the terms of Z3: words and other atoms are integers, quotients told by what they are.
struct Prover::Solver {
  const Terms& terms;
  z3::context c;
  z3::solver s;
  std::map<AtomId, z3::expr> atoms;
  std::map<std::uint32_t, AtomId> words;
  std::vector<z3::expr> told;  // of atoms, in the order in which these were met
  std::size_t said = 0;        // of `told`, to s
  std::vector<const Formula*> floats;
  z3::func_decl float_fn;
  std::vector<z3::expr> base;
  std::map<std::string, z3::expr> float_known;

  explicit Solver(const Terms& t)
      : terms(t), s(c, z3::solver::simple()),
        float_fn(c.function("float", c.int_sort(), c.int_sort(), c.int_sort(), c.bool_sort())) {}

  z3::expr number(Wide v) { return c.int_val(to_string(v).c_str()); }
  z3::expr of(const Poly& p) {
    if (p.terms.empty()) return c.int_val(0);
    z3::expr_vector sum(c);
    for (const auto& [m, k] : p.terms) {
      z3::expr_vector product(c);
      if (k != 1 || m.empty()) product.push_back(number(k));
      for (AtomId i : m) product.push_back(atom(i));
      z3::expr term = product[0];
      for (unsigned i = 1; i < product.size(); ++i) term = term * product[static_cast<int>(i)];
      sum.push_back(term);
    }
    return sum.size() == 1 ? sum[0] : z3::sum(sum);
  }
  z3::expr atom(AtomId i) {
    if (const auto it = atoms.find(i); it != atoms.end()) return it->second;
    const Atom& a = terms.atom(i);
    const z3::expr x =
        c.int_const((a.kind == Atom::Kind::Word ? "w" + std::to_string(a.what) : "t" + std::to_string(i)).c_str());
    atoms.emplace(i, x);
    const Bounds b = terms.bounds_of(i);
    auto tell = [&](const z3::expr& e) { told.push_back(e); };
    if (b.lo > -Bounds::kNone) tell(x >= number(b.lo));
    if (b.hi < Bounds::kNone) tell(x <= number(b.hi));
    switch (a.kind) {
      case Atom::Kind::Word: words.emplace(a.what, i); break;
      case Atom::Kind::Div:
      case Atom::Kind::Mod: {
        const z3::expr n = of(a.a), d = of(a.b);
        const z3::expr q = a.kind == Atom::Kind::Div ? x : c.int_const(("q" + std::to_string(i)).c_str());
        const z3::expr r = n - d * q;
        const z3::expr size =
            a.b.is_constant() ? number(a.b.constant() < 0 ? -a.b.constant() : a.b.constant()) : z3::ite(d >= 0, d, -d);
        if (!a.b.is_constant()) tell(z3::implies(d == 0, x == 0));
        const z3::expr zero = d != 0;
        if (terms.nonnegative(a.a)) tell(z3::implies(zero, r >= 0 && r < size));
        else tell(z3::implies(zero, z3::ite(n >= 0, r >= 0 && r < size, r <= 0 && -r < size)));
        if (a.kind == Atom::Kind::Mod) tell(z3::implies(zero, x == r));
        if (a.kind == Atom::Kind::Div && terms.nonnegative(a.a) && terms.nonnegative(a.b)) tell(x >= 0 && x <= n);
        break;
      }
      case Atom::Kind::Min:
      case Atom::Kind::Max: {
        const z3::expr l = of(a.a), r = of(a.b);
        tell(a.kind == Atom::Kind::Min ? x == z3::ite(l <= r, l, r) : x == z3::ite(l >= r, l, r));
        break;
      }
      case Atom::Kind::Wrap: {
        const z3::expr k = c.int_const(("k" + std::to_string(i)).c_str()), e = of(a.a),
                       two64 = c.int_val("18446744073709551616");
        tell(x == e - k * two64);
        break;
      }
      case Atom::Kind::Float: break;
    }
    return x;
  }
  z3::expr of_float(int kind, const Poly& l, const Poly& r) { return float_fn(c.int_val(kind), of(l), of(r)); }
  z3::expr of(const Formula& f) {
    switch (f.kind) {
      case Kind::True: return c.bool_val(true);
      case Kind::False: return c.bool_val(false);
      case Kind::AtMostZero: {
        Poly left, right;  // without a constant on its own the ends of ranges are met exactly
        for (const auto& [m, k] : f.p.terms) k > 0 ? left.add(m, k) : right.add(m, -k);
        return of(left) <= of(right);
      }
      case Kind::IsZero: return of(f.p) == 0;
      case Kind::And: return of(*f.a) && of(*f.b);
      case Kind::Or: return of(*f.a) || of(*f.b);
      case Kind::Not: return !of(*f.a);
      case Kind::Float: {
        const int lt = static_cast<int>(guards::ExprKind::FLt), le = static_cast<int>(guards::ExprKind::FLe),
                  eq = static_cast<int>(guards::ExprKind::FEq);
        // Each pair once: what one comparison says of the others. That one does not hold says nothing: they may be no
        // numbers.
        const std::string key = terms.text(std::min(f.p, f.q)) + "|" + terms.text(std::max(f.p, f.q));
        if (float_known.emplace(key, c.bool_val(true)).second) {
          const z3::expr less = of_float(lt, f.p, f.q), more = of_float(lt, f.q, f.p), same = of_float(eq, f.p, f.q),
                         same2 = of_float(eq, f.q, f.p), at_most = of_float(le, f.p, f.q),
                         at_least = of_float(le, f.q, f.p);
          told.push_back(same == same2);
          told.push_back(z3::implies(less, at_most && !more && !same && !at_least));
          told.push_back(z3::implies(more, at_least && !less && !same && !at_most));
          told.push_back(z3::implies(same, at_most && at_least && !less && !more));
          told.push_back(at_most == (less || same));
          told.push_back(at_least == (more || same));
        }
        return of_float(static_cast<int>(f.what), f.p, f.q);
      }
    }
    return c.bool_val(false);
  }
  void tell_atoms(z3::solver& to, std::size_t& from) {
    for (; from < told.size(); ++from) to.add(told[from]);
  }
};

Prover::Prover(Terms& terms, std::vector<FormulaPtr> assumptions) : terms_(terms) {
  for (const FormulaPtr& f : assumptions) flatten(f, assumptions_);
  // Equalities are put in place of words until there are none.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < assumptions_.size() && !changed; ++i) {
      if (assumptions_[i]->kind != Kind::IsZero) continue;
      const auto found = solved(terms_, assumptions_[i]->p);
      if (!found) {
        // k * (c*w / k) - c*w == 0: k divides c*w.
        const auto divided = multiple(terms_, assumptions_[i]->p);
        if (!divided) continue;
        const FormulaPtr before = assumptions_[i];
        terms_.divisible(divided->first, divided->second);
        if (equal(*terms_.again(before), *before)) continue;
        std::vector<FormulaPtr> now;
        for (const FormulaPtr& f : assumptions_) flatten(terms_.again(f), now);
        assumptions_ = std::move(now);
        changed = true;
        continue;
      }
      AtomId as_atom = terms_.word(found->first).terms.begin()->first[0];
      const Bounds b = terms_.bounds_of(as_atom);
      terms_.equal(found->first, found->second);
      assumptions_.erase(assumptions_.begin() + static_cast<std::ptrdiff_t>(i));
      // What was known of the word is known of what stands for it.
      const Poly value = terms_.word(found->first);
      assumptions_.push_back(both(at_most_zero(Poly(b.lo) - value), at_most_zero(value - Poly(b.hi))));
      std::vector<FormulaPtr> now;
      for (const FormulaPtr& f : assumptions_) flatten(terms_.again(f), now);
      assumptions_ = std::move(now);
      changed = true;
    }
  }
  // Bounds that came last may decide what was written down before.
  std::vector<FormulaPtr> now;
  for (const FormulaPtr& f : assumptions_) {
    if (f->kind == Kind::AtMostZero && f->p.terms.size() <= 2) {
      for (const auto& [m, c] : f->p.terms)
        if (m.size() == 1 && terms_.atom(m[0]).kind == Atom::Kind::Word &&
            f->p.terms.size() == (f->p.constant() == 0 ? 1u : 2u)) {
          if (c == 1) terms_.bound(terms_.atom(m[0]).what, -Bounds::kNone, -f->p.constant());
          if (c == -1) terms_.bound(terms_.atom(m[0]).what, f->p.constant(), Bounds::kNone);
        }
    }
  }
  for (const FormulaPtr& f : assumptions_)
    if (f->kind == Kind::Not && f->a->kind == Kind::IsZero && f->a->p.terms.size() == 1 &&
        f->a->p.terms.begin()->first.size() == 1) {
      const Atom& a = terms_.atom(f->a->p.terms.begin()->first[0]);
      if (a.kind == Atom::Kind::Word && terms_.bounds_of(f->a->p.terms.begin()->first[0]).lo == 0)
        terms_.bound(a.what, 1, Bounds::kNone);
    }
  for (const FormulaPtr& f : assumptions_) now.push_back(terms_.again(f));
  assumptions_ = std::move(now);
  known_.insert(assumptions_.begin(), assumptions_.end());
  for (const FormulaPtr& f : assumptions_) {
    if (f->kind == Kind::AtMostZero) nonpositive_.push_back(f->p);
    if (f->kind == Kind::IsZero) nonpositive_.push_back(f->p), nonpositive_.push_back(Poly() - f->p);
  }
  for (std::size_t i = 0; i < nonpositive_.size(); ++i)
    for (const auto& [m, c] : nonpositive_[i].terms)
      if (!m.empty()) with_term_[m].push_back(i);
}
Prover::~Prover() = default;

bool Prover::quickly(const FormulaPtr& f, const std::vector<FormulaPtr>& also) {
  // What is said of single words is a bound of theirs for as long as this question is asked.
  struct Meanwhile {
    Terms& t;
    ~Meanwhile() { t.at_least.clear(); }
  } meanwhile{terms_};
  for (const FormulaPtr& a : also) {
    if (a->kind != Kind::AtMostZero || a->p.terms.size() > 2) continue;
    for (const auto& [m, c] : a->p.terms)
      if (c == -1 && m.size() == 1 && terms_.atom(m[0]).kind == Atom::Kind::Word &&
          (a->p.terms.size() == 1 || a->p.terms.count({}))) {
        const auto [at, is_new] = terms_.at_least.try_emplace(terms_.atom(m[0]).what, a->p.constant());
        if (!is_new) at->second = std::max(at->second, a->p.constant());
      }
  }
  try {
    return follows(f, also);
  } catch (const Unsupported&) {  // numbers too large on the way
    return false;
  }
}

/// Facts p <= 0 that one question may use beside the assumptions, and how much it may still look at.
struct Prover::Search {
  std::vector<Poly> facts;
  std::map<std::vector<AtomId>, std::vector<std::size_t>> with_term;
  std::set<AtomId> atoms;  // whose own facts are there
  int tries = 400;
  void add(const Poly& p) {
    for (const auto& [m, c] : p.terms)
      if (!m.empty()) with_term[m].push_back(facts.size());
    facts.push_back(p);
  }
  // Of one number divided by d and by k*d (places of a convolution at two strides): k * (n / (k*d)) <= n / d < k * (n /
  // (k*d)) + k.
  void relate(const Terms& t, AtomId coarse, AtomId fine) {
    const std::optional<Poly> k = t.coarser(coarse, fine);
    if (!k) return;
    Poly c, f;
    c.add({coarse}, 1), f.add({fine}, 1);
    add(*k * c - f), add(f - *k * c - *k + Poly(1));
  }
  /// What an atom is says how large it is.
  void meet(const Terms& t, AtomId i) {
    if (!atoms.insert(i).second) return;
    const Atom& a = t.atom(i);
    if (a.kind == Atom::Kind::Div)
      for (AtomId j : atoms) relate(t, i, j), relate(t, j, i);
    Poly x;
    x.add({i}, 1);
    if (a.kind == Atom::Kind::Min) add(x - a.a), add(x - a.b);
    if (a.kind == Atom::Kind::Max) add(a.a - x), add(a.b - x);
    if (a.kind == Atom::Kind::Div && t.nonnegative(a.a) && t.nonnegative(a.b - Poly(1))) {
      if (a.b.is_constant()) add(x * a.b - a.a), add(a.a - x * a.b - a.b + Poly(1));
      else add(x * a.b - a.a), add(x - a.a);
    }
  }
};

// p <= 0, because p less some facts, each times what is not negative, is.
bool Prover::at_most_zero_by(Search& search, const Poly& p, int facts_left) {
  if (terms_.nonnegative(Poly() - p)) return true;
  // A factor that all terms have, and that is never negative, decides nothing.
  for (AtomId i : p.terms.rbegin()->first) {
    Poly rest;
    const bool all = std::all_of(p.terms.begin(), p.terms.end(), [&](const auto& t) {
      const auto at = std::find(t.first.begin(), t.first.end(), i);
      if (at == t.first.end()) return false;
      std::vector<AtomId> without = t.first;
      without.erase(without.begin() + (at - t.first.begin()));
      rest.add(without, t.second);
      return true;
    });
    if (all && terms_.bounds_of(i).lo >= 0) return at_most_zero_by(search, rest, facts_left);
  }
  // Nor does (a - lo), where a is at least lo: p = a*x + y with y = -lo*x.
  std::set<AtomId> tried;
  for (const auto& [m, c] : p.terms)
    for (AtomId i : m) {
      const Wide lo = terms_.bounds_of(i).lo;
      if (lo <= 0 || lo > INT64_MAX || !tried.insert(i).second) continue;
      Poly x, y;
      bool linear = true;
      for (const auto& [n, d] : p.terms) {
        const auto times = std::count(n.begin(), n.end(), i);
        linear = linear && times <= 1;
        std::vector<AtomId> without = n;
        if (times) without.erase(std::find(without.begin(), without.end(), i));
        (times ? x : y).add(without, d);
      }
      if (linear && y == Poly() - x * Poly(lo)) return at_most_zero_by(search, x, facts_left);
    }
  // Quotients that stand in it are at most what is divided.
  if (const std::optional<Poly> more = terms_.without_quotients(p);
      more && !(*more == p) && at_most_zero_by(search, *more, facts_left))
    return true;
  // And a least number is at most each of the two.
  for (bool first : {true, false})
    if (const Poly more = terms_.without_minima(p, first); !(more == p) && at_most_zero_by(search, more, facts_left))
      return true;
  if (facts_left == 0) return false;
  for (const auto& [m, c] : p.terms) {
    if (m.empty()) continue;
    for (AtomId i : m) search.meet(terms_, i);
    // Of a product, a fact of one factor, of all, or of all but one.
    std::set<std::vector<AtomId>> parts{m};
    for (std::size_t k = 0; k < m.size() && m.size() > 1 && c > 0; ++k) {
      parts.insert({m[k]});
      std::vector<AtomId> without = m;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(k));
      parts.insert(without);
    }
    for (const std::vector<AtomId>& part : parts) {
      std::vector<AtomId> others;
      std::set_difference(m.begin(), m.end(), part.begin(), part.end(), std::back_inserter(others));
      if (!std::all_of(others.begin(), others.end(), [&](AtomId i) { return terms_.bounds_of(i).lo >= 0; })) continue;
      Poly times;
      times.add(others, 1);
      auto helps = [&](const Poly& fact) {
        const Wide f = fact.terms.at(part);
        if ((f < 0) != (c < 0) || --search.tries < 0) return false;
        Wide x = c < 0 ? -c : c, y = f < 0 ? -f : f;
        while (y != 0) std::swap(x %= y, y);  // p * (f / x) less fact * (c / x)
        if (c < 0) x = -x;
        const Poly less = p * Poly(f / x) - fact * times * Poly(c / x);
        return !(less == p) && at_most_zero_by(search, less, facts_left - 1);
      };
      if (const auto with = search.with_term.find(part); with != search.with_term.end())
        for (std::size_t i : std::vector<std::size_t>(with->second))
          if (helps(Poly(search.facts[i]))) return true;
      if (const auto with = with_term_.find(part); with != with_term_.end())
        for (std::size_t i : with->second)
          if (helps(nonpositive_[i])) return true;
    }
  }
  return false;
}

bool Prover::follows(const FormulaPtr& asked, const std::vector<FormulaPtr>& also) {
  const Formula& f = *asked;
  auto known = [&](const Formula& g) {
    return known_.count(asked) ||
           std::any_of(also.begin(), also.end(), [&](const FormulaPtr& a) { return equal(*a, g); });
  };
  switch (f.kind) {
    case Kind::True: return true;
    case Kind::False: return false;
    case Kind::And: return follows(f.a, also) && follows(f.b, also);
    case Kind::Or: return follows(f.a, also) || follows(f.b, also) || known(f);
    case Kind::AtMostZero: {
      if (known(f) || terms_.nonnegative(Poly() - f.p)) return true;
      Search search;
      for (const FormulaPtr& a : also) {
        if (a->kind != Kind::AtMostZero) continue;
        search.add(a->p);
        for (const auto& [m, c] : a->p.terms)
          for (AtomId i : m) search.meet(terms_, i);
      }
      // What few facts decide is not missed because longer proofs were looked for among others.
      constexpr int kFactsInAProof = 3;
      const int most = search.tries;
      for (int facts = 1; facts <= kFactsInAProof; ++facts) {
        search.tries = facts < kFactsInAProof ? most / 4 : most;
        if (at_most_zero_by(search, f.p, facts)) return true;
      }
      return false;
    }
    case Kind::IsZero: return known(f);
    case Kind::Not:
      if (known(f)) return true;
      if (f.a->kind == Kind::IsZero)
        return terms_.nonnegative(f.a->p - Poly(1)) || terms_.nonnegative(Poly(-1) - f.a->p);
      return false;
    case Kind::Float: return known(f);
  }
  return false;
}

Verdict Prover::prove(const FormulaPtr& f, const std::vector<FormulaPtr>& also) {
  using V = Verdict::Kind;
  if (quickly(f, also)) return ++counts.quick, Verdict{V::Proved, {}, {}};
  const auto begin = std::chrono::steady_clock::now();
  struct Time {
    Counts& counts;
    std::chrono::steady_clock::time_point begin;
    ~Time() {
      counts.z3_ns +=
          std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
    }
  } time{counts, begin};
  Verdict v;
  try {
    if (!solver_) {
      solver_ = std::make_unique<Solver>(terms_);
      for (const FormulaPtr& a : assumptions_) solver_->base.push_back(solver_->of(*a));
      for (const z3::expr& e : solver_->base) solver_->s.add(e);
    }
    Solver& z = *solver_;
    z3::expr_vector query(z.c);
    for (const FormulaPtr& a : also) query.push_back(z.of(*a));
    query.push_back(!z.of(*f));
    z.tell_atoms(z.s, z.said);
    z3::check_result r = z3::unknown;
    std::optional<z3::model> model;
    auto ask = [&](z3::solver& s, unsigned ms) {
      z3::params p(z.c);
      // Its work is bounded, so that a busy machine proves what an idle one does; time, where that is no measure of it.
      constexpr unsigned kBusy = 2, kWorkOfMs = 4000;
      p.set("timeout", ms * kBusy);
      p.set("rlimit", ms * kWorkOfMs);
      s.set(p);
      r = s.check();
      if (r == z3::sat) model = s.get_model();
    };
    z.s.push();
    for (unsigned i = 0; i < query.size(); ++i) z.s.add(query[static_cast<int>(i)]);
    ask(z.s, 400);
    z.s.pop();
    bool second = false;
    // What is known of products is told where it matters: it makes questions harder.
    if (r != z3::unsat) {
      z3::expr_vector more(z.c);
      for (const auto& [words, most] : terms_.groups()) {
        if (words.size() < 2) continue;
        z3::expr product = z.c.int_val(1);
        bool met = false;
        for (std::uint32_t w : words) {
          const z3::expr x = z.of(terms_.word(w));
          met = met || z.words.count(w);
          product = product * z3::ite(x >= 1, x, z.c.int_val(1));
        }
        if (met) more.push_back(product <= z.number(most));
      }
      if (more.size() > 0) {
        for (unsigned i = 0; i < more.size(); ++i) query.push_back(more[static_cast<int>(i)]);
        z.tell_atoms(z.s, z.said);
        z.s.push();
        for (unsigned i = 0; i < query.size(); ++i) z.s.add(query[static_cast<int>(i)]);
        ask(z.s, 1000);
        z.s.pop();
      }
    }
    // Other ways: the older arithmetic, and solving equations first. (Z3's own choice of a solver, and its tactic for
    // non-linear integers, do not heed their time.)
    for (int way = 0; way < 2 && r == z3::unknown; ++way) {
      second = true;
      z3::solver s = way == 0 ? z3::solver(z.c, z3::solver::simple())
                              : (z3::tactic(z.c, "simplify") & z3::tactic(z.c, "propagate-values") &
                                 z3::tactic(z.c, "solve-eqs") & z3::tactic(z.c, "smt"))
                                    .mk_solver();
      if (way == 0) {
        z3::params p(z.c);
        p.set("arith.solver", 2u);
        s.set(p);
      }
      for (const z3::expr& e : z.base) s.add(e);
      for (const z3::expr& e : z.told) s.add(e);
      for (unsigned i = 0; i < query.size(); ++i) s.add(query[static_cast<int>(i)]);
      ask(s, 2000);
    }
    if (r == z3::unsat) {
      second ? ++counts.second : ++counts.by_z3;
      v.kind = V::Proved;
    } else if (r == z3::sat) {
      ++counts.refuted;
      v.kind = V::Refuted;
      auto say = [&](std::uint32_t w, const z3::expr& e) {
        std::int64_t n = 0;
        if (w < Terms::kMadeWords && model->eval(e, true).is_numeral_i64(n)) v.words.emplace_back(w, n);
      };
      const std::map<std::uint32_t, AtomId> met = z.words;
      for (const auto& [w, a] : met) say(w, z.atom(a));
      for (const auto& [w, p] : terms_.equalities()) say(w, z.of(p));
    } else {
      ++counts.unknown;
      v.why = "Z3 gave up";
    }
  } catch (const z3::exception& e) {
    ++counts.unknown;
    v.why = std::string("Z3: ") + e.msg();
  }
  return v;
}

}  // namespace reprise::validate
