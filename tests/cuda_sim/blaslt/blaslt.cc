#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "device/cuda/blaslt_api.h"
#include "tests/cuda_sim/blaslt/control.h"
#include "tests/cuda_sim/blaslt/multiply.h"
#include "tests/cuda_sim/control.h"

/// A library in cuBLASLt's place for the simulator of the driver: the entry points that device/cuda/blaslt.cc uses,
/// with checks of everything they are given. Its kernels are run by the simulator, on the host, in the order of their
/// stream.
using namespace reprise::device::cuda::lt;
namespace sb = sim_blaslt;

namespace reprise::device::cuda::lt {
struct HandleOf {
  int unused;
};
struct MatmulDescOf {
  ComputeType compute;
  DataType scale;
  std::int32_t trans_a = kOpN, trans_b = kOpN;
  std::uint32_t epilogue = kEpilogueDefault;
  const void* bias = nullptr;
};
struct MatrixLayoutOf {
  DataType type;
  std::uint64_t rows, columns;
  std::int64_t ld;
  std::int32_t batches = 1;
  std::int64_t batch_stride = 0;
};
struct PreferenceOf {
  std::uint64_t workspace = 0;
  std::uint32_t reductions = 7, alignment[4] = {256, 256, 256, 256};
};
}  // namespace reprise::device::cuda::lt

