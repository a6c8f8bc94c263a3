// Memory of frozen tensors that is no longer read (reprise/discard.h).
#include "reprise/discard.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "reprise/stream.h"
#include "runtime/build/freeze.h"
#include "tensor/frozen.h"

namespace reprise {

std::int64_t detail::discard(const std::vector<Tensor>& tensors, const DiscardOptions& options, SourceLoc loc) {
  std::int64_t bytes = 0;
  std::unordered_set<const Storage*> asked;
  std::vector<Device> devices;
  for (const Tensor& t : tensors) {
    const TensorImpl& impl = *t.impl();
    if (!impl.storage || !asked.insert(impl.storage).second) continue;
    Storage& s = *impl.storage;
    if (!s.frozen.load(std::memory_order_relaxed) || !s.data || s.released || s.bytes == 0) continue;
    std::string name;
    if (runtime::Folding::needs(s, options.few_rows, name) != runtime::Folding::Needs::Folded) continue;
    runtime::Folding::keep_folded(s);
    discard_storage(s, std::move(name), loc);
    bytes += s.bytes;
    if (std::find(devices.begin(), devices.end(), s.device) == devices.end()) devices.push_back(s.device);
  }
  for (Device d : devices) empty_cache(d, loc);  // the system is to have them, not the next tensor of that size
  return bytes;
}

}  // namespace reprise
