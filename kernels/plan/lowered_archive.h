#pragma once
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "graph/graph_archive.h"
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// An archive with what graphs became on the host: no launch of a device's kernels. Throws NotArchived for those, and
/// for a function of another file than this library's.
class LoweredWriter : public graph::GraphWriter {
 public:
  using GraphWriter::own;
  void own(const Lowered&);
  void own(NativeFn);
  void own(const KernelCode&);
  void own(const GpuLaunch&);

 private:
  std::unordered_map<std::string, std::size_t> codes_;  // by their texts, each of which is there once
};

class LoweredReader : public graph::GraphReader {
 public:
  using GraphReader::GraphReader;
  using GraphReader::own;
  void own(Lowered&);
  void own(NativeFn&);
  GpuLaunch make(std::type_identity<GpuLaunch>);
  KernelCode make(std::type_identity<KernelCode>);

 private:
  std::vector<KernelCode> codes_;
};

}  // namespace reprise::kernels
