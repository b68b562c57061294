## Elementwise over blocks, for one work-item per group: as tiled.mako, some operands are contiguous along an axis p
## that is not the innermost. A work-item takes blocks of BP rows of p by BJ elements, so that the cache lines which
## the transposed operands touch are used up before they are dropped; neighbouring blocks lie along p, in the
## same pages.
##
##             innermost axis j ->
##        p   +-- BJ --+
##        |   | block  | BP     one cache line of a transposed operand holds BP elements of a column
##        v   +--------+
##
## What lies transposed is copied to private memory first: with strides that are powers of two its lines share a few
## sets of the cache, and would be gone before their second element is asked for.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%
  BP, BJ = policy.block_rows, policy.block_columns
  staged = [s for s in inputs.operands if s.name in staged_names]
  direct = [s for s in inputs.operands if s.name not in staged_names]
  within = '<' if any(s.access == 'pairs' for s in direct) else '<='
  W = d.width
%>
<%def name="take_staged()">
% for s in staged:
% for w in range(V // W):
const ${s.type} ${s.name}_${w} = ${f'({s.type})' if W > 1 else ''}(${', '.join(f'{s.name}t[j - j_first + {w * W + l}][p - p_first]' for l in range(W))});
% endfor
% endfor
</%def>
<%def name="compute()">
% for w in range(V // d.width):
${value.compute(outs, w)}
% endfor
</%def>
ATTR __kernel ${group_attribute}
void elementwise(${signature.declared}) {
  ${signature.opening}
  ${access.prologue(all_operands, inputs.prepare)}
  const long group = get_group_id(0), groups = get_num_groups(0);
  const long across = (n0 + ${BJ - 1}) / ${BJ}, down = (n${axis} + ${BP - 1}) / ${BP};
  const long blocks = across * down * (rows / n${axis});
  for (long u = blocks * group / groups, end = blocks * (group + 1) / groups; u < end; ++u) {
    const long p_first = (u % down) * ${BP}, p_last = min(p_first + ${BP}, (long)n${axis});
    long row = u / down;
    const long j_first = (row % across) * ${BJ}, j_last = min(j_first + ${BJ}, (long)n0);
    row /= across;
% for s in all_operands:
    long ${s.name}o_ = ${s.start if s.access == 'index' else '0'};
% endfor
% for a in [a for a in range(1, rank) if a != axis]:
    {
      const long c = row % n${a}; row /= n${a};
% for s in all_operands:
      ${s.name}o_ += c * ${s.name}s${a};
% endfor
    }
% endfor
% for s in staged:
    ${s.lane} ${s.name}t[${BJ + V}][${BP}];
    for (long j = j_first; j < j_last; ++j) {
      if (p_first + ${BP} == p_last) {
        for (int l = 0; l < ${BP}; ++l) { const long ${s.base} = ${s.name}o_ + p_first + l; ${s.name}t[j - j_first][l] = ${access.element(s, s.base, 'j')}; }
      } else {
        for (int l = 0; l < p_last - p_first; ++l) { const long ${s.base} = ${s.name}o_ + p_first + l; ${s.name}t[j - j_first][l] = ${access.element(s, s.base, 'j')}; }
      }
    }
% endfor
    for (long p = p_first; p < p_last; ++p) {
% for s in [*direct, *outs]:
      const long ${s.base} = ${s.name}o_ + p * ${s.name}s${axis};
% endfor
      long j = j_first;
      for (; j + ${V} ${within} j_last; j += ${V}) {
% for s in direct:
        ${access.load(s, s.base, 'j')}
% endfor
        ${take_staged()}
        ${compute()}
% for out in outs:
        ${access.store(out, out.base, 'j', out.name, stream)}
% endfor
      }
% if V > 1:
      const int m = j_last - j;
      if (m > 0) {
% for s in direct:
        ${access.load_partial(s, s.base, 'j', 'm')}
% endfor
        ${take_staged()}
        ${compute()}
% for out in outs:
        ${access.store_partial(out, out.base, 'j', 'm', out.name)}
% endfor
      }
% endif
    }
  }
}
