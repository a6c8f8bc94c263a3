#!/usr/bin/env python3
"""Polynomials of jit/emit/math.cc: weighted minimax fits (Remez exchange by iterated reweighting) in 60 digits.

Prints each polynomial's coefficients, lowest degree first, and the largest weighted error of the exact polynomial.
Needs mpmath and numpy."""
import mpmath as mp
import numpy as np

mp.mp.dps = 60


def fit(name, f, weight, lo, hi, degree, nodes=400):
    """Coefficients c with max |weight(x) * (f(x) - sum c_k x^k)| small on [lo, hi]."""
    mid, half = (mp.mpf(lo) + hi) / 2, (mp.mpf(hi) - lo) / 2
    xs = [mid + half * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / nodes) for i in range(nodes)]
    target = [f(x) for x in xs]
    w = [weight(x) for x in xs]
    # Remez: solve on a reference, move the reference to the extrema of the error, repeat.
    n = degree + 2
    ref = [int(round((nodes - 1) * (1 - mp.cos(mp.pi * j / (n - 1))) / 2)) for j in range(n)]
    for _ in range(12):
        a = mp.matrix(n, n)
        y = mp.matrix(n, 1)
        for r, i in enumerate(ref):
            u = (xs[i] - mid) / half
            for k in range(degree + 1):
                a[r, k] = u**k
            a[r, degree + 1] = (-1) ** r / w[i]
            y[r] = target[i]
        c = mp.lu_solve(a, y)
        err = [w[i] * (target[i] - mp.polyval([c[k] for k in range(degree, -1, -1)], (xs[i] - mid) / half)) for i in range(nodes)]
        runs, start = [], 0
        for i in range(1, nodes + 1):
            if i == nodes or mp.sign(err[i]) != mp.sign(err[start]):
                runs.append(max(range(start, i), key=lambda t: abs(err[t])))
                start = i
        if len(runs) < n:
            break
        while len(runs) > n:
            runs.pop(0 if abs(err[runs[0]]) < abs(err[runs[-1]]) else -1)
        ref = runs
    # back from u = (x - mid) / half to x
    coefficients = [mp.mpf(0)] * (degree + 1)
    for k in range(degree + 1):
        for j in range(k + 1):
            coefficients[j] += c[k] / half**k * mp.binomial(k, j) * (-mid) ** (k - j)
    worst = max(abs(e) for e in err)
    print(f"{name}: error {mp.nstr(worst, 3)}")
    print("   {" + ", ".join(mp.nstr(x, 17) for x in coefficients) + "}")


def safe(f, at0):
    return lambda x: f(x) if abs(x) > mp.mpf(10) ** -25 else mp.mpf(at0)


def near(f, series):
    """f away from 0, the first terms of its series close to it (both are exact to 60 digits where used)."""
    return lambda x: f(x) if abs(x) > mp.mpf(10) ** -12 else series(x)


ln2h = mp.log(2) / 2 + mp.mpf("1e-4")
fit("exp: (e^r - 1 - r) / r^2", safe(lambda r: (mp.expm1(r) - r) / r**2, 0.5), lambda r: r**2 / mp.exp(r) + mp.mpf(10)**-9, -ln2h, ln2h, 4)
fit("exp2: (2^r - 1) / r", safe(lambda r: mp.expm1(r * mp.log(2)) / r, mp.log(2)), lambda r: abs(r) + mp.mpf(10)**-9, -0.5, 0.5, 5)
s2 = mp.sqrt(2)
fit("log: (log(1+f) - f + f^2/2) / f^3", safe(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, mp.mpf(1) / 3),
    lambda f: abs(f**3 / mp.log1p(f)) + mp.mpf(10)**-9 if abs(f) > 1e-9 else mp.mpf(10)**-9, 1 / s2 - 1 - mp.mpf("1e-4"), s2 - 1 + mp.mpf("1e-4"), 7)
q = (mp.pi / 4 + mp.mpf("1e-3"))**2
fit("sin: (sin r - r) / r^3 in r^2", near(lambda z: (mp.sin(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z)**3, lambda z: -mp.mpf(1) / 6 + z / 120), lambda z: z, 0, q, 3)
fit("cos: (cos r - 1 + r^2/2) / r^4 in r^2", near(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, lambda z: mp.mpf(1) / 24 - z / 720), lambda z: z**2 + mp.mpf(10)**-9, 0, q, 3)
b = mp.mpf("0.925")
fit("erf: erf(x)/x - 1 in x^2", near(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, lambda z: 2 / mp.sqrt(mp.pi) * (1 - z / 3) - 1), lambda z: mp.mpf(1), 0, b**2, 6)
fit("erfc: log(erfc(t))", lambda t: mp.log(mp.erfc(t)), lambda t: mp.erfc(t), mp.mpf("0.91"), 4, 6)
f1 = (s2 - 1) / (s2 + 1) + mp.mpf("1e-4")
fit("log2 double: (log2((1+f)/(1-f)) / f - 2/ln2) / f^2 in f^2",
    near(lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) / mp.log(2) - 2 / mp.log(2)) / z, lambda z: 2 / mp.log(2) / 3 + z * 2 / mp.log(2) / 5), lambda z: z, 0, f1**2, 5)
