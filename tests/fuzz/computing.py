"""The table of operations: what computes; `operations.py` says how a row is written."""

from __future__ import annotations

from .row import rows

CHOICES = rows(
    """
    {a}.max({axes})
    xp.max({a}, axis={axes}, keepdims={bool})
    xp.amax({a}, {axisn})
    xp.amin({a}, {axisn})
    xp.min({a}, axis={axes}, initial={s}, where={mask})
    {a}.min({axes}, keepdims={bool})
    xp.ptp({r}, {axisn})
    {a}.any({axes})
    {a}.all({axes}, keepdims={bool})
    xp.any({a}, axis={axes}, where={mask})
    xp.all({a}, axis={axes})
    {a}.argmax({axisn})
    {a}.argmin({axisn})
    xp.argmax({a}, {axis}, keepdims={bool})
    xp.argmin({a})
    xp.count_nonzero({a}, axis={axes}, keepdims={bool})
    xp.nanmax({r}, {axisn})
    xp.nanmin({r}, {axisn}, keepdims={bool})
    xp.nanargmax({r}, {axisn})
    xp.nanargmin({r})
    xp.sort({a}, {axisn})
    xp.sort({a}, kind='stable')
    xp.argsort({a}, {axisn}, kind='stable')
    {a}.argsort(kind='stable')
    xp.partition({a}, 0)[..., :1]
    xp.take_along_axis({v}, xp.argpartition({v}, 0), 0)[:1]
    {v}.argpartition(0)[:0]
    xp.lexsort(({v}, {v}[::-1]))
    xp.sort_complex({a})
    xp.searchsorted(xp.sort({v}), {w}, side={side})
    xp.sort({v}).searchsorted({w})
    xp.digitize({r}, xp.unique({v}))  ## ascending(xp.unique({v}))
    xp.unique({a})
    xp.unique({a}, return_index=True, return_inverse=True, return_counts=True)
    xp.unique({a}, axis={axis})
    xp.sort(xp.unique_values({v}))
    xp.unique_counts({a})
    xp.unique_inverse({a})
    xp.unique_all({a})
    xp.union1d({v}, {w})
    xp.intersect1d({v}, {w})
    xp.intersect1d({v}, {w}, return_indices=True)
    xp.setdiff1d({v}, {w})
    xp.setxor1d({v}, {w})
    xp.isin({a}, {v}, invert={bool})
    xp.bincount({i} % 7)  ## nonnegative({i} % 7)
    xp.bincount({i})  ## tame({i}, 1000)
    xp.histogram({r}, [0, 1, 2, 5])
    xp.isneginf({r})
    xp.isposinf({r})
    xp.isreal({a})
    xp.iscomplex({a})
    xp.iscomplexobj({a})
    xp.isrealobj({a})
    xp.isfortran({a})
    xp.isscalar({a})
    xp.array_equal({a}, {b0})
    xp.array_equal({a}, {a}, equal_nan=True)
    xp.array_equiv({a}, {b0})
    xp.ndim({a})
    xp.shape({a})
    xp.size({a})
    xp.size({a}, {axis})
    xp.iterable({a})
    xp.result_type({a}, {b})
    xp.can_cast({a}.dtype, {dt})
    xp.common_type({f})
    xp.min_scalar_type({a})
    xp.shares_memory({a}, {a}[:1])
    xp.may_share_memory({a}, {a}.copy())
    {a}.dtype
    {a}.shape
    {a}.size
    {a}.ndim
    {a}.nbytes
    {a}.itemsize
    len({a})
    bool({a})
    int({a})
    {a}.item()
    {a}.item({n})
    {a}.tolist()
    {a}.tobytes({order})
    bytes({a})  ## isinstance({a}, np.ndarray)
    {s} in {a}
    repr({a})
    str({a})
    xp.array2string({i}, separator=',')
    xp.array_repr({a})
    xp.array_str({a})
    format({a})
    [x.ndim for x in {a}]  ## np.size({a}) <= 1000
    [int(x) for x in {i}.ravel()[:3]]
    list({a}.flat)[:2]  ## np.size({a}) <= 1000
    {a}.flat[{key1}]
    [k for k, x in xp.ndenumerate({a})][:5]  ## np.size({a}) <= 1000
    {a}.getfield({dt})  ## are_bools({a}, {dt})
    {a}.setfield({s}, {a}.dtype)  ## fits({s}, {a}.dtype)
    {a}.conj()
    {a}.conjugate()
    xp.nan_to_num({a})
    xp.real_if_close({a})
    """
)

