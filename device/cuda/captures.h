#pragma once
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "device/backend.h"
#include "device/cuda/captured_graph.h"
#include "device/cuda/context.h"
#include "device/cuda/stream.h"

namespace reprise::device::cuda {

/// Other libraries' work on one device, as graphs. Threads: any; one captures at a time.
class Captures {
 public:
  explicit Captures(const Context& c) : context_(c) {}
  /// What the work queues for these addresses, as a graph, taken apart where `flat` (and it can be), that belongs to
  /// this and lives while `use` runs. Captured once for the same key and addresses, whichever recording asks, and kept
  /// as long as there is room. Throws what the work throws.
  void with(const CapturedNode&, const std::vector<void*>& addresses, bool flat,
            const std::function<void(CapturedGraph&)>& use);
  /// Does the work itself, in a stream.
  void queue(const CapturedNode&, const std::vector<void*>& addresses, CUstream);

 private:
  CUgraph captured(const CapturedNode&, const std::vector<void*>& addresses) REPRISE_REQUIRES(mu_);

  const Context& context_;
  Mutex mu_;
  std::unique_ptr<CudaStream> side_
      REPRISE_GUARDED_BY(mu_);  // as the next; for captures alone: nothing ever runs in it
  struct Key {
    std::vector<std::int64_t> work;
    std::vector<void*> addresses;
    bool flat;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, std::unique_ptr<CapturedGraph>> graphs_;
};

}  // namespace reprise::device::cuda
