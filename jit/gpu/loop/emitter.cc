// A LoopKernel as a kernel of blocks of threads; how they stand is told in schedule.h.
#include "jit/gpu/loop/emitter.h"

#include "jit/emit/library.h"
#include "jit/gpu/loop/compile.h"
#include "kernels/loop/device_code.h"

namespace reprise::jit {

using kernels::is_plain;
using kernels::LoopKernel;
using kernels::ScalarOp;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

void GpuLoopEmitter::run() {
  std::vector<DType> buffers;
  for (const kernels::BufferArg& a : k_.buffers) buffers.push_back(a.dtype);
  // nothing is known of such an address
  buffers.insert(buffers.end(), static_cast<std::size_t>(slots_.floats), DType::Int8);
  e_.begin(buffers, slots_.count - slots_.floats, {static_cast<std::uint32_t>(s_.threads), 1, 1}, s_.resident);
  load_arguments();
  if (s_.kind == GpuSchedule::Kind::Pointwise) one_dim_ = all_dims_are_one();
  variants();
  e_.end();
}

void GpuLoopEmitter::variants() {
  if (s_.run == 1) return variant();
  e_.if_else(
      runs_are_aligned(),
      [&] {
        aligned_ = true;
        scope([&] { variant(); });
        aligned_ = false;
      },
      [&] { scope([&] { variant(); }); });
}

void GpuLoopEmitter::variant() {
  switch (s_.kind) {
    case GpuSchedule::Kind::Pointwise: return pointwise();
    case GpuSchedule::Kind::Rows: return rows();
    case GpuSchedule::Kind::Columns: return columns();
  }
}

void GpuLoopEmitter::load_arguments() {
  for (int slot : slots_.extents) extents_.push_back(as_index(param(slot)));
  strides_.resize(k_.accesses.size());
  gather_strides_.resize(k_.accesses.size());
  gather_extents_.resize(k_.accesses.size());
  at_.index.resize(k_.extents.size());
  at_.offset.resize(k_.accesses.size());
  at_.vals.resize(k_.body.size());
  for (std::size_t i = 0; i < k_.accesses.size(); ++i) {
    const Access& a = k_.accesses[i];
    const kernels::ParamSlots::OfAccess& s = slots_.accesses[i];
    Value* p = buffer(a.buffer);
    if (s.offset >= 0 && p) p = e_.at(element(i), p, param(s.offset));
    base_.push_back(p);
    for (std::size_t d = 0; d < a.strides.size(); ++d) strides_[i].push_back(number(s.strides[d], a.strides[d]));
    for (std::size_t g = 0; g < a.gathers.size(); ++g) {
      gather_strides_[i].push_back(number(s.gather_strides[g], a.gathers[g].stride));
      gather_extents_[i].push_back(s.gather_extents[g] < 0 ? e_.i64(a.gathers[g].extent.hint())
                                                           : param(s.gather_extents[g]));
    }
  }
  for (std::uint32_t i = 0; i < k_.body.size(); ++i) {
    const BodyNode::Kind kind = k_.body[i].kind;
    if (kind == BodyNode::Kind::Const || kind == BodyNode::Kind::Param) evaluate(i);
  }
}

Value* GpuLoopEmitter::float_bits(int slot) {
  if (given_) return param(slot);
  const int word = slot - (slots_.count - slots_.floats);
  return b_.CreatePtrToInt(e_.buffer(k_.buffers.size() + static_cast<std::size_t>(word)), b_.getInt64Ty());
}

void GpuLoopEmitter::at_point(Value* point, const std::function<void()>& f) {
  scope([&] {
    Value* at = as_index(point);
    for (int d = rank_; d-- > 0;) {
      const GpuEmitter::Division by = d ? e_.divide(at, extent(d)) : GpuEmitter::Division{nullptr, at};
      enter(d, by.remainder);
      at = by.quotient;
    }
    f();
  });
}

Value* GpuLoopEmitter::place_of(std::size_t access) {
  const int slot = slots_.accesses[access].offset;
  Value *start = slot < 0 ? idx(k_.accesses[access].offset.hint()) : as_index(param(slot)),
        *offset = at_.offset[access];
  return b_.CreateSExt(offset ? b_.CreateAdd(start, offset) : start, b_.getInt64Ty());
}

void GpuLoopEmitter::compute_point(const std::vector<Value*>& loaded) {
  std::vector<std::uint32_t> stores;
  for (std::uint32_t i = 0; i < k_.body.size(); ++i) {
    const BodyNode& n = k_.body[i];
    if (n.kind == BodyNode::Kind::Load && loaded[n.access]) at_.vals[i] = {loaded[n.access]};
    if (n.kind == BodyNode::Kind::Store) stores.push_back(i);
  }
  store_all(stores);
}

Value* GpuLoopEmitter::product(int from, int to) {
  Value* n = idx(1);
  for (int d = from; d < to; ++d) n = d == from ? extent(d) : b_.CreateMul(n, extent(d));
  return n;
}

Value* GpuLoopEmitter::runs_are_aligned() {
  Value* whole = run_dim();
  // any bit: something is not a multiple
  Value* wrong = b_.CreateZExt(b_.CreateAnd(whole, idx(s_.run - 1)), b_.getInt64Ty());
  for (std::size_t i = 0; i < k_.accesses.size(); ++i) {
    if (!is_run_access(k_, info_, i, vdim_)) continue;
    const int size = item_size(k_.buffers[k_.accesses[i].buffer].dtype), elements = run_bytes(i) / size;
    auto check = [&](Value* v, int unit) {
      wrong = b_.CreateOr(wrong, b_.CreateAnd(b_.CreateZExt(v, b_.getInt64Ty()), e_.i64(unit - 1)));
    };
    check(b_.CreatePtrToInt(base_[i], b_.getInt64Ty()), run_bytes(i));
    for (int d = 0; d < rank_; ++d) {
      Value* stride = strides_[i][static_cast<std::size_t>(d)];
      if (d != vdim_) check(one_dim_ ? b_.CreateSelect(one_dim_, idx(0), stride) : stride, elements);
    }
    for (Value* s : gather_strides_[i]) check(s, elements);
  }
  return b_.CreateICmpEQ(wrong, e_.i64(0));
}

Value* GpuLoopEmitter::run_dim() {
  return one_dim_ ? b_.CreateSelect(one_dim_, product(0, rank_), extent(vdim_)) : extent(vdim_);
}

void GpuLoopEmitter::enter(int d, Value* index) {
  at_.dims |= 1u << d;
  at_.index[static_cast<std::size_t>(d)] = index;
  for (std::size_t i = 0; i < k_.accesses.size(); ++i)
    if (!is_plain(k_.accesses[i].strides[static_cast<std::size_t>(d)], 0))
      at_.offset[i] = advance(at_.offset[i], index, strides_[i][static_cast<std::size_t>(d)]);
}

Value* GpuLoopEmitter::advance(Value* offset, Value* index, Value* stride) {
  Value* step = b_.CreateMul(index, stride);
  return offset ? b_.CreateAdd(offset, step) : step;
}

Value* GpuLoopEmitter::enter_flat(int from, int to, Value* at, Value* units) {
  std::vector<int> dims;  // fastest first
  for (int d = to; d-- > from;)
    if (d != vdim_) dims.push_back(d);
  auto split_up = [&] {
    std::vector<Value*> coordinates;  // the vector dim's, then by `dims`
    auto split = [&](Value* by) {
      const GpuEmitter::Division d = e_.divide(at, by);
      at = d.quotient;
      coordinates.push_back(d.remainder);
    };
    if (units && !dims.empty()) split(units);
    for (std::size_t j = 0; j + 1 < dims.size(); ++j) split(extent(dims[j]));
    coordinates.push_back(at);
    return coordinates;
  };
  auto as_one = [&] {
    std::vector<Value*> coordinates(dims.size() + 1, idx(0));
    coordinates[0] = at;
    return coordinates;
  };
  const std::vector<Value*> c = one_dim_ ? e_.choose(one_dim_, as_one, split_up) : split_up();
  for (std::size_t j = 0; j < dims.size(); ++j) enter(dims[j], c[j + (units ? 1 : 0)]);
  return units ? c[0] : nullptr;
}

Value* GpuLoopEmitter::all_dims_are_one() {
  for (const BodyNode& n : k_.body)
    if (n.kind == BodyNode::Kind::Index) return nullptr;
  if (rank_ < 2 || vdim_ != rank_ - 1) return nullptr;
  Value* yes = b_.getTrue();
  Value* inner = extent(rank_ - 1);
  for (int d = rank_ - 1; d-- > 0; inner = b_.CreateMul(inner, extent(d))) {
    Value* single = b_.CreateICmpEQ(extent(d), idx(1));
    for (std::size_t i = 0; i < k_.accesses.size(); ++i) {
      Value *stride = strides_[i][static_cast<std::size_t>(d)], *unit = strides_[i][static_cast<std::size_t>(vdim_)];
      yes = b_.CreateAnd(yes, b_.CreateOr(single, b_.CreateICmpEQ(stride, b_.CreateMul(inner, unit))));
    }
  }
  return yes;
}

void GpuLoopEmitter::enter_run(Value* first) {
  at_.dims |= vbit_;
  at_.first = first;
  if (aligned_) return;
  for (int j = 0; j < s_.run; ++j) at_.masks.push_back(b_.CreateICmpSLT(b_.CreateAdd(first, idx(j)), extent(vdim_)));
}

void GpuLoopEmitter::pointwise() {
  std::vector<std::uint32_t> stores;
  for (std::uint32_t i = 0; i < k_.body.size(); ++i)
    if (k_.body[i].kind == BodyNode::Kind::Store) stores.push_back(i);
  Value *block = position(e_.block()), *thread = position(e_.thread());
  Value* n = product(0, rank_);
  if (aligned_) {
    Value* run = b_.CreateAdd(b_.CreateMul(block, idx(s_.threads)), thread);
    emit_if(e_, b_.CreateICmpULT(run, b_.CreateLShr(n, __builtin_ctz(static_cast<unsigned>(s_.run)))), [&] {
      scope([&] {
        Value* at = enter_flat(0, rank_, run, e_.divide(extent(vdim_), idx(s_.run)).quotient);
        enter_run(b_.CreateMul(at, idx(s_.run)));
        store_all(stores);
      });
    });
    return;
  }
  auto one = [&](Value* at) {
    scope([&] {
      Value* v = enter_flat(0, rank_, at, vdim_ >= 0 ? extent(vdim_) : nullptr);
      if (vdim_ >= 0) enter(vdim_, v);
      store_all(stores);
    });
  };
  Value* begin = b_.CreateAdd(b_.CreateMul(block, idx(std::int64_t{s_.threads} * s_.run)), thread);
  if (s_.run == 1) return emit_if(e_, b_.CreateICmpULT(begin, n), [&] { one(begin); });
  Value* past = b_.CreateMul(b_.CreateAdd(block, idx(1)), idx(std::int64_t{s_.threads} * s_.run));
  std::vector<Value*> none;
  emit_loop(e_, begin, e_.call(Intrinsic::smin, past, n), idx(s_.threads), none, one, "element");
}

// ---- which kernels there is code for
// ---------------------------------------------------------------------------------

namespace {

/// Bytes of arguments that a kernel may have, less a few.
constexpr std::int64_t kMostArgumentBytes = 32000;

class GpuLoop final : public GpuKernel {
 public:
  GpuLoop(const LoopKernel& k, device::ImagePtr made)
      : kernel_(k), slots_(kernels::param_slots(k)), schedule_(gpu_schedule(k)) {
    image = std::move(made);
  }
  device::Dim3 grid(const std::int64_t* params) const override {
    return grid_blocks(kernel_, slots_, schedule_, params);
  }

