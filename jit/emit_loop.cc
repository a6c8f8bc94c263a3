// A LoopKernel as LLVM IR.
//
//   for each task:                     a point of the kept dims (a chunk of the vector dim, when that is kept)
//     what varies with nothing deeper  scalars, computed once
//     vector dim kept:    for each vector of it: { for each stage: reduced loops, accumulators are vectors } stores
//     vector dim reduced: for each stage: { reduced loops, the vector dim innermost; fold the accumulators } stores
//
// A stage is one run of the reduced loops: it finishes the reductions that depend on those of earlier stages, and
// computes anew what it needs. A last run makes the stores that vary over reduced dims.
#include "jit/cost.h"
#include "jit/emit.h"
#include "kernels/loop_analysis.h"


namespace reprise::jit {

using kernels::Access;
using kernels::BodyNode;
using kernels::LoopKernel;
using kernels::ReduceOp;
using kernels::ScalarOp;
using llvm::Value;

namespace {

/// The value of a node at the current position: one scalar where it does not vary over the vector dim, else a vector
/// for each of the unrolled steps.
using Val = llvm::SmallVector<Value*, 4>;

/// Where the emission stands: what encloses the insertion point. Copied at the start of a scope, restored at its end.
struct Position {
  std::uint32_t dims = 0;              ///< loop dims whose index is known
  std::vector<Value*> index;           ///< by dim
  std::vector<Value*> address;         ///< by access: base + offset + entered dims (but the vector dim)
  std::vector<Val> vals;               ///< by node; empty: not computed here
  int steps = 1;                       ///< vectors per iteration
  Value* vector_index = nullptr;       ///< index of the first lane, once inside the vector loop
  llvm::SmallVector<Value*, 4> masks;  ///< by step; empty: all lanes
};

constexpr std::uint32_t kNone = ~0u;

class LoopEmitter {
 public:
  LoopEmitter(EmitContext& cx, const LoopKernel& k)
      : cx_(cx), e_(cx), b_(e_.b), k_(k), info_(kernels::analyse(k)), slots_(kernels::param_slots(k)),
        plan_(plan_of(k, cx.host)), vdim_(kernels::vector_dim(k)), rank_(static_cast<int>(k.extents.size())) {
    vbit_ = vdim_ >= 0 ? 1u << vdim_ : 0;
    v_kept_ = vdim_ < k.n_kept;
  }

