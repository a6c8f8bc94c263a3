#include "node_run.h"

#include <dlfcn.h>

#include <cmath>
#include <cstring>

#include "base/knobs.h"
#include "device/backend.h"
#include "guards/shape_env.h"
#include "jit/gpu/kernels/compile.h"
#include "jit/gpu/loop/compile.h"
#include "kernels/gpu/launches.h"
#include "kernels/reference/elements.h"
#include "kernels/reference/reference.h"
#include "runtime/replay/warpgroup_trial.h"
#include "tests/support/simulator.h"

namespace reprise::kernels::testing {

namespace {

constexpr char kSentinel = 0x5a;
constexpr std::int64_t kRoom = 64;

/// Bytes on the device for the time of a scope.
class OnDevice {
 public:
  OnDevice(device::Backend& backend, std::int64_t bytes)
      : backend_(backend), bytes_(std::max<std::int64_t>(bytes, 1)), p_(backend.allocate(bytes_)) {}
  ~OnDevice() { backend_.deallocate(p_, bytes_); }
  OnDevice(const OnDevice&) = delete;
  void* get() const { return p_; }

 private:
  device::Backend& backend_;
  std::int64_t bytes_;
  void* p_;
};

/// A step that must come before the kernels: what it reads are inputs, what it writes is scratch.
void run_on_host(const NativeLaunch& l, const std::vector<Strided*>& tensors, const std::vector<std::int64_t>& scratch,
                 const std::vector<void*>& cells, KernelFault& fault) {
  device::Backend& backend = device::backend(Device::cuda(0));
  std::vector<std::int64_t> ints;
  for (Int i : l.ints) ints.push_back(i.hint());
  std::vector<std::vector<char>> bytes;
  std::vector<TensorView> views;
  for (const Operand& o : l.operands) {
    if (o.buffer < tensors.size()) bytes.push_back(tensors[o.buffer]->bytes);
    else bytes.emplace_back(static_cast<std::size_t>(scratch[o.buffer - tensors.size()]));
    TensorView v;
    v.data = bytes.back().data() + o.layout.offset.hint() * item_size(o.dtype), v.dtype = o.dtype,
    v.rank = o.layout.dim();
    for (int d = 0; d < v.rank; ++d) v.sizes[d] = o.layout.sizes[d].hint(), v.strides[d] = o.layout.strides[d].hint();
    views.push_back(v);
  }
  l.fn({views.data(), l.args.data(), ints.data(), nullptr, nullptr, static_cast<std::uint32_t>(l.args.size()),
        l.first_result, l.n_results, nullptr, &fault});
  for (std::size_t i = 0; i < views.size(); ++i)
    if (l.operands[i].written)
      backend.copy_from_host(cells[l.operands[i].buffer], bytes[i].data(), static_cast<std::int64_t>(bytes[i].size()),
                             backend.current_stream());
}

void launch_all(const std::vector<Launch>& launches, const std::vector<std::int64_t>& scratch,
                std::vector<Strided*> tensors, NodeResults& out) {
  device::Backend& backend = device::backend(Device::cuda(0));
  device::Stream& stream = backend.current_stream();
  std::vector<std::unique_ptr<OnDevice>> memory;
  std::vector<void*> cells;
  for (Strided* t : tensors) {
    std::int64_t bytes = static_cast<std::int64_t>(t->bytes.size());
    memory.push_back(std::make_unique<OnDevice>(backend, bytes));
    backend.copy_from_host(memory.back()->get(), t->bytes.data(), bytes, stream);
    cells.push_back(memory.back()->get());
  }
  for (std::int64_t bytes : scratch) {
    memory.push_back(std::make_unique<OnDevice>(backend, bytes));
    cells.push_back(memory.back()->get());
  }
  std::unique_ptr<device::Graph> graph = backend.new_graph(static_cast<std::uint32_t>(cells.size()));
  std::vector<device::Graph::Node> before;
  for (const Launch& launch : launches) {
    if (const auto* native = std::get_if<NativeLaunch>(&launch.what)) {
      run_on_host(*native, tensors, scratch, cells, out.check);
      if (out.check.failed) return;
      continue;
    }
    auto add = [&](const device::ImagePtr& image, device::Dim3 grid, std::string_view name,
                   const std::vector<std::uint32_t>& buffers, std::vector<std::int64_t> params) {
      device::KernelNode node;
      node.kernel = backend.load(image);
      node.name = name;
      node.grid = grid, node.block = image->block, node.shared_bytes = image->shared_bytes;
      node.cells = buffers, node.params = std::move(params);
      before = {graph->add(std::move(node), before)};
    };
    if (const auto* loop = std::get_if<LoopLaunch>(&launch.what)) {
      std::vector<std::int64_t> params;
      for (Int i : runtime_params(loop->kernel)) params.push_back(i.hint());
      const jit::GpuKernelPtr kernel = jit::compile_gpu(loop->kernel, backend.target());
      if (const device::Dim3 grid = kernel->grid(params.data()); grid.count())
        add(kernel->image, grid, launch.name, loop->buffers, params);
      continue;
    }
    const GpuLaunch& l = std::get<GpuLaunch>(launch.what);
    std::vector<std::int64_t> ints;
    for (Int i : l.ints) ints.push_back(i.hint());
    const device::Dim3 grid{static_cast<std::uint32_t>(l.blocks.hint()), 1, 1};
    if (grid.count() == 0) continue;
    out.launched.push_back(std::string(l.code.kind()));
    add(jit::compile_gpu(l.code, runtime::code_target(Device::cuda(0))), grid, l.code.kind(), l.buffers, ints);
  }
  std::unique_ptr<device::GraphExec> exec = graph->instantiate();
  exec->launch(stream, cells.data());
  stream.synchronize();
  for (std::size_t i = 0; i < tensors.size(); ++i)
    backend.copy_to_host(tensors[i]->bytes.data(), cells[i], static_cast<std::int64_t>(tensors[i]->bytes.size()),
                         stream);
}

}  // namespace

Strided::Strided(DType t, std::vector<std::int64_t> given, std::vector<std::int64_t> steps, std::int64_t first)
    : dtype(t), sizes(std::move(given)), strides(std::move(steps)), offset(first) {
  if (strides.empty()) {
    strides.assign(sizes.size(), 1);
    for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<std::int64_t>(1, sizes[d]);
  }
  std::int64_t reach = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) reach += sizes[d] > 0 ? (sizes[d] - 1) * strides[d] : 0;
  bytes.assign(static_cast<std::size_t>((offset + reach + kRoom) * item_size(dtype)), kSentinel);
}
std::int64_t Strided::numel() const {
  std::int64_t n = 1;
  for (std::int64_t s : sizes) n *= s;
  return n;
}
TensorView Strided::view() {
  TensorView v;
  v.data = bytes.data() + offset * item_size(dtype), v.dtype = dtype, v.rank = static_cast<int>(sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d) v.sizes[d] = sizes[d], v.strides[d] = strides[d];
  return v;
}
namespace {
std::int64_t offset_of(const Strided& t, std::int64_t index) {
  std::int64_t at = 0;
  for (std::size_t d = t.sizes.size(); d-- > 0;) at += index % t.sizes[d] * t.strides[d], index /= t.sizes[d];
  return at;
}
}  // namespace
double Strided::get(std::int64_t index) { return reference::load_number(view(), offset_of(*this, index)); }
void Strided::set(std::int64_t index, double value) {
  reference::store(view(), offset_of(*this, index), reference::Value::of(value));
}
void Strided::fill(std::mt19937& rng, double low, double high) {
  std::uniform_real_distribution<double> u(low, high);
  for (std::int64_t i = 0; i < numel(); ++i) set(i, is_floating(dtype) ? u(rng) : std::floor(u(rng)));
}
Layout Strided::layout() const {
  Layout l;
  for (std::int64_t s : sizes) l.sizes.push_back(s);
  for (std::int64_t s : strides) l.strides.push_back(s);
  l.offset = offset;
  return l;
}
TensorMeta Strided::meta() const {
  TensorMeta m;
  m.dtype = dtype;
  m.layout = layout();
  m.layout.offset = 0;
  return m;
}

