// A network leaves its process: one run exports it, another calls it without the network's source.
//
//   example_export save net.rpx
//   example_export call net.rpx
//   example_export              both, in a file of the current folder
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "reprise/export.h"
#include "reprise/nn.h"
#include "reprise/reprise.h"

namespace rp = reprise;

namespace {

struct Classifier : rp::nn::Callable<Classifier> {
  rp::nn::Linear up{16, 64}, down{64, 10};
  rp::Tensor forward(const rp::Tensor& x) const { return rp::softmax(down(rp::gelu(up(x))), -1); }
  REPRISE_FIELDS(Classifier, up, down)
};

int save(const std::string& path) {
  const Classifier net;
  const rp::ExportedProgram p =
      rp::export_module(net, std::tuple(rp::zeros({4, 16})),
                        {.name = "classifier", .arguments = {"x"}, .sizes = {{"x", 0, {"batch", 1, 256}}}});
  p.print_readable(std::cout);
  p.save(path);
  return 0;
}

int call(const std::string& path) {
  rp::LoadedProgram f = rp::load_program(path);
  for (int batch : {1, 32}) f.warm_up(rp::zeros({batch, 16}));
  f.seal();
  const rp::Tensor y = f(rp::ones({32, 16}))[0];
  std::printf("%s: probabilities of 32 rows sum up to %.3f\n", f.name().c_str(), y.sum().item<float>());
  try {
    f(rp::ones({257, 16}));
  } catch (const rp::Error& e) {
    std::printf("257 rows: %s\n", e.what());
    return y.sum().item<float>() > 31.9f ? 0 : 1;
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3 && !std::strcmp(argv[1], "save")) return save(argv[2]);
    if (argc == 3 && !std::strcmp(argv[1], "call")) return call(argv[2]);
    const int failed = save("example_export.rpx") + call("example_export.rpx");
    std::remove("example_export.rpx");
    return failed;
  } catch (const rp::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
