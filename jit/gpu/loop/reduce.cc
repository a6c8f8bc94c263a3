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

}  // namespace

void GpuLoopEmitter::rows() {
  scratch_ = e_.shared_array(b_.getInt64Ty(), kWarp);
  Value* kept = product(0, k_.n_kept);
  per_row_ = e_.divide(b_.CreateAdd(extent(vdim_), idx(s_.run - 1)), idx(s_.run)).quotient;
  units_ = per_row_;
  for (int d = k_.n_kept; d < rank_; ++d)
    if (d != vdim_) units_ = b_.CreateMul(units_, extent(d));
  team_log2_ = row_team_log2(CodeMath{e_, index_type_}, s_, units_, kept);
  team_ = b_.CreateShl(idx(1), team_log2_);
  Value* thread = position(e_.thread());
  member_ = b_.CreateAnd(thread, b_.CreateSub(team_, idx(1)));
  Value* row = b_.CreateAdd(b_.CreateMul(position(e_.block()), b_.CreateLShr(idx(s_.threads), team_log2_)),
                            b_.CreateLShr(thread, team_log2_));
  // Teams beyond the end go along with the last row, of which nothing is theirs: all threads meet in shuffles and barriers, and
  // the team that has that row may be writing where it has read.
  writes_ = b_.CreateICmpSLT(row, kept);
  units_ = b_.CreateSelect(writes_, units_, idx(0));
  enter_flat(0, k_.n_kept, b_.CreateSelect(writes_, row, b_.CreateSub(kept, idx(1))), nullptr);
  point();
}

void GpuLoopEmitter::columns() {
  scratch_ = e_.shared_array(b_.getInt64Ty(), static_cast<std::uint64_t>(s_.threads));
  Value* kept = product(0, k_.n_kept);
  units_ = product(k_.n_kept, rank_);
  width_log2_ = column_width_log2(CodeMath{e_, index_type_}, s_, units_, kept);
  Value* thread = position(e_.thread());
  Value* width = b_.CreateShl(idx(1), width_log2_);
  team_log2_ = b_.CreateSub(CodeMath{e_, index_type_}.log2_ceil(idx(s_.threads)), width_log2_);
  team_ = b_.CreateShl(idx(1), team_log2_);
  member_ = b_.CreateLShr(thread, width_log2_);
  Value* column = b_.CreateAdd(b_.CreateShl(position(e_.block()), width_log2_),
                               b_.CreateAnd(thread, b_.CreateSub(width, idx(1))));
  writes_ = b_.CreateICmpSLT(column, kept);
  units_ = b_.CreateSelect(writes_, units_, idx(0));
  column = b_.CreateSelect(writes_, column, b_.CreateSub(kept, idx(1)));
  enter(vdim_, enter_flat(0, k_.n_kept, column, extent(vdim_)));
  point();
}

void GpuLoopEmitter::point() {
  const Stores stores(k_, info_);
  const std::vector<std::uint32_t>& here = stores.here;
  for (int stage = 0; stage < info_.max_depth; ++stage) reduce_stage(stage);
  if (!stores.inside.empty() || !stores.per_part.empty()) {
    std::vector<std::uint32_t> roots = stores.inside;
    roots.insert(roots.end(), stores.per_part.begin(), stores.per_part.end());
    const std::vector<bool> need = needed_by(k_, info_, roots, info_.max_depth);
    hoist(need, info_.max_depth);
    std::vector<Value*> none;
    run_over(need, info_.max_depth, stores.per_part, none, [&](Value* end) {
      if (!stores.inside.empty()) share(idx(0), end, 1, none, [&](std::vector<Value*>&) { store_all(stores.inside); });
    });
  }
  if (here.empty()) return;
  for (std::uint32_t s : here) {
    value(k_.body[s].a);
    if (k_.body[s].b != ~0u) value(k_.body[s].b);
  }
  e_.barrier();  // what the first member overwrites, the others have loaded
  writes_ = b_.CreateAnd(writes_, b_.CreateICmpEQ(member_, idx(0)));
  store_all(here);
}

void GpuLoopEmitter::share(Value* begin, Value* end, int unroll, std::vector<Value*>& carried,
                            const std::function<void(std::vector<Value*>&)>& body) {
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
  const int unroll = cost > 12 ? 1 : s_.run == 1 ? 4 : aligned_ ? 2 : 1;
  const int each = s_.kind == GpuSchedule::Kind::Rows ? s_.run : 1;  // accumulators of a reduction
  auto in_blocks = [&](std::uint32_t r) { return k_.body[r].reduce == ReduceOp::Sum && is_floating(k_.body[r].dtype); };
  auto fold = [&](const BodyNode& n, Value** accs) {
    for (int half = each / 2; half > 0; half /= 2)
      for (int j = 0; j < half; ++j) accs[j] = combine_into(e_, n, accs[j], accs[j + half]);
    return accs[0];
  };
  std::vector<Value*> carried;  // around blocks: total and correction of a sum, accumulators of the others
  for (std::uint32_t r : reduces) carried.insert(carried.end(), in_blocks(r) ? 2 : each, identity_of(e_, k_.body[r]));
  auto block = [&](Value* begin, Value* end, std::vector<Value*>& outer) {
    std::vector<Value*> accs;
    Value** at = outer.data();
    for (std::uint32_t r : reduces) {
      if (in_blocks(r)) {
        accs.insert(accs.end(), each, identity_of(e_, k_.body[r])), at += 2;
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
        add_compensated(e_, at[0], at[1], fold(k_.body[reduces[j]], part)), at += 2;
      } else {
        std::copy(part, part + each, at), at += each;
      }
    }
  };
  if (first_ < inside_ && asks_for_parts(need)) {
    run_over(need, stage, {}, carried, [&](Value* end) { block(idx(0), end, carried); });
  } else if (std::any_of(reduces.begin(), reduces.end(), in_blocks)) {
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
    Value* mine = in_blocks(r) ? compensated_sum(e_, at[0], at[1]) : fold(n, at);
    at += in_blocks(r) ? 2 : each;
    at_.vals[r] = {over_team(n, mine)};
  }
}

