#include "runtime/front/layout_canonicalization.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/thread_object.h"

namespace reprise::detail {

namespace {

// The frame's own words and values, while it is seen as another's.
struct Own {
  FrameArray<std::uint64_t> structure;
  FrameArray<std::int64_t> values;
};

}  // namespace

std::optional<Recast> Recast::of(const Specialization& s, const FrameArray<std::uint64_t>& own) {
  const FrameArray<std::uint64_t>& made = s.structure;
  if (made.size() != own.size()) return std::nullopt;
  auto same = [&](std::size_t from, std::size_t to) {
    return from == to || std::memcmp(made.begin() + from, own.begin() + from, (to - from) * sizeof(std::uint64_t)) == 0;
  };
  std::size_t from = 0, tensor = 0;
  bool differ = false;
  for (std::uint32_t at : s.tensor_words) {
    if (!same(from, at)) return std::nullopt;
    from = at + 1;
    const std::uint64_t different = made[at] ^ own[at];
    if (different && (!made[at] || !own[at] || (s.uses(tensor) && (different & ~runtime::kLayoutBits))))
      return std::nullopt;
    differ = differ || different;
    tensor += own[at] != 0;
  }
  if (!differ || !same(from, own.size())) return std::nullopt;

  Recast r(s);
  Piece piece;
  std::uint32_t made_values = 0;  // so far
  bool moves = false;
  auto end_piece = [&] { r.values_.push_back(std::exchange(piece, {})), moves = true; };
  tensor = 0;
  for (std::uint32_t at : s.tensor_words) {
    if (!made[at]) continue;
    const auto i = static_cast<std::uint32_t>(tensor++);
    piece.own += s.input_values[i].first - made_values;
    const auto have = static_cast<std::uint32_t>(runtime::value_count(own[at])),
               want = static_cast<std::uint32_t>(runtime::value_count(made[at]));
    made_values = s.input_values[i].first + want;
    if (made[at] != own[at] && s.uses(i)) r.fits_.push_back({i, made[at], s.shows_strides_of(i)});
    if (have == want) {  // of one that is not used nobody looks at them
      piece.own += want;
    } else if (!s.uses(i)) {
      piece.zeros = want, piece.skipped = have;
      end_piece();
    } else {
      const auto rank = static_cast<std::uint32_t>(runtime::rank_of_word(made[at]));
      piece.own += rank, piece.tensor = i;
      (have < want ? piece.strides : piece.skipped) = rank;
      end_piece();
    }
  }
  if (moves) end_piece();  // what is left of the own values is after the last tensor's
  r.made_ = made_values;
  return r;
}

bool Recast::fits(const CallFrame& f) const {
  return std::all_of(fits_.begin(), fits_.end(), [&](const Fit& x) {
    return runtime::fits(*f.tensors[x.tensor], x.word, x.shown, to_->generality.layouts);
  });
}

SeenAs::SeenAs(const Specialization& s, CallFrame& f) : frame_(f) {
  if (const std::optional<Recast> r = Recast::of(s, f.structure); r && r->fits(f)) apply(*r);
}

SeenAs::SeenAs(const Recast& r, CallFrame& f) : frame_(f) {
  if (r.fits(f)) apply(r);
}

// What allocates comes first: the frame is as it was if that fails.
void SeenAs::apply(const Recast& r) {
  // In fours: what is behind the last one is written over.
  constexpr std::size_t kFour = 4;
  auto copy = [](std::int64_t* to, const std::int64_t* from, std::size_t n) {
    for (std::size_t k = 0; k < n; k += kFour) std::memcpy(to + k, from + k, kFour * sizeof *to);
    return to + n;
  };
  static_assert(kMaxRank % kFour == 0);
  Own& own = thread_object<Own>();
  own.structure = r.to_->structure;
  moved_ = !r.values_.empty();
  if (moved_) {
    own.values.clear();
    own.values.room(r.made_ + frame_.values.size() + kFour);
    frame_.values.room(kFour);
    own.values.swap(frame_.values);
  }
  own.structure.swap(frame_.structure);
  seen_ = true;
  if (!moved_) return;
  const std::int64_t* from = own.values.begin();
  std::int64_t* to = frame_.values.begin();
  for (const Recast::Piece& p : r.values_) {
    to = copy(to, from, p.own);
    if (p.strides) to = copy(to, frame_.tensors[p.tensor]->strides, p.strides);
    if (p.zeros) to = std::fill_n(to, p.zeros, 0);
    from += p.own + p.skipped;
  }
  frame_.values.end_at(copy(to, from, static_cast<std::size_t>(own.values.end() - from)));
}

AnyStrides::AnyStrides(CallFrame& f, const StridesAside& how) : frame_(f), structure_(f.structure), values_(f.values) {
  for (const StridesAside::Word& w : how.any) f.structure[w.at] = runtime::of_any_strides(f.structure[w.at], w.ones);
  f.values.clear();
  const std::int64_t* from = values_.begin();
  auto take = [&](std::size_t n) {
    if (n) std::memcpy(f.values.extend(n), from, n * sizeof *from);
    from += n;
  };
  std::size_t tensor = 0;
  for (std::uint32_t at : how.tensor_words) {
    if (!structure_[at]) continue;
    const TensorImpl& t = *f.tensors[tensor];
    take(how.between[tensor++]);
    words_.push_back(f.structure[at]);
    take(runtime::value_count(structure_[at]));
    if (runtime::has_strides(f.structure[at]) && !runtime::has_strides(structure_[at]))
      std::copy(t.strides, t.strides + t.rank, f.values.extend(t.rank));
  }
  take(static_cast<std::size_t>(values_.end() - from));
}

AnyStrides::~AnyStrides() {
  if (kept_) return;
  frame_.structure = structure_;
  frame_.values = values_;
}

SeenAs::~SeenAs() {
  if (!seen_) return;
  Own& own = thread_object<Own>();
  own.structure.swap(frame_.structure);
  if (moved_) own.values.swap(frame_.values);
}

}  // namespace reprise::detail
