## Jacobi's rotations: all pairs of columns are turned once in a sweep, those of a round have no column in common.
##
## The pairs of a round are those of a tournament: the last column stays, the others move on by one; an odd column that
## has no partner meets one of zeros. A rotation of the columns x, y is
##
##     x' = x - conj(z) (y + h x),  y' = y + z (x - conj(h) y),  z = s e, h = s / (1 + c) e,  e = b / |b|
##
## for sine s, cosine c and the entry b that becomes 0: small angles lose nothing by rounding (Rutishauser).
<%def name="define()">
#define PAIR(pair, p, q) \
  int p, q; \
  { \
    p = round + pair; q = round - pair; \
    p -= p >= 2 * pairs - 1 ? 2 * pairs - 1 : 0; q += q < 0 ? 2 * pairs - 1 : 0; \
    q = pair ? q : 2 * pairs - 1; \
    const int upper = max(p, q); \
    p = min(p, q); q = upper; \
  }
HELPER void turn_columns(E *x, E *y, const E z, const E h) {
  const E u = *x, v = *y;
  *x = less_product(u, conjugate(z), less_product(v, number((R)(-1)), product(h, u)));
  *y = less_product(v, number((R)(-1)), product(z, less_product(u, conjugate(h), v)));
}
/* For the difference d of what is on the diagonal, y's less x's; gives the tangent. */
HELPER R rotation(const M turns, const R d, const E b, const R size, E *z, E *h) {
  const R ratio = d / (size + size), far = fabs(ratio);
  const R t = copysign(1 / (far + sqrt(MULTIPLY_ADD(ratio, ratio, (R)(1)))), ratio);
  const R c = 1 / sqrt(MULTIPLY_ADD(t, t, (R)(1))), s = t * c;
  const E e = scaled(b, size);
  *z = chosen(turns, times(e, s), number((R)(0)));
  *h = chosen(turns, times(e, s / (1 + c)), number((R)(0)));
  return turns ? t : (R)(0);
}
</%def>

## Sweeps until nothing more is turned. What is between them is a round, which sets `moved`; flags take turns, so that
## none is written while it is read.
<%def name="begin_sweeps()">
  int sweep = 0, round = 0, go_on = 1;
  do {
    M moved = (M)(0);
</%def>
<%def name="end_sweeps()">
    if (${'any(moved)' if V > 1 else 'moved'}) turned[sweep & 1] = sweep;
    TOGETHER;
    ++round;
    if (round == 2 * pairs - 1) {
      go_on = turned[sweep & 1] == sweep && sweep < ${most_sweeps};
      round = 0;
      ++sweep;
    }
  } while (go_on);
  const int endless = sweep > ${most_sweeps};
</%def>

## A, Hermitian with zeros up to an even extent, becomes diagonal, and Q what it was multiplied by.
##
## A block of A, where two pairs meet, is turned from both sides by one work-item; what pairs have of their own is
## turned where the rotation is found. What the rounding of its diagonal exceeds is left: turned, it would come back.
<%def name="diagonalize(vectors)">
  TOGETHER;
  for (int i = item; i < n; i += ${items}) {
    R sum = (R)(0);
    for (int j = 0; j < n; ++j) sum += squared(A(i, j));
    KEY(i) = sum;
  }
  TOGETHER;
  R total = (R)(0);
  for (int i = 0; i < n; ++i) total += KEY(i);
  const R enough = sqrt(total) * (R)(EPSILON);
${begin_sweeps()}
      for (int pair = item; pair < pairs; pair += ${items}) {
        PAIR(pair, p, q)
        const E b = A(p, q);
        const R size = magnitude(b), first = REAL(A(p, p)), second = REAL(A(q, q));
        const M turns = size > fmax(fmax(fabs(first), fabs(second)) * (R)(EPSILON / 2), (R)(EPSILON * EPSILON));
        E z, h;
        const R rise = rotation(turns, second - first, b, size, &z, &h) * size;
        moved |= turns && size > enough;
        A(p, p) = number(first - rise);
        A(q, q) = number(second + rise);
        A(p, q) = chosen(turns, number((R)(0)), b);
        A(q, p) = conjugate(A(p, q));
        Z(pair) = z;
        H(pair) = h;
      }
      TOGETHER;
      for (int one = y_; one < pairs; one += down) {
        PAIR(one, p, q)
        const E z = Z(one), h = H(one);
        for (int two = one + 1 + x; two < pairs; two += across) {
          PAIR(two, r, s)
          const E f = Z(two), g = H(two);
          E a0 = A(p, r), a1 = A(p, s), b0 = A(q, r), b1 = A(q, s);
          turn_columns(&a0, &a1, f, g);
          turn_columns(&b0, &b1, f, g);
          turn_columns(&a0, &b0, conjugate(z), conjugate(h));
          turn_columns(&a1, &b1, conjugate(z), conjugate(h));
          A(p, r) = a0; A(p, s) = a1; A(q, r) = b0; A(q, s) = b1;
          A(r, p) = conjugate(a0); A(s, p) = conjugate(a1); A(r, q) = conjugate(b0); A(s, q) = conjugate(b1);
        }
      }
