#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/errors.h"
#include "base/fork.h"
#include "base/mutex.h"
#include "device/cpu_info.h"
#include "jit/engine/engine.h"
#include "jit/engine/target.h"

namespace reprise::jit {

namespace {

/// Every feature of this processor by LLVM's name, with + or -.
const std::string& asked_features() {
  static const std::string& all = *new std::string([] {
    const llvm::StringMap<bool> has = llvm::sys::getHostCPUFeatures();
    std::vector<std::string> names;
    for (const auto& f : has) names.push_back(std::string(f.second ? "+" : "-").append(f.first().str()));
    std::sort(names.begin(), names.end());  // a map by hash: sorted, the string is the same in every process
    std::string features;
    for (const std::string& n : names) features.append(features.empty() ? "" : ",").append(n);
    return features;
  }());
  return all;
}

Host made_of(const device::CpuInfo& cpu) {
  Host h;
  h.vector_bits = cpu.vector_bits();
  h.avx512 = cpu.avx512;
  const bool x86 = cpu.family == device::CpuInfo::Family::X86_64;
  if (x86) h.fuses = cpu.avx2;  // with which they came
  h.emulates_bf16 = cpu.emulates_bf16, h.emulates_amx = cpu.emulates_amx;
  // Of a level nothing else about this processor is told, so that the code is that of every other one, too.
  h.cpu = cpu.level.empty() ? llvm::sys::getHostCPUName().str() : cpu.level;
  if (cpu.level.empty()) h.features = asked_features();
  auto tell = [&](bool has, const char* name) {
    h.features.append(h.features.empty() ? "" : ",").append(has ? "+" : "-").append(name);
  };
  if (!x86) return h;
  for (const device::CpuFeature& f : device::cpu_features()) {
    std::istringstream names(f.llvm);
    for (std::string name; names >> name;) tell(cpu.*f.has, name.c_str());
  }
  tell(cpu.amx_bf16 || cpu.amx_int8, "amx-tile");
  return h;
}

}  // namespace

std::string target_triple() {
  const device::CpuInfo::Family family = device::cpu_info().family;
  return family == device::CpuInfo::kHostFamily      ? llvm::sys::getProcessTriple()
         : family == device::CpuInfo::Family::X86_64 ? "x86_64-unknown-linux-gnu"
                                                     : "aarch64-unknown-linux-gnu";
}

const Host& host() {
  const device::CpuInfo& cpu = device::cpu_info();
  if (!cpu.refusal.empty()) fail(ErrorCode::InvalidArgument, "REPRISE_CPU", {}, cpu.refusal);
  static ForkMutex mu;
  static auto& made = *new std::map<const device::CpuInfo*, Host>;  // guarded by mu
  const MutexLock lock(mu);
  if (const auto it = made.find(&cpu); it != made.end()) return it->second;
  return made.emplace(&cpu, made_of(cpu)).first->second;
}

std::string host_description() {
  const Host& h = host();
  return h.cpu + ", " +
         std::string(h.vector_bits == 512      ? "avx512"
                     : device::cpu_info().avx2 ? "avx2"
                                               : "sse") +
         ", " + std::to_string(h.vector_bits) + "-bit vectors";
}

}  // namespace reprise::jit
