#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "reprise/losses.h"
#include "reprise/nn.h"

/// Losses of torch::nn as structs, forward(input, target) where nothing else is said (reprise/losses.h). Errors are
/// those of the functions that they call.
namespace reprise REPRISE_VISIBLE {
namespace nn {

#define REPRISE_LOSS(Name, call)                                                                            \
  struct Name : Callable<Name> {                                                                            \
    std::string reduction = "mean";                                                                         \
    Name() = default;                                                                                       \
    explicit Name(std::string how) : reduction(std::move(how)) {}                                           \
    Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const { \
      return call;                                                                                          \
    }                                                                                                       \
    REPRISE_FIELDS(Name, reduction)                                                                         \
  };
REPRISE_LOSS(L1Loss, l1_loss(input, target, reduction, loc))
REPRISE_LOSS(MSELoss, mse_loss(input, target, reduction, loc))
REPRISE_LOSS(SoftMarginLoss, soft_margin_loss(input, target, reduction, loc))
#undef REPRISE_LOSS
struct SmoothL1Loss : Callable<SmoothL1Loss> {
  std::string reduction = "mean";
  double beta = 1;
  SmoothL1Loss() = default;
  explicit SmoothL1Loss(std::string how, double b = 1) : reduction(std::move(how)), beta(b) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return smooth_l1_loss(input, target, reduction, beta, loc);
  }
  REPRISE_FIELDS(SmoothL1Loss, reduction, beta)
};
struct HuberLoss : Callable<HuberLoss> {
  std::string reduction = "mean";
  double delta = 1;
  HuberLoss() = default;
  explicit HuberLoss(std::string how, double d = 1) : reduction(std::move(how)), delta(d) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return huber_loss(input, target, reduction, delta, loc);
  }
  REPRISE_FIELDS(HuberLoss, reduction, delta)
};
struct KLDivLoss : Callable<KLDivLoss> {
  std::string reduction = "mean";
  bool log_target = false;
  KLDivLoss() = default;
  explicit KLDivLoss(std::string how, bool target_is_log = false)
      : reduction(std::move(how)), log_target(target_is_log) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return kl_div(input, target, reduction, log_target, loc);
  }
  REPRISE_FIELDS(KLDivLoss, reduction, log_target)
};
struct BCELoss : Callable<BCELoss> {
  std::optional<Tensor> weight;
  std::string reduction = "mean";
  BCELoss() = default;
  explicit BCELoss(std::optional<Tensor> w, std::string how = "mean")
      : weight(std::move(w)), reduction(std::move(how)) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return binary_cross_entropy(input, target, detail::or_none(weight), reduction, loc);
  }
  REPRISE_FIELDS(BCELoss, weight, reduction)
};
struct BCEWithLogitsLoss : Callable<BCEWithLogitsLoss> {
  std::optional<Tensor> weight, pos_weight;
  std::string reduction = "mean";
  BCEWithLogitsLoss() = default;
  explicit BCEWithLogitsLoss(std::optional<Tensor> w, std::optional<Tensor> positive = std::nullopt,
                             std::string how = "mean")
      : weight(std::move(w)), pos_weight(std::move(positive)), reduction(std::move(how)) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return binary_cross_entropy_with_logits(input, target, detail::or_none(weight), detail::or_none(pos_weight),
                                            reduction, loc);
  }
  REPRISE_FIELDS(BCEWithLogitsLoss, weight, pos_weight, reduction)
};
struct NLLLoss : Callable<NLLLoss> {
  std::optional<Tensor> weight;  ///< [classes]
  std::string reduction = "mean";
  std::int64_t ignore_index = -100;
  NLLLoss() = default;
  explicit NLLLoss(std::optional<Tensor> w, std::string how = "mean", std::int64_t ignored = -100)
      : weight(std::move(w)), reduction(std::move(how)), ignore_index(ignored) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return nll_loss(input, target, detail::or_none(weight), reduction, ignore_index, loc);
  }
  REPRISE_FIELDS(NLLLoss, weight, reduction, ignore_index)
};
struct CrossEntropyLoss : Callable<CrossEntropyLoss> {
  std::optional<Tensor> weight;  ///< [classes]
  std::string reduction = "mean";
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
  CrossEntropyLoss() = default;
  explicit CrossEntropyLoss(std::optional<Tensor> w, std::string how = "mean", std::int64_t ignored = -100,
                            double smoothing = 0)
      : weight(std::move(w)), reduction(std::move(how)), ignore_index(ignored), label_smoothing(smoothing) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return cross_entropy(input, target, detail::or_none(weight), reduction, ignore_index, label_smoothing, loc);
  }
  REPRISE_FIELDS(CrossEntropyLoss, weight, reduction, ignore_index, label_smoothing)
};

