#include "graph/interpreter.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <map>

#include "base/bail.h"
#include "base/errors.h"
#include "base/fork.h"
#include "base/mutex.h"
#include "base/thread_object.h"
#include "graph/api_args.h"
#include "graph/autocast.h"
#include "graph/floats.h"
#include "graph/random_log.h"
#include "graph/region_gradients.h"
#include "graph/schema.h"
#include "graph/tape_seam.h"
#include "tensor/impl.h"

namespace reprise::graph {

constinit std::atomic<Interpreter*> tape{nullptr};
constinit std::atomic<Keys> keys_of_views{0};
constinit InRegion in_region_that_wants_gradients = nullptr;
void refuse_in_region_that_wants_gradients(const TensorImpl& t, const char* what, SourceLoc loc) {
  if (is_in_region_that_wants_gradients(t))
    bail(Bail::changes_tape, what, loc,
         "in a branch of cond, or in the body of a loop or a region, which is differentiated as a whole");
}
constinit std::atomic<PlaceAsked> place_asked{nullptr};

namespace {

/// While an interpreter answers: what it calls goes to those below it.
class Below {
 public:
  Below(Key key, const Mode* mode) : before_(thread_state) {
    ThreadState& t = thread_state;
    const Mode* next = mode && key == Key::Wrapper ? mode->below : nullptr;
    t.top[static_cast<std::size_t>(key)] = next;
    if (!next) t.modes = static_cast<Keys>(t.modes & ~bit(key));
    if (!mode || key != Key::Wrapper) t.answered |= bit(key);
    if (mode && key == Key::Wrapper)
      t.word = (t.word & ~bits_of(Setting::Modes)) | (next ? next->stack : 0) * one_of(Setting::Modes);
    if (key == Key::Autocast) t.word &= ~bits_of(Setting::Autocast);
  }
  ~Below() {
    const std::uint64_t read = thread_state.read;
    thread_state = before_;
    thread_state.read = read;
  }
  Below(const Below&) = delete;

