#pragma once
#include <string>
#include <variant>
#include <vector>

#include "graph/interpreter.h"
#include "graph/op.h"
#include "reprise/dtype.h"
#include "reprise/ops.h"

namespace reprise::test {

using OpArg =
    std::variant<std::monostate, Tensor, std::vector<Tensor>, Int, std::vector<Int>, Scalar, bool, DType, std::string>;

/// One call: an argument for each of the schema, tensors as they are to be passed.
struct OpCase {
  graph::OpId op;
  std::vector<OpArg> args;
};

inline std::string describe(const Tensor& t) {
  std::string s(dtype_short_name(t.dtype()));
  s += "[";
  for (int d = 0; d < t.dim(); ++d) s += (d ? ", " : "") + t.size(d).str();
  s += "]{";
  for (int d = 0; d < t.dim(); ++d) s += (d ? ", " : "") + t.stride(d).str();
  return s + "}";
}

inline std::string describe(const OpCase& c) {
  std::string s(graph::op(c.op).name());
  for (const OpArg& a : c.args) {
    s += " ";
    if (auto* t = std::get_if<Tensor>(&a)) s += t->defined() ? describe(*t) : "None";
    else if (auto* l = std::get_if<std::vector<Tensor>>(&a))
      for (const Tensor& t : *l) s += t.defined() ? describe(t) : "None";
    else if (auto* i = std::get_if<Int>(&a)) s += i->str();
    else if (auto* n = std::get_if<Scalar>(&a)) s += n->str();
    else if (auto* v = std::get_if<std::vector<Int>>(&a))
      for (Int i : *v) s += i.str() + ",";
    else if (auto* b = std::get_if<bool>(&a)) s += *b ? "true" : "false";
    else if (auto* d = std::get_if<DType>(&a)) s += std::string(dtype_short_name(*d));
    else if (auto* x = std::get_if<std::string>(&a)) s += "'" + *x + "'";
    else s += "None";
  }
  return s;
}

/// The case's arguments with its tensors (in order) replaced by `tensors`.
inline std::vector<graph::CallArg> call_args(const OpCase& c, const std::vector<Tensor>& tensors,
                                             std::vector<std::vector<Tensor>>& lists) {
  std::vector<graph::CallArg> out;
  std::size_t next = 0;
  lists.reserve(c.args.size());
  for (const OpArg& a : c.args) {
    out.push_back(std::visit(
        [&](const auto& v) -> graph::CallArg {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, Tensor>) {
            return v.defined() ? graph::CallArg(&tensors[next++]) : graph::CallArg(std::monostate{});
          } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
            lists.emplace_back();
            for (const Tensor& t : v) lists.back().push_back(t.defined() ? tensors[next++] : Tensor());
            return TensorArrayRef(lists.back());
          } else if constexpr (std::is_same_v<T, std::vector<Int>>) {
            return IntArrayRef(v);
          } else if constexpr (std::is_same_v<T, std::string>) {
            return std::string_view(v);
          } else {
            return v;
          }
        },
        a));
  }
  return out;
}

inline std::vector<Tensor> tensors_of(const OpCase& c) {
  std::vector<Tensor> t;
  for (const OpArg& a : c.args) {
    if (auto* one = std::get_if<Tensor>(&a); one && one->defined()) t.push_back(*one);
    if (auto* list = std::get_if<std::vector<Tensor>>(&a))
      for (const Tensor& x : *list)
        if (x.defined()) t.push_back(x);
  }
  return t;
}

/// Through whoever answers on this thread: eager, or the trace of a compilation.
inline std::vector<Tensor> call(const OpCase& c, const std::vector<Tensor>& tensors, bool inplace = false) {
  std::vector<std::vector<Tensor>> lists;
  std::vector<graph::CallArg> args = call_args(c, tensors, lists);
  std::vector<Tensor> results;
  graph::forward({graph::op(c.op), args, inplace, {}}, results);
  return results;
}

}  // namespace reprise::test
