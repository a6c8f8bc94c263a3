#include "tests/ops/cases.h"

#include <array>
#include <cmath>
#include <functional>
#include <random>

#include "base/errors.h"
#include "kernels/reference/reference.h"
#include "tensor/impl.h"

namespace reprise::test {

namespace {

using graph::OpId;
using Sizes = std::vector<std::int64_t>;

enum class Memory { Contiguous, Permuted, Stepped, Expanded };

Tensor new_view(const Tensor& base, const Sizes& sizes, const Sizes& strides, std::int64_t offset) {
  Storage* s = base.impl()->storage;
  retain(s);
  return Tensor::adopt(
      new_impl(base.dtype(), Device::cpu(), sizes.data(), strides.data(), static_cast<int>(sizes.size()), offset, s));
}

void copy_elements(const Tensor& to, const Tensor& from) {
  std::vector<graph::CallArg> args{&from};
  Tensor flat = kernels::reference_call(OpId::clone, args)[0];
  std::int64_t n = flat.numel().value(), size = item_size(to.dtype());
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t at = 0, rest = i;
    for (int d = to.dim() - 1; d >= 0; --d)
      at += rest % to.impl()->sizes[d] * to.impl()->strides[d], rest /= to.impl()->sizes[d];
    std::copy_n(flat.impl()->data() + i * size, size, to.impl()->data() + at * size);
  }
}

Tensor in_memory(const Tensor& t, Memory m) {
  int rank = t.dim();
  if (m == Memory::Contiguous || rank == 0) return t;
  Sizes sizes(t.impl()->sizes, t.impl()->sizes + rank), strides(static_cast<std::size_t>(rank));
  std::int64_t n = 1;
  if (m == Memory::Permuted) {
    for (std::size_t d = 0; d < sizes.size(); ++d) strides[d] = n, n *= sizes[d];
  } else if (m == Memory::Stepped) {
    n = 2;
    for (std::size_t d = sizes.size(); d-- > 0;) strides[d] = n, n *= sizes[d] + (d + 1 == sizes.size());
  } else {
    for (std::size_t d = sizes.size(); d-- > 1;) strides[d] = n, n *= sizes[d];
    strides[0] = 0;
  }
  std::int64_t room = n + 4;
  Tensor base = empty_concrete(&room, 1, t.dtype(), Device::cpu());
  std::fill_n(base.impl()->data(), room * item_size(t.dtype()), 0);
  Tensor view = new_view(base, sizes, strides, m == Memory::Stepped ? 1 : 0);
  copy_elements(view, t);
  return view;
}

Tensor random(DType t, const Sizes& sizes, unsigned seed, Memory m = Memory::Contiguous, double lo = -3,
              double hi = 3) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> u(lo, hi);
  std::int64_t n = 1;
  for (std::int64_t s : sizes) n *= s;
  std::vector<double> v(static_cast<std::size_t>(n));
  for (double& x : v) x = is_floating(t) ? u(rng) : std::floor(u(rng));
  std::vector<Int> s(sizes.begin(), sizes.end());
  Tensor wide = tensor_of(v, s);
  std::vector<graph::CallArg> args{&wide, t};
  return in_memory(kernels::reference_call(OpId::to, args)[0], m);
}

Tensor indices(const Sizes& sizes, std::int64_t below, unsigned seed, Memory m = Memory::Contiguous,
               DType t = DType::Int64) {
  return random(t, sizes, seed, m, 0, static_cast<double>(below));
}

bool takes(OpId op, DType t) { return !is_storage_only(t) || graph::op(op).moves; }

struct Variant {
  DType dtype;
  Memory memory;
  Sizes sizes;
};

