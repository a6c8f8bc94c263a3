#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reprise/autograd.h"
#include "reprise/export.h"
#include "reprise/settings.h"

/// A function together with its derivative, as programs (docs/export.md, "A function and its derivative"). The joint
/// graph computes the results, and of a tangent for each the gradients of the inputs; it is parted into a forward,
/// which is called as the function is, and a backward:
///
///   rp::JointFunction j = rp::export_joint(f, std::tuple(x, w));
///   auto [forward, backward] = j.partition();
///   auto [results, saved] = forward(x, w);
///   std::vector<rp::Tensor> gradients = backward(saved, {tangent});  // of x and of w: backward.gradients()
namespace reprise REPRISE_VISIBLE {

/// What a forward keeps for its backward.
struct SavedForBackward {
  std::vector<Tensor> tensors;
  std::vector<Int> numbers;  ///< sizes, and where the generator stood
};

namespace detail {

struct JointAccess;

/// A joint graph that is cut. Immutable.
struct JointCut {
  ExportedProgram forward, backward;
  std::string joint;                           ///< the graph before the cut
  std::size_t results = 0, numbers = 0;        ///< of the function: tensors, numbers
  std::vector<std::string> tangents{};         ///< "result 0", "cache after the call"
  std::vector<std::uint32_t> tangents_read{};  ///< by tangent of the backward: which of these
  std::vector<std::string> gradients{};        ///< paths of inputs
  std::vector<std::int32_t> gradients_made{};  ///< by input: which result of the backward; -1: none flows
  std::int64_t bytes_saved = 0, bytes_of_all = 0;
};

}  // namespace detail

/// The forward of a joint graph: the function's results, and what its backward reads. Copies share what was compiled.
/// Any thread may call.
class JointForward {
 public:
  /// Called as the function is. Throws as LoadedProgram does for a call outside of the guards.
  template <class... A>
  std::pair<std::vector<Tensor>, SavedForBackward> operator()(const A&... args) const {
    const NoGradScope off;  // the derivative is the backward's
    return taken_apart(function_.call(args...));
  }
  const ExportedProgram& program() const { return cut_->forward; }  ///< results are the function's, then the saved ones
  std::int64_t bytes_saved() const { return cut_->bytes_saved; }    ///< at the traced sizes, but of inputs and results
  std::int64_t bytes_of_all() const { return cut_->bytes_of_all; }  ///< of all that the backward would read

 private:
  friend class JointFunction;
  explicit JointForward(std::shared_ptr<const detail::JointCut> cut)
      : cut_(std::move(cut)), function_(program().program()) {}
  std::pair<std::vector<Tensor>, SavedForBackward> taken_apart(ProgramResults) const;
  std::shared_ptr<const detail::JointCut> cut_;
  LoadedProgram function_;
};

/// The backward of a joint graph. Copies share what was compiled. Any thread may call.
class JointBackward {
 public:
  /// The gradients of gradients(), in order; undefined where none flows. `given` has a tensor for each of tangents(),
  /// of the sizes and the dtype of that result, with any strides; undefined stands for zeros only where the backward
  /// does not read it. Throws InvalidArgument for another number of tangents, and as LoadedProgram does.
  std::vector<Tensor> operator()(const SavedForBackward& saved, const std::vector<Tensor>& given,
                                 SourceLoc loc = SourceLoc::current()) const;
  const ExportedProgram& program() const { return cut_->backward; }  ///< of "saved", "tangents" and "numbers"
  /// What a tangent is of: "result 0", a differentiable result (none is an argument itself); "x after the call", an
  /// argument that the function has written and that wants a gradient then.
  const std::vector<std::string>& tangents() const { return cut_->tangents; }
  const std::vector<std::string>& gradients() const { return cut_->gradients; }  ///< paths of inputs that want one

