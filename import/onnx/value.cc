#include <cmath>

#include "import/onnx/core.h"
#include "reprise/compile.h"
#include "tensor/impl.h"

namespace reprise::onnx {
namespace {

template <class T>
Tensor plain(const Numbers& n, IntArrayRef sizes) {
  std::vector<T> all;
  for (const Scalar& s : n.values) {
    if constexpr (std::is_floating_point_v<T>) all.push_back(static_cast<T>(s.to_double()));
    else all.push_back(static_cast<T>(s.to_int().value()));
  }
  return tensor_of(all, sizes);
}

}  // namespace

Scalar converted(const Scalar& s, DType to) {
  if (to == kBool) return s.is_float() ? Scalar(bool(s != 0.0)) : Scalar(bool(s.to_int() != 0));
  if (is_floating(to)) {
    if (s.is_symbolic()) return s.is_float() ? s : Scalar(s.to_float());
    const double d = s.to_double();
    return Scalar(to == kFloat64 ? d : static_cast<double>(static_cast<float>(d)));
  }
  if (s.is_float()) {
    const double d = s.to_double();
    if (std::isnan(d)) return Scalar(0);
    if (std::fabs(d) >= 9.2e18) return Scalar(d > 0 ? INT64_MAX : INT64_MIN);
    return converted(Scalar(static_cast<std::int64_t>(d)), to);
  }
  const Int i = s.to_int();
  if (i.is_symbolic() || to == kInt64) return Scalar(i);
  const std::int64_t v = i.hint();
  if (to == kInt32) return Scalar(static_cast<std::int64_t>(static_cast<std::int32_t>(v)));
  return to == kInt8 ? Scalar(static_cast<std::int64_t>(static_cast<std::int8_t>(v)))
                     : Scalar(static_cast<std::int64_t>(static_cast<std::uint8_t>(v)));
}

Tensor to_tensor(const Numbers& n) {
  Ints sizes;
  for (std::int64_t d : n.dims) sizes.push_back(d);
  bool symbolic = false;
  for (const Scalar& s : n.values) symbolic |= s.is_symbolic();
  if (!symbolic && !reprise::detail::around().tracer) {
    if (n.dtype == kFloat64) return plain<double>(n, sizes);
    if (is_floating(n.dtype)) return plain<float>(n, sizes).to(n.dtype);
    return plain<std::int64_t>(n, sizes).to(n.dtype);
  }
  bool same = true;
  for (const Scalar& s : n.values) same &= identical(s, n.values.front());
  if (n.values.empty()) return empty(sizes, {.dtype = n.dtype});
  if (same) return full(sizes, n.values.front(), {.dtype = n.dtype});
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < n.values.size();) {  // runs of one number are one part
    std::size_t end = i + 1;
    while (end < n.values.size() && identical(n.values[i], n.values[end])) ++end;
    parts.push_back(full({Int(end - i)}, n.values[i], {.dtype = n.dtype}));
    i = end;
  }
  Tensor flat = cat(parts, 0);
  return n.dims.size() == 1 ? flat : flat.view(sizes);
}

Numbers read_numbers(const Tensor& t) {
  Numbers n{.dtype = t.dtype()};
  if (is_storage_only(t.dtype())) fail(ErrorCode::DTypeMismatch, "onnx", {}, "no sizes are computed with ", t.dtype());
  const Ints sizes = t.sizes();
  for (Int d : sizes) n.dims.push_back(d.value());
  constexpr std::int64_t kMostRead = 16;
  const std::int64_t all = t.numel().value();
  if (t.impl()->trace && n.dtype != kBool && all <= kMostRead) {  // numbers that depend on data (docs/data_sizes.md)
    const Tensor flat = t.reshape({all});
    for (std::int64_t i = 0; i < all; ++i) n.values.push_back(flat.select(0, i).item());
    return n;
  }
  if (is_floating(n.dtype)) {
    for (double v : t.to_vector<double>()) n.values.push_back(v);
  } else {
    for (std::int64_t v : t.to_vector<std::int64_t>())
      n.values.push_back(n.dtype == kBool ? Scalar(v != 0) : Scalar(v));
  }
  return n;
}

std::shared_ptr<const Numbers> numbers_of_constant(const Tensor& t) {
  if (is_storage_only(t.dtype()) || t.numel().value() > static_cast<std::int64_t>(Numbers::kMost)) return nullptr;
  return std::make_shared<const Numbers>(read_numbers(t));
}

const Value& Frame::at(int slot) const {
  static const Value none;
  if (slot < 0) return none;
  const std::size_t i = static_cast<std::size_t>(slot);
  return values[i].given() ? values[i] : program.constants[i];
}

// ---- what an operator's function asks

int Call::version() const { return static_cast<int>(node_.version); }
const char* Call::op() const { return node_.row ? node_.row->name : node_.data.op.c_str(); }
int Call::inputs() const { return static_cast<int>(node_.in.size()); }
int Call::outputs() const { return static_cast<int>(node_.out.size()); }
std::int32_t Call::held_wider(int input) const {
  const std::size_t i = static_cast<std::size_t>(input);
  return i < node_.elements.size() ? node_.elements[i] : 0;
}
bool Call::has(int i) const { return i < inputs() && frame_.at(node_.in[static_cast<std::size_t>(i)]).given(); }
bool Call::wants(int i) const { return i < outputs() && node_.out[static_cast<std::size_t>(i)] >= 0; }

