#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "reprise/error.h"
#include "reprise/flatten.h"
#include "reprise/miss.h"
#include "reprise/stats.h"
#include "reprise/tensor.h"
#include "reprise/tensor_names.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// What becomes of a call that nothing admits that was compiled so far.
enum class OnMiss : std::uint8_t {
  Wait,            ///< it is compiled for, and served by that
  /// It is traced, and runs eagerly, as do further ones of its kind until passes and machine code are done on a thread of the library's. Operators
  /// that have no code yet are computed without, by plain kernels, where that takes about as long as a launch or two.
  /// Calls that come while another thread's is traced run eagerly, too. Waited for is a trace that cannot be repeated (it has assigned to a variable that held nothing, say).
  ServeMeanwhile,
};

/// Which tensors a compiled function takes for ones that hardly ever change (docs/freezing.md): what depends on them alone is computed once, not at every call.
enum class Freeze : std::uint8_t {
  Declared,        ///< those declared so: Parameter, freeze() (reprise/parameter.h)
  Captured,        ///< and those that the function captures and does not write, which its compilation declares
  Nothing,         ///< none
};

struct CompileOptions {
  std::string name = "f";                  ///< in logs, explain() and kernels' names
  /// Past it, a call that fits none takes the place of the one that has served no call for longest, if that was long ago: 1,000 calls, more
  /// where what went had hardly been used. Otherwise it is served eagerly, with a warning once.
  int max_specializations = 64;
  int recordings_max = 0;                  ///< recordings kept by all specializations together, least recently used dropped first; 0: REPRISE_RECORDINGS_MAX, or one a specialization
  std::int64_t recordings_bytes = 0;       ///< their bytes; 0: REPRISE_RECORDINGS_BYTES
  /// Bytes of code of all specializations; 0: REPRISE_CODE_BYTES. Once there are as many, a call that fits none is as one past `max_specializations`.
  std::int64_t code_bytes = 0;
  std::string mode = "";                   ///< "off", "interpret", "no-fuse" or "full"; empty: REPRISE_MODE
  /// Every n-th replay is checked (1: each): the function runs as well, eagerly, on copies of what it writes, and the first difference
  /// in results, written tensors or their sizes throws CheckFailed, with everything as before the call. It finds what no guard can
  /// see: numbers captured by reference, globals, containers. Below 0: never; 0: REPRISE_CHECK. What else the function does (printing,
  /// counting) it does at a checked call, too. Not checked: calls that are served eagerly, and compiled functions inside others.
  /// Where results are rounded differently (sums, matrix products, half precision) they may differ by what docs/checks.md says.
  std::int64_t check = 0;
  /// What the function calls its arguments, in order, for logs, explain() and errors ("causal is true, was false"); those without
  /// are "arg 0", "arg 1", .... Fields of structures are called by their names.
  std::vector<std::string> arguments = {};
  OnMiss on_miss = OnMiss::Wait;
  /// Every size of every tensor is a constant of the compilation, as if all were marked (mark_static): code for these very sizes, and
  /// a compilation for each combination of them.
  bool static_sizes = false;
  Freeze freeze = Freeze::Declared;
  /// On a device with streams, a call that checks values (indices that come from outside) waits for its end, so that it throws itself and leaves arguments as they were. True: it
  /// does not wait. What it would write where a check has failed it leaves undone all the same, and its results mean nothing then; the error is thrown late, by the next call in the same stream,
  /// whatever it calls, before that does anything, or by what waits for the stream (Stream::synchronize, item, to_vector, synchronize). Calls that were queued between have run on what was there. Of several faults each is
  /// thrown once, in the order of the calls. Where a step of the host or of another library stands behind a check, it is waited for at once as ever.
  bool late_faults = false;
};