 private:
  friend class JointFunction;
  explicit JointBackward(std::shared_ptr<const detail::JointCut> cut)
      : cut_(std::move(cut)), function_(program().program()) {}
  std::shared_ptr<const detail::JointCut> cut_;
  LoadedProgram function_;
};

/// A function that was traced with its derivative. Immutable; copies share it. Any thread.
class JointFunction {
 public:
  /// The joint graph's text: `tangent(%r, i)` stands for the gradient that comes in for a result, `gradient(%v, i)`
  /// says what goes out for an input.
  const std::string& graph() const { return first_->joint; }
  /// Cuts the joint graph. Another choice than the fewest bytes traces the function again, under the default dtype and
  /// the autocast of the thread that exported it.
  std::pair<JointForward, JointBackward> partition(BackwardKeeps keeps = BackwardKeeps::MinimumCut,
                                                   SourceLoc loc = SourceLoc::current()) const;
  /// The same by a partitioner of the program's own (partition.h).
  std::pair<JointForward, JointBackward> partition(PartitionFunction choose,
                                                   SourceLoc loc = SourceLoc::current()) const;

 private:
  using Cut =
      std::function<std::shared_ptr<const detail::JointCut>(BackwardKeeps, const PartitionFunction&, SourceLoc)>;
  friend struct detail::JointAccess;
  JointFunction(Cut cut, SourceLoc loc) : cut_(std::move(cut)), first_(cut_(BackwardKeeps::MinimumCut, {}, loc)) {}
  Cut cut_;
  std::shared_ptr<const detail::JointCut> first_;
};

namespace detail {

struct JointAccess {
  template <class Cut>
  static JointFunction function(Cut cut, SourceLoc loc) {
    return JointFunction(std::move(cut), loc);
  }
};
std::shared_ptr<const JointCut> export_joint_call(const Call&, ExportOptions, BackwardKeeps, const PartitionFunction&,
                                                  SourceLoc);

template <class F, class... A>
std::shared_ptr<const JointCut> export_joint_with(const FunctionObject& function, ExportOptions options,
                                                  BackwardKeeps keeps, const PartitionFunction& choose, SourceLoc loc,
                                                  A&... args) {
  static_assert(Takes<F&, A&...>,
                "reprise: a function is exported with arguments that it does not take: types that do not convert to "
                "its parameters");
  if constexpr (call_fits<F&, A&...>()) {
    void* const at[] = {address_of(args)..., nullptr};
    return export_joint_call({call_form<F, result_of<F&, A&...>, A&...>, function, at}, std::move(options), keeps,
                             choose, loc);
  } else {
    static_cast<void>(Misfitting<F&, A&...>()), std::terminate();  // it does not compile
  }
}

}  // namespace detail

/// Traces f(args...) with its derivative, which runs nothing: tensors need hold nothing, and may be shape-only. The
/// inputs that want gradients are those arguments, fields and captured tensors that do; where none does, all arguments
/// of floating dtypes. The function may write arguments: gradients are by what they held before the call, and what they
/// hold after it has a tangent of its own. Results that are views are views of the forward's results or arguments, and
/// have tangents as others do. Throws as export_program() does; InvalidArgument where no result depends on what wants a
/// gradient, and for ExportOptions::trace_joint, which is of export_program().
template <class F, class... A>
JointFunction export_joint(F&& f, const std::tuple<A...>& args, ExportOptions options = {},
                           SourceLoc loc = SourceLoc::current()) {
  using Function = std::decay_t<F>;
  static_assert(detail::is_callable<Function>(),
                "reprise: export_joint() takes a function, a lambda or an object with operator(): this is none");
  const detail::FunctionObject function = detail::function_object(std::forward<F>(f));
  return detail::JointAccess::function(
      [function, given = detail::adapted_for<Function>(args), options, floats = get_default_dtype(),
       casts = autocast_dtype()](BackwardKeeps keeps, const PartitionFunction& choose, SourceLoc at) mutable {
        const DefaultDTypeScope same_floats(floats);
        const AutocastScope same_casts(casts.value_or(kBFloat16), casts.has_value());
        return std::apply(
            [&](auto&... a) { return detail::export_joint_with<Function>(function, options, keeps, choose, at, a...); },
            given);
      },
      loc);
}

}  // namespace REPRISE_VISIBLE
