"""Small programs that the fuzzer is to pass over: NumPy leaves open, or does as nobody wants, what comes out."""

from __future__ import annotations

import numpy as np

__all__ = ["MEANT", "OPEN"]

# Lines, each with where it rounds, of which NumPy leaves open what the last one makes of the data.
OPEN = {
    "integers whose sum cancels": ("int64", [2**63 - 1, 0, 1, -(2**63)], [("v1 = xp.mean(v0)", "operands")]),
    "steps rounded to float16": ("bool", [0] * 648, [("v1 = xp.logaddexp.reduce(v0)", "operands")]),
    "1 added to what is small": ("complex128", [0.0009, 0.0], [("v1 = xp.log1p(v0)", "result")]),
    "a NaN's sign": ("float32", [0.0], [("v1 = v0 / v0", "result"), ("v2 = xp.signbit(v1)", "complex")]),
    "which of two zeros is the least": (
        "float32",
        [0.0, -0.0],
        [("v1 = xp.minimum.accumulate(v0)", ""), ("v2 = v1.view('int32')", "")],
    ),
    "a NaN's payload": ("float16", [0.0], [("v1 = xp.arccosh(v0)", "result"), ("v2 = v1.view('bool')", "")]),
    "a function that overflows float16 on its way": ("float16", [12.54], [("v1 = xp.i0(v0)", "result")]),
    "a function that overflows float32 on its way": ("float32", [-90.3], [("v1 = xp.i0(v0)", "result")]),
    "a few bits of what is subnormal": (
        "float32",
        [-90],
        [("v1 = xp.exp(v0)", "result"), ("v2 = v1.astype('f8')", "")],
    ),
    "the part that is NaN": ("complex128", [-1e308, 1e308], [("v1 = xp.square(v0)", "complex"), ("v2 = v1.imag", "")]),
}

