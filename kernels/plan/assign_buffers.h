#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/launch/launch.h"
#include "kernels/launch/layout.h"

namespace reprise::kernels {

/// One piece of work before fusion. A node is one item, except that views are none, a join is a copy for each part that
/// is not written into its place by its maker, and a fused gather, and what writes at computed places, has a check of
/// its index values beside it.
struct Item {
  enum class Kind : std::uint8_t {
    Fused,   ///< pointwise, creation, gather load or reduction: part of a loop kernel
    Copy,    ///< reads a value and stores it at `to`: part of a loop kernel, too
    Native,  ///< a C++ kernel
    Check,   ///< index values of `from` within `extent`
    /// of each position of a Scatter: is it the last that names its place? (Note [Scatters in loops] in scatter.h)
    Last,
    Scatter,  ///< reads a value, and stores it at places that index tensors name: part of a loop kernel, too
    Begin,    ///< marker: nothing is written for a join before it
    End,      ///< marker: the join's value is complete
  } kind;
  std::int32_t node = -1;           ///< graph node (Copy: the join; -1 for a copy into an output)
  graph::ValueId made;              ///< Fused, Scatter: its result
  graph::ValueId from;              ///< Copy, Check, Scatter
  Place to;                         ///< Copy, Last
  DType to_dtype = DType::Float32;  ///< Copy
  Int extent = 0;                   ///< Check: the size of `dim`, the dimension that is indexed
  int dim = 0;
  Copy::Of of = Copy::Of::EagerToo;  ///< Copy: who wants it
  const char* why = "";              ///< Copy
  bool wraps = false;                ///< Check: negative values count from the end
  /// Scatter: the Last item that tells which of its positions are stored; -1: all are
  std::int32_t last = -1;
  /// Scatter: `from` is a part of what is stored, of a cat along this dim, and -1: all of it
  int part_dim = -1;
  Int part_at = 0;       ///< where it begins there
  bool checked = false;  ///< Native: its index values have been checked when it runs, by Check items
  /// values whose elements it reads (of `copy` and `fill` not the first operand)
  std::vector<graph::ValueId> reads;
  bool may_fail = false;
};

/// Why one item must run before another.
enum class EdgeKind : std::uint8_t {
  Value,   ///< reads what a Fused item makes: inside one loop kernel it stays in a register
  Memory,  ///< reads what was stored, or must not run if the first one fails: never inside one kernel
  Anti,    ///< reads old contents that the second one overwrites: inside one kernel only at the same index
};
struct Edge {
  std::uint32_t to;
  EdgeKind kind;
};

/// Where values live and in which order the work must happen; made before fusion, which only adds places.
struct BufferPlan {
  std::vector<Buffer> buffers;
  std::vector<Item> items;
  std::vector<std::vector<Edge>> succ;  ///< by item; no markers take part after assign_buffers returns
  std::vector<Place> place;             ///< by value; buffer ~0u: a Fused value nobody demands in memory yet
  std::vector<bool> must_store;         ///< by value: Fused, and read or returned from memory
  std::vector<std::int32_t> maker;      ///< by value: item (End marker of a join); -1: input or view
  std::vector<Lowered::Out> outputs;

  std::uint32_t add_buffer(Buffer b);
};

/// Decides which values share buffers: results in their Output buffers, parts of joins inside the joined buffer, new
/// values of inputs in place where nothing can fail or read the old value afterwards.
///
/// `fused(node)` says whether a node becomes part of a loop kernel (otherwise its native kernel runs).
/// `may_undo`: what is written before a kernel that may fail is put back if it does (Note [Kept parts] in undo.h).
BufferPlan assign_buffers(const graph::Graph&, bool (*fused)(const graph::Graph&, const graph::Node&), bool may_undo);

/// Begin and End carry order only: each edge into one and out of it becomes a direct edge. An edge from a reader of old
/// contents stays Anti, so that the reader may share a kernel with the writer.
void drop_markers(BufferPlan&);

}  // namespace reprise::kernels
