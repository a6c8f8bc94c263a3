#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/rewrite.h"
#include "tests/cuda_sim/runtime.h"

namespace sim {

namespace orc = llvm::orc;

namespace {

template <class T>
T unwrap(llvm::Expected<T> v, const char* doing) {
  if (!v) fail(CUDA_ERROR_INVALID_PTX, doing, ": ", llvm::toString(v.takeError()));
  return std::move(*v);
}
void unwrap(llvm::Error e, const char* doing) {
  if (e) fail(CUDA_ERROR_INVALID_PTX, doing, ": ", llvm::toString(std::move(e)));
}

/// One for the process, never destroyed.
struct Jit {
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<orc::ExecutionSession> session;
  std::unique_ptr<orc::ObjectLinkingLayer> layer;
  orc::JITDylib* runtime = nullptr;
  std::uint64_t modules = 0;
  std::string trouble;  ///< what the session reported

  Jit() {
    LLVMInitializeX86TargetInfo(), LLVMInitializeX86Target(), LLVMInitializeX86TargetMC(),
        LLVMInitializeX86AsmPrinter();
    std::string why;
    const auto triple = llvm::sys::getProcessTriple();
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, why);
    require(target, CUDA_ERROR_UNKNOWN, why);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    // Conversions to bfloat16 by instruction lose subnormals, which the device keeps.
    machine.reset(target->createTargetMachine(
        triple, llvm::sys::getHostCPUName(), host_features() + ",-avx512bf16,-avxneconvert", options, llvm::Reloc::PIC_,
        llvm::CodeModel::Small, llvm::CodeGenOptLevel::None, true));
    auto control =
        unwrap(orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<orc::InPlaceTaskDispatcher>()),
               "starting the simulator's JIT");
    session = std::make_unique<orc::ExecutionSession>(std::move(control));
    session->setErrorReporter([this](llvm::Error e) { trouble = llvm::toString(std::move(e)); });
    layer = std::make_unique<orc::ObjectLinkingLayer>(*session, session->getExecutorProcessControl().getMemMgr());
    runtime = &session->createBareJITDylib("runtime");
    orc::SymbolMap symbols;
    for (auto list :
         {access_functions(), cooperation_functions(), tensor_functions(), warpgroup_functions(), math_functions()})
      for (const RuntimeFunction& f : list)
        symbols[session->intern(f.name)] = {orc::ExecutorAddr::fromPtr(f.address), llvm::JITSymbolFlags::Exported};
    unwrap(runtime->define(orc::absoluteSymbols(std::move(symbols))), "naming the runtime");
    runtime->addGenerator(
        unwrap(orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0'), "opening the process"));
  }
  static std::string host_features() {
    std::string s;
    for (auto& f : llvm::sys::getHostCPUFeatures())
      s += (s.empty() ? "" : ",") + std::string(f.second ? "+" : "-") + f.first().str();
    return s;
  }
};
Jit& jit() {
  static Jit* j = new Jit;
  return *j;
}

struct LinkedCode : Code {
  orc::JITDylib* dylib = nullptr;
  ~LinkedCode() override {
    if (dylib) llvm::consumeError(jit().session->removeJITDylib(*dylib));
    for (auto& [name, v] : variables) memory().release(v.address, Allocation::What::Global, "unloading");
  }
};

std::unique_ptr<llvm::Module> parse(const std::string& bitcode, llvm::LLVMContext& context) {
  llvm::MemoryBufferRef buffer(llvm::StringRef(bitcode), "kernel");
  return unwrap(llvm::parseBitcodeFile(buffer, context), "reading the bitcode of the image");
}

}  // namespace

std::shared_ptr<Code> compile_bitcode(const std::string& bitcode) {
  const auto start = std::chrono::steady_clock::now();
  auto code = std::make_shared<LinkedCode>();
  code->bitcode = bitcode;
  Jit& j = jit();
  llvm::LLVMContext context;
  auto module = parse(bitcode, context);
  require(module->getTargetTriple().starts_with("nvptx64"), CUDA_ERROR_INVALID_PTX, "the bitcode is for ",
          module->getTargetTriple());
  llvm::StripDebugInfo(*module);
  module->setTargetTriple(j.machine->getTargetTriple().str());
  module->setDataLayout(j.machine->createDataLayout());
  Rewriter rewriter(*module, *code, settings().checks);
  rewriter.run();
  std::string why;
  llvm::raw_string_ostream out(why);
  if (std::getenv("REPRISE_SIM_DUMP")) module->print(llvm::errs(), nullptr);
  require(!llvm::verifyModule(*module, &out), CUDA_ERROR_INVALID_PTX, "rewriting the kernel for the host: ", out.str());

  llvm::SmallVector<char, 0> object;
  {
    llvm::raw_svector_ostream stream(object);
    llvm::legacy::PassManager passes;
    llvm::MCContext* mc = nullptr;
    require(!j.machine->addPassesToEmitMC(passes, mc, stream, true), CUDA_ERROR_UNKNOWN, "no code generator");
    passes.run(*module);
  }
  code->dylib = &j.session->createBareJITDylib(cat("module", ++j.modules));
  code->dylib->addToLinkOrder(*j.runtime);
  unwrap(j.layer->add(*code->dylib, std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), false)),
         "linking");
  auto address_of = [&](const std::string& name) {
    j.trouble.clear();
    auto found = j.session->lookup({code->dylib}, j.session->intern(name));
    if (!found) fail(CUDA_ERROR_INVALID_PTX, "linking ", name, ": ", llvm::toString(found.takeError()), " ", j.trouble);
    return found->getAddress();
  };
  for (auto& [name, kernel] : code->kernels) kernel.entry = address_of(Rewriter::entry_name(name)).toPtr<Code::Entry>();
  for (const auto& i : rewriter.initials)
    std::memcpy(g_arena.data(i.address), address_of(i.symbol).toPtr<const char*>(), i.bytes);
  counters().compile_us += static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count());
  return code;
}

std::string instruction_text(const std::string& bitcode, std::uint32_t site) {
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(llvm::StringRef(bitcode), "kernel"), context);
  if (!module) return llvm::consumeError(module.takeError()), std::string();
  std::uint32_t n = 0;
  for (llvm::Function& f : **module)
    for (llvm::Instruction& i : llvm::instructions(f))
      if (n++ == site) {
        std::string s;
        llvm::raw_string_ostream out(s);
        i.print(out);
        return s.substr(std::min(s.find_first_not_of(' '), s.size()));
      }
  return {};
}

}  // namespace sim
