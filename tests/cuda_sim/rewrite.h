#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "tests/cuda_sim/module.h"

/// A module made for the device becomes one for the host. (The only other file that sees LLVM is jit.cc.)
///   special registers    loads from g_ids
///   shared memory        fixed addresses in the shared window; global variables: allocations of the arena
///   loads and stores     a check that returns where the bytes are on the host; atomics: plain, threads run one at a
///   time barriers, shuffles   calls (cooperate.cc) approximate math     calls (math.cc)
///   returns that all threads of a block come to alike, at the start: a call (cooperate.cc), so that one thread of such
///   a block is enough
namespace sim {

class Rewriter {
 public:
  Rewriter(llvm::Module& m, Code& code, bool checks);
  /// Throws Failure(CUDA_ERROR_INVALID_PTX) naming what it does not know.
  void run();
  /// Name of the function that runs one thread of a kernel.
  static std::string entry_name(const std::string& kernel) { return "sim_run_" + kernel; }
  /// Bytes to copy into the arena once the code is linked.
  struct Initial {
    std::string symbol;
    std::uint64_t address, bytes;
  };
  std::vector<Initial> initials;

 private:
  void find_kernels();
  void tell_of_empty_blocks(llvm::Function& kernel);
  void place_globals();
  void place_shared(const std::vector<llvm::GlobalVariable*>&);
  void rewrite(llvm::Instruction*, std::uint32_t site);
  void make_entry(llvm::Function*);

  // Memory (rewrite_memory.cc)
  void access(llvm::Instruction*, unsigned pointer_operand, llvm::Type*, llvm::Align, bool read, bool write,
              std::uint32_t site);
  llvm::Value* host_pointer(llvm::IRBuilder<>&, llvm::Value* p, std::uint64_t bytes, std::uint64_t align,
                            const char* what, std::uint32_t site);
  void block_access(llvm::CallBase*, std::uint32_t site);
  void load_through_cache(llvm::CallBase*, std::uint32_t site);

  // Calls (rewrite_calls.cc)
  void intrinsic(llvm::CallBase*, llvm::StringRef name, std::uint32_t site);
  bool special_register(llvm::CallBase*, llvm::StringRef);
  bool cooperation(llvm::CallBase*, llvm::StringRef, std::uint32_t site);
  bool memory_intrinsic(llvm::CallBase*, llvm::StringRef, std::uint32_t site);
  bool math(llvm::CallBase*, llvm::StringRef);
  bool tensor(llvm::CallBase*, llvm::StringRef, std::uint32_t site);  // rewrite_tensor.cc
  /// An array of the thread's stack, which all calls of a function share.
  static llvm::Value* stack_array(llvm::Function*, llvm::Type*, llvm::StringRef name);  // rewrite_tensor.cc
  bool warpgroup(llvm::CallBase*, llvm::StringRef, std::uint32_t site);                 // rewrite_warpgroup.cc
  void inline_assembly(llvm::CallBase*, std::uint32_t site);

  // Arithmetic that x86 and a GPU define differently (rewrite_arithmetic.cc)
  void divide(llvm::BinaryOperator*);
  void float_to_int(llvm::CastInst*);
  void to_bfloat(llvm::CastInst*);
  llvm::Value* round_to_bfloat(llvm::IRBuilder<>&, llvm::Value*);

  llvm::Value* call(llvm::IRBuilder<>&, llvm::StringRef function, llvm::Type* result, llvm::ArrayRef<llvm::Value*>);
  void replace(llvm::Instruction*, llvm::Value*);
  llvm::Constant* address(std::uint64_t, llvm::Type* pointer);
  static bool on_stack(const llvm::Value* pointer);

  llvm::Module& m_;
  llvm::LLVMContext& c_;
  Code& code_;
  const bool checks_;
  std::vector<llvm::Function*> kernels_;
  llvm::Type *i1_, *i8_, *i16_, *i32_, *i64_, *f32_, *f64_;
  llvm::PointerType* ptr_;
};

}  // namespace sim