/// All dtypes that the operator takes as matrices; every memory for some; empty, one element, 0-dim.
std::vector<Variant> variants(OpId op, bool floats_only = false) {
  std::vector<Variant> v;
  for (int t = 0; t < kDTypeCount; ++t)
    if (takes(op, static_cast<DType>(t)) && (!floats_only || is_floating(static_cast<DType>(t))))
      v.push_back({static_cast<DType>(t), Memory::Contiguous, {4, 6}});
  for (Memory m : {Memory::Permuted, Memory::Stepped, Memory::Expanded}) v.push_back({DType::Float32, m, {4, 6}});
  v.push_back({DType::BFloat16, Memory::Permuted, {4, 6}});
  v.push_back({DType::Float32, Memory::Contiguous, {4, 0}});
  v.push_back({DType::Float32, Memory::Contiguous, {1, 1}});
  v.push_back({DType::Float32, Memory::Contiguous, {}});
  v.push_back({DType::Float32, Memory::Stepped, {2, 3, 37}});
  return v;
}

Scalar number_for(const std::string& name) {
  if (name == "threshold" || name == "min_val") return 0;
  if (name == "max_val" || name == "alpha" || name == "value" || name == "beta") return 2;
  return 0.5;
}

/// Pointwise operators, from the schema alone. `kind`: what the operands after the first are (0: tensors, 1: an
/// integer, 2: a float).
std::vector<OpArg> pointwise_args(const graph::OpDef& def, const Variant& v, int kind) {
  using graph::ArgType;
  std::vector<OpArg> args;
  unsigned seed = 1;
  for (std::size_t i = 0; i < def.schema.args.size(); ++i, ++seed) {
    const graph::ArgDef& a = def.schema.args[i];
    switch (a.type) {
      case ArgType::Tensor:
        args.push_back(
            random(a.name == "condition" || a.name == "mask" ? DType::Bool : v.dtype, v.sizes, seed, v.memory));
        break;
      case ArgType::TensorOrScalar:
      case ArgType::OptionalTensorOrScalar:
        if (i > 0 && def.id == OpId::masked_fill)
          args.push_back(kind == 0 ? OpArg(random(v.dtype, {}, seed)) : OpArg(kind == 1 ? Scalar(2) : Scalar(0.5)));
        else if (i > 0 && def.id == OpId::fill)
          args.push_back(kind == 0 ? OpArg(random(v.dtype, {}, seed)) : OpArg(kind == 1 ? Scalar(2) : Scalar(0.5)));
        else if (i == 0 || kind == 0)
          args.push_back(i == 0 || v.sizes.empty() ? random(v.dtype, v.sizes, seed, v.memory)
                                                   : random(v.dtype, {v.sizes.back()}, seed));
        else args.push_back(kind == 1 ? Scalar(2) : Scalar(0.5));
        break;
      case ArgType::Scalar: args.push_back(number_for(a.name)); break;
      case ArgType::OptionalFloat: args.push_back(kind == 0 ? OpArg(std::monostate{}) : OpArg(Scalar(0.1))); break;
      case ArgType::OptionalStr:
        args.push_back(kind == 0 ? OpArg(std::monostate{}) : OpArg(std::string(kind == 1 ? "floor" : "trunc")));
        break;
      case ArgType::Str: args.push_back(std::string(kind == 0 ? "none" : "tanh")); break;
      case ArgType::DType:
        args.push_back(kind == 0 ? DType::Float32 : kind == 1 ? DType::Int8 : DType::BFloat16);
        break;
      default: fail(ErrorCode::Internal, "cases_of", {}, "no rule for argument ", a.name, " of ", def.schema.text);
    }
  }
  return args;
}

bool has_choices(const graph::OpDef& def) {
  for (const graph::ArgDef& a : def.schema.args)
    if (a.type != graph::ArgType::Tensor && a.type != graph::ArgType::Scalar) return true;
  return false;
}

using Cases = std::vector<OpCase>;

