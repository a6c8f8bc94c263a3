#pragma once
#include <stdint.h>

/// What tests may ask of the stand-in for cuBLASLt besides the library's own functions; found by name.
#ifdef __cplusplus
extern "C" {
#endif

/// Its presence tells that this is the stand-in.
extern const int reprise_blaslt_stand_in;
/// Calls of an entry point since the library was loaded.
uint64_t reprise_blaslt_calls(const char* entry);
/// The next call of the entry point returns this status, and does nothing. 0: it does again what it should.
void reprise_blaslt_fail_next(const char* entry, int status);
/// Algorithms with a workspace, and in two steps, from this k on; 256 at first.
void reprise_blaslt_split_from(int64_t k);
/// What the latest refused call was refused for; "" when there was none. Valid until the next one.
const char* reprise_blaslt_last_refusal(void);

#ifdef __cplusplus
}
#endif
