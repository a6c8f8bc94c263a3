// Measures the targets that this machine can show: ./run bench --figures [--json]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "bench/figures.h"

namespace fig = reprise::figures;

namespace {

std::string number(double v) {
  char s[32];
  std::snprintf(s, sizeof s, v != 0 && (v < 0.01 || v >= 1e6) ? "%.3g" : v < 10 ? "%.3f" : "%.1f", v);
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("REPRISE_CACHE_DIR", "off", /*replace=*/0);  // what compiling takes is among the figures
  bool json = false;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--child")) return fig::child();
    if (!std::strcmp(argv[i], "--child-encoder") && i + 1 < argc) return fig::encoder_child(std::atoi(argv[i + 1]));
    if (!std::strcmp(argv[i], "--growth") && i + 2 < argc)
      return fig::growth_child(argv[i + 1], std::atoi(argv[i + 2]));
    if (!std::strcmp(argv[i], "--export-child") && i + 2 < argc) return fig::export_child(argv[i + 1], argv[i + 2]);
    if (!std::strcmp(argv[i], "--since") && i + 2 < argc) {
      try {
        return fig::since(argv[i + 1], argv[i + 2]);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "figures: %s\n", e.what());
        return 2;
      }
    }
    if (!std::strcmp(argv[i], "--json")) json = true;
    else if (!std::strcmp(argv[i], "--only") && i + 1 < argc) only = argv[++i];
    else {
      std::fprintf(stderr,
                   "usage: figures [--json] [--only GROUP]   (groups: dispatch call kernels quantize scaled matmul "
                   "conv model training recordings growth export process)\n");
      return 2;
    }
  }
  struct Group {
    const char* name;
    std::vector<fig::Figure> (*run)();
  };
  const Group groups[] = {{"dispatch", fig::dispatch_figures}, {"call", fig::call_figures},
                          {"kernels", fig::kernel_figures},    {"quantize", fig::quantize_figures},
                          {"scaled", fig::scaled_figures},     {"matmul", fig::matmul_figures},
                          {"conv", fig::conv_figures},         {"model", fig::model_figures},
                          {"training", fig::training_figures}, {"recordings", fig::recording_figures}};
  std::vector<fig::Figure> all;
  try {
    for (const Group& g : groups) {
      if (!only.empty() && only != g.name) continue;
      std::fprintf(stderr, "measuring: %s\n", g.name);
      for (fig::Figure& f : g.run()) all.push_back(std::move(f));
    }
    if (only.empty() || only == "growth") {
      std::fprintf(stderr, "measuring: growth\n");
      for (fig::Figure& f : fig::growth_figures(argv[0])) all.push_back(std::move(f));
    }
    if (only.empty() || only == "export") {
      std::fprintf(stderr, "measuring: export\n");
      for (fig::Figure& f : fig::export_figures(argv[0])) all.push_back(std::move(f));
    }
    if (only.empty() || only == "process")
      for (fig::Figure& f : fig::process_figures(argv[0])) all.push_back(std::move(f));
    if (only.empty())
      for (fig::Figure& f : fig::other_machines()) all.push_back(std::move(f));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "figures: %s\n", e.what());
    return 1;
  }

  if (json) {
    nlohmann::json list = nlohmann::json::array();
    for (const fig::Figure& f : all) {
      nlohmann::json o{
          {"name", f.name},         {"unit", f.unit},
          {"target", f.target},     {"better", f.better == fig::Figure::Better::Lower ? "lower" : "higher"},
          {"verdict", f.verdict()}, {"note", f.note}};
      if (f.measurable) o["measured"] = f.measured;
      else o["measured"] = nullptr;
      list.push_back(std::move(o));
    }
    std::printf("%s\n", list.dump(2).c_str());
    return 0;
  }
  std::printf("%-58s %12s %12s  %s\n", "figure", "measured", "target", "verdict");
  for (const fig::Figure& f : all) {
    std::string want = (f.better == fig::Figure::Better::Lower ? "<= " : ">= ") + number(f.target);
    std::printf("%-58s %12s %12s  %-20s %s\n", (f.name + " [" + f.unit + "]").c_str(),
                f.measurable ? number(f.measured).c_str() : "-", want.c_str(), f.verdict().c_str(), f.note.c_str());
  }
  return 0;
}
