#include "bench/aten/evaluate.h"

namespace reprise::aten {

#define REPRISE_CALL(name) calls[#name] = call_of(&reprise::name);

void add_shaping(Calls& calls) {
  REPRISE_CALL(layer_norm) REPRISE_CALL(mm) REPRISE_CALL(bmm) REPRISE_CALL(matmul) REPRISE_CALL(linear) REPRISE_CALL(addmm) REPRISE_CALL(mv) REPRISE_CALL(dot) REPRISE_CALL(baddbmm) REPRISE_CALL(addmv)
  REPRISE_CALL(addr) REPRISE_CALL(outer) REPRISE_CALL(einsum) REPRISE_CALL(scaled_dot_product_attention) REPRISE_CALL(embedding) REPRISE_CALL(index_select) REPRISE_CALL(gather) REPRISE_CALL(scatter)
  REPRISE_CALL(scatter_add) REPRISE_CALL(scatter_reduce) REPRISE_CALL(index_reduce) REPRISE_CALL(index_put) REPRISE_CALL(index_copy) REPRISE_CALL(index_add) REPRISE_CALL(one_hot) REPRISE_CALL(index_fill)
  REPRISE_CALL(masked_scatter) REPRISE_CALL(put) REPRISE_CALL(cat) REPRISE_CALL(stack) REPRISE_CALL(hstack) REPRISE_CALL(vstack) REPRISE_CALL(slice_scatter) REPRISE_CALL(select_scatter)
  REPRISE_CALL(diagonal_scatter) REPRISE_CALL(topk) REPRISE_CALL(sort) REPRISE_CALL(argsort) REPRISE_CALL(tril) REPRISE_CALL(triu) REPRISE_CALL(roll) REPRISE_CALL(flip) REPRISE_CALL(repeat)
  REPRISE_CALL(repeat_interleave) REPRISE_CALL(reshape) REPRISE_CALL(flatten) REPRISE_CALL(unflatten) REPRISE_CALL(permute) REPRISE_CALL(transpose) REPRISE_CALL(movedim) REPRISE_CALL(slice) REPRISE_CALL(narrow)
  REPRISE_CALL(select) REPRISE_CALL(squeeze) REPRISE_CALL(unsqueeze) REPRISE_CALL(expand) REPRISE_CALL(diagonal) REPRISE_CALL(unfold) REPRISE_CALL(split) REPRISE_CALL(chunk) REPRISE_CALL(unbind) REPRISE_CALL(hsplit)
  REPRISE_CALL(vsplit)
  calls["rms_norm"] = call_of<Tensor, const Tensor&, IntArrayRef, const Tensor&, std::optional<double>, SourceLoc>(&reprise::rms_norm);
  calls["index"] = call_of<Tensor, const Tensor&, TensorArrayRef, SourceLoc>(&reprise::index);
  calls["arange"] = call_of<Tensor, Scalar, Scalar, Scalar, const TensorOptions&, SourceLoc>(&reprise::arange);
  REPRISE_CALL(linspace)
  REPRISE_CALL(eye)
  REPRISE_CALL(t) REPRISE_CALL(as_strided) REPRISE_CALL(as_strided_scatter) REPRISE_CALL(expand_as)
      REPRISE_CALL(broadcast_to) REPRISE_CALL(clone) REPRISE_CALL(contiguous) REPRISE_CALL(split_with_sizes)
          REPRISE_CALL(mT) REPRISE_CALL(view_as) REPRISE_CALL(reshape_as) REPRISE_CALL(zeros) REPRISE_CALL(ones)
              REPRISE_CALL(full) REPRISE_CALL(zeros_like) REPRISE_CALL(ones_like) REPRISE_CALL(full_like)
                  REPRISE_CALL(equal) calls["pad_value"] =
                      call_of<Tensor, const Tensor&, IntArrayRef, Scalar, SourceLoc>(&reprise::pad);
  calls["view"] = call_of<Tensor, const Tensor&, IntArrayRef, SourceLoc>(&reprise::view);
  calls["tensor_split"] = call_of<std::vector<Tensor>, const Tensor&, Int, Int, SourceLoc>(&reprise::tensor_split);
  calls["tensor_split_at"] =
      call_of<std::vector<Tensor>, const Tensor&, IntArrayRef, Int, SourceLoc>(&reprise::tensor_split);
}

}  // namespace reprise::aten
