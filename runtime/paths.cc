#include "reprise/paths.h"

namespace reprise::detail {

Path Path::of_arguments(const std::vector<std::string>& names) {
  Path p;
  p.arguments_ = true;
  p.names_ = &names;
  return p;
}

void Path::enter(std::string_view field, std::size_t index) {
  lengths_.push_back(text_.size());
  if (!arguments_ || lengths_.size() > 1) {
    text_ += field.empty() ? "." + std::to_string(index) : "." + std::string(field);
    return;
  }
  argument_ = index;
  text_ = index < names_->size() && !(*names_)[index].empty() ? (*names_)[index] : "arg " + std::to_string(index);
}

void Path::enter(std::size_t element) {
  lengths_.push_back(text_.size());
  text_ += "[" + std::to_string(element) + "]";
}

void Path::enter(const std::string& key) {
  lengths_.push_back(text_.size());
  text_ += "[\"" + key + "\"]";
}

void Path::leave() {
  text_.resize(lengths_.back());
  lengths_.pop_back();
}

}  // namespace reprise::detail
