#include "jit/gpu/emitter.h"

#include <algorithm>

#include <llvm/IR/Dominators.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "base/errors.h"

namespace reprise::jit {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {
constexpr unsigned kGlobal = 1, kShared = 3;  // address spaces of NVPTX
constexpr std::uint32_t kAllLanes = ~0u;
}  // namespace

void GpuEmitter::begin(std::span<const DType> buffers, int params, device::Dim3 threads, int resident) {
  gpu.block = threads;
  llvm::Type* pointer = b.getPtrTy(kGlobal);
  std::vector<DType> all(buffers.begin(), buffers.end());
  if (gpu.guarded) all.push_back(DType::Int64);
  const auto n_params = static_cast<std::size_t>(params);
  std::vector<bool> words = gpu.words;
  words.resize(n_params);
  const auto n_words = static_cast<std::size_t>(std::count(words.begin(), words.end(), true));
  std::vector<llvm::Type*> types(all.size() + gpu.grid_word + n_words, pointer);
  types.insert(types.end(), n_params - n_words, b.getInt64Ty());
  kernel = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false), llvm::Function::ExternalLinkage,
                                  cx.entry, cx.module);
  kernel->setCallingConv(llvm::CallingConv::PTX_Kernel);
  kernel->setDoesNotThrow();
  auto annotate = [&](const char* what, std::uint32_t n) {
    cx.module.getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(
            llvm::MDNode::get(cx.context, {llvm::ValueAsMetadata::get(kernel), llvm::MDString::get(cx.context, what),
                                           llvm::ConstantAsMetadata::get(b.getInt32(n))}));
  };
  annotate("kernel", 1);
  annotate("minctasm", static_cast<std::uint32_t>(resident));
  annotate("maxntidx", threads.x), annotate("maxntidy", threads.y), annotate("maxntidz", threads.z);
  b.SetInsertPoint(llvm::BasicBlock::Create(cx.context, "entry", kernel));
  unsigned next = 0;
  auto told = [&](llvm::Type* type, int alignment) {  // what the next pointer's place holds, as that type
    const llvm::Align align(static_cast<std::uint64_t>(gpu.target.indirect ? 8 : alignment));
    kernel->addParamAttr(next, llvm::Attribute::getWithAlignment(cx.context, align));
    Value* p = kernel->getArg(next++);
    if (!gpu.target.indirect) return type == pointer ? p : b.CreatePtrToInt(p, type);
    auto* cell = b.CreateAlignedLoad(type, p, llvm::Align(8));
    if (!gpu.early) cell->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(cx.context, {}));
    else if (gpu.waits_later) read_early_.push_back(cell);
    return static_cast<Value*>(cell);
  };
  if (gpu.early) instruction("griddepcontrol.launch_dependents;");
  if (!gpu.waits_later) wait();
  for (DType t : all) buffers_.push_back(told(pointer, item_size(t)));
  if (gpu.guarded) record_ = buffers_.back();
  Value* blocks = gpu.grid_word ? told(b.getInt64Ty(), 1) : nullptr;
  params_.resize(n_params);
  for (std::size_t i = 0; i < n_params; ++i)
    if (words[i]) params_[i] = told(b.getInt64Ty(), 1);
  for (std::size_t i = 0; i < n_params; ++i)
    if (!words[i]) params_[i] = kernel->getArg(next++);
  if (blocks) leave_if(b.CreateICmpUGE(index64(block()), blocks), gpu.waits_later);
  if (!gpu.waits_later) leave_after_fault();
}

void GpuEmitter::leave_if(Value* condition, bool waits) {
  llvm::BasicBlock* over = llvm::BasicBlock::Create(cx.context, "over", kernel);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(cx.context, "body", kernel);
  b.CreateCondBr(condition, over, body);
  b.SetInsertPoint(over);
  if (waits && gpu.early) emit_if(*this, b.CreateICmpEQ(block(), i32(0)), [&] { wait(); });
  b.CreateRetVoid();
  b.SetInsertPoint(body);
}

void GpuEmitter::leave_after_fault() {
  if (gpu.guarded)
    leave_if(b.CreateICmpNE(b.CreateAlignedLoad(b.getInt64Ty(), record_, llvm::Align(8)), i64(0)), false);
}

void GpuEmitter::wait_for_earlier() {
  wait();
  for (llvm::LoadInst* cell : read_early_)
    read_late_.push_back(b.CreateAlignedLoad(cell->getType(), cell->getPointerOperand(), cell->getAlign()));
  leave_after_fault();
}

