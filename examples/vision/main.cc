// A ResNet-18 (He et al. 2015) out of an ONNX file says what a picture shows. Without --model the program makes the
// file: random convolutions, and a last layer that is fitted to pictures which it draws.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../common/example.h"
#include "onnx_writer.h"
#include "picture.h"
#include "reprise/linalg.h"
#include "reprise/onnx.h"
#include "reprise/vision.h"

namespace rp = reprise;

namespace {

struct Conv {
  rp::Tensor weight, bias;  // [out, in, places, places], [out]
};
Conv random_conv(std::int64_t out, std::int64_t in, std::int64_t places, double gain) {
  return {rp::randn({out, in, places, places}) * (gain * std::sqrt(2.0 / static_cast<double>(in * places * places))),
          rp::randn({out}) * 0.05};
}

/// Writes the network with this last layer, weight [results, 8 * width]. Its random part is the same for one seed.
/// Results: "scores", and "stem", what the first convolution and relu give.
Conv write_resnet18(const std::string& path, std::int64_t seed, std::int64_t width, const rp::Tensor& head,
                    const rp::Tensor& head_bias) {
  rp::manual_seed(static_cast<std::uint64_t>(seed));
  vision::Graph g;
  auto conv = [&](const std::string& name, const std::string& x, const Conv& c, std::int64_t stride) {
    const std::int64_t places = c.weight.size(-1).value(), p = places / 2;
    return g.node(name, "Conv", {x, g.constant(name + ".weight", c.weight), g.constant(name + ".bias", c.bias)},
                  {{"kernel_shape", {places, places}}, {"strides", {stride, stride}}, {"pads", {p, p, p, p}}});
  };
  auto relu = [&](const std::string& name, const std::string& x) { return g.node(name, "Relu", {x}); };
  g.input("images", {"N", "3", "H", "W"});
  const Conv stem = random_conv(width, 3, 7, 1);
  std::string x = relu("stem", conv("conv1", "images", stem, 2));
  x = g.node("maxpool", "MaxPool", {x}, {{"kernel_shape", {3, 3}}, {"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}});
  for (std::int64_t stage = 0, in = width; stage < 4; ++stage)
    for (std::int64_t i = 0; i < 2; ++i) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
      const std::int64_t out = width << stage, stride = stage > 0 && i == 0 ? 2 : 1;
      const std::string y =
          conv(name + ".conv2", relu(name + ".relu1", conv(name + ".conv1", x, random_conv(out, in, 3, 1), stride)),
               random_conv(out, out, 3, 0.5), 1);
      const std::string shortcut =
          stride == 1 ? x : conv(name + ".downsample", x, random_conv(out, in, 1, 0.7), stride);
      x = relu(name + ".relu2", g.node(name + ".add", "Add", {y, shortcut}));
      in = out;
    }
  x = g.node("flatten", "Flatten", {g.node("avgpool", "GlobalAveragePool", {x})}, {{"axis", {1}}}, {"axis"});
  g.node("scores", "Gemm", {x, g.constant("fc.weight", head), g.constant("fc.bias", head_bias)}, {{"transB", {1}}},
         {"transB"});
  g.output("scores", {"N", std::to_string(head.size(0).value())});
  g.output("stem", {"N", std::to_string(width), "rows", "columns"});
  g.save(path);
  return stem;
}

/// What a network for ImageNet wants: [n, h, w, 3] of uint8, colours of a pixel side by side, seen as [n, 3, h, w];
/// only what is computed is written anywhere.
struct Normalize {
  rp::Tensor mean = rp::tensor_of(std::vector<float>{0.485f, 0.456f, 0.406f}, {3, 1, 1}),
             deviation = rp::tensor_of(std::vector<float>{0.229f, 0.224f, 0.225f}, {3, 1, 1});
  rp::Tensor operator()(rp::Tensor pictures) const {
    return (pictures.permute({0, 3, 1, 2}).to(rp::kFloat32) / 255.0 - mean) / deviation;
  }
};

/// The last layer [kShapeCount, features] and its bias that tell drawn pictures apart: ridge regression of features [n,
/// features], picture i shows shape i % kShapeCount.
std::pair<rp::Tensor, rp::Tensor> fitted(rp::Tensor features) {
  const rp::Tensor f = features.to(rp::kFloat64), mean = f.mean({0}), x = f - mean;
  const std::int64_t n = f.size(0).value();
  std::vector<double> wanted(static_cast<std::size_t>(n * vision::kShapeCount));
  for (std::int64_t i = 0; i < n; ++i)
    wanted[static_cast<std::size_t>(i * vision::kShapeCount + i % vision::kShapeCount)] = 1;
  const rp::Tensor y = rp::tensor_of(wanted, {n, vision::kShapeCount}), offset = y.mean({0});
  // As many unknowns as pictures: (x x' + a) z = y, and the weights are x' z.
  const rp::Tensor products = rp::mm(x, x.transpose(0, 1));
  const rp::Tensor ridge = rp::eye(n).to(rp::kFloat64) * (products.diagonal().mean({}) * 0.01);
  const rp::Tensor weight = rp::mm(rp::solve(products + ridge, y - offset).transpose(0, 1), x);
  return {weight.to(rp::kFloat32) * 10.0, ((offset - rp::mv(weight, mean)) * 10.0).to(rp::kFloat32)};
}

/// relu(convolution with step 2 of a picture [3, h, w]), by the definition, in double.
rp::Tensor stem_by_loops(const Conv& c, rp::Tensor image) {
  const std::vector<double> x = image.to_vector<double>(), w = c.weight.to_vector<double>(),
                            bias = c.bias.to_vector<double>();
  const std::int64_t h = image.size(-2).value(), width = image.size(-1).value(), out = c.weight.size(0).value(),
                     rows = (h - 1) / 2 + 1, columns = (width - 1) / 2 + 1;
  std::vector<double> y;
  for (std::int64_t o = 0; o < out; ++o)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t s = 0; s < columns; ++s) {
        double sum = bias[static_cast<std::size_t>(o)];
        for (std::int64_t k = 0; k < 3; ++k)
          for (std::int64_t i = 0; i < 7; ++i)
            for (std::int64_t j = 0; j < 7; ++j) {
              const std::int64_t a = 2 * r + i - 3, b = 2 * s + j - 3;
              if (a >= 0 && b >= 0 && a < h && b < width)
                sum += x[static_cast<std::size_t>((k * h + a) * width + b)] *
                       w[static_cast<std::size_t>(((o * 3 + k) * 7 + i) * 7 + j)];
            }
        y.push_back(std::max(sum, 0.0));
      }
  return rp::tensor_of(y, {1, out, rows, columns});
}

rp::Tensor drawn(std::int64_t each, std::int64_t size, std::mt19937& random) {
  std::vector<rp::Tensor> all;
  for (std::int64_t i = 0; i < each * vision::kShapeCount; ++i)
    all.push_back(vision::draw(i % vision::kShapeCount, size, random));
  return rp::stack(all, 0);
}

std::vector<std::string> names_from(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": cannot be read");
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);) names.push_back(line);
  return names;
}

