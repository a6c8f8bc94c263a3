#include <cstdio>
#include <map>

#include "base/shown.h"
#include "reprise/gguf.h"
#include "tools/commands.h"

namespace reprise::tool {

namespace {

std::string value_text(const gguf::File& f, const std::string& key) {
  using gguf::ValueType;
  auto text = [](const std::string& s) { return "\"" + shown(s, 60) + "\""; };
  auto number = [](double d) {
    char all[40];
    std::snprintf(all, sizeof all, "%.6g", d);
    return std::string(all);
  };
  switch (f.type(key)) {
    case ValueType::String: return text(f.text(key));
    case ValueType::Bool: return f.flag(key) ? "true" : "false";
    case ValueType::F32:
    case ValueType::F64: return number(f.number(key));
    case ValueType::U64: try { return std::to_string(f.integer(key));
      } catch (const Error&) {
        return "beyond 63 bits";
      }
    case ValueType::Array: {
      const std::int64_t n = f.length(key);
      std::string all = std::to_string(n) + " of " + std::string(value_type_name(f.element_type(key)));
      if (n == 0) return all;
      if (f.element_type(key) == ValueType::String) return all + ", the last " + text(f.texts(key).back());
      return all;
    }
    default: return std::to_string(f.integer(key));
  }
}

}  // namespace

int gguf(const std::vector<std::string>& args) {
  if (args.size() != 1) {
    std::fputs("usage: reprise gguf FILE\n", stderr);
    return 2;
  }
  const gguf::File f = gguf::File::open(args[0]);
  std::printf("%s: GGUF version %d\n\n", shown(args[0]).c_str(), f.version());
  for (const std::string& key : f.keys())
    std::printf("  %-44s %-10s %s\n", shown(key).c_str(), std::string(value_type_name(f.type(key))).c_str(),
                value_text(f, key).c_str());
  std::printf("\n");
  struct Sum {
    std::int64_t tensors = 0, elements = 0, bytes = 0;
  };
  std::map<std::string, Sum> sums;
  for (const std::string& name : f.names()) {
    const gguf::TensorInfo t = f.info(name);
    std::string sizes;
    std::int64_t n = 1;
    for (const std::int64_t s : t.sizes) sizes += (sizes.empty() ? "" : ", ") + std::to_string(s), n *= s;
    std::printf("  %-44s %-8s [%s]\n", shown(name).c_str(), gguf::type_name(t.type).c_str(), sizes.c_str());
    Sum& s = sums[gguf::type_name(t.type)];
    ++s.tensors, s.elements += n, s.bytes += t.bytes < 0 ? 0 : t.bytes;
  }
  std::printf("\n");
  for (const auto& [type, s] : sums)
    std::printf("  %-8s %lld tensors, %lld elements, %lld bytes\n", type.c_str(), static_cast<long long>(s.tensors),
                static_cast<long long>(s.elements), static_cast<long long>(s.bytes));
  return 0;
}

}  // namespace reprise::tool