void GpuEmitter::end() {
  b.CreateRetVoid();
  if (!read_early_.empty()) gather_cells();
}

void GpuEmitter::gather_cells() {
  {
    const llvm::DominatorTree order(*kernel);
    for (std::size_t i = 0; i < read_late_.size(); ++i) {
      llvm::LoadInst* late = read_late_[i];
      read_early_[i]->replaceUsesWithIf(late, [&](const llvm::Use& use) { return order.dominates(late, use); });
    }
  }
  std::vector<std::vector<llvm::LoadInst*>> cells;  // that are needed, and what reads each
  for (std::size_t i = 0; i < read_early_.size(); ++i) {
    std::vector<llvm::LoadInst*> reads;
    for (llvm::LoadInst* load : {read_early_[i], i < read_late_.size() ? read_late_[i] : nullptr})
      if (load && !load->use_empty()) reads.push_back(load);
    if (!reads.empty()) cells.push_back(std::move(reads));
  }
  llvm::Instruction* here = read_early_[0];
  const std::int64_t n = static_cast<std::int64_t>(cells.size()), threads = gpu.block.x;
  llvm::Type* word = b.getInt64Ty();
  Value* gathered = n ? shared_array(word, cells.size()) : nullptr;
  b.SetInsertPoint(here);
  Value* own = n ? thread() : nullptr;
  for (std::int64_t first = 0; first < n; first += threads) {
    const std::int64_t count = std::min(n - first, threads);
    b.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(b.CreateICmpULT(own, i32(count)), here, false));
    std::vector<Value*> at;  // this thread's, when halved so often that one is left
    for (std::int64_t i = 0; i < count; ++i)
      at.push_back(cells[static_cast<std::size_t>(first + i)][0]->getPointerOperand());
    for (int bit = 0; at.size() > 1; ++bit) {
      Value* odd = b.CreateTrunc(b.CreateLShr(own, static_cast<std::uint64_t>(bit)), b.getInt1Ty());
      for (std::size_t i = 0; 2 * i < at.size(); ++i)
        at[i] = 2 * i + 1 < at.size() ? b.CreateSelect(odd, at[2 * i + 1], at[2 * i]) : at[2 * i];
      at.resize((at.size() + 1) / 2);
    }
    Value* cell = b.CreateAlignedLoad(word, at[0], llvm::Align(8), true);
    b.CreateStore(cell, b.CreateGEP(word, gathered, b.CreateAdd(own, i32(first))));
    b.SetInsertPoint(here);
  }
  if (n) barrier();
  for (std::size_t i = 0; i < cells.size(); ++i)
    for (llvm::LoadInst* load : cells[i]) {
      b.SetInsertPoint(load);
      Value* cell =
          b.CreateAlignedLoad(word, b.CreateConstGEP1_32(word, gathered, static_cast<unsigned>(i)), llvm::Align(8));
      load->replaceAllUsesWith(load->getType()->isPointerTy() ? b.CreateIntToPtr(cell, load->getType()) : cell);
    }
  for (llvm::LoadInst* load : read_early_) load->eraseFromParent();
  for (llvm::LoadInst* load : read_late_) load->eraseFromParent();
  read_early_.clear(), read_late_.clear();
}

void GpuEmitter::instruction(const char* text) {
  b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(b.getVoidTy(), false), text, "~{memory}", true));
}

void GpuEmitter::wait() {
  if (gpu.early) instruction("griddepcontrol.wait;");
}

Value* GpuEmitter::special(Intrinsic::ID id) { return b.CreateIntrinsic(id, {}, {}); }

