#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "tensor/variable.h"

namespace reprise::detail {

/// An implicit input of a trace: a real tensor that the function did not get as an argument.
struct Captured {
  Tensor tensor;                                      ///< undefined where the variables tell
  std::vector<std::shared_ptr<Variable>> variables;   ///< those it was read from that outlive the function

  /// What it is now. Null: nothing that could be an input (variables that held one tensor hold several, or one without data).
  TensorImpl* now() const;
  /// It will never again be what it was: a variable is gone.
  bool is_gone() const;
};

/// What a function that is being traced did to handles: the variables that it read real tensors from, and those that it assigned.
/// Unless committed, destruction puts back what assigned variables held: the function will run again, eagerly.
class VariableLog {
 public:
  VariableLog() = default;
  ~VariableLog();
  VariableLog(const VariableLog&) = delete;
  VariableLog& operator=(const VariableLog&) = delete;

  void read(const Tensor& from);
  void assigned(const Tensor& to, TensorImpl* before);
  /// No variable of the function's: a place where its result was left.
  void forget(const Tensor& handle);
  /// Was one that still exists given another tensor?
  bool any_assigned() const;
  /// Puts each captured tensor's variables in its place. False, and nothing is done, if one has none: what it was read from
  /// was gone when the function returned.
  bool attach(std::vector<Captured>&) const;
  void commit() { entries_.clear(); }

 private:
  struct Entry {
    std::shared_ptr<Variable> variable;
    Tensor before;
    bool assigned = false;
  };
  Entry& entry(const Tensor& at, TensorImpl* before);

  std::unordered_map<const Variable*, Entry> entries_;
};

}  // namespace reprise::detail
