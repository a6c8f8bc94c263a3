#pragma once
#include <string>

namespace reprise::test {

/// What ptxas says about a kernel.
struct Assembled {
  bool ok = false;
  std::string log;  ///< its words, when it refused
  int registers = 0, spilled_bytes = 0, stack_bytes = 0, shared_bytes = 0;
  std::string cubin;  ///< the machine code, where it was asked for
};

/// The path of ptxas: in $CUDA_HOME/bin, in $PATH or in /usr/local/cuda/bin; empty where there is none.
const std::string& ptxas();
/// Assembles PTX for "sm_80"; for "sm_90a" where it says that it is for that one alone.
Assembled assemble(const std::string& ptx, const std::string& arch, bool keep_cubin = false);
/// "13.0"; empty where there is none.
const std::string& ptxas_version();

}  // namespace reprise::test
