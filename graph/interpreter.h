#pragma once
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "graph/op.h"
#include "graph/thread_state.h"

namespace reprise::graph {

struct OpCall {
  const OpDef& op;
  std::span<const CallArg> args;  ///< one for each schema argument, in order, defaults filled in
  bool inplace = false;           ///< the `name_` twin: write the result into args[0]
  SourceLoc loc;
};

/// Who answers operator calls. Interpreters of a thread stand above each other (thread_state.h): what one calls while
/// it answers, by forward() or through any function of the library, goes to those below it, in the end to eager
/// execution. What is not overridden is forwarded. One thread at a time, but for those that are told otherwise.
class Interpreter {
 public:
  explicit Interpreter(Key key = Key::Wrapper);
  virtual ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Appends the results (for an in-place call: args[0] itself). Throws Error; then nothing was changed.
  virtual void call(const OpCall&, std::vector<Tensor>& results);
  /// Metadata mutations of a tensor handle's impl (transpose_, squeeze_, resize_, set_ ...): `op` is the view operator.
  virtual void mutate_metadata(const OpCall&);
  /// RNG: takes `count` numbers of the generator's stream; gives (seed, offset), symbolic inside a trace.
  virtual std::pair<Int, Int> next_random(Int count);

  Key key() const { return key_; }
  std::uint64_t serial() const { return serial_; }  ///< no other interpreter of the process ever has it

 private:
  const Key key_;
  const std::uint64_t serial_;
};

/// The interpreter of a thread on which nobody traces. Declared here and defined in runtime/front/eager.cc: the one
/// symbol that this room takes from above, when linking, so that a program which uses operators alone has eager
/// execution linked in.
Interpreter& eager_interpreter();

/// While it lives, the interpreter is asked first of those of its key on this thread. It must outlive the scope. A
/// compiled function shows it what it traces, and not what is replayed; what was compiled under it serves calls under
/// it alone.
class ModeScope {
 public:
  explicit ModeScope(Interpreter&);
  ~ModeScope();
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  const ThreadState before_;
  Mode mode_;
};

/// A handle of the same elements whose calls, on any thread and without a mode, go to `by` (of a call with several such
/// tensors to the first's). What `by` calls with it goes to eager execution or the trace as with any tensor; results
/// are what `by` gives. Compiled functions that meet one run eagerly. Throws InvalidArgument unless by->key() is
/// Key::Wrapper.
Tensor wrap(const Tensor&, std::shared_ptr<Interpreter> by, SourceLoc loc = SourceLoc::current());
/// Null for a tensor that is not wrapped.
std::shared_ptr<Interpreter> wrapper_of(const Tensor&);

/// What an interpreter calls for those below it.
void forward(const OpCall&, std::vector<Tensor>& results);
void forward_metadata(const OpCall&);
/// Interpreter::next_random of whom this thread asks first.
std::pair<Int, Int> next_random(Int count);

/// What the wrappers in graph/api*.cc call: one result.
Tensor call1(OpId, std::initializer_list<CallArg>, SourceLoc, bool inplace = false);
std::vector<Tensor> calln(OpId, std::initializer_list<CallArg>, SourceLoc);
std::vector<Tensor> calln(OpId, std::span<const CallArg>, SourceLoc);
/// Interpreter::mutate_metadata with the view operator that describes the change.
void call_metadata(OpId, std::initializer_list<CallArg>, SourceLoc);

/// The process's generator, which eager answers next_random from (a trace makes seed and offset symbols). Any thread.
void seed_generator(std::uint64_t seed);  ///< manual_seed: offset back to 0
/// (seed, offset); the offset moves on by count
std::pair<std::int64_t, std::int64_t> take_random(std::int64_t count);
/// Nothing came of the `count` numbers from `offset` on: the generator stands there again, unless it has moved on
/// meanwhile.
void give_back_random(std::int64_t offset, std::int64_t count) noexcept;

}  // namespace reprise::graph
