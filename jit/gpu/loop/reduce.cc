// Reductions of a loop kernel by teams of threads: see Note [Threads of a loop kernel].
#include <algorithm>
#include <tuple>

#include "jit/emit/cost.h"
#include "jit/gpu/loop/emitter.h"

namespace reprise::jit {

using kernels::ReduceOp;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {

/// Float sums are made in blocks of so many units of each member; their sums are added with a correction, so that the
/// error does not grow with the length.
constexpr std::int64_t kSumBlock = 64;

/// The arithmetic of schedule.h in code.
struct CodeMath {
  using N = Value*;
  Emitter& e;
  llvm::Type* type;
  N number(std::int64_t v) const { return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(v), true); }
  N min(N a, N b) const { return e.call(Intrinsic::smin, a, b); }
  N max(N a, N b) const { return e.call(Intrinsic::smax, a, b); }
  N subtract(N a, N b) const { return e.b.CreateSub(a, b); }
  N shift_right(N a, int by) const { return e.b.CreateAShr(a, static_cast<std::uint64_t>(by)); }
  N select_less(N a, N b, N yes, N no) const { return e.b.CreateSelect(e.b.CreateICmpSLT(a, b), yes, no); }
  N log2_ceil(N a) const {
    N zeros = e.b.CreateBinaryIntrinsic(Intrinsic::ctlz, e.b.CreateSub(max(a, number(1)), number(1)), e.b.getFalse());
    return subtract(number(static_cast<std::int64_t>(type->getIntegerBitWidth())), zeros);
  }
};

/// Values of one type in shared memory, by slot.
struct Scratch {
  Emitter& e;
  Value* base;
  llvm::Type* type;
  llvm::Type* stored() const { return type->isIntegerTy(1) ? e.b.getInt8Ty() : type; }
  void put(Value* v, Value* slot) const {
    e.b.CreateStore(type == stored() ? v : e.b.CreateZExt(v, stored()), e.b.CreateGEP(stored(), base, slot));
  }
  Value* get(Value* slot) const {
    Value* v = e.b.CreateLoad(stored(), e.b.CreateGEP(stored(), base, slot));
    return type == stored() ? v : e.b.CreateTrunc(v, type);
  }
  /// The first n, a multiple of 4; `base` is aligned to 16 bytes.
  std::vector<Value*> first(int n) const {
    std::vector<Value*> all;
    if (type->getScalarSizeInBits() != 32) {
      for (int i = 0; i < n; ++i) all.push_back(get(e.b.getInt32(static_cast<std::uint32_t>(i))));
      return all;
    }
    for (int i = 0; i < n; i += 4) {
      Value* four = e.b.CreateAlignedLoad(llvm::FixedVectorType::get(type, 4),
                                          e.b.CreateGEP(type, base, e.b.getInt32(static_cast<std::uint32_t>(i))),
                                          llvm::Align(16));
      for (std::uint64_t j = 0; j < 4; ++j) all.push_back(e.b.CreateExtractElement(four, j));
    }
    return all;
  }
};

}  // namespace

void GpuLoopEmitter::row() {
  scratch_ = e_.shared_array(b_.getInt64Ty(), kWarp);
  variants();
  e_.barrier();
}

/// The row at hand, of units_: by runs that stay in registers, for which `keep` says who has them, where it has as many
/// as the schedule counts on; else as `again` says.
void GpuLoopEmitter::kept_or_not(const std::function<void()>& keep, const std::function<void()>& again) {
  if (!aligned_ || s_.kept_runs == 0) return again();
  const std::int64_t most = std::int64_t{s_.kept_runs} << s_.kept_team_log2,
                     least = s_.kept_whole ? most : most - (std::int64_t{1} << s_.kept_team_log2) + 1;
  Value* fits = b_.CreateAnd(b_.CreateICmpSLE(units_, idx(most)), b_.CreateICmpSGE(units_, idx(least)));
  fits = b_.CreateAnd(fits, b_.CreateICmpEQ(team_log2_, idx(s_.kept_team_log2)));
  const auto of_any = std::tuple(team_log2_, team_, member_);
  e_.if_else(
      fits,
      [&] {
        keep();
        scope([&] {
          keep_runs();
          point();
        });
        units_at_.clear();
        std::tie(team_log2_, team_, member_) = of_any;
      },
      again);
}

