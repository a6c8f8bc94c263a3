#include "base/errors.h"
#include "graph/shape_rules.h"

namespace reprise::graph {
namespace {

[[noreturn]] void wrong_kind(const RuleCtx& c, int i, const char* wanted) {
  fail(ErrorCode::InvalidArgument, c.op.schema.name.c_str(), c.loc, "argument '", c.op.schema.args[i].name,
       "' must be ", wanted);
}

template <class T>
const T& get(const RuleCtx& c, int i, const char* wanted) {
  const T* v = std::get_if<T>(&c.args[i]);
  if (!v) wrong_kind(c, i, wanted);
  return *v;
}

/// f(argument index, metadata) for every defined tensor among the operands.
template <class F>
void for_each_tensor(const RuleCtx& c, F&& f) {
  for (std::size_t i = 0; i < c.args.size(); ++i) {
    if (auto* m = std::get_if<const TensorMeta*>(&c.args[i]); m && *m) f(i, **m);
    if (auto* list = std::get_if<std::span<const TensorMeta* const>>(&c.args[i]))
      for (const TensorMeta* m : *list)
        if (m) f(i, *m);
  }
}

void check_storage_only(const RuleCtx& c) {
  const char* name = c.op.schema.name.c_str();
  const TensorMeta* first = nullptr;
  for_each_tensor(c, [&](std::size_t i, const TensorMeta& m) {
    if (is_storage_only(m.dtype) && !c.op.moves)
      fail(ErrorCode::DTypeMismatch, name, c.loc, "'", c.op.schema.args[i].name, "' is ", dtype_name(m.dtype),
           ", a dtype for storage alone; cast it, for example with to(kFloat32)");
    if (first && c.op.cls == OpClass::Join && first->dtype != m.dtype &&
        (is_storage_only(first->dtype) || is_storage_only(m.dtype)))
      fail(ErrorCode::DTypeMismatch, name, c.loc, dtype_name(first->dtype), " and ", dtype_name(m.dtype),
           " are not promoted to a common dtype; cast one with to()");
    if (!first) first = &m;
  });
}

}  // namespace

void infer(RuleCtx& c) {
  check_storage_only(c);
  c.op.shape(c);
  const int wanted = c.op.n_made;
  if (wanted >= 0 && c.results.size() != static_cast<std::size_t>(wanted))
    fail(ErrorCode::InvalidArgument, c.op.schema.name.c_str(), c.loc, "its shape rule gives ", c.results.size(),
         " results; its schema says ", wanted, c.op.writes.empty() ? "" : " beside the arguments that it writes");
  if (c.op.moves) return;
  for (const TensorMeta& m : c.results)
    if (is_storage_only(m.dtype))
      fail(ErrorCode::DTypeMismatch, c.op.schema.name.c_str(), c.loc, dtype_name(m.dtype),
           " is a dtype for storage alone: make float32 and cast it with to()");
}

const TensorMeta& RuleCtx::tensor(int i) const {
  const TensorMeta* m = optional_tensor(i);
  if (!m) wrong_kind(*this, i, "a defined tensor");
  return *m;
}

const TensorMeta* RuleCtx::optional_tensor(int i) const {
  auto* m = std::get_if<const TensorMeta*>(&args[i]);
  return m ? *m : nullptr;
}

std::span<const TensorMeta* const> RuleCtx::tensors(int i) const {
  return get<std::span<const TensorMeta* const>>(*this, i, "a list of tensors");
}

const Graph& RuleCtx::region(int i) const {
  const Graph* g = get<const Graph*>(*this, i, "a region");
  if (!g) wrong_kind(*this, i, "a region");
  return *g;
}

Int RuleCtx::integer(int i) const { return get<Int>(*this, i, "an integer"); }
std::int64_t RuleCtx::constant_int(int i) const { return integer(i).value(loc); }
const Ints& RuleCtx::ints(int i) const { return get<Ints>(*this, i, "a list of integers"); }

Scalar RuleCtx::scalar(int i) const {
  if (auto* v = std::get_if<Int>(&args[i])) return Scalar(*v);
  return get<Scalar>(*this, i, "a number");
}

bool RuleCtx::flag(int i) const { return get<bool>(*this, i, "a bool"); }

DType RuleCtx::dtype(int i, DType otherwise) const {
  return has(i) ? checked_dtype(get<DType>(*this, i, "a dtype"), op.schema.name.c_str(), loc) : otherwise;
}

std::string_view RuleCtx::str(int i) const {
  return has(i) ? get<std::string_view>(*this, i, "a string") : std::string_view{};
}

DType checked_dtype(DType t, const char* op, SourceLoc loc) {
  if (static_cast<int>(t) >= kDTypeCount)
    fail(ErrorCode::InvalidArgument, op, loc, "there is no dtype ", static_cast<int>(t));
  return t;
}

void check_sizes(const Ints& sizes, std::int64_t item_size, const char* op, SourceLoc loc) {
  if (sizes.size() > kMaxRank) {
    fail(ErrorCode::InvalidArgument, op, loc, "the result would have ", sizes.size(), " dimensions; at most ", kMaxRank,
         " are supported");
  }
  const std::optional<std::int64_t> n = product_now(sizes);
  std::int64_t bytes = 0;
  if (!n || __builtin_mul_overflow(*n, item_size, &bytes)) {
    fail(ErrorCode::InvalidArgument, op, loc, "sizes ", sizes_text(sizes), " hold more ",
         item_size == 1 ? "elements" : "bytes", " than 63 bits can count");
  }
}

void RuleCtx::result(DType dtype, const Ints& sizes) {
  check_sizes(sizes, reprise::item_size(dtype), op.schema.name.c_str(), loc);
  TensorMeta m;
  m.dtype = dtype;
  m.device = common_device(args, op.schema.name.c_str(), loc);
  m.layout.sizes = sizes;
  m.layout.strides = contiguous_strides(sizes);
  results.push_back(std::move(m));
}

void RuleCtx::view(const Layout& layout) {
  const TensorMeta& in = tensor(0);
  results.push_back({in.dtype, in.device, layout});
}

Device common_device(std::span<const RuleArg> args, const char* op, SourceLoc loc) {
  const TensorMeta* first = nullptr;
  auto visit = [&](const TensorMeta* m) {
    if (!m) return;
    auto floats = [](const TensorMeta& t) { return t.dim() == 0 && t.device.type == DeviceType::Cpu; };
    if (!first) {
      first = m;
    } else if (first->device != m->device) {
      if (floats(*first)) {
        first = m;
      } else if (!floats(*m)) {
        fail(ErrorCode::DeviceMismatch, op, loc, "tensors on ", first->device.str(), " and ", m->device.str());
      }
    }
  };
  for (const RuleArg& a : args) {
    if (auto* m = std::get_if<const TensorMeta*>(&a)) visit(*m);
    if (auto* l = std::get_if<std::span<const TensorMeta* const>>(&a)) {
      for (const TensorMeta* m : *l) visit(m);
    }
  }
  return first ? first->device : Device::cpu();
}

namespace {

/// Categories of promotion: bool < integers < floats.
int category(DType t) { return t == DType::Bool ? 0 : is_floating(t) ? 2 : 1; }

struct Kind {
  bool any = false;
  DType dtype = DType::Bool;
  void add(DType t) {
    dtype = any ? promote(dtype, t) : t;
    any = true;
  }
};

/// `higher` (of greater standing) decides unless `lower` is of a higher category.
Kind combine(Kind higher, Kind lower) {
  if (!lower.any) return higher;
  if (!higher.any) return lower;
  if (category(lower.dtype) > category(higher.dtype)) higher.dtype = promote(higher.dtype, lower.dtype);
  return higher;
}

}  // namespace

DType result_dtype(std::span<const RuleArg> operands) {
  Kind dimensioned, zero_dim, number;
  auto visit = [&](const TensorMeta* m) {
    if (m) (m->dim() ? dimensioned : zero_dim).add(m->dtype);
  };
  for (const RuleArg& a : operands) {
    if (auto* m = std::get_if<const TensorMeta*>(&a)) visit(*m);
    if (auto* l = std::get_if<std::span<const TensorMeta* const>>(&a)) {
      for (const TensorMeta* m : *l) visit(m);
    }
    if (auto* s = std::get_if<Scalar>(&a)) number.add(s->dtype());
    if (std::holds_alternative<Int>(a)) number.add(DType::Int64);
  }
  return combine(dimensioned, combine(zero_dim, number)).dtype;
}

}  // namespace reprise::graph
