#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reprise/scalar.h"
#include "reprise/stats.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Optimizers. Each is a function that writes parameters and its state in place, an ordinary program: inside a compiled
/// function all parameters are one recording, with whatever stands around it. Options are numbers of the call (Scalar):
/// a schedule that changes them compiles nothing. Parameters whose gradient is undefined are left as they are, and so
/// is their state. The tape does not follow what is written here. docs/autograd.md shows a training step.
///
/// Names, defaults and formulas are those of torch.optim.
namespace reprise REPRISE_VISIBLE {
namespace optim {

using Tensors = std::vector<Tensor>;

struct SGDOptions {
  Scalar lr = 1e-3;
  Scalar momentum = 0.0;
  Scalar dampening = 0.0;  ///< of all but a parameter's first gradient
  Scalar weight_decay = 0.0;
  bool nesterov = false;  ///< wants momentum, and no dampening
  bool maximize = false;
};
/// B. Polyak, Some methods of speeding up the convergence of iteration methods (1964); I. Sutskever et al., On the
/// importance of initialization and momentum in deep learning (2013).
struct SGDState {
  Tensor step;              ///< [parameters] float64: how many gradients each has had
  Tensors momentum_buffer;  ///< by parameter; none where momentum is 0
  static SGDState of(const Tensors& params, const SGDOptions& options = {});
};
void sgd_(const Tensors& params, const Tensors& grads, const SGDState& state, const SGDOptions& options = {},
          SourceLoc loc = SourceLoc::current());

struct AdamOptions {
  Scalar lr = 1e-3;
  Scalar beta1 = 0.9, beta2 = 0.999;
  Scalar eps = 1e-8;
  Scalar weight_decay = 0.0;  ///< is added to the gradient
  bool amsgrad = false;
  bool maximize = false;
};
struct RAdamOptions;
/// D. Kingma, J. Ba, Adam: a method for stochastic optimization (2015); S. Reddi et al., On the convergence of Adam and
/// beyond (2018), for amsgrad.
struct AdamState {
  Tensor step;                  ///< as SGDState's
  Tensors exp_avg, exp_avg_sq;  ///< by parameter, in its dtype
  Tensors max_exp_avg_sq;       ///< none without amsgrad
  static AdamState of(const Tensors& params, const AdamOptions& options = {});
  static AdamState of(const Tensors& params, const RAdamOptions& options);
};
void adam_(const Tensors& params, const Tensors& grads, const AdamState& state, const AdamOptions& options = {},
           SourceLoc loc = SourceLoc::current());

struct AdamWOptions {
  Scalar lr = 1e-3;
  Scalar beta1 = 0.9, beta2 = 0.999;
  Scalar eps = 1e-8;
  Scalar weight_decay = 1e-2;  ///< of the parameter, apart from its gradient
  bool amsgrad = false;
  bool maximize = false;
};
void adamw_(const Tensors& params, const Tensors& grads, const AdamState& state, const AdamWOptions& options = {},
            SourceLoc loc = SourceLoc::current());

struct AdafactorOptions {
  Scalar lr = 1e-2;  ///< the largest step, relative to the parameter's size
  Scalar beta2_decay = -0.8;
  /// added to what is divided by; none: the epsilon of the parameter's dtype
  std::optional<Scalar> eps1 = std::nullopt;
  Scalar eps2 = 1e-3;  ///< what a parameter's size is at least
  Scalar d = 1.0;      ///< where the update's root mean square is clipped
  Scalar weight_decay = 0.0;
  bool maximize = false;
};
/// N. Shazeer, M. Stern, Adafactor: adaptive learning rates with sublinear memory cost (2018). A parameter has its two
/// vectors or its variance; the others are undefined.
struct AdafactorState {
  Tensor step;  ///< as SGDState's
  /// of parameters of at least 2 dimensions: [..., rows, 1] and [..., 1, columns]
  Tensors row_var, col_var;
  Tensors variance;  ///< of the others
  static AdafactorState of(const Tensors& params, const AdafactorOptions& options = {});
};
void adafactor_(const Tensors& params, const Tensors& grads, const AdafactorState& state,
                const AdafactorOptions& options = {}, SourceLoc loc = SourceLoc::current());

struct RMSpropOptions {
  Scalar lr = 1e-2;
  Scalar alpha = 0.99;  ///< of the square's moving average
  Scalar eps = 1e-8;
  Scalar weight_decay = 0.0;  ///< is added to the gradient
  Scalar momentum = 0.0;
  bool centered = false;  ///< divides by the deviation: the gradient's moving average is taken off
  bool maximize = false;
};
/// T. Tieleman, G. Hinton, Neural Networks for Machine Learning, lecture 6.5 (2012); A. Graves, Generating Sequences
/// With Recurrent Neural Networks (2013), for centered.
struct RMSpropState {
  Tensor step;              ///< as SGDState's
  Tensors square_avg;       ///< by parameter, in its dtype
  Tensors grad_avg;         ///< none unless centered
  Tensors momentum_buffer;  ///< none where momentum is 0
  static RMSpropState of(const Tensors& params, const RMSpropOptions& options = {});
};
void rmsprop_(const Tensors& params, const Tensors& grads, const RMSpropState& state,
              const RMSpropOptions& options = {}, SourceLoc loc = SourceLoc::current());

struct AdagradOptions {
  Scalar lr = 1e-2;
  Scalar lr_decay = 0.0;
  Scalar weight_decay = 0.0;  ///< is added to the gradient
  Scalar initial_accumulator_value = 0.0;
  Scalar eps = 1e-10;
  bool maximize = false;
};
/// J. Duchi, E. Hazan, Y. Singer, Adaptive Subgradient Methods for Online Learning and Stochastic Optimization (2011).
struct AdagradState {
  Tensor step;  ///< as SGDState's
  Tensors sum;  ///< by parameter, in its dtype
  static AdagradState of(const Tensors& params, const AdagradOptions& options = {});
};
void adagrad_(const Tensors& params, const Tensors& grads, const AdagradState& state,
              const AdagradOptions& options = {}, SourceLoc loc = SourceLoc::current());

struct NAdamOptions {
  Scalar lr = 2e-3;
  Scalar beta1 = 0.9, beta2 = 0.999;
  Scalar eps = 1e-8;
  Scalar weight_decay = 0.0;
  Scalar momentum_decay = 4e-3;
  bool decoupled_weight_decay = false;  ///< of the parameter, rather than added to the gradient
  bool maximize = false;
};
/// T. Dozat, Incorporating Nesterov Momentum into Adam (2016).
struct NAdamState {
  Tensor step;                  ///< as SGDState's
  Tensor mu_product;            ///< [parameters] float64
  Tensors exp_avg, exp_avg_sq;  ///< by parameter, in its dtype
  static NAdamState of(const Tensors& params, const NAdamOptions& options = {});
};
void nadam_(const Tensors& params, const Tensors& grads, const NAdamState& state, const NAdamOptions& options = {},
            SourceLoc loc = SourceLoc::current());

struct RAdamOptions {
  Scalar lr = 1e-3;
  Scalar beta1 = 0.9, beta2 = 0.999;
  Scalar eps = 1e-8;
  Scalar weight_decay = 0.0;
  bool decoupled_weight_decay = false;  ///< of the parameter, rather than added to the gradient
  bool maximize = false;
};
/// L. Liu et al., On the Variance of the Adaptive Learning Rate and Beyond (2020).
void radam_(const Tensors& params, const Tensors& grads, const AdamState& state, const RAdamOptions& options = {},
            SourceLoc loc = SourceLoc::current());

struct MuonOptions {
  Scalar lr = 1e-3;
  Scalar weight_decay = 0.1;  ///< of the parameter, apart from its gradient
  Scalar momentum = 0.95;
  bool nesterov = true;
  std::array<Scalar, 3> ns_coefficients = {3.4445, -4.775, 2.0315};  ///< of a step of Newton and Schulz
  Scalar eps = 1e-7;
  std::int64_t ns_steps = 5;  ///< 0 to 99
  /// Of a matrix of n rows and m columns lr is multiplied with sqrt(max(1, n / m)) ("original"), with
  /// 0.2 sqrt(max(n, m)) ("match_rms_adamw") or with sqrt(n / m) ("spectral_unclamped").
  std::string adjust_lr_fn = "original";
};
/// K. Jordan et al., Muon: an optimizer for hidden layers in neural networks (2024); J. Liu et al., Muon is Scalable
/// for LLM Training (2025). Parameters are matrices (ShapeMismatch); what is orthogonal to them is computed in
/// bfloat16.
struct MuonState {
  Tensor step;              ///< as SGDState's
  Tensors momentum_buffer;  ///< by parameter, in its dtype
  static MuonState of(const Tensors& params, const MuonOptions& options = {});
};
void muon_(const Tensors& params, const Tensors& grads, const MuonState& state, const MuonOptions& options = {},
           SourceLoc loc = SourceLoc::current());

/// Scales gradients in place so that their joint norm is at most max_norm; returns the norm before (0-dim, float32 or
/// float64). Skips undefined gradients; if all are undefined, the norm is 0.
Tensor clip_grad_norm_(const Tensors& grads, Scalar max_norm, SourceLoc loc = SourceLoc::current());

/// What an Optimizer does, for each kind.
struct SGDRule {
  using Options = SGDOptions;
  using State = SGDState;
};
struct AdamRule {
  using Options = AdamOptions;
  using State = AdamState;
};
struct AdamWRule {
  using Options = AdamWOptions;
  using State = AdamState;
};
struct AdafactorRule {
  using Options = AdafactorOptions;
  using State = AdafactorState;
};
struct RMSpropRule {
  using Options = RMSpropOptions;
  using State = RMSpropState;
};
struct AdagradRule {
  using Options = AdagradOptions;
  using State = AdagradState;
};
struct NAdamRule {
  using Options = NAdamOptions;
  using State = NAdamState;
};
struct RAdamRule {
  using Options = RAdamOptions;
  using State = AdamState;
};
struct MuonRule {
  using Options = MuonOptions;
  using State = MuonState;
};

/// The same with the state inside, for leaves whose gradients backward() has left in grad():
///
///   rp::optim::AdamW optimizer(params, {.lr = 1e-3});
///   loss.backward();
///   optimizer.step();
///   optimizer.zero_grad();
///
/// step() is one compiled function of all parameters. May be moved, and used by one thread at a time.
template <class Rule>
class Optimizer {
 public:
  using Options = typename Rule::Options;
  using State = typename Rule::State;
  /// Throws InvalidArgument for no parameters, one that is undefined, no leaf of the tape or given twice; DTypeMismatch
  /// for one that holds no floats.
  explicit Optimizer(Tensors params, Options options = {}, SourceLoc loc = SourceLoc::current());
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) noexcept;
  ~Optimizer();

