## Down the columns of a reduction: each work-item takes every so many rows, X of them at a time, with a strip of outputs in `acc`.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="states" file="/lib/accumulators.mako"/>
<%def name="down(decode, place, enter, enter_partial, entering)">
<%
  parts = V // d.width
  block = m.block and (not masked or m.absorbs)
  def of_lanes(n):
      return f'lanes * {n}' if lanes == 0 else str(lanes * n)
%>
    for (; row + ${of_lanes(X - 1)} < row_last; row += ${of_lanes(X)}) {
% for x in range(X):
% for s in operands:
      ${I} ${s.base}_${x} = ${s.name}kept;
% endfor
      {
        ${I} number = row + ${of_lanes(x)};
        ${decode('r', 'number', reduced_rank, [at_row(s, x) for s in operands])}
      }
% endfor
      for (int v = 0; v < full; ++v) {
        const ${I} j = first + ${place('v')};
% for x in range(X):
% for s in operands:
        ${access.load(s, f'{s.base}_{x}', 'j', f'_{x}')}
% endfor
% endfor
% if block:
${states.enter(m, [(f'acc[v * {parts} + {w}]', ', '.join(entering(w, f'_{x}') for x in range(X))) for w in range(parts)], 'fast_block', capture(row_by_row, decode, enter, parts))}
% else:
% for w in range(parts):
        {
          acc_t a = acc[v * ${parts} + ${w}];
% for x in range(X):
          ${enter('a', f'_{x}', w, m.position)}
% endfor
          acc[v * ${parts} + ${w}] = a;
        }
% endfor
% endif
      }
% if V > 1:
      if (rest > 0) {
        const ${I} j = first + full * ${V};
% for x in range(X):
        {
% for s in operands:
          ${access.load_partial(s, f'{s.base}_{x}', 'j', 'rest')}
% endfor
          ${enter_partial(lambda w, c: f'acc[full * {parts} + {w}]', 'rest', 0)}
        }
% endfor
      }
% endif
    }
    for (; row < row_last; row += ${of_lanes(1)}) {
% for s in operands:
      ${I} ${s.base} = ${s.name}kept;
% endfor
      {
        ${I} number = row;
        ${decode('r', 'number', reduced_rank, operands)}
      }
      for (int v = 0; v < full; ++v) {
        const ${I} j = first + ${place('v')};
% for s in operands:
        ${access.load(s, s.base, 'j')}
% endfor
% for w in range(parts):
        ${enter(f'acc[v * {parts} + {w}]', '', w, m.position)}
% endfor
      }
% if V > 1:
      if (rest > 0) {
        const ${I} j = first + full * ${V};
% for s in operands:
        ${access.load_partial(s, s.base, 'j', 'rest')}
% endfor
        ${enter_partial(lambda w, c: f'acc[full * {parts} + {w}]', 'rest', 0)}
      }
% endif
    }
</%def>
## The values of a vector of outputs enter row by row. They are loaded again, so that the fast path needs not keep them.
<%def name="row_by_row(decode, enter, parts)">
<%
  def of_lanes(n):
      return f'lanes * {n}' if lanes == 0 else str(lanes * n)
%>
for (${I} next = row, stop = row + ${of_lanes(X)}; next < stop; next += ${of_lanes(1)}) {
% for s in operands:
  ${I} ${s.base} = ${s.name}kept;
% endfor
  {
    ${I} number = next;
    ${decode('r', 'number', reduced_rank, operands)}
  }
% for s in operands:
  ${access.load(s, s.base, 'j')}
% endfor
% for w in range(parts):
  ${enter(f'acc[v * {parts} + {w}]', '', w, m.position)}
% endfor
}
</%def>
