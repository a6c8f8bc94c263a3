#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/timeline.h"
#include "device/late_faults.h"
#include "runtime/replay/host_steps.h"
#include "runtime/replay/program.h"
#include "tensor/impl.h"

namespace reprise::runtime {

/// Replays a recording on a device with graphs of its own (device/backend.h). Runs of GPU steps are executable graphs,
/// made once for these sizes with the dependencies that the steps really have; other libraries' work is a node like
/// others (captured_step.h). A step that only the host can run stands between two of them: what it touches is copied to
/// the host, computed, and copied back. What may fail stands before every write to an argument, so that its exception
/// leaves arguments as they were: a step of the host throws at its place; a check of values is a kernel, whose note
/// keeps guarded kernels from writing and is read at the end (kernels/gpu/launches.h).
///
/// One replay at a time; the device orders runs of one executable graph by itself.
class DeviceReplay {
 public:
  /// `slots`, `temp_offset` (by buffer, -1: not a temp) of the recording; `reuse`: executable graphs of another
  /// recording of the same program, which are changed to these sizes instead of making new ones (may be null;
  /// consumed). `sealed`: none are made; where those cannot be changed, the nodes are queued at each run. `bounds`: of
  /// the recording (Program::bounds), which keeps them.
  static std::unique_ptr<DeviceReplay> make(const Program&, SlotValues slots, const std::vector<std::int64_t>& bounds,
                                            const std::vector<std::int64_t>& temp_offset,
                                            std::unique_ptr<DeviceReplay> reuse, bool sealed);

  /// Bytes that it works in besides the buffers: for products of the device's library.
  std::int64_t workspace_bytes() const { return workspace_bytes_; }

  /// base: by cell (Program::cells), addresses on the device; that of the workspace is a multiple of
  /// kWorkspaceAlignment; inputs on the host have theirs there. Queues the work on the calling thread's current stream
  /// and returns; waits only for steps of the host, and where values are checked, but with `late`
  /// (CompileOptions::late_faults). Throws before anything is done what calls before in this stream are late to tell.
  void run(void* const* base, TensorImpl* const* inputs, HostSteps&, const std::int64_t* params, SlotValues slots,
           const std::vector<std::int64_t>& temp_offset, bool sealed, bool late);

  /// Brings its graphs to the device, on the calling thread's current stream: of a recording that is made ahead of its
  /// calls.
  void upload();

  static constexpr std::int64_t kWorkspaceAlignment = 256;
  std::int64_t graph_bytes() const;  ///< device memory of the executable graphs

 private:
  DeviceReplay(const Program&, const std::vector<std::int64_t>& bounds);
  struct Segment {
    std::unique_ptr<device::GraphExec> exec;  ///< null: a step of the host
    std::uint32_t first = 0, last = 0;        ///< steps [first, last)
    bool checks = false;                      ///< values are checked in it
    bool after_checks = false;                ///< it must not start where one has failed: work in it is not guarded
  };
  /// Waits for what is queued; throws the fault that a check noted.
  void read_faults(void* const* base, SlotValues slots, device::Stream&) const;
  /// Has that fault thrown later.
  void note_faults(void* const* base, SlotValues slots, device::Stream&);
  /// A segment that began at `begin` is queued.
  void tell_segment(const Segment&, timeline::Time begin, bool profiled, SlotValues slots, device::Stream&) const;
  void prepare(void* const* cells, SlotValues slots, const std::vector<std::int64_t>& temp_offset, bool sealed);
  void build(SlotValues slots, const std::vector<std::int64_t>& temp_offset, std::vector<Segment> reuse, bool sealed);
  void run_on_host(const Program::Step&, const std::vector<Program::Use>&, void* const* base, TensorImpl* const* inputs,
                   HostSteps&, const std::int64_t* params, SlotValues slots, device::Stream&);

  const Program& program_;
  const std::vector<std::int64_t>& bounds_;
  device::Backend& device_;
  std::vector<Segment> segments_;
  std::optional<Program::GpuId> sure_fault_;           ///< it checks indices into a dimension of size 0
  std::shared_ptr<const device::FaultTeller> teller_;  ///< of these sizes, once it was asked for
  std::int64_t workspace_bytes_ = 0;
  /// buffers of inputs that are on the host: 0-dim tensors, copied at each run
  std::vector<std::uint32_t> host_inputs_;
};

}  // namespace reprise::runtime
