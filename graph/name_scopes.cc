#include "graph/name_scopes.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/fork.h"
#include "base/mutex.h"
#include "reprise/name_scope.h"

namespace reprise {

namespace {

constinit thread_local const NameScope* innermost = nullptr;

}  // namespace

NameScope::NameScope(std::string_view name) noexcept { begin(name, -1); }
NameScope::NameScope(std::string_view list, std::int64_t index) noexcept { begin(list, index); }

void NameScope::begin(std::string_view name, std::int64_t index) noexcept {
  name_ = name, index_ = index;
  outer_ = innermost;
  innermost = this;
}

NameScope::~NameScope() { innermost = outer_; }

std::string_view NameScope::path() {
  const std::string* path = NameScopes::current();
  return path ? std::string_view(*path) : std::string_view();
}

const std::string* NameScopes::current() {
  const NameScope* s = innermost;
  if (!s) return nullptr;
  if (s->path_) return s->path_;
  // From the outermost that has not been asked for.
  std::vector<const NameScope*> chain;
  for (; s && !s->path_; s = s->outer_) chain.push_back(s);
  std::string path = s ? *s->path_ : "";
  for (; !chain.empty(); chain.pop_back()) {
    const NameScope& at = *chain.back();
    if (!path.empty() && !at.name_.empty()) path += '.';
    path += at.name_;
    if (at.index_ >= 0) path += "[" + std::to_string(at.index_) + "]";
    at.path_ = kept(path);
  }
  return innermost->path_;
}

const std::string* NameScopes::kept(std::string_view path) {
  if (path.empty()) return nullptr;
  static ForkMutex mutex;
  static auto& names = *new std::set<std::string, std::less<>>;
  std::string text(path);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  const MutexLock lock(mutex);
  return &*names.insert(std::move(text)).first;
}

const std::string* NameScopes::common(const std::string* a, const std::string* b) {
  if (a == b || !a || !b) return a == b ? a : nullptr;
  const std::size_t equal =
      static_cast<std::size_t>(std::mismatch(a->begin(), a->end(), b->begin(), b->end()).first - a->begin());
  auto ends = [&](std::size_t n) { return (n == a->size() || (*a)[n] == '.') && (n == b->size() || (*b)[n] == '.'); };
  for (std::size_t n = equal; n > 0; --n)
    if (ends(n)) return kept(std::string_view(*a).substr(0, n));
  return nullptr;
}

const std::string* NameScopes::joined(const std::string* outer, const std::string* inner) {
  if (!outer || !inner) return outer ? outer : inner;
  return kept(*outer + (inner->front() == '[' ? "" : ".") + *inner);
}

const std::string* NameScopes::inside(const std::string* path, const std::string* outer) {
  if (!path || common(path, outer) != outer || !outer) return path;
  const std::size_t n = outer->size();
  return kept(std::string_view(*path).substr(path->size() > n && (*path)[n] == '.' ? n + 1 : n));
}

}  // namespace reprise
