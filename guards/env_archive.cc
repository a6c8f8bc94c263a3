#include "guards/env_archive.h"

#include "guards/shape_env_impl.h"

namespace reprise::guards {

REPRISE_ARCHIVED(Source, word, name, at_most, group)
REPRISE_ARCHIVED(ShapeEnv::Declared, lo, hi, multiple_of)
REPRISE_ARCHIVED(Guard, condition, where, why)

void ExprWriter::own(Int i) {
  if (i.is_symbolic()) return number(std::uint64_t{i.expr()->id()} + 1);
  number(0), write(*this, i.hint());
}

void ExprWriter::own(const Ints& list) {
  number(list.size());
  for (Int i : list) own(i);
}

void ExprWriter::own(const Scalar& s) {
  write(*this, s.kind());
  own(s.word());
}

void ExprReader::own(const Expr*& e) { e = EnvArchive::at(env_, number()); }

void ExprReader::own(Int& i) {
  if (const std::uint64_t id = number()) i = Int(EnvArchive::at(env_, id - 1));
  else i = read<std::int64_t>(*this);
}

void ExprReader::own(Ints& list) {
  list.clear();
  for (std::size_t n = count(); n > 0; --n) list.push_back(read<Int>(*this));
}

void ExprReader::own(Scalar& s) {
  const auto kind = read<Scalar::Kind>(*this);
  const Int word = read<Int>(*this);
  s = (kind == Scalar::Kind::Float  ? Scalar(0.0)
       : kind == Scalar::Kind::Bool ? Scalar(false)
                                    : Scalar(0))
          .with_word(word);
}

void ExprReader::own(const char*& text) {
  text = kept_text();
  if (!*text) text = nullptr;
}

EnvMark EnvArchive::mark(const ShapeEnv& env) {
  return {static_cast<std::uint32_t>(env.impl_->exprs.size()), static_cast<std::uint32_t>(env.guards().size())};
}

const Expr* EnvArchive::at(const ShapeEnv& env, std::uint64_t id) {
  if (id >= env.impl_->exprs.size()) throw DamagedArchive();
  return &env.impl_->exprs[static_cast<std::size_t>(id)];
}

void EnvArchive::write_exprs(ExprWriter& to, const ShapeEnv& env, std::uint32_t from, std::uint32_t end) {
  to.number(from), to.number(end - from);
  for (std::uint32_t i = from; i < end; ++i) {
    const Expr& e = env.impl_->exprs[i];
    write(to, e.kind());
    write(to, e.value());
    to.number(e.args().size());
    for (const Expr* a : e.args()) to.own(a);
  }
}

// What was concluded on the way follows from the guards in their order, and how a form came out of it stands among the
// expressions.
void EnvArchive::describe(ExprWriter& to, const ShapeEnv& env) {
  to.text(env.function);
  to.number(env.symbols().size());
  for (const Symbol& s : env.symbols()) {
    write(to, s.source);
    write(to, env.declared(s));
    write(to, s.hint), write(to, s.lo), write(to, s.hi), write(to, s.multiple_of);
    to.own(s.expr);
  }
  const EnvMark all = mark(env);
  write_exprs(to, env, 0, all.exprs);
  write(to, env.guards());
  write(to, env.impl_->asked);
}

void EnvArchive::write_added(ExprWriter& to, const ShapeEnv& env, EnvMark from, EnvMark end) {
  for (std::uint32_t i = from.exprs; i < end.exprs; ++i)
    if (env.impl_->exprs[i].kind() == ExprKind::Symbol) throw NotArchived("a symbol is made behind the trace");
  write_exprs(to, env, from.exprs, end.exprs);
  to.number(end.guards - from.guards);
  for (std::uint32_t i = from.guards; i < end.guards; ++i) write(to, env.guards()[i]);
}

std::vector<Guard> EnvArchive::read_added(ExprReader& from) {
  ShapeEnv& env = from.env();
  std::vector<const Expr*> args;
  std::uint64_t next = from.number();
  for (std::size_t n = from.count(); n > 0; --n, ++next) {
    const auto kind = read<ExprKind>(from);
    const auto value = read<std::int64_t>(from);
    if (kind > ExprKind::FEq || kind == ExprKind::Symbol) throw DamagedArchive();
    read(from, args);
    if (env.make_interned(kind, value, args)->id() != next) throw DamagedArchive();
  }
  return read<std::vector<Guard>>(from);
}

void EnvArchive::take_guards(ShapeEnv& env, const std::vector<Guard>& guards) {
  for (const Guard& g : guards) env.record(g.condition, g.where, g.why);
}

}  // namespace reprise::guards
