#include "kernels/cpu/block_bytes.h"

#include <algorithm>

#include "device/cpu_info.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/reference/reference.h"

namespace reprise::kernels::host {

namespace {

constexpr std::int64_t kGrainProducts = 8 << 20;   // below which another thread costs more than it gives
constexpr std::int64_t kGrainRounded = 128 << 10;  // the same of elements of x
// elements of some rows, on their way into a panel: whole blocks of any format
constexpr std::int64_t kUnpackedAtOnce = 256;

/// Panels of the weights, one part of k at a time, meet some rows of x that stay in the L2 cache; the part stays in the
/// L1 cache meanwhile.
class ByteProduct {
 public:
  ByteProduct(const NativeArgs& args, const ByteKernels& f, const BlockProduct& p)
      : args_(args), f_(f), p_(p), part_(part_of(p.format.format)), parts_(p.k / part_), width_(byte_columns(f.bits)) {
    const device::CpuInfo& cpu = device::cpu_info();
    const std::int64_t column = part_ + 2 * std::int64_t{sizeof(float)};  // bytes of a part
    depth_ = std::max<std::int64_t>(
        kUnpackedAtOnce, cpu.l1d_bytes * 2 / 3 / (width_ * column) * part_ / kUnpackedAtOnce * kUnpackedAtOnce);
    row_ = p.k + 64;  // not a power of two
    const std::int64_t most = std::max<std::int64_t>(kByteRows, cpu.l2_bytes / 2 / row_ / kByteRows * kByteRows),
                       blocks = (p.m + most - 1) / most;
    rows_ = round_up((p.m + blocks - 1) / blocks, kByteRows);
  }

  void run() const {
    const Scratch q(rows_ * row_), numbers(2 * rows_ * parts_ * 4);
    Rows x{q.as<std::int8_t>(), numbers.as<float>(), numbers.as<float>() + rows_ * parts_};
    const std::int64_t panels = (p_.n + width_ - 1) / width_;
    for (std::int64_t row = 0; row < p_.m; row += rows_) {
      const std::int64_t rows = std::min(rows_, p_.m - row);
      parallel(rows, std::max<std::int64_t>(1, kGrainRounded / p_.k), [&](std::int64_t begin, std::int64_t end) {
        const micro::QuantizedRows some{reinterpret_cast<const float*>(p_.x) + (row + begin) * p_.x_row,
                                        p_.x_row,
                                        x.q + begin * row_,
                                        row_,
                                        x.scale + begin * parts_,
                                        x.less + begin * parts_,
                                        parts_,
                                        end - begin,
                                        parts_};
        f_.quantize(&some);
      });
      parallel(panels, std::max<std::int64_t>(1, kGrainProducts / (rows * p_.k * width_)),
               [&](std::int64_t begin, std::int64_t end) {
                 reporting(args_, [&] {
                   const Panel panel(*this);
                   for (std::int64_t i = begin; i < end; ++i) columns(x, row, rows, panel, i * width_);
                 });
               });
    }
  }

 private:
  struct Rows {
    std::int8_t* q;
    float *scale, *less;
  };
  /// What is transposed writes whole vectors of rows.
  struct Panel {
    explicit Panel(const ByteProduct& p)
        : room((p.depth_ / 4 + kLanes + 2 * p.numbers()) * p.width_ * 4 + p.depth_ / 32 * kLanes * 4) {
      w = room.get(), scale = reinterpret_cast<float*>(w + (p.depth_ / 4 + kLanes) * p.width_ * 4),
      less = scale + p.numbers() * p.width_;
      halves = reinterpret_cast<std::uint32_t*>(less + p.numbers() * p.width_);
    }
    static constexpr std::int64_t kLanes = 16;
    Scratch room;
    char* w;
    float *scale, *less;
    std::uint32_t* halves;
  };

  std::int64_t numbers() const { return depth_ / part_ + Panel::kLanes; }