 private:
  const ThreadState before_;
};

Interpreter* wrapper_among(std::span<const CallArg> args) {
  Interpreter* by = nullptr;
  auto see = [&](const Tensor& t) {
    if (!by && t.impl() && (t.impl()->keys & kWrappedKey)) by = t.impl()->notes->wrapper.get();
  };
  for (const CallArg& a : args) {
    if (auto* t = std::get_if<const Tensor*>(&a)) see(**t);
    if (auto* list = std::get_if<TensorArrayRef>(&a))
      for (const Tensor& t : *list) see(t);
  }
  return by;
}

Interpreter* of_tensors(Key key, std::span<const CallArg> args) {
  if (key == Key::Autograd) return tape.load(std::memory_order_acquire);
  return key == Key::Wrapper ? wrapper_among(args) : nullptr;
}

template <class At>
auto answer(Keys keys, std::span<const CallArg> args, At&& at) {
  while (keys) {
    const auto key = static_cast<Key>(std::bit_width(keys) - 1);
    const Mode* mode = thread_state.top[static_cast<std::size_t>(key)];
    if (Interpreter* by = mode ? mode->by : of_tensors(key, args)) {
      Below below(key, mode);
      return at(*by);
    }
    // a tensor of a trace that is over, or of another thread: eager execution says so
    keys = static_cast<Keys>(keys & ~bit(key));
  }
  return at(eager_interpreter());
}

bool is_traced() { return (thread_state.modes & bit(Key::Trace)) != 0; }

// What a trace depends on, whoever answers the call in the end.
void note_settings(const OpCall& c) {
  note_read(Setting::Modes);
  if (follows_default_dtype(c)) note_read(Setting::DefaultDType);
  if (!c.inplace && autocast_rules().has(c.op.id)) note_read(Setting::Autocast);
}

// Most calls are eager execution's, and find out by one comparison.
[[gnu::noinline]] void call_in_turn(const OpCall& c, Keys keys, std::vector<Tensor>& results) {
  if (is_traced()) note_settings(c);
  answer(keys, c.args, [&](Interpreter& by) { by.call(c, results); });
}
void call(const OpCall& c, Keys keys, std::vector<Tensor>& results) {
  if (keys) [[unlikely]]
    call_in_turn(c, keys, results);
  else eager_interpreter().call(c, results);
}

Keys keys_of(std::span<const CallArg> args) {
  Keys keys = 0;
  for (const CallArg& a : args) {
    if (auto* t = std::get_if<const Tensor*>(&a); t && (*t)->impl()) keys |= (*t)->impl()->keys;
    if (auto* list = std::get_if<TensorArrayRef>(&a))
      for (const Tensor& t : *list)
        if (t.impl()) keys |= t.impl()->keys;
  }
  return keys;
}

/// With those of the operator itself.
Keys keys_of(const OpDef& o, Keys of_tensors) {
  return o.cls == OpClass::View ? static_cast<Keys>(of_tensors | keys_of_views.load(std::memory_order_relaxed))
                                : of_tensors;
}

std::uint64_t new_serial() {
  static std::atomic<std::uint64_t> next{1};
  return next++;
}

/// Numbers of interpreters that stand above each other: of one its serial, of several one that is made for them and
/// goes with any of them.
class Stacks {
 public:
  static Stacks& get() {
    static Stacks& s = *new Stacks;  // never destroyed: interpreters may be static objects
    return s;
  }
  std::uint64_t number(const Mode* below, std::uint64_t serial) {
    if (!below) return serial;
    std::vector<std::uint64_t> all{serial};
    for (const Mode* m = below; m; m = m->below) all.push_back(m->by->serial());
    const MutexLock lock(mu_);
    std::uint64_t& n = numbers_[std::move(all)];
    if (n == 0) {
      n = new_serial();
      any_.store(true, std::memory_order_relaxed);
    }
    return n;
  }
  void forget(std::uint64_t serial) noexcept {
    if (!any_.load(std::memory_order_relaxed)) return;
    const MutexLock lock(mu_);
    std::erase_if(numbers_,
                  [&](const auto& n) { return std::find(n.first.begin(), n.first.end(), serial) != n.first.end(); });
    if (numbers_.empty()) any_.store(false, std::memory_order_relaxed);
  }

