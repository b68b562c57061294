## LU with partial pivoting of a panel of up to ${width} columns, in place, by one work-group of ${items} items.
##
##      +---+      Each item has ${each} rows in registers, in turn with its neighbours, so that these read neighbouring places: the
##      | \ |      columns follow each other in memory. Rows stay where they are: an item notes at which place each of its own
##    k +---+      stands by now, and stores it there in the end. In step k
##      |   |      1. the largest of the column in hand is found among rows that stand at k or below
##      |   |      2. the item that has it tells the others its row
##      +---+      3. a multiple of that is subtracted from the rows below, and what an item has of a row moves up by one, the
##                    factor to its end: so the column in hand is always the first, and in the end all are in order again
##
## `ints`: whether a pivot was 0, whether the exchanges were odd; then where each of the panel's own rows has come from,
## and where to what stood there has gone, -1 if it is one of them still.
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
<% turn = '#pragma unroll' if unrolled else '' %>
${numbers.define()}
#define A(i, j) w[(j) * pitch + (i)]
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void panel(__global E *wp, long wo, __global int *ip, long io, const long pitch, const int rows, const int size,
           const int begins) {
  __local R most[${items}];
  __local int where[${items}];
  __local E above[${width}] __attribute__((aligned(16)));
  const int item = get_local_id(0);
  __global E *w = wp + wo;
  __global int *ints = ip + io, *comes = ints + 2, *goes = comes + ${width};
  E a[${each}][${width}];
  int place[${each}], odd = begins ? 0 : ints[1], singular = 0;
  ${turn}
  for (int r = 0; r < ${each}; ++r) {
    const int i = place[r] = item + r * ${items};
    ${turn}
    for (int j = 0; j < ${width}; ++j) {
      a[r][j] = number((R)(0));
      if (i < rows && j < size) a[r][j] = A(i, j);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (int k = 0; k < size; ++k) {
    R best = (R)(-1);
    int pivot = k;
    ${turn}
    for (int r = 0; r < ${each}; ++r) {
      const R here = weight(a[r][0]);
      const bool larger = here > best || (here == best && place[r] < pivot);
      if (larger && k <= place[r] && place[r] < rows) {
        best = here;
        pivot = place[r];
      }
    }
    most[item] = best;
    where[item] = pivot;
% for left, fan in stages:
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < ${left}) {
      #pragma unroll
      for (int other = 1; other < ${fan}; ++other) {
        const R there = most[item + other * ${left}];
        const int at = where[item + other * ${left}];
        const bool larger = there > best || (there == best && at < pivot);
        best = larger ? there : best;
        pivot = larger ? at : pivot;
      }
      most[item] = best;
      where[item] = pivot;
    }
% endfor
    barrier(CLK_LOCAL_MEM_FENCE);
    best = most[0];
    pivot = where[0];
    singular |= best == 0;
    odd ^= pivot != k;
    ${turn}
    for (int r = 0; r < ${each}; ++r)
      if (place[r] == pivot) {
        ${turn}
        for (int j = 0; j < ${width}; ++j) above[j] = a[r][j];
      }
    barrier(CLK_LOCAL_MEM_FENCE);
    const E d = above[0];
    ${turn}
    for (int r = 0; r < ${each}; ++r) {
      const int stood = place[r];
      place[r] = stood == pivot ? k : stood == k ? pivot : stood;
      const bool below = k < place[r];
      const E first = a[r][0], factor = below && best != 0 ? quotient(first, d) : first;
      ${turn}
      for (int j = 1; j < ${width}; ++j)
        a[r][j - 1] = below && j < size - k ? less_product(a[r][j], factor, above[j]) : a[r][j];
      a[r][${width - 1}] = factor;
    }
  }
  for (int k = size; k < ${width}; ++k)
    ${turn}
    for (int r = 0; r < ${each}; ++r) {
      const E first = a[r][0];
      ${turn}
      for (int j = 1; j < ${width}; ++j) a[r][j - 1] = a[r][j];
      a[r][${width - 1}] = first;
    }
  ${turn}
  for (int r = 0; r < ${each}; ++r) {
    const int i = item + r * ${items}, at = place[r];
    if (i < rows) {
      ${turn}
      for (int j = 0; j < ${width}; ++j)
        if (j < size) A(at, j) = a[r][j];
      if (at < size) comes[at] = i;
      if (i < size) goes[i] = at < size ? -1 : at;
    }
  }
  if (item == 0) {
    ints[1] = odd;
    if (singular) ints[0] = 1;
  }
}
