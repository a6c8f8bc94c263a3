#include "runtime/trace/captured_names.h"

#include <unordered_map>
#include <utility>
#include <vector>

namespace reprise::detail {

struct TensorNamer::Names {
  std::string prefix;
  std::unordered_map<const TensorImpl*, CapturedNames::Name> all;  // as the fields were when they were first asked
};

namespace {

constinit thread_local const NamedObject* innermost = nullptr;

}  // namespace

NamedObject::NamedObject(const void* object, Walk walk, std::string_view prefix, bool on) noexcept {
  if (!on) return;
  object_ = object, walk_ = walk, prefix_ = prefix;
  outer_ = std::exchange(innermost, this);
}
NamedObject::~NamedObject() {
  if (object_) innermost = outer_;
}

void TensorNamer::tensor(const Tensor& t) {
  if (!t.impl()) return;
  std::string_view path = path_.text();
  if (names_.prefix.empty() && path.starts_with('.')) path.remove_prefix(1);
  std::string name = names_.prefix + std::string(path);
  if (!name.empty()) names_.all.try_emplace(t.impl(), CapturedNames::Name{std::move(name), path_.kind()});
}

CapturedNames::Name CapturedNames::of(const TensorImpl& t) {
  std::vector<const NamedObject*> objects;
  for (const NamedObject* o = innermost; o; o = o->outer_) objects.push_back(o);
  for (auto o = objects.rbegin(); o != objects.rend(); ++o) {
    if (!(*o)->names_) {
      (*o)->names_ = std::make_shared<TensorNamer::Names>();
      (*o)->names_->prefix = (*o)->prefix_;
      TensorNamer namer(*(*o)->names_);
      (*o)->walk_((*o)->object_, namer);
    }
    const auto known = (*o)->names_->all.find(&t);
    if (known != (*o)->names_->all.end()) return known->second;
  }
  return {};
}

}  // namespace reprise::detail
