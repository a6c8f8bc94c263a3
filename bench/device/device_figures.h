#pragma once
#include <functional>
#include <string>

#include "reprise/reprise.h"

namespace reprise::device_figures {

/// One measurement on a device with memory of its own. `part`: the measured value as a fraction of what the same device
/// was measured to be able to do in the same run (0: no such figure).
struct Row {
  std::string group, name;
  double measured = 0;
  std::string unit;
  double part = 0;
  std::string of = {};  ///< "copy", "read": what `part` is a fraction of
};

/// What is measured on: `quick` takes sizes that a simulator gets through.
struct Setting {
  Device device = Device::cuda(0);
  bool quick = false;
  bool once = false;                    ///< each row's work is done twice and not timed: what a profiler looks at
  std::string named = {};               ///< only rows whose names have this in them
  double copy_rate = 0, read_rate = 0;  ///< bytes a second, measured first
  bool wants(const std::string& name) const { return name.find(named) != std::string::npos; }
  std::function<void(Row)> report;  ///< takes each row as soon as it is measured: a run that is cut off keeps those
};

/// No cache of a device may hold what a row reads, or its rate would not be the memory's: the largest caches (126 MB)
/// four times over.
inline constexpr std::int64_t kPastCaches = std::int64_t{512} << 20;

void bandwidth(Setting&);     ///< fills in the rates
void graphs(const Setting&);  ///< launch, update and instantiate cost at 1 to 5,000 nodes
void long_rows(const Setting&);
void fused_kernels(const Setting&);
void products(const Setting&);
void prefill_attention(const Setting&);
void decode(const Setting&);  ///< Llama shapes, random bfloat16 weights
void calls(const Setting&);   ///< host time of compiled calls beside a bare launch of as many nodes
void changing_sizes(const Setting&);
/// what single steps cost: reading back, nodes in chains and in branches, reads by size
void micro(const Setting&);

}  // namespace reprise::device_figures
