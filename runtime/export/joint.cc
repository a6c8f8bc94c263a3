// A function and its derivative are exported as two programs (reprise/export_joint.h): the trace's joint graph is cut
// as that of a compiled call is (runtime/trace/joint_cut.cc); the forward is the traced program with what is saved
// among its results, the backward a function that calls the other graph, exported by itself.
#include <algorithm>

#include "base/errors.h"
#include "guards/expr.h"
#include "reprise/autograd.h"
#include "reprise/export_joint.h"
#include "runtime/call/layout_class.h"
#include "runtime/export/capture.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {

constexpr const char* kOp = "export_joint";

/// The result of the forward that a saved value is.
std::int32_t leaf_of(const SavedValue& s, const Traced& t, std::size_t results, std::size_t own) {
  switch (s.where) {
    case SavedValue::Where::Input: return input_itself(s.index);
    case SavedValue::Where::Result: return t.tensor_results[s.index];
    case SavedValue::Where::Own: return t.tensor_results[results + own];
    case SavedValue::Where::Base: break;  // of results as values there are none (Tracer::by_value)
  }
  REPRISE_CHECK(false, "a saved value is nobody's");
  return -1;
}

/// The backward with a calling convention for people.
struct NamedBackward {
  BackwardFunction function;
  std::vector<Tensor> operator()(const std::vector<Tensor>& saved, const std::vector<Tensor>& tangents,
                                 const std::vector<Int>& numbers) const {
    std::vector<Tensor> all = saved;
    all.insert(all.end(), tangents.begin(), tangents.end());
    return function(all, numbers);
  }
};

}  // namespace

/// A tangent as the traced one lay, which its result decides: callers need not know.
static Tensor lying_as(const Tensor& t, std::uint64_t word) {
  const TensorImpl& impl = *t.impl();
  const runtime::LayoutClass layout = runtime::layout_class(word);
  if (impl.trace || impl.rank != runtime::rank_of_word(word) || runtime::fits(impl, word, false)) return t;
  if (layout == runtime::LayoutClass::Strided) return t;
  if (layout != runtime::LayoutClass::Dense) return t.contiguous();
  const runtime::DimOrder order = runtime::order_of(word);
  std::vector<std::int64_t> there, back(static_cast<std::size_t>(order.rank));
  for (int d = 0; d < order.rank; ++d) {
    there.push_back(order.dims[static_cast<std::size_t>(d)]);
    back[static_cast<std::size_t>(there.back())] = d;
  }
  return t.permute(there).contiguous().permute(back);
}

void CutRequest::take(Traced& t, std::vector<SpecLeaf>& told, const ExportOptions& o, SourceLoc loc) {
  const std::shared_ptr<const Gradients> g = t.gradients;
  if (!g || !g->backward)
    fail(ErrorCode::InvalidArgument, kOp, loc, "no result of ", o.name,
         " depends on an argument or a captured tensor that wants a gradient");
  for (const auto& i : t.graph.inputs) inputs.push_back(t.graph.values[i.value.v].name);
  results = t.tensor_results.size() - g->own, numbers = t.int_results.size() - g->numbers;
  std::vector<std::int32_t> saved;
  std::size_t own = 0;
  for (const SavedValue& s : g->saved) {
    saved.push_back(leaf_of(s, t, results, own));
    own += s.where == SavedValue::Where::Own;
  }
  t.tensor_results.resize(results);
  t.tensor_results.insert(t.tensor_results.end(), saved.begin(), saved.end());
  for (std::size_t i = 0; i < saved.size(); ++i) {
    SpecLeaf& l = told.emplace_back();
    l.kind = SpecLeaf::Kind::Tensor, l.at = static_cast<std::uint32_t>(results + i);
    l.path = "saved[" + std::to_string(i) + "]";
  }
  for (std::size_t i = 0; i < g->numbers; ++i) {
    SpecLeaf& l = told.emplace_back();
    l.kind = SpecLeaf::Kind::Int, l.at = static_cast<std::uint32_t>(numbers + i);
    l.path = "numbers[" + std::to_string(i) + "]";
  }
  values = traced_values(*t.graph.env);
  gradients = g;
}

