#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>

#include "tests/cuda_sim/rewrite.h"
#include "tests/cuda_sim/tensor.h"

namespace sim {

using namespace llvm;

namespace {

/// `text` begins with a number, which is taken from it.
unsigned number(StringRef& text) {
  unsigned n = 0;
  text.consumeInteger(10, n);
  return n;
}

}  // namespace

/// wgmma's instructions, whose text stands in `s` without spaces and semicolons. Registers pass through an array of the
/// thread's stack, which all of a function share.
bool Rewriter::warpgroup(CallBase* c, StringRef s, std::uint32_t site) {
  Type* none = Type::getVoidTy(c_);
  IRBuilder<> b(c);
  if (s == "fence.proxy.async" || s == "fence.proxy.async.shared::cta") return replace(c, nullptr), true;
  if (s == "wgmma.fence.sync.aligned") return call(b, "sim_wgmma_fence", none, {}), replace(c, nullptr), true;
  if (s == "wgmma.commit_group.sync.aligned") return call(b, "sim_wgmma_commit", none, {}), replace(c, nullptr), true;
  Type* array_type = ArrayType::get(i32_, 256);
  Value* array = stack_array(c->getFunction(), array_type, "sim_sums");
  auto at = [&](unsigned i) { return b.CreateConstInBoundsGEP2_32(array_type, array, 0, i); };
  auto keep = [&](unsigned to, unsigned operand) {
    b.CreateStore(b.CreateBitCast(c->getArgOperand(operand), i32_), at(to));
  };
  auto* several = dyn_cast<StructType>(c->getType());
  const unsigned results = several ? several->getNumElements() : 0;
  auto give = [&] {
    Value* all = PoisonValue::get(several);
    for (unsigned i = 0; i < results; ++i)
      all = b.CreateInsertValue(all, b.CreateLoad(several->getElementType(i), at(i)), i);
    replace(c, all);
  };
  if (s.consume_front("wgmma.wait_group.sync.aligned")) {
    const unsigned pending = number(s);
    require(s.empty() && c->arg_size() == results, CUDA_ERROR_INVALID_PTX,
            "the simulator does not know this form of wgmma.wait_group");
    for (unsigned i = 0; i < results; ++i) keep(i, i);
    call(b, "sim_wgmma_wait", none, {b.getInt32(pending), b.getInt32(results), at(0), b.getInt32(site)});
    code_.cooperates = true;
    if (several) give();
    else replace(c, nullptr);
    return true;
  }
  // {.reg.predp setp.ne.b32p,1,0 wgmma.mma_async.sync.aligned.m64nNkK.f32.bf16.bf16{$0,...},a,b,p,1,1,ta,tb}, where a
  // is a descriptor or four registers; without signs (1, 1) for integers, without ta, tb but for 16 bits.
  const std::size_t begin = s.find("wgmma.mma_async.sync.aligned.m64n");
  if (begin == StringRef::npos) return false;
  const StringRef before = s.substr(0, begin);
  s = s.substr(begin + StringRef("wgmma.mma_async.sync.aligned.m64n").size());
  WarpgroupProduct p{};
  p.columns = number(s);
  p.fresh = before.contains("setp.ne.b32p,0,0");
  require(p.fresh || before.contains("setp.ne.b32p,1,0"), CUDA_ERROR_INVALID_PTX,
          "the simulator does not know what wgmma does with its sums");
  require(p.columns % 8 == 0 && p.columns >= 8 && p.columns <= 256 && results == p.columns / 2, CUDA_ERROR_INVALID_PTX,
          "wgmma of ", p.columns, " columns with ", results, " sums");
  const std::pair<StringRef, Tensor> kinds[] = {{"k16.f32.bf16.bf16", Tensor::BFloat16},
                                                {"k16.f32.f16.f16", Tensor::Float16},
                                                {"k8.f32.tf32.tf32", Tensor::Tf32},
                                                {"k32.s32.s8.s8", Tensor::Int8}};
  bool known = false;
  for (const auto& [text, kind] : kinds)
    if (!known && s.consume_front(text)) known = true, p.kind = p.b_kind = kind;
  if (!known && s.consume_front("k32.f32")) {
    auto float8 = [&](Tensor& kind) {
      return s.consume_front(".e4m3") ? (kind = Tensor::E4m3, true)
                                      : s.consume_front(".e5m2") && (kind = Tensor::E5m2, true);
    };
    known = float8(p.kind) && float8(p.b_kind);
  }
  require(known, CUDA_ERROR_INVALID_PTX, "the simulator does not know wgmma ", s.str());
  s = s.substr(s.find('}') + 1);
  p.a_in_registers = s.starts_with(",{");
  s = s.substr(s.find(p.a_in_registers ? "},$" : ",$") + (p.a_in_registers ? 1 : 0));
  s = s.substr(s.find(",p") + 2);
  const bool sixteen = p.kind == Tensor::BFloat16 || p.kind == Tensor::Float16;
  if (p.kind != Tensor::Int8) require(s.consume_front(",1,1"), CUDA_ERROR_INVALID_PTX, "wgmma with signs ", s.str());
  auto turned = [&] {
    s.consume_front(",");
    return number(s) != 0;
  };
  if (sixteen && !p.a_in_registers) p.a_by_k = turned();
  if (sixteen) p.b_by_k = turned();
  require(s == "}" && c->arg_size() == (p.a_in_registers ? 5 : 2) + results, CUDA_ERROR_INVALID_PTX,
          "the simulator does not know this form of wgmma: ", s.str());
  const unsigned first = p.a_in_registers ? 5 : 2;
  for (unsigned i = 0; i < results; ++i) keep(i, first + i);
  if (p.a_in_registers)
    for (unsigned i = 0; i < 4; ++i) keep(252 + i, i);
  Value* a = p.a_in_registers ? b.getInt64(0) : c->getArgOperand(0);
  call(b, "sim_wgmma", none,
       {b.getInt32(p.number()), at(0), a, c->getArgOperand(first - 1), at(252), b.getInt32(site)});
  code_.cooperates = true;
  give();
  return true;
}

}  // namespace sim
