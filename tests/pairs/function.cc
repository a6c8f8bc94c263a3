#include "tests/pairs/function.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "device/cpu_level.h"
#include "tests/support/kept_call.h"
#include "tests/support/rt_call.h"

namespace reprise::pairs {

namespace {

/// While it lives, there may be a file of that name.
struct File {
  std::string name;
  File() {
    static std::atomic<int> files{0};  // calls of several threads
    const std::string own = "reprise_pairs_" + std::to_string(getpid()) + "_" + std::to_string(files++) + ".rpx";
    name = (std::filesystem::temp_directory_path() / own).string();
  }
  ~File() { std::filesystem::remove(name); }
};

bool by_runtime() {
  static const int every = [] {
    const char* text = std::getenv("PAIRS_RT");
    return text ? std::atoi(text) : 8;
  }();
  static std::atomic<int> calls{0};
  return every > 0 && calls++ % every == 0;
}

/// The leaves that a program takes as arguments.
struct Given {
  std::vector<rprt_value> values;
  std::vector<Tensor> tensors;
  explicit Given(const Arguments& in) {
    detail::GivenArguments leaves;
    detail::walk(in, leaves);
    using Kind = detail::GivenArguments::Leaf::Kind;
    for (const auto& l : leaves.all) {
      if (l.kind == Kind::Tensor && l.tensor->defined()) {
        tensors.push_back(*l.tensor);
        values.push_back(RtProgram::value(*l.tensor));
      } else if (l.kind == Kind::Int) {
        values.push_back(RtProgram::value(l.integer.hint()));
      } else if (l.kind == Kind::Scalar) {
        values.push_back(l.number.is_float() ? RtProgram::value(l.number.to_double({}))
                                             : RtProgram::value(l.number.word().hint()));
      }
    }
  }
};

/// PAIRS_KEEP=FOLDER: what another process can call (tests/export, Export.CallsOfAnotherProcess).
std::optional<KeptCall> kept_call(const Arguments& in, const std::map<std::string, Tensor>& weights) {
  if (!std::getenv("PAIRS_KEEP")) return std::nullopt;
  KeptCall kept;
  detail::GivenArguments leaves;
  detail::walk(in, leaves);
  using Kind = detail::GivenArguments::Leaf::Kind;
  for (const auto& l : leaves.all) {
    if (l.kind == Kind::Tensor && l.tensor->defined()) kept.argument(*l.tensor);
    if (l.kind == Kind::Int) kept.argument(l.integer.hint());
    if (l.kind == Kind::Scalar && l.number.kind() != Scalar::Kind::Bool) {
      if (l.number.is_float()) kept.argument(l.number.to_double({}));
      else kept.argument(l.number.word().hint());
    }
  }
  for (const auto& [name, t] : weights) kept.weight(name, t);
  kept.begins();
  return kept;
}

/// Null: it needs a compiler.
std::optional<ExportedProgram> with_code(const ExportedProgram& p) {
  static const std::string level = device::has_cpu_level("avx512") ? "avx512"
                                   : device::has_cpu_level("avx2") ? "avx2"
                                                                   : "x86_64_v2";
  try {
    return p.compile({.levels = {level}});
  } catch (const Error& e) {
    if (e.code() != ErrorCode::NotTraceable) throw;
    return std::nullopt;
  }
}

std::vector<Tensor> run_by_runtime(const std::string& file, const std::map<std::string, Tensor>& weights,
                                   const Arguments& in) {
  RtProgram p(file);
  Given given(in);
  for (const auto& [name, t] : weights) {
    p.bind(name, t);
    given.tensors.push_back(t);
  }
  return p.call(given.values, given.tensors);
}

}  // namespace

std::optional<std::vector<Tensor>> Function::called_exported(const Arguments& in) const {
  std::optional<ExportedProgram> p;
  std::optional<LoadedProgram> f;
  const File file;
  bool saved = true, runtime = false;
  try {
    p = export_program([this](Arguments args) { return run(program_, args, var_); }, std::tuple(in));
    if (by_runtime())
      if (std::optional<ExportedProgram> compiled = with_code(*p)) p = std::move(compiled), runtime = true;
    f = p->program();
    try {
      p->save(file.name);
    } catch (const Error& e) {
      if (e.op() != "ExportedProgram::save") throw;
      saved = runtime = false;  // a weight is strided, which a file does not keep
    }
    if (saved && !runtime) f = load_program(file.name).bind(f->weights());
  } catch (const Error& e) {
    if (e.op() == "load_program" || e.op() == "bind" || e.code() == ErrorCode::Internal) throw;
    return std::nullopt;  // the compiled call says which of several mistakes comes first
  }
  static std::atomic<int> counted{0};
  if (runtime && std::getenv("PAIRS_RT") && ++counted % 100 == 0)
    std::printf("%d calls by the runtime\n", counted.load());
  if (runtime) used_runtime_ = true;
  std::optional<KeptCall> kept;
  if (saved) kept = kept_call(in, f->weights());
  std::vector<Tensor> made = runtime ? run_by_runtime(file.name, f->weights(), in) : (*f)(in);
  if (kept) {
    static std::atomic<int> calls{0};
    const std::string at = std::string(std::getenv("PAIRS_KEEP")) + "/" + std::to_string(calls++);
    kept->ends(made, at + ".call");
    std::filesystem::copy_file(file.name, at + (runtime ? ".rt" : ".rpx"));
  }
  return made;
}

}  // namespace reprise::pairs
