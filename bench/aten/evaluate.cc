// Evaluates calls that are told on standard input, for scripts/compare_torch.py: a line of JSON for each, a line of
// JSON as its answer.
//
//   {"f": "add", "a": [{"t": "float32", "s": [2], "d": [1, "nan"]}, 2, 1]}
//   {"r": [{"t": "float32", "s": [2], "k": [1], "d": [3, "nan"]}], "v": [-1]}     or     {"e": "ShapeMismatch", "m":
//   "add: ..."}
//
// A strided tensor has its storage in "d", its strides in "k", its offset in "o". "v" says for each result which of the
// tensors it shares its storage with. With "g": true the answer has "g", too: gradients of the results by the floating
// tensors among the arguments, in order. With "c": true the call is compiled, too, with tensors and numbers as
// arguments: "traced" and "replayed" are the results of its first and second call, "compiled_v" and "compiled_g" are
// as "v" and "g", and "eager" is why it was served eagerly.
//
// Arguments are those of the public function in order: tensors are objects, numbers that JSON has not ("nan", "inf",
// "-inf", "-0") are texts, what is left out is null.
#include <cmath>
#include <iostream>
#include <map>
#include <optional>

#include "bench/aten/evaluate.h"
#include "graph/shape_rules.h"
#include "reprise/autograd.h"
#include "reprise/compile.h"
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
  if (!supply->replay) {
    supply->numbers.push_back(j.is_number_integer() ? Scalar(j.get<std::int64_t>()) : Scalar(number_from(j)));
  }
  return supply->numbers.at(supply->next_number++);
}

Int int_from(const Json& j) { return scalar_from(j).to_int(); }

std::vector<Int> ints_from(const Json& j) {
  if (j.is_number()) return {int_from(j)};
  std::vector<Int> v;
  for (const Json& i : j) v.push_back(int_from(i));
  return v;
}

namespace {
std::vector<Int> constants_from(const Json& j) {
  std::vector<Int> v;
  for (const Json& i : j) v.emplace_back(i.get<std::int64_t>());
  return v;
}

Tensor new_tensor_from(const Json& j) {
  const DType t = dtype_from_name(j.at("t").get<std::string>());
  const std::vector<Int> sizes = constants_from(j.at("s"));
  const bool strided = j.contains("k");
  const std::vector<Int> stored = strided ? std::vector<Int>{Int(static_cast<std::int64_t>(j.at("d").size()))} : sizes;
  Tensor made;
  if (t == kInt64) {
    made = tensor_of(j.at("d").get<std::vector<std::int64_t>>(), stored);
  } else {
    std::vector<double> v;
    for (const Json& e : j.at("d")) v.push_back(number_from(e));
    made = tensor_of(v, stored).to(t);
  }
  if (strided) made = as_strided(made, sizes, constants_from(j.at("k")), j.value("o", std::int64_t{0}));
  if (followed->gradients && is_floating(t)) followed->given.push_back(made.requires_grad_());
  return made;
}
}  // namespace

Tensor tensor_from(const Json& j) {
  if (!supply->replay) supply->tensors.push_back(new_tensor_from(j));
  return supply->tensors.at(supply->next_tensor++);
}

