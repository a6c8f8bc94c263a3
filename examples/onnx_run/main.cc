// Runs any ONNX file with random inputs: how long a call takes eagerly and compiled, whether both agree, and what was
// compiled.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "../common/example.h"
#include "reprise/onnx.h"

namespace rp = reprise;

namespace {

/// "batch=4" and "to=2,-1": sizes of dynamic dimensions, and elements of inputs that decide sizes, by name.
using Given = std::map<std::string, std::vector<std::int64_t>>;

std::int64_t size_of(const rp::onnx::Dimension& d, const Given& given) {
  if (d.size >= 0) return d.size;
  const auto found = given.find(d.name);
  return found == given.end() ? 2 : found->second.at(0);
}

rp::onnx::Argument argument(const rp::onnx::Port& p, const Given& given, std::int64_t below) {
  if (const auto found = given.find(p.name); p.decides_sizes && found != given.end()) {
    rp::onnx::Argument a =
        rp::onnx::Argument::numbers(std::vector<rp::Scalar>(found->second.begin(), found->second.end()));
    if (p.sizes && p.sizes->empty()) a.dims.clear();
    return a;
  }
  rp::Ints sizes;
  if (p.sizes)
    for (const rp::onnx::Dimension& d : *p.sizes) sizes.push_back(size_of(d, given));
  if (rp::is_floating(p.dtype)) return rp::randn(sizes).to(p.dtype);
  return rp::randint(0, p.dtype == rp::kBool ? 2 : below, sizes).to(p.dtype);
}

double median(const auto& call, std::int64_t times) {
  example::Times all;
  for (std::int64_t i = 0; i < times; ++i) {
    const double begin = example::now();
    call();
    all.add(example::now() - begin);
  }
  return all.median();
}

int program(int argc, char** argv) {
  std::int64_t times = 20, threads = 1, seed = 1, below = 2;
  bool explain = false;
  std::string path = REPRISE_ONNX_EXAMPLE;
  Given given;
  std::vector<char*> rest{argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    const bool is_value =
        i > 1 && std::string(argv[i - 1]).starts_with("--") && std::string(argv[i - 1]) != "--explain";
    if (word.starts_with("--") || is_value) {
      rest.push_back(argv[i]);
    } else if (equals == std::string::npos) {
      path = word;
    } else {
      std::vector<std::int64_t>& numbers = given[word.substr(0, equals)];
      for (std::size_t at = equals + 1; at <= word.size();) {
        const std::size_t comma = std::min(word.find(',', at), word.size());
        numbers.push_back(std::stoll(word.substr(at, comma - at)));
        at = comma + 1;
      }
    }
  }
  example::Options options("onnx_run",
                           "Runs an ONNX file with random inputs: onnx_run [FILE] [NAME=SIZE ...] [options]. NAME: a "
                           "dynamic dimension (2 if it is not given), or an input that decides sizes.");
  options.integer("--times", &times, 1, 1000000, "calls to measure")
      .integer("--threads", &threads, 1, 1024, "threads to use")
      .integer("--seed", &seed, 0, INT32_MAX, "of the inputs")
      .integer("--below", &below, 1, INT32_MAX, "integer inputs are below it")
      .flag("--explain", &explain, "print what was compiled")
      .parse(static_cast<int>(rest.size()), rest.data());
  rp::set_num_threads(static_cast<int>(threads));
  rp::manual_seed(static_cast<std::uint64_t>(seed));

  const rp::onnx::Model model = rp::onnx::load(path);
  std::vector<rp::onnx::Argument> inputs;
  for (const rp::onnx::Port& p : model.inputs()) {
    inputs.push_back(argument(p, given, below));
    std::printf("input  %-20s %s %s\n", p.name.c_str(), std::string(rp::dtype_name(p.dtype)).c_str(),
                inputs.back().tensor ? "" : "(decides sizes)");
  }
  auto compiled = rp::compile(model, {.name = "onnx"});
  const double begin = example::now();
  const std::vector<rp::Tensor> first = compiled(inputs);
  const double cold = example::now() - begin;
  const std::vector<rp::Tensor> eager = model(inputs);

  example::Checks checks;
  for (std::size_t i = 0; i < first.size(); ++i)
    checks.close("result '" + model.outputs()[i].name + "', compiled against eager", first[i], eager[i]);
  const double slow = median([&] { model(inputs); }, times), fast = median([&] { compiled(inputs); }, times);
  std::printf("\n");
  example::row("eager", slow * 1e6, "us a call", 1);
  example::row("compiled", fast * 1e6, "us a call", 1);
  example::row("first call (with compilation)", cold * 1e3, "ms", 1);
  example::rows(compiled.stats());
  if (explain) std::printf("\n%s", compiled.explain().c_str());
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) { return example::guarded("onnx_run", program, argc, argv); }
