#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>

#include "device/cpu_info.h"
#include "jit/engine/engine.h"

namespace reprise::jit {

namespace {

Host ask() {
  Host h;
  h.cpu = llvm::sys::getHostCPUName().str();
  const llvm::StringMap<bool> has = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> names;
  for (const auto& f : has) names.push_back(std::string(f.second ? "+" : "-").append(f.first().str()));
  std::sort(names.begin(), names.end());  // a map by hash: sorted, the string is the same in every process
  for (const std::string& n : names) h.features.append(h.features.empty() ? "" : ",").append(n);
  auto on = [&](const char* f) { return has.lookup(f); };
  h.avx512 = on("avx512f") && on("avx512bw") && on("avx512dq") && on("avx512vl");
  h.avx512bf16 = h.avx512 && on("avx512bf16");
  h.avx512vnni = h.avx512 && on("avx512vnni");
  h.avx512fp16 = h.avx512 && on("avx512fp16");
  h.amx = on("amx-tile") && on("amx-bf16");
  h.fma = on("fma");
  h.vector_bits = h.avx512 ? 512 : on("avx2") && h.fma ? 256 : 128;
  return h;
}

/// The host as if it had no AVX-512: what narrower vectors are for, and how their code is tested on a machine that has
/// it.
Host narrowed(Host h, int bits) {
  std::string features;
  for (std::size_t at = 0; at < h.features.size();) {
    const std::size_t end = std::min(h.features.find(',', at), h.features.size());
    std::string f = h.features.substr(at, end - at);
    if (f.find("avx512") != f.npos || f.find("evex512") != f.npos) f[0] = '-';
    features.append(features.empty() ? "" : ",").append(f);
    at = end + 1;
  }
  h.features = std::move(features);
  h.vector_bits = bits;
  h.avx512 = h.avx512bf16 = h.avx512vnni = h.avx512fp16 = false;
  return h;
}

}  // namespace

const Host& host() {
  static const Host& asked = *new Host(ask());
  const int wanted = device::wanted_vector_bits(asked.vector_bits);
  if (wanted == asked.vector_bits) return asked;
  static const Host &of_128 = *new Host(narrowed(asked, 128)), &of_256 = *new Host(narrowed(asked, 256));
  return wanted == 256 ? of_256 : of_128;
}

std::string host_description() {
  const Host& h = host();
  return h.cpu + ", " +
         (h.avx512 ? "avx512"
          : h.fma  ? "avx2"
                   : "sse") +
         ", " + std::to_string(h.vector_bits) + "-bit vectors";
}

}  // namespace reprise::jit
