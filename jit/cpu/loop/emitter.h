#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "jit/cpu/loop/loop_plan.h"
#include "jit/emit/cost.h"
#include "jit/emit/emitter.h"
#include "jit/emit/loop_nodes.h"
#include "kernels/loop/analysis.h"

namespace reprise::jit {

using kernels::Access;
using kernels::BodyNode;
using kernels::LoopKernel;
using llvm::Value;

/// The value of a node at the current position: one scalar where it does not vary over the vector dim, else a vector
/// for each of the unrolled steps.
using Val = llvm::SmallVector<Value*, 4>;

/// Where the emission stands: what encloses the insertion point. Copied at the start of a scope, restored at its end.
struct Position {
  std::uint32_t dims = 0;              ///< loop dims whose index is known
  std::vector<Value*> index;           ///< by dim
  std::vector<Value*> address;         ///< by access: base + offset + entered dims (but the vector dim)
  std::vector<std::uint32_t> found;    ///< by access: bit g is set when the address has its gather g in it
  std::vector<Val> vals;               ///< by node; empty: not computed here
  int steps = 1;                       ///< vectors per iteration
  Value* vector_index = nullptr;       ///< index of the first lane, once inside the vector loop
  llvm::SmallVector<Value*, 4> masks;  ///< by step; empty: all lanes
  /// i1: the one step's mask has all lanes; null where few have (Note [Masked steps] in loop_plan.h)
  Value* whole = nullptr;
  /// inside a part of a row (or in a row taken as one run): its loops are what comes next
  bool in_part = false;
  int part_stage = 0;           ///< reductions within the part are finished to this depth
  Value* run_length = nullptr;  ///< parts as one run: the vector dim's extent
};

inline constexpr std::uint32_t kNone = ~0u;

/// Emits one LoopKernel; how the loops stand is told in emitter.cc.
class LoopEmitter {
 public:
  LoopEmitter(EmitContext& cx, const LoopKernel& k, LoopUse use = LoopUse::Launch)
      : cx_(cx), e_(cx), b_(e_.b), k_(k), info_(kernels::analyse(k)), slots_(kernels::param_slots(k)),
        plan_(plan_of(k, cx.host, use)), vdim_(kernels::vector_dim(k)), tiling_(kernels::tiling(k)),
        rank_(static_cast<int>(k.extents.size())), inside_(k.n_kept + k.n_parts) {
    vbit_ = vdim_ >= 0 ? 1u << vdim_ : 0;
    v_kept_ = vdim_ < k.n_kept;
  }
  void run();

 private:
  // -- arguments -----------------------------------------------------------------------------------------------------
  Value* param(int slot);
  Value* number(int slot, Int baked) { return slot < 0 ? e_.i64(baked.hint()) : param(slot); }
  void load_arguments();
  llvm::Type* element(std::size_t access) { return e_.memory_type(k_.buffers[k_.accesses[access].buffer].dtype); }

  // -- loops ---------------------------------------------------------------------------------------------------------
  template <class F>
  void scope(F&& f) {
    Position saved = at_;
    f();
    at_ = std::move(saved);
  }
  void enter(int d, Value* index);
  /// The tasks [begin, end): coordinates are decoded once and then counted, the vector dim's chunk fastest.
  void tasks(Value* begin, Value* end);
  void task(Value* rows, Value* chunk);  ///< `rows`: which block of Tiling::dim, where there is one
  /// At a kept point (or a vector of them): all stages, then the stores.
  void point();
  /// The reduced dims from `d` on, the vector dim innermost; `body` stands inside all of them. Where it comes to a part
  /// of a row, what is reduced within it comes first.
  void nest(int d, const std::vector<bool>& need, int stage, std::vector<Value*>& carried,
            const std::function<void(std::vector<Value*>&)>& body);
  /// Inside the loops over parts: the part's own reductions, its loops, the stores that happen once for it (parts.cc).
  void part(const std::vector<bool>& need, int stage, std::vector<Value*>& carried,
            const std::function<void(std::vector<Value*>&)>& body);
  /// Can this run take the parts of a row as one run of elements?
  bool takes_row_in_line(const std::vector<bool>& need) const;
  /// What a loop over reduced dim `d` runs through: all of it, but for the dim that a sum is blocked over.
  std::pair<Value*, Value*> range(int d);
  /// The vector dim from `begin` to `end`: whole groups of vectors, then single vectors under a mask. Bodies that are
  /// long anyway come once, every step masked.
  void vector_loop(const std::vector<bool>& need, Value* begin, Value* end, std::vector<Value*>& carried,
                   const std::function<void(std::vector<Value*>&)>& body);