/// What becomes of a call with a size outside of what was declared.
enum class Outside : std::uint8_t {
  Fails,      ///< InvalidArgument, before anything has happened
  Recompiles, ///< it is a compilation of its own
};
/// Bounds that calls promise for one dimension of a tensor. Checked, never assumed: they are part of the guards.
struct DynamicRange {
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
  std::int64_t multiple_of = 1;
  Outside outside = Outside::Fails;
};
/// States that x's dimension varies within the range, for the functions that are traced with x as an argument: a trace knows it (a size of at
/// least 2 needs no "is it 1?"), and the compiled code is used only for sizes within. A function that makes a constant of the dimension
/// (a size that is converted to a C++ number, a comparison that leaves one size) cannot keep that: such a call throws InvalidArgument, naming the
/// line. A later call whose tensor at that place has a size outside throws InvalidArgument, or is compiled for, as `outside` says; a tensor that has
/// a mark of its own there goes by that.
/// Throws InvalidArgument if x itself breaks it, if no size is in the range or x's dimension was marked static; IndexOutOfRange for a
/// dimension that x does not have. Of several marks all hold.
void mark_dynamic(const Tensor& x, int dim, DynamicRange range = {}, SourceLoc loc = SourceLoc::current());
/// States that x's dimension is a constant: traces that take x compile for this very size. Throws InvalidArgument if it was marked dynamic.
void mark_static(const Tensor& x, int dim, SourceLoc loc = SourceLoc::current());

/// Is this thread tracing a function, to compile it? Then what runs here runs once, with tensors that have no elements:
/// print and count elsewhere. False in eager calls and in replays, which do not run the function. It is a constant of
/// the compilation, and no guard: eager calls and compiled ones must mean the same. True in a branch of cond, in a
/// compiled function that another one calls, and in derivatives that are traced (hooks, custom functions). Any thread;
/// throws nothing.
bool is_compiling() noexcept;

/// What explain() tells beside its summary; values may be combined.
enum class Detail : unsigned {
  Summary = 0,
  Guards = 1,
  Graph = 2,
  Launches = 4,
  Times = 8,          ///< what launches took (profile(true))
  All = 15,
};
constexpr Detail operator|(Detail a, Detail b) { return static_cast<Detail>(static_cast<unsigned>(a) | static_cast<unsigned>(b)); }

template <class F>
class CompiledFunction;

namespace detail {

struct Compiled;        // runtime/compiled.h: one compiled function's state
template <class F>
const std::shared_ptr<Compiled>& compiled_of(const CompiledFunction<F>& f) {
  return f.state_;
}
struct Specialization;  // runtime/specialization.h: guards and the program for the calls they admit
class Tracer;           // runtime/tracer.h
class StructureNames;

struct Missed;          // runtime/missed.h: what the function's callback is to be told of a call

/// What a replay gives: results in leaf order.
struct Outputs {
  SmallVec<TensorImpl*, 8> tensors;        ///< owned references, null for an undefined one
  SmallVec<std::int64_t, 8> ints;
  bool reading = false;                    ///< until it goes, the specialization that serves the call stays (run() sets it)
  Missed* missed = nullptr;                ///< owned; told when it goes, which is the end of the call
  ~Outputs();
};

/// What a function object holds by value: a change of these bytes is seen, because a replay would not do what it does to them.
struct ObjectBytes {
  const void* at = nullptr;
  std::size_t size = 0;
};
template <class F>
ObjectBytes bytes_of(const F& function) {
  if constexpr (std::is_empty_v<F> || std::is_pointer_v<F> || std::is_member_pointer_v<F>) return {};
  else return {&function, sizeof(F)};
}
template <class F>
ObjectBytes bytes_of(const std::reference_wrapper<F>& function) {
  if constexpr (std::is_function_v<F>) return {};
  else return bytes_of(function.get());
}

std::shared_ptr<Compiled> new_compiled(CompileOptions);
/// What a call finds itself in: a trace, of which it becomes a part, or a function that is run to check a replay, where it is a plain call.
struct Around {
  Tracer* tracer = nullptr;
  bool inside = false;
};
Around around();
CallFrame& begin_frame(Compiled&);                          ///< this thread's, cleared; counts the call, starts the clock
/// Whose guards hold, or null. One that is found stays until run()'s outputs are gone, whoever retires it meanwhile.
const Specialization* find(Compiled&, CallFrame&);
/// Why a call runs the function itself.
struct Eagerly {
  std::uint64_t thrown = 0;   ///< such calls have thrown when they were traced: serve_thrown(); or 0
  bool meanwhile = false;     ///< it is being compiled in the background
};
/// While it lives this thread serves such a call: operators for which there is no code yet, and little to do, do without (runtime/eager.cc), since each would be waited for.
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
/// Null when the call is to be served eagerly; the reason is logged. What it gives stays as find()'s does. What serves this call alone is `once`, too. Throws Sealed,
/// and what the user's function throws.
/// `names` says what the words of the call's structure are. `how`: told with null.
const Specialization* compile(Compiled&, CallFrame&, void (*body)(void*, Tracer&), void (*names)(void*, StructureNames&), void* ctx,
                              std::shared_ptr<const Specialization>& once, Eagerly& how, Outputs&);
/// CompiledFunction::warm_up.
WarmedUp warm_up(Compiled&, CallFrame&, void (*body)(void*, Tracer&), void (*names)(void*, StructureNames&), void* ctx);
void run(const Specialization&, CallFrame&, Outputs&);
/// While the error of a replay is handled, which has left the arguments as they were. The function runs eagerly: it may catch such an
/// error, or throw another one first, and what comes of it is what calling it means. Where it throws, tensors are as before the call.
/// Throws what the function throws; our own mistakes, want of memory and failures of a device as they are.
void serve_again(Compiled&, const Error&, void (*function)(void*), void* ctx, Outputs&);
/// The function runs eagerly, as such calls do which threw when they were traced. Where it throws, tensors are as before the call; where it does
/// not, one of the next such calls is traced.
void serve_thrown(Compiled&, std::uint64_t thrown, void (*function)(void*), void* ctx, Outputs&);
const void* result_template(const Specialization&);
const std::vector<std::string>& argument_names(const Compiled&);
/// `in_turn`: the calls that `flatten` gives differ; otherwise the latest hit is made another than the call's.
double measure_dispatch(Compiled&, void (*flatten)(void*, CallFrame&), void* ctx, int times, bool in_turn);

void set_miss_callback(Compiled&, std::function<void(const Miss&)>);
void profile(Compiled&, bool on);
std::string explain(const Compiled&, Detail);
std::string signature(const Compiled&);
Stats stats_of(const Compiled&);
void wait_for_builds(Compiled&);
void seal(Compiled&);
void reset(Compiled&);

/// Replaces the leaves of the arguments' copy by traced tensors and symbols, in the order of the frame.
class ArgumentTracer {
 public:
  ArgumentTracer(Tracer& t, CallFrame& f, const std::vector<std::string>& names) : tracer_(t), frame_(f), path_(Path::of_arguments(names)) {}
  void tensor(Tensor&);
  void integer(Int&);
  void number(Scalar&);
  void constant(std::uint64_t, ConstantKind) {}
  void text(std::string_view) {}
  Path& path() { return path_; }

