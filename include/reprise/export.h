#pragma once
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "reprise/compile.h"
#include "reprise/flatten.h"
#include "reprise/safetensors.h"
#include "reprise/source_location.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"
#include "reprise/weights.h"

/// Programs that leave the process (docs/export.md): a function is traced, as warm_up() does, and kept as a functional
/// graph with a signature. It is saved as one file, with its weights and its guards, and called in another process that
/// has not its source.
///
///   rp::ExportedProgram p = rp::export_module(net, std::tuple(x), {.arguments = {"x"}, .sizes = {{"x", 0, batch}}});
///   p.save("net.rpx");
///   rp::LoadedProgram f = rp::load_program("net.rpx");     // in another process
///   rp::Tensor y = f(x)[0];
namespace reprise REPRISE_VISIBLE {

/// A size with a name and bounds: a contract of the program. Sizes of one name are equal in every call.
struct Dim {
  std::string name;
  std::int64_t min = 0, max = INT64_MAX;
  std::int64_t multiple_of = 1;
};
/// Dimension `dim` of the argument with this path: "x", "arg 1", "batch.mask".
struct NamedSize {
  std::string argument;
  int dim = 0;
  Dim size;
};

/// Does this thread trace a function to export it (export_program, export_module, export_joint)? Then is_compiling() is
/// true, too. It is a constant of the program: what runs here must mean the same as in an eager call. Any thread;
/// throws nothing.
bool is_exporting() noexcept;

struct ExportOptions {
  std::string name = "program";
  /// What the arguments are called, in order; those without a name are "arg 0", "arg 1", .... A module's tensors are
  /// called by their paths in it.
  std::vector<std::string> arguments = {};
  /// Bounds of sizes. Each other size is open, within what the trace found out (ExportedProgram::guards); mark_dynamic
  /// and mark_static count, too.
  std::vector<NamedSize> sizes = {};
  bool static_sizes = false;  ///< every size is the traced call's
  /// The program computes its derivative as well: the gradients of the result number `loss`, a floating tensor of one
  /// element, are further results. They are of the arguments and weights that want gradients; where none does, of a
  /// module's parameters of floating dtype. Other results that would want gradients are detached
  /// (GraphSignature::detached tells them).
  bool trace_joint = false;
  int loss = 0;
  /// Where the program runs that is traced of shape-only tensors (reprise/shape_only.h).
  Device device = Device::cpu();
};

/// For which processors a program is compiled ahead, so that it runs without a compiler (docs/runtime.md).
struct CodeOptions {
  /// Levels of x86-64, by the names of REPRISE_CPU: "x86_64_v2", "avx2", "avx512", "avx512_vnni", "avx512_bf16"; and
  /// "aarch64", which every processor of 64-bit Arm runs under Linux. Any machine makes code for all of them; a runtime
  /// takes the highest that its machine has.
  std::vector<std::string> levels = {"x86_64_v2", "avx2", "avx512"};
};

/// Which result is whose gradient. Outputs are named as in GraphSignature.
struct BackwardSignature {
  std::map<std::string, std::string> gradients_to_parameters;
  std::map<std::string, std::string> gradients_to_user_inputs;
  std::string loss_output;
};

/// What each input and output of the graph is. Inputs and outputs are named by their values ("%0", as the graph's text
/// has them); an output that is a view of an input by that and the views ("%0.permute([1, 0])"); what is none of the
/// graph's values is no key. Parameters, buffers and arguments have their paths: "conv1.weight", "x", "arg 0".
struct GraphSignature {
  std::vector<std::string> parameters, buffers;  ///< in the order of the inputs
  std::map<std::string, std::string> inputs_to_parameters, inputs_to_buffers;
  std::vector<std::string> user_inputs;   ///< "%3"; a number by its symbol, "s2"
  std::vector<std::string> user_outputs;  ///< in the order of the results; a number as an expression
  /// outputs that are the new contents of a buffer, of a parameter, of an argument
  std::map<std::string, std::string> buffers_to_mutate, parameters_to_mutate, user_inputs_to_mutate;
  std::optional<BackwardSignature> backward_signature;  ///< of a joint program
  std::vector<std::string> detached;                    ///< user outputs that would want gradients, but for the loss
  std::string in_spec, out_spec;                        ///< the calling convention: "(x: f32[batch, 3], n: size)"
};

class ExportedProgram;
class LoadedProgram;

namespace detail {

struct Program;        // runtime/export/program.h: what a file says
class LoadedFunction;  // runtime/export/loaded.h: a program with weights, compiled
struct ProgramAccess;  // runtime/export/program.h

/// The leaves of the arguments of a call of a loaded program. Borrows them.
class GivenArguments {
 public:
  struct Leaf {
    enum class Kind : std::uint8_t { Tensor, Int, Scalar, Constant, Length, Text } kind;
    const Tensor* tensor = nullptr;
    Int integer = 0;
    Scalar number = 0;
    std::uint64_t word = 0;
    std::string_view text = {};
    ConstantKind constant = {};
  };
  std::vector<Leaf> all;
  void tensor(const Tensor& t) { all.push_back({.kind = Leaf::Kind::Tensor, .tensor = &t}); }
  void integer(const Int& i) { all.push_back({.kind = Leaf::Kind::Int, .integer = i}); }
  void number(const Scalar& s) { all.push_back({.kind = Leaf::Kind::Scalar, .number = s}); }
  void constant(std::uint64_t w, ConstantKind k) {
    const bool shape = k == ConstantKind::Length || k == ConstantKind::Presence;
    all.push_back({.kind = shape ? Leaf::Kind::Length : Leaf::Kind::Constant, .word = w, .constant = k});
  }
  void text(std::string_view s) { all.push_back({.kind = Leaf::Kind::Text, .text = s}); }
};

}  // namespace detail

/// A traced program. Immutable; copies share it. Any thread.
class ExportedProgram {
 public:
  const GraphSignature& signature() const;
  const std::string& name() const;
  std::string graph() const;                 ///< its text (docs/graph_text.md)
  std::vector<std::string> guards() const;   ///< what a call must keep: "x.size(0) <= 64  ; mark_dynamic"
  void print_readable(std::ostream&) const;  ///< signature, contracts and graph
  void print_tabular(std::ostream&) const;   ///< a row for each input, node and output
  /// A row for each node: the number of the call that it is made of, of a derivative that of its forward, scope, line.
  void print_sequence_table(std::ostream&) const;

