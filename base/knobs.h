#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace reprise {

#ifdef NDEBUG
inline constexpr bool kDebugBuild = false;
#else
inline constexpr bool kDebugBuild = true;
#endif

/// The settings of knobs.def, one field each. The value decides, not the presence: REPRISE_VERIFY=0 is off.
struct Knobs {
#define REPRISE_KNOB_TYPE_int std::int64_t
#define REPRISE_KNOB_TYPE_string std::string
#define REPRISE_KNOB(name, type, def, code, help) REPRISE_KNOB_TYPE_##type name = def;
#include "base/knobs.def"
#undef REPRISE_KNOB
};

/// The process's settings, read from the environment at first use. Threads: written only by tests (Scoped) and at
/// start-up, while no other thread reads.
Knobs& knobs();

/// What the environment says now. A REPRISE_ variable no knob has, or a value that does not parse, is reported in
/// `problems` (naming the nearest knob) and otherwise ignored.
Knobs knobs_from_environment(std::vector<std::string>* problems);

/// Hash over the knobs that change generated code: part of the kernel cache's key.
std::uint64_t code_key();

/// "REPRISE_VERIFY", "int", "0", what for: one row per knob, for --help and the documentation.
struct KnobInfo {
  std::string variable, type, default_value, help;
  bool changes_code;
};
std::vector<KnobInfo> knob_table();

/// Sets a knob until the end of the scope (tests).
template <class T>
class Scoped {
 public:
  template <class V>
  Scoped(T& knob, V&& value) : knob_(knob), old_(std::exchange(knob, T(std::forward<V>(value)))) {}
  ~Scoped() { knob_ = std::move(old_); }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& knob_;
  T old_;
};

}  // namespace reprise
