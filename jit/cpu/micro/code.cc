#include "jit/cpu/micro/code.h"

#include "base/errors.h"
#include "jit/cpu/micro/compile.h"

namespace reprise::jit {

MicroCode::MicroCode(EmitContext& cx, int bits, DType acc, const std::vector<Kind>& parameters)
    : Emitter(cx), Writer(static_cast<Emitter&>(*this)), bits(bits), lanes(kernels::micro_lanes(bits, acc)), acc(acc) {
  std::vector<llvm::Type*> types;
  for (Kind k : parameters) types.push_back(k == Kind::Pointer ? b.getPtrTy() : k == Kind::Float ? f32() : i(64));
  fn_ = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false), llvm::Function::ExternalLinkage,
                               cx.entry, cx.module);
  fn_->addFnAttr(llvm::Attribute::NoUnwind);
  // Without these LLVM splits 512-bit vectors in two on CPUs it thinks prefer 256.
  fn_->addFnAttr("prefer-vector-width", std::to_string(bits));
  fn_->addFnAttr("min-legal-vector-width", std::to_string(bits));
  b.SetInsertPoint(llvm::BasicBlock::Create(cx.context, "entry", fn_));
}

V MicroCode::load(DType t, const V& p, const V& mask) {
  return wrap(cast(t, acc, Emitter::load(t, p.v, lanes, mask.v)));
}

void MicroCode::store(DType t, const V& x, const V& p, const V& mask) {
  Emitter::store(t, cast(acc, is_floating(t) && t != DType::Float64 ? DType::Float32 : t, x.v), p.v, mask.v);
}

void MicroCode::prefetch(const V& p, bool to_write, int level) {
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                    {p.v, b.getInt32(to_write), b.getInt32(static_cast<std::uint32_t>(4 - level)), b.getInt32(1)});
}

V MicroCode::fold(V x, const std::function<V(V, V)>& op) {
  for (int d = lanes / 2; d > 0; d /= 2) {
    std::vector<int> m;
    for (int l = 0; l < lanes; ++l) m.push_back(l ^ d);
    x = op(x, shuffle(x, x, m));
  }
  return x;
}

namespace {

EmitFn emitter_of(const kernels::KernelCode& code) {
  return [&code](EmitContext& cx) {
    if (!kernels::MicroKernels::any([&](auto of) {
          const auto* kind = code.as<typename decltype(of)::type>();
          if (kind) emit(cx, *kind);
          return kind != nullptr;
        }))
      fail(ErrorCode::Internal, "jit", {}, "no micro-kernel of kind '", code.kind(), "'");
  };
}

}  // namespace

CodePtr compile(const kernels::KernelCode& code) {
  const auto* fragment = code.as<micro::Fragment>();
  return compile_module("micro " + code.text(), emitter_of(code),
                        fragment ? std::string_view(fragment->kernel.name) : code.kind());
}
std::string assembly_text(const kernels::KernelCode& code, const Host& host) {
  return assembly_text(emitter_of(code), host);
}

V MicroCode::field(std::size_t offset, llvm::Type* type) {
  return wrap(b.CreateAlignedLoad(type, b.CreateConstGEP1_64(b.getInt8Ty(), arg(0).v, offset), llvm::Align(8)));
}

StackedVectors::StackedVectors(MicroCode& g, int count) : g_(g), all_(g, g.vector(), count) {
  for (int i = 0; i < count; ++i) put(g.i64(i), g.zero());
}
void StackedVectors::put(const V& i, const V& x) { all_.put(g_.i64(i).v, x.v); }
V StackedVectors::get(const V& i) { return g_.wrap(all_.get(g_.i64(i).v)); }

}  // namespace reprise::jit