/// A loss with a margin: forward(input, target), where target is 1 or -1.
struct HingeEmbeddingLoss : Callable<HingeEmbeddingLoss> {
  double margin = 1;
  std::string reduction = "mean";
  HingeEmbeddingLoss() = default;
  explicit HingeEmbeddingLoss(double m, std::string how = "mean") : margin(m), reduction(std::move(how)) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return hinge_embedding_loss(input, target, margin, reduction, loc);
  }
  REPRISE_FIELDS(HingeEmbeddingLoss, margin, reduction)
};
/// forward(input1, input2, target).
#define REPRISE_MARGIN_LOSS(Name, function)                                                     \
  struct Name : Callable<Name> {                                                                \
    double margin = 0;                                                                          \
    std::string reduction = "mean";                                                             \
    Name() = default;                                                                           \
    explicit Name(double m, std::string how = "mean") : margin(m), reduction(std::move(how)) {} \
    Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target,            \
                   SourceLoc loc = SourceLoc::current()) const {                                \
      return function(input1, input2, target, margin, reduction, loc);                          \
    }                                                                                           \
    REPRISE_FIELDS(Name, margin, reduction)                                                     \
  };
REPRISE_MARGIN_LOSS(MarginRankingLoss, margin_ranking_loss)
REPRISE_MARGIN_LOSS(CosineEmbeddingLoss, cosine_embedding_loss)
#undef REPRISE_MARGIN_LOSS
struct TripletMarginLoss : Callable<TripletMarginLoss> {
  double margin = 1, p = 2, eps = 1e-6;
  bool swap = false;
  std::string reduction = "mean";
  TripletMarginLoss() = default;
  explicit TripletMarginLoss(double m, double norm = 2, double least = 1e-6, bool nearer = false,
                             std::string how = "mean")
      : margin(m), p(norm), eps(least), swap(nearer), reduction(std::move(how)) {}
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                 SourceLoc loc = SourceLoc::current()) const {
    return triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction, loc);
  }
  REPRISE_FIELDS(TripletMarginLoss, margin, p, eps, swap, reduction)
};
struct PoissonNLLLoss : Callable<PoissonNLLLoss> {
  bool log_input = true, full = false;
  double eps = 1e-8;
  std::string reduction = "mean";
  PoissonNLLLoss() = default;
  explicit PoissonNLLLoss(bool of_logarithms, bool stirling = false, double least = 1e-8, std::string how = "mean")
      : log_input(of_logarithms), full(stirling), eps(least), reduction(std::move(how)) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return poisson_nll_loss(input, target, log_input, full, eps, reduction, loc);
  }
  REPRISE_FIELDS(PoissonNLLLoss, log_input, full, eps, reduction)
};
/// forward(input, target, var).
struct GaussianNLLLoss : Callable<GaussianNLLLoss> {
  bool full = false;
  double eps = 1e-6;
  std::string reduction = "mean";
  GaussianNLLLoss() = default;
  explicit GaussianNLLLoss(bool constant, double least = 1e-6, std::string how = "mean")
      : full(constant), eps(least), reduction(std::move(how)) {}
  Tensor forward(const Tensor& input, const Tensor& target, const Tensor& var,
                 SourceLoc loc = SourceLoc::current()) const {
    return gaussian_nll_loss(input, target, var, full, eps, reduction, loc);
  }
  REPRISE_FIELDS(GaussianNLLLoss, full, eps, reduction)
};
/// forward(log_probs, targets, input_lengths, target_lengths).
struct CTCLoss : Callable<CTCLoss> {
  std::int64_t blank = 0;
  std::string reduction = "mean";
  bool zero_infinity = false;
  CTCLoss() = default;
  explicit CTCLoss(std::int64_t class_of_blanks, std::string how = "mean", bool zero = false)
      : blank(class_of_blanks), reduction(std::move(how)), zero_infinity(zero) {}
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                 const Tensor& target_lengths, SourceLoc loc = SourceLoc::current()) const {
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity, loc);
  }
  REPRISE_FIELDS(CTCLoss, blank, reduction, zero_infinity)
};
/// forward(x1, x2).
struct CosineSimilarity : Callable<CosineSimilarity> {
  std::int64_t dim = 1;
  double eps = 1e-8;
  CosineSimilarity() = default;
  explicit CosineSimilarity(std::int64_t along, double least = 1e-8) : dim(along), eps(least) {}
  Tensor forward(const Tensor& x1, const Tensor& x2, SourceLoc loc = SourceLoc::current()) const {
    return cosine_similarity(x1, x2, dim, eps, loc);
  }
  REPRISE_FIELDS(CosineSimilarity, dim, eps)
};
struct PairwiseDistance : Callable<PairwiseDistance> {
  double p = 2, eps = 1e-6;
  bool keepdim = false;
  PairwiseDistance() = default;
  explicit PairwiseDistance(double norm, double least = 1e-6, bool keep = false) : p(norm), eps(least), keepdim(keep) {}
  Tensor forward(const Tensor& x1, const Tensor& x2, SourceLoc loc = SourceLoc::current()) const {
    return pairwise_distance(x1, x2, p, eps, keepdim, loc);
  }
  REPRISE_FIELDS(PairwiseDistance, p, eps, keepdim)
};

}  // namespace nn
}  // namespace REPRISE_VISIBLE
