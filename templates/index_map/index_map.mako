## Index map: result[c] = source[map(c)], a map per axis, elements moved as plain bits.
##
##   result  y, contiguous, c0 the innermost axis; walked from first to last
##   source  z, any strides
##
## With t = c - before and a source of m elements, a map gives
##
##   same        c
##   wrap        t modulo m
##   edge        0 before the source, m - 1 after it
##   reflect     t folded at the first and the last element       d c b [a b c d] c b a
##   symmetric   t folded beside the first and the last element   c b a [a b c d] d c b
##   constant    -1 before the source, -2 after it: no element, but the axis's value for that side
##
## Positions come in runs: `count` neighbours in the result, `step` (1, 0, -1) apart in the source. On a CPU a work-item
## walks its chunk run by run; on a GPU it takes `V` neighbours, which are mostly part of one run. With `copies` the
## whole is written so many times, and read once.
<%namespace name="lines" file="/lib/lines.mako"/>
<%namespace name="runs" file="/lib/runs.mako"/>
<%
    rank = len(maps)
    holes = [a for a in range(rank) if maps[a] == 'constant']
    outer_holes = [a for a in holes if a]
    arguments = {'same': 'c{0}, n{0}'}
    call = lambda a: f"at_{maps[a]}({arguments.get(maps[a], 'c{0}, n{0}, m{0}, b{0}').format(a)}, &step, &count)"
%>
typedef ${I} I;
typedef ${storage} T;
% if 'same' in maps:
HELPER I at_same(const I c, const I n, I *step, I *count) {
  *step = 1; *count = n - c;
  return c;
}
% endif
<%def name="inside()">
  const I t = c - b;
  *step = 1;
  if (t >= 0 && t < m) { *count = m - t; return t; }
</%def>
<%def name="modulo(period)">
  const I period = ${period}, r = t % period, k = r < 0 ? r + period : r;
  if (k < m) { *count = m - k; return k; }
</%def>
% if 'wrap' in maps:
HELPER I at_wrap(const I c, const I n, const I m, const I b, I *step, I *count) {
  ${inside()}
  const I r = t % m, k = r < 0 ? r + m : r;
  *count = m - k;
  return k;
}
% endif
% if 'edge' in maps:
HELPER I at_edge(const I c, const I n, const I m, const I b, I *step, I *count) {
  ${inside()}
  *step = 0; *count = t < 0 ? -t : n - c;
  return t < 0 ? 0 : m - 1;
}
% endif
% if 'reflect' in maps:
HELPER I at_reflect(const I c, const I n, const I m, const I b, I *step, I *count) {
  ${inside()}
  ${modulo('2 * (m - 1)')}
  *step = -1; *count = period - k;
  return period - k;
}
% endif
% if 'symmetric' in maps:
HELPER I at_symmetric(const I c, const I n, const I m, const I b, I *step, I *count) {
  ${inside()}
  ${modulo('2 * m')}
  *step = -1; *count = period - k;
  return period - 1 - k;
}
% endif
% if holes:
HELPER I at_constant(const I c, const I n, const I m, const I b, I *step, I *count) {
  ${inside()}
  *step = 0; *count = t < 0 ? -t : n - c;
  return t < 0 ? -1 : -2;
}
% endif
## The place in the source of the outer axes; where one of them names no element, `open` and its value.
<%def name="outside()">
% if outer_holes:
      open = 0;
% endif
      zb = 0;
% for a in reversed(range(1, rank)):
      s = ${call(a)};
% if a in holes:
      if (s < 0) { open = 1; fill = s == -1 ? l${a} : r${a}; s = 0; }
% endif
      zb += s * zs${a};
% endfor
</%def>
## One step onwards along the axes from `a` on.
<%def name="carry(a)">
% if a < rank:
      if (++c${a} == n${a}) { c${a} = 0; ${carry(a + 1)} }
% endif
</%def>
## The coordinates of position p.
<%def name="decode()">
      I c_rest = (I)p;
% for a in range(rank):
% if a < rank - 1:
      I c${a} = c_rest % n${a}; c_rest /= n${a};
% else:
      I c${a} = c_rest;
% endif
% endfor
      I zb, s, step, count;
% if holes:
      T fill = (T)(0);
% endif
% if outer_holes:
      int open;
% endif
</%def>
% if policy.chunked:
${runs.copying(V, storage, stream)}
% endif
ATTR __kernel __attribute__((reqd_work_group_size(${policy.work_group}, 1, 1)))
void index_map(${', '.join(params)}) {
  zp += zo;
% for a in holes:
  const T l${a} = ${word(f'l{a}')}, r${a} = ${word(f'r{a}')};
% endfor
% if policy.chunked:
  const long group = get_group_id(0), groups = get_num_groups(0);
  const long last = size * (group + 1) / groups;
  long p = size * group / groups;
  ${decode()}
  while (p < last) {
    ${outside()}
    const long row = min(last, p + (n0 - c0));
    while (p < row) {
      s = ${call(0)};
      count = min((long)count, row - p);
% if 0 in holes:
      if (s < 0) fill_run(yp + p, s == -1 ? l0 : r0, count);
      else
% endif
% if outer_holes:
      if (open) fill_run(yp + p, fill, count);
      else
% endif
% if copies:
      count = min(count, (I)(16384 / sizeof(T)));  // read again, they come from the cache
      for (long r = 0; r < copies; ++r) copy_run(yp + r * size + p, zp + zb + s * zs0, step * zs0, count);
% else:
      copy_run(yp + p, zp + zb + s * zs0, step * zs0, count);
% endif
      p += count;
      c0 += count;
    }
    c0 = 0;
    ${carry(1)}
  }
% else:
  const long units = (size + ${V - 1}) / ${V};
  ${lines.units('u', 'units', policy)}
    const long p = u * ${V};
    const int m = (int)min((long)${V}, size - p);
    ${decode()}
    ${outside()}
    s = ${call(0)};
    T ${', '.join(f'v_{w} = (T)(0)' for w in range(V))};
    if (min(count, n0 - c0) >= ${V}${' && !open' if outer_holes else ''}${' && s >= 0' if 0 in holes else ''}) {
      const I z_first = zb + s * zs0, d = step * zs0;
% for w in range(V):
      v_${w} = zp[z_first${f' + {w} * d' if w else ''}];
% endfor
    } else {
% for w in range(V):
% if w:
      if (++c0 == n0) {
        c0 = 0;
        ${carry(1)}
        if (${w} < m) { ${outside()} }
      }
      if (${w} < m) s = ${call(0)};
% endif
% if outer_holes or 0 in holes:
      {
        int hole = ${w} >= m;
% if outer_holes:
        if (open) { hole = 1; v_${w} = fill; }
% endif
% if 0 in holes:
        if (s < 0) { hole = 1; v_${w} = s == -1 ? l0 : r0; }
% endif
        if (!hole) v_${w} = zp[zb + s * zs0];
      }
% else:
      if (${w} < m) v_${w} = zp[zb + s * zs0];
% endif
% endfor
    }
% if copies:
    __global T *y = yp + p;
    for (long r = 0; r < copies; ++r, y += size) {
% else:
    {
      __global T *y = yp + p;
% endif
% if V > 1:
      if (m == ${V}) *(__global ${storage}${V}*)y = (${storage}${V})(${', '.join(f'v_{w}' for w in range(V))});
      else {
% for w in range(V - 1):
        if (${w} < m) y[${w}] = v_${w};
% endfor
      }
% else:
      *y = v_0;
% endif
    }
  }
% endif
}
