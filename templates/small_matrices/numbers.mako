## Arithmetic of matrices' elements, E, of real parts R: a number, or a vector with one of each of several matrices.
##
## Comparisons give an M, which `chosen` takes: 0 or -1 in each lane of a vector, 0 or 1 of a number. Complex elements are
## structures, whose parts may be vectors.
<%def name="define()">
typedef ${R} R;
typedef ${M} M;
typedef ${I} I;
## Magnitudes as LAPACK compares them for the pivot of a column: a NaN is the least, but as the first element it is larger
## than zeros. So a column with zeros below a NaN is not singular. (w >= 0 would not do: NVIDIA's compiler takes it for true
## if w is an absolute value in float.)
<%
  top = 1024 if R.startswith('double') else 128
  least = lit(f'0x1p-{top - 28}')
%>
% if complex_:
typedef struct { R x, y; } E;
#define REAL(a) ((a).x)
HELPER E number(const R x) { E r; r.x = x; r.y = (R)(0); return r; }
HELPER E conjugate(const E a) { E r; r.x = a.x; r.y = -a.y; return r; }
HELPER E chosen(const M m, const E a, const E b) { E r; r.x = m ? a.x : b.x; r.y = m ? a.y : b.y; return r; }
HELPER E product(const E a, const E b) {
  E r; r.x = MULTIPLY_ADD(a.x, b.x, -(a.y * b.y)); r.y = MULTIPLY_ADD(a.x, b.y, a.y * b.x); return r;
}
/* c - a * b */
HELPER E less_product(const E c, const E a, const E b) {
  E r; r.x = MULTIPLY_ADD(a.y, b.y, MULTIPLY_ADD(-a.x, b.x, c.x)); r.y = MULTIPLY_ADD(-a.y, b.x, MULTIPLY_ADD(-a.x, b.y, c.y)); return r;
}
/* c + conj(a) * b */
HELPER E plus_conjugate_product(const E c, const E a, const E b) {
  E r; r.x = MULTIPLY_ADD(a.y, b.y, MULTIPLY_ADD(a.x, b.x, c.x)); r.y = MULTIPLY_ADD(-a.y, b.x, MULTIPLY_ADD(a.x, b.y, c.y)); return r;
}
HELPER E minus(const E a, const E b) { E r; r.x = a.x - b.x; r.y = a.y - b.y; return r; }
HELPER E times(const E a, const R d) { E r; r.x = a.x * d; r.y = a.y * d; return r; }
HELPER R squared(const E a) { return MULTIPLY_ADD(a.x, a.x, a.y * a.y); }
/* Of what is neither so small nor so large that its square is no number. */
HELPER E reciprocal(const E a) { return times(conjugate(a), 1 / squared(a)); }
HELPER R largest_part(const E a) { return fmax(fabs(a.x), fabs(a.y)); }
HELPER E scaled(const E a, const R d) { E r; r.x = a.x / d; r.y = a.y / d; return r; }
/* Neither over- nor underflows unless the quotient does: both are scaled by the divisor's larger part. */
HELPER E quotient(const E a, const E b) {
  const R s = fmax(fabs(b.x), fabs(b.y));
  const E p = scaled(a, s), q = scaled(b, s);
  return scaled(product(p, conjugate(q)), MULTIPLY_ADD(q.x, q.x, q.y * q.y));
}
HELPER R weight(const E a) { const R w = fabs(a.x) + fabs(a.y); return w == w ? w : (R)(-1); }
/* The part of a number that is left of 2^e, which is added to the exponent: its larger part is 1/2 at least. */
HELPER E mantissa(const E a, I *exponent) {
  I e;
  frexp(fmax(fabs(a.x), fabs(a.y)), &e);
  *exponent += e;
  E r; r.x = ldexp(a.x, -e); r.y = ldexp(a.y, -e); return r;
}
HELPER E raised(const E a, const I e) { E r; r.x = ldexp(a.x, e); r.y = ldexp(a.y, e); return r; }
HELPER R magnitude(const E a) { return sqrt(MULTIPLY_ADD(a.x, a.x, a.y * a.y)); }
% else:
typedef R E;
#define REAL(a) (a)
HELPER E number(const R x) { return x; }
HELPER E conjugate(const E a) { return a; }
HELPER E chosen(const M m, const E a, const E b) { return m ? a : b; }
HELPER E product(const E a, const E b) { return a * b; }
HELPER E less_product(const E c, const E a, const E b) { return MULTIPLY_ADD(-a, b, c); }
HELPER E plus_conjugate_product(const E c, const E a, const E b) { return MULTIPLY_ADD(a, b, c); }
HELPER E minus(const E a, const E b) { return a - b; }
HELPER E times(const E a, const R d) { return a * d; }
HELPER R squared(const E a) { return a * a; }
HELPER E reciprocal(const E a) { return 1 / a; }
HELPER R largest_part(const E a) { return fabs(a); }
HELPER E scaled(const E a, const R d) { return a / d; }
HELPER E quotient(const E a, const E b) { return a / b; }
HELPER R weight(const E a) { const R w = fabs(a); return w == w ? w : (R)(-1); }
HELPER E mantissa(const E a, I *exponent) {
  I e;
  const R m = frexp(a, &e);
  *exponent += e;
  return m;
}
HELPER E raised(const E a, const I e) { return ldexp(a, e); }
HELPER R magnitude(const E a) { return fabs(a); }
% endif
HELPER R first_weight(const E a) { const R w = weight(a); return w >= 0 ? w : (R)(${least}); }
/* Quotients by a divisor as products, times(a, lift) by its inverse: as LAPACK's are. Of a divisor so small or large that
   its reciprocal, or its square, would not be a number, the inverse is that of a multiple. (No function: what is inlined
   into unrolled steps and gives a structure is more than oclgrind interprets.) */
