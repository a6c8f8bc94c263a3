// What a derivative's rule sees of its call.
#include "autograd/gradient.h"
#include "autograd/op_node.h"
#include "autograd/shadow.h"
#include "base/errors.h"
#include "graph/call_numbers.h"
#include "reprise/ops.h"

namespace reprise::autograd {

bool OpNode::has_edge(int arg) const {
  const std::size_t at = call->first[static_cast<std::size_t>(arg)], n = call->count(arg);
  for (std::size_t i = at; i < at + n; ++i)
    if (next[i]) return true;
  return false;
}

namespace {
bool is_wanted(const OpNode& n, const Save& s) {
  for (int arg = 0; arg < static_cast<int>(n.call->args.size()); ++arg)
    if ((s.wanted_by >> arg & 1) && n.has_edge(arg)) return true;
  return false;
}
}  // namespace

void OpNode::save_inputs(std::span<const Tensor* const> tensors) {
  if (!derivative || !derivative->rule) return;
  saved.resize(derivative->saves.n);
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const Save& s = derivative->saves.all[i];
    if (s.result || !is_wanted(*this, s)) continue;
    const std::size_t at = call->first[static_cast<std::size_t>(s.index)], n = call->count(s.index);
    for (std::size_t t = at; t < at + n; ++t) saved[i].push_back(Saved::input(*tensors[t]));
  }
}

void OpNode::save_results(std::span<const Tensor> results) {
  if (!derivative || !derivative->rule) return;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const Save& s = derivative->saves.all[i];
    if (s.result && is_wanted(*this, s))
      saved[i].push_back(
          Saved::own_result(results[static_cast<std::size_t>(s.index)], static_cast<std::uint32_t>(s.index)));
  }
}

bool OpNode::tell(Shadow& s) {
  s.word(1);
  s.add(*call);
  for (const auto& list : saved) {
    s.word(list.size());
    for (const Saved& one : list) s.add(one, *this);
  }
  return true;
}

std::shared_ptr<Node> OpNode::copy(Traced& t) const {
  auto made = std::make_shared<OpNode>(t.call(*call));
  for (const auto& list : saved) {
    auto& own = made->saved.emplace_back();
    for (std::size_t i = 0; i < list.size(); ++i) own.push_back(t.saved());
  }
  return made;
}

void OpNode::release() {
  for (auto& list : saved)
    for (Saved& s : list) s.reset();
}

std::vector<Tensor> OpNode::apply(std::vector<Tensor> grads, Needed wanted) {
  if (!derivative)
    fail(ErrorCode::InvalidArgument, name().c_str(), loc,
         "the operator has no derivative: detach() what it is given, or call it where gradients are off (NoGradScope)");
  std::vector<Tensor> given(next.size());
  if (!derivative->rule) return given;
  needed = wanted;
  struct Done {
    OpNode& n;
    ~Done() { n.needed = nullptr; }
  } done{*this};
  Backward b(*this, grads, given, loc);
  derivative->rule(b);
  return given;
}

const Tensor& Backward::grad(int i) {
  Tensor& g = grads_[static_cast<std::size_t>(i)];
  if (!g.defined()) {
    const ResultMeta& m = node_.results[static_cast<std::size_t>(i)];
    g = zeros(m.sizes, {.dtype = m.dtype, .device = m.device}, loc_);
  }
  return g;
}

namespace {
const Call::Arg& argument(const OpNode& n, int arg) { return n.call->args[static_cast<std::size_t>(arg)]; }
template <class T>
const T& argument_as(const OpNode& n, int arg, const char* what) {
  const T* v = std::get_if<T>(&argument(n, arg));
  if (!v) fail(ErrorCode::Internal, n.name().c_str(), n.loc, "its derivative takes argument ", arg, " for ", what);
  return *v;
}
const ResultMeta& meta_of_tensor(const OpNode& n, int arg, std::size_t of_list) {
  if (auto* l = std::get_if<std::vector<ResultMeta>>(&argument(n, arg))) return l->at(of_list);
  return argument_as<ResultMeta>(n, arg, "a tensor");
}
const std::vector<Saved>& saved_as(const OpNode& n, bool result, int index) {
  for (std::size_t i = 0; i < n.saved.size(); ++i) {
    const Save& s = n.derivative->saves.all[i];
    if (s.result == result && s.index == index && !n.saved[i].empty()) return n.saved[i];
  }
  fail(ErrorCode::Internal, n.name().c_str(), n.loc, "its derivative reads ", result ? "result " : "argument ", index,
       ", which it has not declared to save");
}
}  // namespace

