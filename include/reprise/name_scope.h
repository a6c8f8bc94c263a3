#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// RAII: names a part of the program on this thread. Operators traced inside carry the name in graphs, launches,
/// explain(), logs and errors. Scopes nest:
///
///   for (int i = 0; i < n; ++i) {
///     NameScope layer("layers", i);
///     NameScope part("attention");        // "layers[3].attention"
///     ...
///   }
///
/// Names are never part of what is compiled: other names are no other compilation, and a graph keeps the names of the
/// call that was traced. Where nothing is traced, a scope notes that it is there, and no text is made. Names that a
/// trace has met are kept for good. Scopes of a thread end in the opposite order in which they began, as variables of
/// blocks do.
class NameScope {
 public:
  /// The text outlives the scope, as literals do.
  explicit NameScope(const char* name) noexcept : NameScope(std::string_view(name)) {}
  explicit NameScope(std::string_view name) noexcept;
  explicit NameScope(std::string&& name) noexcept : own_(std::move(name)) { begin(own_, -1); }
  /// "layers[3]"; an index below 0 is left out.
  NameScope(std::string_view list, std::int64_t index) noexcept;
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

  /// Of the scopes that this thread is in: "layers[3].attention", "" in none. Makes the text.
  static std::string_view path();

 private:
  friend struct NameScopes;  // graph/name_scopes.h
  void begin(std::string_view name, std::int64_t index) noexcept;

  std::string own_;
  std::string_view name_;
  std::int64_t index_ = -1;
  const NameScope* outer_ = nullptr;
  mutable const std::string* path_ = nullptr;  // once somebody has asked
};

}  // namespace REPRISE_VISIBLE
