#include "jit/gpu/kernels/code.h"

#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "base/errors.h"
#include "jit/emit/math.h"

namespace reprise::jit {

using llvm::Value;

Value* V::as(llvm::Type* type) const {
  if (v) return v;
  if (type->isFloatingPointTy()) return llvm::ConstantFP::get(type, number_);
  return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(whole_), true);
}

namespace {

/// The two sides as values of one type.
struct Pair {
  Pair(const V& x, const V& y) : g(x.g ? x.g : y.g) {
    REPRISE_CHECK(g, " an operation on two plain numbers");
    a = x.as(x.v ? x.v->getType() : y.v->getType());
    c = y.as(a->getType());
    REPRISE_CHECK(a->getType() == c->getType(), " operands of two types");
    floats = a->getType()->isFloatingPointTy();
  }
  GpuCode* g;
  Value *a, *c;
  bool floats;
};

template <class Floats, class Integers>
V binary(const V& x, const V& y, Floats&& f, Integers&& i) {
  Pair p(x, y);
  return p.g->wrap(p.floats ? f(p.g->b, p.a, p.c) : i(p.g->b, p.a, p.c));
}

}  // namespace

#define REPRISE_GRID_OPERATOR(op, floats, integers)                                            \
  V operator op(const V& x, const V& y) {                                                      \
    return binary(                                                                             \
        x, y, [](auto& b, Value* a, Value* c) { return static_cast<Value*>(b.floats(a, c)); }, \
        [](auto& b, Value* a, Value* c) { return static_cast<Value*>(b.integers(a, c)); });    \
  }
REPRISE_GRID_OPERATOR(+, CreateFAdd, CreateAdd)
REPRISE_GRID_OPERATOR(-, CreateFSub, CreateSub)
REPRISE_GRID_OPERATOR(*, CreateFMul, CreateMul)
REPRISE_GRID_OPERATOR(/, CreateFDiv, CreateSDiv)
REPRISE_GRID_OPERATOR(%, CreateFRem, CreateSRem)
REPRISE_GRID_OPERATOR(<, CreateFCmpOLT, CreateICmpSLT)
REPRISE_GRID_OPERATOR(<=, CreateFCmpOLE, CreateICmpSLE)
REPRISE_GRID_OPERATOR(>, CreateFCmpOGT, CreateICmpSGT)
REPRISE_GRID_OPERATOR(>=, CreateFCmpOGE, CreateICmpSGE)
REPRISE_GRID_OPERATOR(==, CreateFCmpOEQ, CreateICmpEQ)
REPRISE_GRID_OPERATOR(!=, CreateFCmpUNE, CreateICmpNE)
#undef REPRISE_GRID_OPERATOR
#define REPRISE_GRID_OPERATOR(op, integers)      \
  V operator op(const V& x, const V& y) {        \
    Pair p(x, y);                                \
    return p.g->wrap(p.g->b.integers(p.a, p.c)); \
  }
REPRISE_GRID_OPERATOR(&, CreateAnd)
REPRISE_GRID_OPERATOR(|, CreateOr)
REPRISE_GRID_OPERATOR(^, CreateXor)
REPRISE_GRID_OPERATOR(<<, CreateShl)
REPRISE_GRID_OPERATOR(>>, CreateLShr)
#undef REPRISE_GRID_OPERATOR
V operator!(const V& x) { return x.g->wrap(x.g->b.CreateNot(x.v)); }
V operator-(const V& x) {
  return x.g->wrap(x.v->getType()->isFloatingPointTy() ? x.g->b.CreateFNeg(x.v) : x.g->b.CreateNeg(x.v));
}

Var& Var::operator=(const V& x) {
  g_->b.CreateStore(x.as(slot_->getAllocatedType()), slot_);
  return *this;
}
Var::operator V() const { return g_->wrap(g_->b.CreateLoad(slot_->getAllocatedType(), slot_)); }

GpuCode::GpuCode(GpuModule& m, std::vector<DType> buffers, int ints, int threads) : GpuEmitter(m) {
  ints_ = ints;
  begin(buffers, ints, {static_cast<std::uint32_t>(threads), 1, 1});
  tid = wrap(thread());
  lane_id = tid & 31;
  warp_id = tid >> 5;
  block_id = wrap(index64(block()));
}

