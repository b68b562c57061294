## A matrix times a number, plus another one on its diagonal, with zeros beyond its rows and columns, or a number on the
## diagonal there: y = alpha x + beta I.
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
${numbers.define()}
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void affine(${', '.join(params)}) {
  for (long i = get_group_id(0); i < all_rows; i += get_num_groups(0))
    for (long j = get_local_id(0); j < all_columns; j += ${items}) {
      const bool within = i < rows && j < columns;
      E value = number((R)(0));
      if (within && alpha != 0) value = times(xp[xo + i * xs + j * xk], alpha);
      if (i == j) value = minus(value, number(i < rows ? -beta : -beyond));
      yp[yo + i * ys + j] = value;
    }
}
