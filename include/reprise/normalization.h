#pragma once
#include "reprise/arguments.h"
#include "reprise/int.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Normalization over channels and places of images [n, c, ...]: names and arguments are ATen's (cudnn_enabled says
/// nothing here). weight, bias and statistics are [c] or undefined, of the input's dtype or float32; half types are
/// summed in float32 and rounded once. layer_norm and rms_norm stand in ops.h.
///
/// ShapeMismatch: ranks too low, a weight, bias or statistic that has not one number a channel. InvalidArgument: groups
/// that do not divide the channels, statistics that are missing where they are read. DTypeMismatch: an input that is
/// not floating, others of another dtype.
namespace reprise REPRISE_VISIBLE {

/// (input - mean) / sqrt(var + eps) * weight + bias for each channel: of [n, c] or more dimensions. With training the
/// statistics are the input's, over all but the channels, and running_mean and running_var are written where there are
/// any: (1 - momentum) * old + momentum * new, of the variance the unbiased one. They are written outside the tape,
/// whatever wants gradients. An input without elements leaves them as they are; statistics of a single value are
/// refused (ShapeMismatch), as they have no variance.
Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, bool training, double momentum, double eps, bool cudnn_enabled = true,
                  SourceLoc loc = SourceLoc::current());
/// Statistics of each image and each of num_groups groups of channels.
Tensor group_norm(const Tensor& input, Int num_groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5, bool cudnn_enabled = true, SourceLoc loc = SourceLoc::current());
/// Statistics of each image and channel. Running ones are written as batch_norm writes them, with the mean over the
/// batch; with use_input_stats = false they are read instead.
Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                     const Tensor& running_var, bool use_input_stats, double momentum, double eps,
                     bool cudnn_enabled = true, SourceLoc loc = SourceLoc::current());
/// input / (k + alpha * mean of the squares of `size` neighbouring channels)^beta; channels that are not there count as
/// 0. Three dimensions or more.
Tensor local_response_norm(const Tensor& input, Int size, double alpha = 1e-4, double beta = 0.75, double k = 1.0,
                           SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
