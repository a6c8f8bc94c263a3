#pragma once
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/interpreter.h"
#include "reprise/settings.h"

namespace reprise::detail {

/// What the integers of a graph are where it is called: expressions of its environment, in terms of Ints of here.
class NumbersOf {
 public:
  /// The expressions whose values must be told: symbols, and what is computed of them in another way than integers are.
  static std::vector<const guards::Expr*> of(const graph::Graph&);
  /// Adds those of one number.
  static void add(Int, std::vector<const guards::Expr*>& told);
  /// The same of a node's argument, of a region's nodes and of a view's steps.
  static void add(const graph::NodeArg&, std::vector<const guards::Expr*>& told);

  /// As they are: in the trace that the graph is of.
  NumbersOf() : as_they_are_(true) {}
  NumbersOf(std::span<const guards::Expr* const> told, std::span<const Int> values);
  Int operator()(Int) const;

 private:
  Int of(const guards::Expr*) const;
  std::span<const guards::Expr* const> told_;
  std::span<const Int> values_;
  bool as_they_are_ = false;
};

/// A node's argument without values in it, as a call takes it: integers are `number(Int)`. Lists stand in `ints`.
template <class F>
graph::CallArg without_tensors(const graph::NodeArg& a, F&& number, std::deque<Ints>& ints) {
  return std::visit(
      [&](const auto& v) -> graph::CallArg {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Int>) {
          return number(v);
        } else if constexpr (std::is_same_v<T, Ints>) {
          Ints& list = ints.emplace_back();
          for (Int x : v) list.push_back(number(x));
          return IntArrayRef(list);
        } else if constexpr (std::is_same_v<T, Scalar>) {
          return v.kind() == Scalar::Kind::Bool ? v : v.with_word(number(v.word()));
        } else if constexpr (std::is_same_v<T, std::string>) {
          return std::string_view(v);
        } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, DType>) {
          return v;
        } else {
          return std::monostate{};
        }
      },
      a);
}

/// While it lives, autocast is off and the default dtype is `floats`: a graph says what it computes, whatever is set
/// for the thread that calls what was traced before.
class SettingsOfGraphs {
 public:
  explicit SettingsOfGraphs(DType floats = DType::Float32) : floats_(floats) {}

 private:
  const AutocastScope no_casts_{DType::BFloat16, false};
  const DefaultDTypeScope floats_;
};

/// Nodes that are no plain call of an operator: those with written views, and those that give no result.
class OtherNodes {
 public:
  virtual ~OtherNodes() = default;
  /// `values`: by value of the graph. Gives the node's results.
  virtual std::vector<Tensor> call(const graph::Node&, std::span<const Tensor> values, const NumbersOf&) = 0;
};

/// Calls what the nodes of a functional graph call, in order, as a program would: eagerly, or in a trace, whose calls
/// then belong to the same forward calls. Gives the outputs, undefined where they are aliases. Nodes with regions are
/// calls of cond and scan. Throws NotTraceable for nodes that no program calls (written views), unless `other` does.
/// `scopes`: each is called in the scope that its node has, counted from here.
std::vector<Tensor> call_graph(const graph::Graph&, std::span<const Tensor> inputs, const NumbersOf&,
                               OtherNodes* other = nullptr, bool scopes = false);

}  // namespace reprise::detail
