#pragma once
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "reprise/cond.h"
#include "reprise/flatten.h"
#include "reprise/int.h"
#include "reprise/source_location.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

namespace detail {

/// A while_loop on its way: eagerly a loop; in a trace its body once, into a graph of its own
/// (runtime/trace/while_loop.cc). Walked over the tensors of the state.
class While {
 public:
  enum class Part : std::uint8_t {
    Init,    ///< what is carried into the first turn: taken
    First,   ///< the same, before the first condition: put in
    Begun,   ///< behind it: taken
    Inside,  ///< before a turn: put in
    Made,    ///< what the turn makes: looked at
    Turned,  ///< behind the condition: taken
    Last,    ///< behind the last turn: put in
  };
  While(const Int& max_steps, SourceLoc);
  ~While();
  While(const While&) = delete;
  While& operator=(const While&) = delete;

  While& at(Part);
  /// What the condition says.
  void decide(const Predicate&);
  /// Is there another turn? In a trace there is one.
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
  std::unique_ptr<State> state_;
};

}  // namespace detail

/// A loop that a value ends: `while (condition(state)) state = body(state);`. Gives the last state.
///
/// The state is a tensor, or tuples, vectors and aggregates of tensors as compiled functions take them; the condition
/// gives a tensor of one bool, or a bool. Where it still holds behind `max_steps` turns, the call throws
/// InvalidArgument at the line of the loop, and writes no argument if it is compiled.
///
/// Inside a compiled function condition and body are traced once, and machine code serves any number of turns, without
/// a trace, a compilation or a read of the condition by the program. Both may use other tensors than the state, and
/// write into them, and into the state, which is the loop's own: the tensor that was given stays as it was. The last
/// state are row-major tensors of their own. Where gradients are wanted, the turns are counted first, without them, and
/// then run as a scan of as many: see there for what has no compiled derivative. Inside another region such a loop is
/// served eagerly, with the reason.
///
/// Throws ShapeMismatch where the body gives a state of another dtype, device or size than it was given, or the
/// condition more or fewer elements than one; DTypeMismatch where the condition gives no bool; InvalidArgument where
/// `max_steps` is negative, where a tensor is undefined, and where the body changes what is no tensor in its state.
template <class P, class F, class C>
C while_loop(P&& condition, F&& body, C state, Int max_steps, SourceLoc loc = SourceLoc::current()) {
  static_assert(std::is_same_v<std::remove_cvref_t<std::invoke_result_t<F&, const C&>>, C>,
                "the body of while_loop gives the next state, of the type that the state begins with");
  static_assert(std::is_convertible_v<std::invoke_result_t<P&, const C&>, Predicate>,
                "the condition of while_loop gives a tensor of one bool, or a bool");
  using Part = detail::While::Part;
  detail::While loop(max_steps, loc);
  auto decide = [&] { loop.decide(Predicate(std::invoke(condition, std::as_const(state)))); };
  detail::walk(state, loop.at(Part::Init));
  detail::walk(state, loop.at(Part::First));
  decide();
  detail::walk(state, loop.at(Part::Begun));
  auto turn = [&] {
    detail::walk(state, loop.at(Part::Inside));
    state = std::invoke(body, std::as_const(state));
    detail::walk(state, loop.at(Part::Made));
    decide();
    detail::walk(state, loop.at(Part::Turned));
  };
  while (loop.turn()) loop.run([](void* t) { (*static_cast<decltype(turn)*>(t))(); }, &turn);
  detail::walk(state, loop.at(Part::Last));
  return state;
}

}  // namespace REPRISE_VISIBLE