HELPER R lift_for(const E divisor) {
  return weight(divisor) < (R)(${lit(f'0x1p-{top * 2 // 5}')}) ? (R)(${lit(f'0x1p{top * 7 // 10}')}) : (R)(1);
}
HELPER R lower_for(const E divisor) {
  return weight(divisor) > (R)(${lit(f'0x1p{top * 2 // 5}')}) ? (R)(${lit(f'0x1p-{top * 7 // 10}')}) : (R)(1);
}
#define INVERSE(divisor, lift, lower) times(reciprocal(times(divisor, (lift) * (lower))), lower)
/* log |m| + e log 2, whose two terms do not cancel: |m| lies around 1. */
HELPER R logarithm(const E a, const I e) {
  R m = magnitude(a), x = convert_${R}(e);
  const M low = m < (R)(${lit('0.70710678118654752')});
  m = low ? m + m : m;
  x = low ? x - 1 : x;
  return MULTIPLY_ADD(x, (R)(${lit('0.69314718055994531')}), log(m));
}
</%def>

## Read an element of each lane's matrix: `at` is its place for lane l.
<%def name="load(target, p, at)" filter="trim">
% if V == 1:
${target} = ${'conjugate(' if flipped else ''}${f'(E){{{p}[{at}].x, {p}[{at}].y}}' if complex_ else f'{p}[{at}]'}${')' if flipped else ''};
% else:
<% lanes = [at.replace('[l]', f'[{l}]') for l in range(V)] %>
% if complex_:
${target}.x = (R)(${', '.join(f'{p}[{place}].x' for place in lanes)});
${target}.y = ${'-' if flipped else ''}(R)(${', '.join(f'{p}[{place}].y' for place in lanes)});
% else:
${target} = (R)(${', '.join(f'{p}[{place}]' for place in lanes)});
% endif
% endif
</%def>

## Write it, of each lane's matrix that there is. Conjugated if `turned`; `guarded`: the first need not be there.
<%def name="store(p, at, value, real=False, turned=False, guarded=False)" filter="trim">
<%
  def written(l):
      lane = f'.s{l:x}' if V > 1 else ''
      return f'({T}2)(written_.x{lane}, written_.y{lane})' if complex_ and not real else f'({T})written_{lane}'
%>
{
  const ${'R' if real else 'E'} written_ = ${f'conjugate({value})' if turned else value};
% for l in range(V):
  ${f'if (count > {l})' if l or guarded else ''} ${p}[${at.replace('+ l', f'+ {l}')}] = ${written(l)};
% endfor
}
</%def>

## Write a determinant, m * 2^e of E and I, of each lane's matrix; it is 0 where a pivot was.
<%def name="finish(operation)">
% if operation == 'det':
  const E result = chosen(singular, number((R)(0)), raised(m, e));
  ${store('xp', 'matrix + l', 'result')}
% else:
  R size = magnitude(m), height = logarithm(m, e);
% if complex_:
  E sign_ = scaled(m, size);
% else:
  E sign_ = m < 0 ? (R)(-1) : (R)(1);
% endif
  sign_ = chosen(singular, number((R)(0)), sign_);
  height = singular ? (R)(-INFINITY) : height;
  ${store('xp', 'matrix + l', 'sign_')}
  ${store('yp', 'matrix + l', 'height', True)}
% endif
</%def>

## Where the matrices of lane l begin.
<%def name="place()">
  {
    long rest = min(matrix + l, matrices - 1);
% for axis in range(rank):
    { const long c = rest % batch${axis}; rest /= batch${axis}; ab[l] += c * ab${axis}; ${f'bb[l] += c * bb{axis};' if right else ''} }
% endfor
  }
</%def>