  /// The program with machine code, which save() writes, too: such a file is called in processes that have no compiler
  /// (reprise/rt.h). Sizes that are open stay open. Throws NotTraceable, with the reason and the line, for what a
  /// runtime does not run: sizes that depend on data, kernels of registered operators, devices; InvalidArgument for an
  /// unknown level.
  ExportedProgram compile(const CodeOptions& options = {}, SourceLoc loc = SourceLoc::current()) const;

  /// Writes a file (docs/export_format.md), which takes its name when it is whole. `beside`: the weights go into that
  /// file, named relative to the program's folder, and not into the program's. Throws Io.
  void save(const std::string& path, const std::string& beside = "", SourceLoc loc = SourceLoc::current()) const;
  /// The program to be called, as load_program() gives it. Its weights are the module's own tensors.
  LoadedProgram program(CompileOptions options = {}) const;

 private:
  friend struct detail::ProgramAccess;
  explicit ExportedProgram(std::shared_ptr<const detail::Program> p) : program_(std::move(p)) {}
  std::shared_ptr<const detail::Program> program_;
};

namespace detail {

/// Traces the call. `module`: its first argument is a module, whose tensors are the program's weights.
ExportedProgram export_call(const Call&, bool module, ExportOptions, SourceLoc);

/// The arguments as the function takes them: numbers become Ints where it takes these.
template <class Types, std::size_t... I, class... A>
auto adapted_arguments(std::index_sequence<I...>, const std::tuple<A...>& args) {
  using Adapted = std::tuple<std::decay_t<decltype(adapt<std::tuple_element_t<I, Types>>(std::get<I>(args)))>...>;
  return Adapted(adapt<std::tuple_element_t<I, Types>>(std::get<I>(args))...);
}
template <class F, class... A>
auto adapted_for(const std::tuple<A...>& args) {
  if constexpr (parameters<F>::known) {
    using Types = typename parameters<F>::types;
    static_assert(std::tuple_size_v<Types> == sizeof...(A),
                  "reprise: a function is exported with another number of arguments than it has parameters");
    if constexpr (std::tuple_size_v<Types> == sizeof...(A))
      return adapted_arguments<Types>(std::index_sequence_for<A...>(), args);
    else return args;
  } else {
    return args;
  }
}
/// F called with these arguments, the module before them where there is one.
template <class F, class... A>
ExportedProgram export_with(const FunctionObject& function, bool module, ExportOptions options, SourceLoc loc,
                            A&... args) {
  static_assert(Takes<F&, A&...>,
                "reprise: a function is exported with arguments that it does not take: types that do not convert to "
                "its parameters");
  if constexpr (call_fits<F&, A&...>()) {
    void* const at[] = {address_of(args)..., nullptr};
    return export_call({call_form<F, result_of<F&, A&...>, A&...>, function, at}, module, std::move(options), loc);
  } else {
    static_cast<void>(Misfitting<F&, A&...>()), std::terminate();  // it does not compile
  }
}

}  // namespace detail

/// Traces f(args...), which runs nothing: tensors need hold nothing, and may be shape-only. Tensors that f captures,
/// and the fields of modules among its arguments, are the program's weights; numbers that are no Int, Float or Scalar
/// are constants of it. Throws NotTraceable, with the reason and the line, for a call that compile() would serve
/// eagerly or that does what a loaded program could not (assigns variables, changes sizes in place, sees memory that
/// arguments share); InvalidArgument for options that do not fit, and for a joint program without a loss; and what f
/// throws.
template <class F, class... A>
ExportedProgram export_program(F&& f, const std::tuple<A...>& args, ExportOptions options = {},
                               SourceLoc loc = SourceLoc::current()) {
  using Function = std::decay_t<F>;
  static_assert(detail::is_callable<Function>(),
                "reprise: export_program() takes a function, a lambda or an object with operator(): this is none");
  const detail::FunctionObject function = detail::function_object(std::forward<F>(f));
  auto given = detail::adapted_for<Function>(args);
  return std::apply(
      [&](auto&... a) { return detail::export_with<Function>(function, false, std::move(options), loc, a...); }, given);
}
/// The same of module(args...): a class with REPRISE_FIELDS, best derived from nn::Callable. All tensors of the module
/// are weights of the program, whether it uses them or not. The module stays as it is.
template <class Module, class... A>
ExportedProgram export_module(const Module& module, const std::tuple<A...>& args, ExportOptions options = {},
                              SourceLoc loc = SourceLoc::current()) {
  auto call = [](Module& m, auto&... a) { return m(a...); };
  const detail::FunctionObject function = detail::function_object(call);
  auto given = [&] {
    if constexpr (requires { &Module::forward; }) return detail::adapted_for<decltype(&Module::forward)>(args);
    else return args;
  }();
  Module copy = module;  // handles: the tensors are the module's
  return std::apply(
      [&](auto&... a) {
        return detail::export_with<decltype(call)>(function, true, std::move(options), loc, copy, a...);
      },
      given);
}

/// What a call of a loaded program gives.
struct ProgramResults {
  std::vector<Tensor> tensors;              ///< in the order of GraphSignature::out_spec; undefined where it says so
  std::vector<Scalar> numbers;              ///< the Ints, Floats and Scalars among the results
  std::map<std::string, Tensor> gradients;  ///< of a joint program: by parameter's or argument's path
};

/// A program that can be called. Copies share its weights and what was compiled. Any thread may call.
class LoadedProgram {
 public:
  const GraphSignature& signature() const;
  const std::string& name() const;
  std::string graph() const;
  std::vector<std::string> guards() const;
  void print_readable(std::ostream&) const;
  void print_tabular(std::ostream&) const;
  void print_sequence_table(std::ostream&) const;

