#include "runtime/trace/loop_body.h"

#include <exception>
#include <utility>

#include "base/bail.h"
#include "base/errors.h"
#include "graph/shape_rules.h"
#include "graph/thread_state.h"
#include "runtime/trace/region_derivative.h"

namespace reprise::detail {

std::string shown_in_loop(const Tensor& t) {
  Ints sizes;
  for (int d = 0; d < t.dim(); ++d) sizes.push_back(t.size(d));
  return std::string(dtype_name(t.dtype())) + " " + graph::sizes_text(sizes) +
         (t.device() == Device::cpu() ? "" : " on " + t.device().str());
}

bool same_sizes(const Tensor& a, const Tensor& b) {
  bool same = a.dim() == b.dim();
  for (int d = 0; same && d < a.dim(); ++d) same = static_cast<bool>(a.size(d) == b.size(d));
  return same;
}

void check_carried(const char* op, SourceLoc loc, std::size_t i, const Tensor& made, const Tensor& first,
                   bool devices) {
  if (made.dtype() != first.dtype() || (devices && made.device() != first.device()) || !same_sizes(made, first))
    fail(ErrorCode::ShapeMismatch, op, loc, "the body gives carried tensor ", i, " as ", shown_in_loop(made),
         ", and it was ", shown_in_loop(first), ": the state keeps its dtype, device and sizes");
}

void StateWords::compare(const char* op, SourceLoc loc, std::uint64_t word) {
  if (next_ >= words_.size() || words_[next_] != word)
    fail(ErrorCode::InvalidArgument, op, loc,
         "the body changes a number, a text or the length of a list in its state: only tensors change");
  ++next_;
}
std::uint64_t StateWords::word_of(const Int& i) {
  return i.is_symbolic() ? reinterpret_cast<std::uintptr_t>(i.expr()) : static_cast<std::uint64_t>(i.hint());
}

TracedBranch traced_body(Tracer& tracer, std::size_t around, const char* op, SourceLoc loc, std::vector<Tensor>& inside,
                         std::vector<Tensor>& made, void (*body)(void*), void* ctx) {
  const OffTape off;
  const std::uint64_t settings = graph::thread_state.word;
  auto throws = [&](const char* what) {
    tracer.abandon_branch(around);
    bail(Bail::branch_throws, op, loc, "the body throws while it is traced: ", what);
  };
  try {
    body(ctx);
    if (graph::thread_state.word != settings) bail(Bail::sets_for_thread, op, loc);
    {
      std::vector<Tensor> gone;
      for (Tensor& t : inside) tracer.take_leaf(t, gone);
    }
    return tracer.end_branch(std::move(made), loc);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::NotTraceable || e.code() == ErrorCode::Internal || e.code() == ErrorCode::OutOfMemory) {
      tracer.abandon_branch(around);
      throw;
    }
    throws(e.what());
  } catch (const std::exception& e) {
    throws(e.what());
  } catch (...) {
    throws("what is no std::exception");
  }
  return {};
}

}  // namespace reprise::detail
