#include "kernels/cpu/block_linear.h"

#include <algorithm>
#include <cstring>

#include "base/errors.h"
#include "device/cpu_info.h"
#include "kernels/cpu/block_bytes.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/launch/named.h"
#include "kernels/reference/reference.h"

namespace reprise::kernels::host {

namespace {

// of what is stored, below which another thread costs more than it gives
constexpr std::int64_t kGrainBytes = 128 << 10;
constexpr std::int64_t kGrainFmas = 2 << 20;  // the same of products with panels
// of what is stored that several groups of rows of x read: stays in the L2 cache
constexpr std::int64_t kSharedBytes = 128 << 10;
// up to so many rows dots are faster, though each four of them unpack for themselves
constexpr std::int64_t kBlockDotRows = 8;
// the same beside rows that are rounded to bytes, where weights are not packed at once
constexpr std::int64_t kByteDotRows = 4;
constexpr std::int64_t kUnpackedAtOnce = 256;  // elements of some rows, on their way into a panel

using K = MatmulKernels;
constexpr unsigned kPanelSlots = kGemmSlots | 1u << K::kTranspose | 1u << K::kConvertIn;

/// The code of a launch: dots of 1 and 4 rows, then what packs, then what the blocked product wants.
struct Kernels {
  int bits = 0;
  micro::GemvDotFn dot[2] = {};
  micro::UnpackFn unpack = nullptr;
  MatmulKernels product{};
};
std::vector<KernelCode> codes(int bits, BlockFormat f) {
  std::vector<KernelCode> all{micro::UnpackDot{bits, f, 1}, micro::UnpackDot{bits, f, kGemvRows},
                              micro::Unpack{bits, f}};
  for (KernelCode& c : matmul_specs(bits, DType::Float32, kPanelSlots)) all.push_back(std::move(c));
  return all;
}
Kernels kernels_of(int bits, void* const* micro) {
  return {bits,
          {reinterpret_cast<micro::GemvDotFn>(micro[0]), reinterpret_cast<micro::GemvDotFn>(micro[1])},
          reinterpret_cast<micro::UnpackFn>(micro[2]),
          matmul_kernels(bits, kPanelSlots, micro + 3)};
}

using Product = BlockProduct;

/// B of the blocked product.
class Panels final : public PanelSource {
 public:
  Panels(const Kernels& f, const Product& p) : f_(f), p_(p) {}
  std::int64_t width() const override { return panel_width(f_.bits, DType::Float32); }
  bool packs_parts() const override { return false; }  // blocks are whole
  void pack(std::int64_t, std::int64_t col, std::int64_t cols, std::int64_t, std::int64_t, char* panel) const override {
    const std::int64_t lanes = micro_lanes(f_.bits, DType::Float32), panel_width = width(),
                       step = kUnpackedAtOnce / p_.format.elements;
    alignas(64) float rows[16 * kUnpackedAtOnce];
    for (std::int64_t j = 0; j < cols; j += lanes)
      for (std::int64_t block = 0, all = p_.k / p_.format.elements; block < all; block += step) {
        const std::int64_t some = std::min(lanes, cols - j), blocks = std::min(step, all - block),
                           k = block * p_.format.elements;
        f_.unpack(p_.w + (col + j) * p_.w_row + block * p_.format.bytes, p_.w_row, rows, kUnpackedAtOnce, some, blocks);
        f_.product.transpose(rows, kUnpackedAtOnce, panel + (k * panel_width + j) * 4, panel_width, some,
                             blocks * p_.format.elements);
      }
  }

