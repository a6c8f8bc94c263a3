#include "device/null/null_device.h"

#include <atomic>
#include <cstring>
#include <utility>
#include <variant>

#include "base/errors.h"
#include "base/mutex.h"
#include "device/host_memory.h"

namespace reprise::device {
namespace {

Mutex mu;
NullRecord record REPRISE_GUARDED_BY(mu);
std::atomic<bool> kernels_on{false};

class NullKernel final : public Kernel {
 public:
  explicit NullKernel(ImagePtr image) : image_(std::move(image)) {}
  Resources resources() const override { return {}; }

 private:
  ImagePtr image_;
};

class NullStream final : public Stream {
 public:
  NullStream() {
    static std::atomic<std::uint64_t> next{1};
    id_ = next++;
  }
  std::uint64_t id() const override { return id_; }
  void synchronize() override {}
  bool idle() override { return true; }
  void* native() const override { return nullptr; }

 private:
  std::uint64_t id_;
};

class NullRange final : public MemoryRange {
 public:
  explicit NullRange(std::int64_t bytes) : range_(bytes) {}
  char* base() const override { return range_.base(); }
  std::int64_t backed() const override { return range_.backed(); }
  void ensure(std::int64_t bytes) override { range_.ensure(bytes); }

 private:
  AddressRange range_;
};

struct NullNode {
  std::variant<KernelNode, CapturedNode> what;
  std::vector<std::uint32_t> after;
};

class NullExec final : public GraphExec {
 public:
  explicit NullExec(std::vector<NullNode> nodes, bool queued = false) : nodes_(std::move(nodes)), queued_(queued) {}
  bool prepare(void* const*, bool) override { return true; }
  void launch(Stream&, void* const* cells) override {
    std::vector<NullLaunch> launches;
    for (const NullNode& n : nodes_) {
      const auto* kernel = std::get_if<KernelNode>(&n.what);
      const auto* captured = std::get_if<CapturedNode>(&n.what);
      if (kernel && kernel->grid.count() == 0) continue;
      NullLaunch l = kernel ? NullLaunch{kernel->name, kernel->grid, kernel->block, {}, kernel->params, n.after}
                            : NullLaunch{captured->name, {}, {}, {}, {}, n.after};
      for (std::uint32_t c : kernel ? kernel->cells : captured->cells) l.pointers.push_back(cells[c]);
      if (captured) captured->work.enqueue(nullptr, l.pointers.data());
      launches.push_back(std::move(l));
    }
    const MutexLock lock(mu);
    ++(queued_ ? record.queued : record.graph_launches);
    record.launches.insert(record.launches.end(), launches.begin(), launches.end());
  }
  std::int64_t bytes() const override { return queued_ ? 0 : static_cast<std::int64_t>(nodes_.size() * 1024); }
  bool is_queued() const { return queued_; }

 private:
  std::vector<NullNode> nodes_;
  const bool queued_;
};

class NullGraph final : public Graph {
 public:
  Node add(KernelNode what, std::span<const Node> after) override {
    nodes_.push_back({std::move(what), {after.begin(), after.end()}});
    return static_cast<Node>(nodes_.size() - 1);
  }
  Node add(CapturedNode what, std::span<const Node> after) override {
    nodes_.push_back({std::move(what), {after.begin(), after.end()}});
    return static_cast<Node>(nodes_.size() - 1);
  }
  std::unique_ptr<GraphExec> instantiate(std::unique_ptr<GraphExec> reuse) override {
    const MutexLock lock(mu);
    ++(is_graph(reuse) ? record.reused : record.instantiated);
    return std::make_unique<NullExec>(std::move(nodes_));
  }
  std::unique_ptr<GraphExec> queue(std::unique_ptr<GraphExec> reuse) override {
    const MutexLock lock(mu);
    if (is_graph(reuse)) ++record.reused;
    return std::make_unique<NullExec>(std::move(nodes_), !is_graph(reuse));
  }

 private:
  static bool is_graph(const std::unique_ptr<GraphExec>& e) {
    return e && !static_cast<const NullExec&>(*e).is_queued();
  }
  std::vector<NullNode> nodes_;
};

thread_local Stream* current = nullptr;

class NullBackend final : public Backend {
 public:
  std::string description() const override { return "null: records what it is told, computes nothing"; }
  CodeTarget target() const override { return {.arch = kernels_on ? "sm_80" : ""}; }

  void* allocate(std::int64_t bytes) override { return host_allocate(bytes); }
  void deallocate(void* p, std::int64_t bytes) noexcept override { host_free(p, bytes); }
  std::unique_ptr<MemoryRange> reserve(std::int64_t bytes) override { return std::make_unique<NullRange>(bytes); }
  MemoryStats memory() override {
    HostMemoryStats m = host_memory_stats();
    return {m.live_bytes, m.cached_bytes, m.peak_bytes};
  }
  void trim() override { host_trim(); }
  void set_limit(std::int64_t bytes) override { set_host_memory_limit(bytes); }
  void synchronize() override {}

  Stream& current_stream() override { return current ? *current : default_; }
  void set_current_stream(Stream* s) override { current = s; }
  std::unique_ptr<Stream> new_stream(int) override { return std::make_unique<NullStream>(); }

  void copy_from_host(void* to, const void* from, std::int64_t bytes, Stream&) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    const MutexLock lock(mu);
    record.copied_to += bytes;
  }
  void copy_to_host(void* to, const void* from, std::int64_t bytes, Stream&) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    const MutexLock lock(mu);
    record.copied_from += bytes;
  }
  void copy(void* to, const void* from, std::int64_t bytes, Stream&) override {
    std::memmove(to, from, static_cast<std::size_t>(bytes));
  }

  void* allocate_pinned(std::int64_t bytes) override {
    return ::operator new (static_cast<std::size_t>(bytes), std::align_val_t{64});
  }
  void deallocate_pinned(void* p) noexcept override { ::operator delete (p, std::align_val_t{64}); }
  void copy_from_pinned(void* to, const void* from, std::int64_t bytes, Stream& s) override {
    copy_from_host(to, from, bytes, s);
  }
  void copy_to_pinned(void* to, const void* from, std::int64_t bytes, Stream& s) override {
    copy_to_host(to, from, bytes, s);
  }
  void order_after(void*, Stream&) override {}

  KernelPtr load(const ImagePtr& image) override { return std::make_shared<NullKernel>(image); }
  std::unique_ptr<Graph> new_graph(std::uint32_t) override { return std::make_unique<NullGraph>(); }

  std::optional<CapturedWork> product(const Product&, std::string_view) override { return std::nullopt; }
  std::string product_library() override { return "none: the null device computes nothing"; }

 private:
  NullStream default_;
};

}  // namespace

NullRecord take_null_record() {
  const MutexLock lock(mu);
  return std::exchange(record, {});
}
void set_null_kernels(bool on) { kernels_on = on; }

Backend& null_backend() {
  static auto* b = new NullBackend;  // never destroyed: tensors may outlive static objects
  return *b;
}

}  // namespace reprise::device
