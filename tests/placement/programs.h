#pragma once
#include "reprise/plan_parallel.h"

/// Small programs to be planned, traced of shape-only tensors.
namespace reprise::test {

/// linear, relu, linear; no loss.
ExportedProgram mlp(std::int64_t batch, std::int64_t width, std::int64_t hidden);
/// The same with a loss and its derivative.
ExportedProgram mlp_step(std::int64_t batch, std::int64_t width, std::int64_t hidden);
/// Projections, heads, attention, projection.
ExportedProgram attention(std::int64_t batch, std::int64_t length, std::int64_t heads, std::int64_t width);
/// A Llama-like model of `layers` layers with its loss and derivative: norms, rotary-free attention, gated MLP.
ExportedProgram llama_step(int layers, std::int64_t batch, std::int64_t length, std::int64_t width, std::int64_t hidden,
                           std::int64_t heads, std::int64_t vocabulary);

}  // namespace reprise::test
