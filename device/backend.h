#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/device.h"
#include "reprise/dtype.h"
#include "reprise/error.h"
#include "reprise/source_location.h"

/// What a device with memory and code of its own must offer: memory, an ordered queue of work, loaded kernels, and
/// graphs of launches that are built once and replayed. The host needs none of it (host_memory.h, parallel.h): its
/// pointers are memory and its kernels are functions. Devices: cuda (device/cuda/), null (device/null/).
///
/// Errors: every member throws Error: OutOfMemory (who holds what), DeviceFailed (the driver's name for the failure,
/// and the kernel's), InvalidArgument. A failure that the device cannot recover from is reported once in full; later
/// calls throw a short DeviceFailed that refers to it. Nothing aborts.
namespace reprise::device {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

/// What code must be made for (jit/gpu/loop/compile.h makes it).
struct CodeTarget {
  std::string arch;  ///< "sm_90"; empty: no code is made for this device, the host runs every kernel
  /// Where a kernel's pointer arguments come from. Direct: the argument is the address; a replay whose addresses moved
  /// updates the node. Indirect: the argument is the address of a cell that holds it; a replay uploads the cells.
  bool indirect = false;
  /// Of a backend: the architecture has products of warpgroups. Of code_target (runtime/replay/warpgroup_trial.h): and
  /// they may be used, as a trial has shown.
  bool warpgroups = false;
  bool with_ir = false;  ///< the image also carries its LLVM bitcode (the simulator of the driver runs that)
  friend bool operator==(const CodeTarget&, const CodeTarget&) = default;
};

/// A kernel as made for a target: text or bytes that the device loads, and how it wants to be launched. Immutable.
///
/// Calling convention of every kernel: its arguments are 8 bytes each: first the pointers (to the first byte of a
/// buffer), then 64-bit integers.
struct Image {
  std::string code;                ///< PTX text
  std::string entry;               ///< name of the function in it
  Dim3 block;                      ///< threads of a block
  std::uint32_t shared_bytes = 0;  ///< dynamic shared memory of a block; static shared memory is in the code
  bool keep = false;               ///< machine code that is made of it is worth keeping (device/machine_code.h)
};
using ImagePtr = std::shared_ptr<const Image>;

/// A kernel loaded on one device. Unloads with the last reference.
class Kernel {
 public:
  virtual ~Kernel() = default;
  struct Resources {
    int registers = 0, local_bytes = 0, shared_bytes = 0, max_threads = 0;
  };
  virtual Resources resources() const = 0;
};
using KernelPtr = std::shared_ptr<const Kernel>;

/// An ordered queue of work. Threads: any.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void synchronize() = 0;        ///< waits; throws what went wrong in the work before
  virtual bool idle() = 0;               ///< everything in it has run
  virtual void* native() const = 0;      ///< the driver's handle (CUstream), for library calls and DLPack
  virtual std::uint64_t id() const = 0;  ///< unique in the process, never used again
};

/// A reserved range of device addresses, backed on demand: grows without moving. One lane of the recordings' pool.
class MemoryRange {
 public:
  virtual ~MemoryRange() = default;  ///< the caller has waited for all work on it
  virtual char* base() const = 0;
  virtual std::int64_t backed() const = 0;
  virtual void ensure(std::int64_t bytes) = 0;  ///< backs at least [0, bytes); throws OutOfMemory, state unchanged
};

/// One kernel launch in a graph. `cells` name entries of the table of addresses given at each replay.
struct KernelNode {
  KernelPtr kernel;
  std::string name;  ///< for messages and profilers: "rms_norm_mul"
  Dim3 grid, block;
  std::uint32_t shared_bytes = 0;
  std::vector<std::uint32_t> cells;  ///< its pointers, in order
  std::vector<std::int64_t> params;  ///< its integers, in order
};

