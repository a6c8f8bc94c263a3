#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>

#include "base/errors.h"
#include "graph/op.h"

namespace reprise::graph {

class OpColumnBase;

/// A fact about an operator that is being registered, in the column it is for (OpColumn::fact).
struct OpFact {
  const OpColumnBase* column;
  std::function<void(OpId)> tell;    ///< throws: then nothing is told
  std::function<void(OpId)> forget;  ///< throws nothing
};

/// A column without the type of its facts.
class OpColumnBase {
 public:
  /// `needed`: which operators must have a fact here; null: none must.
  constexpr OpColumnBase(const char* name, bool (*needed)(const OpDef&)) : name_(name), needed_(needed) {}
  const char* name() const { return name_; }
  bool needed_by(const OpDef& o) const { return needed_ && needed_(o); }
  virtual bool has(OpId) const = 0;

 protected:
  constexpr ~OpColumnBase() = default;

 private:
  const char* name_;
  bool (*needed_)(const OpDef&);
};

/// What one room knows of operators: a vector by OpId. The facts of built-in operators are constants of the room (a
/// column is `constinit`, so that it is there before any code runs; telling a fact twice does not compile); those of
/// others come with their registration (register_op.h). Readers take no lock: a fact is told before its operator's id
/// is published, and stays.
template <class T>
class OpColumn final : public OpColumnBase {
 public:
  struct Row {
    OpId op;
    T fact;
  };
  template <std::size_t N>
  constexpr OpColumn(const char* name, const Row (&rows)[N], bool (*needed)(const OpDef&) = nullptr)
      : OpColumnBase(name, needed) {
    for (const Row& r : rows) {
      Slot& s = built_in_[static_cast<std::size_t>(r.op)];
      if (s.told) throw "an operator's fact is told twice";
      s = {r.fact, true};
    }
  }
  /// Of no built-in operator.
  explicit constexpr OpColumn(const char* name) : OpColumnBase(name, nullptr) {}
  OpColumn(const OpColumn&) = delete;

  /// Null where nothing is told.
  const T* find(OpId id) const {
    const auto i = static_cast<std::size_t>(id);
    const Slot* s = nullptr;
    if (i < kBuiltinOps) {
      s = &built_in_[i];
    } else if (const Chunk* c = grown_[i / kChunk].load(std::memory_order_acquire)) {
      s = &(*c)[i % kChunk];
    }
    return s && s->told ? &s->fact : nullptr;
  }
  bool has(OpId id) const override { return find(id) != nullptr; }
  /// Throws InvalidArgument that names the operator and the column.
  const T& at(OpId id) const {
    const T* f = find(id);
    if (!f) fail(ErrorCode::InvalidArgument, op(id).schema.name.c_str(), {}, "has no ", name());
    return *f;
  }

  /// For register_op.
  OpFact fact(T f) {
    return {this,
            [this, f = std::move(f)](OpId id) {
              slot(id) = {f, true};
            },
            [this](OpId id) { slot(id).told = false; }};
  }

 private:
  struct Slot {
    T fact{};
    bool told = false;
  };
  static constexpr std::size_t kChunk = 256;
  using Chunk = std::array<Slot, kChunk>;

  // Registrations come one after the other (register_op).
  Slot& slot(OpId id) {
    std::atomic<Chunk*>& c = grown_[static_cast<std::size_t>(id) / kChunk];
    if (!c.load(std::memory_order_relaxed)) c.store(new Chunk{}, std::memory_order_release);
    return (*c.load(std::memory_order_relaxed))[static_cast<std::size_t>(id) % kChunk];
  }

  std::array<Slot, kBuiltinOps> built_in_{};
  std::array<std::atomic<Chunk*>, 65536 / kChunk> grown_{};
};

/// For `needed`: the operators of one class, or of one of two.
template <OpClass A, OpClass B = A>
bool is_of(const OpDef& o) {
  return o.cls == A || o.cls == B;
}

}  // namespace reprise::graph
