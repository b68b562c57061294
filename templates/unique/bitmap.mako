## Bitmap: the distinct ones of many keys of 32 bits, in order, without a sort; see unique/plan_bitmap.py.
##
##   tally, split         keys to 256 places by their highest 8 bits, in any order; then those of a place to 256 of its own
##   set                  a bit per possible key: of one of the 65536 places 8 KiB, so local memory holds a tile's
##   count, write         the bits that are set, in order
##
## Atomic operations add counts, take places and set bits. Who comes first decides where a key lies in its place, and
## nothing of what comes out.
HELPER uint key_of(const ${lane} x) {
% if kind == 'f':
  const uint b = x != x ? 0x7fc00000u : x == 0 ? 0u : as_uint(x);
  return b >> 31 ? ~b : b | 0x80000000u;
% elif kind == 'i':
  return (uint)x + ${1 << (bits - 1)}u;
% else:
  return x;
% endif
}
HELPER ${lane} value_of(const uint k) {
% if kind == 'f':
  return as_float(k >> 31 ? k & 0x7fffffffu : ~k);
% elif kind == 'i':
  return (int)(k - ${1 << (bits - 1)}u);
% else:
  return k;
% endif
}
<% tile = wg * items %>
#define KERNEL ATTR __kernel __attribute__((reqd_work_group_size(${wg}, 1, 1)))
## Running sums of `sums` over its first `size` elements, by a work-group.
<%def name="before(sums, size)">
for (int step_ = 1; step_ < ${size}; step_ <<= 1) {
  uint mine_[${-(-size // wg)}];
  for (int q = 0; q < ${-(-size // wg)}; ++q) {
    const int s = item + q * ${wg};
    mine_[q] = s < ${size} && s >= step_ ? ${sums}[s - step_] : 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int q = 0; q < ${-(-size // wg)}; ++q) {
    const int s = item + q * ${wg};
    if (s < ${size}) ${sums}[s] += mine_[q];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}
</%def>
## Count the digits of keys: the highest one of values, or the second one of keys that lie by the first. Of those, a
## tile's all have one first digit, but where a place ends: there keys are counted one by one.
<%def name="tally(name, key, level)">
KERNEL
void ${name}(${', '.join(params[name])}) {
  __local uint counts[256];
  const int item = get_local_id(0);
  x += xo;
  uint main_ = 0;
  for (int s = item; s < 256; s += ${wg}) counts[s] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
% if level == 1:
  for (ulong tile = (ulong)get_group_id(0) * ${tile}; tile < n; tile += (ulong)get_num_groups(0) * ${tile}) {
% else:
  {
    const ulong tile = (ulong)get_group_id(0) * ${tile};
    main_ = x[tile] >> ${bits - 8};
% endif
    uint k[${items}];
    #pragma unroll
    for (int j = 0; j < ${items}; ++j) k[j] = ${key('x[min(tile + j * %d + item, (ulong)n - 1)]' % wg)};
    #pragma unroll
    for (int j = 0; j < ${items}; ++j) {
      if (tile + j * ${wg} + item >= n) continue;
% if level == 1:
      atomic_inc(counts + (k[j] >> ${bits - 8}));
% else:
      if (k[j] >> ${bits - 8} == main_) atomic_inc(counts + (k[j] >> ${bits - 16} & 255));
      else atomic_inc(found + (k[j] >> ${bits - 16}));
% endif
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = item; s < 256; s += ${wg}) if (counts[s]) atomic_add(found + main_ * 256 + s, counts[s]);
}
</%def>
${tally('bitmap_tally', lambda x: f'key_of({x})', 1)}
${tally('bitmap_next_tally', lambda x: x, 2)}
## From counts to starts: a work-group for the second digits of one place, which begins where the place before ends.
KERNEL
void bitmap_starts(${', '.join(params['bitmap_starts'])}) {
  __local uint sums[256];
  const int item = get_local_id(0);
  const uint group = get_group_id(0), first = group ? ends[group - 1] : 0;
  found += group * 256;
  for (int s = item; s < 256; s += ${wg}) sums[s] = found[s];
  barrier(CLK_LOCAL_MEM_FENCE);
${before('sums', 256)}
  for (int s = item; s < 256; s += ${wg}) found[s] = first + (s ? sums[s - 1] : 0);
}
## Move keys to their places: by runs, which are put together in local memory.
<%def name="split(name, key, level)">
KERNEL
void ${name}(${', '.join(params[name])}) {
  __local uint counts[256], starts[256], staged[${tile}];
  const int item = get_local_id(0);
  const ulong tile = (ulong)get_group_id(0) * ${tile};
  const uint count = (uint)min((ulong)${tile}, (ulong)n - tile);
  x += xo + tile;
  for (int s = item; s < 256; s += ${wg}) counts[s] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint k[${items}], rank[${items}];
  #pragma unroll
  for (int j = 0; j < ${items}; ++j) k[j] = ${key('x[min((uint)(j * %d + item), count - 1)]' % wg)};
% if level == 2:
  const uint main_ = x[0] >> ${bits - 8};
  places += main_ * 256;
% endif
  #pragma unroll
  for (int j = 0; j < ${items}; ++j) {
    rank[j] = ${tile};
    if ((uint)(j * ${wg} + item) >= count) continue;
% if level == 2:
    if (k[j] >> ${bits - 8} != main_) {
      keys[atomic_inc(places + (k[j] >> ${bits - 16}) - main_ * 256)] = k[j];
      continue;
    }
% endif
    rank[j] = atomic_inc(counts + (k[j] >> ${bits - 8 * level} & 255));
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint own[${-(-256 // wg)}];
  for (int q = 0; q < ${-(-256 // wg)}; ++q) {
    const int s = item + q * ${wg};
    own[q] = s < 256 ? counts[s] : 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
${before('counts', 256)}
  for (int q = 0; q < ${-(-256 // wg)}; ++q) {
    const int s = item + q * ${wg};
    if (s < 256 && own[q]) starts[s] = atomic_add(places + s, own[q]) - (counts[s] - own[q]);
  }
  #pragma unroll
  for (int j = 0; j < ${items}; ++j) {
    const uint digit = k[j] >> ${bits - 8 * level} & 255;
    if (rank[j] < ${tile}) staged[(digit ? counts[digit - 1] : 0) + rank[j]] = k[j];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint placed = counts[255];
  for (uint i = item; i < placed; i += ${wg}) {
    const uint key = staged[i];
    keys[starts[key >> ${bits - 8 * level} & 255] + i] = key;
  }
}
</%def>
${split('bitmap_split', lambda x: f'key_of({x})', 1)}
${split('bitmap_next_split', lambda x: x, 2)}
## Set the bits of a tile's keys in a window of the map in local memory, from the place of the first key on, and then
## those of the window in the map; a key beyond the window its own.
KERNEL
void bitmap_set(${', '.join(params['bitmap_set'])}) {
  __local uint near[${window}];
  const int item = get_local_id(0);
  const ulong tile = (ulong)get_group_id(0) * ${tile};
  const uint last = (uint)(min(tile + ${tile}, (ulong)n) - 1);
  const uint base = (keys[tile] >> ${bits - 16} << ${bits - 16}) >> 5;
  const uint span = min((uint)${window}, (((keys[last] >> ${bits - 16}) << ${bits - 16} | ${(1 << (bits - 16)) - 1}u) >> 5) - base + 1);
  for (uint w = item; w < span; w += ${wg}) near[w] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint k[${items}];
  #pragma unroll
  for (int j = 0; j < ${items}; ++j) k[j] = keys[min(tile + j * ${wg} + item, (ulong)last)];
  #pragma unroll
  for (int j = 0; j < ${items}; ++j) {
    const uint w = (k[j] >> 5) - base, bit = 1u << (k[j] & 31);
    if (w >= span) atomic_or(map + base + w, bit);
    else if (!(${atomic_load('near + w')} & bit)) atomic_or(near + w, bit);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint w = item; w < span; w += ${wg}) {
    const uint mine = near[w];
    if (mine) atomic_or(map + base + w, mine);
  }
}
KERNEL
void bitmap_clear(${', '.join(params['bitmap_clear'])}) {
  for (long i = get_global_id(0); i < n; i += get_global_size(0)) map[i] = (uint4)(0);
}
KERNEL
void bitmap_count(${', '.join(params['bitmap_count'])}) {
  __local uint sum;
  const int item = get_local_id(0);
  if (item == 0) sum = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  map += (ulong)get_group_id(0) * ${chunk};
  uint count = 0;
  for (int w = item; w < ${chunk}; w += ${wg}) count += popcount(map[w]);
  if (count) atomic_add(&sum, count);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item == 0) found[get_group_id(0)] = sum;
}
KERNEL
void bitmap_write(${', '.join(params['bitmap_write'])}) {
  __local uint sums[${wg}];
  const int item = get_local_id(0);
  map += (ulong)get_group_id(0) * ${chunk};
  long place = starts[get_group_id(0)];
  for (int w = 0; w < ${chunk}; w += ${wg}) {
    uint word = map[w + item];
    const uint count = popcount(word);
    sums[item] = count;
    barrier(CLK_LOCAL_MEM_FENCE);
${before('sums', wg)}
    long at = place + sums[item] - count;
    place += sums[${wg - 1}];
    const uint key = ((uint)get_group_id(0) * ${chunk}u + (uint)(w + item)) << 5;
    while (word) {
      y[at++] = value_of(key + popcount((word & -word) - 1));
      word &= word - 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
