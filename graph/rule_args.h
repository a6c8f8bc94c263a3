#pragma once
#include <deque>
#include <vector>

#include "graph/op.h"
#include "tensor/impl.h"

namespace reprise::graph {

/// What a shape rule sees of a call's arguments.
class RuleArgs {
 public:
  explicit RuleArgs(std::span<const CallArg> args) {
    all_.reserve(args.size());
    for (const CallArg& a : args) all_.push_back(std::visit([&](const auto& v) { return one(v); }, a));
  }
  std::span<const RuleArg> all() const { return all_; }

 private:
  const TensorMeta* meta(const Tensor& t) { return t.impl() ? &metas_.emplace_back(meta_of(t)) : nullptr; }
  RuleArg one(const Tensor* t) {
    const TensorMeta* m = t ? meta(*t) : nullptr;
    return m ? RuleArg(m) : RuleArg();
  }
  RuleArg one(const TensorArrayRef& l) {
    std::vector<const TensorMeta*>& list = lists_.emplace_back();
    for (const Tensor& t : l) list.push_back(meta(t));
    return std::span<const TensorMeta* const>(list);
  }
  RuleArg one(const IntArrayRef& l) { return l.vec(); }
  template <class T>
  RuleArg one(const T& v) {
    return v;
  }

  std::deque<TensorMeta> metas_;
  std::deque<std::vector<const TensorMeta*>> lists_;
  std::vector<RuleArg> all_;
};

}  // namespace reprise::graph
