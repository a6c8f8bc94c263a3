#pragma once

/// What tests may ask of the stand-in for NVRTC besides the library's own functions; found by name.
#ifdef __cplusplus
extern "C" {
#endif

/// What comes of a text that has this in it from now on, instead of machine code.
void reprise_nvrtc_gives(const char* part_of_text, const char* code);
/// The options of the latest program, one a line. Valid until the next one.
const char* reprise_nvrtc_options(void);
/// Programs that were made and not yet destroyed; and compiled ever.
int reprise_nvrtc_live(void);
int reprise_nvrtc_compiled(void);

#ifdef __cplusplus
}
#endif
