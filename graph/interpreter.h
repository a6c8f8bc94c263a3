#pragma once
#include <span>
#include <variant>
#include <vector>

#include "graph/op.h"

namespace reprise::graph {

struct OpCall {
  const OpDef& op;
  std::span<const CallArg> args;   ///< one for each schema argument, in order, defaults filled in
  bool inplace = false;            ///< the `name_` twin: write the result into args[0]
  SourceLoc loc;
};

/// Who answers operator calls on this thread: eager (the default) or a trace; more stack on it later.
class Interpreter {
 public:
  virtual ~Interpreter() = default;
  /// Appends the results (for an in-place call: args[0] itself). Throws Error; then nothing was changed.
  virtual void call(const OpCall&, std::vector<Tensor>& results) = 0;
  /// Metadata mutations of a tensor handle's impl (transpose_, squeeze_, resize_, set_ ...): `op` is the view operator.
  virtual void mutate_metadata(const OpCall&) = 0;
  /// RNG: takes `count` numbers of the generator's stream; gives (seed, offset), symbolic inside a trace.
  virtual std::pair<Int, Int> next_random(Int count) = 0;

  static Interpreter& current();                 ///< this thread's; eager_interpreter() if none was set
  static Interpreter* exchange(Interpreter*);    ///< sets this thread's (null: eager), returns the one before
};

/// The interpreter of a thread on which nobody traces. Declared here and defined in runtime/eager.cc: the one symbol that
/// this room takes from above, when linking, so that a program which uses operators alone has eager execution linked in.
Interpreter& eager_interpreter();

/// RAII for Interpreter::exchange.
class InterpreterScope {
 public:
  explicit InterpreterScope(Interpreter* i) : before_(Interpreter::exchange(i)) {}
  ~InterpreterScope() { Interpreter::exchange(before_); }
  InterpreterScope(const InterpreterScope&) = delete;
 private:
  Interpreter* before_;
};

/// What the wrappers in graph/api*.cc call: one result.
Tensor call1(OpId, std::initializer_list<CallArg>, SourceLoc, bool inplace = false);
std::vector<Tensor> calln(OpId, std::initializer_list<CallArg>, SourceLoc);
/// Interpreter::mutate_metadata with the view operator that describes the change.
void call_metadata(OpId, std::initializer_list<CallArg>, SourceLoc);

/// The process's generator, which eager answers next_random from (a trace makes seed and offset symbols). Any thread.
void seed_generator(std::uint64_t seed);                                   ///< manual_seed: offset back to 0
std::pair<std::int64_t, std::int64_t> take_random(std::int64_t count);     ///< (seed, offset); the offset moves on by count
/// Nothing came of the `count` numbers from `offset` on: the generator stands there again, unless it has moved on meanwhile.
void give_back_random(std::int64_t offset, std::int64_t count) noexcept;

}  // namespace reprise::graph