Cases pointwise(const graph::OpDef& def) {
  Cases out;
  for (const Variant& v : variants(def.id)) {
    out.push_back({def.id, pointwise_args(def, v, 0)});
    bool main = v.memory == Memory::Contiguous && v.sizes.size() == 2 && v.sizes[1] == 6;
    bool often = v.dtype == DType::Float32 || v.dtype == DType::BFloat16 || v.dtype == DType::Int64;
    for (int kind : {1, 2})
      if (has_choices(def) && main && often) out.push_back({def.id, pointwise_args(def, v, kind)});
  }
  return out;
}

/// Reductions and normalisations over one tensor: `rest` gives the arguments after it for a rank.
Cases over(OpId op, bool floats_only, const std::function<std::vector<std::vector<OpArg>>(const Sizes&)>& rest,
           double lo = -3, double hi = 3) {
  Cases out;
  for (const Variant& v : variants(op, floats_only)) {
    for (std::vector<OpArg>& more : rest(v.sizes)) {
      std::vector<OpArg> args{random(v.dtype, v.sizes, 3, v.memory, lo, hi)};
      args.insert(args.end(), more.begin(), more.end());
      out.push_back({op, std::move(args)});
    }
  }
  return out;
}

using Dims = std::vector<Int>;
const OpArg kNone = std::monostate{};

bool empty(const Sizes& s) { return std::find(s.begin(), s.end(), 0) != s.end(); }

Cases reduction(OpId op) {
  bool has_dtype = graph::op(op).schema.find("dtype") >= 0, extreme = op == OpId::amax || op == OpId::amin;
  double bound = op == OpId::prod ? 1.5 : 3;
  return over(
      op, false,
      [&](const Sizes& s) {
        std::vector<std::vector<OpArg>> r;
        if (extreme && empty(s)) return std::vector<std::vector<OpArg>>{{Dims{0}, true}};
        r.push_back({Dims{-1}, false});
        r.push_back({kNone, false});
        if (s.size() > 1) r.push_back({Dims{0}, true});
        if (has_dtype)
          for (auto& a : r) a.push_back(kNone);
        return r;
      },
      -bound, bound);
}

Cases products(OpId op) {
  Cases out;
  for (DType t : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int64}) {
    for (Memory m : {Memory::Contiguous, Memory::Permuted, Memory::Stepped}) {
      if (m != Memory::Contiguous && t != DType::Float32 && t != DType::BFloat16) continue;
      auto tensor = [&](const Sizes& s, unsigned seed) { return random(t, s, seed, m, -1, 1); };
      for (std::int64_t rows : {1, 7, 0}) {
        for (std::int64_t inner : {5, 64, 0}) {
          if (rows == 0 && inner == 0) continue;
          if ((rows == 0 || inner == 0) && m != Memory::Contiguous) continue;
          switch (op) {
            case OpId::mm: out.push_back({op, {tensor({rows, inner}, 1), tensor({inner, 9}, 2)}}); break;
            case OpId::bmm: out.push_back({op, {tensor({3, rows, inner}, 1), tensor({3, inner, 9}, 2)}}); break;
            case OpId::linear:
              out.push_back({op, {tensor({2, rows, inner}, 1), tensor({9, inner}, 2), tensor({9}, 3)}});
              out.push_back({op, {tensor({rows, inner}, 1), tensor({9, inner}, 2), kNone}});
              break;
            case OpId::addmm:
              out.push_back(
                  {op,
                   {tensor({rows, 9}, 3), tensor({rows, inner}, 1), tensor({inner, 9}, 2), Scalar(0.5), Scalar(2)}});
              break;
            default:
              out.push_back({op, {tensor({2, 1, rows, inner}, 1), tensor({3, inner, 9}, 2)}});
              out.push_back({op, {tensor({inner}, 1), tensor({inner, 9}, 2)}});
              out.push_back({op, {tensor({rows, inner}, 1), tensor({inner}, 2)}});
          }
        }
      }
    }
  }
  return out;
}