const Value& Call::value(int i) const {
  if (!has(i)) bad("input ", i, " was left out");
  return frame_.at(node_.in[static_cast<std::size_t>(i)]);
}
Tensor Call::x(int i) const {
  const Value& v = value(i);
  if (v.has_tensor) return v.tensor;
  if (v.numbers) return to_tensor(*v.numbers);
  bad("input ", i, " is a sequence; wanted a tensor");
}
Operand Call::beside(int i, const Tensor& x, Tensor& room) const {
  const auto& n = value(i).numbers;
  if (n && n->values.size() == 1 && !n->values[0].is_symbolic() && is_floating(n->dtype) && n->dtype == x.dtype() &&
      static_cast<int>(n->dims.size()) <= x.dim())
    return Operand(n->values[0]);
  room = this->x(i);
  return Operand(room);
}
std::shared_ptr<const Numbers> Call::numbers(int i) const {
  const Value& v = value(i);
  if (v.numbers) return v.numbers;
  if (!v.has_tensor) bad("input ", i, " is a sequence; wanted a tensor");
  return std::make_shared<const Numbers>(read_numbers(v.tensor));
}
std::vector<Int> Call::ints(int i) const {
  std::vector<Int> all;
  const auto n = numbers(i);
  for (const Scalar& s : n->values) all.push_back(s.to_int());
  return all;
}
std::vector<std::int64_t> Call::constants(int i) const {
  std::vector<std::int64_t> all;
  for (Int v : ints(i)) all.push_back(v.value());
  return all;
}
Scalar Call::scalar(int i) const {
  const auto n = numbers(i);
  if (n->values.size() != 1) bad("input ", i, " has ", n->values.size(), " elements; wanted one");
  return n->values[0];
}
const Sequence& Call::sequence(int i) const {
  const Value& v = value(i);
  if (!v.sequence) bad("input ", i, " is a tensor; wanted a sequence");
  return *v.sequence;
}
bool Call::all_known() const {
  for (int i = 0; i < inputs(); ++i) {
    if (!has(i)) continue;
    const Value& v = value(i);
    // A constant of many floats is no affair of sizes: it stays the tensor that it is.
    constexpr std::size_t kMostFloats = 16;
    if (!v.numbers || (v.has_tensor && is_floating(v.numbers->dtype) && v.numbers->values.size() > kMostFloats))
      return false;
  }
  return true;
}

const Attribute* Call::attribute(std::string_view name) const {
  for (const Attribute& a : node_.data.attributes) {
    if (a.name != name) continue;
    if (a.of_caller.empty()) return &a;
    if (!frame_.caller) return nullptr;
    Call caller(*frame_.caller, const_cast<Frame&>(*frame_.outer));
    if (const Attribute* given = caller.attribute(a.of_caller)) return given;
    for (const Attribute& d : frame_.caller->function->defaults)
      if (d.name == a.of_caller) return &d;
    return nullptr;
  }
  return nullptr;
}
const Attribute* Call::typed(std::string_view name, Attribute::Kind kind) const {
  const Attribute* a = attribute(name);
  if (a && a->kind != kind) bad("the attribute '", std::string(name), "' has the wrong type");
  return a;
}
std::int64_t Call::i(std::string_view name, std::int64_t otherwise) const {
  const Attribute* a = typed(name, Attribute::Kind::Int);
  return a ? a->i : otherwise;
}
double Call::f(std::string_view name, double otherwise) const {
  const Attribute* a = typed(name, Attribute::Kind::Float);
  return a ? a->f : otherwise;
}
std::string Call::s(std::string_view name, std::string otherwise) const {
  const Attribute* a = typed(name, Attribute::Kind::String);
  return a ? a->s : std::move(otherwise);
}
std::optional<std::vector<std::int64_t>> Call::list(std::string_view name) const {
  const Attribute* a = typed(name, Attribute::Kind::Ints);
  return a ? std::optional(a->ints) : std::nullopt;
}
std::vector<std::int64_t> Call::list(std::string_view name, std::vector<std::int64_t> otherwise) const {
  return list(name).value_or(std::move(otherwise));
}
std::vector<double> Call::floats(std::string_view name) const {
  const Attribute* a = typed(name, Attribute::Kind::Floats);
  return a ? a->floats : std::vector<double>();
}
const Graph* Call::graph(std::string_view name) const {
  for (const auto& [key, g] : node_.graphs)
    if (key == name) return g.get();
  bad("has no graph '", std::string(name), "'");
}
void Call::give(Value v, int output) {
  if (wants(output))
    frame_.values[static_cast<std::size_t>(node_.out[static_cast<std::size_t>(output)])] = std::move(v);
}

std::optional<std::vector<std::int64_t>> axes_of(const Call& c, int input, int since) {
  if (c.version() < since) return c.list("axes");
  return c.has(input) ? std::optional(c.constants(input)) : std::nullopt;
}

}  // namespace reprise::onnx
