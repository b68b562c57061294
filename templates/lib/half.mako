<%! from clarray._engine.ops.ctype import CType %>\
## Conversions that OpenCL's own leave open or that vectorise badly.
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