void print_best(const rp::Tensor& scores, const std::vector<std::string>& names) {
  const rp::Tensor chances = rp::softmax(scores.to(rp::kFloat32), -1);
  const auto best = rp::topk(chances, std::min<std::int64_t>(5, chances.size(-1).value()));
  const std::vector<double> values = std::get<0>(best).to_vector<double>();
  const std::vector<std::int64_t> places = std::get<1>(best).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto place = static_cast<std::size_t>(places[i]);
    std::printf("%6.1f %%  %s\n", values[i] * 100,
                place < names.size() ? names[place].c_str() : ("class " + std::to_string(place)).c_str());
  }
}

/// A model file that goes with the program, unless it is given to the user.
struct ModelFile {
  std::string path;
  bool keep;
  ~ModelFile() {
    std::error_code ignored;
    if (!keep) std::filesystem::remove(path, ignored);
  }
};

auto compiled(const rp::onnx::Model& model) {
  return rp::compile([model, normalized = Normalize()](rp::Tensor pictures) { return model(normalized(pictures)); },
                     {.name = "vision", .arguments = {"pictures"}});
}

int program(int argc, char** argv) {
  std::int64_t size = 96, width = 64, each = 24, threads = 1, seed = 1;
  std::string model_path, image_path, names_path, save;
  bool explain = false;
  example::Options options("vision",
                           "Says what a picture shows, by a ResNet-18 in an ONNX file. Without --model it makes one "
                           "that knows eight shapes, and draws the picture.");
  options.text("--model", &model_path, "a classifier of images [N, 3, H, W]")
      .text("--image", &image_path, "a picture, binary PPM")
      .text("--names", &names_path, "a class name on each line")
      .text("--save", &save, "where the model that is made goes")
      .integer("--size", &size, 32, 1024, "height and width that a picture is brought to")
      .integer("--width", &width, 1, 256, "channels of the first stage")
      .integer("--pictures", &each, 1, 1000, "drawn for each shape to fit the last layer")
      .integer("--threads", &threads, 1, 1024, "threads to use")
      .integer("--seed", &seed, 0, INT32_MAX, "of weights and pictures")
      .flag("--explain", &explain, "print what was compiled")
      .parse(argc, argv);
  rp::set_num_threads(static_cast<int>(threads));
  const Normalize normalized;
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  const bool own = model_path.empty();

  ModelFile file{own ? (save.empty() ? (std::filesystem::temp_directory_path() /
                                        ("reprise-vision-" + std::to_string(getpid()) + ".onnx"))
                                           .string()
                                     : save)
                     : model_path,
                 !own || !save.empty()};
  Conv stem;
  std::vector<std::string> names;
  if (own) {
    names.assign(std::begin(vision::kShapes), std::end(vision::kShapes));
    // The network gives its features while its last layer is the identity.
    write_resnet18(file.path, seed, width, rp::eye(8 * width), rp::zeros({8 * width}));
    auto network = compiled(rp::onnx::load(file.path));
    const rp::Tensor pictures = drawn(each, size, random);
    std::vector<rp::Tensor> features;
    for (std::int64_t i = 0; i < each * vision::kShapeCount; i += vision::kShapeCount)
      features.push_back(network(pictures.slice(0, i, i + vision::kShapeCount))[0]);
    const auto [head, bias] = fitted(rp::cat(features, 0));
    stem = write_resnet18(file.path, seed, width, head, bias);
  }
  if (!names_path.empty()) names = names_from(names_path);
  const rp::onnx::Model model = rp::onnx::load(file.path);
  auto classify = compiled(model);

  const std::int64_t shown = static_cast<std::int64_t>(random() % vision::kShapeCount);
  rp::Tensor picture = image_path.empty() ? vision::draw(shown, size, random) : vision::read_ppm(image_path);
  if (image_path.empty()) std::printf("a picture of a %s, drawn\n", vision::kShapes[shown]);
  else
    picture =
        rp::round(rp::interpolate(
                      picture.permute({2, 0, 1}).unsqueeze(0).to(rp::kFloat32),
                      {.size = rp::Ints{size, size}, .mode = "bilinear", .align_corners = false, .antialias = true})[0])
            .clamp(0, 255)
            .to(rp::kUInt8)
            .permute({1, 2, 0})
            .contiguous();
  const rp::Tensor one = picture.unsqueeze(0);
  double begin = example::now();
  const std::vector<rp::Tensor> results = classify(one);
  const double cold = example::now() - begin;
  print_best(results[0][0], names);
  std::printf("\n");

  example::Checks checks;
  begin = example::now();
  const std::vector<rp::Tensor> eager = model(normalized(one));
  const double slow = example::now() - begin;
  checks.close("scores, compiled against eager", results[0], eager[0]);
  // the same picture, colour by colour
  const rp::Tensor planes = one.permute({0, 3, 1, 2}).contiguous().permute({0, 2, 3, 1});
  checks.close("a picture stored colour by colour against one stored pixel by pixel", classify(planes)[0], results[0]);
  if (own) {
    checks.close("the first convolution against loops in double", results[1], stem_by_loops(stem, normalized(one)));
    const std::int64_t tests = 6;
    const rp::Tensor found = rp::argmax(classify(drawn(tests, size, random))[0], -1);
    const std::vector<std::int64_t> classes = found.to_vector<std::int64_t>();
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < classes.size(); ++i)
      wrong += classes[i] != static_cast<std::int64_t>(i) % vision::kShapeCount;
    checks.at_most("pictures not seen before that are taken for something else, of " + std::to_string(classes.size()),
                   static_cast<double>(wrong), 0.2 * static_cast<double>(classes.size()));
  }
  example::Times times;
  for (int i = 0; i < 10; ++i) {
    begin = example::now();
    classify(one);
    times.add(example::now() - begin);
  }
  const rp::Stats stats = classify.stats();
  checks.equal("calls served eagerly", static_cast<std::int64_t>(stats.eager_fallbacks), 0);
  checks.equal("bytes copied beyond eager", static_cast<std::int64_t>(stats.copied_bytes), 0);

  std::printf("\n");
  example::row("compiled", times.median() * 1e3, "ms a picture", 2);
  example::row("eager", slow * 1e3, "ms a picture", 2);
  example::row("first picture (with compilation)", cold * 1e3, "ms", 1);
  example::rows(stats);
  if (explain) std::printf("\n%s", classify.explain().c_str());
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) { return example::guarded("vision", program, argc, argv); }
