## Merge: the tables of all work-groups, added up in their order, become the result.
##
##            |<- side bins ->|
##   row 0    item0 item1 ...          `lanes` work-items share a bin: each adds every lanes-th row, and the first
##   row 1    item(side) ...           adds up what they found
##
## The counters of earlier launches are in the result already; a table that is used again is left zero.
<%
  side = work_group // lanes
%>
% if pair:
HELPER float2 add(const float2 a, const float2 b) {
  const float s = a.x + b.x, t = s - a.x;
  return (float2)(s, a.y + b.y + ((a.x - (s - t)) + (b.x - t)));
}
% else:
HELPER ${sum_type} add(const ${sum_type} a, const ${sum_type} b) { return a + b; }
% endif
ATTR __kernel __attribute__((reqd_work_group_size(${work_group}, 1, 1)))
void histogram_merge(${', '.join(params)}) {
  const int item = get_local_id(0), lane = item / ${side};
% if lanes > 1:
  __local ${sum_type} found[${work_group}];
% endif
% if direct:
  if (get_global_id(0) == 0) {
    const ${result_type} seen = (${result_type})*status;
    yp[capacity] = again && yp[capacity] > seen ? yp[capacity] : seen;
    *status = 0;
  }
% endif
% if chunked:
  const long group = get_group_id(0), groups = get_num_groups(0);
  for (long b = bins * group / groups, end = bins * (group + 1) / groups; b < end; ++b) {
% else:
  for (long block = get_group_id(0); block * ${side} < bins; block += get_num_groups(0)) {
    const long b = block * ${side} + item % ${side};
% endif
    ${sum_type} sum = 0;
% if not chunked:
    if (b < bins)
% endif
    for (long r = lane; r < rows; r += ${lanes}) sum = add(sum, (${sum_type})tables[r * stride + b]);
% if lanes > 1:
    barrier(CLK_LOCAL_MEM_FENCE);
    found[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int l = 1; l < ${lanes} && lane == 0; ++l) sum = add(sum, found[l * ${side} + item]);
% endif
% if not chunked:
    if (lane == 0 && b < bins)
% endif
    {
% if zero:
      tables[b] = 0;
% endif
% if not summed:
      if (again) sum += (long)yp[b];
% endif
      const ${result_lane} y = ${result};
      ${store}
    }
  }
}
