#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <new>
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

/// What happens to a call that no existing specialization accepts.
enum class OnMiss : std::uint8_t {
  Wait,  ///< the call waits for its compilation
  /// The call is traced and runs eagerly, and so do its like until a background thread has finished passes and machine
  /// code. Small operators without code run by plain kernels meanwhile. Calls that arrive while another thread traces
  /// run eagerly, too. A trace that cannot be repeated (it assigned to a variable that held nothing) is waited for.
  ServeMeanwhile,
};

/// Which tensors a compiled function treats as frozen (docs/freezing.md): values that depend on them alone are computed
/// once, and again after they change.
enum class Freeze : std::uint8_t {
  Declared,  ///< those declared so: Parameter, freeze() (reprise/parameter.h)
  Captured,  ///< and those that the function captures and does not write, which its compilation declares
  Nothing,   ///< none
};

/// When the backward of a differentiable call is compiled (docs/autograd.md, "Compiled backwards"). warm_up() compiles
/// it in each case.
enum class BackwardCompile : std::uint8_t {
  /// `Ahead` where the backward computes with sizes, and where calls are served meanwhile (OnMiss::ServeMeanwhile);
  /// otherwise `Lazy`.
  Auto,
  Lazy,   ///< at the first backward() that reaches the call
  Ahead,  ///< with the forward; what its guards ask of sizes becomes part of the forward's guards
};

/// What a differentiable call keeps for its backward (docs/autograd.md, "What is kept").
enum class BackwardKeeps : std::uint8_t {
  /// The fewest bytes: a minimum cut of the joint graph, in which products, attention and the like are not computed
  /// again but where a checkpoint's rule says so.
  MinimumCut,
  All,      ///< whatever the derivative reads: nothing is computed again but views
  Nothing,  ///< arguments, and what cannot be computed again (draws without a seed, branches): the least memory
};

struct JointRequest;
/// Chooses what a differentiable call keeps, of the joint graph of its function (partition.h).
using PartitionFunction = std::function<void(JointRequest&)>;

struct BackendCall;
struct BackendRequest;
using BackendFunction = std::function<void(const BackendCall&)>;
using Backend = std::function<BackendFunction(const BackendRequest&)>;

struct CompileOptions {
  std::string name = "f";  ///< in logs, explain() and kernels' names
  /// At the limit, a miss evicts the least recently used specialization, provided it has been idle for at least 1,000
  /// calls (more where evicted ones had hardly been used). Otherwise the call runs eagerly, with one warning.
  int max_specializations = 64;
  /// recordings kept by all specializations together, least recently used dropped first; 0: REPRISE_RECORDINGS_MAX, or
  /// one a specialization
  int recordings_max = 0;
  std::int64_t recordings_bytes = 0;  ///< their bytes; 0: REPRISE_RECORDINGS_BYTES
  /// Bytes of code of all specializations; 0: REPRISE_CODE_BYTES. Reaching it acts as reaching `max_specializations`.
  std::int64_t code_bytes = 0;
  std::string mode = "";  ///< "off", "interpret", "no-fuse" or "full"; empty: REPRISE_MODE
  /// Every n-th replay is checked (1: each): the function runs as well, eagerly, on copies of what it writes, and the
  /// first difference in results, written tensors or their sizes throws CheckFailed, with everything as before the
  /// call. It finds what no guard can see: numbers captured by reference, globals, containers. Below 0: never; 0:
  /// REPRISE_CHECK. What else the function does (printing, counting) it does at a checked call, too. Not checked: calls
  /// that are served eagerly, and compiled functions inside others. Where results are rounded differently (sums, matrix
  /// products, half precision) they may differ by what docs/checks.md says.
  std::int64_t check = 0;
  /// What the function calls its arguments, in order, for logs, explain() and errors ("causal is true, was false");
  /// those without are "arg 0", "arg 1", .... Fields of structures are called by their names.
  std::vector<std::string> arguments = {};
  OnMiss on_miss = OnMiss::Wait;
  /// Every size of every tensor is a constant of the compilation, as if all were marked (mark_static): code for these
  /// very sizes, and a compilation for each combination of them.
  bool static_sizes = false;
  Freeze freeze = Freeze::Declared;
  /// On a device with streams, a call that checks values (indices from outside) waits for its end by default, throws
  /// the error itself and leaves arguments unchanged. True: it does not wait. Writes guarded by a failed check are
  /// still suppressed; the call's results are undefined. The error is thrown by the next call in the stream, before
  /// that call does anything, or by whatever waits for the stream (Stream::synchronize, item, to_vector, synchronize).
  /// Calls queued in between have run. Each fault is thrown once, in call order. A check followed by a step of the host
  /// or of another library is waited for at once in either case.
  bool late_faults = false;
  BackwardCompile backward = BackwardCompile::Auto;
  BackwardKeeps keeps = BackwardKeeps::MinimumCut;
  PartitionFunction partition = {};  ///< what is kept, chosen by the program: it is shown what `keeps` would keep
  /// Derivatives of the function's derivative (create_graph) are asked for. They need every argument that the function
  /// reads: those that backward does not keep anyway, and that are results of other differentiable calls, are kept,
  /// too. Functions that `region` calls are parts of this one then; cond and loops have no such derivatives.
  bool second_order = false;
  /// Paths kept for calls of one structure where the function branches on values of tensors (docs/branches.md). At the
  /// limit a call that takes another path evicts the one that has been idle for 1,000 calls, or runs eagerly. 0: a
  /// function that branches on values runs eagerly.
  int branches = 16;
  /// Compiles the graphs of this function, and of its derivative, in place of Reprise (backend.h).
  Backend backend = {};
};

