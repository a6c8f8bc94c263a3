#include "tensor/layout.h"

#include "base/errors.h"
#include "guards/expr.h"
#include "guards/shape_env.h"

namespace reprise {

Ints contiguous_strides(const Ints& sizes) {
  Ints strides(sizes.size(), Int(1));
  std::size_t i = sizes.size();
  std::uint64_t number = 1;  // of eager tensors there is nothing else
  for (; i > 0 && !sizes[i - 1].is_symbolic(); --i) {
    strides[i - 1] = static_cast<std::int64_t>(number);
    if (const std::int64_t size = detail::plain_value(sizes[i - 1])) number *= static_cast<std::uint64_t>(size);
  }
  if (i == 0) return strides;
  guards::LibraryScope operators;
  Int step = static_cast<std::int64_t>(number);
  while (i-- > 0) {
    strides[i] = step;
    // Whether a symbolic size is 0 is no question worth a guard: the strides of an empty tensor are never used.
    if (sizes[i].is_symbolic() || detail::plain_value(sizes[i]) != 0) step *= sizes[i];
  }
  return strides;
}

Int numel(const Ints& sizes) {
  guards::LibraryScope operators;
  Int n = 1;
  for (Int s : sizes) n *= s;
  return n;
}

int wrap_dim(std::int64_t d, int dim, const char* op, SourceLoc loc) {
  int n = dim == 0 ? 1 : dim;
  if (d < -n || d >= n)
    fail(ErrorCode::IndexOutOfRange, op, loc, "dimension ", d, " is out of range; a tensor of ", dim,
         " dimensions has dimensions ", -n, " to ", n - 1);
  return static_cast<int>(d < 0 ? d + n : d);
}

bool is_contiguous(const Layout& l) {
  guards::LibraryScope operators;
  for (Int s : l.sizes)
    if (!s.is_symbolic() && detail::plain_value(s) == 0) return true;
  Int expected = 1;
  for (int i = l.dim() - 1; i >= 0; --i) {
    Int size = l.sizes[i];
    if (!size.is_symbolic() && detail::plain_value(size) == 1) continue;
    // An identical stride answers without asking; otherwise the size is asked first, as ATen does.
    if (!identical(l.strides[i], expected) && size != 1 && l.strides[i] != expected) {
      for (Int s : l.sizes)  // an empty tensor is contiguous whatever its strides are
        if (s.is_symbolic() && s == 0) return true;
      return false;
    }
    expected *= size;
  }
  return true;
}

namespace {

// What is known of it by now. Sizes are written down before guards are taken that make them equal, or numbers.
Int known(Int i) { return i.is_symbolic() ? Int(i.living()->env().simplify(i.expr())) : i; }

}  // namespace

bool known_contiguous(const Layout& l) {
  guards::LibraryScope operators;
  auto is = [](Int i, std::int64_t v) { return !i.is_symbolic() && detail::plain_value(i) == v; };
  for (Int s : l.sizes)
    if (is(known(s), 0)) return true;
  Int expected = 1;
  for (int i = l.dim() - 1; i >= 0; --i) {
    Int size = known(l.sizes[i]);
    if (is(size, 1)) continue;
    if (!identical(l.strides[i], expected) && !identical(known(l.strides[i]), known(expected))) return false;
    expected *= size;
    if (is(known(expected), 0)) return true;  // no size of them need be known to be the 0
  }
  return true;
}

bool known_row_major(const Layout& l) {
  guards::LibraryScope operators;
  const Ints strides = contiguous_strides(l.sizes);
  for (int i = 0; i < l.dim(); ++i)
    if (!identical(l.strides[i], strides[i]) && !identical(known(l.strides[i]), known(strides[i]))) return false;
  return true;
}

}  // namespace reprise
