#include "device/cuda/nvrtc.h"

#include <dlfcn.h>

#include <memory>
#include <optional>

#include "base/errors.h"
#include "base/knobs.h"
#include "device/cuda/driver.h"

namespace reprise::device::cuda {

namespace {

// What Reprise uses of NVRTC's binary interface (versions 11.2 to 13), by the documented names and numbers.
using Program = struct ProgramOf*;
using Status = int;
constexpr Status kSuccess = 0, kInvalidOption = 5, kCompilation = 6;
#define REPRISE_NVRTC_FUNCTIONS(F)                                                                                   \
  F(nvrtcGetErrorString, const char*, (Status))                                                                      \
  F(nvrtcCreateProgram, Status,                                                                                      \
    (Program*, const char* text, const char* name, int headers, const char* const* texts, const char* const* names)) \
  F(nvrtcDestroyProgram, Status, (Program*))                                                                         \
  F(nvrtcCompileProgram, Status, (Program, int options, const char* const*))                                         \
  F(nvrtcGetCUBINSize, Status, (Program, std::size_t*))                                                              \
  F(nvrtcGetCUBIN, Status, (Program, char*))                                                                         \
  F(nvrtcGetProgramLogSize, Status, (Program, std::size_t*))                                                         \
  F(nvrtcGetProgramLog, Status, (Program, char*))

struct Nvrtc {
#define REPRISE_NVRTC_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  REPRISE_NVRTC_FUNCTIONS(REPRISE_NVRTC_MEMBER)
#undef REPRISE_NVRTC_MEMBER
  std::string problem;
};

Nvrtc open() {
  Nvrtc lib;
  std::vector<std::string> names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  if (!knobs().nvrtc.empty()) names = {knobs().nvrtc};
  else if (cu().simulated) return lib.problem = "the simulator of the driver has none of its own accord", lib;
  for (const std::string& name : names) {
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      if (lib.problem.empty()) lib.problem = dlerror();
      continue;
    }
    std::string missing;
#define REPRISE_NVRTC_FIND(entry, result, parameters)                         \
  lib.entry = reinterpret_cast<result(*) parameters>(dlsym(library, #entry)); \
  if (!lib.entry && missing.empty()) missing = #entry;
    REPRISE_NVRTC_FUNCTIONS(REPRISE_NVRTC_FIND)
#undef REPRISE_NVRTC_FIND
    if (missing.empty()) return lib.problem.clear(), lib;
    lib.problem = name + " has no " + missing;
    dlclose(library);
  }
  return lib;
}

const Nvrtc& nvrtc() {
  static const Nvrtc& lib = *new Nvrtc(open());
  return lib;
}

}  // namespace

std::string compile_cuda(const std::string& text, const std::string& arch, const std::vector<std::string>& options) {
  const Nvrtc& lib = nvrtc();
  if (!lib.problem.empty())
    fail(ErrorCode::DeviceUnavailable, "cuda", {}, "there is no NVRTC to compile CUDA C++ (", lib.problem,
         "); PTX needs none");
  struct Owner {
    const Nvrtc& lib;
    Program program = nullptr;
    ~Owner() {
      if (program) lib.nvrtcDestroyProgram(&program);
    }
  } own{lib};
  auto expect = [&](Status s, const char* doing) {
    if (s != kSuccess)
      fail(ErrorCode::DeviceFailed, "cuda", {}, "NVRTC fails ", doing, ": ", lib.nvrtcGetErrorString(s));
  };
  expect(lib.nvrtcCreateProgram(&own.program, text.c_str(), "code.cu", 0, nullptr, nullptr), "taking the text");
  std::vector<std::string> all{"--gpu-architecture=" + arch};
  all.insert(all.end(), options.begin(), options.end());
  std::vector<const char*> pointers;
  for (const std::string& o : all) pointers.push_back(o.c_str());
  const Status compiled = lib.nvrtcCompileProgram(own.program, static_cast<int>(pointers.size()), pointers.data());
  std::size_t bytes = 0;
  if (compiled != kSuccess) {
    std::string words;
    if (lib.nvrtcGetProgramLogSize(own.program, &bytes) == kSuccess && bytes > 1) {
      words.resize(bytes);
      if (lib.nvrtcGetProgramLog(own.program, words.data()) != kSuccess) words.clear();
      while (!words.empty() && (words.back() == '\0' || words.back() == '\n')) words.pop_back();
    }
    const bool of_text = compiled == kCompilation || compiled == kInvalidOption;
    fail(of_text ? ErrorCode::InvalidArgument : ErrorCode::DeviceFailed, "cuda", {}, "NVRTC refuses the code (",
         lib.nvrtcGetErrorString(compiled), ")", words.empty() ? "" : ":\n", words);
  }
  expect(lib.nvrtcGetCUBINSize(own.program, &bytes), "giving the code");
  std::string code(bytes, '\0');
  expect(lib.nvrtcGetCUBIN(own.program, code.data()), "giving the code");
  return code;
}

}  // namespace reprise::device::cuda
