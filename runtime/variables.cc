#include "runtime/variables.h"

#include <algorithm>

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
  for (auto& [at, e] : entries_)
    if (e.changed && !e.own) *const_cast<Tensor*>(at) = e.before;
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
    if (before && before->trace) return;  // the function made what it holds, so it made the handle
    entries_.emplace(&to, Entry{before ? Tensor::share(before) : Tensor(), false, true, false, nullptr});
  } else if (it->second.own && !to.defined()) {
    entries_.erase(it);  // moved from
  } else {
    it->second.changed = true;
  }
}

void VariableLog::destroyed(const Tensor& at, bool inside) {
  auto it = entries_.find(&at);
  const bool of_others = it != entries_.end() ? !it->second.own && it->second.before.defined() : at.defined() && !at.impl()->trace;
  destroyed_others_ |= inside && of_others;
  if (it != entries_.end()) entries_.erase(it);
}

std::optional<Bail> VariableLog::unrepeatable() const {
  if (destroyed_others_) return Bail::destroys_variable;
  auto lost = [](const auto& of) {
    const auto& [at, e] = of;
    if (!e.changed || (!e.own && at->impl() == e.before.impl())) return false;
    return e.own || !e.before.defined() || is_thread_local(at);
  };
  if (std::any_of(entries_.begin(), entries_.end(), lost)) return Bail::assigns_variable;
  return std::nullopt;
}

std::vector<const Tensor*> VariableLog::assigned() const {
  std::vector<const Tensor*> all;
  for (const auto& [at, e] : entries_)
    if (e.changed && !e.own && at->impl() != e.before.impl()) all.push_back(at);
  std::sort(all.begin(), all.end());
  return all;
}

bool VariableLog::attach(std::vector<Captured>& captured, std::vector<Asked>& asked) const {
  std::unordered_map<const TensorImpl*, Captured*> by_tensor;
  for (Captured& c : captured) by_tensor.emplace(c.tensor.impl(), &c);
  for (const auto& [at, e] : entries_)
    if (auto it = by_tensor.find(e.before.impl()); it != by_tensor.end() && !is_thread_local(at)) it->second->variables.push_back(watch(*at));
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

}  // namespace reprise::detail