Value* GpuEmitter::thread(int axis) {
  static constexpr Intrinsic::ID ids[] = {Intrinsic::nvvm_read_ptx_sreg_tid_x, Intrinsic::nvvm_read_ptx_sreg_tid_y,
                                          Intrinsic::nvvm_read_ptx_sreg_tid_z};
  return special(ids[axis]);
}
Value* GpuEmitter::block(int axis) {
  static constexpr Intrinsic::ID ids[] = {Intrinsic::nvvm_read_ptx_sreg_ctaid_x, Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                          Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  return special(ids[axis]);
}
Value* GpuEmitter::lane() { return b.CreateAnd(thread(), i32(kWarp - 1)); }
Value* GpuEmitter::warp() { return b.CreateLShr(thread(), i32(5)); }

GpuEmitter::Division GpuEmitter::divide(Value* a, Value* c) {
  if (auto* k = llvm::dyn_cast<llvm::ConstantInt>(c); k && k->getValue().isPowerOf2()) {
    const std::uint64_t log2 = k->getValue().logBase2();
    return {b.CreateLShr(a, log2), b.CreateAnd(a, k->getZExtValue() - 1)};
  }
  llvm::Type *i32_type = b.getInt32Ty(), *i64_type = b.getInt64Ty();
  if (a->getType() == i32_type) {
    Value* q = b.CreateUDiv(a, c);
    return {q, b.CreateSub(a, b.CreateMul(q, c))};
  }
  Value* narrow = b.CreateICmpEQ(b.CreateLShr(b.CreateOr(a, c), 32), i64(0));
  auto in_32 = [&] {
    Value *x = b.CreateTrunc(a, i32_type), *y = b.CreateTrunc(c, i32_type);
    Value* q = b.CreateUDiv(x, y);
    return std::vector<Value*>{index64(q), index64(b.CreateSub(x, b.CreateMul(q, y)))};
  };
  // Each step takes 22 bits off the remainder, which may turn negative; three leave less than one divisor.
  auto in_64 = [&] {
    Value* inverse = b.CreateIntrinsic(Intrinsic::nvvm_rcp_approx_ftz_f, {}, {b.CreateSIToFP(c, b.getFloatTy())});
    Value *q = i64(0), *r = a;
    for (int step = 0; step < 3; ++step) {
      Value* part = b.CreateFPToSI(b.CreateFMul(b.CreateSIToFP(r, b.getFloatTy()), inverse), i64_type);
      q = b.CreateAdd(q, part);
      r = b.CreateSub(r, b.CreateMul(part, c));
    }
    auto correct = [&](Value* wrong, Value* by) {
      q = b.CreateSelect(wrong, b.CreateAdd(q, by), q);
      r = b.CreateSelect(wrong, b.CreateSub(r, b.CreateMul(by, c)), r);
    };
    correct(b.CreateICmpSLT(r, i64(0)), i64(-1));
    correct(b.CreateICmpSGE(r, c), i64(1));
    return std::vector<Value*>{q, r};
  };
  const std::vector<Value*> v = choose(narrow, in_32, in_64);
  return {v[0], v[1]};
}

Value* GpuEmitter::shared_array(llvm::Type* element, std::uint64_t count, std::uint64_t align) {
  auto* type = llvm::ArrayType::get(element, count);
  auto* array =
      new llvm::GlobalVariable(cx.module, type, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type),
                               "shared", nullptr, llvm::GlobalValue::NotThreadLocal, kShared);
  array->setAlignment(llvm::Align(align));
  return array;
}

Value* GpuEmitter::dynamic_shared(std::uint64_t align) {
  if (auto* there = cx.module.getNamedGlobal("dynamic_shared")) return there;
  auto* array = new llvm::GlobalVariable(cx.module, llvm::ArrayType::get(b.getInt8Ty(), 0), false,
                                         llvm::GlobalValue::ExternalLinkage, nullptr, "dynamic_shared", nullptr,
                                         llvm::GlobalValue::NotThreadLocal, kShared);
  array->setAlignment(llvm::Align(align));
  return array;
}

void GpuEmitter::barrier() { b.CreateIntrinsic(Intrinsic::nvvm_barrier0, {}, {}); }

llvm::SmallVector<Value*, 8> GpuEmitter::words_of(Value* v) {
  llvm::Type* t = v->getType();
  if (t->isFloatingPointTy()) v = b.CreateBitCast(v, b.getIntNTy(t->getScalarSizeInBits()));
  const unsigned bits = v->getType()->getIntegerBitWidth();
  if (bits <= 32) return {b.CreateZExt(v, b.getInt32Ty())};
  return {b.CreateTrunc(v, b.getInt32Ty()), b.CreateTrunc(b.CreateLShr(v, 32), b.getInt32Ty())};
}

Value* GpuEmitter::of_words(llvm::ArrayRef<Value*> words, llvm::Type* t) {
  const unsigned bits = t->getScalarSizeInBits();
  Value* v = words[0];
  if (bits < 32) v = b.CreateTrunc(v, b.getIntNTy(bits));
  if (bits == 64) v = b.CreateOr(index64(words[0]), b.CreateShl(index64(words[1]), 32));
  return t->isFloatingPointTy() ? b.CreateBitCast(v, t) : v;
}