void GpuLoopEmitter::rows() {
  if (!given_) scratch_ = e_.shared_array(b_.getInt64Ty(), kWarp);
  Value* kept = product(0, k_.n_kept);
  per_row_ = e_.divide(b_.CreateAdd(extent(vdim_), idx(s_.run - 1)), idx(s_.run)).quotient;
  Value* units = per_row_;
  for (int d = k_.n_kept; d < rank_; ++d)
    if (d != vdim_) units = b_.CreateMul(units, extent(d));
  Value* thread = position(e_.thread());
  if (given_) {  // a block's, which has one row
    units_ = units;
    team_log2_ = idx(__builtin_ctz(static_cast<unsigned>(s_.threads)));
    team_ = idx(s_.threads), member_ = thread, writes_ = b_.getTrue();
    enter_flat(0, k_.n_kept, idx(0), nullptr);
    return kept_or_not([] {}, [&] { scope([&] { point(); }); });
  }
  team_log2_ = row_team_log2(CodeMath{e_, index_type_}, s_, units, kept);
  team_ = b_.CreateShl(idx(1), team_log2_);
  member_ = b_.CreateAnd(thread, b_.CreateSub(team_, idx(1)));
  Value* row = b_.CreateAdd(b_.CreateMul(position(e_.block()), b_.CreateLShr(idx(s_.threads), team_log2_)),
                            b_.CreateLShr(thread, team_log2_));
  // Teams beyond the end go along with the last row, of which nothing is theirs: all threads meet in shuffles and
  // barriers, and the team that has that row may be writing where it has read.
  Value* mine = b_.CreateICmpSLT(row, kept);
  writes_ = mine;
  enter_flat(0, k_.n_kept, b_.CreateSelect(writes_, row, b_.CreateSub(kept, idx(1))), nullptr);
  auto again = [&] {
    writes_ = mine;
    units_ = b_.CreateSelect(writes_, units, idx(0));
    scope([&] { point(); });
  };
  units_ = units;
  kept_or_not(
      [&] {
        team_log2_ = idx(s_.kept_team_log2), team_ = idx(std::int64_t{1} << s_.kept_team_log2),
        member_ = b_.CreateAnd(thread, b_.CreateSub(team_, idx(1)));
      },
      again);
}

void GpuLoopEmitter::columns() {
  int bytes = 4;
  for (const BodyNode& n : k_.body)
    if (n.kind == BodyNode::Kind::Reduce) bytes = std::max(bytes, item_size(kernels::register_dtype(n.dtype)));
  const int side_by_side = aligned_ ? s_.run : 1;
  scratch_ = e_.shared_array(b_.getIntNTy(static_cast<unsigned>(bytes) * 8),
                             static_cast<std::uint64_t>(s_.threads * side_by_side));
  const CodeMath m{e_, index_type_};
  Value* kept = product(0, k_.n_kept);
  Value* units = product(k_.n_kept, rank_);
  Value* runs = e_.divide(b_.CreateAdd(kept, idx(s_.run - 1)), idx(s_.run)).quotient;
  width_log2_ = column_width_log2(m, s_, units, runs);
  team_log2_ = b_.CreateSub(m.log2_ceil(idx(s_.threads)), width_log2_);
  team_ = b_.CreateShl(idx(1), team_log2_);
  member_ = b_.CreateLShr(position(e_.thread()), width_log2_);
  per_row_ = e_.divide(extent(vdim_), idx(s_.run)).quotient;
  auto at = [&](Value* strip) {
    scope([&] {
      units_ = units;
      column(strip, kept);
      point();
    });
  };
  Value* block = position(e_.block());
  if (aligned_ || s_.run == 1) return at(block);
  std::vector<Value*> none;
  Value* first = b_.CreateMul(block, idx(s_.run));
  emit_loop(e_, first, b_.CreateAdd(first, idx(s_.run)), idx(1), none, at, "strip");
}

