// Parts of a row that are reduced by themselves.
//
// Note [Parts of a row]
// Where a row is seen as parts ([K] as [K / B, B]), what is reduced within parts is made anew in each run over the row:
// a part is in the cache when its own loops have run over it once, so one run over the row goes over each part as often
// as its reductions ask, and then accumulates or stores. A run that asks for none of them takes the parts as one run of
// elements where memory allows it: what a row is reduced to is then the same as in a kernel that knows no parts.
#include <algorithm>

#include "jit/cpu/loop/emitter.h"

namespace reprise::jit {

bool LoopEmitter::takes_row_in_line(const std::vector<bool>& need) const {
  if (!k_.in_line || vdim_ != inside_ || (last_run_ && !last_run_->per_part.empty())) return false;
  for (std::size_t i = 0; i < k_.body.size(); ++i) {
    const BodyNode& n = k_.body[i];
    if (!need[i] || !(info_.dims[i] & info_.reduced_mask)) continue;
    if (n.kind == BodyNode::Kind::Index || (n.kind == BodyNode::Kind::Reduce && n.within) ||
        !(info_.dims[i] & info_.inside_mask))
      return false;
    // In a value's dims may be what an access moves over by a gather's index alone.
    if (n.access != kNone && kernels::is_plain(k_.accesses[n.access].strides[static_cast<std::size_t>(inside_)], 0) &&
        !kernels::is_plain(k_.accesses[n.access].strides[static_cast<std::size_t>(k_.n_kept)], 0))
      return false;
  }
  return true;
}

void LoopEmitter::part(const std::vector<bool>& need, int stage, std::vector<Value*>& carried,
                       const std::function<void(std::vector<Value*>&)>& body) {
  at_.in_part = true;
  const bool stores_only = last_run_ && last_run_->inside.empty();  // none at its elements
  auto finish = [&] {
    const std::vector<bool> rest = needed_by(k_, info_, roots_, stage, stashed_, at_.part_stage);
    if (!stores_only) nest(inside_, rest, stage, carried, body);
    if (last_run_) store_all(last_run_->per_part);
  };
  int deepest = 0;
  for (int depth = 1; depth <= info_.max_part_depth; ++depth)
    if (!within_parts(k_, info_, need, depth).empty()) deepest = depth;
  auto reduce_at = [&](int depth, std::uint32_t kept) {
    const std::vector<std::uint32_t> reduces = within_parts(k_, info_, need, depth);
    std::vector<std::uint32_t> operands;
    for (std::uint32_t r : reduces) operands.push_back(k_.body[r].a);
    reduce(reduces, needed_by(k_, info_, operands, stage, kNone, depth - 1), inside_, stage, [&] {
      if (kept != kNone) put_in_room(kept);
    });
    at_.part_stage = depth;
  };
  for (int depth = 1; depth < deepest; ++depth) reduce_at(depth, kNone);
  if (deepest == 0) return finish();
  std::uint32_t room = kNone;
  if (last_run_ && !v_kept_ && stashed_ == kNone) {
    std::vector<std::uint32_t> operands;
    for (std::uint32_t r : within_parts(k_, info_, need, deepest)) operands.push_back(k_.body[r].a);
    room = worth_a_room(operands, last_run_->inside, stage, deepest - 1);
  }
  if (room == kNone) {
    reduce_at(deepest, kNone);
    return finish();
  }
  with_room(room, [&](std::uint32_t kept) {
    reduce_at(deepest, kept);
    stashed_ = kept, stash_in_room_ = kept != kNone;
    finish();
    stashed_ = kNone, stash_in_room_ = false;
  });
}

}  // namespace reprise::jit
