## Radix sort of a long line on a CPU: the passes of several work-items, each with a chunk of the line.
##
##   range    the smallest and the largest key
##   sort     count   per chunk, how many keys fall into each of up to 2^16 equal parts of the range (cells)
##                    cells of one key each: `fill` writes the result from the counts alone
##            split   neighbouring cells make a bucket, as many as hold about as many keys as the caches like;
##                    every chunk moves its keys to its places in the buckets
##            bucket  a work-item sorts a bucket where it is, by the digits that differ inside it
##   argsort  tally   per chunk, how often each value of a digit occurs
##            move    every chunk moves its elements to its places in the runs; digit by digit, from the lowest
##
## The tables between the passes (places of a chunk's cells, cells of a bucket) are made by the host.
<%namespace name="radix" file="/lib/radix.mako"/>
<%def name="chunk()">
  const long group = get_group_id(0), groups = get_num_groups(0);
  const long first = n / groups * group + min(group, n % groups);
  const long last = first + n / groups + (group < n % groups);
</%def>
## Keys as they are found: from the bits of values, or ready in a bucket that is sorted as a line of its own.
<%def name="load(ready, place)" filter="trim">
${f'x[{place}]' if ready else f'rank_of(key_of(x[{place}]))' if form != 'keys' else f'key_of(x[{place}])'}
</%def>
${radix.keys(kind)}
${radix.elements(kind, form)}
% for ready in (False, True)[:1 + (form == 'keys')]:
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_range${'_keys' * ready}(${', '.join(params['radix_range' + ('_keys' * ready)])}) {
  ${chunk()}
  __global const key_t *restrict x = xp + xo;
  key_t low[16], high[16];
  for (int l = 0; l < 16; ++l) { low[l] = ~(key_t)0; high[l] = 0; }
  long i = first;
  for (; i + 16 <= last; i += 16) {
    for (int l = 0; l < 16; ++l) {
      const key_t k = ${load(ready, 'i + l')};
      low[l] = k < low[l] ? k : low[l];
      high[l] = k > high[l] ? k : high[l];
    }
  }
  for (; i < last; ++i) {
    const key_t k = ${load(ready, 'i')};
    low[0] = k < low[0] ? k : low[0];
    high[0] = k > high[0] ? k : high[0];
  }
  for (int l = 1; l < 16; ++l) {
    low[0] = low[l] < low[0] ? low[l] : low[0];
    high[0] = high[l] > high[0] ? high[l] : high[0];
  }
  found[2 * group] = low[0];
  found[2 * group + 1] = high[0];
}
% if form == 'keys':
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_count${'_keys' * ready}(${', '.join(params['radix_count' + ('_keys' * ready)])}) {
  ${chunk()}
  __global const key_t *restrict x = xp + xo;
  __global ${counter} *restrict c = counts + group * 2 * cells, *restrict o = c + cells;
  const key_t low = (key_t)lowest;
  for (long j = 0; j < 2 * cells; ++j) c[j] = 0;
  long i = first;
  for (; i + 8 <= last; i += 8) {
    uint at[8];
    for (int l = 0; l < 8; ++l) at[l] = (uint)((key_t)(${load(ready, 'i + l')} - low) >> shift);
## two tables, so that equal keys in a row do not wait for each other
    for (int l = 0; l < 8; l += 2) { c[at[l]] += 1; o[at[l + 1]] += 1; }
  }
  for (; i < last; ++i) c[(uint)((key_t)(${load(ready, 'i')} - low) >> shift)] += 1;
  for (long j = 0; j < cells; ++j) c[j] += o[j];
}
## Keys here and there: what to expect.
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_probe${'_keys' * ready}(${', '.join(params['radix_probe' + ('_keys' * ready)])}) {
  __global const key_t *restrict x = xp + xo;
  for (int i = 0; i < count; ++i) found[i] = ${load(ready, 'i * step')};
}
## Count a few known keys, each in a cell of its own; the last counter is not 0 if there are others.
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_known${'_keys' * ready}(${', '.join(params['radix_known' + ('_keys' * ready)])}) {
  ${chunk()}
  __global const key_t *restrict x = xp + xo;
  const key_t low = (key_t)lowest, last_cell = (key_t)(cells - 1);
  ${counter} c[4][${few}];
  key_t k[${few}], others = 0;
  for (int j = 0; j < ${few}; ++j) { c[0][j] = c[1][j] = c[2][j] = c[3][j] = 0; k[j] = known[j]; }
  long i = first;
  for (; i + 4 <= last; i += 4) {
    for (int l = 0; l < 4; ++l) {
      const key_t own = ${load(ready, 'i + l')};
      const key_t cell = (key_t)(own - low) >> shift;
      const uchar slot = slot_of[cell < last_cell ? cell : last_cell];
      others |= own ^ k[slot];
      c[l][slot] += 1;
    }
  }
  for (; i < last; ++i) {
    const key_t own = ${load(ready, 'i')};
    const key_t cell = (key_t)(own - low) >> shift;
    const uchar slot = slot_of[cell < last_cell ? cell : last_cell];
    others |= own ^ k[slot];
    c[0][slot] += 1;
  }
  for (int j = 0; j < ${few}; ++j) counts[group * ${few + 1} + j] = c[0][j] + c[1][j] + c[2][j] + c[3][j];
  counts[group * ${few + 1} + ${few}] = others != 0;
}
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_split${'_keys' * ready}(${', '.join(params['radix_split' + ('_keys' * ready)])}) {
  ${chunk()}
  __global const key_t *restrict x = xp + xo;
  const key_t low = (key_t)lowest;
  ${counter} place[${most_buckets}];
  for (long j = 0; j < buckets; ++j) place[j] = places[group * buckets + j];
  long i = first;
  for (; i + 8 <= last; i += 8) {
    ushort at[8];
    key_t k[8];
    for (int l = 0; l < 8; ++l) {
      k[l] = ${load(ready, 'i + l')};
      at[l] = bucket_of[(uint)((key_t)(k[l] - low) >> shift)];
    }
    for (int l = 0; l < 8; ++l) y[place[at[l]]++] = k[l];
  }
  for (; i < last; ++i) {
    const key_t k = ${load(ready, 'i')};
    y[place[bucket_of[(uint)((key_t)(k - low) >> shift)]]++] = k;
  }
}
% endif
% endfor
% if form == 'keys':
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_fill(${', '.join(params['radix_fill'])}) {
  ${chunk()}
  if (first == last) return;
  long a = 0, b = cells - 1;
  while (a < b) { const long m = (a + b) / 2; if (ends[m] > first) b = m; else a = m + 1; }
  for (long i = first; i < last; ++a) {
    const long end = ends[a] < last ? ends[a] : last;
    const key_t v = bits_of((key_t)values[a]);
    for (; i < end; ++i) y[yo + i] = v;
  }
}
## A pass of a bucket's sort over `digit` bits.
<%def name="passes(digits)">
    for (int p = 0; p < ${digits}; ++p)
      for (uint d = 0; d < runs; ++d) counts[p][d] = 0;
    for (${counter} i = 0; i < m; ++i) {
      const key_t k = (key_t)(a[i] - low) >> shift;
% for p in range(digits):
      counts[${p}][(uint)(k >> (${p} * width)) & (runs - 1)] += 1;
% endfor
    }
    for (int p = 0; p < ${digits}; ++p, shift += width) {
      ${counter} sum = 0, *at = counts[p];
      for (uint d = 0; d < runs; ++d) { const ${counter} c = at[d]; at[d] = sum; sum += c; }
      if (--left) {
        for (${counter} i = 0; i < m; ++i) { const key_t k = a[i]; b[at[(uint)((key_t)(k - low) >> shift) & (runs - 1)]++] = k; }
        __global key_t *t = a; a = b; b = t;
      } else if (b == y) {
        for (${counter} i = 0; i < m; ++i) { const key_t k = a[i]; b[at[(uint)((key_t)(k - low) >> shift) & (runs - 1)]++] = bits_of(k); }
      } else {
        for (${counter} i = 0; i < m; ++i) { const key_t k = a[i]; b[at[(uint)((key_t)(k - low) >> shift) & (runs - 1)]++] = k; }
        for (${counter} i = 0; i < m; ++i) y[i] = bits_of(b[i]);
      }
    }