 private:
  Tracer& tracer_;
  CallFrame& frame_;
  std::size_t next_tensor_ = 0, next_value_ = 0;
  Path path_;
};

/// What the words of a call's structure are, in the user's words: made when a function is traced and when a call fits nothing
/// that was compiled, so that the difference can be told (runtime/structure_names.cc).
class StructureNames {
 public:
  enum class Kind : std::uint8_t { Number, Integer, Flag, Enum, Length, Presence, Tensor, Int, Scalar, Text };
  struct Leaf {
    std::string path;
    std::uint32_t argument;
    Kind kind;
    std::uint32_t words;                  ///< that it takes: none of an Int
    friend bool operator==(const Leaf&, const Leaf&) = default;
  };
  std::vector<Leaf> leaves;               ///< in the frame's order, from its second word on

  explicit StructureNames(const std::vector<std::string>& argument_names) : path_(Path::of_arguments(argument_names)) {}
  void tensor(const reprise::Tensor&) { add(Kind::Tensor, 1); }
  void integer(const reprise::Int&) { add(Kind::Int, 0); }
  void number(const reprise::Scalar&) { add(Kind::Scalar, 1); }
  void constant(std::uint64_t, ConstantKind k) { add(static_cast<Kind>(k), 1); }
  void text(std::string_view s) { add(Kind::Text, 1 + static_cast<std::uint32_t>((s.size() + 7) / 8)); }
  Path& path() { return path_; }

