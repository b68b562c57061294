## Lines of up to ${block} elements by a triangular block: x of T x = b, each line a work-item's, in registers.
##
## T is a lower triangle in local memory, an upper one read from its end. In step k the item has x[k], which is
## the first of what is left, and then holds the rest, less a multiple of column k.
% if swapped:
## Before, rows are exchanged as the panel's pivots want it: see panel.mako.
% endif
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
<%namespace name="displaced" file="displaced.mako"/>
${numbers.define()}
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void substitute(${', '.join(params)}) {
  __local E below[${block * block}] __attribute__((aligned(16)));
  __local E main_[${block}];
  const int item = get_local_id(0);
  const bool along = abs(ts) < abs(tk);
  #pragma unroll 8
  for (int at = item; at < ${block * block}; at += ${items}) {
    const int k = along ? at / ${block} : at % ${block}, j = along ? at % ${block} : at / ${block}, i = k + 1 + j;
    E entry = number((R)(0));
    if (i < size) entry = tp[to + i * ts + k * tk];
    below[k * ${block} + j] = ${'conjugate(entry)' if conjugated else 'entry'};
  }
  for (int k = item; k < size; k += ${items}) main_[k] = tp[to + k * (ts + tk)];
  barrier(CLK_LOCAL_MEM_FENCE);
  const long line = get_global_id(0);
  if (line < lines) {
  xo += line * xl;
  yo += line * yl;
  E x[${block}];
% if swapped:
  __global const int *comes = moves + mo, *goes = comes + ${block};
  #pragma unroll
  for (int i = 0; i < ${block}; ++i) {
    x[i] = number((R)(0));
    if (i < size) x[i] = xp[xo + comes[i]];
  }
${displaced.put('xp + xo', block)}
% else:
  #pragma unroll
  for (int i = 0; i < ${block}; ++i) {
    x[i] = number((R)(0));
    if (i < size) x[i] = xp[xo + i * xs];
  }
% endif
  for (int k = 0; k < size; ++k) {
    const E found = ${'x[0]' if unit else 'quotient(x[0], main_[k])'};
    yp[yo + k * ys] = found;
    __local const E *column = below + k * ${block};
    #pragma unroll
    for (int j = 0; j < ${block - 1}; ++j) x[j] = less_product(x[j + 1], found, column[j]);
  }
  }
}
