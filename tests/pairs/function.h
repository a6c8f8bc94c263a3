#pragma once
#include "tests/pairs/program.h"

namespace reprise::pairs {

/// A program as a compiled function; its variables live elsewhere.
class Function {
 public:
  Function(const Program& p, Variables& var, CompileOptions options)
      : compiled_([&p, &var](Arguments in) { return run(p, in, var); }, std::move(options)) {}
  std::vector<Tensor> operator()(const Arguments& in) { return compiled_(in); }
  Stats stats() const { return compiled_.stats(); }
  void reset() { compiled_.reset(); }
  void seal() { compiled_.seal(); }
  bool has_stages() const { return compiled_.explain(Detail::Summary).find("  stage 0,") != std::string::npos; }
  void wait() { compiled_.wait(); }
  void warm_up(const Arguments& in) { compiled_.warm_up(in); }

 private:
  CompiledFunction<std::function<std::vector<Tensor>(Arguments)>> compiled_;
};

}  // namespace reprise::pairs
