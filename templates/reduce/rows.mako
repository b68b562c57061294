## What a work-group does with a whole row, or with a whole block of outputs.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
## The elements of a row, from what its reductions have found.
<%def name="map_row(decode)">
<%
  def of_lanes(n):
      return f'lanes * {n}' if lanes == 0 else str(lanes * n)
%>
    for (${I} row = row_first; row < row_last; ++row) {
% for s in [*operands, *mapped_outs]:
      ${I} ${s.base} = ${s.name}kept;
% endfor
% if reduced_rank > 1:
      {
        ${I} number = row;
        ${decode('r', 'number', reduced_rank, [*operands, *mapped_outs], 1)}
      }
% endif
      for (${I} j = first + lane * ${V}; j < last; j += ${of_lanes(V)}) {
        if (j + ${V} <= last) {
% for s in operands:
          ${access.load(s, s.base, 'j')}
% endfor
% for w in range(V // d.width):
          ${mapped.compute(mapped_outs, w)}
% endfor
% for z in mapped_outs:
          ${access.store(z, z.base, 'j', z.name)}
% endfor
        } else {
          const int count = (int)(last - j);
% for s in operands:
          ${access.load_partial(s, s.base, 'j', 'count')}
% endfor
% for w in range(V // d.width):
          ${mapped.compute(mapped_outs, w)}
% endfor
% for z in mapped_outs:
          ${access.store_partial(z, z.base, 'j', 'count', z.name)}
% endfor
        }
      }
    }
</%def>
## Whether this work-group is the last of its block to have kept its states, as a ticket counter tells: it
## combines them, and no second launch is needed. It waits for nobody, so no progress between groups is assumed;
## `fence` makes a group's states visible to the others before its ticket is.
<%def name="last_of_block()">
${policy.fence}
barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
if (get_local_id(0) == 0) {
  last_group = atomic_inc(counters + block) == (int)parts - 1;
  if (last_group) counters[block] = 0;
}
barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
${policy.fence}
</%def>
