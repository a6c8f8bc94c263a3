#pragma once
#include <functional>
#include <string>
#include <vector>

#include "device/backend.h"
#include "jit/engine/engine.h"

namespace reprise::jit {

/// What an emitter of a GPU kernel fills: a module with one kernel named cx.entry (GpuEmitter::begin makes it), and
/// how its blocks look. Lives during one compilation, on one thread.
struct GpuModule {
  EmitContext cx;
  const device::CodeTarget& target;
  int sm = 0;            ///< 75, 80, 90: the architecture that code is generated for
  bool guarded = false;  ///< behind its buffers the kernel has a record of faults: after one it does nothing
  /// Note [Early launches]
  /// The kernel may be launched while the only one before it in its graph still runs (programmatic dependent launch):
  /// it lets the next one do so at once, and waits for the end of the one before. Until it has waited it reads nothing
  /// that an earlier node of the graph writes, but for the cells that hold addresses and words: the graph's first node,
  /// which fills them, is over before the second one starts, and with it before all that starts later. These are read
  /// past the first cache, which may have them from an earlier run: by one thread each, for its block
  /// (GpuEmitter::gather_cells), since a cell that every warp asks the second cache for is one place of it that serves
  /// three requests a nanosecond, and kernels of many small blocks wait for nothing else (an H100: a third of the
  /// memory's rate). Kernels that have nothing to do before they have waited read them later, through the first cache.
  /// What it asks the second cache to bring (GpuEmitter::prefetch) may be anything, since that is no read. Block 0
  /// waits before it ends: so the end of a kernel is the end of all before it. Others that have nothing to do leave at
  /// once, and make room for the next kernel's.
  bool early = false;
  bool waits_later = false;  ///< the emitter waits by itself (GpuEmitter::wait_for_earlier); set by it
  /// before its words stands the number of blocks that have something to do: the grid may be larger
  bool grid_word = false;
  /// by parameter: it is a word, whose cell stands behind the buffers as theirs do; shorter: the others are none
  std::vector<bool> words;
  bool exactly = false;            ///< the code is for this architecture and no newer one (sm_90a); set by the emitter
  device::Dim3 block;              ///< threads of a block; set by the emitter
  std::uint32_t shared_bytes = 0;  ///< dynamic shared memory; set by the emitter
};
using GpuEmitFn = std::function<void(GpuModule&)>;

/// Finds `key` in the process's cache or on disk (disk_cache.h), or emits and compiles it to PTX. `key` must determine
/// the code (with code_key() and the target, which are added). Any thread; a key that another thread compiles right now
/// is waited for; what comes from the disk counts as built. An exception of `emit` passes through and leaves nothing in
/// the cache. With target.with_ir the PTX ends in comment lines "// reprise-ir <base64>": the module's bitcode as it
/// was before code generation.
device::ImagePtr compile_gpu_module(const std::string& key, const device::CodeTarget& target, const GpuEmitFn& emit);

/// The architecture that code for "sm_<n>" is generated for: the newest that LLVM knows and that is not newer. Throws
/// InvalidArgument for what is not of that form or older than sm_70.
int gpu_architecture(const std::string& arch);

}  // namespace reprise::jit
