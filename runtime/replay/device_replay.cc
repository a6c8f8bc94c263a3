#include "runtime/replay/device_replay.h"

#include <algorithm>

#include "base/counters.h"
#include "base/errors.h"
#include "base/timeline.h"
#include "base/watch.h"
#include "device/host_memory.h"
#include "kernels/gpu/kernels.h"
#include "kernels/reference/native_launches.h"
#include "runtime/replay/captured_step.h"
#include "runtime/replay/checked_steps.h"
#include "runtime/replay/launch_slice.h"
#include "runtime/replay/profile.h"

namespace reprise::runtime {

namespace {

/// Bytes on the host for one step.
class HostCopy {
 public:
  explicit HostCopy(std::int64_t bytes) : bytes_(bytes), p_(bytes ? device::host_allocate(bytes) : nullptr) {}
  ~HostCopy() {
    if (p_) device::host_free(p_, bytes_);
  }
  HostCopy(HostCopy&& o) noexcept : bytes_(o.bytes_), p_(std::exchange(o.p_, nullptr)) {}
  void* get() const { return p_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_;
  void* p_;
};

/// Which earlier nodes of a graph a node must wait for. Buffers conflict when one of the two steps writes; temps also
/// when the plan gave them the same bytes one after the other. Behind the program's buffers stand the workspace of
/// products, and what operators with effects have in common.
class Dependencies {
 public:
  Dependencies(const Program& p, SlotValues slots, const std::vector<std::int64_t>& bounds,
               const std::vector<std::int64_t>& temp_offset)
      : state_(p.buffer_bytes.size() + 2) {
    for (std::size_t b = 0; b < p.buffer_bytes.size(); ++b) {
      if (temp_offset[b] < 0) continue;
      state_[b].begin = temp_offset[b];
      state_[b].end = temp_offset[b] + p.room_for(static_cast<std::uint32_t>(b), slots, bounds);
    }
  }

  std::vector<device::Graph::Node> of(const std::vector<Program::Use>& uses) {
    after_.clear();
    for (const Program::Use& u : uses) {
      State& s = state_[u.buffer];
      if (s.end > s.begin && !s.started) take_place(u.buffer);
      if (s.writer >= 0) after_.push_back(static_cast<device::Graph::Node>(s.writer));
      if (u.written) after_.insert(after_.end(), s.readers.begin(), s.readers.end());
    }
    std::sort(after_.begin(), after_.end());
    after_.erase(std::unique(after_.begin(), after_.end()), after_.end());
    return after_;
  }
  void add(const std::vector<Program::Use>& uses, device::Graph::Node node) {
    for (const Program::Use& u : uses) {
      State& s = state_[u.buffer];
      if (u.written) {
        s.writer = node;
        s.readers.clear();
      } else {
        s.readers.push_back(node);
      }
    }
  }
  /// What came before is over (a step of the host waited for it).
  void forget() {
    for (State& s : state_) {
      s.writer = -1;
      s.readers.clear();
    }
  }

 private:
  struct State {
    std::int64_t begin = 0, end = 0;  // of a temp: its bytes in the pool
    bool started = false;
    std::int64_t writer = -1;                  // last node that wrote it
    std::vector<device::Graph::Node> readers;  // since then
  };
  /// A temp begins: whoever used these bytes before must be done with them.
  void take_place(std::uint32_t b) {
    State& s = state_[b];
    s.started = true;
    for (std::uint32_t o : live_temps_) {
      const State& old = state_[o];
      if (old.begin >= s.end || s.begin >= old.end) continue;
      if (old.writer >= 0) after_.push_back(static_cast<device::Graph::Node>(old.writer));
      after_.insert(after_.end(), old.readers.begin(), old.readers.end());
    }
    live_temps_.push_back(b);
  }

