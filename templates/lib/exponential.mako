## Powers and sums of exponentials.
<%def name="pow(t)">
% if t.width == 1 or (t.bits == 32 and not dialect.own_math):
HELPER ${t} ca_pow_${t}(${t} x, ${t} y) { return pow(x, y); }
% elif t.bits == 32:
<%
    from clarray.codegen.ctype import CType
    d = CType("double", t.width)
    a, b = dialect.convert("fabs(x)", t, d), dialect.convert("y", t, d)
%>\
HELPER ${t} ca_pow_${t}(${t} x, ${t} y) {
  const ${t} r = ${dialect.convert(f"ca_pow_by_double_{d}({a}, {b})", d, t)};
  return ca_pow_signs_${t}(x, y, r);
}
% else:
HELPER ${t} ca_pow_${t}(${t} x, ${t} y) { return ca_pow_signs_${t}(x, y, ca_pow_accurate_${t}(fabs(x), y)); }
% endif
</%def>
<%def name="pow_signs(t)">
/* What C99 asks of pow(x, y) for special operands, r being |x|^y. */
HELPER ${t} ca_pow_signs_${t}(${t} x, ${t} y, ${t} r) {
  const ${t} half_y = y * ${t.lit("0.5")};
  const ${t.int_} whole = floor(y) == y;
  const ${t.int_} odd = whole & (floor(half_y) != half_y);
  const ${t} ax = fabs(x);
  r = odd ? copysign(r, x) : r;
  r = (x < ${t.lit(0)}) & (ax < ${t.inf}) & !whole ? ${t.nan} : r;
  r = (ax == ${t.lit(1)}) & (fabs(y) == ${t.inf}) ? ${t.lit(1)} : r;
  return (y == ${t.lit(0)}) | (x == ${t.lit(1)}) ? ${t.lit(1)} : r;
}
</%def>
<%def name="pow_by_double(t)">
<%
    i, u = t.int_, t.uint
    from math import factorial, log
    inverse = [repr(2 / log(2) / (2 * k + 1)) for k in range(8)]
    taylor = [repr(log(2) ** k / factorial(k)) for k in range(11)]
    magic = "6755399441055744.0"
%>\
/* a^y for a >= 0 and operands that are floats: 2^(y log2 a), log2 to 45 bits through s = (m - 1) / (m + 1), 2^f to 37.
   The magic number 1.5 * 2^52 turns integers in the low bits into doubles and back. */
HELPER ${t} ca_pow_by_double_${t}(${t} a, ${t} y) {
  const ${i} k = (as_${i}(a) - ${i.lit("0x3fe6a09e667f3bcd")}) >> ${i.lit(52)};
  const ${t} m = as_${t}(as_${i}(a) - (k << ${i.lit(52)}));
  const ${t} e = as_${t}(k + ${i.lit("0x4338000000000000")}) - ${t.lit(magic)};
  const ${t} s = (m - ${t.lit(1)}) / (m + ${t.lit(1)}), z = s * s;
  ${t} p = ${t.lit(inverse[7])};
% for c in inverse[6::-1]:
  p = p * z + ${t.lit(c)};
% endfor
  ${t} l = p * s + e;
  l = a == ${t.lit(0)} ? -${t.inf} : l;
  l = a == ${t.inf} ? ${t.inf} : l;
  ${t} v = y * l;
  v = v > ${t.lit(300)} ? ${t.lit(300)} : v;
  v = v < ${t.lit(-300)} ? ${t.lit(-300)} : v;
  const ${t} n = v + ${t.lit(magic)};
  const ${t} f = v - (n - ${t.lit(magic)});
  ${t} q = ${t.lit(taylor[10])};
% for c in taylor[9::-1]:
  q = q * f + ${t.lit(c)};
% endfor
  q = q * as_${t}((as_${i}(n) << ${i.lit(52)}) + ${i.lit("0x3ff0000000000000")});
  return (a != a) | (y != y) ? a + y : q;
}
</%def>
<%def name="pow_accurate(t)">
<%
    i = t.int_
    magic = "6755399441055744.0"
    from math import factorial
    inverse = [repr(1 / (2 * k + 1)) for k in range(14)]
    taylor = [repr(1 / factorial(k)) for k in range(15)]
%>\
/* a^y for a >= 0: exp(y log a), the logarithm as a sum hi + lo good to some 65 bits. log m = 2 (s + s^3 / 3 + ...) with
   s = (m - 1) / (m + 1); s, s^2 / 3 and the sums are pairs, what follows is small enough for one double. */
