#include <algorithm>
#include <set>

#include "base/checked_math.h"
#include "base/errors.h"
#include "guards/shape_env_impl.h"

namespace reprise::guards {

namespace {
// Operations of the straight-line code; imm is a constant operand.
enum Code : std::uint8_t { kConst, kWord, kAdd, kMul, kMulAddImm, kMulImm, kAddImm, kDiv, kMod, kMin, kMax, kEq, kNe, kLt, kLe, kAnd, kOr, kNot };
}  // namespace

std::uint32_t ExprProgram::add(Int i) {
  if (i.is_symbolic()) return add(i.expr());
  auto [it, fresh] = const_slot_.emplace(i.hint(), n_slots_);
  if (fresh) ops_.push_back({kConst, n_slots_++, 0, 0, i.hint()});
  return it->second;
}

std::uint32_t ExprProgram::add(const Expr* e) {
  if (e->is_const()) return add(Int(e->value()));
  if (auto it = slot_of_.find(e); it != slot_of_.end()) return it->second;
  auto push = [&](Code code, std::uint32_t a, std::uint32_t b, std::int64_t imm = 0) {
    ops_.push_back({code, n_slots_, a, b, imm});
    return n_slots_++;
  };
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
    case ExprKind::Not: slot = push(kNot, arg(0), 0); break;
    default: {
      static constexpr Code codes[] = {kConst, kConst, kAdd, kMul, kDiv, kMod, kMin, kMax, kEq, kNe, kLt, kLe, kAnd, kOr, kNot};
      std::uint32_t a = arg(0), b = arg(1);
      slot = push(codes[static_cast<int>(e->kind())], a, b);
    }
  }
  slot_of_.emplace(e, slot);
  return slot;
}

void ExprProgram::add_size_check(const Ints& sizes, std::int64_t item_size, std::string op) {
  SizeCheck check{{}, item_size, std::move(op)};
  for (Int s : sizes) check.sizes.push_back(add(s));
  size_checks_.push_back(std::move(check));
}

void ExprProgram::check_sizes(const std::int64_t* slots) const {
  for (const SizeCheck& check : size_checks_) {
    std::int64_t n = check.item_size;
    bool fits = true, none = false;
    for (std::uint32_t s : check.sizes) {
      fits = !__builtin_mul_overflow(n, slots[s], &n) && fits;
      none = none || slots[s] == 0;
    }
    if (fits || none) continue;
    std::string text;
    for (std::uint32_t s : check.sizes) text += (text.empty() ? "[" : ", ") + std::to_string(slots[s]);
    fail(ErrorCode::InvalidArgument, check.op.c_str(), {}, "sizes ", text, "] hold more ", check.item_size == 1 ? "elements" : "bytes", " than 63 bits can count");
  }
}

void ExprProgram::add_reach_check(const Ints& sizes, const Ints& strides, Int offset, Int elements, std::string op) {
  ReachCheck check{{}, {}, add(offset), add(elements), std::move(op)};
  for (Int s : sizes) check.sizes.push_back(add(s));
  for (Int s : strides) check.strides.push_back(add(s));
  reach_checks_.push_back(std::move(check));
}

void ExprProgram::check_reach(const std::int64_t* slots) const {
  for (const ReachCheck& check : reach_checks_) {
    if (std::any_of(check.sizes.begin(), check.sizes.end(), [&](std::uint32_t s) { return slots[s] == 0; })) continue;
    auto value_of = [&](const std::vector<std::uint32_t>& list) { return [&](int d) { return slots[list[static_cast<std::size_t>(d)]]; }; };
    const std::int64_t offset = slots[check.offset];
    const auto last = last_element(static_cast<int>(check.sizes.size()), offset, value_of(check.sizes), value_of(check.strides));
    if (offset < 0 || !last || *last >= slots[check.elements])
      fail(ErrorCode::IndexOutOfRange, check.op.c_str(), {}, "the view reaches element ", element_text(offset < 0 ? std::nullopt : last), " of a storage of ", slots[check.elements]);
  }
}

std::vector<std::uint32_t> ExprProgram::words() const {
  std::set<std::uint32_t> found;
  for (const Op& op : ops_)
    if (op.code == kWord) found.insert(op.a);
  return {found.begin(), found.end()};
}

void ExprProgram::evaluate(const std::int64_t* words, std::int64_t* s) const {
  for (const Op& op : ops_) {
    std::int64_t v = 0;
    switch (op.code) {
      case kConst: v = op.imm; break;
      case kWord: v = words[op.a]; break;
      case kAdd: v = Polynomial::wrap_add(s[op.a], s[op.b]); break;
      case kMul: v = Polynomial::wrap_mul(s[op.a], s[op.b]); break;
      case kMulAddImm: v = Polynomial::wrap_add(Polynomial::wrap_mul(s[op.a], op.imm), s[op.b]); break;
      case kMulImm: v = Polynomial::wrap_mul(s[op.a], op.imm); break;
      case kAddImm: v = Polynomial::wrap_add(s[op.a], op.imm); break;
      case kDiv: v = s[op.b] == 0 ? 0 : s[op.b] == -1 ? Polynomial::wrap_mul(s[op.a], -1) : s[op.a] / s[op.b]; break;
      case kMod: v = s[op.b] == 0 || s[op.b] == -1 ? 0 : s[op.a] % s[op.b]; break;
      case kMin: v = s[op.a] < s[op.b] ? s[op.a] : s[op.b]; break;
      case kMax: v = s[op.a] < s[op.b] ? s[op.b] : s[op.a]; break;
      case kEq: v = s[op.a] == s[op.b]; break;
      case kNe: v = s[op.a] != s[op.b]; break;
      case kLt: v = s[op.a] < s[op.b]; break;
      case kLe: v = s[op.a] <= s[op.b]; break;
      case kAnd: v = s[op.a] && s[op.b]; break;
      case kOr: v = s[op.a] || s[op.b]; break;
      case kNot: v = !s[op.a]; break;
    }
    s[op.dst] = v;
  }
  if (!size_checks_.empty()) check_sizes(s);
  if (!reach_checks_.empty()) check_reach(s);
}

}  // namespace reprise::guards
