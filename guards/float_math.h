#pragma once
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "guards/expr.h"

namespace reprise::guards {

/// What expressions of doubles are called, and how many operands they have. Note [Floats] in guards/expr.h.
struct FloatKind {
  ExprKind kind;
  const char* name;
  int operands;
};
inline constexpr std::array kFloatKinds{
    FloatKind{ExprKind::Real, "real", 1},     FloatKind{ExprKind::FAdd, "fadd", 2},
    FloatKind{ExprKind::FSub, "fsub", 2},     FloatKind{ExprKind::FMul, "fmul", 2},
    FloatKind{ExprKind::FDiv, "fdiv", 2},     FloatKind{ExprKind::FPow, "fpow", 2},
    FloatKind{ExprKind::FMin, "fmin", 2},     FloatKind{ExprKind::FMax, "fmax", 2},
    FloatKind{ExprKind::FSqrt, "fsqrt", 1},   FloatKind{ExprKind::FExp, "fexp", 1},
    FloatKind{ExprKind::FLog, "flog", 1},     FloatKind{ExprKind::FAbs, "fabs", 1},
    FloatKind{ExprKind::FFloor, "ffloor", 1}, FloatKind{ExprKind::FCeil, "fceil", 1},
    FloatKind{ExprKind::FLt, "flt", 2},       FloatKind{ExprKind::FLe, "fle", 2},
    FloatKind{ExprKind::FEq, "feq", 2}};
inline const FloatKind* float_kind(ExprKind k) {
  for (const FloatKind& f : kFloatKinds)
    if (f.kind == k) return &f;
  return nullptr;
}

/// Of the operands' bits; of a condition 0 or 1. `b` is ignored where there is one.
inline std::int64_t float_value(ExprKind k, std::int64_t a_bits, std::int64_t b_bits) {
  const double a = std::bit_cast<double>(a_bits), b = std::bit_cast<double>(b_bits);
  auto bits = [](double v) { return std::bit_cast<std::int64_t>(v); };
  switch (k) {
    case ExprKind::Real: return bits(static_cast<double>(a_bits));
    case ExprKind::FAdd: return bits(a + b);
    case ExprKind::FSub: return bits(a - b);
    case ExprKind::FMul: return bits(a * b);
    case ExprKind::FDiv: return bits(a / b);
    case ExprKind::FPow: return bits(std::pow(a, b));
    case ExprKind::FMin: return a < b ? a_bits : b_bits;
    case ExprKind::FMax: return a > b ? a_bits : b_bits;
    case ExprKind::FSqrt: return bits(std::sqrt(a));
    case ExprKind::FExp: return bits(std::exp(a));
    case ExprKind::FLog: return bits(std::log(a));
    case ExprKind::FAbs: return bits(std::fabs(a));
    case ExprKind::FFloor: return bits(std::floor(a));
    case ExprKind::FCeil: return bits(std::ceil(a));
    case ExprKind::FLt: return a < b;
    case ExprKind::FLe: return a <= b;
    case ExprKind::FEq: return a == b;
    default: return 0;
  }
}

}  // namespace reprise::guards