 private:
  const Kernels& f_;
  const Product& p_;
};

/// Rows [begin, end) of w.
void some_rows(const Kernels& f, const Product& p, std::int64_t begin, std::int64_t end) {
  const std::int64_t line = std::max<std::int64_t>(1, p.k / p.format.elements * p.format.bytes);
  const std::int64_t step = p.m <= kGemvRows ? end - begin : std::max<std::int64_t>(16, kSharedBytes / line / 8 * 8);
  for (std::int64_t j = begin; j < end; j += step)
    for (std::int64_t i = 0; i < p.m;) {
      const bool four = p.m - i >= kGemvRows;
      f.dot[four](p.x + i * p.x_row * 4, p.x_row, p.w + j * p.w_row, p.w_row, p.y + (i * p.y_row + j) * 4, p.y_row,
                  std::min(step, end - j), p.k);
      i += four ? kGemvRows : 1;
    }
}

/// Many rows of x. Threads share out the columns, each with panels of its own, or where these are few everything that
/// the blocked product can share.
void by_panels(const NativeArgs& args, const Kernels& f, const Product& p) {
  auto run = [&](const Product& some) {
    const Panels panels(f, some);
    const DType f32 = DType::Float32;
    kernels::multiply(f.product, PackedProduct{{f32, f32, some.m, some.n, some.k, some.x, some.x_row, 1, nullptr, 0, 0,
                                                some.y, some.y_row},
                                               panels});
  };
  const std::int64_t width = panel_width(f.bits, DType::Float32), panels = (p.n + width - 1) / width,
                     threads = device::num_threads();
  if (threads == 1 || panels < 2 * threads) return run(p);
  parallel(panels, std::max<std::int64_t>(1, kGrainFmas / (p.m * p.k * width)),
           [&](std::int64_t begin, std::int64_t end) {
             reporting(args, [&] {
               Product some = p;
               some.w += begin * width * p.w_row, some.y += begin * width * 4,
                   some.n = std::min(p.n, end * width) - begin * width;
               run(some);
             });
           });
}

void multiply(const NativeArgs& args, const Kernels& f, const Product& p) {
  if (p.k == 0) {
    for (std::int64_t i = 0; i < p.m; ++i) std::memset(p.y + i * p.y_row * 4, 0, static_cast<std::size_t>(p.n * 4));
    return;
  }
  if (p.m <= kBlockDotRows) {
    const std::int64_t line = p.k / p.format.elements * p.format.bytes;
    return parallel(p.n, std::max<std::int64_t>(16, kGrainBytes / (line * ((p.m + kGemvRows - 1) / kGemvRows))),
                    [&](std::int64_t begin, std::int64_t end) { some_rows(f, p, begin, end); });
  }
  by_panels(args, f, p);
}

/// What products with more rows than dots take may do with x. The instructions for it are those of x86.
bool rounds(std::string_view activations) {
  return activations == kInt8Activations && device::cpu_info().family == device::CpuInfo::Family::X86_64;
}

/// The format that the launch names. Its own last arguments: the vectors' width, and where the code of rounded rows
/// stands (0: it does not).
void run(const NativeArgs& args) {
  reporting(args, [&] {
    const TensorView &x = args.tensor(0), &w = args.tensor(1), &y = args.result();
    if (y.numel() == 0) return;
    const BlockFacts& format = facts_of(*block_format(args.text(2)));
    const std::int64_t m = x.sizes[0], k = x.sizes[1], n = w.sizes[0];
    auto rows = [](const TensorView& t) { return t.strides[1] == 1 || t.sizes[1] <= 1; };
    Scratch own_x(rows(x) ? 0 : x.numel() * 4), own_w(rows(w) ? 0 : w.numel()), own_y(rows(y) ? 0 : y.numel() * 4);
    if (own_x.get()) compact(x, own_x.get());
    if (own_w.get()) compact(w, own_w.get());
    auto row = [](const TensorView& t, const Scratch& own) { return own.get() ? t.sizes[1] : t.strides[0]; };
    const int bits = static_cast<int>(args.integer(4, 0));
    const std::int64_t bytes = args.integer(4, 1);
    const Product p{format,
                    m,
                    n,
                    k,
                    own_x.get() ? own_x.get() : x.data,
                    row(x, own_x),
                    own_w.get() ? own_w.get() : w.data,
                    row(w, own_w),
                    own_y.get() ? own_y.get() : y.data,
                    row(y, own_y)};
    if (bytes && m > (is_plain(format.format) ? 0 : kByteDotRows) && k > 0)
      multiply_bytes(args, byte_kernels(bits, format.format, args.micro + bytes), p);
    else multiply(args, kernels_of(bits, args.micro), p);
    if (own_y.get()) scatter(own_y.get(), y);
  });
}

}  // namespace

NativeLaunch block_linear(const graph::Graph& g, const graph::Node& node, std::vector<Operand> operands) {
  NativeLaunch out = native_launch(run, g, node, std::move(operands));
  const int bits = micro_vector_bits();
  const BlockFormat format = *block_format(out.strings[out.args[2].first]);
  out.micro = codes(bits, format);
  std::int64_t first_of_bytes = 0;
  if (rounds(out.strings[out.args[3].first])) {
    first_of_bytes = std::ssize(out.micro);
    for (KernelCode& c : byte_codes(bits, format)) out.micro.push_back(std::move(c));
  }
  out.args.push_back({NativeArg::Kind::IntList, static_cast<std::uint32_t>(out.ints.size()), 2});
  out.ints.push_back(bits);
  out.ints.push_back(first_of_bytes);
  return out;
}

void block_linear_reference(const NativeArgs& args) {
  reporting(args, [&] {
    const TensorView &x = args.tensor(0), &w = args.tensor(1), &y = args.result();
    if (y.numel() == 0) return;
    const BlockFacts& format = facts_of(*block_format(args.text(2)));
    const std::int64_t m = x.sizes[0], k = x.sizes[1], n = w.sizes[0], bytes = w.sizes[1];
    Scratch row(bytes), floats(k * 4);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < bytes; ++i)
        row.as<std::uint8_t>()[i] = w.as<const std::uint8_t>()[j * w.strides[0] + i * w.strides[1]];
      unpack_blocks(format.format, row.as<std::uint8_t>(), k / format.elements, floats.as<float>());
      for (std::int64_t i = 0; i < m; ++i) {
        double sum = 0;
        for (std::int64_t c = 0; c < k; ++c)
          sum += static_cast<double>(x.as<const float>()[i * x.strides[0] + c * x.strides[1]]) *
                 static_cast<double>(floats.as<float>()[c]);
        y.as<float>()[i * y.strides[0] + j * y.strides[1]] = static_cast<float>(sum);
      }
    }
  });
}

}  // namespace reprise::kernels::host

namespace reprise::kernels {
NativeFn named::block_linear() { return host::run; }
}  // namespace reprise::kernels
