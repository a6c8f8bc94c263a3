#pragma once
#include <memory>
#include <string>
#include <vector>

#include "reprise/export.h"
#include "runtime/export/program.h"
#include "runtime/trace/graph_call.h"

namespace reprise::detail {

/// What a program computes, as a function that can be compiled: calls what the graph calls, writes what it writes.
struct ProgramFunction {
  struct Results {
    std::vector<Tensor> tensors;
    std::vector<Int> numbers;
  };
  std::shared_ptr<const Program> of;
  std::vector<const guards::Expr*> told;  ///< whose values nodes, views and results need (NumbersOf)

  explicit ProgramFunction(std::shared_ptr<const Program>);
  /// `inputs`: by input of the graph; `numbers`: by its NumberInput, without seed and offset, as words; `computed`:
  /// what is told and no symbol.
  Results operator()(const std::vector<Tensor>& inputs, const std::vector<Scalar>& numbers,
                     const std::vector<Int>& computed) const;
};

/// A program with weights. Immutable but for what is compiled.
class LoadedFunction {
 public:
  LoadedFunction(std::shared_ptr<const Program>, CompileOptions);
  std::shared_ptr<const Program> program;
  std::vector<Tensor> weights;            ///< by input; undefined where a call gives it, and where nobody has bound it
  std::vector<const guards::Expr*> told;  ///< ProgramFunction::told
  CompiledFunction<ProgramFunction> function;

  ProgramResults run(const GivenArguments&) const;
  WarmedUp warm(const GivenArguments&) const;
  std::shared_ptr<const LoadedFunction> bind(const std::map<std::string, Tensor>&, SourceLoc) const;
  /// Throws what a call would for this tensor as this input.
  void check_input(std::size_t input, const Tensor&, const char* op, SourceLoc) const;

 private:
  struct Arguments;
  Arguments arguments(const GivenArguments&) const;
  void check(const Arguments&) const;
};

}  // namespace reprise::detail
