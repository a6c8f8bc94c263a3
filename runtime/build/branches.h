#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "guards/data_decider.h"
#include "kernels/plan/lower.h"
#include "runtime/trace/tracer.h"

namespace reprise::runtime {

// Note [Branches on values]
// `if (x.max().item() > 1)`, `bool(t)`, `while (err.item() > eps)`, `n.to_int() > 3`: the function asks which side it
// takes, and the answer is in tensors. A trace knows it all the same, because the call's inputs are at hand: it
// functionalizes what has been traced so far, compiles the stages that give the number (build_prefix), runs them on the
// call's own tensors and reads it. Nothing is written then: a stage before the last computes and changes nothing. What
// the number has told once is not computed again for the next question. An integer that becomes a C++ number is a
// decision with as many outcomes as it has values; of a float nobody sees what is done with it, and that ends the trace
// (reads_value).
//
// The condition, as it was found, is an assumption of the trace like any other of data (Note [Sizes that depend on
// data] in guards/data_symbols.cc), and a *decision*: the trace follows that side. Decisions are numbered in the order
// of the program, and the graph is cut so that they are asked in this order: a number that is read behind a decision
// comes from a stage behind the one that asks it. All writes stand in the last stage. So a call that turns out to take
// another side has changed nothing, and leaves its specialization for another one, half-way, at no cost but the stages
// that it has run.
//
// A specialization is a leaf of a tree whose inner nodes are decisions: a path. A call enters at the latest hit of its
// structure. Where a decision is another one (PathMissed), the call goes on with the leaf that has the decisions known
// so far (lookup_path), and where there is none the function is traced, with these decisions given. They stay what they
// were in this call: another leaf's program may round a sum in another way, and would decide otherwise; a decision of
// floats that is known is not asked again. (Where one of integers were another number, sizes would be wrong: the call
// is served eagerly.)
//
// Each leaf has its stages. What a stage before the last computes follows from its numbers alone, so siblings compute
// the same up to where they part; what it gives beside the numbers is what later stages of its own leaf need. A call
// that changes over hands over what was computed (Handover): stages of the new leaf whose graphs are the same text, of
// the same inputs, and which give no more than those that have run, do not run. Others run from there on, also where
// they computed the same values before: of two leaves the one that gives more therefore stays the one that calls begin
// at (run_path). A call that takes the path of the one before runs each stage once.
//
// Bounds: CompileOptions::branches leaves of one structure, the least recently used makes room once it is idle
// (Compiled::make_room_for_path); kMostDecisions on a path, which is a loop. Beyond them calls run eagerly, and the
// reason advises while_loop where one line has decided again and again. A trace that fails is remembered with its path
// (Compiled::Refusal, Thrown), so that the others are compiled all the same.

/// Decides for a trace, by running what it has traced. One thread; lives as long as the trace.
class BranchTracer final : public guards::DataDecider {
 public:
  /// `path`: decisions that are known.
  BranchTracer(detail::Tracer&, kernels::Mode, const detail::Outcomes& path);
  std::optional<bool> decide(const guards::Expr* condition, SourceLoc) override;
  std::optional<std::int64_t> value(const guards::Expr*, SourceLoc) override;

 private:
  /// 0 or 1, or the integer; none in a region.
  std::optional<std::int64_t> outcome_of(const guards::Expr*, SourceLoc, bool is_number);
  std::int64_t compute(const guards::Expr*);
  /// Numbers of data that it names and that are not known yet.
  std::vector<std::size_t> unknown_in(const guards::Expr*) const;
  void read(const std::vector<std::size_t>& numbers);

  detail::Tracer& tracer_;
  const kernels::Mode mode_;
  const detail::Outcomes& path_;
  bool follows_ = true;                                  ///< the path, so far
  std::unordered_map<std::size_t, std::int64_t> known_;  ///< by number of data
};

}  // namespace reprise::runtime
