<%! from clarray._engine.ops.ctype import CType %>\
## Parts, neighbours and remainders of floating-point numbers.
<%def name="muladd(t)">
/* a b + c, fused where that is fast: for polynomials, whose last bits do not matter. PoCL never fuses mad. */
HELPER ${t} ca_muladd_${t}(${t} a, ${t} b, ${t} c) { return MULTIPLY_ADD(a, b, c); }
</%def>
<%def name="sign(t)">
HELPER ${t} ca_sign_${t}(${t} x) {
  const ${t} r = x > ${t.lit(0)} ? ${t.lit(1)} : (x < ${t.lit(0)} ? ${t.lit(-1)} : x);
  return x == ${t.lit(0)} ? ${t.lit(0)} : r;
}
</%def>
<%def name="heaviside(t)">
HELPER ${t} ca_heaviside_${t}(${t} x, ${t} h) {
  const ${t} r = x < ${t.lit(0)} ? ${t.lit(0)} : (x > ${t.lit(0)} ? ${t.lit(1)} : h);
  return x != x ? x : r;
}
</%def>
<%def name="clip(t)">
/* Of equals the limit is taken, whatever the sign of zero. */
HELPER ${t} ca_clip_${t}(${t} x, ${t} low, ${t} high) {
  const ${t} a = (x > low) | (x != x) ? x : low;
  return (a < high) | (a != a) ? a : high;
}
</%def>
<%def name="fmod(t)">
<% limit = t.lit("4194304.0" if t.bits == 32 else "2251799813685248.0") %>\
% if t.width == 1 or not dialect.fma:
HELPER ${t} ca_fmod_${t}(${t} x, ${t} y) { return fmod(x, y); }
% else:
/* While the quotient is well below the type's whole numbers, it is one off at most (GPUs may divide inexactly), and
   x - q y as well as one step from there are exact. Lanes with a larger quotient take the scalar built-in. */
HELPER ${t} ca_fmod_${t}(${t} x, ${t} y) {
  const ${t} a = fabs(x), b = fabs(y);
  const ${t} q = trunc(a / b);
  ${t} r = fma(-q, b, a);
  r = q == ${t.lit(0)} ? a : r;
  r = r < ${t.lit(0)} ? r + b : (r >= b ? r - b : r);
  const ${t.int_} slow = q >= ${limit};
  if (ca_some_${t.int_}(slow)) {
    ${t.scalar} rs[${t.width}], as[${t.width}], bs[${t.width}];
    ${t.int_.scalar} which[${t.width}];
    vstore${t.width}(r, 0, rs); vstore${t.width}(a, 0, as); vstore${t.width}(b, 0, bs); vstore${t.width}(slow, 0, which);
    for (int k = 0; k < ${t.width}; k++) if (which[k]) rs[k] = fmod(as[k], bs[k]);
    r = vload${t.width}(0, rs);
  }
  return copysign(r, x);
}
% endif
</%def>
<%def name="floordiv(t)">
/* The quotient NumPy takes: from the remainder, so that q y + r = x as nearly as can be. */
HELPER ${t} ca_floordiv_${t}(${t} x, ${t} y) {
  const ${t} m = ca_fmod_${t}(x, y);
  ${t} q = (x - m) / y;
  q = (m != ${t.lit(0)}) & ((y < ${t.lit(0)}) != (m < ${t.lit(0)})) ? q - ${t.lit(1)} : q;
  ${t} f = floor(q);
  f = q - f > ${t.lit("0.5")} ? f + ${t.lit(1)} : f;
  f = q == ${t.lit(0)} ? copysign(${t.lit(0)}, x / y) : f;
  return y == ${t.lit(0)} ? x / y : f;
}
</%def>
<%def name="remainder(t)">
HELPER ${t} ca_remainder_${t}(${t} x, ${t} y) {
  const ${t} m = ca_fmod_${t}(x, y);
  const ${t} r = (y < ${t.lit(0)}) != (m < ${t.lit(0)}) ? m + y : m;
  return m == ${t.lit(0)} ? copysign(${t.lit(0)}, y) : r;
}
</%def>
<%def name="spacing(t)">
HELPER ${t} ca_spacing_${t}(${t} x) {
  const ${t} next = as_${t}(as_${t.uint}(x) + ${t.uint.lit(1)});
  const ${t} r = next - x;
  return fabs(x) < ${t.inf} ? (x == ${t.lit(0)} ? as_${t}(${t.uint.lit(1)}) : r) : ${t.nan};
}
</%def>
<%def name="mantissa(t)">
<% u = t.uint; field = 0xff << 23 if t.bits == 32 else 0x7ff << 52; half = 126 << 23 if t.bits == 32 else 1022 << 52
up = "16777216.0" if t.bits == 32 else "18014398509481984.0"; tiny = "1.1754943508222875e-38" if t.bits == 32 else "2.2250738585072014e-308" %>\
/* frexp's first part, in [0.5, 1) with the sign of x; 0, infinities and NaN are themselves. */
HELPER ${t} ca_mantissa_${t}(${t} x) {
  const ${t} a = fabs(x) < ${t.lit(tiny)} ? x * ${t.lit(up)} : x;
  const ${t} r = as_${t}((as_${u}(a) & ~${u.lit(field)}) | ${u.lit(half)});
  return (x == ${t.lit(0)}) | !(fabs(x) < ${t.inf}) ? x : r;
}
</%def>
<%def name="frexp_exponent(t)">
<% u = t.uint; i = t.int_; bits, bias, up = (23, 126, "16777216.0") if t.bits == 32 else (52, 1022, "18014398509481984.0")
tiny = "1.1754943508222875e-38" if t.bits == 32 else "2.2250738585072014e-308" %>\
/* frexp's second part; 0 for 0, infinities and NaN. */
HELPER ${i} ca_frexp_exponent_${t}(${t} x) {
  const ${i} low = fabs(x) < ${t.lit(tiny)};
  const ${t} a = low ? x * ${t.lit(up)} : x;
  const ${i} e = as_${i}((as_${u}(a) >> ${u.lit(bits)}) & ${u.lit(0xff if t.bits == 32 else 0x7ff)}) - ${i.lit(bias)};
  const ${i} r = low ? e - ${i.lit(24 if t.bits == 32 else 54)} : e;
  return (x == ${t.lit(0)}) | !(fabs(x) < ${t.inf}) ? ${i.lit(0)} : r;
}
</%def>
<%def name="fraction(t)">
HELPER ${t} ca_fraction_${t}(${t} x) {
  const ${t} r = fabs(x) == ${t.inf} ? ${t.lit(0)} : x - trunc(x);
  return copysign(r, x);
}
</%def>
<%def name="to_ulong(t)">
<%
ul = CType("ulong", t.width); l = CType("long", t.width); top = t.lit("9223372036854775808.0") %>\
/* Truncation to 64 unsigned bits; negative values wrap around as x86 and so NumPy do. */
HELPER ${ul} ca_to_ulong_${t}(${t} x) {
% if t.width == 1:
  if (x >= ${top}) return (ulong)(long)(x - ${top}) + 0x8000000000000000UL;
  return (ulong)(long)x;
% else:
  const ${l} high = ${dialect.convert(f"(x >= {top})", t.int_, l)};
  const ${t} low = x >= ${top} ? x - ${top} : x;
  const ${l} whole = ${dialect.convert("low", t, l)};
  return as_${ul}(whole) + (as_${ul}(high) & ${ul.lit("0x8000000000000000")});
% endif
}
</%def>
