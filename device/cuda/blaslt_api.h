#pragma once
#include <cstddef>
#include <cstdint>

struct CUstream_st;  // of cuda.h

/// What Reprise uses of cuBLASLt's binary interface (versions 11.4 to 13), by the documented names and numbers.
/// Declared here since the library is opened while the program runs, and cublasLt.h is not part of the driver's
/// headers; the tests compare this with the header where there is one.
namespace reprise::device::cuda::lt {

using Handle = struct HandleOf*;
using MatmulDesc = struct MatmulDescOf*;
using MatrixLayout = struct MatrixLayoutOf*;
using Preference = struct PreferenceOf*;
using Stream = ::CUstream_st*;

enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 3,
  kInvalidValue = 7,
  kArchMismatch = 8,
  kExecutionFailed = 13,
  kInternalError = 14,
  kNotSupported = 15,
};
enum DataType : int { kReal32F = 0, kReal64F = 1, kReal16F = 2, kReal16BF = 14 };
enum ComputeType : int { kCompute32F = 68, kCompute64F = 70, kCompute32FFastTf32 = 77 };
enum Operation : int { kOpN = 0, kOpT = 1 };
enum Epilogue : std::uint32_t { kEpilogueDefault = 1, kEpilogueBias = 4 };
/// int32, int32, uint32, pointer
enum DescAttribute : int { kDescTransA = 3, kDescTransB = 4, kDescEpilogue = 7, kDescBiasPointer = 8 };
/// int32, int64 (elements)
enum LayoutAttribute : int { kLayoutBatchCount = 5, kLayoutStridedBatchOffset = 6 };
/// uint64, uint32, and the rest uint32.
enum PreferenceAttribute : int {
  kPrefMaxWorkspaceBytes = 1,
  kPrefReductionSchemeMask = 3,
  kPrefMinAlignmentA = 5,
  kPrefMinAlignmentB = 6,
  kPrefMinAlignmentC = 7,
  kPrefMinAlignmentD = 8
};
enum ReductionScheme : std::uint32_t { kReductionComputeType = 2 };

struct Algo {
  std::uint64_t data[8];
};
struct HeuristicResult {
  Algo algo;
  std::size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

// Entry points: F(name, result, parameters).
#define REPRISE_BLASLT_FUNCTIONS(F)                                                                              \
  F(cublasLtCreate, Status, (Handle*))                                                                           \
  F(cublasLtDestroy, Status, (Handle))                                                                           \
  F(cublasLtGetVersion, std::size_t, ())                                                                         \
  F(cublasLtGetStatusName, const char*, (Status))                                                                \
  F(cublasLtMatmulDescCreate, Status, (MatmulDesc*, ComputeType, DataType scale))                                \
  F(cublasLtMatmulDescDestroy, Status, (MatmulDesc))                                                             \
  F(cublasLtMatmulDescSetAttribute, Status, (MatmulDesc, DescAttribute, const void*, std::size_t))               \
  F(cublasLtMatrixLayoutCreate, Status,                                                                          \
    (MatrixLayout*, DataType, std::uint64_t rows, std::uint64_t columns, std::int64_t ld))                       \
  F(cublasLtMatrixLayoutDestroy, Status, (MatrixLayout))                                                         \
  F(cublasLtMatrixLayoutSetAttribute, Status, (MatrixLayout, LayoutAttribute, const void*, std::size_t))         \
  F(cublasLtMatmulPreferenceCreate, Status, (Preference*))                                                       \
  F(cublasLtMatmulPreferenceDestroy, Status, (Preference))                                                       \
  F(cublasLtMatmulPreferenceSetAttribute, Status, (Preference, PreferenceAttribute, const void*, std::size_t))   \
  F(cublasLtMatmulAlgoGetHeuristic, Status,                                                                      \
    (Handle, MatmulDesc, MatrixLayout a, MatrixLayout b, MatrixLayout c, MatrixLayout d, Preference, int wanted, \
     HeuristicResult*, int* found))                                                                              \
  F(cublasLtMatmul, Status,                                                                                      \
    (Handle, MatmulDesc, const void* alpha, const void* a, MatrixLayout, const void* b, MatrixLayout,            \
     const void* beta, const void* c, MatrixLayout, void* d, MatrixLayout, const Algo*, void* workspace,         \
     std::size_t workspace_bytes, Stream))

#define REPRISE_BLASLT_TYPE(name, result, parameters) using name##_t = result parameters;
REPRISE_BLASLT_FUNCTIONS(REPRISE_BLASLT_TYPE)
#undef REPRISE_BLASLT_TYPE

}  // namespace reprise::device::cuda::lt
