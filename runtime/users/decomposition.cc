#include "runtime/users/decomposition.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "base/errors.h"
#include "device/backend.h"
#include "graph/functional_form.h"
#include "graph/interpreter.h"
#include "graph/schema.h"
#include "graph/shape_rules.h"
#include "kernels/plan/columns.h"
#include "reprise/name_scope.h"
#include "runtime/build/compare.h"

namespace reprise::detail {

using graph::ArgDef;
using graph::ArgType;
using graph::OpDef;
using graph::OpId;

namespace {

constinit graph::OpColumn<const Decomposition*> g_decompositions("decomposition of a user");

/// What arguments of a type are; nothing for those that are of several kinds, or never given.
std::optional<Parameter> kind_of(ArgType t) {
  switch (t) {
    case ArgType::Tensor:
    case ArgType::OptionalTensor: return Parameter::Tensor;
    case ArgType::TensorList:
    case ArgType::OptionalTensorList: return Parameter::Tensors;
    case ArgType::Int:
    case ArgType::OptionalInt: return Parameter::Int;
    case ArgType::Ints:
    case ArgType::OptionalInts: return Parameter::Ints;
    case ArgType::Scalar:
    case ArgType::OptionalScalar:
    case ArgType::Float:
    case ArgType::OptionalFloat: return Parameter::Scalar;
    case ArgType::Bool: return Parameter::Bool;
    case ArgType::DType:
    case ArgType::OptionalDType: return Parameter::DType;
    case ArgType::Str:
    case ArgType::OptionalStr: return Parameter::Text;
    case ArgType::TensorOrScalar:
    case ArgType::OptionalTensorOrScalar:
    case ArgType::OptionalGenerator:
    case ArgType::Region: return {};
  }
  return {};
}

/// May an argument of the type be given to a parameter?
bool takes(ArgType t, ParameterType p) {
  const bool may_be_none = graph::accepts_none(t) && !p.optional && p.of != Parameter::Tensor;
  return !may_be_none && kind_of(t) == p.of;
}

/// May it be what the argument is in a call?
bool takes(ArgType t, const OperatorArg& a) {
  const bool is_tensor = std::holds_alternative<const Tensor*>(a),
             is_number = std::holds_alternative<Scalar>(a) || std::holds_alternative<Int>(a);
  if (t == ArgType::TensorOrScalar || t == ArgType::OptionalTensorOrScalar) return is_tensor || is_number;
  const std::optional<Parameter> kind = kind_of(t);
  if (!kind) return false;
  switch (*kind) {
    case Parameter::Tensor: return is_tensor;
    case Parameter::Tensors: return std::holds_alternative<TensorArrayRef>(a);
    case Parameter::Int: return std::holds_alternative<Int>(a);
    case Parameter::Ints: return std::holds_alternative<IntArrayRef>(a);
    case Parameter::Scalar: return is_number;
    case Parameter::Bool: return std::holds_alternative<bool>(a);
    case Parameter::DType: return std::holds_alternative<DType>(a);
    case Parameter::Text: return std::holds_alternative<std::string_view>(a);
  }
  return false;
}

const char* kind_name(const OperatorArg& a) {
  static constexpr const char* kNames[] = {
      "None",     "a tensor", "a list of tensors", "an integer", "a list of integers",
      "a number", "a bool",   "a dtype",           "a text"};
  return a.index() < std::size(kNames) ? kNames[a.index()] : "something else";
}
const char* kind_name(Parameter p) {
  static constexpr const char* kNames[] = {
      "a Tensor", "a vector of Tensors", "an Int", "Ints", "a Scalar", "a bool", "a DType", "a string"};
  return kNames[static_cast<std::size_t>(p)];
}

Device device_of(std::span<const OperatorArg> given) {
  for (const OperatorArg& a : given) {
    if (auto* t = std::get_if<const Tensor*>(&a); t && *t && (*t)->defined()) return (*t)->device();
    if (auto* all = std::get_if<TensorArrayRef>(&a))
      for (const Tensor& t : *all)
        if (t.defined()) return t.device();
  }
  return Device::cpu();
}

}  // namespace

graph::OpColumn<const Decomposition*>& decompositions() { return g_decompositions; }

void expect_parameters(const graph::Schema& schema, const Decomposition& d) {
  auto refuse = [&](const auto&... why) {
    fail(ErrorCode::InvalidArgument, schema.name.c_str(), {}, "its decomposition ", why..., " (", schema.text, ")");
  };
  const std::vector<ParameterType>& parameters = d.parameters();
  if (parameters.size() != schema.args.size())
    refuse("has ", parameters.size(), " parameters, not ", schema.args.size());
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (const ArgDef& a = schema.args[i]; !takes(a.type, parameters[i]))
      refuse("takes ", kind_name(parameters[i].of), parameters[i].optional ? " or nothing" : "", " for '", a.name,
             "', which is ", graph::arg_type_name(a.type));
}

void expect_arguments(const OpDef& def, std::span<const OperatorArg> given, SourceLoc loc) {
  const std::vector<ArgDef>& args = def.schema.args;
  auto refuse = [&](const auto&... why) {
    fail(ErrorCode::InvalidArgument, def.schema.name.c_str(), loc, why..., " (", def.schema.text, ")");
  };
  if (given.size() > args.size()) refuse("takes ", args.size(), " arguments, not ", given.size());
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (i >= given.size()) {
      if (!args[i].otherwise && !graph::accepts_none(args[i].type)) refuse("'", args[i].name, "' is missing");
    } else if (!std::holds_alternative<std::monostate>(given[i])) {
      if (!takes(args[i].type, given[i])) refuse("'", args[i].name, "' is ", kind_name(given[i]));
    } else if (!graph::accepts_none(args[i].type)) {
      refuse("'", args[i].name, "' is None");
    }
  }
}