Json tensor_text(const Tensor& t) {
  Json r{{"t", dtype_name(t.dtype())}, {"s", Json::array()}, {"k", Json::array()}, {"d", Json::array()}};
  for (const Int& s : t.sizes()) r["s"].push_back(s.value());
  for (const Int& k : t.strides()) r["k"].push_back(k.value());
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

/// The gradients of all results that have any, each weighted by cosines of its elements' numbers, of all floating
/// tensors among the arguments; null: none comes to it.
Json gradients_text(const Followed& f) {
  std::vector<Tensor> made, weights;
  for (const Tensor& t : f.made) {
    if (!t.requires_grad()) continue;
    made.push_back(t);
    weights.push_back(cos(arange(Scalar(t.numel()), {kFloat64})).reshape(t.sizes()).to(t.dtype()));
  }
  Json all = Json::array();
  const std::vector<Tensor> gradients = made.empty() || f.given.empty()
                                            ? std::vector<Tensor>(f.given.size())
                                            : grad(made, f.given, weights, {.allow_unused = true});
  for (const Tensor& g : gradients) all.push_back(g.defined() ? tensor_text(g) : Json());
  return all;
}

namespace {
bool is_number(const Json& j) { return j.is_number() || j == "nan" || j == "inf" || j == "-inf" || j == "-0"; }

/// A call without its tensors and numbers: calls that one compiled function serves have the same.
Json skeleton_of(const Json& j) {
  if (j.is_object()) return "tensor";
  if (is_number(j)) return "number";
  if (!j.is_array()) return j;
  Json all = Json::array();
  for (const Json& e : j) all.push_back(skeleton_of(e));
  return all;
}

/// A function of the tensors and numbers of calls that have one skeleton.
struct Body {
  const Call* call;
  const Json* arguments;  ///< of the latest call; a trace takes from them what the skeleton has
  std::vector<Tensor> operator()(std::vector<Tensor> tensors, std::vector<Scalar> numbers) const {
    Supply given{std::move(tensors), std::move(numbers), true};
    Followed results;
    Supply* const outer_supply = std::exchange(supply, &given);
    Followed* const outer = std::exchange(followed, &results);
    try {
      (*call)(*arguments);
    } catch (...) {
      supply = outer_supply, followed = outer;
      throw;
    }
    supply = outer_supply, followed = outer;
    return results.made;
  }
};

/// One compiled function a skeleton, kept: later calls meet the guards of those before.
class CompiledCalls {
 public:
  using Function = decltype(compile(Body{}));
  struct Entry {
    Json arguments;
    std::optional<Function> function;
  };
  Entry& operator()(const std::string& name, const Call& call, const Json& arguments) {
    Entry& entry = entries_[name + skeleton_of(arguments).dump()];
    entry.arguments = arguments;
    if (!entry.function) entry.function.emplace(compile(Body{&call, &entry.arguments}, {.name = name}));
    return entry;
  }

 private:
  std::map<std::string, Entry> entries_;
};

/// For each result, which of the tensors it shares its storage with; -1: none.
Json shared_with(const std::vector<Tensor>& results, const std::vector<Tensor>& given) {
  Json all = Json::array();
  for (const Tensor& r : results) {
    int found = -1;
    for (std::size_t i = 0; i < given.size() && found < 0; ++i)
      if (given[i].defined() && r.defined() && r.shares_storage_with(given[i])) found = static_cast<int>(i);
    all.push_back(found);
  }
  return all;
}

Json answer_to(const Json& request, const Calls& calls, CompiledCalls& compiled) {
  const std::string name = request.at("f");
  const auto found = calls.find(name);
  if (found == calls.end()) return {{"e", "Unknown"}, {"m", name}};
  const bool gradients = request.value("g", false);
  Followed of{gradients, {}, {}};
  Supply read;
  followed = &of, supply = &read;
  Json answer = {{"r", found->second(request.at("a"))}};
  followed = nullptr, supply = nullptr;
  const std::vector<Tensor> results = of.made;
  answer["v"] = shared_with(results, read.tensors);
  if (request.value("c", false)) {
    CompiledCalls::Entry& entry = compiled(name, found->second, request.at("a"));
    const auto before = entry.function->stats();
    for (int times = 0; times < 2; ++times) {  // the second is a replay
      const std::vector<Tensor> made = (*entry.function)(read.tensors, read.numbers);
      Json& texts = answer[times ? "replayed" : "traced"] = Json::array();
      for (const Tensor& t : made) texts.push_back(tensor_text(t));
      if (gradients) of.made = made, answer["compiled_g"] = gradients_text(of);
      answer["compiled_v"] = shared_with(made, read.tensors);
    }
    const auto after = entry.function->stats();
    if (after.eager_fallbacks > before.eager_fallbacks) answer["eager"] = after.last_fallback_reason;
    of.made = results;
  }
  if (gradients) answer["g"] = gradients_text(of);
  return answer;
}
}  // namespace
}  // namespace reprise::aten

int main() {
  using namespace reprise;
  aten::Calls calls;
  aten::add_basic(calls);
  aten::add_shaping(calls);
  aten::add_families(calls);
  aten::add_vision(calls);
  aten::CompiledCalls compiled;
  for (std::string line; std::getline(std::cin, line);) {
    aten::Json answer;
    aten::followed = nullptr, aten::supply = nullptr;
    try {
      answer = aten::answer_to(aten::Json::parse(line), calls, compiled);
    } catch (const Error& e) {
      answer = {{"e", error_code_name(e.code())}, {"m", e.what()}};
    } catch (const std::exception& e) {
      answer = {{"e", "Malformed"}, {"m", e.what()}};
    }
    std::cout << answer.dump() << '\n' << std::flush;
  }
}
