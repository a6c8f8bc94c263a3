// A control loop of 1 kHz: a Kalman filter estimates the state of a cart with a pole from two noisy measurements, and
// model predictive control with a limited force keeps the pole upright. One compiled function does both, writes its
// state in place, and is sealed before the loop begins: from there on nothing compiles and nothing allocates.
#include <time.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <vector>

#include "../common/example.h"

namespace rp = reprise;

namespace {
std::atomic<std::int64_t> allocations{0};
}
// (gcc sees the free() of the replaced delete beside a new that it still takes for the library's.)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t n) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(n ? n : 1)) return p;
  throw std::bad_alloc();
}
void* operator new[](std::size_t n) { return operator new(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace {

constexpr double kCart = 1.0, kPole = 0.1, kLength = 0.5, kGravity = 9.81;  // kg, kg, m (to the pole's centre), m / s^2
constexpr double kPeriod = 1e-3;                                            // s, of the loop
constexpr double kAhead = 20e-3;                                            // s, of a step of the prediction
// m, rad: standard deviations of the measurements
constexpr double kPositionNoise = 1e-3, kAngleNoise = 2e-3;

/// Position, speed, angle from upright, angular speed, in float64. What the plant really does; the controller has a
/// linear model of it.
struct Plant {
  double x = 0, v = 0, angle = 0.1, turn = 0;
  void advance(double force, double dt) {
    const double s = std::sin(angle), c = std::cos(angle), mass = kCart + kPole;
    const double push = (force + kPole * kLength * turn * turn * s) / mass;
    const double turning = (kGravity * s - c * push) / (kLength * (4.0 / 3.0 - kPole * c * c / mass));
    const double moving = push - kPole * kLength * turning * c / mass;
    x += dt * v, v += dt * moving, angle += dt * turn, turn += dt * turning;
  }
};

/// x[k + 1] = A x[k] + B u[k], linear around the upright pole; second order in dt.
struct Model {
  rp::Tensor a, b;  // [4, 4], [4, 1]
};
Model model(double dt) {
  const double mass = kCart + kPole, l = kLength * (4.0 / 3.0 - kPole / mass);
  const double turning = kGravity / l, moving = -kPole * kLength * turning / mass;
  const rp::Tensor f =
      rp::tensor({{0.0, 1.0, 0.0, 0.0}, {0.0, 0.0, moving, 0.0}, {0.0, 0.0, 0.0, 1.0}, {0.0, 0.0, turning, 0.0}},
                 {.dtype = rp::kFloat64});
  const rp::Tensor g = rp::tensor({{0.0}, {1 / mass + kPole * kLength / (mass * mass * l)}, {0.0}, {-1 / (mass * l)}},
                                  {.dtype = rp::kFloat64});
  const rp::Tensor one = rp::eye(4, {}, {.dtype = rp::kFloat64});
  return {one + f * dt + f.mm(f) * (dt * dt / 2), (one * dt + f * (dt * dt / 2)).mm(g)};
}

/// What the controller keeps and what it is made of. float64, as control is written.
struct Controller {
  // the filter, at the loop's period
  rp::Tensor a, b, c, process, noise, one;  // [4, 4], [4, 1], [2, 4], [4, 4], [2, 2], [4, 4]
  // the plan: the cost of forces u from a state x is u' H u / 2 + u' F x
  rp::Tensor hessian, from_state;  // [N, N], [N, 4]
  double step = 0, limit = 0;      // 1 / the largest eigenvalue of H; N
  int iterations = 0;
  // what it keeps, written in place
  rp::Tensor state, covariance, plan;  // [4, 1], [4, 4], [N, 1]
};

Controller controller(std::int64_t horizon, int iterations, double limit) {
  const rp::TensorOptions f64{.dtype = rp::kFloat64};
  const Model near = model(kPeriod), ahead = model(kAhead);
  const rp::Tensor weights = rp::tensor({10.0, 1.0, 100.0, 1.0}, f64), q = rp::eye(4, {}, f64) * weights;
  const double r = 0.05;
  // The cost after the horizon is that of the unlimited optimum: Riccati's equation, by iteration.
  rp::Tensor last = q;
  for (int i = 0; i < 2000; ++i) {
    const rp::Tensor pb = last.mm(ahead.b), gain = ahead.b.t().mm(last).mm(ahead.a) / (ahead.b.t().mm(pb) + r);
    last = q + ahead.a.t().mm(last).mm(ahead.a - ahead.b.mm(gain));
  }
  // States of all steps: X = G x + S u.
  std::vector<rp::Tensor> powers{rp::eye(4, {}, f64)};
  for (std::int64_t i = 0; i < horizon; ++i) powers.push_back(ahead.a.mm(powers.back()));
  rp::Tensor g = rp::zeros({4 * horizon, 4}, f64), s = rp::zeros({4 * horizon, horizon}, f64),
             cost = rp::zeros({4 * horizon, 4 * horizon}, f64);
  for (std::int64_t i = 0; i < horizon; ++i) {
    g.slice(0, 4 * i, 4 * i + 4).copy_(powers[static_cast<std::size_t>(i + 1)]);
    for (std::int64_t j = 0; j <= i; ++j)
      s.slice(0, 4 * i, 4 * i + 4).slice(1, j, j + 1).copy_(powers[static_cast<std::size_t>(i - j)].mm(ahead.b));
    cost.slice(0, 4 * i, 4 * i + 4).slice(1, 4 * i, 4 * i + 4).copy_(i + 1 < horizon ? q : last);
  }
  Controller k;
  k.hessian = s.t().mm(cost).mm(s) + rp::eye(horizon, {}, f64) * r;
  k.from_state = s.t().mm(cost).mm(g);
  rp::Tensor v = rp::ones({horizon}, f64);
  for (int i = 0; i < 100; ++i) v = k.hessian.mv(v), v = v / v.norm();
  k.step = 1 / k.hessian.mv(v).norm().item<double>(), k.limit = limit, k.iterations = iterations;
  k.a = near.a, k.b = near.b;
  k.c = rp::tensor({{1.0, 0.0, 0.0, 0.0}, {0.0, 0.0, 1.0, 0.0}}, f64);
  k.one = rp::eye(4, {}, f64);
  k.process = near.b.mm(near.b.t()) * 4.0 + rp::eye(4, {}, f64) * 1e-10;
  k.noise = rp::tensor({{kPositionNoise * kPositionNoise, 0.0}, {0.0, kAngleNoise * kAngleNoise}}, f64);
  k.state = rp::zeros({4, 1}, f64), k.covariance = rp::eye(4, {}, f64) * 0.1, k.plan = rp::zeros({horizon, 1}, f64);
  return k;
}

/// Plain eager code: one period. `measured` [2, 1]: position and angle; `force` [1, 1]: what was applied in the last
/// period, and what is to be applied now.
void control(Controller& k, rp::Tensor measured, rp::Tensor force) {
  // Predict, then correct by the measurements.
  rp::Tensor x = k.a.mm(k.state) + k.b * force;
  rp::Tensor p = k.a.mm(k.covariance).mm(k.a.t()) + k.process;
  rp::Tensor pc = p.mm(k.c.t()), s = k.c.mm(pc) + k.noise;
  rp::Tensor determinant = s[0][0] * s[1][1] - s[0][1] * s[1][0];
  rp::Tensor inverse = rp::stack({s[1][1], -s[0][1], -s[1][0], s[0][0]}).view({2, 2}) / determinant;
  rp::Tensor gain = pc.mm(inverse);
  x = x + gain.mm(measured - k.c.mm(x));
  k.state.copy_(x);
  // Joseph's form: what rounding makes unsymmetric dies away in it, and would grow with the pole's own speed in p -
  // gain c p'.
  rp::Tensor left = k.one - gain.mm(k.c);
  k.covariance.copy_(left.mm(p).mm(left.t()) + gain.mm(k.noise).mm(gain.t()));
  // Projected gradient steps from the last plan. (A step of the plan is longer than a period: it is not shifted.)
  rp::Tensor slope = k.from_state.mm(x), u = k.plan, before = u;
  for (int i = 0; i < k.iterations; ++i) {
    rp::Tensor y = u + (u - before) * (i / (i + 3.0));
    before = u;
    u = rp::clamp(y - (k.hessian.mm(y) + slope) * k.step, -k.limit, k.limit);
  }
  k.plan.copy_(u);
  force.copy_(u.slice(0, 0, 1));
}

struct Run {
  Plant plant;
  example::Times times;
  std::int64_t late = 0, allocated = 0;
  double worst_angle = 0;  ///< in the second half
  std::vector<double> forces;
};

/// `steps` periods. `paced`: each begins when the clock says so, as on a robot; otherwise as soon as the last one is
/// over.
template <class Step>
Run run(Step&& step, Controller& k, std::int64_t steps, bool paced) {
  Run r;
  r.times.reserve(static_cast<std::size_t>(steps)), r.forces.reserve(static_cast<std::size_t>(steps));
  rp::Tensor measured = rp::zeros({2, 1}, {.dtype = rp::kFloat64}), force = rp::zeros({1, 1}, {.dtype = rp::kFloat64});
  double *m = measured.data<double>(), *f = force.data<double>();
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise;
  timespec wake;
  clock_gettime(CLOCK_MONOTONIC, &wake);
  for (std::int64_t i = 0; i < steps; ++i) {
    if (paced) {
      wake.tv_nsec += static_cast<long>(kPeriod * 1e9);
      if (wake.tv_nsec >= 1000000000) wake.tv_nsec -= 1000000000, ++wake.tv_sec;
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr);
    }
    m[0] = r.plant.x + kPositionNoise * noise(random), m[1] = r.plant.angle + kAngleNoise * noise(random);
    const std::int64_t before = allocations.load();
    const double begin = example::now();
    step(k, measured, force);
    const double took = example::now() - begin;
    r.allocated += allocations.load() - before;
    r.times.add(took);
    r.late += took > kPeriod;
    r.forces.push_back(f[0]);
    for (int part = 0; part < 10; ++part) r.plant.advance(f[0], kPeriod / 10);
    if (2 * i >= steps) r.worst_angle = std::max(r.worst_angle, std::abs(r.plant.angle));
  }
  return r;
}

int program(int argc, char** argv) {
  std::int64_t steps = 5000, horizon = 30, iterations = 20;
  double limit = 10;
  bool free_running = false;
  example::Options options("control",
                           "Balances a pole on a cart, 1,000 times a second, with a Kalman filter and model predictive "
                           "control in one compiled function.");
  options.integer("--steps", &steps, 100, 100000000, "periods of a millisecond")
      .integer("--horizon", &horizon, 2, 200, "steps of 20 ms that are planned")
      .integer("--iterations", &iterations, 1, 1000, "of the plan, in each period")
      .number("--force", &limit, 2, 1000, "largest force in N")
      .flag("--free", &free_running, "do not wait for the clock: for measurements and tests")
      .parse(argc, argv);

  rp::set_num_threads(1);  // the matrices are small
  Controller k = controller(horizon, static_cast<int>(iterations), limit);
  auto step = rp::compile(control, {.name = "control", .arguments = {"controller", "measured", "force"}});

  // Warm up on a copy of the state, then close the door: a call that would have to compile throws from here on.
  Controller trial = k;
  trial.state = k.state.clone(), trial.covariance = k.covariance.clone(), trial.plan = k.plan.clone();
  Controller eager = k;
  eager.state = k.state.clone(), eager.covariance = k.covariance.clone(), eager.plan = k.plan.clone();
  const double begin = example::now();
  run(step, trial, 50, false);
  const double warm = example::now() - begin;
  step.seal();
  const std::int64_t compiled = step.stats().compilations;

  const Run r = run(step, k, steps, !free_running);
  const Run same = run(control, eager, std::min<std::int64_t>(steps, 100), false);

  example::Checks checks;
  const std::vector<double> head(r.forces.begin(), r.forces.begin() + static_cast<std::ptrdiff_t>(same.forces.size()));
  checks.close("forces of the first periods, compiled against eager", rp::tensor_of(head), rp::tensor_of(same.forces),
               1e-6);
  checks.at_most("largest angle in the second half, in rad", r.worst_angle, 0.05);
  checks.equal("compilations after the loop began", step.stats().compilations - compiled, 0);
  checks.equal("allocations in all periods", r.allocated, 0);
  checks.equal("calls served eagerly", step.stats().eager_fallbacks, 0);

  std::printf("\n");
  example::row("periods", static_cast<double>(r.times.count()), "");
  example::row("a period, median", r.times.median() * 1e6, "us", 1);
  example::row("  p99", r.times.quantile(0.99) * 1e6, "us", 1);
  example::row("  largest", r.times.largest() * 1e6, "us", 1);
  r.times.histogram();
  example::row("  eager, median", same.times.median() * 1e6, "us", 1);
  example::row("longer than 1 ms", static_cast<double>(r.late), "");
  example::row("warm-up (with compilation)", warm * 1e3, "ms", 1);
  example::row("allocations a period", static_cast<double>(r.allocated) / static_cast<double>(steps), "");
  example::rows(step.stats());
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) { return example::guarded("control", program, argc, argv); }
