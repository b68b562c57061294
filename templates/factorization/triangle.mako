## The lower triangle of a matrix, or transposed, and zeros.
ATTR __kernel __attribute__((reqd_work_group_size(${side}, ${side}, 1)))
void triangle(${', '.join(params)}) {
  const long i = get_global_id(1), j = get_global_id(0);
  if (i < n && j < n) xp[xo + i * n + j] = ${'i <= j ? wp[wo + j * pitch + i]' if upper else 'j <= i ? wp[wo + i * pitch + j]'} : (${E})(0);
}
