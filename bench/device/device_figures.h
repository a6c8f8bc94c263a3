#pragma once
#include <string>
#include <vector>

#include "reprise/reprise.h"

namespace reprise::device_figures {

/// One measurement on a device with memory of its own. `part`: the measured value as a fraction of what the same device was
/// measured to be able to do in the same run (0: no such figure).
struct Row {
  std::string group, name;
  double measured = 0;
  std::string unit;
  double part = 0;
  std::string of = {}; ///< "copy", "read": what `part` is a fraction of
};

/// What is measured on: `quick` takes sizes that a simulator gets through.
struct Setting {
  Device device = Device::cuda(0);
  bool quick = false;
  double copy_rate = 0, read_rate = 0;  ///< bytes a second, measured first
};

std::vector<Row> bandwidth(Setting&);                 ///< fills in the rates
std::vector<Row> graphs(const Setting&);              ///< launch, update and instantiate cost at 1 to 5,000 nodes
std::vector<Row> fused_kernels(const Setting&);
std::vector<Row> products(const Setting&);
std::vector<Row> decode(const Setting&);              ///< Llama shapes, random bfloat16 weights
std::vector<Row> changing_sizes(const Setting&);

}  // namespace reprise::device_figures
