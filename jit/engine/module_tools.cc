#include "jit/engine/module_tools.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <atomic>
#include <filesystem>
#include <memory>

#include "base/errors.h"
#include "base/files.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/thread_object.h"

namespace reprise::jit {

llvm::LLVMContext& thread_context() {
  auto& context = thread_object<std::unique_ptr<llvm::LLVMContext>>();
  static thread_local int uses = 0;
  if (!context || ++uses % 128 == 0) context = std::make_unique<llvm::LLVMContext>();
  return *context;
}

std::string text_of(const llvm::Module& m) {
  std::string s;
  llvm::raw_string_ostream out(s);
  m.print(out, nullptr);
  return s;
}

std::string assembly_of(llvm::Module& m, llvm::TargetMachine& tm) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  if (tm.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile)) return "";
  passes.run(m);
  return std::string(text);
}

void check_module(const llvm::Module& m, std::string_view key) {
  if (knobs().verify < 1) return;
  std::string why;
  llvm::raw_string_ostream out(why);
  if (llvm::verifyModule(m, &out)) fail(ErrorCode::Internal, "jit", {}, "invalid IR: ", why, " for\n", key, text_of(m));
}

void dump_file(const std::string& name, std::string_view text) {
  const std::string& folder = knobs().dump;
  if (folder.empty()) return;
  std::error_code ignored;  // what stands in the way is said when the file is opened
  std::filesystem::create_directories(folder, ignored);
  std::string why;
  if (files::File f = files::open_to_write(folder + "/" + name, why);
      f && files::write_all(f, text.data(), static_cast<std::int64_t>(text.size()), why))
    return;
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) logs::warn("REPRISE_DUMP: cannot write '" + folder + "/" + name + "': " + why);
}

}  // namespace reprise::jit