void GpuCode::finish() {
  REPRISE_CHECK(next_ == ints_, " a kernel has ", ints_, " integers and takes ", next_);
  end();
  llvm::DominatorTree tree(*kernel);
  llvm::PromoteMemToReg(slots_, tree);
}

V GpuCode::i32(const V& x) { return wrap(b.CreateSExtOrTrunc(x.as(b.getInt32Ty()), b.getInt32Ty())); }
V GpuCode::i64(const V& x) { return wrap(b.CreateSExtOrTrunc(x.as(b.getInt64Ty()), b.getInt64Ty())); }

V GpuCode::ceil_div(const V& n, const V& by) {
  V d = wrap(by.as(n.v->getType()));
  return (n + (d - 1)) / d;
}

V GpuCode::select(const V& condition, const V& yes, const V& no) {
  Pair p(yes, no);
  return wrap(b.CreateSelect(condition.v, p.a, p.c));
}
V GpuCode::min(const V& x, const V& y) {
  Pair p(x, y);
  return wrap(call(p.floats ? llvm::Intrinsic::minnum : llvm::Intrinsic::smin, p.a, p.c));
}
V GpuCode::max(const V& x, const V& y) {
  Pair p(x, y);
  return wrap(call(p.floats ? llvm::Intrinsic::maxnum : llvm::Intrinsic::smax, p.a, p.c));
}
V GpuCode::multiply_add(const V& x, const V& y, const V& z) {
  return x.v->getType()->isFloatingPointTy() ? wrap(fma(x.v, y.v, z.v)) : x * y + z;
}
V GpuCode::exp(const V& x) { return wrap(MathEmitter(*this).exp(x.v)); }

Var GpuCode::var(const V& initial) {
  llvm::IRBuilder<> entry(&kernel->getEntryBlock(), kernel->getEntryBlock().begin());
  slots_.push_back(entry.CreateAlloca(initial.v->getType()));
  Var r(this, slots_.back());
  r = initial;
  return r;
}

void GpuCode::when(const V& condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(cx.context, name, kernel); };
  llvm::BasicBlock *yes = block("then"), *no = otherwise ? block("else") : nullptr, *after = block("endif");
  b.CreateCondBr(condition.v, yes, no ? no : after);
  b.SetInsertPoint(yes);
  then();
  b.CreateBr(after);
  if (no) {
    b.SetInsertPoint(no);
    otherwise();
    b.CreateBr(after);
  }
  b.SetInsertPoint(after);
}

void GpuCode::loop_while(const std::function<V()>& condition, const std::function<void()>& body) {
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(cx.context, name, kernel); };
  llvm::BasicBlock *head = block("head"), *inside = block("loop"), *after = block("endloop");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  b.CreateCondBr(condition().v, inside, after);
  b.SetInsertPoint(inside);
  body();
  b.CreateBr(head);
  b.SetInsertPoint(after);
}

void GpuCode::loop(const V& begin, const V& end, const V& step, const std::function<void(V)>& body) {
  llvm::Type* type = begin.v ? begin.v->getType() : end.v ? end.v->getType() : step.v->getType();
  Var i = var(wrap(begin.as(type)));
  V last = wrap(end.as(type)), by = wrap(step.as(type));
  loop_while([&] { return i < last; },
             [&] {
               V now = i;
               body(now);
               i = now + by;
             });
}

V GpuCode::at(DType t, const V& p, const V& index) {
  return wrap(GpuEmitter::at(memory_type(t), p.v, index.as(b.getInt32Ty())));
}
Vs GpuCode::read_run(DType t, const V& p, int n) {
  Vs r;
  for (Value* x : load_run(t, p.v, n, std::min(16, n * static_cast<int>(item_size(t))))) r.push_back(wrap(x));
  return r;
}
void GpuCode::write_run(DType t, const V& p, const Vs& x) {
  std::vector<Value*> values;
  for (const V& v : x) values.push_back(v.v);
  store_run(t, values, p.v, std::min(16, static_cast<int>(x.size()) * static_cast<int>(item_size(t))));
}

V GpuCode::sum_lanes(const V& x, int width) {
  V r = x;
  for (int step = width / 2; step >= 1; step /= 2) r = r + from_xor(r, step);
  return r;
}
V GpuCode::max_lanes(const V& x, int width) {
  V r = x;
  for (int step = width / 2; step >= 1; step /= 2) r = max(r, from_xor(r, step));
  return r;
}

}  // namespace reprise::jit
