"""Cases of compare_torch.py: convolution, pooling, normalization over channels, images of other sizes."""
import itertools
import math

import torch
import torch.nn.functional as F

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def add(function, some):
    def image(n, t=torch.float32, batch=2, c=4, size=7, seed=0):
        return some((batch, c) + tuple(size + i for i in range(n)), t, seed)

    def odd(x):
        """With NaN and infinities among the elements."""
        x = x.clone()
        flat = x.view(-1)
        flat[3::17], flat[5::23], flat[8::29] = math.nan, math.inf, -math.inf
        return x

    for n in (1, 2, 3):
        cases = []
        for t in FLOATS + [torch.int64]:
            for stride, padding, dilation, groups in [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (1, 1, 1, 4), ([2] + [1] * (n - 1), [1] + [0] * (n - 1), 1, 1), (1, "same", 1, 1), (1, "same", 2, 2)]:
                if t == torch.int64 and n == 3:
                    continue
                w = some((8, 4 // groups) + (3,) * n, t, 1)
                cases.append((image(n, t), w, some((8,), t, 2), stride, padding, dilation, groups))
                cases.append((image(n, t)[0], w, None, stride, padding, dilation, groups))
        cases += [(image(n), some((8, 4) + (1,) * n), None, 1, 0, 1, 1), (image(n), some((8, 4) + (4,) * n), None, 1, "same", 1, 1), (image(n, batch=0), some((8, 4) + (3,) * n), None, 1, 0, 1, 1)]
        cases += [(odd(image(n)), some((8, 4) + (3,) * n), None, 1, 1, 1, 1)]
        cases += [(image(n), some((8, 4) + (9,) * n), None, 1, 0, 1, 1), (image(n), some((8, 3) + (3,) * n), None, 1, 0, 1, 1), (image(n), some((8, 2) + (3,) * n), None, 1, 0, 1, 3), (image(n), some((8, 4) + (3,) * n), None, 0, 0, 1, 1),
                  (image(n), some((8, 4) + (3,) * n), None, 1, -1, 1, 1), (image(n), some((8, 4) + (3,) * n), some((4,)), 1, 0, 1, 1), (image(n), some((8, 4) + (3,) * n), None, 2, "same", 1, 1)]
        function(f"conv{n}d", lambda x, w, b, s, p, d, g, n=n: getattr(F, f"conv{n}d")(x, w, b, s, p, d, g), cases, 64)
        cases = []
        for t in FLOATS:
            for stride, padding, more, groups, dilation in [(1, 0, 0, 1, 1), (2, 1, 1, 1, 1), (2, 0, 0, 2, 1), (3, 1, 2, 1, 2), (2, 0, 0, 1, 2)]:
                w = some((4, 6 // groups) + (3,) * n, t, 1)
                cases.append((image(n, t), w, some((6,), t, 2), stride, padding, more, groups, dilation))
        cases += [(image(n), some((4, 3) + (2,) * n), None, 2, 0, 0, 1, 1), (image(n), some((4, 3) + (2,) * n), None, 2, 0, 2, 1, 1), (image(n), some((3, 3) + (2,) * n), None, 2, 0, 0, 1, 1), (image(n, batch=0), some((4, 3) + (2,) * n), None, 2, 0, 0, 1, 1)]
        function(f"conv_transpose{n}d", lambda x, w, b, s, p, o, g, d, n=n: getattr(F, f"conv_transpose{n}d")(x, w, b, s, p, o, g, d), cases, 64)

        steps = [(3, 2, 1, 1, False), (3, 2, 1, 1, True), (2, None, 0, 1, False), (2, 3, 0, 1, True), (3, 1, 1, 2, False), (4, 3, 2, 1, True), (1, 1, 0, 1, False)]
        listed = lambda v, k: k if v is None else v
        cases = []
        for t in FLOATS + [torch.int64]:
            for k, s, p, d, ceil in steps:
                if t in (torch.int64,) and n != 2:
                    continue
                cases.append((image(n, t), k, listed(s, k), p, d, ceil))
                if t.is_floating_point:
                    cases.append((odd(image(n, t)), k, listed(s, k), p, d, ceil))
        cases += [(image(n)[0], 3, 2, 1, 1, False), (image(n, batch=0), 3, 2, 1, 1, False), (image(n), 9, 1, 0, 1, False), (image(n), 2, 1, 2, 1, False), (image(n), 0, 1, 0, 1, False), (image(n), 2, 0, 0, 1, False)]
        function(f"max_pool{n}d", lambda *a, n=n: getattr(F, f"max_pool{n}d")(*a), cases)
        function(f"max_pool{n}d_with_indices", lambda *a, n=n: getattr(F, f"max_pool{n}d")(*a, return_indices=True), cases)
        cases = []
        for t in FLOATS[:2] if n == 3 else FLOATS + ([torch.int64] if n == 2 else []):
            for (k, s, p, d, ceil), include in itertools.product(steps, (True, False)):
                if d == 1:
                    cases.append((image(n, t), k, listed(s, k), p, ceil, include))
                    if t.is_floating_point:
                        cases.append((odd(image(n, t)), k, listed(s, k), p, ceil, include))
                    if n > 1:
                        cases.append((image(n, t), k, listed(s, k), p, ceil, include, 5))
        cases += [(image(n)[0], 3, 2, 1, False, True), (image(n, batch=0), 3, 2, 1, False, True), (image(n), 9, 1, 0, False, True), (image(n), 2, 1, 2, False, True)]
        function(f"avg_pool{n}d", lambda *a, n=n: getattr(F, f"avg_pool{n}d")(*a), cases, 8)
        outs = [1, 3, 7, 10, [4] + [2] * (n - 1)]
        cases = [(image(n, t), o) for t in FLOATS for o in outs] + [(image(n)[0], 3), (odd(image(n)), 3), (image(n, batch=0), 2), (image(n), -1)]
        function(f"adaptive_avg_pool{n}d", lambda x, o, n=n: getattr(F, f"adaptive_avg_pool{n}d")(x, o), cases, 8)
        function(f"adaptive_max_pool{n}d", lambda x, o, n=n: getattr(F, f"adaptive_max_pool{n}d")(x, o, return_indices=True), cases)
        function(f"lp_pool{n}d", lambda x, p, k, s, c, n=n: getattr(F, f"lp_pool{n}d")(x, p, k, s, c), [(image(n), p, 2, s, c) for p in (1.0, 2.0, 3.0) for s in (1, 2) for c in (False, True)], 400)

    cases = []
    for t in FLOATS:
        for n in (0, 1, 2, 3):
            x = image(n, t)
            w, b, m, v = some((4,), t, 1), some((4,), t, 2), some((4,), t, 3), some((4,), t, 4).abs() + 0.5
            cases += [(x, w, b, m, v, False, 0.1, 1e-5), (x, None, None, m, v, True, 0.3, 1e-3), (x, w, b, None, None, True, 0.1, 1e-5), (odd(x) if n else x, w, b, m, v, False, 0.1, 1e-5)]
        if t != torch.float64:
            cases.append((image(2, t), *(some((4,), torch.float32, s) for s in (1, 2, 3)), some((4,), torch.float32, 4).abs() + 0.5, False, 0.1, 1e-5))
    cases += [(image(2), some((3,)), None, some((4,)), some((4,)).abs(), False, 0.1, 1e-5), (image(2), None, None, None, None, False, 0.1, 1e-5)]

    def batch_norm(x, w, b, m, v, training, momentum, eps):
        m, v = (None, None) if m is None else (m.clone(), v.clone())
        y = torch.batch_norm(x, w, b, m, v, training, momentum, eps, False)
        return y if m is None else (y, m, v)
    function("batch_norm", batch_norm, cases, 400)
    cases = [(image(n, t), g, w and some((4,), t, 1), w and some((4,), t, 2), 1e-5, False) for t in FLOATS for n in (0, 1, 2, 3) for g in (1, 2, 4) for w in (None, True)]
    function("group_norm", torch.group_norm, cases + [(image(2), 3, None, None, 1e-5, False), (image(2, batch=0), 2, None, None, 1e-5, False), (image(2), 0, None, None, 1e-5, False)], 400)

    def instance_norm(x, w, b, m, v, own, momentum, eps):
        m, v = (None, None) if m is None else (m.clone(), v.clone())
        y = torch.instance_norm(x, w, b, m, v, own, momentum, eps, False)
        return y if m is None else (y, m, v)
    cases = [(image(n, t), some((4,), t, 1), some((4,), t, 2), None, None, True, 0.1, 1e-5) for t in FLOATS for n in (1, 2, 3)]
    cases += [(image(n, t), None, None, some((4,), t, 3), some((4,), t, 4).abs() + 0.5, own, 0.3, 1e-5) for t in FLOATS[:2] for n in (1, 2) for own in (True, False)]
    function("instance_norm", instance_norm, cases, 400)
    function("local_response_norm", F.local_response_norm, [(image(n, t), s, 1e-2, 0.75, k) for t in FLOATS[:2] for n in (1, 2, 3) for s in (1, 2, 5) for k in (1.0, 2.0)], 64)

    cases = []
    for mode in ("reflect", "replicate", "circular"):
        for t in FLOATS + [torch.int64, torch.bool]:
            if t == torch.bool and mode != "circular":
                continue
            cases += [(image(1, t), [1, 2], mode), (image(2, t), [1, 2, 3, 0], mode), (image(3, t), [1, 2, 0, 1, 3, 0], mode), (image(2, t)[0], [1, 2, 3, 0], mode)]
        cases += [(image(1), [7, 0], mode), (image(1), [0, 8], mode), (image(1), [-2, 3], mode), (image(2), [-2, 1, 0, -3], mode), (image(1), [1, 2, 3], mode), (some((5,)), [1, 1], mode)]
    function("pad", lambda x, p, m: F.pad(x, p, m), cases)

    cases = []
    for t in FLOATS:
        for n, modes in ((1, ["nearest", "nearest-exact", "linear", "area"]), (2, ["nearest", "nearest-exact", "bilinear", "bicubic", "area"]), (3, ["nearest", "nearest-exact", "trilinear", "area"])):
            for mode in modes:
                for align in ((False, True) if "linear" in mode or mode == "bicubic" else (None,)):
                    x = image(n, t, size=5)
                    cases += [(x, s, [], mode, align, False, False) for s in ([3] * n, [9] * n, [1] * n, [5] * n, [12] + [4] * (n - 1))]
                    cases += [(x, None, [f] * n, mode, align, again, False) for f in (2.0, 0.5, 1.7, 0.6) for again in (False, True)]
                    if n == 2 and mode in ("bilinear", "bicubic"):
                        cases += [(x, s, [], mode, align, False, True) for s in ([3, 2], [9, 9], [1, 1], [5, 2])]
                        cases += [(x, None, [f] * n, mode, align, False, True) for f in (0.5, 0.6)]
    for t in (torch.uint8,):
        cases += [(image(2, t, size=5), [3, 9], [], m, None, False, False) for m in ("nearest", "nearest-exact")]
    cases += [(odd(image(2)), [3, 9], [], m, None, False, False) for m in ("nearest", "bilinear", "bicubic")]
    cases += [(image(2), [0, 3], [], "nearest", None, False, False), (image(2), [3], [], "linear", None, False, False), (image(2), [3, 3], [], "nearest", True, False, False), (image(2), None, [], "nearest", None, False, False)]
    # Half types have places in float32, here as there; sums of weights are rounded once.
    function("interpolate", lambda x, s, f, m, al, again, aa: F.interpolate(x, size=None if s is None else list(s), scale_factor=list(f) or None, mode=m, align_corners=al, recompute_scale_factor=again or None, antialias=aa), cases, 64)
    function("pixel_shuffle", F.pixel_shuffle, [(some((2, 12, 3, 4)), 2), (some((12, 3, 4), torch.int64), 2), (some((2, 3, 12, 1, 5)), 1), (some((2, 10, 3, 4)), 2), (some((3, 4)), 2), (some((0, 12, 3, 4)), 2), (some((2, 12, 3, 4)), 0)])
    function("pixel_unshuffle", F.pixel_unshuffle, [(some((2, 3, 6, 4)), 2), (some((3, 6, 4), torch.int64), 2), (some((2, 3, 5, 4)), 2), (some((0, 3, 6, 4)), 2)])
    function("channel_shuffle", F.channel_shuffle, [(some((2, 12, 3, 4)), 3), (some((2, 12, 3)), 4), (some((2, 12, 3, 4)), 5), (some((2, 12)), 2)])
    function("im2col", F.unfold, [(image(2, t), k, d, p, s) for t in FLOATS for k, d, p, s in ((2, 1, 0, 1), ([3, 2], [2, 1], [1, 0], [2, 1]), (3, 1, 1, 3))] + [(image(2)[0], 2, 1, 0, 1), (image(2), 9, 1, 0, 1), (image(2), 2, 1, -1, 1), (image(1), 2, 1, 0, 1)])
    function("col2im", F.fold, [(some((2, 8, 12), t), [4, 5], 2, 1, 0, 1) for t in FLOATS] + [(some((2, 18, 4)), [4, 5], 3, 1, 1, 3), (some((8, 12)), [4, 5], 2, 1, 0, 1), (some((2, 8, 11)), [4, 5], 2, 1, 0, 1), (some((2, 7, 12)), [4, 5], 2, 1, 0, 1)], 8)
    cases = []
    for t in FLOATS[:2]:
        for m, p, a in itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)):
            cases.append((image(2, t, size=5), some((2, 6, 3, 2), t, 3) * 0.53, m, p, a))
            if m != "bicubic":
                cases.append((image(3, t, size=4), some((2, 2, 3, 4, 3), t, 3) * 0.53, m, p, a))
            cases.append((image(2, t, size=1), some((2, 3, 3, 2), t, 3) * 0.53, m, p, a))
    cases += [(image(2), some((3, 6, 3, 2)), "bilinear", "zeros", False), (image(2), some((2, 6, 3, 3)), "bilinear", "zeros", False), (image(3), some((2, 2, 3, 4, 3)), "bicubic", "zeros", False)]
    # Places are a difference of numbers of the image's size: as many ulps of these.
    function("grid_sample", F.grid_sample, cases, 400)
    cases = [(some((2, 2, 3), t), [2, 1, 4, w], a) for t in FLOATS[:2] for w in (5, 1) for a in (False, True)] + [(some((2, 3, 4)), [2, 1, 3, 4, 5], a) for a in (False, True)] + [(some((2, 2, 2)), [2, 1, 4, 5], False), (some((2, 2, 3)), [2, 1, 4, 0], False)]
    function("affine_grid", F.affine_grid, cases, 64)