% if vectors:
      for (int i = y_; i < n; i += down)
        for (int pair = x; pair < pairs; pair += across) {
          PAIR(pair, p, q)
          E u = Q(i, p), v = Q(i, q);
          turn_columns(&u, &v, Z(pair), H(pair));
          Q(i, p) = u; Q(i, q) = v;
        }
% endif
${end_sweeps()}
</%def>

## The columns of A, m x n with zeros up to an even number of them, become orthogonal, and Q what A was multiplied by.
##
## Columns that are nothing but rounding need not: there may be more of them than can be orthogonal.
##
## ${spread} work-items share a pair: each sums up its part of the products, and turns its part of the rows.
<%def name="straighten(vectors)">
  TOGETHER;
  const R enough = sqrt((R)(m)) * (R)(EPSILON), least = (R)(EPSILON * EPSILON * EPSILON * EPSILON);
${begin_sweeps()}
% if spread > 1:
      for (int pair = item / ${spread}; pair < pairs; pair += ${items // spread}) {
        PAIR(pair, p, q)
        R first, second;
        E b;
        ${products(f'item % {spread}', spread)}
        SUMS(pair, item % ${spread}, 0) = first;
        SUMS(pair, item % ${spread}, 1) = second;
        PRODUCTS(pair, item % ${spread}) = b;
      }
      TOGETHER;
% endif
      for (int pair = item / ${spread}; pair < pairs; pair += ${items // spread}) {
        PAIR(pair, p, q)
        R first, second;
        E b;
% if spread > 1:
        first = second = (R)(0);
        b = number((R)(0));
        for (int part = 0; part < ${spread}; ++part) {
          first += SUMS(pair, part, 0);
          second += SUMS(pair, part, 1);
          b = less_product(b, number((R)(-1)), PRODUCTS(pair, part));
        }
% else:
        ${products(0, 1)}
% endif
        const R near = ${'towards_one(largest_part(b))' if complex_ else '(R)(1)'}; /* its square must not vanish */
        b = times(b, near);
        const R size = magnitude(b);
        const M turns = size / near > enough * sqrt(first) * sqrt(second) && fmin(first, second) > least;
        E z, h;
        const R t = rotation(turns, (second - first) * near, b, size, &z, &h);
        moved |= t != 0;
        for (int i = item % ${spread}; i < m; i += ${spread}) {
          E u = A(i, p), v = A(i, q);
          turn_columns(&u, &v, z, h);
          A(i, p) = u; A(i, q) = v;
        }
% if vectors:
        for (int i = item % ${spread}; i < n; i += ${spread}) {
          E u = Q(i, p), v = Q(i, q);
          turn_columns(&u, &v, z, h);
          Q(i, p) = u; Q(i, q) = v;
        }
% endif
      }
${end_sweeps()}
</%def>

## Of the columns p and q, every so many rows: the sums of squares, and the product.
<%def name="products(part, step)">
        first = second = (R)(0);
        b = number((R)(0));
        for (int i = ${part}; i < m; i += ${step}) {
          const E u = A(i, p), v = A(i, q);
          first += squared(u);
          second += squared(v);
          b = plus_conjugate_product(b, u, v);
        }
</%def>

## Bring the keys into order, and with them the columns of matrices, (name, rows).
<%def name="order(before, matrices)">
  {
  int k = 0;
  do {
    TOGETHER;
    const R here = KEY(k);
    R best = here;
    M place = (M)(k);
    for (int j = k + 1; j < n; ++j) {
      const R w = KEY(j);
      const M sooner = w ${before} best;
      best = sooner ? w : best;
      place = sooner ? (M)(j) : place;
    }
    TOGETHER;
% if V == 1:
    const int j = place;
    if (j != k) {
% else:
    for (int j = k + 1; j < n; ++j) {
      const M chosen_ = place == (M)(j);
      if (!any(chosen_)) continue;
% endif
% for name, rows in matrices:
      for (int i = item; i < ${rows}; i += ${items}) {
        const E u = ${name}(i, k), v = ${name}(i, j);
        ${name}(i, k) = ${'v' if V == 1 else 'chosen(chosen_, v, u)'};
        ${name}(i, j) = ${'u' if V == 1 else 'chosen(chosen_, u, v)'};
      }
% endfor
% if V == 1:
      if (item == 0) { KEY(k) = best; KEY(j) = here; }
% else:
      KEY(k) = chosen_ ? best : KEY(k);
      KEY(j) = chosen_ ? here : KEY(j);
% endif
    }
  } while (++k < n);
  TOGETHER;
  }
</%def>
