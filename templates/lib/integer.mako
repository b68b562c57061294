## Integer functions: wrap-around as NumPy's, and nothing that divides by zero or overflows, which traps on x86.
<%namespace name="lanes" file="lanes.mako"/>
<%def name="iabs(t)">
<% u = t.uint %>\
/* |x|; the most negative number stays itself. */
HELPER ${t} ca_iabs_${t}(${t} x) {
% if t.width == 1:
  return x < 0 ? (${t})(0 - (${"ulong" if t.bits == 64 else "uint"})x) : x;
% else:
  const ${u} negative = as_${u}(x < ${t.lit(0)});
  return as_${t}((as_${u}(x) ^ negative) - negative);
% endif
}
</%def>
<%def name="divisor(t)">
/* y where x / y is defined, else 1. */
HELPER ${t} ca_divisor_${t}(${t} x, ${t} y) {
% if t.is_unsigned:
  return y == ${t.lit(0)} ? ${t.lit(1)} : y;
% else:
  const ${t} least = ${t.lit(1 - (1 << (t.bits - 1)))} - ${t.lit(1)};
  return (y == ${t.lit(0)}) | ((y == ${t.lit(-1)}) & (x == least)) ? ${t.lit(1)} : y;
% endif
}
</%def>
<%def name="quotient(t)">
<%
    from clarray._engine.ops.ctype import CType
    wide = CType("float" if t.bits < 32 else "double", t.width)
    x, d = dialect.convert("x", t, wide), dialect.convert("d", t, wide)
