#pragma once
#include <cstdint>
#include <map>

#include "kernels/plan/assign_buffers.h"
#include "kernels/plan/join.h"
#include "kernels/plan/kept_order.h"
#include "kernels/plan/scatter.h"

namespace reprise::kernels {

/// The work of assign_buffers, in two files: items, order, outputs and results that are no joins in assign_buffers.cc,
/// joins in assign_joins.cc.
class Assign {
  using Graph = graph::Graph;
  using Node = graph::Node;
  using OpClass = graph::OpClass;
  using OpId = graph::OpId;
  using OutputSpec = graph::OutputSpec;
  using ValueId = graph::ValueId;
  using Kind = Item::Kind;
  using Id = std::uint32_t;

 public:
  Assign(const Graph& g, bool (*fused)(const Graph&, const Node&), bool may_undo)
      : g_(g), fused_(fused), may_undo_(may_undo) {
    p_.place.resize(g.values.size());
    p_.must_store.resize(g.values.size());
    p_.maker.assign(g.values.size(), -1);
    begin_.assign(g.values.size(), -1);
    wishes_.resize(g.values.size());
    readers_.resize(g.values.size());
    views_.resize(g.values.size());
    before_.resize(g.values.size());
    overwriters_.resize(g.values.size());
    root_ = roots_of(g);
  }

  BufferPlan run();

 private:
  // ---- items
  static Item new_item(Kind kind, std::int32_t node);
  /// At the end, or right before item `at`.
  Id add_item(Item it, std::int32_t at = -1);
  void edge(Id a, Id b, EdgeKind k);
  auto successors() const {
    return [this](Id i, auto&& f) {
      for (const Edge& e : p_.succ[i]) f(e.to);
    };
  }
  bool is_join(const Node& n) const { return has_parts(n.op) || is_region_join(g_, n); }
  bool computed(ValueId v) const { return root_[v.v] == v && g_.values[v.v].node >= 0; }
  bool placed(ValueId v) const { return p_.place[v.v].buffer != ~0u; }
  /// `item` reads value v: it comes after v's maker, and counts as a reader of v's storage.
  /// `in_loop`: the item may be part of a loop kernel.
  void reads(Id item, ValueId v, bool in_loop);
  void reads(Id item, ValueId v) {
    reads(item, v, p_.items[item].kind == Kind::Fused || p_.items[item].kind == Kind::Copy);
  }
  void make_items(std::uint32_t n);
  /// Of index values into a dim of `of`, in `checks`, unless all that may stand there are within it.
  void make_check(std::uint32_t n, ValueId index, int dim, ValueId of, bool wraps, std::vector<Id>& checks);
  Id make_last(std::uint32_t n, const ScatterForm&, const std::vector<Id>& checks);
  /// Everything has its place: which writes at computed places are stores of loop kernels, and which their own
  /// kernels'.
  void settle_scatters();
  /// Is what this one writes into there already, where nothing else that it reads stands?
  bool scatters_in_place(Id) const;
  /// The join c is wanted for nothing but to be scattered: its parts are, each by itself, and c is never made.
  bool is_scattered_in_parts(ValueId c);
  /// The dimension along which the parts of the join c follow one another; -1: none is known to be that.
  int dim_of_parts(ValueId c) const;
  /// Is v asked to lie in the memory of `in` (Node::tied)? Of both: in one memory?
  bool asked(ValueId v, ValueId in) const { return in && asked_place(v) == in; }
  bool asked_together(ValueId v, ValueId old) const { return asked(v, old) || asked(v, asked_place(old)); }
  ValueId asked_place(ValueId v) const;
  /// Its kernel makes the result from its first operand, or a functional twin its first results from what is written,
  /// by changing some elements, and works when both are one memory.
  bool updates(const Node& node) const;
  /// v is made by several kernels, of which one may fail after another has written, or which run several times: no
  /// memory but its own is for it.
  bool fails_half_way(ValueId v) const;
  /// m is made element by element of its first operand, for which an update follows at once or which an update, or a
  /// join that writes in place, made for m alone.
  bool beside_update(ValueId m) const;
  /// What c is made of where it stands: a join's base, what an update works over, what stands beside_update. Unset: c
  /// is made anew.
  ValueId old_of(ValueId c) const;

  // ---- order
  bool path(Id from, Id to);
  bool paths_to_any(Id from, const std::vector<Id>& to);
  /// Why a write waits for one of `before`, as the log tells it; empty where nothing of `before` comes after `from`.
  std::string why_waits(Id from, const std::vector<Id>& before);
  /// Everything that must have run before input i's memory is written: readers of the old value and what may still
  /// fail.
  std::vector<Id> before_input_write(std::uint32_t i, const std::vector<Id>& except);
  /// All of it runs before `writer`. Many readers are as one from then on: a marker, which takes their place in
  /// `before`.
  void edges_before(std::vector<Id>& before, Id writer);
  EdgeKind kind_before(Id r) const { return p_.items[r].may_fail ? EdgeKind::Memory : EdgeKind::Anti; }
  /// What had to be before `writer` has to be before `earlier`, which leads to it.
  void move_edges_before(const std::vector<Id>& before, Id writer, Id earlier);
  /// Removes from `list` what stands in `those`.
  void take_out(std::vector<Id>& list, const std::vector<Id>& those);

