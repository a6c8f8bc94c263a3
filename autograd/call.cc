#include "autograd/call.h"

#include "graph/view_column.h"
#include "tensor/impl.h"

namespace reprise::autograd {

ResultMeta meta_of_result(const Tensor& t) {
  if (!t.impl()) return {};
  TensorMeta m = meta_of(t);
  return {std::move(m.layout.sizes), m.dtype, m.device};
}

Call::Call(const graph::OpCall& c) : op(c.op), inplace(c.inplace), loc(c.loc) {
  args.reserve(c.args.size()), first.reserve(c.args.size());
  if (graph::names_places(c.op.id))
    layout = std::make_shared<const Layout>(meta_of(*std::get<const Tensor*>(c.args[0])).layout);
  for (const graph::CallArg& a : c.args) {
    first.push_back(tensors);
    args.push_back(std::visit(
        [&](const auto& v) -> Arg {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, const Tensor*>) {
            ++tensors;
            return meta_of_result(*v);
          } else if constexpr (std::is_same_v<T, TensorArrayRef>) {
            std::vector<ResultMeta> all;
            for (const Tensor& t : v) all.push_back(meta_of_result(t));
            tensors += static_cast<std::uint32_t>(all.size());
            return all;
          } else if constexpr (std::is_same_v<T, IntArrayRef>) {
            return v.vec();
          } else if constexpr (std::is_same_v<T, std::string_view>) {
            return std::string(v);
          } else {
            return v;
          }
        },
        a));
  }
}

std::size_t Call::count(int arg) const {
  const Arg& a = args[static_cast<std::size_t>(arg)];
  if (auto* l = std::get_if<std::vector<ResultMeta>>(&a)) return l->size();
  return std::holds_alternative<ResultMeta>(a);
}

std::vector<graph::CallArg> Call::with(std::span<const Tensor> all) const {
  std::vector<graph::CallArg> made;
  made.reserve(args.size());
  for (std::size_t i = 0; i < args.size(); ++i)
    made.push_back(std::visit(
        [&](const auto& v) -> graph::CallArg {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, ResultMeta>) return &all[first[i]];
          else if constexpr (std::is_same_v<T, std::vector<ResultMeta>>)
            return TensorArrayRef(all.data() + first[i], v.size());
          else if constexpr (std::is_same_v<T, Ints>) return IntArrayRef(v);
          else if constexpr (std::is_same_v<T, std::string>) return std::string_view(v);
          else return v;
        },
        args[i]));
  return made;
}

}  // namespace reprise::autograd
