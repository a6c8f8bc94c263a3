// Values and memory accesses of a loop kernel's body in one thread.
#include "jit/gpu/loop/emitter.h"

namespace reprise::jit {

using kernels::is_plain;
using llvm::Value;

bool GpuLoopEmitter::access_varies(std::size_t access) const {
  if (!in_run()) return false;
  const Access& a = k_.accesses[access];
  bool r = !is_plain(a.strides[static_cast<std::size_t>(vdim_)], 0);
  for (const Access::Gather& g : a.gathers) r |= varies(g.node);
  return r;
}

void GpuLoopEmitter::hoist(const std::vector<bool>& need, int stage) {
  for (std::uint32_t i = 0; i < k_.body.size(); ++i) {
    const BodyNode::Kind kind = k_.body[i].kind;
    if (need[i] && kind != BodyNode::Kind::Reduce && kind != BodyNode::Kind::Store && at_.vals[i].empty() &&
        info_.depth[i] <= stage && info_.part_depth[i] <= at_.part_stage && (info_.dims[i] & ~at_.dims) == 0)
      evaluate(i);
  }
}

const GpuLoopEmitter::Val& GpuLoopEmitter::value(std::uint32_t node) {
  if (at_.vals[node].empty()) evaluate(node);
  return at_.vals[node];
}

void GpuLoopEmitter::evaluate(std::uint32_t i) {
  const BodyNode& n = k_.body[i];
  for (std::uint32_t o : {n.a, n.b, n.c})
    if (o != ~0u) value(o);
  Val v;
  if (n.kind == BodyNode::Kind::Load) {
    v = load(n.access);
  } else {
    const int elements = varies(i) ? count() : 1;
    for (int j = 0; j < elements; ++j) v.push_back(compute(i, j));
  }
  at_.vals[i] = std::move(v);
}

Value* GpuLoopEmitter::compute(std::uint32_t i, int j) {
  const BodyNode& n = k_.body[i];
  auto get = [&](std::uint32_t o) { return o == ~0u ? nullptr : operand(o, j); };
  switch (n.kind) {
    case BodyNode::Kind::Const: return constant_of(e_, n);
    case BodyNode::Kind::Param:
      if (n.bits)
        return e_.cast(DType::Float64, n.dtype, b_.CreateBitCast(float_bits(slots_.params[i]), b_.getDoubleTy()));
      return e_.cast(DType::Int64, n.dtype, param(slots_.params[i]));
    case BodyNode::Kind::Index:
      return e_.cast(
          DType::Int64, n.dtype,
          b_.CreateSExt(in_run() && n.iimm == vdim_ ? element_index(j) : at_.index[static_cast<std::size_t>(n.iimm)],
                        b_.getInt64Ty()));
    case BodyNode::Kind::Op:
      if (Value* v = rounded_[i] ? compute_rounded(i, j) : nullptr) return v;
      return e_.op(n.op, n.dtype, k_.body[n.a].dtype, get(n.a), get(n.b), get(n.c));
    case BodyNode::Kind::Cast: return e_.cast(k_.body[n.a].dtype, n.dtype, get(n.a));
    default: return nullptr;  // Reduce is set by its stage; Load and Store have functions of their own
  }
}

/// Elements beyond the end stand at the first one: it can be accessed, and nothing is made of them.
Value* GpuLoopEmitter::element_index(int j) {
  Value* at = j ? b_.CreateAdd(at_.first, idx(j)) : at_.first;
  return j && !at_.masks.empty() ? b_.CreateSelect(at_.masks[static_cast<std::size_t>(j)], at, at_.first) : at;
}

Value* GpuLoopEmitter::place(std::size_t access, int j) {
  const Access& a = k_.accesses[access];
  Value* offset = at_.offset[access];
  if (in_run() && !is_plain(a.strides[static_cast<std::size_t>(vdim_)], 0))
    offset = advance(offset, element_index(j), strides_[access][static_cast<std::size_t>(vdim_)]);
  for (std::size_t g = 0; g < a.gathers.size(); ++g) {
    const std::uint32_t node = a.gathers[g].node;
    Value* index = e_.cast(k_.body[node].dtype, DType::Int64, operand(node, j));
    Value* wrapped = b_.CreateAdd(index, gather_extents_[access][g]);
    index = b_.CreateSelect(b_.CreateICmpSLT(index, e_.i64(0)), wrapped, index);
    // A check beside this kernel reports what is out of range; here it must only not be followed.
    index = b_.CreateSelect(b_.CreateICmpULT(index, gather_extents_[access][g]), index, e_.i64(0));
    offset = advance(offset, as_index(index), gather_strides_[access][g]);
  }
  return offset ? e_.at(element(access), base_[access], offset) : base_[access];
}

GpuLoopEmitter::Val GpuLoopEmitter::load(std::size_t access) {
  for (const Access::Gather& g : k_.accesses[access].gathers) value(g.node);
  const DType memory = k_.buffers[k_.accesses[access].buffer].dtype;
  Val v;
  if (!access_varies(access)) {
    v.push_back(e_.load_one(memory, place(access, 0)));
  } else if (aligned_ && is_run_access(k_, info_, access, vdim_)) {
    const auto run = e_.load_run(memory, place(access, 0), s_.run, run_bytes(access));
    v.append(run.begin(), run.end());
  } else {
    for (int j = 0; j < s_.run; ++j) v.push_back(e_.load_one(memory, place(access, j)));
  }
  return v;
}

void GpuLoopEmitter::evaluate_stored(const std::vector<std::uint32_t>& stores) {
  for (std::uint32_t s : stores) {
    const BodyNode& n = k_.body[s];
    value(n.a);
    if (n.b != ~0u) value(n.b);
    for (const Access::Gather& g : k_.accesses[n.access].gathers) value(g.node);
  }
}

/// Every value first, then the stores: a store may overwrite, at this very index, what another one's value still has to
/// load (an argument written in place).
void GpuLoopEmitter::store_all(const std::vector<std::uint32_t>& stores) {
  evaluate_stored(stores);
  for (std::uint32_t s : stores) store(k_.body[s]);
}

void GpuLoopEmitter::store(const BodyNode& n) {
  const bool several = access_varies(n.access);
  const std::uint32_t from = kernels::stored_value(k_, n);
  auto guarded = [&](Value* condition, const std::function<void()>& write) {
    if (writes_) condition = condition ? b_.CreateAnd(condition, writes_) : writes_;
    condition ? emit_if(e_, condition, write) : write();
  };
  if (several && aligned_ && (n.b == ~0u || !varies(n.b)) && is_run_access(k_, info_, n.access, vdim_)) {
    llvm::SmallVector<Value*, 16> run;
    for (int j = 0; j < s_.run; ++j) run.push_back(operand(from, j));
    return guarded(n.b == ~0u ? nullptr : operand(n.b, 0),
                   [&] { e_.store_run(n.dtype, run, place(n.access, 0), run_bytes(n.access)); });
  }
  for (int j = 0; j < (several ? s_.run : 1); ++j) {
    Value* condition = n.b == ~0u ? nullptr : operand(n.b, j);
    if (several && !at_.masks.empty()) {
      Value* there = at_.masks[static_cast<std::size_t>(j)];
      condition = condition ? b_.CreateAnd(there, condition) : there;
    }
    guarded(condition, [&] { e_.store_one(n.dtype, operand(from, j), place(n.access, j)); });
  }
}

}  // namespace reprise::jit
