#pragma once
#include <algorithm>
#include <cstdint>

#include "kernels/cpu/matmul_product.h"

namespace reprise::kernels {

/// How a product of many rows is shared out: panels of B, as many at a time as stay in the caches, are packed by all
/// threads; then blocks of rows times groups of these panels are tasks.
struct PanelBlocks {
  std::int64_t panels, bytes;  ///< of B; of each
  std::int64_t most_bytes;     ///< of those that are packed at a time
  std::int64_t row_blocks;
  /// work to pack a panel, and what is worth another thread (see device::parallel_for), in any unit
  std::int64_t packing, least_packing;
  std::int64_t work, least_work;  ///< the same of a block of rows and one panel
  std::int64_t together = 1;      ///< so many panels at a time are not taken apart
};

/// pack(panel, to), then block(block of rows, first, packed, begin, end): panels [first + begin, first + end), the
/// first of which stands at `packed` + begin * s.bytes. Throws OutOfMemory. `packs`: else they are taken as they stand,
/// pack is not called, and `packed` is null.
template <class Pack, class Run>
void by_panel_blocks(const PanelBlocks& s, bool packs, Pack&& pack, Run&& block) {
  const std::int64_t at_once = std::clamp<std::int64_t>(s.most_bytes / s.bytes / s.together, 1, s.panels / s.together) *
                               s.together,
                     threads = device::num_threads();
  const Scratch packed(packs ? at_once * s.bytes : 0);
  auto grain = [](std::int64_t least, std::int64_t each) {
    return std::max<std::int64_t>(1, least / std::max<std::int64_t>(1, each));
  };
  for (std::int64_t first = 0; first < s.panels; first += at_once) {
    const std::int64_t count = std::min(at_once, s.panels - first), some = count / s.together;
    if (packs)
      parallel(count, grain(s.least_packing, s.packing), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) pack(first + i, packed.get() + i * s.bytes);
      });
    // Few blocks of rows: split the panels too, so that every thread has some.
    const std::int64_t groups =
        threads == 1 ? 1
                     : std::clamp<std::int64_t>((threads * 3 + s.row_blocks - 1) / s.row_blocks, 1, (count + 3) / 4);
    parallel(s.row_blocks * groups, grain(s.least_work, s.work * count / groups),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) {
                 const std::int64_t g = i % groups;
                 block(i / groups, first, packed.get(), some * g / groups * s.together,
                       some * (g + 1) / groups * s.together);
               }
             });
  }
}

}  // namespace reprise::kernels
