// Weights that GPTQ and AWQ quantized, as blocks of rows.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/errors.h"
#include "base/float_state.h"
#include "device/parallel.h"
#include "graph/shape_rules.h"
#include "import/gguf/linear.h"
#include "import/gguf/unpack.h"
#include "reprise/ops.h"
#include "reprise/quantized.h"

namespace reprise::quantized {

namespace {

using kernels::BlockFormat;

constexpr const char* kOp = "quantized::groups";
/// In AWQ's files column i of eight stands at this place.
constexpr int kAwqPlace[8] = {0, 4, 1, 5, 2, 6, 3, 7};

BlockFormat format_of(const Groups& g, const char* op) {
  const auto format = kernels::block_format("G" + std::to_string(g.bits) + "_" + std::to_string(g.group));
  if (!format)
    fail(ErrorCode::InvalidArgument, op, {}, "there are no groups of ", g.group, " numbers of ", g.bits,
         " bits: of 32, 64 or 128, and 4 or 8 bits");
  return *format;
}

std::vector<std::int64_t> sizes_of(const Tensor& t) {
  std::vector<std::int64_t> all;
  for (const Int& n : t.sizes()) all.push_back(n.value());
  return all;
}

/// The file's tensors, checked, and what follows from their sizes.
struct Source {
  std::int64_t in, out, count;  ///< count: groups
  int bits;
  bool awq;
  std::int64_t zero_more;  ///< what is added to zeros that are stored
  std::vector<std::int32_t> weight, zeros;
  std::vector<Half> scales;
  std::vector<std::int64_t> order;  ///< which input stands where; empty: each at its own place

