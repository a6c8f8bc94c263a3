#include "runtime/replay/captured_step.h"

#include <bit>
#include <memory>

#include "runtime/replay/host_steps.h"

namespace reprise::runtime {

namespace {

/// A step's arguments for given sizes, without addresses.
struct Call {
  Call(const Program& p, const Program::NativeStep& s, SlotValues slots)
      : program(p), step(s), views(s.views.size()), ints(s.ints.size()), numbers(s.numbers.size()) {
    resolve_native(p, s, slots, views.data(), ints.data(), numbers.data());
    for (std::size_t k = 0; k < views.size(); ++k) {
      const Program::ViewPlace& at = p.view_places[s.first_view + k];
      offsets.push_back(slots[at.offset] * at.item);
    }
  }

  void queue(void* stream, void* const* addresses) const {
    std::vector<kernels::TensorView> at = views;
    for (std::size_t k = 0; k < at.size(); ++k) at[k].data = static_cast<char*>(addresses[k]) + offsets[k];
    kernels::KernelFault fault;
    kernels::NativeArgs args = step.call;
    args.tensors = at.data(), args.ints = ints.data(), args.numbers = numbers.data(), args.fault = &fault,
    args.stream = stream;
    step.fn(args);
    if (fault.failed) throw_fault(program, step.launch, fault);
  }

  /// All that is not an address.
  std::vector<std::int64_t> key() const {
    std::vector<std::int64_t> k{reinterpret_cast<std::intptr_t>(step.fn), static_cast<std::int64_t>(step.call.n_args)};
    for (std::uint32_t i = 0; i < step.call.n_args; ++i) {
      const kernels::NativeArg& a = step.call.args[i];
      k.insert(k.end(), {static_cast<std::int64_t>(a.kind), a.first, a.count});
      if (a.kind == kernels::NativeArg::Kind::Str)
        k.insert(k.end(), step.call.strings[a.first].begin(), step.call.strings[a.first].end());
    }
    for (std::size_t t = 0; t < views.size(); ++t) {
      const kernels::TensorView& v = views[t];
      k.insert(k.end(), {static_cast<std::int64_t>(v.dtype), offsets[t], v.rank});
      k.insert(k.end(), v.sizes, v.sizes + v.rank);
      k.insert(k.end(), v.strides, v.strides + v.rank);
    }
    k.insert(k.end(), ints.begin(), ints.end());
    for (const kernels::Number& n : numbers)
      k.insert(k.end(), {n.is_float, n.is_float ? std::bit_cast<std::int64_t>(n.f) : n.i});
    return k;
  }

  const Program& program;
  const Program::NativeStep& step;
  std::vector<kernels::TensorView> views;
  std::vector<std::int64_t> ints, offsets;
  std::vector<kernels::Number> numbers;
};

}  // namespace

device::CapturedNode captured_node(const Program& p, const Program::NativeStep& s, SlotValues slots) {
  auto call = std::make_shared<const Call>(p, s, slots);
  device::CapturedNode node;
  node.name = p.lowered.launches[s.launch].name;
  node.work.key = call->key();
  node.work.enqueue = [call](void* stream, void* const* addresses) { call->queue(stream, addresses); };
  for (const Program::NativeStep::View& v : s.views) node.cells.push_back(v.buffer);
  return node;
}

}  // namespace reprise::runtime
