## The product of a factorized matrix's pivots, by one work-group; its exponent apart, so that nothing between overflows.
<%namespace name="numbers" file="/small_matrices/numbers.mako" inheritable="True"/>
${numbers.define()}
ATTR __kernel __attribute__((reqd_work_group_size(${items}, 1, 1)))
void determinant(${', '.join(params)}) {
  __local E parts[${items}];
  __local int exponents[${items}], zeros[${items}];
  const int item = get_local_id(0);
  E m = number((R)(1));
  int e = 0, singular = 0;
  for (long i = item; i < n; i += ${items}) {
    const E pivot = wp[wo + i * (pitch + 1)];
    singular |= weight(pivot) == 0;
    m = mantissa(product(m, mantissa(pivot, &e)), &e);
  }
  parts[item] = m;
  exponents[item] = e;
  zeros[item] = singular;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item > 0) return;
  for (int i = 1; i < ${items}; ++i) {
    e += exponents[i];
    singular |= zeros[i];
    m = mantissa(product(m, parts[i]), &e);
  }
  m = chosen(ip[io + 1], product(number((R)(-1)), m), m);
  const int l = 0, count = 1;
  const long matrix = xo;
  ${numbers.finish(operation)}
}
