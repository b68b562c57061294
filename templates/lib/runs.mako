## Runs of elements that are moved one after the other, as plain bits of type T; `V` of them at once.

<%def name="copying(V, storage, stream)">
HELPER void fill_run(__global T *y, const T value, const long n) {
  for (long i = 0; i < n; ++i) y[i] = value;
}
## d: steps from an element of the source to the next. A stream is written past the caches, in whole lines.
HELPER void copy_run(__global T *y, __global const T *z, const long d, const long n) {
  long i = 0;
  if (d == 0) { fill_run(y, *z, n); return; }
  if (d != 1) { for (; i < n; ++i) y[i] = z[i * d]; return; }
% if V > 1 and stream:
  if (n >= ${4 * V}) {
    const long head = (${V} - ((size_t)y / sizeof(T)) % ${V}) % ${V};
    for (; i < head; ++i) y[i] = z[i];
    for (; i + ${V} <= n; i += ${V}) __builtin_nontemporal_store(vload${V}(0, z + i), (__global ${storage}${V}*)(y + i));
  }
% elif V > 1:
  for (; i + ${V} <= n; i += ${V}) vstore${V}(vload${V}(0, z + i), 0, y + i);
% endif
  for (; i < n; ++i) y[i] = z[i];
}
</%def>