/// Products of quantized matrices: every pair of dtypes, every kind of scale, weights by rows and by columns.
Cases scaled_products(OpId op) {
  Cases out;
  const auto scale = [](const Sizes& s, unsigned seed, Memory m = Memory::Contiguous) {
    return random(DType::Float32, s, seed, m, 0.01, 0.2);
  };
  for (Memory m : {Memory::Contiguous, Memory::Permuted, Memory::Stepped})
    for (auto [rows, inner, columns] :
         {std::array<std::int64_t, 3>{1, 64, 9}, {7, 133, 9}, {3, 300, 130}, {0, 5, 9}, {2, 0, 3}, {20, 70, 5}}) {
      auto operand = [&, m = m](DType t, const Sizes& s, unsigned seed) {
        return t == DType::Int8 ? random(t, s, seed, m, -128, 128) : random(t, s, seed, m, -1, 1);
      };
      if (op == OpId::int_mm) {
        out.push_back({op, {operand(DType::Int8, {rows, inner}, 1), operand(DType::Int8, {inner, columns}, 2)}});
        continue;
      }
      const std::int64_t blocks = (inner + 127) / 128;
      if (m != Memory::Contiguous && rows != 7) continue;
      for (auto [a, b] : {std::pair{DType::Int8, DType::Int8},
                          {DType::Float8E4M3FN, DType::Float8E4M3FN},
                          {DType::Float8E5M2, DType::Float8E4M3FN},
                          {DType::Float32, DType::Int8},
                          {DType::BFloat16, DType::Float8E4M3FN},
                          {DType::Float16, DType::Float8E5M2}}) {
        Tensor x = operand(a, {rows, inner}, 1), w = operand(b, {inner, columns}, 2);
        out.push_back({op, {x, w, scale({}, 3), scale({1}, 4), kNone, DType::Float32, kNone}});
        out.push_back({op,
                       {x, w, scale({rows, 1}, 3, m), scale({1, columns}, 4), random(DType::BFloat16, {columns}, 5),
                        kNone, kNone}});
        out.push_back({op,
                       {x, w, scale({rows, blocks}, 3, m), scale({blocks, (columns + 127) / 128}, 4),
                        random(DType::Float32, {columns}, 5), DType::Float16, kNone}});
        out.push_back(
            {op,
             {x, w, scale({1, 1}, 3), scale({(inner + 31) / 32, columns}, 4, m), kNone, DType::Float32, Dims{32, 4}}});
      }
    }
  return out;
}

Cases attention() {
  Cases out;
  for (DType t : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16}) {
    for (Memory m : {Memory::Contiguous, Memory::Permuted}) {
      auto tensor = [&](const Sizes& s, unsigned seed) { return random(t, s, seed, m, -1, 1); };
      Tensor q = tensor({2, 4, 5, 16}, 1), k = tensor({2, 4, 9, 16}, 2), v = tensor({2, 4, 9, 16}, 3),
             kg = tensor({2, 2, 9, 16}, 4), vg = tensor({2, 2, 9, 16}, 5);
      auto with = [&](const Tensor& key, const Tensor& value, OpArg mask, bool causal, OpArg scale, bool gqa) {
        out.push_back({OpId::scaled_dot_product_attention, {q, key, value, mask, Scalar(0.0), causal, scale, gqa}});
      };
      with(k, v, kNone, false, kNone, false);
      with(k, v, kNone, true, kNone, false);
      with(k, v, random(DType::Bool, {5, 9}, 6), false, kNone, false);
      with(k, v, tensor({2, 1, 5, 9}, 7), false, Scalar(0.3), false);
      with(kg, vg, kNone, false, kNone, true);
    }
  }
  return out;
}

