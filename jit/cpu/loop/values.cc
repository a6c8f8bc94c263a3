// Values and memory accesses of a loop kernel's body.
#include "jit/cpu/loop/emitter.h"

namespace reprise::jit {

void LoopEmitter::hoist(const std::vector<bool>& need, std::uint32_t dims, int stage) {
  for (std::uint32_t i = 0; i < k_.body.size(); ++i) {
    const BodyNode::Kind kind = k_.body[i].kind;
    if (need[i] && kind != BodyNode::Kind::Reduce && kind != BodyNode::Kind::Store && at_.vals[i].empty() &&
        info_.depth[i] <= stage && info_.part_depth[i] <= at_.part_stage && (info_.dims[i] & ~dims) == 0)
      evaluate(i);
  }
  // The row of a table that is read or written here is found once.
  for (std::size_t a = 0; a < k_.accesses.size(); ++a)
    for (std::size_t g = 0; g < k_.accesses[a].gathers.size(); ++g) {
      const Val& at = at_.vals[k_.accesses[a].gathers[g].node];
      if (at_.found[a] >> g & 1 || at.size() != 1 || Emitter::lanes_of(at[0])) continue;
      at_.address[a] = e_.at(element(a), at_.address[a], gathered(a, g, at[0]));
      at_.found[a] |= 1u << g;
    }
}

Value* LoopEmitter::gathered(std::size_t access, std::size_t g, Value* index) {
  index = e_.cast(k_.body[k_.accesses[access].gathers[g].node].dtype, DType::Int64, index);
  auto shaped = [&](Value* v) { return e_.splat(v, Emitter::lanes_of(index)); };
  Value* wrapped = b_.CreateAdd(index, shaped(gather_extents_[access][g]));
  index = b_.CreateSelect(b_.CreateICmpSLT(index, e_.integer(index, 0)), wrapped, index);
  return b_.CreateMul(index, shaped(gather_strides_[access][g]));
}

const Val& LoopEmitter::value(std::uint32_t node) {
  if (at_.vals[node].empty()) evaluate(node);
  return at_.vals[node];
}

void LoopEmitter::evaluate(std::uint32_t i) {
  const BodyNode& n = k_.body[i];
  const bool stashed = i == stashed_;
  for (std::uint32_t o : {n.a, n.b, n.c})
    if (o != ~0u && !stashed) value(o);
  Val v;
  const int steps = is_vector(i) ? at_.steps : 1;
  for (int s = 0; s < steps; ++s) {
    if (!stashed) v.push_back(compute(i, n, s));
    else if (stash_in_room_) v.push_back(e_.load(DType::Float32, in_room(s), plan_.lanes, step_mask(s)));
    else based_at(stashed_at_, stash_base_, [&] { v.push_back(load(stashed_at_, s, plan_.lanes)); });
  }
  at_.vals[i] = std::move(v);
}

Value* LoopEmitter::operand(std::uint32_t node, int step, int lanes) {
  const Val& v = at_.vals[node];
  return e_.splat(v[v.size() == 1 ? 0 : static_cast<std::size_t>(step)], lanes);
}

Value* LoopEmitter::compute(std::uint32_t i, const BodyNode& n, int step) {
  const int lanes = is_vector(i) ? plan_.lanes : 0;
  auto get = [&](std::uint32_t o) { return o == ~0u ? nullptr : operand(o, step, lanes); };
  switch (n.kind) {
    case BodyNode::Kind::Const: return constant_of(e_, n);
    case BodyNode::Kind::Param:
      if (n.bits) return e_.cast(DType::Float64, n.dtype, b_.CreateBitCast(param(slots_.params[i]), b_.getDoubleTy()));
      return e_.cast(DType::Int64, n.dtype, param(slots_.params[i]));
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

LoopEmitter::Place LoopEmitter::place(std::uint32_t access, int step, int lanes, Value* mask) {
  const Access& a = k_.accesses[access];
  Place p{at_.address[access]};
  const Int stride = lanes ? a.strides[static_cast<std::size_t>(vdim_)] : Int(0);
  const bool moves = !kernels::is_plain(stride, 0);
  if (moves) {
    auto moved = [&](Value* by) {
      return kernels::is_plain(stride, 1) ? by : b_.CreateMul(by, strides_[access][static_cast<std::size_t>(vdim_)]);
    };
    p.base = e_.at(element(access), p.base, moved(at_.vector_index));
    if (step > 0) p.base = e_.at(element(access), p.base, moved(e_.i64(step * plan_.lanes)));
    if (!kernels::is_plain(stride, 1)) p.offsets = lane_offsets_[access];
  }
  for (std::size_t g = 0; g < a.gathers.size(); ++g) {
    if (at_.found[access] >> g & 1) continue;
    Value* index = gathered(access, g, operand(a.gathers[g].node, step, 0));
    if (!Emitter::lanes_of(index)) {
      p.base = e_.at(element(access), p.base, index);
    } else {
      if (!p.offsets)
        p.offsets = moves ? e_.iota(b_.getInt64Ty(), lanes) : llvm::Constant::getNullValue(e_.i(64, lanes));
      p.offsets = b_.CreateAdd(p.offsets, index);
    }
  }
  if (p.offsets && mask)  // lanes beyond the end: the first lane's address, which is one
    p.offsets = b_.CreateSelect(mask, p.offsets, e_.splat(b_.CreateExtractElement(p.offsets, std::uint64_t{0}), lanes));
  return p;
}

Value* LoopEmitter::load(std::uint32_t access, int step, int lanes) {
  for (const Access::Gather& g : k_.accesses[access].gathers) value(g.node);
  const DType memory = k_.buffers[k_.accesses[access].buffer].dtype;
  Value* mask = lanes ? step_mask(step) : nullptr;
  const Place p = place(access, step, lanes, mask);
  return p.offsets ? e_.gather(memory, p.base, p.offsets, mask) : e_.load(memory, p.base, lanes, mask, at_.whole);
}

void LoopEmitter::load_together(const std::vector<bool>& need) {
  constexpr std::size_t kMost = 8;  // they all wait in registers
  struct One {
    std::uint32_t node;
    DType dtype;
    Value *base, *all = nullptr, *some = nullptr;
  };
  std::vector<One> loads;
  for (std::uint32_t i = 0; i < k_.body.size() && loads.size() < kMost; ++i) {
    const BodyNode& n = k_.body[i];
    if (!need[i] || n.kind != BodyNode::Kind::Load || i == stashed_ || !at_.vals[i].empty() ||
        (info_.dims[i] & ~at_.dims) || !is_run(n.access))
      continue;
    loads.push_back({i, k_.buffers[k_.accesses[n.access].buffer].dtype, place(n.access, 0, plan_.lanes, nullptr).base});
  }
  if (loads.size() < 2) return;
  llvm::BasicBlock* blocks[2];
  auto type = [&](const One& l) { return e_.memory_type(l.dtype, plan_.lanes); };
  auto align = [](const One& l) { return llvm::Align(static_cast<std::uint64_t>(item_size(l.dtype))); };
  emit_if(
      e_, at_.whole,
      [&] {
        for (One& l : loads) l.all = b_.CreateAlignedLoad(type(l), l.base, align(l));
        blocks[0] = b_.GetInsertBlock();
      },
      [&] {
        for (One& l : loads)
          l.some = b_.CreateMaskedLoad(type(l), l.base, align(l), step_mask(0), llvm::Constant::getNullValue(type(l)));
        blocks[1] = b_.GetInsertBlock();
      });
  std::vector<llvm::PHINode*> loaded;
  for (const One& l : loads) {
    loaded.push_back(b_.CreatePHI(type(l), 2));
    loaded.back()->addIncoming(l.all, blocks[0]), loaded.back()->addIncoming(l.some, blocks[1]);
  }
  for (std::size_t k = 0; k < loads.size(); ++k) at_.vals[loads[k].node] = {e_.to_register(loads[k].dtype, loaded[k])};
}

bool LoopEmitter::store_together(const std::vector<std::uint32_t>& stores) {
  if (stores.size() < 2 || streaming_) return false;
  for (std::uint32_t s : stores)
    if (k_.body[s].b != kNone || !is_run(k_.body[s].access)) return false;
  struct One {
    Value *base, *value;
    llvm::Align align;
  };
  std::vector<One> all;
  for (std::uint32_t s : stores) {
    const BodyNode& n = k_.body[s];
    const std::uint32_t from = kernels::stored_value(k_, n);
    value(from);
    all.push_back({place(n.access, 0, plan_.lanes, nullptr).base, e_.to_memory(n.dtype, operand(from, 0, plan_.lanes)),
                   llvm::Align(static_cast<std::uint64_t>(item_size(n.dtype)))});
  }
  emit_if(
      e_, at_.whole,
      [&] {
        for (const One& o : all) b_.CreateAlignedStore(o.value, o.base, o.align);
      },
      [&] {
        for (const One& o : all) b_.CreateMaskedStore(o.value, o.base, o.align, step_mask(0));
      });
  return true;
}

void LoopEmitter::write(const BodyNode& n, std::uint32_t from, std::uint32_t predicate_node) {
  value(from);
  if (predicate_node != kNone) value(predicate_node);
  for (const Access::Gather& g : k_.accesses[n.access].gathers) value(g.node);
  bool vector =
      !kernels::is_plain(vdim_ < 0 ? Int(0) : k_.accesses[n.access].strides[static_cast<std::size_t>(vdim_)], 0);
  for (const Access::Gather& g : k_.accesses[n.access].gathers) vector |= is_vector(g.node);
  const int steps = vector ? at_.steps : 1, lanes = vector ? plan_.lanes : 0;
  auto each_step = [&](bool past_caches) {
    for (int s = 0; s < steps; ++s) {
      Value* mask = vector ? step_mask(s) : nullptr;
      Value* whole = mask ? at_.whole : nullptr;
      auto put = [&] {
        const Place p = place(n.access, s, lanes, mask);
        Value* v = operand(from, s, lanes);
        if (!vector && Emitter::lanes_of(v)) v = b_.CreateExtractElement(v, std::uint64_t{0});
        if (past_caches) e_.store_streaming(n.dtype, v, p.base);
        else if (p.offsets) e_.scatter(n.dtype, v, p.base, p.offsets, mask);
        else e_.store(n.dtype, v, p.base, mask, whole);
      };
      if (predicate_node == kNone) {
        put();
        continue;
      }
      const bool for_all = !vector || !is_vector(predicate_node);
      Value* predicate = operand(predicate_node, s, for_all ? 0 : lanes);
      if (for_all) {
        emit_if(e_, predicate, put);
      } else {
        mask = mask ? b_.CreateAnd(mask, predicate) : predicate;
        whole = nullptr;
        put();
      }
    }
  };
  if (streaming_ && streams_here_) each_step(*streams_here_ && vector && at_.masks.empty());
  else if (streaming_ && vector && (at_.masks.empty() || at_.whole))
    emit_if(
        e_, at_.whole ? b_.CreateAnd(streams_, at_.whole) : streams_, [&] { each_step(true); },
        [&] { each_step(false); });
  else each_step(false);
}

}  // namespace reprise::jit
