#include "kernels/loop/body_builder.h"

#include <bit>

#include "base/errors.h"
#include "base/hash.h"
#include "kernels/loop/registers.h"
#include "kernels/loop/scalar_eval.h"

namespace reprise::kernels {

namespace {

using Kind = BodyNode::Kind;

bool same(const Ints& a, const Ints& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!identical(a[i], b[i])) return false;
  return true;
}

bool same(const Access& a, const Access& b) {
  if (a.buffer != b.buffer || !same(a.strides, b.strides) || !identical(a.offset, b.offset) ||
      a.gathers.size() != b.gathers.size())
    return false;
  for (std::size_t i = 0; i < a.gathers.size(); ++i) {
    const Access::Gather &x = a.gathers[i], &y = b.gathers[i];
    if (x.node != y.node || !identical(x.stride, y.stride) || !identical(x.extent, y.extent)) return false;
  }
  return true;
}

// Floats by their bits: 0.0 and -0.0 are two constants, and a NaN is itself.
bool same(const BodyNode& a, const BodyNode& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.op == b.op && a.reduce == b.reduce && a.within == b.within &&
         a.a == b.a && a.b == b.b && a.c == b.c && a.access == b.access &&
         std::bit_cast<std::uint64_t>(a.fimm) == std::bit_cast<std::uint64_t>(b.fimm) && a.iimm == b.iimm &&
         identical(a.param, b.param) && a.bits == b.bits;
}

std::uint64_t hash(const BodyNode& n) {
  std::uint64_t h =
      hash_mix(kHashSeed, static_cast<std::uint64_t>(n.kind) | static_cast<std::uint64_t>(n.dtype) << 8 |
                              static_cast<std::uint64_t>(n.op) << 16 | static_cast<std::uint64_t>(n.reduce) << 32);
  h = hash_mix(h, static_cast<std::uint64_t>(n.a) << 32 | n.b);
  h = hash_mix(h, static_cast<std::uint64_t>(n.c) << 32 | n.access);
  h = hash_mix(h, std::bit_cast<std::uint64_t>(n.fimm));
  return hash_mix(h, static_cast<std::uint64_t>(n.iimm));
}

double rounded(double v, DType t) {
  switch (t) {
    case DType::Float32: return static_cast<float>(v);
    case DType::Float16: return static_cast<float>(Half(static_cast<float>(v)));
    case DType::BFloat16: return static_cast<float>(BFloat16(static_cast<float>(v)));
    case DType::Float8E4M3FN: return static_cast<float>(Float8E4M3FN(static_cast<float>(v)));
    case DType::Float8E5M2: return static_cast<float>(Float8E5M2(static_cast<float>(v)));
    default: return v;
  }
}

}  // namespace

DType BodyBuilder::dtype(std::uint32_t node) const {
  REPRISE_CHECK(node < k_.body.size());
  return register_dtype(k_.body[node].dtype);
}

std::uint32_t BodyBuilder::buffer(DType dtype, bool written) {
  k_.buffers.push_back({dtype, written});
  return static_cast<std::uint32_t>(k_.buffers.size() - 1);
}

std::uint32_t BodyBuilder::add(BodyNode n) {
  std::uint64_t h = hash(n);
  auto [first, last] = nodes_.equal_range(h);
  for (; first != last; ++first)
    if (same(k_.body[first->second], n)) return first->second;
  std::uint32_t at = static_cast<std::uint32_t>(k_.body.size());
  k_.body.push_back(n);
  nodes_.emplace(h, at);
  return at;
}

std::uint32_t BodyBuilder::access(Access a) {
  REPRISE_CHECK(a.buffer < k_.buffers.size());
  for (std::size_t i = 0; i < k_.accesses.size(); ++i)
    if (same(k_.accesses[i], a)) return static_cast<std::uint32_t>(i);
  k_.accesses.push_back(std::move(a));
  return static_cast<std::uint32_t>(k_.accesses.size() - 1);
}

std::uint32_t BodyBuilder::load(Access a) {
  BodyNode n{.kind = Kind::Load, .dtype = DType::Float32};
  n.access = access(std::move(a));
  n.dtype = register_dtype(k_.buffers[k_.accesses[n.access].buffer].dtype);
  return add(n);
}

