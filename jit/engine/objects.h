#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jit/engine/engine.h"

namespace reprise::jit {

/// Code that is in no process: an object file. `entry` is an address of its own, at which there is nothing to call.
class ObjectCode final : public Code {
 public:
  ObjectCode(std::string object, std::string name);
  const std::string object;
  const std::string name;  ///< of the one function that it exports
};

/// While one lives, compile_module() on its thread makes ObjectCode, for host() as this thread sees it
/// (device/cpu_level.h): the process's cache is neither asked nor filled. Equal keys share an object.
class ObjectScope {
 public:
  ObjectScope();
  ~ObjectScope();
  ObjectScope(const ObjectScope&) = delete;
  /// Of this thread; null: there is none.
  static ObjectScope* current() noexcept;
  CodePtr compile(const std::string& key, const EmitFn&, std::string_view label);

 private:
  std::map<std::string, CodePtr, std::less<>> made_;
  ObjectScope* const outer_;
};

/// Objects as one piece of code that may stand anywhere. The first `code_bytes` are instructions and constants, whole
/// pages of them; behind them stands a table of addresses, 8 bytes each, that whoever loads the image fills with
/// entry_point(calls[i]). Nothing else in it is to be changed.
struct CodeImage {
  static constexpr std::size_t kPage = 4096;
  std::string code;                    ///< code_bytes of it
  std::vector<std::string> calls;      ///< names of functions outside
  std::vector<std::uint64_t> entries;  ///< by object: where its function begins
};
/// Throws NotTraceable where code calls a function that has no entry_point(), Internal for what no emitter makes.
CodeImage image_of(const std::vector<const ObjectCode*>&);

}  // namespace reprise::jit
