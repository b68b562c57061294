## Numbers without order between -amplitude and amplitude, the same each time, and zeros beyond rows and columns.
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
${numbers.define()}
/* A bijection of 32 bits each of whose output bits depends on all input bits (the finalizer of MurmurHash3). */
HELPER uint mixed(uint h) {
  h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u; return h ^ (h >> 16);
}
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void noise(${', '.join(params)}) {
  for (long i = get_group_id(0); i < all_rows; i += get_num_groups(0))
    for (long j = get_local_id(0); j < all_columns; j += ${items}) {
      const R unit = (R)(amplitude / 2147483648.0${'f' if single else ''});
      const uint h = mixed((uint)j + mixed((uint)i + 0x9e3779b9u));
      E value = number(unit * (R)(int)h);
% if complex_:
      value.y = unit * (R)(int)mixed(h ^ 0x3c6ef372u);
% endif
      yp[yo + i * all_columns + j] = i < rows && j < columns ? value : number((R)(0));
    }
}
