#include "device/cuda/assemble.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/log.h"
#include "device/cuda/module.h"
#include "device/machine_code.h"

namespace reprise::device::cuda {

namespace {

std::string key_of(const Context& c, const Image& image) {
  char digits[64];
  std::snprintf(digits, sizeof digits, "%zu bytes %016llx%016llx", image.code.size(),
                static_cast<unsigned long long>(hash_text(image.code)),
                static_cast<unsigned long long>(hash_mix(0x51ed270b6a09e667ull, image.code)));
  return "machine code of " + std::string(digits) + "; sm_" + std::to_string(c.major) + std::to_string(c.minor) +
         ", driver of CUDA " + std::to_string(cu().version) + "\n";
}

/// Empty where the driver does not link, or not this: its words come with the text, then.
std::string assembled(const Image& image) {
  if (!cu().cuLinkCreate || !cu().cuLinkAddData || !cu().cuLinkComplete || !cu().cuLinkDestroy) return {};
  CUlinkState link = nullptr;
  if (cu().cuLinkCreate(0, nullptr, nullptr, &link) != CUDA_SUCCESS) return {};
  struct Destroy {
    CUlinkState l;
    ~Destroy() { cu().cuLinkDestroy(l); }
  } destroy{link};
  void* code = nullptr;
  std::size_t bytes = 0;
  // The text ends with a zero byte, which counts.
  if (cu().cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(image.code.c_str()), image.code.size() + 1,
                         image.entry.c_str(), 0, nullptr, nullptr) != CUDA_SUCCESS)
    return {};
  if (cu().cuLinkComplete(link, &code, &bytes) != CUDA_SUCCESS) return {};
  return {static_cast<const char*>(code), bytes};
}

void tell(const Image& image, const char* outcome, std::size_t bytes) {
  logs::event(logs::Event::machine_code, image.entry, "machine code " + std::string(outcome),
              {{"kernel", image.entry}, {"outcome", outcome}, {"bytes", bytes}});
}

}  // namespace

CUmodule load_kernel(const Context& c, const Image& image) {
  MachineCodeStore* store = image.keep ? machine_code_store() : nullptr;
  if (!store) return load_module(image.code, image.entry);
  const std::string key = key_of(c, image);
  CUmodule module = nullptr;
  if (const std::optional<std::string> there = store->find(key)) {
    if (cu().cuModuleLoadDataEx(&module, there->c_str(), 0, nullptr, nullptr) == CUDA_SUCCESS) {
      tell(image, "found", there->size());
      return module;
    }
    check_usable();
    tell(image, "refused", there->size());
  }
  const std::string code = assembled(image);
  if (!code.empty() && cu().cuModuleLoadDataEx(&module, code.c_str(), 0, nullptr, nullptr) == CUDA_SUCCESS) {
    store->keep(key, code);
    tell(image, "kept", code.size());
    return module;
  }
  check_usable();
  return load_module(image.code, image.entry);
}

}  // namespace reprise::device::cuda
