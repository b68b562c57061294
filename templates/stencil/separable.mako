## Lines of weights on a GPU, down the columns of a tile and then along its rows, the taps sliding through registers.
##
##        |<- halo ->|<-- width -->|
##        +----------+-------------+------+                    +----------+-------------+------+
##        |  halo    |             |      |   down: columns    |          |             |      |   across: rows
##        |       +--+-------------+      |   of `items`       |          |  outputs    |      |   of 4 outputs
##        |       |  outputs         :    |   outputs each     +----------+-------------+------+
##        +-------+-----------------------+
##        input, computed as it is read             between the two, in the output's dtype
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="forms" file="/stencil/forms.mako" inheritable="True"/>
<% G, K, TH, TW, SC, SR = policy.work_group, policy.line_items, plan.height, plan.width, plan.columns, plan.rows %>
## acc_i = the window of each of `count` outputs, from the values v[i + t * step]
<%def name="slide(line, count, step, first, weights)">
${t.lane} acc[${count}];
<% n = line.taps %>
<% order = list(range(n)) if not exact else [n - 1, *range(n - 1)] if line.form == 'line' else [n // 2, *range(n // 2)] %>
% for number, k in enumerate(order):
{
  const ${t.lane} w_ = w[${weights + k}];
  _Pragma("unroll")
  for (int i = 0; i < ${count}; ++i)
% if number == 0:
    acc[i] = v[i + ${first + k * step}] * w_;
% elif exact and line.form != 'line':
    acc[i] = madd(acc[i], v[i + ${first + k * step}] ${'+' if line.form == 'even' else '-'} v[i + ${first + (n - 1 - k) * step}], w_);
% else:
    acc[i] = madd(acc[i], v[i + ${first + k * step}], w_);
% endif
}
% endfor
</%def>
${forms.helpers()}
% if plan.down and plan.across:
HELPER ${t.lane} kept(const ${t.lane} a) {
% for line in kept:
  ${line}
% endfor
}
% endif
ATTR __kernel __attribute__((reqd_work_group_size(${G}, 1, 1)))
void stencil(${', '.join(params)}) {
  ${access.prologue(everyone, prepare)}
  const ${t.lane} outside = cval;
  const int lid = get_local_id(0);
  ${I} rest = get_group_id(0);
  const ${I} x0 = rest % across * ${TW};
  rest /= across;
  const ${I} y0 = rest % down * ${TH};
  rest /= down;
% for a in reversed(range(rank)):
  const ${I} o${a} = ${f'rest % m{a}' if a else 'rest'};
% if a:
  rest /= m${a};
% endif
% endfor
  __local ${t.lane} tile[${plan.local_elements}] __attribute__((aligned(32)));
  const ${I} first_x = x0 - ${plan.halo_before}, first_y = y0 - ${plan.down.before if plan.down else 0}, nx = kx * inner;
  if (first_x >= 0 && first_y >= 0 && first_x + ${SC} <= nx && first_y + ${SR} <= ky) {
% if plan.wide_load:
    const ${I} from = ${' + '.join([*(f'o{a} * i0k{a}' for a in range(rank)), 'first_y * i0y + first_x'])};
    _Pragma("unroll")
    for (int e = lid; e < ${SR * SC // 4}; e += ${G}) {
      const int r = e / ${SC // 4}, c = (e - r * ${SC // 4}) * 4;
      ((__local ${t.lane}4 *)tile)[e] = *(__global const ${t.lane}4 *)(i0p + from + r * i0y + c);
    }
% else:
    _Pragma("unroll 4")
    for (int e = lid; e < ${SR * SC}; e += ${G}) {
      const int r = e / ${SC}, c = e - r * ${SC};
      const ${I} y = first_y + r, x = first_x + c;
      ${forms.bases([f'o{a}' for a in range(rank)], 'y')}
% for s in scalars.operands:
      const ${s.lane} ${s.name}_0 = ${access.element(s, s.base, 'x')};
% endfor
      tile[e] = ${scalar.call(0)};
    }
% endif
  } else {
    for (int e = lid; e < ${SR * SC}; e += ${G}) {
      const int r = e / ${SC}, c = e - r * ${SC};
      const ${I} y = bounded(first_y + r, ky, mode_y);
      ${I} x = first_x + c;
      if (x < 0 || x >= nx) {
        const ${I} q = (x >= 0 ? x : x - inner + 1) / inner, x_ = bounded(q, kx, mode_x);
        x = x_ < 0 ? -1 : x_ * inner + (x - q * inner);
      }
      ${t.lane} v = outside;
      if (y >= 0 && x >= 0) {
        ${forms.bases([f'o{a}' for a in range(rank)], 'y')}
% for s in scalars.operands:
        const ${s.lane} ${s.name}_0 = ${access.element(s, s.base, 'x')};
% endfor
        v = ${scalar.call(0)};
      }
      tile[e] = v;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const ${I} out_from = ${' + '.join([*(f'o{a} * {out.name}k{a}' for a in range(rank)), '0'])};
% if plan.down:
  for (int e = lid; e < ${SC * (TH // K)}; e += ${G}) {
    const int s = e / ${SC}, c = e - s * ${SC};
    ${t.lane} v[${K + plan.down.taps - 1}];
    _Pragma("unroll")
    for (int i = 0; i < ${K + plan.down.taps - 1}; ++i) v[i] = tile[(s * ${K} + i) * ${SC} + c];
    ${slide(plan.down, K, 1, 0, 0)}
% if plan.across:
    ## beyond the ends of a row stands the constant itself
    const bool empty = mode_x == 4 && (first_x + c < 0 || first_x + c >= nx);
    _Pragma("unroll")
    for (int i = 0; i < ${K}; ++i) tile[${SR * SC} + (s * ${K} + i) * ${SC} + c] = empty ? outside : kept(acc[i]);
% else:
    _Pragma("unroll")
    for (int i = 0; i < ${K}; ++i) {
      const ${I} row = y0 + s * ${K} + i, column = x0 + c;
      if (row < my && column < nx) {
        const ${out.type} y_0 = finish(acc[i]${', divisor' if divides else ''});
        ${access.store_element(out, f'out_from + row * {out.name}y', 'column', 'y_0')}
      }
    }
% endif
  }
% endif
% if plan.across:
% if plan.down:
  barrier(CLK_LOCAL_MEM_FENCE);
% endif
<% lead = plan.halo_before - plan.across.before * plan.inner %>
<% reach = 4 + lead + (plan.across.taps - 1) * plan.inner; vectors = -(-reach // 4) %>
  for (int e = lid; e < ${TH * (TW // 4)}; e += ${G}) {
    const int r = e / ${TW // 4}, c = (e - r * ${TW // 4}) * 4;
    ${t.lane} v[${4 * vectors}];
    __local const ${t.lane}4 *p = (__local const ${t.lane}4 *)(tile + ${(SR * SC) if plan.down else 0} + r * ${SC} + c);
% for i in range(vectors):
    { const ${t.lane}4 q = p[${i}]; v[${4 * i}] = q.x; v[${4 * i + 1}] = q.y; v[${4 * i + 2}] = q.z; v[${4 * i + 3}] = q.w; }
% endfor
    ${slide(plan.across, 4, plan.inner, lead, plan.down.taps if plan.down else 0)}
    const ${I} row = y0 + r, column = x0 + c;
    if (row < my) {
% if plan.wide_store:
      if (column < mx * inner)
        *(__global ${out.storage}4 *)(yp + out_from + row * ${out.name}y + column) = (${out.storage}4)(${', '.join(f"finish(acc[{i}]{', divisor' if divides else ''})" for i in range(4))});
% else:
      _Pragma("unroll")
      for (int i = 0; i < 4; ++i)
        if (column + i < mx * inner) {
          const ${out.type} y_0 = finish(acc[i]${', divisor' if divides else ''});
          ${access.store_element(out, f'out_from + row * {out.name}y', '(column + i)', 'y_0')}
        }
% endif
    }
  }
% endif
}
