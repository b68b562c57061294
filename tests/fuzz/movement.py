"""The table of operations: what makes, moves and writes arrays; `operations.py` says how a row is written."""

from __future__ import annotations

from .row import rows

VIEWS = rows(
    """
    6| {a}[{key}]
    2| {a}.T
    {a}.mT
    2| {a}.transpose({perm})
    xp.transpose({a}, ({perm}))
    xp.permute_dims({a}, ({perm}))
    xp.matrix_transpose({a})
    {a}.swapaxes({axis}, {axis})
    xp.swapaxes({a}, {axis}, {axis})
    xp.moveaxis({a}, {axis}, {axis})
    xp.rollaxis({a}, {axis}, {axis})
    2| {a}.reshape({rs})
    xp.reshape({a}, {rs1}, order={order})
    {a}.reshape({rs}, order={order})
    {a}.ravel()
    {a}.ravel({order})
    xp.ravel({a}, {order})
    xp.expand_dims({a}, {axis})
    xp.squeeze({a})
    {a}.squeeze()
    {z}.real
    {z}.imag
    xp.real({z})
    xp.imag({z})
    2| {a}.real
    {r}.imag
    {mat}.diagonal({k})
    xp.diagonal({mat}, {k})
    xp.diag({mat}, {k})
    xp.flip({a}, {axes})
    xp.flipud({a})
    xp.fliplr({mat})
    xp.rot90({mat}, {n})
    2| xp.broadcast_to({a}, ({p},) + {a}.shape)
    xp.broadcast_to({a}, {a}.shape)
    [x.copy() for x in xp.broadcast_arrays({a}, {b})]
    xp.lib.stride_tricks.sliding_window_view({a}, {p}, {axis})
    xp.atleast_1d({a})
    xp.atleast_2d({a})
    xp.atleast_3d({a})
    xp.asarray({a})
    xp.asanyarray({a})
    {a}.view()
    {i}.view({dt})  ## are_bools({i}, {dt})
    {f}.view({dt})  ## are_bools({f}, {dt})
    xp.split({a}, [1, 2])
    xp.array_split({a}, {p}, {axis})
    xp.hsplit({mat}, [1])
    xp.vsplit({mat}, [1])
    xp.dsplit(xp.atleast_3d({a}), [1])
    xp.split({a}, {p}, {axis})
    xp.unstack({a}, axis={axis})  ## np.size({a}) <= 1000
    list({a})  ## np.size({a}) <= 1000
    """,
)
PARTS = rows(
    """
    {tup}[{n}]
    3| {tup}[0]
    """
)

COPIES = rows(
    """
    {a}.copy()
    {a}.copy({order})
    xp.copy({a}, {order})
    3| {a}.astype({dt})  ## fits({a}, {dt})
    {a}.astype({dt}, order={order})  ## fits({a}, {dt})
    {a}.astype({dt}, copy=False)  ## fits({a}, {dt})
    {a}.astype({dt}, casting={casting})  ## fits({a}, {dt})
    xp.astype({a}, {dt})  ## fits({a}, {dt})
    xp.array({a}, {dt}, order={order})  ## fits({a}, {dt})
    xp.array({a}, copy=False, ndmin={p})
    xp.array({a}, copy=None, ndmin=3)
    xp.asarray({a}, {dt}, {order})  ## fits({a}, {dt})
    xp.asfortranarray({a})
    xp.ascontiguousarray({a})
    xp.asarray_chkfinite({a})
    xp.require({a}, {dt}, 'C')  ## fits({a}, {dt})
    {a}.flatten({order})
    xp.zeros_like({a}, order={order})
    xp.ones_like({a}, {dt})
    xp.full_like({a}, {s})  ## fits({s}, {a}.dtype)
    xp.full_like({a}, {s}, {dt}, order={order})  ## fits({s}, {dt})
    xp.empty_like({a}, {dt}, {order}); {new}.fill(0)
    copy.copy({a})
    copy.deepcopy({a})
    pickle.loads(pickle.dumps({a}))
    {a}.byteswap().byteswap()
    """,
)