std::shared_ptr<const JointCut> export_joint_call(const Call& call, ExportOptions options, BackwardKeeps keeps,
                                                  const PartitionFunction& choose, SourceLoc loc) {
  if (options.trace_joint)
    fail(ErrorCode::InvalidArgument, kOp, loc,
         "trace_joint is of export_program(): here the derivative is of all results");
  const std::string name = options.name;
  CutRequest cut;
  cut.keeps = keeps, cut.choose = choose;
  ExportedProgram forward = export_forward(call, std::move(options), cut, loc);
  const Gradients& g = *cut.gradients;
  const NoGradScope off;
  BackwardArguments a = expected_arguments(g, cut.values, {});
  const auto first = a.tensors.begin() + static_cast<std::ptrdiff_t>(g.saved.size());
  ExportedProgram backward = export_program(
      NamedBackward{{g.graph}},
      std::tuple(std::vector<Tensor>(a.tensors.begin(), first), std::vector<Tensor>(first, a.tensors.end()), a.numbers),
      {.name = name + " backward", .arguments = {"saved", "tangents", "numbers"}}, loc);
  auto made = std::make_shared<JointCut>(JointCut{std::move(forward), std::move(backward), std::move(cut.joint)});
  made->results = cut.results, made->numbers = cut.numbers;
  for (const Joint::Output& of : g.joint.outputs)
    made->tangents.push_back(of.of == Joint::Output::Of::Input ? cut.inputs[of.index] + " after the call"
                                                               : "result " + std::to_string(of.index));
  made->tangents_read = g.tangents;
  for (std::size_t i = 0; i < g.joint.inputs.size(); ++i) {
    if (g.joint.inputs[i].by_base) continue;
    made->gradients.push_back(cut.inputs[g.joint.inputs[i].index]);
    made->gradients_made.push_back(g.gradients[i]);
  }
  made->bytes_saved = g.bytes_saved, made->bytes_of_all = g.bytes_of_all;
  return made;
}

}  // namespace reprise::detail

namespace reprise {

std::pair<std::vector<Tensor>, SavedForBackward> JointForward::taken_apart(ProgramResults r) const {
  SavedForBackward saved;
  const auto first = r.tensors.begin() + static_cast<std::ptrdiff_t>(cut_->results);
  saved.tensors.assign(std::make_move_iterator(first), std::make_move_iterator(r.tensors.end()));
  r.tensors.erase(first, r.tensors.end());
  for (std::size_t i = cut_->numbers; i < r.numbers.size(); ++i) saved.numbers.push_back(r.numbers[i].word());
  return {std::move(r.tensors), std::move(saved)};
}

std::vector<Tensor> JointBackward::operator()(const SavedForBackward& saved, const std::vector<Tensor>& given,
                                              SourceLoc loc) const {
  auto refuse = [&](const auto&... why) {
    fail(ErrorCode::InvalidArgument, cut_->backward.name().c_str(), loc, why...);
  };
  if (given.size() != cut_->tangents.size())
    refuse(given.size(), " tangents are given, and ", cut_->tangents.size(), " results are differentiable");
  std::vector<Tensor> tangents;
  const std::vector<detail::InputContract>& inputs = detail::ProgramAccess::program(cut_->backward)->inputs;
  for (const std::uint32_t i : cut_->tangents_read) {
    if (!given[i].defined()) refuse("the tangent of ", cut_->tangents[i], " is undefined");
    const std::size_t input = saved.tensors.size() + tangents.size();
    tangents.push_back(input < inputs.size() ? detail::lying_as(given[i], inputs[input].word) : given[i]);
  }
  const NoGradScope off;
  const std::vector<Tensor> made = function_(saved.tensors, tangents, saved.numbers);
  std::vector<Tensor> gradients;
  for (const std::int32_t i : cut_->gradients_made)
    gradients.push_back(i < 0 ? Tensor() : made[static_cast<std::size_t>(i)]);
  return gradients;
}

std::pair<JointForward, JointBackward> JointFunction::partition(BackwardKeeps keeps, SourceLoc loc) const {
  const std::shared_ptr<const detail::JointCut> cut =
      keeps == BackwardKeeps::MinimumCut ? first_ : cut_(keeps, {}, loc);
  return {JointForward(cut), JointBackward(cut)};
}
std::pair<JointForward, JointBackward> JointFunction::partition(PartitionFunction choose, SourceLoc loc) const {
  const std::shared_ptr<const detail::JointCut> cut = cut_(BackwardKeeps::MinimumCut, choose, loc);
  return {JointForward(cut), JointBackward(cut)};
}

}  // namespace reprise
