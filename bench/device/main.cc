// Measures what a device with memory of its own can show: reprise_device_figures [--quick] [--only GROUP] [--json FILE]
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/device/measure.h"

namespace df = reprise::device_figures;

int main(int argc, char** argv) {
  df::Setting s;
  std::string json, only;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--quick")) s.quick = true;
    else if (!std::strcmp(argv[i], "--json") && i + 1 < argc) json = argv[++i];
    else if (!std::strcmp(argv[i], "--only") && i + 1 < argc) only = argv[++i];
    else {
      std::fprintf(stderr, "usage: reprise_device_figures [--quick] [--only GROUP] [--json FILE]   (groups: graphs kernels products sizes decode)\n");
      return 2;
    }
  }
  struct Group { const char* name; std::vector<df::Row> (*run)(const df::Setting&); };
  const Group groups[] = {{"graphs", df::graphs}, {"kernels", df::fused_kernels}, {"products", df::products}, {"sizes", df::changing_sizes}, {"decode", df::decode}};
  std::vector<df::Row> rows;
  int failures = 0;
  try {
    std::fprintf(stderr, "device: %s\n", reprise::device::backend(s.device).description().c_str());
    rows = df::bandwidth(s);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "reprise_device_figures: %s\n", e.what());
    return 1;
  }
  for (const Group& g : groups) {
    if (!only.empty() && only != g.name) continue;
    std::fprintf(stderr, "measuring: %s\n", g.name);
    try {
      for (df::Row& r : g.run(s)) rows.push_back(std::move(r));
    } catch (const std::exception& e) {  // what the others measured is worth keeping
      std::fprintf(stderr, "reprise_device_figures: %s: %s\n", g.name, e.what());
      ++failures;
    }
  }
  nlohmann::json list = nlohmann::json::array();
  std::string group;
  for (const df::Row& r : rows) {
    if (r.group != group) std::printf("\n%s\n", (group = r.group).c_str());
    std::printf("  %-58s %14.6g %-9s", r.name.c_str(), r.measured, r.unit.c_str());
    if (r.part > 0) std::printf(" %5.2f of %s", r.part, r.of.c_str());
    std::printf("\n");
    nlohmann::json o{{"group", r.group}, {"name", r.name}, {"measured", r.measured}, {"unit", r.unit}};
    if (r.part > 0) o["part"] = r.part, o["of"] = r.of;
    list.push_back(std::move(o));
  }
  if (!json.empty()) {
    nlohmann::json all{{"device", reprise::device::backend(s.device).description()}, {"quick", s.quick}, {"rows", list}};
    std::ofstream(json) << all.dump(1) << "\n";
  }
  return failures ? 1 : 0;
}