Cases indexing(OpId op) {
  Cases out;
  for (const Variant& v : variants(op)) {
    if (v.sizes.size() != 2 || v.sizes[1] < 6) continue;
    Tensor self = random(v.dtype, v.sizes, 1, v.memory);
    for (DType t : {DType::Int64, DType::Int32}) {
      Tensor grid = indices({3, 2}, 4, 2, v.memory, t), list = indices({5}, 4, 3, Memory::Contiguous, t),
             columns = indices({3, 1}, 6, 4, v.memory, t);
      switch (op) {
        case OpId::embedding: out.push_back({op, {self, grid}}); break;
        case OpId::index_select:
          out.push_back({op, {self, Int(0), list}}), out.push_back({op, {self, Int(-1), list}});
          break;
        case OpId::gather: out.push_back({op, {self, Int(0), grid}}), out.push_back({op, {self, Int(1), grid}}); break;
        case OpId::index:
          out.push_back({op, {self, std::vector<Tensor>{grid}}});
          out.push_back({op, {self, std::vector<Tensor>{Tensor(), list}}});
          out.push_back({op, {self, std::vector<Tensor>{grid, columns}}});
          break;
        case OpId::index_put:
          out.push_back({op, {self, std::vector<Tensor>{list}, random(v.dtype, {5, 6}, 5, v.memory), false}});
          out.push_back({op, {self, std::vector<Tensor>{grid, columns}, random(v.dtype, {3, 2}, 5), true}});
          break;
        case OpId::scatter_add: out.push_back({op, {self, Int(0), grid, random(v.dtype, {3, 2}, 5, v.memory)}}); break;
        case OpId::scatter_reduce:
          for (const char* reduce : {"sum", "prod", "amax", "amin"})
            for (bool include_self : {true, false})
              out.push_back(
                  {op, {self, Int(0), grid, random(v.dtype, {3, 2}, 5, v.memory), std::string(reduce), include_self}});
          break;
        default:
          out.push_back({op, {self, Int(1), grid, random(v.dtype, {3, 2}, 5, v.memory)}});
          out.push_back({op, {self, Int(0), grid, Scalar(2)}});
      }
    }
  }
  return out;
}

Cases joins(OpId op) {
  Cases out;
  for (const Variant& v : variants(op)) {
    if (v.sizes.size() != 2 || v.sizes[1] < 6) continue;
    auto tensor = [&](const Sizes& s, unsigned seed) { return random(v.dtype, s, seed, v.memory); };
    Tensor self = tensor({4, 6}, 1);
    switch (op) {
      case OpId::cat:
        out.push_back({op, {std::vector<Tensor>{self, tensor({2, 6}, 2), tensor({0, 6}, 3)}, Int(0)}});
        if (!is_storage_only(v.dtype))
          out.push_back({op, {std::vector<Tensor>{self, random(DType::Float32, {4, 3}, 2)}, Int(-1)}});
        break;
      case OpId::slice_scatter:
        out.push_back({op, {self, tensor({4, 2}, 2), Int(1), Int(1), Int(5), Int(2)}});
        out.push_back({op, {self, tensor({2, 6}, 2), Int(0), Int(-2), kNone, Int(1)}});
        break;
      case OpId::select_scatter: out.push_back({op, {self, tensor({6}, 2), Int(0), Int(-1)}}); break;
      case OpId::diagonal_scatter: out.push_back({op, {self, tensor({4}, 2), Int(1), Int(0), Int(1)}}); break;
      default:  // it names places in self's storage
        out.push_back({op, {self, tensor({2, 2}, 2), Dims{2, 2}, Dims{7, 1}, kNone}});
        out.push_back({op, {self, tensor({3, 2}, 2), Dims{3, 2}, Dims{2, 1}, Int(2)}});
    }
  }
  return out;
}

