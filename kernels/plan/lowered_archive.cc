#include "kernels/plan/lowered_archive.h"

#include <optional>
#include <tuple>

#include "base/loaded_image.h"
#include "kernels/cpu/all_micro_kernels.h"

namespace reprise {
REPRISE_ARCHIVED(NativeArg, kind, first, count)
}

namespace reprise::kernels {

REPRISE_ARCHIVED(Access::Gather, node, stride, extent)
REPRISE_ARCHIVED(Access, buffer, strides, offset, gathers)
REPRISE_ARCHIVED(BodyNode, kind, dtype, op, reduce, within, a, b, c, access, fimm, iimm, param, bits)
REPRISE_ARCHIVED(BufferArg, dtype, written)
REPRISE_ARCHIVED(LoopKernel, name, extents, n_kept, n_parts, in_line, buffers, accesses, body, narrow)
REPRISE_ARCHIVED(Buffer, kind, index, dtype, bytes)
REPRISE_ARCHIVED(Operand, buffer, dtype, layout, written, kept)
REPRISE_ARCHIVED(LoopLaunch, kernel, buffers)
REPRISE_ARCHIVED(NativeLaunch, fn, operands, args, ints, numbers, strings, first_result, n_results, has_workspace,
                 captured, micro)
REPRISE_ARCHIVED(ValueCheck, of, dim, extent, sizes)
REPRISE_ARCHIVED(Copy, of, why, bytes)
REPRISE_ARCHIVED(Condition, buffer, offset, wanted)
REPRISE_ARCHIVED(Repeat::Window, buffer, of, offset, stride)
REPRISE_ARCHIVED(Repeat::Swap, read, made)
REPRISE_ARCHIVED(Repeat, count, windows, swaps, decided, loc)
REPRISE_ARCHIVED(Launch::Seen, window, of)
REPRISE_ARCHIVED(Launch, what, name, loc, may_fail, nodes, op, check, guard, copies, when, scope, calls, repeats, seen)
REPRISE_ARCHIVED(Lowered::Out, buffer, layout, in_place, target, why, copied)
REPRISE_ARCHIVED(Lowered, buffers, launches, outputs, undo, fault_record, repeats)

void LoweredWriter::own(const Lowered& l) {
  std::apply([&](const auto&... part) { (write(*this, part), ...); }, archived(l));
}
void LoweredReader::own(Lowered& l) {
  std::apply([&](auto&... part) { (read(*this, part), ...); }, archived(l));
}

void LoweredWriter::own(NativeFn fn) {
  const auto place = place_in_image(reinterpret_cast<const void*>(fn));
  if (!place) throw NotArchived("a kernel is another library's function");
  number(*place);
}

void LoweredReader::own(NativeFn& fn) {
  const void* at = function_at(number());
  if (!at) throw DamagedArchive();
  fn = reinterpret_cast<NativeFn>(const_cast<void*>(at));
}

void LoweredWriter::own(const KernelCode& code) {
  const auto [it, is_new] = codes_.try_emplace(code.text(), codes_.size());
  number(it->second);
  if (!is_new) return;
  text(code.kind());
  const bool known = MicroKernels::any([&](auto kind) {
    const auto* k = code.as<typename decltype(kind)::type>();
    if (k) for_each_field(*k, [&](std::string_view, const auto& x) { write(*this, x); });
    return k != nullptr;
  });
  if (!known) throw NotArchived("a kernel of the kind " + std::string(code.kind()));
}

KernelCode LoweredReader::make(std::type_identity<KernelCode>) {
  const std::uint64_t at = number();
  if (at < codes_.size()) return codes_[static_cast<std::size_t>(at)];
  if (at > codes_.size()) throw DamagedArchive();
  const std::string_view kind = text();
  std::optional<KernelCode> made;
  MicroKernels::any([&](auto of) {
    using K = typename decltype(of)::type;
    if (kind != K::kKind) return false;
    K k{};
    for_each_field(k, [&](std::string_view, auto& x) { read(*this, x); });
    made.emplace(k);
    return true;
  });
  if (!made) throw DamagedArchive();
  return codes_.emplace_back(*std::move(made));
}

void LoweredWriter::own(const GpuLaunch&) { throw NotArchived("a device's kernel"); }
GpuLaunch LoweredReader::make(std::type_identity<GpuLaunch>) { throw DamagedArchive(); }

}  // namespace reprise::kernels
