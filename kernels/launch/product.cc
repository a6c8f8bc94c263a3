#include "kernels/launch/product.h"

namespace reprise::kernels {
namespace {

using graph::OpId;

constinit graph::OpColumn<ProductForm> g_column("form of a product",
                                                {
                                                    {OpId::mm, ProductForm::Matrix},
                                                    {OpId::bmm, ProductForm::Batched},
                                                    {OpId::linear, ProductForm::Rows},
                                                    {OpId::int_mm, ProductForm::Matrix},
                                                    {OpId::scaled_mm, ProductForm::Scaled},
                                                },
                                                graph::is_of<graph::OpClass::Matmul>);

}  // namespace

graph::OpColumn<ProductForm>& product_forms() { return g_column; }

}  // namespace reprise::kernels
