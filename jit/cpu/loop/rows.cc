// Rows that are worked on more than once: where they come from and where they go.
//
// Note [The next row comes meanwhile]
// A kernel that reduces rows along the vector dim runs over each one several times (softmax: maximum, sum, quotient).
// Only the first run waits for memory, and in the others memory would rest: the processor's own prefetching stops at
// the end of a row until the next one has begun. So the second run asks for the same places of a row that lies far
// enough ahead. A prefetch never faults, wherever it points.
//
// Note [Results that no cache holds]
// A store to a line that is not in the cache reads it first. When the whole result is larger than a core's share of the
// last-level cache, nobody will find it there anyhow: then the last run stores past the caches, which spares that
// reading. A value that is stashed where the result will stand (node_to_stash) would bring the line in, and so waits on
// the stack instead. What is written in place has brought the line in, too, and stays.
#include "base/knobs.h"
#include "jit/cpu/loop/emitter.h"

namespace reprise::jit {

namespace {

constexpr std::int64_t kAheadElements = 1024;  // a prefetch for nearer rows comes too late
// elements; the next row of longer ones would not stay in the L2 cache
constexpr std::int64_t kLongRow = 64 << 10;
constexpr std::int64_t kStashBytes = 16 << 10;  // leaves room for the row in the L1 cache
// bytes: more than one of many cores finds again, whatever the cache of them all holds
constexpr std::int64_t kStreamed = 16 << 20;

std::int64_t streamed_from() { return knobs().stream_bytes > 0 ? knobs().stream_bytes : kStreamed; }

}  // namespace

bool LoopEmitter::may_stream(std::uint32_t store) const {
  const BodyNode& n = k_.body[store];
  const Access& a = k_.accesses[n.access];
  return n.kind == BodyNode::Kind::Store && n.b == kNone && a.gathers.empty() && vdim_ >= 0 &&
         kernels::is_plain(a.strides[static_cast<std::size_t>(vdim_)], 1);
}

void LoopEmitter::plan_streams(const std::vector<std::uint32_t>& stores) {
  Value* all = e_.i64(1);  // elements
  for (Value* extent : extents_) all = b_.CreateMul(all, extent);
  Value* unaligned = e_.i64(0);
  for (std::uint32_t s : stores) {
    if (!may_stream(s)) return void(streams_ = nullptr);
    const std::uint32_t access = k_.body[s].access;
    const std::int64_t size = item_size(k_.body[s].dtype);
    streams_ = b_.CreateICmpSGE(all, e_.i64(streamed_from() / size));
    unaligned = b_.CreateOr(unaligned, b_.CreatePtrToInt(at_.address[access], b_.getInt64Ty()));
    for (int d = 0; d < rank_; ++d)
      if (d != vdim_)
        unaligned = b_.CreateOr(unaligned, b_.CreateMul(strides_[access][static_cast<std::size_t>(d)], e_.i64(size)));
  }
  if (streams_) streams_ = b_.CreateAnd(streams_, b_.CreateICmpEQ(b_.CreateAnd(unaligned, e_.i64(63)), e_.i64(0)));
}

void LoopEmitter::plan_pointwise_streams() {
  std::vector<std::uint32_t> stores;
  std::vector<bool> loaded(k_.buffers.size());
  for (std::uint32_t i = 0; i < k_.body.size(); ++i) {
    if (k_.body[i].kind == BodyNode::Kind::Store) stores.push_back(i);
    if (k_.body[i].kind == BodyNode::Kind::Load) loaded[k_.accesses[k_.body[i].access].buffer] = true;
  }
  for (std::uint32_t s : stores) {
    const Access& a = k_.accesses[k_.body[s].access];
    // Tiles write a vector here and a vector there: lines that were not whole would go to memory in pieces.
    if (loaded[a.buffer] || (tiling_.dim >= 0 && plan_.lanes * item_size(k_.body[s].dtype) < 64)) return;
    for (int d = 0; d < rank_; ++d)  // each element once
      if (kernels::is_plain(a.strides[static_cast<std::size_t>(d)], 0) &&
          !kernels::is_plain(k_.extents[static_cast<std::size_t>(d)], 1))
        return;
  }
  plan_streams(stores);
}

void LoopEmitter::for_both_stores(const std::function<void()>& f) {
  if (!streams_ || streams_here_) return f();
  auto with = [&](bool streams) {
    scope([&] {
      streams_here_ = streams;
      f();
      streams_here_.reset();
    });
  };
  emit_if(
      e_, streams_, [&] { with(true); }, [&] { with(false); });
}

void LoopEmitter::plan_rows() {
  ahead_.assign(k_.accesses.size(), nullptr);
  if (k_.n_kept == rank_) return plan_pointwise_streams();
  std::vector<std::uint32_t> inside;
  for (std::uint32_t i = 0; i < k_.body.size(); ++i)
    if (k_.body[i].kind == BodyNode::Kind::Store && info_.dims[i] & info_.inside_mask) inside.push_back(i);
  if (v_kept_ || vdim_ < 0 || k_.n_kept == 0 || info_.max_depth + !inside.empty() < 2) return;
  Value* row = e_.i64(1);  // elements
  for (int d = k_.n_kept; d < rank_; ++d) row = b_.CreateMul(row, extents_[static_cast<std::size_t>(d)]);

  Value* shortest = e_.call(llvm::Intrinsic::smax, row, e_.i64(1));
  Value* rows = e_.call(llvm::Intrinsic::smax, b_.CreateUDiv(e_.i64(kAheadElements), shortest), e_.i64(1));
  rows = b_.CreateSelect(b_.CreateICmpSGT(row, e_.i64(kLongRow)), e_.i64(0), rows);
  for (std::size_t i = 0; i < k_.accesses.size(); ++i) {
    const Access& a = k_.accesses[i];
    const std::size_t last = static_cast<std::size_t>(k_.n_kept - 1);
    if (a.gathers.empty() && kernels::is_plain(a.strides[static_cast<std::size_t>(vdim_)], 1) &&
        !kernels::is_plain(a.strides[last], 0))
      ahead_[i] = b_.CreateMul(rows, strides_[i][last]);
  }

  if (inside.empty()) return;
  const std::uint32_t stash = node_to_stash(inside);
  if (stash != kNone && rank_ - k_.n_kept != 1) return;  // its places do not follow one another
  plan_streams(inside);
  if (!streams_) return;
  if (stash == kNone) return;
  const std::int64_t room = kStashBytes / item_size(k_.body[inside[0]].dtype);
  streams_ = b_.CreateAnd(streams_, b_.CreateICmpSLE(row, e_.i64(room)));
  llvm::IRBuilder<> entry(&f_->getEntryBlock(), f_->getEntryBlock().begin());
  auto* stack = entry.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), kStashBytes));
  stack->setAlignment(llvm::Align(64));
  stash_room_ = stack;
}

void LoopEmitter::prefetch_rows(const std::vector<bool>& need) {
  for (std::uint32_t i = 0; i < k_.body.size(); ++i) {
    const BodyNode& n = k_.body[i];
    if (!need[i] || n.kind != BodyNode::Kind::Load || !ahead_[n.access] || !is_vector(i)) continue;
    const std::int64_t bytes = plan_.lanes * item_size(k_.buffers[k_.accesses[n.access].buffer].dtype);
    for (int s = 0; s < at_.steps; ++s) {
      if (s * bytes % 64 != 0) continue;
      Value* there = e_.at(element(n.access), place(n.access, s, plan_.lanes, nullptr).base, ahead_[n.access]);
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {there, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
    }
  }
}

}  // namespace reprise::jit
