#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "device/backend.h"
#include "device/cuda/captures.h"
#include "device/cuda/cells.h"
#include "device/cuda/context.h"
#include "device/cuda/graph_sizes.h"

namespace reprise::device::cuda {

/// What graphs need of their device.
struct GraphHome {
  const Context& context;
  CellBlocks& blocks;
  Captures& captures;
  bool indirect;                           ///< pointers through a block of cells (CodeTarget::indirect)
  std::atomic<std::int64_t>& graph_bytes;  ///< of all executable graphs
  GraphSizes& sizes;
  bool early;  ///< nodes may start while the one before them ends (edges.h)
  /// other libraries' work is nodes like others, where it can be (captured_graph.h)
  bool flat;
  KernelPtr upload;  ///< the kernel that fills the block; null when not indirect
};

/// The kernel that fills a block of cells. Arguments: address of the block, index of the first cell, count, then up to
/// kUploadCells values. Written out, since its last argument is an array and not 8 bytes.
ImagePtr upload_image();
inline constexpr std::uint32_t kUploadCells = 448;
/// How many runs of it a block takes. The last one has the last kUploadCells: what moves most stands at the end.
constexpr std::size_t uploads_of(std::uint32_t cells) { return (cells + kUploadCells - 1) / kUploadCells; }
/// Which of them has a cell.
constexpr std::size_t upload_of(std::uint32_t cell, std::uint32_t cells) {
  return uploads_of(cells) - 1 - (cells - 1 - cell) / kUploadCells;
}

/// What the driver is told of one kernel; it copies all of that. One thread.
class LaunchParams {
 public:
  /// `block`: of cells, where pointers go through one; `addresses`: by cell. Both as later runs have them, where those
  /// change them. What is given stands until the next question.
  const CUDA_KERNEL_NODE_PARAMS& of(const KernelNode&, const GraphHome&, void* block,
                                    const std::vector<void*>& addresses);
  /// Of the upload of the block's part, the first is 0.
  const CUDA_KERNEL_NODE_PARAMS& upload(const GraphHome&, void* block, const std::vector<void*>& addresses,
                                        std::size_t part);

 private:
  CUDA_KERNEL_NODE_PARAMS told_{};
  std::vector<std::uint64_t> values_;
  std::vector<void*> pointers_;
};

}  // namespace reprise::device::cuda