  // -- transposed operands (tiles.cc)
  void block(Value* rows, Value* columns);
  void tile(Value* row, Value* column);
  /// What each of tiling_.loads reads in the tile: a vector for each row, as it stands in memory.
  std::vector<Val> load_tile(Value* row, Value* column);

  // -- the memory that rows come from and go to (rows.cc) --------------------------------------------------------
  /// What the two notes in rows.cc need, computed once where the kernel begins.
  void plan_rows();
  /// streams_, where these stores are all there are and write all elements of the loops.
  void plan_streams(const std::vector<std::uint32_t>& stores);
  void plan_pointwise_streams();
  /// Inside the vector loop of the second run over a row: the same places of a row some way ahead.
  void prefetch_rows(const std::vector<bool>& need);
  /// Stores of the last run that may pass the caches: their condition is streams_.
  bool may_stream(std::uint32_t store) const;
  /// `f`, once for each value of streams_ where that is asked.
  void for_both_stores(const std::function<void()>& f);
  /// `f` with the access `access` based at `base`, unless that is null.
  template <class F>
  void based_at(std::uint32_t access, Value* base, F&& f) {
    if (!base) return f();
    std::swap(at_.address[access], base);
    f();
    std::swap(at_.address[access], base);
  }

  // -- reductions ----------------------------------------------------------------------------------------------------
  /// Accumulators are several vectors that take turns, so that additions do not wait for each other. Each step works on
  /// the front of the list, which then goes to its end. See Note [Sums do not depend on the code] for the order.
  /// With `stash_store`, the value of node `stash` is kept for the last run where that store will write.
  void reduce_stage(int stage, std::uint32_t stash_store, std::uint32_t stash);
  /// These reductions over the dims from `first` on; `beside` stands in their loops, too.
  void reduce(const std::vector<std::uint32_t>& reduces, const std::vector<bool>& need, int first, int stage,
              const std::function<void()>& beside);
  /// One reduction while its loops are emitted: `count` accumulators of `lanes`, that start anew in each block.
  struct Accumulators {
    std::uint32_t node;
    int count, lanes;
    bool blocked;
  };
  /// Float sums are made in blocks, whose sums are then added with a correction: the error of a sum does not grow with
  /// its length. A block is a run of the one reduced dim, or what lies inside one index of the outermost of several.
  void blocks(const std::vector<bool>& need, int first, int stage, std::vector<Value*>& carried, bool blocked,
              const std::function<void()>& block);
  static constexpr std::int64_t kRoomElements = 8192;                  // of Float32: threads have small stacks
  static constexpr std::int64_t kRowBlock = 8192, kColumnBlock = 256;  // elements, rows

  /// A value worth keeping between the last reduction and the stores instead of computing it twice (softmax: the
  /// exponential, on its way to being divided by its sum). It is kept in the elements that the one store inside the
  /// reduced dims will overwrite, so it must be of their dtype, and the last run may read nothing else that varies over
  /// reduced dims: the store may alias what was loaded.
  std::uint32_t node_to_stash(const std::vector<std::uint32_t>& inside);
  /// The same where the store has another dtype (a gate on its way to being quantized): it is kept on the stack, if the
  /// row has room there when the kernel runs.
  std::uint32_t node_for_room(const std::vector<std::uint32_t>& inside);
  /// The latest node worth keeping beside the result, of those that `operands` need at these stages: stores need it
  /// again.
  std::uint32_t worth_a_room(const std::vector<std::uint32_t>& operands, const std::vector<std::uint32_t>& stores,
                             int stage, int part_stage);
  /// `f` with `node` in the room where the row (or part) has a place there, and otherwise without.
  void with_room(std::uint32_t node, const std::function<void(std::uint32_t node)>& f);
  /// What a value of node m costs at each index of the row.
  int cost_inside(std::uint32_t m, int stage, int part_stage);
  void put_in_room(std::uint32_t node);
  /// The place of a step's elements in the room for a row.
  Value* in_room(int step);
  /// The last reductions, and then the stores.
  void finish_point(const Stores& stores, std::uint32_t stash, bool in_room);
  void accumulate(std::uint32_t r, Value** accs, int width);
  Value* fold_lanes(const BodyNode& n, std::vector<Value*> accs);

