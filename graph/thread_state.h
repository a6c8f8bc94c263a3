#pragma once
#include <cstdint>
#include <string>

#include "reprise/device.h"
#include "reprise/dtype.h"

namespace reprise::graph {

class Interpreter;

/// The levels at which an operator call is answered: the highest that the call's tensors or its thread ask for comes
/// first, and what it calls in turn goes to those below it. Below all of them is eager execution.
enum class Key : std::uint8_t {
  Trace,     ///< writes calls down (runtime/trace/tracer.h), or watches them (runtime/front/check.h)
  Floats,    ///< what integers become among floats: the thread's default dtype, where that is not float32
  Wrapper,   ///< a user's interpreter: of the thread (ModeScope) or of a tensor (wrap)
  Autograd,  ///< the tape (autograd/tape.h)
  Autocast,  ///< casts what products take, and what needs more digits (reprise/settings.h)
};
inline constexpr std::size_t kKeys = 5;
/// A set of them, a bit each.
using Keys = std::uint8_t;
constexpr Keys bit(Key k) { return static_cast<Keys>(1u << static_cast<unsigned>(k)); }

/// One interpreter of a thread, in the scope that has set it.
struct Mode {
  Interpreter* by = nullptr;
  const Mode* below = nullptr;  ///< of the same key
  /// of Key::Wrapper: which interpreters these are, all the way down; no others ever have the number
  std::uint64_t stack = 0;
};

/// What is set for a thread and decides what a function does there. Each has bits of one word, which is 0 where nothing
/// is set.
enum class Setting : std::uint8_t { DefaultDType, Autocast, NoGrad, ShapeOnly, Modes };
constexpr std::uint64_t bits_of(Setting s) {
  return s == Setting::Modes ? ~std::uint64_t{0xffffffff} : std::uint64_t{0xff} << (8 * static_cast<unsigned>(s));
}
constexpr std::uint64_t one_of(Setting s) { return std::uint64_t{1} << (8 * static_cast<unsigned>(s)); }

/// Of NoGrad: an InferenceScope has turned gradients off, and what turns them on within does not.
inline constexpr std::uint64_t kInference = one_of(Setting::NoGrad) << 1;

/// This thread's interpreters and settings. Scopes change it and put it back.
struct ThreadState {
  std::uint64_t word = 0;  ///< the settings
  std::uint64_t read = 0;  ///< bits of the word that the running trace depends on
  std::uint64_t own = 0;   ///< bits of the word that the running trace has set itself: no caller decides them
  Keys modes = 0;          ///< keys that have an interpreter here, whatever a call's tensors are
  Keys answered = 0;       ///< keys of tensors that are being answered further up
  const Mode* top[kKeys] = {};
};
extern constinit thread_local ThreadState thread_state;

/// Whom a call of tensors with these keys is for: 0 for most, which are eager execution's.
inline Keys asked(Keys of_tensors) {
  return static_cast<Keys>((of_tensors & ~thread_state.answered) | thread_state.modes);
}

/// The running trace depends on it.
inline void note_read(Setting s) { thread_state.read |= bits_of(s) & ~(thread_state.own | kInference); }
inline std::uint64_t setting(Setting s) { return thread_state.word & bits_of(s); }

/// The settings that a trace began with, as far as it depends on them: what it made is for threads where these are the
/// same.
struct Settings {
  std::uint64_t word = 0, mask = 0;
  bool hold() const { return ((thread_state.word ^ word) & mask) == 0; }
  /// While they do not hold: "the default dtype is float64, was float32".
  std::string difference() const;
};

/// Around a trace: notes what it reads. What a function leaves set for the thread is put back.
class SettingsWatch {
 public:
  SettingsWatch() : before_(thread_state) { thread_state.read = thread_state.own = 0; }
  ~SettingsWatch() { thread_state = before_; }
  SettingsWatch(const SettingsWatch&) = delete;
  Settings seen() const { return {before_.word, thread_state.read}; }
  /// Has the function left the thread another than it was?
  bool changed() const { return thread_state.word != before_.word; }

 private:
  const ThreadState before_;
};

/// Nothing is between a call and eager execution while it lives: for what the library does for itself.
class PlainScope {
 public:
  PlainScope() : before_(thread_state) { thread_state.modes = 0, thread_state.answered = static_cast<Keys>(~0u); }
  ~PlainScope() { thread_state = before_; }
  PlainScope(const PlainScope&) = delete;

 private:
  const ThreadState before_;
};

/// The dtype that floats have where none is given; the running trace depends on it.
DType default_dtype();
/// Where tensors are made whose device is not given; the running trace depends on it.
inline Device default_device() {
  note_read(Setting::ShapeOnly);
  return setting(Setting::ShapeOnly) ? Device::shape_only() : Device::cpu();
}

}  // namespace reprise::graph