 private:
  ForkMutex mu_;
  std::map<std::vector<std::uint64_t>, std::uint64_t> numbers_ REPRISE_GUARDED_BY(mu_);
  std::atomic<bool> any_{false};
};

}  // namespace

Interpreter::Interpreter(Key key) : key_(key), serial_(new_serial()) {}
Interpreter::~Interpreter() {
  if (key_ == Key::Wrapper) Stacks::get().forget(serial_);
}
void Interpreter::call(const OpCall& c, std::vector<Tensor>& results) { forward(c, results); }
void Interpreter::mutate_metadata(const OpCall& c) { forward_metadata(c); }
std::pair<Int, Int> Interpreter::next_random(Int count) { return graph::next_random(count); }

ModeScope::ModeScope(Interpreter& by) : before_(thread_state), mode_{&by} {
  ThreadState& t = thread_state;
  const Key key = by.key();
  const Mode*& top = t.top[static_cast<std::size_t>(key)];
  if (key == Key::Wrapper) {
    mode_.below = top;
    mode_.stack = Stacks::get().number(top, by.serial());
    t.word = (t.word & ~bits_of(Setting::Modes)) | mode_.stack * one_of(Setting::Modes);
  }
  top = &mode_;
  t.modes |= bit(key);
}
ModeScope::~ModeScope() {
  const std::uint64_t read = thread_state.read;
  thread_state = before_;
  thread_state.read = read;
}

void forward(const OpCall& c, std::vector<Tensor>& results) { call(c, asked(keys_of(c.op, keys_of(c.args))), results); }
void forward_metadata(const OpCall& c) {
  if (is_traced()) note_settings(c);
  answer(asked(keys_of(c.args)), c.args, [&](Interpreter& by) { by.mutate_metadata(c); });
}
std::pair<Int, Int> next_random(Int count) {
  if (is_traced()) note_read(Setting::Modes);
  return random_by_log([&] { return answer(asked(0), {}, [&](Interpreter& by) { return by.next_random(count); }); });
}

Tensor wrap(const Tensor& t, std::shared_ptr<Interpreter> by, SourceLoc loc) {
  if (!by || by->key() != Key::Wrapper)
    fail(ErrorCode::InvalidArgument, "wrap", loc,
         by ? "the interpreter's key is not Wrapper" : "there is no interpreter");
  defined_impl(t, "wrap", loc);
  Tensor made = call1(OpId::alias, {&t}, loc);
  TensorImpl& impl = *made.impl();
  if (!impl.notes) impl.notes = new TensorNotes;
  impl.notes->wrapper = std::move(by);
  impl.keys |= kWrappedKey;
  return made;
}
std::shared_ptr<Interpreter> wrapper_of(const Tensor& t) {
  const TensorImpl* impl = t.impl();
  return impl && (impl->keys & kWrappedKey) ? impl->notes->wrapper : nullptr;
}

// ---- calls

namespace {

/// The arguments of one call on the stack: given ones, then defaults; undefined tensors become None where None is
/// allowed.
class FilledArgs {
 public:
  FilledArgs(const OpDef& op, std::initializer_list<CallArg> given, SourceLoc loc)
      : FilledArgs(op, std::span(given.begin(), given.size()), loc) {}
  FilledArgs(const OpDef& op, std::span<const CallArg> given, SourceLoc loc) {
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
      if (t) {
        if (!missing) keys_ |= (*t)->impl()->keys;
      } else if (auto* list = std::get_if<TensorArrayRef>(&a)) {
        for (const Tensor& e : *list) {
          if (def.type == ArgType::TensorList && !e.defined())
            fail(ErrorCode::InvalidArgument, op.schema.name.c_str(), loc, "'", def.name, "' holds an undefined tensor");
          if (e.impl()) keys_ |= e.impl()->keys;
        }
      }
      values_[n_++] = missing ? CallArg{} : a;
    }
    for (; n_ < args.size(); ++n_) values_[n_] = op.defaults[n_];
  }
  std::span<const CallArg> span() const { return {values_.data(), n_}; }
  Keys keys() const { return keys_; }  ///< of all its tensors

 private:
  std::array<CallArg, kMaxArgs> values_;
  std::size_t n_ = 0;
  Keys keys_ = 0;
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
  call({o, args.span(), inplace, loc}, asked(keys_of(o, args.keys())), results.v);
  REPRISE_CHECK(results.v.size() == 1);
  return std::move(results.v[0]);
}

std::vector<Tensor> calln(OpId id, std::initializer_list<CallArg> given, SourceLoc loc) {
  const OpDef& o = op(id);
  FilledArgs args(o, given, loc);
  std::vector<Tensor> results;
  call({o, args.span(), false, loc}, asked(keys_of(o, args.keys())), results);
  return results;
}

std::vector<Tensor> calln(OpId id, std::span<const CallArg> given, SourceLoc loc) {
  const OpDef& o = op(id);
  FilledArgs args(o, given, loc);
  std::vector<Tensor> results;
  call({o, args.span(), false, loc}, asked(keys_of(o, args.keys())), results);
  return results;
}

void call_metadata(OpId id, std::initializer_list<CallArg> given, SourceLoc loc) {
  const OpDef& o = op(id);
  FilledArgs args(o, given, loc);
  forward_metadata({o, args.span(), true, loc});
}

TensorMeta api::checked_meta(const Tensor& t, const char* op, SourceLoc loc) {
  if (!t.defined()) fail(ErrorCode::InvalidArgument, op, loc, "an undefined tensor");
  return meta_of(t);
}

}  // namespace reprise::graph
