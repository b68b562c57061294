## Gather and scatter on a GPU: elements named by numbers, moved as plain bits.
##
##   result   [before axes] [list] [after axes]        y, contiguous
##   source   [before axes] [chosen axes] [after axes]  z, any strides: where the chosen axes are, by the number
##
## gather   y[p, i, q] = z[p, number(i), q]
## scatter  z[p, number(i), q] = y[p, i, q], for numbers of which none repeats
## check    nothing is moved: numbers out of bounds are found before a scatter
## resolve  y[i] = number(i), in bounds
## rise     n[0] = 1 where number(i) >= number(i + 1)
##
## Where numbers may repeat, the last one stays. Small elements, one per number, take a word of 64 bits each:
##
## offer    n[number(i)] = max(itself, i + 1 above the element y[i])
## collect  z[k] = the lower half of n[k], where its upper half is set
##
## and others three launches:
##
## mark     n[number(i)] = i                  any one of those that name the element
## claim    n[number(i)] = max(itself, i)     the last one
## settle   the scatter of i where n[number(i)] == i
##
## A unit is an element of the result (or a number, where nothing is moved). A work-group goes through neighbouring
## tiles, so that what numbers near each other name is still in its cache; its work-items take units a work-group
## apart, all of whose loads are in flight at once:
##
##   tile     0 1 2 3 | 0 1 2 3 | 0 1 2 3 ...      work-item of each unit; `in_flight` times
##
## Positions are divided by factors: the quotient is the upper half of a product, shifted.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="shared" file="/lib/gather.mako" inheritable="True"/>
<%
    moves = op in ('gather', 'scatter', 'settle')
    each = range(in_flight)
    tile = work_group * in_flight
%>
<%def name="quotient(x, n)" filter="trim">
% if divides:
(int)((mul_hi((uint)(${x}), ${n}_f) + (uint)(${x})) >> ${n}_s)
% else:
(${x}) / ${n}
% endif
</%def>
## Move the bases of `names` by a number over some axes, the innermost one first; the number is used up.
<%def name="move(names, prefix, number, rank, strides)">
% for a in range(rank):
      {
% if a < rank - 1:
        const ${I} rest = ${quotient(number, f'{prefix}{a}')}, c = ${number} - rest * ${prefix}${a};
        ${number} = rest;
% else:
        const ${I} c = ${number};
% endif
% for name, stride in zip(names, strides):
        ${name} += c * ${stride}${prefix}${a};
% endfor
      }
% endfor
</%def>
## Where unit u lies: j_w in the list, z_w in the array, k_w its number.
<%def name="place(w, u)">
      const ${I} u_${w} = min(${u}, last);
      ${I} z_${w} = 0, j_${w} = u_${w};
      long k_${w};
      {
% if rows:
        const ${I} row = ${quotient(f'u_{w}', 'n0')};
        z_${w} = (u_${w} - row * n0)${'' if close else ' * zs0'};
        j_${w} = row;
% for a in range(after_rank):
        { const ${I} rest = ${quotient(f'j_{w}', f'a{a}')}; z_${w} += (j_${w} - rest * a${a}) * za${a}; j_${w} = rest; }
% endfor
% endif
% if before_rank:
        ${I} outer = ${quotient(f'j_{w}', 'count')};
        j_${w} -= outer * count;
        ${move([f'z_{w}'], 'b', 'outer', before_rank, ['z'])}
% endif
% if list_rank:
% for s in inputs.operands:
        long ${s.base} = ${s.start if s.access == 'index' else '0'};
% endfor
        {
          ${I} position = j_${w};
          ${move([s.base for s in inputs.operands], 'l', 'position', list_rank, [s.name for s in inputs.operands])}
        }
% endif
% for s in inputs.operands:
        ${access.load(s, s.base, f'j_{w}')}
% endfor
        k_${w} = ${value.call(0)};
        ${shared.resolve(f'k_{w}')}
% if moves or op == 'collect':
        ${I} number = (${I})k_${w};
        ${move([f'z_{w}'], 'c', 'number', chosen_rank, ['z'])}
% endif
      }
</%def>
${value.text}
ATTR __kernel __attribute__((reqd_work_group_size(${work_group}, 1, 1)))
void ${op}(${', '.join(params)}) {
  ${access.prologue(inputs.operands, inputs.prepare)}
% if moves or op == 'collect':
  zp += zo;
% endif
% if moves or op in ('resolve', 'offer'):
  yp += yo;
% endif
  const ${I} last = (${I})(units - 1);
  const long tiles = (units + ${tile - 1}) / ${tile}, group = get_group_id(0), groups = get_num_groups(0);
  for (long t = tiles * group / groups, end = tiles * (group + 1) / groups; t < end; ++t) {
    const ${I} first = (${I})(t * ${tile}) + (${I})get_local_id(0);
% for w in each:
    ${place(w, f'first + {w * work_group}')}
% if op == 'rise':
    ${place(f'{w}n', f'first + {w * work_group + 1}')}
% endif
% endfor
% if op == 'gather':
% for w in each:
    const ${storage} v_${w} = zp[z_${w}];
% endfor
% elif moves or op == 'offer':
% for w in each:
    const ${storage} v_${w} = yp[${'0' if single else f'u_{w}'}];
% endfor
% endif
% if op in ('settle', 'collect'):
% for w in each:
    const ${note} n_${w} = notes[k_${w}];
% endfor
% endif
% for w in each:
    if (first + ${w * work_group} <= last) {
% if op == 'gather':
      yp[u_${w}] = v_${w};
% elif op == 'resolve':
      yp[u_${w}] = k_${w};
% elif op == 'scatter':
      zp[z_${w}] = v_${w};
% elif op == 'settle':
      if (n_${w} == (${note})j_${w}) zp[z_${w}] = v_${w};
% elif op == 'rise':
      if (u_${w} < last && k_${w} >= k_${w}n) notes[0] = 1;
% elif op == 'mark':
      ${'atom' if note == 'ulong' else 'atomic'}_xchg(notes + k_${w}, (${note})j_${w});
% elif op == 'claim':
      ${'atom' if note == 'ulong' else 'atomic'}_max(notes + k_${w}, (${note})j_${w});
% elif op == 'offer':
      atom_max(notes + k_${w}, (ulong)(j_${w} + 1) << 32 | v_${w});
% elif op == 'collect':
      if (n_${w} >> 32) zp[z_${w}] = (${storage})n_${w};
% endif
    }
% endfor
  }
}
