#include "runtime/trace/variables.h"

#include <algorithm>
#include <new>
#include <utility>

namespace reprise::detail {

TensorImpl* Captured::now() const {
  if (variables.empty()) return tensor.impl();
  TensorImpl* value = variables[0]->value();
  for (std::size_t i = 1; i < variables.size(); ++i)
    if (variables[i]->value() != value) return nullptr;
  return value && !value->trace && !value->storage->released ? value : nullptr;
}

bool Captured::is_gone() const {
  return std::any_of(variables.begin(), variables.end(), [](const auto& v) { return v->is_gone(); });
}

VariableLog::~VariableLog() {
  // One at a time: what a variable lets go may end handles that are noted, too.
  while (!entries_.empty()) {
    const auto one = entries_.extract(entries_.begin());
    const Entry& e = one.mapped();
    if (e.changed && !e.own) *const_cast<Tensor*>(one.key()) = e.before;
  }
}

void VariableLog::read(const Tensor& from) { entries_.try_emplace(&from, Entry{from}); }

void VariableLog::made(const Tensor& at, const Tensor& from) {
  auto it = entries_.find(&from);
  const Tensor* first = it != entries_.end() && it->second.own ? it->second.from : &from;
  entries_.insert_or_assign(&at, Entry{Tensor(), true, true, false, first});
}

void VariableLog::asked(const Tensor& at) {
  auto it = entries_.try_emplace(&at, Entry{at}).first;
  if (it->second.own && it->second.from) it = entries_.find(it->second.from);
  if (it != entries_.end()) it->second.asked = true;
}

void VariableLog::assigned(const Tensor& to, TensorImpl* before) {
  auto it = entries_.find(&to);
  if (it == entries_.end()) {
    if (before && before->trace) {  // the function made what it holds, so it made the handle
      if (traced_.count(&to) && to.defined() && !to.impl()->trace)
        entries_.emplace(&to, Entry{Tensor(), true, true, false, nullptr});
      return;
    }
    entries_.emplace(&to, Entry{before ? Tensor::share(before) : Tensor(), false, true, false, nullptr});
  } else if (it->second.own && !to.defined()) {
    entries_.erase(it);  // moved from
  } else {
    it->second.changed = true;
  }
}

void VariableLog::destroyed(const Tensor& at, bool inside) {
  traced_.erase(&at);
  auto it = entries_.find(&at);
  const bool of_others =
      it != entries_.end() ? !it->second.own && it->second.before.defined() : at.defined() && !at.impl()->trace;
  destroyed_others_ |= inside && of_others;
  if (it != entries_.end()) entries_.erase(it);
}

bool VariableLog::Before::holds(const void* at) const {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  for (const ObjectBytes& o : objects)
    if (address >= reinterpret_cast<std::uintptr_t>(o.at) && address < reinterpret_cast<std::uintptr_t>(o.at) + o.size)
      return true;
  return is_static(at) || is_on_stack_above(at, frame);
}

bool VariableLog::is_unknown(const Tensor* at, const Entry& e, const Before& before) {
  return e.changed && !e.own && !e.before.defined() && at->defined() && !is_watched(*at) && !before.holds(at);
}

std::vector<std::shared_ptr<Variable>> VariableLog::unknown(const Before& before) const {
  std::vector<std::shared_ptr<Variable>> all;
  for (const auto& [at, e] : entries_)
    if (is_unknown(at, e, before) && !is_thread_local(at)) all.push_back(watch(*at));
  return all;
}

std::optional<Bail> VariableLog::unrepeatable(const Before& before) const {
  if (destroyed_others_) return Bail::destroys_variable;
  auto lost = [&](const auto& of) {
    const auto& [at, e] = of;
    if (!e.changed || (!e.own && at->impl() == e.before.impl())) return false;
    return e.own || is_thread_local(at) || is_unknown(at, e, before);
  };
  if (std::any_of(entries_.begin(), entries_.end(), lost)) return Bail::assigns_variable;
  return std::nullopt;
}

bool VariableLog::assigns() const {
  return destroyed_others_ || std::any_of(entries_.begin(), entries_.end(),
                                          [](const auto& of) { return of.second.changed && !of.second.own; });
}

std::vector<const Tensor*> VariableLog::assigned() const {
  std::vector<const Tensor*> all;
  for (const auto& [at, e] : entries_)
    if (e.changed && !e.own && at->impl() != e.before.impl()) all.push_back(at);
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<const Tensor*> VariableLog::decisive() const {
  std::vector<const Tensor*> all;
  for (const auto& [at, e] : entries_)
    if (e.changed && !e.own && at->impl() && !at->impl()->trace) all.push_back(at);
  std::sort(all.begin(), all.end());
  return all;
}

void VariableLog::replace(const TensorImpl* was, const Tensor& now) const {
  for (const auto& [at, e] : entries_)
    if (at->impl() == was) *const_cast<Tensor*>(at) = now;
  for (const Tensor* at : traced_)
    if (at->impl() == was) *const_cast<Tensor*>(at) = now;
}

bool VariableLog::attach(std::vector<Captured>& captured, std::vector<Asked>& asked) const {
  std::unordered_map<const TensorImpl*, Captured*> by_tensor;
  for (Captured& c : captured) by_tensor.emplace(c.tensor.impl(), &c);
  for (const auto& [at, e] : entries_)
    if (auto it = by_tensor.find(e.before.impl()); it != by_tensor.end() && !is_thread_local(at))
      it->second->variables.push_back(watch(*at));
  if (std::any_of(captured.begin(), captured.end(), [](const Captured& c) { return c.variables.empty(); })) {
    for (Captured& c : captured) c.variables.clear();
    return false;
  }
  for (const auto& [at, e] : entries_) {
    if (!(e.asked || e.changed) || e.own || by_tensor.count(e.before.impl())) continue;  // assigned, it must be there
    if (is_thread_local(at)) {
      for (Captured& c : captured) c.variables.clear();
      asked.clear();
      return false;
    }
    asked.push_back({watch(*at), e.before.defined()});
  }
  for (Captured& c : captured) c.tensor = Tensor();
  return true;
}

namespace {
// The log's own handles are none of the function's. Where there is no memory to note one, it stays as the function
// leaves it.
constinit thread_local bool t_noting = false;
template <class F>
void aside(F note) noexcept {
  if (std::exchange(t_noting, true)) return;
  HandleHook* const before = exchange_handle_hook(nullptr);
  try {
    note();
  } catch (const std::bad_alloc&) {
  }
  exchange_handle_hook(before);
  t_noting = false;
}
}  // namespace

void EagerVariables::handle_made(const Tensor& at, const Tensor& from) noexcept {
  aside([&] { log_.made(at, from); });
}
void EagerVariables::handle_assigned(const Tensor& to, TensorImpl* before) noexcept {
  aside([&] { log_.assigned(to, before); });
}
void EagerVariables::handle_destroyed(const Tensor& at) noexcept {
  aside([&] { log_.destroyed(at, true); });
}

}  // namespace reprise::detail
