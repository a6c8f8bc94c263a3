// A LoopKernel as LLVM IR.
//
//   for each task:                     a point of the kept dims (a chunk of the vector dim, when that is kept)
//     what varies with nothing deeper  scalars, computed once
//     vector dim kept:    for each vector of it: { for each stage: reduced loops, accumulators are vectors } stores
//     vector dim reduced: for each stage: { reduced loops, the vector dim innermost; fold the accumulators } stores
//
// A stage is one run of the reduced loops: it finishes the reductions that depend on those of earlier stages, and
// computes anew what it needs. A last run makes the stores that vary over reduced dims.
#include "jit/cpu/loop/emitter.h"

#include <bit>

#include "jit/cpu/loop/compile.h"
#include "jit/engine/target.h"

namespace reprise::jit {

void LoopEmitter::run() {
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
  plan_rows();
  tasks(begin, end);
  if (streams_ && makes_x86())
    emit_if(e_, streams_, [&] { b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {}); });
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  b_.CreateRetVoid();
}

Value* LoopEmitter::param(int slot) {
  return b_.CreateAlignedLoad(b_.getInt64Ty(),
                              b_.CreateConstGEP1_64(b_.getInt64Ty(), f_->getArg(1), static_cast<std::uint64_t>(slot)),
                              llvm::Align(8));
}

void LoopEmitter::load_arguments() {
  for (int slot : slots_.extents) extents_.push_back(param(slot));
  std::vector<Value*> bases;
  for (std::size_t i = 0; i < k_.buffers.size(); ++i)
    bases.push_back(
        b_.CreateAlignedLoad(b_.getPtrTy(), b_.CreateConstGEP1_64(b_.getPtrTy(), f_->getArg(0), i), llvm::Align(8)));
  strides_.resize(k_.accesses.size());
  gather_strides_.resize(k_.accesses.size());
  gather_extents_.resize(k_.accesses.size());
  lane_offsets_.resize(k_.accesses.size());
  at_.index.resize(k_.extents.size());
  at_.vals.resize(k_.body.size());
  at_.found.resize(k_.accesses.size());
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
      lane_offsets_[i] = b_.CreateMul(e_.iota(b_.getInt64Ty(), plan_.lanes),
                                      e_.splat(strides_[i][static_cast<std::size_t>(vdim_)], plan_.lanes));
  }
  for (std::size_t i = 0; i < k_.body.size(); ++i) {
    const BodyNode& n = k_.body[i];
    if (n.kind == BodyNode::Kind::Const || n.kind == BodyNode::Kind::Param) evaluate(static_cast<std::uint32_t>(i));
  }
}

void LoopEmitter::enter(int d, Value* index) {
  at_.dims |= 1u << d;
  at_.index[static_cast<std::size_t>(d)] = index;
  for (std::size_t i = 0; i < k_.accesses.size(); ++i)
    if (!kernels::is_plain(k_.accesses[i].strides[static_cast<std::size_t>(d)], 0))
      at_.address[i] = e_.at(element(i), at_.address[i], b_.CreateMul(index, strides_[i][static_cast<std::size_t>(d)]));
}

