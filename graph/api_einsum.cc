// einsum as permutations, reshapes and batched matrix products, two operands at a time.
#include <algorithm>
#include <string>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/shape_rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

/// An operand with one letter for each dimension.
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
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      int rank = graph::api::checked_meta(operands[i], "einsum", loc_).dim();
      if (rank != static_cast<int>(inputs[i].size())) {
        bad("gives operand " + std::to_string(i) + " " + std::to_string(inputs[i].size()) + " dimensions, it has " +
            std::to_string(rank));
      }
      terms.push_back({operands[i], inputs[i]});
    }
    while (terms.size() > 1) {
      std::string needed = output_;
      for (std::size_t i = 2; i < terms.size(); ++i) needed += terms[i].letters;
      terms[0] =
          contract(sum_out(terms[0], needed + terms[1].letters), sum_out(terms[1], needed + terms[0].letters), needed);
      terms.erase(terms.begin() + 1);
    }
    return ordered(sum_out(terms[0], output_), output_);
  }

 private:
  [[noreturn]] void bad(const std::string& why) const {
    fail(ErrorCode::InvalidArgument, "einsum", loc_, "equation \"", equation_, "\" ", why);
  }

  std::vector<std::string> read() {
    std::vector<std::string> inputs(1);
    bool in_output = false;
    for (std::size_t i = 0; i < equation_.size(); ++i) {
      char c = equation_[i];
      std::string& at = in_output ? output_ : inputs.back();
      if (c == ' ') continue;
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        if (has(at, c)) bad(std::string("repeats '") + c + "' within one operand; take diagonal() first");
        at += c;
      } else if (c == ',' && !in_output) {
        inputs.emplace_back();
      } else if (c == '-' && !in_output && i + 1 < equation_.size() && equation_[i + 1] == '>') {
        in_output = true;
        ++i;
      } else {
        bad(std::string("has an unexpected '") + c + "'");
      }
    }
    std::string all;
    for (const std::string& s : inputs) all += s;
    if (!in_output) {  // the classical rule: letters that occur once, in alphabetical order
      for (char c : all) {
        if (std::count(all.begin(), all.end(), c) == 1) output_ += c;
      }
      std::sort(output_.begin(), output_.end());
    }
    for (char c : output_) {
      if (!has(all, c)) bad(std::string("has '") + c + "' in the output only");
    }
    return inputs;
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
             equation_, "\"");
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