  std::vector<State> state_;               // by buffer
  std::vector<std::uint32_t> live_temps_;  // that have begun
  std::vector<device::Graph::Node> after_;
};

/// Is it a step of an operator that must keep the order of the program with others that have effects?
bool has_effects(const Program& p, const Program::NativeStep& s) {
  const std::vector<std::uint32_t>& nodes = p.lowered.launches[s.launch].nodes;
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](std::uint32_t n) { return graph::op(p.graph.nodes[n].op).effects.any(); });
}

}  // namespace

DeviceReplay::DeviceReplay(const Program& p, const std::vector<std::int64_t>& bounds)
    : program_(p), bounds_(bounds), device_(device::backend(p.device)) {
  for (std::size_t i = 0; i < p.graph.inputs.size(); ++i)
    if (p.input_buffer[i] >= 0 && device::runs_host_code(p.graph.meta(p.graph.inputs[i].value).device))
      host_inputs_.push_back(static_cast<std::uint32_t>(p.input_buffer[i]));
}

std::unique_ptr<DeviceReplay> DeviceReplay::make(const Program& p, SlotValues slots,
                                                 const std::vector<std::int64_t>& bounds,
                                                 const std::vector<std::int64_t>& temp_offset,
                                                 std::unique_ptr<DeviceReplay> reuse, bool sealed) {
  std::unique_ptr<DeviceReplay> made(new DeviceReplay(p, bounds));
  made->build(slots, temp_offset, reuse ? std::move(reuse->segments_) : std::vector<Segment>(), sealed);
  return made;
}

void DeviceReplay::build(SlotValues slots, const std::vector<std::int64_t>& temp_offset, std::vector<Segment> reuse,
                         bool sealed) {
  const Program& p = program_;
  Dependencies dependencies(p, slots, bounds_, temp_offset);
  const std::uint32_t workspace_cell = static_cast<std::uint32_t>(p.workspace_cell());
  std::unique_ptr<device::Graph> graph;
  std::uint32_t first = 0;
  bool checks = false, after_checks = false, checked = false;  // of the graph that is built; any before
  auto finish = [&](std::uint32_t last) {
    if (!graph) return;
    std::size_t at = segments_.size();
    std::unique_ptr<device::GraphExec> old = at < reuse.size() ? std::move(reuse[at].exec) : nullptr;
    segments_.push_back({sealed ? graph->queue(std::move(old)) : graph->instantiate(std::move(old)), first, last,
                         checks, after_checks});
    graph = nullptr;
    checks = after_checks = false;
    dependencies.forget();
  };
  auto graph_at = [&](std::uint32_t i) -> device::Graph& {
    if (!graph) {
      graph = device_.new_graph(static_cast<std::uint32_t>(p.cells()));
      first = i;
    }
    return *graph;
  };
  std::vector<std::int64_t> params;
  bool by_library = false;  // the latest product; its alternatives are not needed then
  for (std::uint32_t i = 0; i < p.steps.size(); ++i) {
    if (const auto* captured = std::get_if<Program::CapturedId>(&p.steps[i])) {
      by_library = false;
      const Program::NativeStep& s = p.captured(*captured);
      std::vector<Program::Use> uses = p.uses[i];
      // An argument must stay as it is where a check has failed.
      const bool writes_argument = std::any_of(uses.begin(), uses.end(), [&](const Program::Use& u) {
        return u.written && p.lowered.buffers[u.buffer].kind == kernels::Buffer::Kind::Input;
      });
      if (writes_argument && checked) {
        finish(i);
        after_checks = true;
      }
      if (has_effects(p, s)) uses.push_back({workspace_cell + 1, false, true, false});
      std::vector<device::Graph::Node> after = dependencies.of(uses);
      dependencies.add(uses, graph_at(i).add(captured_node(p, s, slots), after));
      continue;
    }
    const auto* gpu = std::get_if<Program::GpuId>(&p.steps[i]);
    if (!gpu) {
      finish(i);
      segments_.push_back({nullptr, i, i + 1});
      continue;
    }
    const Program::GpuStep& s = p.gpu_step(*gpu);
    const std::string& name = p.lowered.launches[s.launch].name;
    if (s.check) {
      checks = checked = true;
      if (slots[s.check->extent] <= 0 && slots[s.check->n] > 0 && !sure_fault_) sure_fault_ = *gpu;
    }
    if (s.alternative && by_library) continue;
    by_library = false;
    if (s.product) {
      device::Product product = s.product->map<std::int64_t>([&](Slot slot) { return slots[slot]; });
      if (std::optional<device::CapturedWork> work = device_.product(product, name)) {
        by_library = true;
        counters().library_products.add();
        const std::int64_t bytes = work->workspace_bytes;
        device::CapturedNode node{name, std::move(*work), s.buffers};
        std::vector<Program::Use> uses = p.uses[i];
        if (bytes > 0) {
          node.cells.push_back(workspace_cell);
          uses.push_back({workspace_cell, false, true, false});  // so that one product has it at a time
          workspace_bytes_ = std::max(workspace_bytes_, bytes);
        }
        std::vector<device::Graph::Node> after = dependencies.of(uses);
        dependencies.add(uses, graph_at(i).add(std::move(node), after));
        continue;
      }
    }
    params.clear();
    for (Slot slot : s.plain) params.push_back(slots[slot]);
    device::KernelNode node;
    // more than there are numbers for, no memory holds
    node.grid = {
        static_cast<std::uint32_t>(s.bound < 0 ? p.blocks_of(s, slots) : bounds_[static_cast<std::size_t>(s.bound)]), 1,
        1};
    // What has nothing to do for these sizes is left out. A graph that is reused for sizes at which other kernels work
    // has another shape then, and is made anew: that is rare, and nodes that are there and disabled cost memory in
    // every graph and time at every run.
    if (node.grid.count() == 0) continue;
    node.kernel = s.kernel->get(device_, s.image);
    node.name = name;
    node.block = s.image->block;
    node.shared_bytes = s.image->shared_bytes;
    node.cells = s.buffers;
    node.cells.insert(node.cells.end(), s.words.begin(), s.words.end());
    node.params = params;
    std::vector<device::Graph::Node> after = dependencies.of(p.uses[i]);
    dependencies.add(p.uses[i], graph_at(i).add(std::move(node), after));
  }
  finish(static_cast<std::uint32_t>(p.steps.size()));
}