  void columns(const Rows& x, std::int64_t row, std::int64_t rows, const Panel& panel, std::int64_t col) const {
    const std::int64_t n = std::min<std::int64_t>(width_, p_.n - col);
    for (std::int64_t k = 0; k < p_.k; k += depth_) {
      const std::int64_t depth = std::min(depth_, p_.k - k), part = k / part_;
      pack(panel, col, n, k, depth);
      for (std::int64_t i = 0; i < rows;) {
        const bool four = rows - i >= kByteRows;
        const micro::ByteTile tile{x.q + i * row_ + k,
                                   row_,
                                   x.scale + i * parts_ + part,
                                   x.less + i * parts_ + part,
                                   parts_,
                                   panel.w,
                                   panel.scale,
                                   panel.less,
                                   reinterpret_cast<float*>(p_.y) + (row + i) * p_.y_row + col,
                                   p_.y_row,
                                   n,
                                   depth / part_,
                                   k == 0};
        f_.tile[four](&tile);
        i += four ? kByteRows : 1;
      }
    }
  }

  void pack(const Panel& panel, std::int64_t col, std::int64_t cols, std::int64_t from, std::int64_t depth) const {
    const std::int64_t lanes = micro_lanes(f_.bits, DType::Float32);
    alignas(64) std::uint8_t rows[16 * kUnpackedAtOnce];
    alignas(64) float scale[kUnpackedAtOnce], less[kUnpackedAtOnce];  // 16 rows of parts of 16
    for (std::int64_t j = 0; j < cols; j += lanes) {
      const std::int64_t some = std::min(lanes, cols - j);
      if (f_.pack && some == lanes) {
        const char* w = p_.w + (col + j) * p_.w_row + from / p_.format.elements * p_.format.bytes;
        f_.pack(w, p_.w_row, panel.w + j * 4, panel.scale + j, panel.less + j, panel.halves,
                depth / p_.format.elements);
        continue;
      }
      for (std::int64_t k = 0; k < depth; k += kUnpackedAtOnce) {
        const std::int64_t elements = std::min(kUnpackedAtOnce, depth - k), parts = elements / part_,
                           block = (from + k) / p_.format.elements;
        f_.unpack(p_.w + (col + j) * p_.w_row + block * p_.format.bytes, p_.w_row, rows, kUnpackedAtOnce, scale, less,
                  parts, some, elements / p_.format.elements);
        f_.transpose(rows, kUnpackedAtOnce / 4, panel.w + (k / 4 * width_ + j) * 4, width_, some, elements / 4);
        f_.transpose(scale, parts, panel.scale + k / part_ * width_ + j, width_, some, parts);
        f_.transpose(less, parts, panel.less + k / part_ * width_ + j, width_, some, parts);
      }
    }
  }

  const NativeArgs& args_;
  const ByteKernels& f_;
  const BlockProduct& p_;
  const std::int64_t part_, parts_, width_;
  std::int64_t depth_, row_, rows_;
};

}  // namespace

std::vector<KernelCode> byte_codes(int bits, BlockFormat f) {
  std::vector<KernelCode> all{micro::UnpackBytes{bits, f}, micro::QuantizeRows{bits, part_of(f)}};
  for (int rows : {1, kByteRows})
    all.push_back(micro::MultiplyBytes{bits, part_of(f), unsigned_range(f).most, has_byte_products(bits), rows});
  all.push_back(micro::Transpose{bits, DType::Float32});
  if (is_plain(f)) all.push_back(micro::PackBytes{bits, f});
  return all;
}

ByteKernels byte_kernels(int bits, BlockFormat f, void* const* micro) {
  return {bits,
          reinterpret_cast<micro::UnpackBytesFn>(micro[0]),
          reinterpret_cast<micro::QuantizeRowsFn>(micro[1]),
          {reinterpret_cast<micro::MultiplyBytesFn>(micro[2]), reinterpret_cast<micro::MultiplyBytesFn>(micro[3])},
          reinterpret_cast<micro::TransposeFn>(micro[4]),
          is_plain(f) ? reinterpret_cast<micro::PackBytesFn>(micro[5]) : nullptr};
}

void multiply_bytes(const NativeArgs& args, const ByteKernels& f, const BlockProduct& p) {
  ByteProduct(args, f, p).run();
}

}  // namespace reprise::kernels::host
