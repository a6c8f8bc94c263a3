#include "runtime/trace/result_wrappers.h"

#include "base/errors.h"
#include "reprise/compile.h"

namespace reprise::detail {

namespace {

class FieldFiller final : public LeafWriter {
 public:
  explicit FieldFiller(Tensor* next) : next_(next) {}
  void tensor(Tensor& t) override { t = std::move(*next_++); }
  void integer(Int&) override {}
  void number(Scalar&) override {}

 private:
  Tensor* next_;
};

}  // namespace

void make_result_wrappers(const std::vector<ResultWrapper>& wrappers, Outputs& outputs) {
  std::vector<Tensor> made;
  std::size_t next = 0, taken = 0;
  auto take_up_to = [&](std::size_t end) {
    for (; taken < end; ++taken) made.push_back(Tensor::adopt(std::exchange(outputs.tensors[taken], nullptr)));
  };
  for (; next < wrappers.size(); ++next) {
    const ResultWrapper& w = wrappers[next];
    take_up_to(w.end);
    REPRISE_CHECK(made.size() >= w.leaves);
    const std::size_t first = made.size() - w.leaves;
    const std::shared_ptr<void> value = w.type->copy(w.value.get());
    FieldFiller fill(made.data() + first);
    w.type->write(value.get(), fill);
    made.resize(first);
    made.push_back(wrap_value(*w.type, value, {}));
  }
  take_up_to(outputs.tensors.size());
  outputs.tensors.clear();
  for (Tensor& t : made) {
    TensorImpl* const impl = t.impl();
    if (impl) retain(impl);
    outputs.tensors.push_back(impl);
  }
}

}  // namespace reprise::detail
