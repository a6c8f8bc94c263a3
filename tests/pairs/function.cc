#include "tests/pairs/function.h"

#include <unistd.h>

#include <filesystem>

namespace reprise::pairs {

std::optional<LoadedProgram> Function::loaded(const Arguments& in) const {
  try {
    const ExportedProgram p =
        export_program([this](Arguments args) { return run(program_, args, var_); }, std::tuple(in));
    const std::string file =
        (std::filesystem::temp_directory_path() / ("reprise_pairs_" + std::to_string(getpid()) + ".rpx")).string();
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
    if (e.code() == ErrorCode::NotTraceable) return std::nullopt;
    throw;
  }
}

}  // namespace reprise::pairs
