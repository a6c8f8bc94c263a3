#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "graph/tape_base.h"
#include "guards/shape_env.h"
#include "reprise/compile.h"
#include "runtime/call/call_frame.h"

namespace reprise::detail {

// Note [Views on the tape]
// Results that share memory with an argument, or with each other, are views on the tape, as the function's own views
// are eagerly: a write to one of them, or to what it is a view of, reaches the derivatives of the others. The signature
// says what each is a view of (graph::TapeBase) and by which views, and a replay makes the result by these.
// - The base is an argument, another result, or a tensor that nobody holds: what detach() gave, or an intermediate.
// That one is made for the call.
// - A tensor that nobody holds and of which one result alone is a view is no base: the result stands on the tape by
// itself.
//   It is one all the same where that view was made while gradients were off: a later write gives it the base's place.
// - What a Function has returned stands by itself, too. Through it, and through views that were made while gradients
// were off, nothing is written
//   that has a gradient (graph::ViewMade).
// Only bases, and results that stand by themselves, are results of the joint graph (Note [Differentiable calls] in
// runtime/trace/joint.h).

/// The results of a specialization that are views on the tape. Immutable.
class TapeViews {
 public:
  /// Null: no result is a view of floats. The lists are Traced's.
  static std::unique_ptr<const TapeViews> of(const graph::Graph&, const std::vector<std::int32_t>& tensor_results,
                                             const std::vector<graph::TapeBase>& bases,
                                             const std::vector<graph::ViewMade>& made);

  enum class Place : std::uint8_t {
    Own,      ///< it stands on the tape by itself
    OfBase,   ///< it is a view of another tensor there
    Unknown,  ///< it is a view of somebody whom the signature does not name
  };
  Place place(std::uint32_t leaf) const;
  /// What a result is a view of, in what bases() makes, or the result that is that base; -1: none of those.
  std::int32_t base_of(std::uint32_t leaf) const;
  /// The base that is all of an intermediate's storage, in what bases() makes; -1: no result shows it.
  std::int32_t base_on(std::uint32_t output) const;
  graph::ViewMade made(std::uint32_t leaf) const;

  /// Is the tape above what this thread calls?
  static bool is_followed();
  /// What is computed of a call's numbers.
  std::vector<std::int64_t> numbers(const std::int64_t* words) const;
  /// Tensors on the storages of a replay's results, by base.
  std::vector<Tensor> bases(const CallFrame&, const Outputs&, const std::vector<std::int64_t>& numbers) const;
  /// Behind put_on_tape(): makes the results views.
  void follow(const CallFrame&, Outputs&, const std::vector<Tensor>& bases,
              const std::vector<std::int64_t>& numbers) const;

 private:
  struct Base {
    graph::OutputSpec::Kind kind;  ///< AliasOfInput, AliasOfOutput
    std::uint32_t source, number;
    std::vector<graph::ViewStep> steps;  ///< from the source to it
    std::int32_t leaf = -1;              ///< the result that it is
    std::uint32_t first = 0;             ///< a result on its storage
    std::uint32_t views = 0;             ///< results that are it, or views of it
    Ints sizes;                          ///< of the source, where that is an intermediate
  };
  struct View {
    std::uint32_t leaf;
    Place place = Place::Own;
    graph::ViewMade made = graph::ViewMade::Followed;
    bool placed = false;                 ///< made while gradients were off, it has its base's place all the same
    bool written_since = false;          ///< the call writes to the storage behind it: its base's place is another one
    std::int32_t input = -1, base = -1;  ///< what it is a view of
    std::vector<graph::ViewStep> steps;  ///< from there
  };

  const View* view(std::uint32_t leaf) const;
  std::int64_t value(Int, const std::vector<std::int64_t>& numbers) const;
  Tensor replay(Tensor of, const std::vector<graph::ViewStep>&, const std::vector<std::int64_t>& numbers, bool follow,
                bool gradients) const;
  void need(const std::vector<graph::ViewStep>&);

  std::vector<std::int32_t> outputs_;  ///< by leaf
  std::vector<View> views_;            ///< those that are to be seen to, by their first leaf
  std::vector<Base> bases_;
  guards::ExprProgram exprs_;
};

/// Before a replay, where the tape is followed: bails if a tensor that will have other sizes, strides or memory is a
/// view on the tape of what wants a gradient.
void check_reshaped(const std::vector<graph::MetadataMutation>&, const CallFrame&, const std::string& function);
/// After it: such a view of what wants none is known by its place in the storage.
void note_reshaped(const std::vector<graph::MetadataMutation>&, const CallFrame&);

}  // namespace reprise::detail
