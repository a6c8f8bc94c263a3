#include "jit/gpu/module.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/Base64.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <charconv>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

#include "base/counters.h"
#include "base/errors.h"
#include "base/hash.h"
#include "base/knobs.h"
#include "base/phases.h"
#include "base/thread_object.h"
#include "device/machine_code.h"
#include "jit/engine/determined.h"
#include "jit/engine/disk_cache.h"
#include "jit/engine/in_llvm.h"
#include "jit/engine/kernel_cache.h"
#include "jit/engine/module_tools.h"

namespace reprise::jit {

namespace {

constexpr char kTriple[] = "nvptx64-nvidia-cuda";
constexpr std::size_t kIrLine = 3900;  // characters of one comment line of bitcode

/// exactly: with what later architectures do not have. quickly: of a text that only the simulator sees, which runs the
/// bitcode and reads no more than the parameters in it.
llvm::TargetMachine& machine(int sm, bool quickly, bool exactly = false) {
  auto& machines = thread_object<std::map<std::tuple<int, bool, bool>, std::unique_ptr<llvm::TargetMachine>>>();
  std::unique_ptr<llvm::TargetMachine>& tm = machines[{sm, quickly, exactly}];
  if (tm) return *tm;
  static const llvm::Target* target = [] {
    LLVMInitializeNVPTXTargetInfo(), LLVMInitializeNVPTXTarget(), LLVMInitializeNVPTXTargetMC(),
        LLVMInitializeNVPTXAsmPrinter();
    std::string why;
    const llvm::Target* t = llvm::TargetRegistry::lookupTarget(kTriple, why);
    if (!t) fail(ErrorCode::Internal, "jit", {}, why);
    return t;
  }();
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // mul.rn and add.rn: the assembler must not fuse them either
  // PTX 8.1 is the first that gives kernels more than 4 KiB of parameters; drivers of CUDA 12.1 read it.
  tm.reset(target->createTargetMachine(kTriple, "sm_" + std::to_string(sm) + (exactly ? "a" : ""), "+ptx81", options,
                                       llvm::Reloc::PIC_, std::nullopt,
                                       quickly ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default));
  if (!tm) fail(ErrorCode::Internal, "jit", {}, "no code generator for sm_", sm);
  return *tm;
}

/// The module's bitcode as comment lines of PTX.
std::string ir_comments(const llvm::Module& m) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::WriteBitcodeToFile(m, out);
  const std::string text = llvm::encodeBase64(bytes);
  std::string lines;
  for (std::size_t at = 0; at < text.size(); at += kIrLine)
    lines.append("// reprise-ir ").append(text, at, kIrLine).append("\n");
  return lines;
}

/// Calls `use` with the module that `emit` fills and the name of its kernel.
template <class Use>
void with_module(const std::string& key, const device::CodeTarget& target, int sm, const GpuEmitFn& emit, Use&& use) {
  const InLlvm inside;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash_text(key)));
  const std::string name = std::string("reprise_gpu_") + digits;
  const InPhase phase(Phase::MachineCode, name);
  Host processor;
  processor.cpu = "sm_" + std::to_string(sm);
  processor.approximates = true, processor.rounds_to_bfloat16 = sm >= 80;
  processor.runtime_calls = false;
  llvm::LLVMContext& context = thread_context();
  llvm::Module m(name, context);
  m.setTargetTriple(kTriple);
  m.setDataLayout(machine(sm, target.with_ir).createDataLayout());
  GpuModule g{.cx = {context, m, processor, name.c_str()}, .target = target, .sm = sm};
  g.early = sm >= 90 && knobs().cuda_early == "on";
  emit(g);
  use(m, g, name);
}

device::ImagePtr build(const std::string& key, const device::CodeTarget& target, int sm, const GpuEmitFn& emit) {
  auto image = std::make_shared<device::Image>();
  with_module(key, target, sm, emit, [&](llvm::Module& m, const GpuModule& g, const std::string& name) {
    check_module(m, key);
    dump_file(name + ".kernel", key);
    if (!knobs().dump.empty()) dump_file(name + ".ll", text_of(m));
    const std::string ir = target.with_ir ? ir_comments(m) : std::string();
    image->code = assembly_of(m, machine(sm, target.with_ir, g.exactly));
    if (image->code.empty()) fail(ErrorCode::Internal, "jit", {}, "no PTX emission");
    dump_file(name + ".ptx", image->code);
    image->code += ir;
    image->entry = name;
    image->block = g.block;
    image->shared_bytes = g.shared_bytes;
  });
  return image;
}

KernelCache<device::Image>& cache() {
  static auto* c = new KernelCache<device::Image>(16384);  // never destroyed: static objects may ask late
  return *c;
}

}  // namespace

int gpu_architecture(const std::string& arch) {
  int n = 0;
  const char* end = arch.data() + arch.size();
  if (arch.rfind("sm_", 0) != 0 || std::from_chars(arch.data() + 3, end, n).ec != std::errc{} || n < 70)
    fail(ErrorCode::InvalidArgument, "jit", {}, "no code can be made for the architecture '", arch,
         "'; sm_70 is the oldest");
  // What LLVM does not know it would take for something very old.
  int best = 70;
  for (int known : {70, 72, 75, 80, 86, 87, 89, 90})
    if (known <= n) best = known;
  return best;
}

namespace {

/// The driver's machine code lies beside the texts.
class DiskStore final : public device::MachineCodeStore {
 public:
  std::optional<std::string> find(const std::string& key) noexcept override {
    try {
      if (const device::ImagePtr there = disk_load(key)) return there->code;
    } catch (const std::exception&) {  // as if it were not there
    }
    return std::nullopt;
  }
  void keep(const std::string& key, const std::string& code) noexcept override {
    try {
      disk_store(key, {code, "machine_code", {}, 0});
    } catch (const std::exception&) {
    }
  }
};

device::ImagePtr kept(const device::Image& image) {
  static DiskStore store;
  device::offer_machine_code_store(&store);
  auto made = std::make_shared<device::Image>(image);
  made->keep = true;
  return made;
}

}  // namespace

device::ImagePtr compile_gpu_module(const std::string& key, const device::CodeTarget& target, const GpuEmitFn& emit) {
  const int sm = gpu_architecture(target.arch);
  const std::string known = "sm_" + std::to_string(sm);
  const std::string whole = key + "; " + known + (target.arch == known ? "" : " for " + target.arch) +
                            (target.indirect ? " indirect" : "") + (target.warpgroups ? " warpgroups" : "") +
                            (target.with_ir ? " ir" : "") + "; code " + std::to_string(code_key()) + "\n";
  if (knobs().verify > 0)
    with_module(whole, target, sm, emit, [&](const llvm::Module& m, const GpuModule& g, const std::string&) {
      const auto& [x, y, z] = g.block;
      std::ostringstream launch;
      launch << " " << x << " " << y << " " << z << " " << g.shared_bytes;
      check_determined(whole, text_of(m) + launch.str());
    });
  return cache().get(whole, [&] {
    // Images for the simulator stay off the disk: they are large, and their IR is what tests are about. With
    // REPRISE_DUMP every stage is wanted again.
    const bool on_disk = !target.with_ir && knobs().dump.empty();
    if (on_disk)
      if (device::ImagePtr found = disk_load(whole)) {
        KernelCounts::found();
        return kept(*found);
      }
    device::ImagePtr made = KernelCounts::timed([&] { return build(whole, target, sm, emit); });
    if (!on_disk) return made;
    disk_store(whole, *made);
    return kept(*made);
  });
}

}  // namespace reprise::jit
