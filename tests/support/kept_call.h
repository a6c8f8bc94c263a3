#pragma once
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "graph/interpreter.h"
#include "reprise/export.h"
#include "reprise/generator.h"
#include "reprise/safetensors.h"
#include "runtime/export/program.h"
#include "tensor/impl.h"
#include "tests/support/rt_call.h"

namespace reprise {

/// One call of an exported program for another process: what it is called with, byte by byte, and what it makes of
/// that. Storages are kept whole, so that tensors that share memory do so there, too.
class KeptCall {
 public:
  KeptCall() = default;
  /// Before the call. Numbers go in the order of the arguments.
  void argument(const Tensor& t) { arguments_.push_back({describe(t)}); }
  void argument(std::int64_t n) { arguments_.push_back({{"integer", n}}); }
  void argument(double n) { arguments_.push_back({{"number", n}}); }
  void weight(const std::string& name, const Tensor& t) { weights_[name] = describe(t); }
  void begins() {
    const auto [seed, offset] = graph::take_random(0);
    seed_ = std::to_string(seed), offset_ = std::to_string(offset);
    keep("before");
  }
  /// Behind it.
  void ends(const std::vector<Tensor>& results, const std::string& path) {
    keep("after");
    nlohmann::json told{{"arguments", arguments_}, {"weights", weights_}, {"seed", seed_}, {"offset", offset_}};
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Tensor& t = results[i];
      nlohmann::json j;
      if (t.defined()) {
        const auto known = storages_.find(t.impl()->storage);
        j["on"] = known == storages_.end() ? -1 : known->second;
        const Tensor copy = t.contiguous();
        const std::string name = "result " + std::to_string(i);
        if (t.impl()->numel() > 0)
          tensors_.emplace(name, bytes_of(copy.impl()->data(), copy.impl()->numel() * item_size(t.dtype())));
        j["dtype"] = static_cast<int>(t.dtype()), j["sizes"] = std::vector(t.impl()->sizes, t.impl()->sizes + t.dim());
      }
      told["results"].push_back(std::move(j));
    }
    save_safetensors(path, tensors_, {{"call", told.dump()}});
  }

  /// In the other process: what differs; empty: nothing. `rt`: by the runtime without a compiler.
  static std::string replay(const std::string& program, const std::string& path, bool rt) {
    const SafeTensors file = load_safetensors(path, Reading::Copied);
    const auto told = nlohmann::json::parse(file.metadata().at("call"));
    std::vector<Tensor> storages;
    for (std::size_t i = 0; file.contains("before " + std::to_string(i)); ++i)
      storages.push_back(file.at("before " + std::to_string(i)).clone());
    std::map<int, Tensor> handles;
    auto tensor = [&](const nlohmann::json& j) {
      Tensor& known = handles[j.at("handle").get<int>()];
      if (known.defined()) return known;
      std::int64_t sizes[kMaxRank] = {}, strides[kMaxRank] = {};
      const auto rank = static_cast<int>(j.at("sizes").size());
      for (int d = 0; d < rank; ++d) sizes[d] = j.at("sizes")[d], strides[d] = j.at("strides")[d];
      Storage* s = storages.at(j.at("storage").get<std::size_t>()).impl()->storage;
      retain(s);
      known = Tensor::adopt(new_impl(static_cast<DType>(j.at("dtype").get<int>()), Device::cpu(), sizes, strides, rank,
                                     j.at("offset").get<std::int64_t>(), s));
      return known;
    };
    std::vector<Tensor> tensors;
    std::vector<Scalar> numbers;
    std::vector<rprt_value> values;
    for (const auto& a : told.at("arguments")) {
      if (a.contains("integer")) {
        numbers.emplace_back(a["integer"].get<std::int64_t>());
        values.push_back(RtProgram::value(a["integer"].get<std::int64_t>()));
      } else if (a.contains("number")) {
        numbers.emplace_back(a["number"].get<double>());
        values.push_back(RtProgram::value(a["number"].get<double>()));
      } else {
        tensors.push_back(tensor(a[0]));
        numbers.emplace_back();
        values.push_back(RtProgram::value(tensors.back()));
      }
    }
    std::map<std::string, Tensor> weights;
    for (const auto& [name, j] : told.at("weights").items()) weights.emplace(name, tensor(j));
    Generator stream(std::stoull(told.at("seed").get<std::string>()));
    stream.set_offset(std::stoll(told.at("offset").get<std::string>()));
    const GeneratorScope scope{stream};
    std::vector<Tensor> made;
    if (rt) {
      RtProgram p(program);
      std::vector<Tensor> inputs = tensors;
      for (const auto& [name, t] : weights) p.bind(name, t), inputs.push_back(t);
      made = p.call(values, inputs);
    } else {
      // A call takes its leaves in order, whatever they were in the source.
      detail::GivenArguments given;
      for (std::size_t i = 0, t = 0; i < told.at("arguments").size(); ++i) {
        const auto& a = told.at("arguments")[i];
        if (a.contains("integer") || a.contains("number")) given.number(numbers[i]);
        else given.tensor(tensors[t++]);
      }
      made = detail::ProgramAccess::run(load_program(program).bind(weights), given).tensors;
    }
    return difference(file, told, storages, made);
  }

