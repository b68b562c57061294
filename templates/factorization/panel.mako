## LU with partial pivoting of a panel of up to ${width} columns, in place, by one work-group of ${items} items.
##
##      +---+      Each item has ${each} rows in registers, in turn with its neighbours, so that these read neighbouring places: the
##      | \ |      columns follow each other in memory. Rows stay where they are: an item notes at which place each of its own
##    k +---+      stands by now, and stores it there in the end. In step k
##      |   |      1. the largest of column k is found among rows that stand at k or below: by a tree of items
##      |   |      2. the item that has it tells the others its row
##      +---+      3. a multiple of that is subtracted from the rows below
##
## Steps are written out, so that each element has a register. The columns that a narrow panel lacks are zeros, of which
## nothing is exchanged or subtracted. Factors are products with the pivot's inverse.
##
## Warps find the largest by an instruction (`redux.sync`), of what each item has and then of what each warp has found, which
## all of them look at; 2. is done by each warp, for its own, before that, and one barrier in a step is enough, since
## what is told in it is told elsewhere in the next. What is compared are bits, which are in the numbers' order: 0 of rows
## that are done, 1 of NaN.
##
## `ints`: whether a pivot was 0, whether the exchanges were odd; from `moves` on where each of the panel's own rows has
## come from, and where to what stood there has gone, -1 if it is one of them still.
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
<% turn = '#pragma unroll' if unrolled else '' %>
${numbers.define()}
% if search != 'items':
${instructions()}
% endif
#define A(i, j) w[(j) * pitch + (i)]
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void panel(${', '.join(params)}) {
% if search == 'items':
  __local R most[${items}];
  __local int where[${items}];
  __local E above[${width}] __attribute__((aligned(16)));
% else:
  __local K most[2][${items // warp_size}];
  __local uint where[2][${items // warp_size}];
  __local E told[2][${items // warp_size}][${width}] __attribute__((aligned(16)));
% if search == 'emulated':
  __local uint exchange[${items}];
% endif
% endif
  const int item = get_local_id(0);
% if search != 'items':
  const int lane = item % ${warp_size}, warp = item / ${warp_size};
% endif
  __global E *w = wp + wo;
  __global int *ints = ip + io, *comes = ints + moves, *goes = comes + ${width};
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
  ${turn}
  for (int k = 0; k < ${width}; ++k) {
${by_items() if search == 'items' else by_warps()}
    if (k < size) {
      singular |= zero;
      odd ^= pivot != k;
    }
    const R lift = lift_for(above[k]), lower = lower_for(above[k]);
    const E inverse = INVERSE(above[k], lift, lower);
    ${turn}
    for (int r = 0; r < ${each}; ++r) {
      const int stood = place[r];
      place[r] = stood == pivot ? k : stood == k ? pivot : stood;
      if (k < place[r] && !zero) {
        const E factor = product(times(a[r][k], lift), inverse);
        a[r][k] = factor;
        ${turn}
        for (int j = k + 1; j < ${width}; ++j) a[r][j] = less_product(a[r][j], factor, above[j]);
      }
    }
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

<%def name="by_items()">
    R best = (R)(-1);
    int pivot = k;
    ${turn}
    for (int r = 0; r < ${each}; ++r) {
      const R here = place[r] == k ? first_weight(a[r][k]) : weight(a[r][k]);
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
    const bool zero = best == 0;
    ${turn}
    for (int r = 0; r < ${each}; ++r)
      if (place[r] == pivot) {
        ${turn}
        for (int j = k; j < ${width}; ++j) above[j] = a[r][j];
      }
    barrier(CLK_LOCAL_MEM_FENCE);
</%def>

<%def name="by_warps()">
    K key = 0;
    uint at = NONE;
    ${turn}
    for (int r = 0; r < ${each}; ++r) {
      const K here = rank(place[r] == k ? first_weight(a[r][k]) : weight(a[r][k]));
      if (k <= place[r] && place[r] < rows && (here > key || (here == key && place[r] < at))) {
        key = here;
        at = place[r];
      }
    }
    K largest = MOST(key);
    at = LEAST(key == largest ? at : NONE);
    ${turn}
    for (int r = 0; r < ${each}; ++r)
      if (place[r] == at) {
        ${turn}
        for (int j = k; j < ${width}; ++j) told[k & 1][warp][j] = a[r][j];
      }
    if (lane == 0) {
      most[k & 1][warp] = largest;
      where[k & 1][warp] = at * ${warp_size} + warp;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    key = lane < ${items // warp_size} ? most[k & 1][lane] : (K)0;
    at = lane < ${items // warp_size} ? where[k & 1][lane] : ~0u;
    largest = MOST(key);
    at = LEAST(key == largest ? at : ~0u);
    const int pivot = at / ${warp_size};
    const bool zero = largest == rank((R)(0));
    __local const E *above = told[k & 1][at % ${warp_size}];
</%def>

## What a warp's items have the most of, and the least.
<%def name="instructions()">
typedef ${'uint' if R == 'float' else 'ulong'} K;
#define NONE (~0u / ${warp_size})
HELPER K rank(const R weight) { return weight < 0 ? (K)1 : as_${'uint' if R == 'float' else 'ulong'}(weight) + 2; }
% for name, instruction in (('warp_max', 'max'), ('warp_min', 'min')):
% if search == 'warps':
HELPER uint ${name}(const uint x) {
  uint found;
  asm volatile("redux.sync.${instruction}.u32 %0, %1, 0xffffffff;" : "=r"(found) : "r"(x));
  return found;
}
% else:
HELPER uint ${name}(const uint x, __local uint *exchange, const int item) {
  uint found = x;
  exchange[item] = x;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int l = 0; l < ${warp_size}; ++l) found = ${instruction}(found, exchange[item / ${warp_size} * ${warp_size} + l]);
  barrier(CLK_LOCAL_MEM_FENCE);
  return found;
}
% endif
% endfor
<% more = '' if search == 'warps' else ', exchange, item' %>
#define LEAST(x) warp_min(x${more})
% if R == 'float':
#define MOST(x) warp_max(x${more})
% else:
HELPER ulong warp_max64(const ulong x${', __local uint *exchange, const int item' if more else ''}) {
  const uint high = warp_max(x >> 32${more}), low = warp_max(x >> 32 == high ? (uint)x : 0u${more});
  return (ulong)high << 32 | low;
}
#define MOST(x) warp_max64(x${more})
% endif
</%def>