ARITHMETIC = rows(
    """
    10| {a} {op} {b}
    3| {s} {op} {a}
    5| {a} {cmp} {b}
    2| {s} {cmp} {a}
    3| ({a} {op} {b}) {op2} {c}
    2| ({a} - {b}) ** 2
    xp.add({h}, {a})
    {a} * {h}
    {h} - {a}
    -{a}
    +{a}
    abs({a})
    ~{bi}
    3| {bi} {bitop} {bi2}
    {bi} {bitop} {s}
    divmod({r}, {b})
    xp.clip({r}, {s}, {s2})
    {a}.clip({s}, {b})
    {a}.clip(None, {s})
    xp.clip({a}, min={s}, max={s2})
    {a}.round({n})
    xp.round({a}, {p})
    xp.around({a})
    xp.fix({r})
    xp.diff({a}, axis={axis})
    xp.diff({a}, {p})
    xp.ediff1d({a})
    xp.outer({v}, {w})
    xp.kron({mat}, {mat2})  ## small_product({mat}, {mat2})
    xp.vander({v}, {p})  ## tame({v}, 9)
    {x}.max() - {x}.min()
    ({a} > {s}) & ({a} < {s2})
    """,
    rounds="complex",
)

DIFFERENCES = rows("xp.cross({a}[..., :3], {b0}[..., :3])", rounds="complex operands")

