#include "guards/program_archive.h"

#include <string_view>
#include <tuple>

#include "guards/expr.h"
#include "guards/float_math.h"

namespace reprise::guards {

REPRISE_ARCHIVED(ExprProgram::Op, code, dst, a, b, imm)
REPRISE_ARCHIVED(ExprProgram::SizeCheck, sizes, item_size, op)
REPRISE_ARCHIVED(ExprProgram::ReachCheck, sizes, strides, offset, elements, op)
REPRISE_ARCHIVED(GuardSet::Check, kind, a, b, k)

namespace {

// What these two keep to themselves, for this file alone: an explicit instantiation may name it.
template <class Of, auto... Members>
struct Private {
  friend constexpr auto members(Of) { return std::tuple(Members...); }
};
struct OfProgram {
  friend constexpr auto members(OfProgram);
};
template struct Private<OfProgram, &ExprProgram::ops_, &ExprProgram::must_fit_, &ExprProgram::size_checks_,
                        &ExprProgram::reach_checks_, &ExprProgram::n_slots_>;
struct OfGuards {
  friend constexpr auto members(OfGuards);
};
template struct Private<OfGuards, &GuardSet::checks_, &GuardSet::general_, &GuardSet::said_, &GuardSet::kept_,
                        &GuardSet::find_blocks>;

constexpr std::size_t kMostSlots = 2048;  // of a program of conditions (GuardSet::first_condition)

void require(bool holds) {
  if (!holds) throw DamagedArchive();
}

using Code = ExprProgram::Code;

void check_op(const ExprProgram::Op& op, std::size_t at, std::size_t words) {
  require(op.code <= Code::kFloat && op.dst == at);
  switch (op.code) {
    case Code::kConst: return;
    case Code::kWord: return require(op.a < words);
    case Code::kMulImm:
    case Code::kAddImm:
    case Code::kNot:
    case Code::kFits: return require(op.a < at);
    case Code::kFloat: {
      const auto kind = static_cast<ExprKind>(op.imm);
      require(op.imm >= 0 && op.imm <= static_cast<int>(ExprKind::FEq) && float_kind(kind));
      [[fallthrough]];
    }
    default: return require(op.a < at && op.b < at);
  }
}

}  // namespace

void write_place(ArchiveWriter& to, SourceLoc loc) {
  const std::string_view file = loc.file ? loc.file : "";
  to.text(file.substr(file.find_last_of('/') + 1));
  write(to, loc.line);
}
SourceLoc read_place(ArchiveReader& from) {
  SourceLoc loc;
  loc.file = from.kept_text();
  read(from, loc.line);
  if (!*loc.file) loc.file = nullptr;
  return loc;
}

void write_program(ArchiveWriter& to, const ExprProgram& p) {
  write(to, p.ops()), write(to, p.must_fit()), write(to, p.size_checks()), write(to, p.reach_checks());
}

ExprProgram read_program(ArchiveReader& from, std::size_t words) {
  ExprProgram p;
  constexpr auto of = members(OfProgram());
  auto& ops = p.*std::get<0>(of);
  auto& must_fit = p.*std::get<1>(of);
  auto& sizes = p.*std::get<2>(of);
  auto& reach = p.*std::get<3>(of);
  read(from, ops), read(from, must_fit), read(from, sizes), read(from, reach);
  for (std::size_t i = 0; i < ops.size(); ++i) check_op(ops[i], i, words);
  const std::size_t n = ops.size();
  auto slots = [&](const std::vector<std::uint32_t>& list) {
    for (std::uint32_t s : list) require(s < n);
  };
  slots(must_fit);
  for (const auto& c : sizes) slots(c.sizes), require(c.item_size > 0);
  for (const auto& c : reach) {
    slots(c.sizes), slots(c.strides);
    require(c.sizes.size() == c.strides.size() && c.offset < n && c.elements < n);
  }
  p.*std::get<4>(of) = static_cast<std::uint32_t>(n);
  return p;
}

void write_guards(ArchiveWriter& to, const GuardSet& g) {
  write(to, g.checks()), write(to, g.kept());
  to.number(g.programs().size());
  for (const ExprProgram& p : g.programs()) write_program(to, p);
  for (const auto& said : g.*std::get<2>(members(OfGuards()))) {
    const auto& [condition, why, where, symbols] = said;
    write(to, condition), write(to, why), write_place(to, where);
    to.number(symbols.size());
    for (const auto& symbol : symbols) {
      const auto& [word, name, source, hint] = symbol;
      write(to, word), write(to, name), write(to, source), write(to, hint);
    }
  }
}

GuardSet read_guards(ArchiveReader& from, std::size_t words) {
  GuardSet g;
  constexpr auto of = members(OfGuards());
  auto& checks = g.*std::get<0>(of);
  auto& programs = g.*std::get<1>(of);
  auto& all_said = g.*std::get<2>(of);
  read(from, checks), read(from, g.*std::get<3>(of));
  for (std::size_t n = from.count(); n > 0; --n) {
    programs.push_back(read_program(from, words));
    require(programs.back().size() <= kMostSlots);
  }
  std::size_t evaluated = 0;
  for (const GuardSet::Check& c : checks) {
    require(c.kind <= GuardSet::kGeneral);
    if (c.kind != GuardSet::kGeneral) {
      require(c.a < words && (c.kind != GuardSet::kSameWords || c.b < words));
      require((c.kind != GuardSet::kDivisible || c.k > 0) && (c.kind != GuardSet::kLowBitsZero || c.k >= 0));
      continue;
    }
    require(c.b <= evaluated && c.b < programs.size() && c.a < programs[c.b].size());
    if (c.b == evaluated) ++evaluated;
  }
  all_said.resize(checks.size());
  for (auto& said : all_said) {
    auto& [condition, why, where, symbols] = said;
    read(from, condition), read(from, why);
    where = read_place(from);
    symbols.resize(from.count());
    for (auto& symbol : symbols) {
      auto& [word, name, source, hint] = symbol;
      read(from, word), read(from, name), read(from, source), read(from, hint);
      require(word < words);
    }
  }
  (g.*std::get<4>(of))();
  return g;
}

}  // namespace reprise::guards
