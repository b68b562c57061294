## Cholesky of a diagonal block, in place: a work-group of ${block} items, each with a row of the block in registers.
##
## In step k each item tells the others the element of column k that it has, its first one, and then holds the rest of its
## row, less a multiple of that column: so what lies in which register, and in which place of local memory, counted from
## the diagonal, is known beforehand, whichever k is. Past the column's end lies what is not used.
## Rows past the end of the matrix are those of a unit matrix. Only the lower triangle is read and written.
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
${numbers.define()}
ATTR __kernel __attribute__((reqd_work_group_size(${block}, 1, 1)))
void cholesky_block(${', '.join(params)}) {
  __local E column[2][${block}] __attribute__((aligned(16)));
  __local R diagonal[2];
  const int i = get_local_id(0);
  __global E *row = wp + wo + i * pitch;
  E a[${block}];
  #pragma unroll
  for (int j = 0; j < ${block}; ++j) {
    a[j] = number((R)(i == j ? 1 : 0));
    if (j <= i && i < size) a[j] = row[j];
  }
  column[0][i] = column[1][i] = number((R)(0));
  barrier(CLK_LOCAL_MEM_FENCE);
  int bad = 0;
  for (int k = 0; k < size; ++k) {
    __local E *beside = column[k & 1];
    if (i > k) beside[i - k - 1] = a[0];
    if (i == k) diagonal[k & 1] = REAL(a[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    const R d = diagonal[k & 1];
    bad |= !(d > 0);
    const E factor = scaled(a[0], d);
    if (k <= i && i < size) row[k] = i == k ? number(sqrt(d)) : scaled(a[0], sqrt(d));
    #pragma unroll
    for (int j = 0; j < ${block - 1}; ++j) a[j] = less_product(a[j + 1], factor, conjugate(beside[j]));
  }
  if (bad && i == 0) atomic_xchg(flag + fo, 1);
}
