#pragma once

namespace quantized {

/// A kernel of one's own for "rms_norm, then quantize by rows to int8", and the pattern that puts it where a compiled
/// function does that. The model's code says nothing of it. (The library fuses the two by itself: this shows how
/// somebody brings a kernel that is better.)
void register_fused_norm(double eps);
inline constexpr const char* kFusedNorm = "rms_norm_int8";

}  // namespace quantized
