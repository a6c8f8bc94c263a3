#pragma once
// A call between CompiledFunction and what serves it: reprise/compile.h has what is instantiated of it.
#include <memory>
#include <string>
#include <vector>

#include "reprise/compile.h"
#include "runtime/call/outcomes.h"

namespace reprise::runtime {
struct Handover;  // runtime/build/stages.h
}

namespace reprise::detail {

/// Whose guards hold, or null. One that is found stays until run()'s outputs are gone, whoever retires it meanwhile.
const Specialization* find(Compiled&, CallFrame&);
/// Why a call runs the function itself.
struct Eagerly {
  std::uint64_t thrown = 0;  ///< such calls have thrown when they were traced: serve_thrown(); or 0
  bool meanwhile = false;    ///< it is being compiled in the background
};
/// What is known of the path of a call through the function's branches on values, while it is served.
struct PathOfCall {
  Outcomes known;
  std::vector<const Specialization*> tried;
  std::string missed;                       ///< whose decision it was, and which, where it is
  SourceLoc where;                          ///< the latest
  std::string from;                         ///< the specialization that the latest miss was of
  bool missing = false;                     ///< nothing that was compiled takes this path
  std::shared_ptr<runtime::Handover> hand;  ///< what its stages have computed; null: none has been left
};
/// While it lives this thread serves such a call: operators for which there is no code yet, and little to do, do
/// without (runtime/front/eager.cc), since each would be waited for.
class ServedMeanwhile {
 public:
  explicit ServedMeanwhile(bool meanwhile);
  ~ServedMeanwhile();
  ServedMeanwhile(const ServedMeanwhile&) = delete;
  ServedMeanwhile& operator=(const ServedMeanwhile&) = delete;

 private:
  const bool before_;
};
/// Traces and compiles for this call. `body` runs the user's function on traced arguments (see CompiledFunction).
/// Null when the call is to be served eagerly; the reason is logged. What it gives stays as find()'s does. What serves
/// this call alone is `once`, too. Throws Sealed, and what the user's function throws.
/// `names` says what the words of the call's structure are. `how`: told with null.
const Specialization* compile(Compiled&, CallFrame&, void (*body)(void*, Tracer&),
                              void (*names)(void*, StructureNames&), void* ctx,
                              std::shared_ptr<const Specialization>& once, Eagerly& how, Outputs&,
                              PathOfCall* path = nullptr);
void run(const Specialization&, CallFrame&, Outputs&);
/// The same of one that branches on values, with what is known of the call's path. Null: it is done. Else what the call
/// goes on with: the other path that it takes, or none is there (`path.missing`), and compile() makes it.
const Specialization* run_path(Compiled&, const Specialization&, CallFrame&, Outputs&, PathOfCall&);
/// Of a call that is checked: the path that it takes, found without doing anything.
const Specialization* find_path(Compiled&, const Specialization&, CallFrame&, PathOfCall&);
/// While the error of a replay is handled, which has left the arguments as they were. The function runs eagerly: it may
/// catch such an error, or throw another one first, and what comes of it is what calling it means. Where it throws,
/// tensors are as before the call. Throws what the function throws; our own mistakes, want of memory and failures of a
/// device as they are.
void serve_again(Compiled&, const Error&, void (*function)(void*), void* ctx, Outputs&);
/// The function runs eagerly, as such calls do which threw when they were traced. Where it throws, tensors are as
/// before the call; where it does not, one of the next such calls is traced.
void serve_thrown(Compiled&, std::uint64_t thrown, void (*function)(void*), void* ctx, Outputs&);
/// The rest of serve(): what nothing admits (`s` is null then) or what is checked.
const Specialization* serve_miss(Compiled&, CallFrame&, const Specialization* s, const Call&, Outputs&);
/// serve_again() of the call's function.
void serve_error(Compiled&, const Error&, const Call&, Outputs&);
WarmedUp warm_up(Compiled&, CallFrame&, void (*body)(void*, Tracer&), void (*names)(void*, StructureNames&), void* ctx);
const std::vector<std::string>& argument_names(const Compiled&);
void set_result_template(Tracer&, std::shared_ptr<void>);

/// Replaces the leaves of the arguments' copy by traced tensors and symbols, in the order of the frame.
class ArgumentTracer final : public LeafWriter {
 public:
  ArgumentTracer(Tracer& t, CallFrame& f, const std::vector<std::string>& names)
      : LeafWriter(Path::of_arguments(names)), tracer_(t), frame_(f) {}
  void tensor(Tensor&) override;
  void integer(Int&) override;
  void number(Scalar&) override;