namespace {

std::recursive_mutex mu;
std::map<std::string, std::uint64_t> calls;  // guarded by mu, as all below
std::map<std::string, int> failures;
std::set<const void*> live;  // handles of every kind
std::string refusal;
std::int64_t split_from = 256;

template <class... A>
Status refuse(Status s, const A&... parts) {
  std::ostringstream text;
  ((void)(text << parts), ...);
  refusal = text.str();
  std::fprintf(stderr, "stand-in for cuBLASLt: %s\n", refusal.c_str());
  return s;
}

/// Counts the call; an injected failure, of this process or of REPRISE_BLASLT_FAIL ("cublasLtCreate=1"), comes first.
template <class F>
Status entry(const char* name, F&& f) {
  std::lock_guard hold(mu);
  if (calls.empty())
    if (const char* v = std::getenv("REPRISE_BLASLT_FAIL"); v && std::strchr(v, '='))
      failures[std::string(v, std::strchr(v, '='))] = std::atoi(std::strchr(v, '=') + 1);
  ++calls[name];
  if (auto it = failures.find(name); it != failures.end()) {
    Status s = static_cast<Status>(it->second);
    failures.erase(it);
    return s;
  }
  return f();
}
bool is_live(const void* p) { return live.count(p) != 0; }

template <class T, class H>
Status create(H* out, T made) {
  if (!out) return refuse(kInvalidValue, "no place for a handle");
  *out = new T(made);
  live.insert(*out);
  return kSuccess;
}
template <class H>
Status destroy(H h) {
  if (!live.erase(h)) return refuse(kInvalidValue, "a handle is destroyed that is not there");
  delete h;
  return kSuccess;
}
/// Attributes have exactly the documented sizes.
template <class T>
Status take(T& to, const void* from, std::size_t bytes) {
  if (!from || bytes != sizeof(T))
    return refuse(kInvalidValue, "an attribute of ", bytes, " bytes that has ", sizeof(T));
  std::memcpy(&to, from, sizeof(T));
  return kSuccess;
}

/// The problem that descriptors make together; says what does not fit.
Status problem(Handle h, MatmulDesc e, MatrixLayout a, MatrixLayout b, MatrixLayout c, MatrixLayout d, sb::Work& w) {
  for (const void* p : {static_cast<const void*>(h), static_cast<const void*>(e), static_cast<const void*>(a),
                        static_cast<const void*>(b), static_cast<const void*>(c), static_cast<const void*>(d)})
    if (!is_live(p)) return refuse(kInvalidValue, "a handle that is not there");
  for (MatrixLayout l : {a, b, c, d}) {
    if (l->type != d->type) return refuse(kNotSupported, "matrices of several types");
    if (l->ld < static_cast<std::int64_t>(l->rows) || !l->rows || !l->columns)
      return refuse(kInvalidValue, "a matrix of ", l->rows, " x ", l->columns, " with columns ", l->ld, " apart");
    if (l->batches != d->batches || l->batches < 1)
      return refuse(kInvalidValue, "batches of ", l->batches, " and ", d->batches);
  }
  switch (d->type) {
    case kReal32F: w.type = sb::Type::F32; break;
    case kReal64F: w.type = sb::Type::F64; break;
    case kReal16F: w.type = sb::Type::F16; break;
    case kReal16BF: w.type = sb::Type::BF16; break;
    default: return refuse(kNotSupported, "type ", static_cast<int>(d->type));
  }
  const bool wide = d->type == kReal64F;
  const bool tf32 = e->compute == kCompute32FFastTf32 && d->type == kReal32F;  // may be computed as well as can be
  if ((!tf32 && e->compute != (wide ? kCompute64F : kCompute32F)) || e->scale != (wide ? kReal64F : kReal32F))
    return refuse(kNotSupported, "sums of another type");
  auto matrix = [](MatrixLayout l, std::int32_t trans) {
    return sb::Matrix{0,
                      static_cast<std::int64_t>(l->rows),
                      static_cast<std::int64_t>(l->columns),
                      l->ld,
                      l->batch_stride,
                      trans == kOpT};
  };
  w.a = matrix(a, e->trans_a), w.b = matrix(b, e->trans_b), w.c = matrix(c, kOpN), w.d = matrix(d, kOpN);
  w.m = w.d.rows, w.n = w.d.columns, w.k = w.a.transposed ? w.a.rows : w.a.columns, w.batches = d->batches;
  if ((w.a.transposed ? w.a.columns : w.a.rows) != w.m || (w.b.transposed ? w.b.columns : w.b.rows) != w.k ||
      (w.b.transposed ? w.b.rows : w.b.columns) != w.n || w.c.rows != w.m || w.c.columns != w.n)
    return refuse(kInvalidValue, "sizes that do not fit: ", w.m, " x ", w.n, " x ", w.k);
  if (w.batches > 1 && w.d.batch < w.d.ld * (w.n - 1) + w.m) return refuse(kInvalidValue, "results of a batch overlap");
  if (e->epilogue != kEpilogueDefault && e->epilogue != kEpilogueBias)
    return refuse(kNotSupported, "epilogue ", e->epilogue);
  if (e->epilogue == kEpilogueBias && !e->bias)
    return refuse(kNotSupported, "an epilogue with a bias that has no address");
  w.bias = e->epilogue == kEpilogueBias ? reinterpret_cast<std::uint64_t>(e->bias) : 0;
  return kSuccess;
}

std::uint64_t fingerprint(const sb::Work& w) {
  std::uint64_t h = 1469598103934665603u;
  for (std::int64_t v : {static_cast<std::int64_t>(w.type), w.m, w.n, w.k, w.batches, w.a.ld, w.a.batch,
                         static_cast<std::int64_t>(w.a.transposed), w.b.ld, w.b.batch,
                         static_cast<std::int64_t>(w.b.transposed), w.d.ld, w.d.batch, std::int64_t{w.bias != 0}})
    h = (h ^ static_cast<std::uint64_t>(v)) * 1099511628211u;
  return h;
}

/// An algorithm: fingerprint of the problem, alignment that it relies on, workspace (0: in one step).
Status matmul(Handle h, MatmulDesc e, const void* alpha, const void* a, MatrixLayout la, const void* b, MatrixLayout lb,
              const void* beta, const void* c, MatrixLayout lc, void* d, MatrixLayout ld, const Algo* algo,
              void* workspace, std::size_t workspace_bytes, Stream stream) {
  sb::Work w{};
  if (Status s = problem(h, e, la, lb, lc, ld, w); s != kSuccess) return s;
  if (!alpha || !beta || !algo) return refuse(kInvalidValue, "no alpha, beta or algorithm");
  if (algo->data[0] != fingerprint(w)) return refuse(kInvalidValue, "an algorithm for another problem");
  w.a.address = reinterpret_cast<std::uint64_t>(a), w.b.address = reinterpret_cast<std::uint64_t>(b);
  w.c.address = reinterpret_cast<std::uint64_t>(c), w.d.address = reinterpret_cast<std::uint64_t>(d);
  for (std::uint64_t p : {w.a.address, w.b.address, w.c.address, w.d.address, w.bias ? w.bias : algo->data[1]})
    if (!p || p % algo->data[1])
      return refuse(kInvalidValue, "address ", p, " for an algorithm that relies on multiples of ", algo->data[1]);
  w.workspace = reinterpret_cast<std::uint64_t>(workspace);
  if (algo->data[2] > workspace_bytes || (algo->data[2] && (!w.workspace || w.workspace % 256)))
    return refuse(kInvalidValue, "a workspace of ", workspace_bytes, " bytes at ", w.workspace, " instead of ",
                  algo->data[2]);
  if (w.type == sb::Type::F64) {
    std::memcpy(&w.alpha, alpha, 8), std::memcpy(&w.beta, beta, 8);
  } else {
    float x[2];
    std::memcpy(&x[0], alpha, 4), std::memcpy(&x[1], beta, 4);
    w.alpha = x[0], w.beta = x[1];
  }
  // It takes a while, in which other threads call the driver.
  std::this_thread::sleep_for(std::chrono::microseconds(20));
  auto submit = [&](void (*run)(void*)) { return reprise_simulator_submit(stream, run, &w, sizeof w) == 0; };
  // The second step waits for the first by itself, as the library's do.
  bool done = algo->data[2] ? submit(sb::halves) && reprise_simulator_submit_early(stream, sb::join, &w, sizeof w) == 0
                            : submit(sb::whole);
  return done ? kSuccess : refuse(kExecutionFailed, "the driver refuses the launch");
}

Status heuristic(Handle h, MatmulDesc e, MatrixLayout a, MatrixLayout b, MatrixLayout c, MatrixLayout d, Preference p,
                 int wanted, HeuristicResult* results, int* found) {
  sb::Work w{};
  if (found) *found = 0;
  if (Status s = problem(h, e, a, b, c, d, w); s != kSuccess) return s;
  if (!is_live(p) || wanted < 1 || !results || !found)
    return refuse(kInvalidValue, "no preference, or no place for results");
  std::uint64_t least = 256;
  for (std::uint32_t x : p->alignment) {
    if (x < sb::bytes_of(w.type) || (x & (x - 1))) return refuse(kInvalidValue, "addresses that are multiples of ", x);
    least = x < least ? x : least;
  }
  *results = {};
  results->algo.data[0] = fingerprint(w);
  results->algo.data[1] = least < 16 ? least : 16;
  // Sums that are split need a place, and a reduction in the type of the sums.
  if (w.k >= split_from && (p->reductions & kReductionComputeType) && sb::split_bytes(w) <= p->workspace)
    results->algo.data[2] = results->workspace_bytes = sb::split_bytes(w);
  *found = 1;
  return kSuccess;
}

}  // namespace

