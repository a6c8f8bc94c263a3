#include "runtime/replay/epilogue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "base/counters.h"
#include "base/errors.h"
#include "runtime/trace/tracer.h"
#include "tensor/frozen.h"

namespace reprise::runtime {

using graph::OutputSpec;

namespace {

template <class T>
void copy_row(char* dst, std::int64_t ds, const char* src, std::int64_t ss, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(dst + i * ds * static_cast<std::int64_t>(sizeof(T)),
                src + i * ss * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
}

void copy_inner(char* dst, std::int64_t ds, const char* src, std::int64_t ss, std::int64_t n, int item) {
  if (ds == 1 && ss == 1) {
    std::memmove(dst, src, static_cast<std::size_t>(n * item));
    return;
  }
  switch (item) {
    case 1: copy_row<std::uint8_t>(dst, ds, src, ss, n); break;
    case 2: copy_row<std::uint16_t>(dst, ds, src, ss, n); break;
    case 4: copy_row<std::uint32_t>(dst, ds, src, ss, n); break;
    default: copy_row<std::uint64_t>(dst, ds, src, ss, n);
  }
}

// A layout at run time.
struct Concrete {
  std::int64_t sizes[kMaxRank], strides[kMaxRank], offset;
  int rank;
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n = times(n, sizes[d]);
    return n;
  }
  /// Of what is made, which stands row by row: also those of dimensions of size 0 and 1, with which a value may be
  /// traced otherwise.
  void make_strides() {
    for (std::int64_t d = rank, step = 1; d-- > 0; step = times(step, std::max<std::int64_t>(sizes[d], 1)))
      strides[d] = step;
  }
  Concrete(const SlotLayout& l, SlotValues slots) : offset(slots[l.offset]), rank(static_cast<int>(l.sizes.size())) {
    for (int d = 0; d < rank; ++d)
      sizes[d] = slots[l.sizes[static_cast<std::size_t>(d)]],
      strides[d] = slots[l.strides[static_cast<std::size_t>(d)]];
  }
};

}  // namespace

std::int64_t strided_copy(char* dst, const std::int64_t* ds, const char* src, const std::int64_t* ss,
                          const std::int64_t* sizes, int rank, int item) {
  std::int64_t n = 1;
  for (int d = 0; d < rank; ++d) n = times(n, sizes[d]);
  if (n == 0) return 0;
  // Trailing dims that are row-major on both sides are one.
  int last = rank;
  std::int64_t inner = 1, di = 1, si = 1;
  while (last > 0 && ds[last - 1] == inner && ss[last - 1] == inner) inner *= sizes[--last];
  if (last > 0 && inner == 1) {
    --last;
    inner = sizes[last];
    di = ds[last];
    si = ss[last];
  }
  std::int64_t index[kMaxRank] = {};
  for (;;) {
    copy_inner(dst, di, src, si, inner, item);
    int d = last - 1;
    for (; d >= 0; --d) {
      dst += ds[d] * item;
      src += ss[d] * item;
      if (++index[d] < sizes[d]) break;
      dst -= ds[d] * sizes[d] * item;
      src -= ss[d] * sizes[d] * item;
      index[d] = 0;
    }
    if (d < 0) return n * item;
  }
}

void build_results(const Program& p, SlotValues slots, TensorImpl* const* inputs, Storage** results,
                   const std::vector<std::int32_t>& tensor_results, detail::Outputs& outputs) {
  outputs.tensors.reserve(tensor_results.size());
  std::int32_t next = 0;  // outputs stand in order: one before it has a leaf already
  for (auto leaf = tensor_results.begin(); leaf != tensor_results.end(); ++leaf) {
    if (*leaf < next) {
      TensorImpl* same = *leaf == -1  ? nullptr
                         : *leaf < -1 ? inputs[detail::input_itself(static_cast<std::size_t>(*leaf))]
                                      : outputs.tensors[static_cast<std::size_t>(
                                            std::find(tensor_results.begin(), leaf, *leaf) - tensor_results.begin())];
      if (same) detail::retain(same);
      outputs.tensors.push_back(same);
      continue;
    }
    next = *leaf + 1;
    std::size_t i = static_cast<std::size_t>(*leaf);
    const OutputSpec& spec = p.graph.outputs[i];
    Concrete l(p.outputs[i].layout, slots);
    Storage* storage;
    Device device = Device::cpu();
    DType dtype;
    if (spec.kind == OutputSpec::Kind::AliasOfInput) {
      TensorImpl& input = *inputs[spec.source];
      storage = input.storage;
      retain(storage);
      l.offset += input.offset;
      device = input.device;
      dtype = input.dtype;
    } else {
      std::size_t from = spec.kind == OutputSpec::Kind::AliasOfOutput ? spec.source : i;
      Storage*& made = results[p.lowered.buffers[static_cast<std::size_t>(p.lowered.outputs[from].buffer)].index];
      storage = made;
      if (p.gives_away) made = nullptr;
      else retain(storage);
      const TensorMeta& meta = p.graph.meta(p.graph.outputs[from].value);
      device = meta.device;
      dtype = meta.dtype;
      if (from == i) l.make_strides();
    }
    outputs.tensors.push_back(new_impl(dtype, device, l.sizes, l.strides, l.rank, l.offset, storage));
    outputs.tensors[outputs.tensors.size() - 1]->is_view = !spec.recipe.empty();
  }
  for (Slot s : p.int_results) outputs.ints.push_back(slots[s]);
}

namespace {

// `made` holds a storage's elements and those that it has grown by: the storage gets its bytes, and stands where it
// stood.
void grow_into(Storage& own, Storage*& made, const detail::Outputs& outputs) {
  if (made == &own) return;  // another tensor on it was first
  swap_bytes(own, *made);
  count_write(own);
  for (TensorImpl* t : outputs.tensors)
    if (t && t->storage == made) {
      retain(&own);
      release(std::exchange(t->storage, &own));
    }
  retain(&own);
  release(std::exchange(made, &own));
}

}  // namespace

void apply_epilogue(const Program& p, SlotValues slots, void* const* base, TensorImpl* const* inputs, Storage** results,
                    const detail::Outputs& outputs, std::vector<MovedStorage>& moved) noexcept {
  // New contents of arguments.
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    const OutputSpec& spec = p.graph.outputs[i];
    if (spec.kind != OutputSpec::Kind::NewValueOfInput) continue;
    TensorImpl& input = *inputs[spec.source];
    count_write(*input.storage);
    const kernels::Lowered::Out& out = p.lowered.outputs[i];
    if (out.in_place) continue;
    Concrete from(p.outputs[i].layout, slots), to(p.outputs[i].target, slots);
    int item = item_size(input.dtype);
    std::int64_t n = p.copies_inside ? to.numel() * item
                                     : strided_copy(input.data() + to.offset * item, to.strides,
                                                    static_cast<char*>(base[out.buffer]) + from.offset * item,
                                                    from.strides, to.sizes, to.rank, item);
    counters().epilogue_copied_bytes.add(static_cast<std::uint64_t>(n));
  }

