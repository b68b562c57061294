## Radix sort, the sequential reference: one work-item orders a line's positions, a byte of the keys at a time.
##
##   positions    0  1  2  3  4          count how often each byte occurs: starts of 256 runs
##   bytes        7  3  7  0  3     ->   move the positions to their runs, in the order in which they stand
##   moved        3  1  4  0  2          once per byte of a key, the least significant first
##
## Bytes that are the same all along a line are passed over.
<%namespace name="radix" file="/lib/radix.mako"/>
${radix.keys(kind)}
% if kind.kind == 'c':
HELPER uint digit(__global const key_t *x, const int pass) {
  const key_t i = rank_of(key_of(x[1])), r = rank_of(key_of(x[0]));
  const key_t nan = ${kind.nan};
  if (pass < ${words}) return (uint)(i >> (8 * pass)) & 255;
  if (pass < ${2 * words}) return (uint)(r >> (8 * (pass - ${words}))) & 255;
  const uint c = r == nan ? 2 : i == nan ? 1 : 0;
  return c;
}
% else:
HELPER uint digit(__global const key_t *x, const int pass) { return (uint)(rank_of(key_of(*x)) >> (8 * pass)) & 255; }
% endif
ATTR __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_twin(${', '.join(params)}) {
  for (long line = get_group_id(0); line < lines; line += get_num_groups(0)) {
    __global const key_t *x = xp + (xo + line * n) * ${parts};
    __global long *a = yp + line * n, *b = scratch + line * n;
    for (long i = 0; i < n; ++i) a[i] = i;
    for (int pass = 0; pass < ${passes}; ++pass) {
      long starts[256];
      for (int d = 0; d < 256; ++d) starts[d] = 0;
      for (long i = 0; i < n; ++i) starts[digit(x + ${parts} * i, pass)] += 1;
      if (n == 0 || starts[digit(x, pass)] == n) continue;
      long sum = 0;
      for (int d = 0; d < 256; ++d) { const long c = starts[d]; starts[d] = sum; sum += c; }
      for (long i = 0; i < n; ++i) b[starts[digit(x + ${parts} * a[i], pass)]++] = a[i];
      __global long *t = a; a = b; b = t;
    }
    if (a != yp + line * n) for (long i = 0; i < n; ++i) b[i] = a[i];
  }
}