std::uint32_t BodyBuilder::constant(const Scalar& s, DType t) {
  if (s.is_symbolic() && !s.is_float()) return param(s.word(), register_dtype(t));
  if (s.is_symbolic()) {
    BodyNode n{.kind = Kind::Param, .dtype = is_floating(t) ? register_dtype(t) : DType::Float64};
    n.param = s.word(), n.bits = true;
    return cast(add(n), t);
  }
  BodyNode n{.kind = Kind::Const, .dtype = register_dtype(t)};
  if (is_floating(t)) {
    // An integer goes to float32 in one rounding, as the casts of the loop do it.
    bool once = s.is_float() || t == DType::Float64;
    n.fimm = rounded(once ? s.to_double() : static_cast<double>(static_cast<float>(s.to_int().hint())), t);
  } else if (t == DType::Bool) {
    n.iimm = s.is_float() ? s.to_double() != 0 : s.to_int().hint() != 0;
  } else {
    n.iimm = s.is_float() ? scalar::cast(t, DType::Float64, scalar::of_double(s.to_double())).i
                          : wrap_to(s.to_int().hint(), t);
  }
  return add(n);
}

std::uint32_t BodyBuilder::param(Int v, DType t) {
  if (!v.is_symbolic()) return constant(Scalar(v), t);
  BodyNode n{.kind = Kind::Param, .dtype = register_dtype(t)};
  n.param = v;
  return add(n);
}

std::uint32_t BodyBuilder::index(int dim) {
  BodyNode n{.kind = Kind::Index, .dtype = DType::Int64};
  n.iimm = dim;
  return add(n);
}

std::uint32_t BodyBuilder::op(ScalarOp op, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  BodyNode n{.kind = Kind::Op, .dtype = DType::Bool};
  n.op = op, n.a = a, n.b = b, n.c = c;
  int given = (a != ~0u) + (b != ~0u) + (c != ~0u);
  if (given != scalar_op_arity(op))
    fail(ErrorCode::Internal, "loop kernel", {}, std::string(scalar_op_name(op)), " takes ", scalar_op_arity(op),
         " operands, not ", given);
  DType value = dtype(op == ScalarOp::Where ? b : a);
  for (std::uint32_t o : {a, b, c}) {
    bool condition = op == ScalarOp::Where && o == a;
    DType want = condition ? DType::Bool : value;
    // A node that is both condition and value (where(x, x, y) of bools) is checked as either; both want Bool.
    if (o != ~0u && dtype(o) != want)
      fail(ErrorCode::Internal, "loop kernel", {}, std::string(scalar_op_name(op)), " of ", dtype(o), " where ", want,
           " is needed");
  }
  if (scalar_op(op).yields == ScalarYields::Same) n.dtype = value;
  return add(n);
}

std::uint32_t BodyBuilder::cast(std::uint32_t node, DType t) {
  DType have = dtype(node);
  const BodyNode& from = k_.body[node];
  if (!is_low_precision(t)) {
    if (have == t) return node;
    if (from.kind == Kind::Const && have != DType::Float64 && !is_floating(have)) return constant(Scalar(from.iimm), t);
  } else {
    if (from.kind == Kind::Load && k_.buffers[k_.accesses[from.access].buffer].dtype == t) return node;
    if (from.kind == Kind::Cast && from.dtype == t) return node;
    if (from.kind == Kind::Const && have == DType::Float32) return constant(Scalar(from.fimm), t);
  }
  BodyNode n{.kind = Kind::Cast, .dtype = t};
  n.a = node;
  return add(n);
}

std::uint32_t BodyBuilder::reduce(ReduceOp op, std::uint32_t node, bool within) {
  DType t = dtype(node);
  if (op == ReduceOp::Any || op == ReduceOp::All) t = DType::Bool;
  if ((op == ReduceOp::Sum || op == ReduceOp::Prod) && !is_floating(t)) t = DType::Int64;
  BodyNode n{.kind = Kind::Reduce, .dtype = t};
  n.reduce = op, n.within = within;
  n.a = cast(node, t);
  return add(n);
}

std::uint32_t BodyBuilder::store(Access a, std::uint32_t node, std::uint32_t predicate) {
  BodyNode n{.kind = Kind::Store, .dtype = DType::Float32};
  n.access = access(std::move(a));
  BufferArg& into = k_.buffers[k_.accesses[n.access].buffer];
  into.written = true;
  n.dtype = into.dtype;
  n.a = dtype(node) == register_dtype(into.dtype) ? node : cast(node, into.dtype);
  n.b = predicate;
  REPRISE_CHECK(predicate == ~0u || dtype(predicate) == DType::Bool);
  k_.body.push_back(n);  // not through add(): writing twice is not the same as writing once
  return static_cast<std::uint32_t>(k_.body.size() - 1);
}

}  // namespace reprise::kernels
