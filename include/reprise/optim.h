#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reprise/scalar.h"
#include "reprise/stats.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Optimizers. Each is a function that writes parameters and its state in place, an ordinary program: inside a compiled function all parameters are one recording, with whatever
/// stands around it. Options are numbers of the call (Scalar): a schedule that changes them compiles nothing. Parameters whose gradient is undefined are left as they
/// are, and so is their state. The tape does not follow what is written here. docs/autograd.md shows a training step.
///
/// Names, defaults and formulas are those of torch.optim.
namespace reprise REPRISE_VISIBLE {
namespace optim {

using Tensors = std::vector<Tensor>;

struct SGDOptions {
  Scalar lr = 1e-3;
  Scalar momentum = 0.0;
  Scalar dampening = 0.0;                   ///< of all but a parameter's first gradient
  Scalar weight_decay = 0.0;
  bool nesterov = false;                    ///< wants momentum, and no dampening
  bool maximize = false;
};
/// B. Polyak, Some methods of speeding up the convergence of iteration methods (1964); I. Sutskever et al., On the importance of initialization and momentum in deep learning (2013).
struct SGDState {
  Tensor step;                              ///< [parameters] float64: how many gradients each has had
  Tensors momentum_buffer;                  ///< by parameter; none where momentum is 0
  static SGDState of(const Tensors& params, const SGDOptions& options = {});
};
void sgd_(const Tensors& params, const Tensors& grads, const SGDState& state, const SGDOptions& options = {}, SourceLoc loc = SourceLoc::current());

struct AdamOptions {
  Scalar lr = 1e-3;
  Scalar beta1 = 0.9, beta2 = 0.999;
  Scalar eps = 1e-8;
  Scalar weight_decay = 0.0;                ///< is added to the gradient
  bool amsgrad = false;
  bool maximize = false;
};
/// D. Kingma, J. Ba, Adam: a method for stochastic optimization (2015); S. Reddi et al., On the convergence of Adam and beyond (2018), for amsgrad.
struct AdamState {
  Tensor step;                              ///< as SGDState's
  Tensors exp_avg, exp_avg_sq;              ///< by parameter, in its dtype
  Tensors max_exp_avg_sq;                   ///< none without amsgrad
  static AdamState of(const Tensors& params, const AdamOptions& options = {});
};
void adam_(const Tensors& params, const Tensors& grads, const AdamState& state, const AdamOptions& options = {}, SourceLoc loc = SourceLoc::current());

struct AdamWOptions {
  Scalar lr = 1e-3;
  Scalar beta1 = 0.9, beta2 = 0.999;
  Scalar eps = 1e-8;
  Scalar weight_decay = 1e-2;               ///< of the parameter, apart from its gradient
  bool amsgrad = false;
  bool maximize = false;
};
void adamw_(const Tensors& params, const Tensors& grads, const AdamState& state, const AdamWOptions& options = {}, SourceLoc loc = SourceLoc::current());

struct AdafactorOptions {
  Scalar lr = 1e-2;                         ///< the largest step, relative to the parameter's size
  Scalar beta2_decay = -0.8;
  std::optional<Scalar> eps1 = std::nullopt;  ///< added to what is divided by; none: the epsilon of the parameter's dtype
  Scalar eps2 = 1e-3;                       ///< what a parameter's size is at least
  Scalar d = 1.0;                           ///< where the update's root mean square is clipped
  Scalar weight_decay = 0.0;
  bool maximize = false;
};
/// N. Shazeer, M. Stern, Adafactor: adaptive learning rates with sublinear memory cost (2018). A parameter has its two vectors or its variance; the others are undefined.
struct AdafactorState {
  Tensor step;                              ///< as SGDState's
  Tensors row_var, col_var;                 ///< of parameters of at least 2 dimensions: [..., rows, 1] and [..., 1, columns]
  Tensors variance;                         ///< of the others
  static AdafactorState of(const Tensors& params, const AdafactorOptions& options = {});
};
void adafactor_(const Tensors& params, const Tensors& grads, const AdafactorState& state, const AdafactorOptions& options = {}, SourceLoc loc = SourceLoc::current());

/// Scales gradients, in place, such that the norm of all of them together is at most max_norm, and gives the norm that it was (0-dim, float32 or float64). Undefined ones are left out;
/// where all are, the norm is 0.
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
  /// Throws InvalidArgument for no parameters, one that is undefined, no leaf of the tape or given twice; DTypeMismatch for one that holds no floats.
  explicit Optimizer(Tensors params, Options options = {}, SourceLoc loc = SourceLoc::current());
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) noexcept;
  ~Optimizer();

  Options options;                          ///< numbers may change from step to step; momentum and amsgrad stay on or off
  void step(SourceLoc loc = SourceLoc::current());
  void zero_grad() const;                   ///< parameters have no gradient, as before the first backward()
  const Tensors& params() const;
  const State& state() const;

  /// The state's tensors (not copies) as save_safetensors() takes them: "step", "exp_avg.0", ....
  std::map<std::string, Tensor> state_dict() const;
  /// Copies them back, whatever else is in the map. Throws InvalidArgument for one that is missing and ShapeMismatch for one of other sizes, before anything is written.
  void load_state_dict(const std::map<std::string, Tensor>& tensors, SourceLoc loc = SourceLoc::current());

  Stats stats() const;                      ///< of the compiled step
  std::string explain() const;

 private:
  struct Step;
  std::unique_ptr<Step> step_;
};
using SGD = Optimizer<SGDRule>;
using Adam = Optimizer<AdamRule>;
using AdamW = Optimizer<AdamWRule>;
using Adafactor = Optimizer<AdafactorRule>;

}  // namespace optim
}  // namespace reprise
