// Two runs of one function, compared: for CompileOptions::check (check.cc) and for REPRISE_VERIFY=2 (call_check.cc).
#include "runtime/build/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "base/errors.h"
#include "base/float_state.h"
#include "device/backend.h"
#include "runtime/build/specialization.h"
#include "tensor/impl.h"
#include "tensor/strided.h"
#include "tensor/transfer.h"

namespace reprise::detail {

Closeness closeness_of(DType d) {
  if (!is_floating(d)) return Closeness::Bits;
  return d == kFloat64      ? Closeness::Float64
         : d == kFloat32    ? Closeness::Float32
         : item_size(d) > 1 ? Closeness::Half
                            : Closeness::Float8;
}

namespace {
using graph::OpClass;

/// Does a node add up, itself or in a region?
bool adds_up(const graph::Node& n) {
  const OpClass cls = graph::op(n.op).cls;
  if (cls == OpClass::Reduction || cls == OpClass::Composite || cls == OpClass::Matmul || cls == OpClass::Attention)
    return true;
  return std::any_of(n.args.begin(), n.args.end(), [](const graph::NodeArg& a) {
    const auto* region = std::get_if<graph::Region>(&a);
    return region && std::any_of((*region)->nodes.begin(), (*region)->nodes.end(), adds_up);
  });
}
/// The least exact of what its regions compute.
Closeness in_regions(const graph::Node& n) {
  Closeness c = Closeness::Bits;
  for (const graph::NodeArg& a : n.args) {
    const auto* region = std::get_if<graph::Region>(&a);
    if (!region) continue;
    for (const graph::Node& inner : (*region)->nodes) {
      c = std::max(c, in_regions(inner));
      for (graph::ValueId r : inner.results) c = std::max(c, closeness_of((*region)->meta(r).dtype));
    }
  }
  return c;
}
}  // namespace

// Fused code adds up in another order than operators one by one, and keeps float32 between operators of half precision;
// what depends on such a value is as inexact. Everything else is equal bit for bit.
std::vector<Closeness> closeness_of_values(const graph::Graph& g, std::size_t inputs, bool interpreted) {
  std::vector<Closeness> all(g.values.size(), Closeness::Bits);
  // What a stage gives may have been rounded, and numbers that were read of it.
  for (std::size_t i = inputs; i < g.inputs.size(); ++i)
    all[g.inputs[i].value.v] = std::max(Closeness::Float32, closeness_of(g.meta(g.inputs[i].value).dtype));
  auto of_data = [&](const Scalar& s) { return s.is_symbolic() && g.env && g.env->of_data(s.word().expr()); };
  for (const graph::Node& n : g.nodes) {
    Closeness operands = Closeness::Bits, types = in_regions(n);
    for (const graph::NodeArg& a : n.args)
      if (const Scalar* s = std::get_if<Scalar>(&a); s && of_data(*s)) operands = Closeness::Float32;
    graph::for_each_value(n, [&](graph::ValueId v) {
      operands = std::max(operands, all[v.v]);
      types = std::max(types, closeness_of(g.meta(v).dtype));
    });
    const OpClass cls = graph::op(n.op).cls;
    const bool sums = adds_up(n);
    const bool moves = cls == OpClass::View || cls == OpClass::Join || cls == OpClass::Gather;
    for (graph::ValueId r : n.results) {
      const Closeness own = std::max(types, closeness_of(g.meta(r).dtype));
      all[r.v] = sums || (!moves && (own >= Closeness::Half || interpreted)) ? std::max(operands, own) : operands;
    }
  }
  return all;
}

namespace {

std::string text(const std::int64_t* n, int rank) {
  std::string s = "[";
  for (int d = 0; d < rank; ++d) s += (d ? ", " : "") + std::to_string(n[d]);
  return s + "]";
}

std::string place(const TensorImpl& t, std::int64_t flat) {
  std::int64_t index[kMaxRank] = {};
  for (int d = t.rank - 1; d >= 0; --d) index[d] = flat % t.sizes[d], flat /= t.sizes[d];
  return text(index, t.rank);
}

// The elements of a tensor of the host, row by row; its own memory where they lie so.
struct Rows {
  const char* data;
  std::vector<char> gathered;

