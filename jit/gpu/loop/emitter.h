#pragma once
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "jit/emit/loop_nodes.h"
#include "jit/gpu/emitter.h"
#include "jit/gpu/loop/rounded.h"
#include "jit/gpu/loop/schedule.h"
#include "kernels/loop/analysis.h"

namespace reprise::jit {

/// What stands for the arguments of a loop kernel that is part of another kernel.
struct InnerArguments {
  std::vector<llvm::Value*> buffers;  ///< pointers to their first bytes; null of one that no memory stands for
  std::vector<llvm::Value*> params;   ///< runtime_params, i64
};

/// Emits one LoopKernel for blocks of threads: see Note [Threads of a loop kernel]. A kernel of its own, or part of
/// another one, whose emitter and kernel outlive this.
class GpuLoopEmitter {
 public:
  /// A kernel of its own.
  GpuLoopEmitter(GpuEmitter& e, const kernels::LoopKernel& k) : GpuLoopEmitter(e, k, gpu_schedule(k)) {}
  void run();

  /// Part of a kernel of blocks of `threads` threads. `row`: elements that it reduces, where they are known.
  GpuLoopEmitter(GpuEmitter& e, const kernels::LoopKernel& k, InnerArguments arguments, int threads,
                 std::int64_t row = 0)
      : GpuLoopEmitter(e, k, of_block(gpu_schedule(k), threads, row)) {
    given_ = std::move(arguments);
    load_arguments();
  }
  /// Reduces, with one kept point: the block computes it. All threads come here; behind it they see what it stored in
  /// shared memory.
  void row();
  /// Pointwise: how many points there are (i64), which are numbered with the last dim fastest.
  llvm::Value* points() { return b_.CreateZExt(product(0, rank_), b_.getInt64Ty()); }
  /// f() where this thread is at a point (i64).
  void at_point(llvm::Value* point, const std::function<void()>& f);
  /// There: elements from the first one of its buffer to that of an access (i64).
  llvm::Value* place_of(std::size_t access);
  /// There: computes what is stored, and stores it. `loaded`: by access, the values of those that no memory stands for.
  void compute_point(const std::vector<llvm::Value*>& loaded);

 private:
  static GpuSchedule of_block(GpuSchedule s, int threads, std::int64_t row) {
    const std::int64_t turn = std::int64_t{s.run} * threads, each = (row + turn - 1) / turn;
    s.threads = threads;
    s.kept_runs = each * s.run <= 16 ? static_cast<int>(each) : 0,
    s.kept_team_log2 = __builtin_ctz(static_cast<unsigned>(threads)), s.kept_whole = each * turn == row;
    return s;
  }
  GpuLoopEmitter(GpuEmitter& e, const kernels::LoopKernel& k, GpuSchedule s)
      : e_(e), b_(e_.b), k_(k), info_(kernels::analyse(k)), slots_(kernels::param_slots(k)),
        rounded_(rounded_to_16_bits(k)), near_one_(known_beside_one(k)), s_(s), vdim_(s_.vector_dim),
        rank_(static_cast<int>(k.extents.size())), inside_(k.n_kept + k.n_parts),
        index_type_(k.narrow ? b_.getInt32Ty() : b_.getInt64Ty()), vbit_(vdim_ >= 0 ? 1u << vdim_ : 0) {}

  using Value = llvm::Value;
  using Access = kernels::Access;
  using BodyNode = kernels::BodyNode;
  /// The value of a node here: one, or one for each element of the run.
  using Val = llvm::SmallVector<Value*, 8>;

  /// What encloses the insertion point. Copied at the start of a scope, restored at its end.
  struct Position {
    std::uint32_t dims = 0;              ///< loop dims whose index is known, or known by element
    std::vector<Value*> index;           ///< by dim
    std::vector<Value*> offset;          ///< by access: elements that entered dims (but the run's) lead to; null: none
    std::vector<Val> vals;               ///< by node; empty: not computed here
    Value* first = nullptr;              ///< inside a run: index of its first element along the vector dim
    llvm::SmallVector<Value*, 8> masks;  ///< by element of a run: is it there? Empty: all are
    int part_stage = 0;                  ///< reductions within the part at hand are finished to this depth
  };
  template <class F>
  void scope(F&& f) {
    Position saved = at_;
    f();
    at_ = std::move(saved);
  }

