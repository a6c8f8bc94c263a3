#ifndef REPRISE_RT_H
#define REPRISE_RT_H
/* Runs exported programs without a compiler (docs/runtime.md): libreprise-rt, C11 and C++17. A program is made by
 * ExportedProgram::compile() and save() (reprise/export.h).
 *
 *   rprt_program* p;
 *   if (rprt_load("net.rpx", NULL, &p) != RPRT_OK) return puts(rprt_last_error());
 *   rprt_value x, y = {0};
 *   int64_t sizes[] = {1, 16};
 *   rprt_tensor_set(&x, data, RPRT_FLOAT32, 2, sizes);
 *   if (rprt_call(p, &x, 1, &y, 1) != RPRT_OK) return puts(rprt_last_error());
 *   use(y.tensor.data), rprt_release(&y);
 *   rprt_unload(p);
 *
 * Every function may be called from any thread, and several threads may call one program. A function that can fail
 * gives a code; rprt_last_error() of the same thread says what was wrong. Nothing is changed by what fails. A file
 * holds machine code: load what you would link. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RPRT_API __attribute__((visibility("default")))
#else
#define RPRT_API
#endif

#define RPRT_VERSION 1
#define RPRT_MAX_DIMS 8

typedef enum rprt_code {
  RPRT_OK = 0,
  RPRT_INVALID_ARGUMENT = 1, /* also a call outside of the guards */
  RPRT_SHAPE_MISMATCH = 2,
  RPRT_DTYPE_MISMATCH = 3,
  RPRT_DEVICE_MISMATCH = 4,
  RPRT_ALIAS_CONFLICT = 5,     /* arguments share memory in another way than is allowed */
  RPRT_INDEX_OUT_OF_RANGE = 6, /* of elements that are indices */
  RPRT_FILE_FORMAT = 7,        /* damaged, newer, or of another kind */
  RPRT_IO = 8,
  RPRT_OUT_OF_MEMORY = 9,
  RPRT_NO_CODE = 10,    /* the file has none for this processor */
  RPRT_NOT_LOADED = 11, /* the program has been unloaded */
  RPRT_INTERNAL = 12
} rprt_code;

/* The numbers are part of the interface, and of files. */
typedef enum rprt_dtype {
  RPRT_FLOAT32 = 0,
  RPRT_FLOAT64 = 1,
  RPRT_FLOAT16 = 2,
  RPRT_BFLOAT16 = 3,
  RPRT_INT8 = 4,
  RPRT_UINT8 = 5,
  RPRT_INT32 = 6,
  RPRT_INT64 = 7,
  RPRT_BOOL = 8,
  RPRT_FLOAT8_E4M3FN = 9,
  RPRT_FLOAT8_E5M2 = 10
} rprt_dtype;

typedef enum rprt_kind {
  RPRT_NONE = 0, /* nothing, and results that are undefined tensors */
  RPRT_TENSOR = 1,
  RPRT_INTEGER = 2,
  RPRT_NUMBER = 3
} rprt_kind;

/* Memory of the host as a tensor: strides are in elements, and may be anything that stays within the memory. */
typedef struct rprt_tensor {
  void* data; /* of the first element; aligned to an element */
  int32_t dtype, ndim;
  int64_t sizes[RPRT_MAX_DIMS];
  int64_t strides[RPRT_MAX_DIMS];
} rprt_tensor;

typedef struct rprt_value {
  int32_t kind;
  int64_t
      integer; /* of a tensor among results: n of argument n - 1, -n of weight n - 1, if it is that itself; else 0 */
  double number;
  rprt_tensor tensor;
  void* owner; /* of results: who keeps the memory, until rprt_release(). NULL in arguments */
} rprt_value;

typedef struct rprt_options {
  const char* level;    /* of machine code, as rprt_level() tells it; NULL: the highest that this processor has */
  int32_t copy_weights; /* into memory of their own; else they are mapped, and pages that nobody writes are shared */
} rprt_options;

/* What an argument, a result or a weight is. Texts live as long as the program is loaded. */
typedef struct rprt_info {
  const char* name;
  int32_t kind, dtype, ndim; /* dtype and ndim of arguments and weights; -1 of results, which calls tell */
  int32_t written;           /* the program writes its elements */
} rprt_info;

typedef struct rprt_program rprt_program;

/* RPRT_VERSION of the library. */
RPRT_API int32_t rprt_version(void);
/* What went wrong in this thread's latest call that failed; "" before. Valid until its next one. */
RPRT_API const char* rprt_last_error(void);
RPRT_API const char* rprt_code_name(int32_t code);
/* "float32", or NULL; bytes of an element, or 0. */
RPRT_API const char* rprt_dtype_name(int32_t dtype);
RPRT_API size_t rprt_dtype_size(int32_t dtype);

RPRT_API int32_t rprt_load(const char* path, const rprt_options* options, rprt_program** out);
/* Calls of other threads that run end as usual; what comes later is RPRT_NOT_LOADED. Results stay. */
RPRT_API int32_t rprt_unload(rprt_program*);

RPRT_API const char* rprt_name(rprt_program*);
RPRT_API const char* rprt_level(rprt_program*);     /* of the code that runs: "avx2" */
RPRT_API const char* rprt_signature(rprt_program*); /* "(x: f32[batch, s1]) -> (f32[batch, s3])" */
RPRT_API size_t rprt_argument_count(rprt_program*);
RPRT_API int32_t rprt_argument(rprt_program*, size_t, rprt_info*);
RPRT_API size_t rprt_result_count(rprt_program*);
RPRT_API int32_t rprt_result(rprt_program*, size_t, rprt_info*);
RPRT_API size_t rprt_guard_count(rprt_program*);
RPRT_API const char* rprt_guard(rprt_program*, size_t); /* "batch <= 64  ; declared" */
RPRT_API size_t rprt_weight_count(rprt_program*);
RPRT_API int32_t rprt_weight(rprt_program*, size_t, rprt_info*);
/* The program's own memory of a weight: buffers change there. */
RPRT_API int32_t rprt_weight_tensor(rprt_program*, size_t, rprt_tensor*);
/* Another tensor takes the place of a weight, in calls that begin later. The caller keeps its memory. */
RPRT_API int32_t rprt_bind(rprt_program*, const char* name, const rprt_tensor*);

/* A row-major tensor. */
RPRT_API int32_t rprt_tensor_set(rprt_value*, void* data, int32_t dtype, int32_t ndim, const int64_t* sizes);
RPRT_API void rprt_integer_set(rprt_value*, int64_t);
RPRT_API void rprt_number_set(rprt_value*, double);
/* Calls the program: as many arguments as rprt_argument_count(), and room for as many results as rprt_result_count().
 * A result that is a view of an argument shows the argument's memory; others have their own until rprt_release().
 * Arguments that the program has as one tensor are one where they are the same view of the same memory. */
RPRT_API int32_t rprt_call(rprt_program*, const rprt_value* arguments, size_t n_arguments, rprt_value* results,
                           size_t n_results);
/* Gives back a result, which becomes RPRT_NONE. */
RPRT_API void rprt_release(rprt_value*);

/* Threads of all programs of the process; 0: what the machine has for it. */
RPRT_API int32_t rprt_set_threads(int32_t);
RPRT_API int32_t rprt_threads(void);
/* Where programs that draw random numbers begin. */
RPRT_API void rprt_seed(uint64_t);

#ifdef __cplusplus
}
#endif
#endif
