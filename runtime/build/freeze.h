#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/compile.h"
#include "runtime/replay/launch_code.h"

namespace reprise {
struct Storage;
}

namespace reprise::runtime {

struct FoldedParts;  // runtime/build/folding.h

// Note [Frozen tensors]
// A storage may be declared frozen (reprise/parameter.h). What a functional graph computes of inputs on frozen storages
// alone, passes/freeze.cc cuts out as *parts*, each with a program of its own, whose results are further inputs of the
// program that is left. They are kept process-wide, in one table, by the part (its text, in which names and numbers of
// symbols do not show), the sizes, and of each frozen input the storage's number, its version and the place in it: what
// several specializations and functions need is computed once. A storage that dies takes along what was made of it; one
// that was written has another version, and what was made of the old one is replaced. The thread that lets go of the
// storage frees the values' memory, with no lock held: whoever could be using them in a call holds the storage, too.
// Entries that nobody uses go when there are many, under the table's lock and their own. A function remembers which
// values its latest calls took (a *set*). A call compares numbers and versions with those of a set, some nanoseconds
// each; or, where no frozen storage and no tensor on one has changed since (one number of the process:
// tensor/frozen.h), which tensors it is given. An input that is on no frozen storage in a later call is right, too: the
// part is computed for that call alone.
//
// Inputs that the function writes are never taken for frozen. A part never fails, draws no random numbers, and depends
// on no size but those of its inputs.

/// The parts of one specialization. Never moves. Any thread.
class Folding {
 public:
  Folding(FoldedParts, Makers);
  ~Folding();
  const bool folds;  ///< is there any part? Else it tells what stands
  Folding(const Folding&) = delete;
  Folding& operator=(const Folding&) = delete;

  /// While it lives, the values stand behind the inputs in the tensors of a call's frame. Throws OutOfMemory, and
  /// StorageFreed.
  class Added {
   public:
    Added(const Folding&, detail::CallFrame&);
    ~Added() { frame_.tensors.resize(inputs_); }
    Added(const Added&) = delete;
    Added& operator=(const Added&) = delete;

   private:
    detail::CallFrame& frame_;
    const std::size_t inputs_;
    const std::shared_ptr<const void> held_;
  };

  /// Throws StorageFreed where the call reads the elements of an input that were discarded.
  static void refuse_discarded_inputs(const Folding*, std::string_view function, const detail::CallFrame&);

  /// With each call of a program without parts: discard() keeps what it reads.
  void note_what_stands(const detail::CallFrame&) const;

  /// What discard() asks of everybody: is all folded that the latest calls with this storage need of it? `name`: what
  /// it is called there.
  enum class Needs : std::uint8_t { Nothing, Folded, Elements };
  static Needs needs(const Storage&, bool few_rows, std::string& name);
  static void keep_folded(const Storage&);  ///< as long as it lives, whoever asks for it

  struct Size {
    std::int64_t values = 0, bytes = 0;
  };
  Size kept() const;  ///< that its latest calls have taken
  /// "folded: 12 values of 10 frozen tensors, 340 MB; ..." for explain(); `graphs`: with those of the parts.
  std::string text(bool graphs) const;

 private:
  struct State;
  struct All;
  std::shared_ptr<const void> add_values(detail::CallFrame&) const;
  const std::unique_ptr<State> state_;
};

}  // namespace reprise::runtime
