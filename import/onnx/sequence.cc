#include "import/onnx/core.h"

namespace reprise::onnx {
namespace {

/// A place in a sequence; of `n` elements, or `n` + 1 where one comes between.
std::size_t place(Call& c, int input, std::size_t n) {
  const std::int64_t at = c.scalar(input).to_int().value(), size = static_cast<std::int64_t>(n);
  if (at < -size || at >= size) fail(ErrorCode::IndexOutOfRange, c.op(), {}, "place ", at, " in a sequence of ", size);
  return static_cast<std::size_t>(at < 0 ? at + size : at);
}

/// A copy, which takes time by its length.
Sequence copied(Call& c) {
  const Sequence& s = c.sequence(0);
  c.spend(static_cast<std::int64_t>(s.size() / 16));
  return s;
}
void construct(Call& c) {
  Sequence s;
  for (int i = 0; i < c.inputs(); ++i) s.push_back(c.value(i));
  c.give(std::move(s));
}
void at(Call& c) {
  const Sequence& s = c.sequence(0);
  c.give(s[place(c, 1, s.size())]);
}
void insert(Call& c) {
  Sequence s = copied(c);
  std::size_t where = s.size();
  if (c.has(2)) {
    const std::int64_t given = c.scalar(2).to_int().value(), n = static_cast<std::int64_t>(s.size());
    if (given < -n || given > n) fail(ErrorCode::IndexOutOfRange, c.op(), {}, "place ", given, " in a sequence of ", n);
    where = static_cast<std::size_t>(given < 0 ? given + n : given);
  }
  s.insert(s.begin() + static_cast<std::ptrdiff_t>(where), c.value(1));
  c.give(std::move(s));
}
void erase(Call& c) {
  Sequence s = copied(c);
  if (s.empty()) c.bad("the sequence is empty");
  const std::size_t where = c.has(1) ? place(c, 1, s.size()) : s.size() - 1;
  s.erase(s.begin() + static_cast<std::ptrdiff_t>(where));
  c.give(std::move(s));
}
void length(Call& c) { c.give(Numbers{.values = {static_cast<std::int64_t>(c.sequence(0).size())}}); }

void split_to_sequence(Call& c) {
  const Tensor x = c.x(0);
  const int axis = axis_of(c, c.i("axis", 0), x.dim());
  Sequence s;
  if (!c.has(1)) {
    const bool keep = c.i("keepdims", 1) != 0;
    for (const Tensor& t : unbind(x, axis)) s.emplace_back(keep ? t.unsqueeze(axis) : t);
  } else {
    const auto n = c.numbers(1);
    std::vector<Tensor> parts =
        n->dims.empty() ? split(x, c.scalar(1).to_int(), axis) : split_with_sizes(x, c.ints(1), axis);
    for (const Tensor& t : parts) s.emplace_back(t);
  }
  c.give(std::move(s));
}
void concat_from_sequence(Call& c) {
  std::vector<Tensor> parts;
  for (const Value& v : c.sequence(0)) parts.push_back(v.has_tensor ? v.tensor : to_tensor(*v.numbers));
  if (parts.empty()) c.bad("the sequence is empty");
  const int axis = static_cast<int>(c.i("axis", 0));
  c.give(c.i("new_axis", 0) != 0 ? stack(parts, axis) : cat(parts, axis));
}
void map(Call& c) {
  const Graph* body = c.graph("body");
  std::vector<Sequence> made(body->out.size());
  for (std::size_t i = 0; i < c.sequence(0).size(); ++i) {
    std::vector<Value> in;
    for (int k = 0; k < c.inputs(); ++k) {
      const Value& v = c.value(k);
      if (v.sequence && i >= v.sequence->size()) c.bad("its sequences have different lengths");
      in.push_back(v.sequence ? (*v.sequence)[i] : v);
    }
    const std::vector<Value> out = run_inner(*body, c.frame(), std::move(in));
    for (std::size_t k = 0; k < out.size(); ++k) made[k].push_back(out[k]);
  }
  for (std::size_t k = 0; k < made.size(); ++k) c.give(std::move(made[k]), static_cast<int>(k));
}

void optional_of(Call& c) {
  if (c.has(0)) c.give(c.value(0));
}
void has_element(Call& c) { c.give(Numbers{.dtype = kBool, .values = {c.has(0)}}); }

constexpr Row kSequenceRows[] = {
    {"ConcatFromSequence", 11, 0, concat_from_sequence},
    {"Optional", 15, 0, optional_of},
    {"OptionalGetElement", 15, 0, [](Call& c) { c.give(c.value(0)); }},
    {"OptionalHasElement", 15, 0, has_element},
    {"SequenceAt", 11, 0, at, 2},
    {"SequenceConstruct", 11, 0, construct},
    {"SequenceEmpty", 11, 0, [](Call& c) { c.give(Sequence()); }},
    {"SequenceErase", 11, 0, erase, 2},
    {"SequenceInsert", 11, 0, insert, 4},
    {"SequenceLength", 11, 0, length},
    {"SequenceMap", 17, 0, map},
    {"SplitToSequence", 11, 0, split_to_sequence, 2},
};

}  // namespace

std::span<const Row> sequence_rows() { return kSequenceRows; }

}  // namespace reprise::onnx
