#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/tape_base.h"

namespace reprise::passes {

/// What the caller of a traced graph knows of an input's memory.
struct TracedInput {
  /// Is it, in the traced call, row by row all of its storage?
  bool covers_storage = true;
  /// It stands for a storage: flat, all of it. Others' elements are places in it.
  bool is_storage = false;
  /// The input that is its storage; -1: what it shows is all that is seen of its storage.
  std::int32_t storage = -1;
  /// How its handle is laid out before the call, counted from the start of the storage. Unset: as the input's value.
  std::optional<Layout> layout;
  /// Do its strides follow from its sizes, row-major? `layout` then tells those of elements alone: in dimensions of
  /// size 0 and 1 they may be others.
  bool strides_from_sizes = false;
  /// The value that its handle has before the call: the input's own, or a view of its storage. Unset: the input's own,
  /// or none has it.
  graph::ValueId handle;
};

/// What a traced graph means, and what must be true of the inputs for it.
struct Functionalized {
  /// Form::Functional, with the signature of what is written and what is another view
  graph::Graph graph;
  /// by User output of the traced graph: the functional graph's output that it is
  std::vector<std::int32_t> outputs;
  std::vector<graph::TapeBase> bases;        ///< by output of the functional graph; of aliases
  std::vector<std::uint32_t> cover_storage;  ///< inputs that must, at every call, be row by row all of their storage
  /// inputs whose strides, in all dimensions, decide what the caller sees (maybe repeated)
  std::vector<std::uint32_t> strides_read;
  /// inputs whose handles have another storage after the call, to which was written
  std::vector<std::uint32_t> written_anew;

  /// Set where an input's elements are not enough, and its storage must be an input itself; `graph` then is none.
  struct Wanted {
    std::uint32_t input;
    const char* op;  ///< what needs it, where, and how a message goes on
    SourceLoc loc;
    std::string why;
  };
  std::optional<Wanted> wanted;
};

/// Traced -> Functional. `inputs`: one for each of the graph's. Verifies the traced graph when REPRISE_VERIFY >= 1; the
/// result is run_pipeline's to verify. A graph without views and writes is given back as it is.
///
/// Note [Writes through views]
/// A storage has one current value, its base. A view of it is a chain of view operators. To write `v` into the view
/// c1(c2(...)), the inverses are applied from the inside out: what the innermost operator cut out is put back with its
/// scatter (slice -> slice_scatter), giving a new value of what it was cut from, and so on up to a new base; each
/// view's column says how (graph/view_column.h; the tracer refuses writes through views that were not told). Later
/// reads of any other view of the storage replay their chain on the new base. Nothing in the functional graph is ever
/// overwritten, and a pass that merges equal nodes removes what was replayed for nothing.
///
/// as_strided and a part of what is expanded have no such inverse, and a part of what is seen in another shape or order
/// has a dear one. They name places in the storage (as_strided_scatter), which must be seen for that: an input is its
/// storage if it covers it row by row, or its storage is an input itself (Note [Whole storages] in
/// runtime/trace/tracer_inputs.cc).
///
/// Note [Two forms of a write]
/// What a registered operator writes (Note [Operators that write] in graph/writers.h) is in the first form the value of
/// the argument: the functional twin makes its new value, which is put back as above. In the second, the default, the
/// twin gets the view itself and makes the new value of its base (Note [Written views]): where that lies in the base's
/// memory the kernel writes there and nothing is copied, whatever the view. The knob REPRISE_WRITERS=values asks for
/// the first form alone. It also serves what has no second: elements of lists, an argument that is all of its storage
/// (there the two are one), and views that are not possible of the storage's value row by row (a flat view of a
/// transposed argument). And operators that a registered pattern seeks: what it writes of an argument may be a part
/// elsewhere, which it meets as a value.
Functionalized functionalize(graph::Graph traced, std::span<const TracedInput> inputs);

/// While one lives on this thread functionalize() uses the first form alone: of patterns.
class FirstFormScope {
 public:
  FirstFormScope();
  ~FirstFormScope();
  FirstFormScope(const FirstFormScope&) = delete;
  FirstFormScope& operator=(const FirstFormScope&) = delete;

 private:
  bool before_;
};

}  // namespace reprise::passes
