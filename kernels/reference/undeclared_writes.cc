#include "kernels/reference/undeclared_writes.h"

#include <cstring>
#include <utility>

#include "base/hash.h"
#include "base/knobs.h"
#include "kernels/launch/product.h"

namespace reprise::kernels {

namespace {

std::uint64_t sum_of(const TensorView& t) {
  std::uint64_t h = kHashSeed;
  if (!t.data || t.numel() == 0) return h;
  const std::size_t item = static_cast<std::size_t>(item_size(t.dtype));
  std::int64_t index[kMaxRank] = {};
  const char* at = t.data;
  for (int d = t.rank; d >= 0;) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, item);
    h = hash_mix(h, word);
    for (d = t.rank - 1; d >= 0; --d) {
      at += t.strides[d] * static_cast<std::int64_t>(item);
      if (++index[d] < t.sizes[d]) break;
      at -= t.strides[d] * t.sizes[d] * static_cast<std::int64_t>(item);
      index[d] = 0;
    }
  }
  return h;
}

}  // namespace

bool UndeclaredWrites::asked(const graph::OpDef& op) {
  if (knobs().verify < 1 || static_cast<std::size_t>(op.id) < graph::kBuiltinOps) return false;
  const ProductForm* form = product_forms().find(op.id);
  return !(form && *form == ProductForm::Packed);
}

UndeclaredWrites::UndeclaredWrites(const NativeArgs& args, std::vector<bool> written)
    : args_(args), written_(std::move(written)) {
  for (std::uint32_t k = 0; k < args.first_result; ++k) sums_.push_back(written_[k] ? 0 : sum_of(args.tensors[k]));
}

std::string UndeclaredWrites::changed(const graph::OpDef& op) const {
  for (std::uint32_t i = 0; i < args_.n_args && i < op.schema.args.size(); ++i) {
    const NativeArg& a = args_.args[i];
    if (a.kind != NativeArg::Kind::Tensor && a.kind != NativeArg::Kind::TensorList) continue;
    for (std::uint32_t k = a.first; k < a.first + a.count; ++k) {
      if (written_[k] || sum_of(args_.tensors[k]) == sums_[k]) continue;
      std::string name = "'" + op.schema.args[i].name + "'";
      if (a.kind == NativeArg::Kind::TensorList) name = "tensor " + std::to_string(k - a.first) + " of " + name;
      return "its kernel wrote " + name + ", and its schema does not say so (Tensor(a!)): \"" + op.schema.text + "\"";
    }
  }
  return {};
}

}  // namespace reprise::kernels
