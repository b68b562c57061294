## What radix sorts by work-groups share: lanes that find their equals, the rank of a tile's keys, the look back.

## `lanes` neighbouring work-items act together. With PTX they are a warp; elsewhere they meet at barriers.
<%def name="lanes(p)">
% if p.match == 'ptx':
HELPER uint equals(const uint d) { uint m; asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(m) : "r"(d)); return m; }
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

## Local memory of a tile, and who this work-item is. Keys, and then positions, take the place of the counters.
<%def name="places(p, items, widest)">
<% radix = 1 << p.digit_bits; warps = p.work_group // p.lanes; nbytes = max(4 * warps * radix, p.work_group * items * widest) %>
  __local ulong pool[${-(-nbytes // 8)}];
  __local uint *counts = (__local uint *)pool;
  __local key_t *keys = (__local key_t *)pool;
% if p.match == 'ptx':
  __local uint totals[${warps}];
% else:
  __local uint masks[${warps * radix}];
  __local uint totals[${radix}];
% endif
  const uint t = get_local_id(0), lane = t % ${p.lanes}, warp = t / ${p.lanes}, below = (1u << lane) - 1;
  const uint at = warp * ${p.lanes * items} + lane;
</%def>

## The rank of each k[i] among the keys of the tile by the digit at `shift`: r[i]. Items of a warp follow each other
## in steps of its lanes. Of digit t, t < radix: `c` keys in the tile, from rank `start` on.
##
##   counts[warp][digit]   while a warp goes through its items: how many it has seen; then how many stand before it
<%def name="rank(p, items)">
<% radix = 1 << p.digit_bits; warps = p.work_group // p.lanes %>
    for (uint j = t; j < ${warps * radix}; j += ${p.work_group}) counts[j] = 0;
% if p.match != 'ptx':
    for (uint j = t; j < ${warps * radix}; j += ${p.work_group}) masks[j] = 0;
% endif
    barrier(CLK_LOCAL_MEM_FENCE);
    __local uint *seen = counts + warp * ${radix};
    #pragma unroll
    for (int i = 0; i < ${items}; ++i) {
      const uint d = DIGIT(k[i]);
% if p.match == 'ptx':
      const uint same = equals(d), before = popcount(same & below);
      uint old = 0;
      if (before == 0) old = atomic_add(seen + d, (uint)popcount(same));
      r[i] = from_lane(old, 31 - clz(same & -same)) + before;
% else:
      __local uint *mask = masks + warp * ${radix} + d;
      atomic_or(mask, 1u << lane);
      barrier(CLK_LOCAL_MEM_FENCE);
      const uint same = *mask, before = popcount(same & below), old = seen[d];
      barrier(CLK_LOCAL_MEM_FENCE);
      if (before == 0) { seen[d] = old + popcount(same); *mask = 0; }
      barrier(CLK_LOCAL_MEM_FENCE);
      r[i] = old + before;
% endif
    }
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
    for (int i = 0; i < ${items}; ++i) r[i] += seen[DIGIT(k[i])];
    barrier(CLK_LOCAL_MEM_FENCE);
</%def>
