## Bitmap: the distinct ones of many keys of 32 bits, in order, without a sort; see plan/bitmap.py.
##
##   keys                 tally, split       ...2 | ...0 | ...1 ...          to 256 places by their highest bits, in any order
##   map                  set                a bit per possible key: of one place, 2 MiB, which the cache holds
##   distinct keys        count, write       the bits that are set, in order
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
#define DIGIT(k) ((k) >> ${bits - 8})
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
KERNEL
void bitmap_tally(__global const ${lane} *restrict x, const long xo, const uint n, __global uint *restrict found) {
  __local uint counts[256];
  const int item = get_local_id(0);
  for (int s = item; s < 256; s += ${wg}) counts[s] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  x += xo;
  for (ulong tile = (ulong)get_group_id(0) * ${wg * items}; tile < n; tile += (ulong)get_num_groups(0) * ${wg * items}) {
    if (tile + ${wg * items} <= n) {
      ${lane} v[${items}];
      for (int j = 0; j < ${items}; ++j) v[j] = x[tile + j * ${wg} + item];
      for (int j = 0; j < ${items}; ++j) atomic_inc(counts + DIGIT(key_of(v[j])));
    } else {
      for (ulong i = tile + item; i < n; i += ${wg}) atomic_inc(counts + DIGIT(key_of(x[i])));
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = item; s < 256; s += ${wg}) if (counts[s]) atomic_add(found + s, counts[s]);
}
KERNEL
void bitmap_starts(__global uint *restrict found) {
  __local uint sums[256];
  const int item = get_local_id(0);
  for (int s = item; s < 256; s += ${wg}) sums[s] = found[s];
  barrier(CLK_LOCAL_MEM_FENCE);
${before('sums', 256)}
  for (int s = item; s < 256; s += ${wg}) found[s] = s ? sums[s - 1] : 0;
}
KERNEL
void bitmap_split(__global const ${lane} *restrict x, const long xo, const uint n, __global uint *restrict places, __global uint *restrict keys) {
  __local uint counts[256], starts[256], staged[${wg * items}];
  const int item = get_local_id(0);
  const ulong tile = (ulong)get_group_id(0) * ${wg * items};
  const uint count = (uint)min((ulong)${wg * items}, (ulong)n - tile);
  x += xo + tile;
  for (int s = item; s < 256; s += ${wg}) counts[s] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint k[${items}], rank[${items}];
  for (int j = 0; j < ${items}; ++j) {
    const uint i = j * ${wg} + item;
    k[j] = i < count ? key_of(x[i]) : 0;
  }
  for (int j = 0; j < ${items}; ++j) {
    const uint i = j * ${wg} + item;
    rank[j] = i < count ? atomic_inc(counts + DIGIT(k[j])) : 0;
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
    if (s < 256) {
      const uint first = counts[s] - own[q];
      starts[s] = (own[q] ? atomic_add(places + s, own[q]) : 0) - first;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int j = 0; j < ${items}; ++j) {
    const uint i = j * ${wg} + item, digit = DIGIT(k[j]);
    if (i < count) staged[(digit ? counts[digit - 1] : 0) + rank[j]] = k[j];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i < count; i += ${wg}) {
    const uint key = staged[i];
    keys[starts[DIGIT(key)] + i] = key;
  }
}
KERNEL
void bitmap_set(__global const uint *restrict keys, const uint n, volatile __global uint *map) {
  const int item = get_local_id(0);
  for (ulong tile = (ulong)get_group_id(0) * ${wg * 8}; tile < n; tile += (ulong)get_num_groups(0) * ${wg * 8}) {
    uint k[8], seen[8];
    for (int j = 0; j < 8; ++j) k[j] = tile + j * ${wg} + item < n ? keys[tile + j * ${wg} + item] : keys[tile];
    for (int j = 0; j < 8; ++j) seen[j] = ${look('map + (k[j] >> 5)')};
    for (int j = 0; j < 8; ++j) if (!(seen[j] >> (k[j] & 31) & 1)) atomic_or(map + (k[j] >> 5), 1u << (k[j] & 31));
  }
}
KERNEL
void bitmap_count(__global const uint *restrict map, __global uint *restrict found) {
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
void bitmap_write(__global const uint *restrict map, __global const long *restrict starts, __global ${lane} *restrict y) {
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