bool Backward::has(int arg) const { return !std::holds_alternative<std::monostate>(argument(node_, arg)); }
bool Backward::is_tensor(int arg) const { return std::holds_alternative<ResultMeta>(argument(node_, arg)); }
Tensor Backward::tensor(int arg) { return has(arg) ? saved_as(node_, false, arg)[0].unpack(node_) : Tensor(); }
std::vector<Tensor> Backward::tensors(int arg) {
  std::vector<Tensor> all;
  for (const Saved& s : saved_as(node_, false, arg)) all.push_back(s.unpack(node_));
  return all;
}
Operand Backward::operand(int arg) {
  if (!is_tensor(arg)) return {number(arg), loc_};
  held_.push_back(tensor(arg));
  return {held_.back(), loc_};
}
Tensor Backward::result(int i) { return saved_as(node_, true, i)[0].unpack(node_); }

const Ints& Backward::sizes(int arg, std::size_t of_list) const { return meta_of_tensor(node_, arg, of_list).sizes; }
DType Backward::dtype(int arg, std::size_t of_list) const { return meta_of_tensor(node_, arg, of_list).dtype; }
Device Backward::device(int arg, std::size_t of_list) const { return meta_of_tensor(node_, arg, of_list).device; }
std::size_t Backward::count(int arg) const { return node_.call->count(arg); }
const Layout& Backward::layout() const {
  if (!node_.call->layout)
    fail(ErrorCode::Internal, node_.name().c_str(), loc_,
         "its derivative asks for a layout, and the operator names no places of a storage");
  return *node_.call->layout;
}
const Ints& Backward::result_sizes(int i) const { return node_.results[static_cast<std::size_t>(i)].sizes; }
DType Backward::result_dtype(int i) const { return node_.results[static_cast<std::size_t>(i)].dtype; }

Scalar Backward::number(int arg) const {
  if (auto* i = std::get_if<Int>(&argument(node_, arg))) return Scalar(*i);
  return argument_as<Scalar>(node_, arg, "a number");
}
Int Backward::integer(int arg) const { return argument_as<Int>(node_, arg, "an integer"); }
const Ints& Backward::ints(int arg) const { return argument_as<Ints>(node_, arg, "a list of integers"); }
bool Backward::flag(int arg) const { return argument_as<bool>(node_, arg, "a flag"); }
DType Backward::dtype_argument(int arg) const { return argument_as<DType>(node_, arg, "a dtype"); }
std::string_view Backward::text(int arg) const { return argument_as<std::string>(node_, arg, "a text"); }
graph::OpId Backward::op() const { return node_.call->op.id; }

bool Backward::wants(int arg) const {
  const std::size_t n = node_.call->count(arg);
  for (std::size_t i = 0; i < n; ++i)
    if (wants(arg, i)) return true;
  return false;
}
bool Backward::wants(int arg, std::size_t of_list) const {
  if (of_list >= node_.call->count(arg)) return false;
  const std::size_t i = node_.call->first[static_cast<std::size_t>(arg)] + of_list;
  return node_.next[i] && (!node_.needed || (*node_.needed)[i]);
}

void Backward::give(int arg, const Tensor& g) { give(arg, 0, g); }
void Backward::give(int arg, std::size_t of_list, const Tensor& g) {
  if (!g.defined() || !wants(arg, of_list)) return;
  const std::size_t i = node_.call->first[static_cast<std::size_t>(arg)] + of_list;
  if (given_[i].defined())
    fail(ErrorCode::Internal, node_.name().c_str(), loc_, "its derivative gives argument ", arg, " twice");
  given_[i] = as_gradient(g, meta_of_tensor(node_, arg, of_list), node_, loc_);
}

}  // namespace reprise::autograd
