#include "bench/growth_shapes.h"

#include <cstdio>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "reprise/reprise.h"

namespace reprise::figures {

namespace {

/// Of this process: other work on the machine does not count.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// What is set up once for a process is not counted.
void warm_up() {
  compile([](Tensor x) { return exp(x) + 1; }, {.name = "warm"})(ones({3}));
}

template <class F, class... Args>
double first_call(F f, const Args&... args) {
  warm_up();
  auto compiled = compile(f, {.name = "growth"});
  double t = cpu_seconds();
  compiled(args...);
  t = cpu_seconds() - t;
  if (compiled.stats().eager_fallbacks)
    std::fprintf(stderr, "growth: served eagerly\n%s\n", compiled.explain().c_str());
  return compiled.stats().eager_fallbacks ? -1 : t;
}

/// n tensors, each of its own.
std::vector<Tensor> tensors(int n, std::vector<Int> sizes) {
  std::vector<Tensor> out;
  for (int i = 0; i < n; ++i) out.push_back(full(sizes, 0.001 * (i % 7 + 1)));
  return out;
}

struct Parameter {
  Tensor value, gradient, first, second;
};
struct Group {
  std::vector<Parameter> parameters;
  Int step;
};

const GrowthShape kShapes[] = {
    {"chain",
     [](int n) {
       return first_call(
           [n](Tensor x) {
             for (int i = 0; i < n; ++i) x = i % 2 ? x * 1.0009765 : x + 0.001 * (i % 97);
             return x;
           },
           ones({64}));
     }},
    {"layers",
     [](int n) {
       return first_call(
           [n](Tensor x, Tensor w, Tensor g) {
             for (int i = 0; i < n / 5; ++i) x = x + relu(mm(rms_norm(x, g, 1e-5), w)) * 0.5;
             return x;
           },
           ones({4, 16}), ones({16, 16}), ones({16}));
     }},
    {"slice writes",
     [](int n) {
       return first_call(
           [n](Tensor x) {
             for (int i = 0; i < n; ++i) x.slice(0, i, i + 1).copy_(x.slice(0, i, i + 1) * 2 + 1);
             return x.sum();
           },
           ones({n, 4}));
     }},
    {"select writes",
     [](int n) {
       return first_call(
           [n](Tensor x) {
             for (int i = 0; i < n; ++i) x.select(0, i).add_(1);
             return x.sum();
           },
           ones({n, 4}));
     }},
    {"branches on sizes",
     [](int n) {
       return first_call(
           [](Tensor x, Int a, Int b) {
             int taken = 0;
             for (Int k = 0; k < x.size(0); k += 1) taken += (a + k < b * 2) ? 1 : 0;
             return x + taken;
           },
           ones({n}), Int(5), Int(n / 4));
     }},
    {"comparisons of sizes with each other",
     [](int n) {
       return first_call(
           [n](std::vector<Tensor> all) {
             int longer = 0;
             for (int i = 0; i + 1 < n; ++i)
               longer +=
                   all[static_cast<std::size_t>(i)].size(0) <= all[static_cast<std::size_t>(i) + 1].size(0) * 2 ? 1 : 0;
             return all[0] + longer;
           },
           tensors(n, {3}));
     }},
    {"cat",
     [](int n) {
       return first_call([](std::vector<Tensor> parts) { return cat(parts, 0); },
                         std::vector<Tensor>(static_cast<std::size_t>(n), ones({3, 4})));
     }},
    {"cat of tensors of their own",
     [](int n) {
       return first_call([](std::vector<Tensor> parts) { return cat(parts, 0); }, tensors(n, {3, 4}));
     }},
    {"stack",
     [](int n) {
       return first_call([](std::vector<Tensor> parts) { return stack(parts, 0); }, tensors(n, {3, 4}));
     }},
    {"captured tensors",
     [](int n) {
       return first_call(
           [all = tensors(n, {4})](Tensor x) {
             for (const Tensor& t : all) x = x * t + t;
             return x;
           },
           ones({4}));
     }},
    {"arguments",
     [](int n) {
       return first_call([](std::vector<Tensor> all) { return all[0] + all.back(); }, tensors(n, {3, 4}));
     }},
    {"arguments added up",
     [](int n) {
       return first_call(
           [](std::vector<Tensor> all) {
             Tensor sum = all[0];
             for (std::size_t i = 1; i < all.size(); ++i) sum = sum + all[i];
             return sum;
           },
           tensors(n, {3, 4}));
     }},
    {"results",
     [](int n) {
       return first_call(
           [n](Tensor x) {
             std::vector<Tensor> all;
             for (int i = 0; i < n; ++i) all.push_back(x + i);
             return all;
           },
           ones({3, 4}));
     }},
    {"results that are views",
     [](int n) {
       return first_call(
           [n](Tensor x) {
             std::vector<Tensor> all;
             Tensor y = x * 2;
             for (int i = 0; i < n; ++i) all.push_back((i % 2 ? x : y).select(0, i));
             return all;
           },
           ones({n, 4}));
     }},
    {"unbind, each part used",
     [](int n) {
       return first_call(
           [](Tensor x) {
             std::vector<Tensor> parts = (x * 2).unbind(0);
             Tensor sum = parts[0];
             for (std::size_t i = 1; i < parts.size(); ++i) sum = sum + parts[i];
             return sum;
           },
           ones({n, 4}));
     }},
    {"split, all returned",
     [](int n) {
       return first_call([](Tensor x) { return split(x * 2, 2, 0); }, ones({2 * n, 4}));
     }},
    {"index_put",
     [](int n) {
       return first_call(
           [n](Tensor x, Tensor at, Tensor values) {
             for (int i = 0; i < n; ++i) x = index_put(x, {at}, values + i);
             return x;
           },
           ones({8, 4}), arange(4), ones({4, 4}));
     }},
    {"caches that grow",
     [](int n) {
       return first_call(
           [](std::vector<Tensor> caches, Tensor x, Int past) {
             for (Tensor& cache : caches) {
               cache.slice(0, past, past + x.size(0)).copy_(x);
               x = x + cache.slice(0, 0, past + x.size(0)).sum(0, true) * 0.1;
             }
             return x;
           },
           tensors(n / 5, {32, 4}), ones({2, 4}), Int(5));
     }},
    {"optimizer step",
     [](int n) {
       Group group{{}, Int(3)};
       for (int i = 0; i < n / 5; ++i)
         group.parameters.push_back({ones({8, 3}), ones({8, 3}), zeros({8, 3}), ones({8, 3})});
       return first_call(
           [](Group g) {
             for (Parameter& p : g.parameters) {
               p.first.mul_(0.9).add_(p.gradient * 0.1);
               p.second.mul_(0.99).add_(p.gradient * p.gradient * 0.01);
               p.value.sub_(p.first / (sqrt(p.second) + 1e-8) * 0.001);
             }
             return g.step + 1;
           },
           group);
     }},
    {"new sizes",
     [](int n) {
       warm_up();
       auto f = compile([](Tensor x) { return x * 2 + x.sum(); }, {.name = "growth"});
       f(ones({2}));
       const double t = cpu_seconds();
       for (int i = 0; i < n; ++i) f(ones({3 + i}));
       return cpu_seconds() - t;
     }},
};

}  // namespace

std::span<const GrowthShape> growth_shapes() { return kShapes; }

}  // namespace reprise::figures