void LoopEmitter::tasks(Value* begin, Value* end) {
  std::vector<int> dims;
  for (int d = 0; d < k_.n_kept; ++d)
    if (d != vdim_ && d != tiling_.dim) dims.push_back(d);
  std::vector<Value*> counts;
  for (int d : dims) counts.push_back(extents_[static_cast<std::size_t>(d)]);
  const bool chunks = v_kept_ && vdim_ >= 0, tiled = tiling_.dim >= 0;
  auto count = [&](int d, std::int64_t size) {
    Value* n = extents_[static_cast<std::size_t>(d)];
    counts.push_back(b_.CreateLShr(b_.CreateAdd(n, e_.i64(size - 1)),
                                   static_cast<std::uint64_t>(std::countr_zero(static_cast<std::uint64_t>(size)))));
  };
  if (tiled) count(tiling_.dim, kernels::kBlockRows);
  if (chunks) count(vdim_, tiled ? kernels::kBlockColumns : kernels::kChunk);
  std::vector<Value*> at(counts.size());
  Value* rest = begin;
  for (std::size_t j = counts.size(); j-- > 0;) {
    at[j] = j == 0 ? rest : b_.CreateURem(rest, counts[j]);
    if (j > 0) rest = b_.CreateUDiv(rest, counts[j]);
  }
  emit_loop(
      e_, begin, end, e_.i64(1), at,
      [&](Value*) {
        scope([&] {
          for (std::size_t j = 0; j < dims.size(); ++j) enter(dims[j], at[j]);
          task(tiled ? at[dims.size()] : nullptr, chunks ? at.back() : nullptr);
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
      },
      "task");
}

void LoopEmitter::task(Value* rows, Value* chunk) {
  std::vector<bool> all(k_.body.size(), true);
  hoist(all, at_.dims, 0);
  if (rows) return block(rows, chunk);
  std::vector<Value*> none;
  if (v_kept_ && vdim_ >= 0) {
    Value* from = b_.CreateMul(chunk, e_.i64(kernels::kChunk));
    Value* to = e_.call(llvm::Intrinsic::smin, b_.CreateAdd(from, e_.i64(kernels::kChunk)),
                        extents_[static_cast<std::size_t>(vdim_)]);
    vector_loop(all, from, to, none, [&](std::vector<Value*>&) { point(); });
  } else {
    point();
  }
}

void LoopEmitter::point() {
  const Stores stores(k_, info_);
  const std::uint32_t stash = v_kept_ ? kNone : node_to_stash(stores.inside);
  if (stash != kNone && stash_room_)
    stash_base_ = b_.CreateSelect(streams_, stash_room_, at_.address[k_.body[stores.inside[0]].access]);
  for (int stage = 0; stage + 1 < info_.max_depth; ++stage) reduce_stage(stage, kNone, kNone);
  const std::uint32_t room = stash == kNone && !v_kept_ ? node_for_room(stores.inside) : kNone;
  if (room == kNone) return finish_point(stores, stash, false);
  with_room(room, [&](std::uint32_t node) { finish_point(stores, node, node != kNone); });
}

void LoopEmitter::finish_point(const Stores& stores, std::uint32_t stash, bool in_room) {
  const std::vector<std::uint32_t>& inside = stores.inside;
  stash_in_room_ = in_room;
  if (info_.max_depth > 0) reduce_stage(info_.max_depth - 1, stash != kNone ? inside[0] : kNone, stash);
  if (!inside.empty() || !stores.per_part.empty()) {
    stashed_ = stash, stashed_at_ = stash == kNone ? kNone : k_.body[inside[0]].access;
    std::vector<Value*> none;
    roots_ = inside;
    roots_.insert(roots_.end(), stores.per_part.begin(), stores.per_part.end());
    last_run_ = &stores;
    const std::vector<bool> need = needed_by(k_, info_, roots_, info_.max_depth, stashed_);
    nest(k_.n_kept, need, info_.max_depth, none, [&](std::vector<Value*>&) {
      if (info_.max_depth == 1) prefetch_rows(need);
      streaming_ = streams_ != nullptr;
      store_all(inside);
      streaming_ = false;
    });
    last_run_ = nullptr;
    stashed_ = kNone;
  }
  stash_in_room_ = false;
  streaming_ = streams_ != nullptr && k_.n_kept == rank_;
  store_all(stores.here);
  streaming_ = false;
}

void LoopEmitter::store_all(const std::vector<std::uint32_t>& stores) {
  for (std::uint32_t s : stores) {
    const BodyNode& n = k_.body[s];
    value(n.a);
    if (n.b != kNone) value(n.b);
    for (const Access::Gather& g : k_.accesses[n.access].gathers) value(g.node);
  }
  if (at_.whole && store_together(stores)) return;
  for (std::uint32_t s : stores) store(s);
}

void LoopEmitter::nest(int d, const std::vector<bool>& need, int stage, std::vector<Value*>& carried,
                       const std::function<void(std::vector<Value*>&)>& body) {
  hoist(need, at_.dims | (v_kept_ ? vbit_ : 0), stage);
  if (k_.n_parts > 0 && !at_.in_part) {
    if (d == k_.n_kept && takes_row_in_line(need))
      return scope([&] {
        at_.in_part = true;
        at_.dims |= info_.parts_mask;
        at_.run_length =
            b_.CreateMul(extents_[static_cast<std::size_t>(k_.n_kept)], extents_[static_cast<std::size_t>(vdim_)]);
        nest(rank_, need, stage, carried, body);
      });
    if (d == inside_) return scope([&] { part(need, stage, carried, body); });
  }
  if (d < rank_ && (d == vdim_ || at_.dims >> d & 1)) return nest(d + 1, need, stage, carried, body);
  if (d < rank_) {
    const auto [begin, end] = range(d);
    return emit_loop(
        e_, begin, end, e_.i64(1), carried,
        [&](Value* index) {
          scope([&] {
            enter(d, index);
            nest(d + 1, need, stage, carried, body);
          });
        },
        "reduced");
  }
  if (v_kept_) return body(carried);
  const auto [begin, end] = range(vdim_);
  vector_loop(need, begin, end, carried, body);
}

std::pair<Value*, Value*> LoopEmitter::range(int d) {
  if (d == blocked_dim_) return block_;
  return {e_.i64(0), d == vdim_ && at_.run_length ? at_.run_length : extents_[static_cast<std::size_t>(d)]};
}

void LoopEmitter::vector_loop(const std::vector<bool>& need, Value* begin, Value* end, std::vector<Value*>& carried,
                              const std::function<void(std::vector<Value*>&)>& body) {
  int cost = 0;
  for (std::size_t i = 0; i < k_.body.size(); ++i)
    if (need[i] && at_.vals[i].empty()) cost += reads_found_row(i) ? 1 : cost_of(k_, i);
  const Steps steps = plan_.steps(cost);
  const int lanes = plan_.lanes, group = lanes * steps.unroll;
  auto inside = [&](Value* iv, int count, bool masked) {
    scope([&] {
      at_.dims |= vbit_;
      at_.vector_index = iv;
      at_.steps = count;
      at_.whole = nullptr;
      if (masked) {
        Value* remaining = b_.CreateSub(end, iv);
        at_.masks.push_back(e_.lane_mask(remaining, lanes));
        if (steps.masked_only) at_.whole = b_.CreateICmpSGE(remaining, e_.i64(lanes));
      }
      if (at_.whole) load_together(need);
      body(carried);
    });
  };
  Value* from = begin;
  if (!steps.masked_only) {
    auto whole = [&](int elements) {
      return b_.CreateAdd(begin, b_.CreateAnd(b_.CreateSub(end, begin), e_.i64(-elements)));
    };
    from = whole(group);
    auto groups = [&] {
      auto one = [&](Value* iv) { inside(iv, steps.unroll, false); };
      if (!carried.empty()) return emit_loop(e_, begin, from, e_.i64(group), carried, one, "vector");
      Value* rest = begin;
      if (steps.twice) {
        rest = whole(2 * group);
        emit_runs(
            e_, begin, rest, e_.i64(2 * group), [&](Value* iv) { inside(iv, 2 * steps.unroll, false); }, "vectors");
      }
      emit_runs(e_, rest, from, e_.i64(group), one, "vector");
    };
    if (k_.n_kept == rank_) for_both_stores(groups);  // nothing is carried
    else groups();
    if (plan_.short_rows) {
      Value* vectors = whole(lanes);
      emit_loop(
          e_, from, vectors, e_.i64(lanes), carried, [&](Value* iv) { inside(iv, 1, false); }, "vector");
      from = vectors;
    }
  }
  emit_loop(
      e_, from, end, e_.i64(lanes), carried, [&](Value* iv) { inside(iv, 1, true); },
      steps.masked_only ? "vector" : "tail");
}

CodePtr compile(const LoopKernel& k) {
  return compile_module(
      kernels::canonical_text(k),
      [&](EmitContext& cx) {
        kernels::verify(k);
        LoopEmitter(cx, k).run();
      },
      k.name);
}

std::string llvm_ir(const LoopKernel& k) {
  kernels::verify(k);
  return ir_text([&](EmitContext& cx) { LoopEmitter(cx, k).run(); });
}

}  // namespace reprise::jit
