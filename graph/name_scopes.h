#pragma once
#include <string>
#include <string_view>

namespace reprise {

/// Names of parts of the program, as nodes and launches hold them (NodeInfo::scope): kept for good, one address for
/// each text.
struct NameScopes {
  /// Of the scopes that this thread is in; null: it is in none.
  static const std::string* current();
  /// Control characters become spaces. Null for "".
  static const std::string* kept(std::string_view path);
  /// The names that both begin with: "layers[3]" of "layers[3].attention" and "layers[3].ffn". Null where there is
  /// none.
  static const std::string* common(const std::string* a, const std::string* b);
  /// "layers[3]" and "attention": "layers[3].attention".
  static const std::string* joined(const std::string* outer, const std::string* inner);
  /// The other way round: what stands in `outer`, counted from there; of others all.
  static const std::string* inside(const std::string* path, const std::string* outer);
};

}  // namespace reprise
