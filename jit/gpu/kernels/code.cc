#include "jit/gpu/kernels/code.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

namespace reprise::jit {

using llvm::Value;

void GpuCode::start(const std::vector<InCode::Source*>& buffers, const std::vector<V*>& numbers, int threads,
                    int resident) {
  std::vector<DType> types;
  for (const InCode::Source* s : buffers) types.push_back(s->dtype);
  begin(types, static_cast<int>(numbers.size()), {static_cast<std::uint32_t>(threads), 1, 1}, resident);
  for (std::size_t i = 0; i < buffers.size(); ++i) static_cast<V&>(*buffers[i]) = wrap(buffer(i));
  for (std::size_t i = 0; i < numbers.size(); ++i) *numbers[i] = wrap(param(i));
  tid = wrap(thread());
  lane_id = tid & 31;
  warp_id = tid >> 5;
  block_id = wrap(index64(block()));
}

void GpuCode::finish() {
  end();
  promote();
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

void GpuCode::fence() { b.CreateIntrinsic(llvm::Intrinsic::nvvm_membar_gl, {}, {}); }
V GpuCode::add_atomically(const V& p, const V& index, const V& x) {
  Value* to = b.CreateGEP(x.v->getType(), p.v, index.as(b.getInt64Ty()));
  return wrap(b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, to, x.v,
                                llvm::MaybeAlign(x.v->getType()->getIntegerBitWidth() / 8),
                                llvm::AtomicOrdering::Monotonic));
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
