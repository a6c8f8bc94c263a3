#pragma once
#include <vector>

#include "jit/grid_code.h"
#include "kernels/grid_kernels.h"

namespace reprise::jit {

/// Emitters of the kernels in kernels/grid_kernels.h, which says what they compute and take.
using GridParams = std::vector<std::int64_t>;
void emit_product(GridModule&, const GridParams&);
void emit_product_dot(GridModule&, const GridParams&);
void emit_product_sum(GridModule&, const GridParams&);
void emit_attention(GridModule&, const GridParams&);
void emit_attention_part(GridModule&, const GridParams&);
void emit_attention_join(GridModule&, const GridParams&);

}  // namespace reprise::jit
