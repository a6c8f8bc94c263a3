// What is constant in a call, in the user's words.
#include "runtime/call/structure_names.h"

#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <sstream>

#include "base/shown.h"
#include "graph/wrapper.h"
#include "runtime/call/call_frame.h"

namespace reprise::detail {

namespace {

using Kind = StructureNames::Kind;
using Leaf = StructureNames::Leaf;

constexpr const char* kOfItsOwn = "each is a compilation of its own";

std::string device_of(std::uint64_t word) {
  Device d;
  d.type = static_cast<decltype(d.type)>(word >> 32 & 0xff);
  d.index = static_cast<decltype(d.index)>(word >> 40 & 0xff);
  return d.str();
}

struct Told {
  std::string now, before, remedy;
};

Told tensors(std::uint64_t now, std::uint64_t before) {
  auto dtype = [](std::uint64_t w) { return std::string(dtype_name(static_cast<DType>((w & 0xff) - 1))); };
  auto rank = [](std::uint64_t w) { return std::to_string(runtime::rank_of_word(w)) + "-dimensional"; };
  if (!now || !before) return {now ? "a tensor" : "undefined", before ? "a tensor" : "undefined", kOfItsOwn};
  if (dtype(now) != dtype(before))
    return {dtype(now), dtype(before),
            "each dtype is a compilation of its own: convert with to() before the call, or let there be few"};
  if (device_of(now) != device_of(before))
    return {"on " + device_of(now), "on " + device_of(before), "each device is a compilation of its own"};
  if (rank(now) != rank(before))
    return {rank(now), rank(before),
            "each number of dimensions is a compilation of its own: view() or unsqueeze() before the call"};
  if ((now ^ before) & runtime::kWrappedWord)
    return {now & runtime::kWrappedWord ? "a wrapper" : "a plain tensor",
            before & runtime::kWrappedWord ? "a wrapper" : "a plain tensor", kOfItsOwn};
  if ((now ^ before) & runtime::kLayoutBits)
    return {runtime::layout_name(now), runtime::layout_name(before),
            "each class of layouts is a compilation of its own: call contiguous() before, where the layout does not "
            "matter"};
  return {"of more than 2^44 elements, or with a larger or a negative stride", "smaller", kOfItsOwn};
}

std::string text_of(const std::uint64_t* words, std::uint32_t n) {
  std::string s(static_cast<std::size_t>(n - 1) * 8, '\0');
  if (n > 1) std::memcpy(s.data(), words + 1, s.size());
  s.resize(static_cast<std::size_t>(words[0]));
  return "'" + shown(s, 60) + "'";
}

const char* kind_name(Kind k) {
  switch (k) {
    case Kind::Number: return "a floating-point number";
    case Kind::Integer: return "an integer";
    case Kind::Flag: return "a bool";
    case Kind::Enum: return "an enum";
    case Kind::Length: return "a list";
    case Kind::Presence: return "an optional";
    case Kind::Tensor: return "a tensor";
    case Kind::Int: return "an Int";
    case Kind::Scalar: return "a Scalar";
    case Kind::Text: return "a string";
    case Kind::Class: return "a wrapper";
  }
  return "";
}

std::string value_of(Kind k, std::uint64_t word) {
  switch (k) {
    case Kind::Number: {
      std::ostringstream s;
      s.precision(std::numeric_limits<double>::max_digits10);
      s << std::bit_cast<double>(word);
      return s.str();
    }
    case Kind::Flag: return word ? "true" : "false";
    case Kind::Length: return std::to_string(word) + " long";
    case Kind::Presence: return word ? "given" : "not given";
    case Kind::Class: return "a " + reinterpret_cast<const WrapperType*>(word)->name;
    case Kind::Scalar:
      switch (static_cast<reprise::Scalar::Kind>(word >> 1)) {
        case reprise::Scalar::Kind::Bool: return word & 1 ? "true" : "false";
        case reprise::Scalar::Kind::Int: return "an integer";
        case reprise::Scalar::Kind::Float: return "a floating-point number";
      }
      [[fallthrough]];
    default: return std::to_string(static_cast<std::int64_t>(word));
  }
}

const char* remedy_of(Kind k) {
  switch (k) {
    case Kind::Number: return "each value is a compilation of its own: take it as reprise::Scalar if it changes";
    case Kind::Integer: return "each value is a compilation of its own: take it as reprise::Int if it changes";
    case Kind::Length: return "each length is a compilation of its own: a tensor with one more dimension may have any";
    case Kind::Text: return "each text is a compilation of its own";
    default: return kOfItsOwn;
  }
}

std::string place(const Leaf& l) {
  const std::string arg = "arg " + std::to_string(l.argument);
  return l.path.starts_with(arg) ? l.path : l.path + " (" + arg + ")";
}

Told difference_of(const Leaf& call, const std::uint64_t* now, const Leaf& made, const std::uint64_t* before) {
  if (call.kind != made.kind) return {kind_name(call.kind), kind_name(made.kind), kOfItsOwn};
  if (call.kind == Kind::Tensor) return tensors(*now, *before);
  if (call.kind == Kind::Text) return {text_of(now, call.words), text_of(before, made.words), remedy_of(call.kind)};
  return {value_of(call.kind, *now), value_of(call.kind, *before), remedy_of(call.kind)};
}

}  // namespace

StructureDifference difference_of_tensors(std::uint64_t now, std::uint64_t before) {
  const Told told = tensors(now, before);
  return {"is " + told.now + ", was " + told.before, told.remedy, 1, "", told.now, told.before};
}

std::vector<std::uint32_t> tensor_words_of(const StructureNames& names) {
  std::vector<std::uint32_t> at;
  std::uint32_t word = 1;
  for (const Leaf& l : names.leaves) {
    if (l.kind == Kind::Tensor) at.push_back(word);
    word += l.words;
  }
  return at;
}

void StructureNames::tensor(const reprise::Tensor& t) {
  add(Kind::Tensor, 1);
  const graph::WrapperState* const wrapper = graph::state_of_wrapper(t);
  if (!wrapper) return;
  add(Kind::Class, 1);
  wrapper->type.read(wrapper->value.get(), *this);
}

void StructureNames::add(Kind kind, std::uint32_t words) {
  leaves.push_back({path_.text(), static_cast<std::uint32_t>(path_.argument()), kind, words});
}

StructureDifference difference_of(const StructureNames& made, const FrameArray<std::uint64_t>& made_words,
                                  const StructureNames& call, const FrameArray<std::uint64_t>& call_words) {
  StructureDifference d;
  std::set<std::uint32_t> differ;  // arguments
  // What tells how much follows (a length, whether something is there) stands before it: of each argument the first
  // difference is at one path. The rest of such an argument is passed over.
  auto next_argument = [](const StructureNames& n, std::size_t& i, std::size_t& word) {
    for (const std::uint32_t a = n.leaves[i].argument; i < n.leaves.size() && n.leaves[i].argument == a; ++i)
      word += n.leaves[i].words;
  };
  std::size_t i = 0, j = 0, at_made = 1, at_call = 1;
  while (i < made.leaves.size() && j < call.leaves.size()) {
    const Leaf &m = made.leaves[i], &c = call.leaves[j];
    if (m.argument != c.argument) {  // one of them is empty in one of the calls
      const Leaf& here = m.argument < c.argument ? m : c;
      if (differ.insert(here.argument).second && d.failed.empty())
        d.failed = place(here) + (&here == &c ? " is new" : " is not there"), d.remedy = kOfItsOwn,
        d.argument = place(here);
      if (&here == &m) next_argument(made, i, at_made);
      else next_argument(call, j, at_call);
      continue;
    }
    if (m == c &&
        std::memcmp(made_words.begin() + at_made, call_words.begin() + at_call, m.words * sizeof(std::uint64_t)) == 0) {
      at_made += m.words, at_call += c.words, ++i, ++j;
      continue;
    }
    if (differ.insert(c.argument).second && d.failed.empty()) {
      Told told = difference_of(c, call_words.begin() + at_call, m, made_words.begin() + at_made);
      d.argument = place(c);
      d.failed = d.argument + " is " + told.now + ", was " + told.before;
      d.remedy = std::move(told.remedy), d.seen = std::move(told.now), d.expected = std::move(told.before);
    }
    next_argument(made, i, at_made);
    next_argument(call, j, at_call);
  }
  if (differ.empty()) {
    d.failed = "the arguments are of other C++ types";
    d.remedy = "each list of types is a compilation of its own";
  }
  d.arguments = std::max<std::size_t>(differ.size(), 1);
  if (differ.size() > 1)
    d.failed += " (and " + std::to_string(differ.size() - 1) +
                (differ.size() == 2 ? " other argument differs)" : " other arguments differ)");
  return d;
}

}  // namespace reprise::detail
