"""Render butterflies: transforms of a few values as unrolled C, and of large primes as loops.

Products are added by explicit ``fma``. A compiler would choose the products to fuse depending on the epilogue, so the
same transform would have different bits with different epilogues.
"""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.fft.roots import unit_roots

LOOPED = 16  # larger primes are rendered as loops
Value = tuple[str, str]


class Butterfly:
    """The discrete Fourier transform of `radix` complex values, in place.

    Parameters
    ----------
    radix : int
    real, imaginary : str
        Names of the arrays of real and imaginary parts, which may have vectors.
    scalar : str
        ``'float'`` or ``'double'``.
    """

    def __init__(self, radix: int, real: str, imaginary: str, scalar: str) -> None:
        self._scalar = scalar
        self._lines: list[str] = []
        self._count = 0
        if radix > LOOPED:
            self.text = _looped(radix, real, imaginary)
            return
        outputs = self._dft([(f"{real}[{k}]", f"{imaginary}[{k}]") for k in range(radix)])
        for k, (re, im) in enumerate(outputs):
            self._lines.append(f"{real}[{k}] = {re}; {imaginary}[{k}] = {im};")
        self.text = "{\n" + "\n".join(self._lines) + "\n}"

    def _new(self, text: str) -> str:
        self._count += 1
        self._lines.append(f"const T t{self._count}_ = {text};")
        return f"t{self._count}_"

    def _pair(self, re: str, im: str) -> Value:
        return self._new(re), self._new(im)

    def _dft(self, x: list[Value]) -> list[Value]:
        n = len(x)
        if n == 1:
            return x
        if n == 2:
            (a, b), (c, d) = x
            return [self._pair(f"{a} + {c}", f"{b} + {d}"), self._pair(f"{a} - {c}", f"{b} - {d}")]
        outer = next((p for p in (4, 2, 3, 5, 7) if n % p == 0 and n > p), n)
        if outer == n:
            return self._prime(x)
        inner = n // outer
        columns = [self._dft(x[k::inner]) for k in range(inner)]
        outputs: list[Value] = [("", "")] * n
        for j in range(outer):
            outputs[j::outer] = self._dft([self._times_root(columns[k][j], j * k, n) for k in range(inner)])
        return outputs

    def _times_root(self, value: Value, power: int, n: int) -> Value:
        """Multiply a value by a power of the n-th root of unity."""
        re, im = value
        quarter = 4 * power % (4 * n)
        if power % n == 0:
            return value
        if quarter == n:
            return im, self._new(f"-{re}")
        if quarter == 2 * n:
            return self._pair(f"-{re}", f"-{im}")
        if quarter == 3 * n:
            return self._new(f"-{im}"), re
        x, y = self._root(power, n)
        return self._pair(f"MULTIPLY_ADD({re}, {x}, -({im} * {y}))", f"MULTIPLY_ADD({re}, {y}, {im} * {x})")

    def _root(self, power: int, n: int) -> tuple[str, str]:
        root = unit_roots(np.asarray(power), n, np.dtype(np.complex128))
        return self._literal(float(root.real)), self._literal(float(root.imag))

    def _literal(self, value: float) -> str:
        return f"(T)({value!r}{'f' if self._scalar == 'float' else ''})"

    def _sum(self, products: list[Value], total: str = "") -> str:
        """Add products in order."""
        for a, b in products:
            total = f"MULTIPLY_ADD({a}, {b}, {total})" if total else f"{a} * {b}"
        return self._new(total)

    def _prime(self, x: list[Value]) -> list[Value]:
        """Transform a prime number of values. Sums and differences of x[k] and x[n - k] halve the multiplications."""
        n = len(x)
        half = n // 2
        sums = [self._pair(f"{x[k][0]} + {x[n - k][0]}", f"{x[k][1]} + {x[n - k][1]}") for k in range(1, half + 1)]
        differences = [
            self._pair(f"{x[k][0]} - {x[n - k][0]}", f"{x[k][1]} - {x[n - k][1]}") for k in range(1, half + 1)
        ]
        outputs = [("", "")] * n
        outputs[0] = self._pair(*(f"{x[0][part]} + {' + '.join(s[part] for s in sums)}" for part in (0, 1)))
        for j in range(1, half + 1):
            roots = [self._root(j * k, n) for k in range(1, half + 1)]
            symmetric, antisymmetric = [], []
            for part in (0, 1):
                symmetric.append(self._sum([(s[part], c) for s, (c, _) in zip(sums, roots, strict=True)], x[0][part]))
                antisymmetric.append(self._sum([(g[part], s) for g, (_, s) in zip(differences, roots, strict=True)]))
            (a, b), (c, d) = symmetric, antisymmetric
            outputs[j] = self._pair(f"{a} - {d}", f"{b} + {c}")
            outputs[n - j] = self._pair(f"{a} + {d}", f"{b} - {c}")
        return outputs


def _looped(n: int, real: str, imaginary: str) -> str:
    half = n // 2
    return f"""{{
  T sr[{half}], si[{half}], gr[{half}], gi[{half}];
  const T zr = {real}[0], zi = {imaginary}[0];
  T tr = zr, ti = zi;
  for (int k = 0; k < {half}; ++k) {{
    sr[k] = {real}[k + 1] + {real}[{n - 1} - k]; si[k] = {imaginary}[k + 1] + {imaginary}[{n - 1} - k];
    gr[k] = {real}[k + 1] - {real}[{n - 1} - k]; gi[k] = {imaginary}[k + 1] - {imaginary}[{n - 1} - k];
    tr += sr[k]; ti += si[k];
  }}
  {real}[0] = tr; {imaginary}[0] = ti;
  for (int j = 1; j <= {half}; ++j) {{
    T er = zr, ei = zi, hr = 0, hi = 0;
    int at = 0;
    for (int k = 0; k < {half}; ++k) {{
      at += j;
      at = at < {n} ? at : at - {n};
      const T c = (T)(roots{n}[2 * at]), s = (T)(roots{n}[2 * at + 1]);
      er = MULTIPLY_ADD(sr[k], c, er); ei = MULTIPLY_ADD(si[k], c, ei);
      hr = MULTIPLY_ADD(gr[k], s, hr); hi = MULTIPLY_ADD(gi[k], s, hi);
    }}
    {real}[j] = er - hi; {imaginary}[j] = ei + hr;
    {real}[{n} - j] = er + hi; {imaginary}[{n} - j] = ei - hr;
  }}
}}"""


def prime_table(n: int, scalar: str) -> str:
    """Return the declaration of the roots that a looped butterfly reads."""
    roots = unit_roots(np.arange(n), n, np.dtype(np.complex128))
    suffix = "f" if scalar == "float" else ""
    numbers = ", ".join(f"{part!r}{suffix}" for root in roots.tolist() for part in (root.real, root.imag))
    return f"__constant {scalar} roots{n}[{2 * n}] = {{{numbers}}};"