void GpuLoopEmitter::column(Value* strip, Value* kept) {
  Value* width = b_.CreateShl(idx(1), width_log2_);
  Value* at =
      b_.CreateAdd(b_.CreateShl(strip, width_log2_), b_.CreateAnd(position(e_.thread()), b_.CreateSub(width, idx(1))));
  Value* all = aligned_ ? e_.divide(kept, idx(s_.run)).quotient : kept;
  writes_ = b_.CreateICmpSLT(at, all);
  units_ = b_.CreateSelect(writes_, units_, idx(0));
  at = b_.CreateSelect(writes_, at, b_.CreateSub(all, idx(1)));
  if (!aligned_) return enter(vdim_, enter_flat(0, k_.n_kept, at, extent(vdim_)));
  enter_run(b_.CreateMul(enter_flat(0, k_.n_kept, at, per_row_), idx(s_.run)));
}

void GpuLoopEmitter::point() {
  const Stores stores(k_, info_);
  for (int stage = 0; stage < info_.max_depth; ++stage) reduce_stage(stage);
  store_walk(stores);
  if (stores.here.empty()) return;
  for (std::uint32_t s : stores.here) {
    value(k_.body[s].a);
    if (k_.body[s].b != ~0u) value(k_.body[s].b);
  }
  e_.barrier();  // what the first member overwrites, the others have loaded
  writes_ = b_.CreateAnd(writes_, b_.CreateICmpEQ(member_, idx(0)));
  store_all(stores.here);
}

void GpuLoopEmitter::store_walk(const Stores& stores) {
  if (stores.inside.empty() && stores.per_part.empty()) return;
  std::vector<std::uint32_t> roots = stores.inside;
  roots.insert(roots.end(), stores.per_part.begin(), stores.per_part.end());
  const std::vector<bool> need = needed_by(k_, info_, roots, info_.max_depth);
  hoist(need, info_.max_depth);
  if (keeps_runs()) return store_kept(stores.inside);
  std::vector<Value*> none;
  run_over(need, info_.max_depth, stores.per_part, none, [&](Value* end) {
    if (!stores.inside.empty()) share(idx(0), end, 1, none, [&](std::vector<Value*>&) { store_all(stores.inside); });
  });
}

void GpuLoopEmitter::share(Value* begin, Value* end, int unroll, std::vector<Value*>& carried,
                           const std::function<void(std::vector<Value*>&)>& body) {
  if (keeps_runs()) {
    for (int unit = 0; unit < s_.kept_runs; ++unit) at_kept(unit, [&] { body(carried); });
    return;
  }
  auto at_unit = [&](Value* unit, std::vector<Value*>& now) {
    scope([&] {
      if (s_.kind == GpuSchedule::Kind::Rows) {
        enter_run(b_.CreateMul(enter_flat(first_, rank_, unit, per_row_), idx(s_.run)));
      } else {
        enter_flat(first_, rank_, unit, nullptr);
      }
      body(now);
    });
  };
  Value* from = b_.CreateAdd(begin, member_);
  if (unroll > 1) {
    // Several units in one turn, in the same order: their loads do not wait for each other.
    carried.push_back(from);
    Value* step = b_.CreateMul(team_, idx(unroll));
    emit_loop(
        e_, from, b_.CreateSub(end, b_.CreateSub(step, team_)), step, carried,
        [&](Value* unit) {
          carried.pop_back();
          for (int u = 0; u < unroll; ++u) at_unit(b_.CreateAdd(unit, b_.CreateMul(team_, idx(u))), carried);
          carried.push_back(b_.CreateAdd(unit, step));
        },
        "turn");
    from = carried.back();
    carried.pop_back();
  }
  emit_loop(
      e_, from, end, team_, carried, [&](Value* unit) { at_unit(unit, carried); }, "share");
}

void GpuLoopEmitter::reduce_stage(int stage) {
  std::vector<std::uint32_t> reduces, operands;
  for (std::uint32_t i = 0; i < k_.body.size(); ++i) {
    if (k_.body[i].kind != BodyNode::Kind::Reduce || k_.body[i].within || info_.depth[i] != stage + 1) continue;
    reduces.push_back(i), operands.push_back(k_.body[i].a);
  }
  reduce(reduces, needed_by(k_, info_, operands, stage), stage);
}

