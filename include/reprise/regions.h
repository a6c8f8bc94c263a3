#pragma once
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "reprise/cond.h"
#include "reprise/flatten.h"
#include "reprise/source_location.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

namespace detail {

/// A scan on its way: eagerly a loop; in a trace its body once, into a graph of its own (runtime/trace/scan.cc). Walked
/// over the tensors of each part.
class Scan {
 public:
  enum class Part : std::uint8_t {
    Init,     ///< what is carried into the first turn: taken
    Stacked,  ///< what is sliced: taken
    State,    ///< put in before a turn
    Slice,    ///< likewise
    Made,     ///< the state that a turn makes: taken, or looked at
    Given,    ///< what it gives: taken
    Done,     ///< the slices behind it: dropped
    Last,     ///< the state behind the last turn: put in
    Results,  ///< all that was given: put in
  };
  explicit Scan(SourceLoc);
  ~Scan();
  Scan(const Scan&) = delete;
  Scan& operator=(const Scan&) = delete;

  Scan& at(Part);
  /// Is there another turn? Of none, and in a trace, there is one that computes nothing.
  bool turn();
  /// Runs a turn.
  void run(void (*body)(void*), void* ctx);

  // ---- what it is walked over
  void tensor(Tensor&);
  void integer(Int&);
  void number(Scalar&);
  void constant(std::uint64_t word, ConstantKind = {});
  void text(std::string_view);

 private:
  struct State;
  void other(std::uint64_t word);
  void take_eagerly(Tensor&);
  void give_eagerly(Tensor&);
  std::unique_ptr<State> state_;
};

template <class R, class C>
struct ScanResult {
  static constexpr bool fits = false;
};
template <class C>
struct ScanResult<C, C> {
  static constexpr bool fits = true, stacks = false;
};
template <class C, class Y>
struct ScanResult<std::pair<C, Y>, C> {
  static constexpr bool fits = true, stacks = true;
  using Stacked = Y;
};

}  // namespace detail

/// A loop that carries state over slices: for each i of the n slices of `xs` along dimension 0
///
///     [state, y_i] = body(state, xs[i])
///
/// beginning with `init`. Gives the last state, and the y_i stacked along a new dimension 0: `std::pair(state, ys)`. A
/// body that gives the next state alone makes scan give the last one alone. Each of the three is a tensor, or tuples,
/// vectors and aggregates of tensors as compiled functions take them; all tensors of `xs` have the same size n in
/// dimension 0, which may be 0.
///
/// Inside a compiled function the body is traced once, for all lengths: one specialization serves every n. It may use
/// other tensors than its arguments, and write into them, into the state and into the slices: a write to the state is
/// the turn's own, one to a slice writes `xs`. The last state and the stacked results are row-major tensors of their
/// own. Plain numbers that the body changes change in eager calls alone, as in every compiled function. Its derivative
/// is a loop from the last slice to the first, which runs the body again from the states that turns began with. Where
/// the body draws random numbers, writes to tensors from outside and wants gradients, or works on a device with memory
/// of its own, the call is served eagerly, with the reason.
///
/// Throws ShapeMismatch where the state that the body gives is of another dtype, device or size than it was given,
/// where slices are of different numbers or a tensor of `xs` has no dimension, and where turns give tensors of
/// different sizes; InvalidArgument where `xs` has no tensor, where a tensor is undefined, and where the body changes
/// what is no tensor in its state.
template <class F, class C, class X>
auto scan(F&& body, C init, X xs, SourceLoc loc = SourceLoc::current()) {
  using R = std::remove_cvref_t<std::invoke_result_t<F&, const C&, const X&>>;
  using Result = detail::ScanResult<R, C>;
  using Part = detail::Scan::Part;
  static_assert(Result::fits,
                "the body of scan gives std::pair(next state, result), or the next state; of the type that "
                "the state begins with");
  detail::Scan loop(loc);
  detail::walk(init, loop.at(Part::Init));
  detail::walk(xs, loop.at(Part::Stacked));
  auto run = [&](auto one) { loop.run([](void* b) { (*static_cast<decltype(one)*>(b))(); }, &one); };
  if constexpr (Result::stacks) {
    std::optional<typename Result::Stacked> ys;
    while (loop.turn())
      run([&] {
        detail::walk(init, loop.at(Part::State));
        detail::walk(xs, loop.at(Part::Slice));
        R made = std::invoke(body, std::as_const(init), std::as_const(xs));
        init = std::move(made.first);
        ys.emplace(std::move(made.second));
        detail::walk(init, loop.at(Part::Made));
        detail::walk(*ys, loop.at(Part::Given));
        detail::walk(xs, loop.at(Part::Done));
      });
    detail::walk(init, loop.at(Part::Last));
    detail::walk(*ys, loop.at(Part::Results));
    return std::pair<C, typename Result::Stacked>(std::move(init), *std::move(ys));
  } else {
    while (loop.turn())
      run([&] {
        detail::walk(init, loop.at(Part::State));
        detail::walk(xs, loop.at(Part::Slice));
        init = std::invoke(body, std::as_const(init), std::as_const(xs));
        detail::walk(init, loop.at(Part::Made));
        detail::walk(xs, loop.at(Part::Done));
      });
    detail::walk(init, loop.at(Part::Last));
    return init;
  }
}

}  // namespace REPRISE_VISIBLE