/// A matrix product as a library may compute it: for every batch c[m, n] = sum over k of a[m, k] * b[k, n] (+ bias[m,
/// n]), all of `dtype`, summed in Float32 (Float64 where that is the dtype). Offsets (from the buffer's first byte) and
/// strides are in elements; the stride of a dim of size 1 means nothing. I: std::int64_t, or what stands for it until
/// sizes are known.
template <class I>
struct ProductOf {
  struct Matrix {
    I offset{}, batch{}, row{}, column{};
    friend bool operator==(const Matrix&, const Matrix&) = default;
  };
  DType dtype = DType::Float32;
  bool has_bias = false;
  I batch{}, m{}, n{}, k{};
  Matrix a, b, bias, c;  ///< a: rows m, columns k; b: rows k, columns n

  template <class J, class F>
  ProductOf<J> map(F&& f) const {
    auto matrix = [&](const Matrix& x) {
      return typename ProductOf<J>::Matrix{f(x.offset), f(x.batch), f(x.row), f(x.column)};
    };
    return {dtype, has_bias, f(batch), f(m), f(n), f(k), matrix(a), matrix(b), matrix(bias), matrix(c)};
  }
  friend bool operator==(const ProductOf&, const ProductOf&) = default;
};
using Product = ProductOf<std::int64_t>;
/// Up to so many rows, or columns, of c our own kernels are chosen before a library: they read the large operand once,
/// and that is all that takes time (kernels/gpu/matmul.cc).
inline constexpr std::int64_t kFewProductRows = 8;

class ProductDeclined : public Error {
 public:
  using Error::Error;
};

/// What another library does: a device's library of matrix products, a user's function.
struct CapturedWork {
  /// Queues the work in a stream of the device (the driver's handle); `addresses` are those of the node's cells. It
  /// waits for nothing and calls nothing of Reprise; it may throw. Any thread, one at a time.
  std::function<void(void* stream, void* const* addresses)> enqueue;
  /// Works of equal keys queue the same for the same addresses, so that one serves for the other. Empty: like no other.
  std::vector<std::int64_t> key;
  /// that it works in. Works of one graph may share them if one waits for the other
  std::int64_t workspace_bytes = 0;
};
/// Such work in a graph. The device captures what is queued: before the graph first runs, and again where one of the
/// addresses has moved. The null device queues it at each run, at its place.
struct CapturedNode {
  std::string name;  ///< for messages: "linear"
  CapturedWork work;
  /// what it reads and writes, and the workspace (256-byte aligned) last where it needs one
  std::vector<std::uint32_t> cells;
};

/// A graph made ready to run. One thread at a time; launches may overlap on the device only as their stream orders
/// them.
class GraphExec {
 public:
  virtual ~GraphExec() = default;  ///< waits for nothing; the driver keeps what is still running
  /// Does what a run with these addresses needs, and starts nothing. False: the graph would have to be made anew for
  /// that, and may not
  /// (`may_make`); it is of no further use then. Throws what captured work does on the way: ProductDeclined
  /// when the library cannot do a product after all; the backend does not take it again.
  virtual bool prepare(void* const* cells, bool may_make) = 0;
  /// Starts it, prepared with the same addresses. cells[i]: address that cell i stands for in this run. Returns as soon
  /// as the work is queued.
  virtual void launch(Stream&, void* const* cells) = 0;
  /// Where the first run is not to come at once: brings to the device, in the order of the stream, what that run would
  /// bring. Nothing where the graph is made by its first run.
  virtual void upload(Stream&) {}
  /// device memory that the executable graph holds, as measured when it was made
  virtual std::int64_t bytes() const = 0;
};

/// A graph being built: nodes in any order that respects `after` (indices of earlier nodes). A node whose grid is empty
/// does nothing. One thread.
class Graph {
 public:
  using Node = std::uint32_t;
  virtual ~Graph() = default;
  virtual Node add(KernelNode, std::span<const Node> after) = 0;
  virtual Node add(CapturedNode, std::span<const Node> after) = 0;
  /// Takes over the executable graph of an earlier graph of the same shape (same kernels and dependencies; sizes and
  /// grids may differ), or makes one. `reuse` may be null; it is consumed either way.
  virtual std::unique_ptr<GraphExec> instantiate(std::unique_ptr<GraphExec> reuse = nullptr) = 0;
  /// The same, but makes no executable graph: where it cannot take over `reuse`, a run queues its nodes one after the
  /// other. That costs each run a launch a node, and no run the hundreds of microseconds that making takes.
  virtual std::unique_ptr<GraphExec> queue(std::unique_ptr<GraphExec> reuse = nullptr) = 0;
};