Value* GpuEmitter::shuffle(Value* v, Intrinsic::ID id, Value* lane, int clamp) {
  llvm::SmallVector<Value*, 8> words = words_of(v);
  for (Value*& w : words) w = b.CreateIntrinsic(id, {}, {b.getInt32(kAllLanes), w, lane, i32(clamp)});
  return of_words(words, v->getType());
}
Value* GpuEmitter::shuffle_xor(Value* v, Value* mask) {
  return shuffle(v, Intrinsic::nvvm_shfl_sync_bfly_i32, mask, kWarp - 1);
}
Value* GpuEmitter::shuffle_up(Value* v, int delta) {
  return shuffle(v, Intrinsic::nvvm_shfl_sync_up_i32, i32(delta), 0);
}
Value* GpuEmitter::ballot(Value* condition) {
  return b.CreateIntrinsic(Intrinsic::nvvm_vote_ballot_sync, {}, {b.getInt32(kAllLanes), condition});
}

Value* GpuEmitter::exchange(Value* v, Value* lane_mask, const Combine& combine) {
  // Ordered by lane: combining need not commute bit for bit (the larger of -0 and 0, the choice between two NaNs).
  Value* other = shuffle_xor(v, lane_mask);
  Value* low = b.CreateICmpEQ(b.CreateAnd(lane(), lane_mask), i32(0));
  return combine(b.CreateSelect(low, v, other), b.CreateSelect(low, other, v));
}

Value* GpuEmitter::warp_reduce(Value* v, const Combine& combine, int width) {
  for (int step = 1; step < width; step *= 2) v = exchange(v, i32(step), combine);
  return v;
}

Value* GpuEmitter::block_reduce(Value* v, Value* identity, const Combine& combine, int threads) {
  REPRISE_CHECK(threads % kWarp == 0 && threads <= kWarp * kWarp, "block of whole warps");
  v = warp_reduce(v, combine);
  const int warps = threads / kWarp;
  if (warps == 1) return v;
  llvm::Type* type = v->getType()->isIntegerTy(1) ? b.getInt8Ty() : v->getType();
  Value* parts = shared_array(type, kWarp);
  Value* stored = type == v->getType() ? v : b.CreateZExt(v, type);
  emit_if(*this, b.CreateICmpEQ(lane(), i32(0)), [&] { b.CreateStore(stored, b.CreateGEP(type, parts, warp())); });
  barrier();
  int width = 1;
  while (width < warps) width *= 2;
  Value* at = b.CreateAnd(lane(), i32(width - 1));
  Value* there = b.CreateICmpULT(at, i32(warps));
  Value* part = b.CreateLoad(type, b.CreateGEP(type, parts, b.CreateSelect(there, at, i32(0))));
  if (type != v->getType()) part = b.CreateTrunc(part, v->getType());
  if (width != warps) part = b.CreateSelect(there, part, identity);
  v = warp_reduce(part, combine, width);
  barrier();  // before the array is written again
  return v;
}

void GpuEmitter::prefetch(Value* p, Value* bytes) {
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getInt64Ty(), b.getInt32Ty()}, false);
  b.CreateCall(llvm::InlineAsm::get(type, "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r,~{memory}", true),
               {b.CreatePtrToInt(p, b.getInt64Ty()), bytes});
}

void GpuEmitter::prefetch(Value* p) {
  b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(b.getVoidTy(), {b.getInt64Ty()}, false),
                                    "prefetch.global.L2 [$0];", "l,~{memory}", true),
               {b.CreatePtrToInt(p, b.getInt64Ty())});
}

Value* GpuEmitter::is_aligned(Value* p, int bytes) {
  return b.CreateICmpEQ(b.CreateAnd(b.CreatePtrToInt(p, b.getInt64Ty()), i64(bytes - 1)), i64(0));
}

llvm::SmallVector<Value*, 16> GpuEmitter::load_run(DType t, Value* p, int count, int bytes) {
  const int size = item_size(t);
  llvm::SmallVector<Value*, 16> out;
  const int wide = std::min({16, bytes, size * count});  // of one access
  if (wide <= size) {
    for (int j = 0; j < count; ++j) out.push_back(load(t, at(memory_type(t), p, i64(j)), 0, nullptr));
    return out;
  }
  // In words of 32 bits or the element's own, which are then cut into elements: vectors of small ones would be taken
  // apart through memory.
  const int word = std::max(size, std::min(4, wide)), words = wide / word;
  llvm::Type* word_type = b.getIntNTy(static_cast<unsigned>(word) * 8);
  for (int at_byte = 0; at_byte < size * count; at_byte += wide) {
    Value* q = at(b.getInt8Ty(), p, i64(at_byte));
    Value* v =
        b.CreateAlignedLoad(shaped(word_type, words > 1 ? words : 0), q, llvm::Align(static_cast<std::uint64_t>(wide)));
    out.append(elements_of(t, v));
  }
  return out;
}

