#include "jit/engine/module_tools.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <filesystem>
#include <memory>

#include "base/errors.h"
#include "base/files.h"
#include "base/knobs.h"
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
  if (knobs().dump.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(knobs().dump, ignored);
  std::string ignored_too;
  if (files::File f = files::open_to_write(knobs().dump + "/" + name, ignored_too))
    files::write_all(f, text.data(), static_cast<std::int64_t>(text.size()), ignored_too);
}

}  // namespace reprise::jit
