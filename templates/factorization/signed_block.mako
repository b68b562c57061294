## LU without pivots of a diagonal block less a diagonal of signs, in place, and these: a work-group of ${block} items, each
## with a row in registers.
##
## In step k item k tells the others its row, whose first element is the pivot q; the sign s is the one that q has not, so
## that q - s is 1 at least. Registers move up as in cholesky_block.mako. Where all of a column, of length 1, lies on the
## diagonal there is nothing to reflect: as LAPACK's, the sign is its own then, and nothing is eliminated. It is so if what
## lies below in the block is zero, and the length of what lies below that is one of rounding.
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
${numbers.define()}
ATTR __kernel __attribute__((reqd_work_group_size(${block}, 1, 1)))
void signed_block(${', '.join(params)}) {
  __local E shared_row[2][${block}];
  __local int below[${block}];
  const int i = get_local_id(0);
  __global E *row = wp + wo + i * pitch;
  E a[${block}];
  #pragma unroll
  for (int j = 0; j < ${block}; ++j) {
    a[j] = number((R)(i == j ? 1 : 0));
    if (i < size && j < size) a[j] = row[j];
  }
  below[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < size; ++k) {
    __local E *above = shared_row[k & 1];
    if (i == k) {
      #pragma unroll
      for (int j = 0; j < ${block}; ++j) above[j] = a[j];
    }
    if (i > k && i < size && largest_part(a[0]) != 0) below[k] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    const R q = REAL(above[0]);
    const bool whole = !below[k] && fabs(q) >= 1 - (R)(${lit(str(rounding))});
    const R s = (q < 0) == whole ? (R)(-1) : (R)(1);
    const E pivot = minus(above[0], number(s));
    if (i == k) {
      sp[so + k] = s;
      #pragma unroll
      for (int j = 0; j < ${block}; ++j) if (k + j < size) row[k + j] = j ? a[j] : whole ? number((R)(1)) : pivot;
    }
    const E factor = i > k && !whole ? quotient(a[0], pivot) : number((R)(0));
    if (i > k && i < size) row[k] = factor;
    #pragma unroll
    for (int j = 0; j < ${block - 1}; ++j) a[j] = i > k ? less_product(a[j + 1], factor, above[j + 1]) : a[j + 1];
  }
}