 private:
  void add(Kind, std::uint32_t words);
  Path path_;
};

/// Are the arguments' leaves after the function has run what it was given? Otherwise the caller would not see what it
/// assigned to them. Walk it over the traced copy before, call done(), and walk it again.
class ArgumentCheck {
 public:
  explicit ArgumentCheck(Tracer& t) : tracer_(t) {}
  void done() { recording_ = false; }
  void tensor(const Tensor&);
  void integer(const Int&);
  void number(const Scalar&);
  void constant(std::uint64_t, ConstantKind = {});
  void text(std::string_view);

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

/// While it lives, the user's function runs in a trace: what is done to handles is the function's doing, and its own bytes
/// are watched: a change (a counter in a mutable lambda) would not be made by a replay, and other bytes are another compilation.
class FunctionScope {
 public:
  template <class F>
  FunctionScope(Tracer& t, const std::shared_ptr<F>& function) : FunctionScope(t, function, bytes_of(*function)) {}
  ~FunctionScope();
  FunctionScope(const FunctionScope&) = delete;
  FunctionScope& operator=(const FunctionScope&) = delete;

 private:
  FunctionScope(Tracer&, std::weak_ptr<const void> owner, ObjectBytes);
  Tracer& tracer_;
  ObjectBytes object_;
  std::vector<char> before_;
  bool outer_;
};

/// The leaves of a value, written down: what a check compares.
class Leaves {
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
  explicit Leaves(Path path) : path_(std::move(path)) {}
  void tensor(const Tensor&);
  void integer(const Int&);
  void number(const Scalar&);
  void constant(std::uint64_t, ConstantKind);
  void text(std::string_view);
  Path& path() { return path_; }

 private:
  void add(Leaf::Kind, std::uint64_t word);
  Path path_;
};

/// One call that is checked. First the function runs (`eagerly`), its effects on tensors are noted and undone; then the replay;
/// then the two are compared.
class CheckedCall {
 public:
  CheckedCall(Compiled&, const Specialization&, const CallFrame&);
  ~CheckedCall();
  CheckedCall(const CheckedCall&) = delete;
  CheckedCall& operator=(const CheckedCall&) = delete;
  /// `body` runs the function on copies of the arguments' handles and writes down its results, and the arguments before and after.
  void eagerly(void (*body)(void*, Leaves& results, Leaves& before, Leaves& after), void* ctx);
  void replay(Outputs&);
  /// Has the function caught an error that it did not let out? Then a replay that throws is no difference.
  bool function_catches() const;
  /// Throws CheckFailed, with every tensor as before the call, unless the replay's results and effects are the function's.
  void compare(const Leaves& results);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Takes the results out of a traced value and leaves undefined tensors behind: what stays is the template that later
/// calls copy and fill.
class ResultTracer {
 public:
  explicit ResultTracer(Tracer& t) : tracer_(t) {}
  void tensor(Tensor&);
  void integer(Int&);
  void number(Scalar&);
  void constant(std::uint64_t, ConstantKind) {}
  void text(std::string_view) {}

 private:
  Tracer& tracer_;
};

/// Fills a copy of the template with a replay's outputs.
class ResultFiller {
 public:
  explicit ResultFiller(Outputs& o) : outputs_(o) {}
  void tensor(Tensor& t) { t = Tensor::adopt(std::exchange(outputs_.tensors[next_tensor_++], nullptr)); }
  void integer(Int& i) { i = outputs_.ints[next_int_++]; }
  void number(Scalar& s) {
    if (s.kind() != Scalar::Kind::Bool) s = s.with_word(outputs_.ints[next_int_++]);
  }
  void constant(std::uint64_t, ConstantKind) {}
  void text(std::string_view) {}

