## Down the columns of a reduction: each work-item takes every so many rows, X of them at a time, with a strip of outputs in `acc`.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%namespace name="states" file="/lib/accumulators.mako"/>
<%def name="down(decode, place, enter, enter_partial, entering, enters_in_blocks)">
<%
  parts = V // d.width
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
% for e in members:
% if enters_in_blocks(e):
${states.enter(e.m, [(f'acc{e.tag}[v * {parts} + {w}]', ', '.join(entering(w, f'_{x}', e) for x in range(X))) for w in range(parts)], 'fast_block', capture(row_by_row, e, decode, enter, parts), e.suffix)}
% else:
% for w in range(parts):
        {
          acc_t${e.suffix} a = acc${e.tag}[v * ${parts} + ${w}];
% for x in range(X):
          ${enter(e, 'a', f'_{x}', w)}
% endfor
          acc${e.tag}[v * ${parts} + ${w}] = a;
        }
% endfor
% endif
% endfor
      }
% if V > 1:
      if (rest > 0) {
        const ${I} j = first + full * ${V};
% for x in range(X):
        {
% for s in operands:
          ${access.load_partial(s, f'{s.base}_{x}', 'j', 'rest')}
% endfor
% for e in members:
          ${enter_partial(e, lambda w, c: f'acc{e.tag}[full * {parts} + {w}]', 'rest', 0)}
% endfor
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
% for e in members:
% for w in range(parts):
        ${enter(e, f'acc{e.tag}[v * {parts} + {w}]', '', w)}
% endfor
% endfor
      }
% if V > 1:
      if (rest > 0) {
        const ${I} j = first + full * ${V};
% for s in operands:
        ${access.load_partial(s, s.base, 'j', 'rest')}
% endfor
% for e in members:
        ${enter_partial(e, lambda w, c: f'acc{e.tag}[full * {parts} + {w}]', 'rest', 0)}
% endfor
      }
% endif
    }
</%def>
## The values of a vector of outputs enter row by row. They are loaded again, so that the fast path needs not keep them.
<%def name="row_by_row(e, decode, enter, parts)">
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
  ${enter(e, f'acc{e.tag}[v * {parts} + {w}]', '', w)}
% endfor
}
</%def>