Strided any_strides(std::mt19937& rng, DType t, const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  auto lay = [&](bool reversed, std::int64_t step, std::int64_t gap) {
    std::int64_t next = step;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::size_t d = reversed ? i : sizes.size() - 1 - i;
      strides[d] = next;
      next *= std::max<std::int64_t>(1, sizes[d]);
      if (i == 0) next += gap;
    }
  };
  switch (rng() % 6) {
    case 0: lay(true, 1, 0); break;
    case 1: lay(false, 1, 8); break;
    case 2: lay(false, 2, 1); break;
    case 3: lay(false, 1, 0); return Strided(t, sizes, strides, 3);
    default: lay(false, 1, 0);
  }
  return Strided(t, sizes, strides);
}

bool device_here() {
  test::take_simulator();
  return device::why_unavailable(Device::cuda(0)).empty();
}

namespace {

/// The orders in which a simulator can run the threads of a block; of a real device there is one.
using SetOrder = void (*)(const char* order, std::uint64_t seed);
SetOrder simulator_order() {
  void* driver = dlopen(knobs().cuda_driver.c_str(), RTLD_NOW | RTLD_NOLOAD);
  return driver ? reinterpret_cast<SetOrder>(dlsym(driver, "reprise_simulator_set_order")) : nullptr;
}

}  // namespace

