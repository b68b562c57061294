## Lines: what scans along an axis and updates at positions share.

## Units of work: a contiguous chunk per work-item (CPU) or round-robin over the grid (GPU).
<%def name="units(u, total, policy)">
% if policy.chunked:
  const long group = get_group_id(0), groups = get_num_groups(0);
  for (long ${u} = ${total} * group / groups, end_ = ${total} * (group + 1) / groups; ${u} < end_; ++${u}) {
% else:
  for (long ${u} = get_global_id(0); ${u} < ${total}; ${u} += get_global_size(0)) {
% endif
</%def>

## Move the bases of `names` by the position `number` over the axes first .. rank-1, the innermost one first.
## `number` is used up: the last axis takes what is left.
<%def name="move(I, names, prefix, number, rank, first=0)">
% for a in range(first, rank):
    {
% if a < rank - 1:
      const ${I} c = ${number} % ${prefix}${a}; ${number} /= ${prefix}${a};
% else:
      const ${I} c = ${number};
% endif
% for name in names:
      ${name}b += c * ${name}${prefix}${a};
% endfor
    }
% endfor
</%def>