void DeviceReplay::read_faults(void* const* base, SlotValues slots, device::Stream& stream) const {
  std::int64_t record[kernels::kFaultRecord];
  device_.copy_to_host(record, base[*program_.lowered.fault_record], sizeof record, stream);
  if (record[0] != 0) CheckedSteps(program_, slots).throw_noted(record);
}

void DeviceReplay::note_faults(void* const* base, SlotValues slots, device::Stream& stream) {
  static_assert(device::kLateWords == kernels::kFaultRecord);
  if (!teller_) teller_ = std::make_shared<const CheckedSteps>(program_, slots);
  if (!device::note_late(device_, stream, base[*program_.lowered.fault_record], teller_))
    read_faults(base, slots, stream);
}

void DeviceReplay::upload() {
  for (Segment& s : segments_)
    if (s.exec) s.exec->upload(device_.current_stream());
}

std::int64_t DeviceReplay::graph_bytes() const {
  std::int64_t n = 0;
  for (const Segment& s : segments_)
    if (s.exec) n += s.exec->bytes();
  return n;
}

// Everything that may fail on the way to the device comes before the first graph starts. A product that the library
// refuses when it is told to do it is left to kernels from then on.
void DeviceReplay::prepare(void* const* cells, SlotValues slots, const std::vector<std::int64_t>& temp_offset,
                           bool sealed) {
  for (;;) {
    try {
      if (std::all_of(segments_.begin(), segments_.end(),
                      [&](Segment& s) { return !s.exec || s.exec->prepare(cells, !sealed); }))
        return;
    } catch (const device::ProductDeclined&) {
    }
    segments_.clear();
    sure_fault_.reset();
    workspace_bytes_ = 0;
    build(slots, temp_offset, {}, sealed);
  }
}

