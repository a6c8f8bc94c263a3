#include "tests/pairs/function.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>

namespace reprise::pairs {

std::optional<LoadedProgram> Function::loaded(const Arguments& in) const {
  try {
    const ExportedProgram p =
        export_program([this](Arguments args) { return run(program_, args, var_); }, std::tuple(in));
    static std::atomic<int> files{0};  // calls of several threads
    const std::string name = "reprise_pairs_" + std::to_string(getpid()) + "_" + std::to_string(files++) + ".rpx";
    const std::string file = (std::filesystem::temp_directory_path() / name).string();
    LoadedProgram here = p.program();
    try {
      p.save(file);
    } catch (const Error& e) {
      if (e.op() != "ExportedProgram::save") throw;
      return here;  // a weight is strided, which a file does not keep
    }
    LoadedProgram f = load_program(file).bind(here.weights());
    std::filesystem::remove(file);
    return f;
  } catch (const Error& e) {
    if (e.op() == "load_program" || e.op() == "bind" || e.code() == ErrorCode::Internal) throw;
    return std::nullopt;  // the compiled call says which of several mistakes comes first
  }
}

}  // namespace reprise::pairs
