## Gather and scatter: elements named by numbers, moved as plain bits.
##
##   result   [before axes] [list] [after axes]        y, contiguous
##   source   [before axes] [chosen axes] [after axes]  z, any strides: where the chosen axes are, by the number
##
## gather   y[p, i, q] = z[p, number(i), q]
## scatter  z[p, number(i), q] = y[p, i, q]; one work-item only, where numbers may repeat: the last one stays
##
## Where many work-items scatter and numbers may repeat, three launches see to it that the last one stays:
##
## mark     w[number(i)] = i                  any one of those that name the element
## claim    w[number(i)] = max(itself, i)     the last one
## settle   the scatter of i where w[number(i)] == i
##
## check    nothing is moved: numbers out of bounds are found before a scatter
## resolve  y[i] = number(i), in bounds
##
## rows     (there are after axes) A unit is a row of n0 elements on a CPU, an element on a GPU; else `V`
##          neighbours in the list.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="lines" file="/lib/lines.mako"/>
<% listing = op in ('mark', 'claim', 'check') %>
## Check or bend a number into 0 .. bound - 1.
<%def name="resolve(k)">
% if mode == 'raise':
      if (${k} < 0) ${k} += bound;
      if (${k} < 0 || ${k} >= bound) { ${k} = 0; error[0] = 1; }
% elif mode == 'reversed':
      if (${k} < 0) ${k} += bound;
% elif mode == 'wrap':
      ${k} %= bound;
      if (${k} < 0) ${k} += bound;
% elif mode == 'clip':
      ${k} = ${k} < 0 ? 0 : ${k} >= bound ? bound - 1 : ${k};
% endif
</%def>
## Move zb by a number over the chosen axes.
<%def name="choose(k)">
      {
        ${I} c_number = (${I})${k};
        ${lines.move(I, ['z'], 'c', 'c_number', chosen_rank)}
      }
</%def>
<%def name="transfer(y, z)">
% if op == 'gather':
      yp[${y}] = zp[${z}];
% elif op == 'resolve':
      yp[${y}] = ${z};
% else:
      zp[${z}] = yp[${'0' if single else y}];
% endif
</%def>
## Where the inputs lie that do not go through memory in even steps along the list.
<%def name="bases(j)">
% if list_rank:
% for s in inputs.operands:
      long ${s.base} = ${s.start if s.access == 'index' else '0'};
% endfor
      {
        ${I} position = ${j};
        ${lines.move(I, [s.name for s in inputs.operands], 'l', 'position', list_rank)}
      }
% endif
</%def>
## The inputs of the numbers at position j of the list, and at the neighbours after it.
<%def name="load(j)">
${bases(j)}
% for s in inputs.operands:
      ${access.load(s, s.base, j)}
% endfor
</%def>
<%def name="load_some(j, m)">
% for s in inputs.operands:
      ${access.load_partial(s, s.base, j, m)}
% endfor
</%def>
<%def name="neighbours(m)">
% for w in range(V):
      long k_${w} = ${f'{w} < {m} ? {value.call(w)} : 0' if m else value.call(w)};
% endfor
% for w in range(V):
% if m:
      if (${w} < ${m}) {
% endif
      ${resolve(f'k_{w}')}
% if op == 'mark':
      atomic_xchg(winners + k_${w}, (int)(j + ${w}));
% elif op == 'claim':
      atomic_max(winners + k_${w}, (int)(j + ${w}));
% endif
% if m:
      }
% endif
% endfor
% if op == 'gather' and not m:
      ${storage} v_0${''.join(f', v_{w}' for w in range(1, V))};
% for w in range(V):
      { ${I} zb = z_start; ${choose(f'k_{w}')} v_${w} = zp[zb]; }
% endfor
% if whole and V > 1:
      *(__global ${storage}${V}*)(yp + y_start + j) = (${storage}${V})(${', '.join(f'v_{w}' for w in range(V))});
% else:
% for w in range(V):
      yp[y_start + j + ${w}] = v_${w};
% endfor
% endif
% elif not listing:
% for w in range(V):
      ${f'if ({w} < {m})' if m else ''} ${f'if (winners[k_{w}] == (int)(j + {w}))' if op == 'settle' else ''} {
% if op == 'resolve':
        ${transfer(f'j + {w}', f'k_{w}')}
% else:
        ${I} zb = z_start; ${choose(f'k_{w}')} ${transfer(f'y_start + j + {w}', 'zb')}
% endif
      }
% endfor
% endif
</%def>
${value.text}
ATTR __kernel __attribute__((reqd_work_group_size(${work_group}, 1, 1)))
void ${op}(${', '.join(params)}) {
% for s in inputs.operands:
% if s.access != 'index':
  ${s.p} += ${s.start};
% endif
% endfor
% for line in inputs.prepare:
  ${line}
% endfor
% if op in moving:
  zp += zo;
% endif
% if not listing:
  yp += yo;
% endif
  ${lines.units('u', 'units', policy)}
% if rows:
% if policy.chunked:
    ${I} row = u;
    const ${I} y_start = (${I})u * n0;
% else:
    const ${I} q = (${I})u % n0;
    ${I} row = (${I})u / n0;
% endif
    ${I} zb = 0;
% for a in range(after_rank):
    { const ${I} c = row % a${a}; row /= a${a}; zb += c * za${a}; }
% endfor
    const ${I} j = row % count;
    row /= count;
    ${lines.move(I, ['z'], 'b', 'row', before_rank)}
    ${load('j')}
    long k_0 = ${value.call(0)};
    ${resolve('k_0')}
% if op == 'settle':
    if (winners[k_0] != (int)j) continue;
% endif
    ${choose('k_0')}
% if policy.chunked:
% if close:
    for (${I} q = 0; q < n0; ++q) { ${transfer('y_start + q', 'zb + q')} }
% else:
    for (${I} q = 0; q < n0; ++q) { ${transfer('y_start + q', 'zb + q * zs0')} }
% endif
% else:
    ${transfer('u', 'zb + q * zs0')}
% endif
% else:
% if before_rank:
    ${I} row = (${I})u / blocks;
    const ${I} j = ((${I})u - row * blocks) * ${V}, y_start = row * count;
    ${I} zb = 0;
    ${lines.move(I, ['z'], 'b', 'row', before_rank)}
    const ${I} z_start = zb;
% else:
    const ${I} j = (${I})u * ${V}, y_start = 0, z_start = 0;
% endif
% if V == 1:
    ${load('j')}
    ${neighbours('')}
% else:
    if (j + ${V} <= count) {
      ${load('j')}
      ${neighbours('')}
    } else {
      const int m = (int)(count - j);
      ${load_some('j', 'm')}
      ${neighbours('m')}
    }
% endif
% endif
  }
}