  Options options;  ///< numbers may change from step to step; momentum, amsgrad and centered stay on or off
  void step(SourceLoc loc = SourceLoc::current());
  void zero_grad() const;  ///< parameters have no gradient, as before the first backward()
  const Tensors& params() const;
  const State& state() const;

  /// The state's tensors (not copies) as save_safetensors() takes them: "step", "exp_avg.0", ....
  std::map<std::string, Tensor> state_dict() const;
  /// Copies them back, whatever else is in the map. Throws InvalidArgument for one that is missing and ShapeMismatch
  /// for one of other sizes, before anything is written.
  void load_state_dict(const std::map<std::string, Tensor>& tensors, SourceLoc loc = SourceLoc::current());

  Stats stats() const;  ///< of the compiled step
  std::string explain() const;

 private:
  struct Step;
  std::unique_ptr<Step> step_;
};
using SGD = Optimizer<SGDRule>;
using Adam = Optimizer<AdamRule>;
using AdamW = Optimizer<AdamWRule>;
using Adafactor = Optimizer<AdafactorRule>;
using RMSprop = Optimizer<RMSpropRule>;
using Adagrad = Optimizer<AdagradRule>;
using NAdam = Optimizer<NAdamRule>;
using RAdam = Optimizer<RAdamRule>;
using Muon = Optimizer<MuonRule>;

struct LBFGSOptions {
  double lr = 1;
  std::int64_t max_iter = 20;                           ///< of a step
  std::optional<std::int64_t> max_eval = std::nullopt;  ///< calls of the closure in a step; none: max_iter * 5 / 4
  double tolerance_grad = 1e-7;                         ///< a step ends where no element of the gradient is larger
  double tolerance_change = 1e-9;                       ///< or where the loss and the parameters change by no more
  std::int64_t history_size = 100;
  std::string line_search_fn = {};  ///< "strong_wolfe", or none: every iteration goes lr far
  bool maximize = false;
};
/// The method of Broyden, Fletcher, Goldfarb and Shanno with a bounded memory: J. Nocedal, S. Wright, Numerical
/// Optimization (2006), algorithms 7.4 and 3.5. A step calls a closure several times, which computes the loss anew and
/// its gradients:
///
///   rp::optim::LBFGS optimizer(params, {.line_search_fn = "strong_wolfe"});
///   optimizer.step([&] {
///     optimizer.zero_grad();
///     rp::Tensor loss = f(params);
///     loss.backward();
///     return loss;
///   });
///
/// Runs eagerly, for where it goes depends on the loss; the closure may call compiled functions. The history is kept in
/// the parameters' dtype. Used by one thread at a time.
class LBFGS {
 public:
  /// Throws as Optimizer does, and InvalidArgument for options out of range.
  explicit LBFGS(Tensors params, LBFGSOptions options = {}, SourceLoc loc = SourceLoc::current());

  LBFGSOptions options;
  /// The loss before the step. What the closure throws is thrown on; in a line search parameters are put back first.
  Tensor step(const std::function<Tensor()>& closure, SourceLoc loc = SourceLoc::current());
  void zero_grad() const;  ///< as Optimizer's
  const Tensors& params() const { return params_; }
  std::int64_t n_iter() const { return n_iter_; }          ///< iterations of all steps
  std::int64_t func_evals() const { return func_evals_; }  ///< calls of the closure

 private:
  struct Point {
    double loss = 0;
    Tensor grad;  ///< of all parameters in a row
  };
  Point point_of(const Tensor& loss, SourceLoc loc) const;
  void move(double by, const Tensor& direction, SourceLoc loc) const;
  Tensor direction_from(const Tensor& grad, SourceLoc loc);
  Tensors params_;
  std::int64_t n_iter_ = 0, func_evals_ = 0;
  Tensor direction_, last_grad_;
  double step_size_ = 0, scale_ = 1;
  struct Pair {
    Tensor of_grad, of_params;  ///< what changed between two iterations
    double inverse;             ///< 1 / their product
  };
  std::vector<Pair> history_;
};

}  // namespace optim
}  // namespace REPRISE_VISIBLE
