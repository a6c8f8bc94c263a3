// Rows whose runs stay in registers from walk to walk: see Note [Threads of a loop kernel].
#include <utility>

#include "jit/gpu/loop/emitter.h"

namespace reprise::jit {

using llvm::Value;

/// Finds a member's runs and loads what any reduction needs of them (of a block's one row, which others wait for, all
/// that is needed): at once, so that they are under way together. Only the last run may be none. Teams beyond the last
/// row load nothing (see rows).
void GpuLoopEmitter::keep_runs() {
  std::vector<bool> loaded(k_.body.size(), false);
  for (std::uint32_t r = 0; r < k_.body.size(); ++r) {
    if (k_.body[r].kind != BodyNode::Kind::Reduce) continue;
    const std::vector<bool> need = needed_by(k_, info_, {k_.body[r].a}, info_.depth[r] - 1);
    for (std::uint32_t i = 0; i < k_.body.size(); ++i)
      if (need[i] && k_.body[i].kind == BodyNode::Kind::Load && info_.dims[i] & info_.reduced_mask) loaded[i] = true;
  }
  for (std::uint32_t i = 0; i < k_.body.size() && given_; ++i)
    if (k_.body[i].kind == BodyNode::Kind::Load && info_.dims[i] & info_.reduced_mask &&
        k_.accesses[k_.body[i].access].gathers.empty())
      loaded[i] = true;
  for (int u = 0; u < s_.kept_runs; ++u)
    scope([&] {
      Value* unit = b_.CreateAdd(member_, b_.CreateMul(team_, idx(u)));
      if (u + 1 == s_.kept_runs && !s_.kept_whole) last_there_ = b_.CreateICmpSLT(unit, units_);
      enter_run(b_.CreateMul(enter_flat(first_, rank_, unit, per_row_), idx(s_.run)));
      units_at_.push_back(at_);
    });
  auto load_units = [&](int from, int to, Value* condition) {
    if (from == to) return;
    std::vector<std::size_t> counts;
    std::vector<llvm::Type*> types;
    const std::vector<Value*> loads = e_.choose(
        condition,
        [&] {
          std::vector<Value*> all;
          for (int u = from; u < to; ++u)
            scope([&] {
              at_ = units_at_[static_cast<std::size_t>(u)];
              for (std::uint32_t i = 0; i < loaded.size(); ++i) {
                if (!loaded[i]) continue;
                const Val v = load(k_.body[i].access);
                counts.push_back(v.size());
                all.insert(all.end(), v.begin(), v.end());
              }
            });
          for (Value* v : all) types.push_back(v->getType());
          return all;
        },
        [&] {
          std::vector<Value*> none;
          for (llvm::Type* t : types) none.push_back(llvm::Constant::getNullValue(t));
          return none;
        });
    auto next = loads.begin();
    auto many = counts.begin();
    for (int u = from; u < to; ++u)
      for (std::uint32_t i = 0; i < loaded.size(); ++i) {
        if (!loaded[i]) continue;
        const auto end = next + static_cast<std::ptrdiff_t>(*many++);
        units_at_[static_cast<std::size_t>(u)].vals[i].assign(next, end);
        next = end;
      }
  };
  const int surely = s_.kept_runs - (last_there_ ? 1 : 0);
  load_units(0, surely, writes_);
  if (last_there_) load_units(surely, s_.kept_runs, b_.CreateAnd(writes_, last_there_));
}

void GpuLoopEmitter::at_kept(int unit, const std::function<void()>& f) {
  Position& kept = units_at_[static_cast<std::size_t>(unit)];
  scope([&] {
    for (std::size_t i = 0; i < kept.vals.size(); ++i)
      if (!at_.vals[i].empty()) kept.vals[i] = at_.vals[i];  // what the row as a whole has since
    at_ = kept;
    there_ = unit + 1 == s_.kept_runs ? last_there_ : nullptr;
    f();
    there_ = nullptr;
    kept = at_;
  });
}

/// Values of all runs that are surely there come before the first store, for the sake of what only this walk loads.
void GpuLoopEmitter::store_kept(const std::vector<std::uint32_t>& stores) {
  emit_if(e_, writes_, [&] {
    Value* writes = std::exchange(writes_, nullptr);
    const int surely = s_.kept_runs - (last_there_ ? 1 : 0);
    for (int unit = 0; unit < surely; ++unit) at_kept(unit, [&] { evaluate_stored(stores); });
    for (int unit = 0; unit < surely; ++unit) at_kept(unit, [&] { store_all(stores); });
    if (last_there_) emit_if(e_, last_there_, [&] { at_kept(surely, [&] { store_all(stores); }); });
    writes_ = writes;
  });
}

}  // namespace reprise::jit
