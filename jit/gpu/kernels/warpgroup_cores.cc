#include "jit/gpu/kernels/warpgroup_cores.h"

#include <llvm/IR/InlineAsm.h>

#include "base/errors.h"

namespace reprise::jit {

using llvm::Value;

namespace {

/// "$first, $first + 1, ..."
std::string operands(int first, int n) {
  std::string s;
  for (int i = first; i < first + n; ++i) s += (i == first ? "$" : ", $") + std::to_string(i);
  return s;
}

struct Registers {
  char letter;  ///< their kind in the assembler's constraints
  Vars* all;
};

/// An instruction that changes registers in place and reads `in`. The registers are operands 0 .. n - 1, `in` those
/// behind them. fresh: it does not read what was in them.
void in_place(GpuCode& g, const std::string& text, const std::vector<Registers>& registers,
              const std::vector<Value*>& in = {}, const std::string& in_letters = "", bool fresh = false) {
  std::string results_text, in_text, tied_text;
  std::vector<Value*> args = in;
  std::vector<llvm::Type*> types, results;
  for (const Registers& r : registers)
    for (const Var& v : *r.all) {
      Value* was = static_cast<V>(v).v;
      results_text += std::string("=") + r.letter + ",", tied_text += std::to_string(results.size()) + ",";
      results.push_back(was->getType());
      args.push_back(fresh ? llvm::UndefValue::get(was->getType()) : was);
    }
  for (char c : in_letters) in_text += std::string(1, c) + ",";
  for (Value* v : args) types.push_back(v->getType());
  llvm::Type* result =
      results.empty() ? g.b.getVoidTy() : static_cast<llvm::Type*>(llvm::StructType::get(g.b.getContext(), results));
  llvm::CallInst* all = g.b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false), text,
                                                            results_text + in_text + tied_text + "~{memory}", true),
                                       args);
  all->setConvergent();
  unsigned i = 0;
  for (const Registers& r : registers)
    for (Var& v : *r.all) v = g.wrap(g.b.CreateExtractValue(all, i++));
}

/// As PTX writes it.
std::string name_of(DType t) {
  switch (t) {
    case DType::Float32: return ".tf32";
    case DType::Float16: return ".f16";
    case DType::BFloat16: return ".bf16";
    case DType::Float8E4M3FN: return ".e4m3";
    case DType::Float8E5M2: return ".e5m2";
    default: return ".s8";
  }
}

char letter_of_sums(DType t) { return t == DType::Int8 ? 'r' : 'f'; }

}  // namespace

WarpgroupCores::WarpgroupCores(GpuCode& code, DType a, DType b) : g(code), t(a), other(b) { g.gpu.exactly = true; }

WarpgroupCores::Matrix WarpgroupCores::matrix(const V& p, Lie lie, int group) {
  // PTX ISA, "Matrix descriptor": address, leading offset (from 64 lines to the next, Wide; not read otherwise) and
  // stride (from eight lines, or eight of k, to the next), each in 16 bytes; the kind of swizzle.
  const std::int64_t leading = lie == Lie::Wide ? group >> 4 : 1, stride = kPattern >> 4;
  V address = g.wrap(g.b.CreatePtrToInt(p.v, g.b.getInt64Ty()));
  return {((address & std::int64_t{0x3ffff}) >> 4) | (leading << 16 | stride << 32 | std::int64_t{1} << 62), lie};
}

void WarpgroupCores::publish(GpuCode& g) { g.instruction("fence.proxy.async.shared::cta;"); }
void WarpgroupCores::begin() { in_place(g, "wgmma.fence.sync.aligned;", {}); }
void WarpgroupCores::commit() { in_place(g, "wgmma.commit_group.sync.aligned;", {}); }

void WarpgroupCores::wait(int n, Vars& sums) {
  Vars none;
  wait(n, sums, none);
}
void WarpgroupCores::wait(int n, Vars& sums, Vars& floats) {
  in_place(g, "wgmma.wait_group.sync.aligned " + std::to_string(n) + ";", {{letter_of_sums(t), &sums}, {'f', &floats}});
}

void WarpgroupCores::multiply_add(const Matrix& a, const Matrix& b, int columns, Vars& sums, To to) {
  product({a.descriptor.v}, "$" + std::to_string(columns / 2), a.lie == Lie::Wide, b, columns, sums, to);
}
void WarpgroupCores::multiply_add(const Vs& a, const Matrix& b, int columns, Vars& sums, To to) {
  std::vector<Value*> registers;
  for (const V& v : a) registers.push_back(v.v);
  product(registers, "{" + operands(columns / 2, 4) + "}", false, b, columns, sums, to);
}

void WarpgroupCores::product(const std::vector<Value*>& a, const std::string& a_text, bool a_by_k, const Matrix& b,
                             int columns, Vars& sums, To to) {
  REPRISE_CHECK(static_cast<int>(sums.size()) == columns / 2 && columns % 8 == 0 && columns <= kMostColumns,
                " a product of ", columns, " columns with ", sums.size(), " sums");
  const std::string kind =
      "k" + std::to_string(depth(t)) + (t == DType::Int8 ? ".s32" : ".f32") + name_of(t) + name_of(other);
  const int at_b = columns / 2 + static_cast<int>(a.size());
  const bool fresh = to == To::Nothing;
  std::string text = std::string("{ .reg .pred p; setp.ne.b32 p, ") + (fresh ? "0" : "1") +
                     ", 0; wgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) + kind + " {" +
                     operands(0, columns / 2) + "}, " + a_text + ", $" + std::to_string(at_b) + ", p";
  if (t != DType::Int8) text += ", 1, 1";  // signs
  if (item_size(t) == 2) {
    if (a.size() == 1) text += a_by_k ? ", 1" : ", 0";
    text += b.lie == Lie::Wide ? ", 1" : ", 0";
  }
  text += "; }";
  std::vector<Value*> in = a;
  in.push_back(b.descriptor.v);
  in_place(g, text, {{letter_of_sums(t), &sums}}, in,
           (a.size() == 1 ? std::string("l") : std::string(a.size(), 'r')) + "l", fresh);
}

}  // namespace reprise::jit
