#include "jit/engine/engine.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/DebugObjectManagerPlugin.h>
#include <llvm/ExecutionEngine/Orc/EPCDebugObjectRegistrar.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cstdio>
#include <map>
#include <mutex>

#include "base/counters.h"
#include "base/epochs.h"
#include "base/errors.h"
#include "base/files.h"
#include "base/fork.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/phases.h"
#include "base/thread_object.h"
#include "jit/engine/determined.h"
#include "jit/engine/disk_cache.h"
#include "jit/engine/emulated.h"
#include "jit/engine/in_llvm.h"
#include "jit/engine/kernel_cache.h"
#include "jit/engine/module_tools.h"
#include "jit/engine/objects.h"
#include "jit/engine/target.h"

namespace reprise::jit {

namespace orc = llvm::orc;

namespace {

[[noreturn]] void refuse(llvm::Error e, std::string_view doing) {
  fail(ErrorCode::Internal, "jit", {}, doing, ": ", llvm::toString(std::move(e)));
}
template <class T>
T unwrap(llvm::Expected<T> v, std::string_view doing) {
  if (!v) refuse(v.takeError(), doing);
  return std::move(*v);
}

/// Links objects into this process. One for the process, never destroyed: code may outlive every static object.
/// Threads: ORC's session locks.
struct Linker {
  std::unique_ptr<orc::ExecutionSession> session;
  std::unique_ptr<orc::ObjectLinkingLayer> layer;
  orc::JITDylib* dylib = nullptr;

  Linker() {
    auto control =
        unwrap(orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<orc::InPlaceTaskDispatcher>()),
               "starting the JIT");
    session = std::make_unique<orc::ExecutionSession>(std::move(control));
    session->setErrorReporter([](llvm::Error e) { logs::warn("jit: " + llvm::toString(std::move(e))); });
    layer = std::make_unique<orc::ObjectLinkingLayer>(*session, session->getExecutorProcessControl().getMemMgr());
    dylib = &session->createBareJITDylib("reprise");
    orc::SymbolMap calls;
    for (const auto* all : {&runtime_calls(), &emulated_instructions()})
      for (const RuntimeCall& c : *all)
        calls[session->intern(c.name)] = {orc::ExecutorAddr::fromPtr(c.address), llvm::JITSymbolFlags::Exported};
    if (auto e = dylib->define(orc::absoluteSymbols(std::move(calls)))) refuse(std::move(e), "naming runtime calls");
    dylib->addGenerator(unwrap(orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0'), "opening the process"));
  }
};
Linker& linker() {
  static Linker* l = new Linker;
  return *l;
}

class LinkedCode final : public Code {
 public:
  LinkedCode(void* at, std::size_t object_bytes, orc::JITDylib& own) : own_(own) {
    entry = at;
    bytes = static_cast<std::int64_t>(object_bytes);
    live_.fetch_add(1, std::memory_order_relaxed);
  }
  ~LinkedCode() override {
    try {
      const InLlvm inside;
      remove(own_);
    } catch (const Error&) {  // the process ends: it goes with it
    }
    live_.fetch_sub(1, std::memory_order_relaxed);
    constexpr std::uint64_t kNamesKept = 256;  // of code that is gone
    if (freed_.fetch_add(1, std::memory_order_relaxed) % kNamesKept == kNamesKept - 1)
      linker().session->getSymbolStringPool()->clearDeadEntries();
  }
  static void remove(orc::JITDylib& own) {
    if (auto e = linker().session->removeJITDylib(own))
      logs::warn("jit: freeing code: " + llvm::toString(std::move(e)));
  }
  static std::int64_t live() { return live_.load(std::memory_order_relaxed); }

 private:
  orc::JITDylib& own_;
  static inline std::atomic<std::int64_t> live_{0};
  static inline std::atomic<std::uint64_t> freed_{0};
};

/// The target machines of one thread: LLVM's are not shared between threads.
class ThreadCompiler {
 public:
  llvm::TargetMachine& machine(Effort effort) {
    auto& tm = machines_[{&host(), effort}];
    if (!tm) tm = make(effort, host());
    return *tm;
  }
  static ThreadCompiler& of_this_thread() { return thread_object<ThreadCompiler>(); }

