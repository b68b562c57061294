## A small matrix that the ${items} work-items of a group share, in local memory or in the device's.
##
##          k
##      +---+---------+     1. the largest of column k from row k on is its pivot: ${parts} parts are looked at side by side
##      | \ | u       |     2. rows are exchanged
##    k +---+---------+     3. the column becomes the factors f
##      |   |         |     4. f times row k is subtracted from what is left: work-item (x, y) has
##      | f |  left   |        rows y, y + down ..., columns x, x + across ...
##      +---+---------+
##
## All decide the same, so that they come to each barrier together. What is left of `a` when k is at its end are the
## factors, and right sides, in the order of the rows, are eliminated in the same way.
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
<%
  space = '__local' if local else '__global'
  pitch = str(room + 1) if local else 'n'
  fence = 'CLK_LOCAL_MEM_FENCE' if local and (held or not right_sides) else 'CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE'
  shift = min(5 if room >= 32 else 4, max(0, items.bit_length() - 2))
%>
${numbers.define()}
#define A(i, j) a[(i) * ${pitch} + (j)]
#define TOGETHER barrier(${fence})
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void small_matrices(${', '.join(params)}) {
% if local:
  __local E a[${room * (room + 1)}];
% else:
  __global E *a = (__global E*)scratch + get_group_id(0) * n * n;
% endif
% if held:
  __local E y[${room * held}];
#define Y(i, j) y[(i) * ${held} + (j)]
% endif
% if operation != 'cholesky':
  __local R most[${parts}];
  __local int where[${parts}], order[${room}];
% endif
  const int item = get_local_id(0), l = 0, count = 1;
  const int x = item & ${(1 << shift) - 1}, y_ = item >> ${shift};
  const int across = ${1 << shift}, down = ${items >> shift};
  for (long matrix = get_group_id(0); matrix < matrices; matrix += get_num_groups(0)) {
  long ab[1] = {ao}${', bb[1] = {bo}' if right else ''};
  ${numbers.place()}
  for (int i = y_; i < n; i += down)
    for (int j = x; j < ${'i + 1' if operation == 'cholesky' else 'n'}; j += across) {
      E entry;
      ${numbers.load('entry', 'ap', 'ab[l] + i * as + j * ak')}
      A(i, j) = entry;
    }
% if operation == 'cholesky':
  int bad = 0;
  for (int k = 0; k < n; ++k) {
    TOGETHER;
    const R d = REAL(A(k, k));
    bad |= !(d > 0);
    const R root = sqrt(d);
    for (int i = k + 1 + item; i < n; i += ${items}) A(i, k) = scaled(A(i, k), root);
    TOGETHER;
    if (item == 0) A(k, k) = number(root);
    for (int i = k + 1 + y_; i < n; i += down) {
      const E factor = A(i, k);
      for (int j = k + 1 + x; j <= i; j += across) A(i, j) = less_product(A(i, j), factor, conjugate(A(j, k)));
    }
  }
  TOGETHER;
  for (int i = y_; i < n; i += down)
    for (int j = x; j < n; j += across) {
      const E value = j <= i ? A(i, j) : number((R)(0));
      ${numbers.store('xp', 'matrix * xm + i * xs + j * xk', 'value', turned=flipped)}
    }
  TOGETHER;
% else:
  for (int i = item; i < n; i += ${items}) order[i] = i;
  int odd = 0, singular = 0;
  for (int k = 0; k < n; ++k) {
    TOGETHER;
    for (int part = item; part < ${parts}; part += ${items}) {
      R best = (R)(-1);
      int at = k;
      for (int i = k + part; i < n; i += ${parts}) {
        const R w = i == k ? first_weight(A(i, k)) : weight(A(i, k));
        if (w > best) { best = w; at = i; }
      }
      most[part] = best;
      where[part] = at;
    }
    TOGETHER;
    R best = most[0];
    int pivot = where[0];
    for (int part = 1; part < ${parts}; ++part) {
      const R w = most[part];
      const int at = where[part];
      if (w > best || (w == best && at < pivot)) { best = w; pivot = at; }
    }
    singular |= best == 0;
    odd ^= pivot != k;
    if (pivot != k) {
      for (int j = item; j < n; j += ${items}) {
        const E upper = A(k, j);
        A(k, j) = A(pivot, j);
        A(pivot, j) = upper;
      }
      if (item == 0) {
        const int upper = order[k];
        order[k] = order[pivot];
        order[pivot] = upper;
      }
    }
    TOGETHER;
    for (int i = k + 1 + item; i < n; i += ${items}) A(i, k) = quotient(A(i, k), A(k, k));
    TOGETHER;
    for (int i = k + 1 + y_; i < n; i += down) {
      const E factor = A(i, k);
      for (int j = k + 1 + x; j < n; j += across) A(i, j) = less_product(A(i, j), factor, A(k, j));
    }
  }
  TOGETHER;
% if not right_sides:
  if (item == 0) {
    E m = number((R)(1));
    I e = 0;
    for (int i = 0; i < n; ++i) m = mantissa(product(m, mantissa(A(i, i), &e)), &e);
    m = chosen(odd, product(number((R)(-1)), m), m);
    ${numbers.finish(operation)}
  }
  TOGETHER;
% else:
  const int bad = singular;
% if held:
  for (long first = 0; first < columns; first += ${held}) {
  const int width = (int)min((long)${held}, columns - first);
% else:
  {
  const long first = 0, width = columns;
  __global E *y = (__global E*)scratch + get_num_groups(0) * n * n + get_group_id(0) * n * columns;
#define Y(i, j) y[(i) * columns + (j)]
% endif
  /* as many work-items side by side as there are columns */
  int shift = 0;
  while (shift < ${shift} && (1 << shift) < width) ++shift;
  const int column = item & ((1 << shift) - 1), row = item >> shift, beside = 1 << shift, below = ${items} >> shift;
  for (int i = row; i < n; i += below)
    for (${C} c = column; c < width; c += beside) {
% if operation == 'inv':
      Y(i, c) = number(order[i] == first + c ? (R)(1) : (R)(0));
% else:
      E entry;
      ${numbers.load('entry', 'bp', 'bb[l] + order[i] * bs + (first + c) * bk')}
      Y(i, c) = entry;
% endif
    }
  for (int k = 0; k < n; ++k) {
    TOGETHER;
    for (int i = k + 1 + row; i < n; i += below) {
      const E factor = A(i, k);
      for (${C} c = column; c < width; c += beside) Y(i, c) = less_product(Y(i, c), factor, Y(k, c));
    }
  }
  for (int k = n - 1; k >= 0; --k) {
    TOGETHER;
    for (${C} c = item; c < width; c += ${items}) Y(k, c) = quotient(Y(k, c), A(k, k));
    TOGETHER;
    for (int i = row; i < k; i += below) {
      const E factor = A(i, k);
      for (${C} c = column; c < width; c += beside) Y(i, c) = less_product(Y(i, c), factor, Y(k, c));
    }
  }
  TOGETHER;
  for (int i = row; i < n; i += below)
    for (${C} c = column; c < width; c += beside) {
      ${numbers.store('xp', 'matrix * xm + i * xs + (first + c) * xk', 'Y(i, c)', turned=flipped)}
    }
  TOGETHER;
  }
% endif
% endif
% if checked:
  if (bad && item == 0) atomic_xchg(flag, 1);
% endif
  }
}