Cases views(OpId op) {
  Cases out;
  for (Memory m : {Memory::Contiguous, Memory::Permuted, Memory::Stepped}) {
    for (DType t : {DType::Float32, DType::Int8}) {
      Tensor x = random(t, {2, 3, 4}, 1, m), one = random(t, {2, 1, 4}, 2, m);
      switch (op) {
        case OpId::alias:
        case OpId::detach: out.push_back({op, {x}}); break;
        case OpId::view:
          if (m == Memory::Contiguous) out.push_back({op, {x, Dims{6, -1}}});
          break;
        case OpId::permute: out.push_back({op, {x, Dims{2, 0, -2}}}); break;
        case OpId::slice: out.push_back({op, {x, Int(2), Int(-3), kNone, Int(2)}}); break;
        case OpId::select: out.push_back({op, {x, Int(1), Int(-1)}}); break;
        case OpId::squeeze: out.push_back({op, {one, kNone}}), out.push_back({op, {one, Dims{1}}}); break;
        case OpId::unsqueeze: out.push_back({op, {x, Int(-1)}}); break;
        case OpId::expand: out.push_back({op, {one, Dims{5, 2, 3, -1}}}); break;
        case OpId::as_strided:  // of other memory a trace gives up, with a reason; the call is served eagerly
          if (m == Memory::Contiguous) out.push_back({op, {x, Dims{2, 2}, Dims{3, 2}, Int(1)}});
          break;
        default: out.push_back({op, {x, Int(1), Int(0), Int(2)}});
      }
    }
  }
  return out;
}

Cases created(OpId op) {
  Cases out;
  std::string cpu = "cpu";
  for (int d = 0; d < kDTypeCount; ++d) {
    DType t = static_cast<DType>(d);
    if (!takes(op, t)) continue;
    if (op == OpId::full) {
      for (Scalar s : {Scalar(3), Scalar(0.3), Scalar(true)}) out.push_back({op, {Dims{4, 5}, s, t, cpu}});
      out.push_back({op, {Dims{0, 5}, Scalar(1), t, cpu}}), out.push_back({op, {Dims{}, Scalar(1), t, cpu}});
    } else if (op == OpId::arange) {
      out.push_back({op, {Scalar(2), Scalar(17), Scalar(3), t, cpu}}),
          out.push_back({op, {Scalar(5), Scalar(-5), Scalar(-2), t, cpu}});
      if (is_floating(t)) out.push_back({op, {Scalar(0), Scalar(1.0), Scalar(0.125), t, cpu}});
    } else {
      out.push_back({op, {Dims{4, 50}, t, cpu, Int(7), Int(100)}}),
          out.push_back({op, {Dims{0}, t, cpu, Int(7), Int(0)}});
    }
  }
  return out;
}

