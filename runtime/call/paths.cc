#include "reprise/paths.h"

#include <utility>

namespace reprise::detail {

Path Path::of_arguments(const std::vector<std::string>& names) {
  Path p;
  p.arguments_ = true;
  p.names_ = &names;
  return p;
}

void Path::enter(std::string_view field, std::size_t index, FieldKind kind) {
  lengths_.push_back(text_.size());
  kinds_.push_back(std::exchange(kind_, kind));
  if (!arguments_ || lengths_.size() > 1) {
    text_ += field.empty() ? "." + std::to_string(index) : "." + std::string(field);
    return;
  }
  argument_ = index;
  text_ = index < names_->size() && !(*names_)[index].empty() ? (*names_)[index] : "arg " + std::to_string(index);
}

void Path::enter(std::size_t element) {
  lengths_.push_back(text_.size());
  kinds_.push_back(kind_);
  text_ += "[" + std::to_string(element) + "]";
}

void Path::enter(const std::string& key) {
  lengths_.push_back(text_.size());
  kinds_.push_back(kind_);
  text_ += "[\"" + key + "\"]";
}

void Path::leave() {
  text_.resize(lengths_.back());
  lengths_.pop_back();
  kind_ = kinds_.back();
  kinds_.pop_back();
}

}  // namespace reprise::detail
