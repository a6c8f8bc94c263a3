// A network of ResNet-18's shape (He et al. 2015): images in, one score for each class out. Batch norm is folded into
// the weights of the convolutions before. Weights are random.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "../common/example.h"
#include "reprise/convolution.h"
#include "reprise/pooling.h"

namespace rp = reprise;

namespace {

struct Config {
  std::int64_t size = 224, width = 64, classes = 1000;
};

/// What a convolution and the norm after it learn. weight: [out, in, places, places].
struct Trained {
  rp::Tensor weight, gamma, beta, mean, variance;
  std::int64_t stride;
};
/// The two as one: the norm's factor in the weight, the rest in the bias.
struct Conv {
  rp::Tensor weight, bias;
  std::int64_t stride;
};
struct Block {
  Conv first, second;
  std::vector<Conv> shortcut;  // none, or one where sizes change
};
struct Weights {
  Conv stem;
  std::vector<Block> blocks;
  rp::Tensor head, head_bias;  // [classes, width * 8], [classes]
};

Conv fold(const Trained& t) {
  rp::Tensor factor = t.gamma * rp::rsqrt(t.variance + 1e-5);
  return {t.weight * factor.view({-1, 1, 1, 1}), t.beta - t.mean * factor, t.stride};
}

Trained trained(std::int64_t out, std::int64_t in, std::int64_t places, std::int64_t stride) {
  const std::int64_t seen = places * places * in;
  return {rp::randn({out, in, places, places}) * std::sqrt(2.0 / static_cast<double>(seen)),
          1.0 + rp::randn({out}) * 0.1,
          rp::randn({out}) * 0.1,
          rp::randn({out}) * 0.1,
          1.0 + rp::rand({out}),
          stride};
}
Conv random_conv(std::int64_t out, std::int64_t in, std::int64_t places, std::int64_t stride) {
  return fold(trained(out, in, places, stride));
}

Weights random_weights(const Config& c) {
  Weights w{
      random_conv(c.width, 3, 7, 2), {}, rp::randn({c.classes, 8 * c.width}) * 0.05, rp::randn({c.classes}) * 0.05};
  for (std::int64_t stage = 0, in = c.width; stage < 4; ++stage)
    for (int i = 0; i < 2; ++i) {
      const std::int64_t out = c.width << stage, stride = stage > 0 && i == 0 ? 2 : 1;
      Block b{random_conv(out, in, 3, stride), random_conv(out, out, 3, 1), {}};
      if (stride != 1) b.shortcut.push_back(random_conv(out, in, 1, stride));
      w.blocks.push_back(std::move(b));
      in = out;
    }
  return w;
}

/// [n, in, h, w] -> [n, out, ceil(h / stride), ceil(w / stride)]
rp::Tensor conv(const Conv& c, rp::Tensor x) {
  return rp::conv2d(x, c.weight, c.bias, c.stride, c.weight.size(-1) / 2);
}

/// Plain eager code: images [n, 3, h, w], any n, h and w, to scores [n, classes].
rp::Tensor classify(const Weights& w, rp::Tensor images) {
  rp::Tensor x = rp::max_pool2d(rp::relu(conv(w.stem, images)), 3, 2, 1);
  for (std::size_t i = 0; i < w.blocks.size(); ++i) {
    rp::NameScope block("blocks", static_cast<std::int64_t>(i));
    const Block& b = w.blocks[i];
    rp::Tensor y = conv(b.second, rp::relu(conv(b.first, x)));
    x = rp::relu(y + (b.shortcut.empty() ? x : conv(b.shortcut[0], x)));
  }
  return rp::linear(x.mean({2, 3}), w.head, w.head_bias);
}

/// One convolution and its norm by the definition, in loops and double.
rp::Tensor conv_by_loops(const Trained& t, rp::Tensor image) {
  const std::vector<double> x = image.to_vector<double>(), w = t.weight.to_vector<double>();
  const std::vector<double> gamma = t.gamma.to_vector<double>(), beta = t.beta.to_vector<double>(),
                            mean = t.mean.to_vector<double>(), variance = t.variance.to_vector<double>();
  const std::int64_t in = image.size(1).value(), h = image.size(2).value(), width = image.size(3).value(),
                     out = t.weight.size(0).value(), places = t.weight.size(-1).value();
  const std::int64_t rows = (h - 1) / t.stride + 1, columns = (width - 1) / t.stride + 1, margin = places / 2;
  std::vector<double> y;
  for (std::int64_t o = 0; o < out; ++o)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        double sum = 0;
        for (std::int64_t k = 0; k < in; ++k)
          for (std::int64_t i = 0; i < places; ++i)
            for (std::int64_t j = 0; j < places; ++j) {
              const std::int64_t a = r * t.stride + i - margin, b = c * t.stride + j - margin;
              if (a < 0 || b < 0 || a >= h || b >= width) continue;
              sum += x[static_cast<std::size_t>((k * h + a) * width + b)] *
                     w[static_cast<std::size_t>(((o * in + k) * places + i) * places + j)];
            }
        const std::size_t at = static_cast<std::size_t>(o);
        y.push_back((sum - mean[at]) / std::sqrt(variance[at] + 1e-5) * gamma[at] + beta[at]);
      }
  return rp::tensor_of(y, {1, out, rows, columns});
}

