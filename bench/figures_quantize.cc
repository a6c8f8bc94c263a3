// A normalization and the quantization of what it gives: one function against two, in time and in what moves between them.
#include <sstream>
#include <string>

#include "bench/figures.h"
#include "reprise/reprise.h"

namespace reprise::figures {

namespace {

/// Bytes an element of a matrix that the launches read and write, as explain() lists them. Rows and columns of numbers are not counted.
double bytes_an_element(const std::string& explained) {
  std::istringstream lines(explained.substr(explained.find("  launches:\n")));
  double bytes = 0;
  std::string matrices = " in0 ";                      // the buffers that are matrices: the first argument, and what has s0*s1 elements
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("buffer ") && line.find("s0*s1") != std::string::npos) matrices += line.substr(7, line.find(':') - 7) + " ";
    if (!line.starts_with("loop ")) continue;
    std::istringstream operands(line.substr(line.find('(') + 1, line.find(')') - line.find('(') - 1));
    for (std::string name, type; operands >> name;) {
      if (name == "->") continue;
      operands >> type;
      if (matrices.find(" " + name + " ") == std::string::npos) continue;
      bytes += type.starts_with("f32") ? 4 : type.starts_with("bf16") ? 2 : 1;
    }
  }
  return bytes;
}

}  // namespace

std::vector<Figure> quantize_figures() {
  std::vector<Figure> out;
  for (DType t : {kFloat32, kBFloat16}) {
    // int8 by rows, as a server does before a quantized product.
    auto quantize = [](Tensor y) {
      Tensor f = y.to(kFloat32), scale = f.abs().amax({-1}, true).clamp_min(1e-8) / 127.0;
      return std::pair((f * (1.0 / scale)).round().to(kInt8), scale);
    };
    auto norm = [](Tensor x, Tensor w) { return rms_norm(x, w, 1e-6); };
    auto first = compile(norm, {.name = "norm"});
    auto second = compile(quantize, {.name = "quantize"});
    auto both = compile([=](Tensor x, Tensor w) { return quantize(norm(x, w)); }, {.name = "norm_quantize"});
    const Tensor x = randn({4096, 4096}).to(t), w = ones({4096}).to(t);
    both(x, w), second(first(x, w));
    const double bytes = bytes_an_element(both.explain()), apart = bytes_an_element(first.explain()) + bytes_an_element(second.explain());
    const std::string of = "rms_norm + quantize, " + std::string(dtype_name(t)) + ", ";
    out.push_back({of + "bytes of the unfused", bytes / apart, "ratio", 0.6, Figure::Better::Lower, true,
                   std::to_string(static_cast<int>(bytes)) + " bytes an element, apart " + std::to_string(static_cast<int>(apart))});
    std::vector<double> one, two;
    for (int i = 0; i < 15; ++i) {
      double start = now();
      both(x, w);
      one.push_back(now() - start);
      start = now();
      second(first(x, w));
      two.push_back(now() - start);
    }
    out.push_back({of + "time of the unfused", median(one) / median(two), "ratio", 0.7, Figure::Better::Lower, true, "4096 x 4096, interleaved, median of 15"});
  }
  return out;
}

}  // namespace reprise::figures
