#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reprise/flatten.h"
#include "reprise/safetensors.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// How the fields of a struct and the tensors of a file go together.
struct WeightOptions {
  std::string prefix = {};            ///< before each name in the file: "model."
  bool strict = true;                 ///< tensors of the file, with that prefix, that no field takes are an error
  std::optional<DType> dtype = {};    ///< floating tensors are converted to it when they are loaded
  std::optional<Device> device = {};  ///< where they are loaded to; else where the field's tensor is, or the host
  Reading how = Reading::Mapped;
  /// What the file calls a field: given "layers.0.wq", "layers.0.attention.wq.weight". With it containers must have
  /// their elements before.
  std::function<std::string(const std::string& field)> name = {};
};

namespace detail {

struct Weight {
  std::string field;  ///< "layers.0.wq"
  Tensor tensor;      ///< what it holds; load_weights() makes it what the file has
};
/// A file of tensors by name, of whatever format.
struct WeightFile {
  const char* op;  ///< the function that errors name
  std::string path;
  std::vector<std::string> names;                                         ///< sorted
  std::function<Tensor(const std::string& name, std::size_t weight)> at;  ///< for the weight of that number
};
/// One error tells all that does not fit: InvalidArgument, or ShapeMismatch or DTypeMismatch where it is nothing else.
void load_weights(const WeightFile&, std::vector<Weight>&, const WeightOptions&, SourceLoc);
void load_weights(const SafeTensors&, std::vector<Weight>&, const WeightOptions&, SourceLoc);
/// What the file calls it.
std::string weight_name(const std::string& field, const WeightOptions&);
void save_weights(const std::string& path, const std::vector<Weight>&, const WeightOptions&,
                  const std::map<std::string, std::string>& metadata, SourceLoc);

/// The names of a file, sorted.
class WeightNames {
 public:
  WeightNames(std::vector<std::string> sorted, const WeightOptions& o)
      : names_(std::move(sorted)), prefix_(o.prefix), known_(!o.name) {}
  bool any_at(const std::string& field) const;  ///< the tensor itself, or one below it
  /// what follows "field.": all of it, or up to the next point
  std::vector<std::string> below(const std::string& field, bool all) const;

 private:
  std::vector<std::string> names_;
  std::string prefix_;
  bool known_;
};

/// "layers.0.wq": a trailing underscore of a member's name is no part of it.
class WeightPath {
 public:
  void enter(std::string_view field, std::size_t index) {
    enter_part(field.empty() ? std::to_string(index)
                             : std::string(field.ends_with('_') ? field.substr(0, field.size() - 1) : field));
  }
  void enter(std::size_t element) { enter_part(std::to_string(element)); }
  void enter(const std::string& key) { enter_part(key); }
  void leave() {
    text_.resize(lengths_.back());
    lengths_.pop_back();
  }
  const std::string& text() const { return text_; }
  std::string inside(std::size_t element) const { return text_ + (text_.empty() ? "" : ".") + std::to_string(element); }

 private:
  void enter_part(const std::string& part) {
    lengths_.push_back(text_.size());
    text_ += (text_.empty() ? "" : ".") + part;
  }
  std::string text_;
  std::vector<std::size_t> lengths_;
};

class WeightWalk {
 public:
  static constexpr bool joins_bases = true;
  void integer(const Int&) {}
  void number(const Scalar&) {}
  void constant(std::uint64_t, ConstantKind) {}
  void text(std::string_view) {}
  WeightPath& path() { return path_; }

