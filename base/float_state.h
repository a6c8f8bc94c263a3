#pragma once
#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

/// Note [The floating-point state of a call]
/// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
/// A thread has a floating-point control word: rounding mode, traps, whether denormals are flushed to zero. Kernels
/// are made for one value of it, so a call that runs them sets that value and puts the caller's back when it leaves,
/// also by an exception. Threads of the library have it from their start. Three things follow:
///  - Bits of a result depend neither on the caller's control word nor on how many threads compute.
///  - Nothing traps: kernels compute lanes that nobody reads (0 / 0 behind a row's end), and with traps masked those
///    may hold anything.
///  - Exception flags stay as the caller has them. What kernels raise says nothing about the numbers: lanes that
///    nobody reads raise flags, too, and other threads' flags are not the caller's. (Long doubles, in which a few
///    reference kernels compute, have flags of their own: they are put back where the control word was another one.)
/// The scope stands at the doors to kernels: a replay (eager calls are replays), a call of a reference kernel, the
/// making of code, conversions of elements on their way to the program. User's code that is called from there (a custom
/// kernel, a pass, a log callback) finds the library's state. A traced function finds the caller's.
namespace reprise {

/// RAII: the library's floating-point state on this thread; destroyed, the state that was there. Nests. A few cycles
/// where nothing differs.
class FloatState {
 public:
  FloatState(const FloatState&) = delete;
  FloatState& operator=(const FloatState&) = delete;
  /// For a thread of the library, when it begins.
  static void set() noexcept;

#if defined(__x86_64__)
  FloatState() noexcept : sse_(sse()), x87_(x87()) {
    const bool same = (sse_ & ~kFlags) == kSse && ((x87_ ^ kX87) & kX87Compared) == 0;
    if (!same) [[unlikely]]
      x87_ = set(kSse | (sse_ & kFlags), kX87, x87_);
  }
  ~FloatState() {
    if (sse() != sse_) __asm__ volatile("ldmxcsr %0" ::"m"(sse_) : "memory");
    if (x87() != (x87_ & 0xffff)) [[unlikely]]
      set(sse_, x87_, 0);
  }

 private:
  static constexpr std::uint32_t kFlags = 0x3f, kSse = 0x1f80;
  /// The control word of long doubles; above it in x87_, where it was another one, their flags.
  static constexpr std::uint32_t kX87 = 0x037f, kX87Compared = 0x0f3f;
  static std::uint32_t sse() noexcept {
    std::uint32_t v;
    __asm__ volatile("stmxcsr %0" : "=m"(v)::"memory");
    return v;
  }
  static std::uint32_t x87() noexcept {
    std::uint16_t control;  // FNSTSW would take as long as all the rest
    __asm__ volatile("fnstcw %0" : "=m"(control)::"memory");
    return control;
  }
  /// Returns the control word `before` with the flags that were set.
  static std::uint32_t set(std::uint32_t sse, std::uint32_t x87, std::uint32_t before) noexcept;
  const std::uint32_t sse_;
  std::uint32_t x87_;
#elif defined(__aarch64__)
  FloatState() noexcept : control_(control()), flags_(flags()) {
    if (control_ & kControl) [[unlikely]]
      set(control_ & ~kControl, flags_);
  }
  ~FloatState() {
    if (control() != control_ || flags() != flags_) [[unlikely]]
      set(control_, flags_);
  }

 private:
  /// FIZ, AH, NEP; traps; FZ16, the rounding mode, FZ, DN. 0 is what kernels are made for.
  static constexpr std::uint64_t kControl = 0x7 | 0x9f00 | 1 << 19 | 0xf << 22;
  static std::uint64_t control() noexcept {
    std::uint64_t v;
    __asm__ volatile("mrs %0, fpcr" : "=r"(v)::"memory");
    return v;
  }
  static std::uint64_t flags() noexcept {
    std::uint64_t v;
    __asm__ volatile("mrs %0, fpsr" : "=r"(v)::"memory");
    return v;
  }
  static void set(std::uint64_t control, std::uint64_t flags) noexcept;
  const std::uint64_t control_, flags_;
#else
  FloatState() noexcept;
  ~FloatState();

 private:
  std::fenv_t before_;
#endif
};

}  // namespace reprise