llvm::SmallVector<Value*, 16> GpuEmitter::elements_of(DType t, Value* loaded) {
  const int size = item_size(t), words = lanes_of(loaded);
  const int word = static_cast<int>(loaded->getType()->getScalarSizeInBits()) / 8;
  llvm::SmallVector<Value*, 16> out;
  for (int w = 0; w < std::max(words, 1); ++w) {
    Value* x = words ? b.CreateExtractElement(loaded, static_cast<std::uint64_t>(w)) : loaded;
    for (int part = 0; part < word / size; ++part) {
      Value* m = part ? b.CreateLShr(x, static_cast<std::uint64_t>(part * size * 8)) : x;
      m = b.CreateTrunc(m, b.getIntNTy(static_cast<unsigned>(size) * 8));
      out.push_back(to_register(t, b.CreateBitCast(m, memory_type(t))));
    }
  }
  return out;
}

void GpuEmitter::store_run(DType t, llvm::ArrayRef<Value*> values, Value* p, int bytes) {
  const int size = item_size(t), count = static_cast<int>(values.size());
  const int wide = std::min({16, bytes, size * count});
  if (wide <= size) {
    for (int j = 0; j < count; ++j)
      store(t, values[static_cast<std::size_t>(j)], at(memory_type(t), p, i64(j)), nullptr);
    return;
  }
  const int word = std::max(size, std::min(4, wide)), words = wide / word;
  llvm::Type* word_type = b.getIntNTy(static_cast<unsigned>(word) * 8);
  // Two floats become a word of two halves in one instruction.
  const bool in_pairs = gpu.sm >= 80 && word == 4 && (t == DType::Float16 || t == DType::BFloat16);
  const Intrinsic::ID pair = t == DType::Float16 ? Intrinsic::nvvm_ff2f16x2_rn : Intrinsic::nvvm_ff2bf16x2_rn;
  std::size_t next = 0;
  for (int at_byte = 0; at_byte < size * count; at_byte += wide) {
    Value* v = words > 1 ? llvm::PoisonValue::get(shaped(word_type, words)) : nullptr;
    for (int w = 0; w < words; ++w) {
      Value* x = nullptr;
      if (in_pairs)
        x = b.CreateBitCast(b.CreateIntrinsic(pair, {}, {values[next + 1], values[next]}), word_type), next += 2;
      for (int part = 0; !in_pairs && part < word / size; ++part) {
        Value* m = b.CreateBitCast(to_memory(t, values[next++]), b.getIntNTy(static_cast<unsigned>(size) * 8));
        m = b.CreateZExt(m, word_type);
        if (part) m = b.CreateShl(m, static_cast<std::uint64_t>(part * size * 8));
        x = x ? b.CreateOr(x, m) : m;
      }
      v = v ? b.CreateInsertElement(v, x, static_cast<std::uint64_t>(w)) : x;
    }
    b.CreateAlignedStore(v, at(b.getInt8Ty(), p, i64(at_byte)), llvm::Align(static_cast<std::uint64_t>(wide)));
  }
}

std::vector<Value*> GpuEmitter::choose(Value* condition, const std::function<std::vector<Value*>()>& then,
                                       const std::function<std::vector<Value*>()>& otherwise) {
  auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(cx.context, name, b.GetInsertBlock()->getParent());
  };
  llvm::BasicBlock *first = block("then"), *second = block("else");
  b.CreateCondBr(condition, first, second);
  b.SetInsertPoint(first);
  std::vector<Value*> a = then();
  llvm::BasicBlock* first_end = b.GetInsertBlock();
  b.SetInsertPoint(second);
  std::vector<Value*> c = otherwise();
  llvm::BasicBlock* second_end = b.GetInsertBlock();
  llvm::BasicBlock* after = block("chosen");
  b.CreateBr(after);
  b.SetInsertPoint(first_end);
  b.CreateBr(after);
  b.SetInsertPoint(after);
  std::vector<Value*> r;
  for (std::size_t j = 0; j < a.size(); ++j) {
    llvm::PHINode* phi = b.CreatePHI(a[j]->getType(), 2);
    phi->addIncoming(a[j], first_end), phi->addIncoming(c[j], second_end);
    r.push_back(phi);
  }
  return r;
}

}  // namespace reprise::jit
