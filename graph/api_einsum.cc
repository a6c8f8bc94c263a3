// einsum as diagonals, permutations, reshapes and batched matrix products, two operands at a time.
#include <algorithm>
#include <array>
#include <string>

#include "base/errors.h"
#include "base/shown.h"
#include "graph/api_args.h"
#include "graph/shape_rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

/// An operand with one letter for each dimension. The dimensions that "..." stands for are digits, '7' the last.
struct Term {
  Tensor tensor;
  std::string letters;
};

bool has(const std::string& s, char c) { return s.find(c) != std::string::npos; }

class Einsum {
 public:
  Einsum(std::string_view equation, SourceLoc loc) : equation_(equation), loc_(loc) {}

  Tensor run(TensorArrayRef operands) {
    std::vector<std::string> inputs = read();
    if (inputs.size() != operands.size())
      bad("names " + std::to_string(inputs.size()) + " operands, got " + std::to_string(operands.size()));
    std::vector<Term> terms;
    std::string digits;  // of all operands' "..."
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto rank = static_cast<std::size_t>(graph::api::checked_meta(operands[i], "einsum", loc_).dim());
      const std::size_t dots = inputs[i].find('.'), named = inputs[i].size() - (dots != std::string::npos);
      if (dots == std::string::npos ? rank != named : rank < named)
        bad("gives operand " + std::to_string(i) + " " + std::to_string(named) + " dimensions, it has " +
            std::to_string(rank));
      if (dots != std::string::npos) {
        const std::string own = std::string("01234567").substr(8 - (rank - named));
        inputs[i].replace(dots, 1, own);
        if (own.size() > digits.size()) digits = own;
      }
      terms.push_back(without_repeats({operands[i], inputs[i]}));
    }
    if (const std::size_t dots = output_.find('.'); dots != std::string::npos) output_.replace(dots, 1, digits);
    while (terms.size() > 1) {
      std::string needed = output_;
      for (std::size_t i = 2; i < terms.size(); ++i) needed += terms[i].letters;
      broadcast(terms[0], terms[1]);
      terms[0] =
          contract(sum_out(terms[0], needed + terms[1].letters), sum_out(terms[1], needed + terms[0].letters), needed);
      terms.erase(terms.begin() + 1);
    }
    return ordered(sum_out(terms[0], output_), output_);
  }

 private:
  [[noreturn]] void bad(const std::string& why) const {
    fail(ErrorCode::InvalidArgument, "einsum", loc_, "equation \"", shown(equation_), "\" ", why);
  }

  std::vector<std::string> read() {
    std::vector<std::string> inputs(1);
    bool in_output = false;
    for (std::size_t i = 0; i < equation_.size(); ++i) {
      char c = equation_[i];
      std::string& at = in_output ? output_ : inputs.back();
      if (c == ' ') continue;
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        if (in_output && has(at, c)) bad(std::string("has '") + c + "' twice in the output");
        at += c;
        constexpr std::size_t kMost = kMaxRank + 1;  // with "..."
        if (!in_output && at.size() > kMost)
          bad("names more than " + std::to_string(kMaxRank) + " dimensions of operand " +
              std::to_string(inputs.size() - 1));
      } else if (equation_.substr(i).starts_with("...")) {
        if (has(at, '.')) bad("has '...' twice in one term");
        at += '.';
        i += 2;
      } else if (c == ',' && !in_output) {
        inputs.emplace_back();
      } else if (c == '-' && !in_output && i + 1 < equation_.size() && equation_[i + 1] == '>') {
        in_output = true;
        ++i;
      } else {
        bad("has an unexpected '" + shown(equation_.substr(i, 1)) + "'");
      }
    }
    std::string all;
    for (const std::string& s : inputs) all += s;
    std::array<std::int64_t, 256> times{};
    for (unsigned char c : all) ++times[c];
    // the classical rule: letters that occur once, in alphabetical order; what "..." stands for comes first ('.' < 'A')
    if (!in_output) {
      if (has(all, '.')) output_ += '.';
      for (char c : all) {
        if (c != '.' && times[static_cast<unsigned char>(c)] == 1) output_ += c;
      }
      std::sort(output_.begin(), output_.end());
    }
    for (char c : output_) {
      if (!times[static_cast<unsigned char>(c)])
        bad(std::string("has '") + (c == '.' ? "..." : std::string(1, c)) + "' in the output only");
    }
    return inputs;
  }

  /// A letter that stands twice means the diagonal.
  Term without_repeats(Term t) const {
    for (std::size_t second = 1; second < t.letters.size(); ++second) {
      const char c = t.letters[second];
      const std::size_t first = t.letters.find(c);
      if (first == second) continue;
      const auto d1 = static_cast<std::int64_t>(first), d2 = static_cast<std::int64_t>(second);
      const Int a = t.tensor.size(d1, loc_), b = t.tensor.size(d2, loc_);
      if (!graph::same(a, b, loc_, "einsum: equal sizes"))
        fail(ErrorCode::ShapeMismatch, "einsum", loc_, "'", c, "' is ", a, " and ", b, " in \"", shown(equation_),
             "\"");
      t.tensor = diagonal(t.tensor, 0, d1, d2, loc_);
      t.letters.erase(second, 1).erase(first, 1);
      t.letters += c;
      second = 0;
    }
    return t;
  }

  /// Where one has size 1 and the other has not, it stands for all of the other's.
  void broadcast(Term& a, Term& b) const {
    for (std::size_t d = a.letters.size(); d-- > 0;) {
      const char c = a.letters[d];
      if (!has(b.letters, c) || graph::same(size_of(a, c), size_of(b, c), loc_, "einsum: equal sizes")) continue;
      if (graph::ask(detail::compare_eq(size_of(a, c), 1, loc_), "einsum: size 1")) drop(a, c);
      else if (graph::ask(detail::compare_eq(size_of(b, c), 1, loc_), "einsum: size 1")) drop(b, c);
    }
  }
  void drop(Term& t, char c) const {
    const std::size_t d = t.letters.find(c);
    t.tensor = select(t.tensor, static_cast<std::int64_t>(d), 0, loc_);
    t.letters.erase(d, 1);
  }

  /// Sums the dimensions that nothing needs any more.
  Term sum_out(const Term& t, const std::string& needed) const {
    Ints dims;
    Term out;
    for (std::size_t d = 0; d < t.letters.size(); ++d) {
      if (has(needed, t.letters[d])) {
        out.letters += t.letters[d];
      } else {
        dims.push_back(static_cast<std::int64_t>(d));
      }
    }
    out.tensor = dims.empty() ? t.tensor : sum(t.tensor, IntArrayRef(dims), false, std::nullopt, loc_);
    return out;
  }

  Tensor ordered(const Term& t, const std::string& letters) const {
    if (t.letters == letters) return t.tensor;
    Ints dims;
    for (char c : letters) dims.push_back(static_cast<std::int64_t>(t.letters.find(c)));
    return permute(t.tensor, dims, loc_);
  }

  /// As [batch, rows, columns], each the product of its letters' sizes.
  Tensor matrix(const Term& t, const std::string& batch, const std::string& rows, const std::string& columns) const {
    guards::LibraryScope operators;
    Ints sizes;
    for (const std::string* group : {&batch, &rows, &columns}) {
      Int n = 1;
      for (char c : *group) n = n * size_of(t, c);
      sizes.push_back(n);
    }
    return reshape(ordered(t, batch + rows + columns), sizes, loc_);
  }

  Int size_of(const Term& t, char c) const { return t.tensor.size(static_cast<int>(t.letters.find(c)), loc_); }

  Term contract(const Term& a, const Term& b, const std::string& needed) const {
    std::string batch, rows, inner, columns;
    for (char c : a.letters) (has(b.letters, c) ? (has(needed, c) ? batch : inner) : rows) += c;
    for (char c : b.letters) {
      if (!has(a.letters, c)) {
        columns += c;
      } else if (!graph::same(size_of(a, c), size_of(b, c), loc_, "einsum: equal sizes")) {
        fail(ErrorCode::ShapeMismatch, "einsum", loc_, "'", c, "' is ", size_of(a, c), " and ", size_of(b, c), " in \"",
             shown(equation_), "\"");
      }
    }
    Tensor product = bmm(matrix(a, batch, rows, inner), matrix(b, batch, inner, columns), loc_);
    Ints sizes;
    for (char c : batch + rows) sizes.push_back(size_of(a, c));
    for (char c : columns) sizes.push_back(size_of(b, c));
    return {view(product, sizes, loc_), batch + rows + columns};
  }

  std::string_view equation_;
  std::string output_;
  SourceLoc loc_;
};

}  // namespace

Tensor einsum(std::string_view equation, TensorArrayRef operands, SourceLoc loc) {
  return Einsum(equation, loc).run(operands);
}

}  // namespace reprise
