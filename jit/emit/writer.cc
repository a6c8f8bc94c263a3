#include "jit/emit/writer.h"

#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "base/errors.h"
#include "jit/emit/math.h"

namespace reprise::jit {

using llvm::Value;

Value* V::as(llvm::Type* type) const {
  if (v) return v;
  if (type->isFPOrFPVectorTy()) return llvm::ConstantFP::get(type, number_);
  return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(whole_), true);
}

namespace {

/// The two sides as values of one type.
struct Pair {
  Pair(const V& x, const V& y) : e(x.e ? x.e : y.e) {
    REPRISE_CHECK(e, " an operation on two plain numbers");
    a = x.as(x.v ? x.v->getType() : y.v->getType());
    c = y.as(a->getType());
    REPRISE_CHECK(a->getType() == c->getType(), " operands of two types");
    floats = a->getType()->isFPOrFPVectorTy();
  }
  V with(Value* v) const { return {e, v}; }
  Emitter* e;
  Value *a, *c;
  bool floats;
};

template <class Floats, class Integers>
V binary(const V& x, const V& y, Floats&& f, Integers&& i) {
  const Pair p(x, y);
  return p.with(p.floats ? f(p.e->b, p.a, p.c) : i(p.e->b, p.a, p.c));
}

}  // namespace

#define REPRISE_OPERATOR(op, floats, integers)                                                 \
  V operator op(const V& x, const V& y) {                                                      \
    return binary(                                                                             \
        x, y, [](auto& b, Value* a, Value* c) { return static_cast<Value*>(b.floats(a, c)); }, \
        [](auto& b, Value* a, Value* c) { return static_cast<Value*>(b.integers(a, c)); });    \
  }
REPRISE_OPERATOR(+, CreateFAdd, CreateAdd)
REPRISE_OPERATOR(-, CreateFSub, CreateSub)
REPRISE_OPERATOR(*, CreateFMul, CreateMul)
REPRISE_OPERATOR(/, CreateFDiv, CreateSDiv)
REPRISE_OPERATOR(%, CreateFRem, CreateSRem)
REPRISE_OPERATOR(<, CreateFCmpOLT, CreateICmpSLT)
REPRISE_OPERATOR(<=, CreateFCmpOLE, CreateICmpSLE)
REPRISE_OPERATOR(>, CreateFCmpOGT, CreateICmpSGT)
REPRISE_OPERATOR(>=, CreateFCmpOGE, CreateICmpSGE)
REPRISE_OPERATOR(==, CreateFCmpOEQ, CreateICmpEQ)
REPRISE_OPERATOR(!=, CreateFCmpUNE, CreateICmpNE)
#undef REPRISE_OPERATOR
#define REPRISE_OPERATOR(op, integers)        \
  V operator op(const V& x, const V& y) {     \
    const Pair p(x, y);                       \
    return p.with(p.e->b.integers(p.a, p.c)); \
  }
REPRISE_OPERATOR(&, CreateAnd)
REPRISE_OPERATOR(|, CreateOr)
REPRISE_OPERATOR(^, CreateXor)
REPRISE_OPERATOR(<<, CreateShl)
REPRISE_OPERATOR(>>, CreateLShr)
#undef REPRISE_OPERATOR
V operator!(const V& x) { return {x.e, x.e->b.CreateNot(x.v)}; }
V operator-(const V& x) {
  return {x.e, x.v->getType()->isFPOrFPVectorTy() ? x.e->b.CreateFNeg(x.v) : x.e->b.CreateNeg(x.v)};
}

Var& Var::operator=(const V& x) {
  e_->b.CreateStore(x.as(slot_->getAllocatedType()), slot_);
  return *this;
}
Var::operator V() const { return {e_, e_->b.CreateLoad(slot_->getAllocatedType(), slot_)}; }

V Writer::i32(const V& x) { return wrap(e_.b.CreateSExtOrTrunc(x.as(e_.b.getInt32Ty()), e_.b.getInt32Ty())); }
V Writer::i64(const V& x) { return wrap(e_.b.CreateSExtOrTrunc(x.as(e_.b.getInt64Ty()), e_.b.getInt64Ty())); }

