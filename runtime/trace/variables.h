#pragma once
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/bail.h"
#include "reprise/compile.h"
#include "tensor/variable.h"

namespace reprise::detail {

/// An implicit input of a trace: a real tensor that the function did not get as an argument.
struct Captured {
  Tensor tensor;                                     ///< undefined where the variables tell
  std::vector<std::shared_ptr<Variable>> variables;  ///< those it was read from
  std::uint64_t wrapper = 0;                         ///< Interpreter::serial of a wrapper's handle, which it must be

  /// What it is now. Null: nothing that could be an input (variables that held one tensor hold several, or one without
  /// data).
  TensorImpl* now() const;
  /// It will never again be what it was: a variable is gone.
  bool is_gone() const;
};

/// A variable that the function asked whether it is defined, and did not use otherwise.
struct Asked {
  std::shared_ptr<Variable> variable;
  bool defined;
  bool holds() const { return (variable->value() != nullptr) == defined && !variable->is_gone(); }
};

/// What a function that is being traced does to handles of real tensors: which it reads, makes, assigns and destroys.
/// Handles that begin and end within the function are its own.
///
/// Note [Assigned variables]
/// A handle that held a tensor before the function ran was there before, and a replay can find it: what it holds after
/// the function is one more result, and is assigned when all has gone well. The trace's own assignments are taken back,
/// so that the first call is a replay like others. All else that a function does to handles that are not its own a
/// replay would not do. One that held none may have been made by the function, with an object that stays (an element of
/// a container), unless it is where nothing is made while the function runs: in the function object, among the
/// variables of the functions that called it, among those that live as long as the program. Of others the first call is
/// not repeatable, and they are watched from then on (`unknown`): a watched handle was there before. A replay is for
/// handles that again hold none, so that what was made beside them, and left empty by its owner, is at worst filled a
/// second time.
///
/// Unless committed, destruction puts back what others held: the function will run again, eagerly.
class VariableLog {
 public:
  VariableLog() = default;
  ~VariableLog();
  VariableLog(const VariableLog&) = delete;
  VariableLog& operator=(const VariableLog&) = delete;

  void read(const Tensor& from);
  void made(const Tensor& at, const Tensor& from);
  void made_of_traced(const Tensor& at) { traced_.insert(&at); }
  void asked(const Tensor& at);
  void assigned(const Tensor& to, TensorImpl* before);
  /// `inside`: by the function, rather than by what is around it.
  void destroyed(const Tensor& at, bool inside);
  /// Not the function's doing: a place where its result was left.
  void forget(const Tensor& at) { entries_.erase(&at), traced_.erase(&at); }

  /// Where nothing was made while the function ran.
  struct Before {
    const void* frame;  ///< on the stack: what is above was there
    std::vector<ObjectBytes> objects;
    bool holds(const void* at) const;
  };
  /// Why running the function again would not be what it was, as a message continues; null if it would.
  std::optional<Bail> unrepeatable(const Before&) const;
  /// Handles that got a tensor, and may have been made by the function.
  std::vector<std::shared_ptr<Variable>> unknown(const Before&) const;
  /// Handles that were made to hold traced tensors, and are there.
  const std::unordered_set<const Tensor*>& left() const { return traced_; }
  /// Has it destroyed what is not the function's own? That cannot be taken back.
  bool destroys() const { return destroyed_others_; }
  /// Has it assigned, or destroyed, what is not the function's own?
  bool assigns() const;
  /// Handles that a replay can assign, and that hold something else than before; by address.
  std::vector<const Tensor*> assigned() const;
  /// Handles of others that were assigned, and hold a real tensor: which variable it is from decides what the next call
  /// assigns, also where they hold what they held before. By address.
  std::vector<const Tensor*> decisive() const;
  /// Puts each captured tensor's variables in its place, and those that were only asked into `asked`. False, and
  /// nothing is done, if a captured tensor has none (what it was read from was gone when the function returned), or one
  /// asked is a thread's own.
  bool attach(std::vector<Captured>&, std::vector<Asked>& asked) const;
  void commit() { entries_.clear(), traced_.clear(); }
  /// Lets all handles that hold `was` hold `now`.
  void replace(const TensorImpl* was, const Tensor& now) const;
  /// Calls f(address) for each handle that the function has touched and that still exists.
  template <class F>
  void for_each_handle(F&& f) const {
    for (const auto& [at, e] : entries_) f(at);
  }

 private:
  struct Entry {
    Tensor before;     ///< what it held when the function first touched it
    bool own = false;  ///< made by the function
    bool changed = false;
    bool asked = false;            ///< whether it holds a tensor
    const Tensor* from = nullptr;  ///< of its own: the other handle that it is a copy of
  };
  static bool is_unknown(const Tensor* at, const Entry&, const Before&);
  std::unordered_map<const Tensor*, Entry> entries_;  // of handles that exist
  std::unordered_set<const Tensor*> traced_;          // that exist, and were made to hold a traced tensor
  bool destroyed_others_ = false;
};

/// The same of a function that runs eagerly and may throw: unless committed, destruction puts back what variables held.
class EagerVariables final : public HandleHook {
 public:
  void handle_made(const Tensor& at, const Tensor& from) noexcept override;
  void handle_assigned(const Tensor& to, TensorImpl* before) noexcept override;
  void handle_destroyed(const Tensor& at) noexcept override;
  void commit() { log_.commit(); }

 private:
  VariableLog log_;
};

}  // namespace reprise::detail