bool GpuLoopEmitter::asks_for_parts(const std::vector<bool>& need) const {
  for (int depth = 1; depth <= info_.max_part_depth; ++depth)
    if (!within_parts(k_, info_, need, depth).empty()) return true;
  return false;
}

void GpuLoopEmitter::run_over(const std::vector<bool>& need, int stage, const std::vector<std::uint32_t>& per_part, std::vector<Value*>& carried,
                              const std::function<void(Value* end)>& f) {
  if (per_part.empty() && !asks_for_parts(need)) return f(units_);
  const CodeMath m{e_, index_type_};
  const bool rows = s_.kind == GpuSchedule::Kind::Rows;
  Value* units = rows ? per_row_ : idx(1);  // of one part
  for (int d = inside_; d < rank_; ++d)
    if (!rows || d != vdim_) units = b_.CreateMul(units, extent(d));
  Value* log2 = rows ? m.min(m.min(team_log2_, idx(5)), m.log2_ceil(units)) : idx(0);
  Value* groups = b_.CreateLShr(team_, log2);
  Value *group = b_.CreateLShr(member_, log2), *team = b_.CreateShl(idx(1), log2), *member = b_.CreateAnd(member_, b_.CreateSub(team, idx(1)));
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
              if (k_.body[i].kind == BodyNode::Kind::Load && info_.dims[i] & info_.parts_mask && !(info_.dims[i] & info_.inside_mask)) {
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
    Value* sum = combine_into(e_, n, e_.cast(k_.body[n.a].dtype, n.dtype, operand(n.a, j)), accs[j]);
    accs[j] = at_.masks.empty() ? sum : b_.CreateSelect(at_.masks[static_cast<std::size_t>(j)], sum, accs[j]);
  }
}

Value* GpuLoopEmitter::over_team(const BodyNode& n, Value* v) {
  llvm::Type* type = v->getType()->isIntegerTy(1) ? b_.getInt8Ty() : v->getType();
  auto slot = [&](Value* i) { return b_.CreateGEP(type, scratch_, i); };
  auto put = [&](Value* x, Value* i) { b_.CreateStore(type == x->getType() ? x : b_.CreateZExt(x, type), slot(i)); };
  auto get = [&](Value* i) {
    Value* x = b_.CreateLoad(type, slot(i));
    return type == v->getType() ? x : b_.CreateTrunc(x, v->getType());
  };
  if (s_.kind == GpuSchedule::Kind::Columns && first_ > k_.n_kept) return v;  // a group of one
  if (s_.kind == GpuSchedule::Kind::Columns) {
    auto of_members = [&] {
      put(v, position(e_.thread()));
      e_.barrier();
      Value* column =
          b_.CreateAnd(position(e_.thread()), b_.CreateSub(b_.CreateShl(idx(1), width_log2_), idx(1)));
      std::vector<Value*> acc{get(column)};
      emit_loop(
          e_, idx(1), team_, idx(1), acc,
          [&](Value* m) {
            acc[0] = combine_into(e_, n, acc[0], get(b_.CreateAdd(b_.CreateShl(m, width_log2_), column)));
          },
          "member");
      e_.barrier();  // before the scratch is written again
      return acc;
    };
    return e_.choose(b_.CreateICmpSGT(team_, idx(1)), of_members, [&] { return std::vector<Value*>{v}; })[0];
  }
  std::vector<Value*> acc{v};
  emit_loop(
      e_, idx(0), e_.call(Intrinsic::smin, team_log2_, idx(5)), idx(1), acc,
      [&](Value* step) {
        Value* mask = b_.CreateShl(e_.i32(1), b_.CreateTrunc(step, b_.getInt32Ty()));
        acc[0] = e_.exchange(acc[0], mask, [&](Value* a, Value* c) { return combine_into(e_, n, a, c); });
      },
      "exchange");
  v = acc[0];
  if (first_ > k_.n_kept) return v;  // a group is no more than a warp
  const int warps = s_.threads / kWarp;
  auto over_warps = [&] {
    emit_if(e_, b_.CreateICmpEQ(e_.lane(), e_.i32(0)), [&] { put(v, e_.warp()); });
    e_.barrier();
    Value* sum = get(b_.getInt32(0));
    for (int w = 1; w < warps; ++w) sum = combine_into(e_, n, sum, get(e_.i32(w)));
    e_.barrier();
    return std::vector<Value*>{sum};
  };
  return e_.choose(b_.CreateICmpSGT(team_log2_, idx(5)), over_warps, [&] { return std::vector<Value*>{v}; })[0];
}

}  // namespace reprise::jit
