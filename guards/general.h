#pragma once

namespace reprise::guards {

// Note [General traces]
// A trace takes what it meets: a slice whose end is within the size is one with no more to say, and a size that is
// broadcast is 1. Most functions are called in that way only, and their code is the better for it. A function that has
// met the other way, too, is traced as one that may meet any: what was asked becomes part of an expression (an end is
// min(end, n), a stride is 0 where the size is 1), and nothing is asked. runtime/front/generality.h decides when.
struct Generality {
  bool slices = false;      ///< bounds are clamped to the size
  bool broadcasts = false;  ///< two sizes that meet are equal, or either is 1
  /// a reshape that need not copy in this call may copy (Note [Copies that nobody sees] in
  /// runtime/trace/tracer_copies.cc)
  bool reshapes = false;
  /// strides of some arguments are values, also where others' follow from the sizes (Note [Layout classes])
  bool layouts = false;
  bool any() const { return slices || broadcasts || reshapes || layouts; }
};

/// While one lives on this thread, operators' rules are as general as it says.
class GeneralScope {
 public:
  explicit GeneralScope(Generality);
  ~GeneralScope();
  GeneralScope(const GeneralScope&) = delete;

 private:
  const Generality before_;
};
const Generality& generality();

class ShapeEnv;
/// Does a guard of this trace look at a stride of the call (ShapeEnv's symbols "... .stride(d)")?
bool asks_strides(const ShapeEnv&);

/// While one lives on this thread, what is not known is taken to be as it is in the traced call, and nothing is
/// recorded: what comes of it holds for all calls only where nothing was asked.
class Supposing {
 public:
  Supposing();
  ~Supposing();
  Supposing(const Supposing&) = delete;
  bool asked() const { return asked_; }
  /// Somebody asks: does one live?
  static bool ask();

 private:
  Supposing* const around_;
  bool asked_ = false;
};

}  // namespace reprise::guards