  static std::unique_ptr<llvm::TargetMachine> make(Effort effort, const Host& host) {
    [[maybe_unused]] static const bool there = [] {
      llvm::InitializeNativeTarget(), llvm::InitializeNativeTargetAsmPrinter();
#if LLVM_HAS_X86_TARGET
      LLVMInitializeX86TargetInfo(), LLVMInitializeX86Target();
      LLVMInitializeX86TargetMC(), LLVMInitializeX86AsmPrinter();
#endif
#if LLVM_HAS_AARCH64_TARGET
      LLVMInitializeAArch64TargetInfo(), LLVMInitializeAArch64Target();
      LLVMInitializeAArch64TargetMC(), LLVMInitializeAArch64AsmPrinter();
#endif
      return true;
    }();
    std::string why;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(target_triple(), why);
    if (!target)
      fail(ErrorCode::InvalidArgument, "jit", {}, "this LLVM makes no code for ", target_triple(), ": ", why);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    std::unique_ptr<llvm::TargetMachine> tm(target->createTargetMachine(
        target_triple(), host.cpu, host.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
        effort == Effort::Fast ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Less, /*JIT=*/true));
    if (!tm) fail(ErrorCode::Internal, "jit", {}, "no code generator for ", host.cpu);
    return tm;
  }

 private:
  std::map<std::pair<const Host*, Effort>, std::unique_ptr<llvm::TargetMachine>> machines_;  // hosts stay
};

/// "rms_norm_mul-5d2f...": for people.
std::string shown_name(std::string_view label, const std::string& name) {
  constexpr std::size_t kMost = 80;
  std::string s;
  for (char c : label.substr(0, kMost))
    s += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ? c : '_';
  return s.empty() ? name : s + "-" + name.substr(name.rfind('_') + 1);
}

/// A line for perf, which looks for the names of code that is in no file in /tmp/perf-<process>.map.
void tell_perf(const void* at, std::size_t bytes, const std::string& shown) {
  static ForkMutex mu;
  static files::File file REPRISE_GUARDED_BY(mu);  // as is the process that it is of
  static pid_t process = 0;
  const MutexLock lock(mu);
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::string why;
  if (std::exchange(process, getpid()) != getpid()) file = files::open_to_write(path, why);
  char line[64];
  std::snprintf(line, sizeof line, "%llx %zx ", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(at)),
                bytes);
  const std::string text = line + shown + "\n";
  if (file && files::write_all(file, text.data(), static_cast<std::int64_t>(text.size()), why)) return;
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) logs::warn("REPRISE_PERF_MAP: cannot write '" + path + "': " + why);
}

/// Bytes of a function's code in an object.
std::size_t size_of(std::string_view object, const std::string& name) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef({object.data(), object.size()}, name));
  if (!file) return llvm::consumeError(file.takeError()), 0;
  const auto* elf = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(file->get());
  if (!elf) return 0;
  for (const llvm::object::ELFSymbolRef symbol : elf->symbols()) {
    llvm::Expected<llvm::StringRef> its = symbol.getName();
    if (!its) llvm::consumeError(its.takeError());
    // the file has that name, too
    else if (*its == name && symbol.getELFType() == llvm::ELF::STT_FUNC) return symbol.getSize();
  }
  return 0;
}

void dump(const std::string& key, llvm::Module& m, llvm::TargetMachine& tm, const std::string& name) {
  dump_file(name + ".kernel", key);
  dump_file(name + ".ll", text_of(m));
  dump_file(name + ".s", assembly_of(m, tm));
}

llvm::SmallVector<char, 0> object_of(llvm::Module& m, llvm::TargetMachine& tm) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  llvm::MCContext* mc = nullptr;
  if (tm.addPassesToEmitMC(passes, mc, out, /*DisableVerify=*/true))
    fail(ErrorCode::Internal, "jit", {}, "no object emission");
  passes.run(m);
  return bytes;
}

/// The object with one function `name`.
std::string compiled(const std::string& key, const std::string& name, const std::string& shown, const EmitFn& emit) {
  const InPhase phase(Phase::MachineCode, name);
  ThreadCompiler& tools = ThreadCompiler::of_this_thread();
  auto fresh = [&](llvm::LLVMContext& context, Effort& effort) {
    auto m = std::make_unique<llvm::Module>(name, context);
    EmitContext cx{context, *m, host(), name.c_str()};
    emit(cx);
    effort = cx.effort;
    m->setTargetTriple(target_triple());
    m->setDataLayout(tools.machine(effort).createDataLayout());
    return m;
  };
  llvm::LLVMContext& context = thread_context();
  Effort effort;
  std::unique_ptr<llvm::Module> m = fresh(context, effort);
  check_module(*m, key);
  if (!knobs().dump.empty()) {
    Effort same;
    dump(key, *fresh(context, same), tools.machine(effort), shown);
  }
  const llvm::SmallVector<char, 0> object = object_of(*m, tools.machine(effort));
  return {object.data(), object.size()};
}

