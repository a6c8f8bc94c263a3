#include <algorithm>
#include <cstring>

#include "graph/view_column.h"
#include "graph/writers.h"
#include "runtime/front/check.h"
#include "tensor/frozen.h"
#include "tensor/variable.h"

namespace reprise::detail {

namespace {

// All of a storage, as elements of one dtype (what is left over at its end is no tensor's).
Tensor whole(Storage* s, DType dtype) {
  const std::int64_t n = s->bytes / item_size(dtype), one = 1;
  retain(s);
  return Tensor::adopt(new_impl(dtype, s->device, &n, &one, 1, 0, s));
}

CheckInterpreter::Shaped::Metadata metadata_of(const Tensor& tensor) {
  const TensorImpl& t = *tensor.impl();
  CheckInterpreter::Shaped::Metadata m;
  std::copy(std::begin(t.sizes), std::end(t.sizes), m.sizes);
  std::copy(std::begin(t.strides), std::end(t.strides), m.strides);
  m.offset = t.offset;
  m.rank = t.rank;
  m.storage = whole(t.storage, t.dtype);
  return m;
}

void set_metadata(TensorImpl& t, const CheckInterpreter::Shaped::Metadata& m) {
  std::copy(std::begin(m.sizes), std::end(m.sizes), t.sizes);
  std::copy(std::begin(m.strides), std::end(m.strides), t.strides);
  frozen_may_change(*t.storage);
  t.offset = m.offset;
  t.rank = static_cast<std::uint8_t>(m.rank);
  Storage* s = m.storage.impl()->storage;
  retain(s);
  release(std::exchange(t.storage, s));
  t.structure_word.store(0, std::memory_order_relaxed);
}

void put_back(CheckInterpreter::Written& w) {
  Storage& s = *w.all.impl()->storage;
  if (s.released) return;
  w.all.copy_(w.before);
  s.version.store(w.version, std::memory_order_relaxed);
  frozen_may_change(s);
}

}  // namespace

bool operator==(const CheckInterpreter::Shaped::Metadata& a, const CheckInterpreter::Shaped::Metadata& b) {
  return a.rank == b.rank && a.offset == b.offset && a.storage.impl()->storage == b.storage.impl()->storage &&
         std::equal(a.sizes, a.sizes + a.rank, b.sizes) && std::equal(a.strides, a.strides + a.rank, b.strides);
}

CheckInterpreter::CheckInterpreter(Random random) : Interpreter(graph::Key::Trace), random_(random) {
  std::tie(seed, first_random) = graph::take_random(0);
}

void CheckInterpreter::keep_bytes(const Tensor& t) {
  Storage* s = t.impl()->storage;
  if (s->released || is_shape_only(s->device) || own_storages_.count(s) || !kept_.insert(s).second) return;
  graph::PlainScope plain;
  Tensor all = whole(s, t.impl()->dtype), before = all.clone();
  written.push_back({std::move(all), std::move(before), Tensor(), s->version.load(std::memory_order_relaxed)});
}

void CheckInterpreter::keep_metadata(const Tensor& t) {
  if (own_tensors_.count(t.impl()) || !kept_tensors_.insert(t.impl()).second) return;
  auto m = metadata_of(t);
  shaped.push_back({t, m, m, Tensor()});
}

CheckInterpreter::Maker CheckInterpreter::maker(const Storage* s) const {
  auto it = makers_.find(s);
  return it == makers_.end() ? Maker() : it->second;
}

void CheckInterpreter::call(const graph::OpCall& c, std::vector<Tensor>& results) {
  std::vector<Tensor> written;
  if (c.inplace || !c.op.writes.empty()) graph::for_each_written(c, [&](const Tensor& t) { written.push_back(t); });
  for (const Tensor& t : written)
    if (t.impl() && !t.impl()->trace) keep_bytes(t);
  const std::size_t first = results.size();
  {
    const HandleScope no_variables(nullptr);  // what an operator does to handles is not the function's doing
    graph::forward(c, results);
  }
  for (const Tensor& t : written) makers_[t.impl()->storage] = {&c.op, c.loc};
  if (c.inplace) return;
  for (std::size_t i = first; i < results.size(); ++i) {
    if (!results[i].impl()) continue;
    if (!c.op.writes.empty() && c.op.returns[i - first] >= 0) continue;
    own_tensors_.insert(results[i].impl());
    if (c.op.cls == graph::OpClass::View) continue;
    own_storages_.insert(results[i].impl()->storage);
    makers_[results[i].impl()->storage] = {&c.op, c.loc};
  }
}

void CheckInterpreter::mutate_metadata(const graph::OpCall& c) {
  const Tensor& self = *std::get<const Tensor*>(c.args[0]);
  if (self.impl() && !self.impl()->trace) keep_metadata(self);
  const Storage* before = self.impl() ? self.impl()->storage : nullptr;
  const std::uint64_t version = before ? before->version.load(std::memory_order_relaxed) : 0;
  graph::forward_metadata(c);
  const Storage* now = self.impl() ? self.impl()->storage : nullptr;
  if (now && now == before && version != now->version.load(std::memory_order_relaxed) && !own_storages_.count(now) &&
      !kept_.count(now)) {
    graph::PlainScope plain;
    grown_.push_back({whole(self.impl()->storage, self.impl()->dtype), version});
  }
  // set_ takes another tensor's
  if (now == before || graph::view_facts_of(c.op.id).of == graph::ViewOf::Source) return;
  own_storages_.insert(now);  // a larger one
  makers_[now] = {&c.op, c.loc};
}

std::pair<Int, Int> CheckInterpreter::next_random(Int count) {
  // More than there are of a number fail, but only where memory is asked for.
  const std::int64_t offset = plus(first_random, random_taken);
  random_taken = plus(random_taken, count.hint());
  if (random_ == Random::OfReplay) return {seed, offset};
  auto [own_seed, own_offset] = graph::take_random(count.hint());
  return {own_seed, own_offset};
}

void CheckInterpreter::undo() {
  graph::PlainScope plain;
  for (Written& w : written)
    if (!w.all.impl()->storage->released) w.after = w.all.clone();
  for (Shaped& t : shaped) {
    t.after = metadata_of(t.tensor);
    if (!(t.after == t.before)) t.elements = t.tensor.clone();
  }
  restore();
}

void CheckInterpreter::restore() {
  graph::PlainScope plain;
  for (Shaped& t : shaped)
    if (!(metadata_of(t.tensor) == t.before)) set_metadata(*t.tensor.impl(), t.before);
  for (Written& w : written) put_back(w);
  // They stay as large as they are, with the elements that they had.
  for (auto g = grown_.rbegin(); g != grown_.rend(); ++g) {
    Storage& s = *g->first.impl()->storage;
    s.version.store(g->second, std::memory_order_relaxed);
    frozen_may_change(s);
  }
  if (random_ == Random::Own) graph::give_back_random(first_random, random_taken);
}

}  // namespace reprise::detail
