#pragma once
#include <atomic>
#include <optional>

#include "reprise/export.h"
#include "tests/pairs/program.h"

namespace reprise::pairs {

/// A program as a compiled function; its variables live elsewhere.
class Function {
 public:
  Function(const Program& p, Variables& var, CompileOptions options, bool exported)
      : program_(p), var_(var), exported_(exported),
        compiled_([&p, &var](Arguments in) { return run(p, in, var); }, std::move(options)) {}
  std::vector<Tensor> operator()(const Arguments& in) {
    if (exported_)
      if (std::optional<std::vector<Tensor>> made = called_exported(in)) return *std::move(made);
    return compiled_(in);
  }
  Stats stats() const { return compiled_.stats(); }
  void reset() { compiled_.reset(); }
  void seal() { compiled_.seal(); }
  bool has_stages() const { return compiled_.explain(Detail::Summary).find("  stage 0,") != std::string::npos; }
  void wait() { compiled_.wait(); }
  void warm_up(const Arguments& in) { compiled_.warm_up(in); }
  /// Has the runtime without a compiler made a call? What it returns is no view on the tape.
  bool has_used_runtime() const { return used_runtime_; }

 private:
  /// The call as one of a program that was saved and loaded, with the variables as weights; nothing where it is
  /// refused. Some are made by the runtime without a compiler: each eighth, or of PAIRS_RT (1: all, 0: none).
  std::optional<std::vector<Tensor>> called_exported(const Arguments& in) const;

  const Program& program_;
  Variables& var_;
  const bool exported_;
  mutable std::atomic<bool> used_runtime_{false};
  CompiledFunction<std::function<std::vector<Tensor>(Arguments)>> compiled_;
};

}  // namespace reprise::pairs