Cases others(OpId op) {
  switch (op) {
    case OpId::sum:
    case OpId::prod:
    case OpId::nansum:
    case OpId::mean:
    case OpId::amax:
    case OpId::amin:
    case OpId::any:
    case OpId::all: return reduction(op);
    case OpId::var:
    case OpId::std:
      return over(op, true, [](const Sizes& s) {
        std::vector<std::vector<OpArg>> r{{Dims{-1}, Scalar(1), false}, {kNone, Scalar(0), true}};
        if (s.size() > 1) r.push_back({Dims{0}, Scalar(0.5), false});
        return r;
      });
    case OpId::logsumexp:
      return over(op, false, [](const Sizes&) {
        return std::vector<std::vector<OpArg>>{{Dims{-1}, false}, {Dims{}, true}};
      });
    case OpId::norm:
      return over(op, true, [](const Sizes& s) {
        std::vector<std::vector<OpArg>> r;
        for (Scalar p : {Scalar(2), Scalar(1), Scalar(0), Scalar(3.0)}) r.push_back({p, Dims{-1}, false});
        if (!empty(s)) r.push_back({Scalar(HUGE_VAL), kNone, true});
        return r;
      });
    case OpId::argmax:
    case OpId::argmin:
      return over(op, false, [](const Sizes& s) {
        if (empty(s)) return std::vector<std::vector<OpArg>>{{Int(0), true}};
        return std::vector<std::vector<OpArg>>{{kNone, false}, {Int(-1), true}, {Int(0), false}};
      });
    case OpId::cumsum:
      return over(op, false, [](const Sizes&) {
        return std::vector<std::vector<OpArg>>{{Int(-1), kNone}, {Int(0), DType::Float64}};
      });
    case OpId::softmax:
    case OpId::log_softmax:
      return over(op, false, [](const Sizes&) {
        return std::vector<std::vector<OpArg>>{{Int(-1), kNone}, {Int(0), kNone}, {Int(0), DType::Float32}};
      });
    case OpId::layer_norm:
    case OpId::rms_norm:
      return over(op, true, [op](const Sizes& s) {
        std::vector<std::vector<OpArg>> r;
        if (s.empty()) return r;
        Tensor w = random(DType::Float32, {s.back()}, 8), b = random(DType::Float32, {s.back()}, 9);
        if (op == OpId::layer_norm)
          r = {{Dims{s.back()}, kNone, kNone, Scalar(1e-5)}, {Dims{s.back()}, w, b, Scalar(1e-5)}};
        else r = {{Dims{s.back()}, kNone, kNone}, {Dims{s.back()}, w, Scalar(1e-6)}};
        return r;
      });
    case OpId::mm:
    case OpId::bmm:
    case OpId::linear:
    case OpId::matmul:
    case OpId::addmm: return products(op);
    case OpId::int_mm:
    case OpId::scaled_mm: return scaled_products(op);
    case OpId::scaled_dot_product_attention: return attention();
    case OpId::multinomial:
      return over(
          op, true,
          [](const Sizes& s) {
            std::vector<std::vector<OpArg>> r;
            if (s.size() != 2 || empty(s)) return r;
            r = {{Int(1), false, Int(3), Int(5)}, {Int(20), true, Int(3), Int(5)}};
            if (s.back() > 3) r.push_back({Int(3), false, Int(3), Int(5)});
            return r;
          },
          0.1, 2);
    case OpId::topk:
      return over(op, false, [](const Sizes& s) {
        std::int64_t n = s.empty() ? 1 : s.back();
        return std::vector<std::vector<OpArg>>{{Int(std::min<std::int64_t>(n, 3)), Int(-1), true, true},
                                               {Int(std::min<std::int64_t>(n, 1)), Int(-1), false, true}};
      });
    case OpId::sort:
      return over(op, false, [](const Sizes&) {
        return std::vector<std::vector<OpArg>>{{Int(-1), false}, {Int(0), true}};
      });
    default: return {};
  }
}

}  // namespace

std::vector<OpCase> cases_of(OpId id) {
  const graph::OpDef& def = graph::op(id);
  switch (def.cls) {
    case graph::OpClass::Pointwise: return pointwise(def);
    case graph::OpClass::View: return views(id);
    case graph::OpClass::Gather: return indexing(id);
    case graph::OpClass::Join: return joins(id);
    case graph::OpClass::Creation: return created(id);
    default: break;
  }
  if (id == OpId::rand || id == OpId::randn) return created(id);
  if (id == OpId::scatter || id == OpId::scatter_add || id == OpId::scatter_reduce || id == OpId::index_put)
    return indexing(id);
  return others(id);
}

Tensor same_layout_copy(const Tensor& t) {
  std::int64_t room = 1;
  for (int d = 0; d < t.dim(); ++d) room += (std::max<std::int64_t>(t.impl()->sizes[d], 1) - 1) * t.impl()->strides[d];
  Tensor base = empty_concrete(&room, 1, t.dtype(), Device::cpu());
  Tensor view =
      new_view(base, {t.impl()->sizes, t.impl()->sizes + t.dim()}, {t.impl()->strides, t.impl()->strides + t.dim()}, 0);
  copy_elements(view, t);
  return view;
}

}  // namespace reprise::test
