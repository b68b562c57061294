## Small matrices of a work-item's own: ${V} of them, an element of each in the lanes of a vector.
##
## Nothing branches on values: rows are exchanged by choosing, so that the lanes go together, and what a GPU has unrolled
## stays in registers. There neighbours' matrices lie apart in memory, so that what is loaded and stored at once are up to
## ${loaded} and ${stored} elements of a row.
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
<%
  N = room if unrolled else 'n'
  turn = '#pragma unroll' if unrolled else ''
%>
${numbers.define()}
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void small_matrices(${', '.join(params)}) {
  const long units = (matrices + ${V - 1}) / ${V};
% if chunked:
  const long group = get_group_id(0), groups = get_num_groups(0);
  for (long u = units * group / groups, end_ = units * (group + 1) / groups; u < end_; ++u) {
% else:
  for (long u = get_global_id(0); u < units; u += get_global_size(0)) {
% endif
  const long matrix = u * ${V};
  const int count = (int)min((long)${V}, matrices - matrix);
% if V == 1:
  const int l = 0;
% endif
  long ab[${V}]${f', bb[{V}]' if right else ''};
% if V > 1:
  for (int l = 0; l < ${V}; ++l) {
% endif
  ab[l] = ao; ${'bb[l] = bo;' if right else ''}
  ${numbers.place()}
% if V > 1:
  }
% endif
  E a[${room}][${room}];
  ${turn}
  for (int i = 0; i < ${N}; ++i)
    ${turn}
% if loaded > 1:
    for (int j = 0; j < ${N}; j += ${loaded}) {
      const ${T}${loaded} several = *(__global const ${T}${loaded} *)(ap + (ab[l] + i * as + j));
% for q in range(loaded):
      a[i][j + ${q}] = several.s${q};
% endfor
    }
% else:
    for (int j = 0; j < ${'i + 1' if operation == 'cholesky' else N}; ++j) {
      ${numbers.load('a[i][j]', 'ap', 'ab[l] + i * as + j * ak')}
    }
% endif
% if operation == 'cholesky':
  M bad = (M)(0);
  ${turn}
  for (int k = 0; k < ${N}; ++k) {
    const R d = REAL(a[k][k]);
    const M fine = d > 0;
    bad |= fine == 0;
    const R root = sqrt(d), inverse = 1 / root;
    a[k][k] = number(root);
    ${turn}
    for (int i = k + 1; i < ${N}; ++i) {
      a[i][k] = times(a[i][k], inverse);
      ${turn}
      for (int j = k + 1; j <= i; ++j) a[i][j] = less_product(a[i][j], a[i][k], conjugate(a[j][k]));
    }
  }
  ${turn}
  for (int i = 0; i < ${N}; ++i)
    ${turn}
    for (int j = 0; j < ${N}; ++j) {
      const E value = j <= i ? a[i][j] : number((R)(0));
      ${numbers.store('xp', '(matrix + l) * xm + i * xs + j * xk', 'value', turned=flipped)}
    }
% else:
  M order[${room}], odd = (M)(0), singular = (M)(0);
% if operation in ('inv', 'solve'):
  E inverses[${room}];
  R lifts[${room}];
% endif
  ${turn}
  for (int i = 0; i < ${N}; ++i) order[i] = (M)(i);
  ${turn}
  for (int k = 0; k < ${N}; ++k) {
    R most = first_weight(a[k][k]);
    M pivot = (M)(k);
    ${turn}
    for (int i = k + 1; i < ${N}; ++i) {
      const R w = weight(a[i][k]);
      const M more = w > most;
      most = more ? w : most;
      pivot = more ? (M)(i) : pivot;
    }
    singular |= most == 0;
    odd ^= pivot != (M)(k);
    ${turn}
    for (int i = k + 1; i < ${N}; ++i) {
      const M here = pivot == (M)(i);
      ${turn}
      for (int j = 0; j < ${N}; ++j) {
        const E upper = a[k][j], lower = a[i][j];
        a[k][j] = chosen(here, lower, upper);
        a[i][j] = chosen(here, upper, lower);
      }
      const M upper = order[k], lower = order[i];
      order[k] = here ? lower : upper;
      order[i] = here ? upper : lower;
    }
    const R lift = lift_for(a[k][k]), lower = lower_for(a[k][k]);
    const E inverse = INVERSE(a[k][k], lift, lower);
% if operation in ('inv', 'solve'):
    lifts[k] = lift;
    inverses[k] = inverse;
% endif
    ${turn}
    for (int i = k + 1; i < ${N}; ++i) {
      const E factor = product(times(a[i][k], lift), inverse);
      a[i][k] = factor;
      ${turn}
      for (int j = k + 1; j < ${N}; ++j) a[i][j] = less_product(a[i][j], factor, a[k][j]);
    }
  }
% if operation in ('det', 'slogdet'):
  E m = number((R)(1));
  I e = (I)(0);
  ${turn}
  for (int i = 0; i < ${N}; ++i) m = mantissa(product(m, mantissa(a[i][i], &e)), &e);
  m = chosen(odd, product(number((R)(-1)), m), m);
  ${numbers.finish(operation)}
% else:
  const M bad = singular;
% if operation == 'solve' and V > 1:
  ${L} places[${room}][${V}];
  for (int i = 0; i < n; ++i) vstore${V}(order[i], 0, places[i]);
% endif
  for (long c = 0; c < columns; c += ${stored}) {
    E y[${room}][${stored}];
    ${turn}
    for (int i = 0; i < ${N}; ++i) {
% for q in range(stored):
% if operation == 'inv':
      y[i][${q}] = chosen(order[i] == (M)((${L})c + ${q}), number((R)(1)), number((R)(0)));
% else:
      ${numbers.load(f'y[i][{q}]', 'bp', f"bb[l] + {'places[i][l]' if V > 1 else 'order[i]'} * bs + c * bk")}
% endif
      ${turn}
      for (int j = 0; j < i; ++j) y[i][${q}] = less_product(y[i][${q}], a[i][j], y[j][${q}]);
% endfor
    }
    ${turn}
    for (int i = ${N} - 1; i >= 0; --i) {
% for q in range(stored):
      ${turn}
      for (int j = i + 1; j < ${N}; ++j) y[i][${q}] = less_product(y[i][${q}], a[i][j], y[j][${q}]);
      y[i][${q}] = product(times(y[i][${q}], lifts[i]), inverses[i]);
% endfor
% if stored > 1:
      *(__global ${T}${stored} *)(xp + (matrix * xm + i * xs + c)) = (${T}${stored})(${', '.join(f'y[i][{q}]' for q in range(stored))});
% else:
      ${numbers.store('xp', '(matrix + l) * xm + i * xs + c * xk', 'y[i][0]', turned=flipped)}
% endif
    }
  }
% endif
% endif
% if checked:
% if V == 1:
  if (bad) atomic_xchg(flag, 1);
% else:
  /* the last lanes repeat the last matrix */
  if (any(bad)) atomic_xchg(flag, 1);
% endif
% endif
  }
}
