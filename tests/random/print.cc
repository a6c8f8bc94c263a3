// A program as C++ that can be pasted into a file, compiled against the library, and run.
#include <cctype>
#include <map>
#include <sstream>

#include "tensor/impl.h"
#include "tests/random/program.h"

namespace reprise::fuzz {

namespace {

const char* const kNames[] = {"x", "y", "z", "v", "c", "i", "m", "w", "captured"};

std::string name_of(const Program& p, unsigned i) {
  while (i >= Program::kPool && p.steps[i - Program::kPool].row == Step::kDropped) i = p.steps[i - Program::kPool].a;
  return i < Program::kPool ? kNames[i] : "t" + std::to_string(i);
}

// The row's text with what its parameters are. `in.x` is x.
std::string substitute(const std::string& text, const std::map<std::string, std::string>& by) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    if (end == i) {
      out += text[i++];
      continue;
    }
    const std::string word = text.substr(i, end - i);
    const bool member = i > 0 && text[i - 1] == '.';
    i = end;
    if (word == "in" && text[i] == '.') {
      while (++i < text.size() && std::isalnum(static_cast<unsigned char>(text[i]))) out += text[i];
      continue;
    }
    const auto it = by.find(word);
    out += it == by.end() || member ? word : it->second;
  }
  return out;
}

std::string list(const std::int64_t* values, int n) {
  std::string s = "{";
  for (int i = 0; i < n; ++i) s += (i ? ", " : "") + std::to_string(values[i]);
  return s + "}";
}

// Tensors of one storage are views of one vector; one tensor under two names is one handle.
void print_arguments(std::ostream& out, const Call& call) {
  const Given given = make_arguments(call);
  const Arguments& a = given.arguments;
  const std::pair<const char*, const Tensor*> all[] = {{"x", &a.x},    {"y", &a.y}, {"z", &a.z},
                                                       {"v", &a.v},    {"c", &a.c}, {"i", &a.i},
                                                       {"m", &a.m},    {"w", &a.w}, {"captured", &given.captured},
                                                       {"ids", &a.ids}};
  std::map<const Storage*, std::string> storages;
  std::map<const TensorImpl*, std::string> tensors;
  for (const auto& [name, t] : all) {
    const TensorImpl& impl = *t->impl();
    if (auto it = tensors.find(&impl); it != tensors.end()) {
      out << "    g." << name << " = g." << it->second << ";\n";
      continue;
    }
    tensors[&impl] = name;
    std::string& storage = storages[impl.storage];
    if (storage.empty()) {
      storage = std::string("all_of_") + name;
      const std::int64_t n = impl.storage->bytes / item_size(impl.dtype);
      out << "    Tensor " << storage << " = values(" << n << ", " << call.data % 1000 << ")"
          << (impl.dtype == DType::Int64
                  ? std::string(name) == "ids" ? ".abs().mul(8).to(kInt64)" : ".mul(8).to(kInt64)"
              : impl.dtype == DType::Bool ? " > 0.3"
                                          : "")
          << ";\n";
    }
    out << "    g." << name << " = " << storage << ".as_strided(" << list(impl.sizes, impl.rank) << ", "
        << list(impl.strides, impl.rank) << ", " << impl.offset << ");\n";
  }
  out << "    g.n = " << a.n.value() << ";\n";
}

}  // namespace

std::string Call::str() const {
  static const char* const sharing_names[] = {"none", "same", "overlapping", "disjoint", "captured", "captured part"};
  static const char* const layouts[] = {"plain", "transposed", "part", "stepped", "expanded", "transposed part"};
  return "N=" + std::to_string(n) + " M=" + std::to_string(m) + " K=" + std::to_string(k) + " sharing " +
         sharing_names[static_cast<int>(sharing)] + ", x " + layouts[static_cast<int>(layout)] +
         (again ? ", on what the call before left" : "");
}

