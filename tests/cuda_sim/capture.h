#pragma once
#include <memory>
#include <vector>

#include "tests/cuda_sim/graph.h"
#include "tests/cuda_sim/stream.h"

namespace sim {

/// One stream capture: shared by the streams that joined it.
struct Capture {
  std::shared_ptr<Graph> graph;
  std::uint64_t id = 0;
  bool to_graph = false;  ///< into a graph of the caller's
  bool invalid = false;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::weak_ptr<Stream> origin;
  std::vector<std::weak_ptr<Stream>> streams;
  std::map<const Stream*, std::vector<std::uint64_t>> last;  ///< nodes that the stream's next node depends on
};

void capture_work(Stream&, WorkPtr);
/// The kernel that the stream has captured last, where it captures, does not wait for the kernel before it: it does so
/// by itself.
void start_last_early(Stream&);
/// Fails with CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and ends the capture, for what may not be captured.
void refuse_in_capture(Stream&, const char* entry);

}  // namespace sim
