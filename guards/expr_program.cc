#include <algorithm>
#include <memory>
#include <new>
#include <set>
#include <type_traits>

#include "base/checked_math.h"
#include "base/errors.h"
#include "guards/float_math.h"
#include "guards/shape_env_impl.h"

namespace reprise::guards {

namespace {
using Code = ExprProgram::Code;
using enum ExprProgram::Code;

Code code_of(ExprKind k) {
  switch (k) {
    case ExprKind::Div: return kDiv;
    case ExprKind::Mod: return kMod;
    case ExprKind::Min: return kMin;
    case ExprKind::Max: return kMax;
    case ExprKind::Eq: return kEq;
    case ExprKind::Ne: return kNe;
    case ExprKind::Lt: return kLt;
    case ExprKind::Le: return kLe;
    case ExprKind::And: return kAnd;
    default: return kOr;
  }
}
}  // namespace

std::uint32_t ExprProgram::push(std::uint8_t code, std::uint32_t a, std::uint32_t b, std::int64_t imm) {
  ops_.push_back({code, n_slots_, a, b, imm});
  return n_slots_++;
}

std::uint32_t ExprProgram::add(Int i) {
  if (i.is_symbolic()) return add(i.expr());
  auto [it, fresh] = const_slot_.emplace(i.hint(), n_slots_);
  if (fresh) push(kConst, 0, 0, i.hint());
  return it->second;
}

std::optional<std::uint32_t> ExprProgram::find(const Expr* e) const {
  const auto it = slot_of_.find(e);
  return it == slot_of_.end() ? std::nullopt : std::optional(it->second);
}

std::uint32_t ExprProgram::add(const Expr* e) {
  if (e->is_const()) return add(Int(e->value()));
  if (auto it = slot_of_.find(e); it != slot_of_.end()) return it->second;
  auto arg = [&](std::size_t i) { return add(e->args()[i]); };
  std::uint32_t slot = 0;
  switch (e->kind()) {
    case ExprKind::Symbol: slot = push(kWord, e->env().symbols()[e->symbol()].source.word, 0); break;
    case ExprKind::Add: {
      // Terms are atoms or coefficient * atoms; the constant stands last.
      bool first = true;
      for (const Expr* a : e->args()) {
        if (a->is_const()) {
          slot = push(kAddImm, slot, 0, a->value());
        } else if (!first && a->kind() == ExprKind::Mul && a->args().size() == 2 && a->args()[0]->is_const()) {
          slot = push(kMulAddImm, add(a->args()[1]), slot, a->args()[0]->value());
        } else {
          std::uint32_t t = add(a);
          slot = first ? t : push(kAdd, slot, t);
        }
        first = false;
      }
      break;
    }
    case ExprKind::Mul: {
      std::size_t i = 1;
      if (e->args()[0]->is_const()) slot = push(kMulImm, arg(1), 0, e->args()[0]->value()), i = 2;
      else slot = arg(0);
      for (; i < e->args().size(); ++i) slot = push(kMul, slot, arg(i));
      break;
    }
    case ExprKind::Wrap:
      slot = add_wrapping(e->args()[0]);
      if (e->args()[0]->kind() == ExprKind::Div) slot = push(kQuietAdd, slot, add(Int(0)));  // -2^63 / -1
      break;
    case ExprKind::Not: slot = push(kNot, arg(0), 0); break;
    case ExprKind::Fits: slot = push(kFits, arg(0), 0); break;
    default: {
      if (float_kind(e->kind())) {
        const std::uint32_t a = arg(0), b = arg(e->args().size() - 1);
        slot = push(kFloat, a, b, static_cast<std::int64_t>(e->kind()));
        break;
      }
      std::uint32_t a = arg(0), b = arg(1);
      slot = push(code_of(e->kind()), a, b);
    }
  }
  slot_of_.emplace(e, slot);
  return slot;
}

// Modulo 2^64 all the way down to what is no sum or product.
std::uint32_t ExprProgram::add_wrapping(const Expr* e) {
  if (e->kind() != ExprKind::Add && e->kind() != ExprKind::Mul) return add(e);
  std::uint32_t slot = add_wrapping(e->args()[0]);
  for (const Expr* a : e->args().subspan(1)) {
    std::uint32_t right = add_wrapping(a);
    slot = push(e->kind() == ExprKind::Add ? kQuietAdd : kQuietMul, slot, right);
  }
  return slot;
}

void ExprProgram::add_size_check(const Ints& sizes, std::int64_t item_size, std::string op) {
  SizeCheck check{{}, item_size, std::move(op)};
  for (Int s : sizes) check.sizes.push_back(add(s)), must_fit(check.sizes.back());
  size_checks_.push_back(std::move(check));
}

void ExprProgram::check_sizes(const std::int64_t* slots) const {
  for (const SizeCheck& check : size_checks_) {
    std::int64_t n = check.item_size;
    bool fits = true, none = false;
    for (std::uint32_t s : check.sizes) {
      fits = slots[s] >= 0 && !__builtin_mul_overflow(n, slots[s], &n) && fits;
      none = none || slots[s] == 0;
    }
    const bool negative =
        std::any_of(check.sizes.begin(), check.sizes.end(), [&](std::uint32_t s) { return slots[s] < 0; });
    if (fits || (none && !negative)) continue;
    std::string text;
    for (std::uint32_t s : check.sizes) text += (text.empty() ? "[" : ", ") + std::to_string(slots[s]);
    if (negative) fail(ErrorCode::InvalidArgument, check.op.c_str(), {}, "negative size in ", text, "]");
    fail(ErrorCode::InvalidArgument, check.op.c_str(), {}, "sizes ", text, "] hold more ",
         check.item_size == 1 ? "elements" : "bytes", " than 63 bits can count");
  }
}

void ExprProgram::add_reach_check(const Ints& sizes, const Ints& strides, Int offset, Int elements, std::string op) {
  ReachCheck check{{}, {}, add(offset), add(elements), std::move(op)};
  for (Int s : sizes) check.sizes.push_back(add(s));
  for (Int s : strides) check.strides.push_back(add(s));
  for (const auto* list : {&check.sizes, &check.strides})
    for (std::uint32_t slot : *list) must_fit(slot);
  must_fit(check.offset), must_fit(check.elements);
  reach_checks_.push_back(std::move(check));
}

void ExprProgram::check_reach(const std::int64_t* slots) const {
  for (const ReachCheck& check : reach_checks_) {
    if (std::any_of(check.sizes.begin(), check.sizes.end(), [&](std::uint32_t s) { return slots[s] == 0; })) continue;
    auto value_of = [&](const std::vector<std::uint32_t>& list) {
      return [&](int d) { return slots[list[static_cast<std::size_t>(d)]]; };
    };
    const std::int64_t offset = slots[check.offset];
    const auto last =
        last_element(static_cast<int>(check.sizes.size()), offset, value_of(check.sizes), value_of(check.strides));
    if (offset < 0 || !last || *last >= slots[check.elements])
      fail(ErrorCode::IndexOutOfRange, check.op.c_str(), {}, "the view reaches element ",
           element_text(offset < 0 ? std::nullopt : last), " of a storage of ", slots[check.elements]);
  }
}

std::vector<std::uint32_t> ExprProgram::words() const {
  std::set<std::uint32_t> found;
  for (const Op& op : ops_)
    if (op.code == kWord) found.insert(op.a);
  return {found.begin(), found.end()};
}

// True where a number on the way does not fit a T, of which only the low bits are right then. `lost` says of which
// slots that is so.
template <class T>
bool ExprProgram::run(const std::int64_t* words, T* s, bool* lost) const {
  constexpr bool kWide = !std::is_same_v<T, std::int64_t>;
  bool over = false;
  for (const Op& op : ops_) {
    T v = 0;
    bool now = false;
    switch (op.code) {
      case kConst: v = op.imm; break;
      case kWord: v = words[op.a]; break;
      case kAdd: now = __builtin_add_overflow(s[op.a], s[op.b], &v); break;
      case kMul: now = __builtin_mul_overflow(s[op.a], s[op.b], &v); break;
      case kMulAddImm:
        now = __builtin_mul_overflow(s[op.a], T(op.imm), &v);
        now |= __builtin_add_overflow(v, s[op.b], &v);
        break;
      case kMulImm: now = __builtin_mul_overflow(s[op.a], T(op.imm), &v); break;
      case kAddImm: now = __builtin_add_overflow(s[op.a], T(op.imm), &v); break;
      case kDiv:
        if (s[op.b] == -1) now = __builtin_sub_overflow(T(0), s[op.a], &v);
        else v = s[op.b] == 0 ? T(0) : s[op.a] / s[op.b];
        break;
      case kMod: v = s[op.b] == 0 || s[op.b] == -1 ? T(0) : s[op.a] % s[op.b]; break;
      case kMin: v = s[op.a] < s[op.b] ? s[op.a] : s[op.b]; break;
      case kMax: v = s[op.a] < s[op.b] ? s[op.b] : s[op.a]; break;
      case kEq: v = s[op.a] == s[op.b]; break;
      case kNe: v = s[op.a] != s[op.b]; break;
      case kLt: v = s[op.a] < s[op.b]; break;
      case kLe: v = s[op.a] <= s[op.b]; break;
      case kAnd: v = s[op.a] && s[op.b]; break;
      case kOr: v = s[op.a] || s[op.b]; break;
      case kNot: v = !s[op.a]; break;
      case kFits: v = in_64_bits(s[op.a]); break;
      case kFloat: v = float_value(static_cast<ExprKind>(op.imm), low_64_bits(s[op.a]), low_64_bits(s[op.b])); break;
      case kQuietAdd: v = low_64_bits(static_cast<__int128>(low_64_bits(s[op.a])) + low_64_bits(s[op.b])); break;
      case kQuietMul: v = low_64_bits(static_cast<__int128>(low_64_bits(s[op.a])) * low_64_bits(s[op.b])); break;
    }
    if constexpr (kWide) {
      const bool one = op.code == kMulImm || op.code == kAddImm || op.code == kNot || op.code == kFits,
                 none = op.code == kConst || op.code == kWord;
      now |= !none && (lost[op.a] || (!one && lost[op.b]));
      // Nothing, however often.
      if (op.code == kMul && ((s[op.a] == 0 && !lost[op.a]) || (s[op.b] == 0 && !lost[op.b]))) now = false, v = 0;
      lost[op.dst] = now;
    }
    over |= now;
    s[op.dst] = v;
  }
  return over;
}

void ExprProgram::evaluate(const std::int64_t* words, std::int64_t* s) const {
  if (run(words, s, nullptr)) [[unlikely]]
    return evaluate_wide(words, s);
  if (!size_checks_.empty()) check_sizes(s);
  if (!reach_checks_.empty()) check_reach(s);
}

// Where 64 bits do not hold all that stands on the way, what comes out may be right all the same.
void ExprProgram::evaluate_wide(const std::int64_t* words, std::int64_t* s) const {
  std::vector<__int128> wide(n_slots_);
  const std::unique_ptr<bool[]> lost(new bool[n_slots_]);
  run(words, wide.data(), lost.get());
  for (std::size_t i = 0; i < wide.size(); ++i) s[i] = low_64_bits(wide[i]);
  bool any = false;
  for (std::uint32_t slot : must_fit_)
    if (lost[slot] || !in_64_bits(wide[slot])) s[slot] = wide[slot] < 0 ? INT64_MIN : INT64_MAX, any = true;
  check_sizes(s);  // these know whose sizes they are
  check_reach(s);
  if (any)
    fail(ErrorCode::InvalidArgument, "compile", {},
         "a size that is computed from this call's integers does not fit 63 bits");
}

void ExprProgram::evaluate_conditions(const std::int64_t* words, std::int64_t* s) const noexcept {
  if (!run(words, s, nullptr)) [[likely]]
    return;
  const std::unique_ptr<__int128[]> wide(new (std::nothrow) __int128[n_slots_]);
  const std::unique_ptr<bool[]> lost(new (std::nothrow) bool[n_slots_]);
  if (wide && lost) run(words, wide.get(), lost.get());
  for (std::size_t i = 0; i < n_slots_; ++i) s[i] = !wide || !lost || lost[i] ? 0 : low_64_bits(wide[i]);
}

}  // namespace reprise::guards