 private:
  nlohmann::json describe(const Tensor& t) {
    const TensorImpl& i = *t.impl();
    const auto at = storages_.emplace(i.storage, static_cast<int>(storages_.size())).first;
    if (at->second == static_cast<int>(kept_.size())) kept_.push_back(t);
    return {{"storage", at->second},
            {"handle", handles_.emplace(&i, static_cast<int>(handles_.size())).first->second},
            {"dtype", static_cast<int>(i.dtype)},
            {"sizes", std::vector(i.sizes, i.sizes + i.rank)},
            {"strides", std::vector(i.strides, i.strides + i.rank)},
            {"offset", i.offset}};
  }
  static Tensor bytes_of(const void* data, std::int64_t n) {
    const Tensor t = empty({std::max<std::int64_t>(n, 1)}, {.dtype = kUInt8});
    if (n > 0) std::memcpy(t.impl()->data(), data, static_cast<std::size_t>(n));
    return t;
  }
  void keep(const std::string& when) {
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      const Storage& s = *kept_[i].impl()->storage;
      tensors_.emplace(when + " " + std::to_string(i), bytes_of(s.data, s.bytes));
    }
  }
  static std::string difference(const SafeTensors& file, const nlohmann::json& told,
                                const std::vector<Tensor>& storages, const std::vector<Tensor>& made) {
    const std::size_t n = told.contains("results") ? told["results"].size() : 0;
    if (made.size() != n) return std::to_string(n) + " results, and " + std::to_string(made.size());
    for (std::size_t i = 0; i < storages.size(); ++i)
      if (!same_bits(storages[i], file.at("after " + std::to_string(i))))
        return "memory " + std::to_string(i) + " of the arguments";
    for (std::size_t i = 0; i < n; ++i) {
      const nlohmann::json& want = told["results"][i];
      const std::string which = "result " + std::to_string(i);
      if (want.is_null() || made[i].defined() == want.is_null()) {
        if (made[i].defined() == want.is_null()) return which + " is undefined";
        continue;
      }
      const TensorImpl& t = *made[i].impl();
      if (static_cast<int>(t.dtype) != want["dtype"] || std::vector(t.sizes, t.sizes + t.rank) != want["sizes"])
        return which + " has other sizes";
      int on = -1;
      for (std::size_t k = 0; k < storages.size(); ++k)
        if (storages[k].impl()->storage == t.storage) on = static_cast<int>(k);
      if (on != want["on"]) return which + " is on memory " + std::to_string(on) + ", wanted " + want["on"].dump();
      if (t.numel() == 0) continue;
      const Tensor copy = made[i].contiguous(), bytes = file.at(which);
      if (std::memcmp(copy.impl()->data(), bytes.impl()->data(), static_cast<std::size_t>(bytes.numel().value())) != 0)
        return which;
    }
    return "";
  }

  nlohmann::json arguments_ = nlohmann::json::array(), weights_ = nlohmann::json::object();
  std::string seed_, offset_;
  std::map<const Storage*, int> storages_;
  std::map<const TensorImpl*, int> handles_;
  std::vector<Tensor> kept_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace reprise
