## The same of a panel that registers are too few for: LU with partial pivoting, in place, by one work-group.
##
##        c0   end                The columns follow each other in memory, so that neighbours read neighbouring rows.
##      +----+----+---------+     ${inner} columns at a time are factorized, column by column; then the rows of U beside
##      | \  | U  |         |     them are found, and all of what is left is updated at once.
##   c0 +----+----+---------+
##      |    | \  |   U     |
##  end |    +----+---------+
##      | L  | L  |  left   |
##
## `ints` as in panel.mako; from `spare` on which row lies at each place by now.
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
${numbers.define()}
#define A(i, j) w[(j) * pitch + (i)]
#define TOGETHER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void tall_panel(${', '.join(params)}) {
  __local R most[${items}];
  __local int where[${items}];
  __local E u[${width * inner}];
  const int item = get_local_id(0);
  __global E *w = wp + wo;
  __global int *ints = ip + io, *comes = ints + moves, *goes = comes + ${width}, *places = ints + spare;
  for (int i = item; i < rows; i += ${items}) places[i] = i;
  int odd = begins ? 0 : ints[1], singular = 0;
  for (int c0 = 0; c0 < size; c0 += ${inner}) {
    const int end = min(c0 + ${inner}, size);
    for (int k = c0; k < end; ++k) {
      TOGETHER;
      R best = (R)(-1);
      int pivot = k;
      for (int i = k + item; i < rows; i += ${items}) {
        const R size_ = i == k ? first_weight(A(i, k)) : weight(A(i, k));
        if (size_ > best) { best = size_; pivot = i; }
      }
      most[item] = best;
      where[item] = pivot;
% for left, fan in stages:
      barrier(CLK_LOCAL_MEM_FENCE);
      if (item < ${left}) {
        for (int other = item + ${left}; other < ${left * fan}; other += ${left})
          if (most[other] > best || (most[other] == best && where[other] < pivot)) {
            best = most[other];
            pivot = where[other];
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
      if (pivot != k && item < size) {
        const E upper = A(k, item);
        A(k, item) = A(pivot, item);
        A(pivot, item) = upper;
      }
      if (item == 0) {
        const int upper = places[k];
        places[k] = places[pivot];
        places[pivot] = upper;
      }
      TOGETHER;
      if (best != 0) {
        const E d = A(k, k);
        for (int i = k + 1 + item; i < rows; i += ${items}) {
          const E factor = quotient(A(i, k), d);
          A(i, k) = factor;
          for (int j = k + 1; j < end; ++j) A(i, j) = less_product(A(i, j), factor, A(k, j));
        }
      }
    }
    TOGETHER;
    for (int j = end + item; j < size; j += ${items}) {
      for (int k = c0; k < end; ++k) {
        const E value = A(k, j);
        u[(j - end) * ${inner} + k - c0] = value;
        for (int i = k + 1; i < end; ++i) A(i, j) = less_product(A(i, j), A(i, k), value);
      }
    }
    TOGETHER;
    if (end < size)
      for (int i = end + item; i < rows; i += ${items}) {
        E factors[${inner}];
        #pragma unroll
        for (int k = 0; k < ${inner}; ++k) factors[k] = A(i, c0 + k);
        for (int j = end; j < size; ++j) {
          E left = A(i, j);
          #pragma unroll
          for (int k = 0; k < ${inner}; ++k) left = less_product(left, factors[k], u[(j - end) * ${inner} + k]);
          A(i, j) = left;
        }
      }
  }
  TOGETHER;
  for (int k = item; k < size; k += ${items}) goes[k] = -1;
  TOGETHER;
  for (int i = item; i < rows; i += ${items}) {
    const int from = places[i];
    if (i < size) comes[i] = from;
    else if (from < size) goes[from] = i;
  }
  if (item == 0) {
    ints[1] = odd;
    if (singular) ints[0] = 1;
  }
}