</%def>
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_bucket(${', '.join(params['radix_bucket'])}) {
  const long start = spans[2 * get_group_id(0)];
  const ${counter} m = spans[2 * get_group_id(0) + 1];
  __global key_t *a = xs + start, *b = ys + yo + start, *y = b;
  if (m == 0) return;
  if (m <= ${short}) {
    key_t k[${short}];
    for (int i = 0; i < m; ++i) k[i] = a[i];
    for (int i = 0; i < m; ++i) {
      const key_t own = k[i];
      uint before = 0;
      for (int j = 0; j < i; ++j) before += k[j] <= own;
      for (int j = i + 1; j < m; ++j) before += k[j] < own;
      y[before] = bits_of(own);
    }
    return;
  }
  key_t low = a[0], high = a[0];
  for (${counter} i = 1; i < m; ++i) { low = a[i] < low ? a[i] : low; high = a[i] > high ? a[i] : high; }
  if (low == high) {
    const key_t v = bits_of(low);
    for (${counter} i = 0; i < m; ++i) y[i] = v;
    return;
  }
  const int different = ${kind.bits} - (int)clz((key_t)(high - low));
## the widest digits first: balanced ones end in runs a power of two apart, which share cache sets (6.2 against 4.9 ms)
  const int most = m > 6000 ? 12 : m > 700 ? 11 : m > 200 ? 8 : 6;
  int left = (different + most - 1) / most, shift = 0;
  const int width = different < most ? different : most;
  const uint runs = 1u << width;
  ${counter} counts[3][4096];
  while (left) {
    if (left == 1) { ${passes(1)} } else if (left == 2 || left == 4) { ${passes(2)} } else { ${passes(3)} }
  }
}
% else:
<%def name="digit(entering, place)" filter="trim">
% if entering:
(uint)((key_t)(rank_of(key_of(x[${place}])) - low) >> shift) & ${size - 1}
% else:
(uint)(key_in(x[${place}]) >> shift) & ${size - 1}
% endif
</%def>
% for entering, leaving in ((True, True), (True, False), (False, False), (False, True)):
<% suffix = 'f' * entering + 'l' * leaving or 'm'; item = 'key_t' if entering else 'elem_t' %>
% if not leaving:
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_tally_${'f' if entering else 'm'}(${', '.join(params['radix_tally_' + ('f' if entering else 'm')])}) {
  ${chunk()}
  __global const ${item} *restrict x = xp + xo;
  ${counter} c[2][${size}];
  for (int d = 0; d < ${size}; ++d) c[0][d] = c[1][d] = 0;
  const key_t low = (key_t)lowest;
  long i = first;
  for (; i + 2 <= last; i += 2) {
    c[0][${digit(entering, 'i')}] += 1;
    c[1][${digit(entering, 'i + 1')}] += 1;
  }
  if (i < last) c[0][${digit(entering, 'i')}] += 1;
  for (int d = 0; d < ${size}; ++d) counts[group * ${size} + d] = c[0][d] + c[1][d];
}
% endif
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_move_${suffix}(${', '.join(params['radix_move_' + suffix])}) {
  ${chunk()}
  __global const ${item} *restrict x = xp + xo;
  ${counter} place[${size}];
  ${counter} sum = 0;
  for (int d = 0; d < ${size}; ++d) {
    for (long g = 0; g < groups; ++g) {
      if (g == group) place[d] = sum;
      sum += counts[g * ${size} + d];
    }
  }
  const key_t low = (key_t)lowest;
  for (long i = first; i < last; ++i) {
% if entering:
    const elem_t e = make_elem((key_t)(rank_of(key_of(x[i])) - low), i);
% else:
    const elem_t e = x[i];
% endif
    y[place[(uint)(key_in(e) >> shift) & ${size - 1}]++] = ${'place_in(e)' if leaving else 'e'};
  }
}
% endfor
% endif