SUMS = rows(
    """
    4| {a}.sum({axes})
    xp.sum({a}, axis={axes}, keepdims={bool})
    xp.sum({a}, axis={axes}, dtype={dt})  ## fits({a}, {dt})
    xp.sum({a}, axis={axes}, where={mask}, initial={s})
    2| {a}.mean({axes})
    xp.mean({a}, axis={axes}, keepdims={bool})
    xp.mean({a}, where={mask})
    {a}.prod({axes})
    xp.prod({a}, axis={axisn}, where={mask})
    {a}.var({axes})
    xp.var({a}, axis={axes}, ddof={bit}, keepdims={bool})
    {a}.std({axes})
    xp.std({a}, axis={axisn}, ddof={bit})
    {a}.cumsum({axisn})
    xp.cumsum({a}, {axis}, dtype={dt})  ## fits({a}, {dt})
    {a}.cumprod({axisn})
    xp.cumprod({a}, {axis})
    xp.cumulative_sum({v}, include_initial={bool})
    xp.cumulative_prod({v})
    {mat}.trace()
    xp.trace({mat}, {k})
    xp.nansum({a}, {axisn})
    xp.nanprod({a}, {axisn})
    xp.nanmean({a}, {axisn})
    xp.nanvar({f}, {axisn})
    xp.nanstd({f}, {axisn}, keepdims={bool})
    xp.nancumsum({a}, {axisn})
    xp.nancumprod({a}, {axisn})
    xp.average({a}, axis={axisn})
    xp.average({v}, weights=xp.arange({v}.size) + 1)
    4| {mat} @ {mm}
    xp.matmul({mat}, {mm})
    xp.dot({mat}, {mm})
    {v}.dot({v})
    xp.vdot({v}, {v})
    xp.inner({a}, {same})
    xp.tensordot({mat}, {mm}, 1)
    xp.einsum('ij,jk->ik', {mat2d}, {mm})
    xp.einsum('i,i', {v}, {v})
    xp.einsum('ij->ji', {mat2d})
    xp.einsum('ij->j', {mat2d})
    xp.einsum('ij,ij->i', {mat2d}, {same})
    xp.einsum_path('ij,jk->ik', {mat2d}, {mm})[0]
    xp.vecdot({a}, {same})
    xp.matvec({mat}, {mat}[..., 0, :])
    xp.vecmat({mat}[..., 0], {mat})
    xp.convolve({v}, {w}, {cmode})
    xp.correlate({v}, {w}, {cmode})
    xp.cov({v}, {v})
    xp.corrcoef({mat2d})
    xp.trapezoid({a}, axis={axis})
    xp.gradient({v})
    xp.gradient({mat2d}, axis={axis})
    xp.interp({v}, [0, 1, 2], [1, 5, 2])
    xp.quantile({r}, {q}, axis={axisn})
    xp.percentile({r}, 30, {axisn})
    xp.median({a}, {axisn})
    xp.nanmedian({r}, {axisn})
    xp.nanquantile({r}, {q}, {axisn})
    xp.nanpercentile({r}, 70)
    xp.polyval({v}[:4], {a})
    xp.polymul({v}[:4], {w}[:3])
    xp.polyadd({v}, {w})
    xp.polysub({v}, {w})
    xp.polyder({v})
    xp.polyint({v})
    xp.polydiv({v}[:4], {w}[:2])
    xp.unwrap({v})
    xp.histogram({r}, {p})
    xp.histogram_bin_edges({r}, {p})
    xp.histogram2d({v}, {v}, 3)
    xp.histogramdd({mat2d}[:, :2], 3)
    xp.bincount({i} % 5, weights={i})  ## nonnegative({i} % 5)
    xp.linalg.norm({a})
    xp.linalg.norm({mat2d}, axis={axis})
    xp.linalg.trace({mat})
    xp.fft.fft({v})
    xp.add.reduceat({v}, {idx})
    xp.logaddexp.reduce({v})
    xp.poly({v}[:3])  ## {v}.size > 0
    !{tmat} @= {tmat}.T
    8| (3 - {mat}) @ {mat}[..., 0, :]
    8| (2 * {mat} - {mat}[..., :1, :]).max(axis=-1)
    xp.linalg.norm(2 * {mat} - {mat}[..., :1, :], axis=-1)
    !xp.dot({tmat}, {tmat}[0], out={tmat}[0])
    !xp.einsum("ij,j->i", {tmat}, {tmat}[0], out={tmat}[0])  ## {tmat}.ndim == 2
    !xp.cumsum({t}, axis=0, out={t})
    !xp.sum({tmat}, axis=0, out={tmat}[0])  ## sum_fits({tmat}, {tmat}.dtype)
    !xp.max({tmat}, axis=0, out={tmat}[-1])
    !xp.mean({tmat}, axis=1, out={tmat}[:, 0])  ## {tmat}.dtype.char in "fdFD"
    !xp.median({tmat}, axis=0, out={tmat}[0])  ## {tmat}.dtype.char in "fdFD"
    !xp.cumsum({tmat}, axis=1, out={tmat}[::-1])
    !xp.round({t}, 1, out={t}[::-1])
    !xp.take({t}, {idx}, out={t}[: len({idx})])  ## {t}.size > 0
    !xp.clip({t}[::-1], {s}, {s2}, out={t})
    xp.sum({a}, axis=0, out=xp.zeros({a}.shape[1:], {dt}))  ## sum_fits({a}, {dt})
    """,
    rounds="operands",
)

ROUNDED = rows(
    """
    xp.angle({z})
    xp.sinc({f})
    xp.i0({f})
    xp.hanning({p})
    xp.hamming({p})
    xp.blackman({p})
    xp.bartlett({p})
    xp.kaiser({p}, 3.0)
    xp.linspace({s}, {s2}, {p})
    xp.logspace(0, 1, {p})
    xp.geomspace(1, 9, {p})
    float({a})
    complex({a})
    {a} / {b}
    !{t} /= {bt}
    !{t} **= 2
    {f} ** {b}
    {f} ** 0.5
    xp.isclose({a}, {b})
    xp.allclose({a}, {b})
    xp.exp({f}).sum()
    xp.lib.scimath.sqrt({r})
    """,
    rounds="result",
)
