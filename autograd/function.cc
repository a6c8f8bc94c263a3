// Functions whose derivative the program tells (reprise::Function).
#include <algorithm>

#include "autograd/off_tape.h"
#include "autograd/saved.h"
#include "autograd/shadow.h"
#include "autograd/state.h"
#include "autograd/tape.h"
#include "autograd/trace_tape.h"
#include "autograd/views.h"
#include "base/errors.h"
#include "graph/call_numbers.h"
#include "graph/region_gradients.h"
#include "reprise/autograd.h"
#include "reprise/ops.h"

namespace reprise::autograd {

struct FunctionNode final : Node {
  FunctionNode(std::string name, SourceLoc loc, detail::FunctionBackward backward)
      : Node(loc), own_name(std::move(name)), backward(backward) {}
  std::string name() const override { return own_name; }

  std::vector<Tensor> apply(std::vector<Tensor> grads, Needed) override {
    grads.resize(results.size());
    if (context.materialize_)
      for (std::size_t i = 0; i < grads.size(); ++i)
        if (!grads[i].defined() && is_differentiable(results[i].dtype))
          grads[i] = zeros(results[i].sizes, {.dtype = results[i].dtype, .device = results[i].device}, loc);
    std::vector<Tensor> given = backward(context, std::move(grads));
    if (given.size() != next.size())
      fail(ErrorCode::InvalidArgument, own_name.c_str(), loc, "backward gives ", given.size(),
           " gradients; forward takes ", next.size(), next.size() == 1 ? " tensor" : " tensors");
    return given;
  }
  void release() override {
    for (Saved& s : saved) s.reset();
  }
  bool tell(Shadow& s) override {
    if (context.more) return false;
    s.word(3), s.word(own_name), s.word(reinterpret_cast<std::uintptr_t>(backward)), s.word(context.materialize_);
    s.word(saved.size()), s.word(context.sizes.size()), s.word(context.numbers.size());
    for (const Saved& one : saved) s.add(one, *this);
    for (Int i : context.sizes) s.ints.push_back(i);
    for (const Scalar& n : context.numbers) {
      s.word(static_cast<std::uint64_t>(n.kind()));
      s.numbers.push_back(n);
    }
    for (bool b : context.needs_) s.word(b);
    return true;
  }
  std::shared_ptr<Node> copy(Traced& t) const override {
    auto made = std::make_shared<FunctionNode>(own_name, loc, backward);
    made->context = context;
    made->context.node_ = made.get();
    for (std::size_t i = 0; i < saved.size(); ++i) made->saved.push_back(t.saved());
    for (Int& i : made->context.sizes) i = t.integer();
    for (Scalar& n : made->context.numbers) n = t.number();
    return made;
  }

  const std::string own_name;
  const detail::FunctionBackward backward;
  mutable FunctionContext context;
  std::vector<Saved> saved;
};

/// One call, between forward and the tape.
struct FunctionCall {
  static std::vector<Tensor> run(std::string name, std::vector<Tensor> inputs, const detail::FunctionForward& forward,
                                 detail::FunctionBackward backward, SourceLoc loc) {
    bool wants = false;
    std::vector<bool> needs;
    for (const Tensor& t : inputs) {
      if (t.impl() && gradients_are_on()) graph::ask_place(*t.impl(), name.c_str());
      needs.push_back(t.impl() && is_differentiable(t.impl()->dtype) && reprise::requires_grad(*t.impl()));
      wants = wants || needs.back();
    }
    wants = wants && gradients_are_on();
    if (!wants && gradients_are_on())
      for (const Tensor& t : inputs)
        if (t.impl() && is_differentiable(t.impl()->dtype))
          graph::refuse_in_region_that_wants_gradients(*t.impl(), name.c_str(), loc);
    auto node = std::make_shared<FunctionNode>(std::move(name), loc, backward);
    node->context.needs_ = needs;
    {
      const Aside aside;
      for (const Tensor& t : inputs) node->next.push_back(wants ? edge_of(t) : Edge{});
    }
    std::vector<std::uint64_t> versions;
    for (const Tensor& t : inputs) versions.push_back(t.impl() ? version_of(*t.impl()) : 0);
    std::vector<Tensor> made;
    {
      const NoGradScope off;
      made = forward(node->context);
    }
    const Aside aside;
    FunctionContext& c = node->context;
    auto is_among = [](const std::vector<Tensor>& all, const Tensor& t) {
      return std::any_of(all.begin(), all.end(), [&](const Tensor& a) { return a.impl() == t.impl(); });
    };
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].impl() && version_of(*inputs[i].impl()) != versions[i] && !is_among(c.dirty_, inputs[i]) && wants &&
          node->next[i])
        fail(ErrorCode::InvalidArgument, node->own_name.c_str(), loc, "forward has written to tensor ", i,
             " of its arguments and did not say so (mark_dirty)");
    for (const Tensor& t : c.dirty_)
      if (!is_among(made, t))
        fail(ErrorCode::InvalidArgument, node->own_name.c_str(), loc,
             "forward does not return a tensor that it has marked as written (mark_dirty)");
    auto is_view = [](const Tensor& t) { return state_of(t) && state_of(t)->view; };
    if (!wants) {
      // Where gradients are off its views are as any that are made there.
      if (gradients_are_on())
        for (const Tensor& t : made)
          if (t.impl() && is_view(t) && !is_among(inputs, t)) note_view(t, graph::ViewMade::InFunction);
      c.to_save_.clear();
      return made;
    }
    (c.more ? off_tape.region : off_tape.custom) = true;
    node->traced = graph::call_numbers.latest;
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      Tensor& t = made[i];
      node->results.push_back(meta_of_result(t));
      if (!t.defined() || !is_differentiable(t.impl()->dtype) || is_among(c.non_differentiable_, t)) continue;
      if (is_among(c.dirty_, t)) {
        check_may_write(t, node->own_name, true, loc);
        written_by(t, node, i);
        continue;
      }
      // A view of an argument, or an argument itself, is a handle of its own, through which nothing is written: that
      // would be written to the argument.
      const bool views = is_among(inputs, t) || is_view(t);
      if (views) {
        const NoGradScope off;
        const Tensor own = detach(t, loc);
        for (Tensor& saved : c.to_save_)
          if (saved.impl() == t.impl() && !is_among(inputs, t)) saved = own;
        t = own;
      }
      set_made_by(t, node, i);
      if (views) note_view(t, graph::ViewMade::InFunction);
    }
    for (const Tensor& t : c.to_save_) {
      const auto at = std::find_if(made.begin(), made.end(), [&](const Tensor& m) { return m.impl() == t.impl(); });
      node->saved.push_back(at == made.end() ? Saved::input(t)
                                             : Saved::own_result(t, static_cast<std::uint32_t>(at - made.begin())));
    }
    c.to_save_.clear(), c.dirty_.clear(), c.non_differentiable_.clear();
    c.node_ = node.get();
    return made;
  }
};

}  // namespace reprise::autograd

namespace reprise {

std::vector<Tensor> detail::call_function(std::string name, std::vector<Tensor> inputs, const FunctionForward& forward,
                                          FunctionBackward backward, SourceLoc loc) {
  return autograd::FunctionCall::run(std::move(name), std::move(inputs), forward, backward, loc);
}

std::vector<Tensor> FunctionContext::saved_tensors() const {
  if (!node_) return to_save_;  // in forward
  std::vector<Tensor> all;
  for (const autograd::Saved& s : node_->saved) all.push_back(s.unpack(*node_));
  return all;
}

}  // namespace reprise