  // ---- outputs
  const Place& input_place(std::uint32_t i) const { return p_.place[g_.inputs[i].value.v]; }
  Place output_buffer(std::uint32_t o, DType t, const Ints& sizes);
  void set_out(std::uint32_t o, const Place& at);
  /// May v stand at `at`: does its kernel take these strides, and are all views of it possible there, also those
  /// through which its maker writes it?
  bool may_stand(ValueId v, const Layout& at) const;
  /// Who wants a copy, and why.
  struct Wanted {
    Copy::Of of;
    const char* why;
  };
  Id add_copy(ValueId from, Place to, DType dtype, Wanted, std::int32_t node, std::int32_t at = -1);
  static Wanted base_of(const Node& join);
  static Wanted part_of(const Node& join);
  void make_wishes();
  /// Output o is a copy of its value.
  void copy_out(std::uint32_t o) { finish_copy(o, start_copy(o)); }
  Id start_copy(std::uint32_t o);
  void finish_copy(std::uint32_t o, Id id);
  void in_place(std::uint32_t o, std::string why);
  bool is_new_value(std::uint32_t o) const { return g_.outputs[o].kind == OutputSpec::Kind::NewValueOfInput; }
  /// Output o takes the whole of v's storage. A dense view returns its own layout over it.
  void put_in_output(ValueId v, std::uint32_t o);

  // ---- results that are not joins
  void place_result(ValueId v);
  /// v is the new value of an input: written into the input's memory by the kernel that makes it, if nothing forbids.
  bool write_over_input(ValueId v, std::uint32_t o);
  /// Note [Kept parts] in undo.h: may what item w writes into an input be put back?
  bool may_be_undone(Id w) const;
  /// w, which begins to write at `first`, may write at `at` before what may fail, where that comes after it anyway.
  void leave_to_undo(std::vector<Id>& before, Id w, Id first, const Place& at);
  /// v is an update of all of input i, which its maker reads in no other way.
  bool updates_in_place(ValueId v, std::uint32_t i) const;
  /// How often item w reads elements of v's storage.
  std::ptrdiff_t count_reads(Id w, ValueId root) const;
  /// Does item w, an update, read elements of `old` other than those that it works over? What the kernel of an operator
  /// that writes reads of what it writes is copied before, where the two are not known to be apart (lower.cc): that
  /// does not count.
  bool reads_beside(Id w, ValueId old) const;
  /// Whatever item w reads of input i, it reads at the index it writes.
  bool reads_same_element(Id w, std::uint32_t i) const;
  bool reads_input(Id w, std::uint32_t i) const;

  // ---- joins
  /// Reads of the old contents of `b` by work other than join c. (A join that only holds b as its base and is itself in
  /// c's place does not read.)
  std::vector<Id> old_readers(ValueId b, const std::vector<Id>& except);
  /// c's end, and those of joins and updates nested in c that write in place inside it: c = select_scatter(b,
  /// slice_scatter(select(b), src)).
  void nested_ends(ValueId c, std::vector<Id>& out) const;
  void place_join(const Node& node);
  void drop_edge(std::int32_t from, Id end);
  bool join_over_input(ValueId c, std::uint32_t o);
  /// Joins and updates whose result becomes c's contents without leaving c's place: c, those nested in it, and those it
  /// is based on.
  void chain_ends(ValueId c, std::vector<Id>& out) const;
  void chain_ends_here(ValueId c);
  /// A part of one of these joins is `old` itself or a view of it: copying it while `old` is overwritten is not safe.
  bool parts_read(const std::vector<Id>& ends, ValueId old) const;
  /// The part of a join is a view of the very value that the join writes into, of elements that it does not write.
  bool part_beside(const Node& join) const;
  /// What c is based on is `old` seen in another way (transposed, a part): its elements would move within `old`'s
  /// memory.
  bool base_moves(ValueId c, ValueId old) const;
  /// c is nothing but an input's new value: only its part is computed, the epilogue puts it into the input.
  bool slice_in_epilogue(const Node& node, std::uint32_t o);
  /// The base already stands where c will: nothing to copy. Otherwise, when nobody reads it later, it is put there.
  bool base_in_place(ValueId c, ValueId base);
  /// The kernel of an operator that writes faults before it writes: for its own write it needs not be over. What it
  /// reads of an input at `at` is what it writes there.
  bool writes_nothing_if_it_fails(Id w, const Place& at) const;
  static bool innermost_contiguous(const Layout& l);
  void place_part(ValueId c, JoinPlan::Part& part, Id after);

  const Graph& g_;
  bool (*fused_)(const Graph&, const Node&);
  bool may_undo_;
  BufferPlan p_;
  std::vector<std::int32_t> begin_;                 // by value: the first item that writes it
  std::vector<std::vector<std::uint32_t>> wishes_;  // by value: outputs that want its storage
  std::vector<std::vector<Id>> readers_;            // by root value: items that read its elements
  std::vector<std::vector<ValueId>> views_;         // by root value: views of it
  std::vector<std::vector<Id>> before_;             // by value: what runs before its place may be written
  std::vector<std::vector<Id>> overwriters_;        // by value: Begin markers of joins written over its place
  std::vector<ValueId> root_;
  KeptOrder order_;                    // of the items
  std::vector<Id> may_fail_;           // items
  std::map<std::uint8_t, Id> lanes_;   // Effects::lane -> the last item of it
  std::vector<Id> scatters_;           // Native items that may become Scatter
  std::vector<Id> checks_, lasts_;     // of index values: equal ones are made once
  std::map<Id, ValueId> in_parts_;     // of scatters_: those of a join's parts, and the join
  std::vector<std::uint32_t> marked_;  // by item: the question it was last part of
  std::uint32_t question_ = 0;
  bool slice_only_ = false;
  // there is one item of work: if it fails, nothing else has happened
  bool alone_ = false;
};

}  // namespace reprise::kernels