 private:
  WeightPath path_;
};

class WeightCollector : public WeightWalk {
 public:
  std::vector<Weight> all;
  void tensor(const Tensor& t) { all.push_back({path().text(), t}); }
};

/// Gives what is empty the elements that the file has.
class WeightMaker : public WeightCollector {
 public:
  explicit WeightMaker(const WeightNames& names) : names_(names) {}
  template <class C>
  void prepare(C& c) {
    const std::string& at = path().text();
    if constexpr (std::is_const_v<C>) {
    } else if constexpr (is_vector<C>::value && !std::is_same_v<C, std::vector<bool>>) {
      if constexpr (std::is_default_constructible_v<typename C::value_type>)
        if (c.empty())
          while (names_.any_at(path().inside(c.size()))) c.emplace_back();
    } else if constexpr (is_optional<C>::value) {
      if constexpr (std::is_default_constructible_v<typename C::value_type>)
        if (!c && names_.any_at(at)) c.emplace();
    } else if constexpr (is_shared<C>::value) {
      if constexpr (std::is_default_constructible_v<typename C::element_type>)
        if (!c && names_.any_at(at)) c = std::make_shared<typename C::element_type>();
    } else if constexpr (is_string_map<C>::value || is_string_hash_map<C>::value) {
      if constexpr (std::is_default_constructible_v<typename C::mapped_type>)
        if (c.empty())
          for (std::string& key : names_.below(at, std::is_same_v<typename C::mapped_type, Tensor>))
            c.try_emplace(std::move(key));
    }
  }

 private:
  const WeightNames& names_;
};

/// Leaves what was loaded, in the order in which it was asked for.
class WeightGiver : public WeightMaker {
 public:
  static constexpr bool shares = true;
  WeightGiver(const WeightNames& names, std::vector<Weight>& loaded) : WeightMaker(names), loaded_(loaded) {}
  void tensor(Tensor& t) { t = std::move(loaded_[next_++].tensor); }

 private:
  std::vector<Weight>& loaded_;
  std::size_t next_ = 0;
};

template <class T>
concept HasWeights = std::is_class_v<T> && !std::is_same_v<T, Tensor> && !std::is_same_v<T, SourceLoc> &&
                     !std::is_same_v<T, std::string> && !std::is_same_v<T, WeightOptions>;

}  // namespace detail

/// Loads the tensors of a struct by the names of its fields: `weights.layers[0].wq` is "layers.0.wq" in the file. The
/// struct is one that compiled functions take as an argument (plain, or with REPRISE_FIELDS; bases, shared pointers,
/// containers); numbers and strings in it are passed over. Empty containers are filled from the file: a vector as many
/// elements as there are numbers from 0 on, an optional or a shared pointer one, a map its keys. Tensors that are
/// defined must have the file's sizes, and its dtype where none is asked for; undefined ones take the file's. Every
/// tensor must be in the file, unless it is in an optional that is empty. Throws what load_safetensors(path) throws,
/// and one error that tells all names that are missing, or that no field takes (WeightOptions::strict), and all sizes
/// and dtypes that do not fit; then the struct is as it was.
template <detail::HasWeights T>
void load_safetensors(const SafeTensors& file, T& weights, const WeightOptions& options = {},
                      SourceLoc loc = SourceLoc::current()) {
  static_assert(!std::is_const_v<T>,
                "reprise: load_safetensors() fills the struct that it is given: this one is const");
  static_assert(
      std::is_copy_constructible_v<T>,
      "reprise: load_safetensors() tries on a copy of the struct what the file has: this one has no copy constructor");
  if constexpr (!std::is_const_v<T> && std::is_copy_constructible_v<T>) {
    const detail::WeightNames names(file.names(), options);
    detail::WeightMaker fields(names);
    {
      T tried = weights;
      detail::walk(tried, fields);
    }
    detail::load_weights(file, fields.all, options, loc);
    detail::WeightGiver give(names, fields.all);
    detail::walk(weights, give);
  }
}
template <detail::HasWeights T>
void load_safetensors(const std::string& path, T& weights, const WeightOptions& options = {},
                      SourceLoc loc = SourceLoc::current()) {
  load_safetensors(load_safetensors(path, options.how, loc), weights, options, loc);
}

/// Writes what load_safetensors() reads, under the same names.
template <detail::HasWeights T>
void save_safetensors(const std::string& path, const T& weights, const WeightOptions& options = {},
                      const std::map<std::string, std::string>& metadata = {}, SourceLoc loc = SourceLoc::current()) {
  detail::WeightCollector fields;
  detail::walk(weights, fields);
  detail::save_weights(path, fields.all, options, metadata, loc);
}

}  // namespace REPRISE_VISIBLE
