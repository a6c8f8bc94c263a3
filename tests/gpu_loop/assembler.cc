#include "tests/gpu_loop/assembler.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace reprise::test {

namespace {

std::string find() {
  std::vector<std::string> folders;
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(std::string(home) + "/bin");
  if (const char* path = std::getenv("PATH")) {
    std::stringstream all(path);
    for (std::string one; std::getline(all, one, ':');) folders.push_back(one);
  }
  folders.push_back("/usr/local/cuda/bin");
  for (const std::string& f : folders)
    if (access((f + "/ptxas").c_str(), X_OK) == 0) return f + "/ptxas";
  return "";
}

int number_before(const std::string& text, const std::string& what) {
  const std::size_t at = text.find(what);
  if (at == text.npos) return 0;
  std::size_t from = at;
  while (from > 0 && (std::isdigit(static_cast<unsigned char>(text[from - 1])) || text[from - 1] == ' ')) --from;
  return std::atoi(text.c_str() + from);
}

}  // namespace

const std::string& ptxas() {
  static const std::string path = find();
  return path;
}

const std::string& ptxas_version() {
  static const std::string version = [] {
    std::string words;
    if (ptxas().empty()) return words;
    FILE* pipe = popen((ptxas() + " --version 2>&1").c_str(), "r");
    if (!pipe) return words;
    char buffer[512];
    while (std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) words.append(buffer, n);
    pclose(pipe);
    const std::size_t from = words.find("release ");
    return from == words.npos ? "" : words.substr(from + 8, words.find_first_of(",\n", from) - from - 8);
  }();
  return version;
}

Assembled assemble(const std::string& ptx, const std::string& arch, bool keep_cubin) {
  static int serial = 0;
  const std::string stem = (std::filesystem::temp_directory_path() /
                            ("reprise_ptx_" + std::to_string(getpid()) + "_" + std::to_string(serial++)))
                               .string();
  std::ofstream(stem + ".ptx") << ptx;
  const std::string command = ptxas() + " -v -arch=" + arch +
                              (ptx.find(".target " + arch + "a") == ptx.npos ? "" : "a") + " " + stem + ".ptx -o " +
                              (keep_cubin ? stem + ".cubin" : "/dev/null") + " 2>&1";
  Assembled r;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) r.log.append(buffer, n);
  const int status = pclose(pipe);
  r.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  std::filesystem::remove(stem + ".ptx");
  if (keep_cubin) {
    std::ostringstream bytes;
    bytes << std::ifstream(stem + ".cubin", std::ios::binary).rdbuf();
    r.cubin = bytes.str();
    std::filesystem::remove(stem + ".cubin");
  }
  const std::size_t used = r.log.find("Used ");
  if (used != r.log.npos) r.registers = std::atoi(r.log.c_str() + used + 5);
  r.spilled_bytes = number_before(r.log, "bytes spill stores") + number_before(r.log, "bytes spill loads");
  r.stack_bytes = number_before(r.log, "bytes stack frame");
  r.shared_bytes = number_before(r.log, "bytes smem");
  return r;
}

}  // namespace reprise::test
