#include "reprise/weights.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "base/errors.h"
#include "base/nearest.h"
#include "base/shown.h"
#include "reprise/ops.h"
#include "reprise/shape_only.h"

namespace reprise::detail {

namespace {

std::string shape_text(const Tensor& t) {
  std::ostringstream s;
  s << t.sizes();
  return s.str();
}

/// What does not fit, by kind; a few of each are told.
class Complaints {
 public:
  void missing(const std::string& name, const std::string& nearest) {
    missing_.push_back("'" + shown(name) + "'" + (nearest.empty() ? "" : " (did you mean '" + shown(nearest) + "'?)"));
  }
  void left(const std::string& name) { left_.push_back("'" + shown(name) + "'"); }
  void twice(const std::string& name) { twice_.push_back("'" + shown(name) + "'"); }
  void sizes(std::string what) { sizes_.push_back(std::move(what)); }
  void dtype(std::string what) { dtypes_.push_back(std::move(what)); }
  void raise(const WeightFile& file, SourceLoc loc) const {
    std::string all;
    auto tell = [&](const char* what, const std::vector<std::string>& these) {
      constexpr std::size_t kMost = 8;
      if (these.empty()) return;
      all += all.empty() ? ": " : "; ";
      all += what;
      for (std::size_t i = 0; i < std::min(these.size(), kMost); ++i) all += (i ? ", " : "") + these[i];
      if (these.size() > kMost) all += " and " + std::to_string(these.size() - kMost) + " more";
    };
    tell("it has no ", missing_);
    tell("no field takes ", left_);
    tell("two fields take ", twice_);
    tell("", sizes_);
    tell("", dtypes_);
    if (all.empty()) return;
    const bool names = !missing_.empty() || !left_.empty() || !twice_.empty();
    const ErrorCode code = names || (!sizes_.empty() && !dtypes_.empty()) ? ErrorCode::InvalidArgument
                           : sizes_.empty()                               ? ErrorCode::DTypeMismatch
                                                                          : ErrorCode::ShapeMismatch;
    fail(code, file.op, loc, "'", shown(file.path), "' does not fit the struct", all);
  }

 private:
  std::vector<std::string> missing_, left_, twice_, sizes_, dtypes_;
};

}  // namespace

std::string weight_name(const std::string& field, const WeightOptions& o) {
  return o.prefix + (o.name ? o.name(field) : field);
}

void load_weights(const SafeTensors& file, std::vector<Weight>& weights, const WeightOptions& o, SourceLoc loc) {
  load_weights({"load_safetensors", file.path(), file.names(),
                [&](const std::string& name, std::size_t) { return file.at(name, loc); }},
               weights, o, loc);
}
void load_weights(const WeightFile& file, std::vector<Weight>& weights, const WeightOptions& o, SourceLoc loc) {
  if (o.dtype && !is_floating(*o.dtype))
    fail(ErrorCode::InvalidArgument, file.op, loc, "WeightOptions::dtype is ", *o.dtype,
         "; floating tensors are converted to a floating dtype");
  std::vector<std::string_view> of_prefix;
  for (const std::string& n : file.names)
    if (n.starts_with(o.prefix)) of_prefix.push_back(n);
  Complaints wrong;
  std::set<std::string, std::less<>> taken;
  std::vector<Tensor> found;
  constexpr std::size_t kMostCompared = 8;  // of the missing: nearest names take their time
  std::size_t compared = 0;
  for (const Weight& w : weights) {
    const std::string name = weight_name(w.field, o);
    Tensor& t = found.emplace_back();
    if (!std::binary_search(file.names.begin(), file.names.end(), name)) {
      wrong.missing(name, compared++ < kMostCompared && !of_prefix.empty() ? nearest_name(name, of_prefix) : "");
      continue;
    }
    if (!taken.insert(name).second) wrong.twice(name);
    t = file.at(name, found.size() - 1);
    if (!w.tensor.defined()) continue;
    if (t.sizes() != w.tensor.sizes())
      wrong.sizes("'" + shown(name) + "' is " + shape_text(t) + ", the field " + shape_text(w.tensor));
    const DType wanted = o.dtype && is_floating(t.dtype()) ? t.dtype() : w.tensor.dtype();
    if (t.dtype() != wanted)
      wrong.dtype("'" + shown(name) + "' is " + std::string(dtype_name(t.dtype())) + ", the field " +
                  std::string(dtype_name(wanted)));
  }
  if (o.strict)
    for (std::string_view n : of_prefix)
      if (!taken.contains(n)) wrong.left(std::string(n));
  wrong.raise(file, loc);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    Tensor& t = found[i];
    if (!t.defined()) continue;  // the file's reader has what it wants of it
    if (o.dtype && is_floating(t.dtype())) t = t.to(*o.dtype, loc);
    if (o.device) t = t.to(*o.device, loc);
    else if (weights[i].tensor.defined() && !is_shape_only(weights[i].tensor))
      t = t.to(weights[i].tensor.device(), loc);
  }
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i].tensor = std::move(found[i]);
}

void save_weights(const std::string& path, const std::vector<Weight>& weights, const WeightOptions& o,
                  const std::map<std::string, std::string>& metadata, SourceLoc loc) {
  std::map<std::string, Tensor> all;
  for (const Weight& w : weights)
    if (const std::string name = weight_name(w.field, o); !all.emplace(name, w.tensor).second)
      fail(ErrorCode::InvalidArgument, "save_safetensors", loc, "two fields are called '", shown(name), "'");
  save_safetensors(path, all, metadata, loc);
}

bool WeightNames::any_at(const std::string& field) const {
  if (!known_) return false;
  const std::string name = prefix_ + field;
  const auto exact = std::lower_bound(names_.begin(), names_.end(), name);
  if (exact != names_.end() && *exact == name) return true;
  const auto below = std::lower_bound(exact, names_.end(), name + ".");
  return below != names_.end() && below->starts_with(name + ".");
}

std::vector<std::string> WeightNames::below(const std::string& field, bool all) const {
  std::vector<std::string> keys;
  if (!known_) return keys;
  const std::string start = field.empty() ? prefix_ : prefix_ + field + ".";
  for (auto n = std::lower_bound(names_.begin(), names_.end(), start); n != names_.end() && n->starts_with(start);
       ++n) {
    std::string key = n->substr(start.size());
    if (!all) key = key.substr(0, key.find('.'));
    if (keys.empty() || keys.back() != key) keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace reprise::detail
