// device/cuda/blaslt_api.h beside the library's own header, where there is one.
#include "device/cuda/blaslt_api.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

#include <cstddef>

namespace reprise::device::cuda::lt {

/// Numbers of two enumerations.
template <class A, class B>
constexpr bool same(A a, B b) {
  return static_cast<long long>(a) == static_cast<long long>(b);
}
static_assert(same(kNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED));
static_assert(same(kAllocFailed, CUBLAS_STATUS_ALLOC_FAILED));
static_assert(same(kInvalidValue, CUBLAS_STATUS_INVALID_VALUE));
static_assert(same(kArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH));
static_assert(same(kExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED));
static_assert(same(kInternalError, CUBLAS_STATUS_INTERNAL_ERROR));
static_assert(same(kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED));
static_assert(same(kSuccess, CUBLAS_STATUS_SUCCESS));
static_assert(same(kReal32F, CUDA_R_32F));
static_assert(same(kReal64F, CUDA_R_64F));
static_assert(same(kReal16F, CUDA_R_16F));
static_assert(same(kReal16BF, CUDA_R_16BF));
static_assert(same(kCompute32F, CUBLAS_COMPUTE_32F));
static_assert(same(kCompute64F, CUBLAS_COMPUTE_64F));
static_assert(same(kOpN, CUBLAS_OP_N));
static_assert(same(kOpT, CUBLAS_OP_T));
static_assert(same(kEpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT));
static_assert(same(kEpilogueBias, CUBLASLT_EPILOGUE_BIAS));
static_assert(same(kDescTransA, CUBLASLT_MATMUL_DESC_TRANSA));
static_assert(same(kDescTransB, CUBLASLT_MATMUL_DESC_TRANSB));
static_assert(same(kDescEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE));
static_assert(same(kDescBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER));
static_assert(same(kLayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
static_assert(same(kLayoutStridedBatchOffset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
static_assert(same(kPrefMaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
static_assert(same(kPrefReductionSchemeMask, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK));
static_assert(same(kPrefMinAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES));
static_assert(same(kPrefMinAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES));
static_assert(same(kPrefMinAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES));
static_assert(same(kPrefMinAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));
static_assert(same(kReductionComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));

static_assert(sizeof(Algo) == sizeof(cublasLtMatmulAlgo_t) && alignof(Algo) == alignof(cublasLtMatmulAlgo_t));
static_assert(sizeof(HeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(HeuristicResult, workspace_bytes) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(HeuristicResult, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(sizeof(Status) == sizeof(cublasStatus_t) && sizeof(DataType) == sizeof(cudaDataType_t) &&
              sizeof(ComputeType) == sizeof(cublasComputeType_t));
static_assert(sizeof(DescAttribute) == sizeof(cublasLtMatmulDescAttributes_t) &&
              sizeof(LayoutAttribute) == sizeof(cublasLtMatrixLayoutAttribute_t));

/// Number of parameters of a function.
template <class R, class... P>
constexpr std::size_t arity(R (*)(P...)) {
  return sizeof...(P);
}
#define SAME_ARITY(name, result, parameters) static_assert(arity(static_cast<name##_t*>(nullptr)) == arity(&::name));
REPRISE_BLASLT_FUNCTIONS(SAME_ARITY)

}  // namespace reprise::device::cuda::lt
#endif