  // -- values --------------------------------------------------------------------------------------------------------
  /// Computes here what the loops below would compute again and again.
  void hoist(const std::vector<bool>& need, std::uint32_t dims, int stage);
  const Val& value(std::uint32_t node);
  bool is_vector(std::uint32_t node) const { return info_.dims[node] & vbit_; }
  void evaluate(std::uint32_t i);
  Value* operand(std::uint32_t node, int step, int lanes);
  Value* compute(std::uint32_t i, const BodyNode& n, int step);

  // -- memory --------------------------------------------------------------------------------------------------------
  /// The address of one access at one step: `base`, and for what is not one run of elements, an offset for each lane.
  struct Place {
    Value* base;
    Value* offsets = nullptr;
  };
  /// Does it read or write, along the vector dim, elements that stand side by side behind an address that is found
  /// already?
  bool reads_found_row(std::size_t node) const {
    const std::uint32_t a = k_.body[node].access;
    return a != kNone && !k_.accesses[a].gathers.empty() && at_.found[a] + 1 == 1u << k_.accesses[a].gathers.size() &&
           kernels::is_plain(k_.accesses[a].strides[static_cast<std::size_t>(vdim_)], 1);
  }
  /// Elements from the beginning of `access` to where its gather g reads or writes at these indices.
  Value* gathered(std::size_t access, std::size_t g, Value* index);
  Place place(std::uint32_t access, int step, int lanes, Value* mask);
  Value* step_mask(int step) const { return at_.masks.empty() ? nullptr : at_.masks[static_cast<std::size_t>(step)]; }
  Value* load(std::uint32_t access, int step, int lanes);
  /// Every value of the stores first, then the stores: a store may overwrite, at this very index, what another one's
  /// value still has to load (an argument written in place).
  void store_all(const std::vector<std::uint32_t>& stores);
  /// In a step under a mask (Note [Masked steps] in loop_plan.h): what is asked of it is asked once for several
  /// accesses. The loads that a run needs in any case; and the stores, where all are of this kind: false otherwise, and
  /// nothing is stored.
  void load_together(const std::vector<bool>& need);
  bool store_together(const std::vector<std::uint32_t>& stores);
  bool is_run(std::uint32_t access) const {
    return k_.accesses[access].gathers.empty() && vdim_ >= 0 &&
           kernels::is_plain(k_.accesses[access].strides[static_cast<std::size_t>(vdim_)], 1);
  }
  void store(std::uint32_t i) { write(k_.body[i], kernels::stored_value(k_, k_.body[i]), k_.body[i].b); }
  /// The value of node `from` to where the store `n` writes.
  void write(const BodyNode& n, std::uint32_t from, std::uint32_t predicate_node);

  EmitContext& cx_;
  Emitter e_;
  llvm::IRBuilder<>& b_;
  const LoopKernel& k_;
  const kernels::LoopAnalysis info_;
  const kernels::ParamSlots slots_;
  const LoopPlan plan_;
  const int vdim_;
  const kernels::Tiling tiling_;
  const int rank_, inside_;  // inside_: the first dim inside a part
  std::uint32_t vbit_ = 0;
  bool v_kept_ = false;
  std::uint32_t stashed_ = kNone, stashed_at_ = kNone;  // during the last run: a node that is loaded, and its access
  Value* stash_base_ = nullptr;                         // null: the access's own
  // by access: elements to where a later row is prefetched, or null
  std::vector<Value*> ahead_;
  Value* streams_ = nullptr;          // i1: the last run's stores pass the caches; null: never
  bool streaming_ = false;            // in the last run, when streams_ is there
  std::optional<bool> streams_here_;  // its value, where code comes for both
  // on the stack, for a row's values of another dtype than the result's; or null
  Value* row_room_ = nullptr;
  bool stash_in_room_ = false;          // during the last two runs: that is where it is
  std::vector<std::uint32_t> roots_;    // of the run over the reduced dims at hand
  const Stores* last_run_ = nullptr;    // in the last one: its stores
  Value* stash_room_ = nullptr;         // on the stack, for a row's stash when streams_ holds; or null
  std::vector<StackArray> tile_rooms_;  // for the tile of each of tiling_.loads; empty: registers
  int blocked_dim_ = -1;                // inside a block of a sum: its dim, and
  std::pair<Value*, Value*> block_;     // the part of it
  llvm::Function* f_ = nullptr;
  std::vector<Value*> extents_;
  std::vector<std::vector<Value*>> strides_, gather_strides_, gather_extents_;  // by access
  std::vector<Value*> lane_offsets_;  // by access: lane * stride of the vector dim
  Position at_;
};

}  // namespace reprise::jit
