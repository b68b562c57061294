## Elementwise: STORE(i, VALUE(LOAD(i))). An expression has one result, a region of expressions several.
##
## flat      One loop over n elements, all operands contiguous or constant.
##
##           |<------ V ------>|<------ V ------>| ... |<- n % V ->|
##            unit 0            unit 1                   tail
##
## strided   The innermost axis is cut into segments; unit u is segment u % segments of row u / segments,
##           and a row's offset in each operand is decoded from its number once.
##
##           row 0 |<- segment ->|<- segment ->|<- rest ->|
##           row 1 |<- segment ->| ...
##
## Explicit vectors: the rest of a run or row is computed first, as the last V elements of it where it has so many, and
## stored last. So it takes no loop, and where the output is an input too, it is computed of what was there before.
##
## Units are dealt out in contiguous chunks (CPU: one work-item per group, a chunk each) or round-robin over
## the grid (GPU: neighbouring work-items take neighbouring vectors).
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%def name="units(u, total)" filter="trim">
% if policy.chunked:
for (long ${u} = (${total}) * group / groups, end_ = (${total}) * (group + 1) / groups; ${u} < end_; ++${u})
% else:
for (${I} ${u} = get_global_id(0); ${u} < (${total}); ${u} += get_global_size(0))
% endif
</%def>
<%def name="compute()">
% for w in range(V // d.width):
${value.compute(outs, w)}
% endfor
</%def>
<%
  last_group = 'group + 1 == groups' if policy.chunked else 'get_global_id(0) == 0'
  # one work-item then has the rest and the whole vector before it: nobody else writes what it reads
  ends_first = policy.chunked and d.width > 1 and all(out.access == 'unit' for out in outs) and not any(s.access == 'pairs' for s in all_operands)
%>
## The rest of the elements first .. last - 1, before the others and after them.
<%def name="begin_rest(first, last, here='')">
% if ends_first:
const bool ample = ${last} - ${first} >= ${V};
const int rest = ${f'{here} ? ({last} - {first}) % {V} : 0' if here else f'({last} - {first}) % {V}'};
% for out in outs:
${out.type} ${out.name}z_0;
% endfor
if (rest > 0) {
  ${access.load_end(inputs.operands, 'ample', f'{last} - {V}', f'{last} - rest', 'rest')}
  ${compute()}
% for out in outs:
  ${out.name}z_0 = ${out.name}_0;
% endfor
}
% endif
</%def>
<%def name="end_rest(j, last)">
% if ends_first:
if (rest > 0 && ample) {
% for out in outs:
  ${access.store(out, out.base, f'{last} - {V}', out.name + 'z')}
% endfor
} else if (rest > 0) {
% for out in outs:
  ${access.store_partial(out, out.base, j, 'rest', out.name + 'z')}
% endfor
}
% elif V > 1:
const int m = ${last} - ${j};
if (m > 0) {
% for s in inputs.operands:
  ${access.load_partial(s, s.base, j, 'm')}
% endfor
  ${compute()}
% for out in outs:
  ${access.store_partial(out, out.base, j, 'm', out.name)}
% endfor
}
% endif
</%def>
ATTR __kernel ${group_attribute}
void elementwise(${signature.declared}) {
  ${signature.opening}
  ${access.prologue(all_operands, inputs.prepare)}
% if policy.chunked:
  const long group = get_group_id(0), groups = get_num_groups(0);
% endif
% if flat:
  const ${I} full = n / ${V};
  ${begin_rest('0', 'n', last_group)}
  ${units('u', 'full')} {
    const ${I} j = u * ${V};
% for s in inputs.operands:
    ${access.load(s, s.base, 'j')}
% endfor
    ${compute()}
% for out in outs:
    ${access.store(out, out.base, 'j', out.name, stream)}
% endfor
  }
% if V > 1:
  if (${last_group}) {
    const ${I} j = full * ${V};
    ${end_rest('j', 'n')}
  }
% endif
% else:
  const ${I} segments = (n0 + ${segment - 1}) / ${segment};
  ${units('u', 'rows * segments')} {
    ${I} row = u / segments;
    const ${I} first = (u - row * segments) * ${segment};
    const ${I} last = min((${I})(first + ${segment}), (${I})n0);
% for s in all_operands:
    ${I} ${s.base} = ${s.start if s.access == 'index' else '0'};
% endfor
% for axis in range(1, rank):
    {
% if axis < rank - 1:
      const ${I} c = row % n${axis}; row /= n${axis};
% else:
      const ${I} c = row;
% endif
% for s in all_operands:
% if not s.constant:
      ${s.base} += c * ${s.name}s${axis};
% endif
% endfor
    }
% endfor
    ${begin_rest('first', 'last')}
    ${I} j = first;
    for (; j + ${V} ${'<' if any(s.access == 'pairs' for s in all_operands) else '<='} last; j += ${V}) {
% for s in inputs.operands:
      ${access.load(s, s.base, 'j')}
% endfor
      ${compute()}
% for out in outs:
      ${access.store(out, out.base, 'j', out.name, stream)}
% endfor
    }
    ${end_rest('j', 'last')}
  }
% endif
}
