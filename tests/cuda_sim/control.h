#pragma once
#include <stddef.h>
#include <stdint.h>

/// What tests may ask of the simulator of the CUDA driver besides the driver's own functions (README.md). A test that
/// loads it with dlopen finds these by name; all of them may be called at any time from any thread.
#ifdef __cplusplus
extern "C" {
#endif

/// Counted since the library was loaded or since reprise_simulator_reset_counters().
typedef struct {
  uint64_t calls;     ///< entry points called
  uint64_t launches;  ///< kernels executed, nodes of graphs included
  uint64_t threads;   ///< kernel threads executed
  uint64_t graph_launches;
  uint64_t instantiations;
  uint64_t graph_updates;    ///< cuGraphExecUpdate
  uint64_t node_updates;     ///< parameters of nodes of executable graphs set, and enabled or disabled
  uint64_t bytes_to_device;  ///< copied from the host, by calls and nodes
  uint64_t bytes_to_host;
  uint64_t bytes_on_device;
  uint64_t modules_loaded;
  uint64_t compile_us;                    ///< spent on host code of kernels
  uint64_t allocations;                   ///< device memory allocated by any entry point
  uint64_t live_allocations, live_bytes;  ///< now; device memory, mapped or not
  uint64_t live_handles;      ///< now: streams, events, modules, graphs, executable graphs, pools, physical memory
  uint64_t live_graph_bytes;  ///< now: what executable graphs are said to hold of the device
  uint64_t early_edges;       ///< of programmatic dependent launches
} reprise_simulator_counters;

/// Its presence tells that this libcuda is the simulator. Version of this header.
extern const int reprise_simulator;

void reprise_simulator_get_counters(reprise_simulator_counters* out);
void reprise_simulator_reset_counters(void);
/// Calls of one entry point, by its exported name ("cuMemAlloc_v2") or without the version suffix.
uint64_t reprise_simulator_calls(const char* entry);

/// The line that was printed for the latest error that a check found, "" when there was none. Valid until the next
/// error.
const char* reprise_simulator_last_error(void);
/// Clears the last error and the failed state of the context, which a real driver cannot.
void reprise_simulator_reset(void);

/// The next call (the one after `skip` further calls) of the entry point fails with this CUresult, before it does
/// anything. Named as above.
void reprise_simulator_fail_next(const char* entry, int result);
void reprise_simulator_fail_after(const char* entry, unsigned skip, int result);
/// No injected failure remains.
void reprise_simulator_fail_none(void);

/// Settings that the environment gives at start (README.md), changed while it runs.
/// order: "forward", "reverse", "random"; seed: of the random order and of deferred work.
void reprise_simulator_set_order(const char* order, uint64_t seed);
void reprise_simulator_set_async(int on);
void reprise_simulator_set_checks(int on);  ///< for kernels loaded from now on
void reprise_simulator_set_memory(uint64_t bytes);
void reprise_simulator_set_races(const char* how);  ///< "0", "1", "tell"; of accesses from now on

/// For allocators that hand out parts of what the driver gave them. forget: the bytes count as written by nobody.
/// block: no access at all until `forget`. Done at once, not in the order of a stream.
void reprise_simulator_forget(uint64_t address, size_t bytes);
void reprise_simulator_block(uint64_t address, size_t bytes);

/// In the order of a stream (CUstream; null: at once): of the `whole` bytes at `address`, which an allocator hands out
/// or takes back, the first `used` are written by nobody and the rest is blocked. used = 0: taken back.
void reprise_simulator_suballocate(uint64_t address, size_t used, size_t whole, void* stream);

/// For stand-ins of the libraries that launch kernels of their own (blaslt/): queues work in a stream (CUstream), or
/// adds a kernel node to the graph that the stream captures: a kernel of a library (CUkernel), of one parameter for
/// each 8 bytes of `data`, in clusters of two blocks, without which it does not run. It runs once with a copy of `data`
/// in the order of the stream, and must reach memory through `reach`. Returns a CUresult.
int reprise_simulator_submit(void* stream, void (*run)(void* data), const void* data, size_t bytes);
/// The same with programmatic stream serialization (programmatic dependent launch): captured, it has such an edge from
/// the kernel before it. It counts as one that waits for that kernel by itself.
int reprise_simulator_submit_early(void* stream, void (*run)(void* data), const void* data, size_t bytes);
/// From such work alone: where [address, address + bytes) is on the host. Null after an error was reported as of a
/// kernel: out of bounds, or read before anybody wrote it. What is to be written counts as written.
void* reprise_simulator_reach(uint64_t address, size_t bytes, int write, const char* what);

#ifdef __cplusplus
}
#endif