/// What happens to a call with a size outside of the declared range.
enum class Outside : std::uint8_t {
  Fails,       ///< InvalidArgument, before anything has happened
  Recompiles,  ///< it is a compilation of its own
};
/// Bounds that calls promise for one dimension of a tensor. Checked, never assumed: they are part of the guards.
struct DynamicRange {
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
  std::int64_t multiple_of = 1;
  Outside outside = Outside::Fails;
};
/// States that x's dimension varies within the range, for the functions that are traced with x as an argument: a trace
/// knows it (a size of at least 2 needs no "is it 1?"), and the compiled code is used only for sizes within. A function
/// that makes a constant of the dimension (a size that is converted to a C++ number, a comparison that leaves one size)
/// cannot keep that: such a call throws InvalidArgument, naming the line. A later call whose tensor at that place has a
/// size outside throws InvalidArgument, or is compiled for, as `outside` says; a mark of the tensor's own takes
/// precedence. Throws InvalidArgument if x itself breaks it, if no size is in the range or x's dimension was marked
/// static; IndexOutOfRange for a dimension that x does not have. Of several marks all hold.
void mark_dynamic(const Tensor& x, int dim, DynamicRange range = {}, SourceLoc loc = SourceLoc::current());
/// States that x's dimension is a constant: traces that take x compile for this very size. Throws InvalidArgument if it
/// was marked dynamic.
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
  Times = 8,  ///< what launches took (profile(true))
  All = 15,
};
constexpr Detail operator|(Detail a, Detail b) {
  return static_cast<Detail>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

template <class F>
class CompiledFunction;

namespace detail {

struct Compiled;  // runtime/front/compiled.h: one compiled function's state
template <class F>
const std::shared_ptr<Compiled>& compiled_of(const CompiledFunction<F>& f) {
  return f.state_;
}
struct Specialization;  // runtime/build/specialization.h: guards and the program for the calls they admit
class Tracer;           // runtime/trace/tracer.h
class StructureNames;

struct Missed;  // runtime/build/miss_callback.h: what the function's callback is to be told of a call
struct Given;   // runtime/call/given.h: arguments that the caller gives up
struct GivingCall;

/// What a replay gives: results in leaf order.
struct Outputs {
  SmallVec<TensorImpl*, 8> tensors;  ///< owned references, null for an undefined one
  SmallVec<std::int64_t, 8> ints;
  /// until it goes, the specialization that serves the call stays (run() sets it)
  bool reading = false;
  Missed* missed = nullptr;  ///< owned; told when it goes, which is the end of the call
  const Given* given = nullptr;
  ~Outputs();
};

/// What a function object holds by value: a change of these bytes is seen, because a replay would not do what it does
/// to them.
struct ObjectBytes {
  const void* at = nullptr;
  std::size_t size = 0;
  bool are_all = false;  ///< they are the object, which may be put back by them
};
template <class F>
ObjectBytes bytes_of(const F& function) {
  if constexpr (std::is_empty_v<F> || std::is_pointer_v<F> || std::is_member_pointer_v<F>) return {};
  else return {&function, sizeof(F), std::is_trivially_copyable_v<F>};
}
template <class F>
ObjectBytes bytes_of(const std::reference_wrapper<F>& function) {
  if constexpr (std::is_function_v<F>) return {};
  else return bytes_of(function.get());
}

/// A function object without its type: its compiled functions share it.
struct FunctionObject {
  std::shared_ptr<void> object;
  ObjectBytes bytes;
};
FunctionObject hold(void* object, ObjectBytes, void (*destroy)(void*));
template <class F>
void destroy_object(void* object) {
  delete static_cast<F*>(object);
}
template <class F>
FunctionObject function_object(F&& function) {
  using Object = std::remove_cvref_t<F>;
  auto* object = new Object(std::forward<F>(function));
  return hold(object, bytes_of(*object), destroy_object<Object>);
}

std::shared_ptr<Compiled> new_compiled(CompileOptions);
/// The context of a call: inside a trace it is inlined; inside a check of a replay it is a plain call.
struct Around {
  Tracer* tracer = nullptr;
  bool inside = false;
};
Around around();
/// this thread's, cleared; counts the call, starts the clock
CallFrame& begin_frame(Compiled&);
const void* result_template(const Specialization&);
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

/// While it lives, the user's function runs in a trace: what is done to handles is the function's doing, and its own
/// bytes are watched: a change (a counter in a mutable lambda) would not be made by a replay, and other bytes are
/// another compilation. `t`: null outside of a trace, where nothing is done.
class FunctionScope {
 public:
  FunctionScope(Tracer* t, const FunctionObject&);
  ~FunctionScope();
  FunctionScope(const FunctionScope&) = delete;
  FunctionScope& operator=(const FunctionScope&) = delete;
  void end();

 private:
  Tracer* tracer_;
  ObjectBytes object_;
  std::vector<char> before_;
  bool outer_ = false;
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

/// The parameter types of a callable that has one signature; none for generic lambdas.
template <class F>
struct parameters {
  static constexpr bool known = false;
};
template <class R, class... P>
struct parameters<R (*)(P...)> {
  static constexpr bool known = true;
  using types = std::tuple<P...>;
};
template <class C, class R, class... P>
struct parameters<R (C::*)(P...)> : parameters<R (*)(P...)> {};
template <class C, class R, class... P>
struct parameters<R (C::*)(P...) const> : parameters<R (*)(P...)> {};
template <class F>
requires requires { &F::operator(); }
struct parameters<F> : parameters<decltype(&F::operator())> {};

/// What might be called: no number, no string, no tensor.
template <class F>
constexpr bool is_callable() {
  return std::is_pointer_v<F> ? std::is_function_v<std::remove_pointer_t<F>>
                              : std::is_class_v<F> && !std::is_same_v<F, Tensor> && !is_shared<F>::value;
}

/// A number given where the function takes an Int is an Int (symbolic when traced), not a constant of the compilation.
/// What becomes a string, an optional or another class on the way into the function becomes so here.
template <class P, class A>
decltype(auto) adapt(A&& a) {
  using To = std::remove_cvref_t<P>;
  using From = std::remove_cvref_t<A>;
  if constexpr (std::is_same_v<To, Int> && IntegralNumber<A>) return Int(a);
  else if constexpr (std::is_class_v<To> && !std::is_same_v<To, From> && std::is_convertible_v<A&&, To>)
    return To(std::forward<A>(a));
  else return std::forward<A>(a);
}

/// Does adapt() leave them all as they are?
template <class Parameters, class... A, std::size_t... I>
consteval bool as_they_are(std::index_sequence<I...>) {
  return (std::is_same_v<std::remove_cvref_t<std::tuple_element_t<I, Parameters>>, std::remove_cvref_t<A>> && ...);
}

/// One address for each list of types: calls with arguments of other types are other structures.
template <class... A>
inline constexpr char types_of = 0;

template <class F, class... A>
concept Takes = requires(F& f, A&&... args) {
  f(static_cast<A&&>(args)...);
};
/// What a compiled function gives: values, never references.
template <class F, class... A>
using result_of = std::remove_cvref_t<decltype(std::declval<F>()(std::declval<A>()...))>;

/// Does the function take so many arguments? True where its signature is not known.
template <class F, std::size_t N>
constexpr bool takes() {
  if constexpr (parameters<F>::known) return std::tuple_size_v<typename parameters<F>::types> == N;
  else return true;
}
template <class F, class... A>
constexpr bool call_fits() {
  using R = result_of<F, A...>;
  if constexpr (noexcept(std::declval<F>()(std::declval<A>()...)) || !(fits<std::remove_cvref_t<A>> && ...) ||
                !(std::is_copy_constructible_v<std::decay_t<A>> && ...))
    return false;
  else if constexpr (std::is_void_v<R>) return true;
  else return fits<R>;
}
/// Says what is wrong with a call, once, where it is written.
template <class F, class... A>
struct Misfitting {
  using R = result_of<F, A...>;
  using Arguments = std::void_t<decltype(Misfit<std::remove_cvref_t<A>>())...>;
  using Result = decltype(Misfit<std::conditional_t<std::is_void_v<R>, bool, R>>());
  static_assert(!std::is_nothrow_invocable_v<F, A...>,
                "reprise: a compiled function must let exceptions pass (they end a trace): remove noexcept");
  static_assert(!(fits<std::remove_cvref_t<A>> && ...) || (std::is_copy_constructible_v<std::decay_t<A>> && ...),
                "reprise: arguments of compiled functions are copied (handles, not elements) when the function is "
                "traced: this one has no copy constructor");
};

// A call without its types, for all that is done apart from a replay: traces, eager calls, checks. One table for each
// list of arguments, one for each type of results, and two functions for each function compiled.

struct ArgumentForm {
  void (*read)(void* const* arguments, LeafReader&);
  void (*read_copies)(void* const* copies, LeafReader&);
  void (*write_copies)(void* const* copies, LeafWriter&);
  /// `then` gets the addresses of copies, which are gone when it returns.
  void (*with_copies)(void* const* arguments, void (*then)(void*, void* const* copies), void* ctx);
};
template <class... T, class V>
void walk_arguments(void* const* at, V& visitor) {
  [[maybe_unused]] std::size_t i = 0;
  ((walk_part(*static_cast<T*>(at[i]), visitor, std::string_view(), i), ++i), ...);
}
template <class... T>
void read_arguments(void* const* at, LeafReader& reader) {
  walk_arguments<T...>(at, reader);
}
template <class... T>
void write_arguments(void* const* at, LeafWriter& writer) {
  walk_arguments<T...>(at, writer);
}
/// What an argument of type T, no reference, is copied to: of an array of char a const char*.
template <class T>
using copy_of = std::decay_t<const T>;
template <std::size_t I, class T>
struct ArgumentCopy {
  T value;
};
template <class Places, class... T>
struct ArgumentCopies;
template <std::size_t... I, class... T>
struct ArgumentCopies<std::index_sequence<I...>, T...> : ArgumentCopy<I, copy_of<T>>... {
  explicit ArgumentCopies([[maybe_unused]] void* const* at)
      : ArgumentCopy<I, copy_of<T>>{copy_of<T>(*static_cast<const T*>(at[I]))}... {}
  static void with(void* const* arguments, void (*then)(void*, void* const*), void* ctx) {
    [[maybe_unused]] ArgumentCopies copies(arguments);
    void* const at[] = {static_cast<void*>(&static_cast<ArgumentCopy<I, copy_of<T>>&>(copies).value)..., nullptr};
    then(ctx, at);
  }
};
/// Of arguments of types T, which are no references and not const.
template <class... T>
inline constexpr ArgumentForm argument_form{read_arguments<const T...>, read_arguments<const copy_of<T>...>,
                                            write_arguments<copy_of<T>...>,
                                            ArgumentCopies<std::index_sequence_for<T...>, T...>::with};

struct ResultForm {
  std::size_t size, align;
  /// Moves it out, and ends the one that was there.
  std::shared_ptr<void> (*share)(void* result);
  void (*destroy)(void* result);
  void (*read)(const void* result, LeafReader&);
  void (*write)(void* result, LeafWriter&);
  /// Makes what a replay has given.
  void (*fill)(const Specialization&, Outputs&, void* result);
};
/// Moves it out, and ends the one that was there.
template <class R>
R take_result(void* at) {
  struct Ended {
    R& result;
    ~Ended() { result.~R(); }
  } ended{*static_cast<R*>(at)};
  return std::move(ended.result);
}
template <class R>
std::shared_ptr<void> share_result(void* at) {
  return std::make_shared<R>(take_result<R>(at));
}
template <class R>
void destroy_result(void* at) {
  static_cast<R*>(at)->~R();
}
template <class R>
void read_result(const void* at, LeafReader& reader) {
  walk(*static_cast<const R*>(at), reader);
}
template <class R>
void write_result(void* at, LeafWriter& writer) {
  walk(*static_cast<R*>(at), writer);
}
template <class R>
R result_of_replay(const Specialization& s, Outputs& outputs) {
  if constexpr (std::is_same_v<R, Tensor>) {
    return Tensor::adopt(std::exchange(outputs.tensors[0], nullptr));
  } else {
    R made = *static_cast<const R*>(result_template(s));
    ResultFiller filler(outputs);
    walk(made, filler);
    return made;
  }
}
template <class R>
void fill_result(const Specialization& s, Outputs& outputs, void* at) {
  ::new (at) R(result_of_replay<R>(s, outputs));
}
template <class R>
inline constexpr ResultForm result_form{sizeof(R),      alignof(R),      share_result<R>, destroy_result<R>,
                                        read_result<R>, write_result<R>, fill_result<R>};
template <class R>
constexpr const ResultForm* result_form_of() {
  if constexpr (std::is_void_v<R>) return nullptr;
  else return &result_form<R>;
}
template <class R>
struct ResultRoom {
  alignas(R) unsigned char bytes[sizeof(R)];
};

/// Runs the function, whose result is made at `result`. A scope ends when the function does: before a result that is a
/// reference is copied.
using RunFunction = void(void* function, void* const* arguments, void* result, FunctionScope*);
template <class F, class R, class Places, class... P>
struct RunOf;
template <class F, class R, std::size_t... I, class... P>
struct RunOf<F, R, std::index_sequence<I...>, P...> {
  static void run(void* function, [[maybe_unused]] void* const* at, [[maybe_unused]] void* result,
                  [[maybe_unused]] FunctionScope* scope) {
    F& f = *static_cast<F*>(function);
    [[maybe_unused]] const typename NamesOf<F>::type names(f);
    using Returned = decltype(f(static_cast<P>(*static_cast<std::remove_reference_t<P>*>(at[I]))...));
    if constexpr (std::is_void_v<R>) {
      f(static_cast<P>(*static_cast<std::remove_reference_t<P>*>(at[I]))...);
    } else if constexpr (std::is_reference_v<Returned>) {
      Returned returned = f(static_cast<P>(*static_cast<std::remove_reference_t<P>*>(at[I]))...);
      if (scope) scope->end();
      ::new (result) R(static_cast<Returned>(returned));
    } else {
      ::new (result) R(f(static_cast<P>(*static_cast<std::remove_reference_t<P>*>(at[I]))...));
    }
  }
};

struct CallForm {
  const ArgumentForm& arguments;
  const ResultForm* result;  ///< null: nothing
  RunFunction* run;          ///< on the arguments
  RunFunction* run_on_copies;
};
/// Of a call with arguments that are references of types A.
template <class F, class R, class... A>
inline constexpr CallForm call_form{
    argument_form<std::remove_cvref_t<A>...>, result_form_of<R>(),
    RunOf<F, R, std::index_sequence_for<A...>, A...>::run,
    RunOf<F, R, std::index_sequence_for<A...>, copy_of<std::remove_reference_t<A>>&...>::run};
struct Call {
  const CallForm& form;
  const FunctionObject& function;
  void* const* arguments;
  void* result = nullptr;  ///< room for it
};

/// Serves a call. Null: the function has run, or what was compiled served this call alone, and the result stands at
/// `call.result`. Else it is the specialization's, of `outputs`.
const Specialization* serve(Compiled&, CallFrame&, const Call& call, Outputs& outputs);
/// CompiledFunction::warm_up.
WarmedUp warm_up(Compiled&, CallFrame&, const Call& call);

template <class... A>
inline void flatten_arguments(CallFrame& frame, const A&... args) {
  frame.constant(reinterpret_cast<std::uintptr_t>(&types_of<A...>));
  (walk(args, frame), ...);
}
template <class T>
void* address_of(const T& argument) {
  return const_cast<void*>(static_cast<const void*>(__builtin_addressof(argument)));
}

}  // namespace detail

/// A function compiled while it runs. Calling it means what calling the function means; see README.md for what it may
/// do. Copies share the function object and one state. Threads: any number may call at once; a specialization is
/// compiled once, the others wait.
template <class F>
class CompiledFunction {
  template <class G>
  friend const std::shared_ptr<detail::Compiled>& detail::compiled_of(const CompiledFunction<G>&);
  friend struct detail::GivingCall;

 public:
  CompiledFunction(F f, CompileOptions options)
      : function_(detail::function_object(std::move(f))), state_(detail::new_compiled(std::move(options))) {}

  template <class... A>
  requires detail::Takes<F, A&&...>
  auto operator()(A&&... args) const -> detail::result_of<F&, A&&...> {
    if constexpr (are_adapted<A...>()) return call_adapted(std::index_sequence_for<A...>(), std::forward<A>(args)...);
    else return call(std::forward<A>(args)...);
  }
  /// What the function does not take.
  template <class... A>
  requires(!detail::Takes<F, A&&...>) void operator()(A&&...) const { refuse<A...>(); }

 private:
  using Parameters = detail::parameters<F>;
  template <class... A>
  static constexpr void refuse() {
    constexpr bool number = detail::takes<F, sizeof...(A)>();
    static_assert(
        number,
        "reprise: a compiled function is called with another number of arguments than its function has parameters");
    static_assert(!number || detail::Takes<F, A&&...>,
                  "reprise: a compiled function is called with arguments that its function does not take: types that "
                  "do not convert to its parameters, or a temporary for a reference that is not const");
  }
  template <class... A>
  static consteval bool are_adapted() {
    if constexpr (Parameters::known)
      return !detail::as_they_are<typename Parameters::types, A...>(std::index_sequence_for<A...>());
    else return false;
  }
  template <std::size_t... I, class... A>
  auto call_adapted(std::index_sequence<I...>, A&&... args) const -> detail::result_of<F&, A&&...> {
    return call(detail::adapt<std::tuple_element_t<I, typename Parameters::types>>(std::forward<A>(args))...);
  }
  template <class... A>
  auto call(A&&... args) const -> detail::result_of<F&, A&&...> {
    using R = detail::result_of<F&, A&&...>;
    if constexpr (!detail::call_fits<F&, A&&...>()) {
      static_cast<void>(detail::Misfitting<F&, A&&...>()), std::terminate();  // it does not compile
    } else {
      if (const detail::Around outer = detail::around(); outer.inside) [[unlikely]] {
        const detail::FunctionScope running(outer.tracer, function_);
        return (*static_cast<F*>(function_.object.get()))(std::forward<A>(args)...);
      }
      detail::CallFrame& frame = detail::begin_frame(*state_);
      detail::flatten_arguments(frame, args...);
      void* const at[] = {detail::address_of(args)..., nullptr};
      detail::Outputs outputs;
      if constexpr (std::is_void_v<R>) {
        detail::serve(*state_, frame, {detail::call_form<F, R, A&&...>, function_, at}, outputs);
      } else {
        detail::ResultRoom<R> room;
        const detail::Specialization* s =
            detail::serve(*state_, frame, {detail::call_form<F, R, A&&...>, function_, at, room.bytes}, outputs);
        if (!s) [[unlikely]]
          return detail::take_result<R>(room.bytes);
        return detail::result_of_replay<R>(*s, outputs);
      }
    }
  }

 public:
  /// Makes ahead what a call with these arguments needs: a specialization, if none serves it, and a recording for its
  /// sizes, with the memory that all recordings share and, on a device, its executable graph (one with work of other
  /// libraries in it is made by the first call, which knows the addresses). The function is traced at most, never run:
  /// tensors stay as they are, and need hold nothing (`empty({8, 64})` will do), variables that it assigns likewise.
  /// What it does beside that (printing, counting) a trace does, too. Waits where calls would be served meanwhile
  /// (OnMiss::ServeMeanwhile).
  ///   for (int batch : {1, 8, 64}) f.warm_up(weights, rp::empty({batch, 64}));
  ///   f.seal();
  /// Throws NotTraceable, with the reason, for a call that would be served eagerly; Sealed where something would have
  /// to be made for a sealed function; and what the function throws when it is traced. More recordings than are kept
  /// (CompileOptions::recordings_max) push out the first. Where tensors want gradients, so does all that backward()
  /// needs: gradients that come in are expected with the layouts of the results. What depends on sizes that data decide
  /// is recorded by the first call.
  template <class... A>
  requires detail::Takes<F, A&&...> WarmedUp warm_up(A&&... args)
  const {
    if constexpr (are_adapted<A...>()) return warm_adapted(std::index_sequence_for<A...>(), std::forward<A>(args)...);
    else return warm(std::forward<A>(args)...);
  }
  template <class... A>
  requires(!detail::Takes<F, A&&...>) void warm_up(A&&...) const { refuse<A...>(); }
  /// Calls `callback` for each miss (Miss) once its call has ended; an empty function unregisters it. It is called on
  /// the call's thread, and for what was made in the background on the library's; several threads may be in it at once.
  /// No lock is held: it may call what it likes, also this function, whose misses on that thread are not told
  /// meanwhile; but on the library's thread wait() and seal() throw. What it throws is dropped, with a warning. Not
  /// told are warm_up() and calls that throw when they are traced. reset() leaves it as it is.
  void set_miss_callback(std::function<void(const Miss&)> callback) {
    detail::set_miss_callback(*state_, std::move(callback));
  }
  /// Waits until nothing is compiled in the background for this function and its backwards (OnMiss::ServeMeanwhile).
  void wait() const { detail::wait_for_builds(*state_); }
  /// After this, a call that would compile throws Sealed, which names the failed guard. Waits for running compilations
  /// and loads device code that would be loaded lazily. Nor are executable graphs made there: of sizes that are new,
  /// the launches are queued one after the other at each call, which costs some microseconds each. A backward() that
  /// would compile throws Sealed likewise, before gradients are accumulated; a gradient that comes in with another
  /// layout than its result has is copied instead.
  void seal() { detail::seal(*state_); }
  /// Forgets everything compiled; counters start again. Calls that are running end with what they have.
  void reset() { detail::reset(*state_); }
  /// From here each launch is timed, and what it moves and computes is summed up, until profile(false):
  /// stats().launches, explain(). It costs a call some tenths of a microsecond a launch, and on devices makes it wait
  /// for them. REPRISE_PROFILE=1 does so for all functions and for operators that run eagerly, and prints a table at
  /// the end of the process.
  void profile(bool on = true) { detail::profile(*state_, on); }
  /// A summary; then of each specialization its guards and where each came from, its graph, its launches, and what they
  /// took.
  std::string explain(Detail detail = Detail::All) const { return detail::explain(*state_, detail); }
  /// What every specialization takes, writes and gives, as JSON: {"function", "specializations": [...]}
  /// (docs/graph_text.md, "The signature").
  std::string signature() const { return detail::signature(*state_); }
  Stats stats() const { return detail::stats_of(*state_); }

  /// Nanoseconds that flattening, guards and lookup of this call take, also where nothing admits it: the mean of
  /// `times` repetitions, nothing run.
  template <class... A>
  double measure_dispatch_ns(const std::tuple<A...>& args, int times) {
    auto flat = [&](detail::CallFrame& f) {
      std::apply([&](const auto&... a) { detail::flatten_arguments(f, a...); }, args);
    };
    return detail::measure_dispatch(
        *state_, [](void* b, detail::CallFrame& f) { (*static_cast<decltype(flat)*>(b))(f); }, &flat, times, false);
  }
  /// Of these calls, one after the other and again from the first.
  template <class... A>
  double measure_dispatch_ns(const std::vector<std::tuple<A...>>& calls, int times) {
    std::size_t next = 0;
    auto flat = [&](detail::CallFrame& f) {
      std::apply([&](const auto&... a) { detail::flatten_arguments(f, a...); }, calls[next]);
      if (++next == calls.size()) next = 0;
    };
    return detail::measure_dispatch(
        *state_, [](void* b, detail::CallFrame& f) { (*static_cast<decltype(flat)*>(b))(f); }, &flat, times, true);
  }
  template <class A>
  double measure_dispatch_ns(const A& arg, int times) {
    return measure_dispatch_ns(std::tuple<const A&>(arg), times);
  }

 private:
  template <std::size_t... I, class... A>
  WarmedUp warm_adapted(std::index_sequence<I...>, A&&... args) const {
    return warm(detail::adapt<std::tuple_element_t<I, typename Parameters::types>>(std::forward<A>(args))...);
  }
  template <class... A>
  WarmedUp warm(A&&... args) const {
    if constexpr (detail::call_fits<F&, A&&...>()) {
      detail::CallFrame frame;
      frame.clear();
      detail::flatten_arguments(frame, args...);
      void* const at[] = {detail::address_of(args)..., nullptr};
      return detail::warm_up(*state_, frame,
                             {detail::call_form<F, detail::result_of<F&, A&&...>, A&&...>, function_, at});
    } else {
      static_cast<void>(detail::Misfitting<F&, A&&...>()), std::terminate();  // it does not compile
    }
  }

  detail::FunctionObject function_;  // never moves: what it holds by value is watched like any variable
  std::shared_ptr<detail::Compiled> state_;
};

/// Wraps a function, lambda or function object. Nothing happens until it is called.
template <class F>
CompiledFunction<std::decay_t<F>> compile(F&& f, CompileOptions options = {}) {
  static_assert(
      detail::is_callable<std::decay_t<F>>(),
      "reprise: compile() takes a function, a lambda, an object with operator() or a member function: this is none");
  return CompiledFunction<std::decay_t<F>>(std::forward<F>(f), std::move(options));
}
/// Of a member function: it is called with the object first, `compile(&Model::forward)(model, x)`. The object is an
/// argument like any other: its tensors may be others at the next call.
template <class R, class C, class... P>
auto compile(R (C::*member)(P...) const, CompileOptions options = {}) {
  return compile([member](const C& self, P... args) -> R { return (self.*member)(std::forward<P>(args)...); },
                 std::move(options));
}
template <class R, class C, class... P>
auto compile(R (C::*member)(P...), CompileOptions options = {}) {
  return compile([member](C& self, P... args) -> R { return (self.*member)(std::forward<P>(args)...); },
                 std::move(options));
}

}  // namespace REPRISE_VISIBLE
