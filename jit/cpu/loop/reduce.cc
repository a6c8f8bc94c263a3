// Reductions of a loop kernel.
#include <algorithm>
#include <tuple>

#include "jit/cpu/loop/emitter.h"

namespace reprise::jit {

using kernels::ReduceOp;

namespace {
constexpr int kWorthKeeping = 12;  // in the place of the result
// beside it: that is a load and a store more, and the code comes twice (a norm that is rounded to bfloat16 is worth it)
constexpr int kWorthALoad = 10;

/// Instructions that rounding to a narrow dtype takes beside the one that every cast is counted as.
int cost_of_narrowing(const BodyNode& n) {
  if (n.kind != BodyNode::Kind::Cast || !is_low_precision(n.dtype)) return 0;
  return n.dtype == DType::Float16 ? 1 : n.dtype == DType::BFloat16 ? 8 : 16;
}
}  // namespace

void LoopEmitter::reduce_stage(int stage, std::uint32_t stash_store, std::uint32_t stash) {
  std::vector<std::uint32_t> reduces;
  roots_.clear();
  for (std::uint32_t i = 0; i < k_.body.size(); ++i) {
    if (k_.body[i].kind != BodyNode::Kind::Reduce || k_.body[i].within || info_.depth[i] != stage + 1) continue;
    reduces.push_back(i);
    roots_.push_back(k_.body[i].a);
  }
  const std::vector<bool> need = needed_by(k_, info_, roots_, stage);
  reduce(reduces, need, k_.n_kept, stage, [&] {
    if (stage == 1) prefetch_rows(need);
    if (stash_store != kNone && stash_in_room_) put_in_room(stash);
    else if (stash_store != kNone)
      based_at(k_.body[stash_store].access, stash_base_, [&] { write(k_.body[stash_store], stash, kNone); });
  });
}

void LoopEmitter::reduce(const std::vector<std::uint32_t>& reduces, const std::vector<bool>& need, int first, int stage,
                         const std::function<void()>& beside) {
  std::vector<Accumulators> all;
  std::vector<Value*> carried;  // around the blocks: totals and corrections of sums, accumulators of the others
  for (std::uint32_t r : reduces) {
    const BodyNode& n = k_.body[r];
    Accumulators a{r, 1, info_.dims[r] & vbit_ || !v_kept_ ? plan_.lanes : 0,
                   n.reduce == ReduceOp::Sum && is_floating(n.dtype)};
    a.count = !v_kept_ ? plan_.accumulators(n.dtype) : a.lanes ? at_.steps : 1;
    const int totals = a.blocked ? 2 * (v_kept_ ? a.count : 1) : a.count;
    carried.insert(carried.end(), static_cast<std::size_t>(totals),
                   e_.splat(identity_of(e_, n), a.blocked && !v_kept_ ? 0 : a.lanes));
    all.push_back(a);
  }
  auto block = [&] {
    std::vector<Value*> accs;
    std::size_t at = 0;
    for (const Accumulators& a : all) {
      if (a.blocked)
        accs.insert(accs.end(), static_cast<std::size_t>(a.count), e_.splat(identity_of(e_, k_.body[a.node]), a.lanes));
      else accs.insert(accs.end(), &carried[at], &carried[at] + a.count);
      at += static_cast<std::size_t>(a.blocked ? 2 * (v_kept_ ? a.count : 1) : a.count);
    }
    nest(first, need, stage, accs, [&](std::vector<Value*>& now) {
      auto turn = now.begin();
      for (const Accumulators& a : all) {
        accumulate(a.node, &*turn, a.count);
        if (!v_kept_) std::rotate(turn, turn + at_.steps, turn + a.count);
        turn += a.count;
      }
      beside();
    });
    auto from = accs.begin();
    Value** to = carried.data();
    for (const Accumulators& a : all) {
      std::vector<Value*> part(from, from + a.count);
      from += a.count;
      if (!a.blocked) {
        std::copy(part.begin(), part.end(), to), to += a.count;
        continue;
      }
      if (!v_kept_) part = {fold_lanes(k_.body[a.node], std::move(part))};
      for (Value* x : part) add_compensated(e_, to[0], to[1], x), to += 2;
    }
  };
  blocks(need, first, stage, carried,
         std::any_of(all.begin(), all.end(), [](const Accumulators& a) { return a.blocked; }), block);

  Value** from = carried.data();
  for (const Accumulators& a : all) {
    Val result;
    if (a.blocked) {
      for (int s = 0; s < (v_kept_ ? a.count : 1); ++s, from += 2) {
        result.push_back(compensated_sum(e_, from[0], from[1]));
      }
    } else {
      std::vector<Value*> accs(from, from + a.count);
      from += a.count;
      result = v_kept_ ? Val(accs.begin(), accs.end()) : Val{fold_lanes(k_.body[a.node], std::move(accs))};
    }
    at_.vals[a.node] = std::move(result);
  }
}

void LoopEmitter::blocks(const std::vector<bool>& need, int first, int stage, std::vector<Value*>& carried,
                         bool blocked, const std::function<void()>& block) {
  if (!blocked || rank_ == first) return block();
  hoist(need, at_.dims | (v_kept_ ? vbit_ : 0), stage);
  const bool in_line = first == k_.n_kept && takes_row_in_line(need);
  if (rank_ - first == 1 || in_line) {
    const int d = rank_ - 1;
    const std::int64_t length = v_kept_ ? kColumnBlock : kRowBlock;
    Value* extent = extents_[static_cast<std::size_t>(d)];
    if (in_line) extent = b_.CreateMul(extent, extents_[static_cast<std::size_t>(first)]);
    emit_loop(
        e_, e_.i64(0), extent, e_.i64(length), carried,
        [&](Value* begin) {
          scope([&] {
            const auto around = std::pair(blocked_dim_, block_);
            blocked_dim_ = d;
            block_ = {begin, e_.call(llvm::Intrinsic::smin, b_.CreateAdd(begin, e_.i64(length)), extent)};
            block();
            std::tie(blocked_dim_, block_) = around;
          });
        },
        "block");
    return;
  }
  const int d = first == vdim_ ? first + 1 : first;
  emit_loop(
      e_, e_.i64(0), extents_[static_cast<std::size_t>(d)], e_.i64(1), carried,
      [&](Value* index) {
        scope([&] {
          enter(d, index);
          block();
        });
      },
      "block");
}

std::uint32_t LoopEmitter::node_to_stash(const std::vector<std::uint32_t>& inside) {
  if (inside.size() != 1 || info_.max_depth == 0 || k_.n_parts > 0) return kNone;
  const BodyNode& s = k_.body[inside[0]];
  if (s.b != ~0u || !k_.accesses[s.access].gathers.empty() || !(info_.dims[inside[0]] & vbit_)) return kNone;
  std::vector<std::uint32_t> operands;
  for (std::uint32_t i = 0; i < k_.body.size(); ++i)
    if (k_.body[i].kind == BodyNode::Kind::Reduce && info_.depth[i] == info_.max_depth)
      operands.push_back(k_.body[i].a);
  const std::vector<bool> computed = needed_by(k_, info_, operands, info_.max_depth - 1);
  const std::uint32_t all_dims = info_.dims[inside[0]];
  for (std::uint32_t m = 0; m < k_.body.size(); ++m) {
    const BodyNode& n = k_.body[m];
    if (!computed[m] || n.kind != BodyNode::Kind::Op || n.dtype != s.dtype ||
        kernels::register_dtype(n.dtype) != n.dtype || (info_.dims[m] & ~all_dims) != 0 ||
        (info_.dims[m] & info_.reduced_mask) != (all_dims & info_.reduced_mask))
      continue;
    const std::vector<bool> last = needed_by(k_, info_, inside, info_.max_depth, m);
    bool alone = last[m];
    for (std::uint32_t i = 0; i < k_.body.size(); ++i)
      if (last[i] && i != m && info_.dims[i] & info_.reduced_mask &&
          (k_.body[i].kind == BodyNode::Kind::Load || k_.body[i].kind == BodyNode::Kind::Index))
        alone = false;
    if (alone && cost_inside(m, info_.max_depth - 1, 0) >= kWorthKeeping) return m;
  }
  return kNone;
}

int LoopEmitter::cost_inside(std::uint32_t m, int stage, int part_stage) {
  int cost = 0;
  const std::vector<bool> chain = needed_by(k_, info_, {m}, stage, kNone, part_stage);
  for (std::size_t i = 0; i < k_.body.size(); ++i)
    if (chain[i] && info_.dims[i] & info_.inside_mask) cost += cost_of(k_, i) + cost_of_narrowing(k_.body[i]);
  return cost;
}

std::uint32_t LoopEmitter::node_for_room(const std::vector<std::uint32_t>& inside) {
  if (info_.max_depth == 0 || rank_ - k_.n_kept != 1) return kNone;
  std::vector<std::uint32_t> operands;
  for (std::uint32_t i = 0; i < k_.body.size(); ++i)
    if (k_.body[i].kind == BodyNode::Kind::Reduce && info_.depth[i] == info_.max_depth)
      operands.push_back(k_.body[i].a);
  return worth_a_room(operands, inside, info_.max_depth - 1, 0);
}

std::uint32_t LoopEmitter::worth_a_room(const std::vector<std::uint32_t>& operands,
                                        const std::vector<std::uint32_t>& stores, int stage, int part_stage) {
  if (stores.size() != 1 || rank_ - inside_ != 1 || inside_ != vdim_) return kNone;
  const std::vector<bool> computed = needed_by(k_, info_, operands, stage, kNone, part_stage);
  // The latest one is made of the most.
  for (auto m = static_cast<std::uint32_t>(k_.body.size()); m-- > 0;) {
    const BodyNode& n = k_.body[m];
    const bool made = n.kind == BodyNode::Kind::Op || n.kind == BodyNode::Kind::Cast;
    if (!computed[m] || !made || kernels::register_dtype(n.dtype) != DType::Float32 || !(info_.dims[m] & vbit_) ||
        info_.depth[m] > stage || info_.part_depth[m] > part_stage)
      continue;
    if (needed_by(k_, info_, stores, info_.max_depth, m, info_.max_part_depth)[m] &&
        cost_inside(m, stage, part_stage) >= kWorthALoad)
      return m;
  }
  return kNone;
}

void LoopEmitter::with_room(std::uint32_t node, const std::function<void(std::uint32_t node)>& f) {
  if (!row_room_) {
    llvm::IRBuilder<> entry(&f_->getEntryBlock(), f_->getEntryBlock().begin());
    auto* stack = entry.CreateAlloca(llvm::ArrayType::get(b_.getFloatTy(), kRoomElements));
    stack->setAlignment(llvm::Align(64));
    row_room_ = stack;
  }
  Value* fits = b_.CreateICmpSLE(extents_[static_cast<std::size_t>(vdim_)], e_.i64(kRoomElements));
  emit_if(
      e_, fits, [&] { scope([&] { f(node); }); }, [&] { scope([&] { f(kNone); }); });
}

void LoopEmitter::put_in_room(std::uint32_t node) {
  for (int s = 0; s < at_.steps; ++s)
    e_.store(DType::Float32, operand(node, s, plan_.lanes), in_room(s), step_mask(s), at_.whole);
}

Value* LoopEmitter::in_room(int step) {
  return e_.at(b_.getFloatTy(), row_room_, b_.CreateAdd(at_.vector_index, e_.i64(step * plan_.lanes)));
}

void LoopEmitter::accumulate(std::uint32_t r, Value** accs, int width) {
  const BodyNode& n = k_.body[r];
  const Val& x = value(n.a);
  // Of magnitudes the greatest has the greatest bits, and those of NaN are greater than infinity's.
  const BodyNode& of = k_.body[n.a];
  const bool magnitudes = n.reduce == ReduceOp::Max && n.dtype == DType::Float32 && of.kind == BodyNode::Kind::Op &&
                          of.op == kernels::ScalarOp::Abs && of.dtype == DType::Float32;
  const int turns = v_kept_ ? width : at_.steps;
  for (int s = 0; s < turns; ++s) {
    Value* v = e_.cast(k_.body[n.a].dtype, n.dtype, x[x.size() == 1 ? 0 : static_cast<std::size_t>(s)]);
    if (llvm::isa<llvm::VectorType>(accs[s]->getType())) v = e_.splat(v, plan_.lanes);
    Value* sum = magnitudes ? e_.floats(e_.call(llvm::Intrinsic::smax, e_.bits(v), e_.bits(accs[s])))
                            : combine_into(e_, n, v, accs[s]);
    if (!v_kept_ && !at_.masks.empty()) sum = b_.CreateSelect(at_.masks[static_cast<std::size_t>(s)], sum, accs[s]);
    accs[s] = sum;
  }
}

// Note [Sums do not depend on the code]
// Element j of a row goes to virtual lane j mod 64 (Float32), whatever the vector width and the unrolling: with
// vectors of 16 there are 4 accumulators, with 8 there are 8. The lanes are then folded in halves: lane l with l + 32,
// then l + 16, down to 1. Accumulators that took turns stand rotated by the number of steps; folding a list in halves
// pairs the same ones under every rotation, and addition commutes, so the sum's bits are the same.
Value* LoopEmitter::fold_lanes(const BodyNode& n, std::vector<Value*> accs) {
  for (std::size_t half = accs.size() / 2; half > 0; half /= 2)
    for (std::size_t j = 0; j < half; ++j) accs[j] = combine_into(e_, n, accs[j], accs[j + half]);
  Value* v = accs[0];
  for (int half = plan_.lanes / 2; half > 0; half /= 2) {
    llvm::SmallVector<int, 32> low, high;
    for (int l = 0; l < half; ++l) low.push_back(l), high.push_back(l + half);
    if (half == 1) {
      v = combine_into(e_, n, b_.CreateExtractElement(v, std::uint64_t{0}),
                       b_.CreateExtractElement(v, std::uint64_t{1}));
    } else {
      v = combine_into(e_, n, b_.CreateShuffleVector(v, low), b_.CreateShuffleVector(v, high));
    }
  }
  return v;
}

}  // namespace reprise::jit