  /// The results' tensors. Arguments as the exported function took them; or tensors, Ints, Floats and Scalars alone,
  /// in their order (in_spec). What it was traced with as a constant (a bool, a double, a string, an int that is no
  /// Int) is left out or equal. Writes to arguments and buffers as the function does; results that are views of
  /// arguments are views. Throws InvalidArgument, ShapeMismatch, DTypeMismatch or DeviceMismatch for a call outside of
  /// the guards, naming the guard and the value, before anything is changed. There is no derivative through it: where
  /// an argument or a weight wants one, asking a result for gradients is an error that says so.
  template <class... A>
  std::vector<Tensor> operator()(const A&... args) const {
    return call(args...).tensors;
  }
  /// All that it gives.
  template <class... A>
  ProgramResults call(const A&... args) const {
    detail::GivenArguments given;
    (detail::walk(args, given), ...);
    return run(given);
  }
  /// CompiledFunction::warm_up of such a call.
  template <class... A>
  WarmedUp warm_up(const A&... args) const {
    detail::GivenArguments given;
    (detail::walk(args, given), ...);
    return warm(given);
  }

  /// The same program with other weights by their paths ("layers[0].w" or "layers.0.w"); those that are not named stay.
  /// What was compiled is shared. Throws InvalidArgument for a name that the program has not, and as a call does for
  /// sizes or dtypes outside of the guards.
  LoadedProgram bind(const std::map<std::string, Tensor>& weights, SourceLoc loc = SourceLoc::current()) const;
  LoadedProgram bind(const SafeTensors& file, SourceLoc loc = SourceLoc::current()) const;
  /// Of a module, or a struct of weights. Its tensors without elements are left out.
  template <detail::HasWeights T>
  requires(!std::is_same_v<T, SafeTensors> && !detail::is_string_map<T>::value) LoadedProgram
      bind(const T& weights, SourceLoc loc = SourceLoc::current())
  const {
    detail::WeightCollector fields;
    detail::walk(weights, fields);
    std::map<std::string, Tensor> by_name;
    for (detail::Weight& w : fields.all)
      if (w.tensor.defined()) by_name.emplace(std::move(w.field), std::move(w.tensor));
    return bind(by_name, loc);
  }
  /// Its weights by their paths. Those that it was exported without (shape-only ones) are not there until bound.
  std::map<std::string, Tensor> weights() const;

  void seal();  ///< CompiledFunction::seal, and so on
  void profile(bool on = true);
  Stats stats() const;
  std::string explain(Detail = Detail::Summary) const;

 private:
  friend struct detail::ProgramAccess;
  explicit LoadedProgram(std::shared_ptr<const detail::LoadedFunction> f) : function_(std::move(f)) {}
  ProgramResults run(const detail::GivenArguments&) const;
  WarmedUp warm(const detail::GivenArguments&) const;
  std::shared_ptr<const detail::LoadedFunction> function_;
};

struct LoadOptions {
  /// How its calls are compiled. Its name is the program's unless another is given.
  CompileOptions compile = {.name = ""};
  Reading how = Reading::Mapped;  ///< of weights
  bool freeze_weights = false;    ///< weights that it does not write are declared frozen (docs/freezing.md)
};
/// Reads a file that save() wrote. All of it is checked before anything is made of it: throws Io where the system
/// refuses, FileFormat (naming the file and what is wrong) for one that is damaged, of another kind or of a newer
/// version, InvalidArgument for an operator that is not registered here or with another schema.
LoadedProgram load_program(const std::string& path, LoadOptions options = {}, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
