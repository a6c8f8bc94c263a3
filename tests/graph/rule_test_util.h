#pragma once
#include <deque>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "reprise/error.h"

namespace reprise::graph {

/// Tensors of a test, with addresses that stay.
struct Metas {
  std::deque<TensorMeta> all;
  const TensorMeta* operator()(Ints sizes, DType t = kFloat32, Ints strides = {}, Int offset = 0) {
    TensorMeta m;
    m.dtype = t;
    m.layout.sizes = sizes;
    m.layout.strides = strides.empty() ? contiguous_strides(sizes) : strides;
    m.layout.offset = offset;
    all.push_back(m);
    return &all.back();
  }
};

inline std::string text(const Ints& v) {
  std::string s = "[";
  for (std::size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + v[i].str();
  return s + "]";
}

/// "f32[2, 3]" of each result, or "ErrorCode: message" when the rule throws.
inline std::string infer(OpId id, std::vector<RuleArg> args) {
  guards::LibraryScope operators;  // as in a trace
  RuleCtx c{op(id), args, SourceLoc{"user.cpp", 7}, {}};
  try {
    infer(c);
  } catch (const Error& e) {
    if (e.where().line != 7) return "error without the user's line: " + e.message();
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  std::string s;
  for (const TensorMeta& m : c.results) {
    s += (s.empty() ? "" : " ") + std::string(dtype_short_name(m.dtype)) + text(m.layout.sizes);
  }
  return s;
}

inline std::vector<std::string> guards_of(const guards::ShapeEnv& env) {
  std::vector<std::string> out;
  for (const guards::Guard& g : env.guards()) out.push_back(to_string(g.condition));
  return out;
}

/// A size of the one tensor that a call has, with as many elements at most as a tensor has that is not called large.
inline Int size_symbol(guards::ShapeEnv& env, const std::string& name, std::int64_t hint) {
  constexpr std::int64_t kModest = std::int64_t{1} << 44;
  return env.new_symbol({static_cast<std::uint32_t>(env.symbols().size()), name, kModest, 1}, hint, 0, kModest);
}

}  // namespace reprise::graph