struct MemoryStats {
  std::int64_t live_bytes = 0, cached_bytes = 0, peak_bytes = 0, range_bytes = 0, graph_bytes = 0;
  std::int64_t free_bytes = 0, total_bytes = 0;  ///< of the device, as the driver says
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string description() const = 0;  ///< "NVIDIA H200, sm_90, 139.8 GiB, driver 12.8"
  virtual CodeTarget target() const = 0;

  // ---- memory. Allocations are ordered with the current stream of the calling thread: bytes given back may be handed
  // out again on that stream at once, elsewhere once the work queued so far is over.
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void deallocate(void* p, std::int64_t bytes) noexcept = 0;
  virtual std::unique_ptr<MemoryRange> reserve(std::int64_t bytes) = 0;
  virtual MemoryStats memory() = 0;
  virtual void trim() = 0;                         ///< gives cached bytes back to the driver
  virtual void set_limit(std::int64_t bytes) = 0;  ///< of live and cached bytes; 0: none
  virtual void synchronize() = 0;                  ///< waits for everything on the device

  // ---- streams
  virtual Stream& current_stream() = 0;          ///< of the calling thread; the device's default stream unless set
  virtual void set_current_stream(Stream*) = 0;  ///< null: the default stream
  virtual std::unique_ptr<Stream> new_stream(int priority = 0) = 0;

  // ---- copies, ordered with `stream`
  /// `from` is free on return
  virtual void copy_from_host(void* to, const void* from, std::int64_t bytes, Stream&) = 0;
  virtual void copy_to_host(void* to, const void* from, std::int64_t bytes, Stream&) = 0;  ///< complete on return
  virtual void copy(void* to, const void* from, std::int64_t bytes, Stream&) = 0;

  // ---- host memory that the device itself reads and writes (pinned): copies that nobody waits for. Given back, it
  // serves again when the copies from and to it are over.
  virtual void* allocate_pinned(std::int64_t bytes) = 0;
  virtual void deallocate_pinned(void*) noexcept = 0;
  virtual void copy_from_pinned(void* to, const void* pinned, std::int64_t bytes, Stream&) = 0;
  virtual void copy_to_pinned(void* pinned, const void* from, std::int64_t bytes, Stream&) = 0;

  /// What is queued from now on in another library's stream (native handle) runs after what `producer` holds now.
  virtual void order_after(void* native, Stream& producer) = 0;

  // ---- code and graphs
  virtual KernelPtr load(const ImagePtr&) = 0;  ///< equal images give one loaded kernel
  virtual std::unique_ptr<Graph> new_graph(std::uint32_t cells) = 0;

  // ---- matrix products by a library
  /// The library's work for a product, on the addresses of a, b, [bias], c; nothing when no library computes it here,
  /// or kernels do it better. `name`: as the node's.
  virtual std::optional<CapturedWork> product(const Product&, std::string_view name) = 0;
  /// "cuBLASLt 13.1.0 (libcublasLt.so.13)", or why there is none. Opens it.
  virtual std::string product_library() = 0;
};

/// The backend of a device that is not the host. Throws DeviceUnavailable, naming the device and the reason. Made on
/// first use, lives as long as the process.
Backend& backend(Device, const char* op = "device", SourceLoc loc = {});
/// Why there is no such device; empty when there is.
std::string why_unavailable(Device);
/// Do host functions run on this device's memory?
constexpr bool runs_host_code(Device d) { return d.type == DeviceType::Cpu; }

}  // namespace reprise::device
