// Measures what a device with memory of its own can show: reprise_device_figures [--quick | --once] [--only GROUP]...
// [--named TEXT] [--json FILE] or, without one, what scripts/gpu_model.py asks: reprise_device_figures --account
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/device/account.h"
#include "bench/device/measure.h"

namespace df = reprise::device_figures;

int main(int argc, char** argv) {
  df::Setting s;
  std::string json;
  std::vector<std::string> only;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--quick")) s.quick = true;
    else if (!std::strcmp(argv[i], "--once")) s.once = true;
    else if (!std::strcmp(argv[i], "--json") && i + 1 < argc) json = argv[++i];
    else if (!std::strcmp(argv[i], "--only") && i + 1 < argc) only.push_back(argv[++i]);
    else if (!std::strcmp(argv[i], "--named") && i + 1 < argc) s.named = argv[++i];
    else if (!std::strcmp(argv[i], "--account")) {
      std::printf("%s\n", df::account().dump(1).c_str());
      return 0;
    } else {
      std::fprintf(stderr,
                   "usage: reprise_device_figures [--quick | --once] [--only GROUP]... [--named TEXT] [--json FILE] | "
                   "--account   (groups: kernels rows products attention decode calls sizes graphs micro)\n");
      return 2;
    }
  }
  nlohmann::json all{{"quick", s.quick}, {"failed", nlohmann::json::array()}, {"rows", nlohmann::json::array()}};
  // After each row, at once in place: what was measured stays when the run is cut off.
  auto write = [&] {
    if (json.empty()) return;
    std::ofstream(json + ".new") << all.dump(1) << "\n";
    std::rename((json + ".new").c_str(), json.c_str());
  };
  std::string group;
  s.report = [&](df::Row r) {
    if (s.once) return;
    if (r.group != group) std::printf("\n%s\n", (group = r.group).c_str());
    std::printf("  %-58s %14.6g %-9s", r.name.c_str(), r.measured, r.unit.c_str());
    if (r.part > 0) std::printf(" %5.2f of %s", r.part, r.of.c_str());
    std::printf("\n");
    std::fflush(stdout);
    nlohmann::json o{{"group", r.group}, {"name", r.name}, {"measured", r.measured}, {"unit", r.unit}};
    if (r.part > 0) o["part"] = r.part, o["of"] = r.of;
    all["rows"].push_back(std::move(o));
    write();
  };
  auto failed = [&](const char* name, const std::exception& e) {
    std::fprintf(stderr, "reprise_device_figures: %s: %s\n", name, e.what());
    all["failed"].push_back({{"group", name}, {"why", e.what()}});
    write();
  };
  try {
    reprise::device::Backend& d = reprise::device::backend(s.device);
    all["device"] = d.description();
    all["products"] = d.product_library();
    std::fprintf(stderr, "device: %s\n", d.description().c_str());
    if (!s.once) df::bandwidth(s);
  } catch (const std::exception& e) {
    failed("bandwidth", e);
    return 1;
  }
  struct Group {
    const char* name;
    void (*run)(const df::Setting&);
  };
  for (const Group& g : {Group{"kernels", df::fused_kernels},
                         {"rows", df::long_rows},
                         {"products", df::products},
                         {"attention", df::prefill_attention},
                         {"decode", df::decode},
                         {"calls", df::calls},
                         {"sizes", df::changing_sizes},
                         {"graphs", df::graphs},
                         {"micro", df::micro}}) {
    if (!only.empty() && std::find(only.begin(), only.end(), g.name) == only.end()) continue;
    std::fprintf(stderr, "measuring: %s\n", g.name);
    try {
      g.run(s);
    } catch (const std::exception& e) {  // what the others measure is worth keeping
      failed(g.name, e);
    }
  }
  return all["failed"].empty() ? 0 : 1;
}
