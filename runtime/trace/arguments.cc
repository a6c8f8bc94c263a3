// What a first call does with the leaves of its arguments and results: they become traced ones, and are compared with
// what the function made of them.
#include <algorithm>

#include "base/bail.h"
#include "base/hash.h"
#include "graph/wrapper.h"
#include "runtime/call/call.h"
#include "runtime/call/layout_class.h"
#include "runtime/trace/joint.h"
#include "runtime/trace/tracer.h"

namespace reprise::detail {

void ArgumentTracer::tensor(Tensor& t) {
  if (!t.defined()) return;
  const std::size_t number = next_tensor_++;
  const TensorImpl* concrete = frame_.tensors[number];
  const graph::WrapperState* const wrapper = graph::state_of_wrapper(*concrete);
  if ((concrete->keys & kWrappedKey) && !wrapper) bail(Bail::wrapped, "compile", {});
  const std::uint64_t word = tracer_.words.empty() ? runtime::structure_word(*concrete) : tracer_.words[number];
  const std::size_t input = tracer_.inputs();
  t = tracer_.argument(concrete, word, 2 + next_value_, path_.text(), path_.kind());
  if (tracer_.tape) follow_argument(tracer_, static_cast<std::uint32_t>(input), t, *concrete);
  next_value_ += runtime::value_count(word);
  if (!wrapper) return;
  std::shared_ptr<void> fields = wrapper->type.copy(wrapper->value.get());
  wrapper->type.write(fields.get(), *this);
  graph::make_handle(*t.impl(), std::make_shared<graph::WrapperState>(wrapper->type, std::move(fields)));
}

void ArgumentTracer::integer(Int& i) { i = tracer_.integer_argument(2 + next_value_++, path_.text()); }
void ArgumentTracer::number(Scalar& s) {
  if (s.kind() != Scalar::Kind::Bool) s = tracer_.number_argument(s, 2 + next_value_++, path_.text());
}

FunctionScope::FunctionScope(Tracer* t, const FunctionObject& function) : tracer_(t) {
  if (!t) return;
  object_ = function.bytes;
  const char* at = static_cast<const char*>(object_.at);
  before_.assign(at, at + object_.size);
  t->function_seen(function.object, object_, before_);
  outer_ = t->function_runs(true);
}
FunctionScope::~FunctionScope() { end(); }
void FunctionScope::end() {
  Tracer* t = std::exchange(tracer_, nullptr);
  if (!t) return;
  t->function_runs(outer_);
  t->function_ended(object_);
  t->check_bytes(object_, before_);
}

void ArgumentCheck::tensor(const Tensor& t) {
  if (recording_) tensors_.push_back(t);
  else compare(at_tensor_ < tensors_.size() && t.impl() == tensors_[at_tensor_++].impl());
}
void ArgumentCheck::integer(const Int& i) {
  if (recording_) integers_.push_back(i);
  else compare(at_integer_ < integers_.size() && identical(i, integers_[at_integer_++]));
}
void ArgumentCheck::number(const Scalar& s) {
  if (recording_) numbers_.push_back(s);
  else compare(at_number_ < numbers_.size() && identical(s, numbers_[at_number_++]));
}
void ArgumentCheck::constant(std::uint64_t word, ConstantKind) {
  if (recording_) words_.push_back(word);
  else compare(at_word_ < words_.size() && words_[at_word_++] == word);
}
void ArgumentCheck::text(std::string_view s) { constant(hash_text(s), {}); }
void ArgumentCheck::compare(bool same) const { tracer_.check_unchanged(same); }

void ResultTracer::tensor(Tensor& t) {
  ++leaves_;
  const graph::WrapperState* const wrapper = graph::state_of_wrapper(t);
  if (wrapper && t.impl()->trace && !tracer_.is_input(t)) {
    if (requires_grad(*t.impl()))
      bail(Bail::wrapped, "compile", {}, "a result is a wrapper (", wrapper->type.name, ") that wants gradients");
    const std::shared_ptr<void> fields = wrapper->type.copy(wrapper->value.get());
    const std::size_t before = std::exchange(leaves_, 0);
    wrapper->type.write(fields.get(), *this);
    tracer_.result_wrapper({&wrapper->type, fields, std::exchange(leaves_, before), tracer_.results().size()});
    t = Tensor();
    return;
  }
  tracer_.result(t);
  t = Tensor();
}
void ResultTracer::integer(Int& i) {
  tracer_.result(i);
  i = 0;
}
void ResultTracer::number(Scalar& s) {
  if (s.kind() == Scalar::Kind::Bool) return;
  tracer_.result(s.word());
  s = s.with_word(0);
}
void set_result_template(Tracer& t, std::shared_ptr<void> p) { t.result_template = std::move(p); }

}  // namespace reprise::detail
