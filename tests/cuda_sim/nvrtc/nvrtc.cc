// NVRTC's entry points, as device/cuda/nvrtc.cc uses them. A text with "#error" does not compile; an option that is no
// "--..." is refused.
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "tests/cuda_sim/nvrtc/control.h"

#define NVRTC_ENTRY extern "C" __attribute__((visibility("default")))

namespace {

struct Program {
  std::string text, log, code;
};
std::mutex g_mutex;  // of all below
std::map<std::string, std::string> g_codes;
std::set<Program*> g_programs;
std::string g_options;
int g_compiled = 0;

enum { kSuccess = 0, kInvalidInput = 3, kInvalidProgram = 4, kInvalidOption = 5, kCompilation = 6 };

template <class F>
int with(Program* p, F&& f) {
  std::lock_guard lock(g_mutex);
  return g_programs.count(p) ? f(*p) : kInvalidProgram;
}

}  // namespace

NVRTC_ENTRY void reprise_nvrtc_gives(const char* part, const char* code) {
  std::lock_guard lock(g_mutex);
  g_codes[part] = code;
}
NVRTC_ENTRY const char* reprise_nvrtc_options() { return g_options.c_str(); }
NVRTC_ENTRY int reprise_nvrtc_live() {
  std::lock_guard lock(g_mutex);
  return static_cast<int>(g_programs.size());
}
NVRTC_ENTRY int reprise_nvrtc_compiled() { return g_compiled; }

NVRTC_ENTRY const char* nvrtcGetErrorString(int s) {
  switch (s) {
    case kSuccess: return "NVRTC_SUCCESS";
    case kInvalidInput: return "NVRTC_ERROR_INVALID_INPUT";
    case kInvalidProgram: return "NVRTC_ERROR_INVALID_PROGRAM";
    case kInvalidOption: return "NVRTC_ERROR_INVALID_OPTION";
    case kCompilation: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR unknown";
  }
}
NVRTC_ENTRY int nvrtcCreateProgram(Program** p, const char* text, const char*, int headers, const char* const*,
                                   const char* const*) {
  if (!p || !text || headers) return kInvalidInput;
  std::lock_guard lock(g_mutex);
  g_programs.insert(*p = new Program{text, "", ""});
  return kSuccess;
}
NVRTC_ENTRY int nvrtcDestroyProgram(Program** p) {
  std::lock_guard lock(g_mutex);
  if (!p || !g_programs.erase(*p)) return kInvalidProgram;
  delete *p;
  *p = nullptr;
  return kSuccess;
}
NVRTC_ENTRY int nvrtcCompileProgram(Program* p, int n, const char* const* options) {
  return with(p, [&](Program& program) -> int {
    g_options.clear();
    for (int i = 0; i < n; ++i) {
      g_options += std::string(options[i]) + "\n";
      if (std::strncmp(options[i], "--", 2) != 0)
        return program.log = "nvrtc: error: invalid value for --gpu-architecture", kInvalidOption;
    }
    if (const std::size_t at = program.text.find("#error"); at != std::string::npos) {
      program.log =
          "code.cu(1): error: " + program.text.substr(at, program.text.find('\n', at) - at) + "\n\n1 error detected.\n";
      return kCompilation;
    }
    for (const auto& [part, code] : g_codes)
      if (program.text.find(part) != std::string::npos) program.code = code;
    ++g_compiled;
    return kSuccess;
  });
}
NVRTC_ENTRY int nvrtcGetCUBINSize(Program* p, std::size_t* bytes) {
  return with(p, [&](Program& program) { return *bytes = program.code.size(), kSuccess; });
}
NVRTC_ENTRY int nvrtcGetCUBIN(Program* p, char* code) {
  return with(p, [&](Program& program) { return program.code.copy(code, program.code.size()), kSuccess; });
}
NVRTC_ENTRY int nvrtcGetProgramLogSize(Program* p, std::size_t* bytes) {
  return with(p, [&](Program& program) { return *bytes = program.log.size() + 1, kSuccess; });
}
NVRTC_ENTRY int nvrtcGetProgramLog(Program* p, char* log) {
  return with(
      p, [&](Program& program) { return std::memcpy(log, program.log.c_str(), program.log.size() + 1), kSuccess; });
}