%>\
% if t.width > 1 and t.bits < 64 and dialect.own_math:
/* x / d, d valid. CPUs divide vectors of floats only, and the type here has twice the bits, so the cut quotient is exact. */
HELPER ${t} ca_quotient_${t}(${t} x, ${t} d) { return ${dialect.convert(f"trunc({x} / {d})", wide, t)}; }
% else:
HELPER ${t} ca_quotient_${t}(${t} x, ${t} d) { return x / d; }
% endif
</%def>
<%def name="rest(t)">
<% u = t.uint; wide = "ulong" if t.bits == 64 else "uint" %>\
/* x - q d, without overflow on the way. */
HELPER ${t} ca_rest_${t}(${t} x, ${t} q, ${t} d) {
% if t.width == 1:
  return (${t})((${wide})x - (${wide})q * (${wide})d);
% elif t.is_unsigned:
  return x - q * d;
% else:
  return as_${t}(as_${u}(x) - as_${u}(q) * as_${u}(d));
% endif
}
</%def>
<%def name="idiv(t)">
/* x / y cut towards zero; x / 0 = 0. */
HELPER ${t} ca_idiv_${t}(${t} x, ${t} y) {
  const ${t} q = ca_quotient_${t}(x, ca_divisor_${t}(x, y));
  return y == ${t.lit(0)} ? ${t.lit(0)} : q;
}
</%def>
<%def name="ifmod(t)">
/* The remainder with the sign of x; x % 0 = 0. */
HELPER ${t} ca_ifmod_${t}(${t} x, ${t} y) {
  const ${t} d = ca_divisor_${t}(x, y);
  const ${t} r = ca_rest_${t}(x, ca_quotient_${t}(x, d), d);
  return y == ${t.lit(0)} ? ${t.lit(0)} : r;
}
</%def>
<%def name="ifloordiv(t)">
/* x / y rounded down; x / 0 = 0, and the most negative number / -1 is itself. */
HELPER ${t} ca_ifloordiv_${t}(${t} x, ${t} y) {
  const ${t} d = ca_divisor_${t}(x, y), q = ca_quotient_${t}(x, d), r = ca_rest_${t}(x, q, d);
  const ${t} f = q ${'-' if t.width == 1 else '+'} ((r != ${t.lit(0)}) & ((r < ${t.lit(0)}) != (d < ${t.lit(0)})));
  return y == ${t.lit(0)} ? ${t.lit(0)} : f;
}
</%def>
<%def name="iremainder(t)">
/* The remainder with the sign of y; x % 0 = 0. */
HELPER ${t} ca_iremainder_${t}(${t} x, ${t} y) {
  const ${t} d = ca_divisor_${t}(x, y), r = ca_rest_${t}(x, ca_quotient_${t}(x, d), d);
  const ${t} s = (r != ${t.lit(0)}) & ((r < ${t.lit(0)}) != (d < ${t.lit(0)})) ? r + d : r;
  return y == ${t.lit(0)} ? ${t.lit(0)} : s;
}
</%def>
<%def name="ireciprocal(t)">
<% zero = 0 if t.bits < 32 or t.is_unsigned else -(1 << (t.bits - 1)) + 1 %>\
/* 1 / x as NumPy computes it, through double: 1 / 0 is infinity cast to the type. */
HELPER ${t} ca_ireciprocal_${t}(${t} x) {
  ${t} r = x == ${t.lit(1)} ? x : ${t.lit(0)};
% if not t.is_unsigned:
  r = x == ${t.lit(-1)} ? x : r;
% endif
% if zero:
  r = x == ${t.lit(0)} ? ${t.lit(zero)} - ${t.lit(1)} : r;
% endif
  return r;
}
</%def>
<%def name="ipow(t)">
<%
wide = t.uint if t.width > 1 else type(t)("ulong" if t.bits == 64 else "uint")
as_wide = (lambda x: x if t.is_unsigned else f"as_{wide}({x})") if t.width > 1 else (lambda x: f"({wide})({x})")
back = (lambda x: x if t.is_unsigned else f"as_{t}({x})") if t.width > 1 else (lambda x: f"({t})({x})")
more = "any(e != %s)" % t.uint.lit(0) if t.width > 1 else "e != 0"
%>\
/* x to the power n by squaring, wrapping around. NumPy refuses n < 0; the value here is that of 1 / x^-n. */
HELPER ${t} ca_ipow_${t}(${t} x, ${t} n) {
  ${wide} b = ${as_wide("x")};
  ${wide} r = ${wide.lit(1)};
% if t.is_unsigned:
  ${t.uint} e = n;
% else:
  const ${t} parity = n & ${t.lit(1)};
  const ${t} power = n < ${t.lit(0)} ? parity : n;
  ${t.uint} e = as_${t.uint}(power);
% endif
  while (${more}) {
% if t.width > 1:
    r = (e & ${t.uint.lit(1)}) != ${t.uint.lit(0)} ? r * b : r;
% else:
    r = (e & 1) ? r * b : r;
% endif
    b = b * b;
    e = e >> ${t.uint.lit(1)};
  }
% if t.is_unsigned:
  return ${back("r")};
% else:
  const ${t} p = ${back("r")};
  return (n < ${t.lit(0)}) & (x != ${t.lit(1)}) & (x != ${t.lit(-1)}) ? ${t.lit(0)} : p;
% endif
}
</%def>
<%def name="shl(t)">
/* x << n; 0 when n is not in 0..${t.bits - 1}. */
HELPER ${t} ca_shl_${t}(${t} x, ${t} n) {
% if t.width == 1:
  return (${t.uint})n < ${t.bits} ? (${t})((${"ulong" if t.bits == 64 else "uint"})x << n) : (${t})0;
% else:
  const ${t} y = x << (n & ${t.lit(t.bits - 1)});
  return as_${t.uint}(n) < ${t.uint.lit(t.bits)} ? y : ${t.lit(0)};
% endif
}
</%def>
<%def name="shr(t)">
/* x >> n; when n is not in 0..${t.bits - 1} what is left is the sign. */
HELPER ${t} ca_shr_${t}(${t} x, ${t} n) {
  const ${t} y = x >> (n & ${t.lit(t.bits - 1)});
% if t.is_unsigned:
  return n < ${t.lit(t.bits)} ? y : ${t.lit(0)};
% else:
  return as_${t.uint}(n) < ${t.uint.lit(t.bits)} ? y : (x < ${t.lit(0)} ? ${t.lit(-1)} : ${t.lit(0)});
% endif
}
</%def>
<%def name="place(t)">
/* base + step * x, x counted from the end where it is negative; the least number where x is not below n, or base is it. */
HELPER ${t} ca_place_${t}(${t} x, ${t} n, ${t} step, ${t} base) {
  const ${t} k = x < ${t.lit(0)} ? x + n : x;
  return (base < ${t.lit(0)}) | (k < ${t.lit(0)}) | (k >= n) ? (${t})(LONG_MIN) : base + k * step;
}
</%def>
<%def name="gcd(t)">
% if t.width > 1:
${lanes.by_lane("gcd", t, 2)}
% else:
<% u = t.uint %>\
HELPER ${t} ca_gcd_${t}(${t} x, ${t} y) {
% if t.is_unsigned:
  ${u} a = x, b = y;
% else:
  ${u} a = (${u})ca_iabs_${t}(x), b = (${u})ca_iabs_${t}(y);
% endif
  while (b != 0) {
    const ${u} r = (${u})(a % b);
    a = b;
    b = r;
  }
  return (${t})a;
}
% endif
</%def>
<%def name="lcm(t)">
% if t.width > 1:
${lanes.by_lane("lcm", t, 2)}
% else:
<% u = t.uint %>\
HELPER ${t} ca_lcm_${t}(${t} x, ${t} y) {
% if t.is_unsigned:
  const ${u} a = x, b = y;
% else:
  const ${u} a = (${u})ca_iabs_${t}(x), b = (${u})ca_iabs_${t}(y);
% endif
  const ${u} g = (${u})ca_gcd_${t}(x, y);
  return g == 0 ? (${t})0 : (${t})((${"ulong" if t.bits == 64 else "uint"})(a / g) * b);
}
% endif
</%def>
<%def name="exponent(t)">
/* An exponent for ldexp, held to what still tells zero and infinity. */
HELPER ${t} ca_exponent_${t}(${t} n) {
% if t.bits < 16:
  return n;
% else:
  const ${t} most = n > ${t.lit(5000)} ? ${t.lit(5000)} : n;
% if t.is_unsigned:
  return most;
% else:
  return most < ${t.lit(-5000)} ? ${t.lit(-5000)} : most;
% endif
% endif
}
</%def>