  explicit Rows(const TensorImpl& t) : data(t.data()) {
    const std::int64_t size = item_size(t.dtype);
    std::int64_t next = 0;
    bool in_rows = true;
    for_each_offset(t, [&](std::int64_t at) { in_rows &= at == next++; });
    if (in_rows) return;
    gathered.reserve(static_cast<std::size_t>(next * size));
    for_each_offset(
        t, [&](std::int64_t at) { gathered.insert(gathered.end(), t.data() + at * size, t.data() + (at + 1) * size); });
    data = gathered.data();
  }
};

template <class T>
std::optional<std::string> first_difference(const TensorImpl& shape, const char* want, const char* got, Closeness level,
                                            Runs runs) {
  using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  auto at = [](const char* rows, std::int64_t i) {
    return convert_element<Wide>(load_element<T>(rows + i * static_cast<std::int64_t>(sizeof(T))));
  };
  const std::int64_t n = shape.numel();
  double allowed = 0;
  if constexpr (!std::is_integral_v<T>) {
    double scale = 1;
    for (std::int64_t i = 0; i < n && level != Closeness::Bits; ++i)
      if (double v = at(want, i); std::isfinite(v)) scale = std::max(scale, std::abs(v));
    allowed = tolerance(level) * scale;
  }
  std::int64_t different = 0, first = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const Wide w = at(want, i), g = at(got, i);
    if (w == g || (w != w && g != g)) continue;
    if (!std::is_integral_v<T> && std::abs(static_cast<double>(w) - static_cast<double>(g)) <= allowed) continue;
    // Codes of numbers of half precision, whose digits end within a step of int8.
    if (std::is_integral_v<T> && !std::is_same_v<T, bool> && level >= Closeness::Half &&
        std::abs(static_cast<double>(w) - static_cast<double>(g)) == 1)
      continue;
    if (!different++) first = i;
  }
  if (!different || (std::is_integral_v<T> && level != Closeness::Bits && different <= n / 16)) return {};
  std::ostringstream s;
  s.precision(9);
  s << "element " << place(shape, first) << " is " << at(got, first) << " " << runs.got << " and " << at(want, first)
    << " " << runs.want;
  if (different > 1) s << " (and " << different - 1 << " more)";
  return s.str();
}

}  // namespace

double tolerance(Closeness c) {
  switch (c) {
    case Closeness::Bits: return 0;
    case Closeness::Float64: return 1e-9;
    case Closeness::Float32: return 1e-3;
    case Closeness::Half: return 5e-2;
    case Closeness::Float8: return 0.25;
  }
  return 0;
}

CallCloseness::CallCloseness(const graph::Graph& g, const Specialization& s, std::size_t inputs, bool interpreted)
    : of_input(std::max(inputs, g.inputs.size()), Closeness::Bits), of_output(g.outputs.size(), Closeness::Bits) {
  using Kind = graph::OutputSpec::Kind;
  const std::vector<Closeness> values = closeness_of_values(g, inputs, interpreted);
  for (const graph::OutputSpec& o : g.outputs)
    if (o.kind == Kind::NewValueOfInput) of_input[o.source] = values[o.value.v];
  for (const Traced::Whole& w : s.wholes)  // what is on a storage holds what was written to it
    for (std::uint32_t i : w.members) of_input[i] = std::max(of_input[i], of_input[w.input]);
  auto of_one_tensor = [&] {
    for (std::size_t i = 0; i < s.same_as.size(); ++i) of_input[i] = std::max(of_input[i], of_input[s.same_as[i]]);
  };
  of_one_tensor();
  for (std::size_t i = 0; i < g.outputs.size(); ++i) {
    const graph::OutputSpec& o = g.outputs[i];
    of_output[i] = o.kind == Kind::AliasOfInput
                       ? of_input[o.source]
                       : values[o.kind == Kind::AliasOfOutput ? g.outputs[o.source].value.v : o.value.v];
  }
  for (const graph::MetadataMutation& m : g.metadata_mutations)  // set_ to, or grown into, what was computed
    if (m.from_output >= 0)
      of_input[m.input] = std::max(of_input[m.input], of_output[static_cast<std::size_t>(m.from_output)]);
  of_one_tensor();
}

Closeness CallCloseness::of_result(std::int32_t leaf) const {
  if (leaf == -1) return Closeness::Bits;
  // input_itself
  return leaf >= 0 ? of_output[static_cast<std::size_t>(leaf)] : of_input[static_cast<std::size_t>(-2 - leaf)];
}

std::optional<std::string> shape_difference(const std::int64_t* want, const std::int64_t* want_strides, int want_rank,
                                            const std::int64_t* got, const std::int64_t* got_strides, int got_rank,
                                            Runs runs) {
  auto differ = [&](const char* what, const std::int64_t* g, const std::int64_t* w) {
    return std::string("its ") + what + " are " + text(g, got_rank) + " " + runs.got + " and " + text(w, want_rank) +
           " " + runs.want;
  };
  if (want_rank != got_rank || !std::equal(want, want + want_rank, got)) return differ("sizes", got, want);
  if (std::find(want, want + want_rank, 0) != want + want_rank) return {};
  for (int d = 0; d < want_rank; ++d)
    if (want[d] > 1 && want_strides[d] != got_strides[d]) return differ("strides", got_strides, want_strides);
  return {};
}

std::optional<std::string> element_difference(const Tensor& want, const Tensor& got, Closeness level, Runs runs) {
  const FloatState ours;
  if (got.device() == Device::null()) return {};  // it computes nothing
  auto on_host = [](const Tensor& t) { return reprise::on_host(t, "compare"); };
  const Tensor w = on_host(want), g = on_host(got);
  const TensorImpl& shape = *w.impl();
  const std::int64_t bytes = shape.numel() * item_size(shape.dtype);
  if (bytes == 0) return {};
  const Rows want_rows(shape), got_rows(*g.impl());
  if (std::memcmp(want_rows.data, got_rows.data, static_cast<std::size_t>(bytes)) == 0) return {};
  std::optional<std::string> difference;
  dispatch(shape.dtype, [&](auto* p) {
    difference =
        first_difference<std::remove_pointer_t<decltype(p)>>(shape, want_rows.data, got_rows.data, level, runs);
  });
  return difference;
}

}  // namespace reprise::detail
