#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/interpreter.h"
#include "runtime/call/call.h"
#include "runtime/front/compiled.h"
#include "tensor/impl.h"

namespace reprise::detail {

/// Runs a function eagerly, so that its effects on tensors can be told and undone: the bytes of a storage are kept
/// before it is first written, the sizes of a tensor before they are first changed. Storages that the function makes
/// itself are its own. One thread, like any interpreter.
class CheckInterpreter final : public graph::Interpreter {
 public:
  /// Beside a replay the function gets the random numbers that the replay will take; otherwise it takes its own.
  enum class Random { OfReplay, Own };
  explicit CheckInterpreter(Random = Random::OfReplay);

  /// A storage that is written, as it was before and as the function left it.
  struct Written {
    Tensor all;  ///< its bytes, seen as elements of the tensor that was written
    Tensor before, after;
    std::uint64_t version;
  };
  /// A tensor whose sizes may be changed.
  struct Shaped {
    struct Metadata {
      std::int64_t sizes[kMaxRank], strides[kMaxRank], offset;
      int rank;
      Tensor storage;  ///< keeps it
      friend bool operator==(const Metadata&, const Metadata&);
    };
    Tensor tensor;
    Metadata before, after;
    Tensor elements;  ///< as the function left them, if it changed the metadata
  };
  /// The operator that made, or last wrote, a storage.
  struct Maker {
    const graph::OpDef* op = nullptr;
    SourceLoc loc;
  };

  void keep_bytes(const Tensor& t);
  void keep_metadata(const Tensor& t);
  bool is_own(const Tensor& t) const { return own_storages_.count(t.impl()->storage) != 0; }
  Maker maker(const Storage* s) const;
  /// Notes what was done, and undoes it.
  void undo();
  /// All of it is as before the call: also what a replay did. Random numbers that were taken are given back.
  void restore();

  std::vector<Written> written;
  std::vector<Shaped> shaped;
  std::int64_t seed, first_random, random_taken = 0;

  void call(const graph::OpCall&, std::vector<Tensor>& results) override;
  void mutate_metadata(const graph::OpCall&) override;
  std::pair<Int, Int> next_random(Int count) override;

 private:
  const Random random_;
  std::unordered_map<const Storage*, Maker> makers_;
  std::vector<std::pair<Tensor, std::uint64_t>> grown_;  // on a storage that has grown, and its version before
  std::unordered_set<const Storage*> own_storages_, kept_;
  std::unordered_set<const TensorImpl*> own_tensors_, kept_tensors_;
};

}  // namespace reprise::detail
