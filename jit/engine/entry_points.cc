#include "jit/engine/entry_points.h"

#include <cmath>
#include <cstring>
#include <unordered_map>

#include "jit/engine/engine.h"

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
  return all;
}

}  // namespace

void* entry_point(std::string_view name) noexcept {
  static const auto& all = *new std::unordered_map<std::string_view, void*>(all_entry_points());
  const auto at = all.find(name);
  return at == all.end() ? nullptr : at->second;
}

}  // namespace reprise::jit