  // -- arguments and positions (emitter.cc)
  // --------------------------------------------------------------------------
  void load_arguments();
  Value* buffer(std::size_t i) { return given_ ? given_->buffers[i] : e_.buffer(i); }
  Value* param(int slot) {
    return given_ ? given_->params[static_cast<std::size_t>(slot)] : e_.param(static_cast<std::size_t>(slot));
  }
  Value* float_bits(int slot);  ///< i64
  void variants();              ///< with wide accesses where all can be such, and without
  // Indices, extents, strides and offsets are of index_type_: i32 where the kernel is narrow, otherwise i64.
  Value* idx(std::int64_t v) { return llvm::ConstantInt::get(index_type_, static_cast<std::uint64_t>(v), true); }
  Value* as_index(Value* v) { return b_.CreateSExtOrTrunc(v, index_type_); }
  Value* position(Value* v) { return b_.CreateZExtOrTrunc(v, index_type_); }  ///< of an i32 that is not negative
  Value* number(int slot, Int baked) { return slot < 0 ? idx(baked.hint()) : as_index(param(slot)); }
  /// offset + index * stride; null is 0.
  Value* advance(Value* offset, Value* index, Value* stride);
  llvm::Type* element(std::size_t access) { return e_.memory_type(k_.buffers[k_.accesses[access].buffer].dtype); }
  Value* extent(int d) { return extents_[static_cast<std::size_t>(d)]; }
  Value* product(int from, int to);
  /// Pointwise: does every access step through all dims as through one? Null where it cannot be (indices are asked
  /// for).
  Value* all_dims_are_one();
  /// Length of what runs are cut from: the vector dim, or all dims as one.
  Value* run_dim();
  /// Can every run be accessed at once? The same for all threads.
  Value* runs_are_aligned();
  int run_bytes(std::size_t access) {
    return std::min(16, s_.run * item_size(k_.buffers[k_.accesses[access].buffer].dtype));
  }
  void enter(int d, Value* index);
  /// Enters the dims [from, to) but the vector dim, the last fastest, at the flat index `at`. With `units`, the vector
  /// dim is the fastest of all and has so many positions; returns the one at hand.
  Value* enter_flat(int from, int to, Value* at, Value* units);
  void enter_run(Value* first);
  bool in_run() const { return at_.first != nullptr; }
  int count() const { return in_run() ? s_.run : 1; }

  void variant();
  void pointwise();

