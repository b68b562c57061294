<%! from clarray._engine.ops.ctype import CType %>\
## float16, which is packed in memory alone: rounding a float to it, its bits, and the neighbours of a number.
<%def name="round_half(t)">
<% drop = 13 if t.bits == 32 else 42; u = t.uint; big = "0.75" if t.bits == 32 else "402653184.0" %>\
/* x rounded to the nearest float16, ties to even. Normal numbers lose ${drop} bits of significand;
   below the smallest normal one the quantum is 2^-24, one ulp of the constant added and taken away. */
HELPER ${t} ca_round_half_${t}(${t} x) {
  const ${u} sign = as_${u}(x) & ${u.lit(1 << (t.bits - 1))};
  const ${u} b = as_${u}(x) ^ sign;
  const ${t} a = as_${t}(b);
  const ${u} even = (b >> ${u.lit(drop)}) & ${u.lit(1)};
  ${t} r = as_${t}((b + even + ${u.lit((1 << (drop - 1)) - 1)}) & ~${u.lit((1 << drop) - 1)});
  r = r >= ${t.lit("65536.0")} ? ${t.inf} : r;
  r = a < ${t.lit("6.103515625e-05")} ? (a + ${t.lit(big)}) - ${t.lit(big)} : r;
  r = a != a ? a : r;
  return as_${t}(as_${u}(r) | sign);
}
</%def>
## Through a vector in memory, which compilers let a pointer to half look at; a lone ushort they take for another object.
<%def name="bits_of_half(t)">
<% h = CType("ushort", max(2, t.width)); w = t.width if t.width > 1 else ""; u = t.uint %>\
/* The bits of a float16 that is held as a float; a NaN keeps its sign and the upper bits of its payload. */
HELPER ushort${w} ca_bits_of_half_${t}(${t} x) {
  ${h} r;
  vstore_half${w}_rte(x, 0, (half*)&r);
  const ${u} b = as_${u}(x);
  const ${u} nan = (b >> ${u.lit(16)} & ${u.lit(0x8000)}) | ${u.lit(0x7e00)} | (b >> ${u.lit(13)} & ${u.lit(0x3ff)});
% if t.width == 1:
  return x != x ? (ushort)nan : r.x;
% else:
  return ${dialect.convert("(x != x)", t.int_, CType("short", t.width))} ? ${dialect.convert("nan", u, h)} : r;
% endif
}
</%def>
<%def name="half_of_bits(t)">
<% w = t.width if t.width > 1 else "" %>\
/* The float that holds the float16 of these bits. */
HELPER float${w} ca_half_of_bits_${t}(${t} bits) {
  const ushort${w or 2} held = ${"bits" if w else "(ushort2)(bits, 0)"};
  return vload_half${w}(0, (const half*)&held);
}
</%def>
<%def name="half_ulp(t)">
<% u = t.uint %>\
/* The gap above |x| among float16, x being one of them: 2^(e - 10), at least 2^-24. */
HELPER ${t} ca_half_ulp_${t}(${t} x) {
  const ${t} e = as_${t}(as_${u}(x) & ${u.lit("0x7f800000")});
  const ${t} r = e * ${t.lit("0.0009765625")};
  return r < ${t.lit("5.9604644775390625e-08")} ? ${t.lit("5.9604644775390625e-08")} : r;
}
</%def>
<%def name="half_gap_below(t)">
<% u = t.uint %>\
/* The gap below |x| among float16: half as wide where a binade begins. */
HELPER ${t} ca_half_gap_below_${t}(${t} x) {
  const ${t} r = ca_half_ulp_${t}(x);
  const ${t} narrow = r * ${t.lit("0.5")};
  return ((as_${u}(x) & ${u.lit("0x7fffff")}) == ${u.lit(0)}) & (narrow >= ${t.lit("5.9604644775390625e-08")}) ? narrow : r;
}
</%def>
<%def name="spacing_half(t)">
HELPER ${t} ca_spacing_half_${t}(${t} x) {
  ${t} r = x < ${t.lit(0)} ? ca_half_gap_below_${t}(x) : ca_half_ulp_${t}(x);
  r = x == ${t.lit("65504.0")} ? ${t.inf} : r;
  return fabs(x) < ${t.inf} ? r : ${t.nan};
}
</%def>
<%def name="nextafter_half(t)">
HELPER ${t} ca_nextafter_half_${t}(${t} x, ${t} y) {
  const ${t} a = fabs(x);
  const ${t} away = a == ${t.lit("65504.0")} ? ${t.inf} : a + ca_half_ulp_${t}(x);
  const ${t} back = a == ${t.inf} ? ${t.lit("65504.0")} : a - ca_half_gap_below_${t}(x);
  ${t} r = (x < y) == (x > ${t.lit(0)}) ? away : back;
  r = copysign(r, x);
  r = x == ${t.lit(0)} ? copysign(${t.lit("5.9604644775390625e-08")}, y) : r;
  r = x == y ? x : r;
  return (x != x) | (y != y) ? x + y : r;
}
</%def>
