// reprise_onnx_backend [--tolerance T] FOLDER...: runs ONNX's backend tests (scripts/onnx_backend.sh). A folder holds
// model.onnx and data sets of inputs and results; the model is run eagerly and compiled, and both are compared with
// what was recorded. One line a folder: "passed NAME", "eager NAME: REASON" (right, but a compiled call was served
// eagerly) or "failed NAME: REASON". Each runs in a process of its own, so that one that ends badly ends alone.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "reprise/compile.h"
#include "reprise/onnx.h"
#include "reprise/ops.h"

namespace rp = reprise;
namespace fs = std::filesystem;

namespace {

constexpr int kSeconds = 120;
/// What ONNX's runner allows: element by element. With --tolerance all of a result are compared with its largest.
constexpr double kRelative = 1e-3, kAbsolute = 1e-7;
/// Recorded results of half types are rounded at each step: two units in the last place.
double relative(rp::DType t) { return t == rp::kBFloat16 ? 1.0 / 64 : t == rp::kFloat16 ? 1.0 / 512 : kRelative; }
double g_tolerance = 0;
double g_apart = 0;  ///< the largest difference so far, of the largest element

std::string sizes_text(const rp::Tensor& t) {
  std::string s = "[";
  for (rp::Int d : t.sizes()) s += (s.size() > 1 ? ", " : "") + d.str();
  return s + "]";
}
std::vector<double> numbers(const rp::Tensor& t) {
  return (rp::is_storage_only(t.dtype()) ? t.to(rp::kFloat32) : t).to(rp::kFloat64).to_vector<double>();
}

/// "" or how they differ.
std::string difference(const rp::Tensor& got, const rp::Tensor& expected) {
  if (got.dtype() != expected.dtype())
    return "dtype " + std::string(rp::dtype_name(got.dtype())) + ", expected " +
           std::string(rp::dtype_name(expected.dtype()));
  if (sizes_text(got) != sizes_text(expected)) return "sizes " + sizes_text(got) + ", expected " + sizes_text(expected);
  const std::vector<double> a = numbers(got), b = numbers(expected);
  double most = 0, apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::isfinite(a[i]) && std::isfinite(b[i]))
      most = std::max(most, std::fabs(b[i])), apart = std::max(apart, std::fabs(a[i] - b[i]));
  if (most > 0) g_apart = std::max(g_apart, apart / most);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i] ||
        std::fabs(a[i] - b[i]) <=
            (g_tolerance > 0 ? g_tolerance * most : kAbsolute + relative(expected.dtype()) * std::fabs(b[i])))
      continue;
    char text[120];
    std::snprintf(text, sizeof text, "element %zu is %.9g, expected %.9g", i, a[i], b[i]);
    return text;
  }
  return {};
}

std::vector<rp::Tensor> tensors(const fs::path& folder, const char* kind) {
  std::vector<rp::Tensor> all;
  for (int i = 0;; ++i) {
    const fs::path file = folder / (std::string(kind) + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return all;
    all.push_back(rp::onnx::load_tensor(file.string()));
  }
}

std::string compared(const std::vector<rp::Tensor>& got, const std::vector<rp::Tensor>& expected, const char* how) {
  if (got.size() != expected.size())
    return std::string(how) + ": " + std::to_string(got.size()) + " results, expected " +
           std::to_string(expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (const std::string d = difference(got[i], expected[i]); !d.empty())
      return std::string(how) + ": result " + std::to_string(i) + ": " + d;
  return {};
}

int run(const fs::path& folder) {
  const std::string name = folder.filename().string();
  const auto failed = [&](const std::string& why) {
    std::string line = why;
    std::replace(line.begin(), line.end(), '\n', ' ');
    std::printf("failed %s: %s\n", name.c_str(), line.c_str());
    return 1;
  };
  try {
    const rp::onnx::Model model = rp::onnx::load((folder / "model.onnx").string());
    auto compiled = rp::compile(model, {.name = "onnx"});
    for (int set = 0; fs::exists(folder / ("test_data_set_" + std::to_string(set))); ++set) {
      const fs::path data = folder / ("test_data_set_" + std::to_string(set));
      const std::vector<rp::Tensor> inputs = tensors(data, "input"), expected = tensors(data, "output");
      if (const std::string d = compared(model(inputs), expected, "eager"); !d.empty()) return failed(d);
      std::vector<rp::onnx::Argument> arguments;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        arguments.push_back(i < model.inputs().size() && model.inputs()[i].decides_sizes &&
                                    inputs[i].dtype() == rp::kBool
                                ? rp::onnx::Argument::numbers_of(inputs[i])
                                : inputs[i]);
      for (int call = 0; call < 2; ++call)
        if (const std::string d = compared(compiled(arguments), expected, "compiled"); !d.empty()) return failed(d);
    }
    if (compiled.stats().eager_fallbacks > 0) {
      std::string why = compiled.explain();
      const std::size_t at = why.find("latest call served eagerly: ");
      why = at == std::string::npos ? "" : why.substr(at + 28);
      std::printf("eager %s: %s\n", name.c_str(), why.substr(0, why.find('\n')).c_str());
      return 0;
    }
    if (g_tolerance > 0)
      std::printf("passed %s: apart by %.1e of the largest element, %lld compilation%s\n", name.c_str(), g_apart,
                  static_cast<long long>(compiled.stats().compilations), compiled.stats().compilations == 1 ? "" : "s");
    else std::printf("passed %s\n", name.c_str());
    return 0;
  } catch (const std::exception& e) {
    return failed(e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || std::strcmp(argv[1], "--help") == 0) {
    std::printf(
        "usage: reprise_onnx_backend [--tolerance T] FOLDER...\nRuns ONNX's backend tests, eagerly and compiled: a "
        "line each. scripts/onnx_backend.sh fetches and counts them.\n"
        "  --tolerance T   differences of up to T of a result's largest element, instead of ONNX's 1e-3 of each\n");
    return argc < 2 ? 2 : 0;
  }
  int bad = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--tolerance") == 0 && i + 1 < argc) {
      g_tolerance = std::atof(argv[++i]);
      continue;
    }
    const fs::path folder = fs::path(argv[i]).lexically_normal();
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(kSeconds);
      rp::set_num_threads(1);
      const int code = run(folder);
      std::fflush(stdout);
      _exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
      std::printf("failed %s: ended by signal %d%s\n", folder.filename().c_str(), WTERMSIG(status),
                  WTERMSIG(status) == SIGALRM ? " (takes too long)" : "");
      bad = 1;
    } else if (WEXITSTATUS(status) != 0) {
      bad = 1;
    }
  }
  return bad;
}
