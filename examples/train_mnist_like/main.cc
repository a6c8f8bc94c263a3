// Trains a small convolution network on digits that it draws itself. The whole step (forward, derivative, AdamW over
// all parameters) is one compiled function with one recording for each size of batch: in one graph the optimizer's
// arithmetic fuses with the gradients that it reads, and nothing stands on a tape between two calls.
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

#include "../common/example.h"
#include "../common/plot.h"
#include "digits.h"
#include "reprise/convolution.h"
#include "reprise/losses.h"
#include "reprise/optim.h"
#include "reprise/pooling.h"
#include "reprise/safetensors.h"

namespace rp = reprise;

namespace {

constexpr std::int64_t kClasses = 10;

struct Network {
  rp::Tensor conv1, bias1;  // [8, 1, 3, 3], [8]
  rp::Tensor conv2, bias2;  // [16, 8, 3, 3], [16]
  rp::Tensor head, bias3;   // [10, 16 * 7 * 7], [10]
};
rp::optim::Tensors parameters(const Network& n) { return {n.conv1, n.bias1, n.conv2, n.bias2, n.head, n.bias3}; }

Network new_network(rp::Device device) {
  auto weight = [&](rp::IntArrayRef sizes, std::int64_t seen) {
    return (rp::randn(sizes) * std::sqrt(2.0 / static_cast<double>(seen))).to(device);
  };
  auto none = [&](std::int64_t n) { return rp::zeros({n}).to(device); };
  return {
      weight({8, 1, 3, 3}, 9), none(8), weight({16, 8, 3, 3}, 72), none(16), weight({kClasses, 16 * 7 * 7}, 16 * 7 * 7),
      none(kClasses)};
}

/// Images [n, 1, 28, 28] to scores [n, 10].
rp::Tensor classify(const Network& n, const rp::Tensor& images) {
  rp::Tensor x = rp::max_pool2d(rp::relu(rp::conv2d(images, n.conv1, n.bias1, 1, 1)), 2);
  x = rp::max_pool2d(rp::relu(rp::conv2d(x, n.conv2, n.bias2, 1, 1)), 2);
  return rp::linear(x.flatten(1), n.head, n.bias3);
}

/// One step: writes the parameters and the optimizer's state in place, and gives the loss.
rp::Tensor train(const Network& n, const rp::optim::AdamState& state, const rp::optim::AdamWOptions& options,
                 const rp::Tensor& images, const rp::Tensor& labels) {
  auto leaf = [](const rp::Tensor& t) { return t.detach().requires_grad_(); };
  const Network own{leaf(n.conv1), leaf(n.bias1), leaf(n.conv2), leaf(n.bias2), leaf(n.head), leaf(n.bias3)};
  const rp::Tensor loss = rp::cross_entropy(classify(own, images), labels);
  rp::optim::adamw_(parameters(n), rp::grad({loss}, parameters(own)), state, options);
  return loss.detach();
}

struct Batch {
  rp::Tensor images, labels;
};
Batch batch_of(std::int64_t n, std::uint64_t seed, rp::Device device) {
  const digits::Batch b = digits::draw(n, seed);
  return {rp::tensor_of(b.images, {n, 1, digits::kSize, digits::kSize}).to(device), rp::tensor_of(b.labels).to(device)};
}

double accuracy(const rp::Tensor& scores, const rp::Tensor& labels) {
  return rp::mean((scores.argmax(1) == labels).to(rp::kFloat32)).item<double>();
}

std::map<std::string, rp::Tensor> checkpoint_of(const Network& n, const rp::optim::AdamState& s) {
  std::map<std::string, rp::Tensor> all{{"step", s.step}};
  const rp::optim::Tensors p = parameters(n);
  const char* names[] = {"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "head.weight", "head.bias"};
  for (std::size_t i = 0; i < p.size(); ++i) {
    all.emplace(names[i], p[i]);
    all.emplace(std::string("exp_avg.") + names[i], s.exp_avg[i]);
    all.emplace(std::string("exp_avg_sq.") + names[i], s.exp_avg_sq[i]);
  }
  return all;
}
void restore(const std::string& file, const std::map<std::string, rp::Tensor>& into) {
  const rp::SafeTensors saved = rp::load_safetensors(file);
  for (const auto& [name, to] : into) to.copy_(saved.at(name));
}

int program(int argc, char** argv) {
  std::int64_t steps = 300, batch = 32, threads = 2, seed = 1, held_out = 500;
  double rate = 3e-3;
  std::string device_name = "cpu", resume, save, picture;
  example::Options options(
      "train", "Trains a convolution network on digits that it draws itself; the whole step is one compiled function.");
  options.integer("--steps", &steps, 1, 1000000, "batches to learn from")
      .integer("--batch", &batch, 1, 4096, "images of a batch")
      .number("--rate", &rate, 0, 1, "learning rate at the beginning; falls along a cosine")
      .integer("--held-out", &held_out, 10, 100000, "images to measure with")
      .text("--device", &device_name, "cpu, or cuda")
      .text("--resume", &resume, "a checkpoint to go on from (safetensors)")
      .text("--save", &save, "where to leave a checkpoint")
      .text("--plot", &picture, "where to draw the loss (SVG)")
      .integer("--threads", &threads, 1, 1024, "threads to use")
      .integer("--seed", &seed, 0, INT32_MAX, "of weights and digits")
      .parse(argc, argv);
  if (device_name != "cpu" && device_name != "cuda")
    options.fail("--device is '" + device_name + "', expected cpu or cuda");
  const rp::Device device = device_name == "cuda" ? rp::Device::cuda(0) : rp::Device::cpu();

  rp::set_num_threads(static_cast<int>(threads));
  rp::manual_seed(static_cast<std::uint64_t>(seed));
  const Network network = new_network(device);
  const rp::optim::AdamState state = rp::optim::AdamState::of(parameters(network));
  if (!resume.empty()) restore(resume, checkpoint_of(network, state));
  const auto done = static_cast<std::int64_t>(state.step.select(0, 0).item<double>());
  auto step = rp::compile(train, {.name = "train", .arguments = {"network", "state", "options", "images", "labels"}});
  auto predict = rp::compile(classify, {.name = "classify", .arguments = {"network", "images"}});

  const Batch test = batch_of(held_out, static_cast<std::uint64_t>(seed) + 1000000007, device);
  const double before = accuracy(predict(network, test.images), test.labels);
  rp::optim::AdamWOptions adamw;
  auto rate_at = [&](std::int64_t i) {
    return rate * 0.5 * (1 + std::cos(3.14159265358979 * static_cast<double>(i) / static_cast<double>(steps)));
  };
  example::Curve losses{"loss of a batch", {}, {}}, smooth{"its running mean", {}, {}};
  example::Times took;
  {
    example::Progress progress("train", steps);
    for (std::int64_t i = 0; i < steps; ++i) {
      const Batch b = batch_of(batch, static_cast<std::uint64_t>(seed + done + i), device);
      adamw.lr = rate_at(i);
      const double begin = example::now();
      const double loss = step(network, state, adamw, b.images, b.labels).item<double>();
      took.add(example::now() - begin);
      losses.x.push_back(static_cast<double>(done + i)), losses.y.push_back(loss);
      smooth.x.push_back(static_cast<double>(done + i)),
          smooth.y.push_back(smooth.y.empty() ? loss : 0.95 * smooth.y.back() + 0.05 * loss);
      char note[64];
      std::snprintf(note, sizeof note, "loss %.4f", smooth.y.back());
      progress.at(i + 1, note);
    }
  }
  const double after = accuracy(predict(network, test.images), test.labels);
  if (!picture.empty()) example::plot(picture, "Cross entropy of drawn digits", "step", "loss", {losses, smooth}, true);
  if (!save.empty()) rp::save_safetensors(save, checkpoint_of(network, state));

  // The same step eagerly, from the same place: what it leaves, and how long it takes.
  const Batch b = batch_of(batch, static_cast<std::uint64_t>(seed + done + steps), device);
  auto copy_of = [](const Network& n) {
    return Network{n.conv1.clone(), n.bias1.clone(), n.conv2.clone(), n.bias2.clone(), n.head.clone(), n.bias3.clone()};
  };
  auto copy_of_state = [](const rp::optim::AdamState& s) {
    rp::optim::AdamState c{s.step.clone(), {}, {}, {}};
    for (const rp::Tensor& t : s.exp_avg) c.exp_avg.push_back(t.clone());
    for (const rp::Tensor& t : s.exp_avg_sq) c.exp_avg_sq.push_back(t.clone());
    return c;
  };
  const Network compiled = copy_of(network), eager = copy_of(network);
  const rp::optim::AdamState compiled_state = copy_of_state(state), eager_state = copy_of_state(state);
  const rp::Tensor compiled_loss = step(compiled, compiled_state, adamw, b.images, b.labels),
                   eager_loss = train(eager, eager_state, adamw, b.images, b.labels);
  example::Times by_hand;
  for (int i = 0; i < 5; ++i) {
    const Network n = copy_of(network);
    const rp::optim::AdamState s = copy_of_state(state);
    const double begin = example::now();
    train(n, s, adamw, b.images, b.labels).item<double>();
    by_hand.add(example::now() - begin);
  }

  example::Checks checks;
  checks.close("loss, compiled against eager", compiled_loss, eager_loss);
  checks.close("gradients' running mean, compiled against eager", compiled_state.exp_avg[4], eager_state.exp_avg[4],
               1e-3);
  checks.close("weights, compiled against eager", compiled.head, eager.head, 1e-3);
  if (done == 0 && steps >= 100) {
    checks.at_most("error on images that it has not seen", 1 - after, 0.2);
    checks.at_most("loss at the end, of that at the beginning", smooth.y.back() / losses.y.front(), 0.35);
  }
  if (!save.empty()) {
    const Network again = new_network(device);
    restore(save, checkpoint_of(again, rp::optim::AdamState::of(parameters(again))));
    checks.close("scores of what the checkpoint gives back", classify(again, test.images),
                 classify(network, test.images), 0);
  }
  checks.equal("steps served eagerly", step.stats().eager_fallbacks, 0);
  checks.equal("compilations of the step", step.stats().compilations, 1);

  std::printf("\n");
  example::row("accuracy before", before * 100, "%", 1);
  example::row("accuracy after", after * 100, "%", 1);
  example::row("a step, compiled", took.median() * 1e3, "ms", 2);
  example::row("a step, eager", by_hand.median() * 1e3, "ms", 2);
  example::row("images learned from", static_cast<double>(batch) / took.median(), "images/s");
  example::rows(step.stats());
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) { return example::guarded("train", program, argc, argv); }
