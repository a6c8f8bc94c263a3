#include "device/cpu_quota.h"

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace reprise::device {

namespace {

/// Smaller is `least`, where 0 is no bound.
void bound(int& least, double quota, double period) {
  if (!(quota > 0) || !(period > 0) || quota / period > 1e6) return;
  const int cores = static_cast<int>((quota + period - 1) / period);
  least = least ? std::min(least, cores) : cores;
}

/// Of one group, in both versions of the files.
void read_group(int& least, const std::string& folder) {
  double quota = 0, period = 0;
  // "max 100000" is no number
  if (std::ifstream in(folder + "/cpu.max"); in >> quota >> period) bound(least, quota, period);
  std::ifstream quotas(folder + "/cpu.cfs_quota_us"), periods(folder + "/cpu.cfs_period_us");
  if (quotas >> quota && periods >> period) bound(least, quota, period);  // -1: none
}

}  // namespace

int quota_cores(const std::string& groups, const std::string& mount) {
  int least = 0;
  std::ifstream in(groups);
  for (std::string line; std::getline(in, line);) {  // "0::/a/b", or "4:cpu,cpuacct:/a/b"
    const std::size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    // A group's bound holds for those in it, too. In a container the path may be the outer system's: then its root is
    // ours.
    for (std::string path = line.substr(second + 1);;
         path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'))) {
      if (path == "/") path.clear();
      read_group(least, mount + (controllers.empty() ? "" : "/" + controllers) + path);
      if (!controllers.empty()) read_group(least, mount + "/cpu" + path);
      if (path.empty()) break;
    }
  }
  return least;
}

}  // namespace reprise::device