NodeResults run_node(graph::OpId op, std::vector<graph::NodeArg> args, std::vector<Strided> inputs, Known known,
                     const std::function<Strided(DType, std::vector<std::int64_t>)>& make_result, bool in_place) {
  graph::Graph g;
  g.env = std::make_shared<guards::ShapeEnv>();
  std::size_t next = 0;
  auto input = [&] {
    graph::ValueId v = g.add_input(inputs[next].meta(), "x" + std::to_string(next));
    ++next;
    return v;
  };
  for (graph::NodeArg& a : args) {
    if (std::holds_alternative<graph::ValueId>(a)) a = input();
    if (auto* list = std::get_if<std::vector<graph::ValueId>>(&a))
      for (graph::ValueId& v : *list)
        if (v) v = input();
  }
  g.add(op, args);
  const graph::Node& node = g.nodes.back();

  NodeResults out;
  std::vector<Strided> device = inputs, host = inputs;
  for (graph::ValueId r : node.results) {
    const TensorMeta& m = g.meta(r);
    std::vector<std::int64_t> sizes;
    for (Int s : m.layout.sizes) sizes.push_back(s.hint());
    device.push_back(in_place ? inputs[0] : make_result ? make_result(m.dtype, sizes) : Strided(m.dtype, sizes));
    host.push_back(device.back());
  }
  std::vector<Operand> operands;
  std::vector<std::int64_t> scratch;
  int names = 0;
  for (std::size_t i = 0; i < device.size(); ++i) {
    operands.push_back({static_cast<std::uint32_t>(i), device[i].dtype, device[i].layout(), i >= inputs.size()});
    if (known == Known::All) continue;
    auto unknown = [&](Int v) { return g.env->symbol_named("s" + std::to_string(names++), v.hint()); };
    Layout& l = operands.back().layout;
    for (std::size_t d = 0; d < l.sizes.size(); ++d) {
      bool kept = known == Known::OnesAndLast && d + 1 == l.sizes.size();
      if (l.sizes[d].hint() > 1 && !kept) l.sizes[d] = unknown(l.sizes[d]);
    }
    for (Int& v : l.strides)
      if (v.hint() > 1) v = unknown(v);
    l.offset = unknown(l.offset);
  }
  if (in_place) operands[0] = operands.back(), operands[0].written = false;
  GpuContext cx{g, node, operands, [&](DType, Int bytes) {
                  scratch.push_back(bytes.hint());
                  return static_cast<std::uint32_t>(device.size() + scratch.size() - 1);
                }};
  std::optional<std::vector<Launch>> launches = gpu_launches(cx);
  if (!launches) return out;
  out.has_kernels = true;

  std::vector<Operand> plain;
  for (std::size_t i = 0; i < host.size(); ++i)
    plain.push_back({static_cast<std::uint32_t>(i), host[i].dtype, host[i].layout(), i >= inputs.size()});
  NativeLaunch native = reference_launch(g, node, plain);
  std::vector<TensorView> views;
  for (Strided& t : host) views.push_back(t.view());
  std::vector<std::int64_t> ints;
  for (Int i : native.ints) ints.push_back(i.hint());
  std::vector<Number> numbers;
  for (const Scalar& s : native.numbers)
    numbers.push_back(s.is_float() ? Number{true, s.to_double(), 0} : Number{false, 0, s.to_int().hint()});
  native.fn({views.data(), native.args.data(), ints.data(), numbers.data(), native.strings.data(),
             static_cast<std::uint32_t>(native.args.size()), native.first_result, native.n_results, nullptr,
             &out.fault});

  std::vector<Strided> first;
  SetOrder set_order = simulator_order();
  for (const char* order : {"forward", "reverse", "random"}) {
    if (set_order) set_order(order, 1);
    std::vector<Strided> copy = device;
    std::vector<Strided*> all;
    for (Strided& t : copy) all.push_back(&t);
    out.launched.clear();
    launch_all(*launches, scratch, all, out);
    if (out.check.failed) return out;
    if (first.empty()) first = copy;
    for (std::size_t i = 0; i < copy.size(); ++i)
      EXPECT_TRUE(copy[i].bytes == first[i].bytes) << "tensor " << i << " differs when threads run " << order;
    if (!set_order) break;
  }
  if (set_order) set_order("forward", 0);
  device = first;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(device[i].bytes == inputs[i].bytes) << "input " << i << " was written";
  out.device.assign(device.begin() + static_cast<std::ptrdiff_t>(inputs.size()), device.end());
  out.host.assign(host.begin() + static_cast<std::ptrdiff_t>(inputs.size()), host.end());
  return out;
}

