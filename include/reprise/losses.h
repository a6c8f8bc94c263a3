#pragma once
#include "reprise/ops.h"

/// Losses. input and target broadcast where nothing else is said; `reduction` is "none" (a loss for each), "mean" or
/// "sum" (0-dim). Results are of the operands' promoted floating dtype; half types are computed in float32 and rounded
/// once. Integers alone are refused (DTypeMismatch), but for losses of distances and margins and for poisson_nll_loss,
/// where they become floats of the default dtype. Other words and parameters out of range: InvalidArgument.
namespace reprise REPRISE_VISIBLE {

/// |input - target|, and its square.
Tensor l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean",
               SourceLoc loc = SourceLoc::current());
Tensor mse_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean",
                SourceLoc loc = SourceLoc::current());
/// Square within beta (of the difference, divided by 2 * beta), |difference| - beta / 2 outside. huber_loss: delta
/// times that.
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", double beta = 1.0,
                      SourceLoc loc = SourceLoc::current());
Tensor huber_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", double delta = 1.0,
                  SourceLoc loc = SourceLoc::current());

/// Of probabilities and of logits: -(target * log(p) + (1 - target) * log(1 - p)), times weight if it is defined;
/// logarithms are at least -100. pos_weight multiplies the first term.
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight = {},
                            std::string_view reduction = "mean", SourceLoc loc = SourceLoc::current());
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, const Tensor& weight = {},
                                        const Tensor& pos_weight = {}, std::string_view reduction = "mean",
                                        SourceLoc loc = SourceLoc::current());

/// input [n, classes, ...] or [classes], of log-probabilities; target [n, ...] or 0-dim, of classes (integers;
/// IndexOutOfRange). weight [classes]: of each class. A target of ignore_index does not count. The mean is that of the
/// weights that count.
Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight = {},
                std::string_view reduction = "mean", Int ignore_index = -100, SourceLoc loc = SourceLoc::current());
/// nll_loss of log_softmax; or with a target of floats, probabilities of input's sizes: -sum(target * log_softmax).
/// label_smoothing moves that part of the probability to all classes alike.
Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight = {},
                     std::string_view reduction = "mean", Int ignore_index = -100, double label_smoothing = 0.0,
                     SourceLoc loc = SourceLoc::current());
/// target * (log(target) - input), input in logarithms; with log_target target, too. "batchmean": the sum divided by
/// the first size.
Tensor kl_div(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", bool log_target = false,
              SourceLoc loc = SourceLoc::current());
/// exp(input) - target * input (log_input), or input - target * log(input + eps); full adds Stirling's term for targets
/// above 1.
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input = true, bool full = false,
                        double eps = 1e-8, std::string_view reduction = "mean", SourceLoc loc = SourceLoc::current());
/// Of a normal distribution of variance var, at least eps; full adds log(2 pi) / 2.
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var, bool full = false,
                         double eps = 1e-6, std::string_view reduction = "mean", SourceLoc loc = SourceLoc::current());

/// x . y / (max(|x|, eps) * max(|y|, eps)) along dim.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, Int dim = 1, double eps = 1e-8,
                         SourceLoc loc = SourceLoc::current());
/// The p-norm of x1 - x2 + eps along the last dimension.
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p = 2.0, double eps = 1e-6, bool keepdim = false,
                         SourceLoc loc = SourceLoc::current());
/// target (1 or -1, [n]; input [n, d]): 1 - similarity, or max(0, similarity - margin).
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0.0,
                             std::string_view reduction = "mean", SourceLoc loc = SourceLoc::current());
/// max(0, margin + |anchor - positive| - |anchor - negative|); swap takes the smaller of the negative's distances to
/// both.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin = 1.0,
                           double p = 2.0, double eps = 1e-6, bool swap = false, std::string_view reduction = "mean",
                           SourceLoc loc = SourceLoc::current());
/// max(0, -target * (input1 - input2) + margin).
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0.0,
                           std::string_view reduction = "mean", SourceLoc loc = SourceLoc::current());
/// input where target is 1, max(0, margin - input) where it is -1.
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin = 1.0,
                            std::string_view reduction = "mean", SourceLoc loc = SourceLoc::current());
/// log(1 + exp(-target * input)).
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean",
                        SourceLoc loc = SourceLoc::current());

/// Minus the logarithm of the probability that log_probs [T, N, C] (or [T, C]) give the target, repetitions and blanks
/// left out. targets: [N, S], or all in a row; the lengths int64 or int32, one for each of the batch. "mean" divides
/// each loss by its target's length first. An impossible target gives infinity, with zero_infinity 0. Lengths beyond T
/// or the targets and classes beyond C: IndexOutOfRange, when the values are known.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, Int blank = 0, std::string_view reduction = "mean",
                bool zero_infinity = false, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
