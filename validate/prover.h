#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "validate/terms.h"

namespace reprise::validate {

/// What became of a question.
struct Verdict {
  enum class Kind : std::uint8_t { Proved, Refuted, Unknown } kind = Kind::Unknown;
  /// of what is not proved: the words of a call of which it is not true, or who gave up
  std::string why;
  std::vector<std::pair<std::uint32_t, std::int64_t>> words;  ///< of that call, those that matter
};

/// Proves conditions under what is assumed: first by bounds of polynomials (Terms::nonnegative and the assumptions),
/// then by Z3. One thread.
class Prover {
 public:
  /// `terms` knows the words' bounds. Equalities among the assumptions are substituted in it.
  Prover(Terms& terms, std::vector<FormulaPtr> assumptions);
  ~Prover();
  /// Does it hold wherever the assumptions, and `also`, do?
  Verdict prove(const FormulaPtr&, const std::vector<FormulaPtr>& also = {});
  /// The first of the two ways alone: false says nothing.
  bool quickly(const FormulaPtr&, const std::vector<FormulaPtr>& also = {});
  Terms& terms() { return terms_; }
  const std::vector<FormulaPtr>& assumptions() const { return assumptions_; }

  struct Counts {
    std::int64_t quick = 0, by_z3 = 0, second = 0, refuted = 0, unknown = 0, z3_ns = 0;
  };
  Counts counts;

 private:
  bool follows(const FormulaPtr&, const std::vector<FormulaPtr>& also);
  struct Search;
  bool at_most_zero_by(Search&, const Poly&, int facts_left);
  struct Solver;
  Terms& terms_;
  std::vector<FormulaPtr> assumptions_;
  std::set<FormulaPtr, Before> known_;
  std::map<std::vector<AtomId>, std::vector<std::size_t>> with_term_;  ///< which of nonpositive_
  std::vector<Poly> nonpositive_;                                      ///< of the assumptions
  std::unique_ptr<Solver> solver_;
};

}  // namespace reprise::validate
