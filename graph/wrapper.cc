// Handles of wrapper tensors: how they are made, and what they mean.
#include "graph/wrapper.h"

#include <algorithm>

#include "base/errors.h"
#include "reprise/ops.h"
#include "tensor/wrapped.h"

namespace reprise {

using graph::state_of_wrapper;
using graph::WrapperState;

namespace graph {

const WrapperState* state_of_wrapper(const TensorImpl& t) noexcept {
  return t.keys & kWrappedKey ? dynamic_cast<const WrapperState*>(t.notes->wrapper.get()) : nullptr;
}

void make_handle(TensorImpl& t, std::shared_ptr<WrapperState> state) {
  if (!t.notes) t.notes = new TensorNotes;
  t.notes->wrapper = std::move(state);
  t.keys |= kWrappedKey;
  t.structure_word.store(0, std::memory_order_relaxed);
}

namespace {

struct Inner final : reprise::detail::LeafReader {
  explicit Inner(const std::function<void(const Tensor&)>& f) : f(f) {}
  void tensor(const Tensor& t) override {
    if (t.impl()) f(t);
  }
  void integer(const Int&) override { varies = "an Int"; }
  void number(const Scalar&) override { varies = "a Scalar or a Float"; }
  void constant(std::uint64_t, reprise::detail::ConstantKind) override {}
  void text(std::string_view) override {}
  const std::function<void(const Tensor&)>& f;
  const char* varies = nullptr;  ///< a field that is no metadata
};

}  // namespace

void for_each_inner(const WrapperState& s, const std::function<void(const Tensor&)>& f) {
  Inner reader(f);
  s.type.read(s.value.get(), reader);
}

std::uint64_t version_with_inner(const TensorImpl& t) {
  std::uint64_t n = t.trace ? t.trace->writes() : t.storage->version.load(std::memory_order_relaxed);
  if (const WrapperState* s = state_of_wrapper(t))
    for_each_inner(*s, [&](const Tensor& inner) { n += version_with_inner(*inner.impl()); });
  return n;
}

}  // namespace graph

namespace {

bool is_among(const Tensor& t, const detail::WrapperType& type) {
  const WrapperState* s = state_of_wrapper(t);
  if (!s) return false;
  if (&s->type == &type) return true;
  bool found = false;
  graph::for_each_inner(*s, [&](const Tensor& inner) { found = found || is_among(inner, type); });
  return found;
}

Tensor plain_of(const Tensor& t, SourceLoc loc) { return plain(t, loc); }
std::string name_of(const Tensor& t) { return std::string(wrapper_name(t)); }

Tensor handle_of(const Looks& looks, Device device) {
  std::int64_t sizes[kMaxRank], strides[kMaxRank], step = 1;
  const int rank = static_cast<int>(looks.sizes.size());
  for (int d = rank; d-- > 0;) {
    sizes[d] = looks.sizes[static_cast<std::size_t>(d)].value();
    strides[d] = step;
    step *= std::max<std::int64_t>(sizes[d], 1);
  }
  Storage* s = new_storage_nowhere(device, step * item_size(looks.dtype));
  return Tensor::adopt(new_impl(looks.dtype, device, sizes, strides, rank, 0, s));
}

}  // namespace

Tensor detail::wrap_value(const WrapperType& type, std::shared_ptr<void> value, SourceLoc loc) {
  const char* name = type.name.c_str();
  if (!plain_of_wrapper.load(std::memory_order_relaxed)) {
    name_of_wrapper = name_of, version_of_wrapper = graph::version_with_inner;
    plain_of_wrapper = plain_of;
  }
  auto state = std::make_shared<WrapperState>(type, value);
  Tensor first;
  const std::function<void(const Tensor&)> look = [&](const Tensor& t) {
    if (is_among(t, type))
      fail(ErrorCode::InvalidArgument, name, loc, "a wrapper inside of itself: an inner tensor is a ", name, ", too");
    if (!first.impl()) first = t;
    if (t.device() != first.device())
      fail(ErrorCode::DeviceMismatch, name, loc, "inner tensors are on ", first.device().str(), " and on ",
           t.device().str());
  };
  graph::Inner reader(look);
  type.read(value.get(), reader);
  if (!first.impl()) fail(ErrorCode::InvalidArgument, name, loc, "a wrapper without a defined inner tensor");
  if (reader.varies)
    fail(ErrorCode::InvalidArgument, name, loc, "a field is ", reader.varies,
         ", which varies from call to call: metadata are numbers, bools, enums and strings");
  const Looks looks = type.looks(value.get());
  if (looks.sizes.size() > kMaxRank)
    fail(ErrorCode::InvalidArgument, name, loc, "looks() has ", looks.sizes.size(),
         " dimensions, and a tensor at most ", kMaxRank);
  for (const Int& s : looks.sizes)
    if (s.hint() < 0) fail(ErrorCode::InvalidArgument, name, loc, "looks() has a size of ", s.hint());
  // What a trace makes has symbolic sizes; nothing reads it.
  const Tensor made = current_trace ? empty(looks.sizes, {.dtype = looks.dtype, .device = first.device()}, loc)
                                    : handle_of(looks, first.device());
  graph::make_handle(*made.impl(), std::move(state));
  return made;
}

const void* detail::value_of_wrapper(const Tensor& t, const WrapperType* type) noexcept {
  const WrapperState* s = state_of_wrapper(t);
  return s && &s->type == type ? s->value.get() : nullptr;
}

void detail::not_a_wrapper(const Tensor& t, const WrapperType& type, SourceLoc loc) {
  fail(ErrorCode::InvalidArgument, type.name.c_str(), loc,
       !t.impl()       ? "an undefined tensor"
       : is_wrapper(t) ? "the tensor wraps a " + std::string(wrapper_name(t))
                       : "the tensor is a plain one",
       ", no ", type.name);
}

bool is_wrapper(const Tensor& t) noexcept { return state_of_wrapper(t) != nullptr; }
std::string_view wrapper_name(const Tensor& t) noexcept {
  const WrapperState* s = state_of_wrapper(t);
  return s ? std::string_view(s->type.name) : std::string_view();
}

Tensor plain(const Tensor& t, SourceLoc loc) {
  const WrapperState* const s = state_of_wrapper(t);
  if (!s) return t;
  if (!s->type.plain)
    fail(ErrorCode::InvalidArgument, s->type.name.c_str(), loc, "has no plain meaning (", s->type.name, "::plain)");
  // (A handle of its own: one that has held a traced tensor, and holds a captured one then, is nobody's variable.)
  const Tensor p = s->type.plain(s->value.get(), loc);
  if (!p.impl()) fail(ErrorCode::InvalidArgument, s->type.name.c_str(), loc, "plain() gives an undefined tensor");
  return is_wrapper(p) ? plain(p, loc) : p;
}

}  // namespace reprise