void DeviceReplay::run(void* const* base, TensorImpl* const* inputs, HostSteps& host, const std::int64_t* params,
                       SlotValues slots, const std::vector<std::int64_t>& temp_offset, bool sealed, bool late) {
  device::Stream& stream = device_.current_stream();
  device::throw_late(stream);
  // 0-dim tensors of the host go along as a few bytes, in memory that is ordered with the stream.
  struct Scalars {
    device::Backend& device;
    std::vector<std::pair<void*, std::int64_t>> lent;
    ~Scalars() {
      for (auto [p, bytes] : lent) device.deallocate(p, bytes);
    }
  } scalars{device_, {}};
  std::vector<void*> moved;
  void* const* cells = base;
  if (!host_inputs_.empty()) {
    moved.assign(base, base + program_.cells());
    for (std::uint32_t b : host_inputs_) {
      std::int64_t bytes = item_size(program_.lowered.buffers[b].dtype);
      void* at = device_.allocate(bytes);
      scalars.lent.emplace_back(at, bytes);
      device_.copy_from_host(at, base[b], bytes, stream);
      moved[b] = at;
    }
    cells = moved.data();
  }
  prepare(cells, slots, temp_offset, sealed);
  if (sure_fault_) {
    const Program::GpuStep& step = program_.gpu_step(*sure_fault_);
    throw_fault(program_, step.launch,
                {true, ErrorCode::IndexOutOfRange,
                 "there are indices into dimension " +
                     std::to_string(program_.lowered.launches[step.launch].check->dim) + ", which is of size 0"});
  }
  bool unread = false;  // what checks have noted
  for (Segment& s : segments_) {
    // the host's step is not guarded, nor is captured work
    if ((!s.exec || s.after_checks) && unread) read_faults(cells, slots, stream), unread = false;
    const bool profiled = watchers::launches() && program_.profile->on();
    if (profiled) stream.synchronize();
    const timeline::Time begin = watchers::launches() ? timeline::now() : 0;
    if (s.exec) s.exec->launch(stream, cells);
    else run_on_host(program_.steps[s.first], program_.uses[s.first], cells, inputs, host, params, slots, stream);
    if (begin) tell_segment(s, begin, profiled, slots, stream);
    unread = unread || s.checks;
  }
  if (unread && late) note_faults(cells, slots, stream);
  else if (unread) read_faults(cells, slots, stream);
}

[[gnu::cold]] void DeviceReplay::tell_segment(const Segment& s, timeline::Time begin, bool profiled, SlotValues slots,
                                              device::Stream& stream) const {
  auto launch_of = [&](std::uint32_t step) {
    struct Of {
      const Program& p;
      std::uint32_t operator()(const Program::LoopStep& l) const { return l.launch; }
      std::uint32_t operator()(Program::NativeId i) const { return p.native(i).launch; }
      std::uint32_t operator()(Program::CapturedId i) const { return p.captured(i).launch; }
      std::uint32_t operator()(Program::GpuId i) const { return p.gpu_step(i).launch; }
    };
    return std::visit(Of{program_}, program_.steps[step]);
  };
  const timeline::Time queued = timeline::now();
  const std::uint32_t first = launch_of(s.first);
  if (timeline::on() && s.exec)
    timeline::slice("launch", "start a graph of " + std::to_string(s.last - s.first) + " launches", begin, queued);
  else if (timeline::on())
    add_launch_slice(program_.lowered.launches[first], begin, queued, program_.work_of(first, slots).bytes);
  if (!profiled) return;
  stream.synchronize();
  const timeline::Time end = timeline::now();
  kernels::Work all;
  for (std::uint32_t i = s.first; i < s.last; ++i) {
    const kernels::Work w = program_.work_of(launch_of(i), slots);
    all.bytes += w.bytes, all.flops += w.flops;
  }
  program_.profile->add(first, end - begin, all, s.exec ? s.last - s.first : 0);
}