 private:
  const LoopKernel kernel_;
  const kernels::ParamSlots slots_;
  const GpuSchedule schedule_;
};

}  // namespace

GpuKernelPtr compile_gpu(const LoopKernel& k, const device::CodeTarget& target, bool guarded, bool words) {
  if (!kernels::has_device_code(k)) return nullptr;
  if ((static_cast<std::int64_t>(k.buffers.size()) + kernels::param_slots(k).count) * 8 > kMostArgumentBytes)
    return nullptr;
  const bool grid_word = words && kernels::grid_moves(k);
  const GpuSchedule schedule = gpu_schedule(k);
  // sizes at hand are no part of the text
  const std::string by_sizes = "run" + std::to_string(schedule.run) + "kept" + std::to_string(schedule.kept_runs) +
                               "of" + std::to_string(schedule.kept_team_log2) + (schedule.kept_whole ? "whole" : "");
  device::ImagePtr image = compile_gpu_module(
      kernels::canonical_text(k) + (guarded ? "guarded" : "") + (k.narrow ? "narrow" : "") + (words ? "words" : "") +
          (grid_word ? "grid" : "") + by_sizes,
      target, [&](GpuModule& m) {
        kernels::verify(k);
        m.guarded = guarded;
        m.grid_word = grid_word;
        if (words)
          m.words.assign(static_cast<std::size_t>(kernels::param_slots(k).count - kernels::param_slots(k).floats),
                         true);
        GpuEmitter e(m);
        GpuLoopEmitter(e, k).run();
      });
  return std::make_shared<GpuLoop>(k, std::move(image));
}

}  // namespace reprise::jit
