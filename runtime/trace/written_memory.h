#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/errors.h"
#include "tensor/impl.h"

namespace reprise::detail {

/// A write to a view that shows one element several times: along a dimension of stride 0, or otherwise.
[[noreturn]] inline void refuse_expanded(const std::string& op, SourceLoc loc, int dim, Int size) {
  fail(ErrorCode::AliasConflict, op.c_str(), loc, "dimension ", dim, " of the written tensor is expanded: ", size,
       " elements share one address; clone() it first");
}
[[noreturn]] inline void refuse_shared_places(const std::string& op, SourceLoc loc) {
  fail(ErrorCode::AliasConflict, op.c_str(), loc,
       "several elements of the written tensor share one address: clone() it first");
}

/// Which of some tensors may touch another one: their address ranges in order, so that thousands of inputs are not
/// compared each with each. Memory is kept from one call to the next.
class WrittenMemory {
 public:
  /// `tensors`: of a call; `written`: numbers of those to look among.
  template <class Tensors, class Numbers>
  void assign(const Tensors& tensors, const Numbers& written) {
    ranges_.clear();
    for (std::uint32_t w : written) {
      const TensorImpl& t = *tensors[w];
      if (const std::int64_t bytes = byte_extent(t); bytes > 0)
        ranges_.push_back({t.data(), t.data() + bytes, nullptr, w});
    }
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    const char* reach = nullptr;
    for (Range& r : ranges_) r.reach = reach = std::max(reach, r.end);
  }

  /// Is f(number) true for one of them whose addresses begin before t's end and end behind its beginning?
  template <class F>
  bool any_near(const TensorImpl& t, F&& f) const {
    const std::int64_t bytes = byte_extent(t);
    if (bytes <= 0) return false;
    const char *begin = t.data(), *end = begin + bytes;
    auto r = std::lower_bound(ranges_.begin(), ranges_.end(), end,
                              [](const Range& a, const char* e) { return a.begin < e; });
    while (r != ranges_.begin() && (--r)->reach > begin)
      if (r->end > begin && f(r->number)) return true;
    return false;
  }

 private:
  struct Range {
    const char *begin, *end;
    const char* reach;  ///< the largest end among it and those before
    std::uint32_t number;
  };
  std::vector<Range> ranges_;
};

}  // namespace reprise::detail
