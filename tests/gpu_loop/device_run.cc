#include "tests/gpu_loop/device_run.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>

#include "base/knobs.h"
#include "jit/gpu/loop/compile.h"
#include "kernels/loop/analysis.h"
#include "reprise/dtype.h"
#include "tests/support/simulator.h"

namespace reprise::test {

using kernels::BodyNode;
using kernels::LoopKernel;

std::string why_no_device() {
  take_simulator();
  return device::why_unavailable(Device::cuda(0));
}

void set_thread_order(const char* order, std::uint64_t seed) {
  void* library = knobs().cuda_driver.empty() ? nullptr : dlopen(knobs().cuda_driver.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!library) return;
  using Set = void (*)(const char*, std::uint64_t);
  if (auto set = reinterpret_cast<Set>(dlsym(library, "reprise_simulator_set_order"))) set(order, seed);
}

namespace {

template <class T>
T read(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

double as_double(DType t, const char* p) {
  switch (t) {
    case DType::Float32: return read<float>(p);
    case DType::Float64: return read<double>(p);
    case DType::Float16: return static_cast<float>(read<Half>(p));
    case DType::BFloat16: return static_cast<float>(read<BFloat16>(p));
    case DType::Int8: return read<std::int8_t>(p);
    case DType::Int32: return read<std::int32_t>(p);
    case DType::Int64: return static_cast<double>(read<std::int64_t>(p));
    default: return read<std::uint8_t>(p);
  }
}

template <class T>
void put(char* p, T v) {
  std::memcpy(p, &v, sizeof v);
}

void fill(DType t, char* p, std::mt19937& rng, Values values) {
  auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng); };
  if (is_floating(t)) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    static const double special[] = {0.0,  -0.0,  1,   -1,   0.5,   inf, -inf, std::nan(""),
                                     3e38, 1e-41, 1e9, -1e9, 127.5, 4e9, -3};
    double v = values == Values::Integers ? pick(-6, 6) : std::normal_distribution<double>(0, 2)(rng);
    if (values == Values::Specials && pick(0, 3) == 0) v = special[pick(0, 14)];
    if (t == DType::Float64) return put(p, v);
    if (t == DType::Float32) return put(p, static_cast<float>(v));
    if (t == DType::Float16) return put(p, Half(static_cast<float>(v)));
    return put(p, BFloat16(static_cast<float>(v)));
  }
  if (t == DType::Bool) return put(p, static_cast<std::uint8_t>(pick(0, 1)));
  const std::uint64_t bits = (static_cast<std::uint64_t>(rng()) << 32) | rng();
  const std::int64_t small = pick(-9, 9);
  const std::uint64_t v = values == Values::Specials && pick(0, 2) == 0
                              ? (pick(0, 3) ? bits : std::uint64_t{1} << 63 >> pick(0, 63))
                              : static_cast<std::uint64_t>(small);
  std::memcpy(p, &v, static_cast<std::size_t>(item_size(t)));
}

}  // namespace

Arrays make_arrays(const LoopKernel& k, std::mt19937& rng, Values values) {
  std::vector<std::int64_t> elements(k.buffers.size(), 1);
  std::map<std::uint32_t, std::int64_t> indices;  // buffers whose values are gathered with: what they are below
  for (const kernels::Access& a : k.accesses) {
    std::int64_t last = a.offset.hint();
    for (std::size_t d = 0; d < a.strides.size(); ++d)
      last += std::max<std::int64_t>(k.extents[d].hint() - 1, 0) * a.strides[d].hint();
    for (const auto& g : a.gathers) {
      last += (g.extent.hint() - 1) * g.stride.hint();
      const BodyNode* n = &k.body[g.node];
      while (n->kind == BodyNode::Kind::Cast) n = &k.body[n->a];
      if (n->kind != BodyNode::Kind::Load) continue;
      std::int64_t& most = indices.try_emplace(k.accesses[n->access].buffer, g.extent.hint()).first->second;
      most = std::min(most, g.extent.hint());
    }
    elements[a.buffer] = std::max(elements[a.buffer], last + 1);
  }
  Arrays out;
  for (std::size_t i = 0; i < k.buffers.size(); ++i) {
    const DType t = k.buffers[i].dtype;
    const auto size = static_cast<std::size_t>(item_size(t));
    std::vector<char> bytes(static_cast<std::size_t>(elements[i]) * size);
    const auto index = indices.find(static_cast<std::uint32_t>(i));
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      if (index == indices.end()) {
        fill(t, &bytes[at], rng, values);
      } else {
        const std::int64_t least = t == DType::UInt8 ? 0 : -index->second;
        const std::int64_t v = std::uniform_int_distribution<std::int64_t>(least, index->second - 1)(rng);
        std::memcpy(&bytes[at], &v, size);
      }
    }
    out.push_back(std::move(bytes));
  }
  return out;
}

