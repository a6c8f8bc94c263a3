#include "graph/interpreter.h"

#include <array>
#include <mutex>

#include "base/errors.h"
#include "base/fork.h"
#include "base/thread_object.h"
#include "graph/api_args.h"
#include "graph/schema.h"
#include "tensor/impl.h"

namespace reprise::graph {
namespace {

thread_local Interpreter* t_current = nullptr;

}  // namespace

Interpreter& Interpreter::current() {
  return t_current ? *t_current : eager_interpreter();
}

Interpreter* Interpreter::exchange(Interpreter* i) { return std::exchange(t_current, i); }

// ---- the generator of random numbers

namespace {
constinit ForkMutex g_generator_mutex;
std::int64_t g_seed = 0, g_offset = 0;  // guarded by g_generator_mutex

// The stream is a ring, so that a call which asks for absurdly many and fails leaves no offset that others cannot count from.
std::int64_t after(std::int64_t offset, std::int64_t count) {
  constexpr std::uint64_t kRing = std::uint64_t{1} << 62;
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(count)) % kRing);
}
}  // namespace

void seed_generator(std::uint64_t seed) {
  std::lock_guard lock(g_generator_mutex);
  g_seed = static_cast<std::int64_t>(seed);
  g_offset = 0;
}

std::pair<std::int64_t, std::int64_t> take_random(std::int64_t count) {
  std::lock_guard lock(g_generator_mutex);
  std::pair<std::int64_t, std::int64_t> r{g_seed, g_offset};
  g_offset = after(g_offset, count);
  return r;
}

void give_back_random(std::int64_t offset, std::int64_t count) noexcept {
  std::lock_guard lock(g_generator_mutex);
  if (g_offset == after(offset, count)) g_offset = offset;
}

// ---- calls

namespace {

/// The arguments of one call on the stack: given ones, then defaults; undefined tensors become None where None is
/// allowed.
class FilledArgs {
 public:
  FilledArgs(const OpDef& op, std::initializer_list<CallArg> given, SourceLoc loc) {
    const std::vector<ArgDef>& args = op.schema.args;
    REPRISE_CHECK(given.size() <= args.size());
    for (const CallArg& a : given) {
      const ArgDef& def = args[n_];
      const Tensor* const* t = std::get_if<const Tensor*>(&a);
      bool missing = t ? (!*t || !(*t)->defined()) : std::holds_alternative<std::monostate>(a);
      if (missing && !accepts_none(def.type)) {
        fail(ErrorCode::InvalidArgument, op.schema.name.c_str(), loc, "argument '", def.name,
             "' is an undefined tensor");
      }
      if (auto* list = std::get_if<TensorArrayRef>(&a); list && def.type == ArgType::TensorList) {
        for (const Tensor& e : *list) {
          if (!e.defined())
            fail(ErrorCode::InvalidArgument, op.schema.name.c_str(), loc, "'", def.name, "' holds an undefined tensor");
        }
      }
      values_[n_++] = missing ? CallArg{} : a;
    }
    for (; n_ < args.size(); ++n_) values_[n_] = op.defaults[n_];
  }
  std::span<const CallArg> span() const { return {values_.data(), n_}; }

 private:
  std::array<CallArg, kMaxArgs> values_;
  std::size_t n_ = 0;
};

/// A result list that keeps its capacity between calls of one thread; nested calls find none and make their own.
class Results {
 public:
  Results() : v(std::move(spare())) { v.clear(); }
  ~Results() {
    v.clear();
    spare() = std::move(v);
  }
  std::vector<Tensor> v;

 private:
  static std::vector<Tensor>& spare() { return thread_object<std::vector<Tensor>, Results>(); }
};

}  // namespace

Tensor call1(OpId id, std::initializer_list<CallArg> given, SourceLoc loc, bool inplace) {
  const OpDef& o = op(id);
  FilledArgs args(o, given, loc);
  Results results;
  Interpreter::current().call({o, args.span(), inplace, loc}, results.v);
  REPRISE_CHECK(results.v.size() == 1);
  return std::move(results.v[0]);
}

std::vector<Tensor> calln(OpId id, std::initializer_list<CallArg> given, SourceLoc loc) {
  const OpDef& o = op(id);
  FilledArgs args(o, given, loc);
  std::vector<Tensor> results;
  Interpreter::current().call({o, args.span(), false, loc}, results);
  return results;
}

void call_metadata(OpId id, std::initializer_list<CallArg> given, SourceLoc loc) {
  const OpDef& o = op(id);
  FilledArgs args(o, given, loc);
  Interpreter::current().mutate_metadata({o, args.span(), true, loc});
}

TensorMeta api::checked_meta(const Tensor& t, const char* op, SourceLoc loc) {
  if (!t.defined()) fail(ErrorCode::InvalidArgument, op, loc, "an undefined tensor");
  return meta_of(t);
}

}  // namespace reprise::graph
