/* Runs an exported program: rprt_run FILE.rpx [NAME=2x3 | NAME=5 | NAME=0.5 ...] [--times N] [--memory]
 *
 * Tells what the program takes, makes tensors of the sizes that were given (element i is (i * 37 % 101) / 101 - 0.5, or
 * i % 7 of integers), calls it and prints the results. It needs libreprise-rt and nothing else. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reprise/rt.h"

static double now_ms(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int failed(void) {
  fprintf(stderr, "rprt_run: %s\n", rprt_last_error());
  return 1;
}

/* Fills in an argument from "NAME=2x3". */
static int set_argument(rprt_value* v, const rprt_info* info, const char* text) {
  if (info->kind == RPRT_INTEGER) return rprt_integer_set(v, strtoll(text, NULL, 10)), 0;
  if (info->kind == RPRT_NUMBER) return rprt_number_set(v, strtod(text, NULL)), 0;
  int64_t sizes[RPRT_MAX_DIMS];
  int32_t ndim = 0;
  size_t n = 1;
  for (const char* at = text; *at && ndim < RPRT_MAX_DIMS; ++ndim) {
    char* end;
    sizes[ndim] = strtoll(at, &end, 10);
    if (end == at || sizes[ndim] < 0) return fprintf(stderr, "rprt_run: '%s' is no list of sizes\n", text), 1;
    n *= (size_t)sizes[ndim];
    at = *end == 'x' ? end + 1 : end;
  }
  const size_t item = rprt_dtype_size(info->dtype);
  void* data = aligned_alloc(64, (n * item + 127) / 64 * 64);
  if (!data) return fprintf(stderr, "rprt_run: no memory\n"), 1;
  memset(data, 0, n * item);
  for (size_t i = 0; i < n; ++i) {
    const double x = (double)(i * 37 % 101) / 101 - 0.5;
    if (info->dtype == RPRT_FLOAT32) ((float*)data)[i] = (float)x;
    if (info->dtype == RPRT_FLOAT64) ((double*)data)[i] = x;
    if (info->dtype == RPRT_INT64) ((int64_t*)data)[i] = (int64_t)(i % 7);
    if (info->dtype == RPRT_INT32) ((int32_t*)data)[i] = (int32_t)(i % 7);
  }
  return rprt_tensor_set(v, data, info->dtype, ndim, sizes) == RPRT_OK ? 0 : failed();
}

static double element(const rprt_tensor* t, int64_t at) {
  switch (t->dtype) {
    case RPRT_FLOAT32: return ((float*)t->data)[at];
    case RPRT_FLOAT64: return ((double*)t->data)[at];
    case RPRT_INT64: return (double)((int64_t*)t->data)[at];
    case RPRT_INT32: return ((int32_t*)t->data)[at];
    case RPRT_UINT8:
    case RPRT_BOOL: return ((uint8_t*)t->data)[at];
    default: return 0;
  }
}

/* The sum, and the first elements as they are in memory. */
static void print_tensor(const char* name, const rprt_tensor* t) {
  printf("%s: %s[", name, rprt_dtype_name(t->dtype));
  int64_t n = 1;
  for (int32_t d = 0; d < t->ndim; ++d) printf(d ? ", %" PRId64 : "%" PRId64, t->sizes[d]), n *= t->sizes[d];
  double sum = 0;
  printf("]");
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = 0, rest = i;
    for (int32_t d = t->ndim; d-- > 0; rest /= t->sizes[d]) at += rest % t->sizes[d] * t->strides[d];
    const double x = element(t, at);
    sum += x;
    if (i < 4) printf(" %a", x);
  }
  printf(" sum %a\n", sum);
}

/* What the process has of memory that is in no file, in KiB (Linux). */
static void print_memory(void) {
  FILE* f = fopen("/proc/self/status", "r");
  char line[256];
  long kib = -1;
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, "RssAnon:", 8) == 0) kib = strtol(line + 8, NULL, 10);
  if (f) fclose(f);
  if (kib >= 0) printf("memory beside mapped files %ld KiB\n", kib);
}

int main(int argc, char** argv) {
  if (argc < 2) return fprintf(stderr, "usage: rprt_run FILE.rpx [NAME=SIZES ...] [--times N]\n"), 2;
  int times = 1, memory = 0;
  const double begin = now_ms();
  rprt_program* p;
  if (rprt_load(argv[1], NULL, &p) != RPRT_OK) return failed();
  const double loaded = now_ms();
  const size_t n = rprt_argument_count(p), m = rprt_result_count(p);
  printf("program %s%s, machine code for %s\n", rprt_name(p), rprt_signature(p), rprt_level(p));
  rprt_value* in = calloc(n + 1, sizeof *in);
  rprt_value* out = calloc(m + 1, sizeof *out);
  if (!in || !out) return fprintf(stderr, "rprt_run: no memory\n"), 1;
  int given = 0;
  for (int a = 2; a < argc; ++a) {
    if (strcmp(argv[a], "--times") == 0 && a + 1 < argc) {
      times = atoi(argv[++a]);
      continue;
    }
    if (strcmp(argv[a], "--memory") == 0) memory = 1;
    const char* equals = strchr(argv[a], '=');
    for (size_t i = 0; equals && i < n; ++i) {
      rprt_info info;
      rprt_argument(p, i, &info);
      if (strlen(info.name) != (size_t)(equals - argv[a]) || strncmp(info.name, argv[a], strlen(info.name))) continue;
      if (set_argument(&in[i], &info, equals + 1)) return 1;
      given = 1;
    }
  }
  if (n > 0 && !given) {
    for (size_t i = 0; i < rprt_guard_count(p); ++i) printf("guard %s\n", rprt_guard(p, i));
    return 0;
  }
  const double called = now_ms();
  if (rprt_call(p, in, n, out, m) != RPRT_OK) return failed();
  const double first = now_ms() - called + loaded - begin;
  double best = 1e300;
  for (int i = 0; i < times; ++i) {
    for (size_t r = 0; r < m; ++r) rprt_release(&out[r]);
    const double start = now_ms();
    if (rprt_call(p, in, n, out, m) != RPRT_OK) return failed();
    const double took = now_ms() - start;
    best = took < best ? took : best;
  }
  for (size_t r = 0; r < m; ++r) {
    rprt_info info;
    rprt_result(p, r, &info);
    const char* name = info.name[0] ? info.name : "result";
    if (out[r].kind == RPRT_TENSOR) print_tensor(name, &out[r].tensor);
    if (out[r].kind == RPRT_INTEGER) printf("%s: %" PRId64 "\n", name, out[r].integer);
    if (out[r].kind == RPRT_NUMBER) printf("%s: %a\n", name, out[r].number);
    rprt_release(&out[r]);
  }
  if (times > 1) printf("load and first call %.3f ms, a call %.4f ms\n", first, best);
  if (memory) print_memory();
  for (size_t i = 0; i < n; ++i) free(in[i].tensor.data);
  free(in), free(out);
  return rprt_unload(p) == RPRT_OK ? 0 : failed();
}