  // -- reductions (reduce.cc)
  // -------------------------------------------------------------------------------------
  void rows();
  void columns();
  /// Enters the run of kept points (with `run` of them at once), or the point, that this thread has in the block's
  /// `strip`-th part.
  void column(Value* strip, Value* kept);
  /// At a kept point: all stages, then the stores.
  void point();
  /// What is done at every index of the reduced space, or for every part of it, once all stages are finished.
  void store_walk(const Stores& stores);
  // -- rows whose runs stay in registers from walk to walk (kept.cc)
  void kept_or_not(const std::function<void()>& keep, const std::function<void()>& again);
  void keep_runs();
  bool keeps_runs() const { return !units_at_.empty(); }
  /// At a member's `unit`-th run: with what earlier walks have computed there.
  void at_kept(int unit, const std::function<void()>& f);
  void store_kept(const std::vector<std::uint32_t>& stores);
  void reduce_stage(int stage);
  void reduce(const std::vector<std::uint32_t>& reduces, const std::vector<bool>& need, int stage);
  /// One run over the reduced space: `f` with the end of the units that it may share out. Where `need` has reductions
  /// within parts, or stores happen once for a part, that is part after part, each by a group of the team, which is the
  /// team meanwhile.
  bool asks_for_parts(const std::vector<bool>& need) const;
  void run_over(const std::vector<bool>& need, int stage, const std::vector<std::uint32_t>& per_part,
                std::vector<Value*>& carried, const std::function<void(Value* end)>& f);
  /// This member's part of the reduced space: units from `begin` to `end`, which are the same for all members; `unroll`
  /// of them in one turn of the loop.
  void share(Value* begin, Value* end, int unroll, std::vector<Value*>& carried,
             const std::function<void(std::vector<Value*>&)>& body);
  void accumulate(std::uint32_t node, Value** accs);
  /// One step of a reduction. Of floats' extremes whichever zero: which one comes first depends on how rows are shared
  /// out.
  Value* combine(const BodyNode& n, Value* x, Value* acc);
  /// acc and the product of two values of a sum that is rounded to 16 bits; null where node `of` is no such product.
  Value* add_product(std::uint32_t sum, std::uint32_t of, int j, Value* acc);
  /// Of this lane's value and that of the one `mask` (i32) away.
  Value* exchange(const BodyNode& n, Value* v, Value* mask);
  void over_team(const BodyNode& n, Val& v);
  void over_members(const BodyNode& n, Val& v);

  // -- values (values.cc)
  // -----------------------------------------------------------------------------------------
  void hoist(const std::vector<bool>& need, int stage);
  const Val& value(std::uint32_t node);
  bool varies(std::uint32_t node) const { return in_run() && info_.dims[node] & vbit_; }
  bool access_varies(std::size_t access) const;
  void evaluate(std::uint32_t node);
  Value* operand(std::uint32_t node, int j) const {
    const Val& v = at_.vals[node];
    return v[v.size() == 1 ? 0 : static_cast<std::size_t>(j)];
  }
  Value* compute(std::uint32_t node, int j);
  /// The same of a value that results know rounded to 16 bits alone; null: as of any other.
  Value* compute_rounded(std::uint32_t node, int j);
  Value* element_index(int j);
  Value* place(std::size_t access, int j);
  Val load(std::size_t access);
  void evaluate_stored(const std::vector<std::uint32_t>& stores);
  void store_all(const std::vector<std::uint32_t>& stores);
  void store(const BodyNode& n);

  GpuEmitter& e_;
  llvm::IRBuilder<>& b_;
  std::optional<InnerArguments> given_;
  const kernels::LoopKernel& k_;
  const kernels::LoopAnalysis info_;
  const kernels::ParamSlots slots_;
  const std::vector<bool> rounded_, near_one_;  // see rounded.h
  const GpuSchedule s_;
  const int vdim_, rank_, inside_;  // inside_: the first dim inside a part
  int first_ = k_.n_kept;           // of the dims that are shared out
  llvm::Type* const index_type_;
  const std::uint32_t vbit_;
  Value* one_dim_ = nullptr;  // i1: see all_dims_are_one; null: no
  bool aligned_ = false;      // while the variant with wide accesses is emitted
  Value* writes_ = nullptr;   // i1: may this thread store? Null: it may
  // Of a reduction: the units of the reduced space, how many members share them and which one this is.
  Value *units_ = nullptr, *team_log2_ = nullptr, *team_ = nullptr, *member_ = nullptr;
  Value* per_row_ = nullptr;  // Rows: runs along the vector dim
  Value *width_log2_ = nullptr, *scratch_ = nullptr;
  // i1: has this member the last of its kept runs? Null: all have. `there_`: the same at that run alone, else null.
  Value *last_there_ = nullptr, *there_ = nullptr;
  std::vector<Value*> extents_;
  // by access: where its offsets count from
  std::vector<Value*> base_;
  std::vector<std::vector<Value*>> strides_, gather_strides_, gather_extents_;  // by access; gather_extents_ are i64
  Position at_;
  std::vector<Position> units_at_;  // by kept run
};

}  // namespace reprise::jit
