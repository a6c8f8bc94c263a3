#include "jit/engine/entry_points.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "jit/engine/engine.h"
#include "reprise/dtype.h"

namespace reprise::jit {

namespace {

template <class F>
void* address(F* f) {
  return reinterpret_cast<void*>(f);
}
template <class T>
T fused(T a, T b, T c) {
  return std::fma(a, b, c);
}

#if defined(__x86_64__)
// What LLVM calls where there are no instructions for it (F16C). A _Float16 is the low half of a register that a float
// comes, and goes, in.
float float_of_half(float given) {
  Half h;
  h.bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(given));
  return static_cast<float>(h);
}
float half_of_float(float x) { return std::bit_cast<float>(static_cast<std::uint32_t>(Half(x).bits)); }
/// Rounded once: the float in between is the next one to zero, made odd where it is not x itself.
float half_of_double(double x) {
  auto between = static_cast<float>(x);
  if (static_cast<double>(between) != x && !std::isnan(x)) {
    auto bits = std::bit_cast<std::uint32_t>(between);
    if (std::abs(static_cast<double>(between)) > std::abs(x)) --bits;
    between = std::bit_cast<float>(bits | 1);
  }
  return half_of_float(between);
}
#endif

std::unordered_map<std::string_view, void*> all_entry_points() {
  std::unordered_map<std::string_view, void*> all;
  for (const RuntimeCall& c : runtime_calls()) all.emplace(c.name, c.address);
  all.emplace("memcpy", address<void*(void*, const void*, std::size_t)>(std::memcpy));
  all.emplace("memmove", address<void*(void*, const void*, std::size_t)>(std::memmove));
  all.emplace("memset", address<void*(void*, int, std::size_t)>(std::memset));
  all.emplace("fma", address(&fused<double>));
  all.emplace("fmaf", address(&fused<float>));
  using Two64 = double(double, double);
  using Two32 = float(float, float);
  all.emplace("fmod", address<Two64>(::fmod));
  all.emplace("fmodf", address<Two32>(::fmodf));
  all.emplace("pow", address<Two64>(::pow));
  all.emplace("powf", address<Two32>(::powf));
#if defined(__x86_64__)
  all.emplace("__extendhfsf2", address(&float_of_half));
  all.emplace("__truncsfhf2", address(&half_of_float));
  all.emplace("__truncdfhf2", address(&half_of_double));
#endif
  return all;
}

}  // namespace

void* entry_point(std::string_view name) noexcept {
  static const auto& all = *new std::unordered_map<std::string_view, void*>(all_entry_points());
  const auto at = all.find(name);
  return at == all.end() ? nullptr : at->second;
}

}  // namespace reprise::jit