int program(int argc, char** argv) {
  Config c;
  std::int64_t batch = 4, batches = 6, threads = 1, seed = 1;
  example::Options options("resnet",
                           "Classifies images with a network of ResNet-18's shape and random weights, compiled while "
                           "it runs; batches have different sizes.");
  options.integer("--size", &c.size, 32, 4096, "height of an image")
      .integer("--width", &c.width, 1, 1024, "channels of the first stage")
      .integer("--classes", &c.classes, 1, 100000, "scores")
      .integer("--batch", &batch, 2, 1024, "images of the largest batch")
      .integer("--batches", &batches, 2, 100000, "batches to classify")
      .integer("--threads", &threads, 1, 1024, "threads to use")
      .integer("--seed", &seed, 0, INT32_MAX, "of weights and images")
      .parse(argc, argv);

  rp::set_num_threads(static_cast<int>(threads));
  rp::manual_seed(static_cast<std::uint64_t>(seed));
  const Weights w = random_weights(c);
  rp::freeze(w);  // what is computed of them alone is computed once
  auto network = rp::compile(classify, {.name = "resnet", .arguments = {"weights", "images"}});

  double begin = example::now();
  const rp::Tensor all = rp::randn({batch, 3, c.size, c.size});
  const rp::Tensor first = network(w, all);
  const double cold = example::now() - begin;
  // Batches of batch, batch - 1, ..., 1 images, and of batch again.
  std::int64_t images = 0;
  double took = 0;
  for (std::int64_t i = 0; i < batches; ++i) {
    const std::int64_t n = batch - i % batch;
    const rp::Tensor part = all.slice(0, 0, n);
    begin = example::now();
    network(w, part);
    took += example::now() - begin, images += n;
  }
  const rp::Stats stats = network.stats();

  example::Checks checks;
  begin = example::now();
  const rp::Tensor same = classify(w, all);
  const double eager = example::now() - begin;
  checks.close("scores, compiled against eager", first, same);
  checks.close("a batch of one against its row of the whole", network(w, all.slice(0, 0, 1)), first.slice(0, 0, 1));
  const rp::Tensor wide = all.slice(3, 0, c.size - 7);
  checks.close("images that are not square, compiled against eager", network(w, wide), classify(w, wide));
  const Trained t = trained(8, 3, 7, 2);
  const rp::Tensor image = rp::randn({1, 3, 21, 18});
  checks.close("a folded convolution against loops in double, with its norm apart", rp::compile(conv)(fold(t), image),
               conv_by_loops(t, image));
  checks.equal("calls served eagerly", network.stats().eager_fallbacks, 0);

  std::printf("\n");
  example::row("compiled", static_cast<double>(images) / took, "images/s", 1);
  example::row("eager", static_cast<double>(batch) / eager, "images/s", 1);
  example::row("first batch (with compilation)", cold * 1e3, "ms", 1);
  example::rows(stats);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) { return example::guarded("resnet", program, argc, argv); }
