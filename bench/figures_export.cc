// What it takes to run programs without a compiler (docs/runtime.md): sizes of libraries and files, times in processes
// of their own, and what exporting takes.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "bench/figures.h"
#include "examples/minilm/model.h"
#include "reprise/export.h"
#include "reprise/nn.h"
#include "reprise/nn_recurrent.h"

namespace reprise::figures {

namespace {

namespace fs = std::filesystem;

/// A detector of voice as they are shipped: a transform to frequencies, four convolutions, a cell with a state, a
/// number for each block of 32 ms.
struct Vad : nn::Callable<Vad> {
  nn::Conv1d transform{1, 258, 256, {.stride = {128}, .bias = false}};
  nn::Conv1d a{129, 128, 3, {.padding = {1}}}, b{128, 64, 3, {.stride = {2}, .padding = {1}}},
      c{64, 64, 3, {.stride = {2}, .padding = {1}}}, d{64, 128, 3, {.padding = {1}}};
  nn::LSTMCell cell{128, 128};
  nn::Linear last{128, 1};
  Tensor h = zeros({1, 128}), state = zeros({1, 128});
  Tensor forward(const Tensor& x) {
    const Tensor f = transform(x.unsqueeze(1));
    const Tensor real = f.narrow(1, 0, 129), imaginary = f.narrow(1, 129, 129);
    Tensor y = sqrt(real * real + imaginary * imaginary + 1e-8);
    y = relu(d(relu(c(relu(b(relu(a(y))))))));
    const std::vector<Tensor> before{h, state};
    const auto [next, memory] = cell(y.select(2, 0), before);
    h.copy_(next), state.copy_(memory);
    return sigmoid(last(relu(next)));
  }
  REPRISE_FIELDS(Vad, transform, a, b, c, d, cell, last, h, state)
  REPRISE_BUFFERS(h, state)
};
struct MiniLm : nn::Callable<MiniLm> {
  minilm::Model model = minilm::random_model(1000, 128, 384, 1536, 6);
  Tensor forward(const Tensor& tokens, const Tensor& present) const {
    return minilm::embed(model, tokens, present, 12, 1e-12);
  }
  REPRISE_FIELDS(MiniLm, model)
};

std::string level() {
  for (const char* flag : {"avx512f", "avx2"}) {
    FILE* p = popen(("grep -c -m1 " + std::string(flag) + " /proc/cpuinfo").c_str(), "r");
    int n = 0;
    if (p && std::fscanf(p, "%d", &n) != 1) n = 0;
    if (p) pclose(p);
    if (n) return flag == std::string_view("avx2") ? "avx2" : "avx512";
  }
  return "x86_64_v2";
}

struct Net {
  const char* name;
  const char* arguments;  ///< for rprt_run
  ExportedProgram (*make)();
  /// Seconds of the first call of the compiled function.
  double (*compile)();
  double first_call_ms;
};

ExportedProgram vad() {
  return export_module(Vad(), std::tuple(zeros({1, 512})), {.name = "vad", .arguments = {"x"}, .static_sizes = true});
}
std::tuple<Tensor, Tensor> sentence() { return {zeros({1, 32}, {.dtype = kInt64}), ones({1, 32}, {.dtype = kBool})}; }
ExportedProgram mini_lm() {
  return export_module(MiniLm(), sentence(), {.name = "minilm", .arguments = {"tokens", "present"}});
}
double compile_vad() {
  Vad net;
  auto f = compile([&net](const Tensor& x) { return net(x); }, {.static_sizes = true});
  const double begin = now();
  f(zeros({1, 512}));
  return now() - begin;
}
double compile_mini_lm() {
  const MiniLm net;
  auto f = compile([&net](const Tensor& tokens, const Tensor& present) { return net(tokens, present); });
  const auto [tokens, present] = sentence();
  const double begin = now();
  f(tokens, present);
  return now() - begin;
}
const Net kNets[] = {{"VAD", "x=1x512", vad, compile_vad, 2},
                     {"MiniLM", "tokens=1x32 present=1x32", mini_lm, compile_mini_lm, 10}};

std::string output_of(const std::string& command) {
  std::string text;
  FILE* p = popen(command.c_str(), "r");
  if (!p) return text;
  char line[512];
  while (std::fgets(line, sizeof line, p)) text += line;
  return pclose(p) == 0 ? text : "";
}
double number_behind(const std::string& text, const char* words) {
  const std::size_t at = text.find(words);
  return at == std::string::npos ? -1 : std::atof(text.c_str() + at + std::strlen(words));
}

/// Bytes of a program or library without symbols; negative: it is not there.
double stripped(const std::string& path, const std::string& folder) {
  if (path.empty()) return -1;
  const std::string to = folder + "/stripped";
  if (std::system(("strip -o '" + to + "' '" + path + "' 2> /dev/null").c_str()) != 0) return -1;
  return static_cast<double>(fs::file_size(to));
}

#ifndef REPRISE_RT_LIBRARY
#define REPRISE_RT_LIBRARY ""
#define REPRISE_RT_RUNNER ""
#endif
#ifndef REPRISE_RT_STATIC
#define REPRISE_RT_STATIC ""
#endif

/// Of a child: median of `times` processes.
double in_children(const std::string& command, int times) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) {
    const std::string text = output_of(command);
    if (text.empty()) return -1;
    all.push_back(std::atof(text.c_str()));
  }
  return median(all);
}

}  // namespace