# Programs that differ as they are meant to, with what depends on that; the data, and lines of which the last matters.
MEANT = {
    "which part of a product with infinity is NaN": (
        ("float64", [1, 1, np.inf], ""),
        ("v1 = xp.matmul(v0[:, None], xp.ones((1, 2)) * (1 + 1j))", "v2 = v1.imag", "v3 = xp.nancumprod(v1, 0)"),
    ),
    "the direction of what overflows": (
        ("float32", [3.4e38, -3.4e38], ".view('complex64')"),
        ("v1 = xp.sign(v0)", "v2 = v1.real > 0.5"),
    ),
    "views of what NumPy has as scalars": (
        ("float64", [1, 2], ""),
        ("v1 = v0.mean()", "v2 = v1.ravel()", "v3 = v2[:]", "v3.put([0], 7)", "v4 = v1 + 1"),
    ),
    "views of an order that NumPy does not say": (
        ("int32", [0] * 12, ".reshape(4, 3).T"),
        ("v1 = xp.zeros(3)[v0]", "v2 = v1.reshape(-1)", "v1[v1 == 0] = 5.0", "v3 = v2.sum()"),
    ),
    "which complex NaN is the largest": (
        ("float32", [np.nan, 1, 2, np.nan, 1, 0], ".view('complex64')"),
        ("v1 = v0.max()", "v2 = xp.clip(v0, 1, v1)"),
    ),
    "places of unwrapped angles": (
        ("int32", [1, -1, -9, 8, 3, -8, -8, -2147483648, -6, -4, -9, 0, -5, 2, 0, 3], ""),
        ("v1 = xp.unwrap(v0)", "v2 = v1[..., None] == v1"),
    ),
    "an ndarray that is twice the same": (
        ("float32", [1, 2], ""),
        (
            "v1 = xp.asarray(h0)",
            "v2 = xp.asarray(h0)",
            "v2.shape = (2, 1)",
            "v3 = xp.copy(v1) + 1",
        ),
    ),
    "an ndarray that is read-only by another name": (
        ("float32", [1, 2], ""),
        ("v1 = xp.asarray(h0)", "v2 = xp.asarray(h0)", "v1.setflags(write=False)", "v2[0] = 5"),
    ),
    "places of insert that int8 does not hold": (
        ("int8", [126, 126, 126], ""),
        ("v1 = xp.insert(xp.arange(127), v0, -1)", "v2 = v1 + 1"),
    ),
    "an extent that int8 does not hold": (
        ("int8", [1, 2], ""),
        ("v1 = xp.insert(xp.arange(200), v0, -1)",),
    ),
    "a scalar that its new dtype does not hold": (
        ("uint64", [2**63 + 1], ".reshape(())"),
        ("v1 = v0 << 0", "v2 = xp.zeros(3, 'i2')", "v2[...] = v1"),
    ),
    "a scalar that is written": (("int8", [0, 3], ""), ("v1 = v0.prod()", "v2 = xp.array_repr(v1)")),
    "a dtype that has been unpickled": (
        ("int16", [0], ""),
        ("v1 = pickle.loads(pickle.dumps(v0))", "v2 = xp.require(v1, 'int16', 'C')"),
    ),
    "an ndarray without elements": (
        ("float32", [], ""),
        ("v1 = xp.asarray(h0)", "v1.shape = (0, 1)"),
    ),
    "a correlation with what does not vary": (
        ("int64", [0, 7, 7, 0, 1, 0, 0, 0, 0], ".reshape(3, 3)"),
        ("v1 = xp.corrcoef(xp.sinc(xp.rad2deg(v0)))", "v2 = xp.isnan(v1)"),
    ),
    "a logarithm of 1 and a little, in place": (
        ("float32", [0, 3.65e-5, 1, 1], ".view('complex64')"),
        ("xp.log1p(v0, out=v0)", "v1 = v0.real * 2"),
    ),
    "a mask that is written to": (
        ("bool", [1] * 9, ".reshape(3, 3)"),
        ("xp.copyto(v0, False, where=v0.T)", "v1 = v0 | False"),
    ),
    "places that are out of bounds": (
        ("float16", [1, 2, 3], ""),
        ("v0.put(xp.array([0, 9], int), 7)", "v1 = v0 + 1"),
    ),
    "places that an index in Fortran order names twice": (
        ("int32", [0, 1, 1, 0], ".reshape(2, 2).T"),
        ("v1 = xp.zeros(2)", "v1[v0] += np.array([[1, 2], [3, 4]])", "v2 = v1 + 1"),
    ),
    "a scalar that is not copied": (
        ("uint32", [0], ""),
        ("v1 = xp.sum(v0)", "v2 = xp.array(v1, copy=False, ndmin=1)", "v3 = v0 + 1"),
    ),
    "what looks at an order that NumPy does not say": (
        ("float32", [0, 1, 2, 3, 4, 5, 6, 7], ".reshape(2, 2, 2).T"),
        ("v1 = v0[np.array([0, 1])]", "v2 = v1.ravel('K')", "v3 = v1.tobytes('A')", "v4 = xp.isfortran(v1[0])"),
    ),
    "which of equal keys comes first": (
        ("float64", [-0.0, 0.0, 0.0, -0.0] + [0.0] * 12, ""),
        ("v0.sort(0)", "v1 = format(v0)", "v2 = xp.signbit(xp.median(v0))"),
    ),
    "the sign of a zero that complex factors make": (
        ("complex64", [0, 0, 1, 1, -3, -2, 0], ""),
        ("v1 = xp.sqrt(v0)", "v2 = v1.cumprod(0)", "v3 = xp.angle(v2)"),
    ),
    "a mean that is not finite": (
        ("complex64", [np.inf], ""),
        ("v1 = xp.mean(v0, where=xp.array([True]))", "v2 = xp.less_equal(0 * xp.ones(1), v1)"),
    ),
    "what is equal to a number if it is rounded so": (
        ("complex64", [0, 1, 0], ""),
        ("v1 = xp.acosh(xp.cos(v0))", "v1[(v1 != 1)] = (-2+1j)", "v2 = v1 + 1"),
    ),
    "what is lost beside 1": (
        ("float32", [1.1754944e-38, 0, 1, 0], ".view('complex64')"),
        ("v1 = xp.log1p(v0)", "v2 = v1 != 0"),
    ),
    "a logarithm computed as it is told": (
        ("float64", [0, 0.008339389784041074], ".view('complex128')"),
        ("v1 = xp.log1p(v0, dtype='complex128')",),
    ),
    "which NaN it was that is sorted": (
        ("int64", [-2, -3], ""),
        ("v1 = v0.view('float64')", "v1.sort()", "v2 = v0 + 1"),
    ),
    "the host's array of nothing, read-only by another name": (
        ("float16", [], ""),
        ("v1 = xp.asarray(h0)", "v1.setflags(write=False)", "v2 = xp.asarray(h0)"),
    ),
    "the same, by a view of it": (
        ("float64", [], ""),
        ("v1 = xp.asarray(h0)", "v1.flags.writeable = False", "v2 = xp.asarray(h0.T)"),
    ),
    "a view of what is read-only as a view of nothing": (
        ("float16", [0.0], ".reshape(1, 1)"),
        ("v1 = xp.diagonal(v0, -1)", "v2 = xp.tile(v1, 3)", "v3 = xp.flipud(v2)"),
    ),
    "a polynomial without roots, Python's number in NumPy": (
        ("uint16", [], ""),
        ("v1 = xp.poly(v0)", "v2 = xp.rollaxis(v1, 0, 0)"),
    ),
    "the text of a number that NumPy takes for an array": (
        ("int64", [0], ""),
        ("v1 = v0.max(None)", "v2 = xp.array_str(v1)"),
    ),
    "arrays in a list, which NumPy's function does not ask": (
        ("uint8", [0, 0, 0, 0], ".reshape(2, 2)"),
        ("v1 = xp.gradient(v0)", "v2 = np.nanstd(v1, 0)"),
    ),
    "a view broadcast whose array is read-only": (
        ("float16", [1, 2], ""),
        ("v1 = v0.transpose()", "v0.flags.writeable = False", "v2 = [x.copy() for x in xp.broadcast_arrays(v1, 3)]"),
    ),
    "quantiles of nothing but NaN": (
        ("float32", [np.nan], ".reshape(1, 1)"),
        ("v1 = xp.nanquantile(v0, [0.25, 0.75], 1)",),
    ),
    "float16 that NumPy leaves unsorted": (
        ("float16", [-1.25, -0.25, 0.5, 1.75, -2] * 1000, ""),
        ("v1 = xp.sort(v0)", "v2 = xp.median(v0)"),
    ),
    "a histogram by such a sort": (
        ("float16", [-1.25, -0.25, 0.5, 1.75, -2] * 1000, ""),
        ("v1 = xp.histogram(v0, [0, 1, 2, 5])[0]",),
    ),
    "a logarithm of many equal terms": (
        ("int64", [0] * 148_800, ""),
        ("v1 = xp.logaddexp.reduce(v0)",),
    ),
    "a logarithm of a sum near 1": (
        ("float64", [-1.0, -2.25, 0.75, 0.5], ""),
        ("v1 = xp.logaddexp2(v0, xp.asarray(-0.9912) + v0 / 1024)", "v2 = v1 == v1[0]"),
    ),
    "what a mask leaves out of an output of another dtype": (
        ("float64", [5, 6, 7], ""),
        ("v1 = xp.not_equal(v0, v0[::-1], out=v0, where=v0 <= 2)", "v2 = v0 + 1"),
    ),
}