/// In a library of its own: an object that was kept has the same name as what is made of its key now, and both may be
/// here while one is given up.
CodePtr linked(const std::string& key, const std::string& name, const std::string& shown, std::string_view object) {
  const InPhase phase(Phase::Load, name);
  Linker& l = linker();
  if (knobs().gdb) {
    // gdb's interface for code that is made while a program runs: what is linked from here on is told to it.
    static std::once_flag told;
    std::call_once(told, [&] {
      auto registrar = std::make_unique<orc::EPCDebugObjectRegistrar>(
          *l.session, orc::ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderGDBAllocAction));
      l.layer->addPlugin(std::make_unique<orc::DebugObjectManagerPlugin>(
          *l.session, std::move(registrar), /*RequireDebugSections=*/false, /*AutoRegisterCode=*/true));
    });
  }
  static std::atomic<std::uint64_t> serial{0};
  orc::JITDylib& own =
      l.session->createBareJITDylib(name + "." + std::to_string(serial.fetch_add(1, std::memory_order_relaxed)));
  own.addToLinkOrder(*l.dylib);
  auto symbol = [&]() -> llvm::Expected<orc::ExecutorSymbolDef> {
    if (auto e = l.layer->add(own, llvm::MemoryBuffer::getMemBufferCopy({object.data(), object.size()}, name)))
      return e;
    return l.session->lookup({&own}, name);
  }();
  if (!symbol) {
    llvm::Error failure = symbol.takeError();
    LinkedCode::remove(own);
    refuse(std::move(failure), key);
  }
  if (knobs().perf_map) tell_perf(symbol->getAddress().toPtr<void*>(), size_of(object, name), shown);
  return std::make_shared<LinkedCode>(symbol->getAddress().toPtr<void*>(), object.size(), own);
}

/// What code of a key depends on besides, where the key does not come from this process.
std::string on_this_machine(const std::string& key) {
  const Host& h = host();
  return key + "; " + llvm::sys::getProcessTriple() + " " + h.cpu + " " + h.features + " " +
         std::to_string(h.vector_bits) + "-bit vectors; LLVM " LLVM_VERSION_STRING "\n";
}

CodePtr build(const std::string& key, const EmitFn& emit, std::string_view label) {
  const InLlvm inside;
  std::string name = "reprise_kernel_" + digest(key);
  const std::string shown = shown_name(label, name);
  if (knobs().gdb) name = "reprise_" + shown;  // the symbol that it shows
  // Where every stage is wanted, or checked, each kernel is made.
  const bool on_disk = knobs().dump.empty() && knobs().verify < 1 && !knobs().gdb;
  const std::string disk_key = on_disk ? on_this_machine(key) : std::string();
  if (on_disk)
    if (const device::ImagePtr found = disk_load(disk_key); found && found->entry == name) {
      CodePtr code = linked(key, name, shown, found->code);
      KernelCounts::found();
      return code;
    }
  std::string object;
  CodePtr code = KernelCounts::timed([&] {
    object = compiled(key, name, shown, emit);
    return linked(key, name, shown, object);
  });
  if (on_disk) {
    device::Image image;
    image.code = std::move(object), image.entry = name;
    disk_store(disk_key, image);
  }
  return code;
}

KernelCache<Code>& cache() {
  // Never destroyed: see Linker. Each kernel costs two memory mappings; the system allows some 65000.
  static auto* c = new KernelCache<Code>(2048);
  return *c;
}

}  // namespace

CodePtr ObjectScope::compile(const std::string& key, const EmitFn& emit, std::string_view label) {
  if (const auto at = made_.find(key); at != made_.end()) return at->second;
  const InLlvm inside;
  std::string name = "reprise_kernel_" + digest(key);
  std::string object = compiled(key, name, shown_name(label, name), emit);
  return made_.emplace(key, std::make_shared<ObjectCode>(std::move(object), std::move(name))).first->second;
}

CodePtr compile_module(std::string key, const EmitFn& emit, std::string_view label) {
  epochs::let_fork_pass();
  if (ObjectScope* objects = ObjectScope::current()) return objects->compile(key, emit, label);
  key += "; code " + std::to_string(code_key()) + "\n";
  if (knobs().verify > 0) check_determined(key, ir_text(emit));
  return cache().get(key, [&] { return build(key, emit, label); });
}

CacheStats cache_stats() {
  const KernelCounts& all = KernelCounts::all();
  return {all.built, all.hits, LinkedCode::live(), all.build_us};
}
void drop_unused_code() { cache().drop_unused(); }

std::string assembly_text(const EmitFn& emit, const Host& host) {
  const std::unique_ptr<llvm::TargetMachine> machine = ThreadCompiler::make(Effort::Full, host);
  llvm::LLVMContext context;
  llvm::Module m("kernel", context);
  EmitContext cx{context, m, host, "kernel"};
  emit(cx);
  m.setTargetTriple(target_triple());
  m.setDataLayout(machine->createDataLayout());
  return assembly_of(m, *machine);
}

std::string ir_text(const EmitFn& emit) {
  llvm::LLVMContext context;
  llvm::Module m("kernel", context);
  EmitContext cx{context, m, host(), "kernel"};
  emit(cx);
  return text_of(m);
}

}  // namespace reprise::jit