 private:
  Outputs& outputs_;
  std::size_t next_tensor_ = 0, next_int_ = 0;
};

void set_result_template(Tracer&, std::shared_ptr<void>);

/// The parameter types of a callable that has one signature; none for generic lambdas.
template <class F> struct parameters { static constexpr bool known = false; };
template <class R, class... P> struct parameters<R (*)(P...)> { static constexpr bool known = true; using types = std::tuple<P...>; };
template <class C, class R, class... P> struct parameters<R (C::*)(P...)> : parameters<R (*)(P...)> {};
template <class C, class R, class... P> struct parameters<R (C::*)(P...) const> : parameters<R (*)(P...)> {};
template <class F>
  requires requires { &F::operator(); }
struct parameters<F> : parameters<decltype(&F::operator())> {};

/// What might be called: no number, no string, no tensor.
template <class F>
constexpr bool is_callable() {
  return std::is_pointer_v<F> ? std::is_function_v<std::remove_pointer_t<F>> : std::is_class_v<F> && !std::is_same_v<F, Tensor> && !is_shared<F>::value;
}

/// A number given where the function takes an Int is an Int (symbolic when traced), not a constant of the compilation. What
/// becomes a string, an optional or another class on the way into the function becomes so here.
template <class P, class A>
decltype(auto) adapt(A&& a) {
  using To = std::remove_cvref_t<P>;
  using From = std::remove_cvref_t<A>;
  if constexpr (std::is_same_v<To, Int> && IntegralNumber<A>) return Int(a);
  else if constexpr (std::is_class_v<To> && !std::is_same_v<To, From> && std::is_convertible_v<A&&, To>) return To(std::forward<A>(a));
  else return std::forward<A>(a);
}

/// One address for each list of types: calls with arguments of other types are other structures.
template <class... A>
inline constexpr char types_of = 0;

/// What a compiled function gives: values, never references.
template <class F, class... A>
using result_of = std::remove_cvref_t<std::invoke_result_t<F, A...>>;

/// Does the function take so many arguments? True where its signature is not known.
template <class F, std::size_t N>
constexpr bool takes() {
  if constexpr (parameters<F>::known) return std::tuple_size_v<typename parameters<F>::types> == N;
  else return true;
}
template <class F, class... A>
constexpr bool call_fits() {
  using R = result_of<F, A...>;
  if constexpr (std::is_nothrow_invocable_v<F, A...> || !(fits<std::remove_cvref_t<A>> && ...) || !(std::is_copy_constructible_v<std::decay_t<A>> && ...)) return false;
  else if constexpr (std::is_void_v<R>) return true;
  else return fits<R>;
}
/// Says what is wrong with a call, once, where it is written.
template <class F, class... A>
struct Misfitting {
  using R = result_of<F, A...>;
  using Arguments = std::void_t<decltype(Misfit<std::remove_cvref_t<A>>())...>;
  using Result = decltype(Misfit<std::conditional_t<std::is_void_v<R>, bool, R>>());
  static_assert(!std::is_nothrow_invocable_v<F, A...>, "reprise: a compiled function must let exceptions pass (they end a trace): remove noexcept");
  static_assert(!(fits<std::remove_cvref_t<A>> && ...) || (std::is_copy_constructible_v<std::decay_t<A>> && ...),
                "reprise: arguments of compiled functions are copied (handles, not elements) when the function is traced: this one has no copy constructor");
};

}  // namespace detail

/// A function compiled while it runs. Calling it means what calling the function means; see README.md for what it may do.
/// Copies share the function object and one state. Threads: any number may call at once; a specialization is compiled once, the others wait.
template <class F>
class CompiledFunction {
  template <class G>
  friend const std::shared_ptr<detail::Compiled>& detail::compiled_of(const CompiledFunction<G>&);

 public:
  CompiledFunction(F f, CompileOptions options) : f_(std::make_shared<F>(std::move(f))), state_(detail::new_compiled(std::move(options))) {}

  template <class... A>
  requires std::is_invocable_v<F&, A&&...>
  auto operator()(A&&... args) const -> detail::result_of<F&, A&&...> {
    using Parameters = detail::parameters<F>;
    if constexpr (Parameters::known) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) -> detail::result_of<F&, A&&...> {
        return call(detail::adapt<std::tuple_element_t<I, typename Parameters::types>>(std::forward<A>(args))...);
      }(std::index_sequence_for<A...>{});
    } else {
      return call(std::forward<A>(args)...);
    }
  }
  /// What the function does not take.
  template <class... A>
  requires(!std::is_invocable_v<F&, A&&...>) void operator()(A&&...) const { refuse<A...>(); }