#define STAND_IN extern "C" __attribute__((visibility("default")))

STAND_IN Status cublasLtCreate(Handle* out) {
  return entry(__func__, [&] { return create(out, HandleOf{}); });
}
STAND_IN Status cublasLtDestroy(Handle h) {
  return entry(__func__, [&] { return destroy(h); });
}
STAND_IN std::size_t cublasLtGetVersion() { return 130100; }
STAND_IN const char* cublasLtGetStatusName(Status s) {
  switch (s) {
    case kSuccess: return "CUBLAS_STATUS_SUCCESS";
    case kNotInitialized: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case kAllocFailed: return "CUBLAS_STATUS_ALLOC_FAILED";
    case kInvalidValue: return "CUBLAS_STATUS_INVALID_VALUE";
    case kArchMismatch: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case kExecutionFailed: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case kInternalError: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case kNotSupported: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "CUBLAS_STATUS_UNKNOWN";
}
STAND_IN Status cublasLtMatmulDescCreate(MatmulDesc* out, ComputeType compute, DataType scale) {
  return entry(__func__, [&] { return create(out, MatmulDescOf{compute, scale}); });
}
STAND_IN Status cublasLtMatmulDescDestroy(MatmulDesc h) {
  return entry(__func__, [&] { return destroy(h); });
}
STAND_IN Status cublasLtMatmulDescSetAttribute(MatmulDesc h, DescAttribute what, const void* from, std::size_t bytes) {
  return entry(__func__, [&] {
    if (!is_live(h)) return refuse(kInvalidValue, "a descriptor that is not there");
    switch (what) {
      case kDescTransA: return take(h->trans_a, from, bytes);
      case kDescTransB: return take(h->trans_b, from, bytes);
      case kDescEpilogue: return take(h->epilogue, from, bytes);
      case kDescBiasPointer: return take(h->bias, from, bytes);
    }
    return refuse(kInvalidValue, "attribute ", static_cast<int>(what), " of a product");
  });
}
STAND_IN Status cublasLtMatrixLayoutCreate(MatrixLayout* out, DataType type, std::uint64_t rows, std::uint64_t columns,
                                           std::int64_t ld) {
  return entry(__func__, [&] { return create(out, MatrixLayoutOf{type, rows, columns, ld}); });
}
STAND_IN Status cublasLtMatrixLayoutDestroy(MatrixLayout h) {
  return entry(__func__, [&] { return destroy(h); });
}
STAND_IN Status cublasLtMatrixLayoutSetAttribute(MatrixLayout h, LayoutAttribute what, const void* from,
                                                 std::size_t bytes) {
  return entry(__func__, [&] {
    if (!is_live(h)) return refuse(kInvalidValue, "a layout that is not there");
    switch (what) {
      case kLayoutBatchCount: return take(h->batches, from, bytes);
      case kLayoutStridedBatchOffset: return take(h->batch_stride, from, bytes);
    }
    return refuse(kInvalidValue, "attribute ", static_cast<int>(what), " of a layout");
  });
}
STAND_IN Status cublasLtMatmulPreferenceCreate(Preference* out) {
  return entry(__func__, [&] { return create(out, PreferenceOf{}); });
}
STAND_IN Status cublasLtMatmulPreferenceDestroy(Preference h) {
  return entry(__func__, [&] { return destroy(h); });
}
STAND_IN Status cublasLtMatmulPreferenceSetAttribute(Preference h, PreferenceAttribute what, const void* from,
                                                     std::size_t bytes) {
  return entry(__func__, [&] {
    if (!is_live(h)) return refuse(kInvalidValue, "a preference that is not there");
    switch (what) {
      case kPrefMaxWorkspaceBytes: return take(h->workspace, from, bytes);
      case kPrefReductionSchemeMask: return take(h->reductions, from, bytes);
      case kPrefMinAlignmentA:
      case kPrefMinAlignmentB:
      case kPrefMinAlignmentC:
      case kPrefMinAlignmentD: return take(h->alignment[what - kPrefMinAlignmentA], from, bytes);
    }
    return refuse(kInvalidValue, "preference ", static_cast<int>(what));
  });
}
STAND_IN Status cublasLtMatmulAlgoGetHeuristic(Handle h, MatmulDesc e, MatrixLayout a, MatrixLayout b, MatrixLayout c,
                                               MatrixLayout d, Preference p, int wanted, HeuristicResult* results,
                                               int* found) {
  return entry(__func__, [&] { return heuristic(h, e, a, b, c, d, p, wanted, results, found); });
}
STAND_IN Status cublasLtMatmul(Handle h, MatmulDesc e, const void* alpha, const void* a, MatrixLayout la, const void* b,
                               MatrixLayout lb, const void* beta, const void* c, MatrixLayout lc, void* d,
                               MatrixLayout ld, const Algo* algo, void* workspace, std::size_t workspace_bytes,
                               Stream stream) {
  return entry(__func__, [&] {
    return matmul(h, e, alpha, a, la, b, lb, beta, c, lc, d, ld, algo, workspace, workspace_bytes, stream);
  });
}

// Every one as blaslt_api.h declares it.
#define SAME(name, result, parameters) static_assert(std::is_same_v<decltype(name), name##_t>);
REPRISE_BLASLT_FUNCTIONS(SAME)

STAND_IN const int reprise_blaslt_stand_in = 1;
STAND_IN uint64_t reprise_blaslt_calls(const char* name) {
  std::lock_guard hold(mu);
  return calls[name];
}
STAND_IN void reprise_blaslt_fail_next(const char* name, int status) {
  std::lock_guard hold(mu);
  if (status) failures[name] = status;
  else failures.erase(name);
}
STAND_IN void reprise_blaslt_split_from(int64_t k) {
  std::lock_guard hold(mu);
  split_from = k;
}
STAND_IN const char* reprise_blaslt_last_refusal() {
  std::lock_guard hold(mu);
  return refusal.c_str();
}