std::string print(const Program& p, const std::vector<Call>& calls) {
  std::ostringstream out;
  out << "#include <cstdio>\n#include <reprise/reprise.h>\n#include \"graph/register_op.h\"\n#include "
         "\"graph/shape_rules.h\"\n#include \"graph/writers.h\"\n"
         "#include \"kernels/plan/columns.h\"\n#include \"kernels/reference/elements.h\"\n#include "
         "<reprise/library.h>\nusing namespace reprise;\n"
      << kPrelude << "\n"
      << kOperators << "\n";
  out << "struct Given { Tensor x, y, z, v, c, i, m, w, ids; Int n; Tensor captured; };\n"
         "Tensor values(Int n, Int seed) { return (remainder((arange(n) + seed) * 37, 33) - 16) / 8.0; }\n"
         "std::vector<Tensor> f(Tensor x, Tensor y, Tensor z, Tensor v, Tensor c, Tensor i, Tensor m, Tensor w, Tensor "
         "ids, Int n, const Tensor& captured) {\n";
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    const Step& s = p.steps[i];
    if (s.row == Step::kDropped) continue;
    const std::string a = name_of(p, s.a);
    std::ostringstream number;
    number << std::showpoint << s.number();
    std::string text = substitute(all_rows()[s.row].text, {{"a", a},
                                                           {"b", name_of(p, s.b)},
                                                           {"c", number.str()},
                                                           {"d", "dim_of(" + a + ", " + std::to_string(s.q) + ")"}});
    out << "  Tensor t" << i + Program::kPool << " = ";
    if (text.starts_with("return ") && text.find(';') == std::string::npos) out << text.substr(7) << ";\n";
    else out << "[&] { " << text << "; }();\n";
  }
  out << "  return {";
  for (std::size_t i = 0; i < p.results.size(); ++i) out << (i ? ", " : "") << name_of(p, p.results[i]);
  out << "};\n}\n"
         "int main() {\n"
         "  Tensor captured;\n"
         "  auto body = [&](Tensor x, Tensor y, Tensor z, Tensor v, Tensor c, Tensor i, Tensor m, Tensor w, Tensor "
         "ids, Int n) { return f(x, y, z, v, c, i, m, w, ids, n, captured); };\n"
         "  auto compiled = compile(body);\n"
         "  auto both = [&](auto make) {\n"
         "    for (bool is_compiled : {false, true}) try {\n"
         "      Given g = make();\n"
         "      captured = g.captured;\n"
         "      auto show = [&](const char* name, const Tensor& t) { std::printf(\"%s %s: %s strides\", is_compiled ? "
         "\"compiled\" : \"eager\", name, t.str().c_str()); for (Int s : t.strides()) std::printf(\" %s\", "
         "s.str().c_str()); std::printf(\"\\n\"); };\n"
         "      for (const Tensor& t : is_compiled ? compiled(g.x, g.y, g.z, g.v, g.c, g.i, g.m, g.w, g.ids, g.n) : "
         "body(g.x, g.y, g.z, g.v, g.c, g.i, g.m, g.w, g.ids, g.n)) show(\"result\", t);\n"
         "      show(\"x\", g.x), show(\"y\", g.y), show(\"z\", g.z), show(\"v\", g.v), show(\"c\", g.c), show(\"i\", "
         "g.i), show(\"m\", g.m), show(\"w\", g.w), show(\"captured\", g.captured);\n"
         "    } catch (const Error& e) { std::printf(\"%s throws %s\\n\", is_compiled ? \"compiled\" : \"eager\", "
         "e.what()); }\n"
         "    std::printf(\"served eagerly: %s\\n\", compiled.stats().last_fallback_reason.c_str());\n"
         "  };\n";
  for (const Call& call : calls) {
    out << "  both([] {  // " << call.str() << "\n    Given g;\n";
    print_arguments(out, call);
    out << "    return g;\n  });\n";
  }
  out << "}\n";
  return out.str();
}

}  // namespace reprise::fuzz