MOVES = rows(
    """
    6| {a}[{akey}]
    xp.take({a}, {idx}, axis=0)
    xp.take({a}, {fidx})
    {a}.take({fidx}, mode={mode})  ## is_near({fidx})
    {a}.take({idx}, 0, mode={mode})  ## is_near({idx}, len({a}))
    xp.take_along_axis({a}, xp.argsort({a}, axis={axis}, kind='stable'), axis={axis2})
    xp.compress({bools}, {a}, axis=0)
    {a}.compress({bools})
    xp.extract({mask}, {a})
    {a}[{mask}]
    xp.where({mask}, {a}, {b})
    xp.where({a} != 0, {b}, {c})
    xp.where({a})
    xp.nonzero({a})
    {a}.nonzero()
    xp.argwhere({a})
    xp.flatnonzero({a})
    xp.choose({mask}.astype(int), [{a}, {b}])
    ({mask}).choose([{b}, {a}])
    xp.choose({i} % 3, [{b}, {c}, {s}], mode={mode})
    xp.select([{mask}, {mask2}], [{a}, {b}], {s})
    xp.piecewise({r}, [{mask}], [{s}, lambda x: x + 1])
    xp.concatenate(({a}, {same}), axis={axis})
    xp.concat([{a}, {same}])
    xp.concatenate(({a}, {b}), axis=None)
    xp.concatenate(({a}, {same}), dtype={dt}, casting={casting})  ## fits({a}, {dt}) and fits({same}, {dt})
    xp.stack([{a}, {same}], {axis})
    xp.hstack(({a}, {same}))
    xp.vstack(({a}, {same}))
    xp.dstack(({a}, {same}))
    xp.column_stack(({a}, {same}))
    xp.block([[{a}, {same}], [{same}, {a}]])
    xp.append({a}, {b})
    xp.append({a}, {same}, {axis})
    xp.insert({a}, {p}, {s}, axis={axis})  ## fits({s}, {a}.dtype)
    xp.insert({v}, {idx}, {s})  ## fits({s}, {v}.dtype)
    xp.delete({a}, {idx}, axis=0)
    xp.delete({v}, {key1})
    xp.repeat({a}, {p}, {axisn})
    {a}.repeat({p})
    xp.repeat({v}, xp.arange({v}.size) % 3)
    xp.tile({a}, {p})
    xp.tile({a}, ({p}, 1))
    xp.roll({a}, {n}, {axisn})
    xp.roll({a}, ({n}, {n2}), axis=({axis}, {axis2}))
    xp.resize({a}, ({p}, 3))
    xp.pad({a}, {p})
    xp.pad({a}, 1, mode={padmode})
    xp.pad({a}, (1, 2), constant_values={s})  ## fits({s}, {a}.dtype)
    xp.trim_zeros({v})
    xp.tril({a}, {k})
    xp.triu({a}, {k})
    xp.diagflat({v}, {k})
    xp.diag({v}, {k})
    xp.meshgrid({v}, {w})
    xp.meshgrid({v}, {w}, indexing='ij', sparse={bool})
    {a}[xp.ix_({bools})]
    xp.ix_({v} > 0, [0, 0])
    xp.packbits({bi})
    xp.packbits({bi}, axis={axis}, bitorder={bits})
    xp.unpackbits({a}.astype('uint8'), axis={axisn})  ## fits({a}, 'uint8')
    xp.apply_along_axis(lambda x: x[::-1] * 2, {axis}, {a})
    xp.apply_over_axes(xp.max, {a}, [{axis}])
    """
)

CREATION = rows(
    """
    xp.arange({n}, {stop}, {p})
    xp.arange({p}, dtype={dt})
    xp.zeros({shape}, {dt}, order={order2})
    xp.ones({a}.shape, {dt})
    xp.full({a}.shape, {s}, {dt})  ## fits({s}, {dt})
    xp.full({shape}, {s})
    xp.full(({p}, 3), {v}[:1])
    xp.eye({p}, {stop}, {k}, {dt})
    xp.identity({p})
    xp.tri({p}, {stop}, {k})
    xp.indices({shape})
    xp.indices({shape}, sparse=True)
    xp.fromfunction(lambda *x: sum(x), {shape})
    xp.fromiter(range({p}), {dt})
    xp.fromstring('1 2 3', {dt}, sep=' ')
    xp.tril_indices({p}, {k})
    xp.triu_indices({p}, {k})
    xp.tril_indices_from({mat}, {k})
    xp.triu_indices_from({mat}, {k})
    xp.diag_indices({p})
    xp.diag_indices_from(xp.zeros(({p}, {p})))
    xp.mask_indices({p}, xp.triu)
    xp.unravel_index({i} % {a}.size, {a}.shape)  ## np.size({a}) > 0
    xp.ravel_multi_index(({i} % 3, {i} % 4), (3, 4))
    xp.mgrid[0:{p}, -1:2]
    xp.ogrid[0:{p}, 0:1:0.25]
    xp.r_[{v}, 0, {w}]
    xp.c_[{v}, {v}]
    xp.linspace({n}, {stop}, {p}, endpoint={bool})
    xp.array({nested})
    xp.array({nested}, {dt})
    xp.array([{v}, {v}])
    xp.empty({shape}, {dt}).shape
    xp.broadcast_shapes({a}.shape, {b0}.shape)
    """
)

