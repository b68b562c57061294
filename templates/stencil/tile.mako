## Stencil on a GPU: a work-group computes the input under one tile, halo included, into local memory, and then the
## outputs of the tile, `items` per work-item, neighbouring work-items neighbouring outputs.
##
##        |<-low_x->|<-- width -->|
##        +---------+-------------+------+  ^ low_y
##        |  halo   |             |      |  v        Where the halo leaves the array, its positions
##        |      +--+-------------+      |           are those the mode names, or the constant.
##        |      |  outputs         :    |
##        +------+-----------------------+           deep: one such plane for every plane of the window
##        pitch: elements from row to row
##
## Windows that do not fit local memory are read where they lie, each tap through the modes.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="forms" file="/stencil/forms.mako" inheritable="True"/>
<% W, G, R = width, policy.work_group, policy.items %>
${forms.helpers()}
ATTR __kernel __attribute__((reqd_work_group_size(${G}, 1, 1)))
void stencil(${', '.join(params)}) {
  ${access.prologue(everyone, prepare, [('w', 'wo')] if weighted else ())}
  const ${t.lane} outside = ${forms.staged_value('cval', True)};
  const int lid = get_local_id(0);
  ${I} rest = get_group_id(0);
  const ${I} x0 = rest % across * ${W};
  rest /= across;
  const ${I} y0 = rest % down * ${G * R // W};
  rest /= down;
% for a in reversed(range(rank)):
  const ${I} o${a} = ${f'rest % m{a}' if a else 'rest'};
% if a:
  rest /= m${a};
% endif
% endfor
% if not direct:
  __local ${t.lane} tile[${local_size}];
  {
    const int th = min((${I})${G * R // W}, (${I})(my - y0)) + span_y, n = min((${I})${W}, (${I})(mx * inner - x0)) + span_x;
    const bool whole = x0 + low_x >= 0 && x0 + low_x + n <= kx * inner;
    for (int l = lid / ${lanes}; l < th${' * planes' if deep else ''}; l += ${G // lanes}) {
% if deep:
      const int p = l / th, r = l - p * th;
      __local ${t.lane} *line = tile + p * plane + r * pitch;
% else:
      const int r = l;
      __local ${t.lane} *line = tile + r * pitch;
% endif
      const ${I} y = bounded(y0 + low_y + r, ky, mode_y);
% for a in range(rank):
      const ${I} z${a} = ${f'bounded(o{a} + shifts[p * {rank} + {a}], k{a}, mode{a})' if deep else f'o{a}'};
% endfor
      const bool empty = ${' || '.join(['y < 0', *(f'z{a} < 0' for a in range(rank) if deep)])};
      ${forms.bases([f'z{a}' for a in range(rank)], 'y')}
      if (whole && !empty) {
        _Pragma("unroll 4")
        for (int j = lid & ${lanes - 1}; j < n; j += ${lanes}) {
          const ${I} x = x0 + low_x + j;
% for s in scalars.operands:
          const ${s.lane} ${s.name}_0 = ${access.element(s, s.base, 'x')};
% endfor
          line[j] = ${forms.staged_value(scalar.call(0), True)};
        }
      } else {
        for (int j = lid & ${lanes - 1}; j < n; j += ${lanes}) {
          ${I} x = x0 + low_x + j;
          if (x < 0 || x >= kx * inner) {
            const ${I} q = (x >= 0 ? x : x - inner + 1) / inner, x_ = bounded(q, kx, mode_x);
            x = x_ < 0 ? -1 : x_ * inner + (x - q * inner);
          }
          ${t.lane} v = outside;
          if (!empty && x >= 0) {
% for s in scalars.operands:
            const ${s.lane} ${s.name}_0 = ${access.element(s, s.base, 'x')};
% endfor
            v = ${forms.staged_value(scalar.call(0), True)};
          }
          line[j] = v;
        }
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
% endif
% if direct:
  for (int r = 0; r < ${R}; ++r) {
    const int e = lid + r * ${G};
    const ${I} row = y0 + e / ${W}, column = x0 + (e & ${W - 1});
    if (row < my && column < mx * inner) {
      ${forms.window(['0'])}
      const ${I} ${out.base} = ${' + '.join([*(f'o{a} * {out.name}k{a}' for a in range(rank)), f'row * {out.name}y'])};
      const ${out.type} y_0 = finish(a_0${', divisor' if divides else ''});
      ${access.store_element(out, out.base, 'column', 'y_0')}
    }
  }
% else:
% if blocks > 1:
## What lies outside the array is computed from whatever the tile holds there, and not stored.
% for r in range(R):
  __local const ${t.lane} *at${r} = tile + (lid + ${r * G}) / ${W} * pitch + ((lid + ${r * G}) & ${W - 1});
% endfor
  ${forms.window([f'at{r}' for r in range(R)])}
% for r in range(R):
  {
    const ${I} row = y0 + (lid + ${r * G}) / ${W}, column = x0 + ((lid + ${r * G}) & ${W - 1});
    if (row < my && column < mx * inner) {
      const ${I} ${out.base} = ${' + '.join([*(f'o{a} * {out.name}k{a}' for a in range(rank)), f'row * {out.name}y'])};
      const ${out.type} y_0 = finish(a_${r}${', divisor' if divides else ''});
      ${access.store_element(out, out.base, 'column', 'y_0')}
    }
  }
% endfor
% else:
  for (int r = 0; r < ${R}; ++r) {
    const int e = lid + r * ${G};
    const ${I} row = y0 + e / ${W}, column = x0 + (e & ${W - 1});
    if (row < my && column < mx * inner) {
      __local const ${t.lane} *at = tile + e / ${W} * pitch + (e & ${W - 1});
      ${forms.window(['at'])}
      const ${I} ${out.base} = ${' + '.join([*(f'o{a} * {out.name}k{a}' for a in range(rank)), f'row * {out.name}y'])};
      const ${out.type} y_0 = finish(a_0${', divisor' if divides else ''});
      ${access.store_element(out, out.base, 'column', 'y_0')}
    }
  }
% endif
% endif
}
