/* A plug-in that hosts a network: what a program opens with dlopen() and knows by three names. The network takes blocks
 * f32[1, n] and gives as many; its buffers are its state, which each instance has for itself. */
#include <stdlib.h>
#include <string.h>

#include "reprise/rt.h"

#define EXPORT __attribute__((visibility("default")))

typedef struct plugin {
  rprt_program* program;
} plugin;

EXPORT plugin* plugin_open(const char* file) {
  plugin* p = calloc(1, sizeof *p);
  if (p && rprt_load(file, NULL, &p->program) != RPRT_OK) free(p), p = NULL;
  return p;
}

/* NULL, or what was wrong. */
EXPORT const char* plugin_process(plugin* p, const float* in, float* out, int64_t n) {
  const int64_t sizes[] = {1, n};
  rprt_value x, y;
  rprt_tensor_set(&x, (void*)in, RPRT_FLOAT32, 2, sizes);
  if (rprt_call(p->program, &x, 1, &y, 1) != RPRT_OK) return rprt_last_error();
  memcpy(out, y.tensor.data, (size_t)n * sizeof *out);
  rprt_release(&y);
  return NULL;
}

EXPORT void plugin_close(plugin* p) {
  if (p) rprt_unload(p->program), free(p);
}
