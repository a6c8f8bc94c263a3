#include "bench/aten/evaluate.h"
#include "reprise/conveniences.h"
#include "reprise/data_sizes.h"
#include "reprise/fft.h"
#include "reprise/grids.h"
#include "reprise/linalg.h"
#include "reprise/losses.h"
#include "reprise/products.h"
#include "reprise/quantization.h"
#include "reprise/rnn.h"
#include "reprise/scans.h"
#include "reprise/searching.h"
#include "reprise/selection.h"
#include "reprise/special.h"
#include "reprise/statistics.h"

namespace reprise::aten {

namespace {
Json given(const Unique& u) {
  Json r = Json::array();
  for (const Tensor& t : {u.values, u.inverse, u.counts})
    if (t.defined()) give(r, t);
  return r;
}
}  // namespace

#define REPRISE_CALL(name) calls[#name] = call_of(&reprise::name);

void add_families(Calls& calls) {
  REPRISE_CALL(cumprod)
  REPRISE_CALL(cummax)
  REPRISE_CALL(cummin)
  REPRISE_CALL(logcumsumexp)
  REPRISE_CALL(diff)
  REPRISE_CALL(searchsorted)
  REPRISE_CALL(bucketize)
  REPRISE_CALL(histc)
  REPRISE_CALL(bincount)
  REPRISE_CALL(kthvalue)
  REPRISE_CALL(mode)
  calls["median"] = call_of<TensorPair, const Tensor&, Int, bool, SourceLoc>(&reprise::median);
  calls["nanmedian"] = call_of<TensorPair, const Tensor&, Int, bool, SourceLoc>(&reprise::nanmedian);
  calls["median_all"] = call_of<Tensor, const Tensor&, SourceLoc>(&reprise::median);
  calls["nanmedian_all"] = call_of<Tensor, const Tensor&, SourceLoc>(&reprise::nanmedian);
  REPRISE_CALL(quantile)
  REPRISE_CALL(nanquantile)
  REPRISE_CALL(nanmean)
  REPRISE_CALL(digamma)
  REPRISE_CALL(erfinv)
  REPRISE_CALL(i0e)
  REPRISE_CALL(gcd)
  REPRISE_CALL(lcm)
  REPRISE_CALL(xlog1py)
  REPRISE_CALL(entr)
  REPRISE_CALL(ndtr)
  REPRISE_CALL(mvlgamma)
  REPRISE_CALL(float_power)
  REPRISE_CALL(aminmax)
  REPRISE_CALL(count_nonzero)
  calls["nextafter"] = call_of<Tensor, const Tensor&, const Tensor&, SourceLoc>(&reprise::nextafter);
  calls["ldexp"] = call_of<Tensor, const Tensor&, const Operand&, SourceLoc>(&reprise::ldexp);
  REPRISE_CALL(fft)
  REPRISE_CALL(ifft)
  REPRISE_CALL(rfft)
  REPRISE_CALL(irfft)
  REPRISE_CALL(fft2)
  REPRISE_CALL(rfft2)
  REPRISE_CALL(irfft2)
  REPRISE_CALL(fftn)
  REPRISE_CALL(stft)
  REPRISE_CALL(istft)
  REPRISE_CALL(fftfreq)
  REPRISE_CALL(rfftfreq)
  REPRISE_CALL(fftshift)
  REPRISE_CALL(ifftshift)
  REPRISE_CALL(hann_window)
  REPRISE_CALL(hamming_window)
  REPRISE_CALL(blackman_window)
  REPRISE_CALL(bartlett_window)
  REPRISE_CALL(kaiser_window)
  REPRISE_CALL(cholesky)
  REPRISE_CALL(cholesky_solve)
  REPRISE_CALL(cholesky_inverse)
  REPRISE_CALL(solve)
  REPRISE_CALL(solve_triangular)
  REPRISE_CALL(inverse)
  REPRISE_CALL(lu_factor)
  REPRISE_CALL(det)
  REPRISE_CALL(slogdet)
  REPRISE_CALL(trace)
  REPRISE_CALL(kron)
  REPRISE_CALL(cross)
  REPRISE_CALL(cdist)
  calls["tensordot"] =
      call_of<Tensor, const Tensor&, const Tensor&, IntArrayRef, IntArrayRef, SourceLoc>(&reprise::tensordot);
  REPRISE_CALL(l1_loss)
  REPRISE_CALL(mse_loss)
  REPRISE_CALL(smooth_l1_loss)
  REPRISE_CALL(huber_loss)
  REPRISE_CALL(binary_cross_entropy)
  REPRISE_CALL(binary_cross_entropy_with_logits)
  REPRISE_CALL(nll_loss)
  REPRISE_CALL(cross_entropy)
  REPRISE_CALL(kl_div)
  REPRISE_CALL(poisson_nll_loss)
  REPRISE_CALL(gaussian_nll_loss)
  REPRISE_CALL(cosine_similarity)
  REPRISE_CALL(pairwise_distance)
  REPRISE_CALL(cosine_embedding_loss)
  REPRISE_CALL(triplet_margin_loss)
  REPRISE_CALL(margin_ranking_loss)
  REPRISE_CALL(hinge_embedding_loss)
  REPRISE_CALL(soft_margin_loss)
  REPRISE_CALL(lstm)
  REPRISE_CALL(gru)
  REPRISE_CALL(rnn_tanh)
  REPRISE_CALL(rnn_relu)
  REPRISE_CALL(lstm_cell)
  REPRISE_CALL(gru_cell)
  REPRISE_CALL(rnn_tanh_cell)
  REPRISE_CALL(rnn_relu_cell)
  REPRISE_CALL(quantize_per_tensor)
  REPRISE_CALL(fake_quantize_per_tensor_affine)
  REPRISE_CALL(fake_quantize_per_channel_affine)
  REPRISE_CALL(qr)
  REPRISE_CALL(eigvalsh)
  REPRISE_CALL(svdvals)
  REPRISE_CALL(pinv)
  REPRISE_CALL(logdet)
  REPRISE_CALL(i1)
  REPRISE_CALL(i1e)
  REPRISE_CALL(polygamma)
  REPRISE_CALL(zeta)
  REPRISE_CALL(ctc_loss)
  REPRISE_CALL(tile)
  REPRISE_CALL(atleast_1d)
  REPRISE_CALL(atleast_2d)
  REPRISE_CALL(atleast_3d)
  REPRISE_CALL(column_stack)
  REPRISE_CALL(dstack)
  REPRISE_CALL(broadcast_tensors)
  REPRISE_CALL(rot90)
  REPRISE_CALL(fliplr)
  REPRISE_CALL(flipud)
  REPRISE_CALL(diag)
  REPRISE_CALL(diag_embed)
  REPRISE_CALL(diagflat)
  REPRISE_CALL(block_diag)
  REPRISE_CALL(isin)
  REPRISE_CALL(msort)
  REPRISE_CALL(inner)
  REPRISE_CALL(vdot)
  REPRISE_CALL(cov)
  REPRISE_CALL(corrcoef)
  REPRISE_CALL(dist)
  REPRISE_CALL(renorm)
  REPRISE_CALL(rsub)
  REPRISE_CALL(vander)
  REPRISE_CALL(logspace)
  REPRISE_CALL(bilinear)
  REPRISE_CALL(multi_dot)
  REPRISE_CALL(matrix_power)
  REPRISE_CALL(meshgrid)
  REPRISE_CALL(cartesian_prod)
  REPRISE_CALL(tril_indices)
  REPRISE_CALL(triu_indices)
  REPRISE_CALL(triangular_solve)
  REPRISE_CALL(nonzero)
  REPRISE_CALL(argwhere)
  REPRISE_CALL(masked_select)
  calls["unique"] = [](const Json& a) {
    return given(unique(tensor_from(a.at(0)), a.at(1).get<bool>(), a.at(2).get<bool>(), SourceLoc{}));
  };
  calls["unique_consecutive"] = [](const Json& a) {
    const Argument<std::optional<Int>> dim(a.size() > 3 ? a.at(3) : Json());
    return given(
        unique_consecutive(tensor_from(a.at(0)), a.at(1).get<bool>(), a.at(2).get<bool>(), dim.get(), SourceLoc{}));
  };
  calls["trapezoid"] = call_of<Tensor, const Tensor&, Scalar, Int, SourceLoc>(&reprise::trapezoid);
  calls["trapezoid_at"] = call_of<Tensor, const Tensor&, const Tensor&, Int, SourceLoc>(&reprise::trapezoid);
  REPRISE_CALL(ravel)
  REPRISE_CALL(var_mean)
  REPRISE_CALL(std_mean)
  REPRISE_CALL(take)
  REPRISE_CALL(take_along_dim)
  REPRISE_CALL(embedding_bag)
  REPRISE_CALL(addbmm)
  REPRISE_CALL(nonzero_static)
  REPRISE_CALL(normalize)
  calls["tensordot_of"] = call_of<Tensor, const Tensor&, const Tensor&, Int, SourceLoc>(&reprise::tensordot);
  calls["movedim_of"] = call_of<Tensor, const Tensor&, IntArrayRef, IntArrayRef, SourceLoc>(&reprise::movedim);
  calls["round_to"] = call_of<Tensor, const Tensor&, Int, SourceLoc>(&reprise::round);
  calls["index_add_of"] =
      call_of<Tensor, const Tensor&, Int, const Tensor&, const Tensor&, Scalar, SourceLoc>(&reprise::index_add);
  calls["scatter_by"] = call_of<Tensor, const Tensor&, Int, const Tensor&, const Operand&, std::string_view, SourceLoc>(
      &reprise::scatter);
  calls["repeat_interleave_by"] =
      call_of<Tensor, const Tensor&, const Tensor&, Int, SourceLoc>(&reprise::repeat_interleave);
}

}  // namespace reprise::aten
