#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/cpu/micro_kernels.h"
#include "kernels/launch/launch.h"

/// The B of a product as its tiles read it, made once: what Gemm in matmul_product.cc, LowProduct and the products of
/// scaled.cc pack at every call. Panels have so many columns, beyond which stands 0, and rows of B one after the other;
/// where tiles multiply groups, those of each column are side by side. In the weight's dtype.
namespace reprise::kernels {

/// What they look like on this processor.
struct PanelForm {
  std::int64_t width;  ///< columns
  std::int64_t deep;   ///< rows are filled up with zeros to a multiple of it
  std::int64_t group = 1;
  bool turned = false;  ///< sign bits are turned
};
/// Of weights of linear and mm, or, of Int8, of int_mm. None: there are none of the dtype.
std::optional<PanelForm> panel_form(DType);
/// Are there products here that read them? Of Int8 not, where they are those of words.
bool reads_panels(DType);
/// All forms: panels of one text fit.
std::string panel_forms_text();

/// How many elements panels have for a weight [n, k]. T: a number, or a symbolic one.
template <class T>
T panel_elements(const T& n, const T& k, const PanelForm& f) {
  return (n + (f.width - 1)) / f.width * f.width * ((k + (f.deep - 1)) / f.deep * f.deep);
}
/// Operands: a weight [n, k] of a dtype that has a form, any strides; its panels.
void prepack_kernel(const NativeArgs&);

}  // namespace reprise::kernels