fit("exp2 double: 2^r", lambda r: mp.mpf(2)**r, lambda r: mp.mpf(1), -0.5, 0.5, 8)
h = 1 + mp.mpf("1e-6")
fit("sinh: (sinh x - x)/x^3 in x^2", near(lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: mp.mpf(1) / 6 + z / 120), lambda z: z, 0, h, 3)
fit("atan: (atan(x)/x - 1)/x^2 in x^2", near(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: -mp.mpf(1) / 3 + z / 5), lambda z: z, 0, mp.tan(mp.pi / 8)**2 * h, 5)
fit("asin: (asin(x)/x - 1)/x^2 in x^2", near(lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: mp.mpf(1) / 6 + z * 3 / 40), lambda z: z, 0, mp.mpf("0.2501"), 6)
fit("erfc: e^(t^2) erfc(t) in u = 1/(1 + t/2)", lambda u: mp.exp((2 / u - 2)**2) * mp.erfc(2 / u - 2), lambda u: 1 / (mp.exp((2 / u - 2)**2) * mp.erfc(2 / u - 2)), mp.mpf(1) / mp.mpf("6.2"), 1, 12)
fit("sin double: (sin r - r) / r^3 in r^2", near(lambda z: (mp.sin(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z)**3, lambda z: -mp.mpf(1) / 6 + z / 120), lambda z: z, 0, q, 4)
fit("cos double: (cos r - 1 + r^2/2) / r^4 in r^2", near(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, lambda z: mp.mpf(1) / 24 - z / 720), lambda z: z**2 + mp.mpf(10)**-9, 0, q, 4)


def interpolate(name, f, lo, hi, degree):
    """Coefficients of the polynomial through Chebyshev's nodes: close to the best where f is that smooth."""
    mid, half = (mp.mpf(lo) + hi) / 2, (mp.mpf(hi) - lo) / 2
    xs = [mid + half * mp.cos(mp.pi * (2 * k + 1) / (2 * degree + 2)) for k in range(degree + 1)]
    c = mp.lu_solve(mp.matrix([[x**k for k in range(degree + 1)] for x in xs]), mp.matrix([f(x) for x in xs]))
    points = [lo + (mp.mpf(hi) - lo) * i / 400 for i in range(401)]
    worst = max(abs(sum(c[k] * x**k for k in range(degree + 1)) / f(x) - 1) for x in points)
    print(name, "relative error", mp.nstr(worst, 3))
    print("   ", ", ".join(mp.nstr(c[k], 17) for k in range(degree + 1)))


interpolate("i0: I0(x) in x^2", lambda z: mp.besseli(0, mp.sqrt(z)), 0, 64, 11)
interpolate("i0: sqrt(x) e^-x I0(x) in 1/x", near(lambda t: mp.besseli(0, 1 / t) * mp.exp(-1 / t) / mp.sqrt(t), lambda t: (1 + t / 8) / mp.sqrt(2 * mp.pi)), 0, mp.mpf(1) / 8, 5)


def table(name, f, slope, intervals, degree):
    """Of jit/emit/math_tables.cc: for each interval (lo, hi, about where) a centre x0, f(x0), and the coefficients of (f - f(x0)) / (x - x0). The centre is a float for
    which f and its slope are floats, too, as far as may be; 0 in the first one. f is odd: its first coefficient there is given less 1."""
    columns = [[] for _ in range(degree + 2)]
    for i, (lo, hi, about) in enumerate(intervals):
        x0 = mp.mpf(0)
        if i:
            start, best = np.float32(about), None
            for k in range(-2000, 2001):
                x = mp.mpf(float(start + k * np.spacing(start)))
                lost = [abs(y - mp.mpf(float(np.float32(float(y))))) for y in (f(x), slope(x))]
                if (lost[0] < 2e-10 or best is None) and (best is None or lost[0] + lost[1] * (hi - lo) / 2 < best):
                    best, x0 = lost[0] + lost[1] * (hi - lo) / 2, x
        mid, half = (lo + hi) / 2 - x0, (hi - lo) / mp.mpf(2)
        rs = [mid + half * mp.cos(mp.pi * (2 * k + 1) / (2 * degree)) for k in range(degree)]
        values = [(f(x0 + r) - f(x0)) / r if abs(r) > mp.mpf(10) ** -15 else slope(x0) for r in rs]
        q = list(mp.lu_solve(mp.matrix([[r**k for k in range(degree)] for r in rs]), mp.matrix(values)))
        if not i:
            q = [q[k] - (k == 0) if k % 2 == 0 else mp.mpf(0) for k in range(degree)]
        for column, y in zip(columns, [x0, f(x0)] + q):
            column.append(y)
    print(name)
    for column in columns:
        print("   {" + ", ".join(format(float(np.float32(float(y))), ".9g") for y in column) + "},")


w = mp.mpf("0.255")
table("erf: intervals of 0.255", mp.erf, lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x), [((i - mp.mpf(1) / 2) * w, (i + mp.mpf(1) / 2) * w, i * w * (0.8 if i == 1 else 1)) for i in range(16)], 5)
quarters = [(mp.mpf(2) ** (o - 3) * (1 + mp.mpf(j) / 4), mp.mpf(2) ** (o - 3) * (1 + mp.mpf(j + 1) / 4)) for o in range(8) for j in range(4)]
table("tanh: quarters of octaves from 1/8 on (whatever stands behind 10)", mp.tanh, lambda x: 1 - mp.tanh(x) ** 2,
      [(-mp.mpf(1) / 8, mp.mpf(1) / 8, 0)] + [(lo, hi, lo + (hi - lo) * 0.35) for lo, hi in quarters[:31]], 5)