  void run() {
    cx_.effort = plan_.effort;
    llvm::Type *ptr = b_.getPtrTy(), *i64 = b_.getInt64Ty();
    f_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, i64, i64}, false),
                                llvm::Function::ExternalLinkage, cx_.entry, cx_.module);
    f_->setDoesNotThrow();
    auto* entry = llvm::BasicBlock::Create(cx_.context, "entry", f_);
    auto* work = llvm::BasicBlock::Create(cx_.context, "work", f_);
    auto* done = llvm::BasicBlock::Create(cx_.context, "done", f_);
    b_.SetInsertPoint(entry);
    Value *begin = f_->getArg(2), *end = f_->getArg(3);
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), work, done);  // an empty range may have empty dims: nothing is decoded
    b_.SetInsertPoint(work);
    load_arguments();
    tasks(begin, end);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    b_.CreateRetVoid();
  }

 private:
  // -- arguments -----------------------------------------------------------------------------------------------------

  Value* param(int slot) { return b_.CreateAlignedLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), f_->getArg(1), static_cast<std::uint64_t>(slot)), llvm::Align(8)); }
  Value* number(int slot, Int baked) { return slot < 0 ? e_.i64(baked.hint()) : param(slot); }

  void load_arguments() {
    for (int slot : slots_.extents) extents_.push_back(param(slot));
    std::vector<Value*> bases;
    for (std::size_t i = 0; i < k_.buffers.size(); ++i)
      bases.push_back(b_.CreateAlignedLoad(b_.getPtrTy(), b_.CreateConstGEP1_64(b_.getPtrTy(), f_->getArg(0), i), llvm::Align(8)));
    strides_.resize(k_.accesses.size());
    gather_strides_.resize(k_.accesses.size());
    gather_extents_.resize(k_.accesses.size());
    lane_offsets_.resize(k_.accesses.size());
    at_.index.resize(k_.extents.size());
    at_.vals.resize(k_.body.size());
    for (std::size_t i = 0; i < k_.accesses.size(); ++i) {
      const Access& a = k_.accesses[i];
      const kernels::ParamSlots::OfAccess& s = slots_.accesses[i];
      Value* p = bases[a.buffer];
      if (s.offset >= 0) p = e_.at(element(i), p, param(s.offset));
      at_.address.push_back(p);
      for (std::size_t d = 0; d < a.strides.size(); ++d) strides_[i].push_back(number(s.strides[d], a.strides[d]));
      for (std::size_t g = 0; g < a.gathers.size(); ++g) {
        gather_strides_[i].push_back(number(s.gather_strides[g], a.gathers[g].stride));
        gather_extents_[i].push_back(param(s.gather_extents[g]));
      }
      if (vdim_ >= 0 && !kernels::is_plain(a.strides[static_cast<std::size_t>(vdim_)], 0))
        lane_offsets_[i] = b_.CreateMul(e_.iota(b_.getInt64Ty(), plan_.lanes), e_.splat(strides_[i][static_cast<std::size_t>(vdim_)], plan_.lanes));
    }
    for (std::size_t i = 0; i < k_.body.size(); ++i) {
      const BodyNode& n = k_.body[i];
      if (n.kind == BodyNode::Kind::Const || n.kind == BodyNode::Kind::Param) evaluate(static_cast<std::uint32_t>(i));
    }
  }

  llvm::Type* element(std::size_t access) { return e_.memory_type(k_.buffers[k_.accesses[access].buffer].dtype); }

  // -- loops ---------------------------------------------------------------------------------------------------------

  template <class F>
  void scope(F&& f) {
    Position saved = at_;
    f();
    at_ = std::move(saved);
  }

  void enter(int d, Value* index) {
    at_.dims |= 1u << d;
    at_.index[static_cast<std::size_t>(d)] = index;
    for (std::size_t i = 0; i < k_.accesses.size(); ++i)
      if (!kernels::is_plain(k_.accesses[i].strides[static_cast<std::size_t>(d)], 0))
        at_.address[i] = e_.at(element(i), at_.address[i], b_.CreateMul(index, strides_[i][static_cast<std::size_t>(d)]));
  }

  /// The tasks [begin, end): coordinates are decoded once and then counted, the vector dim's chunk fastest.
  void tasks(Value* begin, Value* end) {
    std::vector<int> dims;
    for (int d = 0; d < k_.n_kept; ++d)
      if (d != vdim_) dims.push_back(d);
    std::vector<Value*> counts;
    for (int d : dims) counts.push_back(extents_[static_cast<std::size_t>(d)]);
    const bool chunks = v_kept_ && vdim_ >= 0;
    if (chunks) {
      Value* n = extents_[static_cast<std::size_t>(vdim_)];
      counts.push_back(b_.CreateLShr(b_.CreateAdd(n, e_.i64(kernels::kChunk - 1)), __builtin_ctzll(kernels::kChunk)));
    }
    std::vector<Value*> at(counts.size());
    Value* rest = begin;
    for (std::size_t j = counts.size(); j-- > 0;) {
      at[j] = j == 0 ? rest : b_.CreateURem(rest, counts[j]);
      if (j > 0) rest = b_.CreateUDiv(rest, counts[j]);
    }
    emit_loop(e_, begin, end, e_.i64(1), at, [&](Value*) {
      scope([&] {
        for (std::size_t j = 0; j < dims.size(); ++j) enter(dims[j], at[j]);
        task(chunks ? at.back() : nullptr);
      });
      Value* carry = b_.getTrue();
      for (std::size_t j = at.size(); j-- > 0;) {
        Value* next = b_.CreateAdd(at[j], b_.CreateZExt(carry, b_.getInt64Ty()));
        if (j > 0) {
          carry = b_.CreateICmpEQ(next, counts[j]);
          next = b_.CreateSelect(carry, e_.i64(0), next);
        }
        at[j] = next;
      }
    }, "task");
  }

  void task(Value* chunk) {
    std::vector<bool> all(k_.body.size(), true);
    hoist(all, at_.dims, 0);
    std::vector<Value*> none;
    if (v_kept_ && vdim_ >= 0) {
      Value* from = b_.CreateMul(chunk, e_.i64(kernels::kChunk));
      Value* to = e_.call(llvm::Intrinsic::smin, b_.CreateAdd(from, e_.i64(kernels::kChunk)), extents_[static_cast<std::size_t>(vdim_)]);
      vector_loop(all, from, to, none, [&](std::vector<Value*>&) { point(); });
    } else {
      point();
    }
  }

  /// At a kept point (or a vector of them): all stages, then the stores.
  void point() {
    std::vector<std::uint32_t> inside, here;
    for (std::uint32_t i = 0; i < k_.body.size(); ++i)
      if (k_.body[i].kind == BodyNode::Kind::Store) (info_.dims[i] & info_.reduced_mask ? inside : here).push_back(i);
    const std::uint32_t stash = v_kept_ ? kNone : node_to_stash(inside);
    for (int stage = 0; stage < info_.max_depth; ++stage)
      reduce_stage(stage, stage + 1 == info_.max_depth && stash != kNone ? inside[0] : kNone, stash);
    if (!inside.empty()) {
      stashed_ = stash, stashed_at_ = stash == kNone ? kNone : k_.body[inside[0]].access;
      std::vector<Value*> none;
      const std::vector<bool> need = needed_by(inside, info_.max_depth);
      nest(k_.n_kept, need, info_.max_depth, none, [&](std::vector<Value*>&) {
        for (std::uint32_t s : inside) store(s);
      });
      stashed_ = kNone;
    }
    for (std::uint32_t s : here) store(s);
  }

  /// The reduced dims from `d` on, the vector dim innermost; `body` stands inside all of them.
  void nest(int d, const std::vector<bool>& need, int stage, std::vector<Value*>& carried,
            const std::function<void(std::vector<Value*>&)>& body) {
    hoist(need, at_.dims | (v_kept_ ? vbit_ : 0), stage);
    if (d == vdim_) return nest(d + 1, need, stage, carried, body);
    if (d < rank_) {
      return emit_loop(e_, e_.i64(0), extents_[static_cast<std::size_t>(d)], e_.i64(1), carried, [&](Value* index) {
        scope([&] {
          enter(d, index);
          nest(d + 1, need, stage, carried, body);
        });
      }, "reduced");
    }
    if (v_kept_) return body(carried);
    vector_loop(need, e_.i64(0), extents_[static_cast<std::size_t>(vdim_)], carried, body);
  }

  /// The vector dim from `begin` to `end`: whole groups of vectors, then single vectors under a mask. Bodies that are
  /// long anyway come once, every step masked.
  void vector_loop(const std::vector<bool>& need, Value* begin, Value* end, std::vector<Value*>& carried,
                   const std::function<void(std::vector<Value*>&)>& body) {
    int cost = 0;
    for (std::size_t i = 0; i < k_.body.size(); ++i)
      if (need[i] && at_.vals[i].empty()) cost += cost_of(k_, i);
    const Steps steps = plan_.steps(cost);
    const int lanes = plan_.lanes, group = lanes * steps.unroll;
    auto inside = [&](Value* iv, int count, bool masked) {
      scope([&] {
        at_.dims |= vbit_;
        at_.vector_index = iv;
        at_.steps = count;
        if (masked) at_.masks.push_back(e_.lane_mask(b_.CreateSub(end, iv), lanes));
        body(carried);
      });
    };
    Value* from = begin;
    if (!steps.masked_only) {
      Value* whole = b_.CreateAnd(b_.CreateSub(end, begin), e_.i64(-group));
      from = b_.CreateAdd(begin, whole);
      emit_loop(e_, begin, from, e_.i64(group), carried, [&](Value* iv) { inside(iv, steps.unroll, false); }, "vector");
    }
    emit_loop(e_, from, end, e_.i64(lanes), carried, [&](Value* iv) { inside(iv, 1, true); }, steps.masked_only ? "vector" : "tail");
  }

  // -- reductions ----------------------------------------------------------------------------------------------------

  /// Accumulators are several vectors that take turns, so that additions do not wait for each other. Each step works on
  /// the front of the list, which then goes to its end. See Note [Sums do not depend on the code] for the order.
  /// With `stash_store`, the value of node `stash` is kept for the last run where that store will write.
  void reduce_stage(int stage, std::uint32_t stash_store, std::uint32_t stash) {
    std::vector<std::uint32_t> reduces, operands;
    for (std::uint32_t i = 0; i < k_.body.size(); ++i) {
      if (k_.body[i].kind != BodyNode::Kind::Reduce || info_.depth[i] != stage + 1) continue;
      reduces.push_back(i);
      operands.push_back(k_.body[i].a);
    }
    const std::vector<bool> need = needed_by(operands, stage);
    std::vector<int> width;  // accumulators of each reduction
    std::vector<Value*> carried;
    for (std::uint32_t r : reduces) {
      const BodyNode& n = k_.body[r];
      const bool vector = !v_kept_ || info_.dims[r] & vbit_;
      width.push_back(!v_kept_ ? plan_.accumulators(n.dtype) : vector ? at_.steps : 1);
      Value* start = e_.splat(identity(n), vector ? plan_.lanes : 0);
      carried.insert(carried.end(), static_cast<std::size_t>(width.back()), start);
    }
    nest(k_.n_kept, need, stage, carried, [&](std::vector<Value*>& accs) {
      std::size_t first = 0;
      for (std::size_t j = 0; j < reduces.size(); ++j) {
        auto turn = accs.begin() + static_cast<std::ptrdiff_t>(first);
        accumulate(reduces[j], &*turn, width[j]);
        if (!v_kept_) std::rotate(turn, turn + at_.steps, turn + width[j]);
        first += static_cast<std::size_t>(width[j]);
      }
      if (stash_store != kNone) write(k_.body[stash_store], stash, kNone);
    });
    std::size_t first = 0;
    for (std::size_t j = 0; j < reduces.size(); ++j) {
      auto begin = carried.begin() + static_cast<std::ptrdiff_t>(first);
      std::vector<Value*> accs(begin, begin + width[j]);
      first += static_cast<std::size_t>(width[j]);
      at_.vals[reduces[j]] = v_kept_ ? Val(accs.begin(), accs.end()) : Val{fold_lanes(k_.body[reduces[j]], std::move(accs))};
    }
  }

  /// A value worth keeping between the last reduction and the stores instead of computing it twice (softmax: the
  /// exponential, on its way to being divided by its sum). It is kept in the elements that the one store inside the
  /// reduced dims will overwrite, so it must be of their dtype, and the last run may read nothing else that varies over
  /// reduced dims: the store may alias what was loaded.
  std::uint32_t node_to_stash(const std::vector<std::uint32_t>& inside) {
    if (inside.size() != 1 || info_.max_depth == 0) return kNone;
    const BodyNode& s = k_.body[inside[0]];
    if (s.b != ~0u || !k_.accesses[s.access].gathers.empty() || !(info_.dims[inside[0]] & vbit_)) return kNone;
    std::vector<std::uint32_t> operands;
    for (std::uint32_t i = 0; i < k_.body.size(); ++i)
      if (k_.body[i].kind == BodyNode::Kind::Reduce && info_.depth[i] == info_.max_depth) operands.push_back(k_.body[i].a);
    const std::vector<bool> computed = needed_by(operands, info_.max_depth - 1);
    const std::uint32_t all_dims = info_.dims[inside[0]];
    for (std::uint32_t m = 0; m < k_.body.size(); ++m) {
      const BodyNode& n = k_.body[m];
      if (!computed[m] || n.kind != BodyNode::Kind::Op || n.dtype != s.dtype || kernels::register_dtype(n.dtype) != n.dtype ||
          (info_.dims[m] & ~all_dims) != 0 || (info_.dims[m] & info_.reduced_mask) != (all_dims & info_.reduced_mask))
        continue;
      stashed_ = m;
      const std::vector<bool> last = needed_by(inside, info_.max_depth);
      stashed_ = kNone;
      bool alone = last[m];
      for (std::uint32_t i = 0; i < k_.body.size(); ++i)
        if (last[i] && i != m && info_.dims[i] & info_.reduced_mask && (k_.body[i].kind == BodyNode::Kind::Load || k_.body[i].kind == BodyNode::Kind::Index)) alone = false;
      int cost = 0;
      const std::vector<bool> chain = needed_by({m}, info_.max_depth - 1);
      for (std::size_t i = 0; i < k_.body.size(); ++i)
        if (chain[i] && info_.dims[i] & info_.reduced_mask) cost += cost_of(k_, i);
      if (alone && cost >= 12) return m;
    }
    return kNone;
  }

  void accumulate(std::uint32_t r, Value** accs, int width) {
    const BodyNode& n = k_.body[r];
    const Val& x = value(n.a);
    const int turns = v_kept_ ? width : at_.steps;
    for (int s = 0; s < turns; ++s) {
      Value* v = e_.cast(k_.body[n.a].dtype, n.dtype, x[x.size() == 1 ? 0 : static_cast<std::size_t>(s)]);
      if (llvm::isa<llvm::VectorType>(accs[s]->getType())) v = e_.splat(v, plan_.lanes);
      Value* sum = combine(n, v, accs[s]);
      if (!v_kept_ && !at_.masks.empty()) sum = b_.CreateSelect(at_.masks[static_cast<std::size_t>(s)], sum, accs[s]);
      accs[s] = sum;
    }
  }

  Value* combine(const BodyNode& n, Value* x, Value* acc) {
    static constexpr ScalarOp kFold[] = {ScalarOp::Add, ScalarOp::Mul, ScalarOp::Max, ScalarOp::Min, ScalarOp::BitOr, ScalarOp::BitAnd};
    return e_.op(kFold[static_cast<int>(n.reduce)], n.dtype, n.dtype, x, acc);
  }

  // Note [Sums do not depend on the code]
  // Element j of a row goes to virtual lane j mod 64 (Float32), whatever the vector width and the unrolling: with
  // vectors of 16 there are 4 accumulators, with 8 there are 8. The lanes are then folded in halves: lane l with l + 32,
  // then l + 16, down to 1. Accumulators that took turns stand rotated by the number of steps; folding a list in halves
  // pairs the same ones under every rotation, and addition commutes, so the sum's bits are the same.
  Value* fold_lanes(const BodyNode& n, std::vector<Value*> accs) {
    for (std::size_t half = accs.size() / 2; half > 0; half /= 2)
      for (std::size_t j = 0; j < half; ++j) accs[j] = combine(n, accs[j], accs[j + half]);
    Value* v = accs[0];
    for (int half = plan_.lanes / 2; half > 0; half /= 2) {
      llvm::SmallVector<int, 32> low, high;
      for (int l = 0; l < half; ++l) low.push_back(l), high.push_back(l + half);
      if (half == 1) {
        v = combine(n, b_.CreateExtractElement(v, std::uint64_t{0}), b_.CreateExtractElement(v, std::uint64_t{1}));
      } else {
        v = combine(n, b_.CreateShuffleVector(v, low), b_.CreateShuffleVector(v, high));
      }
    }
    return v;
  }

  Value* identity(const BodyNode& n) {
    llvm::Type* t = e_.register_type(n.dtype);
    const bool floating = is_floating(n.dtype), top = n.reduce == ReduceOp::Max;
    switch (n.reduce) {
      case ReduceOp::Sum: case ReduceOp::Any: return llvm::Constant::getNullValue(t);
      case ReduceOp::Prod: return floating ? llvm::ConstantFP::get(t, 1) : llvm::ConstantInt::get(t, 1);
      case ReduceOp::All: return llvm::ConstantInt::getTrue(t);
      default: break;
    }
    if (floating) return llvm::ConstantFP::getInfinity(t, top);
    const unsigned bits = t->getIntegerBitWidth();
    const bool is_unsigned = n.dtype == DType::UInt8 || n.dtype == DType::Bool;
    const llvm::APInt least = is_unsigned ? llvm::APInt::getZero(bits) : llvm::APInt::getSignedMinValue(bits);
    const llvm::APInt most = is_unsigned ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getSignedMaxValue(bits);
    return llvm::ConstantInt::get(t, top ? least : most);
  }

  // -- values --------------------------------------------------------------------------------------------------------

  /// The nodes that `roots` need when the reductions of depth <= stage are finished.
  std::vector<bool> needed_by(const std::vector<std::uint32_t>& roots, int stage) const {
    std::vector<bool> need(k_.body.size(), false);
    for (std::uint32_t r : roots) need[r] = true;
    for (std::uint32_t i = static_cast<std::uint32_t>(k_.body.size()); i-- > 0;) {
      const BodyNode& n = k_.body[i];
      if (!need[i] || i == stashed_ || (n.kind == BodyNode::Kind::Reduce && info_.depth[i] <= stage)) continue;
      for (std::uint32_t o : {n.a, n.b, n.c})
        if (o != ~0u) need[o] = true;
      if (n.access != ~0u)
        for (const Access::Gather& g : k_.accesses[n.access].gathers) need[g.node] = true;
    }
    return need;
  }

  /// Computes here what the loops below would compute again and again.
  void hoist(const std::vector<bool>& need, std::uint32_t dims, int stage) {
    for (std::uint32_t i = 0; i < k_.body.size(); ++i) {
      const BodyNode::Kind kind = k_.body[i].kind;
      if (need[i] && kind != BodyNode::Kind::Reduce && kind != BodyNode::Kind::Store && at_.vals[i].empty() &&
          info_.depth[i] <= stage && (info_.dims[i] & ~dims) == 0)
        evaluate(i);
    }
  }

  const Val& value(std::uint32_t node) {
    if (at_.vals[node].empty()) evaluate(node);
    return at_.vals[node];
  }

  bool is_vector(std::uint32_t node) const { return info_.dims[node] & vbit_; }

  void evaluate(std::uint32_t i) {
    const BodyNode& n = k_.body[i];
    const bool stashed = i == stashed_;
    for (std::uint32_t o : {n.a, n.b, n.c})
      if (o != ~0u && !stashed) value(o);
    Val v;
    const int steps = is_vector(i) ? at_.steps : 1;
    for (int s = 0; s < steps; ++s) v.push_back(stashed ? load(stashed_at_, s, plan_.lanes) : compute(i, n, s));
    at_.vals[i] = std::move(v);
  }

  Value* operand(std::uint32_t node, int step, int lanes) {
    const Val& v = at_.vals[node];
    return e_.splat(v[v.size() == 1 ? 0 : static_cast<std::size_t>(step)], lanes);
  }

  Value* compute(std::uint32_t i, const BodyNode& n, int step) {
    const int lanes = is_vector(i) ? plan_.lanes : 0;
    auto get = [&](std::uint32_t o) { return o == ~0u ? nullptr : operand(o, step, lanes); };
    switch (n.kind) {
      case BodyNode::Kind::Const: {
        llvm::Type* t = e_.register_type(n.dtype);
        if (!is_floating(n.dtype)) return llvm::ConstantInt::get(t, static_cast<std::uint64_t>(n.iimm), true);
        Value* f = n.dtype == DType::Float64 ? llvm::ConstantFP::get(t, n.fimm) : llvm::ConstantFP::get(t, static_cast<double>(static_cast<float>(n.fimm)));
        return is_low_precision(n.dtype) ? e_.cast(DType::Float32, n.dtype, f) : f;
      }
      case BodyNode::Kind::Param: return e_.cast(DType::Int64, n.dtype, param(slots_.params[i]));
      case BodyNode::Kind::Index: {
        if (n.iimm != vdim_) return e_.cast(DType::Int64, n.dtype, at_.index[static_cast<std::size_t>(n.iimm)]);
        Value* first = b_.CreateAdd(at_.vector_index, e_.i64(step * plan_.lanes));
        llvm::Type* t = e_.register_type(n.dtype);
        return b_.CreateAdd(e_.splat(b_.CreateTrunc(first, t), lanes), e_.iota(t, lanes));
      }
      case BodyNode::Kind::Load: return load(n.access, step, lanes);
      case BodyNode::Kind::Op: return e_.op(n.op, n.dtype, k_.body[n.a].dtype, get(n.a), get(n.b), get(n.c));
      case BodyNode::Kind::Cast: return e_.cast(k_.body[n.a].dtype, n.dtype, get(n.a));
      default: return nullptr;  // Reduce is set by its stage, Store by store()
    }
  }

  // -- memory --------------------------------------------------------------------------------------------------------

  /// The address of one access at one step: `base`, and for what is not one run of elements, an offset for each lane.
  struct Place {
    Value* base;
    Value* offsets = nullptr;
  };

  Place place(std::uint32_t access, int step, int lanes, Value* mask) {
    const Access& a = k_.accesses[access];
    Place p{at_.address[access]};
    const Int stride = lanes ? a.strides[static_cast<std::size_t>(vdim_)] : Int(0);
    const bool moves = !kernels::is_plain(stride, 0);
    if (moves) {
      Value* first = b_.CreateMul(at_.vector_index, strides_[access][static_cast<std::size_t>(vdim_)]);
      p.base = e_.at(element(access), p.base, first);
      if (step > 0) {
        Value* ahead = b_.CreateMul(e_.i64(step * plan_.lanes), strides_[access][static_cast<std::size_t>(vdim_)]);
        p.base = e_.at(element(access), p.base, ahead);
      }
      if (!kernels::is_plain(stride, 1)) p.offsets = lane_offsets_[access];
    }
    for (std::size_t g = 0; g < a.gathers.size(); ++g) {
      const std::uint32_t node = a.gathers[g].node;
      Value* index = operand(node, step, 0);
      index = e_.cast(k_.body[node].dtype, DType::Int64, index);
      auto shaped = [&](Value* v) { return e_.splat(v, Emitter::lanes_of(index)); };
      Value* wrapped = b_.CreateAdd(index, shaped(gather_extents_[access][g]));
      index = b_.CreateSelect(b_.CreateICmpSLT(index, e_.integer(index, 0)), wrapped, index);
      index = b_.CreateMul(index, shaped(gather_strides_[access][g]));
      if (!Emitter::lanes_of(index)) {
        p.base = e_.at(element(access), p.base, index);
      } else {
        if (!p.offsets) p.offsets = moves ? e_.iota(b_.getInt64Ty(), lanes) : llvm::Constant::getNullValue(e_.i(64, lanes));
        p.offsets = b_.CreateAdd(p.offsets, index);
      }
    }
    if (p.offsets && mask)  // lanes beyond the end: the first lane's address, which is one
      p.offsets = b_.CreateSelect(mask, p.offsets, e_.splat(b_.CreateExtractElement(p.offsets, std::uint64_t{0}), lanes));
    return p;
  }

  Value* step_mask(int step) const { return at_.masks.empty() ? nullptr : at_.masks[static_cast<std::size_t>(step)]; }

  Value* load(std::uint32_t access, int step, int lanes) {
    for (const Access::Gather& g : k_.accesses[access].gathers) value(g.node);
    const DType memory = k_.buffers[k_.accesses[access].buffer].dtype;
    Value* mask = lanes ? step_mask(step) : nullptr;
    const Place p = place(access, step, lanes, mask);
    return p.offsets ? e_.gather(memory, p.base, p.offsets, mask) : e_.load(memory, p.base, lanes, mask);
  }

  void store(std::uint32_t i) { write(k_.body[i], k_.body[i].a, k_.body[i].b); }

  /// The value of node `from` to where the store `n` writes.
  void write(const BodyNode& n, std::uint32_t from, std::uint32_t predicate_node) {
    value(from);
    if (predicate_node != kNone) value(predicate_node);
    for (const Access::Gather& g : k_.accesses[n.access].gathers) value(g.node);
    bool vector = !kernels::is_plain(vdim_ < 0 ? Int(0) : k_.accesses[n.access].strides[static_cast<std::size_t>(vdim_)], 0);
    for (const Access::Gather& g : k_.accesses[n.access].gathers) vector |= is_vector(g.node);
    const int steps = vector ? at_.steps : 1, lanes = vector ? plan_.lanes : 0;
    for (int s = 0; s < steps; ++s) {
      Value* mask = vector ? step_mask(s) : nullptr;
      auto put = [&] {
        const Place p = place(n.access, s, lanes, mask);
        Value* v = operand(from, s, lanes);
        if (!vector && Emitter::lanes_of(v)) v = b_.CreateExtractElement(v, std::uint64_t{0});
        if (p.offsets) e_.scatter(n.dtype, v, p.base, p.offsets, mask);
        else e_.store(n.dtype, v, p.base, mask);
      };
      if (predicate_node == kNone) {
        put();
        continue;
      }
      Value* predicate = operand(predicate_node, s, lanes);
      if (!vector) {
        emit_if(e_, predicate, put);
      } else {
        mask = mask ? b_.CreateAnd(mask, predicate) : predicate;
        put();
      }
    }
  }

  EmitContext& cx_;
  Emitter e_;
  llvm::IRBuilder<>& b_;
  const LoopKernel& k_;
  const kernels::LoopAnalysis info_;
  const kernels::ParamSlots slots_;
  const LoopPlan plan_;
  const int vdim_, rank_;
  std::uint32_t vbit_ = 0;
  bool v_kept_ = false;

  std::uint32_t stashed_ = kNone, stashed_at_ = kNone;  // during the last run: a node that is loaded, and its access
  llvm::Function* f_ = nullptr;
  std::vector<Value*> extents_;
  std::vector<std::vector<Value*>> strides_, gather_strides_, gather_extents_;  // by access
  std::vector<Value*> lane_offsets_;                                            // by access: lane * stride of the vector dim
  Position at_;
};

}  // namespace

CodePtr compile(const LoopKernel& k) {
  return compile_module(kernels::canonical_text(k), [&](EmitContext& cx) {
    kernels::verify(k);
    LoopEmitter(cx, k).run();
  });
}

std::string llvm_ir(const LoopKernel& k) {
  kernels::verify(k);
  return ir_text([&](EmitContext& cx) { LoopEmitter(cx, k).run(); });
}

}  // namespace reprise::jit