void GpuLoopEmitter::reduce(const std::vector<std::uint32_t>& reduces, const std::vector<bool>& need, int stage) {
  hoist(need, stage);
  int cost = 0;
  for (std::size_t i = 0; i < k_.body.size(); ++i)
    if (need[i] && at_.vals[i].empty()) cost += cost_of(k_, i);
  const bool rows = s_.kind == GpuSchedule::Kind::Rows;
  const int unroll = cost > 12 ? 1 : s_.run == 1 ? 4 : !rows ? (cost > 6 ? 2 : 4) : aligned_ ? 2 : 1;
  // Accumulators of a reduction, and what it has for results: all of a run's elements are one row's, but columns of
  // their own.
  const int each = rows ? s_.run : count(), results = rows ? 1 : count();
  auto in_blocks = [&](std::uint32_t r) { return k_.body[r].reduce == ReduceOp::Sum && is_floating(k_.body[r].dtype); };
  auto fold = [&](const BodyNode& n, Value** accs) {
    for (int half = each / 2; half >= results; half /= 2)
      for (int j = 0; j < half; ++j) accs[j] = combine(n, accs[j], accs[j + half]);
  };
  // around blocks: total and correction of each result of a sum, accumulators of the others
  std::vector<Value*> carried;
  for (std::uint32_t r : reduces)
    carried.insert(carried.end(), in_blocks(r) ? 2 * results : each, identity_of(e_, k_.body[r]));
  auto block = [&](Value* begin, Value* end, std::vector<Value*>& outer) {
    std::vector<Value*> accs;
    Value** at = outer.data();
    for (std::uint32_t r : reduces) {
      if (in_blocks(r)) {
        accs.insert(accs.end(), each, identity_of(e_, k_.body[r])), at += 2 * results;
      } else {
        accs.insert(accs.end(), at, at + each), at += each;
      }
    }
    share(begin, end, unroll, accs, [&](std::vector<Value*>& now) {
      for (std::size_t j = 0; j < reduces.size(); ++j) accumulate(reduces[j], &now[j * static_cast<std::size_t>(each)]);
    });
    at = outer.data();
    for (std::size_t j = 0; j < reduces.size(); ++j) {
      Value** part = &accs[j * static_cast<std::size_t>(each)];
      if (in_blocks(reduces[j])) {
        fold(k_.body[reduces[j]], part);
        for (int i = 0; i < results; ++i, at += 2) {
          if (keeps_runs()) at[0] = b_.CreateFAdd(at[0], part[i]);  // the only block: nothing is lost
          else add_compensated(e_, at[0], at[1], part[i]);
        }
      } else {
        std::copy(part, part + each, at), at += each;
      }
    }
  };
  if (first_ < inside_ && asks_for_parts(need)) {
    run_over(need, stage, {}, carried, [&](Value* end) { block(idx(0), end, carried); });
  } else if (!keeps_runs() && std::any_of(reduces.begin(), reduces.end(), in_blocks)) {
    Value* length = b_.CreateMul(team_, idx(kSumBlock));
    emit_loop(
        e_, idx(0), units_, length, carried,
        [&](Value* begin) { block(begin, e_.call(Intrinsic::smin, b_.CreateAdd(begin, length), units_), carried); },
        "block");
  } else {
    block(idx(0), units_, carried);
  }
  Value** at = carried.data();
  for (std::uint32_t r : reduces) {
    const BodyNode& n = k_.body[r];
    Val mine;
    if (in_blocks(r)) {
      for (int i = 0; i < results; ++i, at += 2)
        mine.push_back(keeps_runs() ? at[0] : compensated_sum(e_, at[0], at[1]));
    } else {
      fold(n, at);
      mine.assign(at, at + results), at += each;
    }
    over_team(n, mine);
    at_.vals[r] = std::move(mine);
  }
}

bool GpuLoopEmitter::asks_for_parts(const std::vector<bool>& need) const {
  for (int depth = 1; depth <= info_.max_part_depth; ++depth)
    if (!within_parts(k_, info_, need, depth).empty()) return true;
  return false;
}

