// What serves a call in the end: a replay of a specialization, or the function itself.
#include <algorithm>

#include "autograd/tape_undo.h"
#include "base/errors.h"
#include "base/log.h"
#include "base/timeline.h"
#include "device/late_faults.h"
#include "graph/interpreter.h"
#include "runtime/build/call_slice.h"
#include "runtime/call/call.h"
#include "runtime/front/check.h"
#include "runtime/front/compiled.h"
#include "tensor/impl.h"

#include <nlohmann/json.hpp>

namespace reprise::detail {

namespace {
// calls of a thread: what is compiled once, at the start of a process, has come by then
constexpr int kWithoutWaiting = 8;
constinit thread_local bool t_meanwhile = false, t_waited = false;
constinit thread_local int t_served = 0;
}  // namespace

ServedMeanwhile::ServedMeanwhile(bool meanwhile) : before_(std::exchange(t_meanwhile, meanwhile)) {
  if (!meanwhile) return;
  t_waited = t_served < kWithoutWaiting;  // as if it had
  if (t_waited) ++t_served;
}
ServedMeanwhile::~ServedMeanwhile() { t_meanwhile = before_; }
bool is_served_meanwhile() { return t_meanwhile; }
bool may_wait_for_code() { return !std::exchange(t_waited, true); }

namespace {
void note_eager(const Compiled& c, Outputs& outputs, Bail bail, const std::string& reason) noexcept {
  if (!c.callback->is_set()) return;
  try {
    note_miss(
        outputs, *c.callback,
        {.kind = Miss::Kind::ServedEagerly, .function = c.options.name, .reason = reason, .fallback = bail_name(bail)});
  } catch (const std::bad_alloc&) {  // then it is not told
  }
}

/// A line in the log, once for each reason in a row.
void tell_eager(const Compiled& c, Bail bail, const std::string& reason) noexcept {
  if (reason == c.last_fallback_reason || !logs::on(logs::Channel::Recompiles)) return;
  try {
    logs::event(logs::Event::not_traceable, c.options.name, "a call was served eagerly: " + reason,
                {{"kind", bail_name(bail)}, {"reason", reason}});
  } catch (const std::exception&) {  // then it is not told
  }
}

/// Runs the function eagerly. What it throws leaves tensors, variables and the tape as they were.
void run_or_undo(void (*function)(void*), void* ctx) {
  CheckInterpreter run(CheckInterpreter::Random::Own);
  autograd::TapeUndo tape;
  EagerVariables variables;
  try {
    graph::ModeScope scope(run);
    const HandleScope handles(&variables);
    function(ctx);
  } catch (...) {
    run.restore();
    throw;
  }
  tape.commit();
  variables.commit();
}

}  // namespace

void run(const Specialization& s, CallFrame& f, Outputs& outputs) { run_on(s, f, outputs, nullptr, nullptr); }

std::optional<runtime::PathMissed> run_on(const Specialization& s, CallFrame& f, Outputs& outputs, const Outcomes* path,
                                          std::shared_ptr<runtime::Handover>* hand) {
  outputs.reading = true;  // as find() and compile() began
  if (s.assigned.empty()) [[likely]] {
    if (auto missed = run_specialization(s, f, outputs, path, hand)) [[unlikely]]
      return missed;
  } else {
    std::vector<Tensor> values;
    values.reserve(s.assigned.size());
    if (auto missed = run_specialization(s, f, outputs, path, hand)) return missed;
    assign_variables(s, outputs, values);
  }
  if (!(static_cast<int>(s.finishes) | static_cast<int>(timeline::on()))) [[likely]]
    return std::nullopt;
  if (timeline::on()) add_call_slice(s, f);
  if (s.unrepeatable) {
    fill_kept(s, outputs);
    s.variables->commit();
  }
  if (!s.result_wrappers.empty()) make_result_wrappers(s.result_wrappers, outputs);
  return std::nullopt;
}

void serve_again(Compiled& c, const Error& e, void (*function)(void*), void* ctx, Outputs& outputs) {
  if (e.code() == ErrorCode::Internal || e.code() == ErrorCode::OutOfMemory || e.code() == ErrorCode::DeviceFailed)
    throw;
  if (dynamic_cast<const device::LateFault*>(&e)) throw;  // not of this call
  std::string caught = std::string("the function catches an error: ") + e.what(),
              alone =
                  e.code() == ErrorCode::NotTraceable ? e.what() : std::string("only the replay throws: ") + e.what();
  const std::uint64_t errors = errors_made();
  run_or_undo(function, ctx);
  LockedCompiled lock(c);  // nothing fails from here on: what the function did stays
  const bool catches = errors_made() != errors;
  const Bail bail = e.code() == ErrorCode::NotTraceable ? bail_of(e)
                    : catches                           ? Bail::catches_error
                                                        : Bail::replay_throws;
  c.count_fallback(bail);
  tell_eager(c, bail, catches && bail == Bail::catches_error ? caught : alone);
  c.last_fallback_reason.swap(catches && bail == Bail::catches_error ? caught : alone);
  note_eager(c, outputs, bail, c.last_fallback_reason);
}

void serve_thrown(Compiled& c, std::uint64_t thrown, void (*function)(void*), void* ctx, Outputs& outputs) {
  run_or_undo(function, ctx);
  LockedCompiled lock(c);
  c.count_fallback(Bail::throws);
  for (Compiled::Thrown& t : c.thrown) {
    if (t.id != thrown) continue;
    t.left = std::max(t.left - 1, 0);
    c.last_fallback_reason = t.reason;
  }
  note_eager(c, outputs, Bail::throws, c.last_fallback_reason);
}

const void* result_template(const Specialization& s) { return s.result_template.get(); }
const std::vector<std::string>& argument_names(const Compiled& c) { return c.options.arguments; }

}  // namespace reprise::detail
