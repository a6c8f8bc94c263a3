#include "graph/thread_state.h"

#include "graph/interpreter.h"
#include "tensor/impl.h"

namespace reprise::graph {

constinit thread_local ThreadState thread_state;

static_assert(bit(Key::Trace) == kTracedKey && bit(Key::Wrapper) == kWrappedKey && bit(Key::Autograd) == kAutogradKey,
              "tensors carry them");

namespace {

std::string part_difference(Setting part, std::uint64_t now, std::uint64_t was) {
  now = (now & bits_of(part)) / one_of(part), was = (was & bits_of(part)) / one_of(part);
  auto dtype = [](std::uint64_t t) { return std::string(dtype_name(static_cast<DType>(t))); };
  switch (part) {
    case Setting::DefaultDType: return "the default dtype is " + dtype(now) + ", was " + dtype(was);
    case Setting::Autocast:
      return "autocast is " + (now ? "on in " + dtype(now - 1) : "off") + ", was " +
             (was ? "on in " + dtype(was - 1) : "off");
    case Setting::NoGrad: {
      constexpr std::uint64_t inference = kInference / one_of(Setting::NoGrad);
      if (now && was)
        return (now & inference) ? "an InferenceScope is around it, was none"
                                 : "no InferenceScope is around it, was one";
      return now ? "gradients are off, were on" : "gradients are on, were off";
    }
    case Setting::ShapeOnly:
      return now ? "tensors are made without elements (ShapeOnlyScope), were with"
                 : "tensors are made with elements, were without (ShapeOnlyScope)";
    case Setting::Modes:
      return now && was ? "another interpreter of the user's (ModeScope) is set"
             : now      ? "an interpreter of the user's (ModeScope) is set, was none"
                        : "no interpreter of the user's (ModeScope) is set, was one";
  }
  return "";
}

}  // namespace

std::string Settings::difference() const {
  std::string all;
  for (Setting part : {Setting::DefaultDType, Setting::Autocast, Setting::NoGrad, Setting::ShapeOnly, Setting::Modes})
    if ((thread_state.word ^ word) & mask & bits_of(part))
      all += (all.empty() ? "" : "; ") + part_difference(part, thread_state.word, word);
  return all;
}

}  // namespace reprise::graph
