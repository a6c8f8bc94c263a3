// Evaluates calls that are told on standard input, for scripts/compare_torch.py: a line of JSON for each, a line of JSON as its answer.
//
//   {"f": "add", "a": [{"t": "float32", "s": [2], "d": [1, "nan"]}, 2, 1]}
//   {"r": [{"t": "float32", "s": [2], "d": [3, "nan"]}]}     or     {"e": "ShapeMismatch", "m": "add: ..."}
//
// With "g": true the answer has "g", too: gradients of the results by the floating tensors among the arguments, in order.
//
// Arguments are those of the public function in order: tensors are objects, numbers that JSON has not ("nan", "inf", "-inf", "-0") are texts, what is left out is null.
#include <cmath>
#include <iostream>

#include "bench/aten/evaluate.h"
#include "graph/shape_rules.h"
#include "reprise/autograd.h"
#include "reprise/error.h"

namespace reprise::aten {

namespace {
double number_from(const Json& j) {
  if (j.is_boolean()) return j.get<bool>();
  return j.is_string() ? std::stod(j.get<std::string>()) : j.get<double>();
}
}  // namespace

Scalar scalar_from(const Json& j) {
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_integer()) return j.get<std::int64_t>();
  return number_from(j);
}

std::vector<Int> ints_from(const Json& j) {
  std::vector<Int> v;
  if (j.is_number()) return {j.get<std::int64_t>()};
  for (const Json& i : j) v.emplace_back(i.get<std::int64_t>());
  return v;
}

Tensor tensor_from(const Json& j) {
  const DType t = dtype_from_name(j.at("t").get<std::string>());
  const std::vector<Int> sizes = ints_from(j.at("s"));
  if (t == kInt64) {
    std::vector<std::int64_t> v;
    for (const Json& e : j.at("d")) v.push_back(e.get<std::int64_t>());
    return tensor_of(v, sizes);
  }
  std::vector<double> v;
  for (const Json& e : j.at("d")) v.push_back(number_from(e));
  Tensor made = tensor_of(v, sizes).to(t);
  if (followed && is_floating(t)) followed->given.push_back(made.requires_grad_());
  return made;
}

Json tensor_text(const Tensor& t) {
  Json r{{"t", dtype_name(t.dtype())}, {"s", Json::array()}, {"d", Json::array()}};
  for (const Int& s : t.sizes()) r["s"].push_back(s.value());
  if (t.dtype() == kInt64) {
    for (std::int64_t v : t.to_vector<std::int64_t>()) r["d"].push_back(v);
    return r;
  }
  for (double v : t.to(kFloat64).to_vector<double>()) {
    if (std::isnan(v)) r["d"].push_back("nan");
    else if (std::isinf(v)) r["d"].push_back(v > 0 ? "inf" : "-inf");
    else if (v == 0 && std::signbit(v)) r["d"].push_back("-0");
    else r["d"].push_back(v);
  }
  return r;
}

/// The gradients of all results that have any, each weighted by cosines of its elements' numbers, of all floating tensors among the arguments; null: none comes to it.
Json gradients_text(const Followed& f) {
  std::vector<Tensor> made, weights;
  for (const Tensor& t : f.made) {
    if (!t.requires_grad()) continue;
    made.push_back(t);
    weights.push_back(cos(arange(Scalar(t.numel()), {kFloat64})).reshape(t.sizes()).to(t.dtype()));
  }
  Json all = Json::array();
  const std::vector<Tensor> gradients = made.empty() || f.given.empty() ? std::vector<Tensor>(f.given.size()) : grad(made, f.given, weights, {.allow_unused = true});
  for (const Tensor& g : gradients) all.push_back(g.defined() ? tensor_text(g) : Json());
  return all;
}

}  // namespace reprise::aten

int main() {
  using namespace reprise;
  aten::Calls calls;
  aten::add_basic(calls);
  aten::add_shaping(calls);
  aten::add_families(calls);
  aten::add_vision(calls);
  for (std::string line; std::getline(std::cin, line);) {
    aten::Json answer;
    aten::followed = nullptr;
    try {
      const aten::Json call = aten::Json::parse(line);
      const std::string name = call.at("f");
      auto found = calls.find(name);
      if (found == calls.end()) answer = {{"e", "Unknown"}, {"m", name}};
      else if (call.value("g", false)) {
        aten::Followed of;
        aten::followed = &of;
        answer = {{"r", found->second(call.at("a"))}};
        aten::followed = nullptr;
        answer["g"] = aten::gradients_text(of);
      } else answer = {{"r", found->second(call.at("a"))}};
    } catch (const Error& e) {
      answer = {{"e", error_code_name(e.code())}, {"m", e.what()}};
    } catch (const std::exception& e) {
      answer = {{"e", "Malformed"}, {"m", e.what()}};
    }
    std::cout << answer.dump() << '\n' << std::flush;
  }
}