V Writer::ceil_div(const V& n, const V& by) {
  V d = wrap(by.as(n.v->getType()));
  return (n + (d - 1)) / d;
}

V Writer::select(const V& condition, const V& yes, const V& no) {
  const Pair p(yes, no);
  return wrap(e_.b.CreateSelect(condition.v, p.a, p.c));
}
V Writer::min(const V& x, const V& y) {
  const Pair p(x, y);
  return wrap(e_.call(p.floats ? llvm::Intrinsic::minnum : llvm::Intrinsic::smin, p.a, p.c));
}
V Writer::max(const V& x, const V& y) {
  const Pair p(x, y);
  return wrap(e_.call(p.floats ? llvm::Intrinsic::maxnum : llvm::Intrinsic::smax, p.a, p.c));
}
V Writer::multiply_add(const V& x, const V& y, const V& z) {
  return x.v->getType()->isFPOrFPVectorTy() ? wrap(e_.multiply_add(x.v, y.v, z.v)) : x * y + z;
}
V Writer::exp(const V& x) { return wrap(MathEmitter(e_).exp(x.v)); }

Var Writer::var(const V& initial) {
  llvm::BasicBlock& first = e_.b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> entry(&first, first.begin());
  slots_.push_back(entry.CreateAlloca(initial.v->getType()));
  Var r(&e_, slots_.back());
  r = initial;
  return r;
}

void Writer::promote() {
  if (slots_.empty()) return;
  llvm::DominatorTree tree(*slots_[0]->getFunction());
  llvm::PromoteMemToReg(slots_, tree);
  slots_.clear();
}

void Writer::when(const V& condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  llvm::IRBuilder<>& b = e_.b;
  auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(b.getContext(), name, b.GetInsertBlock()->getParent());
  };
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

void Writer::loop_while(const std::function<V()>& condition, const std::function<void()>& body) {
  llvm::IRBuilder<>& b = e_.b;
  auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(b.getContext(), name, b.GetInsertBlock()->getParent());
  };
  llvm::BasicBlock *head = block("head"), *inside = block("loop"), *after = block("endloop");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  b.CreateCondBr(condition().v, inside, after);
  b.SetInsertPoint(inside);
  body();
  b.CreateBr(head);
  b.SetInsertPoint(after);
}

void Writer::loop(const V& begin, const V& end, const V& step, const std::function<void(V)>& body) {
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

Vs Writer::carry(const V& begin, const V& end, const V& step, Vs carried, const std::function<Vs(V, Vs)>& body) {
  llvm::IRBuilder<>& b = e_.b;
  llvm::Type* type = begin.v ? begin.v->getType() : end.v->getType();
  const V first = wrap(begin.as(type)), last = wrap(end.as(type));
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, before->getParent()); };
  llvm::BasicBlock *head = block("loop"), *exit = block("done");
  b.CreateCondBr((first < last).v, head, exit);
  b.SetInsertPoint(head);
  llvm::PHINode* i = b.CreatePHI(type, 2);
  i->addIncoming(first.v, before);
  std::vector<llvm::PHINode*> phis;
  Vs in;
  for (const V& c : carried) {
    phis.push_back(b.CreatePHI(c.v->getType(), 2));
    phis.back()->addIncoming(c.v, before);
    in.push_back(wrap(phis.back()));
  }
  const Vs out = body(wrap(i), std::move(in));
  const V next = wrap(i) + step;
  llvm::BasicBlock* end_of_body = b.GetInsertBlock();
  i->addIncoming(next.v, end_of_body);
  for (std::size_t j = 0; j < phis.size(); ++j) phis[j]->addIncoming(out[j].v, end_of_body);
  b.CreateCondBr((next < last).v, head, exit);
  b.SetInsertPoint(exit);
  Vs results;
  for (std::size_t j = 0; j < carried.size(); ++j) {
    llvm::PHINode* r = b.CreatePHI(carried[j].v->getType(), 2);
    r->addIncoming(carried[j].v, before);
    r->addIncoming(out[j].v, end_of_body);
    results.push_back(wrap(r));
  }
  return results;
}

}  // namespace reprise::jit