const Decomposition* decomposition_for(const OpDef& def, std::span<const OperatorArg> given) {
  const Decomposition* const* own = g_decompositions.find(def.id);
  if (!own) return nullptr;
  const bool has_kernel = device::runs_host_code(device_of(given)) ? kernels::reference_kernels().has(def.id)
                                                                   : kernels::captured_kernels().has(def.id);
  return has_kernel ? nullptr : *own;
}

std::vector<Tensor> decomposed(const OpDef& def, const Decomposition& d, std::span<const OperatorArg> given,
                               SourceLoc loc) {
  std::vector<OperatorArg> args(given.begin(), given.end());
  for (std::size_t i = 0; i < def.schema.args.size(); ++i) {
    if (i >= args.size()) args.push_back(def.defaults[i]);
    const Tensor* const* t = std::get_if<const Tensor*>(&args[i]);
    if (!t || (*t && (*t)->defined())) continue;
    if (!graph::accepts_none(def.schema.args[i].type))
      fail(ErrorCode::InvalidArgument, def.schema.name.c_str(), loc, "argument '", def.schema.args[i].name,
           "' is an undefined tensor");
    args[i] = {};
  }
  const NameScope scope{std::string_view(def.schema.name)};
  std::vector<Tensor> gives = d(args);
  std::vector<Tensor> results;
  const auto wanted = static_cast<std::size_t>(def.schema.n_results);
  if (def.returns.empty() ||
      std::none_of(def.returns.begin(), def.returns.end(), [](std::int32_t of) { return of >= 0; })) {
    results = std::move(gives);
  } else {  // a written argument that it returns is the argument itself
    const bool all = gives.size() == wanted;
    std::size_t next = 0;
    for (std::int32_t of : def.returns) {
      if (of >= 0) results.push_back(*std::get<const Tensor*>(args[static_cast<std::size_t>(of)]));
      else if (next < gives.size()) results.push_back(gives[next]);
      next += of < 0 || all;
    }
    if (next != gives.size()) results.clear();
  }
  if (results.size() != wanted)
    fail(ErrorCode::InvalidArgument, def.schema.name.c_str(), loc, "its decomposition gives ",
         gives.size() ? gives.size() : results.size(), " tensors (", def.schema.text, ")");
  return results;
}

// ---- samples

