#include "tests/cuda_sim_test/image.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Base64.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace sim_test {

std::string image(const std::string& entry, const std::vector<int>& params, const std::string& ir) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic why;
  const std::string text =
      "target datalayout = \"e-i64:64-i128:128-v16:16-v32:32-n16:32:64\"\ntarget triple = \"nvptx64-nvidia-cuda\"\n" +
      ir;
  auto module = llvm::parseAssemblyString(text, why, context);
  if (!module) {
    std::string message;
    llvm::raw_string_ostream out(message);
    why.print("test", out);
    ADD_FAILURE() << message;
    return {};
  }
  std::string bitcode;
  llvm::raw_string_ostream out(bitcode);
  llvm::WriteBitcodeToFile(*module, out);
  out.flush();
  std::string ptx =
      "//\n// Generated\n//\n.version 7.8\n.target sm_90\n.address_size 64\n.visible .entry " + entry + "(\n";
  for (std::size_t i = 0; i < params.size(); ++i)
    ptx += "\t.param .u" + std::to_string(8 * params[i]) + " " + entry + "_param_" + std::to_string(i) +
           (i + 1 < params.size() ? ",\n" : "\n");
  ptx += ")\n{\n\tret;\n}\n";
  const std::string base64 = llvm::encodeBase64(bitcode);
  for (std::size_t at = 0; at < base64.size(); at += 120) ptx += "// reprise-ir " + base64.substr(at, 120) + "\n";
  return ptx;
}

}  // namespace sim_test
