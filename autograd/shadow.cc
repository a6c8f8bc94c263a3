#include "autograd/shadow.h"

#include "reprise/autograd.h"

namespace reprise::autograd {

void Shadow::add(const ResultMeta& m) {
  word(static_cast<std::uint64_t>(m.dtype) << 32 | static_cast<std::uint64_t>(m.device.type) << 24 |
       static_cast<std::uint64_t>(m.device.index) << 16 | m.sizes.size());
  for (Int s : m.sizes) ints.push_back(s);
}

void Shadow::add(const Call& c) {
  word(static_cast<std::uint64_t>(c.op.id) << 1 | c.inplace);
  for (const Call::Arg& a : c.args) {
    word(a.index());
    if (auto* m = std::get_if<ResultMeta>(&a)) add(*m);
    if (auto* l = std::get_if<std::vector<ResultMeta>>(&a)) {
      word(l->size());
      for (const ResultMeta& m : *l) add(m);
    }
    if (auto* i = std::get_if<Int>(&a)) ints.push_back(*i);
    if (auto* l = std::get_if<Ints>(&a)) {
      word(l->size());
      for (Int i : *l) ints.push_back(i);
    }
    if (auto* s = std::get_if<Scalar>(&a)) {
      word(static_cast<std::uint64_t>(s->kind()));
      if (s->kind() == Scalar::Kind::Bool) word(static_cast<std::uint64_t>(s->to_double()));
      else numbers.push_back(*s);
    }
    if (auto* b = std::get_if<bool>(&a)) word(*b);
    if (auto* t = std::get_if<DType>(&a)) word(static_cast<std::uint64_t>(*t));
    if (auto* s = std::get_if<std::string>(&a)) word(*s);
  }
  if (!c.layout) return;
  word(c.layout->sizes.size());
  ints.insert(ints.end(), c.layout->sizes.begin(), c.layout->sizes.end());
  ints.insert(ints.end(), c.layout->strides.begin(), c.layout->strides.end());
  ints.push_back(c.layout->offset);
}

void Shadow::add(const Saved& s, Node& of) {
  const NoGradScope off;
  const Tensor t = s.unpack(of);  // throws what a walk would
  tensors.push_back(t.defined() ? t.detach() : t);
}

ResultMeta Traced::meta(const ResultMeta& of) {
  ResultMeta m{{}, of.dtype, of.device};
  for (std::size_t i = 0; i < of.sizes.size(); ++i) m.sizes.push_back(integer());
  return m;
}

std::shared_ptr<const Call> Traced::call(const Call& of) {
  auto made = std::make_shared<Call>(of);
  for (Call::Arg& a : made->args) {
    if (auto* m = std::get_if<ResultMeta>(&a)) *m = meta(*m);
    if (auto* l = std::get_if<std::vector<ResultMeta>>(&a))
      for (ResultMeta& m : *l) m = meta(m);
    if (auto* i = std::get_if<Int>(&a)) *i = integer();
    if (auto* l = std::get_if<Ints>(&a))
      for (Int& i : *l) i = integer();
    if (auto* s = std::get_if<Scalar>(&a); s && s->kind() != Scalar::Kind::Bool) *s = number();
  }
  if (!of.layout) return made;
  auto layout = std::make_shared<Layout>(*of.layout);
  for (Int& i : layout->sizes) i = integer();
  for (Int& i : layout->strides) i = integer();
  layout->offset = integer();
  made->layout = std::move(layout);
  return made;
}

namespace {
constinit thread_local const Through* t_through = nullptr;
}  // namespace
const Through* exchange_through(const Through* t) { return std::exchange(t_through, t); }

}  // namespace reprise::autograd
