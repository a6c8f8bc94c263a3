// Steps that write: into the operand, or through a view made for it; and steps that change a handle's metadata.
#include "tests/random/steps.h"

namespace reprise::fuzz {

std::span<const Row> write_rows() {
  static const Row rows[] = {
    REPRISE_ROW(12, kWrites, return a.add_(tanh(b))),
    REPRISE_ROW(12, kWrites, return a.add_(b)),
    REPRISE_ROW(12, kWrites, return a.add_(a * 0.5)),
    REPRISE_ROW(35, kWrites, return a.mul_(c)),
    REPRISE_ROW(18, kWrites, return a.copy_(storable(a, b))),
    REPRISE_ROW(18, kWrites, return a.copy_(storable(a, b) + 1.0)),
    REPRISE_ROW(16, kWrites, return a.fill_(c)),
    REPRISE_ROW(5, kWrites, return a.zero_()),
    REPRISE_ROW(18, kWrites | kJumps, return a.masked_fill_(a > c + 0.0013, 0.5)),
    REPRISE_ROW(5, kWrites, return a.neg_()),
    REPRISE_ROW(5, kWrites, return a.tanh_()),
    REPRISE_ROW(5, kWrites, return a.clamp_(-0.513, 0.513)),
    REPRISE_ROW(5, kWrites, return a.abs_()),
    REPRISE_ROW(6, kWrites | kJumps,
                cond(
                    any(b > 0.513), [&] { a.masked_fill_(a > 0.513, 0); }, [&] { a.slice(0, 0, 1).zero_(); });
                return a),
    REPRISE_ROW(
        6, kWrites | kJumps,
        cond(
            any(a > 0.513),
            [&] { a.slice(d, 0, (a.size(d) + 1) / 2).copy_(storable(a, a * 0.5).slice(d, a.size(d) / 2, a.size(d))); },
            [&] { a.slice(d, a.size(d) / 2, a.size(d)).zero_(); });
        return a),
    REPRISE_ROW(5, kWrites, return a.scatter_(d, remainder(in.ids.unsqueeze(-1), Scalar(a.size(d))), 0.5)),
    REPRISE_ROW(5, kWrites, return a.index_copy_(d, arange(a.size(d), {.device = a.device()}), clamp(a, -1.0, 1.0))),
    REPRISE_ROW(5, kWrites,
                return a.index_reduce_(d, arange(a.size(d), {.device = a.device()}), clamp(a, -1.0, 1.0), "amin")),
    REPRISE_ROW(10, kWrites, return a.index_put_({rows_of(a, 0, in.ids)}, b.select(0, 0), false)),
    REPRISE_ROW(5, kWrites | kJumps, a.index_put_({a > 0.513}, storable(a, tanh(a.index({a > 0.513})))); return a),
    // Rows and columns that are made where they go: places named twice, counted from the end, rows that are read of
    // what is written.
    REPRISE_ROW(6, kWrites,
                return a.index_put_({rows_of(a, 0, in.ids)}, storable(a, tanh(b).select(0, 0) * 0.5), false)),
    REPRISE_ROW(
        6, kWrites,
        return a.index_copy_(d, rows_of(a, d, in.ids), index_select(storable(a, b * 0.5), d, rows_of(b, d, in.ids)))),
    REPRISE_ROW(6, kWrites,
                return a.index_copy_(d, rows_of(a, d, in.ids) - a.size(d),
                                     index_select(storable(a, a * 0.5), d, rows_of(a, d, in.ids + 1)))),
    REPRISE_ROW(6, kWrites, Tensor t = index_select(storable(a, b), 0, rows_of(b, 0, in.ids)); auto h = chunk(t, 2, -1);
                return a.index_copy_(0, rows_of(a, 0, in.ids), cat({clamp(h.back(), -1.0, 1.0), abs(h[0])}, -1))),
    REPRISE_ROW(5, kWrites, Tensor t = stack({a, a * 0.5});
                t[1].index_copy_(d, rows_of(a, d, in.ids), clamp(index_select(a, d, rows_of(a, d, in.ids)), -0.5, 0.5));
                return t.sum(0).to(a.dtype())),
    REPRISE_ROW(
        5, kWrites,
        a.t().index_copy_(1, rows_of(a, 0, in.ids), abs(index_select(storable(a, b), 0, rows_of(b, 0, in.ids))).t());
        return a + 0),
    // Through a view: a few of the written values next to values that stay.
    REPRISE_ROW(5, kWrites, a.slice(d, 0, (a.size(d) + 1) / 2).mul_(c); return a),
    REPRISE_ROW(5, kWrites, a.slice(d, a.size(d) / 2, a.size(d)).add_(c); return a),
    REPRISE_ROW(5, kWrites, a.slice(d, 0, a.size(d), 2).fill_(c); return a),
    REPRISE_ROW(5, kWrites, a.slice(d, Int::min(n, a.size(d) - 1), a.size(d)).copy_(storable(a, b)); return a),
    REPRISE_ROW(5, kWrites, a.slice(d, 0, n).mul_(c); return a),
    REPRISE_ROW(5, kWrites, return a.slice(d, -2, std::nullopt).add_(c)),
    REPRISE_ROW(5, kWrites, a.narrow(d, a.size(d) / 3, a.size(d) - a.size(d) / 3).copy_(storable(a, b).select(0, 0));
                return a),
    REPRISE_ROW(5, kWrites, a.slice(d, 0, a.size(d) - 1).copy_(a.slice(d, 1, a.size(d))); return a),
    REPRISE_ROW(8, kWrites, a.select(d, 0).add_(c); return a),
    REPRISE_ROW(8, kWrites, a.select(d, a.size(d) - 1).add_(c); return a),
    REPRISE_ROW(8, kWrites, a.transpose(0, 1).copy_(clamp(storable(a, b), -1.0, 1.0)); return a),
    REPRISE_ROW(6, kWrites, a.t().mul_(c); return a),
    REPRISE_ROW(8, kWrites, a.view({-1}).slice(0, 1, std::nullopt, 2).fill_(c); return a),
    REPRISE_ROW(4, kWrites, a.diagonal().add_(c); return a),
    REPRISE_ROW(4, kWrites, a.diagonal(1).copy_(storable(a, b).select(0, 0).select(0, 0)); return a),
    REPRISE_ROW(4, kWrites, a.diagonal(-1, 1, 0).fill_(c); return a),
    REPRISE_ROW(4, kWrites, a.unfold(d, 2, 2).mul_(c); return a),
    REPRISE_ROW(4, kWrites, a.unfold(d, 1, 2).fill_(c); return a),
    REPRISE_ROW(4, kWrites, a.unfold(d, 2, 3).select(-1, 1).add_(c); return a),
    REPRISE_ROW(4, kWrites, a.unfold(d, 2, 1).select(-1, 0).mul_(c); return a),
    REPRISE_ROW(4, kWrites, a.as_strided({a.size(0)}, {1}).mul_(c); return a),
    REPRISE_ROW(4, kWrites, a.as_strided({a.numel() - 1}, {1}, 1).add_(c); return a),
    REPRISE_ROW(4, kWrites, a.as_strided({a.size(0), a.size(1)}, {1, a.size(0)}, 0).mul_(c); return a),
    REPRISE_ROW(4, kWrites, a.as_strided({(a.numel() + 1) / 2}, {2}, 0).fill_(c); return a),
    REPRISE_ROW(4, kWrites, a.as_strided({2}, {2}, n).fill_(c); return a),
    REPRISE_ROW(3, kWrites, a.as_strided({a.size(0)}, {a.stride(0)}).add_(c); return a),
    REPRISE_ROW(3, kWrites, return a.unsqueeze(0).expand({3, -1, -1}).select(0, 1).mul_(c)),
    REPRISE_ROW(3, kWrites, a.unsqueeze(0).expand({2, -1, -1}).select(0, 1).slice(0, 0, 1).fill_(c); return a),
    REPRISE_ROW(3, kWrites, a.slice(d, 0, 1).expand(b.sizes()).slice(d, 0, 1).mul_(c); return a),
    REPRISE_ROW(4, kWrites, Tensor part = a.slice(0, a.size(0) / 2, a.size(0)); part.resize_({part.size(0)});
                part.mul_(c); return part),
    REPRISE_ROW(4, kWrites, Tensor part = a.slice(0, 1, a.size(0)); part.resize_({1, part.size(0)}); part.fill_(c);
                return a),
    REPRISE_ROW(3, kWrites, Tensor part = a.slice(0, 0, a.size(0)); part.resize_({a.numel() - 1}).fill_(c);
                return part),
    REPRISE_ROW(4, kWrites, Tensor part = a.slice(0, 1, a.size(0)); part.resize_({a.numel() + 3}); part.mul_(c);
                return part),
    REPRISE_ROW(3, kWrites, Tensor part = a.t().select(0, 0); part.resize_({a.size(0) * 3, 2}).add_(c); return a),
    REPRISE_ROW(4, kWrites, a.reshape({a.size(1), a.size(0)}).mul_(c); return a),
    REPRISE_ROW(4, kWrites, a.slice(1, 0, a.size(1) - 1).reshape({a.size(1) - 1, a.size(0)}).mul_(c); return a),
    REPRISE_ROW(3, kWrites, a.t().reshape({a.size(0), a.size(1)}).add_(c); return a),
    REPRISE_ROW(3, kWrites, a.reshape({-1}).slice(0, 0, n).mul_(c); return a),
    REPRISE_ROW(3, kWrites, chunk(a, 2, d).back().mul_(c); return a),
    REPRISE_ROW(3, kWrites, a[0].fill_(c); return a),
    // Views that are older than a write.
    REPRISE_ROW(4, kWrites, Tensor old = a.select(0, 0); a.mul_(c); old.add_(1); return a),
    REPRISE_ROW(4, kWrites, Tensor old = a.t(); a.select(0, 0).fill_(c); old.select(0, 0).mul_(2); return old),
    REPRISE_ROW(4, kWrites, Tensor old = a.slice(d, 0, n); a.t().mul_(c); return old + old),
    // Registered operators that write arguments: one, two, a list; views of one tensor, which may or may not share
    // elements.
    REPRISE_ROW(5, kWrites, return scaled_in_place(a, c)),
    REPRISE_ROW(4, kWrites, scaled_in_place(a.slice(d, 0, (a.size(d) + 1) / 2), c); return a),
    REPRISE_ROW(4, kWrites, scaled_in_place(a.t().select(0, 0), c); return a),
    REPRISE_ROW(4, kWrites, return exchange(a, storable(a, b) + 1.0, clamp(a, -1.0, 1.0))),
    REPRISE_ROW(4, kWrites, exchange(a.select(d, 0), a.select(d, a.size(d) - 1), clamp(a, -1.0, 1.0).select(d, 0));
                return a),
    REPRISE_ROW(4, kWrites, Int h = a.size(d) / 2;
                exchange(a.slice(d, 0, h), a.slice(d, a.size(d) - h), a.slice(d, 1, h + 1)); return a),
    REPRISE_ROW(3, kWrites, Int h = Int::min(n, a.size(d));
                exchange(a.slice(d, 0, h), a.slice(d, 1, h + 1), a.slice(d, 0, h) * 0.0); return a),
    REPRISE_ROW(4, kWrites, Tensor old = a.select(0, 0); Tensor t = a * 0.5;
                counted_up({a.slice(d, 0, 1), t, a.slice(d, 1)}); return t + old),
    // Views of views, transposed, windows of the storage, parts that lie in one another, and one that is read from the
    // same memory.
    REPRISE_ROW(4, kWrites, scaled_in_place(a.slice(d, 1, std::nullopt).slice(d, 0, -1), c); return a),
    REPRISE_ROW(4, kWrites, scaled_in_place(a.unsqueeze(0).transpose(0, -1).select(0, 0).slice(-1, 1, std::nullopt), c);
                return a),
    REPRISE_ROW(4, kWrites, Tensor t = a + b; scaled_in_place(t.t().slice(0, 0, n).t(), c); return t),
    REPRISE_ROW(4, kWrites, scaled_in_place(a.view({-1}).slice(0, 1, std::nullopt, 2), c); return a),
    REPRISE_ROW(4, kWrites, scaled_in_place(a.view({1, -1}).select(0, 0).narrow(0, a.numel() / 3, a.numel() / 2), c);
                return a),
    REPRISE_ROW(4, kWrites, scaled_in_place(a.as_strided({a.size(0)}, {a.size(1) + 1}), c); return a),
    REPRISE_ROW(3, kWrites, Tensor t = a * 0.5; scaled_in_place(t.as_strided({2, a.size(0)}, {1, a.size(1)}), c);
                return t + a),
    REPRISE_ROW(3, kWrites, scaled_in_place(a.diagonal(1), c);
                scaled_in_place(a.diagonal(-1).slice(0, 1, std::nullopt), 2.0); return a),
    REPRISE_ROW(3, kWrites, scaled_in_place(a.unfold(d, 2, 3).select(-1, 1), c); return a),
    REPRISE_ROW(3, kWrites, scaled_in_place(a.unsqueeze(0).expand({3, -1, -1}).select(0, 1).slice(0, 0, 1), c);
                return a),
    REPRISE_ROW(4, kWrites, Tensor part = a.slice(d, 0, n); scaled_in_place(part, c);
                scaled_in_place(part.select(0, 0), 0.5); scaled_in_place(a, 2.0); return part),
    REPRISE_ROW(4, kWrites, Tensor t = a + 0.25;
                exchange(t.select(d, 0), t.select(d, t.size(d) - 1), t.select(d, t.size(d) / 2)); return t),
    REPRISE_ROW(4, kWrites, Tensor was = a.clone();
                exchange(a.slice(0, 0, 1), storable(a, b).slice(0, 0, 1) + 0.0, was.slice(0, 0, 1));
                scaled_in_place(a, c); return a + was),
    REPRISE_ROW(4, kWrites, Tensor old = a.select(0, 0) + 0; a.select(0, 0).add_(c);
                scaled_in_place(a.t().select(1, 0), 2.0); return a + old),
    REPRISE_ROW(4, kWrites, set_row(a.t(), n, b.select(0, 0).slice(0, 0, 1)); return a),
    REPRISE_ROW(4, kWrites, scaled_in_place(a.select(d, 0), c);
                set_row(a.slice(d, 0, a.size(d) - 1), n, a.select(0, 0).slice(0, 0, 1)); return a),
    REPRISE_ROW(4, kWrites, Tensor part = a.slice(0, 0, 2); set_row(part, 0, part.select(0, 1).slice(0, 0, 1));
                a.add_(c); set_row(a, n, part.select(0, 0).slice(0, 0, 1)); return a),
    // Operators that name their functional form, and that are made of others.
    REPRISE_ROW(4, kWrites, halved_in_place(a.select(d, 0)); return a + halved(a)),
    REPRISE_ROW(4, kWrites, Tensor part = a.t().slice(0, 0, n); halved_in_place(part); part.add_(c);
                return halved(part)),
    REPRISE_ROW(4, kWrites, Tensor t = a + b; halved_in_place(t.slice(d, 1, std::nullopt)); halved_in_place(t);
                return t),
    REPRISE_ROW(4, kWrites, return replaced(a.select(d, 0), storable(a, a * 0.5).select(d, a.size(d) - 1))),
    REPRISE_ROW(4, kWrites, Tensor was = replaced(a.slice(0, 0, 1), storable(a, b).slice(0, 0, 1));
                halved_in_place(a.slice(0, 0, 1)); return a + was),
    // Metadata, of a handle of its own and of the operand itself.
    REPRISE_ROW(3, kWrites | kView, Tensor t = a.slice(0, 0, a.size(0)); return t.transpose_(0, -1)),
    REPRISE_ROW(3, kWrites | kView, Tensor t = a.slice(0, 0, a.size(0)); return t.unsqueeze_(0)),
    REPRISE_ROW(3, kWrites | kView, Tensor t = a.slice(0, 0, a.size(0)); return t.unsqueeze_(-1).squeeze_(-1)),
    REPRISE_ROW(3, kWrites | kView, Tensor t = a.slice(0, 0, a.size(0)); return t.swapaxes_(-1, 0)),
    REPRISE_ROW(10, kWrites | kReshapes, return a.t_()),
    REPRISE_ROW(3, kWrites | kReshapes, return a.unsqueeze_(d)),
    REPRISE_ROW(3, kWrites | kReshapes, return a.resize_({a.size(0) - 1, a.size(1)})),
    REPRISE_ROW(3, kWrites | kReshapes, return a.resize_({a.size(1), a.size(0)})),
    REPRISE_ROW(4, kWrites | kReshapes, return a.resize_({a.size(0) + 1, a.size(1)})),
    REPRISE_ROW(3, kWrites, Tensor t = a.slice(0, 0, 1); t.set_(a.slice(0, 1, a.size(0))); t.mul_(c); return t),
    REPRISE_ROW(3, kWrites | kReshapes, return a.set_(a.clone()).mul_(c)),
    REPRISE_ROW(5, kWrites, Tensor to = a.t(); return to.copy_(storable(a, a).t())),
    REPRISE_ROW(5, kWrites, Tensor to = a.t(); to.copy_(storable(a, b).clone()); return a),
    REPRISE_ROW(5, kWrites, Tensor to = a.t(); to.copy_(storable(a, b).t()); return a),
  };
  return rows;
}

}  // namespace reprise::fuzz