HELPER ${t} ca_pow_accurate_${t}(${t} a0, ${t} y) {
  const ${i} low = a0 < ${t.lit("2.2250738585072014e-308")};
  const ${t} a = low ? a0 * ${t.lit("18014398509481984.0")} : a0;
  const ${i} k = (as_${i}(a) - ${i.lit("0x3fe6a09e667f3bcd")}) >> ${i.lit(52)};
  const ${t} m = as_${t}(as_${i}(a) - (k << ${i.lit(52)}));
  ${t} e = as_${t}(k + ${i.lit("0x4338000000000000")}) - ${t.lit(magic)};
  e = low ? e - ${t.lit(54)} : e;
  const ${t} f = m - ${t.lit(1)};
  const ${t} d = m + ${t.lit(1)};
  const ${t} dl = m - (d - ${t.lit(1)});
  const ${t} s = f / d;
  const ${t} sl = (fma(-s, d, f) - s * dl) / d;
  const ${t} z = s * s;
  const ${t} zl = fma(s, s, -z) + ${t.lit(2)} * s * sl;
  ${t} p = ${t.lit(inverse[13])};
% for c in inverse[12:1:-1]:
  p = p * z + ${t.lit(c)};
% endfor
  /* t = z (1/3 + z p), as a pair */
  const ${t} c = p * z;
  const ${t} w = ${t.lit(repr(1/3))} + c;
  const ${t} wl = (${t.lit(repr(1/3))} - w) + c + ${t.lit("1.850371707708594e-17")};
  const ${t} u = z * w;
  const ${t} ul = fma(z, w, -u) + z * wl + zl * w;
  /* l = 2 s (1 + t), then + e ln 2 */
  const ${t} g = s * u;
  const ${t} gl = fma(s, u, -g) + s * ul + sl * u;
  const ${t} h = s + g;
  const ${t} hl = (s - h) + g + (gl + sl);
  const ${t} el = e * ${t.lit("0.693147180559890330187045037746429443359375")};
  const ${t} ell = e * ${t.lit("5.497923018708371174712471572e-14")};
  const ${t} h2 = h * ${t.lit(2)};
  const ${t} l1 = el + h2;
  const ${t} b = l1 - el;
  const ${t} l2 = (el - (l1 - b)) + (h2 - b) + (hl * ${t.lit(2)} + ell);
  const ${t} lh = l1 + l2;
  const ${t} ll = (l1 - lh) + l2;
  /* y l, and its exponential */
  ${t} v = y * lh;
  ${t} vl = fma(y, lh, -v) + y * ll;
  const ${i} high = (v > ${t.lit(800)}), deep = (v < ${t.lit(-800)});
  v = high ? ${t.lit(800)} : (deep ? ${t.lit(-800)} : v);
  vl = high | deep ? ${t.lit(0)} : vl;
  const ${t} nm = v * ${t.lit("1.4426950408889634")} + ${t.lit(magic)};
  const ${t} n = nm - ${t.lit(magic)};
  const ${t} rh = fma(-n, ${t.lit("0.693147180559890330187045037746429443359375")}, v);
  const ${t} rl = vl - n * ${t.lit("5.497923018708371174712471572e-14")};
  const ${t} r = rh + rl;
  const ${t} rest = (rh - r) + rl;
  ${t} q = ${t.lit(taylor[14])};
% for c in taylor[13:1:-1]:
  q = q * r + ${t.lit(c)};
% endfor
  q = ${t.lit(1)} + (r + (q * (r * r) + rest));
  /* 2^n in two steps, so that neither overflows early nor rounds twice among the normal numbers */
  const ${i} ni = as_${i}(nm) - ${i.lit("0x4338000000000000")}, half_n = ni >> ${i.lit(1)};
  q = q * as_${t}((half_n + ${i.lit(1023)}) << ${i.lit(52)}) * as_${t}((ni - half_n + ${i.lit(1023)}) << ${i.lit(52)});
  q = a0 == ${t.lit(0)} ? (y > ${t.lit(0)} ? ${t.lit(0)} : ${t.inf}) : q;
  q = a0 == ${t.inf} ? (y > ${t.lit(0)} ? ${t.inf} : ${t.lit(0)}) : q;
  q = fabs(y) == ${t.inf} ? ((a0 > ${t.lit(1)}) == (y > ${t.lit(0)}) ? ${t.inf} : ${t.lit(0)}) : q;
  return (a0 != a0) | (y != y) ? a0 + y : q;
}
</%def>
<%def name="logaddexp(t)">
/* log(e^x + e^y) without overflow. */
HELPER ${t} ca_logaddexp_${t}(${t} x, ${t} y) {
  const ${t} d = x - y;
  const ${t} r = (d > ${t.lit(0)} ? x : y) + log1p(exp(-fabs(d)));
  return x == y ? x + ${t.lit("0.6931471805599453")} : (d != d ? d : r);
}
</%def>
<%def name="logaddexp_two(t)">
/* log2(2^x + 2^y) without overflow. */
HELPER ${t} ca_logaddexp_two_${t}(${t} x, ${t} y) {
  const ${t} d = x - y;
  const ${t} r = (d > ${t.lit(0)} ? x : y) + log1p(exp2(-fabs(d))) * ${t.lit("1.4426950408889634")};
  return x == y ? x + ${t.lit(1)} : (d != d ? d : r);
}
</%def>
