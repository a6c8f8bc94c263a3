// Expressions as text, and back.
#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "base/errors.h"
#include "guards/float_math.h"
#include "guards/shape_env_impl.h"
#include "reprise/scalar.h"

namespace reprise::guards {

namespace {

// Binding strength, as in C++.
int strength(ExprKind k) {
  switch (k) {
    case ExprKind::Or: return 1;
    case ExprKind::And: return 2;
    case ExprKind::Eq:
    case ExprKind::Ne: return 3;
    case ExprKind::Lt:
    case ExprKind::Le: return 4;
    case ExprKind::Add: return 5;
    case ExprKind::Mul:
    case ExprKind::Div:
    case ExprKind::Mod: return 6;
    default: return 7;
  }
}

std::string symbol_name(const Expr* e) { return "s" + std::to_string(e->symbol()); }

std::string write(const Expr* e, int outer);

// Numbers among doubles are written as such, unless that would lose bits.
std::string write_float(const FloatKind& f, const Expr* e) {
  std::string s = f.name;
  for (const Expr* a : e->args()) {
    s += s.size() == std::strlen(f.name) ? "(" : ", ";
    const double v = a->is_const() ? std::bit_cast<double>(a->value()) : 0;
    s += a->is_const() && f.kind != ExprKind::Real && v == v ? Scalar(v).str() : write(a, 0);
  }
  return s + ")";
}

std::string write(const Expr* e, int outer) {
  std::string s;
  if (const FloatKind* f = float_kind(e->kind())) return write_float(*f, e);
  auto infix = [&](const char* op, int right_extra) {
    int k = strength(e->kind());
    s = write(e->args()[0], k) + op + write(e->args()[1], k + right_extra);
  };
  switch (e->kind()) {
    case ExprKind::Const: s = std::to_string(e->value()); return outer > 6 && e->value() < 0 ? "(" + s + ")" : s;
    case ExprKind::Symbol: return symbol_name(e);
    case ExprKind::Add:
      for (const Expr* a : e->args()) {
        std::string t = write(a, 5);
        if (s.empty()) s = t;
        else if (t[0] == '-') s += " - " + t.substr(1);
        else s += " + " + t;
      }
      break;
    case ExprKind::Mul:
      for (std::size_t i = 0; i < e->args().size(); ++i) {
        const Expr* a = e->args()[i];
        if (i == 0 && a->is_const() && a->value() == -1) s = "-";
        else s += (s.empty() || s == "-" ? "" : "*") + write(a, i == 0 && a->is_const() ? 6 : 7);
      }
      break;
    case ExprKind::Div: infix(" / ", 1); break;
    case ExprKind::Mod: infix(" % ", 1); break;
    case ExprKind::Min: return "min(" + write(e->args()[0], 0) + ", " + write(e->args()[1], 0) + ")";
    case ExprKind::Max: return "max(" + write(e->args()[0], 0) + ", " + write(e->args()[1], 0) + ")";
    case ExprKind::Wrap: return "wrap(" + write(e->args()[0], 0) + ")";
    case ExprKind::Fits: return "fits(" + write(e->args()[0], 0) + ")";
    case ExprKind::Eq: infix(" == ", 1); break;
    case ExprKind::Ne: infix(" != ", 1); break;
    case ExprKind::Lt: infix(" < ", 1); break;
    case ExprKind::Le: infix(" <= ", 1); break;
    case ExprKind::And: infix(" && ", 0); break;
    case ExprKind::Or: infix(" || ", 0); break;
    case ExprKind::Not: return "!(" + write(e->args()[0], 0) + ")";
    default: break;
  }
  return strength(e->kind()) < outer ? "(" + s + ")" : s;
}

class Parser {
 public:
  Parser(ShapeEnv& env, std::string_view text) : env_(env), text_(text) {}
  const Expr* all() {
    const Expr* e = binary(1);
    skip();
    if (at_ != text_.size()) error("unexpected text");
    return e;
  }

