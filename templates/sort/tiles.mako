## Radix sort by work-groups: a digit of the keys at a time, from the lowest, each pass a stable split into runs.
##
##   keys      tile 0 | tile 1 | tile 2 | ...      a work-group ranks a tile's keys by their digit, puts them in that
##                                                 order in local memory, and copies each run to its place:
##   place     start of the digit's run  +  keys of that digit in the tiles before  +  rank among the tile's own
##
##   look back       `digits` counts all digits of all keys at once: the starts of the runs. Every tile publishes
##                   its counts, and adds up those of the tiles before it until one is found that has done so too.
##                   Tiles are numbered as work-groups begin, so whom one waits for has begun; and who waits for long
##                   counts for himself: no order in which a device runs work-groups can hang it or change a bit.
##
##                      state   0: nothing | 1: count of the tile | 2: count of it and all tiles before
##
##   no look back    `tally` counts each tile, `rows` adds up each digit's counts over the tiles, `starts` the sums
##
## An element is the key, and in an argsort its position, which is moved the same way.
<%namespace name="radix" file="/lib/radix.mako"/>
<%namespace name="tiles" file="/lib/tiles.mako"/>
<% size = 1 << p.digit_bits; tile = p.work_group * items; flags = 62 if state == 'ulong' else 30 %>
${radix.keys(kind)}
${tiles.lanes(p)}
${tiles.words(p, state)}
#define DIGIT(k) ((uint)((k) >> shift) & ${size - 1})
#define ENTER(x) ${'rank_of(key_of(x))' if pairs else 'key_of(x)'}
% if p.look_back:
ATTR __kernel __attribute__((reqd_work_group_size(${p.work_group}, 1, 1)))
void radix_digits(${', '.join(params['radix_digits'])}) {
  __local uint counts[${passes * size}];
  const uint t = get_local_id(0);
  __global const key_t *restrict x = xp + xo;
  for (uint j = t; j < ${passes * size}; j += ${p.work_group}) counts[j] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const long all = (n + ${tile - 1}) / ${tile};
  for (long i = get_group_id(0); i < all; i += get_num_groups(0)) {
    const long base = i * ${tile} + t;
    if (i * ${tile} + ${tile} <= n) {
      key_t k[${items}];
      #pragma unroll
      for (int j = 0; j < ${items}; ++j) k[j] = x[base + j * ${p.work_group}];
      #pragma unroll
      for (int j = 0; j < ${items}; ++j) {
        k[j] = ENTER(k[j]);
% for q in range(passes):
        atomic_inc(counts + ${q * size} + ((uint)(k[j] >> ${q * p.digit_bits}) & ${size - 1}));
% endfor
      }
    } else {
      for (long j = base; j < n; j += ${p.work_group}) {
        const key_t k = ENTER(x[j]);
% for q in range(passes):
        atomic_inc(counts + ${q * size} + ((uint)(k >> ${q * p.digit_bits}) & ${size - 1}));
% endfor
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
## The number of elements that one work-group counts fits in 32 bits; their sum may not, nor can it be added atomically.
% if state == 'uint':
  for (uint j = t; j < ${passes * size}; j += ${p.work_group}) if (counts[j]) atomic_add(found + j, counts[j]);
% else:
  for (uint j = t; j < ${passes * size}; j += ${p.work_group}) found[get_group_id(0) * ${passes * size} + j] = counts[j];
% endif
  for (long i = get_global_id(0); i < words; i += get_global_size(0)) states[i] = 0;
}
% endif
## Sums of what comes before, for each pass; `found` has `parts` tables, and is zeros again afterwards.
ATTR __kernel __attribute__((reqd_work_group_size(${p.work_group}, 1, 1)))
void radix_starts(${', '.join(params['radix_starts'])}) {
  __local ${state} sums[${size}];
  const uint t = get_local_id(0);
  for (int q = 0; q < rounds; ++q) {
    ${state} c = 0;
    if (t < ${size}) {
      for (int g = 0; g < parts; ++g) {
        c += found[(g * rounds + q) * ${size} + t];
        found[(g * rounds + q) * ${size} + t] = 0;
      }
      sums[t] = c;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint by = 1; by < ${size}; by <<= 1) {
      const ${state} u = t < ${size} && t >= by ? sums[t - by] : 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (t < ${size}) sums[t] += u;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t < ${size}) starts[q * ${size} + t] = sums[t] - c;
    if (t == 0) tickets[q] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
% if not p.look_back:
% for entering in (True, False)[:passes]:
ATTR __kernel __attribute__((reqd_work_group_size(${p.work_group}, 1, 1)))
void radix_tally_${'f' if entering else 'm'}(${', '.join(params['radix_tally_' + ('f' if entering else 'm')])}) {
  __local uint counts[${size}];
  const uint t = get_local_id(0);
  __global const key_t *restrict x = xp + xo;
  if (t < ${size}) counts[t] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const long base = get_group_id(0) * (long)${tile};
  for (int j = 0; j < ${items}; ++j) {
    const long i = base + j * ${p.work_group} + t;
    if (i < n) { const key_t k = ${'ENTER(x[i])' if entering else 'x[i]'}; atomic_inc(counts + DIGIT(k)); }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t < ${size}) table[t * all + get_group_id(0)] = counts[t];
}
% endfor
## A work-group takes the row of a digit: every count becomes the sum of those before it, `found` has the whole sum.
ATTR __kernel __attribute__((reqd_work_group_size(${p.work_group}, 1, 1)))
void radix_rows(${', '.join(params['radix_rows'])}) {
  __local ${state} sums[${p.work_group}];
  const uint t = get_local_id(0);
  __global ${state} *restrict row = table + get_group_id(0) * all;
  ${state} before = 0;
  for (long first = 0; first < all; first += ${p.work_group}) {
    const ${state} c = first + t < all ? row[first + t] : 0;
    sums[t] = c;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint by = 1; by < ${p.work_group}; by <<= 1) {
      const ${state} u = t >= by ? sums[t - by] : 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      sums[t] += u;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (first + t < all) row[first + t] = before + sums[t] - c;
    before += sums[${p.work_group - 1}];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) found[get_group_id(0)] = before;
}
% endif
% for suffix in variants:
<%
  entering, leaving = 'f' in suffix, 'l' in suffix
  position_in = ('long' if given else '') if entering else position
  position_out = 'long' if leaving else position
%>
ATTR __kernel __attribute__((reqd_work_group_size(${p.work_group}, 1, 1)))
void radix_pass_${suffix}(${', '.join(params['radix_pass_' + suffix])}) {
  ${tiles.places(p, items, widest, apart)}
  __local ${state} bases[${size}];
  __global const key_t *restrict x = xp + xo;
% if p.look_back:
  __local uint ticket;
  if (t == 0) ticket = atomic_inc(tickets + number);
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint tile = ticket;
  starts += number * ${size};
  states += number * all * ${size};
% else:
  const uint tile = get_group_id(0);
% endif
  const long base = (long)tile * ${tile};
  const bool full = base + ${tile} <= n;
  const uint last = full ? ${tile} : (uint)(n - base);
  key_t k[${items}];
% if pairs or not apart:
  uint r[${items}];
% endif
  if (full) {
    #pragma unroll
    for (int i = 0; i < ${items}; ++i) k[i] = ${'ENTER(x[base + at + i * %d])' % p.lanes if entering else 'x[base + at + i * %d]' % p.lanes};
  } else {
## What is missing in the last tile counts as the greatest keys, after all others: they get no place.
    #pragma unroll
    for (int i = 0; i < ${items}; ++i) k[i] = at + i * ${p.lanes} < last ? ${'ENTER(x[base + at + i * %d])' % p.lanes if entering else 'x[base + at + i * %d]' % p.lanes} : (key_t)~(key_t)0;
  }
  <%tiles:rank p="${p}" items="${items}" apart="${apart}" kept="${pairs}">
    <%def name="counted()">
% if p.look_back:
    if (t < ${size}) store_state(states + (long)tile * ${size} + t, ((${state})(tile ? 1 : 2) << ${flags}) | c);
% endif
    </%def>
  </%tiles:rank>
  if (t < ${size}) {
    ${state} sum = 0;
% if p.look_back:
    uint looks = 0;
    for (long q = (long)tile - 1; q >= 0;) {
      const ${state} seen_there = load_state(states + q * ${size} + t);
      const uint flag = (uint)(seen_there >> ${flags});
      if (flag) {
        sum += seen_there & (((${state})1 << ${flags}) - 1);
        if (flag == 2) break;
        --q;
      } else if (++looks > ${p.spins}u) {
        for (long j = q * ${tile}; j < (q + 1) * ${tile}; ++j) { const key_t o = ${'ENTER(x[j])' if entering else 'x[j]'}; sum += DIGIT(o) == t; }
        --q;
      }
    }
    if (tile) store_state(states + (long)tile * ${size} + t, ((${state})2 << ${flags}) | (sum + c));
% else:
    sum = states[t * all + tile];
% endif
    bases[t] = starts[t] + sum - start;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
% if pairs:
  ${state} place[${items}];
% endif
  #pragma unroll
  for (int i = 0; i < ${items}; ++i) {
    const uint j = t + i * ${p.work_group};
    if (full || j < last) {
      const key_t moved = keys[j];
      const ${state} to_place = bases[DIGIT(moved)] + j;
% if pairs:
      place[i] = to_place;
% endif
% if not leaving:
      y[to_place] = moved;
% elif not pairs:
      y[to_place] = bits_of(moved);
% endif
    }
  }
% if pairs:
  __local ${position} *positions = (__local ${position} *)room;
  ${position} v[${items}];
  #pragma unroll
  for (int i = 0; i < ${items}; ++i) {
% if position_in:
    v[i] = full || at + i * ${p.lanes} < last ? (${position})from[base + at + i * ${p.lanes}] : 0;
% else:
    v[i] = (${position})(base + at + i * ${p.lanes});
% endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  #pragma unroll
  for (int i = 0; i < ${items}; ++i) positions[r[i]] = v[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  #pragma unroll
  for (int i = 0; i < ${items}; ++i) {
    const uint j = t + i * ${p.work_group};
    if (full || j < last) to[place[i]] = positions[j];
  }
% endif
}
% endfor
