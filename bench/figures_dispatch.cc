// What stands before the work of a call: flattening, guards and lookup beside a function that compares the same fields
// by hand, misses among calls, and the least that a call can cost.
#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "bench/figures.h"
#include "reprise/reprise.h"
#include "tensor/impl.h"

namespace reprise::figures {

using Better = Figure::Better;

namespace {

Tensor sum_of(const std::vector<Tensor>& all) {
  Tensor s = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) s = s + all[i];
  return s;
}

/// What compiled code for float32 matrices of one size relies on, compared by hand.
struct ByHand {
  std::int64_t rows, columns;
  [[gnu::noinline]] bool admits(const std::vector<Tensor>& all, std::size_t count) const {
    if (all.size() != count) return false;
    for (const Tensor& handle : all) {
      const TensorImpl* t = handle.impl();
      if (!t || t->dtype != DType::Float32 || t->device != Device::cpu() || t->rank != 2 || t->keys || t->trace ||
          t->storage->released)
        return false;
      if (t->sizes[0] != rows || t->sizes[1] != columns || t->strides[1] != 1 || t->strides[0] != columns) return false;
    }
    return true;
  }
};

/// In turn, so that the machine's drift hits both: medians.
template <class A, class B>
std::pair<double, double> medians(const A& a, const B& b, int rounds = 15) {
  std::vector<double> as, bs;
  for (int i = 0; i < rounds; ++i) as.push_back(a()), bs.push_back(b());
  return {median(as), median(bs)};
}

template <class F>
double ns_each(int times, const F& f) {
  const double t = now();
  for (int i = 0; i < times; ++i) f(i);
  return (now() - t) / times * 1e9;
}

std::string ns_text(double ns) { return std::to_string(static_cast<int>(ns + 0.5)) + " ns"; }

/// `tensors` arguments, of which the function uses all; specializations that differ in sizes, met in random order.
void among(std::vector<Figure>& out, int tensors, int many, double target) {
  auto f =
      compile(sum_of, {.name = "dispatch", .max_specializations = 1024, .mode = "interpret", .static_sizes = many > 1});
  std::vector<std::tuple<std::vector<Tensor>>> calls;
  std::vector<ByHand> by_hand;
  std::unordered_map<std::uint64_t, ByHand> found_by_size;  // by hand, too, one must find which it is
  for (int i = 0; i < many; ++i) {
    by_hand.push_back({2 + i / 16, 3 + i % 16});
    std::vector<Tensor> all;
    for (int k = 0; k < tensors; ++k) all.push_back(ones({by_hand.back().rows, by_hand.back().columns}));
    f(all);
    calls.emplace_back(std::move(all));
  }
  std::vector<std::size_t> order(calls.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  std::vector<std::tuple<std::vector<Tensor>>> shuffled;
  auto key = [](std::int64_t rows, std::int64_t columns) { return static_cast<std::uint64_t>(rows << 32 | columns); };
  for (std::size_t i : order)
    shuffled.push_back(calls[i]), found_by_size.emplace(key(by_hand[i].rows, by_hand[i].columns), by_hand[i]);
  const int times = std::max(200'000 / tensors, 4 * many) / many * many;
  auto add = [&](bool hits, const std::vector<std::tuple<std::vector<Tensor>>>& in_turn) {
    bool right = true;
    const auto [ours, hand] = medians(
        [&] { return f.measure_dispatch_ns(in_turn, times); },
        [&] {
          return ns_each(times, [&](int i) {
            const std::vector<Tensor>& all = std::get<0>(in_turn[static_cast<std::size_t>(i % many)]);
            const TensorImpl* first = all[0].impl();
            const auto it =
                many == 1 ? found_by_size.begin() : found_by_size.find(key(first->sizes[0], first->sizes[1]));
            right &= (it != found_by_size.end() && it->second.admits(all, static_cast<std::size_t>(tensors))) == hits;
          });
        });
    const std::string of = std::to_string(tensors) + " tensors", miss = hits ? "" : ", miss";
    const std::string what = many == 1 ? "dispatch " + of + miss + ", of a hand-written check"
                                       : "dispatch among " + std::to_string(many) + " specializations, " + of + miss;
    out.push_back({what, ours / hand, "ratio", target, Better::Lower, right,
                   ns_text(ours) + ", by hand " + ns_text(hand) +
                       (many > 1 ? "; they differ in sizes, random order" : "") +
                       (hits ? "" : "; the last tensor has another size")});
  };
  add(true, shuffled);
  for (auto& call : shuffled) {
    std::vector<Tensor>& all = std::get<0>(call);
    all.back() = ones({all[0].size(0) + 64, all[0].size(1)});
  }
  add(false, shuffled);
}

struct Layer {
  Tensor norm, q, k, v, o, second_norm, gate, up, down, q_norm, k_norm, bias;
};
struct Model {
  std::vector<Layer> layers;
};

/// What a call pays for each weight of a model that it is given and that has not changed; the function uses all of
/// them.
void weights(std::vector<Figure>& out) {
  constexpr int kLayers = 18;
  Model m;
  for (int i = 0; i < kLayers; ++i) {
    auto w = [] { return ones({4, 4}); };
    m.layers.push_back({w(), w(), w(), w(), w(), w(), w(), w(), w(), w(), w(), w()});
  }
  auto f = compile(
      [](const Model& all, Tensor x) {
        for (const Layer& l : all.layers)
          for (const Tensor& w :
               {l.norm, l.q, l.k, l.v, l.o, l.second_norm, l.gate, l.up, l.down, l.q_norm, l.k_norm, l.bias})
            x = x + w;
        return x;
      },
      {.name = "weights", .mode = "interpret"});
  const Tensor x = ones({4, 4});
  f(m, x);
  const auto call = std::make_tuple(m, x);
  std::vector<double> ns;
  for (int r = 0; r < 15; ++r) ns.push_back(f.measure_dispatch_ns(call, 1000) / (12 * kLayers));
  out.push_back({"weights that did not move, a tensor", median(ns), "ns", 8, Better::Lower, true,
                 "216 tensors in 18 structs, each compared in full"});
}

/// A new specialization every 100 calls.
void stall(std::vector<Figure>& out) {
  for (const OnMiss on_miss : {OnMiss::Wait, OnMiss::ServeMeanwhile}) {
    auto f = compile(
        [](Tensor x, Tensor up, Tensor down, int k) {
          const Tensor h = silu(linear(x, up)) * (1.0 + k * 0.001);
          return softmax(rms_norm(linear(h, down), {x.size(-1)}) + x, -1);
        },
        {.name = "stall", .max_specializations = 1000, .on_miss = on_miss});
    const Tensor x = rand({8, 512}), up = rand({2048, 512}), down = rand({512, 2048});
    std::vector<double> us;
    for (int i = 0; i < 3000; ++i) {
      const double t = now();
      f(x, up, down, i / 100 + (on_miss == OnMiss::Wait ? 0 : 1000));
      us.push_back((now() - t) * 1e6);
    }
    std::sort(us.begin(), us.end());
    const double middle = us[us.size() / 2], p99 = us[us.size() * 99 / 100 - 1];
    const bool waits = on_miss == OnMiss::Wait;
    out.push_back(
        {waits ? "the same, where calls wait for it" : "a new specialization every 100 calls: p99 of the median",
         p99 / middle, "ratio", waits ? 1e9 : 3, Better::Lower, !waits,
         "median " + std::to_string(static_cast<int>(middle)) + " us, p99 " + std::to_string(static_cast<int>(p99)) +
             ", longest " + std::to_string(static_cast<int>(us.back())) + " us"});
  }
}

}  // namespace

std::vector<Figure> dispatch_figures() {
  std::vector<Figure> out;
  for (int tensors : {4, 32, 300}) among(out, tensors, 1, 1.5);
  for (int many : {8, 64, 512})
    for (int tensors : {4, 32, 300}) among(out, tensors, many, 1.5);

  // 64 specializations: the dtypes of three arguments differ. Each lookup comes after one that another of them served.
  auto sum = [](const std::vector<Tensor>& ts) { return ts[0] + ts[31]; };
  std::vector<Tensor> args;
  for (int i = 0; i < 32; ++i) args.push_back(ones({2, 3}));
  auto f = compile(sum, {.name = "dispatch32"});
  f(args);
  auto g = compile(sum, {.name = "dispatch64", .max_specializations = 128});
  std::vector<std::tuple<std::vector<Tensor>>> calls;
  const DType dtypes[] = {kFloat32, kFloat64, kInt32, kInt64};
  for (int i = 0; i < 64; ++i) {
    std::vector<Tensor> a = args;
    a[1] = zeros({2, 3}, {.dtype = dtypes[i % 4]});
    a[2] = zeros({2, 3}, {.dtype = dtypes[i / 4 % 4]});
    a[31] = zeros({2, 3}, {.dtype = dtypes[i / 16]});
    g(a);
    calls.emplace_back(std::move(a));
  }
  const auto [one, among_dtypes] =
      medians([&] { return f.measure_dispatch_ns(args, 6400); }, [&] { return g.measure_dispatch_ns(calls, 6400); });
  out.push_back({"dispatch among 64 specializations, of alone: dtypes differ", among_dtypes / one, "ratio", 1.5,
                 Better::Lower, true,
                 std::to_string(g.stats().specializations) + " specializations; alone " + ns_text(one)});
  weights(out);
  stall(out);

  // The least that a call of x + 1 can be: the result is allocated, and filled.
  auto plus = compile([](Tensor x) { return x + 1; }, {.name = "plus"});
  const Tensor x = ones({16});
  plus(x);
  const auto [call, hand] = medians([&] { return ns_each(100'000, [&](int) { plus(x); }); },
                                    [&] {
                                      return ns_each(100'000, [&](int) {
                                        Tensor made = empty({16});
                                        const float* from = x.data<float>();
                                        float* to = made.data<float>();
                                        for (int k = 0; k < 16; ++k) to[k] = from[k] + 1;
                                      });
                                    });
  out.push_back({"warm call, of allocating and adding by hand", call / hand, "ratio", 3, Better::Lower, true,
                 ns_text(call) + ", by hand " + ns_text(hand)});
  return out;
}

}  // namespace reprise::figures
