## Householder's reflections, of `A`, m x n, with factors `T(k)`, as LAPACK's geqr2 and org2r have them.
##
##        k
##    +---+-------+     The vector v of column k is 1 above what is left of the column below the diagonal; R is on and
##    | \ | R     |     above the diagonal. All work-items find the same v and factor; each applies them to columns
##    |---r-------|     of its own, so that a step needs one barrier.
##    |   | left  |
##    | v |       |
##    +---+-------+
##
## Sums are of what is scaled by a power of two, so that no square over- or underflows.
<%def name="triangularize(columns)">
  {
  int k = 0;
  do {
    TOGETHER;
    R low = (R)(0);
    for (int i = k + 1; i < m; ++i) low = fmax(low, largest_part(A(i, k)));
    const R up = towards_one(fmax(low, largest_part(A(k, k))));
    const E alpha = times(A(k, k), up);
    R sum = (R)(0);
    for (int i = k + 1; i < m; ++i) sum += squared(times(A(i, k), up));
    const M none = low == 0 && sum == 0${' && alpha.y == 0' if complex_ else ''};
    const R beta = copysign(sqrt(sum + squared(alpha)), -REAL(alpha));
    const E tau = chosen(none, number((R)(0)), scaled(minus(number(beta), alpha), beta));
    const E f = chosen(none, number((R)(0)), quotient(number((R)(1)), minus(alpha, number(beta))));
    for (int j = k + 1 + item; j < ${columns}; j += ${items}) {
      E w = number((R)(0));
      for (int i = k + 1; i < m; ++i) w = plus_conjugate_product(w, times(A(i, k), up), A(i, j));
      w = chosen(none, number((R)(0)), product(conjugate(tau), plus_conjugate_product(A(k, j), f, w)));
      A(k, j) = minus(A(k, j), w);
      w = product(f, w);
      for (int i = k + 1; i < m; ++i) A(i, j) = less_product(A(i, j), times(A(i, k), up), w);
    }
    TOGETHER;
    for (int i = k + 1 + item; i < m; i += ${items}) A(i, k) = product(times(A(i, k), up), f);
    if (item == 0) {
      A(k, k) = number(none ? REAL(alpha) / up : beta / up);
      T(k) = tau;
    }
  } while (++k < min(m, ${columns}));
  TOGETHER;
  }
</%def>

## The first columns of Q in place of the vectors: a column is one work-item's throughout.
<%def name="orthogonalize(reflections, columns)">
  for (int j = item; j < ${columns}; j += ${items})
    if (j >= ${reflections})
      for (int i = 0; i < m; ++i) A(i, j) = number((R)(i == j ? 1 : 0));
  {
  int k = ${reflections} - 1;
  do {
    const E tau = T(k);
    for (int j = item; j < ${columns}; j += ${items})
      if (j > k) {
        E w = A(k, j);
        for (int i = k + 1; i < m; ++i) w = plus_conjugate_product(w, A(i, k), A(i, j));
        w = product(tau, w);
        A(k, j) = minus(A(k, j), w);
        for (int i = k + 1; i < m; ++i) A(i, j) = less_product(A(i, j), A(i, k), w);
      }
    TOGETHER;
    if (k % ${items} == item) {
      for (int i = 0; i < k; ++i) A(i, k) = number((R)(0));
      A(k, k) = minus(number((R)(1)), tau);
      for (int i = k + 1; i < m; ++i) A(i, k) = less_product(number((R)(0)), A(i, k), tau);
    }
  } while (--k >= 0);
  TOGETHER;
  }
</%def>