void GpuLoopEmitter::run_over(const std::vector<bool>& need, int stage, const std::vector<std::uint32_t>& per_part,
                              std::vector<Value*>& carried, const std::function<void(Value* end)>& f) {
  if (per_part.empty() && !asks_for_parts(need)) return f(units_);
  const CodeMath m{e_, index_type_};
  const bool rows = s_.kind == GpuSchedule::Kind::Rows;
  Value* units = rows ? per_row_ : idx(1);  // of one part
  for (int d = inside_; d < rank_; ++d)
    if (!rows || d != vdim_) units = b_.CreateMul(units, extent(d));
  Value* log2 = rows ? m.min(m.min(team_log2_, idx(5)), m.log2_ceil(units)) : idx(0);
  Value* groups = b_.CreateLShr(team_, log2);
  Value *group = b_.CreateLShr(member_, log2), *team = b_.CreateShl(idx(1), log2),
        *member = b_.CreateAnd(member_, b_.CreateSub(team, idx(1)));
  Value* parts = product(k_.n_kept, inside_);
  // Groups beyond the end go along with the last part, as teams do with the last row: nothing of it is theirs.
  emit_loop(
      e_, idx(0), parts, groups, carried,
      [&](Value* turn) {
        scope([&] {
          Value* at = b_.CreateAdd(turn, group);
          Value* there = b_.CreateICmpSLT(at, parts);
          Value* mine = b_.CreateSelect(b_.CreateAnd(there, writes_), units, idx(0));
          enter_flat(k_.n_kept, inside_, b_.CreateSelect(there, at, b_.CreateSub(parts, idx(1))), nullptr);
          const auto whole = std::tuple(units_, team_log2_, team_, member_, writes_, first_);
          std::tie(units_, team_log2_, team_, member_, first_) = std::tuple(mine, log2, team, member, inside_);
          hoist(need, stage);
          for (int depth = 1; depth <= info_.max_part_depth; ++depth) {
            const std::vector<std::uint32_t> reduces = within_parts(k_, info_, need, depth);
            std::vector<std::uint32_t> operands;
            for (std::uint32_t r : reduces) operands.push_back(k_.body[r].a);
            if (!reduces.empty()) reduce(reduces, needed_by(k_, info_, operands, stage, ~0u, depth - 1), stage);
            at_.part_stage = depth;
          }
          f(mine);
          if (!per_part.empty()) {
            for (std::uint32_t s : per_part) value(k_.body[s].a);
            // What the first member overwrites, the others have loaded.
            for (std::uint32_t i = 0; i < k_.body.size(); ++i)
              if (k_.body[i].kind == BodyNode::Kind::Load && info_.dims[i] & info_.parts_mask &&
                  !(info_.dims[i] & info_.inside_mask)) {
                e_.barrier();
                break;
              }
            writes_ = b_.CreateAnd(b_.CreateAnd(writes_, there), b_.CreateICmpEQ(member, idx(0)));
            store_all(per_part);
          }
          std::tie(units_, team_log2_, team_, member_, writes_, first_) = whole;
        });
      },
      "part");
}

void GpuLoopEmitter::accumulate(std::uint32_t r, Value** accs) {
  const BodyNode& n = k_.body[r];
  value(n.a);
  for (int j = 0; j < count(); ++j) {
    Value* sum = add_product(r, n.a, j, accs[j]);
    if (!sum) sum = combine(n, e_.cast(k_.body[n.a].dtype, n.dtype, operand(n.a, j)), accs[j]);
    Value* there = at_.masks.empty() ? there_ : at_.masks[static_cast<std::size_t>(j)];
    accs[j] = there ? b_.CreateSelect(there, sum, accs[j]) : sum;
  }
}

void GpuLoopEmitter::over_team(const BodyNode& n, Val& v) {
  if (s_.kind == GpuSchedule::Kind::Columns) {
    if (first_ == k_.n_kept) over_members(n, v);  // else a group of one
    return;
  }
  auto over_warps = [&] {
    const Scratch slots{e_, scratch_, v[0]->getType()};
    emit_if(e_, b_.CreateICmpEQ(e_.lane(), e_.i32(0)), [&] { slots.put(v[0], e_.warp()); });
    e_.barrier();
    const std::vector<Value*> all = slots.first(s_.threads / kWarp);
    Value* sum = all[0];
    for (std::size_t w = 1; w < all.size(); ++w) sum = combine(n, sum, all[w]);
    e_.barrier();
    return std::vector<Value*>{sum};
  };
  if (keeps_runs()) {  // the team is known
    for (int step = 0; step < std::min(s_.kept_team_log2, 5); ++step)
      v[0] = exchange(n, v[0], e_.i32(std::int64_t{1} << step));
    if (s_.kept_team_log2 > 5) v[0] = over_warps()[0];
    return;
  }
  std::vector<Value*> acc{v[0]};
  emit_loop(
      e_, idx(0), e_.call(Intrinsic::smin, team_log2_, idx(5)), idx(1), acc,
      [&](Value* step) {
        acc[0] = exchange(n, acc[0], b_.CreateShl(e_.i32(1), b_.CreateTrunc(step, b_.getInt32Ty())));
      },
      "exchange");
  v[0] = acc[0];
  if (first_ > k_.n_kept) return;  // a group is no more than a warp
  v[0] = e_.choose(b_.CreateICmpSGT(team_log2_, idx(5)), over_warps, [&] { return std::vector<Value*>{v[0]}; })[0];
}