namespace {
/// The bytes of a buffer that a step may touch: of a native one those between the ends of its views (a part of a cache
/// is written).
std::pair<std::int64_t, std::int64_t> touched(const Program& p, const Program::Step& step, std::uint32_t buffer,
                                              SlotValues slots, std::int64_t bytes) {
  const auto* native = std::get_if<Program::NativeId>(&step);
  if (!native) return {0, bytes};
  const Program::NativeStep& s = p.native(*native);
  std::int64_t from = bytes, to = 0;
  for (std::size_t k = 0; k < s.views.size(); ++k) {
    if (s.views[k].buffer != buffer) continue;
    const Program::ViewPlace& at = p.view_places[s.first_view + k];
    std::int64_t last = 0;
    bool empty = false;
    for (std::size_t d = 0; d < s.views[k].layout.sizes.size(); ++d) {
      const std::int64_t size = slots[s.views[k].layout.sizes[d]];
      empty = empty || size == 0;
      last += (size - 1) * slots[s.views[k].layout.strides[d]];
    }
    if (empty) continue;
    from = std::min(from, slots[at.offset] * at.item);
    to = std::max(to, (slots[at.offset] + last + 1) * at.item);
  }
  return {std::max<std::int64_t>(from, 0), std::min(to, bytes)};
}
}  // namespace

// Buffers that lie in one memory are one copy: written arguments that are views of one tensor may take turns in it,
// element by element.
void DeviceReplay::run_on_host(const Program::Step& step, const std::vector<Program::Use>& uses, void* const* base,
                               TensorImpl* const* inputs, HostSteps& host, const std::int64_t* params, SlotValues slots,
                               device::Stream& stream) {
  const Program& p = program_;
  struct Region {
    char *begin, *end;
    bool read, written;
    std::vector<std::uint32_t> buffers;
  };
  std::vector<Region> regions;
  for (const Program::Use& u : uses) {
    const kernels::Buffer& b = p.lowered.buffers[u.buffer];
    const std::int64_t bytes =
        b.kind == kernels::Buffer::Kind::Input ? byte_extent(*inputs[b.index]) : slots[p.buffer_bytes[u.buffer]];
    char* begin = static_cast<char*>(base[u.buffer]);
    const auto [from, to] = touched(p, step, u.buffer, slots, bytes);
    if (from < to) regions.push_back({begin + from, begin + to, u.read || !u.first, u.written, {u.buffer}});
  }
  std::sort(regions.begin(), regions.end(), [](const Region& x, const Region& y) { return x.begin < y.begin; });
  std::size_t n = 0;
  for (Region& r : regions) {
    if (n > 0 && r.begin < regions[n - 1].end) {
      Region& all = regions[n - 1];
      all.end = std::max(all.end, r.end);
      all.read = true;
      all.written = all.written || r.written;
      all.buffers.push_back(r.buffers[0]);
    } else {
      if (&regions[n] != &r) regions[n] = std::move(r);
      ++n;
    }
  }
  regions.resize(n);

  std::vector<void*> copies(p.buffer_bytes.size(), nullptr);
  std::vector<HostCopy> taken;
  for (const Region& r : regions) {
    HostCopy& copy = taken.emplace_back(r.end - r.begin);
    for (std::uint32_t b : r.buffers)
      copies[b] = static_cast<char*>(copy.get()) + (static_cast<char*>(base[b]) - r.begin);
    if (r.read) device_.copy_to_host(copy.get(), r.begin, copy.bytes(), stream);
  }
  host.run(step, copies.data(), params, slots);
  for (std::size_t i = 0; i < regions.size(); ++i)
    if (regions[i].written) device_.copy_from_host(regions[i].begin, taken[i].get(), taken[i].bytes(), stream);
}

}  // namespace reprise::runtime
