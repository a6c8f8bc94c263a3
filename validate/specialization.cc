// What is proved of a specialization (docs/validation.md).
#include <atomic>
#include <chrono>
#include <unordered_set>

#include "base/errors.h"
#include "base/log.h"
#include "base/mutex.h"
#include "kernels/loop/analysis.h"
#include "runtime/build/specialization.h"
#include "runtime/build/validation.h"
#include "runtime/call/layout_class.h"
#include "validate/accesses.h"
#include "validate/elements.h"
#include "validate/prover.h"
#include "validate/validate.h"

namespace reprise::validate {

using detail::Specialization;
using guards::Claim;
using guards::Expr;
using guards::ExprKind;
using runtime::ValidationReport;

namespace {

struct State {
  Mutex mu;
  ValidationReport report;
  std::unordered_set<std::string> seen;
  static State& get() {
    static State* s = new State;
    return *s;
  }
};

/// What the structure of a call makes sure of, and no guard checks (Note [Layout classes], Source): by the words of its
/// tensors.
void add_structure(Terms& t, const Specialization& s) {
  for (std::size_t i = 0; i < s.input_words.size(); ++i) {
    const std::uint64_t w = s.input_words[i];
    if (!s.uses(i)) continue;  // any tensor may stand there
    const auto [first, count] = s.input_values[i];
    const auto rank = static_cast<std::uint32_t>(runtime::rank_of_word(w));
    const bool whole = std::any_of(s.wholes.begin(), s.wholes.end(), [&](const auto& x) { return x.input == i; });
    const bool modest = !whole && !runtime::is_large_word(w);
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t d = 0; d < rank; ++d) sizes.push_back(first + d);
    for (std::uint32_t at : sizes) t.bound(at, 0, modest ? Wide{runtime::kModestElements} : Wide{INT64_MAX});
    if (modest && !sizes.empty()) t.group(sizes, runtime::kModestElements);
    if (!whole && modest && runtime::has_strides(w))
      for (std::uint32_t d = 0; d < rank; ++d) t.bound(first + rank + d, 0, runtime::kModestElements);
  }
}

struct Failure {
  std::string what;
  Verdict verdict;
};

std::string told(const Specialization& s, const Failure& f) {
  std::string out = f.what + (f.verdict.kind == Verdict::Kind::Refuted ? " does not follow from the guards"
                                                                       : " was not proved: " + f.verdict.why);
  std::string at;
  for (const auto& [word, value] : f.verdict.words) {
    std::string name = "word " + std::to_string(word);
    for (const guards::Symbol& symbol : s.program.graph.env->symbols())
      if (symbol.source.word == word) name = to_string(symbol.expr) + " = " + symbol.source.name;
    at += (at.empty() ? ", where " : ", ") + name + " is " + std::to_string(value);
  }
  return out + at;
}

std::string text_of(const Claim& c) {
  std::string s;
  if (c.whole) s = to_string(c.whole);
  else {
    s = "#" + std::to_string(static_cast<int>(c.kind)) + "(";
    for (const Expr* a : c.args) s += (s.back() == '(' ? "" : ", ") + to_string(a);
    s += ")";
  }
  return s + " is " + to_string(c.result);
}

/// One specialization's proof.
class Proof {
 public:
  Proof(const Specialization& s, const std::vector<Claim>& claims, const Question& q)
      : s_(s), claims_(claims), question_(q), env_(*s.program.graph.env) {}

  std::vector<Failure> failures;
  std::int64_t asked = 0;
  Prover::Counts counts;

  void run() {
    with_checks([&](Prover& p) {
      const Ask asks = [&](std::string what, auto&& formula, const std::vector<FormulaPtr>& also) {
        ask(p, std::move(what), formula, also);
      };
      if (question_.conclusions) relied_on(p);
      s_.for_each_stage([&](const runtime::Program& program, const runtime::RecordingCache&) {
        if (question_.accesses && !enough()) prove_accesses(p, s_, program, asks);
      });
      if (question_.accesses && !enough()) prove_elements(p, kernels::reads_of(env_), asks);
    });
  }
  bool implies(const Check& c) {
    bool proved = false;
    with_checks([&](Prover& p) { proved = p.prove(p.terms().condition(s_.guards, c)).kind == Verdict::Kind::Proved; });
    return proved;
  }

 private:
  bool enough() const { return question_.first && !failures.empty(); }
  template <class F>
  void with_checks(F&& f) {
    Terms terms;
    add_structure(terms, s_);
    try {
      for (const Check& c : question_.checks) know(terms, c);
      std::vector<FormulaPtr> checks;
      for (const Check& c : question_.checks) checks.push_back(terms.condition(s_.guards, c));
      // Numbers that depend on data are in their ranges, and what is assumed of them has been asked.
      for (const guards::Symbol& symbol : env_.symbols())
        if (symbol.of_data) terms.bound(symbol.source.word, env_.declared(symbol).lo, env_.declared(symbol).hi);
      for (const guards::ShapeEnv::Assumption& a : env_.assumed()) checks.push_back(terms.condition(a.condition));
      Prover prover(terms, std::move(checks));
      f(prover);
      counts = prover.counts;
    } catch (const Unsupported& u) {
      failures.push_back({"the guards", {Verdict::Kind::Unknown, u.what, {}}});
    }
  }
  /// What single words say is known before anything is written down.
  static void know(Terms& t, const Check& c) {
    using Set = guards::GuardSet;
    const Poly w = t.word(c.a);
    const bool is_word = w.terms.size() == 1 && !w.is_constant() && w.terms.begin()->first.size() == 1 &&
                         t.atom(w.terms.begin()->first[0]).what == c.a && w.terms.begin()->second == 1;
    if (!is_word) return;
    if (c.kind == Set::kEqual) t.equal(c.a, Poly(c.k));
    if (c.kind == Set::kSameWords && !(t.word(c.b) == w)) t.equal(c.a, t.word(c.b));
    if (c.kind == Set::kAtLeast) t.bound(c.a, c.k, Bounds::kNone);
    if (c.kind == Set::kAtMost) t.bound(c.a, -Bounds::kNone, c.k);
  }
  template <class F>
  void ask(Prover& p, std::string what, F&& formula, const std::vector<FormulaPtr>& also = {}) {
    if (enough()) return;
    ++asked;
    Verdict v;
    try {
      const FormulaPtr f = formula();
      v = p.prove(f, also);
      if (v.kind != Verdict::Kind::Proved) what += "  [" + p.terms().text(*f) + "]";
    } catch (const Unsupported& u) {
      v = {Verdict::Kind::Unknown, u.what, {}};
    }
    if (v.kind != Verdict::Kind::Proved) failures.push_back({std::move(what), std::move(v)});
  }

