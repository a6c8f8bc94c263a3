#pragma once
#include <string>

#include "reprise/reprise.h"
#include "reprise/wrapper.h"

namespace reprise::test {

/// A tensor with a unit of measure: adding wants equal ones, a product has the product's.
struct Length : Wrapper<Length> {
  Tensor value;
  std::string unit;
  REPRISE_FIELDS(Length, value, unit)

  Length() = default;
  Length(Tensor v, std::string u) : value(std::move(v)), unit(std::move(u)) {}
  Tensor plain(SourceLoc) const { return value; }
  void store(const Tensor& t, SourceLoc loc) const { value.copy_(t, loc); }
  static std::string unit_of(const Tensor& t) { return Length::of(t) ? Length::of(t)->unit : "1"; }
  static void dispatch(WrapperCall& c) {
    c.on({"add", "sub"}, [](WrapperCall& c) {
      if (unit_of(c.tensor(0)) != unit_of(c.tensor(1)))
        throw Error(ErrorCode::InvalidArgument, std::string(c.op()),
                    unit_of(c.tensor(0)) + " and " + unit_of(c.tensor(1)), c.loc());
      return Length(c.call([&](const Tensor& t) { return reprise::plain(t, c.loc()); })[0], unit_of(c.tensor(0)))
          .tensor();
    });
    c.on({"mul", "matmul"}, [](WrapperCall& c) {
      const Tensor made = c.call([&](const Tensor& t) { return reprise::plain(t, c.loc()); })[0];
      return Length(made, unit_of(c.tensor(0)) + "*" + unit_of(c.tensor(1))).tensor();
    });
    if (c.is_view())
      c.on(c.op(), [](WrapperCall& c) {
        return Length(c.call([&](const Tensor& t) { return reprise::plain(t, c.loc()); })[0], unit_of(c.tensor(0)))
            .tensor();
      });
    c.otherwise(unwrap);
  }
};

/// Computes as its inner tensor does, and shows it in views.
struct Plain : Wrapper<Plain> {
  Tensor inner;
  REPRISE_FIELDS(Plain, inner)

  Plain() = default;
  explicit Plain(Tensor t) : inner(std::move(t)) {}
  Tensor plain(SourceLoc) const { return inner; }
  static void dispatch(WrapperCall& c) { c.otherwise(unwrap); }
};

/// Counts the multiplications of products, and computes as its inner tensor does.
struct Counted : Wrapper<Counted> {
  Tensor inner;
  REPRISE_FIELDS(Counted, inner)
  static inline std::int64_t multiplications = 0;

  Counted() = default;
  explicit Counted(Tensor t) : inner(std::move(t)) {}
  Tensor plain(SourceLoc) const { return inner; }
  static void dispatch(WrapperCall& c) {
    c.otherwise([](WrapperCall& c) {
      if (c.op() == "mm" || c.op() == "matmul") multiplications += (c.tensor(0).numel() * c.tensor(1).size(-1)).value();
      std::vector<Tensor> made = c.call([](const Tensor& t) { return Counted::of(t) ? Counted::of(t)->inner : t; });
      if (!c.inplace())
        for (Tensor& t : made) t = Counted(t).tensor(c.loc());
      c.answer(made);
    });
  }
};

/// No rules but one, and no default.
struct Bare : Wrapper<Bare> {
  Tensor inner;
  int mode = 0;  ///< 1: another shape than the operator's, 2: another dtype, 3: calls itself
  REPRISE_FIELDS(Bare, inner, mode)
  Bare() = default;
  Bare(Tensor t, int mode) : inner(std::move(t)), mode(mode) {}
  static void dispatch(WrapperCall& c) {
    c.on("exp", [](WrapperCall& c) {
      const Bare& b = Bare::from(c.tensor(0));
      if (b.mode == 1) return b.inner.sum();
      if (b.mode == 2) return b.inner.to(kFloat64);
      if (b.mode == 3) return exp(c.tensor(0), c.loc());
      return exp(b.inner);
    });
  }
};

/// Two inner tensors, and a field that is no metadata.
struct Pair : Wrapper<Pair> {
  Tensor a, b;
  Int n = 1;
  REPRISE_FIELDS(Pair, a, b, n)
  static void dispatch(WrapperCall& c) { c.otherwise(unwrap); }
};

}  // namespace reprise::test
