## Radix sort of many lines on a CPU: a work-item takes a line at a time, which stays in its caches.
##
##   line    -> keys, and the counts of all their digits in one go
##   digit 0    scratch 0 -> scratch 1      a run for each value of the digit, in the order in which they stood
##   digit 1    scratch 1 -> scratch 0      digits that are the same all along the line are passed over
##   ...
##   last       scratch -> the line sorted, or the positions
##
## Short lines: every element counts those that come before it, which compilers turn into vectors.
##
## An element is the key alone (sort); the key, and the position in the low half of a ulong (argsort);
## or a ulong2 of both for keys of 64 bits.
<%namespace name="radix" file="/lib/radix.mako"/>
<% digits = -(-kind.bits // bits); size = 1 << bits %>
${radix.keys(kind)}
${radix.elements(kind, form)}
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_lines(${', '.join(params)}) {
  const long group = get_group_id(0), groups = get_num_groups(0);
  const long first = lines / groups * group + min(group, lines % groups);
  const long last = first + lines / groups + (group < lines % groups);
  for (long line = first; line < last; ++line) {
    __global const key_t *x = xp + xo + line * n;
    __global ${out} *y = yp + line * n;
    if (n <= ${short}) {
      key_t k[${short}];
      for (int i = 0; i < n; ++i) k[i] = ${'rank_of(key_of(x[i]))' if form != 'keys' else 'key_of(x[i])'};
      for (int i = 0; i < n; ++i) {
        const key_t own = k[i];
        uint before = 0;
        for (int j = 0; j < i; ++j) before += k[j] <= own;
        for (int j = i + 1; j < n; ++j) before += k[j] < own;
        y[before] = ${'i' if form != 'keys' else 'bits_of(own)'};
      }
      continue;
    }
    __global elem_t *a = scratch + group * 2 * n, *b = a + n;
    uint counts[${digits}][${size}];
    for (int p = 0; p < ${digits}; ++p)
      for (int d = 0; d < ${size}; ++d) counts[p][d] = 0;
    for (long i = 0; i < n; ++i) {
      const key_t k = ${'rank_of(key_of(x[i]))' if form != 'keys' else 'key_of(x[i])'};
      a[i] = make_elem(k, i);
% for p in range(digits):
      counts[${p}][(uint)(k >> ${p * bits}) & ${size - 1}] += 1;
% endfor
    }
    int left = 0;
    for (int p = 0; p < ${digits}; ++p) left += counts[p][(uint)(key_in(a[0]) >> (p * ${bits})) & ${size - 1}] != n;
    if (left == 0) for (long i = 0; i < n; ++i) y[i] = ${'i' if form != 'keys' else 'bits_of(key_in(a[i]))'};
    for (int p = 0; left; ++p) {
      const int shift = p * ${bits};
      uint *start = counts[p];
      if (start[(uint)(key_in(a[0]) >> shift) & ${size - 1}] == n) continue;
      uint sum = 0;
      for (int d = 0; d < ${size}; ++d) { const uint c = start[d]; start[d] = sum; sum += c; }
      if (--left) {
        for (long i = 0; i < n; ++i) { const elem_t e = a[i]; b[start[(uint)(key_in(e) >> shift) & ${size - 1}]++] = e; }
        __global elem_t *t = a; a = b; b = t;
      } else {
        for (long i = 0; i < n; ++i) { const elem_t e = a[i]; y[start[(uint)(key_in(e) >> shift) & ${size - 1}]++] = ${'place_in(e)' if form != 'keys' else 'bits_of(key_in(e))'}; }
      }
    }
  }
}
