## Powers and sums of exponentials.
<%def name="pow(t)">
% if t.width == 1 or (t.bits == 32 and not dialect.own_math):
HELPER ${t} ca_pow_${t}(${t} x, ${t} y) { return pow(x, y); }
% elif t.bits == 32:
<%
    from clarray._engine.ops.ctype import CType
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
<%def name="polynomial(name, coefficients, x, t)">
  ${t} ${name} = ${t.lit(coefficients[-1])};
% for c in coefficients[-2::-1]:
  ${name} = ca_muladd_${t}(${name}, ${x}, ${t.lit(c)});
% endfor
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
    i = t.int_
    magic = "6755399441055744.0"
    # log2((1 + s) / (1 - s)) / s in s^2, and 2^f: interpolated at Chebyshev nodes, relative errors 2^-45 and 2^-34.
    log2_of = [
        "2.8853900817778504", "0.9617966941126749", "0.5770779425301307", "0.4122092382250214", "0.31990618475532295",
        "0.2828943745715255",
    ]
    exp2_of = [
        "0.9999999999595618", "0.6931471805568324", "0.24022651213498092", "0.055504109063258665",
        "0.009618025613318034", "0.0013333478473685416", "0.00015469729214118296", "1.5303700711365693e-05",
    ]
%>\
/* a^y for a >= 0 and operands that are floats: 2^(y log2 a), log2 through s = (m - 1) / (m + 1).
   The magic number 1.5 * 2^52 turns integers in the low bits into doubles and back. */
HELPER ${t} ca_pow_by_double_${t}(${t} a, ${t} y) {
  const ${i} k = (as_${i}(a) - ${i.lit("0x3fe6a09e667f3bcd")}) >> ${i.lit(52)};
  const ${t} m = as_${t}(as_${i}(a) - (k << ${i.lit(52)}));
  const ${t} e = as_${t}(k + ${i.lit("0x4338000000000000")}) - ${t.lit(magic)};
  const ${t} s = (m - ${t.lit(1)}) / (m + ${t.lit(1)}), z = s * s;
${polynomial("p", log2_of, "z", t)}
  ${t} l = ca_muladd_${t}(p, s, e);
  l = a == ${t.lit(0)} ? -${t.inf} : l;
  l = a == ${t.inf} ? ${t.inf} : l;
  ${t} v = y * l;
  v = v > ${t.lit(300)} ? ${t.lit(300)} : v;
  v = v < ${t.lit(-300)} ? ${t.lit(-300)} : v;
  const ${t} n = v + ${t.lit(magic)};
  const ${t} f = v - (n - ${t.lit(magic)});
${polynomial("q", exp2_of, "f", t)}
  q = q * as_${t}((as_${i}(n) << ${i.lit(52)}) + ${i.lit("0x3ff0000000000000")});
  return (a != a) | (y != y) ? a + y : q;
}
</%def>
<%def name="pow_accurate(t)">
<%
    i = t.int_
    magic = "6755399441055744.0"
    # atanh(s) = s + s^3 (1/3 + s^2 A(s^2)), exp(r) = 1 + r + r^2 E(r): interpolated, relative errors 2^-53 and 2^-52.
    atanh_of = [
        "0.2", "0.14285714285714685", "0.11111111110827367", "0.0909090916782708", "0.07692297467298959",
        "0.06667403106050301", "0.05853097844940682", "0.058618018114527055",
    ]
    exp_of = [
        "0.5", "0.16666666666666669", "0.04166666666662374", "0.008333333333330032", "0.0013888888917406447",
        "0.00019841269863201828", "2.4801520996825697e-05", "2.7557268229963227e-06", "2.76202305675069e-07",
        "2.5100494788905042e-08",
    ]
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
${polynomial("p", atanh_of, "z", t)}
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
${polynomial("q", exp_of, "r", t)}
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
