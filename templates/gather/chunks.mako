## Gather and scatter on a CPU: elements named by numbers, moved as plain bits.
##
##   result   [before axes] [list] [after axes]        y, contiguous
##   source   [before axes] [chosen axes] [after axes]  z, any strides: where the chosen axes are, by the number
##
## gather   y[p, i, q] = z[p, number(i), q]
## scatter  z[p, number(i), q] = y[p, i, q], for numbers of which none repeats
## own      the same for any: each work-item goes through the whole list and writes, in order, to the elements
##          that it owns, a part of all numbers; so the last of numbers that repeat stays
## check    nothing is moved: numbers out of bounds are found before a scatter
## resolve  y[i] = number(i), in bounds
##
## rows     (there are after axes) A unit is a row of n0 elements; else `V` neighbours in the list.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="lines" file="/lib/lines.mako"/>
<%namespace name="shared" file="/lib/gather.mako" inheritable="True"/>
<% moves = op in ('gather', 'scatter', 'own') %>
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
% else:
      zp[${z}] = yp[${'0' if single else y}];
% endif
</%def>
## The inputs of the numbers at position j of the list, and at the neighbours after it.
<%def name="load(j)">
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
      ${f'if ({w} < {m})' if m else ''} { ${shared.resolve(f'k_{w}')} }
% endfor
% if op == 'own':
% for w in range(V):
      const int mine_${w} = (k_${w} >= low) & (k_${w} < high)${f' & ({w} < {m})' if m else ''};
% endfor
      if (!(${' | '.join(f'mine_{w}' for w in range(V))})) continue;
% endif
% for w in range(V):
% if moves:
      ${f'if (mine_{w})' if op == 'own' else f'if ({w} < {m})' if m else ''} {
        ${I} zb = z_start; ${choose(f'k_{w}')} ${transfer(f'y_start + j + {w}', 'zb')}
      }
% elif op == 'resolve':
      ${f'if ({w} < {m})' if m else ''} yp[j + ${w}] = k_${w};
% endif
% endfor
</%def>
${value.text}
ATTR __kernel __attribute__((reqd_work_group_size(${work_group}, 1, 1)))
void ${op}(${', '.join(params)}) {
  ${access.prologue(inputs.operands, inputs.prepare)}
% if moves:
  zp += zo;
% endif
% if moves or op == 'resolve':
  yp += yo;
% endif
% if op == 'own':
  const long low = bound * get_group_id(0) / get_num_groups(0), high = bound * (get_group_id(0) + 1) / get_num_groups(0);
  for (long u = 0; u < units; ++u) {
% else:
  ${lines.units('u', 'units', policy)}
% endif
% if rows:
    ${I} row = u;
    const ${I} y_start = (${I})u * n0;
    ${I} zb = 0;
% for a in range(after_rank):
    { const ${I} c = row % a${a}; row /= a${a}; zb += c * za${a}; }
% endfor
    const ${I} j = row % count;
    row /= count;
    ${lines.move(I, ['z'], 'b', 'row', before_rank)}
    ${load('j')}
    long k_0 = ${value.call(0)};
    ${shared.resolve('k_0')}
% if op == 'own':
    if (k_0 < low || k_0 >= high) continue;
% endif
    ${choose('k_0')}
    for (${I} q = 0; q < n0; ++q) { ${transfer('y_start + q', 'zb + q' if close else 'zb + q * zs0')} }
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
