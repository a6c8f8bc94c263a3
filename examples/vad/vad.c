/* Tells where there is a voice in a recording: vad FILE.rpx FILE.wav
 *
 * Prints a line "begin end" in seconds for each stretch. The network takes blocks of 512 samples at 16 kHz and gives a
 * probability; what it remembers from block to block is in its buffers (examples/vad/main.cc makes the file). Needs
 * libreprise-rt and nothing else. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reprise/rt.h"

enum { RATE = 16000, BLOCK = 512 };

static int fail(const char* file, const char* why) { return fprintf(stderr, "vad: %s: %s\n", file, why), 1; }

static uint32_t little(const unsigned char* b, int n) {
  uint32_t v = 0;
  while (n-- > 0) v = v << 8 | b[n];
  return v;
}

/* Moves to the samples of a WAV file: 16 bits, one channel, 16 kHz. Their number, or -1 with a message. */
static long find_samples(FILE* f, const char* name) {
  unsigned char head[12], chunk[8], format[16];
  if (fread(head, 1, 12, f) != 12 || memcmp(head, "RIFF", 4) != 0 || memcmp(head + 8, "WAVE", 4) != 0)
    return fail(name, "is no WAV file"), -1;
  int known = 0;
  while (fread(chunk, 1, 8, f) == 8) {
    const uint32_t bytes = little(chunk + 4, 4);
    if (memcmp(chunk, "data", 4) == 0) return known ? (long)(bytes / 2) : (fail(name, "has no format"), -1);
    uint32_t rest = bytes + (bytes & 1);
    if (memcmp(chunk, "fmt ", 4) == 0) {
      if (bytes < 16 || fread(format, 1, 16, f) != 16) break;
      rest -= 16;
      if (little(format, 2) != 1 || little(format + 2, 2) != 1 || little(format + 4, 4) != RATE || little(format + 14, 2) != 16)
        return fail(name, "is not of one channel, 16 kHz and 16 bits"), -1;
      known = 1;
    }
    if (fseek(f, (long)rest, SEEK_CUR) != 0) break;
  }
  return fail(name, "is cut off"), -1;
}

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: vad FILE.rpx FILE.wav\n"), 2;
  rprt_program* net;
  if (rprt_load(argv[1], NULL, &net) != RPRT_OK) return fprintf(stderr, "vad: %s\n", rprt_last_error()), 1;
  FILE* f = fopen(argv[2], "rb");
  if (!f) return fail(argv[2], "cannot be opened");
  long left = find_samples(f, argv[2]);
  if (left < 0) return 1;
  double begin = -1;
  long block = 0;
  for (; left > 0; ++block, left -= BLOCK) {
    unsigned char bytes[2 * BLOCK] = {0};
    float samples[BLOCK];
    const int64_t sizes[] = {1, BLOCK};
    if (fread(bytes, 2, BLOCK, f) == 0) break;
    for (int i = 0; i < BLOCK; ++i) samples[i] = (float)(int16_t)little(bytes + 2 * i, 2) / 32768.0f;
    rprt_value x, y;
    rprt_tensor_set(&x, samples, RPRT_FLOAT32, 2, sizes);
    if (rprt_call(net, &x, 1, &y, 1) != RPRT_OK) return fprintf(stderr, "vad: %s\n", rprt_last_error()), 1;
    const double p = *(const float*)y.tensor.data, now = (double)block * BLOCK / RATE;
    rprt_release(&y);
    if (p > 0.5 && begin < 0) begin = now;
    if (p < 0.3 && begin >= 0) printf("%.2f %.2f\n", begin, now), begin = -1;
  }
  if (begin >= 0) printf("%.2f %.2f\n", begin, (double)block * BLOCK / RATE);
  fclose(f);
  return rprt_unload(net) == RPRT_OK ? 0 : 1;
}
