#include "ptxas.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

namespace reprise::kernels::testing {

namespace {

int number_before(const std::string& text, const std::string& what) {
  std::smatch m;
  int most = 0;
  std::regex form("(\\d+) " + what);
  for (auto at = text.cbegin(); std::regex_search(at, text.cend(), m, form); at = m.suffix().first)
    most = std::max(most, std::stoi(m[1]));
  return most;
}

}  // namespace

const std::string& ptxas_path() {
  static const std::string path = [] {
    std::vector<std::string> places;
    if (const char* home = std::getenv("CUDA_HOME")) places.push_back(std::string(home) + "/bin/ptxas");
    places.push_back("/usr/local/cuda/bin/ptxas");
    for (const std::string& p : places)
      if (std::filesystem::exists(p)) return p;
    return std::string();
  }();
  return path;
}

Assembled assemble(const device::Image& image, const std::string& arch) {
  std::string stem = (std::filesystem::temp_directory_path() / ("reprise_ptxas_" + std::to_string(getpid()))).string();
  std::ofstream(stem + ".ptx") << image.code;
  std::string command = ptxas_path() + " -v -arch=" + arch + " -o " + stem + ".cubin " + stem + ".ptx 2>&1";
  Assembled r;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> text;
  while (std::fgets(text.data(), static_cast<int>(text.size()), pipe)) r.output += text.data();
  r.ok = pclose(pipe) == 0;
  r.registers = number_before(r.output, "registers");
  r.spill_bytes = number_before(r.output, "bytes spill stores") + number_before(r.output, "bytes stack frame");
  r.shared_bytes = number_before(r.output, "bytes smem");
  std::filesystem::remove(stem + ".ptx"), std::filesystem::remove(stem + ".cubin");
  return r;
}

}  // namespace reprise::kernels::testing