Value* GpuLoopEmitter::combine(const BodyNode& n, Value* x, Value* acc) {
  const bool picks_nan = e_.gpu.sm >= 80 && n.dtype == DType::Float32;
  if (picks_nan && n.reduce == ReduceOp::Max) return e_.call(Intrinsic::maximum, x, acc);
  if (picks_nan && n.reduce == ReduceOp::Min) return e_.call(Intrinsic::minimum, x, acc);
  return combine_into(e_, n, x, acc);
}

Value* GpuLoopEmitter::exchange(const BodyNode& n, Value* v, Value* mask) {
  const bool extreme = n.reduce == ReduceOp::Max || n.reduce == ReduceOp::Min;
  const bool commutes = !extreme || !is_floating(n.dtype) || (e_.gpu.sm >= 80 && n.dtype == DType::Float32);
  if (commutes) return combine(n, v, e_.shuffle_xor(v, mask));
  return e_.exchange(v, mask, [&](Value* a, Value* c) { return combine(n, a, c); });
}

/// Columns: the members of a warp that stand at the same columns, then those of all warps.
void GpuLoopEmitter::over_members(const BodyNode& n, Val& v) {
  const CodeMath m{e_, index_type_};
  std::vector<Value*> acc(v.begin(), v.end());
  emit_loop(
      e_, width_log2_, idx(5), idx(1), acc,
      [&](Value* step) {
        Value* mask = b_.CreateShl(e_.i32(1), b_.CreateTrunc(step, b_.getInt32Ty()));
        for (Value*& x : acc) x = exchange(n, x, mask);
      },
      "exchange");
  const Scratch slots{e_, scratch_, v[0]->getType()};
  const auto each = static_cast<std::int64_t>(v.size());
  Value* thread = position(e_.thread());
  Value* column = b_.CreateAnd(thread, b_.CreateSub(b_.CreateShl(idx(1), width_log2_), idx(1)));
  Value* group_log2 = m.max(width_log2_, idx(5));  // threads whose members have met
  Value* groups = b_.CreateLShr(idx(s_.threads), group_log2);
  auto slot = [&](Value* group, std::int64_t j) {
    return b_.CreateAdd(b_.CreateMul(b_.CreateAdd(b_.CreateShl(group, width_log2_), column), idx(each)), idx(j));
  };
  auto over_groups = [&] {
    Value* in_group = b_.CreateAnd(thread, b_.CreateSub(b_.CreateShl(idx(1), group_log2), idx(1)));
    emit_if(e_, b_.CreateICmpEQ(in_group, column), [&] {
      for (std::int64_t j = 0; j < each; ++j)
        slots.put(acc[static_cast<std::size_t>(j)], slot(b_.CreateLShr(thread, group_log2), j));
    });
    e_.barrier();
    std::vector<Value*> sums;
    for (std::int64_t j = 0; j < each; ++j) sums.push_back(slots.get(slot(idx(0), j)));
    emit_loop(
        e_, idx(1), groups, idx(1), sums,
        [&](Value* group) {
          for (std::int64_t j = 0; j < each; ++j) {
            Value*& sum = sums[static_cast<std::size_t>(j)];
            sum = combine(n, sum, slots.get(slot(group, j)));
          }
        },
        "group");
    e_.barrier();  // before the scratch is written again
    return sums;
  };
  const std::vector<Value*> sums = e_.choose(b_.CreateICmpSGT(groups, idx(1)), over_groups, [&] { return acc; });
  std::copy(sums.begin(), sums.end(), v.begin());
}

}  // namespace reprise::jit
