#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/build/stages.h"
#include "runtime/export/code_memory.h"
#include "runtime/export/contract.h"
#include "runtime/replay/program_archive.h"

namespace reprise::jit {
struct CodeImage;
}

namespace reprise::detail {

/// Tensors of this name and the level are machine code (docs/export_format.md).
inline constexpr std::string_view kCodeTensor = "reprise.code.";

/// A program as it is run without a compiler: what a call must keep, and what a replay does, with its code.
struct CodeProgram {
  std::string level, in_spec, out_spec;
  Contract contract;
  /// What a value of the call is. Computed: of `computed`, by its number; Zero also of what a stage reads.
  struct Word {
    enum class Of : std::uint8_t { Zero, Size, Stride, Number, Computed } of = Of::Zero;
    std::uint32_t at = 0, dim = 0;
  };
  std::vector<Word> words;
  guards::ExprProgram computed;  ///< of the contract's symbols
  std::vector<std::uint32_t> computed_slots;
  guards::GuardSet guards;  ///< of `words`, beside the contract's
  std::vector<std::int32_t> tensor_results;
  runtime::Stages before;            ///< of `program`, whose numbers they read of data
  guards::ExprProgram random_count;  ///< where there are stages: numbers taken from the generator, its last slot
  runtime::Program program;
  CodeMemory memory;  ///< what the programs call

  std::size_t user_results() const { return tensor_results.size() - contract.gradients.size(); }
};

/// The programs of a specialization, in the order in which a call runs them, and their checks of data.
struct CodeParts {
  const runtime::Stages& before;
  const guards::ExprProgram& random_count;
  const runtime::Program& program;
};
/// `parts`: whose code has these addresses, by number of the image's entries. Throws NotArchived for what has no form
/// (ProgramWriter::own).
std::string write_code(const CodeProgram&, const CodeParts& parts, const jit::CodeImage&,
                       const std::vector<const void*>& addresses);
/// Throws DamagedArchive, and NotArchived (its text continues "the file") for what this build does not know.
std::unique_ptr<CodeProgram> read_code(std::string_view bytes);

}  // namespace reprise::detail
