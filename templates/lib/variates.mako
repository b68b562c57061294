## What random words become by a formula alone; nothing is drawn again. A float takes a word, a double two.
<%namespace name="portable" file="portable.mako"/>
<%!
    # Phi^-1(p) / (2 p - 1) as a polynomial in t - 5/2 where t = -log(4 p (1 - p)) < 5, and in sqrt(t) - middle beyond:
    # largest relative errors 6.4e-9 and 8.8e-9, 3.7e-16 and 3.7e-14, interpolated at Chebyshev nodes.
    CENTRE = {
        32: [
            "2.12331348", "0.3488020277", "-0.005907725659", "-0.001771622653", "0.0003087926634", "-7.032063363e-06",
            "-4.898814945e-06", "6.620377014e-07", "3.30020413e-08", "-1.263165085e-08",
        ],
        64: [
            "2.1233134670146694", "0.34880202439905439", "-0.0059076193801431857", "-0.0017715965129169546",
            "0.00030865248371213001", "-7.0655235346589931e-06", "-4.8318295341714779e-06", "6.7701971135136477e-07",
            "1.8973976722388787e-08", "-1.5360027557387816e-08", "1.2832725223290346e-09", "1.6915883483852945e-10",
            "-4.4042459464588053e-11", "1.2858796748117883e-12", "7.7071574724515755e-13", "-1.0692449506250738e-13",
            "-5.9894196182581294e-15", "2.5824995000620463e-15", "-3.0967966899671339e-17", "-3.0423481965218106e-17",
        ],
    }
    TAIL = {
        32: [
            "4.7170891370054889", "1.4246346499303727", "0.0046342264469886478", "-0.0029183070764459739",
            "0.0015464154026860006", "-0.00095762589017151864", "0.00060756887215235764", "-0.00032824426039186336",
            "0.00011630902269723746", "3.4382756277024692e-06", "-2.5964882359781166e-05", "8.1649405119764638e-06",
        ],
        64: [
            "5.787277866012488", "1.4283249772638765", "0.0010079806640973588", "-0.00085969198402563119",
            "0.00030006338429049355", "-9.1103232985229168e-05", "3.108347256323863e-05", "-1.4421907487523305e-05",
            "8.2160078343446044e-06", "-4.5406156449099168e-06", "2.1017063597085265e-06", "-7.2969493088542962e-07",
            "1.3827940089294977e-07", "3.7323299499641069e-08", "-4.7307141454205458e-08", "1.8195077899436645e-08",
            "-2.0052954245816964e-09", "1.2850678421647193e-10", "-1.2933136660725593e-10", "-3.9138267572399745e-10",
            "2.2080175503982016e-10", "2.85416857154175e-11", "-2.9329169046665373e-11", "-2.1152315619721164e-13",
            "1.2900687120869556e-12",
        ],
    }
    MIDDLE = {32: "3.5", 64: "4.25"}
%>
<%def name="unit(t)">
/* A multiple of 2^-24 (2^-53) in [0, 1). */
HELPER ${t} ca_unit_${t}(${t.uint} w) {
  return ${dialect.convert(f"as_{t.int_}(w >> {t.uint.lit(8 if t.bits == 32 else 11)})", t.int_, t)} * ${t.lit("5.9604644775390625e-08" if t.bits == 32 else "1.1102230246251565e-16")};
}
</%def>
<%def name="inside(t)">
/* A number inside (0, 1): ${"the finer the nearer to 0" if t.bits == 32 else "an odd multiple of 2^-53"}. */
HELPER ${t} ca_inside_${t}(${t.uint} w) {
% if t.bits == 32:
  const ${t} p = ${dialect.convert("w", t.uint, t)} * ${t.lit("2.3283064365386963e-10")} + ${t.lit("1.1641532182693481e-10")};
  return p < ${t.lit("0.99999994")} ? p : ${t.lit("0.99999994")};
% else:
  return as_${t}((w >> ${t.uint.lit(12)}) | ${t.uint.lit("0x3ff0000000000000")}) - ${t.lit("0.9999999999999999")};
% endif
}
</%def>
<%def name="exponential(t)">
HELPER ${t} ca_exponential_${t}(${t.uint} w) { return -ca_portable_log_${t}(ca_inside_${t}(w)); }
</%def>
<%def name="normal(t)">
/* Phi^-1 of a number inside (0, 1), after Giles (Approximating the erfinv function, 2010). Of a float the first bit is
   the sign and the others are the distance from the nearer end, so that the tails are as fine as the centre. */
HELPER ${t} ca_normal_${t}(${t.uint} w) {
% if t.bits == 32:
<% below = "as_" + str(t.int_) + f"(w & {t.uint.lit('0x7fffffff')})" %>\
  const ${t.int_} k = ${below};
  const ${t} p = ${dialect.convert("k", t.int_, t)} * ${t.lit("2.3283064365386963e-10")} + ${t.lit("1.1641532182693481e-10")};
  const ${t} a = ${dialect.convert(f"({t.int_.lit('0x7fffffff')} - k)", t.int_, t)} * ${t.lit("4.656612873077393e-10")} + ${t.lit("2.3283064365386963e-10")};
  const ${t} x = as_${t}(as_${t.uint}(a) ^ (w & ${t.uint.lit("0x80000000")}));
% else:
  const ${t} p = ca_inside_${t}(w);
  const ${t} x = (p + p) - ${t.lit(1)};
% endif
  const ${t} t = -ca_portable_log_${t}(${t.lit(4)} * p * (${t.lit(1)} - p));
  const ${t} s = t - ${t.lit("2.5")};
${portable.horner("g", CENTRE[t.bits], "s", t)}
  const ${t.int_ if t.width > 1 else "int"} far = t > ${t.lit(5)};
  if (${f"ca_some_{t.int_}(far)" if t.width > 1 else "far"}) {
    const ${t} v = sqrt(far ? t : ${t.lit(5)}) - ${t.lit(MIDDLE[t.bits])};
${portable.horner("tail", TAIL[t.bits], "v", t)}
    g = far ? tail : g;
  }
  return x * g;
}
</%def>
