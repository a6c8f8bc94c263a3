#pragma once
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "reprise/flatten.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Tensors that hardly ever change: weights, tables. What a compiled function computes of them alone (casts,
/// transposes, arithmetic, the form in which a product reads its weights) it computes once and keeps, for all functions
/// and specializations that need the same, until the memory goes or is written: that is noticed at the next call, and
/// computed anew, without a compilation. Results are the same, those of some products and convolutions up to rounding.
/// docs/freezing.md.
namespace reprise REPRISE_VISIBLE {

namespace detail {
void freeze(const Tensor&);  ///< an undefined one and one of a trace are left as they are
struct Freezer {
  void tensor(const Tensor& t) { freeze(t); }
  void integer(const Int&) {}
  void number(const Scalar&) {}
  void constant(std::uint64_t, ConstantKind) {}
  void text(std::string_view) {}
};
}  // namespace detail

/// Declares that the memory of these tensors hardly ever changes: a tensor, or anything that may be an argument of a
/// compiled function (a struct of weights, a module of reprise/nn.h, a vector). It is the memory that is frozen: all
/// views of it are, and it stays so. Do it before the first call: what was compiled before for the same arguments goes
/// on as it is.
///   Model model = load();
///   rp::freeze(model);
///   auto f = rp::compile(&Model::forward);
template <class T>
void freeze(const T& value) {
  detail::Freezer freezer;
  detail::walk(value, freezer);
}
/// Is this tensor's memory?
bool is_frozen(const Tensor&);
/// States that the elements of a frozen tensor were written behind the library's back: through data_ptr(), by DLPack,
/// in a mapped file. (Operators that write, copy_() and mul_() say so themselves.) Throws InvalidArgument for an
/// undefined tensor.
void changed(const Tensor&, SourceLoc loc = SourceLoc::current());

/// A tensor whose memory is frozen, whatever is assigned: a member of a model, an element of a vector. It is a Tensor
/// in every other way; an empty one becomes frozen when it is filled (load_safetensors).
///   struct Mlp { rp::Parameter up, down; };
class Parameter : public Tensor {
 public:
  Parameter() noexcept = default;
  Parameter(Tensor t) : Tensor(std::move(t)) { declare(); }
  template <std::convertible_to<Tensor> T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Parameter>) Parameter& operator=(T&& t) & {
    Tensor::operator=(Tensor(std::forward<T>(t)));
    declare();
    return *this;
  }

  // Walked as the tensor that it is (flatten.h).
  using reprise_fields_of = Parameter;
  static constexpr const char* reprise_field_names() { return "REPRISE_BASE(Tensor)"; }
  template <class V>
  decltype(auto) reprise_with_fields(V&& visitor) {
    struct Declared {
      Parameter& p;
      ~Declared() { p.declare(); }
    } filled{*this};
    return visitor(static_cast<Tensor&>(*this));
  }
  template <class V>
  decltype(auto) reprise_with_fields(V&& visitor) const {
    return visitor(static_cast<const Tensor&>(*this));
  }

 private:
  void declare() const { detail::freeze(*this); }
};

}  // namespace REPRISE_VISIBLE