namespace {

/// A way to compute the operator: what it gives is what is written, then what is made.
struct Way {
  std::string name;
  std::function<std::vector<Tensor>(std::span<const OperatorArg>)> run;
};

std::vector<Tensor> written_and_made(const OpDef& def, std::span<const OperatorArg> args,
                                     const std::vector<Tensor>& results) {
  std::vector<Tensor> all;
  for (std::uint32_t i : def.writes) {
    if (i >= args.size()) continue;
    if (auto* t = std::get_if<const Tensor*>(&args[i]); t && *t) all.push_back(**t);
    if (auto* list = std::get_if<TensorArrayRef>(&args[i])) all.insert(all.end(), list->begin(), list->end());
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    if (i >= def.returns.size() || def.returns[i] < 0) all.push_back(results[i]);
  return all;
}

std::vector<Way> ways(const OpDef& def) {
  std::vector<Way> all;
  if (kernels::reference_kernels().has(def.id))
    all.push_back({"by its kernel", [&](std::span<const OperatorArg> args) {
                     return written_and_made(def, args, graph::calln(def.id, args, {}));
                   }});
  if (const graph::FunctionalForm* form = graph::functional_forms().find(def.id))
    all.push_back({"by " + graph::op(form->op).schema.name, [&def, form](std::span<const OperatorArg> args) {
                     std::vector<OperatorArg> by_name;
                     for (std::uint32_t i : form->args) by_name.push_back(i < args.size() ? args[i] : def.defaults[i]);
                     return graph::calln(form->op, by_name, {});
                   }});
  if (const Decomposition* const* d = g_decompositions.find(def.id))
    all.push_back({"by its decomposition", [&def, d](std::span<const OperatorArg> args) {
                     return written_and_made(def, args, decomposed(def, **d, args, {}));
                   }});
  return all;
}

/// What differs first; nothing if nothing does.
std::optional<std::string> difference(const std::vector<Tensor>& want, const std::vector<Tensor>& got, Runs runs) {
  if (want.size() != got.size())
    return "it gives " + std::to_string(got.size()) + " tensors " + runs.got + " and " + std::to_string(want.size()) +
           " " + runs.want;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Tensor &a = want[i], &b = got[i];
    const std::string of = want.size() > 1 ? "tensor " + std::to_string(i) + ": " : "";
    auto shape = [](const Tensor& t) {
      return std::string(dtype_name(t.dtype())) + " " + graph::sizes_text(t.sizes());
    };
    if (shape(a) != shape(b)) return of + "it is " + shape(b) + " " + runs.got + " and " + shape(a) + " " + runs.want;
    if (auto differs = element_difference(a, b, closeness_of(a.dtype()), runs)) return of + *differs;
  }
  return {};
}

}  // namespace

void expect_samples_agree(OpId id, std::span<const OperatorSample> samples) {
  const OpDef& def = graph::op(id);
  const std::vector<Way> all = ways(def);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::string sample = "sample " + std::to_string(i + 1) + ": ";
    auto run = [&](const Way& way) {
      const OperatorSample own = samples[i].clone();
      const std::vector<OperatorArg> args = own.arguments();
      try {
        expect_arguments(def, args, {});
        return way.run(args);
      } catch (const Error& e) {
        fail(e.code(), def.schema.name.c_str(), {}, sample, way.name, ": ", e.message());
      }
    };
    const std::vector<Tensor> first = run(all[0]);
    for (std::size_t w = 1; w < all.size(); ++w)
      if (auto differs = difference(first, run(all[w]), {all[w].name.c_str(), all[0].name.c_str()}))
        fail(ErrorCode::InvalidArgument, def.schema.name.c_str(), {}, sample, *differs);
  }
}

}  // namespace reprise::detail

namespace reprise {

OperatorSample::Held OperatorSample::hold(const detail::OperatorArg& a) {
  return std::visit(
      [](const auto& v) -> Held {
        using T = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<T, const Tensor*>) return *v;
        else if constexpr (std::is_same_v<T, TensorArrayRef>) return std::vector<Tensor>(v.begin(), v.end());
        else if constexpr (std::is_same_v<T, IntArrayRef>) return v.vec();
        else if constexpr (std::is_same_v<T, std::string_view>) return std::string(v);
        else return v;
      },
      a);
}

std::vector<detail::OperatorArg> OperatorSample::arguments() const {
  std::vector<detail::OperatorArg> all;
  for (const Held& h : held_)
    std::visit(
        [&](const auto& v) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(v)>, std::monostate>) all.push_back({});
          else all.push_back(detail::operator_arg(v));
        },
        h);
  return all;
}

OperatorSample OperatorSample::clone() const {
  OperatorSample s = *this;
  for (Held& h : s.held_) {
    if (auto* t = std::get_if<Tensor>(&h); t && t->defined()) *t = t->clone();
    if (auto* list = std::get_if<std::vector<Tensor>>(&h))
      for (Tensor& t : *list)
        if (t.defined()) t = t.clone();
  }
  return s;
}

}  // namespace reprise