WRITES = rows(
    """
    8| !{t}[{key}] = {val}  ## fits({val}, {t}.dtype)
    5| !{t}[{akey}] = {val}  ## fits({val}, {t}.dtype)
    4| !{t}[{key}] {op}= {val}  ## fits({val}, {t}.dtype)
    4| !{t}[{akey}] {op}= {val}  ## fits({val}, {t}.dtype)
    8| !{t} {op}= {bt}
    2| !{t}[...] = {bt}  ## fits({bt}, {t}.dtype)
    3| !{t}[{mask}] = {s}  ## fits({s}, {t}.dtype)
    !{t}[{mask}] {op}= {s}
    !{t}.fill({s})  ## fits({s}, {t}.dtype)
    !xp.copyto({t}, {bt}, where={mask})  ## fits({bt}, {t}.dtype)
    !xp.copyto({t}, {bt}, casting='unsafe')  ## fits({bt}, {t}.dtype)
    !xp.putmask({t}, {mask}, {b})  ## fits({b}, {t}.dtype)
    !xp.place({t}, {mask}, {v})  ## fits({v}, {t}.dtype)
    !xp.put({t}, {fidx}, {b})  ## fits({b}, {t}.dtype)
    !{t}.put({fidx}, {s}, mode={mode})  ## fits({s}, {t}.dtype) and is_near({fidx})
    !xp.put_along_axis({t}, xp.zeros({t}.shape[:-1] + (1,), int), {s}, -1)  ## fits({s}, {t}.dtype)
    !xp.fill_diagonal({t}, {s})  ## fits({s}, {t}.dtype)
    !xp.fill_diagonal({t}, {s}, wrap=True)  ## fits({s}, {t}.dtype)
    !{t}.sort()
    !{t}.sort({axis})
    !{t}.partition(0); {t}.sort()
    !{t}.flat[{key1}] = {s}  ## fits({s}, {t}.dtype)
    !{t}.flat = {b}  ## fits({b}, {t}.dtype)
    !{t}.real = {b}  ## fits({b}, {t}.real.dtype)
    !{t}.imag = {s}
    !{t}.T[{k}] = {s}  ## fits({s}, {t}.dtype)
    !{t}.byteswap(True).byteswap(True)
    !{t}.setflags(write=False)
    !{t}.shape = {t}.shape + (1,)
    !{t}.shape = (-1,)
    !{t}.flags.writeable = {bool}
    !xp.add.at({t}, {idx}, {s})  ## fits(np.add({t}, np.array({s})), {t}.dtype)
    !xp.maximum.at({t}, {idx}, {s})  ## fits(np.maximum({t}, np.array({s})), {t}.dtype)
    !xp.negative.at({t}, {idx})
    !{t}[0], {t}[-1] = {t}[-1].copy(), {t}[0].copy()
    !xp.nan_to_num({t}, copy=False)
    !xp.clip({t}, {s}, {s2}, out={t})
    """,
    rounds="complex",
)

HOST = rows(
    """
    !{h}[...] = {s}  ## fits({s}, {h}.dtype)
    3| !{h}[{hkey}] = {s}  ## fits({s}, {h}.dtype)
    2| !{h} += 1
    !{h}[::-1].sort()
    """
)
SHARED = rows(
    """
    4| xp.asarray({h})
    xp.asarray({h}[::-1])
    xp.asarray({h}.T)
    xp.frombuffer({h}.copy(), {h}.dtype)
    xp.from_dlpack({nobool})
    """,
    shares=True,
) + rows(
    """
    xp.array({h})
    h: np.array({a})
    h: np.array({a}, {dt})  ## fits({a}, {dt})
    h: np.asarray({a}).copy()
    np.concatenate([{a}, {same}])
    {a}[np.array([0, -1])]
    """
)
