#include "runtime/export/contract.h"

#include <cctype>

#include "base/errors.h"
#include "runtime/call/layout_class.h"
#include "runtime/export/layout_word.h"
#include "tensor/impl.h"

namespace reprise::detail {

std::string with_symbols(std::string_view text, const std::function<std::string(std::uint32_t)>& f) {
  std::string out;
  auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    const bool symbol = text[i] == 's' && end > i + 1 && end < i + 7 && (i == 0 || !in_word(text[i - 1])) &&
                        (end == text.size() || !in_word(text[end]));
    if (symbol) out += f(static_cast<std::uint32_t>(std::stoul(std::string(text.substr(i + 1, end - i - 1)))));
    else out += text.substr(i, end - i);
    i = end;
  }
  return out;
}

namespace {

/// "x .size(0)", as traces write it, is "x.size(0)".
std::string plain(std::string text) {
  for (std::string_view of : {" .size(", " .stride("})
    for (std::size_t at; (at = text.find(of)) != std::string::npos;) text.erase(at, 1);
  return text;
}

}  // namespace

std::string named_text(const Contract& c, std::string_view text) {
  return with_symbols(text, [&](std::uint32_t s) {
    if (s >= c.symbols.size()) return "s" + std::to_string(s);
    const SymbolFact& f = c.symbols[s];
    return f.declared.empty() ? plain(f.name) : f.declared;
  });
}

std::vector<std::string> guard_texts(const Contract& c) {
  std::vector<std::string> all;
  for (std::uint32_t i = 0; i < c.guards.size(); ++i) all.push_back(named_text(c, c.guards.text(i)));
  for (std::uint32_t i = 0; i < c.symbols.size(); ++i)
    for (std::uint32_t j = 0; j < i; ++j)
      if (!c.symbols[i].declared.empty() && c.symbols[i].declared == c.symbols[j].declared) {
        all.push_back(plain(c.symbols[i].name) + " == " + plain(c.symbols[j].name) + "  ; both are " +
                      c.symbols[i].declared);
        break;
      }
  return all;
}

void check_input(const Contract& c, std::size_t i, const TensorImpl& impl, const char* op, SourceLoc loc) {
  const InputContract& in = c.inputs[i];
  if (in.any) return;
  const std::uint64_t word = runtime::structure_word(impl);
  auto wrong = [&](ErrorCode code) {
    fail(code, op, loc, in.name, " is ", word_text(word), " of sizes ", Ints(impl.sizes, impl.sizes + impl.rank),
         ", and the program takes ", word_text(in.word));
  };
  if (is_shape_only(impl.device)) wrong(ErrorCode::DeviceMismatch);
  if (word != in.word) {
    if ((word ^ in.word) & 0xff) wrong(ErrorCode::DTypeMismatch);
    if ((word ^ in.word) >> 32) wrong(ErrorCode::DeviceMismatch);
    if ((word ^ in.word) & ~runtime::kLayoutBits) wrong(ErrorCode::ShapeMismatch);
    if (!runtime::fits(impl, in.word, in.shown_strides)) wrong(ErrorCode::InvalidArgument);
  }
  if (in.exact_strides && !runtime::has_strides_of(impl, in.word)) wrong(ErrorCode::InvalidArgument);
  if (in.whole_storage && !covers_its_storage(impl))
    fail(ErrorCode::InvalidArgument, op, loc, in.name, " is a part of its storage, and the program takes all of one");
}

std::vector<std::int64_t> symbol_words(const Contract& c, const std::vector<const TensorImpl*>& inputs,
                                       const std::vector<std::int64_t>& numbers) {
  std::vector<std::int64_t> words(2 * c.symbols.size() + 1);
  for (std::size_t s = 0; s < c.symbols.size(); ++s) {
    const SymbolFact& f = c.symbols[s];
    if (f.of == SymbolFact::Of::Size) words[s] = inputs[f.at]->sizes[f.dim];
    if (f.of == SymbolFact::Of::Stride) words[s] = inputs[f.at]->strides[f.dim];
    if (f.of == SymbolFact::Of::Number) words[s] = numbers[f.at];
  }
  return words;
}

namespace {

void check_guards(const Contract& c, const std::vector<std::int64_t>& words) {
  const char* const op = c.name.c_str();
  for (std::size_t s = 0; s < c.symbols.size(); ++s) {
    const SymbolFact& f = c.symbols[s];
    if (f.declared.empty()) continue;
    for (std::size_t j = 0; j < s; ++j)
      if (c.symbols[j].declared == f.declared && words[j] != words[s])
        fail(ErrorCode::InvalidArgument, op, {}, f.declared, " is ", words[j], " (", plain(c.symbols[j].name), ") and ",
             words[s], " (", plain(f.name), ")");
  }
  if (const auto miss = c.guards.first_miss(words.data())) {
    const guards::GuardSet::Told told = c.guards.told(*miss, words.data());
    fail(ErrorCode::InvalidArgument, op, {}, plain(told.names), " is ", told.seen,
         ", and the program was exported for ", named_text(c, c.guards.text(*miss)));
  }
}

/// `asked(i, j)`: is this pair to be looked at?
template <class Asked>
void check_memory(const Contract& c, const std::vector<const TensorImpl*>& inputs, const Asked& asked) {
  const char* const op = c.name.c_str();
  for (const Relation& r : c.relations)
    if (asked(r.a, r.b) && !r.holds(*inputs[r.a], *inputs[r.b]))
      fail(ErrorCode::AliasConflict, op, {}, c.inputs[r.a].name, " and ", c.inputs[r.b].name,
           " share memory in another way than when the program was exported");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!c.same_as.empty())
      for (std::size_t j = 0; j < i; ++j)
        if (asked(i, j) && (inputs[i] == inputs[j]) != (c.same_as[i] == c.same_as[j]))
          fail(ErrorCode::AliasConflict, op, {}, c.inputs[j].name, " and ", c.inputs[i].name,
               " are one tensor, or two, in another way than when the program was exported");
    if (!c.inputs[i].written) continue;
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      const bool one = !c.same_as.empty() && c.same_as[i] == c.same_as[j];
      if (!asked(i, j)) continue;
      if (i != j ? !one && overlaps(*inputs[i], *inputs[j]) : overlaps_itself(*inputs[i]))
        fail(ErrorCode::AliasConflict, op, {}, c.inputs[i].name, " is written and overlaps ",
             i == j ? "itself" : c.inputs[j].name);
    }
  }
}

}  // namespace

void check_call(const Contract& c, const std::vector<const TensorImpl*>& inputs,
                const std::vector<std::int64_t>& numbers, bool weights_known) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i])
      fail(ErrorCode::InvalidArgument, c.name.c_str(), {}, "weight ", c.inputs[i].name,
           " has no value: the program was saved without it, bind() one");
    if (!weights_known || !c.inputs[i].weight) check_input(c, i, *inputs[i], c.name.c_str(), {});
  }
  check_guards(c, symbol_words(c, inputs, numbers));
  check_memory(c, inputs, [&](std::size_t i, std::size_t j) {
    return !weights_known || !c.inputs[i].weight || !c.inputs[j].weight;
  });
}

}  // namespace reprise::detail