int export_child(const char* net, const char* what) {
  for (const Net& n : kNets) {
    if (std::strcmp(n.name, net) != 0) continue;
    double took = 0;
    if (!std::strcmp(what, "compile")) {
      took = n.compile();
    } else {
      const double begin = now();
      n.make().compile({.levels = {level()}});
      took = now() - begin;
    }
    return std::printf("%.6f\n", took), 0;
  }
  return 1;
}

std::vector<Figure> export_figures(const char* self) {
  std::vector<Figure> out;
  std::string folder = (fs::temp_directory_path() / "reprise_figures_XXXXXX").string();
  if (!mkdtemp(folder.data())) return out;
  struct Remove {
    const std::string& folder;
    ~Remove() { fs::remove_all(folder); }
  } remove{folder};
  constexpr double kMiB = 1 << 20;
  auto add = [&](std::string name, double measured, const char* unit, double target, std::string note,
                 Figure::Better better = Figure::Better::Lower) {
    Figure f{std::move(name), measured, unit, target, better};
    f.measurable = measured >= 0, f.note = std::move(note);
    out.push_back(std::move(f));
  };
  add("libreprise-rt.so, stripped", stripped(REPRISE_RT_LIBRARY, folder) / kMiB, "MiB", 3,
      "as this build compiles it: a release with -O3 is another one");
  add("a static program in C that runs one network, without its weights", stripped(REPRISE_RT_STATIC, folder) / kMiB,
      "MiB", 1, "examples/rt/run.c with the archive, stripped");
  for (const Net& n : kNets) {
    const ExportedProgram p = n.make();
    const std::string file = folder + "/" + n.name + ".rpx", beside = std::string(n.name) + ".safetensors";
    const std::vector<std::string> levels = {"x86_64_v2", "avx2", "avx512"};
    p.compile({.levels = levels}).save(file, beside);
    add(std::string(n.name) + ": file beside its weights, a level",
        static_cast<double>(fs::file_size(file)) / kMiB / static_cast<double>(levels.size()), "MiB", 2, "three levels");
    std::vector<double> first, warm, memory, here;
    const LoadedProgram compiled = p.program();
    const Tensor x = zeros({1, 512});
    const auto [tokens, present] = sentence();
    auto call = [&] {
      if (n.compile == compile_vad) compiled(x);
      else compiled(tokens, present);
    };
    call();
    for (int i = 0; i < 15 && *REPRISE_RT_RUNNER; ++i) {  // interleaved
      const std::string text =
          output_of(std::string(REPRISE_RT_RUNNER) + " " + file + " " + n.arguments + " --times 300 --memory");
      if (text.empty()) break;
      first.push_back(number_behind(text, "load and first call "));
      warm.push_back(number_behind(text, " ms, a call "));
      memory.push_back(number_behind(text, "memory beside mapped files "));
      double best = 1e9;
      for (int k = 0; k < 300; ++k) {
        const double begin = now();
        call();
        best = std::min(best, now() - begin);
      }
      here.push_back(best * 1e3);
    }
    const std::string name = n.name;
    if (first.empty()) first = warm = memory = here = {-1};
    add(name + ": load and first call in a process of its own", median(first), "ms", n.first_call_ms,
        "median of 15 processes of examples/rt/run.c");
    add(name + ": memory beside weights", median(memory) / 1024, "MiB", 4,
        "anonymous memory of such a process, at its end");
    add(name + ": a warm call, compiled / without a compiler", median(warm) < 0 ? -1 : median(here) / median(warm), "x",
        0.98, "least of 300, median of 15, interleaved; the compiled function is the same program here",
        Figure::Better::Higher);
    const std::string child = "'" + std::string(self) + "' --export-child " + n.name + " ";
    const double compiling = in_children(child + "compile", 5), exporting = in_children(child + "export", 5);
    add(name + ": exporting with code of one level / compiling", compiling <= 0 ? -1 : exporting / compiling, "x", 1.2,
        "in processes of their own, median of 5; without writing weights");
  }
  return out;
}

}  // namespace reprise::figures