 private:
  template <class... A>
  static constexpr void refuse() {
    constexpr bool number = detail::takes<F, sizeof...(A)>();
    static_assert(number, "reprise: a compiled function is called with another number of arguments than its function has parameters");
    static_assert(!number || std::is_invocable_v<F&, A&&...>,
                  "reprise: a compiled function is called with arguments that its function does not take: types that do not convert to its parameters, or a temporary for a reference that is not const");
  }
  template <class... A>
  auto call(A&&... args) const -> detail::result_of<F&, A&&...> {
    if constexpr (detail::call_fits<F&, A&&...>()) return answer(std::forward<A>(args)...);
    else static_cast<void>(detail::Misfitting<F&, A&&...>()), std::terminate();  // it does not compile
  }
  template <class... A>
  auto answer(A&&... args) const -> detail::result_of<F&, A&&...> {
    using R = detail::result_of<F&, A&&...>;
    if (const detail::Around outer = detail::around(); outer.inside) [[unlikely]] {
      if (!outer.tracer) return (*f_)(std::forward<A>(args)...);
      detail::FunctionScope running(*outer.tracer, f_);
      return (*f_)(std::forward<A>(args)...);
    }
    detail::CallFrame& frame = detail::begin_frame(*state_);
    flatten(frame, args...);
    const detail::Specialization* s = detail::find(*state_, frame);
    std::shared_ptr<const detail::Specialization> once;
    detail::Outputs outputs;
    if (!s) {
      detail::Eagerly how;
      auto body = described(frame, args...);
      s = detail::compile(*state_, frame, tracer_of<decltype(body)>, namer_of<decltype(body)>, &body, once, how, outputs);
      if (how.thrown) [[unlikely]]
        return eagerly<R>([&](void (*serve)(void*), void* function) { detail::serve_thrown(*state_, how.thrown, serve, function, outputs); }, std::forward<A>(args)...);
      if (!s) {
        const detail::ServedMeanwhile running(how.meanwhile);
        return (*f_)(std::forward<A>(args)...);
      }
    }
    if (frame.checked && !once) [[unlikely]] return checked<R>(*s, frame, args...);
    try {
      detail::run(*s, frame, outputs);
    } catch (const Error& e) {
      if (once) throw;
      return eagerly<R>([&](void (*serve)(void*), void* function) { detail::serve_again(*state_, e, serve, function, outputs); }, std::forward<A>(args)...);
    }
    return result<R>(*s, outputs);
  }

