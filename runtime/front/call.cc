// Serves a call of which only the addresses of its arguments are known: by a replay, or in one of the ways that run the
// function itself.
#include "runtime/call/call.h"

#include <cstdint>

#include "reprise/patterns.h"
#include "runtime/call/kept_trace.h"
#include "runtime/front/compiled.h"

namespace reprise::detail {

FunctionObject hold(void* object, ObjectBytes bytes, void (*destroy)(void*)) {
  return {std::shared_ptr<void>(object, destroy), bytes};
}

namespace {

/// A result of the function, on the stack where the memory is; destroyed with it unless it is shared.
class Made {
 public:
  Made(const ResultForm* form, void* memory) : form_(form), at_(memory) {}
  ~Made() {
    if (is_made_) form_->destroy(at_);
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  /// What memory it needs, wherever that begins.
  static std::size_t room(const ResultForm* form) { return form ? form->size + form->align : 0; }
  static void* aligned(const ResultForm* form, void* memory) {
    if (!form) return nullptr;
    const auto at = reinterpret_cast<std::uintptr_t>(memory);
    return reinterpret_cast<void*>((at + form->align - 1) / form->align * form->align);
  }
  void run(const Call& call, void* const* copies, FunctionScope* scope) {
    call.form.run_on_copies(call.function.object.get(), copies, at_, scope);
    is_made_ = form_ != nullptr;
  }
  void read(LeafReader& reader) const {
    if (is_made_) form_->read(at_, reader);
  }
  std::shared_ptr<void> share() {
    is_made_ = false;
    return form_->share(at_);
  }

 private:
  const ResultForm* const form_;
  void* const at_;
  bool is_made_ = false;
};

/// A call in a trace.
struct Trace {
  const std::vector<std::string>& names;
  const Call& call;
  CallFrame& frame;
  Tracer* tracer = nullptr;
  KeptTrace* kept = nullptr;  ///< who takes the results; null: calls of a specialization

  /// Is a call of its own: what stays of its results is a template, and it may not assign to its arguments.
  template <bool whole>
  void run(void* const* copies) {
    const CallForm& form = call.form;
    ArgumentTracer replace(*tracer, frame, names);
    form.arguments.write_copies(copies, replace);
    ArgumentCheck check(*tracer);
    if constexpr (whole) {
      form.arguments.read_copies(copies, check);
      check.done();
    }
    Made made(form.result, Made::aligned(form.result, __builtin_alloca(Made::room(form.result))));
    {
      FunctionScope running(tracer, call.function);
      made.run(call, copies, &running);
    }
    if (kept) {
      made.read(kept->results());
      kept->ran(*tracer);
    }
    if (form.result) {
      const std::shared_ptr<void> result = made.share();
      ResultTracer take(*tracer);
      form.result->write(result.get(), take);
      if constexpr (whole) set_result_template(*tracer, result);
    }
    if (kept) kept->ends(*tracer);
    if constexpr (whole) form.arguments.read_copies(copies, check);
  }
  template <bool whole>
  static void run(void* trace, void* const* copies) {
    static_cast<Trace*>(trace)->run<whole>(copies);
  }
  static void body(void* trace, Tracer& tracer) {
    auto* t = static_cast<Trace*>(trace);
    t->tracer = &tracer;
    t->call.form.arguments.with_copies(t->call.arguments, run<true>, t);
  }
  static void name_words(void* trace, StructureNames& names) {
    const Call& call = static_cast<Trace*>(trace)->call;
    call.form.arguments.read(call.arguments, names);
  }
};

void run_function(void* p) {
  const Call& call = *static_cast<const Call*>(p);
  call.form.run(call.function.object.get(), call.arguments, call.result, nullptr);
}
void* context(const Call& call) { return const_cast<Call*>(&call); }

/// One run of the function beside a replay.
struct CheckedRun {
  const Call& call;
  Leaves *results = nullptr, *before = nullptr, *after = nullptr;

