## How a work-group loads its part of the operands of a product: where each load starts, and what it gives.
##
## Rows beyond the last one are loaded as the last one, and not stored: only the end of k needs zeros. `along` says that
## neighbouring work-items load along the tile's side, otherwise along k; `lanes` > 1 that a load is a vector.
##
## Which tile of which matrix, and which part of k, a work-group computes: bands of tiles below each other first, so that
## the columns they share stay in the cache.
<%def name="which()">
  const long down = (m + ${t.rows - 1}) / ${t.rows}, across = (n + ${t.columns - 1}) / ${t.columns};
  long group = get_group_id(0);
  const long tile = group % (down * across); group /= down * across;
  const long part = group % parts; group /= parts;
  const long matrix = group;
  const long band = tile / (${band} * across) * ${band}, high = min(down - band, (long)${band});
  const long in_band = tile - band * across;
  const long am_first = (band + in_band % high) * ${t.rows}, bn_first = in_band / high * ${t.columns};
% for axis in range(rank):
  { const long c = group % batch${axis}; group /= batch${axis}; ao += c * ab${axis}; bo += c * bb${axis}; }
% endfor
  const long afirst = am_first, bfirst = bn_first;
% if update and (update.lower or update.mirrored):
  /* no return before a barrier, which PoCL 3.0 gets wrong: nothing is read, multiplied once, and nothing written */
  const bool above = bn_first >= am_first + ${t.rows};
  const long from = part * part_depth, to = above ? from : min(k, from + part_depth), stored = above ? 0 : m;
% else:
  const long from = part * part_depth, to = min(k, from + part_depth), stored = m;
% endif
% if update and update.scaled:
  co += matrix * cm; d_o += matrix * dm;
% else:
  co += (part * matrices + matrix) * m * n;
% endif
</%def>
<%def name="value(o, at)" filter="trim">
% if complex_ and o.dtype_kind == 'c' and update and (update.conjugated if o.name == 'b' else update.adjoint):
(${W})(${o.name}p[${at}].x, -${o.name}p[${at}].y)
% elif complex_ and o.dtype_kind == 'c':
convert_${W}(${o.name}p[${at}])
% elif complex_:
(${W})(${real(o, at)}, 0)
% else:
${real(o, at)}
% endif
</%def>
<%def name="real(o, at)" filter="trim">
% if o.packed:
${o.packed.load.format(at=at, p=f'{o.name}p')}
% elif o.dtype_kind == 'b':
(${o.name}p[${at}] != 0)
% elif complex_:
${o.name}p[${at}]
% else:
(${W})${o.name}p[${at}]
% endif
</%def>
## Where load q of a work-item starts, and its place in local memory.
<%def name="place(o)">
<% units = o.side // o.lanes if o.along else t.depth // o.lanes %>
% for q in range(o.loads):
  const int ${o.name}v${q} = item + ${q * items};
% if o.along:
  const int ${o.name}d${q} = ${o.name}v${q} / ${units}, ${o.name}i${q} = ${o.name}v${q} % ${units} * ${o.lanes};
% else:
  const int ${o.name}i${q} = ${o.name}v${q} / ${units}, ${o.name}d${q} = ${o.name}v${q} % ${units} * ${o.lanes};
% endif
  long ${o.name}at${q} = ${o.name}o + min(${o.name}first + ${o.name}i${q}, ${o.extent} - ${o.lanes if o.along else 1}) * ${o.outer} + (from + ${o.name}d${q}) * ${o.inner};
% endfor
</%def>
<%def name="fetch(o)">
% for q in range(o.loads):
% if o.lanes > 1:
      ${o.name}r${q} = *(__global const ${W}${o.lanes}*)(${o.name}p + ${o.name}at${q});
% else:
      ${o.name}r${q} = ${value(o, f'{o.name}at{q}')};
% endif
      ${o.name}at${q} += step_${o.name};
% endfor
</%def>
## The same where k ends within the step.
<%def name="fetch_tail(o)">
% for q in range(o.loads):
% if o.lanes > 1 and not o.along:
      ${o.name}r${q} = (${W}${o.lanes})(${', '.join(f'{o.name}d{q} + {l} < left ? ({W}){o.name}p[{o.name}at{q} + {l}] : ({W})0' for l in range(o.lanes))});
% elif o.lanes > 1:
      ${o.name}r${q} = (${W}${o.lanes})(0);
      if (${o.name}d${q} < left) ${o.name}r${q} = *(__global const ${W}${o.lanes}*)(${o.name}p + ${o.name}at${q});
% else:
      ${o.name}r${q} = (${W})(0);
      if (${o.name}d${q} < left) ${o.name}r${q} = ${value(o, f'{o.name}at{q}')};
% endif
      ${o.name}at${q} += step_${o.name};
% endfor
</%def>
## A step's elements on their way to registers; the first one always, as it is multiplied whatever it holds.
<%def name="waiting(start, always=False)">
    if (${start} + ${t.depth} <= to) {
${fetch(a)}
${fetch(b)}
    } else ${'' if always else f'if ({start} < to) '}{
      const long left = to - (${start});
${fetch_tail(a)}
${fetch_tail(b)}
    }
</%def>