  /// (a) The conditions that the trace took, what was declared of symbols, and whatever was concluded from either.
  void relied_on(Prover& p) {
    Terms& t = p.terms();
    for (const guards::Symbol& symbol : env_.symbols()) {
      if (is_unused(symbol.source.word) || symbol.of_data) continue;
      const guards::ShapeEnv::Declared& d = env_.declared(symbol);
      const Poly w = t.word(symbol.source.word);
      const std::string name = symbol.source.name;
      ask(p, name + " is at least " + std::to_string(d.lo), [&] { return at_most_zero(Poly(d.lo) - w); });
      const std::int64_t most = std::min(d.hi, symbol.source.at_most);
      ask(p, name + " is at most " + std::to_string(most), [&] { return at_most_zero(w - Poly(most)); });
      if (d.multiple_of > 1)
        ask(p, name + " is a multiple of " + std::to_string(d.multiple_of),
            [&] { return is_zero(t.mod(w, Poly(d.multiple_of))); });
    }
    for (const guards::Guard& g : env_.guards())
      ask(p, "the guard " + to_string(g.condition), [&] { return t.condition(g.condition); });
    for (const Claim& c : claims_) {
      if (c.result->env().serial() != env_.serial()) continue;
      ask(p, "the conclusion " + text_of(c), [&] {
        const Meaning m = c.whole ? t.of(c.whole) : t.of(c.kind, c.args);
        if (m.number && !c.result->is_bool()) return is_zero(*m.number - t.number(c.result));
        const FormulaPtr given = t.condition(m), made = t.condition(c.result);
        if (equal(*given, *made)) return truth(true);
        return either(both(given, made), both(negation(given), negation(made)));
      });
    }
  }

  /// Of an argument that the function does not look at: another tensor may stand there, and nothing is known of the
  /// word.
  bool is_unused(std::uint32_t word) const {
    return std::any_of(s_.unused.begin(), s_.unused.end(), [&](std::uint32_t i) {
      return word >= s_.input_values[i].first && word < s_.input_values[i].first + s_.input_values[i].count;
    });
  }

  const Specialization& s_;
  const std::vector<Claim>& claims_;
  const Question& question_;
  const guards::ShapeEnv& env_;
};

}  // namespace

std::function<void(const Specialization&, const std::vector<Claim>&)> observer;

std::vector<std::string> failures(const Specialization& s, const std::vector<Claim>& claims, const Question& q) {
  Proof proof(s, claims, q);
  proof.run();
  std::vector<std::string> texts;
  for (const Failure& f : proof.failures) texts.push_back(told(s, f));
  return texts;
}

bool imply(const Specialization& s, const std::vector<Check>& checks, const Check& c) {
  const Question q{checks};
  const std::vector<Claim> none;
  return Proof(s, none, q).implies(c);
}

void validate(const Specialization& s, const std::vector<Claim>& claims) {
  const auto begin = std::chrono::steady_clock::now();
  State& state = State::get();
  std::string key;
  for (std::uint64_t w : s.input_words) key += std::to_string(w) + " ";
  for (std::uint32_t i = 0; i < s.guards.size(); ++i) key += s.guards.condition(i) + "\n";
  key += print(s.program.lowered);
  for (const Claim& c : claims) key += text_of(c) + "\n";
  {
    const MutexLock lock(state.mu);
    ++state.report.specializations;
    if (!state.seen.insert(std::to_string(std::hash<std::string>()(key)) + "/" + std::to_string(key.size())).second) {
      ++state.report.repeated;
      return;
    }
  }
  const Question question{s.guards.checks()};
  Proof proof(s, claims, question);
  proof.run();
  if (observer) observer(s, claims);
  std::vector<std::string> texts;
  for (const Failure& f : proof.failures) texts.push_back(s.name + ": " + told(s, f));
  const std::int64_t ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  {
    const MutexLock lock(state.mu);
    ValidationReport& r = state.report;
    r.claims += proof.asked;
    r.quick += proof.counts.quick;
    r.by_z3 += proof.counts.by_z3 + proof.counts.second;
    r.ns += ns;
    r.failures.insert(r.failures.end(), texts.begin(), texts.end());
  }
  if (texts.empty()) return;
  std::string all;
  for (const std::string& text : texts) all += "\n  " + text;
  fail(ErrorCode::Internal, "validate", {}, "what a specialization relies on is not proved:", all);
}

ValidationReport report() {
  State& state = State::get();
  const MutexLock lock(state.mu);
  return state.report;
}

}  // namespace reprise::validate
