## Elementwise over tiles, where some operands lie transposed: contiguous not along the innermost axis but along
## another one, p. A work-group takes a tile of p and the innermost axis; what lies transposed goes through
## local memory, so that both its loads and the output's stores are whole memory transactions.
##
##             innermost axis j ->                 work-items x, y of a group (T x T/H):
##        p   +--- T ---+
##        |   |  tile   | T      load    local[j = y, y+H ...][p = x]   neighbours x along p
##        v   +---------+        store   local[j = x][p = y, y+H ...]   neighbours x along j
##
## The extra column of the local tile keeps the transposed reads off one memory bank.
<%namespace name="access" file="/lib/access.mako" inheritable="True"/>
<%
  H = policy.work_group // T
  staged = [s for s in inputs.operands if s.name in staged_names]
  direct = [s for s in inputs.operands if s.name not in staged_names]
%>
ATTR __kernel ${group_attribute}
void elementwise(${signature.declared}) {
  ${signature.opening}
  ${access.prologue(all_operands, inputs.prepare)}
% for s in staged:
  __local ${s.type} ${s.name}t[${T}][${T + 1}];
% endfor
  const int x = get_local_id(0) % ${T}, y = get_local_id(0) / ${T};
  const ${I} across = (n0 + ${T - 1}) / ${T}, down = (n${axis} + ${T - 1}) / ${T};
  const ${I} tiles = across * down * (rows / n${axis});
  for (${I} tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
    ${I} row = tile / across;
    const ${I} j_first = (tile - row * across) * ${T};
    const ${I} p_first = (row % down) * ${T};
    row /= down;
% for s in all_operands:
    ${I} ${s.name}o_ = ${s.start if s.access == 'index' else '0'};
% endfor
% for a in [a for a in range(1, rank) if a != axis]:
    {
      const ${I} c = row % n${a}; row /= n${a};
% for s in all_operands:
      ${s.name}o_ += c * ${s.name}s${a};
% endfor
    }
% endfor
    const bool whole = p_first + ${T} <= n${axis} && j_first + ${T} <= n0;
    #pragma unroll
    for (int k = 0; k < ${T // H}; ++k) {
      const int r = y + k * ${H};
      const ${I} p = p_first + x, j = j_first + r;
      if (whole || (p < n${axis} && j < n0)) {
% for s in staged:
        const ${I} ${s.base} = ${s.name}o_ + p;
        ${s.name}t[r][x] = ${access.element(s, s.base, 'j')};
% endfor
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int k = 0; k < ${T // H}; ++k) {
      const int r = y + k * ${H};
      const ${I} p = p_first + r, j = j_first + x;
      if (whole || (p < n${axis} && j < n0)) {
% for s in staged:
        const ${s.type} ${s.name}_0 = ${s.name}t[x][r];
% endfor
% for s in direct:
        const ${I} ${s.base} = ${s.name}o_ + p * ${s.name}s${axis};
        ${access.load(s, s.base, 'j')}
% endfor
        ${value.compute(outs, 0)}
% for out in outs:
        const ${I} ${out.base} = ${out.name}o_ + p * ${out.name}s${axis};
        ${access.store_element(out, out.base, 'j', out.name + '_0')}
% endfor
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