Numbers numbers_of(const LoopKernel& k) {
  Numbers out;
  for (Int i : kernels::runtime_params(k)) out.push_back(i.hint());
  return out;
}

Arrays interpreted(const LoopKernel& k, Arrays arrays, const Numbers& params) {
  std::vector<void*> buffers;
  for (auto& a : arrays) buffers.push_back(a.data());
  kernels::interpret(k, buffers.data(), params.data());
  return arrays;
}

Arrays run_on_device(const LoopKernel& k, const Arrays& arrays, int shift, const Numbers& params) {
  device::Backend& d = device::backend(Device::cuda(0));
  device::Stream& stream = d.current_stream();
  const jit::GpuKernelPtr made = jit::compile_gpu(k, d.target());
  std::vector<void*> memory, cells;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::int64_t before = shift * item_size(k.buffers[i].dtype);
    const auto bytes = static_cast<std::int64_t>(arrays[i].size());
    sizes.push_back(bytes + before);
    memory.push_back(d.allocate(sizes.back()));
    cells.push_back(static_cast<char*>(memory.back()) + before);
    d.copy_from_host(cells.back(), arrays[i].data(), bytes, stream);
  }
  const auto words = static_cast<std::size_t>(kernels::param_slots(k).floats);
  for (std::size_t i = params.size() - words; i < params.size(); ++i)
    cells.push_back(reinterpret_cast<void*>(params[i]));
  device::KernelNode node;
  node.kernel = d.load(made->image);
  node.name = k.name.empty() ? "kernel" : k.name;
  node.grid = made->grid(params.data());
  node.block = made->image->block;
  node.shared_bytes = made->image->shared_bytes;
  for (std::uint32_t i = 0; i < cells.size(); ++i) node.cells.push_back(i);
  node.params.assign(params.begin(), params.end() - static_cast<std::ptrdiff_t>(words));
  auto graph = d.new_graph(static_cast<std::uint32_t>(cells.size()));
  graph->add(std::move(node), {});
  auto exec = graph->instantiate();
  exec->launch(stream, cells.data());
  stream.synchronize();
  Arrays out;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    out.emplace_back(arrays[i].size());
    d.copy_to_host(out.back().data(), cells[i], static_cast<std::int64_t>(out.back().size()), stream);
    d.deallocate(memory[i], sizes[i]);
  }
  return out;
}

std::string difference(const LoopKernel& k, const Arrays& expected, const Arrays& got, double tolerance, double scale) {
  // Which of two zeros is the extreme of some numbers depends on how they are shared out.
  const bool either_zero = std::any_of(k.body.begin(), k.body.end(), [](const BodyNode& n) {
    return n.kind == BodyNode::Kind::Reduce &&
           (n.reduce == kernels::ReduceOp::Max || n.reduce == kernels::ReduceOp::Min);
  });
  for (std::size_t i = 0; i < k.buffers.size(); ++i) {
    const DType t = k.buffers[i].dtype;
    const auto size = static_cast<std::size_t>(item_size(t));
    for (std::size_t at = 0; at < expected[i].size(); at += size) {
      if (std::memcmp(&expected[i][at], &got[i][at], size) == 0) continue;
      const double x = as_double(t, &expected[i][at]), y = as_double(t, &got[i][at]);
      if (is_floating(t)) {
        if (std::isnan(x) && std::isnan(y)) continue;
        if (either_zero && x == 0 && y == 0) continue;
        // A half type's rounding may fall to the other side.
        const double unit = t == DType::BFloat16 ? 0x1p-7 : t == DType::Float16 ? 0x1p-10 : 0;
        const double near = std::max(std::fabs(x), std::fabs(y));
        if (tolerance > 0 && std::fabs(x - y) <= std::max(near, scale) * (tolerance + unit)) continue;
      }
      std::ostringstream words;
      words.precision(17);
      words << "buffer " << i << " element " << at / size << ": expected " << x << ", got " << y;
      return words.str();
    }
  }
  return "";
}

}  // namespace reprise::test
