## Sine, cosine and tangent, and units of angle.
<%namespace name="lanes" file="lanes.mako"/>
<%!
    # Interpolated at Chebyshev nodes of r^2 over [0, (pi/4)^2], relative errors 1.7e-10 and 8e-13:
    # sin r = r + r^3 S(r^2), cos r = 1 + r^2 C(r^2).
    SIN = ["1.0", "-0.16666666663853044", "0.008333331873837132", "-0.00019840086263779024", "2.7249864658196823e-06"]
    COS = [
        "1.0", "-0.49999999999963857", "0.0416666666373727", "-0.0013888885089126367", "2.4799861502540503e-05",
        "-2.723707673450927e-07",
    ]
%>
<%def name="sin(t)">
${circular("sin", t)}
</%def>
<%def name="cos(t)">
${circular("cos", t)}
</%def>
<%def name="tan(t)">
${circular("tan", t)}
</%def>
<%def name="circular(name, t)">
% if t.width > 1 and t.bits == 32 and dialect.clang and not dialect.fp64:
/* PoCL's vector form is wrong for small lanes that stand beside large ones. */
${lanes.by_lane(name, t, 1)}
% elif not dialect.own_math or t.width == 1 or t.bits == 64:
HELPER ${t} ca_${name}_${t}(${t} x) { return ${name}(x); }
% else:
<%
    from clarray._engine.ops.ctype import CType
    d = CType("double", t.width)
%>\
/* Computed in double. Lanes beyond 2^20, where the reduction would lose bits, take the scalar built-in. */
HELPER ${t} ca_${name}_${t}(${t} x) {
  ${t} r = ${dialect.convert(f"ca_{name}_reduced_{d}({dialect.convert('x', t, d)})", d, t)};
  const ${t.int_} far = (fabs(x) > ${t.lit("1048576.0")}) & (fabs(x) < ${t.inf});
  if (ca_some_${t.int_}(far)) {
    float rs[${t.width}], xs[${t.width}];
    int which[${t.width}];
    vstore${t.width}(r, 0, rs); vstore${t.width}(x, 0, xs); vstore${t.width}(far, 0, which);
    for (int k = 0; k < ${t.width}; k++) if (which[k]) rs[k] = ${name}(xs[k]);
    r = vload${t.width}(0, rs);
  }
  return x == ${t.lit(0)} ? ${"x" if name != "cos" else t.lit(1)} : r;
}
% endif
</%def>
<%def name="reduce(t)">
<% magic = t.lit("6755399441055744.0") %>\
  /* x = n pi/2 + r; n pi/2 is subtracted in two parts, the first of 33 bits so that n times it is exact. */
  const ${t} shifted = x * ${t.lit("0.6366197723675814")} + ${magic};
  const ${t} n = shifted - ${magic};
  const ${t.int_} quadrant = as_${t.int_}(shifted);
  const ${t} r = ca_muladd_${t}(n, ${t.lit("-6.07710050650619224932e-11")}, x - n * ${t.lit("1.57079632673412561417e+00")});
  const ${t} z = r * r;
</%def>
<%def name="polynomial(name, coefficients, t)">
  ${t} ${name} = ${t.lit(coefficients[-1])};
% for c in coefficients[-2::-1]:
  ${name} = ca_muladd_${t}(${name}, z, ${t.lit(c)});
% endfor
</%def>
<%def name="sin_reduced(t)">
${turned("sin", 0, t)}
</%def>
<%def name="cos_reduced(t)">
${turned("cos", 1, t)}
</%def>
<%def name="turned(name, quarter, t)">
<% i = t.int_ %>\
HELPER ${t} ca_${name}_reduced_${t}(${t} x) {
${reduce(t)}
${polynomial("s", SIN, t)}
${polynomial("c", COS, t)}
  const ${i} turn = quadrant + ${i.lit(quarter)};
  const ${t} v = (turn & ${i.lit(1)}) != ${i.lit(0)} ? c : s * r;
  return as_${t}(as_${i}(v) ^ ((turn & ${i.lit(2)}) << ${i.lit(62)}));
}
</%def>
<%def name="tan_reduced(t)">
<% i = t.int_ %>\
HELPER ${t} ca_tan_reduced_${t}(${t} x) {
${reduce(t)}
${polynomial("s", SIN, t)}
${polynomial("c", COS, t)}
  s = s * r;
  const ${i} odd = (quadrant & ${i.lit(1)}) != ${i.lit(0)};
  return (odd ? -c : s) / (odd ? s : c);
}
</%def>
<%def name="degrees(t)">
HELPER ${t} ca_degrees_${t}(${t} x) { return x * ${t.lit("57.29577951308232")}; }
</%def>
<%def name="radians(t)">
HELPER ${t} ca_radians_${t}(${t} x) { return x * ${t.lit("0.017453292519943295")}; }
</%def>