void expect_close(NodeResults& r, double relative, double absolute, const std::string& what) {
  ASSERT_TRUE(r.has_kernels) << what << ": no kernels";
  ASSERT_FALSE(r.fault.failed) << what << ": " << r.fault.message;
  for (std::size_t k = 0; k < r.device.size(); ++k) {
    Strided &got = r.device[k], &want = r.host[k];
    for (std::int64_t i = 0; i < got.numel(); ++i) {
      double a = got.get(i), b = want.get(i);
      bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= relative * std::abs(b) + absolute;
      ASSERT_TRUE(same) << what << ", result " << k << ", element " << i << " of " << got.numel() << ": " << a
                        << " for " << b;
    }
    // Made equal where elements are, the bytes must be equal everywhere.
    std::vector<char> bytes = got.bytes;
    Strided copy = want;
    for (std::int64_t i = 0; i < got.numel(); ++i)
      std::memcpy(copy.bytes.data() + (copy.offset + offset_of(copy, i)) * item_size(copy.dtype),
                  bytes.data() + (got.offset + offset_of(got, i)) * item_size(got.dtype),
                  static_cast<std::size_t>(item_size(got.dtype)));
    ASSERT_TRUE(copy.bytes == bytes) << what << ", result " << k << ": bytes beside it were written";
  }
}

}  // namespace reprise::kernels::testing
