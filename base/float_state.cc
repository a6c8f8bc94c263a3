#include "base/float_state.h"

namespace reprise {

#if defined(__x86_64__)

namespace {
/// What FNSTENV stores.
struct X87 {
  std::uint16_t control, unused0, status, unused1, rest[10];
};
static_assert(sizeof(X87) == 28);
}  // namespace

std::uint32_t FloatState::set(std::uint32_t sse, std::uint32_t x87, std::uint32_t before) noexcept {
  // FNSTENV masks all exceptions. A flag that is up while its exception is unmasked would trap at the next instruction,
  // so both are loaded at once.
  X87 all;
  __asm__ volatile("fnstenv %0" : "=m"(all)::"memory");
  const std::uint32_t flags = all.status & kFlags;
  all.control = static_cast<std::uint16_t>(x87);
  all.status = static_cast<std::uint16_t>((all.status & ~(kFlags | 0x8080)) | (x87 >> 16 & kFlags));
  __asm__ volatile("fldenv %0\n\tldmxcsr %1" ::"m"(all), "m"(sse) : "memory");
  return before | flags << 16;
}
void FloatState::set() noexcept { set(kSse, kX87, 0); }

#elif defined(__aarch64__)

void FloatState::set(std::uint64_t control, std::uint64_t flags) noexcept {
  __asm__ volatile("msr fpsr, %1\n\tmsr fpcr, %0" ::"r"(control), "r"(flags) : "memory");
}
void FloatState::set() noexcept { set(control() & ~kControl, 0); }

#else

FloatState::FloatState() noexcept {
  std::fegetenv(&before_);
  set();
}
FloatState::~FloatState() { std::fesetenv(&before_); }
void FloatState::set() noexcept { std::fesetenv(FE_DFL_ENV); }

#endif

}  // namespace reprise