 public:
  /// Makes ahead what a call with these arguments needs: a specialization, if none serves it, and a recording for its sizes, with the memory that all
  /// recordings share and, on a device, its executable graph (one with work of other libraries in it is made by the first call, which knows the addresses). The function
  /// is traced at most, never run: tensors stay as they are, and need hold nothing (`empty({8, 64})` will do), variables that it assigns likewise. What
  /// it does beside that (printing, counting) a trace does, too. Waits where calls would be served meanwhile (OnMiss::ServeMeanwhile).
  ///   for (int batch : {1, 8, 64}) f.warm_up(weights, rp::empty({batch, 64}));
  ///   f.seal();
  /// Throws NotTraceable, with the reason, for a call that would be served eagerly; Sealed where something would have to be made for a sealed function; and
  /// what the function throws when it is traced. More recordings than are kept (CompileOptions::recordings_max) push out the first.
  template <class... A>
  requires std::is_invocable_v<F&, A&&...> WarmedUp warm_up(A&&... args) const {
    using Parameters = detail::parameters<F>;
    if constexpr (Parameters::known) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return warm(detail::adapt<std::tuple_element_t<I, typename Parameters::types>>(std::forward<A>(args))...);
      }(std::index_sequence_for<A...>{});
    } else {
      return warm(std::forward<A>(args)...);
    }
  }
  template <class... A>
  requires(!std::is_invocable_v<F&, A&&...>) void warm_up(A&&...) const { refuse<A...>(); }
  /// From here `callback` is told of each call that found something not ready for it (Miss), when the call is over; an empty one ends that. It is called on the
  /// call's thread, and for what was made in the background on the library's; several threads may be in it at once. No lock is held: it may call what it
  /// likes, also this function, whose misses on that thread are not told meanwhile; but on the library's thread wait() and seal() throw. What it throws
  /// is dropped, with a warning. Not told are warm_up() and calls that throw when they are traced. reset() leaves it as it is.
  void set_miss_callback(std::function<void(const Miss&)> callback) { detail::set_miss_callback(*state_, std::move(callback)); }
  /// Waits until nothing is compiled in the background for this function (OnMiss::ServeMeanwhile).
  void wait() const { detail::wait_for_builds(*state_); }
  /// From here a call that would have to compile throws Sealed, naming the guard that failed. What is being compiled is waited for, and what devices
  /// load later otherwise is loaded. Nor are executable graphs made there: of sizes that are new, the launches are queued one after the
  /// other at each call, which costs some microseconds each.
  void seal() { detail::seal(*state_); }
  /// Forgets everything compiled; counters start again. Calls that are running end with what they have.
  void reset() { detail::reset(*state_); }
  /// From here each launch is timed, and what it moves and computes is summed up, until profile(false): stats().launches, explain(). It costs a call some
  /// tenths of a microsecond a launch, and on devices makes it wait for them. REPRISE_PROFILE=1 does so for all functions and for
  /// operators that run eagerly, and prints a table at the end of the process.
  void profile(bool on = true) { detail::profile(*state_, on); }
  /// A summary; then of each specialization its guards and where each came from, its graph, its launches, and what they took.
  std::string explain(Detail detail = Detail::All) const { return detail::explain(*state_, detail); }
  /// What every specialization takes, writes and gives, as JSON: {"function", "specializations": [...]} (docs/graph_text.md, "The signature").
  std::string signature() const { return detail::signature(*state_); }
  Stats stats() const { return detail::stats_of(*state_); }

  /// Nanoseconds that flattening, guards and lookup of this call take, also where nothing admits it: the mean of `times` repetitions, nothing run.
  template <class... A>
  double measure_dispatch_ns(const std::tuple<A...>& args, int times) {
    auto flat = [&](detail::CallFrame& f) { std::apply([&](const auto&... a) { flatten(f, a...); }, args); };
    return detail::measure_dispatch(*state_, [](void* b, detail::CallFrame& f) { (*static_cast<decltype(flat)*>(b))(f); }, &flat, times, false);
  }
  /// Of these calls, one after the other and again from the first.
  template <class... A>
  double measure_dispatch_ns(const std::vector<std::tuple<A...>>& calls, int times) {
    std::size_t next = 0;
    auto flat = [&](detail::CallFrame& f) {
      std::apply([&](const auto&... a) { flatten(f, a...); }, calls[next]);
      if (++next == calls.size()) next = 0;
    };
    return detail::measure_dispatch(*state_, [](void* b, detail::CallFrame& f) { (*static_cast<decltype(flat)*>(b))(f); }, &flat, times, true);
  }
  template <class A>
  double measure_dispatch_ns(const A& arg, int times) {
    return measure_dispatch_ns(std::tuple<const A&>(arg), times);
  }

 private:
  template <class... A>
  static void flatten(detail::CallFrame& frame, const A&... args) {
    frame.constant(reinterpret_cast<std::uintptr_t>(&detail::types_of<A...>));
    (detail::walk(args, frame), ...);
  }
  /// What a trace of the call runs, and what names its words.
  template <class... A>
  auto described(detail::CallFrame& frame, A&... args) const {
    return [self = this, &frame, &args...]<class T>(T& t) {
      if constexpr (std::is_same_v<T, detail::Tracer>) {
        self->trace(t, frame, args...);
      } else {
        std::tuple<const A&...> all(args...);
        detail::walk(all, t);
      }
    };
  }
  template <class B>
  static void tracer_of(void* body, detail::Tracer& t) { (*static_cast<B*>(body))(t); }
  template <class B>
  static void namer_of(void* body, detail::StructureNames& n) { (*static_cast<B*>(body))(n); }
  template <class... A>
  WarmedUp warm(A&&... args) const {
    if constexpr (detail::call_fits<F&, A&&...>()) {
      detail::CallFrame frame;
      frame.clear();
      flatten(frame, args...);
      auto body = described(frame, args...);
      return detail::warm_up(*state_, frame, tracer_of<decltype(body)>, namer_of<decltype(body)>, &body);
    } else {
      static_cast<void>(detail::Misfitting<F&, A&&...>()), std::terminate();  // it does not compile
    }
  }
  template <class... A>
  void trace(detail::Tracer& tracer, detail::CallFrame& frame, const A&... args) const {
    std::tuple<std::decay_t<const A>...> copy(args...);  // of an array of char a const char*
    detail::ArgumentTracer replace(tracer, frame, detail::argument_names(*state_));
    detail::walk(copy, replace);
    detail::ArgumentCheck check(tracer);
    detail::walk(std::as_const(copy), check);
    check.done();
    using R = detail::result_of<F&, std::decay_t<A>&...>;
    if constexpr (std::is_void_v<R>) {
      run(tracer, copy);
    } else {
      auto result = std::make_shared<R>(run(tracer, copy));
      detail::ResultTracer take(tracer);
      detail::walk(*result, take);
      detail::set_result_template(tracer, std::move(result));
    }
    detail::walk(std::as_const(copy), check);
  }

  /// `serve` runs the function that it is given, with its argument.
  template <class R, class Serve, class... A>
  R eagerly(Serve&& serve, A&&... args) const {
    if constexpr (std::is_void_v<R>) {
      auto function = [&] { (*f_)(std::forward<A>(args)...); };
      serve([](void* b) { (*static_cast<decltype(function)*>(b))(); }, &function);
    } else {
      std::optional<R> made;
      auto function = [&] { made.emplace((*f_)(std::forward<A>(args)...)); };
      serve([](void* b) { (*static_cast<decltype(function)*>(b))(); }, &function);
      return std::move(*made);
    }
  }

  template <class T>
  decltype(auto) run(detail::Tracer& tracer, T& arguments) const {
    detail::FunctionScope running(tracer, f_);
    const detail::NamesInTrace<F> names(*f_);
    return std::apply(*f_, arguments);
  }

  template <class R>
  static R result(const detail::Specialization& s, detail::Outputs& outputs) {
    if constexpr (std::is_same_v<R, Tensor>) {
      return Tensor::adopt(std::exchange(outputs.tensors[0], nullptr));
    } else if constexpr (!std::is_void_v<R>) {
      R made = *static_cast<const R*>(detail::result_template(s));
      detail::ResultFiller filler(outputs);
      detail::walk(made, filler);
      return made;
    }
  }

  template <class R, class... A>
  R checked(const detail::Specialization& s, const detail::CallFrame& frame, A&... args) const {
    detail::Outputs outputs;
    outputs.reading = true;
    detail::CheckedCall check(*state_, s, frame);
    auto body = [&](detail::Leaves& results, detail::Leaves& before, detail::Leaves& after) {
      std::tuple<std::decay_t<const A>...> copy(args...);  // what the trace was given
      detail::walk(std::as_const(copy), before);
      if constexpr (std::is_void_v<R>) {
        std::apply(*f_, copy);
      } else {
        const detail::result_of<F&, std::decay_t<A>&...> made = std::apply(*f_, copy);
        detail::walk(made, results);
      }
      detail::walk(std::as_const(copy), after);
    };
    check.eagerly([](void* b, detail::Leaves& r, detail::Leaves& x, detail::Leaves& y) { (*static_cast<decltype(body)*>(b))(r, x, y); }, &body);
    try {
      check.replay(outputs);
    } catch (const Error& e) {
      if (!check.function_catches()) throw;
      return eagerly<R>([&](void (*serve)(void*), void* function) { detail::serve_again(*state_, e, serve, function, outputs); }, args...);
    }
    detail::Leaves found;
    if constexpr (std::is_void_v<R>) {
      check.compare(found);
    } else {
      R made = result<R>(s, outputs);
      detail::walk(std::as_const(made), found);
      check.compare(found);
      return made;
    }
  }

  std::shared_ptr<F> f_;  // never moves: what it holds by value is watched like any variable
  std::shared_ptr<detail::Compiled> state_;
};

/// Wraps a function, lambda or function object. Nothing happens until it is called.
template <class F>
CompiledFunction<std::decay_t<F>> compile(F&& f, CompileOptions options = {}) {
  static_assert(detail::is_callable<std::decay_t<F>>(), "reprise: compile() takes a function, a lambda, an object with operator() or a member function: this is none");
  return CompiledFunction<std::decay_t<F>>(std::forward<F>(f), std::move(options));
}
/// Of a member function: it is called with the object first, `compile(&Model::forward)(model, x)`. The object is an argument like any other:
/// its tensors may be others at the next call.
template <class R, class C, class... P>
auto compile(R (C::*member)(P...) const, CompileOptions options = {}) {
  return compile([member](const C& self, P... args) -> R { return (self.*member)(std::forward<P>(args)...); }, std::move(options));
}
template <class R, class C, class... P>
auto compile(R (C::*member)(P...), CompileOptions options = {}) {
  return compile([member](C& self, P... args) -> R { return (self.*member)(std::forward<P>(args)...); }, std::move(options));
}

}  // namespace reprise
