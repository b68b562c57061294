## Stencil on a CPU: each work-item takes a run of tiles, computes the input under one, halo included, into memory
## that its cache holds, and then every output of the tile from there, row by row in vectors.
##
##        |<-low_x->|<-- width -->|
##        +---------+-------------+------+  ^ low_y
##        |  halo   |             |      |  v        Where the halo leaves the array, its positions
##        |      +--+-------------+      |           are those the mode names, or the constant.
##        |      |  outputs         :    |
##        +------+-----------------------+           deep: one such plane for every plane of the window
##        pitch: elements from row to row
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="forms" file="/stencil/forms.mako" inheritable="True"/>
<%def name="stage_edge(low, high)">
for (long at_ = ${low}; at_ < ${high}; ++at_) {
  const long e = first_x + at_;
  const long q = (e >= 0 ? e : e - inner + 1) / inner, x_ = bounded(q, kx, mode_x);
  ${t.lane} v = outside;
  if (x_ >= 0) {
    const long x = x_ * inner + (e - q * inner);
% for s in scalars.operands:
    const ${s.lane} ${s.name}_0 = ${access.element(s, s.base, 'x')};
% endfor
    v = ${forms.staged_value(scalar.call(0), True)};
  }
  line[at_] = v;
}
</%def>
<%def name="outputs(count, partial=False)">
{
  __global const ${t.lane} *q = at + x;
  ${forms.window([f'q + {b * V}' for b in range(count)])}
% for b in range(count):
  {
    const ${out.type} y_0 = finish(a_${b}${', divisor' if divides else ''});
% if partial:
    const int m = tw - x;
    ${access.store_partial(out, out.base, f'(x0 + x + {b * V})', 'm', 'y')}
% else:
    ${access.store(out, out.base, f'(x0 + x + {b * V})', 'y')}
% endif
  }
% endfor
}
</%def>
${forms.helpers()}
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void stencil(${', '.join(params)}) {
  ${access.prologue(everyone, prepare, [('w', 'wo')] if weighted else ())}
  const ${t.lane} outside = ${forms.staged_value('cval', True)};
  const long group = get_group_id(0), groups = get_num_groups(0);
  __global ${t.lane} *tile = scratch + group * size;
  for (long u = units * group / groups, end = units * (group + 1) / groups; u < end; ++u) {
    long rest = u / across;
    const long x0 = (u - rest * across) * width, y0 = rest % down * height;
    rest /= down;
    const long th = min(height, my - y0), tw = min(width, mx * inner - x0);
% for a in reversed(range(rank)):
    const long o${a} = ${f'rest % m{a}' if a else 'rest'};
% if a:
    rest /= m${a};
% endif
% endfor
    const long n = tw + span_x, first_x = x0 + low_x;
    const long left = min(max(-first_x, 0L), n), right = max(min(kx * inner - first_x, n), left);
% if deep:
    for (long p = 0; p < planes; ++p)
% endif
    for (long r = 0; r < th + span_y; ++r) {
      __global ${t.lane} *line = tile + r * pitch${' + p * plane' if deep else ''};
      const long y = bounded(y0 + low_y + r, ky, mode_y);
% for a in range(rank):
      const long z${a} = ${f'bounded(o{a} + shifts[p * {rank} + {a}], k{a}, mode{a})' if deep else f'o{a}'};
% endfor
      if (${' || '.join(['y < 0', *(f'z{a} < 0' for a in range(rank) if deep)])}) {
        for (long j = 0; j < n; ++j) line[j] = outside;
      } else {
        ${forms.bases([f'z{a}' for a in range(rank)], 'y')}
        ${stage_edge('0', 'left')}
        long j = left;
        for (; j + ${V} ${'<' if any(s.access == 'pairs' for s in inputs.operands) else '<='} right; j += ${V}) {
% for s in inputs.operands:
          ${access.load(s, s.base, '(first_x + j)')}
% endfor
% if V > 1:
          vstore${V}(${forms.staged_value(value.call(0))}, 0, line + j);
% else:
          line[j] = ${forms.staged_value(value.call(0))};
% endif
        }
        ${stage_edge('j', 'n')}
      }
    }
    for (long r = 0; r < th; ++r) {
      __global const ${t.lane} *at = tile + r * pitch;
      const long ${out.base} = ${' + '.join([*(f'o{a} * {out.name}k{a}' for a in range(rank)), f'(y0 + r) * {out.name}y'])};
      long x = 0;
% if blocks > 1:
      for (; x + ${blocks * V} <= tw; x += ${blocks * V}) ${outputs(blocks)}
% endif
      for (; x + ${V} <= tw; x += ${V}) ${outputs(1)}
% if V > 1:
      if (x < tw) ${outputs(1, True)}
% endif
    }
  }
}
