#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op_column.h"
#include "passes/rewrite.h"

namespace reprise::passes {

/// Short names for emitting primitives while a composite is taken apart. Values are of the graph being built.
class Build {
 public:
  Build(Rewriter& rw, const graph::Node& node, const std::vector<graph::NodeArg>& args)
      : rw_(rw), node_(node), args_(args) {}

  using V = graph::ValueId;
  V tensor(int i) const { return std::get<V>(args_[static_cast<std::size_t>(i)]); }
  bool has(int i) const { return !std::holds_alternative<std::monostate>(args_[static_cast<std::size_t>(i)]); }
  bool flag(int i) const { return std::get<bool>(args_[static_cast<std::size_t>(i)]); }
  Int integer(int i) const { return std::get<Int>(args_[static_cast<std::size_t>(i)]); }
  Scalar scalar(int i) const { return std::get<Scalar>(args_[static_cast<std::size_t>(i)]); }
  const std::string& text(int i) const { return std::get<std::string>(args_[static_cast<std::size_t>(i)]); }
  const Ints& ints(int i) const { return std::get<Ints>(args_[static_cast<std::size_t>(i)]); }
  SourceLoc loc() const { return node_.info.loc; }

  const TensorMeta& meta(V v) const { return rw_.meta(v); }
  Ints sizes(V v) const { return meta(v).layout.sizes; }  // by value: what adds nodes moves the metadata
  int dim(V v) const { return meta(v).dim(); }
  V emit(graph::OpId op, std::vector<graph::NodeArg> a) { return rw_.emit(op, std::move(a)); }

  V to(V v, DType t) { return meta(v).dtype == t ? v : emit(graph::OpId::to, {v, t}); }
  V unary(graph::OpId op, V v) { return emit(op, {v}); }
  V add(V a, graph::NodeArg b) { return emit(graph::OpId::add, {a, std::move(b), Scalar(1)}); }
  V sub(V a, graph::NodeArg b) { return emit(graph::OpId::sub, {a, std::move(b), Scalar(1)}); }
  V mul(V a, graph::NodeArg b) { return emit(graph::OpId::mul, {a, std::move(b)}); }
  V div(V a, graph::NodeArg b) { return emit(graph::OpId::div, {a, std::move(b), std::monostate{}}); }
  /// sum or prod (which take a dtype) or amax, amin, any, all.
  V reduce(graph::OpId op, V v, const Ints& dims, bool keepdim) {
    std::vector<graph::NodeArg> a{v, dims, keepdim};
    a.resize(graph::op(op).schema.args.size());  // dtype=None, where there is one
    return emit(op, std::move(a));
  }
  /// view, after a copy where the layout does not allow it for certain.
  V reshape(V v, const Ints& to);

  /// The dims a reduction argument means: none or empty is all; wrapped to 0..rank-1.
  Ints reduced_dims(int arg, V of) const;
  /// How many elements those dims hold together.
  Int count(V of, const Ints& dims) const;

  /// Is there nothing to reduce? Asks (and may guard) with the user's line.
  bool is_empty(V of, const Ints& dims) const {
    return static_cast<bool>(detail::compare_eq(count(of, dims), 0, loc()));
  }

  /// Where sums are kept: float32 for the half types, the dtype itself otherwise.
  static DType accumulator(DType t) { return is_low_precision(t) ? DType::Float32 : t; }

 private:
  Rewriter& rw_;
  const graph::Node& node_;
  const std::vector<graph::NodeArg>& args_;
};

/// How an operator is taken apart: the value of its one result, in the dtype `result`.
struct Decomposition {
  Build::V (*write)(Build&, DType result) = nullptr;
  bool (*applies)(const Build&, Device) = nullptr;  ///< null: always
};
graph::OpColumn<Decomposition>& decompositions();

// By the composites' names (decompose_norm.cc, decompose_matmul.cc).
#define REPRISE_ROW_Composite(id) Build::V decompose_##id(Build&, DType result);
#include "graph/op_rows.inc"
Build::V decompose_linear_with_bias(Build&, DType result);

}  // namespace reprise::passes
