## A small matrix of a team's: ${items} work-items of a GPU, ${teams} teams in a work-group; on a CPU one work-item has a
## matrix in each of ${V} lanes of its vectors.
##
## The matrix is `A`, where it is in local memory or in the device's; all that is decided for each matrix is chosen, not
## branched on, so that lanes and teams go together.
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
<%namespace name="householder" file="/small_matrices/householder.mako" inheritable="True"/>
<%namespace name="jacobi" file="/small_matrices/jacobi.mako" inheritable="True"/>
<%
  shift = (items.bit_length() - 1) // 2
  fence = 'CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE' if scratch else 'CLK_LOCAL_MEM_FENCE'
  space = '__global' if scratch else '__local'
  sizes = [rows * pitch for rows, pitch in spaces]
%>
${numbers.define()}
#define EPSILON ${epsilon}
#define TOGETHER ${f'barrier({fence})' if items * teams > 1 else ''}
/* The power of two, but for the largest and smallest, that brings a number to 1/2 or more, and below 1. */
HELPER R towards_one(const R x) {
  I e;
  frexp(x > 0 && x - x == 0 ? x : (R)(1), &e);
  return ldexp((R)(1), -clamp(e, (I)(${-most_exponent}), (I)(${most_exponent})));
}
% if operation != 'qr':
${jacobi.define()}
% endif
#define A(i, j) a[(i) * ${spaces[0][1]} + (j)]
% if len(spaces) > 1:
#define Q(i, j) basis[(i) * ${spaces[1][1]} + (j)]
% endif
% for name, arguments, place, kind, size in small:
#define ${name}(${arguments}) ${name}_[team * ${size} + (${place})]
% endfor
ATTR __kernel __attribute__((reqd_work_group_size(${items * teams}, 1, 1)))
void small_matrices(${', '.join(params)}) {
  const int item = get_local_id(0) & ${items - 1}, team = get_local_id(0) / ${items};
  const int x = item & ${(1 << shift) - 1}, y_ = item >> ${shift};
  const int across = ${1 << shift}, down = ${items >> shift};
% for name, _, _, kind, size in small:
  __local ${kind} ${name}_[${teams * size}];
% endfor
% if scratch:
  __global E *a = (__global E*)scratch + (get_group_id(0) * ${teams} + team) * ${sum(sizes)};
% else:
  __local E matrices_[${teams * sum(sizes)}];
  __local E *a = matrices_ + team * ${sum(sizes)};
% endif
% if len(spaces) > 1:
  ${space} E *basis = a + ${sizes[0]};
% endif
% if operation != 'qr':
  __local int turned[2];
  const int pairs = (n + 1) / 2;
% endif
  const long units = (matrices + ${V * teams - 1}) / ${V * teams};
% if chunked:
  const long group = get_group_id(0), groups = get_num_groups(0);
  long u = units * group / groups;
  do {
% else:
  long u = get_group_id(0);
  do {
% endif
  const long matrix = min((u * ${teams} + team) * ${V}, matrices - 1);
  const int count = (int)clamp(matrices - (u * ${teams} + team) * ${V}, 0L, ${V}L);
% if V == 1:
  const int l = 0;
% endif
  long ab[${V}];
% if V > 1:
  for (int l = 0; l < ${V}; ++l) {
% endif
  ab[l] = ao;
  ${numbers.place()}
% if V > 1:
  }
% endif
  TOGETHER;
  for (int i = y_; i < m; i += down)
    for (int j = x; j < ${'i + 1' if operation == 'eigh' else 'n'}; j += across) {
      E entry;
      ${numbers.load('entry', 'ap', 'ab[l] + i * as + j * ak')}
% if operation == 'eigh':
      if (i == j) entry = number(REAL(entry));
      else A(j, i) = conjugate(entry);
% endif
      A(i, j) = entry;
    }
% if operation == 'qr':
${householder.triangularize('n')}
% if mode == 'raw':
  for (int i = y_; i < m; i += down)
    for (int j = x; j < n; j += across) {
      ${numbers.store('xp', '(matrix + l) * xm + i * xs + j * xk', 'A(i, j)', guarded=teams > 1)}
    }
  for (int k = item; k < min(m, n); k += ${items}) {
    ${numbers.store('yp', '(matrix + l) * ym + k * ys', 'T(k)', guarded=teams > 1)}
  }
% else:
  for (int i = y_; i < ${'wanted' if mode == 'complete' else 'min(m, n)'}; i += down)
    for (int j = x; j < n; j += across) {
      const E value = i <= j ? A(i, j) : number((R)(0));
      ${numbers.store('yp', '(matrix + l) * ym + i * ys + j * yk', 'value', guarded=teams > 1)}
    }
% if mode != 'r':
  TOGETHER;
${householder.orthogonalize('min(m, n)', 'wanted')}
  for (int i = y_; i < m; i += down)
    for (int j = x; j < wanted; j += across) {
      ${numbers.store('xp', '(matrix + l) * xm + i * xs + j * xk', 'A(i, j)', guarded=teams > 1)}
    }
% endif
% endif
% else:
  /* what makes the matrix's largest element about 1; zeros in place of what is not finite */
  TOGETHER;
  for (int i = item; i < m; i += ${items}) {
    R most = (R)(0), odd = (R)(0);
    for (int j = 0; j < n; ++j) {
      const E value = A(i, j);
      most = fmax(most, largest_part(value));
      odd += REAL(value) - REAL(value)${' + (value.y - value.y)' if complex_ else ''};
    }
    KEY(i) = odd == 0 ? most : (R)(NAN);
  }
  if (item == 0) turned[0] = turned[1] = -1;
  TOGETHER;
  R most = (R)(0);
  M bad = (M)(0);
  for (int i = 0; i < m; ++i) {
    const R w = KEY(i);
    most = fmax(most, w);
    bad |= w != w;
  }
  const R up = towards_one(most);
  for (int i = item; i < m; i += ${items})
    for (int j = 0; j < n; ++j) A(i, j) = chosen(bad, number((R)(0)), times(A(i, j), up));
  if (n & 1)
    for (int i = item; i < ${'n + 1' if operation == 'eigh' else 'm'}; i += ${items}) {
      A(i, n) = number((R)(0));
% if operation == 'eigh':
      A(n, i) = number((R)(0));
% endif
    }
% if mode != 'values':
  for (int i = y_; i < n; i += down)
    for (int j = x; j < 2 * pairs; j += across) Q(i, j) = number((R)(i == j ? 1 : 0));
% endif
% if operation == 'eigh':
${jacobi.diagonalize(mode != 'values')}
  for (int k = item; k < n; k += ${items}) KEY(k) = REAL(A(k, k));
${jacobi.order('<', [('Q', 'n')] if mode != 'values' else [])}
  for (int k = item; k < n; k += ${items}) {
    ${numbers.store('yp', '(matrix + l) * ym + k * ys', 'KEY(k) / up', real=True, guarded=teams > 1)}
  }
% if mode != 'values':
  for (int i = y_; i < n; i += down)
    for (int j = x; j < n; j += across) {
      ${numbers.store('xp', '(matrix + l) * xm + i * xs + j * xk', 'Q(i, j)', guarded=teams > 1)}
    }
% endif
% else:
${jacobi.straighten(mode != 'values')}
  for (int j = item; j < n; j += ${items}) {
    R most = (R)(0), sum = (R)(0);
    for (int i = 0; i < m; ++i) most = fmax(most, largest_part(A(i, j)));
    const R near = towards_one(most);
    for (int i = 0; i < m; ++i) sum += squared(times(A(i, j), near));
    KEY(j) = sqrt(sum) / near;
  }
${jacobi.order('>', [('A', 'm'), ('Q', 'n')] if mode != 'values' else [])}
  for (int k = item; k < n; k += ${items}) {
    ${numbers.store('yp', '(matrix + l) * ym + k * ys', 'KEY(k) / up', real=True, guarded=teams > 1)}
  }
% if mode != 'values':
${householder.triangularize('n')}
  for (int k = item; k < n; k += ${items}) KEY(k) = REAL(A(k, k));
  TOGETHER;
${householder.orthogonalize('n', 'wanted')}
  for (int i = y_; i < m; i += down)
    for (int j = x; j < wanted; j += across) {
      const R sign_ = j < n ? copysign((R)(1), KEY(min(j, n - 1))) : (R)(1);
      const E value = times(A(i, j), sign_);
      ${numbers.store('xp', '(matrix + l) * xm + i * xs + j * xk', 'value', turned=flipped, guarded=teams > 1)}
    }
  for (int i = y_; i < n; i += down)
    for (int j = x; j < n; j += across) {
      ${numbers.store('zp', '(matrix + l) * zm + i * zs + j * zk', 'Q(i, j)', turned=not flipped, guarded=teams > 1)}
    }
% endif
% endif
  if ((${'any(bad)' if V > 1 else 'bad'} || endless) && item == 0) atomic_xchg(flag, 1);
% endif
  } while (${'++u < units * (group + 1) / groups' if chunked else '(u += get_num_groups(0)) < units'});
}