 private:
  Tracer& tracer_;
  CallFrame& frame_;
  std::size_t next_tensor_ = 0, next_value_ = 0;
};

/// What the words of a call's structure are, in the user's words: made when a function is traced and when a call fits
/// nothing that was compiled, so that the difference can be told (runtime/call/structure_names.cc).
class StructureNames final : public LeafReader {
 public:
  enum class Kind : std::uint8_t { Number, Integer, Flag, Enum, Length, Presence, Tensor, Int, Scalar, Text, Class };
  struct Leaf {
    std::string path;
    std::uint32_t argument;
    Kind kind;
    std::uint32_t words;  ///< that it takes: none of an Int
    friend bool operator==(const Leaf&, const Leaf&) = default;
  };
  std::vector<Leaf> leaves;  ///< in the frame's order, from its second word on

  explicit StructureNames(const std::vector<std::string>& argument_names)
      : LeafReader(Path::of_arguments(argument_names)) {}
  void tensor(const reprise::Tensor&) override;
  void integer(const reprise::Int&) override { add(Kind::Int, 0); }
  void number(const reprise::Scalar&) override { add(Kind::Scalar, 1); }
  void constant(std::uint64_t, ConstantKind k) override { add(static_cast<Kind>(k), 1); }
  void text(std::string_view s) override { add(Kind::Text, 1 + static_cast<std::uint32_t>((s.size() + 7) / 8)); }

 private:
  void add(Kind, std::uint32_t words);
};

/// Are the arguments' leaves after the function has run what it was given? Otherwise the caller would not see what it
/// assigned to them. Walk it over the traced copy before, call done(), and walk it again.
class ArgumentCheck final : public LeafReader {
 public:
  explicit ArgumentCheck(Tracer& t) : tracer_(t) {}
  void done() { recording_ = false; }
  void tensor(const Tensor&) override;
  void integer(const Int&) override;
  void number(const Scalar&) override;
  void constant(std::uint64_t, ConstantKind) override;
  void text(std::string_view) override;

 private:
  void compare(bool same) const;
  Tracer& tracer_;
  bool recording_ = true;
  std::vector<Tensor> tensors_;
  std::vector<Int> integers_;
  std::vector<Scalar> numbers_;
  std::vector<std::uint64_t> words_;
  std::size_t at_tensor_ = 0, at_integer_ = 0, at_number_ = 0, at_word_ = 0;
};

/// The leaves of a value, written down: what a check compares.
class Leaves final : public LeafReader {
 public:
  struct Leaf {
    enum class Kind : std::uint8_t { Tensor, Number, Constant, Text } kind;
    std::string path;
    Tensor tensor;
    std::uint64_t word = 0;
    std::string text;
  };
  std::vector<Leaf> all;

  Leaves() = default;
  explicit Leaves(Path path) : LeafReader(std::move(path)) {}
  void tensor(const Tensor&) override;
  void integer(const Int&) override;
  void number(const Scalar&) override;
  void constant(std::uint64_t, ConstantKind) override;
  void text(std::string_view) override;

 private:
  void add(Leaf::Kind, std::uint64_t word);
};

/// One call that is checked. First the function runs (`eagerly`), its effects on tensors are noted and undone; then the
/// replay; then the two are compared.
class CheckedCall {
 public:
  CheckedCall(Compiled&, const Specialization&, const CallFrame&);
  ~CheckedCall();
  CheckedCall(const CheckedCall&) = delete;
  CheckedCall& operator=(const CheckedCall&) = delete;
  /// `body` runs the function on copies of the arguments' handles and writes down its results, and the arguments before
  /// and after.
  void eagerly(void (*body)(void*, Leaves& results, Leaves& before, Leaves& after), void* ctx);
  void replay(Outputs&);
  /// Has the function caught an error that it did not let out? Then a replay that throws is no difference.
  bool function_catches() const;
  /// Throws CheckFailed, with every tensor as before the call, unless the replay's results and effects are the
  /// function's.
  void compare(const Leaves& results);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Takes the results out of a traced value and leaves undefined tensors behind: what stays is the template that later
/// calls copy and fill.
class ResultTracer final : public LeafWriter {
 public:
  explicit ResultTracer(Tracer& t) : tracer_(t) {}
  void tensor(Tensor&) override;
  void integer(Int&) override;
  void number(Scalar&) override;

 private:
  Tracer& tracer_;
  std::size_t leaves_ = 0;  ///< tensors so far, of the wrapper that is walked
};

}  // namespace reprise::detail
