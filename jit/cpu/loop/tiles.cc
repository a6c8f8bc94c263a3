// Transposed operands: Note [Tiles] in kernels/loop/analysis.h.
//
//   for each task:                     a block of rows (Tiling::dim) and columns (the vector dim)
//     for each tile of it:             as many rows as columns
//       load it along the rows, transpose it; for each row: the body, on whole vectors
//     what is left at the ends:        row by row, its elements gathered
#include <algorithm>

#include "jit/cpu/loop/emitter.h"

namespace reprise::jit {

namespace {

constexpr int kShortBody = 6;  // such a body comes for each row of a tile, on values in registers

/// n vectors of n elements: lane j of vector i to lane i of vector j, in log2(n) steps of two-operand shuffles.
void transpose(llvm::IRBuilder<>& b, llvm::MutableArrayRef<Value*> v) {
  const int n = static_cast<int>(v.size());
  for (int half = n / 2; half > 0; half /= 2) {
    llvm::SmallVector<int, 64> low, high;
    for (int l = 0; l < n; ++l) {  // blocks of `half` elements change places across the diagonal
      const bool second = l & half;
      low.push_back(second ? n + l - half : l);
      high.push_back(second ? n + l : l + half);
    }
    for (int i = 0; i < n; ++i) {
      if (i & half) continue;
      auto &first = v[static_cast<std::size_t>(i)], &second = v[static_cast<std::size_t>(i + half)];
      Value *a = b.CreateShuffleVector(first, second, low), *c = b.CreateShuffleVector(first, second, high);
      first = a, second = c;
    }
  }
}

}  // namespace

std::vector<Val> LoopEmitter::load_tile(Value* row, Value* column) {
  const int n = plan_.lanes;
  std::vector<Val> tiles;
  for (std::uint32_t node : tiling_.loads) {
    const std::uint32_t access = k_.body[node].access;
    Value* stride = strides_[access][static_cast<std::size_t>(vdim_)];
    Value* corner = e_.at(element(access), at_.address[access], b_.CreateAdd(row, b_.CreateMul(column, stride)));
    Val tile;
    const DType memory = k_.buffers[k_.accesses[access].buffer].dtype;
    for (int i = 0; i < n; ++i) {
      Value* from = e_.at(element(access), corner, b_.CreateMul(stride, e_.i64(i)));
      tile.push_back(b_.CreateAlignedLoad(e_.memory_type(memory, n), from,
                                          llvm::Align(static_cast<std::uint64_t>(item_size(memory)))));
      // Of each row of memory a tile reads a line or two, too few for the processor to see what comes next.
      if (streams_here_.value_or(false))
        b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                           {e_.at(element(access), from, b_.CreateMul(stride, e_.i64(n))), b_.getInt32(0),
                            b_.getInt32(3), b_.getInt32(1)});
    }
    transpose(b_, tile);
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

void LoopEmitter::tile(Value* row, Value* column) {
  const int n = plan_.lanes;
  std::vector<Val> tiles = load_tile(row, column);
  at_.vector_index = column;
  at_.steps = 1;
  auto memory = [&](std::size_t i) { return k_.buffers[k_.accesses[k_.body[tiling_.loads[i]].access].buffer].dtype; };
  auto body = [&](Value* at, const std::function<Value*(std::size_t)>& loaded) {
    scope([&] {
      enter(tiling_.dim, at);
      at_.dims |= vbit_;
      for (std::size_t i = 0; i < tiles.size(); ++i)
        at_.vals[tiling_.loads[i]] = {e_.to_register(memory(i), loaded(i))};
      point();
    });
  };
  if (tile_rooms_.empty()) {
    for (int r = 0; r < n; ++r)
      body(b_.CreateAdd(row, e_.i64(r)), [&](std::size_t i) { return tiles[i][static_cast<std::size_t>(r)]; });
    return;
  }
  for (std::size_t i = 0; i < tiles.size(); ++i)
    for (int r = 0; r < n; ++r) tile_rooms_[i].put(e_.i64(r), tiles[i][static_cast<std::size_t>(r)]);
  hoist(std::vector<bool>(k_.body.size(), true), at_.dims | vbit_, 0);  // what does not vary from row to row
  std::vector<Value*> none;
  emit_loop(
      e_, e_.i64(0), e_.i64(n), e_.i64(1), none,
      [&](Value* r) { body(b_.CreateAdd(row, r), [&](std::size_t i) { return tile_rooms_[i].get(r); }); }, "row");
}

void LoopEmitter::block(Value* rows, Value* columns) {
  const auto dim = static_cast<std::size_t>(tiling_.dim), across = static_cast<std::size_t>(vdim_);
  auto end_of = [&](Value* begin, std::int64_t size, Value* extent) {
    return e_.call(llvm::Intrinsic::smin, b_.CreateAdd(begin, e_.i64(size)), extent);
  };
  auto whole = [&](Value* begin, Value* end) {
    return b_.CreateAdd(begin, b_.CreateAnd(b_.CreateSub(end, begin), e_.i64(-plan_.lanes)));
  };
  Value *row = b_.CreateMul(rows, e_.i64(kernels::kBlockRows)),
        *column = b_.CreateMul(columns, e_.i64(kernels::kBlockColumns));
  Value *row_end = end_of(row, kernels::kBlockRows, extents_[dim]),
        *column_end = end_of(column, kernels::kBlockColumns, extents_[across]);
  Value *row_tiles = whole(row, row_end), *column_tiles = whole(column, column_end);

  int cost = 0;
  for (std::size_t i = 0; i < k_.body.size(); ++i)
    if (at_.vals[i].empty() && std::find(tiling_.loads.begin(), tiling_.loads.end(), i) == tiling_.loads.end())
      cost += cost_of(k_, i);
  if (tile_rooms_.empty() && (cost > kShortBody || tiling_.loads.size() > 1)) {
    for (std::uint32_t node : tiling_.loads) {
      const DType memory = k_.buffers[k_.accesses[k_.body[node].access].buffer].dtype;
      tile_rooms_.emplace_back(e_, e_.memory_type(memory, plan_.lanes), plan_.lanes);
    }
  }
  std::vector<Value*> none;
  const std::vector<bool> all(k_.body.size(), true);
  for_both_stores([&] {
    emit_loop(
        e_, column, column_tiles, e_.i64(plan_.lanes), none,
        [&](Value* c) {
          emit_loop(
              e_, row, row_tiles, e_.i64(plan_.lanes), none, [&](Value* r) { scope([&] { tile(r, c); }); }, "tile");
        },
        "tiles");
  });
  emit_loop(
      e_, row, row_end, e_.i64(1), none,
      [&](Value* r) {
        scope([&] {
          enter(tiling_.dim, r);
          hoist(all, at_.dims, 0);
          Value* begin = b_.CreateSelect(b_.CreateICmpSLT(r, row_tiles), column_tiles, column);
          vector_loop(all, begin, column_end, none, [&](std::vector<Value*>&) { point(); });
        });
      },
      "left");
}

}  // namespace reprise::jit