 private:
  [[noreturn]] void error(const char* what) {
    fail(ErrorCode::InvalidArgument, "parse expression", {}, what, " at column ", at_ + 1, " of '", std::string(text_),
         "'");
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool eat(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  const Expr* make(ExprKind k, const Expr* a, const Expr* b) {
    bool truths = k == ExprKind::And || k == ExprKind::Or;
    for (const Expr* e : {a, b})
      if (e->is_bool() != truths && !(truths && e->is_const()))
        error(truths ? "a condition is needed before this" : "a number is needed before this");
    const Expr* args[] = {a, b};
    return env_.make(k, args);
  }
  /// Counts nesting, so that hostile text ends in an error and not in an exhausted stack.
  struct Deeper {
    explicit Deeper(Parser& p) : p(p) {
      constexpr int kDeepest = 200;
      if (++p.depth_ > kDeepest) p.error("nested too deeply");
    }
    ~Deeper() { --p.depth_; }
    Parser& p;
  };
  // Precedence climbing over the table below; longer tokens first.
  const Expr* binary(int level) {
    struct Op {
      const char* token;
      int level;
      ExprKind kind;
      bool swap, negate;
    };
    static constexpr Op ops[] = {{"||", 1, ExprKind::Or, false, false}, {"&&", 2, ExprKind::And, false, false},
                                 {"==", 3, ExprKind::Eq, false, false}, {"!=", 3, ExprKind::Ne, false, false},
                                 {"<=", 4, ExprKind::Le, false, false}, {">=", 4, ExprKind::Le, true, false},
                                 {"<", 4, ExprKind::Lt, false, false},  {">", 4, ExprKind::Lt, true, false},
                                 {"+", 5, ExprKind::Add, false, false}, {"-", 5, ExprKind::Add, false, true},
                                 {"*", 6, ExprKind::Mul, false, false}, {"/", 6, ExprKind::Div, false, false},
                                 {"%", 6, ExprKind::Mod, false, false}};
    if (level > 6) return unary();
    const Expr* left = binary(level + 1);
    for (bool more = true; more;) {
      more = false;
      for (const Op& op : ops) {
        if (op.level != level || !eat(op.token)) continue;
        const Expr* right = binary(level + 1);
        if (op.negate) right = make(ExprKind::Mul, env_.constant(-1), right);
        left = op.swap ? make(op.kind, right, left) : make(op.kind, left, right);
        more = true;
        break;
      }
    }
    return left;
  }
  const Expr* unary() {
    Deeper deeper(*this);
    if (eat("-")) {
      skip();
      if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) return number(true);
      return make(ExprKind::Mul, env_.constant(-1), unary());
    }
    if (eat("!")) {
      const Expr* args[] = {unary()};
      if (!args[0]->is_bool() && !args[0]->is_const()) error("a condition is needed before this");
      return env_.make(ExprKind::Not, args);
    }
    if (eat("(")) {
      const Expr* e = binary(1);
      if (!eat(")")) error("expected ')'");
      return e;
    }
    for (ExprKind k : {ExprKind::Wrap, ExprKind::Fits})
      if (eat(k == ExprKind::Wrap ? "wrap(" : "fits(")) {
        const Expr* args[] = {binary(1)};
        if (args[0]->is_bool()) error("a number is needed before this");
        if (!eat(")")) error("expected ')'");
        return env_.make(k, args);
      }
    for (const FloatKind& f : kFloatKinds)
      if (eat(std::string(f.name) + "(")) {
        const Expr* args[2];
        for (int i = 0; i < f.operands; ++i) {
          if (i && !eat(",")) error("expected ','");
          const Expr* literal = f.kind == ExprKind::Real ? nullptr : floating();
          args[i] = literal ? literal : binary(1);
          if (args[i]->is_bool()) error("a number is needed before this");
        }
        if (!eat(")")) error("expected ')'");
        return env_.make(f.kind, std::span<const Expr* const>(args, static_cast<std::size_t>(f.operands)));
      }
    for (ExprKind k : {ExprKind::Min, ExprKind::Max})
      if (eat(k == ExprKind::Min ? "min(" : "max(")) {
        const Expr* a = binary(1);
        if (!eat(",")) error("expected ','");
        const Expr* b = binary(1);
        if (!eat(")")) error("expected ')'");
        return make(k, a, b);
      }
    skip();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) return number(false);
    std::string name = word();
    if (name.empty()) error("expected a number, a symbol or '('");
    return env_.of(env_.symbol_named(name));
  }
  // A number with a point, an exponent or a name of its own; null: it is none.
  const Expr* floating() {
    skip();
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != ',' && text_[end] != ')' && text_[end] != '(') ++end;
    const std::string token(text_.substr(at_, end - at_));
    if (token.find_first_of(".einf") == std::string::npos || token.find('s') != std::string::npos) return nullptr;
    char* stop = nullptr;
    const double v = std::strtod(token.c_str(), &stop);
    if (stop == token.c_str() || *stop != '\0') return nullptr;
    at_ = end;
    return env_.constant(std::bit_cast<std::int64_t>(v));
  }
  std::string word() {
    std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  // Built downwards from zero when negative: the smallest number has no positive counterpart.
  const Expr* number(bool negative) {
    std::size_t start = at_;
    std::int64_t v = 0;
    for (char c : word()) {
      std::int64_t digit = negative ? '0' - c : c - '0';
      if (!std::isdigit(static_cast<unsigned char>(c)) || __builtin_mul_overflow(v, 10, &v) ||
          __builtin_add_overflow(v, digit, &v)) {
        at_ = start;
        error("not a 64-bit number");
      }
    }
    return env_.constant(v);
  }

  ShapeEnv& env_;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string to_string(const Expr* e) { return write(e, 0); }

const Expr* ShapeEnv::parse(std::string_view text) { return Parser(*this, text).all(); }

// s<n> is symbol number n, whoever made it; the symbols before it are made too, so that numbers stay dense.
Int ShapeEnv::symbol_named(std::string_view name, std::int64_t hint) {
  std::size_t n = 0;
  bool numbered = name.size() > 1 && name.size() < 6 && name[0] == 's';
  for (char c : name.substr(std::min<std::size_t>(name.size(), 1))) {
    numbered = numbered && std::isdigit(static_cast<unsigned char>(c));
    n = n * 10 + static_cast<std::size_t>(c - '0');
  }
  if (!numbered)
    fail(ErrorCode::InvalidArgument, "parse expression", {}, "'", std::string(name),
         "' is not a symbol: they are named s0, s1, ...");
  while (symbols_.size() <= n) {
    std::uint32_t next = static_cast<std::uint32_t>(symbols_.size());
    // a float's bits may be negative, sizes are not
    new_symbol({next, "s" + std::to_string(next)}, hint, hint < 0 ? INT64_MIN : 0);
  }
  return Int(symbols_[n].expr);
}

}  // namespace reprise::guards
