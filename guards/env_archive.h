#pragma once
#include <cstdint>
#include <string_view>

#include "base/archive.h"
#include "guards/guard_set.h"
#include "reprise/scalar.h"

namespace reprise {
REPRISE_ARCHIVED(SourceLoc, file, line)
}

namespace reprise::guards {

/// How far an environment has come.
struct EnvMark {
  std::uint32_t exprs = 0, guards = 0;
};

/// An archive with expressions of one environment, each by the number that it has there.
class ExprWriter : public ArchiveWriter {
 public:
  void own(const Expr* e) { number(e->id()); }
  void own(Int);
  void own(const Ints&);
  void own(const Scalar&);
  /// A static text; null is an empty one.
  void own(const char* text) { text_at(text, text ? text : ""); }
};

/// The same read with an environment that has them.
class ExprReader : public ArchiveReader {
 public:
  ExprReader(std::string_view bytes, ShapeEnv& env) : ArchiveReader(bytes), env_(env) {}
  void own(const Expr*&);
  void own(Int&);
  void own(Ints&);
  void own(Scalar&);
  void own(const char*& text);
  ShapeEnv& env() const { return env_; }

 private:
  ShapeEnv& env_;
};

/// Access to what environments keep to themselves.
class EnvArchive {
 public:
  static EnvMark mark(const ShapeEnv&);
  /// All that may decide what is concluded in it from now on: two of which this says the same go on in the same way.
  static void describe(ExprWriter&, const ShapeEnv&);
  /// What has come between two marks. read_added() gives one that stands at the first of them (or has come the whole
  /// way, too) these expressions, with the same numbers, and take_guards() teaches it the guards.
  static void write_added(ExprWriter&, const ShapeEnv&, EnvMark from, EnvMark to);
  static std::vector<Guard> read_added(ExprReader&);
  static void take_guards(ShapeEnv&, const std::vector<Guard>&);

 private:
  friend class ExprReader;
  static const Expr* at(const ShapeEnv&, std::uint64_t id);
  static void write_exprs(ExprWriter&, const ShapeEnv&, std::uint32_t from, std::uint32_t to);
};

}  // namespace reprise::guards
