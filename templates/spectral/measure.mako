## What tells how near a matrix is to a multiple of the unit matrix: the sum of squares of what is left of it without that,
## a part from each work-group, and then its diagonal.
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
${numbers.define()}
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void measure(${', '.join(params)}) {
  __local R parts[${items}];
  const int item = get_local_id(0);
  R sum = 0;
  for (long i = get_group_id(0); i < rows; i += get_num_groups(0))
    for (long j = item; j < columns; j += ${items}) {
      E value = xp[xo + i * xs + j];
      if (i == j) {
        sp[so + get_num_groups(0) + i] = REAL(value);
        value = minus(value, number(shift));
      }
      sum += squared(value);
    }
  parts[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
% for half in halves:
  if (item < ${half}) parts[item] += parts[item + ${half}];
  barrier(CLK_LOCAL_MEM_FENCE);
% endfor
  if (item == 0) sp[so + get_group_id(0)] = parts[0];
}
