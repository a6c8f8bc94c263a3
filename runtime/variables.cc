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
    if (Tensor* handle = e.variable->handle(); handle && !handle->is_same(e.before)) *handle = e.before;
}

VariableLog::Entry& VariableLog::entry(const Tensor& at, TensorImpl* before) {
  std::shared_ptr<Variable> v = watch(at);
  auto [it, fresh] = entries_.try_emplace(v.get());
  if (fresh) it->second = {v, before ? Tensor::share(before) : Tensor(), false};
  return it->second;
}

void VariableLog::read(const Tensor& from) { entry(from, from.impl()); }

void VariableLog::assigned(const Tensor& to, TensorImpl* before) {
  if (before && before->trace) return;  // the function's own, or assigned before
  entry(to, before).assigned = true;
}

void VariableLog::forget(const Tensor& handle) {
  std::erase_if(entries_, [&](const auto& e) { return e.second.variable->handle() == &handle; });
}

bool VariableLog::any_assigned() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const auto& e) {
    const Entry& entry = e.second;
    return !entry.variable->is_gone() && (entry.assigned || entry.variable->value() != entry.before.impl());
  });
}

bool VariableLog::attach(std::vector<Captured>& captured) const {
  std::unordered_map<const TensorImpl*, Captured*> by_tensor;
  for (Captured& c : captured) by_tensor.emplace(c.tensor.impl(), &c);
  for (const auto& [at, e] : entries_)
    if (auto it = by_tensor.find(e.before.impl()); it != by_tensor.end() && !e.variable->is_gone()) it->second->variables.push_back(e.variable);
  if (std::any_of(captured.begin(), captured.end(), [](const Captured& c) { return c.variables.empty(); })) {
    for (Captured& c : captured) c.variables.clear();
    return false;
  }
  for (Captured& c : captured) c.tensor = Tensor();
  return true;
}

}  // namespace reprise::detail
