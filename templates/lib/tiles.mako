## What radix sorts by work-groups share: lanes that find their equals, the rank of a tile's keys, the look back.

## `lanes` neighbouring work-items act together. With PTX they are a warp; elsewhere they meet at barriers.
## equals(d): the lanes with the same digit, by a ballot for each of its bits. (match.any takes as long as there are
## different digits: 3.3 ms against 1.5 ms a pass over 2^28 keys on an H200.)
<%def name="lanes(p)">
% if p.match == 'ptx':
HELPER uint equals(const uint d) {
  uint m;
  asm volatile("{ .reg .pred p; .reg .b32 b, t; mov.b32 %0, 0xffffffff;"
% for bit in range(p.digit_bits):
    " and.b32 t, %1, ${1 << bit}; setp.ne.u32 p, t, 0; vote.sync.ballot.b32 b, p, 0xffffffff; @!p not.b32 b, b; and.b32 %0, %0, b;"
% endfor
    " }" : "=&r"(m) : "r"(d));
  return m;
}
HELPER uint from_lane(const uint v, const uint lane) { uint r; asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(v), "r"(lane)); return r; }
HELPER uint from_below(const uint v, const uint by) { uint r; asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(r) : "r"(v), "r"(by)); return r; }
% endif
</%def>

## Relaxed loads and stores of the device: of one word, so that nothing else need be ordered.
<%def name="words(p, state)">
% if p.look_back == 'ptx':
<% bits, c = ('u64', 'l') if state == 'ulong' else ('u32', 'r') %>
HELPER ${state} load_state(__global ${state} *p) { ${state} r; asm volatile("ld.relaxed.gpu.global.${bits} %0, [%1];" : "=${c}"(r) : "l"(p) : "memory"); return r; }
HELPER void store_state(__global ${state} *p, const ${state} v) { asm volatile("st.relaxed.gpu.global.${bits} [%0], %1;" :: "l"(p), "${c}"(v) : "memory"); }
% elif p.look_back:
HELPER ${state} load_state(__global ${state} *p) { return *(volatile __global ${state} *)p; }
HELPER void store_state(__global ${state} *p, const ${state} v) { *(volatile __global ${state} *)p = v; }
% endif
</%def>

## Local memory of a tile, and who this work-item is. Keys, and then positions, lie behind the counters (`apart`) or
## take their place.
<%def name="places(p, items, widest, apart)">
<%
  radix = 1 << p.digit_bits; warps = p.work_group // p.lanes
  tables, moved = 4 * warps * radix, p.work_group * items * widest
  words = -(-(tables + moved if apart else max(tables, moved)) // 8)
%>
  __local ulong pool[${words}];
  __local uint *counts = (__local uint *)pool;
  __local ulong *room = pool + ${-(-tables // 8) if apart else 0};
  __local key_t *keys = (__local key_t *)room;
% if p.match == 'ptx':
  __local uint totals[${warps}];
% else:
  __local uint masks[${warps * radix}];
  __local uint totals[${radix}];
% endif
  const uint t = get_local_id(0), lane = t % ${p.lanes}, warp = t / ${p.lanes}, below = (1u << lane) - 1;
  const uint at = warp * ${p.lanes * items} + lane;
</%def>

## Put each k[i] into `keys` at its rank among the keys of the tile by the digit at `shift`, which is r[i] if that is
## `kept`. Items of a warp follow each other in steps of its lanes. Of digit t, t < radix, there are `c` keys in the tile,
## from rank `start` on; the caller is told of c as soon as it is known.
##
##   counts[warp][digit]   keys of the warp; then where its first one goes; then where its next one goes
<%def name="rank(p, items, apart, kept)">
<% radix = 1 << p.digit_bits; warps = p.work_group // p.lanes; direct = apart and not kept %>
    for (uint j = t; j < ${warps * radix}; j += ${p.work_group}) counts[j] = 0;
% if p.match != 'ptx':
    for (uint j = t; j < ${warps * radix}; j += ${p.work_group}) masks[j] = 0;
% endif
    barrier(CLK_LOCAL_MEM_FENCE);
    __local uint *next = counts + warp * ${radix};
    #pragma unroll
    for (int i = 0; i < ${items}; ++i) atomic_inc(next + DIGIT(k[i]));
    barrier(CLK_LOCAL_MEM_FENCE);
    uint c = 0;
    if (t < ${radix}) {
      #pragma unroll
      for (int w = 0; w < ${warps}; ++w) { const uint u = counts[w * ${radix} + t]; counts[w * ${radix} + t] = c; c += u; }
    }
    ${caller.counted() if caller else ''}
% if p.match == 'ptx':
    uint start = c;
    #pragma unroll
    for (uint by = 1; by < 32; by <<= 1) { const uint u = from_below(start, by); if (lane >= by) start += u; }
    if (lane == 31) totals[warp] = start;
    start -= c;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < ${radix}) {
      #pragma unroll
      for (uint w = 0; w < ${min(warps, radix // 32)}; ++w) if (w < warp) start += totals[w];
    }
% else:
    if (t < ${radix}) totals[t] = c;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint by = 1; by < ${radix}; by <<= 1) {
      const uint u = t < ${radix} && t >= by ? totals[t - by] : 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (t < ${radix}) totals[t] += u;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    const uint start = t < ${radix} ? totals[t] - c : 0;
% endif
    if (t < ${radix}) {
      #pragma unroll
      for (int w = 0; w < ${warps}; ++w) counts[w * ${radix} + t] += start;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int i = 0; i < ${items}; ++i) {
      const uint d = DIGIT(k[i]);
% if p.match == 'ptx':
      const uint same = equals(d), before = popcount(same & below);
      uint old = 0;
      if (before == 0) old = atomic_add(next + d, (uint)popcount(same));
      const uint own = from_lane(old, 31 - clz(same & -same)) + before;
% else:
      __local uint *mask = masks + warp * ${radix} + d;
      atomic_or(mask, 1u << lane);
      barrier(CLK_LOCAL_MEM_FENCE);
      const uint same = *mask, before = popcount(same & below), old = next[d];
      barrier(CLK_LOCAL_MEM_FENCE);
      if (before == 0) { next[d] = old + popcount(same); *mask = 0; }
      barrier(CLK_LOCAL_MEM_FENCE);
      const uint own = old + before;
% endif
      ${'keys[own] = k[i];' if direct else 'r[i] = own;'}
    }
% if not direct:
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int i = 0; i < ${items}; ++i) keys[r[i]] = k[i];
% endif
</%def>
