#pragma once
#include <cstdint>
#include <vector>

#include "kernels/cpu/attention_kernels.h"
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// The machine code that one launch asks for, and the same when it is there, in that order.
std::vector<KernelCode> attention_specs(int bits, DType, const DType* mask);

/// One operator call with a result of at least one element; rows of all operands but the mask have unit stride. A
/// *unit* is what shares keys and values: one batch index and one head of theirs, with the `group_` query heads that
/// read it. Its query rows stand in the order (position, head), so neighbours see similar causal ranges.
///
/// A unit of many rows is computed in blocks of keys, packed once for all rows of a task; one of few rows streams keys
/// and values in chunks, each a task of its own, which are joined in their order. Blocks, chunks and tiles depend on
/// the sizes alone: so do all bits.
class AttentionCall {
 public:
  AttentionCall(const NativeArgs&, const TensorView& q, const TensorView& k, const TensorView& v,
                const TensorView* mask, const TensorView& out);
  /// May use device::parallel_for. Throws OutOfMemory.
  void run();

 private:
  struct Code {
    micro::StripFn strip[3];  ///< the widest first
    micro::GemvDotFn dot[3];  ///< of 1, 2 and 4 rows
    micro::GemvSumFn sum[3];
    micro::TransposeFn transpose;
    micro::ConvertFn convert;
    micro::SoftmaxFn softmax[2];  ///< four rows at once; one
    micro::ScaleFn scale, round;  ///< from the operands' dtype, to it
  };
  /// Keys that a unit's mask leaves to be seen: the others need not be read.
  struct Range {
    std::int64_t begin, end;
  };
  class Room;
  struct Rows;
  struct Partial;

  bool repeats(const TensorView&) const;
  std::int64_t matrix_of(const TensorView&, std::int64_t unit, std::int64_t head, std::int64_t share) const;
  template <class F>
  void for_strips(std::int64_t columns, F&& f) const;
  template <class F>
  void each(std::int64_t n, std::int64_t grain, F&& f);

  Range seen_by(std::int64_t unit) const;
  void read_queries(std::int64_t unit, std::int64_t row, std::int64_t rows, float* q) const;
  void write_results(std::int64_t unit, std::int64_t row, std::int64_t rows, const float* o, const float* factor) const;
  void begin_rows(Rows&, std::int64_t unit, std::int64_t row, std::int64_t rows) const;
  void soften(const Rows&, std::int64_t from, std::int64_t rows, float* s, std::int64_t s_row, std::int64_t key,
              std::int64_t n, int at_once) const;
  std::int64_t seen_at(std::int64_t row, std::int64_t key, std::int64_t n) const;

  void blocks();
  void block_rows(std::int64_t unit, std::int64_t row, std::int64_t row_end) const;
  void streams();
  void stream_keys(std::int64_t unit, std::int64_t key, std::int64_t n, Partial) const;

  Code code_;
  const TensorView &q_, &k_, &v_;
  const TensorView* mask_;
  const TensorView& out_;
  int bits_;
  bool causal_;
  float scale_;
  std::int64_t size_, queries_, keys_, depth_, width_, heads_, group_ = 1, k_group_ = 1, v_group_ = 1, units_, rows_;
  std::int64_t mask_row_ = 0, mask_step_ = 0;  ///< strides of the mask from query to query and from key to key
  std::int64_t depth_room_, width_room_, lanes_;
};

}  // namespace reprise::kernels