  int per_word() const { return 32 / bits; }
  std::int64_t mask() const { return (1 << bits) - 1; }
  std::int64_t field(std::int32_t word, int place) const {
    return static_cast<std::int64_t>(static_cast<std::uint32_t>(word) >> (place * bits)) & mask();
  }
  int place_of_column(std::int64_t column) const {
    return awq ? kAwqPlace[column % 8] : static_cast<int>(column % per_word());
  }
  std::int64_t q(std::int64_t column, std::int64_t row) const {
    return awq ? field(weight[static_cast<std::size_t>(row * (out / per_word()) + column / per_word())],
                       place_of_column(column))
               : field(weight[static_cast<std::size_t>(row / per_word() * out + column)],
                       static_cast<int>(row % per_word()));
  }
  std::int64_t zero(std::int64_t column, std::int64_t g) const {
    return (field(zeros[static_cast<std::size_t>(g * (out / per_word()) + column / per_word())],
                  place_of_column(column)) +
            zero_more) &
           mask();
  }
};

std::vector<std::int64_t> order_of(const Tensor& g_idx, std::int64_t in, std::int64_t count, SourceLoc loc) {
  if (g_idx.dim() != 1 || g_idx.size(0).value() != in)
    fail(ErrorCode::ShapeMismatch, kOp, loc, "g_idx of sizes ", graph::sizes_text(g_idx.sizes()), " and a weight of ",
         in, " inputs");
  if (!is_integral(g_idx.dtype()))
    fail(ErrorCode::DTypeMismatch, kOp, loc, "g_idx is ", g_idx.dtype(), ", not of integers");
  const std::vector<std::int64_t> of = g_idx.to(kInt64, loc).to_vector<std::int64_t>();
  std::vector<std::vector<std::int64_t>> inputs(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < in; ++i) {
    const std::int64_t g = of[static_cast<std::size_t>(i)];
    if (g < 0 || g >= count)
      fail(ErrorCode::InvalidArgument, kOp, loc, "g_idx says group ", g, " of input ", i, ", of ", count, " groups");
    inputs[static_cast<std::size_t>(g)].push_back(i);
  }
  std::vector<std::int64_t> order;
  for (std::int64_t g = 0; g < count; ++g) {
    const std::vector<std::int64_t>& some = inputs[static_cast<std::size_t>(g)];
    if (static_cast<std::int64_t>(some.size()) != in / count)
      fail(ErrorCode::InvalidArgument, kOp, loc, "g_idx gives group ", g, " ", some.size(), " inputs, not ",
           in / count);
    order.insert(order.end(), some.begin(), some.end());
  }
  if (std::is_sorted(order.begin(), order.end())) order.clear();
  return order;
}

Source source(const Packed& p, Zeros zeros, SourceLoc loc) {
  for (const auto& [t, name] :
       {std::pair(&p.qweight, "qweight"), std::pair(&p.qzeros, "qzeros"), std::pair(&p.scales, "scales")}) {
    if (!t->defined()) fail(ErrorCode::InvalidArgument, kOp, loc, name, " is undefined");
    if (t->device() != Device::cpu())
      fail(ErrorCode::InvalidArgument, kOp, loc, name, " is on ", t->device().str(),
           ": groups are arranged on the host");
    if (t->dim() != 2)
      fail(ErrorCode::ShapeMismatch, kOp, loc, name, " must be a matrix, got sizes ", graph::sizes_text(t->sizes()));
    const bool of_words = t != &p.scales;
    if (of_words ? t->dtype() != kInt32 : !is_floating(t->dtype()) || is_storage_only(t->dtype()))
      fail(ErrorCode::DTypeMismatch, kOp, loc, name, " is ", t->dtype(), of_words ? ", not int32" : ", not a float");
  }
  const auto w = sizes_of(p.qweight), z = sizes_of(p.qzeros), s = sizes_of(p.scales);
  auto misfit = [&](const std::string& why) {
    fail(ErrorCode::ShapeMismatch, kOp, loc, "qweight of sizes ", graph::sizes_text(p.qweight.sizes()),
         ", qzeros of sizes ", graph::sizes_text(p.qzeros.sizes()), " and scales of sizes ",
         graph::sizes_text(p.scales.sizes()), ": ", why);
  };
  Source f{.in = 0,
           .out = s[1],
           .count = s[0],
           .bits = 0,
           .awq = false,
           .zero_more = 0,
           .weight = {},
           .zeros = {},
           .scales = {},
           .order = {}};
  for (const int bits : {4, 8})
    if (z[1] * 32 == f.out * bits) f.bits = bits;
  if (f.out == 0 || f.bits == 0) misfit("zeros of 4 or of 8 bits are wanted, one for each scale");
  if (z[0] != f.count) misfit("as many groups of zeros as of scales are wanted");
  f.awq = w[1] != f.out;
  if (f.awq && w[1] * f.per_word() != f.out) misfit("the weight has another number of outputs than the scales");
  f.in = f.awq ? w[0] : w[0] * f.per_word();
  if (f.count == 0 || f.in % f.count != 0) misfit("the inputs are no whole groups");
  if (f.in / f.count % 32 != 0 || f.in == 0)
    fail(ErrorCode::InvalidArgument, kOp, loc, f.in, " inputs in ", f.count,
         " groups: groups of multiples of 32 inputs are wanted");
  if (f.awq && f.bits != 4) misfit("AWQ's weights are of 4 bits");
  if (f.awq && p.g_idx && p.g_idx->defined())
    fail(ErrorCode::InvalidArgument, kOp, loc, "g_idx is given, and the weight of sizes ",
         graph::sizes_text(p.qweight.sizes()), " is AWQ's, which has none");
  f.zero_more = !f.awq && zeros == Zeros::LessOne;
  if (p.g_idx && p.g_idx->defined()) f.order = order_of(*p.g_idx, f.in, f.count, loc);
  f.weight = p.qweight.to_vector<std::int32_t>(), f.zeros = p.qzeros.to_vector<std::int32_t>();
  const std::vector<float> scales = p.scales.to(kFloat32, loc).to_vector<float>();
  for (const float x : scales) {
    f.scales.emplace_back(x);
    if (std::isfinite(x) && !std::isfinite(static_cast<float>(f.scales.back())))
      fail(ErrorCode::InvalidArgument, kOp, loc, "a scale of ", x, " is beyond float16");
  }
  return f;
}

/// One row of blocks.
void write_row(const Source& f, const kernels::BlockFacts& format, std::int64_t column, std::uint8_t* to) {
  const std::int64_t of_group = f.in / f.count;
  for (std::int64_t i = 0; i < f.in; i += format.elements, to += format.bytes) {
    const std::int64_t g = i / of_group;
    const Half zero(static_cast<float>(f.zero(column, g)));
    std::memcpy(to, &f.scales[static_cast<std::size_t>(g * f.out + column)].bits, 2);
    std::memcpy(to + 2, &zero.bits, 2);
    auto q = [&](std::int64_t e) {
      return static_cast<std::uint8_t>(f.q(column, f.order.empty() ? i + e : f.order[static_cast<std::size_t>(i + e)]));
    };
    for (std::int64_t e = 0; e < format.elements; ++e) {
      if (f.bits == 8) to[4 + e] = q(e);
      else if (e % 32 < 16) to[4 + e / 32 * 16 + e % 32] = static_cast<std::uint8_t>(q(e) | q(e + 16) << 4);
    }
  }
}

}  // namespace

Ints Groups::sizes() const {
  Ints all = data.sizes();
  const kernels::BlockFacts& f = kernels::facts_of(format_of(*this, "quantized::Groups"));
  all.back() = all.back().value() / f.bytes * f.elements;
  return all;
}
std::int64_t Groups::bytes() const { return data.nbytes().value(); }

Tensor Groups::dequantize(DType dtype, SourceLoc loc) const {
  if (!defined()) fail(ErrorCode::InvalidArgument, "quantized::Groups::dequantize", loc, "undefined");
  Tensor all = gguf::unpack(format_of(*this, "quantized::Groups::dequantize"), data, halves, loc);
  if (order.defined()) all = index_select(all, 1, argsort(order, 0, false, loc), loc);
  return all.to(dtype, loc);
}

Groups Groups::to(Device device, SourceLoc loc) const {
  const Tensor there = data.to(device, loc);
  return {bits, group, there, there.view(kFloat16, loc), order.defined() ? order.to(device, loc) : Tensor()};
}

Groups groups(const Packed& packed, Zeros zeros, SourceLoc loc) {
  const FloatState ours;
  const Source f = source(packed, zeros, loc);
  Groups made{.bits = f.bits};
  for (const int n : {32, 64, 128})
    if (f.in / f.count % n == 0) made.group = n;
  const kernels::BlockFacts& format = kernels::facts_of(format_of(made, kOp));
  const std::int64_t row = f.in / format.elements * format.bytes;
  made.data = empty({f.out, row}, {kUInt8}, loc);
  auto* to = static_cast<std::uint8_t*>(made.data.data_ptr());
  auto some = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) write_row(f, format, c, to + c * row);
  };
  device::parallel_for(
      f.out, std::max<std::int64_t>(1, (1 << 16) / f.in),
      [](void* run, std::int64_t begin, std::int64_t end) { (*static_cast<decltype(some)*>(run))(begin, end); }, &some);
  made.halves = made.data.view(kFloat16, loc);
  if (!f.order.empty()) made.order = tensor_of(f.order, {f.in});
  return made;
}

Tensor linear(const Tensor& x, const Groups& weight, const Tensor& bias, Activations activations, SourceLoc loc) {
  constexpr const char* op = "quantized::linear";
  if (!weight.defined()) fail(ErrorCode::InvalidArgument, op, loc, "the weight is undefined");
  const bool turned = weight.order.defined() && x.defined() && x.dim() > 0;
  if (turned && !graph::same(x.size(-1), weight.order.size(0), loc, "quantized::linear: equal columns"))
    fail(ErrorCode::ShapeMismatch, op, loc, "x of sizes ", graph::sizes_text(x.sizes()), " and a weight of sizes ",
         graph::sizes_text(weight.sizes()));
  return gguf::linear(op, turned ? index_select(x, -1, weight.order, loc) : x,
                      {format_of(weight, op), weight.data, weight.halves}, weight.sizes(), bias, activations, loc);
}

}  // namespace reprise::quantized