  // Results that are views of an argument count from where it was: they are built already. So does an argument that now
  // is a view of another one's storage.
  moved.clear();
  auto storage_made = [&](const OutputSpec& spec) -> Storage*& {
    return results[p.lowered.buffers[static_cast<std::size_t>(p.lowered.outputs[spec.source].buffer)].index];
  };
  auto shown_by = [&](const graph::MetadataMutation& m) -> const OutputSpec& {
    return p.graph.outputs[static_cast<std::size_t>(m.from_output)];
  };
  // What grows is in its place before others on the same memory (set_) get theirs.
  for (const graph::MetadataMutation& m : p.graph.metadata_mutations)
    if (m.from_output >= 0 && m.grows) grow_into(*inputs[m.input]->storage, storage_made(shown_by(m)), outputs);
  for (const graph::MetadataMutation& m : p.graph.metadata_mutations) {
    if (m.from_output < 0) continue;
    const OutputSpec& spec = shown_by(m);
    if (spec.kind == OutputSpec::Kind::AliasOfInput)
      moved.push_back({inputs[spec.source]->storage, inputs[spec.source]->offset});
    else moved.push_back({storage_made(spec), 0});
    retain(moved.back().storage);
  }
  std::size_t next_moved = 0;
  for (std::size_t i = 0; i < p.metadata.size(); ++i) {
    TensorImpl& input = *inputs[p.graph.metadata_mutations[i].input];
    Concrete l(p.metadata[i], slots);
    frozen_may_change(*input.storage);
    if (p.graph.metadata_mutations[i].from_output >= 0) {
      release(std::exchange(input.storage, moved[next_moved].storage));
      input.offset = moved[next_moved++].offset;
    }
    input.rank = static_cast<std::uint8_t>(l.rank);
    for (int d = 0; d < l.rank; ++d) input.sizes[d] = l.sizes[d], input.strides[d] = l.strides[d];
    input.offset += l.offset;
    input.structure_word.store(0, std::memory_order_relaxed);
  }
}

}  // namespace reprise::runtime