  void run(void* const* copies) const {
    const CallForm& form = call.form;
    form.arguments.read_copies(copies, *before);
    {
      Made made(form.result, Made::aligned(form.result, __builtin_alloca(Made::room(form.result))));
      made.run(call, copies, nullptr);
      made.read(*results);
    }
    form.arguments.read_copies(copies, *after);
  }
  static void body(void* p, Leaves& results, Leaves& before, Leaves& after) {
    auto* of = static_cast<CheckedRun*>(p);
    of->results = &results, of->before = &before, of->after = &after;
    of->call.form.arguments.with_copies(
        of->call.arguments, [](void* ctx, void* const* copies) { static_cast<CheckedRun*>(ctx)->run(copies); }, of);
  }
};

void serve_checked(Compiled& c, const Specialization& s, const CallFrame& f, const Call& call) {
  Outputs outputs;
  outputs.reading = true;
  CheckedCall check(c, s, f);
  CheckedRun run{call};
  check.eagerly(CheckedRun::body, &run);
  try {
    check.replay(outputs);
  } catch (const Error& e) {
    if (!check.function_catches()) throw;
    return serve_again(c, e, run_function, context(call), outputs);
  }
  Leaves found;
  const ResultForm* result = call.form.result;
  if (!result) return check.compare(found);
  result->fill(s, outputs, call.result);
  try {
    result->read(call.result, found);
    check.compare(found);
  } catch (...) {
    result->destroy(call.result);
    throw;
  }
}

}  // namespace

const Specialization* serve_miss(Compiled& c, CallFrame& f, const Specialization* s, const Call& call,
                                 Outputs& outputs) {
  std::shared_ptr<const Specialization> once;
  Trace trace{argument_names(c), call, f};
  PathOfCall path;
  for (;;) {
    if (!s) {
      Eagerly how;
      s = compile(c, f, Trace::body, Trace::name_words, &trace, once, how, outputs, path.missing ? &path : nullptr);
      if (how.thrown) return serve_thrown(c, how.thrown, run_function, context(call), outputs), nullptr;
      if (!s) {
        const ServedMeanwhile running(how.meanwhile);
        return run_function(context(call)), nullptr;
      }
    }
    try {
      if (f.checked && !once) {
        if (s->decides) s = find_path(c, *s, f, path);
        if (s) return serve_checked(c, *s, f, call), nullptr;
        continue;
      }
      if (once || !s->decides) {
        run(*s, f, outputs);
        break;
      }
      const Specialization* const next = run_path(c, *s, f, outputs, path);
      if (!next && !path.missing) break;
      s = next;
    } catch (const Error& e) {
      if (once || (f.checked && e.code() != ErrorCode::NotTraceable)) throw;
      return serve_again(c, e, run_function, context(call), outputs), nullptr;
    }
  }
  if (!once) return s;
  if (call.form.result) call.form.result->fill(*s, outputs, call.result);
  return nullptr;
}

void serve_error(Compiled& c, const Error& e, const Call& call, Outputs& outputs) {
  serve_again(c, e, run_function, context(call), outputs);
}

WarmedUp warm_up(Compiled& c, CallFrame& f, const Call& call) {
  Trace trace{argument_names(c), call, f};
  return warm_up(c, f, Trace::body, Trace::name_words, &trace);
}

void trace_kept(Tracer& tracer, CallFrame& f, const Call& call, const std::vector<std::string>& names,
                KeptTrace& kept) {
  Trace trace{names, call, f, &tracer, &kept};
  call.form.arguments.with_copies(call.arguments, Trace::run<true>, &trace);
}

void trace_pattern(Tracer& tracer, CallFrame& f, const Call& call) {
  const std::vector<std::string> names;
  Trace trace{names, call, f, &tracer};
  call.form.arguments.with_copies(call.arguments, Trace::run<false>, &trace);
}

}  // namespace reprise::detail
