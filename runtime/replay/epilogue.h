#pragma once
#include <cstdint>
#include <vector>

#include "reprise/compile.h"
#include "runtime/replay/program.h"
#include "tensor/impl.h"

namespace reprise::runtime {

/// The results, over storages that the launches will fill (a result that is a view of an argument shares its storage;
/// one that is an argument or the same as another is that very tensor: `tensor_results` as in Traced), and the numbers.
/// Before anything runs: it may fail, and then nothing has been written. `results`: by graph output, the fresh
/// storages; where the program gives them away (Program::gives_away), those that become results' are taken out.
void build_results(const Program&, SlotValues slots, TensorImpl* const* inputs, Storage** results,
                   const std::vector<std::int32_t>& tensor_results, detail::Outputs&);

/// A storage that an argument has after the call, and where its elements were counted from.
struct MovedStorage {
  Storage* storage;
  std::int64_t offset;
};

/// What may not be inside a functional graph, after the replay: copies into written arguments (only the part that
/// changed, and only where the write was not done in place), sizes and strides of arguments whose metadata were
/// changed, storages of those that have another one now. A storage that grows gets the bytes of what was made for it,
/// and takes its place among the `results` and under the `outputs`. Nothing fails here: arguments are written already.
/// `moved` has room for an entry a metadata mutation.
void apply_epilogue(const Program&, SlotValues slots, void* const* buffer_base, TensorImpl* const* inputs,
                    Storage** results, const detail::Outputs& outputs, std::vector<MovedStorage>& moved) noexcept;

/// dst and src: same dtype size and sizes, any strides (elements). Returns the bytes written.
std::int64_t strided_copy(char* dst, const std::int64_t* dst_strides, const char* src, const std::int64_t* src_strides,
                          const std::int64_t* sizes, int rank, int item_size);

}  // namespace reprise::runtime
