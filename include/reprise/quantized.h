#pragma once
#include <cstdint>
#include <optional>

#include "reprise/activations.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Weights that other programs have quantized by groups of inputs to 4 or 8 bits, as GPTQ's and AWQ's safetensors hold
/// them: products unpack them in registers. docs/gguf.md shows how they are used.
namespace reprise REPRISE_VISIBLE {
namespace quantized {

/// What such a file has for one layer, by its names: a struct for load_safetensors(). Integers of `bits` bits stand in
/// int32, the lowest first.
///   GPTQ: qweight [in * bits / 32, out], qzeros [groups, out * bits / 32], scales [groups, out], g_idx [in] (which
///   group an input is of) AWQ:  qweight [in, out * bits / 32], qzeros [groups, out * bits / 32], scales [groups, out];
///   eight columns stand in the order 0 2 4 6 1 3 5 7
struct Packed {
  Tensor qweight, qzeros, scales;
  std::optional<Tensor> g_idx;
};

/// How a file's zero points are meant. AWQ's are what they are.
enum class Zeros : std::uint8_t {
  LessOne,  ///< GPTQ's first format, which most files have: what is stored is one less, of so many bits
  Exact,    ///< its second one ("gptq_v2")
};

/// A matrix of weights [out, in]: an element is (q - zero) * scale, of the float16 that its group has. A plain struct,
/// so that it is an argument of compiled functions as it stands.
struct Groups {
  int bits = 4;
  int group = 128;     ///< inputs that stand together: 32, 64 or 128
  Tensor data = {};    ///< uint8 [out, bytes of a row]: blocks of scale, zero, q
  Tensor halves = {};  ///< the same bytes as float16
  Tensor order = {};   ///< int64 [in], where g_idx is not in order: which input stands where

  bool defined() const { return data.defined(); }
  Ints sizes() const;
  Int size(int dim) const { return sizes()[static_cast<std::size_t>(dim < 0 ? dim + 2 : dim)]; }
  std::int64_t bytes() const;  ///< that are stored
  /// All elements [out, in], unpacked in float32 and rounded once. Ordinary operators.
  Tensor dequantize(DType dtype = kFloat32, SourceLoc loc = SourceLoc::current()) const;
  /// The same on another device.
  Groups to(Device device, SourceLoc loc = SourceLoc::current()) const;
};

/// Repacks a file's weights for the kernel: rows by output, inputs in the order of their groups. Sizes tell the format
/// and its bits (`zeros` matters for GPTQ only). Scales are float16, or are rounded to it. Tensors of the host. Throws
/// ShapeMismatch, DTypeMismatch (naming the tensor), InvalidArgument for groups that are not whole multiples of 32
/// inputs, or of different sizes.
Groups groups(const Packed&, Zeros zeros = Zeros::LessOne, SourceLoc loc = SourceLoc::current());

/// x [..., in] times weight [out, in] transposed (+ bias [out]), in x's dtype, a float; in float32, of elements as
/// dequantize() has them. On the host the unpacked matrix is nowhere. On devices it is dequantize() and linear().
/// `activations`: see there. Throws ShapeMismatch, DTypeMismatch.
Tensor linear(const Tensor& x, const Groups& weight, const Tensor& bias = {},
              Activations activations = Activations::Float32, SourceLoc loc = SourceLoc::current());

}  // namespace quantized
}  // namespace REPRISE_VISIBLE
