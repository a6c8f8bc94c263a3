#include "validate/elements.h"

namespace reprise::validate {

using kernels::ElementRead;

namespace {

class Elements {
 public:
  Elements(Prover& p, const Ask& ask) : t_(p.terms()), p_(p), ask_(ask) {}

  void run(const std::vector<ElementRead>& reads) {
    for (const ElementRead& r : reads) {
      extents_.clear(), any_.clear();
      for (Int e : r.extents) {
        extents_.push_back(t_.number(e));
        if (FormulaPtr f = at_most_zero(Poly(1) - extents_.back()); f->kind != Formula::Kind::True) any_.push_back(f);
      }
      switch (r.by) {
        case ElementRead::By::Broadcast: broadcast(r); break;
        case ElementRead::By::View: view(r); break;
        case ElementRead::By::Place: place(r); break;
      }
    }
  }

 private:
  /// The coefficient of a loop counts where the loop takes more than one step; k = 0 is the offset.
  FormulaPtr where_it_counts(std::size_t k, FormulaPtr f) const {
    return k == 0 || f->kind == Formula::Kind::True ? f : either(f, at_most_zero(extents_[k - 1] - Poly(1)));
  }
  void ask(std::string what, const std::function<FormulaPtr()>& f) { ask_(std::move(what), f, any_); }

  /// An operand's index is the result's, or 0 where its size is 1.
  void broadcast(const ElementRead& r) {
    const Ints &made = r.made.sizes, &of = r.of.sizes;
    const std::size_t lead = made.size() - of.size();
    for (std::size_t d = 0; d < of.size(); ++d)
      ask("operand " + r.name + " is read at its element of dimension " + std::to_string(d), [&] {
        const Poly size = t_.number(of[d]), to = t_.number(made[lead + d]);
        const Poly either_step = t_.extreme(true, size - Poly(1), Poly(1));
        FormulaPtr moves = is_zero(size - to), stays = is_zero(size - Poly(1));
        bool by_size = true;
        for (std::size_t k = 0; k < r.read[d].size(); ++k) {
          const Poly a = t_.number(r.at[lead + d][k]), b = t_.number(r.read[d][k]);
          moves = both(moves, where_it_counts(k, is_zero(b - a)));
          stays = both(stays, where_it_counts(k, is_zero(b)));
          by_size = by_size && b == a * either_step;
        }
        if (moves->kind == Formula::Kind::True || stays->kind == Formula::Kind::True) return truth(true);
        if (by_size) return either(is_zero(size - to), is_zero(size - Poly(1)));
        return either(moves, stays);
      });
  }

  /// Indices of both, by the layouts that they have in the graph, are one place.
  void view(const ElementRead& r) {
    const Layout &made = r.made, &of = r.of;
    for (std::size_t k = 0; k <= extents_.size(); ++k)
      ask("a view of " + r.name + " shows its element" + loop(k), [&] {
        Poly distance;
        if (k == 0) distance = t_.number(of.offset) - t_.number(made.offset);
        distance = distance + sum(r.read, k, of.strides) - sum(r.at, k, made.strides);
        return where_it_counts(k, is_zero(distance));
      });
  }

  /// Where the root stands as in the graph, so do its views.
  void place(const ElementRead& r) {
    const Layout &made = r.made, &natural = r.of;
    for (std::size_t d = 0; d < natural.strides.size(); ++d)
      if (const Poly differ = t_.number(natural.strides[d]) - t_.number(r.place.strides[d]);
          !p_.quickly(either(is_zero(differ), at_most_zero(t_.number(natural.sizes[d]) - Poly(1)))))
        return;
    for (std::size_t k = 0; k <= extents_.size(); ++k)
      ask("the place of " + r.name + " is that of its element" + loop(k), [&] {
        Poly distance = t_.number(r.to[k]) - sum(r.at, k, made.strides);
        if (k == 0) distance = distance - t_.number(made.offset) + t_.number(natural.offset);
        if (k == 0) distance = distance - t_.number(r.place.offset);
        return where_it_counts(k, is_zero(distance));
      });
  }
  /// What coefficient k of the indices, along these strides, comes to.
  Poly sum(const std::vector<Ints>& index, std::size_t k, const Ints& strides) {
    Poly s;
    for (std::size_t d = 0; d < index.size(); ++d) s = s + t_.number(index[d][k]) * t_.number(strides[d]);
    return s;
  }
  static std::string loop(std::size_t k) { return k ? " along loop " + std::to_string(k - 1) : ""; }

  Terms& t_;
  Prover& p_;
  const Ask& ask_;
  std::vector<Poly> extents_;
  std::vector<FormulaPtr> any_;  // there are elements
};

}  // namespace

void prove_elements(Prover& p, const std::vector<ElementRead>& reads, const Ask& ask) { Elements(p, ask).run(reads); }

}  // namespace reprise::validate
