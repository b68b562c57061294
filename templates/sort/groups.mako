## Radix sort of many lines by work-groups: lines that fit a tile, which stays in local memory through all passes.
##
## short lines     several a work-group: every element counts those of its line that come before it
## other lines     one a work-group: ranked by a digit and put in that order, digit by digit, from the lowest
<%namespace name="radix" file="/lib/radix.mako"/>
<%namespace name="tiles" file="/lib/tiles.mako"/>
<% size = 1 << p.digit_bits; tile = p.work_group * items %>
${radix.keys(kind)}
#define DIGIT(k) ((uint)((k) >> shift) & ${size - 1})
#define ENTER(x) ${'rank_of(key_of(x))' if pairs else 'key_of(x)'}
% if short:
ATTR __kernel __attribute__((reqd_work_group_size(${p.work_group}, 1, 1)))
void radix_groups(${', '.join(params)}) {
  __local key_t keys[${p.work_group}];
  const int t = get_local_id(0), m = (int)n, beside = ${p.work_group} / m, own = t / m, i = t % m;
  for (long first = get_group_id(0) * (long)beside; first < lines; first += get_num_groups(0) * (long)beside) {
    const bool some = own < beside && first + own < lines;
    const key_t k = some ? ENTER(xp[xo + (first + own) * n + i]) : 0;
    keys[t] = k;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (some) {
      __local const key_t *line = keys + own * m;
      int before = 0;
      for (int j = 0; j < m; ++j) before += line[j] < k || (line[j] == k && j < i);
      y[(first + own) * n + before] = ${'i' if pairs else 'bits_of(k)'};
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
% else:
${tiles.lanes(p)}
ATTR __kernel __attribute__((reqd_work_group_size(${p.work_group}, 1, 1)))
void radix_groups(${', '.join(params)}) {
  ${tiles.places(p, items, widest, apart)}
  const uint m = (uint)n;
  for (long line = get_group_id(0); line < lines; line += get_num_groups(0)) {
    __global const key_t *restrict x = xp + xo + line * n;
    __global ${out} *restrict y = yp + line * n;
    key_t k[${items}];
% if pairs or not apart:
    uint r[${items}];
% endif
    #pragma unroll
    for (int i = 0; i < ${items}; ++i) k[i] = at + i * ${p.lanes} < m ? ENTER(x[at + i * ${p.lanes}]) : (key_t)~(key_t)0;
% if pairs:
    __local ushort *positions = (__local ushort *)room;
    ushort v[${items}];
    #pragma unroll
    for (int i = 0; i < ${items}; ++i) v[i] = (ushort)(at + i * ${p.lanes});
% endif
    for (int shift = 0; shift < ${kind.bits}; shift += ${p.digit_bits}) {
      ${tiles.rank(p, items, apart, pairs)}
      barrier(CLK_LOCAL_MEM_FENCE);
      #pragma unroll
      for (int i = 0; i < ${items}; ++i) k[i] = keys[at + i * ${p.lanes}];
      barrier(CLK_LOCAL_MEM_FENCE);
% if pairs:
      #pragma unroll
      for (int i = 0; i < ${items}; ++i) positions[r[i]] = v[i];
      barrier(CLK_LOCAL_MEM_FENCE);
      #pragma unroll
      for (int i = 0; i < ${items}; ++i) v[i] = positions[at + i * ${p.lanes}];
      barrier(CLK_LOCAL_MEM_FENCE);
% endif
    }
    #pragma unroll
    for (int i = 0; i < ${items}; ++i) if (at + i * ${p.lanes} < m) y[at + i * ${p.lanes}] = ${'v[i]' if pairs else 'bits_of(k[i])'};
  }
}
% endif
