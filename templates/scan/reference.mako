## Scan, the sequential reference: one work-item goes along each line, COMBINE after every LOAD, a STORE of every state.
##
##            i = 0   1   2  ...  n-1
##   line 0:  x0  x0.x1  (x0.x1).x2 ...        `block` lines side by side, row by row, where they lie
##   line 1:  ...                              closer together than the elements of a line
##
## segmented  The positions `at` cut each line; a work-item takes one segment and stores its last state only:
##
##            at[s] <= i < at[s+1]     where that is none: at[s] alone; the last segment goes to the end
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="lines" file="/lib/lines.mako"/>
<%namespace name="monoids" file="/lib/monoids.mako"/>
<% seen = 'signed_state(state[l])' if m.algebra == 'compensated' else 'state[l]' %>
<%def name="store(position)">
        const ${out.lane} y_0 = finish(${seen});
        ${access.store_element(out, out.base, position, 'y_0')}
</%def>
<%def name="load(position)">
% for s in inputs.operands:
        ${access.load(s, s.base, position)}
% endfor
</%def>
${monoids.types(m)}
${monoids.identity(m)}
${getattr(monoids, m.algebra)(m)}
${getattr(monoids, m.algebra + '_finish')(m, m.narrow_result)}
HELPER state_t begin(const ${m.value_type} x) { state_t r; ${' '.join(f'r.{n} = {text};' for n, text in first)} return r; }
% if m.algebra == 'compensated':
## A sum of zeros of negative sign keeps it, as in NumPy's accumulate, though its error is zero of positive sign.
HELPER state_t signed_state(state_t r) {
% for part in ('.x', '.y') if m.complex else ('',):
  r.e${part} = r.e${part} == 0 ? -(${m.real_lane})0 : r.e${part};
% endfor
  return r;
}
% endif
ATTR __kernel __attribute__((reqd_work_group_size(${policy.work_group}, 1, 1)))
void scan(${', '.join(params)}) {
  ${access.prologue(everyone, inputs.prepare)}
  ${lines.units('u', 'units', policy)}
% if segmented:
    const ${I} segment = u / blocks;
    ${I} row = u - segment * blocks;
    const ${I} start = at[segment];
    const ${I} next = segment + 1 < segments ? (${I})at[segment + 1] : n;
    const ${I} stop = max((${I})(start + 1), next);
% else:
    ${I} row = u;
    const ${I} start = 0, stop = n;
% endif
    ${access.bases(I, everyone)}
% if rank:
    const ${I} across = (k0 + ${block - 1}) / ${block};
    const ${I} first = (row % across) * ${block};
    const int count = ${f'min(k0 - first, ({I}){block})' if block > 1 else '1'};
    row /= across;
% else:
    const int count = 1;
% endif
${lines.move(I, [s.name for s in everyone], 'k', 'row', rank, 1)}
    state_t state[${block}];
    for (int l = 0; l < count; ++l) {
${load('start')}
      state[l] = begin(${value.call(0)});
% if not segmented:
${store('start')}
% endif
    }
    for (${I} i = start + 1; i < stop; ++i) {
      for (int l = 0; l < count; ++l) {
${load('i')}
        state[l] = accumulate(state[l], ${value.call(0)});
% if not segmented:
${store('i')}
% endif
      }
    }
% if segmented:
    for (int l = 0; l < count; ++l) {
${store('segment')}
    }
% endif
  }
}
